//! Output: all that a fio report says, in whatever form it came. The hub between fio's forms, the Record and `explain`.
//!
//! Units are this project's: bytes, nanoseconds, shares from 0 to 1. What a form does not carry stays absent; nothing is derived here
//! at all. Field names follow fio's JSON where that is a noun.

use std::borrow::Cow;

use super::impossible::Impossible;
use volproof_base::foreign_lines::in_one_line;
use volproof_base::report_form::PrintedRanges;
use volproof_base::sample::{Direction, PerDirection};
use volproof_base::unit::{Bytes, Nanos};

/// More rows than this of one file are left out: fio itself runs no more than some thousand jobs.
pub const MOST_ROWS: usize = 100_000;
/// Keys of the depth shares, `iodepth_level`: I/Os that were sent while so many were in flight, up to the next key.
pub const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
/// Keys of the batch shares, `iodepth_submit` and `iodepth_complete`.
pub const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
/// Keys of the latency shares in nanoseconds and in microseconds: below this, and not below the key before.
pub const BELOW: [u32; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// Keys of the latency shares in milliseconds; the last one has no end.
pub const BELOW_MS: [&str; 12] =
    ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];
/// fio's `percentile_list` when none is given, in percent.
pub const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// One report of fio: one document of JSON, or one run's text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Version as fio prints it, such as `fio-3.33`.
    pub version: String,
    /// The program that measured, where it was not fio: `volproof 0.1.0`.
    pub measured_by: Option<&'static str>,
    /// When the report was written, milliseconds since 1970.
    pub timestamp_ms: Option<u64>,
    /// Options before the first job, as given.
    pub global_options: Vec<(String, String)>,
    /// One entry per row: a job, or a group of jobs under `group_reporting`.
    pub jobs: Vec<OutputRow>,
    /// The rate that its jobs together were given, where a status line says it.
    pub asked_rate: Option<AskedRate>,
    /// The kernel's counters of the disks.
    pub disks: Vec<DiskCounters>,
    /// The report is an interim one, or ends early: why, in words.
    pub partial: Option<String>,
    /// Notes for the reader of the report: figures that looked wrong, each with its place.
    pub notes: Vec<String>,
}

impl Output {
    /// The report, or where names and options hold line breaks, a copy with the signs of a line break in their place: for fio's text and terse lines.
    pub fn in_lines(&self) -> Cow<'_, Output> {
        let of_jobs = self.jobs.iter().flat_map(|row| {
            let texts = [&row.host, &row.error_text, &row.description].into_iter().flatten();
            texts.chain([&row.name]).chain(row.options.iter().map(|(_, value)| value))
        });
        let globals = self.global_options.iter().map(|(_, value)| value);
        let of_disks = self.disks.iter().map(|disk| &disk.name);
        if !of_jobs.chain(globals).chain(of_disks).any(|text| text.contains('\n')) {
            return Cow::Borrowed(self);
        }
        let mut copy = self.clone();
        let of_disks = copy.disks.iter_mut().map(|disk| &mut disk.name);
        let globals = copy.global_options.iter_mut().map(|(_, value)| value);
        let of_jobs = copy.jobs.iter_mut().flat_map(|row| {
            let texts = [&mut row.host, &mut row.error_text, &mut row.description].into_iter().flatten();
            texts.chain([&mut row.name]).chain(row.options.iter_mut().map(|(_, value)| value))
        });
        for text in of_jobs.chain(globals).chain(of_disks) {
            *text = in_one_line(text).into_owned();
        }
        Cow::Owned(copy)
    }
}

/// A rate that was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AskedRate {
    /// I/Os a second.
    Iops(f64),
    /// Bytes a second.
    Bytes(f64),
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutputRow {
    /// Name of the job.
    pub name: String,
    /// The host, in client mode.
    pub host: Option<String>,
    /// Reporting group.
    pub group: u32,
    /// Jobs in this row; 0 where the report does not tell.
    pub members: u32,
    /// First error number; 0 for none.
    pub error: i32,
    /// The words of a text report for that error.
    pub error_text: Option<String>,
    /// Process or thread number.
    pub pid: Option<u32>,
    /// Seconds to go when the report was written.
    pub eta: Option<u64>,
    /// Seconds since the start of the run.
    pub elapsed: Option<u64>,
    /// When the job began, milliseconds of fio's clock.
    pub start_ms: Option<u64>,
    /// Options of the job, as given.
    pub options: Vec<(String, String)>,
    /// The workload of the header line, where the report is text.
    pub header: Option<Header>,
    /// The user's own words.
    pub description: Option<String>,
    /// Reads, writes, discards; the fourth place (flushes) is never used here, see `sync`.
    pub directions: PerDirection<Option<Box<Stats>>>,
    /// All directions together, under `unified_rw_reporting`.
    pub mixed: Option<Box<Stats>>,
    /// Flushes.
    pub sync: Option<Latency>,
    /// Flushes as fio counts them beside the latencies (it leaves out those of `fdatasync=`).
    pub sync_ios: Option<u64>,
    /// Run times of the members added up (`job_runtime`).
    pub runtime: Option<Nanos>,
    /// CPU use of the members.
    pub cpu: Option<RowCpu>,
    /// Share of I/Os by depth found, as [`DEPTHS`].
    pub depth: Option<[f64; 7]>,
    /// Share of submissions by their size, as [`BATCHES`].
    pub submit: Option<[f64; 7]>,
    /// Share of completions by their size, as [`BATCHES`].
    pub complete: Option<[f64; 7]>,
    /// Share of I/Os by total latency in nanoseconds, as [`BELOW`].
    pub latency_ns: Option<[f64; 10]>,
    /// In microseconds, as [`BELOW`].
    pub latency_us: Option<[f64; 10]>,
    /// In milliseconds, as [`BELOW_MS`].
    pub latency_ms: Option<[f64; 12]>,
    /// Errors, under `continue_on_error`.
    pub errors: Option<u64>,
    /// Number of the first of them.
    pub first_error: Option<i32>,
    /// Depth that a latency target ended at, the target, its window and percentile (share).
    pub target: Option<LatencyTarget>,
    /// Figures of the row that cannot be; what they are part of is left out.
    pub impossible: Vec<Impossible>,
    /// Whether the steady state was attained that the job was to end at.
    pub steady: Option<bool>,
}

/// The first line of a job in a text report; of several jobs that one row sums up, what they share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// `rw=`; empty where the jobs differ.
    pub rw: String,
    /// Smallest and largest block of reads, writes and discards.
    pub block: [(Bytes, Bytes); 3],
    /// `ioengine=`; empty where the jobs differ.
    pub engine: String,
    /// `iodepth=`; 0 where the jobs differ.
    pub depth: u32,
    /// Size of all files that fio wrote for the jobs of this name before they began (`Laying out IO file`); absent where the jobs differ.
    pub laid_out: Option<Bytes>,
}

impl Header {
    /// It is that of one job, or of several with one load.
    pub fn is_of_one_load(&self) -> bool {
        !self.rw.is_empty() && !self.engine.is_empty() && self.depth > 0
    }

    /// Whether both may be of one job, whose row moved data in these directions. Text has three digits of a block size or more.
    pub fn may_be(&self, other: &Header, moved: &[Direction]) -> bool {
        let mut blocks = moved.iter().map(|d| (*d as usize).min(2)).map(|d| (self.block[d], other.block[d]));
        self.rw == other.rw
            && self.engine == other.engine
            && self.depth == other.depth
            && blocks.all(|(a, b)| is_near(a.0, b.0) && is_near(a.1, b.1))
    }

    /// This job and another one, summed up in one row.
    pub fn with(mut self, other: &Header) -> Header {
        if self.rw != other.rw {
            self.rw.clear();
        }
        if self.engine != other.engine {
            self.engine.clear();
        }
        if self.depth != other.depth {
            self.depth = 0;
        }
        self.laid_out = self.laid_out.filter(|size| other.laid_out == Some(*size));
        for (own, other) in self.block.iter_mut().zip(other.block) {
            *own = (own.0.min(other.0), own.1.max(other.1));
        }
        self
    }
}

/// Sizes that may be one, by three digits.
fn is_near(a: Bytes, b: Bytes) -> bool {
    a.0.abs_diff(b.0) as f64 <= 0.01 * a.0.max(b.0) as f64
}

/// One direction of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Bytes moved.
    pub bytes: Bytes,
    /// Bytes a second, as reported (fio divides by the longest run time of the group).
    pub bytes_per_second: f64,
    /// I/Os a second, as reported.
    pub iops: f64,
    /// Run time in whole milliseconds.
    pub runtime: Nanos,
    /// I/Os completed.
    pub ios: Option<u64>,
    /// Of those, cut short.
    pub short: u64,
    /// Dropped.
    pub dropped: u64,
    /// From the tool's hand to the kernel; absent (or without samples) where that is not measured.
    pub slat: Option<Latency>,
    /// From the kernel's hand to completion.
    pub clat: Option<Latency>,
    /// Both together.
    pub lat: Option<Latency>,
    /// Bandwidth in bytes a second, sampled over time.
    pub bandwidth_samples: Option<Samples>,
    /// I/Os a second, sampled over time.
    pub iops_samples: Option<Samples>,
    /// The intervals in which the rates and the amount lie, by the digits of their form.
    pub printed: PrintedRanges,
}

/// Latencies of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latency {
    /// Shortest.
    pub min: Nanos,
    /// Longest.
    pub max: Nanos,
    /// Mean, nanoseconds.
    pub mean: f64,
    /// Standard deviation, nanoseconds.
    pub deviation: f64,
    /// How many; absent before fio 3.18 and in text.
    pub samples: Option<u64>,
    /// Percent and latency, ascending.
    pub percentiles: Vec<(f64, Nanos)>,
    /// Middle of a bucket of fio's histogram and how many fell into it, ascending (`json+`).
    pub bins: Vec<(Nanos, u64)>,
}

/// Values sampled over time (every 500 ms unless told).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Samples {
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// The mean as a share of the group's rate, 0 to 1; bandwidth only.
    pub share: Option<f64>,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
    /// How many; absent in 2.x.
    pub samples: Option<u64>,
}

/// CPU use of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowCpu {
    /// Share of the run time in user mode, 0 to 1 (mean over the members).
    pub user: f64,
    /// In system mode.
    pub system: f64,
    /// Context switches.
    pub switches: u64,
    /// Page faults that read from a disk.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
}

/// A latency target, and the depth that fio found for it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencyTarget {
    /// The depth it ended at; the job's own depth when no target was set.
    pub depth: u32,
    /// Latency to be kept; 0 for none.
    pub target: Nanos,
    /// For this share of I/Os, 0 to 1.
    pub percentile: f64,
    /// Judged over this time.
    pub window: Nanos,
}

/// A disk's counters over the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskCounters {
    /// Kernel name.
    pub name: String,
    /// Counters.
    pub counts: DiskCounts,
    /// Those of the disks below a stacked device, per disk.
    pub below: Option<DiskCounts>,
}

impl DiskCounters {
    /// The times of all requests added up, of a disk that lies on no others and tells them. Kernels count whole milliseconds; where they also count the
    /// time in the queue, the longer one is taken.
    pub fn own_time(&self) -> Option<Nanos> {
        let ticks = self.counts.ticks.0.saturating_add(self.counts.ticks.1);
        let told = self.below.is_none() && ticks > 0 && self.counts.busy > 0.0;
        told.then(|| Nanos::millis(ticks.max(self.counts.in_queue)))
    }
}

/// Counters of a disk; reads first, writes second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskCounts {
    /// Requests completed.
    pub ios: (u64, u64),
    /// Sectors of 512 bytes; since fio 3.36.
    pub sectors: Option<(u64, u64)>,
    /// Requests merged.
    pub merges: (u64, u64),
    /// Time of all requests, ms.
    pub ticks: (u64, u64),
    /// Time of all requests in the queue, ms.
    pub in_queue: u64,
    /// Share of the time the disk was busy, 0 to 1.
    pub busy: f64,
}

/// A share of I/Os by depth or of batches by size, as fio reports it: what happened at all is at least 0.1 %.
pub fn depth_share(share: f64) -> f64 {
    if share > 0.0 { share.max(0.001) } else { 0.0 }
}

/// A share of I/Os by latency, as fio reports it: what happened at all is at least 0.01 %.
pub fn latency_share(share: f64) -> f64 {
    if share > 0.0 { share.max(0.0001) } else { 0.0 }
}

impl OutputRow {
    /// The jobs in this row: at least the one that it is of, where the report does not tell.
    pub fn least_members(&self) -> u32 {
        self.members.max(1)
    }

    /// Directions that moved something, in order, flushes left out.
    pub fn moved(&self) -> impl Iterator<Item = (Direction, &Stats)> {
        self.directions
            .iter()
            .filter_map(|(d, s)| Some((d, s.as_deref().filter(|s| s.bytes.0 > 0 || s.ios.unwrap_or(0) > 0)?)))
    }

    /// The job whose options these are, where that is another one: a row that sums up a group has the name of its first job, and the options of its last.
    pub fn options_of(&self) -> Option<&str> {
        let name = self.options.iter().find(|(n, _)| n == "name").map(|(_, v)| v.as_str())?;
        Some(name).filter(|name| *name != self.name)
    }

    /// The value of an option of this job, or of the run's globals, by any of these names.
    pub fn option<'a>(&'a self, output: &'a Output, names: &[&str]) -> Option<&'a str> {
        let last_first = self.options.iter().rev().chain(output.global_options.iter().rev());
        let mut named = last_first.filter(|(name, _)| names.contains(&name.as_str()));
        named.next().map(|(_, value)| value.as_str())
    }
}
