//! `generator-limited`: a load thread was on its CPU nearly all the time.
//!
//! **Why it matters:** such a thread cannot send more requests, so that the machine was measured and not the volume. By what a report says of a whole
//! CPU, the work may also be of others.
//!
//! **What to do:** spread the load over more threads (`--numjobs`), use larger blocks, or a machine with faster CPUs.
//!
//! **Source:** the CPU time of each load thread (`getrusage`), or what the report says.

use super::DoubtCase;
use crate::thresholds::SETS_THE_FIGURE;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::significant;

/// A thread that is on a CPU for this share of the time cannot do more: the rest is the error of the kernel's accounting.
pub fn is_saturated(share: f64) -> bool {
    share >= 1.0 - SETS_THE_FIGURE
}

/// A load thread, or by a report a CPU, was busy all the time. A thread that polls always is.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let polls = case.plan.is_some_and(|plan| plan.iopoll || plan.sqpoll);
    let s = &case.figures;
    if polls || case.is_simulated() {
        return None;
    }
    let saturated = |share: &f64| is_saturated(*share);
    let (who, busy) = match (s.cpu.busiest_thread.filter(saturated), s.cpu.busiest_cpu.filter(saturated)) {
        (Some(busy), _) => ("the busiest load thread was on a CPU", busy),
        (None, Some(busy)) => ("the busiest CPU had work", busy),
        (None, None) => return None,
    };
    let polled = if s.cpu.polling == Some(false) { "" } else { ", unless the thread polled" };
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::GeneratorLimited,
        format!(
            "{who} for {} % of the time: the machine was measured, not the volume{polled}",
            significant(busy.min(1.0) * 100.0)
        ),
        if case.cpu_was_stolen() {
            "the host took CPU time away too: repeat at another time, or on an instance with dedicated CPUs"
        } else {
            "spread the load over more threads (--numjobs), use larger blocks, or a machine with faster CPUs"
        },
    ))
}
