//! `cpu-steal`: the host took CPU time away.
//!
//! **Why it matters:** latencies include the host's scheduling.
//!
//! **What to do:** repeat at another time, or on dedicated CPUs.
//!
//! **Source:** the stolen time in `/proc/stat`.

use super::DoubtCase;
use crate::thresholds::{NEGLIGIBLE, SETS_THE_FIGURE};
use volproof_base::doubt::{Doubt, DoubtCode, Severity};

/// The hypervisor took CPU time away.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let (plan, evidence) = (case.plan?, case.evidence);
    let share = evidence.steal_share();
    // A simulated device has a time of its own.
    (share > NEGLIGIBLE && plan.simulate.is_none()).then(|| {
        let severity = if share > SETS_THE_FIGURE { Severity::Blocker } else { Severity::Warning };
        Doubt::new(
            severity,
            DoubtCode::CpuSteal,
            format!("the host took {:.1} % of the CPU time away", share * 100.0),
            "latencies include the host's scheduling: repeat at another time or on dedicated CPUs",
        )
    })
}
