//! `cpu-quota`: a cgroup limit denied CPU time to this process.
//!
//! **Why it matters:** the load waited for it.
//!
//! **What to do:** raise the CPU limit of the container.
//!
//! **Source:** `nr_throttled` of `cpu.stat`.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::counted;

/// A cgroup limit took CPU time away.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let (plan, evidence) = (case.plan?, case.evidence);
    let periods = evidence.cgroup_throttled_periods.filter(|n| *n > 0 && plan.simulate.is_none())?;
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::CpuQuota,
        format!("our own cgroup was denied CPU time in {} (cpu.max)", counted(periods, "period")),
        "raise the CPU limit of the container: the load waited for it",
    ))
}
