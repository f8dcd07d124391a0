//! The findings of a run: the limit of each step, as values. The rules that make them are in `diagnose`.
//!
//! Every figure is finite, so that JSON can hold it.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Record;
use crate::codes;

/// Findings about the test: they say why a figure may not be the volume's, and not what limited the volume.
const ABOUT_THE_TEST: [&str; 11] = [
    codes::UNWRITTEN_BLOCKS,
    codes::READS_FROM_MEMORY,
    codes::CPU_QUOTA,
    codes::GENERATOR_LIMITED,
    codes::TOO_SHORT,
    codes::OTHER_TRAFFIC,
    codes::SPLITS,
    codes::MERGES,
    codes::LAZY_LOADING,
    codes::SMALL_RANGE,
    codes::IO_WQ,
];

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

/// Something that limited a step, or that the reader must know to understand its figures.
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
    /// The run does not show the volume, so that no promise can be judged by it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocks: bool,
    /// The code of the doubt in the Record that says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

impl Finding {
    pub(crate) fn new(
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

    pub(crate) fn because(mut self, evidence: impl Into<String>) -> Finding {
        self.evidence.push(evidence.into());
        self
    }

    /// Adds a figure; one that is infinite or no number is left out.
    pub(crate) fn number(mut self, name: &str, value: f64) -> Finding {
        if value.is_finite() {
            self.numbers.insert(name.into(), value);
        }
        self
    }

    /// Whether it is about the test, and no limit of the volume.
    pub fn about_the_test(&self) -> bool {
        ABOUT_THE_TEST.contains(&self.code.as_str())
    }

    pub(crate) fn blocking(self) -> Finding {
        Finding { blocks: true, ..self }
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

/// The sentence of a step without findings.
pub const NOTHING: &str = "These figures do not show what limited it.";

impl Diagnosis {
    /// The findings that no doubt tells already: the limits, and those about the test.
    pub fn told(&self) -> (Vec<&Finding>, Vec<&Finding>) {
        self.findings.iter().filter(|f| f.doubt.is_none()).partition(|f| !f.about_the_test())
    }

    /// The sentence of a step of which no limit is told. `doubts`: where the doubts stand, `above` or `below`.
    pub fn without_limit(&self, doubts: &str) -> String {
        if self.findings.iter().any(|f| f.doubt.is_some()) {
            format!("See the doubts {doubts}.")
        } else if self.findings.iter().any(|f| f.blocks) {
            "See what is wrong with the test.".into()
        } else {
            NOTHING.into()
        }
    }

    /// The finding of that code.
    pub fn find(&self, code: &str) -> Option<&Finding> {
        self.findings.iter().find(|f| f.code == code)
    }
}

impl Record {
    /// The findings that the Record holds, step by step; absent where no rules of this version made any.
    pub fn diagnoses(&self) -> Option<Vec<Diagnosis>> {
        let held = self.findings.as_ref().filter(|_| self.volproof_version == env!("CARGO_PKG_VERSION"))?;
        let mut of: HashMap<&str, Vec<Finding>> = HashMap::new();
        for finding in held {
            of.entry(&finding.step).or_default().push(finding.clone());
        }
        let one =
            |name: &str| Diagnosis { step: name.to_string(), findings: of.remove(name).unwrap_or_default() };
        Some(self.steps.iter().map(|s| s.name.as_str()).map(one).collect())
    }
}
