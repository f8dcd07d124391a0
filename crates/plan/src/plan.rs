//! The plan itself: everything that a run does, with its steps in order.

use std::borrow::Cow;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::follow_up::FollowUp;
use super::precondition::Precondition;
use super::question::Question;
use super::step::Step;
use super::suite::TOUCH;
use super::workload::EngineKind;
use volproof_base::unit::{Bytes, text};

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
    /// A plan of these steps without targets, with the seed of all presets.
    pub fn new(name: &str, steps: Vec<Step>) -> Plan {
        Plan { name: name.into(), seed: SEED, steps, ..Plan::none() }
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

    /// The number of steps at the start of the plan that precondition the targets.
    pub fn precondition_steps(&self) -> usize {
        self.precondition.as_ref().map_or(0, |p| p.steps).min(self.steps.len())
    }

    /// Whether a step preconditions the targets: its figures say nothing of the plan's question.
    pub fn is_precondition(&self, step: &str) -> bool {
        self.steps[..self.precondition_steps()].iter().any(|s| s.name == step)
    }

    /// The bytes that preconditioning writes.
    pub fn precondition_bytes(&self) -> Bytes {
        let steps = &self.steps[..self.precondition_steps()];
        Bytes(steps.iter().filter_map(|s| s.io_size).map(|amount| amount.0).sum())
    }

    /// Whether a step reads a small group of blocks, which is held only against the group beside it: its rate and its length say nothing.
    pub fn is_touch(&self, step: &str) -> bool {
        matches!(self.question, Some(Question::Suite(_))) && step.starts_with(TOUCH)
    }
}

/// The seed of every preset: runs are repeatable unless `--seed` says otherwise.
pub const SEED: u64 = 0x766f_6c70_726f_6f66;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Distribution;

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
