//! Steps that a run adds after those of its plan: the repetition of a missed promise under a load that no promise exceeds, and the
//! experiments that show what held a volume back.
//!
//! What is added, and when, is the affair of `judge::follow_up`. Here is only how a plan says it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_base::unit::{Nanos, text};

/// Time for the experiments that look for a cause, unless the user gives another.
pub const CAUSE_BUDGET: Nanos = Nanos::seconds(300);

/// How a run goes on after the steps of its plan. A plan without it ends with its last step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowUp {
    /// Which runs look for the cause of their rate.
    #[serde(default)]
    pub causes: CausesWanted,
    /// The time that all added steps together may take; without a limit when absent.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub budget: Option<Nanos>,
    /// A step whose length leaves its promise open is measured once more, for at most this time; never when absent.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub longest: Option<Nanos>,
}

/// Which runs look for the cause of their rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CausesWanted {
    /// Those whose verdict is FAIL.
    #[default]
    AfterFail,
    /// Every run.
    Always,
}

/// The place of an added step: which step of the plan it follows, and what for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Follows {
    /// Name of the step of the plan.
    pub step: String,
    /// Its purpose.
    pub purpose: Purpose,
}

/// The purpose of an added step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// The load of the step at the saturating depth, or at the deepest possible.
    Confirm,
    /// Half of the deepest possible depth, where the saturating depth is not possible.
    HalfConfirm,
    /// The load of the step once more.
    Repeat,
    /// The load of the step at a depth between, to find the depth that is enough.
    Depth,
    /// One request at a time, offered at half of the promised rate.
    Offered,
    /// An experiment that tries a cause: its code, and which case of the experiment the step is.
    Cause {
        /// The code of the cause.
        cause: String,
        /// The case: `quarter-block`, `a2`.
        case: String,
    },
}

impl Purpose {
    /// The step repeats the load of a promise, so that its rate is held against that promise.
    pub fn tests_promise(&self) -> bool {
        !matches!(self, Purpose::Cause { .. })
    }
}
