//! One step of a Record: its summaries over all targets, each target by itself, CPU time, errors, and the schedule of an open loop.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::direction_summary::is_zero;
use super::{
    Accounting, DirectionSummary, Headroom, Intervention, Known, LateResponses, ProviderFigures, ReportedStep,
};
use volproof_base::hist::{StoredHistogram, summed_columns};
use volproof_base::sample::{Depth, Direction, Series, Stream};
use volproof_base::unit::{Bytes, Nanos};
use volproof_host::observe::KernelCounters;
use volproof_host::topo::Placement;
use volproof_plan::EngineKind;

/// One step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepRecord {
    /// The name of the step in the plan.
    pub name: String,
    /// The engine that ran, which may not be the one asked for; unknown for engines that volproof does not have.
    #[serde(default, skip_serializing_if = "Known::is_unknown")]
    pub engine: Known<EngineKind>,
    /// Features of the engine that the kernel granted.
    pub engine_features: Vec<String>,
    /// The report of another tool, from which the summaries here are made; absent where volproof measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<Box<ReportedStep>>,
    /// How the installed fio did the I/O; absent where volproof did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fio: Option<FioRun>,
    /// Start, RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Known::is_unknown")]
    pub started: Known<String>,
    /// Start of the interrupted run that measured the step, RFC 3339, UTC; absent where the run of this Record did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_run: Option<String>,
    /// When the first I/O was sent, nanoseconds since 1970 by the machine's own clock; kept where the run is a rank of a fleet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_io_unix_ns: Option<i64>,
    /// Time from the first I/O of the stage to the first I/O of this step; 0 for a step alone. The window begins after the ramp.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub started_after_ns: Nanos,
    /// The user's part in it, in the order of time; empty where the step ran as planned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interventions: Vec<Intervention>,
    /// From the start of the load threads to the first I/O.
    pub set_up_ns: Nanos,
    /// Length of the measured window.
    pub window_ns: Nanos,
    /// Sum of the windows of all load threads: less than threads times window where an amount of I/O ends each thread by itself. 0 in
    /// Records from before this was kept.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub workers_window_ns: Nanos,
    /// Reads on all targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<DirectionSummary>,
    /// Writes on all targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<DirectionSummary>,
    /// Discards on all targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<DirectionSummary>,
    /// Flushes on all targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<DirectionSummary>,
    /// Reads, writes and discards together; only of a step with several of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<DirectionSummary>,
    /// Time-averaged requests in flight, measured, over all targets; of a report, its rate times its mean latency.
    pub in_flight_mean: f64,
    /// Requests that were to be in flight, over all targets.
    #[serde(default, skip_serializing_if = "Known::is_unknown")]
    pub in_flight_asked: Known<f64>,
    /// How full the queue was and in what batches it was served, over all workers; absent in Records of before this was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<Depth>,
    /// CPU time of the load threads and of the kernel threads that work for them.
    pub cpu: CpuRecord,
    /// CPUs the workers were pinned to at the start, in order of workers; empty when unpinned. `engine_features` says when they were unpinned
    /// during the step, because kernel threads do the requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned_cpus: Vec<u32>,
    /// Why the workers were placed on these CPUs; absent for files and with `--cpus`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Failed I/Os.
    pub errors: ErrorRecord,
    /// I/Os that completed after the window and belong to no rate.
    pub drained_ios: u64,
    /// The longest latency of these I/Os.
    pub drained_max_ns: Nanos,
    /// Flushes after the load (`end_fsync`), which are not among those of `sync`; their time is of the window where an amount of I/O ended
    /// the load.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub end_flushes: u64,
    /// The longest of these flushes.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub end_flush_max_ns: Nanos,
    /// Requests that never completed.
    pub lost_ios: u64,
    /// Load threads that never came back from the kernel.
    pub stuck_workers: u32,
    /// How many I/Os a second the machine itself could drive, measured before the step. Absent for simulated devices, for reports of other
    /// tools, without io_uring, and in Records from before it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Headroom>,
    /// The engine's account of its clock and of the time that its latencies leave out. Absent for imports, for steps that the installed fio
    /// ran, and in Records from before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounting: Option<Accounting>,
    /// The schedule and how it was kept; only under a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoopRecord>,
    /// Each target by itself, with its samples.
    pub targets: Vec<StepTarget>,
    /// What the provider counted of each disk, beside ours; made anew whenever the Record is read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provider: Vec<ProviderFigures>,
    /// Counters of the kernel while the step ran; empty for a step of a stage of several, see [`Together`](super::Together).
    pub evidence: KernelCounters,
}

/// A step on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepTarget {
    /// The file or device.
    pub path: PathBuf,
    /// More targets of the same jobs, in the report of another tool: all figures here are of all of them together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<PathBuf>,
    /// Reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<DirectionSummary>,
    /// Writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<DirectionSummary>,
    /// Discards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<DirectionSummary>,
    /// Flushes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<DirectionSummary>,
    /// Time-averaged requests in flight.
    pub in_flight_mean: f64,
    /// All samples.
    #[schemars(with = "Series")]
    pub series: Series,
}

/// CPU time per I/O and of the load as a whole, within the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuRecord {
    /// User time of the load threads per I/O.
    pub user_ns_per_io: f64,
    /// System time per I/O of the load threads and of the kernel's io-wq threads.
    pub system_ns_per_io: f64,
    /// User time.
    pub user_ns: Nanos,
    /// System time of the load threads alone.
    pub system_ns: Nanos,
    /// System time of the kernel's io-wq threads in the window.
    pub io_wq_ns: Nanos,
    /// Context switches of the load threads.
    pub context_switches: u64,
    /// Page faults of the load threads that waited for a device.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub page_faults_major: u64,
    /// Page faults of the load threads that did not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub page_faults_minor: u64,
    /// Share of the window during which the busiest load thread was on a CPU, 0 to 1.
    pub busiest_worker: f64,
}

/// Failed I/Os of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorRecord {
    /// Number of failed I/Os.
    pub count: u64,
    /// The first failed I/Os.
    pub first: Vec<IoError>,
}

/// One failed I/O.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IoError {
    /// The file or device.
    pub path: PathBuf,
    /// The direction of the I/O.
    pub direction: Direction,
    /// The offset of the I/O in the target.
    pub offset_bytes: Bytes,
    /// The length that was asked for.
    pub length_bytes: Bytes,
    /// The error number's name and text, or how many bytes were moved.
    pub error: String,
}

/// An open loop: the offered rate, and how well the schedule was kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenLoopRecord {
    /// Arrivals a second that the schedule asked for, over all targets.
    pub offered_per_second: f64,
    /// Arrivals of the window.
    pub arrivals: u64,
    /// Completions a second within the window.
    pub achieved_per_second: f64,
    /// Arrivals of the window that had not completed when it ended, per second of window: above 0, a backlog grew.
    pub backlog_per_second: f64,
    /// Arrivals that never completed.
    pub censored: u64,
    /// Response times of the arrivals of the window that had not completed when it ended.
    #[serde(default, skip_serializing_if = "LateResponses::is_empty")]
    pub late: LateResponses,
    /// The generator's own delay, p99: later than intended although a slot was free.
    pub lag_p99_ns: Nanos,
    /// The generator's own delay, maximum.
    pub lag_max_ns: Nanos,
    /// The rate was sustained: completions within 1 % of the arrivals that were due in the window, and no backlog that grew.
    pub sustained: bool,
}

impl StepRecord {
    /// The summary of a direction over all targets.
    pub fn direction(&self, d: Direction) -> Option<&DirectionSummary> {
        match d {
            Direction::Read => self.read.as_ref(),
            Direction::Write => self.write.as_ref(),
            Direction::Trim => self.trim.as_ref(),
            Direction::Sync => self.sync.as_ref(),
        }
    }

    /// All directions that moved something, in order.
    pub fn directions(&self) -> impl Iterator<Item = (Direction, &DirectionSummary)> {
        Direction::ALL.into_iter().filter_map(|d| Some((d, self.direction(d)?)))
    }

    /// Whether the step moved anything. A report without a time tells I/Os and no rate, so that no direction has a summary.
    pub fn moved(&self) -> bool {
        self.directions().next().is_some()
            || self.reported.as_ref().is_some_and(|reported| !reported.parts().is_empty())
    }

    /// The figures as a table has them, each with the word of its row: the directions, and their total in a mix.
    pub fn figures(&self) -> impl Iterator<Item = (&'static str, &DirectionSummary)> {
        let directions = self.directions().map(|(d, s)| (d.name(), s));
        directions.chain(self.total.as_ref().map(|s| ("total", s)))
    }

    /// Latencies of each second of a direction, or of all that move data, over all targets: response times under a rate.
    pub fn latencies_of_seconds(&self, wanted: Option<Direction>) -> Vec<StoredHistogram> {
        let streams = self.targets.iter().flat_map(|target| target.streams(wanted));
        let under_rate = self.open_loop.is_some();
        summed_columns(streams.map(|s| if under_rate { &s.response } else { &s.service }))
    }

    /// The user ended it before its time.
    pub fn was_ended_early(&self) -> bool {
        self.interventions.iter().any(|i| matches!(i, Intervention::EndedEarly { .. }))
    }

    /// I/Os a second of all directions but flushes.
    pub fn iops(&self) -> f64 {
        match &self.total {
            Some(total) => total.iops,
            // Rust's sum of no rates is -0.
            None => {
                self.directions().filter(|(d, _)| *d != Direction::Sync).map(|(_, s)| s.iops).sum::<f64>()
                    + 0.0
            }
        }
    }
}

impl StepTarget {
    /// A target with the summaries of its samples. `tails`: responses that no sample holds.
    pub fn of_samples(path: PathBuf, series: Series, tails: &[&LateResponses]) -> StepTarget {
        let [read, write, trim, sync] =
            Direction::ALL.map(|d| DirectionSummary::of_samples(d, &[&series], tails));
        let in_flight_mean = series.in_flight_mean();
        StepTarget { path, beside: Vec::new(), read, write, trim, sync, in_flight_mean, series }
    }

    /// The samples of a direction, or of all that move data.
    pub fn streams(&self, wanted: Option<Direction>) -> impl Iterator<Item = &Stream> {
        let all = Direction::ALL.into_iter();
        let meant = all.filter(move |d| wanted.map_or(*d != Direction::Sync, |wanted| wanted == *d));
        meant.filter_map(|d| self.series.stream(d))
    }

    /// The summary of the direction of this name.
    pub fn row(&self, word: &str) -> Option<&DirectionSummary> {
        Direction::ALL.into_iter().find(|d| d.name() == word).and_then(|d| self.direction(d))
    }

    /// The summary of a direction.
    pub fn direction(&self, d: Direction) -> Option<&DirectionSummary> {
        match d {
            Direction::Read => self.read.as_ref(),
            Direction::Write => self.write.as_ref(),
            Direction::Trim => self.trim.as_ref(),
            Direction::Sync => self.sync.as_ref(),
        }
    }
}

/// The installed fio did the I/O of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FioRun {
    /// The version, as fio prints it.
    pub version: String,
    /// How it was called; the job file came through its standard input.
    pub command: Vec<String>,
    /// The job file.
    pub job_file: String,
}
