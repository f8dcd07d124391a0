//! Rates above the promise of a volume: its burst, the figures that are sold beyond the one that was named, and another type.
//!
//! A burst is no baseline. It is judged where the user asks for it, as a rate and as the time that it lasts.

use super::claim::PromisedRates;
use super::claim_terms::ClaimTerms;
use super::figure;
use crate::catalogue::volume_promise::{AtBlock, Binding, VolumePromise};
use crate::record::{JudgedPromise, Metric};
use crate::unit::{Nanos, significant};

/// A rate above this multiple of the highest rate of the type comes from another type.
const BEYOND_THE_TYPE: f64 = 1.10;
/// A rate above this multiple of the promise is a burst, where the type bursts.
pub(super) const ABOVE_THE_PROMISE: f64 = 1.02;

/// The burst that a type, or an instance, is sold with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoldBurst {
    /// Rate while it lasts, in the unit of the claim.
    pub per_second: f64,
    /// How long a full bucket lasts at that rate; absent where nothing is published.
    pub seconds: Option<f64>,
}

impl SoldBurst {
    /// The burst of what binds: of the volumes together, or of the instance.
    pub(super) fn of(judged_promise: &JudgedPromise, at: &AtBlock, promised: f64) -> Option<SoldBurst> {
        let by_iops = at.binding.counts_ios();
        let (per_second, seconds) = match (at.binding, &judged_promise.promise.instance) {
            (Binding::InstanceIops | Binding::InstanceThroughput, Some(i)) => {
                (if by_iops { i.iops_burst? } else { i.bytes_burst? }, i.burst_seconds)
            }
            _ => {
                let (mut sum, mut longest, mut any) = (0.0, Some(0.0f64), false);
                for v in &judged_promise.promise.volumes {
                    let unit = if by_iops { 1.0 } else { v.unit.bytes as f64 };
                    let base = if by_iops { v.level.iops.read } else { v.level.throughput.read }?;
                    let burst = v.level.burst.as_ref();
                    let rate =
                        burst.and_then(|b| if by_iops { b.iops } else { b.throughput }).filter(|b| *b > base);
                    any |= rate.is_some();
                    if rate.is_some() {
                        longest = longest.zip(burst.and_then(|b| b.seconds)).map(|(a, b)| a.max(b));
                    }
                    sum += rate.unwrap_or(base) * unit;
                }
                any.then_some((sum, longest))?
            }
        };
        (per_second > promised).then_some(SoldBurst { per_second, seconds })
    }

    /// How many seconds a full bucket lasts at a rate: credits go at the rate beyond the baseline.
    pub(super) fn at_rate(&self, rate: f64, baseline: f64) -> Option<f64> {
        self.seconds.map(|s| s * (self.per_second - baseline) / (rate - baseline).max(1e-9))
    }
}

/// A figure of a type that is bought by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoldRange {
    /// The most that is sold at this size, in the unit of the claim.
    pub most: f64,
    /// The figure.
    pub metric: Metric,
    /// The user named the IOPS that were bought.
    pub iops_named: bool,
}

impl SoldRange {
    /// The figure of a binding limit of the volumes; `None` where it is not bought by itself, or is limited by the instance.
    pub(super) fn of(judged_promise: &JudgedPromise, binding: Binding) -> Option<SoldRange> {
        let metric = match binding {
            Binding::VolumeIops => Metric::Iops,
            Binding::VolumeThroughput => Metric::Throughput,
            _ => return None,
        };
        let most = |v: &VolumePromise| match metric {
            Metric::Iops => v.level.iops_range.filter(|range| range.lo > 0.0).map(|range| range.hi),
            _ => v.level.throughput_range.filter(|range| range.lo > 0.0).map(|r| r.hi * v.unit.bytes as f64),
        };
        let most = judged_promise.promise.volumes.iter().map(most).sum::<Option<f64>>()?;
        let iops_named = judged_promise.options.iter().any(|word| word == "--iops");
        Some(SoldRange { most, metric, iops_named })
    }

    /// The question to a user whose volume does more than the promise that was named.
    fn question(&self, promised: f64) -> String {
        let option = if self.metric == Metric::Iops { "--iops" } else { "--throughput" };
        let unit = if self.metric == Metric::Iops { " IOPS" } else { "" };
        format!(
            "more than the {}{unit} that are promised: was more bought? Give it with {option} (sold up to {} here)",
            figure(self.metric, promised),
            figure(self.metric, self.most)
        )
    }
}

/// A rate above the promise: a burst that will end, or another type.
pub struct Excess {
    /// Why the promise is not decided by it.
    pub reason: String,
    /// How much longer the burst may last, with a minute of what follows.
    pub more_seconds: Option<u64>,
}

impl Excess {
    /// `None` for a rate near to the promise, or where the type has no burst that explains a little more.
    pub fn of(rate: f64, seconds: f64, terms: &ClaimTerms) -> Option<Excess> {
        let ceiling = terms.burst.map_or(terms.most, |b| b.per_second.max(terms.most));
        // A burst that the user asked to judge is no excess.
        let asked = if terms.judged_burst().is_some() {
            BEYOND_THE_TYPE * ceiling
        } else {
            ABOVE_THE_PROMISE * terms.most
        };
        if rate <= asked {
            return None;
        }
        if let Some(beyond) = Excess::beyond(rate, terms) {
            return Some(beyond);
        }
        let burst = terms.burst?;
        let lasts = burst.at_rate(rate, terms.least);
        let more_seconds = lasts.map(|s| (s - seconds + 60.0).max(60.0).ceil() as u64);
        let wait = match (lasts, more_seconds) {
            (Some(s), Some(more)) => format!(
                "a full bucket lasts {} at this rate, so measure {} longer",
                Nanos::seconds(s.ceil() as u64).clock(),
                Nanos::seconds(more).clock()
            ),
            _ => "how long it lasts is not published".into(),
        };
        let reason = format!(
            "the measurement lies inside the burst that this type has; {wait}, or judge the burst with --promise-burst"
        );
        Some(Excess { reason, more_seconds })
    }

    /// A rate that no burst of the type explains: more was bought, or it is another type.
    pub(super) fn beyond(rate: f64, terms: &ClaimTerms) -> Option<Excess> {
        let ceiling = terms.burst.map_or(terms.most, |b| b.per_second.max(terms.most));
        if rate <= BEYOND_THE_TYPE * ceiling {
            return None;
        }
        let sold = terms.sold.filter(|sold| rate <= BEYOND_THE_TYPE * sold.most && sold.most > terms.most);
        if let Some(sold) = sold {
            return Some(Excess { reason: sold.question(terms.most), more_seconds: None });
        }
        // Nothing that is sold explains the rate. How much throughput is sold may depend on the IOPS, which may not have been named.
        let ceiling = terms.sold.map_or(ceiling, |sold| sold.most.max(ceiling));
        let (given, more) = match terms.sold.filter(|sold| sold.metric == Metric::Throughput) {
            Some(sold) => (
                if sold.iops_named {
                    " with the IOPS that were named"
                } else {
                    " with the IOPS that it includes"
                },
                " was more bought (--iops, --throughput),",
            ),
            None => ("", ""),
        };
        let reason = format!(
            "{} % of all that this type can give at this size{given}:{more} was the right type and size named, and does the I/O reach the \
             volume?",
            significant(100.0 * rate / ceiling)
        );
        Some(Excess { reason, more_seconds: None })
    }
}

/// The question to a user whose volume exceeds every promise that was named. The rate is given in I/Os and in bytes a second. A course asks
/// the same question as the verdict.
pub fn question_of_excess(
    judged_promise: &JudgedPromise,
    rates: &PromisedRates,
    (iops, bytes): (f64, f64),
) -> Option<String> {
    let counts_ios = rates.metric() == Metric::Iops;
    let pick = |at: &AtBlock| if counts_ios { at.iops } else { at.bytes };
    let terms = ClaimTerms::of(judged_promise, &rates.least, &rates.most, pick);
    Excess::beyond(if counts_ios { iops } else { bytes }, &terms).map(|excess| excess.reason)
}
