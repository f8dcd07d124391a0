//! `small-range`: the load went over little of the target, more than half of it or again and again.
//!
//! **Why it matters:** a cache on the way may hold part of it; where more is in flight than the range holds, requests meet on the same blocks.
//!
//! **What to do:** use a larger file or the whole device.
//!
//! **Source:** the range of the plan or report, and the bytes that were moved.

use super::DoubtCase;
use crate::device::Facts;
use crate::doubt::{Doubt, DoubtCode, Severity};
use crate::plan::{EngineKind, FileState};
use crate::record::{Spacing, StepFigures};
use crate::unit::{Bytes, total};

/// Ranges below this may lie in a cache of an elastic volume.
pub const SMALL_RANGE: Bytes = Bytes::gib(32);

/// The load went over so little of the target that a cache may hold it.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    if case.reported.is_some() {
        return range_of_report(&case.figures);
    }
    let (plan, step, targets) = (case.plan?, case.step, &case.targets);
    let least = targets.iter().min_by_key(|t| t.size_bytes)?;
    let target = least.size_bytes;
    // A file of the step's own is as large as the step says, whatever the target has.
    let own = plan.size.filter(|_| plan.file_state != FileState::Filled);
    let smallest = own.unwrap_or_else(|| plan.size.unwrap_or(target).min(target));
    let share = Spacing::of_step(plan).and_then(|spacing| spacing.used_share).unwrap_or(1.0);
    let used = Bytes((smallest.0 as f64 * share) as u64);
    if case.ran_on(EngineKind::Null) {
        return None;
    }
    let touched: u64 = total(step.directions().map(|(_, s)| s.bytes.0)) / targets.len().max(1) as u64;
    // Each target has the load threads of all jobs.
    let requests = u64::from(plan.iodepth).saturating_mul(u64::from(plan.numjobs));
    let in_flight = Bytes(plan.largest_block().0.saturating_mul(requests));
    let (severity, why) = if used < in_flight {
        let why = format!("and {in_flight} are in flight at once, so that requests meet on the same blocks");
        (Severity::Warning, why)
    } else {
        (Severity::Note, "a cache on the way may hold part of it".into())
    };
    let advice = match &least.facts {
        _ if own.is_some() || smallest < target => "use a larger --size, or the whole device".into(),
        _ if least.is_test_file() => "use a larger --file-size, or the whole device".into(),
        Facts::Block(_) => "use more of the device, or a larger one".into(),
        _ => {
            let size = SMALL_RANGE.exact();
            format!("name a larger file, or a folder with --file-size {size}, or the whole device")
        }
    };
    (used < SMALL_RANGE && touched > used.0 / 2).then(|| {
        Doubt::new(severity, DoubtCode::SmallRange, format!("the load went over only {used}: {why}"), advice)
    })
}

/// The load of a report went over a range that a cache may hold.
fn range_of_report(s: &StepFigures) -> Option<Doubt> {
    let (range, bytes) = (s.used_range(None)?, s.bytes?);
    (range < SMALL_RANGE && bytes.0 > range.0 / 2).then(|| {
        Doubt::new(
            Severity::Note,
            DoubtCode::SmallRange,
            format!("the load moved {bytes} within only {range}: a cache on the way may hold part of it"),
            "use a larger file, or the whole device",
        )
    })
}
