//! Could this step have reached the promise at all? And the command that can.
//!
//! More in flight than any volume of the promise needs decides, or another step that had half of it and did as much.

use std::path::Path;

use super::cap_wait;
use super::claim::{Judge, PromisedRates, latency_promised};
use crate::catalogue::volume_promise::AtBlock;
use crate::device::Facts;
use crate::plan::{BlockSizes, EngineKind, Step};
use crate::record::{JudgedPromise, Metric, Record, StepRecord, TargetRecord, Untested, promise_direction};
use crate::shell_word::shell;
use crate::stats::little::depth_needed;
use crate::stats::{RECOMMENDED, SAME_RATE};
use crate::unit::{Bytes, Nanos, grouped, significant};

/// Where latencies show waiting, the volume's own latency is at most `TIMES_PROMISED` times the promised one, or `SLOWEST` where none is
/// promised.
const SLOWEST: Nanos = Nanos::millis(5);
const TIMES_PROMISED: u64 = 5;
/// Enough in flight for any volume: as many requests as the promise needs at `PLENTY_TIMES` times the largest latency that counts as a volume's own, or
/// at `HOPELESS_LATENCY` where that is less, and never fewer than `PLENTY_DEPTH`. A volume that misses its promise at that depth is slow.
const PLENTY_TIMES: u64 = 4;
const HOPELESS_LATENCY: Nanos = Nanos::millis(10);
pub(super) const PLENTY_DEPTH: u64 = 256;
/// As `PLENTY_DEPTH`, where bytes are promised: each request is large.
const PLENTY_DEPTH_OF_BYTES: u64 = 32;
/// Least depth of the first deeper step that is recommended. Where that was not enough, the next recommendation has the depth that decides.
const FIRST_RUNG: u64 = 32;
/// Bytes of a sector.
const SECTOR: u64 = 512;
/// Requests in flight, and I/Os a second, that one thread handles with ease.
const DEPTH_OF_A_JOB: u64 = 128;
const RATE_OF_A_JOB: f64 = 100_000.0;

/// Why a step could not have reached the promise, and which command can.
pub struct Reach {
    /// The reason, in words.
    pub reason: String,
    /// The command to run instead.
    pub command: String,
}

/// `None` when the step could have reached the rate: it offered enough, and had enough in flight for any volume of this promise, or another step
/// shows that more in flight give no more.
pub fn of(judge: &Judge<'_>, promised: &AtBlock) -> Option<Reach> {
    let (plan, step) = (judge.record.plan_step(&judge.step.name)?, judge.step);
    let kept = 1.0 - judge.judged_promise.tolerance;
    let least = promised.iops * kept;
    // Where bytes are promised, the number of I/Os that they make is rounded down.
    let exact = match promised.binding.counts_ios() {
        true => promised.iops,
        false => promised.iops.max(promised.bytes / plan.mean_block()),
    };
    let run = |plan: &Step, least: u64| {
        let step = deeper(plan, promised.iops, Nanos::millis(1), least);
        command(judge.record, judge.judged_promise, &step)
    };
    if let Some(offered) = offered(step).filter(|offered| *offered < exact * kept) {
        let told = |rate: f64| if rate < 100.0 { significant(rate) } else { grouped(rate.round() as u64) };
        let reason =
            format!("only {} I/Os a second were offered, {} are promised", told(offered), told(exact));
        return Some(Reach { reason, command: run(&unpaced(plan), 0) });
    }
    let depth = step.in_flight_asked.get()?.max(1.0) as u64;
    if let Some(reason) = judge.each_counted(&judge.summary(), step.iops(), least, promised) {
        return Some(Reach { reason, command: run(plan, depth) });
    }
    if deep_enough(judge, promised).is_some() {
        return None;
    }
    let enough = plenty(judge.judged_promise, promised);
    (depth < enough).then(|| Reach {
        reason: format!(
            "{depth} in flight may be too few: {enough} are enough for any volume of this promise"
        ),
        command: run(plan, enough),
    })
}

/// I/Os a second that an open loop offered: random arrivals may be fewer than were asked for.
fn offered(step: &StepRecord) -> Option<f64> {
    let open = step.open_loop.as_ref()?;
    Some(open.offered_per_second.min(open.arrivals as f64 / step.window_ns.as_seconds().max(1e-9)))
}

/// The step without a rate of its own.
fn unpaced(plan: &Step) -> Step {
    Step { rate_iops: None, rate_bw: None, arrival: Step::default().arrival, ..plan.clone() }
}

/// Why more in flight would give no more, where the step or another one shows that.
pub fn deep_enough(judge: &Judge<'_>, promised: &AtBlock) -> Option<String> {
    if judge.step.open_loop.is_some() {
        return None;
    }
    let depth = judge.step.in_flight_asked.get()?.max(1.0) as u64;
    if let Some((fewer, step)) = one_ceiling(judge) {
        return Some(format!(
            "{} in flight ({}) gave the same rate",
            grouped(fewer.round() as u64),
            step.name
        ));
    }
    (depth >= plenty(judge.judged_promise, promised))
        .then(|| format!("{depth} requests in flight are enough for any volume of this promise"))
}

/// Another step which did as much with half of the requests in flight, or fewer, and its depth: the rate does not depend on the depth.
fn one_ceiling<'a>(judge: &Judge<'a>) -> Option<(f64, &'a StepRecord)> {
    let (mine, depth) = (judge.step.iops(), judge.step.in_flight_asked.get()?);
    let others = judge.record.steps.iter().filter(|other| {
        other.name != judge.step.name
            && (other.iops() / mine - 1.0).abs() <= SAME_RATE
            && judge.record.sharing(other).count == 0
            && judge.record.same_load(judge.step, other)
    });
    others
        .filter_map(|other| Some((other.in_flight_asked.get()?, other)))
        .find(|(asked, _)| asked * 2.0 <= depth)
}

/// The largest latency that counts as a volume's own where latencies show waiting.
fn ceiling(judged_promise: &JudgedPromise) -> Nanos {
    latency_promised(judged_promise).map_or(SLOWEST, |p| Nanos(p.0.saturating_mul(TIMES_PROMISED)))
}

/// Requests in flight at which a volume that misses the promise is slow, whatever its own latency.
pub(super) fn plenty(judged_promise: &JudgedPromise, promised: &AtBlock) -> u64 {
    let least = if promised.binding.counts_ios() { PLENTY_DEPTH } else { PLENTY_DEPTH_OF_BYTES };
    let slowest = Nanos(ceiling(judged_promise).0.saturating_mul(PLENTY_TIMES)).min(HOPELESS_LATENCY);
    depth_needed(promised.iops, slowest).max(least)
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

/// The command with twice the threads and the same depth of all together.
pub fn more_jobs(judge: &Judge<'_>) -> Option<String> {
    let plan = judge.record.plan_step(&judge.step.name)?;
    let step = Step { numjobs: plan.numjobs * 2, iodepth: plan.iodepth.div_ceil(2), ..plan.clone() };
    Some(command(judge.record, judge.judged_promise, &step))
}

/// Why nothing was judged of a metric that is promised, and the command that tests it.
pub fn untested(record: &Record, judged_promise: &JudgedPromise, metric: Metric) -> Option<Untested> {
    let plan = record.plan.steps.iter().find(|s| promise_direction(s.rw).is_some())?;
    let d = promise_direction(plan.rw)?;
    let first = judged_promise.promise.volumes.first()?;
    let base = unpaced(plan);
    let (reason, step) = match metric {
        Metric::Percentile | Metric::SlowShare => return None,
        Metric::Latency => {
            let promised = latency_promised(judged_promise)?;
            let basis = first.latency_basis.clone().unwrap_or_else(|| "one request at a time".into());
            let load = cap_wait::latency_load(judged_promise, plan.rw, promised);
            let step = Step {
                rw: load.pattern,
                iodepth: 1,
                numjobs: 1,
                bs: BlockSizes::one(load.block),
                bs_write: None,
                rate_iops: load.rate,
                ..base
            };
            (format!("{promised} are promised ({basis}), and no step runs that"), step)
        }
        Metric::Iops | Metric::Throughput => {
            let iops = judged_promise.promise.iops_cap(d)?;
            let bytes =
                judged_promise.promise.bytes_cap(d, crate::catalogue::volume_promise::Reading::Likely)?;
            let knee = Bytes((bytes.value / iops.value) as u64);
            let block = if metric == Metric::Iops { first.iops_block } else { first.throughput_block };
            let rates = PromisedRates::of(judged_promise, block, d)?;
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
            let own = latency_promised(judged_promise).unwrap_or(Nanos::millis(1)).max(Nanos::millis(1));
            let step = deeper(
                &Step { bs: BlockSizes::one(block), bs_write: None, ..base },
                rates.least.iops,
                own,
                0,
            );
            (format!("it shows {side} {knee} a block, and {words}"), step)
        }
    };
    Some(Untested {
        application: None,
        metric,
        reason,
        command: Some(command(record, judged_promise, &step)),
    })
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
pub(super) fn command(record: &Record, judged_promise: &JudgedPromise, step: &Step) -> String {
    let mut words = vec!["volproof".to_string(), "run".into()];
    let targets = record.plan.targets_of(step).iter();
    words.extend(targets.map(|target| kept(record, step, target).display().to_string()));
    // The step is measured for its time and not for an amount, and its threads may be more than the CPUs that were named.
    let runtime = Nanos(step.runtime.0.max(RECOMMENDED.0));
    // The share of reads is refused where all I/Os have one direction.
    let rwmix = if step.rw.directions().len() > 1 { step.rwmix } else { Step::default().rwmix };
    // A promise is of I/Os on the volume: no page cache, no flushes between them, an engine that keeps them in flight, and a file that is as large as
    // others.
    let plain = Step::default();
    let own_file = step.file_state != plain.file_state;
    // Direct I/O takes whole sectors.
    let block = step.single_block().filter(|block| block.0 % SECTOR != 0);
    let asked = Step {
        bs: block.map_or(step.bs.clone(), |b| BlockSizes::one(Bytes(b.0.next_multiple_of(SECTOR)))),
        fsync: plain.fsync,
        datasync: plain.datasync,
        sync: plain.sync,
        engine: if step.engine == EngineKind::Psync && step.iodepth > 1 { plain.engine } else { step.engine },
        direct: plain.direct,
        size: step.size.filter(|_| !own_file),
        file_state: plain.file_state,
        runtime,
        io_size: None,
        time_based: false,
        cpus: None,
        rwmix,
        ..step.clone()
    };
    words.extend(asked.options(&["rw", "bs", "iodepth", "numjobs", "runtime"]));
    if let Some(size) = record.plan.file_size {
        words.extend(["--file-size".into(), size.exact()]);
    }
    if record.plan.overwrite {
        words.push("--overwrite".into());
    }
    words.extend(judged_promise.options.iter().cloned());
    words.iter().map(|word| shell(word)).collect::<Vec<_>>().join(" ")
}
