//! The entries of the catalogue as they stand in the data file, key for key.
//!
//! Capacity is in GiB, IOPS per second, throughput in the unit the entry names. The comment at the top of
//! `crates/promise/data/volumes.toml` explains the keys. An unknown key is an error. Nothing is computed here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::formula::Formula;
use super::guarantee::Guarantee;

/// How far a figure can be trusted; the rules are at the top of the data file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SourceQuality {
    /// The provider's own page, read in full and consistent with itself.
    High,
    /// The provider's own page, but old, an excerpt, or contradicted in a detail.
    Medium,
    /// A third party, or inferred.
    Low,
}

impl SourceQuality {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            SourceQuality::High => "high",
            SourceQuality::Medium => "medium",
            SourceQuality::Low => "low",
        }
    }
}

/// How a guest recognises a provider and its volumes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// The word before the colon in a type's full name.
    pub id: String,
    /// The provider's own name.
    pub name: String,
    /// File under `/sys/class/dmi/id` -> exact text, or a prefix where it ends in `*`.
    #[serde(default)]
    pub dmi: BTreeMap<String, String>,
    /// Base address of the metadata service.
    pub metadata: Option<String>,
    /// How a session token is fetched, in words: `PUT url, header NAME; then header NAME`.
    pub metadata_token: Option<String>,
    /// A header every metadata request needs: `Name: value`.
    pub metadata_header: Option<String>,
    /// Path below the base that holds the instance type; `#/a/b` is a JSON pointer into the document at the base.
    pub metadata_instance: Option<String>,
    /// Model strings of NVMe controllers; `<N>` stands for a number.
    #[serde(default)]
    pub nvme_model: Vec<String>,
    /// Model strings of disks inside the host.
    #[serde(default)]
    pub local_model: Vec<String>,
    /// Content of the NVMe serial number.
    pub nvme_serial: Option<String>,
    /// Content of the virtio-blk serial number.
    pub virtio_serial: Option<String>,
    /// Model strings of SCSI disks.
    #[serde(default)]
    pub scsi_model: Vec<String>,
    /// Names under `/dev/disk/by-id`.
    #[serde(default)]
    pub by_id: Vec<String>,
    /// Facts that only the provider's API tells.
    #[serde(default)]
    pub api_facts: Vec<String>,
    /// The provider's command that tells the volume's type and what was bought.
    pub api_command: Option<String>,
    /// The provider's command that tells the instance's limits.
    pub instance_limit_command: Option<String>,
    /// The provider's page with the limits of instances, where no command tells them.
    pub instance_limit_page: Option<String>,
    /// Seconds for which an instance can hold its burst limits.
    pub instance_burst_seconds: Option<f64>,
    /// When an instance can hold its burst limits, in words.
    pub instance_burst: Option<String>,
    /// How far the entry can be trusted.
    pub confidence: SourceQuality,
    /// Anything else.
    pub notes: Option<String>,
}

/// One volume type, performance level, or earlier edition of one.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// The provider's id.
    pub provider: String,
    /// The type's name at the provider; an earlier edition carries `@date`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The name in the provider's prose.
    pub name: String,
    /// Other names that people use.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// How the provider's interface names the type.
    #[serde(default)]
    pub api: BTreeMap<String, String>,
    /// `ssd`, `hdd` or `hybrid`.
    pub media: String,
    /// `current`, `previous generation`, `retired` or `superseded`.
    pub status: String,
    /// The type that took the place of a superseded edition.
    pub superseded_by: Option<String>,
    /// The first date at which this edition is known to hold, where it is earlier than `as_of`.
    pub since: Option<String>,
    /// Smallest and largest capacity in GiB.
    pub capacity_gib: [f64; 2],
    /// IOPS when nothing is chosen.
    pub iops: Option<Formula>,
    /// The same for reads alone.
    pub iops_read: Option<Formula>,
    /// The same for writes alone.
    pub iops_write: Option<Formula>,
    /// Least IOPS that can be chosen.
    pub iops_lo: Option<Formula>,
    /// Most IOPS that can be chosen.
    pub iops_hi: Option<Formula>,
    /// Most IOPS that can be bought on top.
    pub iops_extra_hi: Option<Formula>,
    /// Cap on the sum of given and bought IOPS.
    pub iops_total_max: Option<f64>,
    /// A published range without formula.
    pub iops_range: Option<[f64; 2]>,
    /// The words published in place of an IOPS number.
    pub iops_text: Option<String>,
    /// Throughput when nothing is chosen.
    pub throughput: Option<Formula>,
    /// The same for reads alone.
    pub throughput_read: Option<Formula>,
    /// The same for writes alone.
    pub throughput_write: Option<Formula>,
    /// Least throughput that can be chosen.
    pub throughput_lo: Option<Formula>,
    /// Most throughput that can be chosen.
    pub throughput_hi: Option<Formula>,
    /// Throughput that comes with bought IOPS.
    pub throughput_extra: Option<Formula>,
    /// Cap on the sum of given and bought throughput.
    pub throughput_total_max: Option<f64>,
    /// A published range without formula.
    pub throughput_range: Option<[f64; 2]>,
    /// The unit as the provider prints it.
    pub throughput_unit: String,
    /// Bytes in one unit, as the evidence has it.
    pub unit_bytes: u64,
    /// Whether the provider states the unit.
    pub unit_certain: bool,
    /// Which of IOPS and throughput follows from the other.
    #[serde(default)]
    pub order: Order,
    /// Sizes with printed figures, in place of formulas.
    #[serde(default)]
    pub tiers: Vec<Tier>,
    /// Performance sold in units on top.
    pub extra_per_unit: Option<ExtraPerUnit>,
    /// Burst above the figures and how long it lasts, where the type has one.
    pub burst: Option<BurstTerms>,
    /// The figure is shared by all volumes of the type on one instance.
    #[serde(default)]
    pub pool: bool,
    /// How I/Os are counted.
    #[serde(default)]
    pub io: IoTerms,
    /// Promised latency in ms, low and high.
    pub latency_ms: Option<[f64; 2]>,
    /// The workload that the latency is measured with, or the words published in place of a number.
    pub latency_basis: Option<String>,
    /// The share of time for which the figures, or a share of them, are promised, in words.
    pub consistency: Option<String>,
    /// What those words say, as figures.
    pub guarantee: Option<Guarantee>,
    /// The condition under which the figures hold.
    pub condition: Option<String>,
    /// How many instances must load the volume at the same time for its figures to hold, where one is not enough.
    pub least_instances: Option<usize>,
    /// Several instances attach the volume.
    #[serde(default)]
    pub shared: bool,
    /// Data is lost when the instance goes.
    #[serde(default)]
    pub ephemeral: bool,
    /// The disk is inside the host.
    #[serde(default)]
    pub local: bool,
    /// Reads and writes share the limits.
    #[serde(default)]
    pub half_duplex: bool,
    /// Only reads are served at the figures.
    #[serde(default)]
    pub read_only: bool,
    /// Where the figures are from.
    pub source: String,
    /// When the source said so: year, month or day.
    pub as_of: String,
    /// How far the figures can be trusted.
    pub confidence: SourceQuality,
    /// Anything else the reader of a promise should know.
    pub notes: Option<String>,
}

impl Volume {
    /// The full name, `alibaba:cloud_essd.PL1`.
    pub fn id(&self) -> String {
        format!("{}:{}", self.provider, self.kind)
    }

    /// The type's name without the `@date` of an edition.
    pub fn stem(&self) -> &str {
        self.kind.split('@').next().unwrap_or(&self.kind)
    }
}

/// Which dimension is evaluated first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// IOPS, then throughput from it.
    #[default]
    Iops,
    /// Throughput, then IOPS from it.
    Throughput,
}

/// A size with printed figures: name, GiB, then IOPS and throughput of the normal, burst and expanded level; 0 is none.
#[derive(Debug, Clone, Deserialize)]
pub struct Tier(
    /// The name of the size.
    pub String,
    /// Its capacity in GiB.
    pub f64,
    /// IOPS and throughput of the three levels.
    pub f64,
    /// Throughput.
    pub f64,
    /// Burst IOPS.
    pub f64,
    /// Burst throughput.
    pub f64,
    /// Expanded IOPS.
    pub f64,
    /// Expanded throughput.
    pub f64,
);

/// Performance sold in units: each brings so many IOPS and so much throughput, up to a maximum each.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtraPerUnit {
    /// IOPS per unit.
    pub iops: f64,
    /// Most IOPS from units.
    pub iops_max: f64,
    /// Throughput per unit.
    pub throughput: f64,
    /// Most throughput from units.
    pub throughput_max: f64,
    /// Capacity from which units can be bought.
    pub min_gib: f64,
}

/// The provider's terms for bursting.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BurstTerms {
    /// IOPS while bursting.
    pub iops: Option<Formula>,
    /// Throughput while bursting.
    pub throughput: Option<Formula>,
    /// Capacity from which there is no burst.
    pub below_gib: Option<f64>,
    /// Capacity from which there is a burst.
    pub min_gib: Option<f64>,
    /// The switch that must be on.
    pub switch: Option<String>,
    /// How bursting is billed.
    pub billed: Option<String>,
    /// I/Os in a full bucket.
    pub bucket_io_credits: Option<f64>,
    /// I/Os earned per GiB and second.
    pub earn_io_credits_per_gib_s: Option<f64>,
    /// Least I/Os earned per second.
    pub earn_min_per_s: Option<f64>,
    /// Credits that one I/O costs.
    pub cost_per_io: Option<f64>,
    /// TiB in a full bucket per TiB of capacity.
    pub bucket_tib_per_tib: Option<f64>,
    /// How the bucket refills, in words.
    pub refill: Option<String>,
    /// Seconds that a full bucket lasts.
    pub credit_seconds: Option<f64>,
    /// Sizes that burst on demand.
    pub on_demand_tiers: Vec<String>,
    /// Anything else.
    pub note: Option<String>,
}

/// How I/Os are counted, sizes in KiB.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IoTerms {
    /// Block size at which the IOPS are stated.
    pub iops_kib: Option<u64>,
    /// Block size at which the throughput is stated.
    pub throughput_kib: Option<u64>,
    /// A larger I/O counts as several of this size.
    pub split_kib: Option<u64>,
    /// Small sequential I/Os are merged before they are counted.
    pub merges: bool,
}

/// IOPS and throughput as published for given block sizes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockTable {
    /// The provider's id.
    pub provider: String,
    /// The volume type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The unit of the throughput column.
    pub unit: String,
    /// Block size in KiB, IOPS, throughput; a throughput of 0 was not printed.
    pub rows: Vec<(u64, f64, f64)>,
    /// The text printed in place of a throughput, by block size in KiB.
    #[serde(default)]
    pub remarks: BTreeMap<String, String>,
    /// Where the table is from.
    pub source: String,
}

/// A provider's own measuring procedure.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Procedure {
    /// The provider's id.
    pub provider: String,
    /// The kind of volume and the quantity that the procedure measures.
    pub name: String,
    /// fio parameters.
    pub args: toml::Table,
    /// `device`, or `file` on it.
    pub target: String,
    /// fio's `numjobs`, where it is not among the parameters.
    pub jobs: Option<u64>,
    /// Other settings of the procedure, in words.
    #[serde(default)]
    pub settings: Vec<String>,
    /// The instance that the provider showed the procedure on.
    pub instance: Option<String>,
    /// The source of the procedure.
    pub source: String,
    /// Anything else.
    pub notes: Option<String>,
}
