//! The burst that a type, or an instance, is sold with.

use volproof_promise::catalogue::volume_promise::{AtBlock, Binding};
use volproof_record::JudgedPromise;

/// The burst that a type, or an instance, is sold with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoldBurst {
    /// Rate while it lasts, in the unit of the claim.
    pub per_second: f64,
    /// How long a full bucket lasts at that rate; absent where nothing is published.
    pub seconds: Option<f64>,
}

impl SoldBurst {
    /// The burst of the binding limit: of the volumes together, or of the instance.
    pub(super) fn beyond_promise(
        judged_promise: &JudgedPromise,
        at: &AtBlock,
        promised: f64,
    ) -> Option<SoldBurst> {
        let by_iops = at.binding.counts_ios();
        let (per_second, seconds) = match (at.binding, &judged_promise.promise.instance) {
            (Binding::InstanceIops | Binding::InstanceThroughput, Some(i)) => {
                (if by_iops { i.iops_burst? } else { i.bytes_burst? }, i.burst_seconds)
            }
            _ => SoldBurst::of_volumes(judged_promise, at, promised)?,
        };
        (per_second > promised).then_some(SoldBurst { per_second, seconds })
    }

    /// The rate of all volumes while they burst, and how long the longest of their buckets lasts. As the promise at this block size is to the
    /// provider's figure, so is the burst; a burst of I/Os carries no more bytes than the volumes' throughput, which may burst too.
    pub(crate) fn of_volumes(
        judged_promise: &JudgedPromise,
        at: &AtBlock,
        promised: f64,
    ) -> Option<(f64, Option<f64>)> {
        let by_iops = at.binding.counts_ios();
        let (mut sum, mut longest, mut any) = (0.0, Some(0.0f64), false);
        let (mut bases, mut bytes) = (0.0, Some(0.0));
        for v in &judged_promise.promise.volumes {
            let unit = if by_iops { 1.0 } else { v.unit.bytes as f64 };
            let base = if by_iops { v.level.iops.read } else { v.level.throughput.read }?;
            let burst = v.level.burst.as_ref();
            let rate = burst.and_then(|b| if by_iops { b.iops } else { b.throughput }).filter(|b| *b > base);
            any |= rate.is_some();
            if rate.is_some() {
                longest = longest.zip(burst.and_then(|b| b.seconds)).map(|(a, b)| a.max(b));
            }
            sum += rate.unwrap_or(base) * unit;
            bases += base * unit;
            let throughput = burst.and_then(|b| b.throughput).or(v.level.throughput.read);
            bytes = bytes.zip(throughput).map(|(all, own)| all + own * v.unit.bytes as f64);
        }
        let in_proportion = sum / bases * promised;
        let block = at.bytes / at.iops;
        let by_bytes = bytes.filter(|_| by_iops).map_or(f64::INFINITY, |bytes| bytes / block);
        any.then_some((in_proportion.min(by_bytes), longest))
    }
}
