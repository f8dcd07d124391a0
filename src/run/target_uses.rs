//! The use that the steps of a plan make of a target.

use std::path::Path;

use volproof_base::sample::Direction;
use volproof_plan::{EngineKind, Plan, Step};

/// The use that the steps of a plan make of a target.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uses {
    /// They read it.
    pub reads: bool,
    /// They change it.
    pub writes: bool,
    /// Some of them bypass the page cache.
    pub direct: bool,
    /// Some of them go through the page cache.
    pub cached: bool,
}

impl Uses {
    /// The uses of the target with this name. The null engine uses no target.
    pub fn of_target(plan: &Plan, named: &Path) -> Uses {
        let mut uses = Uses::default();
        for step in driving(plan, named) {
            uses.reads |= step.rw.directions().contains(&Direction::Read);
            uses.writes |= step.rw.changes_data();
            uses.direct |= step.direct;
            uses.cached |= !step.direct;
        }
        uses
    }
}

/// The steps that send I/O to a target.
pub(super) fn driving<'a>(plan: &'a Plan, named: &'a Path) -> impl Iterator<Item = &'a Step> {
    on(plan, named).filter(|step| step.engine != EngineKind::Null)
}

/// The steps on a target, including those of the null engine, which sends no I/O there.
pub(super) fn on<'a>(plan: &'a Plan, named: &'a Path) -> impl Iterator<Item = &'a Step> {
    plan.steps.iter().filter(move |step| plan.targets_of(step).iter().any(|target| target == named))
}

/// There are steps on a target, and the null engine simulates all of them.
pub(super) fn is_only_simulated(plan: &Plan, named: &Path) -> bool {
    on(plan, named).next().is_some() && driving(plan, named).next().is_none()
}

/// Load threads of a step.
pub fn workers(plan: &Plan, step: &Step) -> u64 {
    step.workers(plan.targets_of(step).len().max(1)).into()
}
