//! Steps that ran together: what a Record says of which ran beside which, on what, and what the kernel counted meanwhile.

use std::collections::HashSet;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Record, StepRecord, TargetRecord};
use crate::observe::Evidence;
use crate::unit::Nanos;

/// The steps of one stage. What the kernel counted is that of all of them and is kept once: no counter tells them apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Together {
    /// Their names, in the order of the plan.
    pub steps: Vec<String>,
    /// What the kernel counted beside them, from the start of the first load to the end of the last; the evidence of each of
    /// the steps is empty.
    pub evidence: Evidence,
}

impl Record {
    /// The targets that a step drove.
    pub fn targets_of(&self, step: &StepRecord) -> Vec<&TargetRecord> {
        let driven = |path: &PathBuf| step.targets.iter().any(|t| t.path == *path || t.beside.contains(path));
        self.targets.iter().filter(|t| driven(&t.path)).collect()
    }

    /// What the kernel counted while a step ran: its own evidence, or that of its stage.
    pub fn evidence<'a>(&'a self, step: &'a StepRecord) -> &'a Evidence {
        let stage = self.together.iter().find(|t| t.steps.contains(&step.name));
        stage.map_or(&step.evidence, |t| &t.evidence)
    }

    /// When the window of a step began, on the clock of [`Record::evidence`].
    pub fn window_starts(&self, step: &StepRecord) -> Nanos {
        match self.together.iter().any(|t| t.steps.contains(&step.name)) {
            true => Nanos(step.started_after_ns.0 + self.plan_step(&step.name).map_or(0, |p| p.ramp.0)),
            false => step.evidence.window_starts_ns,
        }
    }

    /// The steps that ran while this one did, for a part of it at least.
    pub fn beside(&self, step: &StepRecord) -> Vec<&StepRecord> {
        let Some(stage) = self.together.iter().find(|t| t.steps.contains(&step.name)) else {
            return Vec::new();
        };
        let load = |s: &StepRecord| {
            let ramp = self.plan_step(&s.name).map_or(0, |p| p.ramp.0);
            s.started_after_ns.0..s.started_after_ns.0 + ramp + s.window_ns.0
        };
        let names: HashSet<&str> = stage.steps.iter().map(String::as_str).collect();
        let mine = load(step);
        let meets = |s: &StepRecord| load(s).start < mine.end && mine.start < load(s).end;
        self.steps
            .iter()
            .filter(|s| s.name != step.name && names.contains(s.name.as_str()) && meets(s))
            .collect()
    }

    /// The steps that ran while this one did and used a disk that it used: its rate is not that of the disk.
    pub fn sharing(&self, step: &StepRecord) -> Vec<&StepRecord> {
        let mine = self.targets_of(step);
        if mine.is_empty() {
            return Vec::new();
        }
        let shared = |s: &&StepRecord| {
            self.targets_of(s).into_iter().any(|theirs| mine.iter().any(|m| m.shares_disk(theirs)))
        };
        self.beside(step).into_iter().filter(shared).collect()
    }
}

impl TargetRecord {
    /// Both lie on one disk; on one filesystem, where the disk is not known.
    pub fn shares_disk(&self, other: &TargetRecord) -> bool {
        let disks = |t: &TargetRecord| -> Vec<String> {
            let device = t.facts.device();
            device
                .map(|d| d.lies_on.iter().chain([&d.disk]).map(|n| n.name.clone()).collect())
                .unwrap_or_default()
        };
        let filesystem = |t: &TargetRecord| t.facts.place().map(|p| p.number);
        let (mine, theirs) = (disks(self), disks(other));
        mine.iter().any(|d| theirs.contains(d))
            || (mine.is_empty()
                && theirs.is_empty()
                && filesystem(self).is_some()
                && filesystem(self) == filesystem(other))
    }
}
