//! How fast a job goes: `rate`, `rate_iops`, `rate_process`.
//!
//! fio's rates are of each job and direction; a step's rate is of all its jobs on a target.

use super::{FioWords, Obstacles};
use fio_formats::job::Job;
use volproof_base::sample::Direction;
use volproof_base::unit::Bytes;
use volproof_plan::{Arrival, Step};

/// The rate of one job. [`scale`] makes it that of all clones.
pub(super) fn from(job: &Job, step: &mut Step, obstacles: &mut Obstacles<'_>) {
    let directions = step.rw.directions();
    let [bw, iops] = ["rate", "rate_iops"].map(|name| {
        let all = job.ints(name);
        let moving = directions.iter().filter(|d| **d != Direction::Sync);
        moving.map(|d| all[*d as usize].unwrap_or(0) as f64).collect::<Vec<f64>>()
    });
    let (name, rates) = match (bw.iter().any(|r| *r > 0.0), iops.iter().any(|r| *r > 0.0)) {
        (false, false) => return,
        (true, true) => return obstacles.refused("rate_iops", "rate and rate_iops exclude each other"),
        (true, false) => ("rate", bw),
        (false, true) => ("rate_iops", iops),
    };
    if job.choice("rate_process") == Some("poisson") {
        step.arrival = Arrival::Poisson;
    }
    let total: f64 = rates.iter().sum();
    if let [read, _] = rates[..]
        && (read / total * 100.0 - f64::from(step.rwmix)).abs() > 0.5
    {
        let why = "reads and writes have rates of their own, in another ratio than their mix";
        return obstacles.fio_only(name, why);
    }
    match step.bs.single() {
        Some(_) if name == "rate_iops" => step.rate_iops = Some(total),
        // fio turns I/Os into bytes by the smallest block.
        None if name == "rate_iops" => {
            let least = step.bs.shares().iter().map(|s| s.0.0).min().unwrap_or(1);
            step.rate_bw = Some(Bytes((total * least as f64) as u64));
        }
        _ => step.rate_bw = Some(Bytes(total as u64)),
    }
}

/// The rate of all jobs of a step, from that of one.
pub(super) fn scale(step: &mut Step) {
    let jobs = f64::from(step.numjobs);
    step.rate_iops = step.rate_iops.map(|r| r * jobs);
    step.rate_bw = step.rate_bw.map(|r| Bytes((r.0 as f64 * jobs) as u64));
}

/// The same in fio's words. fio holds a closed loop back and catches up after a delay. Its schedule that goes on while requests wait
/// (`io_submit_mode=offload`) is not asked for: fio 3.33 counts wrong bytes with it, does not end at a depth above 1, and refuses it for io_uring.
pub(super) fn to(step: &Step, words: &mut FioWords) -> Result<(), String> {
    let Some(all) = step.arrivals_per_second() else { return Ok(()) };
    let job = all / f64::from(step.numjobs);
    let of_one_size = step.bs.single().is_some();
    if step.rate_bw.is_some() || !of_one_size {
        // fio turns I/Os into bytes by the smallest block (`rate_iops`), and bytes into arrivals by the same block (`poisson`).
        if step.arrival == Arrival::Poisson && !of_one_size {
            return Err("fio spaces random arrivals as if every block were the smallest: use fixed arrivals or one block size".into());
        }
        words.set("rate", of_each_direction(step, |share| job * share * step.bs.mean(), "bytes")?);
    } else {
        words.set("rate_iops", of_each_direction(step, |share| job * share, "I/Os")?);
    }
    if step.arrival == Arrival::Poisson {
        words.set("rate_process", "poisson");
    }
    Ok(())
}

/// The rate of each direction of one job, from the share of the I/Os that the direction has.
///
/// # Errors
/// A rate is not near a whole number, and fio's rates are.
fn of_each_direction(step: &Step, rate: impl Fn(f64) -> f64, unit: &str) -> Result<String, String> {
    let reads = f64::from(step.rwmix) / 100.0;
    let shares = if step.rw.directions().len() == 2 { vec![reads, 1.0 - reads] } else { vec![1.0] };
    let wanted: Vec<f64> = shares.into_iter().map(rate).collect();
    if let Some(off) = wanted.iter().find(|r| (r.round() / **r - 1.0).abs() > 0.01) {
        return Err(format!(
            "{off:.3} {unit} a second for one job is not near a whole number, and fio's rates are: use fewer jobs"
        ));
    }
    Ok(wanted.iter().map(|r| format!("{r:.0}")).collect::<Vec<_>>().join(","))
}

/// Some direction has a rate.
pub(super) fn has_rate(job: &Job) -> bool {
    ["rate", "rate_iops"].iter().any(|name| job.ints(name).iter().flatten().any(|rate| *rate > 0))
}
