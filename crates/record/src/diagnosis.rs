//! The descriptions of a run: what is seen in the samples of each step, as values. The detectors that make them are in `judge::shape`.
//!
//! Every figure is finite, so that JSON can hold it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a finding can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// The evidence fits the finding and other explanations as well.
    Possible,
    /// Two independent signs, or one that other explanations seldom give.
    Likely,
    /// The evidence excludes every other explanation.
    Proven,
}

impl Confidence {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Possible => "possible",
            Confidence::Likely => "likely",
            Confidence::Proven => "proven",
        }
    }
}

/// Something that is seen in the samples of a step. Records of earlier versions also hold guesses at what limited it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Name of the step.
    pub step: String,
    /// Stable name for programs, in kebab case.
    pub code: String,
    /// One sentence.
    pub headline: String,
    /// The evidence, with numbers. Never empty.
    pub evidence: Vec<String>,
    /// How far the finding can be trusted.
    pub confidence: Confidence,
    /// The advice.
    pub advice: String,
    /// The figures of the evidence, by name with unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<String, f64>,
    /// Of an earlier version: the run does not show the volume, so that no promise can be judged by it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocks: bool,
    /// Of an earlier version: the code of the doubt in the Record that says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

impl Finding {
    /// A finding without evidence.
    pub fn new(
        code: &str,
        confidence: Confidence,
        headline: impl Into<String>,
        advice: impl Into<String>,
    ) -> Finding {
        Finding {
            step: String::new(),
            code: code.into(),
            headline: headline.into(),
            evidence: Vec::new(),
            confidence,
            advice: advice.into(),
            numbers: BTreeMap::new(),
            blocks: false,
            doubt: None,
        }
    }

    /// Adds what it rests on.
    pub fn because(mut self, evidence: impl Into<String>) -> Finding {
        self.evidence.push(evidence.into());
        self
    }

    /// Adds a figure; one that is infinite or no number is left out.
    pub fn number(mut self, name: &str, value: f64) -> Finding {
        if value.is_finite() {
            self.numbers.insert(name.into(), value);
        }
        self
    }
}

/// The findings of one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Name of the step.
    pub step: String,
    /// The weightiest first; may be empty.
    pub findings: Vec<Finding>,
}
