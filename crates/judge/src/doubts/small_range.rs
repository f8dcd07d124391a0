//! `small-range`: the load went over little of the target, more than half of it or again and again.
//!
//! **Why it matters:** a cache on the way may hold part of it.
//!
//! **What to do:** use a larger file, or the whole device.
//!
//! **Source:** the range of the plan or report, and the bytes that were moved.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::Bytes;
use volproof_plan::EngineKind;
use volproof_record::Spacing;

/// Ranges below this may lie in a cache of an elastic volume.
pub const SMALL_RANGE: Bytes = Bytes::gib(32);

/// The load went over so little of the target that a cache may hold it.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let (range, moved) = (case.figures.load.used_range(None)?, case.figures.rate.bytes?);
    // The figures of a run hold the whole range, and the bytes of all its targets.
    let plan = case.plan.filter(|_| case.reported.is_none());
    let share = plan.and_then(Spacing::of_step).and_then(|spacing| spacing.used_share).unwrap_or(1.0);
    let range = Bytes((range.0 as f64 * share) as u64);
    let targets = if plan.is_some() { case.targets.len().max(1) as u64 } else { 1 };
    let touched = moved.0 / targets;
    let is_small = range < SMALL_RANGE && touched > range.0 / 2 && !case.ran_on(EngineKind::Null);
    is_small.then(|| {
        Doubt::new(
            Severity::Note,
            DoubtCode::SmallRange,
            format!("the load moved {moved} within only {range}: a cache on the way may hold part of it"),
            "use a larger file, or the whole device",
        )
    })
}
