//! `ended-by-size`: the amount of data ended the run of a report, and not its time.
//!
//! **Why it matters:** the run says nothing of the time after.
//!
//! **What to do:** set a run time, over the whole device or a far larger file.
//!
//! **Source:** the run time that was asked for, and the amount that was moved.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::significant;

/// The amount of data ended the run, and not its time.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = case.on_a_device().filter(|t| volproof_record::ended_by_size(t.report, t.conditions))?;
    let time = case.figures.rate.window.map(|w| format!(" after {} s", significant(w.as_seconds())));
    let limit = t.conditions.runtime.get().filter(|r| r.0 > 0);
    let limit = limit.map(|r| format!(", not by runtime={}", r.exact())).unwrap_or_default();
    Some(Doubt::new(
        Severity::Warning,
        DoubtCode::EndedBySize,
        format!(
            "the run ended{}, when {} had been gone over{limit}: it says nothing of the time after",
            time.unwrap_or_default(),
            t.report.amount().unwrap_or_default()
        ),
        "measure for a set time (300 s), over the whole device or a far larger file",
    ))
}
