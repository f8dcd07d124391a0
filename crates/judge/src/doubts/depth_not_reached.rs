//! `depth-not-reached`: fewer requests were in flight than the step asked for.
//!
//! **Why it matters:** the figure belongs to a lower depth.
//!
//! **What to do:** use more `--numjobs`, faster CPUs or direct I/O, as the doubt says.
//!
//! **Source:** the time in flight, summed up by the loop.

use super::DoubtCase;
use crate::thresholds::SETS_THE_FIGURE;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::sample::Direction;
use volproof_base::unit::total;

/// Fewer requests were in flight than the step asked for (docs/method.md, "Depth").
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let (plan, step) = (case.plan?, case.step);
    let asked = step.in_flight_asked.get()?;
    // The last requests of a step that ends by its amount are not replaced: the queue drains during their share of all I/Os.
    let ios = total(step.directions().filter(|(d, _)| *d != Direction::Sync).map(|(_, s)| s.ios));
    let drained = if plan.ends_by_amount() { asked / (ios as f64).max(1.0) } else { 0.0 };
    let reached = step.in_flight_mean / asked.max(1.0) + drained;
    // A schedule leaves the queue empty on purpose; so does a log, whose one write at a time waits for its flush.
    let meant = plan.arrivals_per_second().is_some() || (plan.fsync > 0 && plan.iodepth == 1);
    if meant || step.window_ns.0 == 0 || reached >= 1.0 - SETS_THE_FIGURE {
        return None;
    }
    let advice = if plan.simulate.is_some() {
        "the device was simulated, so that neither a volume nor a host is the reason: look at the keys of --simulate, and use more --numjobs"
    } else if !plan.direct {
        "buffered I/O completes in the submitting call: use direct I/O (without --buffered)"
    } else if case.cpu_was_stolen() {
        "the host took CPU time from the load threads: repeat at another time or on dedicated CPUs"
    } else if asked > 1.0 {
        "the load threads were late with their requests: use more --numjobs or faster CPUs, and look at what else ran and at calls that block \
         (a filesystem, a full device queue)"
    } else {
        "the load thread was late with its next request: look at CPU use, stop other programs, and run it again"
    };
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::DepthNotReached,
        format!("{:.1} requests were in flight on average, not {}", step.in_flight_mean, asked),
        advice,
    ))
}
