//! `io-errors`: I/Os failed.
//!
//! **Why it matters:** what fails is the volume's or its path's fault: it counts against the volume and voids nothing.
//!
//! **What to do:** look at the kernel log (`dmesg`) before any figure is used.
//!
//! **Source:** the result of each I/O.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::grouped;

/// I/Os failed.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let step = case.step;
    let first = step.errors.first.first()?;
    Some(Doubt::new(
        Severity::Warning,
        DoubtCode::IoErrors,
        format!(
            "{} I/O{} failed, the first one a {} of {} at offset {} of {}: {}",
            grouped(step.errors.count),
            if step.errors.count == 1 { "" } else { "s" },
            first.direction.name(),
            first.length_bytes,
            grouped(first.offset_bytes.0),
            first.path.display(),
            first.error
        ),
        "look at the kernel log (dmesg); rates of a failing device mean nothing",
    ))
}
