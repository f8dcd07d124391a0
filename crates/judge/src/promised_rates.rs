//! The promise of a rate at a block size.

use super::saturating_depth::saturating_depth;
use super::terms::promised_readings;
use volproof_base::unit::Bytes;
use volproof_promise::catalogue::promised_level;
use volproof_promise::catalogue::volume_promise::{AtBlock, Reading as UnitReading};
use volproof_record::{
    Conditions, JudgedPromise, Metric, load_without_promise, promise_direction as direction,
};

/// The promise of a rate at a block size: the reading of the unit that asks least, and the one that asks most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PromisedRates {
    /// The promise of the reading that asks least: a FAIL needs a bound below it, less the tolerance.
    pub least: AtBlock,
    /// The promise of the reading that asks most: a PASS needs a bound of at least that, less the tolerance.
    pub most: AtBlock,
}

impl PromisedRates {
    /// At a block size in a direction.
    pub fn at_block(
        judged_promise: &JudgedPromise,
        block: Bytes,
        d: promised_level::PromiseDirection,
    ) -> Option<PromisedRates> {
        let least = judged_promise.promise.least(block, d)?;
        let readings =
            [UnitReading::Likely, UnitReading::Other].map(|r| judged_promise.promise.at(block, d, r));
        let most = readings.into_iter().flatten().max_by(|a, b| a.bytes.total_cmp(&b.bytes))?;
        // A promise of 0 is none: no figure is a share of 0.
        let rates = [least.iops, least.bytes, most.bytes];
        rates.iter().all(|rate| rate.is_finite() && *rate > 0.0).then_some(PromisedRates { least, most })
    }

    /// The rates of a step, where its load has a promise.
    pub fn of_load(judged_promise: &JudgedPromise, conditions: &Conditions) -> Option<PromisedRates> {
        let pattern = conditions.pattern()?;
        let block = conditions.single_block()?;
        if load_without_promise(&judged_promise.promise, block, pattern).is_some() {
            return None;
        }
        PromisedRates::at_block(judged_promise, block, direction(pattern)?)
    }

    /// The quantity that binds there.
    pub fn metric(&self) -> Metric {
        if self.least.binding.counts_ios() { Metric::Iops } else { Metric::Throughput }
    }

    /// The saturating depth of what is judged at a block size: of the promise, or of its burst.
    pub fn saturating_depth(&self, judged_promise: &JudgedPromise, block: Bytes) -> u64 {
        let (rate, _) = promised_readings(judged_promise, self);
        saturating_depth(rate, block, self.least.binding.counts_ios())
    }
}
