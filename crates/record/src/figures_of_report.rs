//! The figures of a run from the report of another tool.

use super::step_figures::{
    CpuFigures, DeviceCounts, DirectionCounts, DiskFigures, LatencyFigures, LoadFigures, PaceFigures,
    RateFigures, StepFigures, most_parts,
};
use super::{Conditions, ReportedDevice, ReportedLatency, ReportedRequests, ReportedStep};
use volproof_base::sample::Direction;
use volproof_base::stats::little;
use volproof_base::unit::{self, Bytes, Nanos};
use volproof_plan::Pattern;

/// A load thread that waits to submit for this share of its time does its I/Os one after another.
const WAITS_TO_SUBMIT: f64 = 0.5;

/// The figures of a report, as far as the rules need them.
pub fn figures(reported: &ReportedStep, conditions: &Conditions) -> StepFigures {
    let parts = reported.parts();
    let iops = reported.sum_of_rates(|f| f.iops.get());
    let latencies: Vec<(f64, &ReportedLatency)> =
        parts.iter().filter_map(|(_, f)| Some((f.count(), f.latency()?.1))).collect();
    let total = reported.ios();
    let mean = match latencies[..] {
        [(_, one)] if parts.len() == 1 => Some(one.mean).filter(|mean| *mean > 0.0),
        // The mean over all requests is that of the data where there are no other requests.
        [] => reported.mixed.as_ref().and_then(|all| {
            let mean = all.latency()?.1.mean;
            reported.are_without_flushes(all.count()).then_some(mean)
        }),
        _ => (latencies.len() == parts.len() && latencies.iter().all(|(_, l)| l.mean > 0.0) && total > 0.0)
            .then(|| latencies.iter().map(|(n, l)| n * l.mean).sum::<f64>() / total),
    };
    let asked = conditions.in_flight().map(|n| n as f64);
    let by_law = mean.zip(iops).map(|(mean, x)| little::in_flight(x, mean)).filter(|n| *n > 0.0);
    let one = if let [(_, f)] = parts[..] { Some(f) } else { None };
    let pace = conditions.pace.as_ref();
    let disk = reported.device.as_ref().filter(|d| are_of_the_run(d, reported, conditions));
    StepFigures {
        load: LoadFigures {
            reads: (!parts.is_empty()).then(|| parts.iter().any(|(name, _)| name.starts_with("read"))),
            direct: conditions.direct.get(),
            block: conditions.single_block(),
            jobs: conditions.jobs.get().map(f64::from),
            asked,
            in_flight: in_flight(asked, by_law),
            range: range(reported, conditions),
            flushes: reported.sync.is_some(),
            ..LoadFigures::default()
        },
        pace: PaceFigures {
            offered: conditions.offered(),
            pauses: pace.and_then(|p| p.pause_option.clone()),
        },
        rate: RateFigures {
            ios: (total > 0.0).then_some(total),
            bytes: reported.amount(),
            window: reported.window(),
            iops,
            bytes_per_second: reported.sum_of_rates(|f| f.bytes_per_second.get()),
            samples: reported.spread_of_rate(),
        },
        latency: LatencyFigures {
            mean_ns: mean,
            max: latencies.iter().map(|(_, l)| l.max).max(),
            percentiles: one.and_then(|f| f.percentiles()).map(|(_, l)| l.shares()).unwrap_or_default(),
        },
        disk: DiskFigures {
            own: disk.map(|d| device(d, conditions)),
            other_direction: disk.and_then(|d| other_direction(d, conditions)),
            reads: read_counts(reported),
            time: conditions
                .ramp
                .get()
                .zip(reported.window())
                .map(|(ramp, window)| Nanos(ramp.0.saturating_add(window.0))),
        },
        cpu: CpuFigures {
            busiest_thread: reported.cpu_share.filter(|_| conditions.polling.get() != Some(true)),
            busiest_cpu: reported.busiest_cpu,
            polling: conditions.polling.get(),
            waits_to_submit: reported.share_waiting_to_submit().filter(|share| *share >= WAITS_TO_SUBMIT),
            ..CpuFigures::default()
        },
        ..StepFigures::default()
    }
}

/// Requests in flight: the requested depth where rate times latency agrees with it, else rate times latency.
fn in_flight(asked: Option<f64>, by_law: Option<f64>) -> Option<f64> {
    match (asked, by_law) {
        (Some(n), Some(x)) if (x / n - 1.0).abs() <= 0.05 => Some(n),
        // With less than one in flight something else takes the time, and the rate is not that of the I/O.
        (_, Some(x)) if x < 0.9 => None,
        (_, Some(x)) => Some(x),
        (asked, None) => asked,
    }
}

/// Bytes of the target that were used: the requested range, or the bytes that were moved where the run ended with its range. Files and
/// offsets of each job's own are added up.
fn range(reported: &ReportedStep, conditions: &Conditions) -> Option<Bytes> {
    let jobs = conditions.jobs.get().map(|n| u64::from(n.max(1)));
    let of_a_job = conditions.size.get().filter(|b| b.0 > 0).or_else(|| {
        let jobs = jobs.filter(|_| ended_by_size(reported, conditions))?;
        Some(Bytes(reported.amount()?.0 / jobs))
    })?;
    let apart = conditions.own_files.get() == Some(true) || conditions.own_offsets.get() == Some(true);
    if apart { Some(Bytes(of_a_job.0.saturating_mul(jobs?))) } else { Some(of_a_job) }
}

/// The run ended when its range had been gone over, and not by time.
pub fn ended_by_size(reported: &ReportedStep, c: &Conditions) -> bool {
    if c.time_based.get() == Some(true) {
        return false;
    }
    let moved = reported.bytes().0;
    let ms = reported.window().unwrap_or_default().0 / 1_000_000;
    let in_time = c.runtime.get().map(|limit| limit.0 == 0 || ms + 50 < limit.0 / 1_000_000);
    match (in_time, c.size.get().filter(|b| b.0 > 0), c.jobs.get()) {
        // More than the range, or the whole time: it went round.
        (Some(in_time), Some(size), Some(jobs)) => {
            let all = size.0.saturating_mul(u64::from(jobs));
            in_time && moved >= all / 1000 * 999 && moved <= all.saturating_add(all / 1000)
        }
        (Some(in_time), ..) => in_time,
        // Text does not tell the options: whole MiB by exact count, in a time that is no whole number of seconds.
        (None, ..) => {
            let exact = c.single_block().map(|b| (reported.ios() as u64).saturating_mul(b.0));
            exact.is_some_and(|n| n > 0 && n.is_multiple_of(Bytes::MIB.0)) && !(0..=20).contains(&(ms % 1000))
        }
    }
}

fn counts(r: &ReportedRequests) -> DeviceCounts {
    DeviceCounts { ios: r.ios as f64, merges: r.merges as f64, bytes: r.bytes.map(|b| b.0 as f64) }
}

/// The disk's counters of the directions that the load has.
fn device(d: &ReportedDevice, conditions: &Conditions) -> DeviceCounts {
    let (reads, writes) = (counts(&d.reads), counts(&d.writes));
    match conditions.pattern().map(Pattern::directions) {
        Some([Direction::Read]) => return reads,
        Some([Direction::Write]) => return writes,
        _ => {}
    }
    DeviceCounts {
        ios: reads.ios + writes.ios,
        merges: reads.merges + writes.merges,
        bytes: reads.bytes.zip(writes.bytes).map(|(r, w)| r + w),
    }
}

/// The disk's counters of the direction that the load has not. Writes through the page cache read the rest of their pages.
fn other_direction(d: &ReportedDevice, conditions: &Conditions) -> Option<DeviceCounts> {
    match conditions.pattern()?.directions() {
        [Direction::Read] => Some(counts(&d.writes)),
        [Direction::Write] if conditions.direct.get() == Some(true) => Some(counts(&d.reads)),
        _ => None,
    }
}

/// Whether the disk's counters may be those of the run alone. They count the ramp too, which the figures leave out: where a report does not tell whether
/// there was one, more requests than the I/Os can have made may be those of a ramp; fewer than the run had are too few with it.
fn are_of_the_run(d: &ReportedDevice, reported: &ReportedStep, conditions: &Conditions) -> bool {
    let parts = conditions.single_block().map_or(1.0, most_parts);
    let all = unit::total([d.reads.ios, d.reads.merges, d.writes.ios, d.writes.merges]) as f64;
    match conditions.ramp.get() {
        None => all <= parts * reported.ios(),
        Some(ramp) => ramp.0 == 0 || all < reported.ios(),
    }
}

/// The reads of a run and of the disk: the writes of a mix, and others' writes, are no part of them.
fn read_counts(reported: &ReportedStep) -> Option<DirectionCounts> {
    let (moved, disk) =
        (reported.direction(Direction::Read).filter(|f| f.moved())?, reported.device.as_ref()?);
    Some(DirectionCounts {
        ios: moved.count(),
        bytes: (moved.bytes.0 > 0).then_some(moved.bytes.0 as f64),
        device: counts(&disk.reads),
    })
}
