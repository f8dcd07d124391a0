//! Figures of one step by two tools, in turn (`--cross-check`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_base::stats::compare::Comparison;

/// One step by two tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrossCheck {
    /// Name of the step in the plan that was asked for.
    pub step: String,
    /// The version of the other tool, as it prints it.
    pub fio_version: String,
    /// Pairs of runs, back to back.
    pub pairs: u64,
    /// Differences up to this share do not matter: the tools agree.
    pub margin: f64,
    /// Figures that both report.
    pub metrics: Vec<CrossMetric>,
}

/// A figure of two tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrossMetric {
    /// Name of the figure, which is in nanoseconds where less is better.
    pub name: String,
    /// A smaller figure is the better one; the comparison is of its reciprocal then.
    pub less_is_better: bool,
    /// Geometric mean over volproof's runs.
    pub volproof: f64,
    /// Geometric mean over fio's runs.
    pub fio: f64,
    /// Volproof over fio, pair by pair; absent for fewer than two pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}
