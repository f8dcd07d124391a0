//! `no-ramp`: the first seconds of the load are among the figures of a short run.
//!
//! **Why it matters:** credits, cold caches and empty queues weigh most in a short run.
//!
//! **What to do:** add a ramp (`ramp_time=10` of fio).
//!
//! **Source:** the options that the report lists.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::stats::RECOMMENDED;
use volproof_base::unit::Nanos;
use volproof_record::ReportProgram;

/// The first seconds of the load are part of the figures.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = case.on_a_device().filter(|t| t.conditions.ramp.get() == Some(Nanos(0)))?;
    case.figures.window.filter(|w| *w < RECOMMENDED)?;
    Some(Doubt::new(
        Severity::Note,
        DoubtCode::NoRamp,
        "the first seconds are among the figures: credits, cold caches and empty queues weigh most in a short run",
        match t.program {
            ReportProgram::Diskspd => "add -W10",
            ReportProgram::Iometer => "set a ramp up time of 10 s",
            _ => "add ramp_time=10",
        },
    ))
}
