//! One step of a fleet: each machine's part in the common window, and the sum as an ordinary entry of a Record.

use std::collections::BTreeMap;
use std::ops::Range;

use super::step_sums::{CommonWindow, MachineWindow};
use volproof_base::sample::{Depth, Direction, Series, WorkerTrack};
use volproof_base::unit::{Nanos, total};
use volproof_plan::Step;
use volproof_record::{
    CpuRecord, DirectionSummary, ErrorRecord, FleetMachine, FleetStep, FleetVolumes, LateResponses,
    MachineShare, OpenLoopRecord, StepRecord, StepTarget,
};

/// The step of a machine.
fn step_of<'a>(machines: &'a BTreeMap<u32, FleetMachine>, rank: u32, name: &str) -> &'a StepRecord {
    let record = &machines[&rank].record;
    record.steps.iter().find(|s| s.name == name).expect("a machine with a window has the step")
}

/// Counts of a step within a range of the grid, over all targets: I/Os of each interval but flushes, and bytes.
fn within(step: &StepRecord, range: &Range<usize>) -> (Vec<u64>, u64) {
    let (mut ios, mut bytes) = (vec![0u64; range.len()], 0u64);
    for series in step.targets.iter().map(|t| &t.series) {
        for stream in [&series.read, &series.write, &series.trim].into_iter().flatten() {
            let (of_stream, its_bytes) =
                (series.on_grid(&stream.track.ios), series.on_grid(&stream.track.bytes));
            let bins = range.start..range.end.min(of_stream.len());
            let part = of_stream.get(bins.clone()).unwrap_or_default();
            ios.iter_mut().zip(part).for_each(|(a, b)| *a = a.saturating_add(*b));
            let part = its_bytes.get(bins).unwrap_or_default();
            bytes = part.iter().copied().fold(bytes, u64::saturating_add);
        }
    }
    (ios, bytes)
}

/// The common window of a step and each machine's part in it; the window was planned to begin at `due`, nanoseconds since 1970.
pub(super) fn fleet_step(
    planned: &Step,
    due: i64,
    common: &CommonWindow,
    present: &[MachineWindow],
    machines: &BTreeMap<u32, FleetMachine>,
) -> FleetStep {
    let seconds = common.length.as_seconds();
    let mut shares = Vec::new();
    for m in present {
        let (ios, bytes) = within(step_of(machines, m.rank, &planned.name), &common.of_machine(m));
        let ios = ios.into_iter().fold(0, u64::saturating_add);
        shares.push(MachineShare {
            rank: m.rank,
            ios,
            iops: ios as f64 / seconds,
            bytes_per_second: bytes as f64 / seconds,
            share: 0.0,
            late_ns: m.late_ns,
            left_out_ns: common.left_out(m),
        });
    }
    let all: f64 = shares.iter().map(|s| s.ios as f64).sum();
    shares.iter_mut().for_each(|s| s.share = if all > 0.0 { s.ios as f64 / all } else { 0.0 });
    let errors: Option<Vec<Nanos>> =
        present.iter().map(|m| machines[&m.rank].record.rank.as_ref()?.clock.error_ns).collect();
    FleetStep {
        step: planned.name.clone(),
        window_begins_unix_ns: due.saturating_add(common.second.saturating_mul(1_000_000_000)),
        window_ns: common.length,
        skew_ns: common.skew,
        clock_error_ns: errors.and_then(|e| e.into_iter().max()),
        shares,
    }
}

/// A step as the sum over machines: its figures from the summed samples, its counters added up.
pub(super) fn summed(
    planned: &Step,
    common: &CommonWindow,
    present: &[MachineWindow],
    machines: &BTreeMap<u32, FleetMachine>,
    mut series: Series,
) -> StepRecord {
    let parts: Vec<&StepRecord> = present.iter().map(|m| step_of(machines, m.rank, &planned.name)).collect();
    let first = parts[0];
    for (m, step) in present.iter().zip(&parts) {
        let (ios, _) = within(step, &common.of_machine(m));
        series.workers.push(WorkerTrack { worker: m.rank, ios });
    }
    // The sum shows no more than the machine whose samples are the coarsest.
    let coarsest = parts.iter().flat_map(|step| &step.targets).map(|target| &target.series);
    coarsest.for_each(|part| series.coarsen_as(part));
    let open_loop = open_loop(present, &parts, common);
    let late: Vec<&LateResponses> = open_loop.iter().map(|o| &o.late).collect();
    let [read, write, trim, sync] =
        Direction::ALL.map(|direction| DirectionSummary::of_samples(direction, &[&series], &late));
    let total = DirectionSummary::total(&[&series], &late);
    let mut depth = Depth::default();
    parts.iter().filter_map(|s| s.depth.as_ref()).for_each(|d| depth.add(d));
    let asked: Option<Vec<f64>> = parts.iter().map(|s| s.in_flight_asked.get()).collect();
    let path = match machines.values().next().and_then(|m| m.record.rank.as_ref()).map(|r| r.volumes) {
        Some(FleetVolumes::Own) | None => format!("{} machines", present.len()).into(),
        Some(_) => first.targets.first().map(|t| t.path.clone()).unwrap_or_default(),
    };
    StepRecord {
        name: planned.name.clone(),
        engine: first.engine.clone(),
        engine_features: first.engine_features.clone(),
        started: first.started.clone(),
        set_up_ns: parts.iter().map(|s| s.set_up_ns).max().unwrap_or_default(),
        window_ns: common.length,
        workers_window_ns: Nanos(sum(&parts, |s| s.workers_window_ns.0)),
        in_flight_mean: series.in_flight_mean(),
        in_flight_asked: asked.map(|all| all.into_iter().sum::<f64>()).into(),
        depth: Some(depth),
        cpu: cpu(&parts),
        errors: ErrorRecord {
            count: sum(&parts, |s| s.errors.count),
            first: parts.iter().flat_map(|s| s.errors.first.clone()).take(10).collect(),
        },
        drained_ios: sum(&parts, |s| s.drained_ios),
        drained_max_ns: parts.iter().map(|s| s.drained_max_ns).max().unwrap_or_default(),
        end_flushes: sum(&parts, |s| s.end_flushes),
        end_flush_max_ns: parts.iter().map(|s| s.end_flush_max_ns).max().unwrap_or_default(),
        lost_ios: sum(&parts, |s| s.lost_ios),
        stuck_workers: parts.iter().map(|s| s.stuck_workers).fold(0, u32::saturating_add),
        open_loop,
        targets: vec![StepTarget {
            path,
            beside: Vec::new(),
            read: read.clone(),
            write: write.clone(),
            trim: trim.clone(),
            sync: sync.clone(),
            in_flight_mean: series.in_flight_mean(),
            series,
        }],
        read,
        write,
        trim,
        sync,
        total,
        ..StepRecord::default()
    }
}

/// A count of all machines together.
fn sum(parts: &[&StepRecord], count: fn(&StepRecord) -> u64) -> u64 {
    total(parts.iter().map(|step| count(step)))
}

fn per_io(ns: u64, ios: f64) -> f64 {
    if ios > 0.0 { ns as f64 / ios } else { 0.0 }
}

/// CPU time of the whole windows of all machines; per I/O of them.
fn cpu(parts: &[&StepRecord]) -> CpuRecord {
    let ios: f64 = parts.iter().flat_map(|s| s.directions().map(|(_, d)| d.ios as f64)).sum();
    let user = sum(parts, |s| s.cpu.user_ns.0);
    let (system, io_wq) = (sum(parts, |s| s.cpu.system_ns.0), sum(parts, |s| s.cpu.io_wq_ns.0));
    CpuRecord {
        user_ns_per_io: per_io(user, ios),
        system_ns_per_io: per_io(system.saturating_add(io_wq), ios),
        user_ns: Nanos(user),
        system_ns: Nanos(system),
        io_wq_ns: Nanos(io_wq),
        context_switches: sum(parts, |s| s.cpu.context_switches),
        page_faults_major: sum(parts, |s| s.cpu.page_faults_major),
        page_faults_minor: sum(parts, |s| s.cpu.page_faults_minor),
        busiest_worker: parts.iter().map(|s| s.cpu.busiest_worker).fold(0.0, f64::max),
    }
}

/// The schedules of all machines together.
fn open_loop(
    present: &[MachineWindow],
    parts: &[&StepRecord],
    common: &CommonWindow,
) -> Option<OpenLoopRecord> {
    let all: Vec<&OpenLoopRecord> = parts.iter().map(|s| s.open_loop.as_ref()).collect::<Option<_>>()?;
    let mut late = LateResponses::default();
    // A machine that went on after the common window answered later arrivals late.
    for (machine, schedule) in present.iter().zip(&all) {
        if common.left_out(machine).1.0 == 0 {
            late.merge(&schedule.late);
        }
    }
    Some(OpenLoopRecord {
        offered_per_second: all.iter().map(|o| o.offered_per_second).sum(),
        arrivals: all.iter().map(|o| o.arrivals).sum(),
        achieved_per_second: all.iter().map(|o| o.achieved_per_second).sum(),
        backlog_per_second: all.iter().map(|o| o.backlog_per_second).sum(),
        censored: all.iter().map(|o| o.censored).sum(),
        late,
        lag_p99_ns: all.iter().map(|o| o.lag_p99_ns).max()?,
        lag_max_ns: all.iter().map(|o| o.lag_max_ns).max()?,
        sustained: all.iter().all(|o| o.sustained),
    })
}
