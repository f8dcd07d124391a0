//! Steps that ran together: which steps ran at the same time, on which targets, and the kernel counters of that time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lookup::{Company, driven};
use super::{Record, StepRecord, TargetRecord};
use volproof_host::observe::KernelCounters;

/// The steps of one stage. The kernel counters cover all steps of the stage together and are kept once: no counter tells the steps apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Together {
    /// The names of the steps, in the order of the plan.
    pub steps: Vec<String>,
    /// Kernel counters from the start of the first load to the end of the last. The `evidence` of each single step is
    /// empty.
    pub evidence: KernelCounters,
}

impl Record {
    /// The targets that a step drove, in the order of the Record.
    pub fn targets_of(&self, step: &StepRecord) -> Vec<&TargetRecord> {
        let lookup = self.lookup();
        let mut places: Vec<usize> = driven(step).filter_map(|path| lookup.target(path)).collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|place| &self.targets[place]).collect()
    }

    /// The stage of several steps that a step was part of.
    pub fn stage_of(&self, step: &StepRecord) -> Option<&Together> {
        self.lookup().stage(&step.name).and_then(|stage| self.together.get(stage))
    }

    /// Counters of the kernel while a step ran: its own evidence, or that of its stage.
    pub fn evidence<'a>(&'a self, step: &'a StepRecord) -> &'a KernelCounters {
        self.stage_of(step).map_or(&step.evidence, |stage| &stage.evidence)
    }

    /// The other steps that ran during this step, or during a part of it.
    pub fn beside(&self, step: &StepRecord) -> Company<'_> {
        self.lookup().company(self, step, false)
    }

    /// The other steps that ran during this step and used one of its disks (its filesystem, where the disks are not known). The rate of
    /// this step is then not that of the disk.
    pub fn sharing(&self, step: &StepRecord) -> Company<'_> {
        self.lookup().company(self, step, true)
    }
}
