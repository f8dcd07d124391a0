//! `slow-at-the-end`: the slowest I/O was still in flight when the window ended.
//!
//! **Why it matters:** it is in no percentile.
//!
//! **What to do:** measure for longer.
//!
//! **Source:** the requests that came back after the window.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::sample::Direction;

/// The slowest I/O ended after the window and is in no percentile.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let step = case.step;
    let longest = Direction::ALL
        .iter()
        .filter_map(|d| step.direction(*d))
        .map(|s| s.service_latency_ns.max)
        .max()
        .unwrap_or_default();
    (step.drained_max_ns > longest && step.drained_ios > 0).then(|| {
        Doubt::new(
            Severity::Note,
            DoubtCode::SlowAtTheEnd,
            format!(
                "the slowest I/O ({}) was still in flight when the window ended and is in no percentile",
                step.drained_max_ns
            ),
            "a longer run would include it",
        )
    })
}
