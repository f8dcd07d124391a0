//! `device-hangs`: requests in flight at the end of a step never completed, or a load thread never came back.
//!
//! **Why it matters:** the device or its driver hangs, or a limit below it holds requests back for so long: it counts against the volume and voids
//! nothing.
//!
//! **What to do:** look at the kernel log (`dmesg`), and do not trust this target.
//!
//! **Source:** the requests that the loop still waited for at the end of its patience.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::counted;

/// Requests or load threads did not come back after the step.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let step = case.step;
    let waited = step.accounting.as_ref().map_or("afterwards".into(), |a| format!("{} later", a.patience_ns));
    let mut found = Vec::new();
    if step.lost_ios > 0 {
        found.push(format!(
            "{} in flight at the end of the step had not completed {waited}",
            counted(step.lost_ios, "I/O")
        ));
    }
    if step.stuck_workers > 0 {
        let threads = counted(step.stuck_workers.into(), "load thread");
        let were = if step.stuck_workers == 1 { "was" } else { "were" };
        found.push(format!("{threads} {were} still in a system call {waited}"));
    }
    (!found.is_empty()).then(|| {
        Doubt::new(
            Severity::Warning,
            DoubtCode::DeviceHangs,
            found.join(", and "),
            "the device or its driver hangs, or a limit below it holds requests back for so long: look at the kernel log (dmesg), and do not \
             trust this target",
        )
    })
}
