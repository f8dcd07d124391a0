//! `generator-lag`: I/Os of a schedule started late although a slot was free.
//!
//! **Why it matters:** the machine delayed them, not the device.
//!
//! **What to do:** use more CPUs or a lower rate.
//!
//! **Source:** the time from the arrival of each I/O to its submission (docs/method.md, "Closed and open loop").

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::Nanos;

/// The load threads did not keep up with a schedule.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let step = case.step;
    let open = step.open_loop.as_ref().filter(|open| open.sustained)?;
    let p50 = step
        .directions()
        .filter_map(|(_, s)| s.response_latency_ns.as_ref()?.percentiles.get("50").copied())
        .min()
        .unwrap_or_default();
    // docs/method.md, "Closed and open loop": our own delay is at most 20 us or 5 % of the median response.
    let allowed = Nanos::micros(20).0.max(p50.0 / 20);
    (open.lag_p99_ns.0 > allowed).then(|| {
        Doubt::new(
            Severity::Warning,
            DoubtCode::GeneratorLag,
            format!("1 % of the I/Os started {} or more after their time although a slot was free", open.lag_p99_ns),
            "the machine, not the device, delayed them (CPU contention, timers): use more CPUs or a lower rate",
        )
    })
}
