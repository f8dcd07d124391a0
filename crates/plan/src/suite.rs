//! A suite as a plan holds it: phases of steps, each run once or round after round until a figure is steady.
//!
//! Every suite has this one form: those of SNIA, the contract of elastic volumes and the procedures of the providers. `course` makes them,
//! decides which step is next, and judges the figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Step, SuiteName};
use volproof_base::unit::text;

/// The beginning of the names of steps that read a small group of blocks.
pub const TOUCH: &str = "touch";

/// A suite of tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Its name, such as `snia-iops`.
    #[serde(with = "text")]
    #[schemars(with = "String")]
    pub name: SuiteName,
    /// The document that it follows, with date.
    pub source: String,
    /// Its phases, one after another.
    pub phases: Vec<Phase>,
    /// Mean latencies of the same suite on another disk, to compare with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reference: Vec<ReferenceLatency>,
    /// Differences between the document and this run, and the reasons for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Parts that the time limit left out, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// A phase of a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Its name: the first part of the names of its steps.
    pub name: String,
    /// The steps of one round, each with the second part of its name.
    pub steps: Vec<Step>,
    /// The rounds are repeated until this figure is steady; absent for a phase of one round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_steady: Option<Tracked>,
}

/// The figure whose steadiness ends a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tracked {
    /// The step, by the second part of its name.
    pub step: String,
    /// Which of its figures.
    pub figure: TrackedFigure,
    /// The phase ends after this many rounds, steady or not.
    pub most: u32,
}

/// A figure of a step that is followed from round to round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrackedFigure {
    /// I/Os a second.
    Iops,
    /// Bytes a second.
    BytesPerSecond,
    /// Mean latency, nanoseconds.
    MeanLatency,
    /// I/Os a second in the first minute of the step.
    FirstMinute,
}

impl TrackedFigure {
    /// The figure in words.
    pub fn words(self) -> &'static str {
        match self {
            TrackedFigure::Iops => "IOPS",
            TrackedFigure::BytesPerSecond => "bytes a second",
            TrackedFigure::MeanLatency => "mean latency",
            TrackedFigure::FirstMinute => "IOPS of the first minute",
        }
    }
}

/// The mean latency of a step on another disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReferenceLatency {
    /// Name of the step.
    pub step: String,
    /// Mean service latency.
    pub mean_ns: f64,
}

impl Suite {
    /// A suite with no time limit, beside no other disk.
    pub fn new(name: SuiteName, source: String, phases: Vec<Phase>, notes: Vec<String>) -> Suite {
        let (reference, left_out) = (Vec::new(), Vec::new());
        Suite { name, source, phases, reference, notes, left_out }
    }
}

impl Phase {
    /// A phase of one round.
    pub fn once(name: &str, steps: Vec<Step>) -> Phase {
        Phase { name: name.into(), steps, until_steady: None }
    }

    /// The name of a step in a round, counted from 1.
    pub fn step_name(&self, step: &Step, round: u32) -> String {
        match &self.until_steady {
            None => format!("{}-{}", self.name, step.name),
            Some(_) => format!("{}-{}-round{round}", self.name, step.name),
        }
    }

    /// A step of a round.
    pub fn step(&self, place: usize, round: u32) -> Step {
        let step = &self.steps[place];
        Step { name: self.step_name(step, round), ..step.clone() }
    }

    /// The most rounds.
    pub fn most_rounds(&self) -> u32 {
        self.until_steady.as_ref().map_or(1, |tracked| tracked.most)
    }
}
