//! The figures of a run that the rules need, whoever measured it. What a report does not hold stays absent.

use super::throttle::AT_PROMISE;
use super::{Modes, summary_of_report};
use crate::catalogue::Promise;
use crate::catalogue::promised_level;
use crate::catalogue::volume_promise::Binding;
use crate::hist::{bucket_high, bucket_low};
use crate::plan::Pattern;
use crate::record::{Band, Conditions, Record, StepRecord};
use crate::sample::Direction;
use crate::stats::percentile::pooled;
use crate::stats::rate::Estimate;
use crate::unit::{Bytes, Nanos, total};

/// More in flight than this is a queue, whose length sets the latency.
pub const DEEP_QUEUE: u64 = 8;

/// A mean of so many latencies of the quick I/Os: the slow ones hold the requests in flight.
const HELD_BY_SLOW: f64 = 1.25;
/// A mean of so many medians is that of two speeds, also where a report shows no more of them.
const TWO_SPEEDS: f64 = 2.0;
/// With as many in flight, the other I/Os go on beside a few slow ones.
pub const SHALLOW: u64 = 32;
/// Fewer in flight are one at a time.
pub const ALONE: f64 = 1.5;
/// Counts that vary by less than this share of what chance gives are those of I/Os that are held together.
const TOGETHER: f64 = 0.5;
/// Up to so many times as much, chance explains them; what stops all requests in flight at no certain times gives more.
const BY_CHANCE: f64 = 1.6;
/// A percentile that is further away stands for no other.
const NEAR: f64 = 0.25;
/// A stop of the volume holds its I/Os as long as it lasts. Times without completions that take less than this share of the longest I/O are
/// no such stops.
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

/// Reads of a run and of the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadCounts {
    /// Reads of the run.
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
}

/// The figures of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Name of the run.
    pub name: String,
    /// It reads.
    pub reads: Option<bool>,
    /// At random places.
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
    /// How much of the target was used.
    pub range: Option<Bytes>,
    /// The disk's own counters, of the directions that the run moved.
    pub device: Option<DeviceCounts>,
    /// The reads among them, beside the reads of the run; where both are told apart from writes.
    pub read_counts: Option<ReadCounts>,
    /// Share of a CPU that the busiest load thread used, 0 to 1.
    pub busiest_thread: Option<f64>,
    /// The offered rate, under a schedule.
    pub offered: Option<f64>,
    /// The option that sets it, as it was given.
    pub pace: Option<String>,
    /// The option that makes the load pause, as it was given.
    pub pauses: Option<String>,
    /// Whoever measured tells whether a rate was set.
    pub pace_known: bool,
    /// Requests that were to be in flight.
    pub asked: Option<f64>,
    /// It was measured on Windows, where advice for Linux is no help.
    pub on_windows: bool,
    /// Load threads.
    pub jobs: Option<f64>,
    /// Flushes between the I/Os.
    pub flushes: Option<Flushes>,
    /// Samples of the rate over time, where a report tells them: the standard deviation over the rate, at most, and how many there are.
    pub samples: Option<(f64, u64)>,
    /// How much the counts of a closed loop with two speeds vary, over what they would if each I/O were slow by chance.
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
    // The last bin may be cut short: it belongs to no rate on a grid.
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

impl Summary {
    /// The figures of a step, from its samples or from the report that it comes from.
    pub fn of(record: &Record, step: &StepRecord) -> Summary {
        let conditions = record.conditions(step);
        let mut summary = match &step.reported {
            Some(told) => summary_of_report::summary(told, &conditions),
            None => measured(record, step, &conditions),
        };
        let promise = record.claimed.as_ref().map(|c| &c.promise);
        summary.name = step.name.clone();
        summary.promised = promise
            .zip(summary.block)
            .zip(conditions.pattern().and_then(direction))
            .and_then(|((p, block), d)| Promised::of(p, block, d));
        summary
    }

    /// The latency of the volume alone: that of I/Os that no throttle held, where there are such; the shortest under a queue that is
    /// served at a constant rate.
    pub fn own_latency(&self, throttled: bool) -> Option<Nanos> {
        match Modes::of(self) {
            Some(modes) => Some(modes.passed),
            None if throttled => self.min,
            None => self.near_quantile(0.5).or(self.mean_ns.map(|ns| Nanos(ns as u64))),
        }
    }

    /// The mean latency, where slow I/Os hold most of the requests of a queue whose other I/Os would go on beside them with more in flight: of a
    /// shallow one, and of any below `plenty` whose I/Os are slow one by one, or of which a report without samples excludes nothing. One request
    /// at a time has no other latency.
    pub fn held_by_slow(&self, plenty: u64) -> Option<Nanos> {
        let (depth, mean) = (self.in_flight?, self.mean_ns?);
        let modes = Modes::of(self);
        // What stops all requests at times has quick ones before and after.
        let together = self.over_chance.is_some_and(|over| over >= BY_CHANCE);
        let quick =
            modes.filter(|_| !together).map(|modes| modes.passed).or_else(|| self.near_quantile(0.5))?;
        let times = mean / (quick.0 as f64).max(1.0);
        let unseen = self.cv_of_seconds.is_none() && self.offered.is_none();
        let deepest = match self.slow_one_by_one() || unseen && (modes.is_some() || times >= TWO_SPEEDS) {
            true => plenty,
            false => SHALLOW,
        };
        let held = depth < ALONE || times >= HELD_BY_SLOW && depth < deepest as f64;
        held.then_some(Nanos(mean as u64))
    }

    /// The counts exclude that each I/O is slow by chance: they vary too little.
    pub fn held_together(&self) -> bool {
        self.over_chance.is_some_and(|over| over < TOGETHER)
    }

    /// The counts vary as those of I/Os that are slow by chance, one by one.
    pub fn slow_one_by_one(&self) -> bool {
        self.over_chance.is_some_and(|over| (TOGETHER..BY_CHANCE).contains(&over))
    }

    /// Times without completions of that many seconds each are shorter than the longest I/O, which therefore outlasted them.
    pub fn outlasts(&self, seconds: f64) -> bool {
        self.max.is_some_and(|max| seconds < SHORTER * max.as_seconds())
    }

    /// The latency that a share of the I/Os does not exceed: of the percentiles that are known, the nearest one; none where all are far away.
    pub fn near_quantile(&self, share: f64) -> Option<Nanos> {
        let nearest =
            |a: &&(f64, Nanos), b: &&(f64, Nanos)| (a.0 - share).abs().total_cmp(&(b.0 - share).abs());
        self.percentiles.iter().min_by(nearest).filter(|p| (p.0 - share).abs() < NEAR).map(|p| p.1)
    }
}

/// The figures of a step with samples.
fn measured(record: &Record, step: &StepRecord, conditions: &Conditions) -> Summary {
    let data = [&step.read, &step.write].into_iter().flatten();
    let (mut iops, mut bytes, mut ios) = (0.0, 0.0, 0.0);
    for s in data {
        iops += s.iops;
        bytes += s.bytes_per_second;
        ios += s.ios as f64;
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
        bytes_per_second: data_moved.then_some(bytes),
        ios: data_moved.then_some(ios),
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
            .map(|t| plan.and_then(|p| p.size).unwrap_or(t.size_bytes).min(t.size_bytes))
            .min(),
        device: device(step),
        read_counts: None,
        busiest_thread: Some(step.cpu.busiest_worker),
        offered: step.open_loop.as_ref().map(|o| o.offered_per_second),
        pace: None,
        pauses: conditions.pace.as_ref().and_then(|p| p.pause_option.clone()),
        pace_known: true,
        asked: step.in_flight_asked.get(),
        on_windows: conditions.on_windows(),
        jobs: conditions.jobs.get().map(f64::from),
        flushes: step
            .sync
            .as_ref()
            .map(|s| Flushes { count: Some(s.ios as f64), mean_ns: s.service_latency_ns.mean }),
        samples: None,
        over_chance: None,
        promised: None,
    };
    if summary.offered.is_none() {
        let over_chance = |modes: Modes| modes.over_chance(step.in_flight_mean, &counts);
        summary.over_chance = Modes::of(&summary).and_then(over_chance);
    }
    summary
}

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
        let ratio = match bytes_per_second.filter(|_| !self.binding.counts_ios()) {
            Some(bytes) => bytes / self.nearest_bytes(bytes),
            None => iops / self.iops,
        };
        ratio < 1.0 - AT_PROMISE
    }

    /// The promised bytes per second; where their unit is in doubt, the reading that a measured rate is nearer to.
    pub fn nearest_bytes(&self, measured: f64) -> f64 {
        let of_unit = |cap: &f64| (cap / self.bytes_per_second - 1.0).abs() < 0.1;
        let other = self.bytes_cap.filter(of_unit).unwrap_or(self.bytes_per_second);
        let far = |cap: f64| (measured - cap).abs();
        if far(other) < far(self.bytes_per_second) { other } else { self.bytes_per_second }
    }
}

/// The disks' counters of the samples that lie wholly in the window, put in proportion to its length.
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
    if e.disks.is_empty() || seen < 2_000_000_000 {
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
