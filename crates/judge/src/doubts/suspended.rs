//! `suspended`: volproof was suspended while it measured.
//!
//! **Why it matters:** its load stood still, and rates and latencies hold that time.
//!
//! **What to do:** repeat the step without Ctrl-Z, SIGSTOP or a paused container.
//!
//! **Source:** the clock of the kernel.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_record::Intervention;

/// volproof stood still.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let lasted = case.intervened(|i| match i {
        Intervention::Suspended { for_ns, .. } => Some(*for_ns),
        _ => None,
    })?;
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::Suspended,
        format!("volproof was suspended for {lasted} while it measured, and its load stood still"),
        "rates and latencies hold that time: repeat the step without Ctrl-Z, SIGSTOP or a paused container",
    ))
}
