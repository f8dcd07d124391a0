//! What the provider counted of a disk in the window of a step, beside what was measured. Values only; `judge::provider` makes them.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_base::unit::{Bytes, Nanos};
use volproof_device::nvme::log_reader::PageFault;
use volproof_device::nvme::provider_page::{ExceededTimes, PageKind};

/// The figures of one disk. They cover the whole samples within the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderFigures {
    /// Name under /sys/block.
    pub disk: String,
    /// A volume, or a local disk.
    pub kind: PageKind,
    /// The target on it.
    pub target: PathBuf,
    /// Whether these counts are those of our load, which comes first: nothing else proves anything.
    pub standing: PageStanding,
    /// The time that they cover.
    pub counted_ns: Nanos,
    /// I/Os and bytes by the provider, the kernel, and the load.
    pub counts: ProviderCounts,
    /// For how long the volume's limits were exceeded.
    pub volume_exceeded: ExceededTimes,
    /// For how long the instance's limits were exceeded.
    pub instance_exceeded: ExceededTimes,
    /// I/Os a second, and bytes a second, of the time for which a limit was exceeded.
    pub at_the_limit: LimitRates,
    /// I/Os on their way in the mean, by their time.
    pub queue_mean: f64,
    /// The provider's own latency of reads, from the first sample on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<ProviderLatency>,
    /// The same of writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<ProviderLatency>,
}

/// Whose I/Os a page counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageStanding {
    /// Ours, within merges and half a percent.
    Ours,
    /// More than ours: another user is on the volume.
    Others {
        /// What it counts beyond ours, over ours.
        share: f64,
    },
    /// Fewer than ours: it is not the page of this disk, or it is wrong.
    NotOurs,
    /// A limit was exceeded for longer than time passed.
    Impossible,
    /// Too few whole samples.
    #[default]
    TooShort,
    /// It was not read, or not to the end.
    Unread(PageFault),
}

/// I/Os and bytes of one time by those who count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderCounts {
    /// By the provider.
    pub ios: u64,
    /// By the provider.
    pub bytes: Bytes,
    /// Requests, by the kernel after merges.
    pub disk_ios: u64,
    /// Of the load.
    pub own_bytes: Bytes,
}

/// Rates while a limit was exceeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitRates {
    /// I/Os a second.
    pub ios_per_second: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
}

/// Latencies of a direction by the provider's own clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderLatency {
    /// Their mean, in nanoseconds.
    pub mean_ns: f64,
    /// Percentiles, each by its name and the bounds of the bin that it lies in.
    pub percentiles: Vec<(String, Nanos, Nanos)>,
}

/// A limit that the provider's counters prove: it was exceeded for most of the time, and no limit of the other kind was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProvenLimit {
    /// It is the limit of the instance, and not the volume's own.
    pub of_instance: bool,
    /// It counts bytes, and not I/Os.
    pub counts_bytes: bool,
    /// For how long it was exceeded, of all volumes the shortest time.
    pub exceeded_ns: Nanos,
    /// Of so much time.
    pub counted_ns: Nanos,
    /// What is enforced, in I/Os or bytes a second, of all volumes together.
    pub per_second: f64,
}

impl ProvenLimit {
    /// Share of the time for which it was exceeded.
    pub fn share(&self) -> f64 {
        self.exceeded_ns.as_seconds() / self.counted_ns.as_seconds().max(1e-9)
    }

    /// It is below a rate, where a load met it with this mean: while it is exceeded the volume does as much as it lets through, so that it is at
    /// most the mean over that share of the time.
    pub fn is_below(&self, mean: f64, rate: f64) -> bool {
        mean / self.share() < rate
    }
}
