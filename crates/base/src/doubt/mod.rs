//! Doubts about a result as data: what was seen, and what to do about it.
//!
//! A doubt never stops a run and never hides a number. A [`Severity::Blocker`] means that the number does not say what its label claims, and no
//! verdict may rest on it. A doubt holds text only: the rule that finds it puts the evidence into words.

mod code;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use code::{DoubtCode, DoubtEffect};

/// How much a doubt weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; the numbers stand.
    Note,
    /// The numbers may mislead.
    Warning,
    /// The numbers do not show what they are labelled with. Texts call such a doubt `void`.
    Blocker,
}

impl Severity {
    /// The word in front of a doubt, which docs/results.md explains.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "doubt",
            Severity::Blocker => "void",
        }
    }
}

/// One doubt, as stored in the Record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Doubt {
    /// Stable name for programs, in kebab case.
    #[schemars(with = "String")]
    pub code: DoubtCode,
    /// How much it weighs.
    pub severity: Severity,
    /// The step it belongs to; absent when it is about the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The observation, with its numbers.
    pub message: String,
    /// The advice.
    pub advice: String,
}

impl Doubt {
    /// A doubt about the whole run.
    pub fn new(
        severity: Severity,
        code: impl Into<DoubtCode>,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Doubt {
        Doubt { code: code.into(), severity, step: None, message: message.into(), advice: advice.into() }
    }

    /// The figures of that step do not show what they are labelled with. What the volume did wrong voids nothing: Records of earlier versions
    /// call it a blocker.
    pub fn voids(&self, step: &str) -> bool {
        let effect = self.code.effect();
        let may_void = effect == DoubtEffect::Voids || effect == DoubtEffect::OnlySlows;
        self.severity == Severity::Blocker && may_void && self.step.as_ref().is_none_or(|name| name == step)
    }

    /// The step does not show all that the volume can do: its figures are void, or others used the volume beside it.
    pub fn spoils(&self, step: &str) -> bool {
        let by_others = self.code == DoubtCode::OtherTraffic && self.severity == Severity::Warning;
        self.voids(step) || by_others && self.step.as_ref().is_none_or(|name| name == step)
    }

    /// The same doubt, tied to a step.
    pub fn in_step(mut self, step: &str) -> Doubt {
        self.step = Some(step.to_string());
        self
    }
}
