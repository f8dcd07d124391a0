//! Where the time of a request goes: the load's own stamps joined with events of the kernel's block layer.
//!
//! The kernel records the requests of a short window of each second or so, about one in 32 ([`Tracer`]); a test of each request would cost more
//! than recording a few of them whole. Each request is known by its disk, its sectors and its time ([`RequestJoin`]). All times are nanoseconds of
//! `CLOCK_MONOTONIC`. Nothing here looks at a verdict.

mod request_join;
mod trace_instance;
pub mod trace_page;
mod tracer;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_base::hist::StoredHistogram;
use volproof_base::unit::Nanos;

pub use request_join::{RequestJoin, RequestStamps};
pub use trace_instance::remove_left;
pub use tracer::{TapSetting, Tracer};

/// A part of the time from the intended start of a request to the moment when its thread sees that it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequestPart {
    /// From the intended start to the call that sends it: 0 without a rate.
    Turn,
    /// From there to the queue of the disk: the system call, the requests of the same call before it, the filesystem, layers above the disk.
    Submit,
    /// Until it has a tag of the queue.
    Tag,
    /// Until it is given to the driver: the scheduler, and requests that are gathered first.
    Scheduler,
    /// Until the driver has completed it: the device and its path.
    Device,
    /// Until its thread sees it: the interrupt's end, the wake-up, and requests before it.
    Wake,
}

impl RequestPart {
    /// In the order of a request.
    pub const ALL: [RequestPart; 6] = [
        RequestPart::Turn,
        RequestPart::Submit,
        RequestPart::Tag,
        RequestPart::Scheduler,
        RequestPart::Device,
        RequestPart::Wake,
    ];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            RequestPart::Turn => "waits for its turn",
            RequestPart::Submit => "submit to the disk's queue",
            RequestPart::Tag => "waits for a tag",
            RequestPart::Scheduler => "scheduler to driver",
            RequestPart::Device => "driver to completion",
            RequestPart::Wake => "completion to our thread",
        }
    }
}

/// A part with the times that it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartTime {
    /// The part.
    pub part: RequestPart,
    /// Its times.
    pub time_ns: StoredHistogram,
}

/// The slowest one in a hundred of the joined requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlowestRequests {
    /// How many they are.
    pub requests: u64,
    /// Their mean from beginning to end.
    pub whole_mean_ns: f64,
    /// The mean of each part, in the order of `parts`.
    pub part_means_ns: Vec<f64>,
}

/// Completions on one CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuCompletions {
    /// The CPU.
    pub cpu: u32,
    /// Joined requests that completed there.
    pub requests: u64,
}

/// What recording costs, from pairs of moments with and without it: CPU time of the load threads for each request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnatomyCost {
    /// Pairs.
    pub pairs: u64,
    /// More CPU time for each request while it is recorded, in the mean of the pairs.
    pub recorded_mean_ns: f64,
    /// The standard error of that mean.
    pub recorded_error_ns: f64,
    /// CPU time of reading the events, for each request of the load.
    pub reader_mean_ns: f64,
    /// Share of the load's requests that were recorded.
    pub share: f64,
}

impl AnatomyCost {
    /// CPU time for each request of the load, recorded or not.
    pub fn mean_ns(&self) -> f64 {
        self.recorded_mean_ns * self.share + self.reader_mean_ns
    }
}

/// Why a step has no parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NotTraced {
    /// It needs root.
    NeedsRoot,
    /// No tracefs is mounted.
    NoTracefs,
    /// The device is simulated.
    Simulated,
    /// Other steps ran beside it, or the installed fio did the load.
    NotAlone,
    /// This process has a monotonic clock of its own.
    OtherClock,
    /// The page cache answers.
    Buffered,
    /// Which sectors of which disk the target has is not known.
    NoPlace {
        /// The reason, in words.
        why: String,
    },
    /// The kernel refused something.
    Failed {
        /// What, in words.
        why: String,
    },
}

impl fmt::Display for NotTraced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotTraced::NeedsRoot => f.write_str("--anatomy needs root"),
            NotTraced::NoTracefs => f.write_str(
                "--anatomy needs tracefs, which is not mounted: mount -t tracefs nodev /sys/kernel/tracing",
            ),
            NotTraced::Simulated => f.write_str("the device is simulated"),
            NotTraced::NotAlone => {
                f.write_str("only steps that our own engines run one after the other are traced")
            }
            NotTraced::OtherClock => f.write_str(
                "this time namespace has another clock than the kernel's events: run outside of it",
            ),
            NotTraced::Buffered => {
                f.write_str("only direct I/O is traced: the page cache sends other requests")
            }
            NotTraced::NoPlace { why } | NotTraced::Failed { why } => f.write_str(why),
        }
    }
}

/// Where the time of a step's requests went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Anatomy {
    /// Disks that were traced, by their names under /sys/block.
    pub disks: Vec<String>,
    /// Why nothing was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_traced: Option<NotTraced>,
    /// Requests whose events were found.
    pub joined: u64,
    /// Requests of the same windows whose events were not found: merged with others, or dropped.
    pub unjoined: u64,
    /// The kernel dropped events.
    pub events_lost: bool,
    /// From the intended start to the thread that sees the completion.
    pub whole_ns: StoredHistogram,
    /// Its parts, in their order.
    pub parts: Vec<PartTime>,
    /// The slowest one in a hundred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest: Option<SlowestRequests>,
    /// Where requests completed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completions: Vec<CpuCompletions>,
    /// What recording cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<AnatomyCost>,
}

impl Anatomy {
    /// A step without parts.
    pub fn not_traced(why: NotTraced) -> Anatomy {
        Anatomy { not_traced: Some(why), ..Anatomy::default() }
    }

    /// The mean from beginning to end; none without requests.
    pub fn whole_mean(&self) -> Option<f64> {
        mean(&self.whole_ns)
    }

    /// The mean of a part; 0 where it is missing.
    pub fn part_mean(&self, part: RequestPart) -> f64 {
        let found = self.parts.iter().find(|time| time.part == part);
        found.and_then(|time| mean(&time.time_ns)).unwrap_or(0.0)
    }

    /// The share of a part in the whole, 0 to 1.
    pub fn share(&self, part: RequestPart) -> f64 {
        self.whole_mean().map_or(0.0, |whole| self.part_mean(part) / whole.max(1.0))
    }
}

fn mean(times: &StoredHistogram) -> Option<f64> {
    let Nanos(sum) = times.sum;
    (!times.is_empty()).then(|| sum as f64 / times.count() as f64)
}
