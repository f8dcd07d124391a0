//! The rate below which a job ends: `rate_min`, `rate_iops_min` and `rate_cycle` (`fixup_options` in init.c checks them).

use super::super::job::Job;
use super::{Obstacles, bytes};
use crate::plan::Step;
use crate::sample::Direction;
use crate::unit::Nanos;

/// fio's `rate_cycle` when none is given.
const CYCLE: Nanos = Nanos::seconds(1);

/// Puts the minimum of a job into its step.
pub(super) fn apply(job: &Job, step: &mut Step, obstacles: &mut Obstacles<'_>) {
    let all = |name: &str| job.ints(name).map(|n| n.unwrap_or(0));
    let (in_bytes, in_ios) = (all("rate_min"), all("rate_iops_min"));
    let some = |numbers: &[i64; 3]| numbers.iter().any(|n| *n > 0);
    let (name, least, rate) = match (some(&in_bytes), some(&in_ios)) {
        (false, false) => return,
        (true, true) => {
            return obstacles.refused("rate_iops_min", "rate_min and rate_iops_min exclude each other");
        }
        (true, false) => ("rate_min", in_bytes, all("rate")),
        (false, true) => ("rate_iops_min", in_ios, all("rate_iops")),
    };
    if least.iter().zip(rate).any(|(least, rate)| rate > 0 && *least > rate) {
        return obstacles.refused(name, "the minimum exceeds the rate");
    }
    let directions = step.rw.directions().iter().filter(|d| **d != Direction::Sync);
    let mut wanted: Vec<i64> = directions.map(|d| least[*d as usize]).collect();
    wanted.dedup();
    match wanted[..] {
        [0] => return,
        [n] if name == "rate_min" => step.rate_min = Some(bytes(n)),
        [n] => step.rate_iops_min = Some(n as f64),
        _ => return obstacles.fio_only(name, "reads and writes have minimums of their own"),
    }
    let cycle = Nanos::millis(bytes(job.int("rate_cycle").unwrap_or(1000)).0);
    step.rate_cycle = Some(cycle).filter(|c| *c != CYCLE);
}
