//! One step: the engine's samples and the kernel's own counts become a [`StepRecord`].

pub mod so_far;

use std::iter::repeat_n;
use std::path::PathBuf;

use crate::{self as engine, StepOutcome, WorkerEnd};
use volproof_base::hist::StoredHistogram;
use volproof_base::sample::{CpuTime, Depth, Direction, GRID, Series};
use volproof_base::unit::{Bytes, Nanos, total};
use volproof_host::observe::KernelCounters;
use volproof_host::topo::Placement;
use volproof_plan::{EngineKind, Step};
use volproof_record::{
    Accounting, CpuRecord, DirectionSummary, ErrorRecord, IoError, LateResponses, OpenLoopRecord, StepRecord,
    StepTarget,
};

/// A step whose load has ended.
pub struct EndedStep<'a> {
    /// The step of the plan.
    pub step: &'a Step,
    /// The engine that ran it.
    pub engine: EngineKind,
    /// On what: the path of each target, none for the null engine.
    pub paths: Vec<PathBuf>,
    /// Start, RFC 3339, UTC.
    pub started: String,
    /// From the first I/O of its stage to its own.
    pub started_after: Nanos,
    /// CPU of each worker; empty when unpinned.
    pub pinned_cpus: Vec<u32>,
    /// Why they were placed there.
    pub placement: Option<Placement>,
    /// The outcome that the engine reports.
    pub outcome: StepOutcome,
    /// The kernel's counters of the same time; empty in a stage of several steps, where no counter is its alone.
    pub evidence: KernelCounters,
}

/// The Record's entry of a step.
pub fn entry(ended: EndedStep<'_>) -> StepRecord {
    let EndedStep { step, engine, paths, started, started_after, .. } = ended;
    let EndedStep { pinned_cpus, placement, outcome, evidence, .. } = ended;
    let accounting = (!outcome.clock.is_empty()).then(|| accounting(&outcome));
    let StepOutcome { mut series, ends, stuck, set_up, fio, .. } = outcome;
    let window = series.iter().map(|s| s.window_ns).max().unwrap_or_default();
    let paths = if paths.is_empty() { vec!["null".into()] } else { paths };
    let mut tails: Vec<LateResponses> = Vec::new();
    for (t, series) in series.iter_mut().enumerate() {
        let of_target: Vec<&WorkerEnd> = ends.iter().filter(|e| step.target_of(e.worker) == t).collect();
        series.silent_after_ns = silent_after(&of_target, window, step.depth_per_target());
        tails.push(tail(step, of_target));
    }
    Series::equalise(&mut series.iter_mut().collect::<Vec<_>>());
    let all: Vec<&Series> = series.iter().collect();
    let all_tails: Vec<&LateResponses> = tails.iter().collect();
    let total = DirectionSummary::total(&all, &all_tails);
    let [read, write, trim, sync] = Direction::ALL.map(|d| DirectionSummary::of_samples(d, &all, &all_tails));
    let ios: u64 = [&read, &write, &trim, &sync].into_iter().flatten().map(|s| s.ios).sum();
    let mut depth = Depth::default();
    ends.iter().for_each(|e| depth.add(&e.depth));
    let errors = ErrorRecord {
        count: ends.iter().map(|e| e.errors.count).sum(),
        first: ends
            .iter()
            .flat_map(|e| e.errors.first.iter().map(|f| (step.target_of(e.worker), f)))
            .take(10)
            .map(|(target, f)| IoError {
                path: paths[target].clone(),
                direction: f.direction,
                offset_bytes: Bytes(f.offset),
                length_bytes: Bytes(u64::from(f.length)),
                error: engine::explain(f),
            })
            .collect(),
    };
    StepRecord {
        name: step.name.clone(),
        engine: engine.into(),
        engine_features: ends.first().map(|e| e.features.clone()).unwrap_or_default(),
        fio,
        started: started.into(),
        earlier_run: None,
        first_io_unix_ns: None,
        started_after_ns: started_after,
        interventions: Vec::new(),
        set_up_ns: set_up,
        window_ns: window,
        workers_window_ns: Nanos(ends.iter().map(|e| e.window.0).sum()),
        in_flight_mean: series.iter().map(Series::in_flight_mean).sum(),
        in_flight_asked: (step.depth_per_target() as f64 * series.len() as f64).into(),
        depth: Some(depth),
        cpu: cpu(&ends, ios, window, step, &evidence),
        pinned_cpus,
        placement,
        errors,
        drained_ios: ends.iter().map(|e| e.drained.0).sum(),
        drained_max_ns: ends.iter().map(|e| e.drained.1).max().unwrap_or_default(),
        end_flushes: ends.iter().map(|e| e.end_flushes.0).sum(),
        end_flush_max_ns: ends.iter().map(|e| e.end_flushes.1).max().unwrap_or_default(),
        lost_ios: ends.iter().map(|e| u64::from(e.lost)).sum(),
        reported: None,
        stuck_workers: stuck,
        headroom: None,
        accounting,
        open_loop: open_loop(step, &series, &ends, window, ios),
        targets: series
            .into_iter()
            .zip(&tails)
            .enumerate()
            .map(|(t, (series, tail))| StepTarget::of_samples(paths[t].clone(), series, &[tail]))
            .collect(),
        read,
        write,
        trim,
        sync,
        total,
        provider: Vec::new(),
        evidence,
    }
}

fn accounting(outcome: &StepOutcome) -> Accounting {
    Accounting {
        clock: outcome.clock.clone(),
        drift_ppm: outcome.drift_ppm,
        negative_latencies: outcome.ends.iter().map(|e| e.backwards).sum(),
        outside_latency_ns: outcome.ends.iter().map(|e| e.outside_ns).sum(),
        patience_ns: outcome.patience,
    }
}

/// The longest time after the window in which none of the I/Os in flight at its end came back, until half of them had. The rest may be single slow
/// ones: a load that has ended sends nothing that would go on beside them. One that never came back was waited for as long as any is.
///
/// Under a rate, few in flight are slow ones at any time. Only as many as a volume lets come together that answers nothing for a tenth of a
/// second, or as the queue of `depth` holds, show that it had stopped.
fn silent_after(ends: &[&WorkerEnd], window: Nanos, depth: u64) -> Nanos {
    let arrivals: u64 = ends.iter().filter_map(|e| e.open.as_ref()).map(|open| open.arrivals).sum();
    let together = arrivals as f64 * GRID.0 as f64 / window.0.max(1) as f64;
    let least = if arrivals > 0 { (together.ceil() as u64).max(2).min(depth) } else { 0 };
    let mut returned: Vec<u64> = Vec::new();
    for end in ends {
        returned.extend(repeat_n(end.patience.0, end.lost as usize));
        returned.extend(end.returned.iter().map(|after| after.0));
    }
    if (returned.len() as u64) < least {
        return Nanos(0);
    }
    returned.sort_unstable();
    returned.truncate(returned.len().div_ceil(2));
    let begins = std::iter::once(0).chain(returned.iter().copied());
    Nanos(returned.iter().zip(begins).map(|(end, begin)| end - begin).max().unwrap_or(0))
}

fn tail<'a>(step: &Step, ends: impl IntoIterator<Item = &'a WorkerEnd>) -> LateResponses {
    let mut tail = LateResponses::default();
    let first = step.rw.directions()[0];
    for open in ends.into_iter().filter_map(|e| e.open.as_ref()) {
        for d in Direction::ALL {
            tail.add_late(d, &open.late[d].to_sparse());
        }
        tail.add_censored(first, &open.censored.to_sparse());
    }
    tail
}

fn cpu(ends: &[WorkerEnd], ios: u64, window: Nanos, step: &Step, evidence: &KernelCounters) -> CpuRecord {
    let mut all = CpuTime::default();
    ends.iter().for_each(|e| all.add(&e.cpu));
    // The helpers were seen over the whole load; the window has its share of them.
    let share = window.0 as f64 / (window.0 + step.ramp.0).max(1) as f64;
    let io_wq = evidence.io_wq_ns.0 as f64 * share;
    let busiest = ends.iter().map(|e| e.cpu.user.0 + e.cpu.system.0).max().unwrap_or(0);
    CpuRecord {
        user_ns_per_io: per_io(all.user.0 as f64, ios),
        system_ns_per_io: per_io(all.system.0 as f64 + io_wq, ios),
        user_ns: all.user,
        system_ns: all.system,
        io_wq_ns: Nanos(io_wq as u64),
        context_switches: all.switches,
        page_faults_major: all.major_faults,
        page_faults_minor: all.minor_faults,
        busiest_worker: busiest as f64 / window.0.max(1) as f64,
    }
}

/// CPU time per I/O; 0 without any.
fn per_io(ns: f64, ios: u64) -> f64 {
    if ios == 0 { 0.0 } else { ns / ios as f64 }
}

fn open_loop(
    step: &Step,
    series: &[Series],
    ends: &[WorkerEnd],
    window: Nanos,
    ios: u64,
) -> Option<OpenLoopRecord> {
    let offered = step.arrivals_per_second()? * series.len() as f64;
    let seconds = window.as_seconds().max(1e-9);
    let mut lag = volproof_base::hist::Histogram::new();
    let mut arrivals = 0;
    for open in ends.iter().filter_map(|e| e.open.as_ref()) {
        lag.merge(&open.lag);
        arrivals += open.arrivals;
    }
    let late = tail(step, ends);
    let achieved = ios as f64 / seconds;
    let slots = step.depth_per_target() * series.len() as u64;
    Some(OpenLoopRecord {
        offered_per_second: offered,
        arrivals,
        achieved_per_second: achieved,
        backlog_per_second: late.count() as f64 / seconds,
        censored: total(late.censored.values().map(StoredHistogram::count)),
        late,
        lag_p99_ns: lag.quantile(0.99).unwrap_or_default(),
        lag_max_ns: lag.max().unwrap_or_default(),
        sustained: !backlog_grew(arrivals, ios, slots, series),
    })
}

/// An open loop that completes fewer or more of its arrivals than this did not keep up, however its responses went.
const MISSED: f64 = 0.01;
/// A backlog that the slots of the queue still hold grew where it is more than this share of the arrivals.
const MISSED_IN_FLIGHT: f64 = 0.001;
/// Of a backlog that grows evenly, responses of the last quarter take seven times as long as those of the first, and still 1.7 times
/// after a ramp that was as long as the window.
const GROWN: f64 = 1.5;

/// Fewer I/Os completed in the window than became due in it, by more than a queue that is steady varies: against the arrivals that came,
/// which a Poisson schedule lets vary. A volume that stops at the end leaves a backlog too, and no responses that grew before.
fn backlog_grew(arrivals: u64, ios: u64, slots: u64, series: &[Series]) -> bool {
    let backlog = arrivals.saturating_sub(ios);
    let missed_in_flight = backlog as f64 > MISSED_IN_FLIGHT * arrivals as f64;
    let beyond_chance = backlog > slots || backlog > slots / 2 && missed_in_flight;
    arrivals.abs_diff(ios) as f64 > MISSED * arrivals as f64 || beyond_chance && responses_grow(series)
}

/// Responses, counted from the time at which each I/O was due, are longer in the last quarter of the window than in the first, as those of a
/// backlog are.
fn responses_grow(series: &[Series]) -> bool {
    let mut seconds: Vec<(u64, f64)> = Vec::new();
    let streams = series.iter().flat_map(|s| s.streams());
    for response in streams.map(|stream| &stream.response) {
        seconds.resize(seconds.len().max(response.len()), (0, 0.0));
        for (sum, h) in seconds.iter_mut().zip(response) {
            *sum = (sum.0 + h.count(), sum.1 + h.sum.0 as f64);
        }
    }
    let quarter = seconds.len().div_ceil(4);
    let (first, last) = (mean(&seconds[..quarter]), mean(&seconds[seconds.len() - quarter..]));
    first.zip(last).is_some_and(|(first, last)| last > GROWN * first)
}

/// The mean of values whose number and sum are given by the second; none without values.
fn mean(seconds: &[(u64, f64)]) -> Option<f64> {
    let (n, sum) = seconds.iter().fold((0, 0.0), |all, second| (all.0 + second.0, all.1 + second.1));
    (n > 0).then(|| sum / n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpenEnd;
    use volproof_base::hist::Histogram;
    use volproof_base::sample::Stream;

    /// Responses of these mean times, one second each.
    fn responses(ms: impl Iterator<Item = u64>) -> Vec<Series> {
        let second = |ms: u64| {
            let mut h = Histogram::new();
            h.record_n(Nanos::millis(ms), 100);
            h.to_sparse()
        };
        let stream = Stream { response: ms.map(second).collect(), ..Stream::default() };
        vec![Series { read: Some(stream), ..Series::default() }]
    }

    #[test]
    fn silence_after_the_window_is_that_of_most_requests() {
        let after = |workers: &[&[u64]]| {
            let end = |ms: &&[u64]| WorkerEnd {
                returned: ms.iter().map(|ms| Nanos::millis(*ms)).collect(),
                ..WorkerEnd::default()
            };
            silent_after(
                &workers.iter().map(end).collect::<Vec<_>>().iter().collect::<Vec<_>>(),
                Nanos::millis(60_000),
                4,
            )
        };
        assert_eq!(after(&[]), Nanos(0));
        assert_eq!(after(&[&[8500, 8500], &[8501, 8502]]), Nanos::millis(8500), "all waited");
        assert_eq!(after(&[&[1, 8501, 8501, 8502]]), Nanos::millis(8500), "one was on its way");
        assert_eq!(after(&[&[1, 2, 2], &[9000]]), Nanos::millis(1), "a single slow one");
        let stuck = |lost| WorkerEnd {
            patience: Nanos::millis(10_000),
            lost,
            returned: vec![Nanos::millis(1)],
            ..WorkerEnd::default()
        };
        assert_eq!(
            silent_after(&[&stuck(3)], Nanos::millis(60_000), 4),
            Nanos::millis(9999),
            "most never came back"
        );
        assert_eq!(
            silent_after(&[&stuck(1)], Nanos::millis(60_000), 4),
            Nanos::millis(1),
            "one never came back"
        );
        assert_eq!(
            after(&[&[500, 1000, 1500, 2000]]),
            Nanos::millis(500),
            "a slow device, one after the other"
        );
        // 100 arrivals a second: a stop of a tenth of a second keeps ten of them.
        let under_rate = |in_flight: usize| WorkerEnd {
            returned: vec![Nanos::millis(900); in_flight],
            open: Some(OpenEnd { arrivals: 6000, ..OpenEnd::default() }),
            ..WorkerEnd::default()
        };
        let after = |n, depth| silent_after(&[&under_rate(n)], Nanos::millis(60_000), depth);
        assert_eq!(after(9, 64), Nanos(0), "slow ones, as at any time");
        assert_eq!(after(10, 64), Nanos::millis(900), "all that came");
        assert_eq!(after(4, 4), Nanos::millis(900), "all that the queue holds");
    }

    #[test]
    fn a_backlog_that_grows_is_no_rate_that_was_kept_whatever_its_share() {
        let grows = || responses((1..=60).map(|s| 10 * s));
        let steady = || responses((1..=60).map(|s| 10 + s % 3));
        // 0.9 % of 120,000 arrivals: more than 256 slots hold.
        assert!(backlog_grew(120_000, 118_920, 256, &grows()));
        // In 10 s the slots still hold it.
        assert!(backlog_grew(20_000, 19_820, 256, &grows()));
        // A volume that stopped at the end, a latency that doubles, and the in and out of a steady queue.
        assert!(!backlog_grew(120_000, 119_000, 256, &steady()));
        assert!(!backlog_grew(1_200_000, 1_199_860, 256, &grows()));
        assert!(!backlog_grew(120_000, 119_900, 256, &grows()));
        assert!(!backlog_grew(120_000, 120_100, 256, &grows()));
        assert!(backlog_grew(120_000, 118_700, 4096, &steady()));
    }
}
