//! The promise of one volume, at any block size, before the limits of an instance.
//!
//! IOPS are per second, throughput is in bytes per second here; where the provider's unit is in doubt there are two
//! readings, and every question takes the reading it is asked in. A figure for both directions is shared by reads and
//! writes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::catalogue_file::Catalogue;
use super::entry::{BlockTable, SourceQuality, Volume};
use super::guarantee::{Guarantee, GuaranteedFigure};
use super::promise_error::PromiseError;
use super::promised_level::{Bought, EachDirection, Level, PromiseDirection};
use volproof_base::unit::{Bytes, grouped, significant};

/// The unit of a throughput and how sure it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unit {
    /// As the provider prints it.
    pub printed: String,
    /// Bytes in one unit, as the evidence has it.
    pub bytes: u64,
    /// Whether the provider states how many bytes the unit has.
    pub certain: bool,
}

/// How to read a unit that is in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reading {
    /// As the evidence has it.
    Likely,
    /// The other way: decimal for binary, binary for decimal.
    Other,
}

impl Unit {
    /// Bytes in one unit, in a reading; a unit that is certain has one.
    pub fn bytes_in(&self, reading: Reading) -> u64 {
        match reading {
            // A stored promise may hold any unit.
            Reading::Other if !self.certain => 2_048_576_u64.saturating_sub(self.bytes),
            _ => self.bytes,
        }
    }
}

/// Published figures at one block size; they hold for the largest IOPS in the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// The block size.
    pub block: Bytes,
    /// IOPS.
    pub iops: f64,
    /// Throughput in the unit of the volume, where it was printed.
    pub throughput: Option<f64>,
    /// The text printed in place of a throughput.
    pub remark: Option<String>,
}

/// The promise of one volume, before the instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VolumePromise {
    /// The full name, `alibaba:cloud_essd.PL1`.
    pub id: String,
    /// The name in the provider's prose.
    pub name: String,
    /// `current`, `superseded`, ...
    pub status: String,
    /// Capacity in GiB; of all volumes of the type together, where they share a pool.
    pub gib: f64,
    /// IOPS and throughput caps, burst, and the arithmetic.
    pub level: Level,
    /// The unit of the throughput.
    pub unit: Unit,
    /// Block size at which the IOPS are stated.
    pub iops_block: Bytes,
    /// Block size at which the throughput is stated.
    pub throughput_block: Bytes,
    /// A larger I/O counts as several of this size.
    pub split: Option<Bytes>,
    /// Published figures by block size.
    pub published: Vec<Published>,
    /// The source of the published figures.
    pub published_source: Option<String>,
    /// Promised latency in ms, low and high.
    pub latency_ms: Option<[f64; 2]>,
    /// The workload that the latency is measured with, or the words published in place of a number.
    pub latency_basis: Option<String>,
    /// The share of time for which the figures, or a share of them, are promised, in words.
    pub consistency: Option<String>,
    /// What those words say, as figures; `None` in Records of versions that did not store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guarantee: Option<Guarantee>,
    /// The condition under which the figures hold.
    pub condition: Option<String>,
    /// What the type is made of: `ssd`, `hdd` and the like; `None` in Records of versions that did not store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<String>,
    /// How many instances must load the volume at the same time for its figures to hold, where one is not enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_instances: Option<usize>,
    /// The words published in place of an IOPS number.
    pub iops_text: Option<String>,
    /// Where the figures are from.
    pub source: String,
    /// When the source said so.
    pub as_of: String,
    /// How far the figures can be trusted.
    pub confidence: SourceQuality,
    /// Notes for the reader of the promise.
    pub notes: Vec<String>,
}

/// The limit that decides a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Binding {
    /// The volume's IOPS.
    VolumeIops,
    /// The volume's throughput.
    VolumeThroughput,
    /// A published figure at this very block size.
    VolumeTable,
    /// The instance's IOPS.
    InstanceIops,
    /// The instance's throughput.
    InstanceThroughput,
}

impl Binding {
    /// `volume` or `instance`.
    pub fn owner(self) -> &'static str {
        match self {
            Binding::InstanceIops | Binding::InstanceThroughput => "instance",
            _ => "volume",
        }
    }

    /// Whether the limit counts I/Os. Any other limit counts bytes.
    pub fn counts_ios(self) -> bool {
        !matches!(self, Binding::VolumeThroughput | Binding::InstanceThroughput)
    }

    /// The limit in words.
    pub fn words(self) -> &'static str {
        match self {
            Binding::VolumeIops => "volume IOPS",
            Binding::VolumeThroughput => "volume throughput",
            Binding::VolumeTable => "volume, published",
            Binding::InstanceIops => "instance IOPS",
            Binding::InstanceThroughput => "instance throughput",
        }
    }
}

/// The promise at one block size in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AtBlock {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes: f64,
    /// Which limit decides.
    pub binding: Binding,
}

impl VolumePromise {
    /// The promise of one volume of the catalogue.
    ///
    /// # Errors
    /// Those of [`Level::at_capacity`].
    pub fn at_capacity(
        catalogue: &Catalogue,
        v: &Volume,
        gib: f64,
        bought: Bought,
        doubt: Option<String>,
    ) -> Result<VolumePromise, PromiseError> {
        // A pool may be larger than its largest volume; what it earns is capped by the formulas.
        let level = Level::at_capacity(v, if v.pool { gib.min(v.capacity_gib[1]) } else { gib }, bought)?;
        let table = catalogue.block_table(v);
        let says_half_duplex = v.notes.as_ref().is_some_and(|n| n.contains("share both limits"));
        let mut notes: Vec<String> = doubt.into_iter().chain(level.notes.iter().cloned()).collect();
        for (flag, note) in [
            (v.pool, "shared by all volumes of this type on the instance; name the others with --with"),
            (v.half_duplex && !says_half_duplex, "reads and writes share both limits"),
            (v.read_only, "for reads: many instances attach the volume read-only"),
            (v.local, "inside the host: the limits of the instance do not count for it"),
            (v.ephemeral, "the data is lost when the instance is released"),
        ] {
            if flag {
                notes.push(note.into());
            }
        }
        notes.extend(v.iops_range.map(|[lo, hi]| format!("IOPS: a range without formula, {lo} to {hi}")));
        notes.extend(
            v.throughput_range.map(|[lo, hi]| format!("throughput: a range without formula, {lo} to {hi}")),
        );
        let large = v.io.iops_kib.is_some_and(|kib| Bytes::kib(kib) >= Bytes::mib(1));
        notes.extend(large.then(|| {
            "figures below 1 MiB are those of random requests, and each of them costs as much throughput as one of 1 MiB; neighbours of a \
             sequential load are merged first"
                .to_string()
        }));
        notes.extend(v.superseded_by.as_ref().map(|by| format!("superseded by {}:{by}", v.provider)));
        notes.extend(v.notes.clone());
        Ok(VolumePromise {
            id: v.id(),
            name: v.name.clone(),
            status: v.status.clone(),
            gib,
            level,
            unit: Unit { printed: v.throughput_unit.clone(), bytes: v.unit_bytes, certain: v.unit_certain },
            iops_block: Bytes::kib(v.io.iops_kib.unwrap_or(4)),
            throughput_block: Bytes::kib(v.io.throughput_kib.unwrap_or(1024)),
            split: v.io.split_kib.map(Bytes::kib),
            published: table.map(published).unwrap_or_default(),
            published_source: table.map(|t| t.source.clone()),
            latency_ms: v.latency_ms,
            latency_basis: v.latency_basis.clone(),
            consistency: v.consistency.clone(),
            guarantee: v.guarantee.clone(),
            condition: v.condition.clone(),
            media: Some(v.media.clone()),
            least_instances: v.least_instances,
            iops_text: v.iops_text.clone(),
            source: v.source.clone(),
            as_of: v.as_of.clone(),
            confidence: v.confidence,
            notes,
        })
    }

    /// What the provider promises of time for a figure. Words without figures, such as those of old Records, are read as the catalogue does.
    pub fn guarantee_of(&self, figure: GuaranteedFigure) -> Option<&Guarantee> {
        let words = self.consistency.as_deref();
        let in_words = || Catalogue::shipped().guarantee_in(words?);
        let known = self.guarantee.as_ref().or_else(in_words);
        known.filter(|guarantee| guarantee.of.contains(&figure))
    }

    /// A smaller request costs as much throughput as one of this size, unless it is sequential and merged with its neighbours: so count types
    /// that state their IOPS at 1 MiB.
    pub fn charged_block(&self) -> Option<Bytes> {
        (self.iops_block >= Bytes::mib(1)).then_some(self.iops_block)
    }

    /// IOPS of random requests of a direction, whatever their size: the cap, or what the throughput pays for where small ones cost as much as
    /// large ones.
    pub fn random_iops(&self, direction: PromiseDirection) -> Option<f64> {
        let cap = self.level.iops.in_direction(direction);
        let Some((charged, throughput)) =
            self.charged_block().zip(self.level.throughput.in_direction(direction))
        else {
            return cap;
        };
        let paid = throughput * self.unit.bytes_in(Reading::Likely) as f64 / charged.0 as f64;
        cap.map(|cap| cap.min(paid))
    }

    /// The law of block sizes: the promise of this volume at a block size.
    ///
    /// A published figure at this very block size takes precedence over the formulas. It holds for a volume with the
    /// table's largest IOPS, bounds a smaller volume from above, and says nothing of a volume beyond the table. Where only
    /// IOPS are published, nothing is promised above the block size at which they are stated. Where only throughput is
    /// published, nothing is promised below the block size at which it is stated. Below [`VolumePromise::charged_block`] the promise is that of
    /// random requests.
    pub fn at(&self, block: Bytes, direction: PromiseDirection, reading: Reading) -> Option<AtBlock> {
        let size = block.0 as f64;
        let unit = self.unit.bytes_in(reading) as f64;
        let counted = self.split.map_or(1, |split| block.0.div_ceil(split.0.max(1)).max(1)) as f64;
        let by_iops = match self.charged_block().filter(|charged| block < *charged) {
            Some(_) => self.random_iops(direction),
            None => self.level.iops.in_direction(direction).map(|cap| cap / counted),
        };
        let by_bytes = self.level.throughput.in_direction(direction).map(|cap| cap * unit);
        let formula = match (by_iops, by_bytes) {
            (None, None) => return None,
            (None, Some(_)) if block < self.throughput_block => return None,
            (Some(_), None) if block > self.iops_block => return None,
            (Some(iops), Some(bytes)) if bytes / size < iops => {
                AtBlock { iops: (bytes / size).floor(), bytes, binding: Binding::VolumeThroughput }
            }
            (Some(iops), _) => AtBlock { iops, bytes: iops * size, binding: Binding::VolumeIops },
            (None, Some(bytes)) => {
                AtBlock { iops: (bytes / size).floor(), bytes, binding: Binding::VolumeThroughput }
            }
        };
        let Some(row) = self.published.iter().find(|p| p.block == block) else { return Some(formula) };
        let largest = self.published.iter().map(|p| p.iops).fold(0.0, f64::max);
        let cap = self.level.iops.in_direction(direction).unwrap_or(largest);
        let bytes = row.throughput.map_or(row.iops * size, |t| t * unit);
        let table = AtBlock { iops: row.iops, bytes, binding: Binding::VolumeTable };
        match cap {
            cap if cap == largest => Some(table),
            cap if cap < largest && table.iops < formula.iops => {
                Some(AtBlock { bytes: bytes.min(formula.bytes), ..table })
            }
            _ => Some(formula),
        }
    }

    /// Its capacity as people write it: `40 GiB`.
    pub fn size(&self) -> String {
        let is_whole = self.gib.fract() == 0.0;
        format!("{} GiB", if is_whole { grouped(self.gib as u64) } else { significant(self.gib) })
    }

    /// The figures of the expanded level, where the size has one.
    pub fn plus(&self) -> Option<(EachDirection, EachDirection)> {
        self.level.plus.map(|(iops, throughput)| (EachDirection::both(iops), EachDirection::both(throughput)))
    }
}

fn published(table: &BlockTable) -> Vec<Published> {
    let rows = table.rows.iter().map(|&(kib, iops, throughput)| Published {
        block: Bytes::kib(kib),
        iops,
        throughput: Some(throughput).filter(|throughput| *throughput > 0.0),
        remark: table.remarks.get(&kib.to_string()).cloned(),
    });
    rows.collect()
}
