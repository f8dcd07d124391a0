//! The figures of a run that the rules need, measured by volproof or another tool. What a report does not hold stays absent.

use super::direction_summary::{DATA, add_column};
use super::{Conditions, Record, ReportProgram, StepRecord, figures_of_report};
use volproof_base::sample::Direction;
use volproof_base::stats::percentile::pooled;
use volproof_base::unit::{Bytes, Nanos};
use volproof_plan::{EngineKind, FileState, Step};

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

/// The load of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadFigures {
    /// The run reads.
    pub reads: Option<bool>,
    /// The page cache was bypassed.
    pub direct: Option<bool>,
    /// The one block size.
    pub block: Option<Bytes>,
    /// Load threads.
    pub jobs: Option<f64>,
    /// Requests that were to be in flight.
    pub asked: Option<f64>,
    /// Requests in flight, averaged over time; the depth that was asked for where only that is known.
    pub in_flight: Option<f64>,
    /// Bytes of the target from the first I/O to the last.
    pub range: Option<Bytes>,
    /// Share of the range that was used, where options left out the rest.
    pub used_share: Option<f64>,
    /// There were flushes between the I/Os.
    pub flushes: bool,
}

impl LoadFigures {
    /// Bytes of the target that were used, of its own range, which is no larger than `at_most`.
    pub fn used_range(&self, at_most: Option<Bytes>) -> Option<Bytes> {
        let share = self.used_share.unwrap_or(1.0);
        let range = self.range.filter(|range| range.0 > 0).into_iter().chain(at_most).min()?;
        Some(Bytes((range.0 as f64 * share) as u64))
    }
}

/// What held a load back on purpose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PaceFigures {
    /// The offered rate, under a schedule.
    pub offered: Option<f64>,
    /// The option that makes the load pause, as it was given.
    pub pauses: Option<String>,
}

/// What a run moved, and how fast.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateFigures {
    /// I/Os in all.
    pub ios: Option<f64>,
    /// Bytes in all.
    pub bytes: Option<Bytes>,
    /// Length of the measured window.
    pub window: Option<Nanos>,
    /// I/Os a second.
    pub iops: Option<f64>,
    /// Bytes a second.
    pub bytes_per_second: Option<f64>,
    /// Samples of the rate over time, where a report tells them: an upper bound of the standard deviation over the rate, and the number of
    /// samples.
    pub samples: Option<(f64, u64)>,
}

impl RateFigures {
    /// The bytes that the rate gives in the window.
    pub fn bytes_in_window(&self) -> Option<f64> {
        Some(self.bytes_per_second? * self.window?.as_seconds())
    }
}

/// The latencies of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyFigures {
    /// The mean in nanoseconds.
    pub mean_ns: Option<f64>,
    /// The longest.
    pub max: Option<Nanos>,
    /// Share of I/Os (0 to 1, ascending) and the latency that they do not exceed.
    pub percentiles: Vec<(f64, Nanos)>,
}

/// The disk's own counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskFigures {
    /// What it did in the directions that the run moved.
    pub own: Option<DeviceCounts>,
    /// What it did in the direction that a run of one direction has not, by a report.
    pub other_direction: Option<DeviceCounts>,
    /// Its reads beside the reads of the run, where both are counted apart from writes. The disk counted those of a ramp too.
    pub reads: Option<DirectionCounts>,
    /// The time that the counters of a report cover, with its ramp; absent where the report does not tell the ramp.
    pub time: Option<Nanos>,
}

/// How busy the load threads and the CPUs were.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuFigures {
    /// Share of a CPU that the busiest load thread used, 0 to 1.
    pub busiest_thread: Option<f64>,
    /// Share of its time for which the busiest CPU had work, 0 to 1, by a report that tells it of the machine.
    pub busiest_cpu: Option<f64>,
    /// Load threads poll for completions, so that they are always on their CPU; absent where that is not told.
    pub polling: Option<bool>,
    /// Share of their time for which load threads waited to submit ([`ReportedStep::share_waiting_to_submit`]), where that is half of it or more.
    ///
    /// [`ReportedStep::share_waiting_to_submit`]: crate::ReportedStep::share_waiting_to_submit
    pub waits_to_submit: Option<f64>,
    /// The times of all load threads added up, where they are known: less than threads times window where threads ended before others.
    pub threads_time: Option<Nanos>,
}

/// The figures of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepFigures {
    /// The program whose options advice names: volproof's are those of fio.
    pub program: ReportProgram,
    /// The load.
    pub load: LoadFigures,
    /// What held the load back on purpose.
    pub pace: PaceFigures,
    /// What it moved, and how fast.
    pub rate: RateFigures,
    /// Its latencies.
    pub latency: LatencyFigures,
    /// What the disk counted.
    pub disk: DiskFigures,
    /// How busy threads and CPUs were.
    pub cpu: CpuFigures,
}

/// The largest number of requests that an I/O of a size may be split into: one for each page.
pub fn most_parts(block: Bytes) -> f64 {
    (block.0 as f64 / UNSPLIT.0 as f64).max(1.0)
}

/// Counts of the grid, all targets and the data directions together: I/Os or bytes.
pub fn bins(step: &StepRecord, bytes: bool) -> Vec<u64> {
    bins_of(step, &DATA, bytes)
}

/// The same of some of the directions.
pub fn bins_of(step: &StepRecord, directions: &[Direction], bytes: bool) -> Vec<u64> {
    let mut out: Vec<u64> = Vec::new();
    for series in step.targets.iter().map(|t| &t.series) {
        for d in directions {
            let Some(stream) = series.stream(*d) else { continue };
            let column = if bytes { &stream.track.bytes } else { &stream.track.ios };
            add_column(&mut out, &series.on_grid(column));
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
        summary.load.used_share = conditions.spacing.as_ref().and_then(|s| s.used_share);
        summary.cpu.threads_time = Some(step.workers_window_ns).filter(|t| t.0 > 0);
        summary.program = record.report.as_ref().map(|report| report.program).unwrap_or_default();
        summary
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
    let has_counters = plan.and_then(|p| p.simulate.as_ref()).is_some_and(|device| device.has_counters());
    StepFigures {
        load: LoadFigures {
            reads: Some(step.read.is_some()),
            direct: conditions.direct.get(),
            block: conditions.single_block(),
            jobs: conditions.jobs.get().map(f64::from),
            asked: step.in_flight_asked.get(),
            in_flight: Some(step.in_flight_mean),
            range: range(record, plan),
            flushes: step.sync.is_some(),
            ..LoadFigures::default()
        },
        pace: PaceFigures {
            offered: step.open_loop.as_ref().map(|o| o.offered_per_second),
            pauses: conditions.pace.as_ref().and_then(|p| p.pause_option.clone()),
        },
        rate: RateFigures {
            ios: data_moved.then_some(ios),
            bytes: data_moved.then_some(bytes),
            window: Some(step.window_ns),
            iops: data_moved.then_some(iops),
            bytes_per_second: data_moved.then_some(bytes_per_second),
            ..RateFigures::default()
        },
        latency: LatencyFigures {
            mean_ns: latencies.mean(),
            max: latencies.max(),
            percentiles: [0.01, 0.05, 0.5, 0.9, 0.95, 0.99, 0.999]
                .into_iter()
                .filter_map(|q| Some((q, latencies.quantile(q)?)))
                .collect(),
        },
        // No I/O of a simulated device reaches a disk: what the disks of the machine did is others'.
        disk: DiskFigures {
            own: device(step).filter(|_| step.engine.get() != Some(EngineKind::Null) || has_counters),
            ..DiskFigures::default()
        },
        cpu: CpuFigures {
            busiest_thread: Some(step.cpu.busiest_worker),
            polling: conditions.polling.get(),
            ..CpuFigures::default()
        },
        ..StepFigures::default()
    }
}

/// The smallest range that the step used of a target. A simulated device is no target.
fn range(record: &Record, plan: Option<&Step>) -> Option<Bytes> {
    let size = plan.and_then(|p| p.size);
    let of_targets = record.targets.iter().map(|t| {
        // A file of the step's own is as large as the step says, whatever the target has.
        let own = plan.filter(|p| p.file_state != FileState::Filled).and_then(|p| p.size);
        own.unwrap_or_else(|| size.unwrap_or(t.size_bytes).min(t.size_bytes))
    });
    of_targets.min().or(size)
}

/// The counters of the disks, or of their provider, in the samples that lie wholly in the window, put in proportion to its length; none where they are those of less than half of it.
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
        let of_kernel =
            [sum(&disk.reads, &disk.writes, &inside), sum(&disk.read_bytes, &disk.written_bytes, &inside)];
        let page = e.provider.iter().find(|page| page.disk == disk.name);
        // The provider also counts users of the volume on other machines.
        let of_provider = page.map_or([0.0; 2], |page| {
            [
                sum(&page.reads.ios, &page.writes.ios, &inside),
                sum(&page.reads.bytes, &page.writes.bytes, &inside),
            ]
        });
        counts.ios += scale * of_kernel[0].max(of_provider[0]);
        counts.merges += scale * sum(&disk.reads_merged, &disk.writes_merged, &inside);
        bytes += scale * of_kernel[1].max(of_provider[1]);
    }
    Some(DeviceCounts { bytes: Some(bytes), ..counts })
}

/// The sum of two columns over the samples that are inside.
fn sum(reads: &[u64], writes: &[u64], inside: &[bool]) -> f64 {
    let samples = reads.iter().zip(inside).chain(writes.iter().zip(inside));
    samples.filter(|(_, inside)| **inside).map(|(n, _)| *n as f64).sum()
}
