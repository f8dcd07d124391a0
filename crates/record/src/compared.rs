//! A report of another tool beside what was promised, or what an application needs: one row for each figure. A comparison is no verdict:
//! a report cannot be measured again, and does not show all that a verdict needs.
//!
//! Figures are I/Os per second, bytes per second or nanoseconds, by the metric.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{JudgedNeed, Metric};

/// All rows of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportComparison {
    /// The volumes and the instance, and the applications, in words.
    pub against: String,
    /// Share by which a figure may miss a promise.
    pub tolerance: f64,
    /// Each figure that is promised or needed and that the report has.
    pub rows: Vec<Compared>,
    /// What the report has no figure for, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<String>,
    /// Notes on the promise or the needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One figure of a report beside its limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// Name of the step.
    pub step: String,
    /// The quantity.
    pub metric: Metric,
    /// The need; absent for the promise of a provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub need: Option<JudgedNeed>,
    /// The promise, or the limit of the need.
    pub promised: f64,
    /// The promise by the other reading of the provider's unit (MB or MiB), where that is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_reading: Option<f64>,
    /// The promise with its tolerance, or the limit of the need.
    pub limit: f64,
    /// Which limit binds: `volume IOPS`, `instance throughput`, ...
    pub binding: String,
    /// The figure of the report.
    pub reported: f64,
    /// Lower end of the interval of the figure.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Where the interval comes from.
    pub interval: IntervalBasis,
    /// Reported over promised.
    pub ratio: f64,
    /// The interval against the limit.
    pub word: ComparedWord,
    /// Doubts that void the figure, each in a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// What the report cannot show, each in a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_shown: Vec<String>,
    /// The command of volproof that decides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// The interval of a figure against its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ComparedWord {
    /// All of the interval keeps the limit.
    Kept,
    /// The interval holds the limit, or the limits of the two readings of a unit.
    Close,
    /// All of the interval misses the limit.
    Missed,
}

impl ComparedWord {
    /// The word for an interval and the limits of the readings of a promise: the one that asks least, and the one that asks most.
    pub fn of_interval((low, high): (f64, f64), least: f64, most: f64, less_is_better: bool) -> ComparedWord {
        let (kept, missed) = if less_is_better {
            (high <= most.min(least), low > least.max(most))
        } else {
            (low >= most.max(least), high < least.min(most))
        };
        if kept {
            return ComparedWord::Kept;
        }
        if missed { ComparedWord::Missed } else { ComparedWord::Close }
    }

    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            ComparedWord::Kept => "kept",
            ComparedWord::Close => "close",
            ComparedWord::Missed => "missed",
        }
    }
}

/// Where the interval of a reported figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IntervalBasis {
    /// The spread of the samples that the report sums up: one-sided 95 % bounds.
    Spread,
    /// The binomial interval of the ranks: 95 %.
    Binomial,
    /// The digits that the tool prints.
    Printed,
}

impl IntervalBasis {
    /// In words, in front of the two ends.
    pub fn words(self) -> &'static str {
        match self {
            IntervalBasis::Spread => "by its spread, 95 % bounds",
            IntervalBasis::Binomial => "binomial 95 % interval",
            IntervalBasis::Printed => "as exact as it is printed,",
        }
    }
}

impl Compared {
    /// The row in a few words: `IOPS`, `p99 of flushes for etcd (minimum)`.
    pub fn title(&self) -> String {
        match &self.need {
            Some(need) => format!("{} for {}", need.figure, need.whose()),
            None => self.metric.name().into(),
        }
    }

    /// How far the figure is from its limit: 1 at the limit, more is better, whichever side the limit bounds.
    pub fn room(&self) -> f64 {
        if self.metric.less_is_better() { 1.0 / self.ratio } else { self.ratio }
    }
}

impl ReportComparison {
    /// The row that stands first: the gravest word, and of those the one with the least room.
    pub fn first(&self) -> Option<&Compared> {
        self.rows.iter().max_by(|a, b| a.word.cmp(&b.word).then_with(|| b.room().total_cmp(&a.room())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_word_follows_from_interval_and_limits(
            low in 0.0..2000.0f64,
            width in 0.0..500.0f64,
            least in 1.0..2000.0f64,
            more in 0.0..100.0f64,
            less_is_better: bool,
        ) {
            let (high, most) = (low + width, least + more);
            let word = ComparedWord::of_interval((low, high), least, most, less_is_better);
            let keeps = |x: f64, limit: f64| if less_is_better { x <= limit } else { x >= limit };
            let all = [(low, least), (low, most), (high, least), (high, most)].map(|(x, limit)| keeps(x, limit));
            let expected = match all {
                [true, true, true, true] => ComparedWord::Kept,
                [false, false, false, false] => ComparedWord::Missed,
                _ => ComparedWord::Close,
            };
            prop_assert_eq!(word, expected);
        }
    }
}
