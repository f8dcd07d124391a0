//! The promise of a rate as a window or a report is held against it: figures, tolerance, burst and share of time.

use super::excess::{SoldBurst, SoldRange};
use crate::catalogue::volume_promise::AtBlock;
use crate::record::JudgedPromise;
use crate::stats::limit_answer::LimitAnswer;
use crate::unit::Nanos;

/// Why a rate between both readings of a unit decides nothing.
const ONE_READING: &str =
    "one reading of the provider's unit (MB or MiB) is met, the other is not: ask the provider which it is";

/// The answer of both readings of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadingsAnswer {
    /// The answer.
    pub answer: LimitAnswer,
    /// The answer is told with the promise and the limit of the reading that asks most.
    pub by_most: bool,
    /// Why the readings decide nothing together.
    pub reason: Option<&'static str>,
}

/// The promise that a window is held against, in I/Os or bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClaimTerms {
    /// The promise of the reading that asks least: a FAIL needs a bound below it, less the tolerance.
    pub least: f64,
    /// The promise of the reading that asks most: a PASS needs a bound of at least that, less the tolerance.
    pub most: f64,
    /// Share by which the promise may be missed.
    pub tolerance: f64,
    /// The burst of the type, or of the instance.
    pub burst: Option<SoldBurst>,
    /// More than the promise that the type is sold with.
    pub sold: Option<SoldRange>,
    /// Share of the time that the provider promises.
    pub time: Option<f64>,
    /// The burst is judged instead of the baseline.
    pub judge_burst: bool,
    /// The promise is the need of an application: a higher rate is no burst and no other type, and the tolerance is for lapses alone.
    pub at_least: bool,
}

impl ClaimTerms {
    /// The promise of a claim at a block size; `pick` takes the figure of the claim's unit.
    pub fn of(
        judged_promise: &JudgedPromise,
        least: &AtBlock,
        most: &AtBlock,
        pick: impl Fn(&AtBlock) -> f64,
    ) -> ClaimTerms {
        let words = judged_promise.promise.volumes.iter().map(|v| v.consistency.as_deref());
        // Several volumes promise together what the weakest of them promises.
        let time = words.map(|w| w.and_then(share_of_time)).reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b)));
        ClaimTerms {
            least: pick(least),
            most: pick(most),
            tolerance: judged_promise.tolerance,
            burst: SoldBurst::of(judged_promise, least, pick(least)),
            sold: SoldRange::of(judged_promise, most.binding),
            time: time.flatten(),
            judge_burst: judged_promise.judge_burst,
            at_least: false,
        }
    }

    /// The need of an application for a rate.
    pub fn at_least(limit: f64) -> ClaimTerms {
        ClaimTerms {
            least: limit,
            most: limit,
            tolerance: 0.0,
            burst: None,
            sold: None,
            time: None,
            judge_burst: false,
            at_least: true,
        }
    }

    /// The burst, where it is judged instead of the baseline.
    pub fn judged_burst(&self) -> Option<SoldBurst> {
        self.burst.filter(|_| self.judge_burst)
    }

    /// The two promises that are judged, without tolerance: of the reading that asks least, and of the one that asks most.
    pub fn readings(&self) -> (f64, f64) {
        self.judged_burst().map_or((self.least, self.most), |burst| (burst.per_second, burst.per_second))
    }

    /// The promise that is judged, as I/Os and bytes a second: `baseline` is that without the burst.
    pub fn wanted(&self, baseline: &AtBlock) -> AtBlock {
        let times = self.readings().0 / self.least;
        AtBlock { iops: baseline.iops * times, bytes: baseline.bytes * times, ..*baseline }
    }

    /// Why a rate below the burst refutes nothing. A volume without credits delivers its baseline, so that at a rate from the baseline up
    /// to `most` the bucket may have been empty.
    pub fn few_credits(&self, rate: f64, most: f64) -> Option<String> {
        self.judged_burst()?;
        let explained = (self.least * (1.0 - self.tolerance)..=most).contains(&rate);
        explained.then(|| {
            "less than the burst and no less than the baseline, as of a bucket that was not full: leave the volume idle until it is, then run it again".into()
        })
    }

    /// What a PASS of the burst shows after so many seconds: the rate of the burst, and its length only where a full bucket lasts no longer
    /// than that.
    pub fn burst_shown(&self, rate: f64, seconds: f64) -> Option<String> {
        let burst = self.judged_burst()?;
        let measured = Nanos((seconds * 1e9) as u64).length();
        Some(match burst.at_rate(rate, self.least) {
            Some(lasts) if seconds >= lasts * (1.0 - self.tolerance) => {
                format!("the burst was kept for {measured}, as long as a full bucket lasts at this rate")
            }
            Some(lasts) => format!(
                "the rate of the burst was kept for the {measured} measured; whether it lasts the {} of a full bucket was not tested: measure so long",
                Nanos((lasts * 1e9) as u64).length()
            ),
            None => format!(
                "the rate of the burst was kept for the {measured} measured; how long it lasts is not published"
            ),
        })
    }
}

impl ReadingsAnswer {
    /// Of the answer to the reading that asks least, `readings().0` of the terms, and to the reading that asks most, `readings().1`.
    pub fn of(least: LimitAnswer, most: LimitAnswer) -> ReadingsAnswer {
        let (answer, by_most, reason) = match (least, most) {
            (LimitAnswer::Fail, _) => (LimitAnswer::Fail, false, None),
            (_, LimitAnswer::Pass) => (LimitAnswer::Pass, true, None),
            (LimitAnswer::Pass, LimitAnswer::Fail) => (LimitAnswer::Inconclusive, true, Some(ONE_READING)),
            (LimitAnswer::Pass, LimitAnswer::Inconclusive) => (LimitAnswer::Inconclusive, true, None),
            (LimitAnswer::Inconclusive, _) => (LimitAnswer::Inconclusive, false, None),
        };
        ReadingsAnswer { answer, by_most, reason }
    }
}

/// The share in words such as "at least 90 % of provisioned IOPS, 99.9 % of the time".
fn share_of_time(words: &str) -> Option<f64> {
    let before = words.split("% of the time").next().filter(|before| before.len() < words.len())?;
    let number = before.trim_end().rsplit([' ', ',']).next()?;
    number.parse::<f64>().ok().filter(|n| (0.0..100.0).contains(n)).map(|n| n / 100.0)
}

#[cfg(test)]
impl ClaimTerms {
    /// A promise of a thousand a second, for tests.
    pub const THOUSAND: ClaimTerms = ClaimTerms {
        least: 1000.0,
        most: 1000.0,
        tolerance: 0.02,
        burst: None,
        sold: None,
        time: None,
        judge_burst: false,
        at_least: false,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_time_is_read_from_its_words() {
        let share = share_of_time("at least 90 % of provisioned IOPS, 99.9 % of the time").unwrap();
        assert!((share - 0.999).abs() < 1e-12);
        assert_eq!(share_of_time("99 % of the time; figures are 'up to'"), Some(0.99));
        assert_eq!(share_of_time("figures are 'up to'"), None);
    }
}
