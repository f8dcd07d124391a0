//! The promise that a test is held against: one volume or several, on an instance or not, at any block size.
//!
//! A [`Promise`] is complete: it needs no catalogue, so a Record keeps it and can be judged again. Units and readings are those of
//! [`VolumePromise`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::catalogue_file::Catalogue;
use super::entry::Volume;
use super::instance::InstanceCap;
use super::promise_error::PromiseError;
use super::promised_level::{Bought, Level, PromiseDirection};
use super::request::PromiseRequest;
use super::volume_promise::{AtBlock, Binding, Reading, VolumePromise};
use volproof_base::unit::Bytes;

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
    /// A volume can burst above its baseline, or the instance can.
    pub fn has_burst(&self) -> bool {
        let bursts = |v: &VolumePromise| {
            let (level, burst) = (&v.level, v.level.burst.as_ref());
            burst.is_some_and(|b| b.iops > level.iops.read || b.throughput > level.throughput.read)
        };
        let of_instance = self.instance.as_ref().map(|i| i.iops_burst.or(i.bytes_burst));
        self.volumes.iter().any(bursts) || of_instance.flatten().is_some()
    }

    /// The promise of a request.
    ///
    /// # Errors
    /// A type, size, date or instance that the catalogue does not have, volumes of two providers, or what cannot be bought.
    pub fn requested(catalogue: &Catalogue, request: &PromiseRequest) -> Result<Promise, PromiseError> {
        let at = request.at.as_deref();
        if request.block == Some(Bytes(0)) {
            return Err(PromiseError::NoBlock);
        }
        let first = catalogue.find(&request.volume.kind, at)?;
        let mut parts: Vec<(&Volume, f64, Bought, Option<String>)> = Vec::new();
        for asked in std::iter::once(&request.volume).chain(&request.with) {
            let kind = if asked.kind.contains(':') {
                asked.kind.clone()
            } else {
                format!("{}:{}", first.volume.provider, asked.kind)
            };
            // A name that another sign joins, such as `aws/gp3`, has its provider in it.
            let found =
                catalogue.find(&kind, at).or_else(|e| catalogue.find(&asked.kind, at).map_err(|_| e))?;
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
                    Level::at_capacity(v, gib, bought)?;
                    pooled.1 += gib;
                }
                None => parts.push((v, gib, bought, found.note)),
            }
        }
        let volumes = parts
            .into_iter()
            .map(|(v, gib, bought, note)| VolumePromise::at_capacity(catalogue, v, gib, bought, note));
        Ok(Promise {
            volumes: volumes.collect::<Result<_, _>>()?,
            instance: match &request.instance {
                // A disk inside the host does not count against the limits of its instance.
                Some(name) if !first.volume.local => Some(catalogue.instance_cap(name, first.volume, at)?),
                _ => None,
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
        if let Some(cap) = instance.iops.in_direction(direction).filter(|cap| *cap < result.iops) {
            result =
                AtBlock { iops: cap, bytes: result.bytes.min(cap * size), binding: Binding::InstanceIops };
        }
        if let Some(cap) = instance.bytes.in_direction(direction).filter(|cap| *cap < result.bytes) {
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

    /// The IOPS cap of a direction, whatever the block size: that of random requests.
    pub fn iops_cap(&self, direction: PromiseDirection) -> Option<Cap> {
        let sum: Option<f64> = self.volumes.iter().map(|v| v.random_iops(direction)).sum();
        let limit = self.instance.as_ref().and_then(|i| i.iops.in_direction(direction));
        lesser(sum, Binding::VolumeIops, limit, Binding::InstanceIops)
    }

    /// The cap on bytes per second of a direction, whatever the block size.
    pub fn bytes_cap(&self, direction: PromiseDirection, reading: Reading) -> Option<Cap> {
        let bytes = |v: &VolumePromise| {
            Some(v.level.throughput.in_direction(direction)? * v.unit.bytes_in(reading) as f64)
        };
        let sum: Option<f64> = self.volumes.iter().map(bytes).sum();
        let limit = self.instance.as_ref().and_then(|i| i.bytes.in_direction(direction));
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

#[cfg(test)]
mod tests {
    use super::super::promised_level::Choice;
    use super::super::request::AskedVolume;
    use super::*;
    use proptest::prelude::*;

    fn promise(kind: &str, gib: u64) -> Promise {
        let volume = AskedVolume { kind: kind.into(), size: Some(Bytes::gib(gib)), ..AskedVolume::default() };
        Promise::requested(Catalogue::shipped(), &PromiseRequest { volume, ..PromiseRequest::default() })
            .unwrap()
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
        let local = promise("aws:instance-store.i4i", 436);
        assert!(at(&local, 4).is_some() && at(&local, 1024).is_none());
    }

    #[test]
    fn small_random_requests_to_a_hard_disk_cost_as_much_as_large_ones() {
        // 40 MiB/s for each TiB are 40 requests of 1 MiB, or of any smaller size.
        let p = promise("aws:st1", 1024);
        assert_eq!(p.iops_cap(PromiseDirection::Read).unwrap().value, 40.0);
        assert_eq!((at(&p, 4).0, at(&p, 256).0, at(&p, 1024).0), (40.0, 40.0, 40.0));
        assert_eq!(at(&promise("aws:gp2", 100), 4).0, 300.0);
    }

    #[test]
    fn large_ios_count_as_several() {
        // io2 counts an I/O of 1 MiB as four of 256 KiB.
        let volume = AskedVolume {
            kind: "aws:io2".into(),
            size: Some(Bytes::gib(100)),
            iops: Some(Choice::Value(1_000.0)),
            ..AskedVolume::default()
        };
        let p =
            Promise::requested(Catalogue::shipped(), &PromiseRequest { volume, ..PromiseRequest::default() })
                .unwrap();
        assert_eq!(at(&p, 256).0, 1_000.0);
        assert_eq!(at(&p, 1024).0, 250.0);
        assert_eq!(at(&p, 16).0, 1_000.0);
    }

    #[test]
    fn a_pool_counts_its_base_once() {
        let with = vec!["gcp:pd-ssd:100GiB".parse::<AskedVolume>().unwrap()];
        let volume =
            AskedVolume { kind: "gcp:pd-ssd".into(), size: Some(Bytes::gib(100)), ..AskedVolume::default() };
        let p = Promise::requested(
            Catalogue::shipped(),
            &PromiseRequest { volume, with, ..PromiseRequest::default() },
        )
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
            let p = VolumePromise::at_capacity(catalogue, v, gib, bought, None).unwrap();
            for direction in [PromiseDirection::Read, PromiseDirection::Write] {
                let small = p.at(Bytes(1 << a.min(b)), direction, Reading::Likely);
                let large = p.at(Bytes(1 << a.max(b)), direction, Reading::Likely);
                if let (Some(small), Some(large)) = (small, large) {
                    prop_assert!(large.iops <= small.iops, "{}: {small:?} {large:?}", v.id());
                    if let Some(cap) = p.level.iops.in_direction(direction) {
                        prop_assert!(small.iops <= cap);
                    }
                }
            }
        }
    }
}
