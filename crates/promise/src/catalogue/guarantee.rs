//! What a provider's words promise of time: for which figures, and how much of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A figure that a guarantee is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GuaranteedFigure {
    /// I/Os a second.
    Iops,
    /// Bytes a second.
    Throughput,
}

/// A promise of time: at least this part of the figures, for this share of the time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guarantee {
    /// The figures that the words name.
    pub of: Vec<GuaranteedFigure>,
    /// The part of the figure that is promised: 1 where the words grant no less.
    pub level: f64,
    /// The share of the time.
    pub time: f64,
}

impl Guarantee {
    /// The parts of the figures that words may grant: a second of a run counts from nine tenths of the figure on.
    const LEVELS: [f64; 2] = [0.9, 1.0];

    /// What is wrong with it.
    pub(super) fn fault(&self) -> Option<String> {
        if self.of.is_empty() {
            return Some("guarantee.of names no figure".into());
        }
        if !Guarantee::LEVELS.contains(&self.level) {
            return Some(format!("guarantee.level {} is neither 0.9 nor 1", self.level));
        }
        let is_share = 0.0 < self.time && self.time < 1.0;
        (!is_share).then(|| format!("guarantee.time {} is no share of the time", self.time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    /// The words for a guarantee, as providers write them.
    fn sentence(guarantee: &Guarantee) -> String {
        let percent = |share: f64| format!("{} %", (share * 1e6).round() / 1e4);
        let time = format!("{} of the time", percent(guarantee.time));
        let level = percent(guarantee.level);
        match guarantee.of[..] {
            [GuaranteedFigure::Iops] => format!("at least {level} of provisioned IOPS, {time}"),
            [GuaranteedFigure::Throughput] => format!("at least {level} of expected throughput, {time}"),
            _ => time,
        }
    }

    #[test]
    fn each_guarantee_of_the_catalogue_is_what_its_words_say() {
        let mut seen = 0;
        for volume in &Catalogue::shipped().volumes {
            let words = volume.consistency.as_deref().unwrap_or_default();
            let Some(guarantee) = &volume.guarantee else {
                assert!(!words.contains("of the time"), "{}: {words}", volume.id());
                continue;
            };
            seen += 1;
            let first = words.split(';').next().unwrap_or_default();
            assert_eq!(first, sentence(guarantee), "{}", volume.id());
            // Less than the figure is granted by words alone.
            assert_eq!(guarantee.level < 1.0, words.contains("at least"), "{}", volume.id());
            assert_eq!(Catalogue::shipped().guarantee_in(words), Some(guarantee), "{}", volume.id());
        }
        assert!(seen >= 12, "{seen}");
    }

    #[test]
    fn unknown_words_grant_nothing() {
        assert_eq!(Catalogue::shipped().guarantee_in("most of the time"), None);
        assert_eq!(Catalogue::shipped().guarantee_in("figures are 'up to'"), None);
    }
}
