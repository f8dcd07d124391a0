//! The commands whose output is read, and their metrics: one table. Names are those of the providers' documentation; their case does not count.

use serde::Serialize;

/// What a metric says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meaning {
    /// Reads a second.
    Reads,
    /// Writes a second.
    Writes,
    /// I/Os a second.
    Ios,
    /// Bytes read a second.
    ReadBytes,
    /// Bytes written a second.
    WrittenBytes,
    /// Bytes a second.
    Bytes,
    /// Mean latency of reads, ns.
    ReadLatency,
    /// Mean latency of writes, ns.
    WriteLatency,
    /// Mean latency, ns.
    Latency,
    /// I/Os on their way.
    Queue,
    /// Above 0: the volume's limit on I/Os was exceeded.
    VolumeIopsExceeded,
    /// Above 0: the volume's limit on bytes was exceeded.
    VolumeBytesExceeded,
    /// Above 0: the instance's limit on I/Os was exceeded.
    InstanceIopsExceeded,
    /// Above 0: the instance's limit on bytes was exceeded.
    InstanceBytesExceeded,
    /// Above 0: the volume stalled, was slow, or was not healthy.
    Unhealthy,
    /// Above 0: a burst was used.
    Bursting,
    /// I/Os that the provider held back, a second.
    Throttled,
    /// Percent of the volume's limit on I/Os that was used.
    VolumeIopsUsed,
    /// Percent of the volume's limit on bytes that was used.
    VolumeBytesUsed,
    /// Percent of the instance's limit on I/Os that was used.
    InstanceIopsUsed,
    /// Percent of the instance's limit on bytes that was used.
    InstanceBytesUsed,
    /// Percent of the burst credits that are left.
    Credits,
    /// IOPS that the provider guarantees.
    PromisedIops,
    /// Bytes a second that the provider guarantees.
    PromisedBytes,
}

impl Meaning {
    /// A value above 0 says that something happened.
    pub fn is_check(self) -> bool {
        (Meaning::VolumeIopsExceeded..=Meaning::Bursting).contains(&self)
    }

    /// A value above 0 says that a limit was exceeded.
    pub fn is_limit(self) -> bool {
        (Meaning::VolumeIopsExceeded..=Meaning::InstanceBytesExceeded).contains(&self)
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Meaning::Reads => "reads a second",
            Meaning::Writes => "writes a second",
            Meaning::Ios => "I/Os a second",
            Meaning::ReadBytes => "bytes read a second",
            Meaning::WrittenBytes => "bytes written a second",
            Meaning::Bytes => "bytes a second",
            Meaning::ReadLatency => "mean latency of reads",
            Meaning::WriteLatency => "mean latency of writes",
            Meaning::Latency => "mean latency",
            Meaning::Queue => "I/Os on their way",
            Meaning::VolumeIopsExceeded => "volume's IOPS limit exceeded",
            Meaning::VolumeBytesExceeded => "volume's throughput limit exceeded",
            Meaning::InstanceIopsExceeded => "instance's IOPS limit exceeded",
            Meaning::InstanceBytesExceeded => "instance's throughput limit exceeded",
            Meaning::Unhealthy => "volume stalled or slow",
            Meaning::Bursting => "burst used",
            Meaning::Throttled => "I/Os held back, a second",
            Meaning::VolumeIopsUsed => "of the volume's IOPS used",
            Meaning::VolumeBytesUsed => "of the volume's throughput used",
            Meaning::InstanceIopsUsed => "of the instance's IOPS used",
            Meaning::InstanceBytesUsed => "of the instance's throughput used",
            Meaning::Credits => "burst credits left",
            Meaning::PromisedIops => "IOPS that are guaranteed",
            Meaning::PromisedBytes => "throughput that is guaranteed",
        }
    }
}

/// How a value becomes the figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// A sum over the period: the figure is a rate.
    Sum,
    /// Times this.
    Times(f64),
}

use Meaning::*;
use Scale::{Sum, Times};

const ONE: Scale = Times(1.0);
const MS: Scale = Times(1e6);
const US: Scale = Times(1e3);

/// A command, its provider's id of volumes, and its metrics.
#[derive(Debug)]
pub(crate) struct EvidenceCommand {
    /// As it is typed.
    pub command: &'static str,
    /// Metrics by name.
    pub metrics: &'static [(&'static str, Meaning, Scale)],
}

impl EvidenceCommand {
    /// The metric of this name.
    pub fn metric(&self, name: &str) -> Option<&'static (&'static str, Meaning, Scale)> {
        self.metrics.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name))
    }

    /// A metric whose name stands in a label that the user may have chosen.
    pub fn metric_in(&self, label: &str) -> Option<&'static (&'static str, Meaning, Scale)> {
        let label = label.to_ascii_lowercase();
        self.metrics.iter().find(|(known, ..)| label.contains(&known.to_ascii_lowercase()))
    }
}

/// The commands, as a list for a message.
pub fn commands() -> String {
    let all =
        [&CLOUDWATCH, &CLOUDWATCH_STATISTICS, &AZURE, &GOOGLE, &ALIBABA_EVENTS, &ALIBABA_METRICS, &ORACLE];
    all.map(|command| command.command).join(", ")
}

const AWS_METRICS: &[(&str, Meaning, Scale)] = &[
    ("VolumeReadOps", Reads, Sum),
    ("VolumeWriteOps", Writes, Sum),
    ("VolumeReadBytes", ReadBytes, Sum),
    ("VolumeWriteBytes", WrittenBytes, Sum),
    ("VolumeQueueLength", Queue, ONE),
    ("VolumeAvgReadLatency", ReadLatency, MS),
    ("VolumeAvgWriteLatency", WriteLatency, MS),
    ("VolumeAvgIOPS", Ios, ONE),
    ("VolumeAvgThroughput", Bytes, ONE),
    ("InstanceEBSIOPSExceededCheck", InstanceIopsExceeded, ONE),
    ("InstanceEBSThroughputExceededCheck", InstanceBytesExceeded, ONE),
    ("VolumeIOPSExceededCheck", VolumeIopsExceeded, ONE),
    ("VolumeThroughputExceededCheck", VolumeBytesExceeded, ONE),
    ("VolumeStalledIOCheck", Unhealthy, ONE),
    ("BurstBalance", Credits, ONE),
];

pub(crate) const CLOUDWATCH: EvidenceCommand =
    EvidenceCommand { command: "aws cloudwatch get-metric-data", metrics: AWS_METRICS };
pub(crate) const CLOUDWATCH_STATISTICS: EvidenceCommand =
    EvidenceCommand { command: "aws cloudwatch get-metric-statistics", metrics: AWS_METRICS };
pub(crate) const AZURE: EvidenceCommand = EvidenceCommand {
    command: "az monitor metrics list",
    metrics: &[
        ("Data Disk Read Operations/Sec", Reads, ONE),
        ("Data Disk Write Operations/Sec", Writes, ONE),
        ("Data Disk Read Bytes/sec", ReadBytes, ONE),
        ("Data Disk Write Bytes/sec", WrittenBytes, ONE),
        ("Composite Disk Read Operations/sec", Reads, ONE),
        ("Composite Disk Write Operations/sec", Writes, ONE),
        ("Composite Disk Read Bytes/sec", ReadBytes, ONE),
        ("Composite Disk Write Bytes/sec", WrittenBytes, ONE),
        ("Data Disk Latency", Latency, MS),
        ("Data Disk Queue Depth", Queue, ONE),
        ("Data Disk IOPS Consumed Percentage", VolumeIopsUsed, ONE),
        ("Data Disk Bandwidth Consumed Percentage", VolumeBytesUsed, ONE),
        ("VM Uncached IOPS Consumed Percentage", InstanceIopsUsed, ONE),
        ("VM Uncached Bandwidth Consumed Percentage", InstanceBytesUsed, ONE),
    ],
};
pub(crate) const GOOGLE: EvidenceCommand = EvidenceCommand {
    command: "gcloud monitoring time-series list",
    metrics: &[
        ("instance/disk/read_ops_count", Reads, Sum),
        ("instance/disk/write_ops_count", Writes, Sum),
        ("instance/disk/read_bytes_count", ReadBytes, Sum),
        ("instance/disk/write_bytes_count", WrittenBytes, Sum),
        ("instance/disk/average_io_latency", Latency, US),
        ("instance/disk/average_io_queue_depth", Queue, ONE),
        ("instance/disk/performance_status", Unhealthy, ONE),
        ("instance/disk/throttled_read_ops_count", Throttled, Sum),
        ("instance/disk/throttled_write_ops_count", Throttled, Sum),
    ],
};
pub(crate) const ALIBABA_EVENTS: EvidenceCommand = EvidenceCommand {
    command: "aliyun ebs DescribeEvents",
    metrics: &[
        ("DiskIOPSExceedDiskMaxLimit", VolumeIopsExceeded, ONE),
        ("DiskBPSExceedDiskMaxLimit", VolumeBytesExceeded, ONE),
        ("DiskIOPSExceedInstanceMaxLimit", InstanceIopsExceeded, ONE),
        ("DiskBPSExceedInstanceMaxLimit", InstanceBytesExceeded, ONE),
        ("InstanceIOPSExceedInstanceMaxLimit", InstanceIopsExceeded, ONE),
        ("InstanceBPSExceedInstanceMaxLimit", InstanceBytesExceeded, ONE),
        ("DiskIOHang", Unhealthy, ONE),
        ("DiskSlowIOTriggerred", Unhealthy, ONE),
        ("BurstIOTriggered", Bursting, ONE),
    ],
};
pub(crate) const ALIBABA_METRICS: EvidenceCommand = EvidenceCommand {
    command: "aliyun cms DescribeMetricList",
    metrics: &[
        ("DiskReadIOPS", Reads, ONE),
        ("DiskWriteIOPS", Writes, ONE),
        ("DiskReadBPS", ReadBytes, ONE),
        ("DiskWriteBPS", WrittenBytes, ONE),
    ],
};
pub(crate) const ORACLE: EvidenceCommand = EvidenceCommand {
    command: "oci monitoring metric-data summarize-metrics-data",
    metrics: &[
        ("VolumeReadOps", Reads, Sum),
        ("VolumeWriteOps", Writes, Sum),
        ("VolumeReadThroughput", ReadBytes, Sum),
        ("VolumeWriteThroughput", WrittenBytes, Sum),
        ("VolumeThrottledIOs", Throttled, Sum),
        ("VolumeGuaranteedIOPS", PromisedIops, ONE),
        ("VolumeGuaranteedThroughput", PromisedBytes, Times(1e6)),
    ],
};
