//! Plan: everything a run will do, complete and serialisable.
//!
//! No later stage reads arguments, environment or configuration; running a stored Plan again is the reproduction. A plan
//! comes from a preset, a TOML file or ad-hoc options. Each of them gives [`StepOptions`] that lie over [`Step::default`].
//! This module does no I/O on targets: whether a plan fits a device is decided where the device is known.

mod block_shares;
mod distribution;
mod follow_up;
mod given_options;
pub mod key;
mod plan_file;
mod precondition;
mod presets;
mod question;
pub mod removed;
mod simulated;
mod slo_search;
mod stages;
mod start;
mod step;
mod step_limits;
mod suite;
mod suite_name;
mod workload;

use std::borrow::Cow;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use block_shares::BlockSizes;
pub use distribution::Distribution;
pub use follow_up::{CAUSE_BUDGET, CausesWanted, FollowUp, Follows, Purpose};
pub use given_options::{StepOptions, is_idle, keys, wrong_value};
pub use plan_file::{PlanFileError, parse as parse_file, parse_beneath};
pub use precondition::{Precondition, PreconditionChoice, PreconditionMethod};
pub use presets::{PRESETS, Preset};
pub use question::{Axis, AxisOption, Question, Sweep};
pub use simulated::{OTHERS_BLOCK, Simulated, SimulatedPage, Uneven};
pub use slo_search::{ResponseFigure, SloSearch};
pub use start::Start;
pub use step::Step;
pub use step_limits::MOST_DEPTH;
pub use suite::{Phase, ReferenceLatency, Suite, TOUCH, Tracked, TrackedFigure};
pub use suite_name::{SniaTest, SuiteName};
pub use workload::{
    Arrival, CpuList, EngineKind, EngineWord, Fadvise, FileState, Pattern, SyncWrites, WordError,
};

use volproof_base::unit::{Bytes, Nanos, text};

/// Everything that a run does, with its steps in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name of the preset or plan file, or `ad-hoc`.
    pub name: String,
    /// Folders, files and block devices, driven together.
    pub targets: Vec<PathBuf>,
    /// Size of the test file made in a folder; chosen from free space and memory when absent.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub file_size: Option<Bytes>,
    /// The test file stays after the run.
    #[serde(default)]
    pub keep: bool,
    /// Existing files that are named may be overwritten.
    #[serde(default)]
    pub overwrite: bool,
    /// I/O errors are counted and the run goes on.
    #[serde(default)]
    pub continue_on_error: bool,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The steps, one after another.
    pub steps: Vec<Step>,
    /// The question that the steps answer: each of them followed from those before it. Absent where the steps are a fixed list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// The steps at the start that only bring the targets into a defined state. Absent where none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precondition: Option<Precondition>,
    /// How the run goes on after these steps, where it is held against a promise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<FollowUp>,
}

impl Plan {
    /// Bytes a second of the volume that forecasts speak of, since nobody knows the volume's own rate yet: the reader scales them.
    pub const FORECAST_RATE: Bytes = Bytes(100 << 20);
    /// Time of a write that waits until it is durable, in forecasts.
    pub const FORECAST_FLUSH: Nanos = Nanos::millis(1);

    /// A plan of these steps without targets, with the seed of all presets.
    pub fn new(name: &str, steps: Vec<Step>) -> Plan {
        Plan { name: name.into(), seed: presets::SEED, steps, ..Plan::none() }
    }

    /// The plan as its user gave it, without the steps that the run added.
    pub fn as_given(&self) -> Cow<'_, Plan> {
        if self.steps.iter().all(|step| step.follows.is_none()) {
            return Cow::Borrowed(self);
        }
        let given = self.steps.iter().filter(|step| step.follows.is_none());
        Cow::Owned(Plan { steps: given.cloned().collect(), ..self.clone() })
    }

    /// The plan of a Record of another tool's report: empty.
    pub fn none() -> Plan {
        Plan {
            name: String::new(),
            targets: Vec::new(),
            file_size: None,
            keep: false,
            overwrite: false,
            continue_on_error: false,
            seed: 0,
            steps: Vec::new(),
            question: None,
            precondition: None,
            follow_up: None,
        }
    }

    /// Whether it has no step, as [`Plan::none`].
    pub fn is_none(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether some step changes data on the targets.
    pub fn changes_data(&self) -> bool {
        self.steps.iter().any(|s| s.rw.changes_data() && s.engine != EngineKind::Null)
    }

    /// Whether the plan needs no target: every step runs on the null engine.
    pub fn needs_no_target(&self) -> bool {
        self.steps.iter().all(|s| s.engine == EngineKind::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_reads_back_from_its_json() {
        let plan = Plan {
            name: "t".into(),
            targets: vec!["/dev/vdb".into()],
            file_size: Some(Bytes::gib(1)),
            keep: false,
            overwrite: false,
            continue_on_error: false,
            seed: 7,
            question: None,
            precondition: None,
            follow_up: None,
            steps: vec![Step {
                rate_bw: Some(Bytes::mib(10)),
                distribution: Distribution::Zipf(1.2),
                cpus: Some("0-1".parse().unwrap()),
                ..Step::default()
            }],
        };
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
        assert_eq!(plan.steps[0].arrivals_per_second(), Some(2560.0));
    }
}
