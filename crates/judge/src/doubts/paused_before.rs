//! `paused-before`: the user paused the schedule before the step.
//!
//! **Why it matters:** a volume with burst credits has earned some meanwhile.
//!
//! **What to do:** compare with a run without a pause.
//!
//! **Source:** the keys and signals of the run.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_record::Intervention;

/// The user paused the schedule.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let lasted = case.intervened(|i| match i {
        Intervention::PausedBefore { for_ns } => Some(*for_ns),
        _ => None,
    })?;
    Some(Doubt::new(
        Severity::Note,
        DoubtCode::PausedBefore,
        format!("the user paused the schedule for {} before this step", lasted.clock()),
        "a volume with burst credits has earned some meanwhile: compare with a run without a pause",
    ))
}
