//! `headroom`: the step came near what this machine can drive.
//!
//! **Why it matters:** from 80 % of that on the machine may have set the rate; a load thread that is busy for 80 % of its time is in the latencies.
//!
//! **What to do:** use a machine with more or faster CPUs, more threads (`--numjobs`), or larger blocks.
//!
//! **Source:** the same load on the null device, and the CPU time of each load thread.

use super::DoubtCase;
use super::generator_limited::SATURATED;
use crate::doubt::{Doubt, DoubtCode, Severity};
use crate::plan::EngineKind;
use crate::unit::significant;

/// Share of its time on a CPU from which a load thread raises a doubt. From `SATURATED` on, there is the finding `generator-limited`
/// instead.
pub(super) const BUSY: std::ops::Range<f64> = 0.8..SATURATED;

/// The step came near what the machine can drive.
///
/// Above 80 % of the headroom the machine may have set the rate, so that a low rate is no failure of the volume. A busy load thread only adds
/// waiting to the latencies: the depth that it kept in flight was the volume's to serve.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let (plan, step) = (case.plan?, case.step);
    if let Some((h, share)) = step.headroom.as_ref().and_then(|h| Some((h, h.nearly_used(step.iops())?))) {
        return Some(Doubt::new(
            Severity::Blocker,
            DoubtCode::Headroom,
            format!("{} % of the headroom was used: {}", significant(share * 100.0), h.words()),
            "a machine with more or faster CPUs, or larger blocks, tells the volume from the machine",
        ));
    }
    let busy = step.cpu.busiest_worker;
    let polls = plan.iopoll || plan.sqpoll;
    (BUSY.contains(&busy) && plan.direct && !polls && !case.ran_on(EngineKind::Null)).then(|| {
        Doubt::new(
            Severity::Warning,
            DoubtCode::Headroom,
            format!(
                "the busiest load thread was on a CPU for {} % of the time: latencies hold that time, and the waiting for it",
                significant(busy * 100.0)
            ),
            match case.cpu_was_stolen() {
                true => "the host took CPU time away too: repeat at another time or on dedicated CPUs",
                false => "spread the load over more threads (--numjobs with a lower --iodepth)",
            },
        )
    })
}
