//! The promise that a test is held against: one volume or several, on an instance or not, at any block size.
//!
//! IOPS are per second, throughput is in bytes per second here; where the provider's unit is in doubt there are two
//! readings, and every question takes the reading it is asked in. A figure for both directions is shared by reads and
//! writes. A [`Promise`] is complete: it needs no catalogue, so a Record keeps it and can be judged again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::catalogue_file::Catalogue;
use super::entry::{BlockTable, Confidence, Volume};
use super::instance::InstanceCap;
use super::promise_error::PromiseError;
use super::promised_level::{Bought, Each, Level, PromiseDirection};
use super::request::PromiseRequest;
use crate::unit::{Bytes, grouped, significant};

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
    /// The condition under which the figures hold.
    pub condition: Option<String>,
    /// The words published in place of an IOPS number.
    pub iops_text: Option<String>,
    /// Where the figures are from.
    pub source: String,
    /// When the source said so.
    pub as_of: String,
    /// How far the figures can be trusted.
    pub confidence: Confidence,
    /// Notes for the reader of the promise.
    pub notes: Vec<String>,
}

impl VolumePromise {
    /// Its capacity as people write it: `40 GiB`.
    pub fn size(&self) -> String {
        match self.gib.fract() == 0.0 {
            true => format!("{} GiB", grouped(self.gib as u64)),
            false => format!("{} GiB", significant(self.gib)),
        }
    }
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

/// A cap and its owner.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cap {
    /// I/Os or bytes per second.
    pub value: f64,
    /// The limit that sets the cap.
    pub binding: Binding,
}

/// The promise of a set of volumes together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Promise {
    /// The volumes; the one that was asked for is the first.
    pub volumes: Vec<VolumePromise>,
    /// The limits of the instance, where it was named.
    pub instance: Option<InstanceCap>,
    /// The block size that was asked for.
    pub block: Option<Bytes>,
}

impl Promise {
    /// The promise of a request.
    pub fn of(catalogue: &Catalogue, request: &PromiseRequest) -> Result<Promise, PromiseError> {
        let at = request.at.as_deref();
        if request.block == Some(Bytes(0)) {
            return Err(PromiseError::NoBlock);
        }
        let first = catalogue.find(&request.volume.kind, at)?;
        let mut parts: Vec<(&Volume, f64, Bought, Option<String>)> = Vec::new();
        for asked in std::iter::once(&request.volume).chain(&request.with) {
            let kind = match asked.kind.contains(':') {
                true => asked.kind.clone(),
                false => format!("{}:{}", first.volume.provider, asked.kind),
            };
            let found = catalogue.find(&kind, at)?;
            if found.volume.provider != first.volume.provider {
                return Err(PromiseError::TwoProviders {
                    first: first.volume.id(),
                    second: found.volume.id(),
                });
            }
            let v = found.volume;
            let gib = capacity(v, asked.size)?;
            let bought =
                Bought { iops: asked.iops, throughput: asked.throughput.map(|a| a.choice(v.unit_bytes)) };
            // Volumes that share a pool count as one of their summed capacity; each must still be of an allowed size.
            match parts.iter_mut().find(|(other, ..)| v.pool && other.id() == v.id()) {
                Some(pooled) => {
                    Level::of(v, gib, bought)?;
                    pooled.1 += gib;
                }
                None => parts.push((v, gib, bought, found.note)),
            }
        }
        let volumes = parts
            .into_iter()
            .map(|(v, gib, bought, note)| VolumePromise::of(catalogue, v, gib, bought, note));
        Ok(Promise {
            volumes: volumes.collect::<Result<_, _>>()?,
            instance: match &request.instance {
                Some(name) => Some(catalogue.instance_cap(name, first.volume, at)?),
                None => None,
            },
            block: request.block,
        })
    }

    /// Whether both readings of the units give the same promise.
    pub fn unit_certain(&self) -> bool {
        self.volumes.iter().all(|v| v.unit.certain)
    }

    /// The promise of one direction at a block size: the lesser of the sum over the volumes and the limit of the instance.
    pub fn at(&self, block: Bytes, direction: PromiseDirection, reading: Reading) -> Option<AtBlock> {
        let mut sum: Option<AtBlock> = None;
        for volume in &self.volumes {
            let one = volume.at(block, direction, reading)?;
            sum = Some(match sum {
                None => one,
                Some(s) => AtBlock { iops: s.iops + one.iops, bytes: s.bytes + one.bytes, ..s },
            });
        }
        let mut result = sum?;
        let Some(instance) = &self.instance else { return Some(result) };
        let size = block.0 as f64;
        if let Some(cap) = instance.iops.of(direction).filter(|cap| *cap < result.iops) {
            result =
                AtBlock { iops: cap, bytes: result.bytes.min(cap * size), binding: Binding::InstanceIops };
        }
        if let Some(cap) = instance.bytes.of(direction).filter(|cap| *cap < result.bytes) {
            result = AtBlock {
                iops: result.iops.min(cap / size),
                bytes: cap,
                binding: Binding::InstanceThroughput,
            };
        }
        Some(result)
    }

    /// The least that every reading of the units promises at a block size: a result that meets it is not below promise,
    /// because a doubt about a unit alone must not decide against the provider.
    pub fn least(&self, block: Bytes, direction: PromiseDirection) -> Option<AtBlock> {
        let readings = [Reading::Likely, Reading::Other].map(|r| self.at(block, direction, r));
        readings.into_iter().flatten().min_by(|a, b| a.bytes.total_cmp(&b.bytes))
    }

    /// The IOPS cap of a direction, whatever the block size.
    pub fn iops_cap(&self, direction: PromiseDirection) -> Option<Cap> {
        let sum: Option<f64> = self.volumes.iter().map(|v| v.level.iops.of(direction)).sum();
        let limit = self.instance.as_ref().and_then(|i| i.iops.of(direction));
        lesser(sum, Binding::VolumeIops, limit, Binding::InstanceIops)
    }

    /// The cap on bytes per second of a direction, whatever the block size.
    pub fn bytes_cap(&self, direction: PromiseDirection, reading: Reading) -> Option<Cap> {
        let bytes =
            |v: &VolumePromise| Some(v.level.throughput.of(direction)? * v.unit.bytes_in(reading) as f64);
        let sum: Option<f64> = self.volumes.iter().map(bytes).sum();
        let limit = self.instance.as_ref().and_then(|i| i.bytes.of(direction));
        lesser(sum, Binding::VolumeThroughput, limit, Binding::InstanceThroughput)
    }
}

fn lesser(volumes: Option<f64>, theirs: Binding, instance: Option<f64>, its: Binding) -> Option<Cap> {
    let volumes = volumes.map(|value| Cap { value, binding: theirs })?;
    match instance {
        Some(value) if value < volumes.value => Some(Cap { value, binding: its }),
        _ => Some(volumes),
    }
}

fn capacity(v: &Volume, size: Option<Bytes>) -> Result<f64, PromiseError> {
    let [lo, hi] = v.capacity_gib;
    match size {
        Some(size) => Ok(size.0 as f64 / Bytes::GIB.0 as f64),
        None if lo == hi => Ok(lo),
        None => Err(PromiseError::NoSize { id: v.id(), lo, hi }),
    }
}

impl VolumePromise {
    /// The promise of one volume of the catalogue.
    pub fn of(
        catalogue: &Catalogue,
        v: &Volume,
        gib: f64,
        bought: Bought,
        doubt: Option<String>,
    ) -> Result<VolumePromise, PromiseError> {
        // A pool may be larger than its largest volume; what it earns is capped by the formulas.
        let level = match v.pool {
            true => Level::of(v, gib.min(v.capacity_gib[1]), bought)?,
            false => Level::of(v, gib, bought)?,
        };
        let table = catalogue.block_table(v);
        let has = |words: &str| v.notes.as_ref().is_some_and(|n| n.contains(words));
        let mut notes: Vec<String> = doubt.into_iter().chain(level.notes.iter().cloned()).collect();
        for (flag, note) in [
            (v.pool, "shared by all volumes of this type on the instance; name the others with --with"),
            (v.half_duplex && !has("share both limits"), "reads and writes share both limits"),
            (v.read_only, "for reads: many instances attach the volume read-only"),
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
            condition: v.condition.clone(),
            iops_text: v.iops_text.clone(),
            source: v.source.clone(),
            as_of: v.as_of.clone(),
            confidence: v.confidence,
            notes,
        })
    }

    /// The law of block sizes: the promise of this volume at a block size.
    ///
    /// A published figure at this very block size takes precedence over the formulas. It holds for a volume with the
    /// table's largest IOPS, bounds a smaller volume from above, and says nothing of a volume beyond the table. Where only
    /// IOPS are published, nothing is promised above the block size at which they are stated. Where only throughput is
    /// published, nothing is promised below the block size at which it is stated.
    pub fn at(&self, block: Bytes, direction: PromiseDirection, reading: Reading) -> Option<AtBlock> {
        let size = block.0 as f64;
        let unit = self.unit.bytes_in(reading) as f64;
        let counted = self.split.map_or(1, |split| block.0.div_ceil(split.0).max(1)) as f64;
        let by_iops = self.level.iops.of(direction).map(|cap| cap / counted);
        let by_bytes = self.level.throughput.of(direction).map(|cap| cap * unit);
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
        let cap = self.level.iops.of(direction).unwrap_or(largest);
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

    /// The figures of the expanded level, where the size has one.
    pub fn plus(&self) -> Option<(Each, Each)> {
        self.level.plus.map(|(iops, throughput)| (Each::both(iops), Each::both(throughput)))
    }
}

fn published(table: &BlockTable) -> Vec<Published> {
    let row = |&(kib, iops, throughput): &(u64, f64, f64)| Published {
        block: Bytes::kib(kib),
        iops,
        throughput: (throughput > 0.0).then_some(throughput),
        remark: table.remarks.get(&kib.to_string()).cloned(),
    };
    table.rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::promised_level::Choice;
    use super::super::request::Asked;
    use super::*;
    use proptest::prelude::*;

    fn promise(kind: &str, gib: u64) -> Promise {
        let volume = Asked { kind: kind.into(), size: Some(Bytes::gib(gib)), ..Asked::default() };
        Promise::of(Catalogue::shipped(), &PromiseRequest { volume, ..PromiseRequest::default() }).unwrap()
    }

    fn at(p: &Promise, kib: u64) -> (f64, f64, Binding) {
        let a = p.at(Bytes::kib(kib), PromiseDirection::Write, Reading::Likely).unwrap();
        (a.iops, a.bytes, a.binding)
    }

    #[test]
    fn both_readings_of_a_doubtful_unit() {
        let p = promise("alibaba:cloud_essd.PL1", 800);
        let caps =
            [Reading::Likely, Reading::Other].map(|r| p.bytes_cap(PromiseDirection::Read, r).unwrap().value);
        assert_eq!(caps, [350.0 * 1048576.0, 350e6]);
        assert_eq!(at(&p, 16).0, 22_400.0);
        assert_eq!(p.at(Bytes::kib(16), PromiseDirection::Read, Reading::Other).unwrap().iops, 21_362.0);
        assert_eq!(p.least(Bytes::kib(16), PromiseDirection::Read).unwrap().iops, 21_362.0);
        assert!(!p.unit_certain() && promise("aws:gp2", 100).unit_certain());
    }

    #[test]
    fn published_block_sizes_take_precedence() {
        // 300 MiB/s would give 19,200 I/Os of 16 KiB; the provider prints 17,200.
        let full = promise("alibaba:cloud_ssd", 2000);
        assert_eq!(at(&full, 16), (17_200.0, 260.0 * 1048576.0, Binding::VolumeTable));
        assert_eq!(at(&full, 64).0, 4_800.0);
        assert_eq!(at(&full, 8).0, 25_000.0);
        let july = promise("alibaba:cloud_ssd@2018-07", 800);
        assert_eq!(at(&july, 8).0, 20_000.0);
        assert_eq!(at(&july, 16).0, 17_200.0);
        // A volume below the maximum is bounded by the table, and keeps its own cap where that is lower.
        assert_eq!(at(&promise("alibaba:cloud_ssd", 600), 16).0, 17_200.0);
        assert_eq!(
            at(&promise("alibaba:cloud_ssd", 100), 16),
            (4_800.0, 4_800.0 * 16384.0, Binding::VolumeIops)
        );
        // A table about a volume that bursts says nothing of one whose baseline is above it.
        assert_eq!(at(&promise("aws:gp2", 5000), 16).0, 15_000.0);
    }

    #[test]
    fn nothing_is_promised_where_nothing_is_published() {
        let at = |p: &Promise, kib| p.at(Bytes::kib(kib), PromiseDirection::Read, Reading::Likely);
        let basic = promise("alibaba:cloud", 100);
        assert!(
            at(&basic, 4).is_none() && at(&basic, 1024).is_some(),
            "'several hundred' IOPS are no number"
        );
        let local = promise("gcp:local-ssd", 375);
        assert!(at(&local, 4).is_some() && at(&local, 1024).is_none());
    }

    #[test]
    fn large_ios_count_as_several() {
        // io2 counts an I/O of 1 MiB as four of 256 KiB.
        let volume = Asked {
            kind: "aws:io2".into(),
            size: Some(Bytes::gib(100)),
            iops: Some(Choice::Value(1_000.0)),
            ..Asked::default()
        };
        let p = Promise::of(Catalogue::shipped(), &PromiseRequest { volume, ..PromiseRequest::default() })
            .unwrap();
        assert_eq!(at(&p, 256).0, 1_000.0);
        assert_eq!(at(&p, 1024).0, 250.0);
        assert_eq!(at(&p, 16).0, 1_000.0);
    }

    #[test]
    fn a_pool_counts_its_base_once() {
        let with = vec!["gcp:pd-ssd:100GiB".parse::<Asked>().unwrap()];
        let volume = Asked { kind: "gcp:pd-ssd".into(), size: Some(Bytes::gib(100)), ..Asked::default() };
        let p =
            Promise::of(Catalogue::shipped(), &PromiseRequest { volume, with, ..PromiseRequest::default() })
                .unwrap();
        assert_eq!(p.volumes.len(), 1);
        assert_eq!(p.iops_cap(PromiseDirection::Read).unwrap().value, 6_000.0 + 30.0 * 200.0);
    }

    proptest! {
        /// No type promises more I/Os at a larger block, nor more than its caps.
        #[test]
        fn the_law_falls_with_block_size(pick in 0usize..1000, share in 0.0..1.0f64, a in 9u32..24, b in 9u32..24) {
            let catalogue = Catalogue::shipped();
            let v = &catalogue.volumes[pick % catalogue.volumes.len()];
            let gib = (v.capacity_gib[0] + share * (v.capacity_gib[1] - v.capacity_gib[0])).round();
            let sold = |hi: bool| hi.then_some(Choice::Most);
            let bought = Bought { iops: sold(v.iops_hi.is_some()), throughput: sold(v.throughput_hi.is_some()) };
            let p = VolumePromise::of(catalogue, v, gib, bought, None).unwrap();
            for direction in [PromiseDirection::Read, PromiseDirection::Write] {
                let small = p.at(Bytes(1 << a.min(b)), direction, Reading::Likely);
                let large = p.at(Bytes(1 << a.max(b)), direction, Reading::Likely);
                if let (Some(small), Some(large)) = (small, large) {
                    prop_assert!(large.iops <= small.iops, "{}: {small:?} {large:?}", v.id());
                    if let Some(cap) = p.level.iops.of(direction) {
                        prop_assert!(small.iops <= cap);
                    }
                }
            }
        }
    }
}
