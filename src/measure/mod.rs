//! One step: the engine's samples and the kernel's own counts become a [`StepRecord`].

pub mod so_far;

use std::path::PathBuf;

use crate::engine::{self, StepOutcome, WorkerEnd};
use crate::observe::Evidence;
use crate::plan::{EngineKind, Step};
use crate::record::{
    Accounting, CpuRecord, DirectionSummary, ErrorRecord, IoError, LateResponses, OpenLoopRecord, StepRecord,
    StepTarget,
};
use crate::sample::{CpuTime, Depth, Direction, Series};
use crate::topo::Placement;
use crate::unit::{Bytes, Nanos};

/// A step whose load has ended.
pub struct Measured<'a> {
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
    /// I/Os that its trace had no room for.
    pub trace_left_out: u64,
    /// CPU of each worker; empty when unpinned.
    pub pinned_cpus: Vec<u32>,
    /// Why they were placed there.
    pub placement: Option<Placement>,
    /// The outcome that the engine reports.
    pub outcome: StepOutcome,
    /// The kernel's counters of the same time; empty in a stage of several steps, where no counter is its alone.
    pub evidence: Evidence,
}

/// The Record's entry of a step.
pub fn record(measured: Measured<'_>) -> StepRecord {
    let Measured { step, engine, paths, started, started_after, trace_left_out, .. } = measured;
    let Measured { pinned_cpus, placement, outcome, evidence, .. } = measured;
    let accounting = (!outcome.clock.is_empty()).then(|| accounting(&outcome));
    let StepOutcome { series, ends, stuck, set_up, fio, .. } = outcome;
    let window = series.iter().map(|s| s.window_ns).max().unwrap_or_default();
    let paths = if paths.is_empty() { vec!["null".into()] } else { paths };
    let of_target = |t: usize| ends.iter().filter(move |e| step.series_of(e.worker) == t);
    let tails: Vec<LateResponses> = (0..series.len()).map(|t| tail(step, of_target(t))).collect();
    let all: Vec<&Series> = series.iter().collect();
    let all_tails: Vec<&LateResponses> = tails.iter().collect();
    let sum = |d| DirectionSummary::of(d, &all, &all_tails);
    let total = DirectionSummary::total(&all, &all_tails);
    let (read, write) = (sum(Direction::Read), sum(Direction::Write));
    let (trim, sync) = (sum(Direction::Trim), sum(Direction::Sync));
    let ios: u64 = [&read, &write, &trim, &sync].into_iter().flatten().map(|s| s.ios).sum();
    let mut depth = Depth::default();
    ends.iter().for_each(|e| depth.add(&e.depth));
    let errors = ErrorRecord {
        count: ends.iter().map(|e| e.errors).sum(),
        first: ends
            .iter()
            .flat_map(|e| &e.failures)
            .take(10)
            .map(|f| IoError {
                path: paths[usize::from(f.target)].clone(),
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
        trace_left_out_ios: trace_left_out,
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
        open_loop: open_loop(step, series.len(), &ends, window, ios),
        targets: series
            .into_iter()
            .zip(&tails)
            .enumerate()
            .map(|(t, (series, tail))| {
                let of = |d| DirectionSummary::of(d, &[&series], &[tail]);
                StepTarget {
                    path: paths[t].clone(),
                    beside: if step.round_robin { paths[1..].to_vec() } else { Vec::new() },
                    read: of(Direction::Read),
                    write: of(Direction::Write),
                    trim: of(Direction::Trim),
                    sync: of(Direction::Sync),
                    in_flight_mean: series.in_flight_mean(),
                    series,
                }
            })
            .collect(),
        read,
        write,
        trim,
        sync,
        total,
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

fn tail<'a>(step: &Step, ends: impl Iterator<Item = &'a WorkerEnd>) -> LateResponses {
    let mut tail = LateResponses::default();
    let first = step.rw.directions()[0];
    for open in ends.filter_map(|e| e.open.as_ref()) {
        for d in Direction::ALL {
            tail.late[d].merge(&open.late[d]);
        }
        tail.censored[first].merge(&open.censored);
    }
    tail
}

fn cpu(ends: &[WorkerEnd], ios: u64, window: Nanos, step: &Step, evidence: &Evidence) -> CpuRecord {
    let mut all = CpuTime::default();
    ends.iter().for_each(|e| all.add(&e.cpu));
    // The helpers were seen over the whole load; the window has its share of them.
    let share = window.0 as f64 / (window.0 + step.ramp.0).max(1) as f64;
    let io_wq = evidence.io_wq_ns.0 as f64 * share;
    let busiest = ends.iter().map(|e| e.cpu.user.0 + e.cpu.system.0).max().unwrap_or(0);
    let per_io = |ns: f64| if ios == 0 { 0.0 } else { ns / ios as f64 };
    CpuRecord {
        user_ns_per_io: per_io(all.user.0 as f64),
        system_ns_per_io: per_io(all.system.0 as f64 + io_wq),
        user_ns: all.user,
        system_ns: all.system,
        io_wq_ns: Nanos(io_wq as u64),
        context_switches: all.switches,
        page_faults_major: all.major_faults,
        page_faults_minor: all.minor_faults,
        busiest_worker: busiest as f64 / window.0.max(1) as f64,
    }
}

fn open_loop(
    step: &Step,
    targets: usize,
    ends: &[WorkerEnd],
    window: Nanos,
    ios: u64,
) -> Option<OpenLoopRecord> {
    let offered = step.arrivals_per_second()? * targets as f64;
    let seconds = window.as_seconds().max(1e-9);
    let mut lag = crate::hist::Histogram::new();
    let (mut arrivals, mut censored, mut late) = (0, 0, 0);
    for open in ends.iter().filter_map(|e| e.open.as_ref()) {
        lag.merge(&open.lag);
        arrivals += open.arrivals;
        censored += open.censored.count();
        late += Direction::ALL.iter().map(|d| open.late[*d].count()).sum::<u64>();
    }
    let achieved = ios as f64 / seconds;
    Some(OpenLoopRecord {
        offered_per_second: offered,
        arrivals,
        achieved_per_second: achieved,
        backlog_per_second: (late + censored) as f64 / seconds,
        censored,
        lag_p99_ns: lag.quantile(0.99).unwrap_or_default(),
        lag_max_ns: lag.max().unwrap_or_default(),
        // Against the arrivals that came, which a Poisson schedule lets vary.
        sustained: (ios as f64 / (arrivals as f64).max(1.0) - 1.0).abs() <= 0.01,
    })
}
