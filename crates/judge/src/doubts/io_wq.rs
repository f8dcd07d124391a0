//! `io-wq`: kernel threads (io-wq) did the requests of io_uring.
//!
//! **Why it matters:** they cost CPU time and latency, so that the step measures them as much as the device.
//!
//! **What to do:** compare with `--engine libaio`.
//!
//! **Source:** the CPU time of the threads named `iou-wrk`.

use super::DoubtCase;
use crate::thresholds::SETS_THE_FIGURE;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_plan::EngineKind;

/// Kernel threads of io_uring did the requests, and took CPU time of their own.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let own: f64 = case.stage().map(|(_, s)| s.cpu.user_ns.0 as f64 + s.cpu.system_ns.0 as f64).sum();
    // In a stage of several steps, the share of each step is not known.
    let helpers = if case.others.is_empty() { case.step.cpu.io_wq_ns } else { case.evidence.io_wq_ns };
    let share = helpers.0 as f64 / (own + helpers.0 as f64).max(1.0);
    (case.ran_on(EngineKind::IoUring) && share > SETS_THE_FIGURE).then(|| {
        Doubt::new(
            Severity::Warning,
            DoubtCode::IoWq,
            format!("io_uring handed requests to kernel threads (io-wq): {helpers} of CPU time went there"),
            "this measures io-wq as much as the device, which has no non-blocking path: compare with --engine libaio",
        )
    })
}
