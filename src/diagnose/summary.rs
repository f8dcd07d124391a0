//! The figures of a run that the rules need, whoever measured it. What a report does not hold stays absent.

use super::throttle::AT_PROMISE;
use super::{Modes, summary_of_report};
use crate::catalogue::Promise;
use crate::catalogue::promised_level;
use crate::catalogue::volume_promise::{Binding, VolumePromise};
use crate::hist::{bucket_high, bucket_low};
use crate::plan::{EngineKind, FileState, Pattern};
use crate::record::{Band, Conditions, DrainedQueue, Record, ReportProgram, StepRecord};
use crate::sample::Direction;
use crate::stats::little::in_flight;
use crate::stats::percentile::pooled;
use crate::stats::rate::Estimate;
use crate::unit::{Bytes, Nanos, total};

/// More in flight than this is a queue, whose length sets the latency.
pub const QUEUE_SETS_LATENCY: u64 = 8;

/// Where the mean latency is this multiple of that of the quick I/Os, slow I/Os hold most of the requests in flight.
const HELD_BY_SLOW: f64 = 1.25;
/// Where the mean latency is this multiple of the median, there are two speeds, even if a report shows no more of them.
const TWO_SPEEDS: f64 = 2.0;
/// Requests whose mean latency is at most this multiple of the volume's own latency may wait for a volume that does nothing for three
/// quarters of the time. With more waiting than that, the volume is slow whatever the depth.
const MAY_STOP: f64 = 4.0;
/// Up to this ratio of the median to the 5th percentile nothing shows that requests waited for each other: the latencies of a volume differ
/// (by 14 for an exponential distribution).
const SPREAD: u64 = 16;
/// With this many in flight, the other I/Os go on beside a few slow ones.
pub const FILLED_BY_FEW: u64 = 32;
/// Fewer in flight are one at a time.
pub const ALONE: f64 = 1.5;
/// Counts that vary by less than this share of chance show that something holds the I/Os together.
pub(super) const TOGETHER: f64 = 0.5;
/// Counts of a shallow queue that vary by up to this multiple of chance are explained by chance. Irregular stops of all N requests in flight
/// make them vary by about the square root of N: where the middle between chance and that, N to the power of 1/4, is more, the middle counts.
const BY_CHANCE: f64 = 1.6;
/// A percentile further away than this share does not stand for another.
const NEAREST_PERCENTILE: f64 = 0.25;
/// A stop of the volume holds its I/Os as long as the stop lasts. A time without completions that is shorter than this share of the longest
/// I/O is no such stop.
const SHORTER: f64 = 0.8;

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

/// How long a disk without others below it had requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskTime {
    /// The times of all requests added up.
    pub total: Nanos,
    /// Share of the time in which it had any.
    pub busy: f64,
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

/// The promise at the block size of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promised {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Which limit decides.
    pub binding: Binding,
    /// The IOPS cap at any block size.
    pub iops_cap: Option<f64>,
    /// The cap on bytes per second at any block size.
    pub bytes_cap: Option<f64>,
}

/// Flushes of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flushes {
    /// How many, where they were counted.
    pub count: Option<f64>,
    /// Mean latency in nanoseconds.
    pub mean_ns: f64,
    /// The longest latency, where it is known.
    pub max: Option<Nanos>,
}

/// The figures of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Name of the run.
    pub name: String,
    /// The run reads.
    pub reads: Option<bool>,
    /// The I/Os are at random places.
    pub random: Option<bool>,
    /// The page cache was bypassed.
    pub direct: Option<bool>,
    /// The engine finishes an I/O before it begins the next, so that depth comes from jobs alone.
    pub blocking: Option<bool>,
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
    /// The shortest latency.
    pub min: Option<Nanos>,
    /// The longest latency.
    pub max: Option<Nanos>,
    /// Share of I/Os (0 to 1, ascending) and the latency that they do not exceed.
    pub percentiles: Vec<(f64, Nanos)>,
    /// Latencies by bands, ascending; bands without I/O may be left out.
    pub bands: Vec<Band>,
    /// Standard deviation of one-second rates over their mean.
    pub cv_of_seconds: Option<f64>,
    /// Period found in the rate.
    pub period: Option<Nanos>,
    /// Bytes of the target from the first I/O to the last.
    pub range: Option<Bytes>,
    /// Share of the range that was used, where options left out the rest.
    pub used_share: Option<f64>,
    /// The disk's own counters, of the directions that the run moved.
    pub device: Option<DeviceCounts>,
    /// The time that the disk itself took, by a report.
    pub disk_time: Option<DiskTime>,
    /// The time of the disk's counters of a report, with its ramp; absent where the report does not tell the ramp.
    pub counted: Option<Nanos>,
    /// What the disk did in the direction that a run of one direction has not, by a report.
    pub other_direction: Option<DeviceCounts>,
    /// Reads by the disk's counters beside the reads of the run, where both are counted apart from writes. The disk counted those of a ramp too.
    pub read_counts: Option<DirectionCounts>,
    /// The same of writes.
    pub write_counts: Option<DirectionCounts>,
    /// Share of a CPU that the busiest load thread used, 0 to 1.
    pub busiest_thread: Option<f64>,
    /// Share of their time for which load threads waited to submit ([`ReportedStep::share_waiting_to_submit`]), where that is half of it or more.
    ///
    /// [`ReportedStep::share_waiting_to_submit`]: crate::record::ReportedStep::share_waiting_to_submit
    pub waits_to_submit: Option<f64>,
    /// Load threads poll for completions, so that they are always on their CPU; absent where that is not told.
    pub polling: Option<bool>,
    /// Share of its time for which the busiest CPU had work, 0 to 1, by a report that tells it of the machine.
    pub busiest_cpu: Option<f64>,
    /// The offered rate, under a schedule.
    pub offered: Option<f64>,
    /// The option that sets the rate, as it was given.
    pub pace: Option<String>,
    /// The option that makes the load pause, as it was given.
    pub pauses: Option<String>,
    /// The load lets its queue drain before it fills it again; the requests that are left are those of all jobs.
    pub drained_queue: Option<DrainedQueue>,
    /// Whether it is known if a rate was set.
    pub pace_known: bool,
    /// Requests that were to be in flight.
    pub asked: Option<f64>,
    /// The program whose options advice names: volproof's are those of fio.
    pub program: ReportProgram,
    /// The run was on Windows, where advice for Linux is no help.
    pub on_windows: bool,
    /// Load threads.
    pub jobs: Option<f64>,
    /// The times of all load threads added up, where they are known: less than threads times window where threads ended before others.
    pub threads_time: Option<Nanos>,
    /// Flushes between the I/Os.
    pub flushes: Option<Flushes>,
    /// Samples of the rate over time, where a report tells them: an upper bound of the standard deviation over the rate, and the number of
    /// samples.
    pub samples: Option<(f64, u64)>,
    /// How much the counts of a closed loop with two speeds vary, as a multiple of the variation if each I/O were slow by chance.
    pub over_chance: Option<f64>,
    /// The promise, where there is one.
    pub promised: Option<Promised>,
}

/// Counts of the grid, all targets and the data directions together: I/Os or bytes.
pub fn bins(step: &StepRecord, bytes: bool) -> Vec<u64> {
    let mut out: Vec<u64> = Vec::new();
    for series in step.targets.iter().map(|t| &t.series) {
        for d in [Direction::Read, Direction::Write] {
            let Some(stream) = series.stream(d) else { continue };
            let column = if bytes { &stream.track.bytes } else { &stream.track.ios };
            out.resize(out.len().max(column.len()), 0);
            out.iter_mut().zip(column).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
        }
    }
    // The last bin may be cut short, and is left out.
    let whole = step.window_ns.0 / crate::sample::GRID.0;
    out.truncate(whole as usize);
    out
}

/// Which promise a step is held against: the direction of its I/O; reads for a mix, when both are promised the same.
pub fn direction(pattern: Pattern) -> Option<promised_level::PromiseDirection> {
    match pattern.directions() {
        [Direction::Read] | [Direction::Read, Direction::Write] => {
            Some(promised_level::PromiseDirection::Read)
        }
        [Direction::Write] => Some(promised_level::PromiseDirection::Write),
        _ => None,
    }
}

/// Why a promise has no rate for a load, in words; none where it has one.
pub fn load_without_promise(promise: &Promise, block: Bytes, pattern: Pattern) -> Option<&'static str> {
    use promised_level::PromiseDirection::{Read, Write};
    let merges = |v: &VolumePromise| v.charged_block().is_some_and(|charged| block < charged);
    let merged = !pattern.is_random() && promise.volumes.iter().any(merges);
    let apart = pattern.directions().len() > 1 && promise.least(block, Read) != promise.least(block, Write);
    match (apart, merged) {
        (true, _) => Some("reads and writes are promised apart, which a mix does not test"),
        (_, true) => Some(
            "its requests are smaller than those that are charged, and may be merged: what a sequential load gets depends on that",
        ),
        (false, false) => None,
    }
}

impl Summary {
    /// The figures of a step, from its samples or from the report that it comes from.
    pub fn of(record: &Record, step: &StepRecord) -> Summary {
        let conditions = record.conditions(step);
        let mut summary = match &step.reported {
            Some(reported) => summary_of_report::summary(reported, &conditions),
            None => measured(record, step, &conditions),
        };
        let promise = record.judged_promise.as_ref().map(|c| &c.promise);
        summary.used_share = conditions.spacing.as_ref().and_then(|s| s.used_share);
        summary.name = step.name.clone();
        summary.threads_time = Some(step.workers_window_ns).filter(|t| t.0 > 0);
        summary.program = record.report.as_ref().map(|report| report.program).unwrap_or_default();
        summary.promised = promise
            .zip(summary.block)
            .zip(conditions.pattern())
            .filter(|((p, block), pattern)| load_without_promise(p, *block, *pattern).is_none())
            .and_then(|((p, block), pattern)| Promised::of(p, block, direction(pattern)?));
        summary
    }

    /// The figures of a part of a step. The shortest latency stays that of the whole: it is the volume's own, whichever part shows it.
    pub fn of_part(record: &Record, part: &StepRecord, whole: &StepRecord) -> Summary {
        let shortest = Summary::of(record, whole).min;
        let summary = Summary::of(record, part);
        Summary { min: shortest.or(summary.min), ..summary }
    }

    /// Bytes of the target that were used, of its own range, which is no larger than `at_most`.
    pub fn used_range(&self, at_most: Option<Bytes>) -> Option<Bytes> {
        let share = self.used_share.unwrap_or(1.0);
        let range = self.range.filter(|range| range.0 > 0).into_iter().chain(at_most).min()?;
        Some(Bytes((range.0 as f64 * share) as u64))
    }

    /// I/Os in flight without the flushes between them, by Little's law of the I/Os alone.
    pub fn ios_in_flight(&self) -> Option<f64> {
        match (self.iops, self.mean_ns) {
            (Some(x), Some(mean)) if self.flushes.is_some() => Some(in_flight(x, mean)),
            _ => self.in_flight,
        }
    }

    /// The latency of the volume alone: that of I/Os that no throttle held, where there are such; the shortest under a queue that is
    /// served at a constant rate; the mean where nothing shows that requests waited for each other, however much they differ.
    pub fn own_latency(&self, throttled: bool) -> Option<Nanos> {
        let at = |share| self.near_quantile(share);
        match Modes::of(self) {
            Some(modes) => Some(modes.passed),
            None if throttled => self.min,
            None => {
                let quick =
                    at(0.05).filter(|quick| at(0.5).is_some_and(|middle| middle.0 / SPREAD > quick.0));
                quick.or(self.mean_ns.map(|ns| Nanos(ns as u64))).or(at(0.5))
            }
        }
    }

    /// The mean latency, where slow I/Os hold most of the requests in flight and more depth would let the other I/Os go on beside them. So
    /// it is for a shallow queue, and below `plenty` for a queue whose I/Os are slow one by one, or where too few counts or a report without
    /// samples do not exclude that. With one request at a time the mean is the only latency.
    pub fn mean_where_slow_ios_fill(&self, plenty: u64) -> Option<Nanos> {
        let (depth, mean) = (self.in_flight?, self.mean_ns?);
        let modes = Modes::of(self);
        // Where all requests stop together at times, there are quick ones before and after.
        let together = self.over_chance.is_some_and(|over| over >= self.most_by_chance());
        let quick =
            modes.filter(|_| !together).map(|modes| modes.passed).or_else(|| self.near_quantile(0.5))?;
        let times = mean / (quick.0 as f64).max(1.0);
        let unseen = self.cv_of_seconds.is_none() && self.offered.is_none();
        // Two speeds, and too few of their periods to tell whether the slow I/Os come one by one.
        let untold = modes.is_some() && self.over_chance.is_none() && self.offered.is_none();
        let open = untold || unseen && times >= TWO_SPEEDS;
        let deepest = match self.slow_one_by_one() || open {
            true => plenty,
            false => FILLED_BY_FEW,
        };
        let held = depth < ALONE || times >= HELD_BY_SLOW && depth < deepest as f64;
        held.then_some(Nanos(mean as u64))
    }

    /// Share of the time in which requests wait whose own latency is `own`, where a volume that stops for this share may explain the
    /// waiting as well as a quota. With more in flight such a volume gives more, and a quota does not. No figure at one depth tells which
    /// it is: both have even counts and two speeds.
    pub fn may_stop(&self, own: Nanos) -> Option<f64> {
        let waiting = 1.0 - own.0 as f64 / self.mean_ns?;
        (waiting <= 1.0 - 1.0 / MAY_STOP).then_some(waiting.max(0.0))
    }

    /// Whether the counts vary too little for I/Os that are slow by chance.
    pub fn held_together(&self) -> bool {
        self.over_chance.is_some_and(|over| over < TOGETHER)
    }

    /// Two speeds, and nothing shows that the slow I/Os are held together.
    pub fn may_be_slow_one_by_one(&self) -> bool {
        !self.held_together() && Modes::of(self).is_some()
    }

    /// The most that counts vary, as a multiple of chance, where I/Os are slow one by one; see [`BY_CHANCE`].
    fn most_by_chance(&self) -> f64 {
        BY_CHANCE.max(self.in_flight.unwrap_or(0.0).powf(0.25))
    }

    /// Whether the counts vary as they do where I/Os are slow by chance, one by one.
    pub fn slow_one_by_one(&self) -> bool {
        self.over_chance.is_some_and(|over| (TOGETHER..self.most_by_chance()).contains(&over))
    }

    /// Whether the longest I/O lasted longer than times without completions of that many seconds.
    pub fn outlasts(&self, seconds: f64) -> bool {
        self.max.is_some_and(|max| seconds < SHORTER * max.as_seconds())
    }

    /// The latency that a share of the I/Os does not exceed: of the percentiles that are known, the nearest one; none where all are far away.
    pub fn near_quantile(&self, share: f64) -> Option<Nanos> {
        let nearest =
            |a: &&(f64, Nanos), b: &&(f64, Nanos)| (a.0 - share).abs().total_cmp(&(b.0 - share).abs());
        self.percentiles
            .iter()
            .min_by(nearest)
            .filter(|p| (p.0 - share).abs() < NEAREST_PERCENTILE)
            .map(|p| p.1)
    }
}

/// The figures of a step with samples.
fn measured(record: &Record, step: &StepRecord, conditions: &Conditions) -> Summary {
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
    let n = latencies.count().max(1) as f64;
    let counts = bins(step, false);
    let rate = Estimate::of(&counts);
    let plan = record.plan_step(&step.name);
    let data_moved = ios > 0.0;
    let mut summary = Summary {
        name: step.name.clone(),
        reads: Some(step.read.is_some()),
        random: conditions.pattern().map(|p| p.is_random()),
        direct: conditions.direct.get(),
        blocking: conditions.blocking.get(),
        iops: data_moved.then_some(iops),
        bytes_per_second: data_moved.then_some(bytes_per_second),
        ios: data_moved.then_some(ios),
        bytes: data_moved.then_some(bytes),
        block: conditions.single_block(),
        in_flight: Some(step.in_flight_mean),
        window: Some(step.window_ns),
        mean_ns: latencies.mean(),
        min: latencies.min(),
        max: latencies.max(),
        percentiles: [0.01, 0.05, 0.5, 0.9, 0.95, 0.99, 0.999]
            .into_iter()
            .filter_map(|q| Some((q, latencies.quantile(q)?)))
            .collect(),
        bands: latencies
            .nonzero()
            .map(|(i, count)| Band {
                above: Nanos(bucket_low(i).saturating_sub(1)),
                up_to: Nanos(bucket_high(i)),
                share: count as f64 / n,
            })
            .collect(),
        cv_of_seconds: rate.as_ref().and_then(|r| r.cv_of_seconds),
        period: rate.as_ref().and_then(|r| r.period_ms).map(Nanos::millis),
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
        used_share: None,
        // No I/O of a simulated device reaches a disk: what the disks of the machine did is others'.
        device: device(step).filter(|_| step.engine.get() != Some(EngineKind::Null)),
        disk_time: None,
        counted: None,
        other_direction: None,
        read_counts: None,
        write_counts: None,
        busiest_thread: Some(step.cpu.busiest_worker),
        polling: conditions.polling.get(),
        waits_to_submit: None,
        busiest_cpu: None,
        offered: step.open_loop.as_ref().map(|o| o.offered_per_second),
        pace: None,
        pauses: conditions.pace.as_ref().and_then(|p| p.pause_option.clone()),
        drained_queue: None,
        pace_known: true,
        asked: step.in_flight_asked.get(),
        program: ReportProgram::default(),
        on_windows: conditions.on_windows(),
        jobs: conditions.jobs.get().map(f64::from),
        threads_time: None,
        flushes: step
            .sync
            .as_ref()
            .map(|s| (Some(s.ios as f64), &s.service_latency_ns))
            .map(|(count, l)| Flushes { count, mean_ns: l.mean, max: l.known_max() }),
        samples: None,
        over_chance: None,
        promised: None,
    };
    if summary.offered.is_none() {
        let ios = summary.ios_in_flight().unwrap_or(step.in_flight_mean);
        let over_chance = |modes: Modes| modes.over_chance(ios, &counts, &summary);
        summary.over_chance = Modes::of(&summary).and_then(over_chance);
    }
    summary
}

/// Caps that differ by less are one cap.
const SAME_READING: f64 = 1e-3;

impl Promised {
    /// The promise at a block size, as little as every reading of the units allows.
    pub fn of(
        promise: &Promise,
        block: Bytes,
        direction: promised_level::PromiseDirection,
    ) -> Option<Promised> {
        let at = promise.least(block, direction)?;
        Some(Promised {
            iops: at.iops,
            bytes_per_second: at.bytes,
            binding: at.binding,
            iops_cap: promise.iops_cap(direction).map(|c| c.value),
            bytes_cap: promise
                .bytes_cap(direction, crate::catalogue::volume_promise::Reading::Likely)
                .map(|c| c.value),
        })
    }
}

impl Promised {
    /// Whether a rate is below the promise, in the unit of the limit that decides; bytes per second in the reading that they are nearer to.
    pub fn is_missed(&self, iops: f64, bytes_per_second: Option<f64>) -> bool {
        self.kept(iops, bytes_per_second) < 1.0 - AT_PROMISE
    }

    /// Whether a rate is above the promise, likewise: a burst, or a volume that another promise is made for.
    pub fn is_exceeded(&self, iops: f64, bytes_per_second: Option<f64>) -> bool {
        self.kept(iops, bytes_per_second) > 1.0 + AT_PROMISE
    }

    /// The rate as a multiple of the promise.
    fn kept(&self, iops: f64, bytes_per_second: Option<f64>) -> f64 {
        match bytes_per_second.filter(|_| !self.binding.counts_ios()) {
            Some(bytes) => bytes / self.nearest_bytes(bytes),
            None => iops / self.iops,
        }
    }

    /// The promised bytes per second; where their unit is in doubt, the reading that a measured rate is nearer to.
    pub fn nearest_bytes(&self, measured: f64) -> f64 {
        let of_unit = |cap: &f64| (cap / self.bytes_per_second - 1.0).abs() < 0.1;
        let other = self.bytes_cap.filter(of_unit).unwrap_or(self.bytes_per_second);
        let far = |cap: f64| (measured - cap).abs();
        if far(other) < far(self.bytes_per_second) { other } else { self.bytes_per_second }
    }

    /// The binding limit in words, and which reading of a unit in doubt [`Promised::nearest_bytes`] takes.
    pub fn binding_words(&self) -> String {
        let in_doubt = self
            .bytes_cap
            .is_some_and(|cap| (SAME_READING..0.1).contains(&(cap / self.bytes_per_second - 1.0).abs()));
        match in_doubt && !self.binding.counts_ios() {
            true => format!("{}, in the nearer of two readings of the provider's unit", self.binding.words()),
            false => self.binding.words().into(),
        }
    }
}

/// The disks' counters of the samples that lie wholly in the window, put in proportion to its length; none where they are those of less than half of it.
fn device(step: &StepRecord) -> Option<DeviceCounts> {
    let e = &step.evidence;
    let (from, to) = (e.window_starts_ns.0, e.window_starts_ns.0.saturating_add(step.window_ns.0));
    let starts = std::iter::once(Nanos(0)).chain(e.at_ns.iter().copied());
    let inside: Vec<bool> = e
        .at_ns
        .iter()
        .zip(starts)
        .map(|(end, start)| start.0 >= from && end.0 <= to && end.0 > start.0)
        .collect();
    let starts = std::iter::once(Nanos(0)).chain(e.at_ns.iter().copied());
    let spans = e.at_ns.iter().zip(starts).zip(&inside).filter(|(_, i)| **i);
    let seen = total(spans.map(|((end, start), _)| end.0 - start.0));
    if e.disks.is_empty() || seen < 2_000_000_000 || 2 * seen < step.window_ns.0 {
        return None;
    }
    let scale = step.window_ns.0 as f64 / seen as f64;
    let sum =
        |column: &[u64]| column.iter().zip(&inside).filter(|(_, i)| **i).map(|(n, _)| *n as f64).sum::<f64>();
    let (mut counts, mut bytes) = (DeviceCounts::default(), 0.0);
    for disk in &e.disks {
        counts.ios += (sum(&disk.reads) + sum(&disk.writes)) * scale;
        counts.merges += (sum(&disk.reads_merged) + sum(&disk.writes_merged)) * scale;
        bytes += (sum(&disk.read_bytes) + sum(&disk.written_bytes)) * scale;
    }
    Some(DeviceCounts { bytes: Some(bytes), ..counts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use crate::catalogue::request::{AskedVolume, PromiseRequest};

    #[test]
    fn a_load_without_a_promised_rate_is_told_why() {
        let why = |kind: &str, pattern, kib| {
            let volume =
                AskedVolume { kind: kind.into(), size: Some(Bytes::gib(1000)), ..AskedVolume::default() };
            let request = PromiseRequest { volume, ..PromiseRequest::default() };
            let promise = Promise::of(Catalogue::shipped(), &request).unwrap();
            load_without_promise(&promise, Bytes::kib(kib), pattern)
        };
        assert!(why("aws:st1", Pattern::Read, 64).is_some_and(|why| why.contains("merged")));
        assert_eq!(why("aws:st1", Pattern::Read, 1024), None);
        assert_eq!(why("aws:st1", Pattern::RandRead, 64), None);
        assert_eq!(why("aws:gp3", Pattern::RandRw, 4), None, "reads and writes share one promise");
        assert!(why("gcp:pd-balanced", Pattern::RandRw, 512).is_none_or(|why| why.contains("apart")));
    }
}
