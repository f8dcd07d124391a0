//! The answer of a suite, as a Record keeps it: its checks, its phases with their rounds, and the points of its steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Outcome, SweepPoint};
use volproof_base::unit::{Nanos, text};
use volproof_plan::{Pattern, SuiteName, TrackedFigure};

/// The answer of a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteAnswer {
    /// The answer in one sentence.
    pub sentence: String,
    /// The suite.
    #[serde(with = "text")]
    #[schemars(with = "String")]
    pub suite: SuiteName,
    /// The document that it follows, with date.
    pub source: String,
    /// The gravest outcome of the checks; absent where the suite judges nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The checks, in the order of the document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<SuiteCheck>,
    /// Phases whose rounds were repeated until a figure was steady.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<SuiteRounds>,
    /// The steps; a step of several rounds has the means of its window.
    pub points: Vec<SuitePoint>,
    /// Differences between the document and this run, and the parts that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A check of a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteCheck {
    /// Its name, such as `C4`.
    pub code: String,
    /// The subject of the check.
    pub subject: String,
    /// PASS, FAIL, INCONCLUSIVE or INVALID.
    pub outcome: Outcome,
    /// The figures that decide.
    pub observed: String,
    /// The published observation or the criterion that is tested.
    pub tests: String,
    /// The source of that observation.
    pub source: String,
}

/// The rounds of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteRounds {
    /// The phase.
    pub phase: String,
    /// The step whose figure is tracked.
    pub step: String,
    /// The figure of the step that is tracked.
    pub figure: TrackedFigure,
    /// The figure in each round.
    pub values: Vec<f64>,
    /// The round that ends the first steady window of five, counted from 1; absent where none was steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<u32>,
    /// Mean of the window: of the steady one, or of the last five rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_mean: Option<f64>,
    /// Largest minus smallest of the window, percent of its mean; at most 20 in a steady state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range_pct: Option<f64>,
    /// Rise of the fitted line over the window, percent of its mean; at most 10 in a steady state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_pct: Option<f64>,
}

/// A step of a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuitePoint {
    /// Name of the step, without its round.
    pub step: String,
    /// The pattern.
    #[serde(with = "text")]
    #[schemars(with = "String")]
    pub rw: Pattern,
    /// The figures.
    pub point: SweepPoint,
    /// 99.999th percentile of the latency; absent where too few I/Os carry it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99999_ns: Option<Nanos>,
    /// The longest latency.
    pub max_ns: Nanos,
}
