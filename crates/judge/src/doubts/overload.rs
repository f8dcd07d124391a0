//! `overload`: a schedule offered more than completed.
//!
//! **Why it matters:** response times then only say how long the run was.
//!
//! **What to do:** lower the rate to quote response times, or raise `--iodepth` to see whether the volume takes more.
//!
//! **Source:** arrivals and completions of the schedule.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::{grouped, significant};

/// The device did not keep up with a schedule.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let step = case.step;
    let open = step.open_loop.as_ref().filter(|open| !open.sustained)?;
    Some(Doubt::new(
        Severity::Warning,
        DoubtCode::Overload,
        format!(
            "{} I/Os a second were offered and {} completed, and {} waited at the end: the offered rate was not sustained",
            significant(open.offered_per_second),
            significant(open.achieved_per_second),
            grouped((open.backlog_per_second * step.window_ns.as_seconds()).round() as u64)
        ),
        "the rate is what the requests in flight came to, and the response times only say how long the run was: lower the rate to quote \
             them, or raise --iodepth to see whether the volume takes more",
    ))
}
