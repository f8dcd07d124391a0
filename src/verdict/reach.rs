//! Could this step have reached the promise at all? And the command that can.
//!
//! By Little's law a rate X at a latency R needs X R requests in flight. R is the volume's own latency, not the waiting that a throttle or
//! a full queue adds; a step with fewer in flight says nothing about the volume. A step with enough in flight says something only where its
//! requests waited for most of the time. A volume that stops again and again, or is slow now and then, gives more with more in flight,
//! although at one depth it looks like a quota.

use std::borrow::Cow;
use std::path::Path;

use super::cap_wait;
use super::claim::{Judge, PromisedRates, latency_promised};
use super::judged_window::DELIVERED;
use crate::catalogue::volume_promise::AtBlock;
use crate::codes;
use crate::device::Facts;
use crate::diagnose::{ALONE, FILLED_BY_FEW, Summary, bins};
use crate::plan::{BlockSizes, EngineKind, Step};
use crate::record::{
    Confidence, Diagnosis, Finding, JudgedPromise, Metric, Record, StepRecord, TargetRecord, Untested,
};
use crate::sample::{PER_SECOND, Stream};
use crate::shell_word::shell;
use crate::stats::lapses::{Event, Lapse, LoadGrid};
use crate::stats::little::depth_needed;
use crate::stats::moments::median;
use crate::stats::percentile::pooled;
use crate::stats::rate::per_second;
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
/// Stalls and brown-outs below this share of the time do not explain why a step falls short.
const MUCH_DEAD_TIME: f64 = 0.05;
/// A volume that completes nothing for this long has stopped: I/Os that are slow one by one take less.
const NO_SLOW_IO: Nanos = Nanos::seconds(5);
/// Least depth of the first deeper step that is recommended. Where that was not enough, the next recommendation has the depth that decides.
const FIRST_RUNG: u64 = FILLED_BY_FEW;
/// Bytes of a sector.
const SECTOR: u64 = 512;
/// A queue is full above this share of its depth.
const FULL: f64 = 0.9;
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

/// `None` when the step could have reached the rate.
pub fn of(judge: &Judge<'_>, promised: &AtBlock) -> Option<Reach> {
    let (plan, step) = (judge.record.plan_step(&judge.step.name)?, judge.step);
    let kept = 1.0 - judge.judged_promise.tolerance;
    let least = promised.iops * kept;
    // Where bytes are promised, the number of I/Os that they make is rounded down.
    let exact = match promised.binding.counts_ios() {
        true => promised.iops,
        false => promised.iops.max(promised.bytes / plan.mean_block()),
    };
    if let Some(offered) = offered(step).filter(|offered| *offered < exact * kept) {
        let told = |rate: f64| if rate < 100.0 { significant(rate) } else { grouped(rate.round() as u64) };
        return Some(Reach {
            reason: format!(
                "only {} I/Os a second were offered, {} are promised",
                told(offered),
                told(exact)
            ),
            command: command(
                judge.record,
                judge.judged_promise,
                &deeper(&unpaced(plan), promised.iops, Nanos::millis(1), 0),
            ),
        });
    }
    let depth = step.in_flight_asked.get()?.max(1.0) as u64;
    // Flushes stop with the I/Os: outside of stalls there is the same number of them for each I/O.
    let summary = judge.summary();
    if let Some(reason) = judge.each_counted(&summary, step.iops() / delivering_share(step), least, promised)
    {
        return Some(Reach {
            reason,
            command: command(
                judge.record,
                judge.judged_promise,
                &deeper(plan, promised.iops, Nanos::millis(1), depth),
            ),
        });
    }
    if one_ceiling(judge).is_some() {
        return None;
    }
    if reached_between_stalls(step, least) {
        return None;
    }
    let OwnLatency { latency: own, decides } = own_latency(judge, depth, promised)?;
    // The step reached the promise in most of its seconds: what is missing lies in slower ones, which more in flight may make up for.
    if usual_second(step).is_some_and(|rate| rate >= least) {
        let enough = enough_for_slow_seconds(promised, own, decides);
        return (depth < enough && deep_enough(judge, promised).is_none()).then(|| Reach {
            reason: format!(
                "{depth} in flight reach the promise in the usual seconds, and not where each I/O took longer: {enough} in flight show whether \
                 the volume does"
            ),
            command: command(judge.record, judge.judged_promise, &deeper(plan, promised.iops, own, enough)),
        });
    }
    let flushing = flushing(judge, depth);
    if depth >= depth_needed(promised.iops, Nanos(own.0.saturating_add(flushing.0))) {
        return None;
    }
    // Little's law holds for means alone.
    let mean = time_of_each(judge, depth);
    let needed = depth_needed(promised.iops, mean).max(depth + 1);
    let flushing = if flushing.0 > 0 { ", flushes included," } else { "" };
    let decides_words = match decides > needed {
        true => format!("; {decides} in flight show whether they waited for each other"),
        false => String::new(),
    };
    let most = plenty(judge.judged_promise, promised).max(depth + 1);
    Some(Reach {
        reason: format!(
            "{depth} in flight at {mean} each in the mean{flushing} reach {} IOPS by Little's law; {} IOPS need {needed} at that latency{decides_words}",
            grouped(judge.step.iops().round() as u64),
            grouped(promised.iops.round() as u64),
        ),
        command: command(
            judge.record,
            judge.judged_promise,
            &deeper(plan, promised.iops, Nanos::default(), (needed * 3 / 2).min(most).max(decides)),
        ),
    })
}

/// I/Os a second that an open loop offered: random arrivals may be fewer than were asked for.
fn offered(step: &StepRecord) -> Option<f64> {
    let open = step.open_loop.as_ref()?;
    Some(open.offered_per_second.min(open.arrivals as f64 / step.window_ns.as_seconds().max(1e-9)))
}

/// Why the seconds that delivered less than [`DELIVERED`] of the promise may be those of the load, and a step that tells: `None` where so many of
/// them are the volume's that the promised share of `time` is missed without the others.
///
/// A second in which nothing completed is the volume's at any depth. In an open loop, so is one in which more was there to do than completed. In a
/// closed loop, and in a full queue, fewer I/Os completed because they took longer: that is the volume's only where [`PLENTY_TIMES`] times as many were in
/// flight as the promise needs at the volume's own latency, or where more give no more.
pub fn of_seconds(judge: &Judge<'_>, promised: &AtBlock, time: f64) -> Option<Reach> {
    let (plan, step) = (judge.record.plan_step(&judge.step.name)?, judge.step);
    let load = LoadGrid::of(step.targets.iter().map(|t| &t.series));
    let least = DELIVERED * promised.iops;
    let depth = step.in_flight_asked.get()?.max(1.0) as u64;
    let second = PER_SECOND as usize;
    let seconds = load.ios.chunks_exact(second).zip(load.in_flight.chunks_exact(second));
    let seconds = seconds.map(|(ios, in_flight)| (ios.iter().sum::<u64>() as f64, in_flight[second - 1]));
    let (count, missed): (usize, Vec<(f64, f64)>) =
        (load.ios.len() / second, seconds.filter(|(done, _)| *done < least).collect());
    let own = own_latency(judge, depth, promised);
    let enough = own.as_ref().map_or(0, |own| enough_for_slow_seconds(promised, own.latency, own.decides));
    // What finds the queue full waits outside of it.
    let full = |left: f64| left >= FULL * depth as f64;
    let of_volume = |(done, left): &&(f64, f64)| match step.open_loop {
        Some(_) => *done == 0.0 && *left > 0.0 || done + left >= least || full(*left) && depth >= enough,
        None => *done == 0.0,
    };
    let proven = missed.iter().filter(of_volume).count();
    if proven as f64 > (1.0 - time) * count as f64 {
        return None;
    }
    let share = (100.0 * (missed.len() - proven) as f64 / count as f64).round().max(1.0);
    if step.open_loop.is_some() && !missed.iter().any(|(_, left)| full(*left) && depth < enough) {
        return Some(Reach {
            reason: format!(
                "in {share} % of the seconds the load offered less than 90 % of the promise: they were missed by the load, and not by the volume"
            ),
            command: command(
                judge.record,
                judge.judged_promise,
                &deeper(&unpaced(plan), promised.iops, Nanos::millis(1), 0),
            ),
        });
    }
    let own = own?.latency;
    (depth < enough && deep_enough(judge, promised).is_none()).then(|| Reach {
        reason: format!(
            "in {share} % of the seconds {depth} in flight did less than 90 % of the promise, as each I/O took longer: {enough} in flight show whether the \
             volume does"
        ),
        command: command(
            judge.record,
            judge.judged_promise,
            &deeper(&unpaced(plan), promised.iops, own, enough),
        ),
    })
}

/// So many requests in flight show whether a volume misses a promise in its slower seconds: [`PLENTY_TIMES`] times as many as the promise needs
/// at the volume's own latency, or those that decide whether requests waited for each other.
fn enough_for_slow_seconds(promised: &AtBlock, own: Nanos, decides: u64) -> u64 {
    (depth_needed(promised.iops, own) * PLENTY_TIMES).max(decides)
}

/// The median of the rates of the seconds.
fn usual_second(step: &StepRecord) -> Option<f64> {
    let seconds = per_second(&bins(step, false));
    median(&seconds.iter().map(|&n| n as f64).collect::<Vec<_>>())
}

/// Long stalls explain all that is missing: in the rest of the window the step reached `least`. No I/O is slow by itself for so long, so that
/// the volume had stopped for any depth.
fn reached_between_stalls(step: &StepRecord, least: f64) -> bool {
    let lapses = LoadGrid::of(step.targets.iter().map(|t| &t.series)).events();
    let long = |e: &&Event| e.lapse == Lapse::Stall && e.length_ns >= NO_SLOW_IO;
    let lost = Event::seconds_within(lapses.iter().filter(long), step.window_ns);
    let rest = 1.0 - lost / step.window_ns.as_seconds();
    lost > 0.0 && step.iops() >= least * rest
}

/// Share of the window that lies outside of stalls and brown-outs.
fn delivering_share(step: &StepRecord) -> f64 {
    let lapses = LoadGrid::of(step.targets.iter().map(|t| &t.series)).events();
    let lost = Event::seconds_within(&lapses, step.window_ns);
    1.0 - (lost / step.window_ns.as_seconds()).clamp(0.0, 0.99)
}

/// How long a place in the queue is busy with each I/O and the flushes after it, in the mean.
fn time_of_each(judge: &Judge<'_>, depth: u64) -> Nanos {
    Nanos((depth as f64 / judge.step.iops() * 1e9) as u64)
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
        Some(mean) => Nanos(time_of_each(judge, depth).0.saturating_sub(mean as u64)),
        None => Nanos(0),
    }
}

/// An open loop whose queue was full all the time is a closed loop of that depth: each I/O that completes makes room for one that waits.
fn as_closed_loop(step: &StepRecord) -> Cow<'_, StepRecord> {
    let full = step.in_flight_asked.get().is_some_and(|depth| step.in_flight_mean >= FULL * depth);
    match step.open_loop.is_some() && full {
        true => Cow::Owned(StepRecord { open_loop: None, ..step.clone() }),
        false => Cow::Borrowed(step),
    }
}

/// The latency of an open loop before its I/Os fill the queue: of the shortest twentieth of its first second, where that is shorter than later. Else
/// I/Os are short now and then, whatever the queue. Where `step` is a part of a `whole`, the first second is that of the whole.
fn before_the_queue_fills(step: &StepRecord, whole: Option<&StepRecord>) -> Option<Nanos> {
    step.open_loop.as_ref()?;
    fn streams(step: &StepRecord) -> impl Iterator<Item = &Stream> {
        step.targets.iter().flat_map(|t| [&t.series.read, &t.series.write]).flatten()
    }
    let first = streams(whole.unwrap_or(step)).filter_map(|stream| stream.service.first());
    let shortest = pooled(first).quantile(0.05)?;
    let later = pooled(streams(step).flat_map(|stream| stream.service.iter().skip(1))).quantile(0.05)?;
    (later.0 > 2 * shortest.0).then_some(shortest)
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
    let known = own_latency(judge, depth, promised)?;
    (depth >= plenty(judge.judged_promise, promised) && depth >= depth_needed(promised.iops, known.latency))
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

/// The latency of the volume by itself.
struct OwnLatency {
    latency: Nanos,
    /// The depth that decides whether requests waited for each other, where latencies do not show that; else 0.
    decides: u64,
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

/// The mean latency of a step whose depth may have set its rate: with `own` as its latency, the same depth would have reached a higher
/// rate. `None` for any other step, and from `plenty` in flight on.
fn mean_where_depth_sets_rate(s: &Summary, own: Nanos, found: &Diagnosis, plenty: u64) -> Option<Nanos> {
    match s.in_flight? < plenty as f64 && s.may_stop(own).is_some() {
        true => s.mean_ns.map(|mean| Nanos(mean as u64)),
        false => slow_one_by_one(s, found, plenty),
    }
}

/// Requests wait in a queue that is served at a constant rate: the shortest of them shows the volume's own latency.
fn waits_its_turn(found: &Diagnosis) -> bool {
    found.find(codes::THROTTLE).is_some_and(|f| f.numbers.contains_key(codes::figure::DEVICE_LATENCY_MS))
}

/// The mean latency of a step whose slow I/Os hold most of its requests in flight, where neither a throttle nor a time without delivery
/// makes them slow: with more in flight the other I/Os go on beside the slow ones. `None` for any other step, and from `plenty` in flight
/// on.
///
/// Signs against it: counts that are too even for I/Os which are slow one by one, the signs of a throttle, and stalls that are longer than
/// the slow I/Os themselves. One request at a time shows no throttle of the rate: there the mean is given whatever its cause.
fn slow_one_by_one(s: &Summary, found: &Diagnosis, plenty: u64) -> Option<Nanos> {
    const OTHERWISE: [&str; 6] =
        [codes::STALL, codes::BROWN_OUT, codes::SLOW_START, codes::ON_OFF, codes::BURST, codes::DRIFT];
    // Slow I/Os that fill a shallow queue leave times without any completion, which are shorter than themselves.
    let of_slow = |f: &Finding| {
        let figure = |name| f.numbers.get(name).copied().unwrap_or(0.0);
        let length = match f.code.as_str() {
            codes::ON_OFF => f.numbers.get(codes::figure::STOP_SECONDS).copied().unwrap_or(f64::INFINITY),
            codes::STALL => figure(codes::figure::LOST_SECONDS) / figure(codes::figure::EVENTS),
            _ => f64::INFINITY,
        };
        f.numbers.get(codes::figure::LOST_SHARE).is_some_and(|share| *share < MUCH_DEAD_TIME)
            || s.outlasts(length)
    };
    let mean = s.mean_where_slow_ios_fill(plenty)?;
    if s.in_flight? < ALONE || s.slow_one_by_one() {
        return Some(mean);
    }
    let throttled = found.find(codes::THROTTLE).is_some_and(|f| f.confidence > Confidence::Possible);
    let otherwise = OTHERWISE.iter().filter_map(|code| found.find(code)).any(|f| !of_slow(f));
    (!throttled && !s.held_together() && !otherwise).then_some(mean)
}

/// The latency of the volume without what a throttle or a queue adds.
///
/// In a closed loop rate and latency are one figure, so that a high latency alone does not tell a slow volume from a queue. Where
/// the depth may have set the rate, only a deeper step tells.
///
/// A queue that is served at a constant rate shows the same at each depth: after the first deeper step, the next one has the depth that
/// decides.
fn own_latency(judge: &Judge<'_>, depth: u64, promised: &AtBlock) -> Option<OwnLatency> {
    let summary_of = |step| Summary::of(judge.record, &as_closed_loop(step));
    let of = |s: &Summary| s.own_latency(waits_its_turn(judge.diagnosis));
    let summary = summary_of(judge.step);
    let plenty = plenty(judge.judged_promise, promised);
    // Requests that did not wait show it in any part of the step.
    let elsewhere = judge.whole.and_then(|whole| of(&summary_of(whole)));
    let first = before_the_queue_fills(judge.step, judge.whole);
    let own = [Some(of(&summary)?), elsewhere, first].into_iter().flatten().min()?;
    let decides = if depth >= FIRST_RUNG { plenty } else { 0 };
    Some(without_waiting(judge, &summary, own, plenty, decides))
}

/// The mean latency where the depth may have set the rate, which `decides` so many in flight; else the volume's `own` as far as a volume's own latency
/// goes: what is beyond that is waiting.
fn without_waiting(judge: &Judge<'_>, s: &Summary, own: Nanos, plenty: u64, decides: u64) -> OwnLatency {
    match mean_where_depth_sets_rate(s, own, judge.diagnosis, plenty) {
        Some(latency) => OwnLatency { latency, decides },
        None => OwnLatency { latency: own.min(ceiling(judge.judged_promise)), decides: 0 },
    }
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
    let plan = record.plan.steps.iter().find(|s| crate::diagnose::direction(s.rw).is_some())?;
    let d = crate::diagnose::direction(plan.rw)?;
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
