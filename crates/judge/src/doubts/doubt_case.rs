//! A step as the rules of doubts see it.

use crate::thresholds::NEGLIGIBLE;
use volproof_base::unit::Nanos;
use volproof_host::observe::KernelCounters;
use volproof_plan::{EngineKind, Step};
use volproof_record::{
    Company, Conditions, Intervention, ReportProgram, ReportedStep, StepFigures, StepRecord, TargetRecord,
};

/// A step as the rules see it.
pub(super) struct DoubtCase<'a> {
    /// The planned load, where volproof measured.
    pub(super) plan: Option<&'a Step>,
    /// The load is one that an application publishes.
    pub(super) published: bool,
    /// The measured step.
    pub(super) step: &'a StepRecord,
    /// The figures of the step.
    pub(super) figures: StepFigures,
    /// The report, where another tool measured.
    pub(super) reported: Option<ReportOfStep<'a>>,
    /// The report breaks off.
    pub(super) partial: bool,
    /// The targets of the step.
    pub(super) targets: Vec<&'a TargetRecord>,
    /// Counters of the kernel: of this step, or of its whole stage.
    pub(super) evidence: &'a KernelCounters,
    /// The other steps of its stage, which the evidence covers too.
    pub(super) others: Vec<(&'a Step, &'a StepRecord)>,
    /// The steps that ran on a disk of this step at the same time.
    pub(super) sharing: Company<'a>,
}

/// A run of another tool.
pub(super) struct ReportOfStep<'a> {
    /// Which tool.
    pub(super) program: ReportProgram,
    /// Its report.
    pub(super) report: &'a ReportedStep,
    /// The load.
    pub(super) conditions: &'a Conditions,
}

impl DoubtCase<'_> {
    /// The step ran on no device. The null engine and simulated devices run in a time of their own, which CPU time says nothing about.
    pub(super) fn is_simulated(&self) -> bool {
        self.ran_on(EngineKind::Null) || self.plan.is_some_and(|p| p.simulate.is_some())
    }

    /// The step ran on that engine.
    pub(super) fn ran_on(&self, engine: EngineKind) -> bool {
        self.step.engine.get() == Some(engine)
    }

    /// The report of a load that drove a device.
    pub(super) fn on_a_device(&self) -> Option<&ReportOfStep<'_>> {
        self.reported.as_ref().filter(|reported| !reported.conditions.is_null())
    }

    /// The sum of the times of what the user did to the step.
    pub(super) fn intervened(&self, of: impl Fn(&Intervention) -> Option<Nanos>) -> Option<Nanos> {
        let all: Vec<u64> = self.step.interventions.iter().filter_map(of).map(|n| n.0).collect();
        (!all.is_empty()).then(|| Nanos(all.iter().sum()))
    }

    /// The host took so much CPU time that it matters.
    pub(super) fn cpu_was_stolen(&self) -> bool {
        self.evidence.steal_share() > NEGLIGIBLE
    }

    /// This step and the others of its stage.
    pub(super) fn stage(&self) -> impl Iterator<Item = (&Step, &StepRecord)> {
        self.others.iter().copied().chain(self.plan.map(|plan| (plan, self.step)))
    }
}
