//! Doubts from what the user did while a step ran, by key or signal.

use super::DoubtCase;
use crate::doubt::{Doubt, Severity};
use crate::record::Intervention;
use crate::unit::Nanos;

fn sum(case: &DoubtCase<'_>, of: impl Fn(&Intervention) -> Option<Nanos>) -> Option<Nanos> {
    let all: Vec<u64> = case.step.interventions.iter().filter_map(of).map(|n| n.0).collect();
    (!all.is_empty()).then(|| Nanos(all.iter().sum()))
}

pub(super) fn ended_early(case: &DoubtCase<'_>) -> Option<Doubt> {
    let step = case.step;
    step.was_ended_early().then(|| {
        let planned = case.plan.map(|p| p.runtime).filter(|r| r.0 > 0);
        let of_planned = planned.map(|p| format!(" of {}", p.clock())).unwrap_or_default();
        Doubt::new(
            Severity::Warning,
            "ended-early",
            format!("the user ended the step: {}{of_planned} were measured", step.window_ns.length()),
            "figures of a run that is ended at a chosen moment depend on the choice: let it run to its end",
        )
    })
}

pub(super) fn suspended(case: &DoubtCase<'_>) -> Option<Doubt> {
    let lasted = sum(case, |i| match i {
        Intervention::Suspended { for_ns, .. } => Some(*for_ns),
        _ => None,
    })?;
    Some(Doubt::new(
        Severity::Blocker,
        "suspended",
        format!("volproof was suspended for {lasted} while it measured, and its load stood still"),
        "rates and latencies hold that time: repeat the step without Ctrl-Z, SIGSTOP or a paused container",
    ))
}

pub(super) fn paused_before(case: &DoubtCase<'_>) -> Option<Doubt> {
    let lasted = sum(case, |i| match i {
        Intervention::PausedBefore { for_ns } => Some(*for_ns),
        _ => None,
    })?;
    Some(Doubt::new(
        Severity::Note,
        "paused-before",
        format!("the user paused the schedule for {} before this step", lasted.clock()),
        "a volume with burst credits has earned some meanwhile: compare with a run without a pause",
    ))
}
