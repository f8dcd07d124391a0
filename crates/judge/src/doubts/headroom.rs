//! `headroom`: the step came near what this machine can drive.
//!
//! **Why it matters:** from 80 % of that on the machine may have set the rate.
//!
//! **What to do:** use a machine with more or faster CPUs, or larger blocks.
//!
//! **Source:** the same load on the null device.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::significant;

/// The rate is so near the headroom that the machine may have set it.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let headroom = case.step.headroom.as_ref()?;
    let share = headroom.nearly_used(case.step.iops())?;
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::Headroom,
        format!("{} % of the headroom was used: {}", significant(share * 100.0), headroom.words()),
        "a machine with more or faster CPUs, or larger blocks, tells the volume from the machine",
    ))
}
