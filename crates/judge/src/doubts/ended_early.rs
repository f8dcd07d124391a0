//! `ended-early`: the user ended the step.
//!
//! **Why it matters:** figures of a run that is ended at a chosen moment depend on the choice.
//!
//! **What to do:** let it run to its end.
//!
//! **Source:** the keys and signals of the run.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};

/// The user ended the step.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let step = case.step;
    step.was_ended_early().then(|| {
        let planned = case.plan.map(|p| p.runtime).filter(|r| r.0 > 0);
        let of_planned = planned.map(|p| format!(" of {}", p.clock())).unwrap_or_default();
        Doubt::new(
            Severity::Warning,
            DoubtCode::EndedEarly,
            format!("the user ended the step: {}{of_planned} were measured", step.window_ns.length()),
            "figures of a run that is ended at a chosen moment depend on the choice: let it run to its end",
        )
    })
}
