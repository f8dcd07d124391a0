//! `shared-disk`: several steps loaded one disk at the same time.
//!
//! **Why it matters:** no rate or latency is the disk's by itself.
//!
//! **What to do:** run the steps one after another, or as one step with more jobs or a mixed pattern.
//!
//! **Source:** the plan, and the disks beneath the targets.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};

/// Several steps loaded one disk at the same time.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let first = case.sharing.first.first()?;
    let more = match case.sharing.count - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(Doubt::new(
        Severity::Warning,
        DoubtCode::SharedDisk,
        format!(
            "it ran together with {first}{more} on the same disk: no rate or latency is the disk's by itself"
        ),
        "to judge the disk, run the steps one after another, or as one step with more jobs or a mixed pattern",
    ))
}
