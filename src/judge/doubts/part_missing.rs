//! `part-missing`: a report breaks off before a direction of its load.
//!
//! **Why it matters:** a part says nothing of the whole.
//!
//! **What to do:** copy the report to its end.
//!
//! **Source:** the pattern of the load, and the directions of the report.

use super::DoubtCase;
use crate::doubt::{Doubt, DoubtCode, Severity};

/// A direction that the load has is not in the report, which breaks off.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let reported = case.reported.as_ref()?;
    let wanted = reported.conditions.pattern()?.directions();
    let there = reported.report.parts();
    // A total of both directions takes the place of each, unless the directions were to follow the total.
    let missing: Vec<&str> =
        wanted.iter().map(|d| d.name()).filter(|d| there.iter().all(|(name, _)| name != d)).collect();
    let total = reported.report.mixed.is_some();
    (!missing.is_empty() && (total || !there.is_empty()) && case.partial).then(|| {
        Doubt::new(
            Severity::Blocker,
            DoubtCode::PartMissing,
            format!(
                "the load was {}, and the report has no {}s: it breaks off before them",
                reported.conditions.rw.as_ref().map_or("a mix", String::as_str),
                missing.join("s and no ")
            ),
            "copy the report to its end: a part says nothing of the whole",
        )
    })
}
