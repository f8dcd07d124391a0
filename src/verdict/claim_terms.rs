//! The promise of a rate as a window or a report is held against it: figures, tolerance, burst and share of time.

use super::excess::{Allowance, SoldRange};
use crate::catalogue::volume_promise::AtBlock;
use crate::record::Claimed;
use crate::unit::Nanos;

/// The promise that a window is held against, in I/Os or bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClaimTerms {
    /// Less than this is a FAIL.
    pub least: f64,
    /// At least this is a PASS.
    pub most: f64,
    /// Share by which the promise may be missed.
    pub tolerance: f64,
    /// The burst of the type, or of the instance.
    pub burst: Option<Allowance>,
    /// More than the promise that the type is sold with.
    pub sold: Option<SoldRange>,
    /// Share of the time that the provider promises.
    pub time: Option<f64>,
    /// The burst is judged instead of the baseline.
    pub judge_burst: bool,
    /// An application asks for so much at least: more is no burst and no other type, and the tolerance is for lapses alone.
    pub at_least: bool,
}

impl ClaimTerms {
    /// The promise of a claim at a block size; `pick` takes the figure of the claim's unit.
    pub fn of(
        claimed: &Claimed,
        least: &AtBlock,
        most: &AtBlock,
        pick: impl Fn(&AtBlock) -> f64,
    ) -> ClaimTerms {
        let words = claimed.promise.volumes.iter().map(|v| v.consistency.as_deref());
        // Several volumes promise together what the weakest of them promises.
        let time = words.map(|w| w.and_then(share_of_time)).reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b)));
        ClaimTerms {
            least: pick(least),
            most: pick(most),
            tolerance: claimed.tolerance,
            burst: Allowance::of(claimed, least, pick(least)),
            sold: SoldRange::of(claimed, most.binding),
            time: time.flatten(),
            judge_burst: claimed.judge_burst,
            at_least: false,
        }
    }

    /// The burst, where it is judged instead of the baseline.
    pub fn judged_burst(&self) -> Option<Allowance> {
        self.burst.filter(|_| self.judge_burst)
    }

    /// What is judged: less than the first is a FAIL, at least the second is a PASS.
    pub fn judged(&self) -> (f64, f64) {
        self.judged_burst().map_or((self.least, self.most), |burst| (burst.per_second, burst.per_second))
    }

    /// The promise that is judged, as I/Os and bytes a second: `baseline` is that without the burst.
    pub fn wanted(&self, baseline: &AtBlock) -> AtBlock {
        let times = self.judged().0 / self.least;
        AtBlock { iops: baseline.iops * times, bytes: baseline.bytes * times, ..*baseline }
    }

    /// Why a rate below the burst refutes nothing: a volume without credits does its baseline, so that up to `most` of it the bucket may have been
    /// empty.
    pub fn few_credits(&self, rate: f64, most: f64) -> Option<String> {
        self.judged_burst()?;
        let explained = (self.least * (1.0 - self.tolerance)..=most).contains(&rate);
        explained.then(|| {
            "less than the burst and no less than the baseline, as of a bucket that was not full: leave the volume idle until it is, then run it again".into()
        })
    }

    /// What a PASS of the burst shows, where it was measured for so many seconds: its rate, and its length only where a full bucket ends by then.
    pub fn burst_shown(&self, rate: f64, seconds: f64) -> Option<String> {
        let burst = self.judged_burst()?;
        let measured = Nanos((seconds * 1e9) as u64).clock();
        Some(match burst.at_rate(rate, self.least) {
            Some(lasts) if seconds >= lasts * (1.0 - self.tolerance) => {
                format!("the burst was kept for {measured}, as long as a full bucket lasts at this rate")
            }
            Some(lasts) => format!(
                "the rate of the burst was kept for the {measured} measured; whether it lasts the {} of a full bucket was not tested: measure so long",
                Nanos((lasts * 1e9) as u64).clock()
            ),
            None => format!(
                "the rate of the burst was kept for the {measured} measured; how long it lasts is not published"
            ),
        })
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
