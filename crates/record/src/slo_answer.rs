//! The answer to a search for the highest load whose response time stays within a limit. `course` works it out; nothing here computes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Outcome;
use volproof_base::unit::{Nanos, significant, text};
use volproof_plan::{Pattern, ResponseFigure};

/// The highest load whose response time stays within a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SloAnswer {
    /// The answer in one sentence.
    pub sentence: String,
    /// The pattern.
    #[serde(with = "text")]
    #[schemars(with = "String")]
    pub rw: Pattern,
    /// Which figure of the response time is limited.
    #[serde(with = "text")]
    #[schemars(with = "String")]
    pub figure: ResponseFigure,
    /// The limit.
    pub limit_ns: Nanos,
    /// The figure with one request in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unloaded_ns: Option<Nanos>,
    /// Interval of the share of these I/Os above the limit, where it holds both sides: that figure is then not shown to be on either side of the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unloaded_unsure: Option<UnsureShare>,
    /// Codes of findings and doubts that keep the step with one request from showing what the volume can do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unloaded_spoilt_by: Vec<String>,
    /// I/Os a second with as many in flight as allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_iops: Option<f64>,
    /// The highest load that holds: the whole interval kept the limit, in all trials of that length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds_per_second: Option<f64>,
    /// The lowest load above `holds_per_second` that does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_per_second: Option<f64>,
    /// How long the load that holds was confirmed; absent where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_ns: Option<Nanos>,
    /// The search came to its end. It did not where it was interrupted, where its budget ended, and where nothing held and lower loads would need
    /// longer trials than a search makes.
    #[serde(default)]
    pub complete: bool,
    /// Whether every load that held is below every load that failed, and no step after the confirmation completed less of as much load.
    pub monotone: bool,
    /// The load is above the baseline of the type, and was confirmed for no longer than the burst of the type may last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub within_burst: bool,
    /// A promise was named, and the search does not show it: a closed loop did less, or it says nothing of this load.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub promise_open: bool,
    /// The smallest depth in a closed loop that gives this load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<SloDepth>,
    /// The trials, in the order in which they ran.
    pub trials: Vec<SloTrial>,
    /// Reasons why the answer holds only in part, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl SloAnswer {
    /// PASS where a load keeps the limit and was confirmed, FAIL where a search came to its end and its trials show that none does, INCONCLUSIVE
    /// where neither is shown.
    pub fn outcome(&self) -> Option<Outcome> {
        // Other traffic makes a trial fail too.
        let fails = self.trials.last().is_some_and(|t| t.outcome.fails() && t.spoilt_by.is_empty());
        Some(match self.holds_per_second {
            Some(_) if self.promise_open || self.within_burst => Outcome::Inconclusive,
            Some(_) if self.confirmed_ns.is_some() && self.monotone => Outcome::Pass,
            None if self.complete && fails => Outcome::Fail,
            _ => Outcome::Inconclusive,
        })
    }
}

/// One trial of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SloTrial {
    /// Name of its step.
    pub step: String,
    /// I/Os a second that were offered.
    pub offered_per_second: f64,
    /// I/Os a second that completed.
    pub achieved_per_second: f64,
    /// How long the trial ran.
    pub runtime_ns: Nanos,
    /// The limited figure, of the direction that is nearest to the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_ns: Option<Nanos>,
    /// Share of I/Os above the limit; absent where the mean is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<f64>,
    /// Lower end of the 95 % interval of that share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above_low: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above_high: Option<f64>,
    /// The outcome of the trial.
    pub outcome: TrialOutcome,
    /// Codes of findings and doubts that keep the trial from showing what the volume can do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spoilt_by: Vec<String>,
}

/// The outcome of a trial of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrialOutcome {
    /// The whole interval keeps the limit.
    Holds,
    /// The whole interval is above the limit.
    Fails,
    /// The volume did not complete the offered load: a backlog grew.
    Overload,
    /// The interval does not decide.
    Unsure,
}

impl TrialOutcome {
    /// The load plainly does not hold.
    pub fn fails(self) -> bool {
        matches!(self, TrialOutcome::Fails | TrialOutcome::Overload)
    }
}

/// Interval of a share above a limit that does not tell on which side of the limit a percentile lies: a few I/Os more or less move it across.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnsureShare {
    /// Lower end of the 95 % interval, 0 to 1.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl UnsureShare {
    /// What it says of a percentile, behind its value.
    pub fn words(&self, limit: Nanos) -> String {
        format!(
            "too few of these I/Os to tell whether that keeps the limit: {} to {} % of such I/Os take longer than {limit}",
            significant(100.0 * self.low),
            significant(100.0 * self.high)
        )
    }
}

/// A depth in a closed loop beside a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SloDepth {
    /// Requests kept in flight by each job.
    pub iodepth: u32,
    /// Jobs.
    pub numjobs: u32,
    /// I/Os a second that this depth gives.
    pub iops: f64,
    /// The limited figure of its service latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_ns: Option<Nanos>,
    /// Interval of the share of its I/Os above the limit, where it holds both sides of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsure: Option<UnsureShare>,
    /// The largest tried depth that gave less, 0 where none did. Depths between it and `iodepth` were not tried, and may be enough.
    pub too_small: u32,
}
