//! `clock-wrong`: the clock of the stamps ran away from the kernel's, or stamped completions before their submissions.
//!
//! **Why it matters:** rates and latencies are wrong by as much.
//!
//! **What to do:** boot with another clock source (`clocksource=hpet` or `acpi_pm`), which volproof then uses too.
//!
//! **Source:** the TSC against `CLOCK_MONOTONIC` at the end of the step.

use super::DoubtCase;
use crate::thresholds::NEGLIGIBLE;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};

/// The largest drift of the stamps' clock from the kernel's, in parts per million. NTP may turn the kernel's clock by 500 for a while, and
/// seldom turns it by 100.
const DRIFT_PPM: f64 = 100.0;

/// The clock of the stamps ran away from the kernel's, or backwards.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let step = case.step;
    let account = step.accounting.as_ref()?;
    let drift = account.drift_ppm.filter(|ppm| ppm.abs() > DRIFT_PPM);
    let mut found = Vec::new();
    if let Some(ppm) = drift {
        let way = if ppm > 0.0 { "fast" } else { "slow" };
        found.push(format!("it ran {:.0} ppm {way} against CLOCK_MONOTONIC", ppm.abs()));
    }
    if account.negative_latencies > 0 {
        found.push(format!("it stamped {} completions before their submission", account.negative_latencies));
    }
    let voids = drift.is_some_and(|ppm| ppm.abs() > 1e6 * NEGLIGIBLE);
    (!found.is_empty()).then(|| {
        Doubt::new(
            if voids { Severity::Blocker } else { Severity::Warning },
            DoubtCode::ClockWrong,
            format!("the clock of the measurement ({}) is not right: {}", account.clock, found.join(", and ")),
            "rates and latencies are wrong by as much: boot with another clock source (clocksource=hpet or acpi_pm), which volproof then uses too",
        )
    })
}
