//! Could this step have reached the promise at all? And the command that can.
//!
//! By Little's law a rate X at a latency R needs X R requests in flight. R is the volume's own latency, not the waiting that
//! a throttle or a full queue adds; a step with fewer in flight says nothing about the volume.

use std::path::Path;

use super::cap_wait::slow_enough;
use super::claim::{Judge, PromisedRates, fits_latency, latency_promised};
use crate::catalogue::promised_level;
use crate::catalogue::volume_promise::AtBlock;
use crate::device::Facts;
use crate::diagnose::{ALONE, Modes, SHALLOW, Summary};
use crate::fio::write_jobs::shell;
use crate::plan::{BlockSizes, Pattern, Step};
use crate::record::{
    Claimed, Conditions, Confidence, Diagnosis, Finding, Metric, Record, StepRecord, TargetRecord, Untested,
};
use crate::stats::little::{depth_needed, rate_reachable};
use crate::stats::percentile::pooled;
use crate::unit::{Bytes, Nanos, grouped};

/// Where latencies show waiting, the volume's own latency is at most `TIMES_PROMISED` times the promised one, or `SLOWEST` where none is
/// promised.
const SLOWEST: Nanos = Nanos::millis(5);
const TIMES_PROMISED: u64 = 5;
/// Up to this ratio of the median latency to the 5th percentile nothing shows that requests waited for each other.
const ALIKE: u64 = 2;
/// A step is deep enough for any volume with `PLENTY_DEPTH` requests in flight, or as many as the promise needs at `PLENTY` times that
/// latency, or at `HOPELESS` where that is less: one that misses the promise then is slow.
const PLENTY: u64 = 4;
const HOPELESS: Nanos = Nanos::millis(10);
const PLENTY_DEPTH: u64 = 256;
/// The same where bytes are promised: each request is large.
const PLENTY_OF_LARGE: u64 = 32;
/// Stalls and brown-outs that take less of the time do not explain why a step falls short.
const MUCH: f64 = 0.05;
/// Least depth of the first deeper step that is recommended. Where that was not enough, the next recommendation has the depth that decides.
const FIRST_RUNG: u64 = SHALLOW;
/// Requests in flight that one thread handles with ease, and I/Os a second.
const DEPTH_OF_A_JOB: u64 = 128;
const RATE_OF_A_JOB: f64 = 100_000.0;
/// A run that may be quoted.
const QUOTABLE: Nanos = Nanos::seconds(300);
/// Rates at two depths that differ by less are one ceiling.
const SAME: f64 = 0.03;

/// Why a step could not have reached the promise, and which command can.
pub struct Reach {
    /// The reason, in words.
    pub reason: String,
    /// The command to run instead.
    pub command: String,
}

/// `None` when the step could have reached the rate.
pub fn of(judge: &Judge<'_>, promised: &AtBlock) -> Option<Reach> {
    let (plan, step) = (judge.record.plan_step(&judge.step.name)?, judge.step);
    // A rate shows without flushes between the I/Os.
    let plan = &Step { fsync: 0, datasync: Step::default().datasync, ..plan.clone() };
    let least = promised.iops * (1.0 - judge.claimed.tolerance);
    if let Some(open) = step.open_loop.as_ref().filter(|open| open.offered_per_second < least) {
        return Some(Reach {
            reason: format!(
                "only {} I/Os a second were offered, {} are promised",
                grouped(open.offered_per_second.round() as u64),
                grouped(promised.iops.round() as u64)
            ),
            command: command(
                judge.record,
                judge.claimed,
                &deeper(&unpaced(plan), promised.iops, Nanos::millis(1), 0),
            ),
        });
    }
    let depth = step.in_flight_asked.get()?.max(1.0) as u64;
    let flushes = step.sync.as_ref().map_or(0.0, |s| s.iops);
    if flushes > 0.0 && step.iops() + flushes >= least {
        return Some(Reach {
            reason: format!(
                "{} I/Os and {} flushes a second are {} requests, and a volume may count each of them: leave the flushes out",
                grouped(step.iops().round() as u64),
                grouped(flushes.round() as u64),
                grouped((step.iops() + flushes).round() as u64)
            ),
            command: command(
                judge.record,
                judge.claimed,
                &deeper(plan, promised.iops, Nanos::millis(1), depth),
            ),
        });
    }
    if one_ceiling(judge) {
        return None;
    }
    let OwnLatency { latency: own, decides } = own_latency(judge, depth, promised)?;
    let flushing = flushing(judge, depth);
    let each = Nanos(own.0.saturating_add(flushing.0));
    let needed = depth_needed(promised.iops, each);
    if depth >= needed {
        return None;
    }
    let flushing = if flushing.0 > 0 { format!(" and {flushing} for flushes") } else { String::new() };
    let decides_words = match decides > needed {
        true => format!(" at that latency; {decides} in flight show whether they waited for each other"),
        false => String::new(),
    };
    Some(Reach {
        reason: format!(
            "{depth} in flight at {own}{flushing} each reach {} IOPS at most by Little's law; {} IOPS need {needed}{decides_words}",
            grouped(rate_reachable(depth, each)?.round() as u64),
            grouped(promised.iops.round() as u64),
        ),
        command: command(judge.record, judge.claimed, &deeper(plan, promised.iops, own, decides)),
    })
}

/// The step without a rate of its own.
fn unpaced(plan: &Step) -> Step {
    Step { rate_iops: None, rate_bw: None, arrival: Step::default().arrival, ..plan.clone() }
}

/// How long a place in the queue is busy with flushes for each I/O: in a closed loop, all of its time that the I/O itself does not take.
fn flushing(judge: &Judge<'_>, depth: u64) -> Nanos {
    let step = judge.step;
    let mean = Summary::of(judge.record, step).mean_ns;
    match mean.filter(|_| step.sync.is_some() && step.open_loop.is_none() && step.iops() > 0.0) {
        Some(mean) => Nanos((depth as f64 / step.iops() * 1e9 - mean).max(0.0) as u64),
        None => Nanos(0),
    }
}

/// The latency of an open loop before its I/Os fill the queue: of the shortest twentieth of its first second.
fn before_the_queue_fills(step: &StepRecord) -> Option<Nanos> {
    let streams = step.targets.iter().flat_map(|t| [&t.series.read, &t.series.write]).flatten();
    step.open_loop.as_ref()?;
    pooled(streams.filter_map(|stream| stream.service.first())).quantile(0.05)
}

/// Why more in flight would give no more, where the step or another one shows that.
pub fn deep_enough(judge: &Judge<'_>, promised: &AtBlock) -> Option<String> {
    if judge.step.open_loop.is_some() {
        return None;
    }
    let depth = judge.step.in_flight_asked.get()?.max(1.0) as u64;
    if one_ceiling(judge) {
        return Some("half as many requests in flight gave the same rate".into());
    }
    let known = own_latency(judge, depth, promised)?;
    (depth >= plenty(judge.claimed, promised) && depth >= depth_needed(promised.iops, known.latency))
        .then(|| format!("{depth} requests in flight are enough for any volume of this promise"))
}

/// Another step with twice or half the depth did no more: the rate does not depend on the depth.
fn one_ceiling(judge: &Judge<'_>) -> bool {
    let (mine, Some(depth)) = (judge.step.iops(), judge.step.in_flight_asked.get()) else { return false };
    let alike = |other: &StepRecord| {
        let load = judge.record.conditions(other);
        load.rw == judge.conditions.rw && load.block == judge.conditions.block
    };
    judge.record.steps.iter().any(|other| {
        other.name != judge.step.name
            && other.in_flight_asked.get().is_some_and(|asked| asked * 2.0 <= depth)
            && (other.iops() / mine - 1.0).abs() <= SAME
            && judge.record.sharing(other).count == 0
            && alike(other)
    })
}

/// The latency of the volume by itself.
struct OwnLatency {
    latency: Nanos,
    /// Where requests may have waited for each other without showing it: so many in flight decide whether they did. Else 0.
    decides: u64,
}

/// The largest latency that counts as a volume's own where latencies show waiting.
fn ceiling(claimed: &Claimed) -> Nanos {
    latency_promised(claimed).map_or(SLOWEST, |p| Nanos(p.0.saturating_mul(TIMES_PROMISED)))
}

/// So many requests in flight that a volume which is slower still is slow.
pub(super) fn plenty(claimed: &Claimed, promised: &AtBlock) -> u64 {
    let least = if promised.binding.counts_ios() { PLENTY_DEPTH } else { PLENTY_OF_LARGE };
    let slowest = Nanos(ceiling(claimed).0.saturating_mul(PLENTY)).min(HOPELESS);
    depth_needed(promised.iops, slowest).max(least)
}

/// The mean latency of a step whose slow I/Os hold most of its requests in flight, where neither a throttle nor a time without delivery makes
/// them slow: with more in flight the others go on beside them. `None` for any other step, and from `plenty` in flight on.
///
/// What excludes it: counts that are too even for I/Os which are slow one by one, the signs of a throttle, and stalls that are longer than the
/// slow I/Os themselves. One request at a time shows no throttle of the rate: there the mean stands whatever holds it.
pub(super) fn held_by_slow(s: &Summary, found: &Diagnosis, plenty: u64) -> Option<Nanos> {
    const OTHERWISE: [&str; 5] = ["stall", "brown-out", "on-off", "burst", "drift"];
    // Slow I/Os that fill a shallow queue leave times without any completion, which are shorter than themselves.
    let of_slow = |f: &Finding| {
        let figure = |name| f.numbers.get(name).copied().unwrap_or(0.0);
        let length = match f.code.as_str() {
            "on-off" => figure("silent_share") * figure("period_seconds"),
            "stall" => figure("lost_seconds") / figure("events"),
            _ => f64::INFINITY,
        };
        f.numbers.get("lost_share").is_some_and(|share| *share < MUCH) || s.outlasts(length)
    };
    let mean = s.held_by_slow(plenty)?;
    if s.in_flight? < ALONE || s.slow_one_by_one() {
        return Some(mean);
    }
    let throttled = found.find("throttle").is_some_and(|f| f.confidence > Confidence::Possible);
    let otherwise = OTHERWISE.iter().filter_map(|code| found.find(code)).any(|f| !of_slow(f));
    (!throttled && !s.held_together() && !otherwise).then_some(mean)
}

/// The latency of the volume without what a throttle or a queue adds.
///
/// In a closed loop rate and latency are one figure, so that a high latency alone does not tell a slow volume from a queue. Where
/// all I/Os took about as long, none shows a shorter latency: the depth may have set the rate, and only a deeper step tells.
///
/// On a queue that is served at a constant rate each deeper step shows the same again: after the first rung the depth is asked for that
/// decides.
fn own_latency(judge: &Judge<'_>, depth: u64, promised: &AtBlock) -> Option<OwnLatency> {
    let summary = Summary::of(judge.record, judge.step);
    let throttle = judge.diagnosis.find("throttle");
    let plenty = plenty(judge.claimed, promised);
    if let Some(latency) = held_by_slow(&summary, judge.diagnosis, plenty) {
        return Some(OwnLatency { latency, decides: 0 });
    }
    let median = summary.near_quantile(0.5);
    let measured = match (Modes::of(&summary), throttle) {
        (Some(modes), _) => modes.passed,
        (None, Some(f)) if f.numbers.contains_key("device_latency_ms") => summary.min?,
        _ => median?,
    };
    let ceiling = ceiling(judge.claimed);
    let alike =
        Some(measured) == median && summary.near_quantile(0.05)?.0.saturating_mul(ALIKE) >= measured.0;
    let measured = before_the_queue_fills(judge.step).map_or(measured, |first| first.min(measured));
    // The requests in flight gave at least the rate that was measured.
    let mean = Nanos((depth as f64 / judge.step.iops() * 1e9) as u64);
    Some(match alike && depth < plenty {
        true => {
            OwnLatency { latency: measured.min(mean), decides: if depth >= FIRST_RUNG { plenty } else { 0 } }
        }
        false => OwnLatency { latency: measured.min(ceiling), decides: 0 },
    })
}

/// The step with enough in flight for a rate, and `least` of them, on as many threads as that takes.
fn deeper(plan: &Step, rate: f64, own: Nanos, least: u64) -> Step {
    let wanted = (depth_needed(rate, own) * 3 / 2).max(FIRST_RUNG).max(least).next_power_of_two();
    let jobs = wanted.div_ceil(DEPTH_OF_A_JOB).max((rate / RATE_OF_A_JOB).ceil() as u64).clamp(1, 64);
    Step {
        iodepth: wanted.div_ceil(jobs).next_power_of_two() as u32,
        numjobs: (jobs as u32).max(plan.numjobs),
        ..plan.clone()
    }
}

/// Twice the threads for the same depth.
pub fn more_jobs(judge: &Judge<'_>) -> Option<String> {
    let plan = judge.record.plan_step(&judge.step.name)?;
    let step = Step { numjobs: plan.numjobs * 2, iodepth: plan.iodepth.div_ceil(2), ..plan.clone() };
    Some(command(judge.record, judge.claimed, &step))
}

/// Why nothing was judged of a metric that is promised, and the command that tests it.
pub fn untested(record: &Record, claimed: &Claimed, metric: Metric) -> Option<Untested> {
    let plan = record.plan.steps.iter().find(|s| crate::diagnose::direction(s.rw).is_some())?;
    let d = crate::diagnose::direction(plan.rw)?;
    let first = claimed.promise.volumes.first()?;
    let base = unpaced(plan);
    let (reason, step) = match metric {
        Metric::Percentile | Metric::SlowShare => return None,
        Metric::Latency => {
            let promised = latency_promised(claimed)?;
            let basis = first.latency_basis.clone().unwrap_or_else(|| "one request at a time".into());
            let fits = |step: &Step| {
                fits_latency(claimed, &Conditions::of_step(step, 1), Some(step.depth_per_target()))
            };
            let mut step = Step { iodepth: 1, numjobs: 1, bs: BlockSizes::one(Bytes::kib(4)), ..base };
            if !fits(&step) {
                step.rw = if d == promised_level::PromiseDirection::Read {
                    Pattern::RandRead
                } else {
                    Pattern::RandWrite
                };
            }
            if !fits(&step) {
                step.rw = Pattern::RandWrite;
            }
            let d = crate::diagnose::direction(step.rw).unwrap_or(d);
            step.rate_iops = slow_enough(claimed, Bytes::kib(4), d, promised);
            (format!("{promised} are promised ({basis}), and no step runs that"), step)
        }
        Metric::Iops | Metric::Throughput => {
            let iops = claimed.promise.iops_cap(d)?;
            let bytes = claimed.promise.bytes_cap(d, crate::catalogue::volume_promise::Reading::Likely)?;
            let knee = Bytes((bytes.value / iops.value) as u64);
            let block = if metric == Metric::Iops { first.iops_block } else { first.throughput_block };
            let rates = PromisedRates::of(claimed, block, d)?;
            if rates.metric() != metric {
                return None;
            }
            let side = if metric == Metric::Iops { "below" } else { "above" };
            let ran = || record.steps.iter().filter_map(|s| record.plan_step(&s.name));
            let shows = |step: &Step| {
                step.single_block().is_some_and(|b| if metric == Metric::Iops { b < knee } else { b > knee })
            };
            let words = match (ran().next(), ran().any(shows)) {
                (None, _) => "no step was measured".into(),
                (_, true) => "no step of such blocks could be judged".into(),
                (_, false) => format!("the steps used {}", distinct(ran().map(Step::blocks).collect())),
            };
            let own = latency_promised(claimed).unwrap_or(Nanos::millis(1)).max(Nanos::millis(1));
            let step = deeper(
                &Step { bs: BlockSizes::one(block), bs_write: None, ..base },
                rates.least.iops,
                own,
                0,
            );
            (format!("it shows {side} {knee} a block, and {words}"), step)
        }
    };
    Some(Untested { application: None, metric, reason, command: Some(command(record, claimed, &step)) })
}

fn distinct(mut words: Vec<String>) -> String {
    words.dedup();
    words.truncate(4);
    words.join(", ")
}

/// The target of a command. A file that was only read keeps what it holds: a step that writes has a new file beside it, since it would be
/// refused without consent to overwrite.
fn kept<'a>(record: &Record, step: &Step, target: &'a Path) -> &'a Path {
    let itself = |t: &TargetRecord| t.named == target && t.path.file_name() == target.file_name();
    let file = |t: &TargetRecord| itself(t) && matches!(t.facts, Facts::File(_));
    if !step.rw.changes_data() || record.plan.overwrite || !record.targets.iter().any(file) {
        return target;
    }
    match target.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        folder => folder.unwrap_or(target),
    }
}

/// The `run` command of a step. Consent to overwrite a device is never part of it: the guard asks for that by itself.
pub(super) fn command(record: &Record, claimed: &Claimed, step: &Step) -> String {
    let mut words = vec!["volproof".to_string(), "run".into()];
    let targets = record.plan.targets_of(step).iter();
    words.extend(targets.map(|target| kept(record, step, target).display().to_string()));
    // The step is measured for its time and not for an amount, and its threads may be more than the CPUs that were named.
    let runtime = Nanos(step.runtime.0.max(QUOTABLE.0));
    // The share of reads is refused where all I/Os have one direction.
    let rwmix = if step.rw.directions().len() > 1 { step.rwmix } else { Step::default().rwmix };
    let asked = Step { runtime, io_size: None, time_based: false, cpus: None, rwmix, ..step.clone() };
    words.extend(asked.options(&["rw", "bs", "iodepth", "numjobs", "runtime"]));
    if let Some(size) = record.plan.file_size {
        words.extend(["--file-size".into(), size.exact()]);
    }
    if record.plan.overwrite {
        words.push("--overwrite".into());
    }
    words.extend(claimed.options.iter().cloned());
    words.iter().map(|word| shell(word)).collect::<Vec<_>>().join(" ")
}
