//! The figures of a run that the rules need, measured by volproof or another tool. What a report does not hold stays absent.

use super::direction_summary::DATA;
use super::{Conditions, DrainedQueue, Record, ReportProgram, StepRecord, figures_of_report};
use volproof_base::stats::percentile::pooled;
use volproof_base::unit::{Bytes, Nanos};
use volproof_plan::{EngineKind, FileState};

/// More in flight than this is a queue, whose length sets the latency.
pub const QUEUE_SETS_LATENCY: u64 = 8;
/// Requests of at most this size are never split.
const UNSPLIT: Bytes = Bytes::kib(4);

/// The disk's own counters, for the same time as the I/Os of the summary.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceCounts {
    /// Reads and writes that the device completed.
    pub ios: f64,
    /// Requests merged with another before they reached it.
    pub merges: f64,
    /// Bytes moved, where it is known.
    pub bytes: Option<f64>,
}

/// The I/Os of a direction of a run, and what the disk counted of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DirectionCounts {
    /// I/Os of the run.
    pub ios: f64,
    /// Their bytes, where they are known.
    pub bytes: Option<f64>,
    /// Those that the disk counted.
    pub device: DeviceCounts,
}

/// The figures of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepFigures {
    /// The run reads.
    pub reads: Option<bool>,
    /// The page cache was bypassed.
    pub direct: Option<bool>,
    /// I/Os a second.
    pub iops: Option<f64>,
    /// Bytes a second.
    pub bytes_per_second: Option<f64>,
    /// I/Os in all.
    pub ios: Option<f64>,
    /// Bytes in all.
    pub bytes: Option<Bytes>,
    /// The one block size.
    pub block: Option<Bytes>,
    /// Requests in flight, averaged over time; the depth that was asked for where only that is known.
    pub in_flight: Option<f64>,
    /// Length of the measured window.
    pub window: Option<Nanos>,
    /// Mean latency in nanoseconds.
    pub mean_ns: Option<f64>,
    /// The longest latency.
    pub max: Option<Nanos>,
    /// Share of I/Os (0 to 1, ascending) and the latency that they do not exceed.
    pub percentiles: Vec<(f64, Nanos)>,
    /// Bytes of the target from the first I/O to the last.
    pub range: Option<Bytes>,
    /// Share of the range that was used, where options left out the rest.
    pub used_share: Option<f64>,
    /// The disk's own counters, of the directions that the run moved.
    pub device: Option<DeviceCounts>,
    /// The time of the disk's counters of a report, with its ramp; absent where the report does not tell the ramp.
    pub counted: Option<Nanos>,
    /// What the disk did in the direction that a run of one direction has not, by a report.
    pub other_direction: Option<DeviceCounts>,
    /// Reads by the disk's counters beside the reads of the run, where both are counted apart from writes. The disk counted those of a ramp too.
    pub read_counts: Option<DirectionCounts>,
    /// Share of a CPU that the busiest load thread used, 0 to 1.
    pub busiest_thread: Option<f64>,
    /// Share of their time for which load threads waited to submit ([`ReportedStep::share_waiting_to_submit`]), where that is half of it or more.
    ///
    /// [`ReportedStep::share_waiting_to_submit`]: crate::ReportedStep::share_waiting_to_submit
    pub waits_to_submit: Option<f64>,
    /// Load threads poll for completions, so that they are always on their CPU; absent where that is not told.
    pub polling: Option<bool>,
    /// Share of its time for which the busiest CPU had work, 0 to 1, by a report that tells it of the machine.
    pub busiest_cpu: Option<f64>,
    /// The offered rate, under a schedule.
    pub offered: Option<f64>,
    /// The option that makes the load pause, as it was given.
    pub pauses: Option<String>,
    /// The load lets its queue drain before it fills it again; the requests that are left are those of all jobs.
    pub drained_queue: Option<DrainedQueue>,
    /// Requests that were to be in flight.
    pub asked: Option<f64>,
    /// The program whose options advice names: volproof's are those of fio.
    pub program: ReportProgram,
    /// Load threads.
    pub jobs: Option<f64>,
    /// The times of all load threads added up, where they are known: less than threads times window where threads ended before others.
    pub threads_time: Option<Nanos>,
    /// There were flushes between the I/Os.
    pub flushes: bool,
    /// Samples of the rate over time, where a report tells them: an upper bound of the standard deviation over the rate, and the number of
    /// samples.
    pub samples: Option<(f64, u64)>,
}

/// The largest number of requests that an I/O of a size may be split into: one for each page.
pub fn most_parts(block: Bytes) -> f64 {
    (block.0 as f64 / UNSPLIT.0 as f64).max(1.0)
}

/// Counts of the grid, all targets and the data directions together: I/Os or bytes.
pub fn bins(step: &StepRecord, bytes: bool) -> Vec<u64> {
    let mut out: Vec<u64> = Vec::new();
    for series in step.targets.iter().map(|t| &t.series) {
        for d in DATA {
            let Some(stream) = series.stream(d) else { continue };
            let column = if bytes { &stream.track.bytes } else { &stream.track.ios };
            out.resize(out.len().max(column.len()), 0);
            out.iter_mut().zip(column).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
        }
    }
    // The last bin may be cut short, and is left out.
    let whole = step.window_ns.0 / volproof_base::sample::GRID.0;
    out.truncate(whole as usize);
    out
}

impl StepFigures {
    /// The figures of a step, from its samples or from the report that it comes from.
    pub fn of_step(record: &Record, step: &StepRecord) -> StepFigures {
        let conditions = record.conditions(step);
        let mut summary = match &step.reported {
            Some(reported) => figures_of_report::figures(reported, &conditions),
            None => measured(record, step, &conditions),
        };
        summary.used_share = conditions.spacing.as_ref().and_then(|s| s.used_share);
        summary.threads_time = Some(step.workers_window_ns).filter(|t| t.0 > 0);
        summary.program = record.report.as_ref().map(|report| report.program).unwrap_or_default();
        summary
    }

    /// Bytes of the target that were used, of its own range, which is no larger than `at_most`.
    pub fn used_range(&self, at_most: Option<Bytes>) -> Option<Bytes> {
        let share = self.used_share.unwrap_or(1.0);
        let range = self.range.filter(|range| range.0 > 0).into_iter().chain(at_most).min()?;
        Some(Bytes((range.0 as f64 * share) as u64))
    }
}

/// The figures of a step with samples.
fn measured(record: &Record, step: &StepRecord, conditions: &Conditions) -> StepFigures {
    let data = [&step.read, &step.write].into_iter().flatten();
    let (mut iops, mut bytes_per_second, mut ios, mut bytes) = (0.0, 0.0, 0.0, Bytes(0));
    for s in data {
        iops += s.iops;
        bytes_per_second += s.bytes_per_second;
        ios += s.ios as f64;
        bytes = Bytes(bytes.0.saturating_add(s.bytes.0));
    }
    let seconds = step
        .targets
        .iter()
        .flat_map(|t| [&t.series.read, &t.series.write])
        .flatten()
        .flat_map(|stream| &stream.service);
    let latencies = pooled(seconds);
    let plan = record.plan_step(&step.name);
    let data_moved = ios > 0.0;
    let others = plan.and_then(|p| p.simulate.as_ref()).map_or(0.0, |device| device.others_iops);
    let has_others = others > 0.0;
    StepFigures {
        reads: Some(step.read.is_some()),
        direct: conditions.direct.get(),
        iops: data_moved.then_some(iops),
        bytes_per_second: data_moved.then_some(bytes_per_second),
        ios: data_moved.then_some(ios),
        bytes: data_moved.then_some(bytes),
        block: conditions.single_block(),
        in_flight: Some(step.in_flight_mean),
        window: Some(step.window_ns),
        mean_ns: latencies.mean(),
        max: latencies.max(),
        percentiles: [0.01, 0.05, 0.5, 0.9, 0.95, 0.99, 0.999]
            .into_iter()
            .filter_map(|q| Some((q, latencies.quantile(q)?)))
            .collect(),
        range: record
            .targets
            .iter()
            .map(|t| {
                // A file of the step's own is as large as the step says, whatever the target has.
                let own = plan.filter(|p| p.file_state != FileState::Filled).and_then(|p| p.size);
                own.unwrap_or_else(|| plan.and_then(|p| p.size).unwrap_or(t.size_bytes).min(t.size_bytes))
            })
            .min()
            // A simulated device is no target.
            .or_else(|| plan.and_then(|p| p.size)),
        // No I/O of a simulated device reaches a disk: what the disks of the machine did is others'.
        device: device(step).filter(|_| step.engine.get() != Some(EngineKind::Null) || has_others),
        busiest_thread: Some(step.cpu.busiest_worker),
        polling: conditions.polling.get(),
        offered: step.open_loop.as_ref().map(|o| o.offered_per_second),
        pauses: conditions.pace.as_ref().and_then(|p| p.pause_option.clone()),
        asked: step.in_flight_asked.get(),
        jobs: conditions.jobs.get().map(f64::from),
        flushes: step.sync.is_some(),
        ..StepFigures::default()
    }
}

/// The disks' counters of the samples that lie wholly in the window, put in proportion to its length; none where they are those of less than half of it.
fn device(step: &StepRecord) -> Option<DeviceCounts> {
    let e = &step.evidence;
    let (from, to) = (e.window_starts_ns.0, e.window_starts_ns.0.saturating_add(step.window_ns.0));
    let (mut inside, mut seen, mut start) = (Vec::new(), 0u64, 0);
    for end in e.at_ns.iter().map(|end| end.0) {
        let is_inside = start >= from && end <= to && end > start;
        inside.push(is_inside);
        seen = seen.saturating_add(if is_inside { end - start } else { 0 });
        start = end;
    }
    if e.disks.is_empty() || seen < 2_000_000_000 || 2 * seen < step.window_ns.0 {
        return None;
    }
    let scale = step.window_ns.0 as f64 / seen as f64;
    let (mut counts, mut bytes) = (DeviceCounts::default(), 0.0);
    for disk in &e.disks {
        counts.ios += scale * sum(&disk.reads, &disk.writes, &inside);
        counts.merges += scale * sum(&disk.reads_merged, &disk.writes_merged, &inside);
        bytes += scale * sum(&disk.read_bytes, &disk.written_bytes, &inside);
    }
    Some(DeviceCounts { bytes: Some(bytes), ..counts })
}

/// The sum of two columns over the samples that are inside.
fn sum(reads: &[u64], writes: &[u64], inside: &[bool]) -> f64 {
    let samples = reads.iter().zip(inside).chain(writes.iter().zip(inside));
    samples.filter(|(_, inside)| **inside).map(|(n, _)| *n as f64).sum()
}
