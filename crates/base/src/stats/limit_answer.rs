//! Whether a promise was kept: yes, no, or not yet known, the last with the time that should settle it.
//!
//! A level claim compares a one-sided 95 % bound with the promise less its tolerance, so an answer is wrong at most once in
//! twenty, and a run that is too short for its own interval answers nothing. An availability claim ("90 % of the rate for
//! 99 % of the time") counts seconds. Whether a result may be judged at all (blockers, wrong depth, wrong block size) and
//! what the promise is belong to the verdict, not here.

use serde::{Deserialize, Serialize};

use super::mean_latency::MeanLatency;
use super::percentile::{ABOVE, Percentile, printable};
use super::share_interval::beta_quantile;
use super::{BATCHES, CONFIDENCE, LEAST_QUOTABLE};
use crate::unit::Nanos;

/// Tolerance of a promised rate unless the user sets another.
pub const TOLERANCE: f64 = 0.02;
/// Waiting longer than this is no advice: a week, in seconds.
pub const LONGEST_WAIT: f64 = 7.0 * 86_400.0;
/// Whether a figure keeps its limit, by the bounds of the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitAnswer {
    /// The claim holds.
    Pass,
    /// The claim does not hold.
    Fail,
    /// The evidence does not decide.
    Inconclusive,
}

/// An answer with the evidence that it rests on. Values are in the unit of the claim: per second, or nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimAnswer {
    /// The answer.
    pub answer: LimitAnswer,
    /// The measured value.
    pub value: f64,
    /// The limit that decides: the promise less (or, for latency, plus) its tolerance.
    pub limit: f64,
    /// Value over promise; above 1 means more than was promised.
    pub ratio: f64,
    /// Bounds of the value that were compared with the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<(f64, f64)>,
    /// How many more seconds should decide. Only without a decision, and absent when a week would not be enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_seconds: Option<u64>,
}

impl ClaimAnswer {
    /// A value beside its limit, which nothing has decided.
    pub fn open(
        value: f64,
        limit: f64,
        bounds: Option<(f64, f64)>,
        more_seconds: Option<u64>,
    ) -> ClaimAnswer {
        let answer = LimitAnswer::Inconclusive;
        ClaimAnswer { answer, value, limit, ratio: value / limit, bounds, more_seconds }
    }
}

/// "p`q` at most `limit`", from the two-sided interval of the percentile and from the bounds of the share of samples `above` the limit.
///
/// The answer is open where too few independent samples carry the interval: the percentile may not be printed, and the share above the
/// limit may be more or less than `1 - q`. From the length of the run the answer says how much longer it would have to be; the share needs
/// less than the percentile where all samples lie on one side of the limit. A run that is too short to quote keeps no limit.
pub fn percentile(found: &Percentile, above: (f64, f64), limit: Nanos, seconds: f64) -> ClaimAnswer {
    let value = found.value_ns.0 as f64;
    let bounds = found.interval.map(|b| (b.low_ns.0 as f64, b.high_ns.0 as f64));
    let finding = ClaimAnswer::open(value, limit.0 as f64, bounds, None);
    let allowed = 1.0 - found.share;
    let carried = printable(found.effective_samples, found.share) || above.0 > allowed || above.1 < allowed;
    match finding.bounds {
        Some(bounds) if carried => {
            let towards = if value > finding.limit { value - bounds.0 } else { bounds.1 - value };
            let decided = decide(finding, bounds, towards, seconds);
            let short = seconds < LEAST_QUOTABLE.as_seconds() && decided.answer == LimitAnswer::Pass;
            let more = short.then(|| patience(LEAST_QUOTABLE.as_seconds() - seconds)).flatten();
            if short { ClaimAnswer { more_seconds: more, ..finding } } else { decided }
        }
        _ => {
            let samples = ABOVE / (found.effective_samples * allowed);
            let total = (seconds * samples.max(1.0)).max(BATCHES as f64);
            ClaimAnswer { more_seconds: patience(total - seconds), ..finding }
        }
    }
}

/// "On average at most `promised`", plus the tolerance (a share).
pub fn mean_latency(found: &MeanLatency, promised: Nanos, tolerance: f64) -> ClaimAnswer {
    let limit = promised.0 as f64 * (1.0 + tolerance);
    let ratio = found.mean_ns / promised.0 as f64;
    let open = ClaimAnswer::open(found.mean_ns, limit, found.one_sided(CONFIDENCE), None);
    let finding = ClaimAnswer { ratio, ..open };
    match finding.bounds {
        Some(bounds) if found.seconds >= LEAST_QUOTABLE.as_seconds() => {
            decide(finding, bounds, bounds.1 - found.mean_ns, found.seconds)
        }
        _ => {
            let total = (2.0 * found.seconds).max(LEAST_QUOTABLE.as_seconds());
            ClaimAnswer { more_seconds: patience(total - found.seconds), ..finding }
        }
    }
}

/// Compares bounds with the limit; `half` is the distance from the value to the bound that faces the limit.
fn decide(finding: ClaimAnswer, (low, high): (f64, f64), half: f64, seconds: f64) -> ClaimAnswer {
    let answer = if high <= finding.limit {
        LimitAnswer::Pass
    } else if low > finding.limit {
        LimitAnswer::Fail
    } else {
        LimitAnswer::Inconclusive
    };
    let distance = (finding.value - finding.limit).abs();
    let more_seconds = (answer == LimitAnswer::Inconclusive)
        .then(|| if distance > 0.0 { seconds * ((half / distance).powi(2) - 1.0) } else { f64::INFINITY })
        .and_then(patience);
    ClaimAnswer { answer, more_seconds, ..finding }
}

/// A waiting time that can be advised.
fn patience(seconds: f64) -> Option<u64> {
    (seconds <= LONGEST_WAIT).then(|| seconds.max(1.0).ceil() as u64)
}

/// The share of the time in which a level was reached, with its bounds (Clopper and Pearson 1934, each one-sided at 95 %).
///
/// Seconds below the level that follow each other are one event. A second longer or shorter says nothing new about it: as many seconds count
/// as one as such an event has on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeShare {
    /// Seconds that reached the level.
    good: u64,
    /// Whole seconds measured.
    units: u64,
    /// Seconds that count as one; at least 1.
    event_units: f64,
    /// Lower bound of the share.
    pub low: f64,
    /// Upper bound; 1 where a single event says nothing of how often it comes.
    pub high: f64,
}

impl TimeShare {
    /// Share of the seconds that reached the level.
    pub fn of_seconds(units: &[bool]) -> TimeShare {
        let good = units.iter().filter(|good| **good).count() as u64;
        let events = units.chunk_by(|a, b| a == b).filter(|run| !run[0]).count();
        TimeShare::counted(good, units.len() as u64, events as u64)
    }

    /// The share of `good` out of `units`, where those that are not good came in so many events.
    pub fn counted(good: u64, units: u64, events: u64) -> TimeShare {
        // Without a good second, each is evidence by itself.
        let event_units = if good == 0 { 1.0 } else { (units - good) as f64 / events.max(1) as f64 };
        let event_units = event_units.max(1.0);
        TimeShare {
            good,
            units,
            event_units,
            low: lower_of_units(good, units, event_units),
            // How often a single event comes, and how long it usually lasts, nobody knows; one that fills most of the run is its usual state.
            high: if events == 1 && 2 * good >= units {
                1.0
            } else {
                1.0 - lower_of_units(units - good, units, event_units)
            },
        }
    }

    /// The share.
    pub fn share(&self) -> f64 {
        self.good as f64 / self.units.max(1) as f64
    }

    /// "The level is reached for at least a share `promised` of the time": a short run can refute it but not confirm it.
    pub fn answer(&self, promised: f64) -> LimitAnswer {
        if self.high < promised {
            LimitAnswer::Fail
        } else if self.low >= promised {
            LimitAnswer::Pass
        } else {
            LimitAnswer::Inconclusive
        }
    }

    /// Fewest further seconds, all good, that would confirm the claim; `None` beyond ten million.
    pub fn more_seconds(&self, promised: f64) -> Option<u64> {
        let (mut low, mut high) = (0, 1);
        while self.low_after(high) < promised {
            low = high;
            high *= 2;
            if high > 10_000_000 {
                return None;
            }
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.low_after(middle) >= promised { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// The lower bound after so many further seconds, all good.
    fn low_after(&self, more: u64) -> f64 {
        lower_of_units(self.good + more, self.units + more, self.event_units)
    }
}

/// The lower bound of `good` out of `units` seconds, where `event_units` of them count as one.
fn lower_of_units(good: u64, units: u64, event_units: f64) -> f64 {
    lower(good as f64 / event_units, units as f64 / event_units)
}

/// Lower Clopper-Pearson bound of `k` out of `n`, which need not be whole.
fn lower(k: f64, n: f64) -> f64 {
    if k <= 0.0 { 0.0 } else { beta_quantile(k, (n - k).max(0.0) + 1.0, 1.0 - CONFIDENCE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::stats::CONFIDENCE;
    use crate::stats::percentile::PercentileBounds;
    use crate::stats::share_interval::share_bounds;

    #[test]
    fn a_percentile_has_three_answers() {
        let p = |low, high, effective_samples| Percentile {
            name: "99".into(),
            share: 0.99,
            value_ns: Nanos(1_000),
            effective_samples,
            interval: Some(PercentileBounds {
                confidence: CONFIDENCE,
                low_ns: Nanos(low),
                high_ns: Nanos(high),
            }),
        };
        let of = |found: &Percentile, limit, seconds| percentile(found, (0.0, 1.0), Nanos(limit), seconds);
        assert_eq!(of(&p(900, 1_100, 1e5), 1_100, 60.0).answer, LimitAnswer::Pass);
        assert_eq!(of(&p(900, 1_100, 1e5), 899, 60.0).answer, LimitAnswer::Fail);
        let found = of(&p(900, 1_100, 1e5), 1_050, 60.0);
        assert_eq!((found.answer, found.more_seconds), (LimitAnswer::Inconclusive, Some(180)));
        let few = p(900, 1_100, 250.0);
        let found = of(&few, 2_000, 60.0);
        let open = (LimitAnswer::Inconclusive, Some(180));
        assert_eq!((found.answer, found.more_seconds), open, "2.5 of 10 samples");
        // All of the 250 lie below the limit, or above it: at most 1.5 %, and at least 98.5 % are above. 400 are enough for 1 %.
        let share = |k, n| share_bounds(k, n);
        assert_eq!(percentile(&few, share(0.0, 250.0), Nanos(2_000), 60.0).answer, LimitAnswer::Inconclusive);
        assert_eq!(percentile(&few, share(0.0, 400.0), Nanos(2_000), 60.0).answer, LimitAnswer::Pass);
        assert_eq!(percentile(&few, share(250.0, 250.0), Nanos(800), 60.0).answer, LimitAnswer::Fail);
        let found = percentile(&few, share(250.0, 250.0), Nanos(1_000), 60.0);
        assert_eq!(found.answer, LimitAnswer::Inconclusive, "the interval holds the limit");
        let found = of(&p(900, 1_100, 1e5), 1_100, 20.0);
        assert_eq!(
            (found.answer, found.more_seconds),
            (LimitAnswer::Inconclusive, Some(40)),
            "too short to quote"
        );
        assert_eq!(of(&p(900, 1_100, 1e5), 899, 20.0).answer, LimitAnswer::Fail);
    }

    #[test]
    fn a_mean_latency_has_three_answers() {
        let bins: Vec<(u64, Nanos)> =
            (0..900).map(|i: u64| (500, Nanos::micros(500 * (195 + i * i * 31 % 11)))).collect();
        let m = MeanLatency::from_bins(&bins).unwrap();
        assert_eq!(mean_latency(&m, Nanos::micros(210), 0.0).answer, LimitAnswer::Pass);
        assert_eq!(mean_latency(&m, Nanos::micros(190), 0.0).answer, LimitAnswer::Fail);
        let short = MeanLatency::from_bins(&bins[..400]).unwrap();
        let found = mean_latency(&short, Nanos::micros(190), 0.0);
        assert_eq!((found.answer, found.more_seconds), (LimitAnswer::Inconclusive, Some(40)));
    }

    fn share(good: u64, units: u64) -> TimeShare {
        TimeShare::counted(good, units, units - good)
    }

    #[test]
    fn seconds_of_one_event_are_one_piece_of_evidence() {
        // Five of 120 seconds at once, and far from each other.
        let of = |bad: fn(usize) -> bool| {
            TimeShare::of_seconds(&(0..120).map(|second| !bad(second)).collect::<Vec<bool>>())
        };
        let once = of(|s| (20..25).contains(&s));
        let apart = of(|s| s % 24 == 7);
        let long = of(|s| s < 26);
        let most = of(|s| s < 70);
        assert_eq!((long.answer(0.99), most.answer(0.99)), (LimitAnswer::Inconclusive, LimitAnswer::Fail));
        assert_eq!((once.good, once.event_units, apart.good, apart.event_units), (115, 5.0, 115, 1.0));
        assert_eq!((once.answer(0.99), apart.answer(0.99)), (LimitAnswer::Inconclusive, LimitAnswer::Fail));
    }

    #[test]
    fn it_takes_299_good_seconds_for_99_percent() {
        assert_eq!(share(299, 299).answer(0.99), LimitAnswer::Pass);
        assert_eq!(share(298, 298).answer(0.99), LimitAnswer::Inconclusive);
        assert_eq!(share(10, 10).more_seconds(0.999), Some(2_985));
        assert_eq!(share(2_995, 2_995).answer(0.999), LimitAnswer::Pass);
    }

    #[test]
    fn a_short_run_refutes_but_does_not_confirm() {
        let refuted = share(8, 10);
        // Tables of Clopper-Pearson: 8 of 10, 90 % two-sided: 0.4931 to 0.9632.
        assert!((refuted.low - 0.4931).abs() < 1e-4 && (refuted.high - 0.9632).abs() < 1e-4);
        assert_eq!(
            (refuted.answer(0.99), share(10, 10).answer(0.99)),
            (LimitAnswer::Fail, LimitAnswer::Inconclusive)
        );
        // One bad second costs more than a good one brings: 473 for 99 % by the tables of acceptance sampling.
        let one = share(9, 10);
        assert_eq!(
            (one.answer(0.99), one.more_seconds(0.99).map(|m| m + 10)),
            (LimitAnswer::Inconclusive, Some(473))
        );
    }
}
