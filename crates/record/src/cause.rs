//! What held a volume back: a table of experiments, each a candidate cause with what was tried and what it showed.
//!
//! Values only. The rules that make them are in `judge::causes`, the words for people in `report::cause_words`. The docs of the variants are
//! the text of the page of causes.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Metric, ProvenLimit};
use volproof_base::unit::{Bytes, Nanos};

/// The candidate causes of one promise, tried one by one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CauseTable {
    /// The step of the plan whose promise it is about.
    pub step: String,
    /// The quantity that is promised.
    pub metric: Metric,
    /// The time that the experiments could take together.
    pub budget_ns: Nanos,
    /// One row for each cause.
    pub rows: Vec<CauseRow>,
}

/// A candidate cause, and what the experiment on it showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CauseRow {
    /// The cause.
    pub cause: Cause,
    /// The answer.
    pub finding: CauseFinding,
    /// Why it was not tried; absent where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_tried: Option<NotTried>,
    /// The loads that were compared, the one that decides the promise first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<CauseTrial>,
    /// What else the answer rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<CauseEvidence>,
}

/// A candidate cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// More requests in flight give a higher rate. Tried with as many as no promise exceeds (the saturating depth).
    TooLittleLoad,
    /// The CPUs of this machine send and reap no more I/Os. Tried with requests that do nothing, and with one worker more on another CPU.
    ThisMachine,
    /// Other programs used the volume. The disk's own counters less the I/Os of the run show it exactly.
    OtherUsers,
    /// The process has limits of its own: `io.max` or `cpu.max` of its cgroup, or CPU time that the host took. The kernel's files show it
    /// exactly.
    OwnLimits,
    /// Settings of the kernel for the disk (scheduler, completions, queue). Tried with and without each, in alternating pairs; all of them are
    /// put back.
    KernelSettings,
    /// A limit on I/Os or on bytes a second. Tried with smaller and larger blocks at the same depth: under a limit on I/Os the I/Os a second
    /// stay the same, under a limit on bytes the bytes.
    Cap,
    /// A limit that several volumes share, such as that of the instance. Tried with volumes alone and together.
    VolumeOrInstance,
    /// The provider's own counters say for how long the volume's limit was exceeded: what is enforced is the rate of that time.
    VolumeLimit,
    /// The provider's own counters say for how long the limit of the instance was exceeded. It is no fault of the volume.
    InstanceLimit,
    /// The provider's own counters exclude its limits: a stall or a slow second is the volume's, or that of the path to it.
    NotThrottled,
    /// A local disk was slowed down because of its temperature. Its own counters say for how long.
    ThermalThrottle,
    /// Requests wait for a tag of the disk's queue in the kernel. `--anatomy` measures for how long.
    QueueFull,
    /// The kernel's I/O scheduler holds requests back. `--anatomy` measures for how long.
    Scheduler,
    /// Completed requests wait until their thread sees them. `--anatomy` measures for how long, and on which CPUs they complete.
    CompletionsOnOneCpu,
    /// Burst credits are used up. Tried with a rest, in which credits come back.
    BurstCredits,
    /// Blocks of a volume made from a snapshot are loaded when they are first read.
    ColdBlocks,
    /// Each I/O takes long even when it is alone, and the rate grows in proportion to the I/Os in flight.
    SlowVolume,
}

impl Cause {
    /// Its name in plans and Records.
    pub fn code(self) -> &'static str {
        match self {
            Cause::TooLittleLoad => "too-little-load",
            Cause::ThisMachine => "this-machine",
            Cause::OtherUsers => "other-users",
            Cause::OwnLimits => "own-limits",
            Cause::KernelSettings => "kernel-settings",
            Cause::Cap => "cap",
            Cause::VolumeOrInstance => "volume-or-instance",
            Cause::VolumeLimit => "volume-limit",
            Cause::InstanceLimit => "instance-limit",
            Cause::NotThrottled => "not-throttled",
            Cause::ThermalThrottle => "thermal-throttle",
            Cause::QueueFull => "queue-full",
            Cause::Scheduler => "scheduler",
            Cause::CompletionsOnOneCpu => "completions-on-one-cpu",
            Cause::BurstCredits => "burst-credits",
            Cause::ColdBlocks => "cold-blocks",
            Cause::SlowVolume => "slow-volume",
        }
    }
}

/// The answer of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CauseFinding {
    /// It was tried, and is not the cause.
    Excluded,
    /// The experiment shows it.
    Shown,
    /// An exact counter shows it.
    Proven,
    /// An exact counter shows that it took part, and that the promise is missed without it too.
    Part,
    /// It was tried, and the intervals of the rates allow both answers.
    NotDecided,
    /// It was not tried.
    NotTried,
}

/// Why a cause was not tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NotTried {
    /// The budget has no time left for it.
    Budget,
    /// The run ended before it.
    Ended,
    /// The promise was answered without it.
    NotNeeded,
    /// The device hangs or fails I/Os: no rate after that can be compared with one before.
    Faulty,
    /// The measurement of the promise is not valid.
    NotValid,
    /// Its step could not be run.
    CouldNotRun,
    /// Others take a part of the volume: a rate beside another one tells of them too.
    OtherUsers,
    /// Only root may set the kernel's settings.
    NeedsRoot,
    /// The target is a file, whose disk serves other files too.
    AFile,
    /// The user wants the settings left alone.
    LeftAlone,
    /// All settings were as recommended already.
    AsRecommended,
    /// One target alone was tested.
    OneTarget,
    /// The kernel has no counters of its own for the target.
    NoCounters,
    /// The device is simulated and has none.
    Simulated,
    /// No other CPU is free for one worker more.
    NoFreeCpu,
    /// The load is sequential: one worker more would be another load.
    Sequential,
    /// No other block size is possible.
    NoOtherSize,
    /// The promise is a latency, of one request at a time.
    OneAtATime,
    /// The load writes.
    Writes,
    /// It has a command of its own.
    OwnCommand,
    /// The provider's counters have more I/Os than ours: another user is on the volume.
    OthersOnVolume,
    /// The provider's counters contradict themselves or the load.
    PageIsWrong,
    /// The provider's counters could not be read, or not long enough.
    PageUnread,
}

/// A measured load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CauseTrial {
    /// Name of the step.
    pub step: String,
    /// Requests in flight, over all targets.
    pub depth: u64,
    /// Load threads, over all targets.
    pub workers: u32,
    /// The block size.
    pub block_bytes: Bytes,
    /// The targets, where they are not all of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<PathBuf>,
    /// I/Os a second that were offered; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_per_second: Option<f64>,
    /// The rest before it.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub rest_ns: Nanos,
    /// I/Os a second.
    pub ios_per_second: f64,
    /// The 95 % interval of the I/Os a second; absent below ten seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// Mean latency in nanoseconds.
    pub latency_ns: f64,
}

/// What an answer rests on, beside the rates of the loads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CauseEvidence {
    /// What this machine can do.
    Machine {
        /// I/Os a second that its load threads send and reap where nothing is done; absent where that was not measured.
        headroom_per_second: Option<f64>,
        /// Share of the time for which the busiest load thread was on a CPU; absent where the thread polls or the device is simulated.
        busiest_worker: Option<f64>,
    },
    /// The counters of the disk.
    Disk {
        /// Bytes that the disk moved.
        disk_bytes: Bytes,
        /// Bytes of the load.
        own_bytes: Bytes,
    },
    /// Limits of the process.
    Limits {
        /// The limit of the cgroup that the rate is at: file and words.
        cgroup: Option<String>,
        /// Periods in which the cgroup was denied CPU time.
        throttled_periods: u64,
        /// Share of the CPU time that the host took.
        steal_share: f64,
    },
    /// Settings of the kernel.
    Settings {
        /// The rate with each recommended setting over the rate without.
        effects: Vec<SettingEffect>,
    },
    /// A limit on the rate.
    Limit {
        /// It counts bytes, and not I/Os.
        counts_bytes: bool,
        /// The rate at the limit.
        per_second: f64,
        /// Volumes of the catalogue that promise exactly that.
        sold_as: Vec<SoldAs>,
    },
    /// The rate after a rest.
    AfterRest {
        /// I/Os a second in the first seconds.
        first_per_second: f64,
    },
    /// For how long limits of the provider were exceeded, by its own counters.
    Provider {
        /// The volume's own limits.
        volume_ns: Nanos,
        /// The limits of the instance.
        instance_ns: Nanos,
        /// Of so much time.
        counted_ns: Nanos,
        /// The limit that they prove.
        limit: Option<ProvenLimit>,
        /// Volumes of the catalogue that promise exactly that.
        sold_as: Vec<SoldAs>,
    },
    /// What disks did because of their temperature, in all.
    Heat {
        /// Time for which one was slowed down.
        slowed_ns: Nanos,
        /// How often it began to slow down.
        events: u64,
        /// Of so much time.
        window_ns: Nanos,
    },
    /// A part of the time of traced requests, in the mean.
    RequestPart {
        /// The part.
        part_ns: f64,
        /// From the intended start to the thread that sees the completion.
        whole_ns: f64,
        /// From the driver to the completion.
        device_ns: f64,
        /// Hardware queues of the disk.
        hardware_queues: u64,
        /// Requests that a queue of it holds.
        tags: Option<u64>,
        /// The scheduler.
        scheduler: Option<String>,
        /// Share of the completions on the CPU that had most of them.
        busiest_cpu_share: f64,
    },
    /// The latency of one request at a time, offered below the limit.
    OwnLatency {
        /// Mean latency in nanoseconds.
        latency_ns: f64,
        /// A volume of this kind takes no longer, in nanoseconds.
        usual_ns: f64,
    },
}

/// What a setting does to the rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingEffect {
    /// The setting.
    pub setting: String,
    /// Lower end of the 95 % interval of the ratio.
    pub low_ratio: f64,
    /// Upper end of the 95 % interval of the ratio.
    pub high_ratio: f64,
}

/// A volume of the catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoldAs {
    /// Its type: `aws:gp2`.
    pub volume: String,
    /// Its size in GiB.
    pub gib: f64,
    /// Its promise, in the unit of the limit.
    pub per_second: f64,
}

impl CauseTable {
    /// The causes that were shown or proven: a proven one stands first, one that only took part last.
    pub fn found(&self) -> Vec<&CauseRow> {
        let order = [CauseFinding::Proven, CauseFinding::Shown, CauseFinding::Part];
        order.iter().flat_map(|finding| self.rows.iter().filter(|row| row.finding == *finding)).collect()
    }
}
