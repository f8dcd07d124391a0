//! The buckets that a promise puts in front of a demand: I/Os and bytes, of the volume and of its instance.
//!
//! A burst counts where the provider says how long it lasts; one that must be switched on and is billed does not. Where the unit of a throughput is
//! in doubt, the lesser reading counts.

use serde::Serialize;

use crate::demand::{Demand, DemandMoment};
use volproof_base::token_bucket::BucketTerms;
use volproof_promise::catalogue::Promise;
use volproof_promise::catalogue::instance::InstanceCap;
use volproof_promise::catalogue::promised_level::EachDirection;
use volproof_promise::catalogue::volume_promise::{Reading, VolumePromise};

/// Whose limit it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitOwner {
    /// The volume.
    Volume,
    /// The instance.
    Instance,
}

impl LimitOwner {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            LimitOwner::Volume => "volume",
            LimitOwner::Instance => "instance",
        }
    }
}

/// A bucket, and what an I/O costs there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BucketLimit {
    /// Whose it is.
    pub owner: LimitOwner,
    /// Tokens are bytes, and not I/Os.
    pub counts_bytes: bool,
    /// Whether reads and writes need its tokens.
    pub directions: [bool; 2],
    /// What it gives.
    pub terms: BucketTerms,
    /// A larger I/O counts as several of so many bytes; a smaller one costs so many bytes. Neither, where 0.
    pub unit_bytes: f64,
}

impl BucketLimit {
    /// Tokens that an I/O of a moment costs in the mean.
    pub fn cost(&self, moment: &DemandMoment) -> f64 {
        let tokens =
            |d: usize| if self.directions[d] { self.tokens(moment.ios[d], moment.bytes[d]) } else { 0.0 };
        (tokens(0) + tokens(1)) / moment.all_ios()
    }

    /// Tokens a second that a demand needs in the mean.
    pub fn mean_per_second(&self, demand: &Demand) -> f64 {
        let (mut tokens, mut seconds) = (0.0, 0.0);
        for moment in &demand.moments {
            seconds += moment.seconds;
            if moment.all_ios() > 0.0 {
                tokens += self.cost(moment) * moment.all_ios();
            }
        }
        tokens / seconds
    }

    fn tokens(&self, ios: f64, bytes: f64) -> f64 {
        if self.counts_bytes {
            return bytes.max(ios * self.unit_bytes);
        }
        if self.unit_bytes == 0.0 || ios == 0.0 {
            return ios;
        }
        ios * (bytes / ios / self.unit_bytes).ceil().max(1.0)
    }
}

/// The buckets of a promise of one volume; none where the provider publishes no figures for it.
pub fn limits_of(promise: &Promise) -> Option<Vec<BucketLimit>> {
    let volume = promise.volumes.first()?;
    let mut limits = of_volume(volume)?;
    if let Some(instance) = &promise.instance {
        limits.extend(of_instance(instance));
    }
    Some(limits)
}

fn of_volume(v: &VolumePromise) -> Option<Vec<BucketLimit>> {
    let burst = v.level.burst.as_ref();
    let seconds = burst.and_then(|burst| burst.seconds);
    let unit = [Reading::Likely, Reading::Other].map(|r| v.unit.bytes_in(r)).into_iter().min()? as f64;
    let ios = PublishedLimit {
        owner: LimitOwner::Volume,
        counts_bytes: false,
        rates: v.level.iops,
        burst: burst.and_then(|burst| burst.iops).zip(seconds),
        unit_bytes: v.split.map_or(0.0, |split| split.0 as f64),
    };
    let bytes = PublishedLimit {
        owner: LimitOwner::Volume,
        counts_bytes: true,
        rates: v.level.throughput.map(|figure| figure * unit),
        burst: burst.and_then(|burst| burst.throughput).map(|figure| figure * unit).zip(seconds),
        unit_bytes: v.charged_block().map_or(0.0, |block| block.0 as f64),
    };
    let (ios, bytes) = (ios.limits(), bytes.limits());
    (!ios.is_empty() && !bytes.is_empty()).then(|| [ios, bytes].concat())
}

fn of_instance(cap: &InstanceCap) -> Vec<BucketLimit> {
    let published = |counts_bytes, rates, burst: Option<f64>| PublishedLimit {
        owner: LimitOwner::Instance,
        counts_bytes,
        rates,
        burst: burst.zip(cap.burst_seconds),
        unit_bytes: 0.0,
    };
    let ios = published(false, cap.iops, cap.iops_burst);
    let bytes = published(true, cap.bytes, cap.bytes_burst);
    [ios.limits(), bytes.limits()].concat()
}

/// A figure as a provider publishes it.
struct PublishedLimit {
    owner: LimitOwner,
    counts_bytes: bool,
    rates: EachDirection,
    /// The rate of the burst, and the seconds that a full bucket lasts.
    burst: Option<(f64, f64)>,
    unit_bytes: f64,
}

impl PublishedLimit {
    /// One bucket for both directions, unless they differ.
    fn limits(&self) -> Vec<BucketLimit> {
        let each = [([true, true], self.rates.same())];
        let apart = [([true, false], self.rates.read), ([false, true], self.rates.write)];
        let found = if self.rates.same().is_some() { &each[..] } else { &apart[..] };
        found.iter().filter_map(|(directions, rate)| Some(self.limit(*directions, (*rate)?))).collect()
    }

    fn limit(&self, directions: [bool; 2], rate: f64) -> BucketLimit {
        let terms = match self.burst {
            Some((burst, seconds)) => BucketTerms::lasting(rate, burst, seconds),
            None => BucketTerms::even(rate),
        };
        let PublishedLimit { owner, counts_bytes, unit_bytes, .. } = *self;
        BucketLimit { owner, counts_bytes, directions, terms, unit_bytes }
    }
}
