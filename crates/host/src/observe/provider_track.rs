//! What the provider counted of a disk while a step ran, and what a local disk did because of its temperature, as the Record keeps them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kernel_counters::{keep_last, sum_pairs};
use volproof_device::nvme::health_page::HeatCounts;
use volproof_device::nvme::log_reader::{LogPages, PageFault};
use volproof_device::nvme::provider_page::{
    ExceededTimes, IoCounts, LatencyBin, PageKind, ProviderPage, add_bins,
};

/// Differences of the page of AWS. Element `i` of a column covers the same time as those of the disk in `KernelCounters`; the last elements may
/// be missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderTrack {
    /// Name under /sys/block, or of a simulated volume.
    pub disk: String,
    /// A volume, or a local disk.
    pub kind: PageKind,
    /// Why nothing was read, or nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<PageFault>,
    /// Reads.
    pub reads: CountTrack,
    /// Writes.
    pub writes: CountTrack,
    /// For how long the volume's limits were exceeded.
    pub volume_exceeded: ExceededTrack,
    /// For how long the instance's limits were exceeded.
    pub instance_exceeded: ExceededTrack,
    /// I/Os on their way at the moment of the sample.
    pub queue_length: Vec<u64>,
    /// Latencies of reads over all samples.
    pub read_bins: Vec<LatencyBin>,
    /// Latencies of writes over all samples.
    pub write_bins: Vec<LatencyBin>,
}

/// I/Os of a direction, by sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountTrack {
    /// I/Os.
    pub ios: Vec<u64>,
    /// Bytes.
    pub bytes: Vec<u64>,
    /// The time that each of them took, summed.
    pub busy_ns: Vec<u64>,
}

/// Times for which a limit was exceeded, by sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExceededTrack {
    /// The limit on I/Os.
    pub ios_ns: Vec<u64>,
    /// The limit on bytes.
    pub bytes_ns: Vec<u64>,
}

impl CountTrack {
    fn push(&mut self, counts: &IoCounts) {
        self.ios.push(counts.ios);
        self.bytes.push(counts.bytes.0);
        self.busy_ns.push(counts.time_ns.0);
    }
}

impl ExceededTrack {
    fn push(&mut self, times: &ExceededTimes) {
        self.ios_ns.push(times.ios_ns.0);
        self.bytes_ns.push(times.bytes_ns.0);
    }
}

impl ProviderTrack {
    /// A track without samples.
    pub fn new(disk: &str, kind: PageKind) -> ProviderTrack {
        ProviderTrack { disk: disk.into(), kind, ..ProviderTrack::default() }
    }

    /// Adds the difference of two pages.
    pub fn push(&mut self, since: &ProviderPage) {
        self.reads.push(&since.reads);
        self.writes.push(&since.writes);
        self.volume_exceeded.push(&since.volume_exceeded);
        self.instance_exceeded.push(&since.instance_exceeded);
        self.queue_length.push(since.queue_length);
        add_bins(&mut self.read_bins, &since.read_bins);
        add_bins(&mut self.write_bins, &since.write_bins);
    }

    /// Merges neighbouring samples in pairs.
    pub(super) fn coarsen(&mut self) {
        self.summed_columns_mut().into_iter().for_each(sum_pairs);
        keep_last(&mut self.queue_length);
    }

    /// The columns that count since the sample before.
    pub(super) fn summed_columns_mut(&mut self) -> [&mut Vec<u64>; 10] {
        let (reads, writes) = (&mut self.reads, &mut self.writes);
        let (volume, instance) = (&mut self.volume_exceeded, &mut self.instance_exceeded);
        [
            &mut reads.ios,
            &mut reads.bytes,
            &mut reads.busy_ns,
            &mut writes.ios,
            &mut writes.bytes,
            &mut writes.busy_ns,
            &mut volume.ios_ns,
            &mut volume.bytes_ns,
            &mut instance.ios_ns,
            &mut instance.bytes_ns,
        ]
    }

    /// Ends it where a page could not be read.
    pub fn end(&mut self, fault: PageFault) {
        self.unread = Some(fault);
    }
}

/// What a disk did because of its temperature during a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeatTrack {
    /// Name under /sys/block.
    pub disk: String,
    /// Why nothing was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<PageFault>,
    /// The difference from the start to the end.
    pub heat: HeatCounts,
    /// The counts at the start.
    #[serde(skip)]
    first: HeatCounts,
}

impl HeatTrack {
    /// A track without figures.
    pub fn new(disk: &str) -> HeatTrack {
        HeatTrack {
            disk: disk.into(),
            unread: None,
            heat: HeatCounts::default(),
            first: HeatCounts::default(),
        }
    }

    /// Keeps the counts at the start.
    pub fn begin(&mut self, heat: Option<HeatCounts>) {
        self.first = heat.unwrap_or_default();
    }

    /// Takes the difference at the end.
    pub fn finish(&mut self, pages: Result<LogPages, PageFault>) {
        match pages {
            Ok(pages) => self.heat = pages.heat.unwrap_or_default().since(&self.first),
            Err(fault) => self.unread = Some(fault),
        }
    }
}
