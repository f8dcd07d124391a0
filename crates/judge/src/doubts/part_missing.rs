//! `part-missing`: a report breaks off before a direction of its load.
//!
//! **Why it matters:** a part says nothing of the whole.
//!
//! **What to do:** copy the report to its end.
//!
//! **Source:** the pattern of the load, and the directions of the report.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};

/// A direction that the load has is not in the report, which breaks off.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let reported = case.reported.as_ref().filter(|_| case.partial)?;
    let wanted = reported.conditions.pattern()?.directions();
    let there = reported.report.parts();
    let is_missing = |name: &&str| there.iter().all(|(part, _)| part != name);
    let missing: Vec<&str> = wanted.iter().map(|d| d.name()).filter(is_missing).collect();
    // A report that holds nothing at all has no figures to doubt.
    if missing.is_empty() || (there.is_empty() && reported.report.mixed.is_none()) {
        return None;
    }
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::PartMissing,
        format!(
            "the load was {}, and the report has no {}s: it breaks off before them",
            reported.conditions.rw.as_ref().map_or("a mix", String::as_str),
            missing.join("s and no ")
        ),
        "copy the report to its end: a part says nothing of the whole",
    ))
}
