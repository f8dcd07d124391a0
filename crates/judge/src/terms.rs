//! The promise of a rate as a step is held against it: figures, tolerance, burst and share of time.

use super::answer::Open;
use super::facts::{DELIVERED, StepFacts};
use super::promised_rates::PromisedRates;
use super::sold_burst::SoldBurst;
use super::thresholds::LEAST_BURST;
use volproof_base::stats::LEAST_QUOTABLE;
use volproof_base::stats::limit_answer::LONGEST_WAIT;
use volproof_base::token_bucket::BucketTerms;
use volproof_promise::catalogue::guarantee::GuaranteedFigure;
use volproof_record::{JudgedPromise, Metric};

/// The promise that a step is held against, in I/Os or bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClaimTerms {
    /// The promise of the reading of the provider's unit that asks least: FAIL needs an interval below it, less the tolerance.
    pub least: f64,
    /// The promise of the reading that asks most: PASS needs an interval above it, less the tolerance.
    pub most: f64,
    /// Share by which the promise may be missed.
    pub tolerance: f64,
    /// The burst of the type, or of the instance.
    pub burst: Option<SoldBurst>,
    /// Share of the time that is promised: by the provider, or by the user's `--min-share`.
    pub time: Option<f64>,
    /// The part of the rate that is promised for that share of the time: 1 where the provider's words grant no less for this rate.
    pub level: f64,
    /// The burst is judged instead of the baseline.
    pub judge_burst: bool,
    /// A type of volume promises it, and gives no more than its figures say.
    pub is_of_a_type: bool,
}

impl ClaimTerms {
    /// The promise of rates, in the unit of the quantity that binds.
    pub fn from_promise(judged_promise: &JudgedPromise, rates: &PromisedRates) -> ClaimTerms {
        let counts_ios = rates.metric() == Metric::Iops;
        let [least, most] = [rates.least, rates.most].map(|at| if counts_ios { at.iops } else { at.bytes });
        let burst = SoldBurst::beyond_promise(judged_promise, &rates.least, least);
        let judges_burst = judged_promise.judge_burst && burst.is_some();
        let is_of_volumes = rates.least.binding.owner() == "volume";
        // The words are about the figures of volumes, and neither about a burst nor about an instance.
        let granted =
            promised_time(judged_promise, rates.metric()).filter(|_| is_of_volumes && !judges_burst);
        ClaimTerms {
            least,
            most,
            tolerance: judged_promise.tolerance,
            burst,
            time: judged_promise.min_share.or(granted.map(|granted| granted.share)),
            level: granted.map_or(1.0, |granted| granted.level),
            judge_burst: judged_promise.judge_burst,
            is_of_a_type: true,
        }
    }

    /// The need of an application for a rate: it has no tolerance, no burst and no type.
    pub fn at_least(limit: f64) -> ClaimTerms {
        ClaimTerms {
            least: limit,
            most: limit,
            tolerance: 0.0,
            burst: None,
            time: None,
            level: 1.0,
            judge_burst: false,
            is_of_a_type: false,
        }
    }

    /// The burst, where it is judged instead of the baseline.
    pub fn judged_burst(&self) -> Option<SoldBurst> {
        self.burst.filter(|_| self.judge_burst)
    }

    /// The two promises that are judged: of the reading that asks least, and of the one that asks most.
    pub fn readings(&self) -> (f64, f64) {
        self.judged_burst().map_or((self.least, self.most), |burst| (burst.per_second, burst.per_second))
    }

    /// The same less the tolerance.
    pub fn limits(&self) -> (f64, f64) {
        let (least, most) = self.readings();
        (least * (1.0 - self.tolerance), most * (1.0 - self.tolerance))
    }

    /// The rate that the promised share of time is about, as a promise of its own.
    pub fn of_guarantee(&self) -> ClaimTerms {
        ClaimTerms { tolerance: 1.0 - self.level * (1.0 - self.tolerance), ..*self }
    }

    /// All that a volume of this promise gives, its burst included.
    pub fn ceiling(&self) -> f64 {
        self.burst.map_or(self.most, |b| b.per_second.max(self.most))
    }

    /// The rate at the end of a step is the baseline: a load that would use any burst had none in its last minute.
    pub fn burst_is_over(&self, s: &StepFacts) -> bool {
        s.is_saturating && self.ends_without_burst(s)
    }

    fn ends_without_burst(&self, s: &StepFacts) -> bool {
        let bursts = self.burst.is_some() && !self.judge_burst;
        bursts && s.seconds >= LEAST_QUOTABLE.as_seconds() && s.last_minute < (1.0 + LEAST_BURST) * self.most
    }

    /// Why a rate that keeps the promise does not show that the volume does: credits of the catalogue's burst could have given it.
    pub fn credits_open(&self, s: &StepFacts, baseline: bool) -> Option<Open> {
        let burst = self.burst.filter(|_| !self.judge_burst && !baseline)?;
        let limit = self.limits().1;
        let bucket = burst.seconds.map(|length| BucketTerms::lasting(self.least, burst.per_second, length));
        if bucket.is_some_and(|bucket| s.mean * s.seconds - bucket.full >= limit * s.seconds) {
            return None;
        }
        if self.ends_without_burst(s) {
            return Some(Open::CreditsMayBeLeft);
        }
        let lasts = bucket.and_then(|bucket| BucketTerms { rate: limit, ..bucket }.seconds_at(s.mean));
        let bearable = lasts.map(|lasts| lasts - s.seconds).filter(|wanted| *wanted <= LONGEST_WAIT);
        Some(Open::Credits {
            more_seconds: bearable.map(|wanted| wanted.max(LEAST_QUOTABLE.as_seconds()).ceil() as u64),
        })
    }

    /// A rate like the baseline: an empty bucket explains it.
    pub fn is_baseline(&self, rate: f64) -> bool {
        (self.least * (1.0 - self.tolerance)..(1.0 + LEAST_BURST) * self.least).contains(&rate)
    }

    /// Seconds of the judged burst that steps have shown: a step at a lower rate used fewer credits.
    pub fn burst_shown(&self, steps: &[StepFacts]) -> f64 {
        let whole = DELIVERED * self.limits().0 - self.least;
        let seconds = |s: &StepFacts| s.seconds * ((s.mean - self.least) / whole).clamp(0.0, 1.0);
        steps.iter().map(seconds).sum()
    }

    /// A rate that the promise does not explain: its burst gives less.
    pub fn is_beyond_the_type(&self, rate: f64) -> bool {
        self.is_of_a_type && rate > (1.0 + LEAST_BURST) * self.ceiling()
    }
}

/// The promise of a rate by both readings of the provider's unit, without tolerance: the one that asks least, and the one that asks most. Of
/// the burst, where that is asked for.
pub fn promised_readings(judged_promise: &JudgedPromise, rates: &PromisedRates) -> (f64, f64) {
    ClaimTerms::from_promise(judged_promise, rates).readings()
}

/// Whether a burst is judged in place of a promised rate: a type may have none at this block size.
pub fn judges_burst(judged_promise: &JudgedPromise, rates: &PromisedRates) -> bool {
    ClaimTerms::from_promise(judged_promise, rates).judged_burst().is_some()
}

/// A promise of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PromisedTime {
    /// The part of the rate that is promised: 1 where the words grant no less.
    pub level: f64,
    /// The share of the time.
    pub share: f64,
}

/// What the provider promises of time for a rate. Several volumes promise together what the weakest of them promises.
pub fn promised_time(judged_promise: &JudgedPromise, metric: Metric) -> Option<PromisedTime> {
    let figure = match metric {
        Metric::Iops => GuaranteedFigure::Iops,
        Metric::Throughput => GuaranteedFigure::Throughput,
        Metric::Latency | Metric::Percentile | Metric::SlowShare => return None,
    };
    let mut weakest: Option<PromisedTime> = None;
    for volume in &judged_promise.promise.volumes {
        let own = volume.guarantee_of(figure)?;
        let so_far = weakest.unwrap_or(PromisedTime { level: 1.0, share: 1.0 });
        weakest =
            Some(PromisedTime { level: so_far.level.min(own.level), share: so_far.share.min(own.time) });
    }
    weakest
}
