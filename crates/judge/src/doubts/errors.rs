//! `errors`: the job of a report failed, or some of its I/Os did.
//!
//! **Why it matters:** the figures of a failing volume or a broken job say nothing.
//!
//! **What to do:** find the cause (`dmesg`, or the System event log of Windows) before any figure is used.
//!
//! **Source:** the count of errors and the error number of the report.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::counted;

/// The job failed, or some of its I/Os did.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let reported = case.reported.as_ref()?;
    let failure = reported.report.failure.as_ref()?;
    let count = failure.ios.map(|n| format!("{} failed", counted(n, "I/O")));
    let number = if failure.number == 0 { String::new() } else { format!(", with error {}", failure.number) };
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::Errors,
        format!("{}{number}", count.unwrap_or_else(|| "the job failed".into())),
        if reported.conditions.on_windows() {
            "find the cause (the System event log of Windows) before any figure is used"
        } else {
            "find the cause (dmesg) before any figure is used"
        },
    ))
}
