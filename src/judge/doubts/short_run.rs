//! `short-run`: the run is shorter than a minute.
//!
//! **Why it matters:** bursts and cycles longer than that are not seen.
//!
//! **What to do:** measure 300 s or more: `--runtime 5m`.
//!
//! **Source:** the measured window.

use super::DoubtCase;
use crate::doubt::{Doubt, DoubtCode, Severity};
use crate::plan::EngineKind;
use crate::record::{ReportProgram, StepFigures};
use crate::stats::{LEAST_QUOTABLE, RECOMMENDED};
use crate::unit::significant;

/// The run is too short for a figure that is quoted.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    if case.reported.is_some() {
        return length_of_report(&case.figures);
    }
    let (plan, step) = (case.plan?, case.step);
    let seconds = step.window_ns.as_seconds();
    let cut = step.window_ns.0 < plan.runtime.0 && !plan.ends_by_amount();
    (step.window_ns < LEAST_QUOTABLE && !case.ran_on(EngineKind::Null)).then(|| {
        Doubt::new(
            Severity::Note,
            DoubtCode::ShortRun,
            format!(
                "{} s were measured{}: bursts and cycles longer than that are not seen",
                significant(seconds),
                if cut { " of what was planned" } else { "" }
            ),
            "to quote a figure, measure 300 s or more: --runtime 5m",
        )
    })
}

/// A report of too short a run. ioping tells the time of its requests, and pauses between them.
fn length_of_report(s: &StepFigures) -> Option<Doubt> {
    let seconds = significant(s.window.filter(|w| *w < LEAST_QUOTABLE)?.as_seconds());
    let message = match s.program {
        ReportProgram::Ioping => format!(
            "the requests took {seconds} s in all, without the pauses between them: what happened in the pauses is not seen"
        ),
        _ => format!("{seconds} s were measured: bursts and cycles longer than that are not seen"),
    };
    let advice = format!("to quote a figure, measure {} s or more", RECOMMENDED.as_seconds());
    Some(Doubt::new(Severity::Note, DoubtCode::ShortRun, message, advice))
}
