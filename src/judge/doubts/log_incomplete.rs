//! `log-incomplete`: the log of single I/Os lacks those at its end.
//!
//! **Why it matters:** it may take 512 MiB of memory a step.
//!
//! **What to do:** log a shorter run, or averages over time.
//!
//! **Source:** the loop's own count.

use super::DoubtCase;
use crate::doubt::{Doubt, DoubtCode, Severity};
use crate::unit::counted;

/// The log of single I/Os is not complete.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let step = case.step;
    (step.trace_left_out_ios > 0).then(|| {
        Doubt::new(
            Severity::Warning,
            DoubtCode::LogIncomplete,
            format!("the log of single I/Os lacks {} at its end", counted(step.trace_left_out_ios, "I/O")),
            "it may take 512 MiB of memory a step: log a shorter run, or averages over time",
        )
    })
}
