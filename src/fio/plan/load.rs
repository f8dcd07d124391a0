//! What a job does to its target, whatever the target is: pattern, sizes, engine, pace, data. Facts of fio are in `fixup_options` (init.c) and
//! options.c.

use std::collections::BTreeSet;

use super::super::job::Job;
use super::super::number::{self, Value};
use super::super::option;
use super::{Obstacles, bytes, data};
use crate::plan::{Arrival, BlockSizes, CpuList, Distribution, EngineKind, Fadvise, Pattern, Step, Stride};
use crate::sample::Direction;
use crate::unit::Bytes;

/// The seed that repeats the same offsets in every run: any number would do.
const REPEATED: u64 = 0x0076_6f6c_7072_6f6f;

/// The step of a job, without its targets and how much it does there. `numjobs` counts the clones.
pub(super) fn step(job: &Job, obstacles: &mut Obstacles<'_>) -> Step {
    let rw = pattern(job, obstacles);
    let (bs, bs_write) = sizes(job, rw, obstacles);
    let engine = engine(job, rw);
    let (fsync, datasync) = flushes(job, rw, obstacles);
    let mut step = Step {
        name: job.name.clone(),
        rw,
        rwmix: job.reads(),
        bs,
        bs_write,
        // fio takes any depth with a blocking engine, and then has one I/O in flight.
        iodepth: match engine {
            EngineKind::Psync => 1,
            _ => whole(job, "iodepth").unwrap_or(1) as u32,
        },
        numjobs: whole(job, "numjobs").unwrap_or(1).clamp(1, 4096) as u32,
        runtime: job.time("runtime").unwrap_or_default(),
        ramp: job.time("ramp_time").unwrap_or_default(),
        engine,
        direct: job.direct() || engine == EngineKind::Null,
        fsync,
        datasync,
        end_fsync: writes(rw) && (job.flag("end_fsync") || job.flag("fsync_on_close")),
        invalidate: engine != EngineKind::Null && job.flag("invalidate"),
        fadvise: match job.choice("fadvise_hint") {
            _ if job.direct() || engine == EngineKind::Null => None,
            Some("0") => None,
            Some("random") => Some(Fadvise::Random),
            Some("sequential") => Some(Fadvise::Sequential),
            _ => Some(Fadvise::of(rw)),
        },
        distribution: distribution(job, rw, obstacles),
        norandommap: job.flag("norandommap"),
        trace: ["write_lat_log", "write_bw_log", "write_iops_log"].iter().any(|o| job.given(o).is_some()),
        iopoll: engine == EngineKind::IoUring && on(job, "hipri"),
        sqpoll: engine == EngineKind::IoUring && on(job, "sqthread_poll"),
        ..Step::default()
    };
    if let Some(turns) = job.suffix("file_service_type").filter(|turns| turns != "1") {
        obstacles.fio_only(format!("file_service_type={turns}"), "files take turns I/O by I/O");
    }
    if step.trace && job.flag("log_unix_epoch") {
        obstacles.fio_only("log_unix_epoch", "volproof's logs begin with the job");
    }
    if whole(job, "numjobs") == Some(0) {
        obstacles.refused("numjobs=0", "there would be no job");
    }
    if let Some(which @ ("read" | "write")) = job.choice("continue_on_error")
        && rw.directions().iter().any(|d| d.name() != which)
    {
        obstacles.fio_only(
            format!("continue_on_error={which}"),
            "volproof goes on after all errors of a run or none",
        );
    }
    step.stride = stride(job, &step, obstacles);
    align(job, &mut step, obstacles);
    pace(job, &mut step, obstacles);
    data::apply(job, &mut step, obstacles);
    step
}

/// A number that the table does not let go below 0.
pub(super) fn whole(job: &Job, name: &str) -> Option<u64> {
    job.int(name).map(|n| bytes(n).0)
}

/// A switch of an engine, which may not be there.
fn on(job: &Job, name: &str) -> bool {
    job.given(name).is_some_and(|g| match &g.value {
        Value::Flag(on) => *on,
        Value::Ints([Some(n), ..]) => *n != 0,
        _ => true,
    })
}

fn writes(rw: Pattern) -> bool {
    rw.directions().contains(&Direction::Write)
}

fn pattern(job: &Job, obstacles: &mut Obstacles<'_>) -> Pattern {
    let word = job.choice("rw").unwrap_or("read");
    if let Some(suffix) = job.suffix("rw").filter(|s| !matches!(s.as_str(), "" | "0" | "1"))
        && word.starts_with("rand")
    {
        obstacles.fio_only(format!("rw={word}:{suffix}"), "random I/O draws each offset");
    }
    // What is no pattern of ours is among the limits of the table.
    word.parse().unwrap_or(Pattern::Read)
}

/// What sequential I/O passes over after each I/O, where that is the same in fio (`get_next_seq_offset` in io_u.c) and here: whole blocks of
/// one size in one direction and one file. `extent` looks at where the part begins and ends.
fn stride(job: &Job, step: &Step, obstacles: &mut Obstacles<'_>) -> Stride {
    let Some(suffix) = job.suffix("rw").filter(|s| !s.is_empty() && !step.rw.is_random()) else {
        return Stride(0);
    };
    let (back, size) = suffix.strip_prefix('-').map_or((false, suffix.as_str()), |size| (true, size));
    let option = || format!("rw={}:{suffix}", step.rw);
    let skip = match size_of(size, job).map(i64::try_from) {
        // A size is above 0.
        Err(_) if size == "0" => return Stride(0),
        Ok(Ok(skip)) => skip,
        Ok(Err(_)) | Err(_) => {
            obstacles.fio_only(option(), "volproof passes over a plain number of bytes");
            return Stride(0);
        }
    };
    let block = step.bs.single().map_or(0, |b| b.0);
    if step.rw.directions().len() > 1 {
        obstacles.fio_only(option(), "reads and writes would leave gaps of their own");
    } else if block == 0 || !skip.unsigned_abs().is_multiple_of(block) {
        obstacles.fio_only(option(), "the gap is not of whole blocks of one size");
    } else if job.int("loops").is_some_and(|n| n > 1) {
        obstacles.fio_only(option(), "every loop would begin at the start again");
    }
    Stride(if back { -skip } else { skip })
}

/// `blockalign` where it differs from the smallest block: fio then draws offsets independently (`fixup_options`).
fn align(job: &Job, step: &mut Step, obstacles: &mut Obstacles<'_>) {
    if job.given("ba").is_none() || !step.rw.is_random() {
        return;
    }
    let all = job.ints("ba");
    let directions = step.rw.directions().iter();
    let wanted: Vec<u64> = directions.filter_map(|d| all[*d as usize]).map(|n| bytes(n).0).collect();
    let least = |sizes: &BlockSizes| sizes.shares().iter().map(|s| s.0.0).min().unwrap_or(0);
    let Some(align) = wanted.first().copied() else { return };
    if wanted.iter().any(|a| *a != align) || wanted.len() < step.rw.directions().len() {
        obstacles.fio_only("ba", "reads and writes are aligned differently");
    } else if align == least(&step.bs) && step.bs_write.is_none() && step.bs.single().is_some() {
        // What happens anyway.
    } else if align % 512 != 0 {
        obstacles.fio_only(format!("ba={align}"), "offsets are whole sectors");
    } else {
        (step.align, step.norandommap) = (Some(Bytes(align)), true);
    }
}

/// The engine that stands for fio's. A trim is a blocking call in fio whatever the engine.
fn engine(job: &Job, rw: Pattern) -> EngineKind {
    match job.engine() {
        "null" => EngineKind::Null,
        _ if rw.directions().contains(&Direction::Trim) => EngineKind::Psync,
        "libaio" => EngineKind::Libaio,
        "io_uring" => EngineKind::IoUring,
        _ => EngineKind::Psync,
    }
}

/// Sizes of the first direction of the pattern, and of writes where they differ.
fn sizes(job: &Job, rw: Pattern, obstacles: &mut Obstacles<'_>) -> (BlockSizes, Option<BlockSizes>) {
    let plain = match job.given("bsrange") {
        Some(_) => block_ranges(job).map(|(low, _)| i64::try_from(low).ok()),
        None => job.ints("bs"),
    };
    let split = job.text("bssplit").map(|text| shares(&text, job));
    let of = |direction: usize, obstacles: &mut Obstacles<'_>| {
        let sizes = match &split {
            Some(Ok(shares)) => shares[direction.min(shares.len() - 1)].clone(),
            Some(Err(why)) => {
                obstacles.refused("bssplit", why.clone());
                BlockSizes::one(Bytes::kib(4))
            }
            None => BlockSizes::one(bytes(plain[direction].unwrap_or(4096))),
        };
        if sizes.largest() > Bytes::gib(1) {
            obstacles.fio_only("bs", format!("{} is above 1 GiB", sizes.largest()));
        }
        sizes
    };
    match rw.directions() {
        [Direction::Read, _, ..] => {
            let (read, write) = (of(0, obstacles), of(1, obstacles));
            let differ = read != write;
            (read, differ.then_some(write))
        }
        [Direction::Write, ..] => (of(1, obstacles), None),
        [Direction::Trim, ..] => (of(2, obstacles), None),
        _ => (of(0, obstacles), None),
    }
}

/// `4k/10:64k/50:32k/40,8k/100`: sizes with their percentages, for reads, writes and trims.
///
/// Shares that are left out, or 0, divide the rest. Then, as measured on fio 3.33, the smallest share is honoured first and the largest gets
/// whatever is left of 100 %, be that less or more than was asked for.
fn shares(text: &str, job: &Job) -> Result<Vec<BlockSizes>, String> {
    let sizes = |text: &str| -> Result<BlockSizes, String> {
        let parts: Vec<(&str, &str)> =
            text.split(':').filter(|p| !p.is_empty()).map(|p| p.split_once('/').unwrap_or((p, ""))).collect();
        let number = |share: &str| match share {
            "" => Ok(0),
            share => share.parse::<u32>().map_err(|_| format!("'{share}' is no whole percentage")),
        };
        let mut shares = parts.iter().map(|p| number(p.1)).collect::<Result<Vec<_>, _>>()?;
        let sum: u32 = shares.iter().fold(0, |a, b| a.saturating_add(*b));
        let blanks = shares.iter().filter(|share| **share == 0).count() as u32;
        if blanks > 0 {
            let none = || format!("its percentages add up to {sum}, and leave nothing for the others");
            let rest = 100u32.checked_sub(sum).ok_or_else(none)?;
            shares.iter_mut().filter(|share| **share == 0).for_each(|share| *share = rest / blanks);
        }
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by_key(|i| shares[*i]);
        let mut left = 100;
        for (n, i) in order.iter().enumerate() {
            shares[*i] = if n + 1 == order.len() { left } else { shares[*i].min(left) };
            left -= shares[*i];
        }
        let mut words = Vec::new();
        for ((size, _), share) in parts.iter().zip(shares) {
            if share > 0 {
                words.push(format!("{}/{share}", Bytes(size_of(size, job)?).exact()));
            }
        }
        words.join(":").parse().map_err(|e: crate::plan::WordError| e.to_string())
    };
    text.split(',')
        .filter(|t| !t.is_empty())
        .map(sizes)
        .collect::<Result<Vec<_>, _>>()
        .and_then(|all| if all.is_empty() { Err("it has no size".into()) } else { Ok(all) })
}

/// A size with fio's units.
pub(super) fn size_of(text: &str, job: &Job) -> Result<u64, String> {
    let bs = option::find_any("bs").expect("the table has bs");
    match number::read(bs, Some(text), base(job))? {
        (Value::Ints([Some(n), ..]), _) => Ok(bytes(n).0),
        _ => Err(format!("'{text}' is no size")),
    }
}

/// fio's `kb_base`.
fn base(job: &Job) -> u64 {
    if job.choice("kb_base") == Some("1000") { 1000 } else { 1024 }
}

fn flushes(job: &Job, rw: Pattern, obstacles: &mut Obstacles<'_>) -> (u32, bool) {
    if !writes(rw) {
        return (0, true);
    }
    let (whole_file, data) = (whole(job, "fsync").unwrap_or(0), whole(job, "fdatasync").unwrap_or(0));
    if whole_file > 0 && data > 0 {
        obstacles
            .fio_only("fdatasync", "volproof has one kind of flush in a job, and fsync is asked for too");
    }
    (whole_file.max(data).min(u64::from(u32::MAX)) as u32, whole_file == 0)
}

fn distribution(job: &Job, rw: Pattern, obstacles: &mut Obstacles<'_>) -> Distribution {
    let word = job.choice("random_distribution").unwrap_or("random");
    if !rw.is_random() || matches!(word, "random" | "zoned_abs") {
        return Distribution::Uniform;
    }
    let text = match job.suffix("random_distribution") {
        Some(suffix) if word == "zoned" => format!("zoned:{}", zones(&suffix)),
        Some(suffix) => format!("{word}:{suffix}"),
        None => word.to_string(),
    };
    text.parse().unwrap_or_else(|e: crate::plan::WordError| {
        obstacles.fio_only(format!("random_distribution={text}"), e.to_string());
        Distribution::Uniform
    })
}

/// fio lets the last shares of accesses or of the range out, and divides the rest among them.
fn zones(text: &str) -> String {
    let parts: Vec<(&str, &str)> =
        text.split(':').filter(|p| !p.is_empty()).map(|p| p.split_once('/').unwrap_or((p, ""))).collect();
    let column = |pick: fn(&(&str, &str)) -> String| -> Vec<String> {
        let given: Vec<String> = parts.iter().map(pick).collect();
        let sum: u32 = given.iter().filter_map(|t| t.parse::<u32>().ok()).fold(0, |a, b| a.saturating_add(b));
        let blanks = given.iter().filter(|t| t.is_empty()).count() as u32;
        let share = 100u32.saturating_sub(sum).checked_div(blanks).unwrap_or(0).to_string();
        given.into_iter().map(|t| if t.is_empty() { share.clone() } else { t }).collect()
    };
    let (accesses, range) = (column(|p| p.0.to_string()), column(|p| p.1.to_string()));
    accesses.iter().zip(&range).map(|(a, r)| format!("{a}/{r}")).collect::<Vec<_>>().join(":")
}

/// `rate` and `rate_iops` are of each job and direction; a step's rate is of all its jobs on a target, see [`scale_rates`].
fn pace(job: &Job, step: &mut Step, obstacles: &mut Obstacles<'_>) {
    let directions = step.rw.directions();
    let of = |name: &str| -> Vec<f64> {
        let all = job.ints(name);
        directions
            .iter()
            .filter(|d| **d != Direction::Sync)
            .map(|d| all[*d as usize].unwrap_or(0) as f64)
            .collect()
    };
    let (bw, iops) = (of("rate"), of("rate_iops"));
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
    if step.bs_write.is_some() {
        return obstacles
            .fio_only(name, "reads and writes differ in size, and volproof keeps one rate for both");
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
pub(super) fn scale_rates(step: &mut Step) {
    let jobs = f64::from(step.numjobs);
    step.rate_iops = step.rate_iops.map(|r| r * jobs);
    step.rate_bw = step.rate_bw.map(|r| Bytes((r.0 as f64 * jobs) as u64));
}

/// Errors do not end the job. `none` is fio's default; checks (`verify`) are not native, so errors of theirs cannot occur.
pub(super) fn continues(job: &Job) -> bool {
    !matches!(job.choice("continue_on_error"), None | Some("none" | "0" | "verify"))
}

/// Where random numbers start: `given` for a job that wants other ones every time.
pub(super) fn seed(job: &Job, given: u64) -> u64 {
    match job.given("randseed") {
        Some(_) => whole(job, "randseed").unwrap_or(REPEATED),
        None if job.flag("randrepeat") || job.flag("allrandrepeat") => REPEATED,
        None => given,
    }
}

/// CPUs of `workers` jobs of which the first is number `first` (from 0) among all jobs of the command. fio takes the list as a set of bits;
/// `split` gives job *i* the *i*-th bit in ascending order, and begins again behind the last (`fio_cpus_split` in options.c).
pub(super) fn cpus(job: &Job, first: u32, workers: u32) -> Option<CpuList> {
    let set: BTreeSet<u32> = match (job.given("cpus_allowed"), job.given("cpumask")) {
        (Some(_), _) => job.text("cpus_allowed")?.parse::<CpuList>().ok()?.0.into_iter().collect(),
        (None, Some(_)) => {
            let mask = whole(job, "cpumask")?;
            (0..64).filter(|bit| mask >> bit & 1 == 1).collect()
        }
        (None, None) => return None,
    };
    let bits: Vec<u32> = set.into_iter().collect();
    if bits.is_empty() {
        return None;
    }
    Some(CpuList(match job.choice("cpus_allowed_policy") {
        Some("split") => (first..first + workers).map(|i| bits[i as usize % bits.len()]).collect(),
        _ => bits,
    }))
}

/// Smallest and largest block of reads, writes and trims.
pub fn block_ranges(job: &Job) -> [(u64, u64); 3] {
    let plain = job.ints("bs");
    let split = job.text("bssplit").and_then(|text| shares(&text, job).ok());
    std::array::from_fn(|d| match &split {
        Some(all) => {
            let sizes = all[d.min(all.len() - 1)].shares().iter().map(|s| s.0.0);
            (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0))
        }
        None => match job.ranges("bsrange")[d] {
            Some(range) => range,
            None => [plain[d].unwrap_or(4096); 2].map(|n| bytes(n).0).into(),
        },
    })
}

/// `bsrange` has one size for each direction, and nothing beside it says otherwise.
pub(super) fn range_is_a_size(job: &Job) -> bool {
    job.ranges("bsrange").iter().flatten().all(|(low, high)| low == high)
}

/// Some direction has a rate.
pub(super) fn has_rate(job: &Job) -> bool {
    ["rate", "rate_iops"].iter().any(|name| job.ints(name).iter().flatten().any(|rate| *rate > 0))
}
