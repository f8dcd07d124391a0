//! The other way round: which is the smallest volume of each type that promises what is needed?
//!
//! A need in bytes per second must be met in both readings of a doubtful unit, and in both directions. Promises grow
//! with capacity and with what is bought, so bisection finds the smallest capacity and the least that must be bought.

use super::catalogue_file::Catalogue;
use super::entry::Volume;
use super::instance::InstanceCap;
use super::promise_error::PromiseError;
use super::promise_on_instance::Promise;
use super::promised_level::{Bought, Choice, Level, PromiseDirection};
use super::range::least;
use super::volume_promise::{Reading, VolumePromise};
use volproof_base::unit::Bytes;

/// The performance that is needed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WantedRates {
    /// I/Os per second.
    pub iops: Option<f64>,
    /// Bytes per second.
    pub bytes: Option<f64>,
    /// The block size of the I/Os. Without it the caps are compared; throughput that is bought apart carries the IOPS at 4 KiB.
    pub block: Option<Bytes>,
    /// The instance that the volume is attached to.
    pub instance: Option<String>,
    /// The date of the promise of the instance.
    pub at: Option<String>,
    /// The least capacity, in GiB.
    pub least_gib: Option<f64>,
    /// A hard disk does not do, whatever it promises.
    pub no_hard_disk: bool,
}

impl WantedRates {
    /// A promise of a type gives what is needed.
    fn is_met_by(&self, v: &Volume, p: &Promise) -> bool {
        [PromiseDirection::Read, PromiseDirection::Write].iter().all(|d| {
            [Reading::Likely, Reading::Other].iter().all(|r| match self.block {
                Some(block) => p.at(block, *d, *r).is_some_and(|a| {
                    self.iops.is_none_or(|n| a.iops >= n) && self.bytes.is_none_or(|n| a.bytes >= n)
                }),
                None => {
                    let iops = p.iops_cap(*d).map_or(0.0, |c| c.value);
                    let bytes = p.bytes_cap(*d, *r).map_or(0.0, |c| c.value);
                    self.iops.is_none_or(|n| iops >= n) && self.least_bytes(v).is_none_or(|n| bytes >= n)
                }
            })
        })
    }

    /// Bytes per second that the cap must allow, where no block size was named.
    fn least_bytes(&self, v: &Volume) -> Option<f64> {
        let of_iops = self.iops.filter(|_| sells_throughput(v)).map(|n| n * NEEDED_BLOCK.0 as f64);
        self.bytes.into_iter().chain(of_iops).reduce(f64::max)
    }
}

impl Volume {
    /// The type can be bought today, as a volume of one's own.
    pub fn is_sold(&self) -> bool {
        ["current", "previous generation"].contains(&self.status.as_str())
            && !self.kind.contains('@')
            && !self.local
            && !self.read_only
    }
}

fn sells_iops(v: &Volume) -> bool {
    v.iops_hi.is_some() || v.iops_extra_hi.is_some()
}

fn sells_throughput(v: &Volume) -> bool {
    v.throughput_hi.is_some() || v.extra_per_unit.is_some()
}

/// The most that can be bought of a type.
fn most(v: &Volume) -> Bought {
    Bought {
        iops: sells_iops(v).then_some(Choice::Most),
        throughput: sells_throughput(v).then_some(Choice::Most),
    }
}

/// Where throughput is bought apart from IOPS and no block size was named, it must carry the IOPS at this one.
const NEEDED_BLOCK: Bytes = Bytes::kib(4);

/// The smallest volume of one type that promises what is needed.
#[derive(Debug, Clone, PartialEq)]
pub struct SmallestVolume {
    /// The promise of the volume, on the instance where one was named.
    pub promise: Promise,
    /// The least IOPS that must be bought; none where those of the capacity are enough.
    pub iops: Option<f64>,
    /// The least throughput that must be bought, in the type's unit; none where that of the capacity is enough.
    pub throughput: Option<f64>,
}

impl Catalogue {
    /// The smallest volume of each type sold today that promises what is needed, smallest first. `provider` narrows
    /// the search; naming an instance narrows it to volumes that its limits are recorded for.
    ///
    /// # Errors
    /// An instance for which no type has limits.
    pub fn smallest_volumes(
        &self,
        need: &WantedRates,
        provider: Option<&str>,
    ) -> Result<Vec<SmallestVolume>, PromiseError> {
        let (mut fits, mut instance_known, mut instance_error) = (Vec::new(), false, None);
        let of_provider = self.volumes.iter().filter(|v| provider.is_none_or(|p| p == v.provider));
        let sold = of_provider.filter(|v| v.is_sold() && (!need.no_hard_disk || v.media != "hdd"));
        for v in sold {
            let instance = match &need.instance {
                None => None,
                Some(name) => match self.instance_cap(name, v, need.at.as_deref()) {
                    Ok(cap) => {
                        instance_known = true;
                        Some(cap)
                    }
                    Err(e) => {
                        instance_error.get_or_insert(e);
                        continue;
                    }
                },
            };
            let holds = |p: &Promise| need.is_met_by(v, p);
            let offer = Offer { catalogue: self, v, block: need.block, instance, holds: &holds };
            fits.extend(offer.smallest(need.least_gib));
        }
        if let Some(e) = instance_error
            && !instance_known
        {
            return Err(e);
        }
        fits.sort_by(|a, b| a.promise.volumes[0].gib.total_cmp(&b.promise.volumes[0].gib));
        Ok(fits)
    }
}

impl Catalogue {
    /// The smallest volume of a type whose promise `holds`; what holds of a volume must hold of a larger one.
    pub fn smallest_volume(
        &self,
        v: &Volume,
        least_gib: Option<f64>,
        instance: Option<InstanceCap>,
        holds: &dyn Fn(&Promise) -> bool,
    ) -> Option<SmallestVolume> {
        Offer { catalogue: self, v, block: None, instance, holds }.smallest(least_gib)
    }

    /// The promise of the largest volume of a type, with the most that can be bought.
    pub fn largest_volume(&self, v: &Volume, instance: Option<InstanceCap>) -> Option<Promise> {
        Offer { catalogue: self, v, block: None, instance, holds: &|_| true }
            .promise(v.capacity_gib[1], most(v))
    }
}

/// One type held against a need.
struct Offer<'a> {
    catalogue: &'a Catalogue,
    v: &'a Volume,
    block: Option<Bytes>,
    instance: Option<InstanceCap>,
    holds: &'a dyn Fn(&Promise) -> bool,
}

impl Offer<'_> {
    fn smallest(&self, least_gib: Option<f64>) -> Option<SmallestVolume> {
        let most = most(self.v);
        let [lo, hi] = self.v.capacity_gib;
        let lo = least_gib.map_or(lo, |gib| gib.max(lo));
        if lo > hi {
            return None;
        }
        let gib = least(lo, hi, |gib| self.meets(gib, most))?;
        let mut bought = most;
        let (mut iops, mut throughput) = (None, None);
        if sells_iops(self.v)
            && let Some(r) = self.level(gib, bought)?.iops_range
        {
            iops = least(r.lo, r.hi, |n| self.meets(gib, Bought { iops: Some(Choice::Value(n)), ..most }));
            bought.iops = iops.map(Choice::Value);
        }
        if sells_throughput(self.v)
            && let Some(r) = self.level(gib, bought)?.throughput_range
        {
            throughput = least(r.lo, r.hi, |n| {
                self.meets(gib, Bought { throughput: Some(Choice::Value(n)), ..bought })
            });
            bought.throughput = throughput.map(Choice::Value);
        }
        // Nothing is to buy where the capacity brings enough.
        let [iops, throughput] = [iops, throughput].map(|least| least.filter(|n| *n > 0.0));
        Some(SmallestVolume { promise: self.promise(gib, bought)?, iops, throughput })
    }

    fn level(&self, gib: f64, bought: Bought) -> Option<Level> {
        Some(self.promise(gib, bought)?.volumes.into_iter().next()?.level)
    }

    fn promise(&self, gib: f64, bought: Bought) -> Option<Promise> {
        let volume = VolumePromise::at_capacity(self.catalogue, self.v, gib, bought, None).ok()?;
        Some(Promise { volumes: vec![volume], instance: self.instance.clone(), block: self.block })
    }

    fn meets(&self, gib: f64, bought: Bought) -> bool {
        self.promise(gib, bought).is_some_and(|p| (self.holds)(&p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(need: &WantedRates, id: &str) -> Option<(f64, Option<f64>, Option<f64>)> {
        let provider = id.split(':').next();
        let fits = Catalogue::shipped().smallest_volumes(need, provider).unwrap();
        let fit = fits.iter().find(|f| f.promise.volumes[0].id == id)?;
        Some((fit.promise.volumes[0].gib, fit.iops, fit.throughput))
    }

    fn iops(n: f64) -> WantedRates {
        WantedRates { iops: Some(n), ..WantedRates::default() }
    }

    #[test]
    fn the_smallest_volume() {
        // (1,000,000 - 1,800) / 50
        assert_eq!(fit(&iops(1e6), "alibaba:cloud_essd.PL3"), Some((19_964.0, None, None)));
        assert_eq!(fit(&iops(1e5), "alibaba:cloud_essd.PL2"), Some((1_964.0, None, None)));
        assert_eq!(fit(&iops(1e5), "alibaba:cloud_essd.PL1"), None);
        assert_eq!(fit(&iops(16_000.0), "aws:gp3"), Some((32.0, Some(16_000.0), Some(125.0))));
        assert_eq!(fit(&iops(5_000.0), "azure:Premium_LRS"), Some((513.0, None, None)));
        let large = WantedRates { least_gib: Some(500.0), ..iops(16_000.0) };
        assert_eq!(fit(&large, "aws:gp3"), Some((500.0, Some(16_000.0), Some(125.0))));
        assert_eq!(fit(&WantedRates { least_gib: Some(1e9), ..WantedRates::default() }, "aws:gp3"), None);
    }

    #[test]
    fn throughput_that_is_bought_apart_carries_the_iops() {
        // 3,000 of 4 KiB are 12.3 MB/s; 1 MB/s can be bought.
        assert_eq!(fit(&iops(3_000.0), "azure:UltraSSD_LRS"), Some((4.0, Some(3_000.0), Some(13.0))));
        let of_16k = WantedRates { block: Some(Bytes::kib(16)), ..iops(3_000.0) };
        assert_eq!(fit(&of_16k, "azure:UltraSSD_LRS"), Some((4.0, Some(3_000.0), Some(50.0))));
    }

    #[test]
    fn throughput_draws_iops_along() {
        // 0.25 MiB/s per IOPS: 1,000 MiB/s need 4,000 IOPS, 500 per GiB.
        let need = WantedRates { bytes: Some(1000.0 * 1048576.0), ..WantedRates::default() };
        assert_eq!(fit(&need, "aws:gp3"), Some((8.0, Some(4_000.0), Some(1_000.0))));
        // In doubt, the lesser reading must do: 300 MiB/s are 314.6 of 10^6 bytes, (314.6 - 120) / 0.5 GiB.
        let need = WantedRates { bytes: Some(300.0 * 1048576.0), ..WantedRates::default() };
        assert_eq!(fit(&need, "alibaba:cloud_essd.PL1"), Some((390.0, None, None)));
    }

    #[test]
    fn the_instance_must_allow_it() {
        let on = |size: &str| WantedRates { instance: Some(size.into()), ..iops(60_000.0) };
        assert!(fit(&on("ecs.g6.8xlarge"), "alibaba:cloud_essd.PL2").is_some());
        assert!(fit(&on("ecs.g6.6xlarge"), "alibaba:cloud_essd.PL2").is_none());
        let unknown = Catalogue::shipped().smallest_volumes(&on("ecs.nothing"), Some("alibaba"));
        assert!(matches!(unknown, Err(PromiseError::UnknownInstance { .. })));
    }

    #[test]
    fn one_less_is_too_small() {
        let catalogue = Catalogue::shipped();
        let need = WantedRates { iops: Some(20_000.0), bytes: Some(200e6), ..WantedRates::default() };
        let fits = catalogue.smallest_volumes(&need, None).unwrap();
        assert!(fits.len() > 10);
        for f in fits {
            let v = &f.promise.volumes[0];
            let (provider, kind) = v.id.split_once(':').unwrap();
            let volume = catalogue.volume(provider, kind).unwrap();
            let holds = |p: &Promise| need.is_met_by(volume, p);
            let offer = Offer { catalogue, v: volume, block: None, instance: None, holds: &holds };
            let most = |hi: bool| hi.then_some(Choice::Most);
            let bought = Bought { iops: most(f.iops.is_some()), throughput: most(f.throughput.is_some()) };
            assert!(v.gib == volume.capacity_gib[0] || !offer.meets(v.gib - 1.0, bought), "{}", v.id);
        }
    }
}
