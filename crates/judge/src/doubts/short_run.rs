//! `short-run`: the run is shorter than a minute.
//!
//! **Why it matters:** bursts and cycles longer than that are not seen.
//!
//! **What to do:** measure 300 s or more (`--runtime 5m`).
//!
//! **Source:** the measured window.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::stats::{LEAST_QUOTABLE, RECOMMENDED};
use volproof_base::unit::significant;
use volproof_plan::EngineKind;
use volproof_record::ReportProgram;

/// The run is too short for a figure that is quoted. The time that ioping prints leaves out the pauses between its requests.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let window = if case.reported.is_some() { case.figures.rate.window? } else { case.step.window_ns };
    if window >= LEAST_QUOTABLE || case.ran_on(EngineKind::Null) {
        return None;
    }
    let seconds = significant(window.as_seconds());
    let message = match case.figures.program {
        ReportProgram::Ioping => format!(
            "the requests took {seconds} s in all, without the pauses between them: what happened in the pauses is not seen"
        ),
        _ => format!("{seconds} s were measured: bursts and cycles longer than that are not seen"),
    };
    let advice = format!("to quote a figure, measure {} s or more", RECOMMENDED.as_seconds());
    Some(Doubt::new(Severity::Note, DoubtCode::ShortRun, message, advice))
}
