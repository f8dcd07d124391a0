//! The answer: what is there now, what would be enough, and what would be too small.

use serde::Serialize;

use crate::bucket_limit::limits_of;
use crate::demand::{Demand, DemandSummary};
use crate::price_table::PriceTable;
use crate::replay::{Replay, replay};
use volproof_promise::catalogue::entry::Volume;
use volproof_promise::catalogue::instance::InstanceCap;
use volproof_promise::catalogue::promised_level::{Bought, Choice};
use volproof_promise::catalogue::volume_promise::VolumePromise;
use volproof_promise::catalogue::{Catalogue, Promise, PromiseError};

/// What is asked.
#[derive(Debug)]
pub struct SizeQuestion<'a> {
    /// The volumes that are sold.
    pub catalogue: &'a Catalogue,
    /// What they must carry.
    pub demand: &'a Demand,
    /// What carries it now.
    pub now: Option<Promise>,
    /// The instance that the volume is to be attached to.
    pub instance: Option<String>,
    /// The provider whose types are looked at; all, where none is named.
    pub provider: Option<String>,
    /// The least capacity, in GiB.
    pub least_gib: Option<f64>,
    /// The share of I/Os that may be late.
    pub most_late: f64,
    /// What the user pays.
    pub prices: Option<&'a PriceTable>,
}

/// A volume, on its instance where that is known, under the demand.
#[derive(Clone, Debug, Serialize)]
pub struct SizeRow {
    /// The type, `aws:gp3`.
    pub volume: String,
    /// Its capacity.
    pub gib: f64,
    /// Its IOPS: of reads.
    pub iops: Option<f64>,
    /// Its throughput, of reads, in its unit.
    pub throughput: Option<f64>,
    /// The unit, as the provider prints it.
    pub throughput_unit: String,
    /// The instance.
    pub instance: Option<String>,
    /// The demand went like this.
    pub replay: Replay,
    /// No more I/Os were late than may be, and credits that were spent are earned again.
    pub is_enough: bool,
    /// Its price a month, without that of the instance.
    pub price: Option<f64>,
    /// The price of the instance a month.
    pub instance_price: Option<f64>,
}

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct SizeAnswer {
    /// What was asked for.
    pub demand: DemandSummary,
    /// The share of I/Os that may be late.
    pub most_late: f64,
    /// The word behind each price.
    pub currency: Option<String>,
    /// What is there.
    pub now: Option<SizeRow>,
    /// What would be enough: of the present type where that has one, else the first of all types. Absent without a present volume and prices.
    pub enough: Option<SizeRow>,
    /// The same with less performance.
    pub too_small: Option<SizeRow>,
    /// The same on the next smaller instance.
    pub smaller: Option<SizeRow>,
    /// The smallest of each type that is enough: the cheapest first, those without a price behind them by provider and size.
    pub types: Vec<SizeRow>,
    /// The largest of each other type, the nearest to enough first.
    pub not_enough: Vec<SizeRow>,
}

impl SizeQuestion<'_> {
    /// Looks for the answer; nothing where the demand is none.
    ///
    /// # Errors
    /// An instance that has no limits for any of the types.
    pub fn answer(&self) -> Result<Option<SizeAnswer>, PromiseError> {
        let Some(demand) = self.demand.summary() else { return Ok(None) };
        let (mut types, mut not_enough, mut smallest) = (Vec::new(), Vec::new(), Vec::new());
        for (v, instance) in self.offers()? {
            let found =
                self.catalogue.smallest_volume(v, self.least_gib, instance.clone(), &|p| self.is_enough(p));
            if let Some(found) = found {
                types.extend(self.row(&found.promise));
                smallest.push((v, found.promise));
            } else {
                let most = self.catalogue.largest_volume(v, instance);
                not_enough.extend(most.and_then(|most| self.row(&most)));
            }
        }
        types.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
        not_enough.sort_by(|a, b| a.replay.late_share.total_cmp(&b.replay.late_share));
        let now = self.now.as_ref().and_then(|promise| self.row(promise));
        let is_compared = now.is_some() || self.prices.is_some();
        let of_now = types.iter().find(|row| now.as_ref().is_some_and(|now| now.volume == row.volume));
        let kind = of_now.or(types.first()).filter(|_| is_compared).map(|row| row.volume.clone());
        let enough = smallest.iter().find(|(v, _)| Some(v.id()) == kind);
        Ok(Some(SizeAnswer {
            demand,
            most_late: self.most_late,
            currency: self.prices.map(|prices| prices.currency.clone()),
            now,
            enough: enough.and_then(|(_, promise)| self.row(promise)),
            too_small: enough.and_then(|(v, promise)| self.too_small(v, promise)),
            smaller: enough.and_then(|(v, promise)| self.on_smaller_instance(v, promise)),
            types,
            not_enough,
        }))
    }

    /// The types that are looked at, each with the limits of the instance.
    fn offers(&self) -> Result<Vec<(&Volume, Option<InstanceCap>)>, PromiseError> {
        let provider = self.provider.as_deref();
        let asked = |v: &&Volume| v.is_sold() && provider.is_none_or(|p| p == v.provider);
        let volumes = self.catalogue.volumes.iter().filter(asked);
        let Some(instance) = &self.instance else { return Ok(volumes.map(|v| (v, None)).collect()) };
        let (mut offers, mut error) = (Vec::new(), None);
        for v in volumes {
            match self.catalogue.instance_cap(instance, v, None) {
                Ok(cap) => offers.push((v, Some(cap))),
                Err(e) if error.is_none() || has_suggestion(&e) => error = Some(e),
                Err(_) => {}
            }
        }
        match error.filter(|_| offers.is_empty()) {
            Some(e) => Err(e),
            None => Ok(offers),
        }
    }

    fn is_enough(&self, promise: &Promise) -> bool {
        let seen = limits_of(promise).and_then(|limits| replay(self.demand, &limits, self.most_late));
        seen.is_some_and(|seen| seen.is_lasting())
    }

    /// The demand on a volume; nothing where no figures of it are published.
    fn row(&self, promise: &Promise) -> Option<SizeRow> {
        let volume: &VolumePromise = promise.volumes.first()?;
        let replay = replay(self.demand, &limits_of(promise)?, f64::INFINITY)?;
        let instance = promise.instance.as_ref().map(|cap| cap.name.clone());
        Some(SizeRow {
            volume: volume.id.clone(),
            gib: volume.gib,
            iops: volume.level.iops.read,
            throughput: volume.level.throughput.read,
            throughput_unit: volume.unit.printed.clone(),
            is_enough: replay.late_share <= self.most_late && replay.is_lasting(),
            replay,
            price: self.prices.and_then(|prices| prices.of_volume(volume)),
            instance_price: self
                .prices
                .zip(instance.as_ref())
                .and_then(|(prices, name)| prices.of_instance(name)),
            instance,
        })
    }

    /// A volume of this size with the least performance that it is sold with, or of half of the size where size decides; nothing where that would do.
    fn too_small(&self, v: &Volume, enough: &Promise) -> Option<SizeRow> {
        let gib = enough.volumes.first()?.gib;
        let least = Bought {
            iops: (v.iops_hi.is_some() || v.iops_extra_hi.is_some()).then_some(Choice::Least),
            throughput: (v.throughput_hi.is_some() || v.extra_per_unit.is_some()).then_some(Choice::Least),
        };
        let is_bought = least.iops.is_some() || least.throughput.is_some();
        let gib = if is_bought { gib } else { (gib / 2.0).floor() };
        let volume = VolumePromise::at_capacity(self.catalogue, v, gib, least, None).ok()?;
        self.row(&Promise { volumes: vec![volume], ..enough.clone() }).filter(|row| !row.is_enough)
    }

    fn on_smaller_instance(&self, v: &Volume, enough: &Promise) -> Option<SizeRow> {
        let smaller = self.catalogue.smaller_instance(enough.instance.as_ref()?, v)?;
        self.row(&Promise { instance: Some(smaller), ..enough.clone() })
    }
}

/// The name is nearly that of an instance.
fn has_suggestion(error: &PromiseError) -> bool {
    matches!(error, PromiseError::UnknownInstance { near, .. } if !near.is_empty())
        || matches!(error, PromiseError::NoLimit { .. })
}

/// Rows with a price come first, the cheapest of them first.
fn order(row: &SizeRow) -> (bool, f64, &str, f64, &str) {
    let provider = row.volume.split(':').next().unwrap_or_default();
    (row.price.is_none(), row.price.unwrap_or_default(), provider, row.gib, &row.volume)
}
