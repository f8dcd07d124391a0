//! One step: the engine's samples and the kernel's own counts become a [`StepRecord`].

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Failure;
use super::targets::Ready;
use super::tuning;
use crate::device::Root;
use crate::engine::{self, CpuTime, End, Load, Outcome, Timer, Watch};
use crate::observe::{Evidence, Observer};
use crate::plan::{EngineKind, Plan, Step};
use crate::record::{
    CpuRecord, DirectionSummary, ErrorRecord, IoError, OpenLoopRecord, StepRecord, StepTarget, Tail,
};
use crate::sample::{Depth, Direction, Series};
use crate::ui::Ui;
use crate::unit::{Bytes, Nanos};

/// What stays the same from step to step.
pub struct Setting<'a> {
    /// Where /sys and /proc are.
    pub root: &'a Root,
    /// The clock.
    pub timer: &'a Timer,
    /// Open targets.
    pub ready: &'a Ready,
    /// The plan the step belongs to.
    pub plan: &'a Plan,
}

/// Runs a step and records it.
#[allow(clippy::too_many_arguments)] // the one place where a step meets everything it depends on
pub fn step(
    setting: &Setting<'_>,
    step: &Step,
    engine: EngineKind,
    place: &str,
    after: Nanos,
    ui: &mut Ui,
    interrupts: &AtomicUsize,
) -> Result<StepRecord, Failure> {
    if engine != EngineKind::Null {
        setting.ready.set_direct(step.direct)?;
    }
    let targets = setting.ready.targets();
    let (pinned, placement) = tuning::place(step, setting.ready)?;
    let load = Load {
        step,
        engine,
        targets: &targets,
        seed: setting.plan.seed,
        continue_on_error: setting.plan.continue_on_error,
        cpus: &pinned,
        gate: None,
    };
    let total = (step.runtime.0 > 0).then_some(Nanos(step.ramp.0 + step.runtime.0));
    let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    ui.begin(place, &step.name, total);
    let mut observer = Observer::start(setting.root, &setting.ready.disks(), step.ramp);
    let mut elapsed = Nanos(0);
    let outcome = engine::run(&load, setting.timer, &mut |watch: Watch<'_>| {
        elapsed = watch.elapsed;
        observer.poll(elapsed);
        ui.tick(place, &step.name, &watch, total, after);
        interrupts.load(Ordering::Relaxed) == 0
    })
    .map_err(|e| Failure::input(format!("step '{}': {e}", step.name)))?;
    let evidence = observer.finish(elapsed);
    Ok(StepRecord { placement, ..record(step, engine, started, setting.ready, outcome, evidence, pinned) })
}

fn record(
    step: &Step,
    engine: EngineKind,
    started: String,
    ready: &Ready,
    outcome: Outcome,
    evidence: Evidence,
    pinned_cpus: Vec<u32>,
) -> StepRecord {
    let Outcome { series, ends, trace, stuck, set_up, .. } = outcome;
    let window = series.iter().map(|s| s.window_ns).max().unwrap_or_default();
    let paths: Vec<_> = match ready.records() {
        records if records.is_empty() => vec!["null".into()],
        records => records.into_iter().map(|r| r.path).collect(),
    };
    let of_target = |t: usize| ends.iter().filter(move |e| step.series_of(e.worker) == t);
    let tails: Vec<Tail> = (0..series.len()).map(|t| tail(step, of_target(t))).collect();
    let all: Vec<&Series> = series.iter().collect();
    let all_tails: Vec<&Tail> = tails.iter().collect();
    let sum = |d| DirectionSummary::of(d, &all, &all_tails);
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
        engine,
        engine_features: ends.first().map(|e| e.features.clone()).unwrap_or_default(),
        started,
        set_up_ns: set_up,
        window_ns: window,
        in_flight_mean: series.iter().map(Series::in_flight_mean).sum(),
        in_flight_asked: step.depth_per_target() as f64 * series.len() as f64,
        depth: Some(depth),
        trace_left_out_ios: trace.iter().map(|t| t.left_out).sum(),
        cpu: cpu(&ends, ios, window, step, &evidence),
        pinned_cpus,
        placement: None,
        errors,
        drained_ios: ends.iter().map(|e| e.drained.0).sum(),
        drained_max_ns: ends.iter().map(|e| e.drained.1).max().unwrap_or_default(),
        lost_ios: ends.iter().map(|e| u64::from(e.lost)).sum(),
        stuck_workers: stuck,
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
        evidence,
    }
}

fn tail<'a>(step: &Step, ends: impl Iterator<Item = &'a End>) -> Tail {
    let mut tail = Tail::default();
    let first = step.rw.directions()[0];
    for open in ends.filter_map(|e| e.open.as_ref()) {
        for d in Direction::ALL {
            tail.late[d].merge(&open.late[d]);
        }
        tail.censored[first].merge(&open.censored);
    }
    tail
}

fn cpu(ends: &[End], ios: u64, window: Nanos, step: &Step, evidence: &Evidence) -> CpuRecord {
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

fn open_loop(step: &Step, targets: usize, ends: &[End], window: Nanos, ios: u64) -> Option<OpenLoopRecord> {
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
