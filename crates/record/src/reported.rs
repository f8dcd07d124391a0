//! The runs of another tool's report: figures as they are printed, in this project's units. A figure that the report does not have is absent.
//!
//! A reader makes these values and derives nothing. The summaries of a [`super::StepRecord`] are made from them. They have no term of a
//! single tool's language, so that the readers of all tools fill the same fields.

use std::collections::BTreeMap;
use volproof_base::report_form::PrintedRanges;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Conditions, Known};
use volproof_base::sample::Direction;
use volproof_base::unit::{Bytes, Nanos};

/// Directions of one run whose times differ by less than this ran for the same time.
const EVEN: f64 = 0.98;
/// Text rounds bytes to three digits.
const ROUNDED: f64 = 0.01;

/// One run of a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReportedStep {
    /// The load.
    pub conditions: Conditions,
    /// Name of the run in the report, which others in it may have too.
    pub name: String,
    /// The report says that its device was simulated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// The user's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Rows of the report that are this run: clones of a job, hosts.
    pub rows: u32,
    /// Runs of one group began together, unless one of them waited.
    pub group: u32,
    /// The host, where one host ran it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Each host, where several ran it at the same time; the figures of the step are those of all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<ReportedHost>,
    /// When it began, milliseconds of the tool's own clock, which all runs of the report share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began_ms: Option<u64>,
    /// Seconds from the start of all runs to the end of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_s: Option<u64>,
    /// The run, or I/Os of it, failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<ReportedFailure>,
    /// Impossible figures, with their place in the report; figures that rest on them are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub impossible: Vec<String>,
    /// The rate would rest on an impossible figure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rate_impossible: bool,
    /// The tool computes its rate from the latency, or the latency from the rate: the two are one piece of evidence.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rate_of_latency: bool,
    /// Share of its time for which the busiest CPU of the machine had work of any program, 0 to 1.
    #[serde(rename = "busiest_cpu_share", skip_serializing_if = "Option::is_none")]
    pub busiest_cpu: Option<f64>,
    /// Requests that the tool left out of its figures, beyond those of a warm-up, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// Reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<ReportedFigures>,
    /// Writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<ReportedFigures>,
    /// Discards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<ReportedFigures>,
    /// Reads and writes, where the report does not tell them apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed: Option<ReportedFigures>,
    /// Flushes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<ReportedSync>,
    /// All latencies by bands, ascending; bands without I/O are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<Band>,
    /// The disk's counters of the same time, where they are of this run alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<ReportedDevice>,
    /// Share of a CPU that each load thread used, 0 to 1: the mean, or of several rows the highest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_share: Option<f64>,
}

/// The part of one host in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportedHost {
    /// Its name.
    pub host: String,
    /// I/Os a second of all directions.
    #[serde(default, skip_serializing_if = "Known::is_unknown")]
    pub iops: Known<f64>,
    /// Bytes a second.
    #[serde(default, skip_serializing_if = "Known::is_unknown")]
    pub bytes_per_second: Known<f64>,
    /// Mean latency, nanoseconds.
    #[serde(default, skip_serializing_if = "Known::is_unknown")]
    pub mean_ns: Known<f64>,
}

/// How a run failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportedFailure {
    /// I/Os that failed, where they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ios: Option<u64>,
    /// Number of the first error (errno).
    pub number: i32,
}

/// One direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReportedFigures {
    /// Bytes moved; 0 where that is not told.
    pub bytes: Bytes,
    /// I/Os completed.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub ios: Known<u64>,
    /// I/Os a second.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub iops: Known<f64>,
    /// Bytes a second.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub bytes_per_second: Known<f64>,
    /// How long it took.
    #[serde(rename = "runtime_ns", skip_serializing_if = "Known::is_unknown")]
    pub runtime: Known<Nanos>,
    /// The intervals in which the true figures lie, by the digits that the tool prints; absent where they are exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub printed: Option<PrintedRanges>,
    /// I/Os that were cut short or dropped.
    #[serde(skip_serializing_if = "super::direction_summary::is_zero")]
    pub short_ios: u64,
    /// From the load thread's hand to the kernel (`slat`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submission: Option<ReportedLatency>,
    /// From the kernel's hand to completion (`clat`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion: Option<ReportedLatency>,
    /// From the load thread's hand to completion (`lat`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<ReportedLatency>,
    /// Why the total is assumed, where the report does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_assumed: Option<String>,
    /// How the rate in bytes spread over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_spread: Option<RateSpread>,
}

/// Flushes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportedSync {
    /// Number of flushes.
    #[serde(default, skip_serializing_if = "Known::is_unknown")]
    pub count: Known<u64>,
    /// Latencies of the flushes.
    pub latency: ReportedLatency,
}

/// Latencies of one kind, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReportedLatency {
    /// Number of latencies.
    #[serde(skip_serializing_if = "Known::is_unknown")]
    pub samples: Known<u64>,
    /// The shortest latency; 0 where the report does not give it.
    pub min: Nanos,
    /// The mean latency.
    pub mean: f64,
    /// The standard deviation; 0 where the report does not give it.
    pub deviation: f64,
    /// The longest latency; 0 where the report does not give it.
    pub max: Nanos,
    /// All percentiles of the report, by percent: `99.9`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub percentiles: BTreeMap<String, Nanos>,
}

/// How a rate spread over time, in bytes a second, where the report sums up its samples and does not list them. For several jobs least,
/// most and mean are sums over the jobs, the deviation is that of one job, and the samples are those of all jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateSpread {
    /// The smallest sample.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
    /// The mean of the samples.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// How many.
    #[serde(default, skip_serializing_if = "Known::is_unknown")]
    pub samples: Known<u64>,
}

/// Share of the I/Os whose latency lies in a band.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Lower end; only the shortest band includes it.
    #[serde(rename = "above_ns")]
    pub above: Nanos,
    /// Upper end, included.
    #[serde(rename = "up_to_ns")]
    pub up_to: Nanos,
    /// Share of all I/Os, 0 to 1.
    pub share: f64,
}

/// Counters of the disks that hold the files of a run, as the tool took them: of a ramp too, which the figures leave out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportedDevice {
    /// Kernel name; of several disks their names, with commas between.
    pub name: String,
    /// Reads.
    pub reads: ReportedRequests,
    /// Writes.
    pub writes: ReportedRequests,
    /// Disks on which no others lie below and which completed a hundredth of the requests or more; 0 where they are not known.
    #[serde(default)]
    pub lowest_disks: u32,
    /// The times of all its requests added up, where no other disks lie below it.
    #[serde(default, rename = "request_time_ns", skip_serializing_if = "Option::is_none")]
    pub request_time: Option<Nanos>,
    /// Share of the time in which it had a request, 0 to 1, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
}

/// Requests that a disk completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportedRequests {
    /// Requests.
    pub ios: u64,
    /// Requests that were merged with another before.
    pub merges: u64,
    /// Bytes, where they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
}

impl ReportedStep {
    /// Figures that cannot be are those of the rate, or show that the report is not what its tool wrote: no tool writes percentiles that fall.
    pub fn are_impossible(&self) -> bool {
        self.rate_impossible || self.impossible.iter().any(|figure| figure.contains(".percentile="))
    }

    /// Share of their time for which the load threads waited in the call that submits an I/O, without being on a CPU. Through the page cache, and
    /// where a file takes one write at a time, that call does the whole I/O, whatever depth was asked for.
    pub fn share_waiting_to_submit(&self) -> Option<f64> {
        let threads = f64::from(self.conditions.jobs.get().unwrap_or(self.rows).max(1));
        let time = self.window().filter(|window| window.0 > 0)?.0 as f64 * threads;
        let mut submitting = 0.0;
        for (_, f) in self.parts() {
            submitting += f.submission.as_ref()?.mean * f.count();
        }
        Some(submitting / time - self.cpu_share.unwrap_or(0.0))
    }

    /// The figures of a direction.
    pub fn direction(&self, d: Direction) -> Option<&ReportedFigures> {
        match d {
            Direction::Read => self.read.as_ref(),
            Direction::Write => self.write.as_ref(),
            Direction::Trim => self.trim.as_ref(),
            Direction::Sync => None,
        }
    }

    /// Directions that moved something, or the mix where they are not told apart, with their names.
    pub fn parts(&self) -> Vec<(&'static str, &ReportedFigures)> {
        let apart: Vec<_> = [Direction::Read, Direction::Write, Direction::Trim]
            .into_iter()
            .filter_map(|d| Some((d.name(), self.direction(d)?)))
            .filter(|(_, f)| f.moved())
            .collect();
        match &self.mixed {
            Some(mixed) if apart.is_empty() => vec![(self.mixed_name(), mixed)],
            _ => apart,
        }
    }

    /// The I/Os whose directions the report does not tell apart, in words. Where the pattern is not known either, they may all be of one.
    pub fn mixed_name(&self) -> &'static str {
        match self.conditions.pattern() {
            Some(pattern) if pattern.directions().len() > 1 => "reads and writes",
            _ => "I/Os",
        }
    }

    /// I/Os of all directions.
    pub fn ios(&self) -> f64 {
        self.parts().iter().map(|(_, f)| f.count()).sum()
    }

    /// Bytes of all directions.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.parts().iter().map(|(_, f)| f.bytes.0).fold(0, u64::saturating_add))
    }

    /// Bytes that were moved, as exactly as the report tells. Text rounds bytes, and counts I/Os; but some of those may have moved less than
    /// their block, as the last one of dd.
    pub fn amount(&self) -> Option<Bytes> {
        let told = Some(self.bytes()).filter(|b| b.0 > 0);
        let ios = self.ios() as u64;
        let block = self.conditions.single_block().filter(|_| ios > 0);
        let Some(whole) = block.map(|b| Bytes(ios.saturating_mul(b.0))) else { return told };
        let alike = told.is_none_or(|t| t.0.abs_diff(whole.0) as f64 <= ROUNDED * whole.0 as f64);
        if alike { Some(whole) } else { told }
    }

    /// The total rate of all directions over the time of the longest, since a direction that ended earlier did nothing afterwards. None
    /// where the report tells no rate of a direction that moved something.
    pub fn sum_of_rates(&self, rate: impl Fn(&ReportedFigures) -> Option<f64>) -> Option<f64> {
        let (uneven, window) = (self.uneven(), self.window().unwrap_or_default().as_seconds());
        let mut sum = 0.0;
        for (_, f) in self.parts() {
            let share = match f.runtime.get() {
                Some(own) if uneven && window > 0.0 => own.as_seconds() / window,
                _ => 1.0,
            };
            sum += rate(f)? * share;
        }
        Some(sum).filter(|sum| *sum > 0.0)
    }

    /// One direction ran for a clearly shorter time than another: threads that start and end at different times do not explain it.
    pub fn uneven(&self) -> bool {
        let times: Vec<Nanos> = self.parts().iter().filter_map(|(_, f)| f.runtime.get()).collect();
        let (least, most) = (times.iter().min(), times.iter().max());
        least.zip(most).is_some_and(|(least, most)| (least.0 as f64) < EVEN * most.0 as f64)
    }

    /// The largest possible spread of samples of the total rate: the sum of the standard deviations of all directions and jobs over the
    /// rate, and the number of samples of each. None where a direction that moved something does not tell its spread.
    pub fn spread_of_rate(&self) -> Option<(f64, u64)> {
        let jobs = u64::from(self.conditions.jobs.get().unwrap_or(self.rows).max(1));
        let (mut deviation, mut samples) = (0.0, u64::MAX);
        for (_, figures) in self.parts() {
            let spread = figures.rate_spread.as_ref()?;
            deviation += jobs as f64 * spread.deviation;
            samples = samples.min(spread.samples.get()? / jobs);
        }
        let rate = self.sum_of_rates(|f| f.bytes_per_second.get())?;
        Some((deviation / rate, samples)).filter(|_| samples > 1)
    }

    /// Flushes with their latencies.
    pub fn timed_flushes(&self) -> Option<&ReportedSync> {
        self.sync.as_ref().filter(|sync| sync.latency.mean > 0.0)
    }

    /// The latency of writes that were durable one after the other: the time of each is that of the write and its flush together.
    pub fn durable_writes(&self) -> Option<&ReportedLatency> {
        let c = &self.conditions;
        let is_each_flushed = c.fsync.get() == Some(1) && c.in_flight() == Some(1) && self.sync.is_none();
        let write = self.write.as_ref().filter(|_| is_each_flushed && self.read.is_none())?;
        Some(write.latency()?.1)
    }

    /// So many requests are the I/Os alone, without the flushes that the report counts.
    pub fn are_without_flushes(&self, requests: f64) -> bool {
        let flushes = self.sync.as_ref().and_then(|sync| sync.count.get()).unwrap_or(0) as f64;
        let others = (requests - self.ios()).abs();
        if flushes > 0.0 { others < 0.5 * flushes } else { others <= 1.0 + 0.01 * requests }
    }

    /// How long its longest direction took.
    pub fn window(&self) -> Option<Nanos> {
        self.parts().iter().filter_map(|(_, f)| f.runtime.get()).max()
    }
}

impl ReportedSync {
    /// How many flushes there were, counted or with a latency.
    pub fn flushes(&self) -> Option<f64> {
        let counted = self.count.get().filter(|count| *count > 0);
        counted.or(self.latency.samples.get()).map(|count| count as f64)
    }
}

impl ReportedFigures {
    /// Something was moved.
    pub fn moved(&self) -> bool {
        self.bytes.0 > 0 || self.ios.get().unwrap_or(0) > 0
    }

    /// I/Os, from rate and time where they are not counted.
    pub fn count(&self) -> f64 {
        let seconds = self.runtime.get().unwrap_or_default().as_seconds();
        self.ios.get().map_or(self.iops.get().unwrap_or(0.0) * seconds, |n| n as f64)
    }

    /// Bytes, where they are known to the last one.
    pub fn exact_bytes(&self) -> Option<u64> {
        let range = self.printed.and_then(|printed| printed.bytes);
        let is_exact = range.is_none_or(|(low, high)| high - low <= 1.0);
        Some(self.bytes.0).filter(|bytes| is_exact && *bytes > 0)
    }

    /// The interval of I/Os a second, by its digits.
    pub fn iops_range(&self) -> Option<(f64, f64)> {
        let value = self.iops.get()?;
        Some(self.printed.and_then(|printed| printed.iops).unwrap_or((value, value)))
    }

    /// The interval of bytes a second, by its digits.
    pub fn speed_range(&self) -> Option<(f64, f64)> {
        let value = self.bytes_per_second.get()?;
        Some(self.printed.and_then(|printed| printed.bytes_per_second).unwrap_or((value, value)))
    }

    /// The total latency, or that of completion where only that was taken; with its name.
    pub fn latency(&self) -> Option<(&'static str, &ReportedLatency)> {
        let total = if self.total_assumed.is_some() { "slat+clat" } else { "lat" };
        [(total, &self.total), ("clat", &self.completion)]
            .into_iter()
            .filter_map(|(name, l)| Some((name, l.as_ref()?)))
            .find(|(_, l)| l.samples.get() != Some(0) && (l.max.0 > 0 || l.mean > 0.0))
    }

    /// The table of percentiles, of the total latency or of completion; with its name.
    pub fn percentiles(&self) -> Option<(&'static str, &ReportedLatency)> {
        [("lat", &self.total), ("clat", &self.completion)]
            .into_iter()
            .filter_map(|(name, l)| Some((name, l.as_ref()?)))
            .find(|(_, l)| !l.percentiles.is_empty())
    }
}

impl ReportedLatency {
    /// Percentiles as shares from 0 to 1, ascending.
    pub fn shares(&self) -> Vec<(f64, Nanos)> {
        let shares = self.percentiles.iter().filter_map(|(p, v)| Some((p.parse::<f64>().ok()? / 100.0, *v)));
        let mut all: Vec<(f64, Nanos)> = shares.collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }
}
