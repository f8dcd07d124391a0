//! `impossible-figures`: a report holds figures that contradict each other or cannot be.
//!
//! **Why it matters:** the report was changed or damaged, or its tool has a fault.
//!
//! **What to do:** take the report again, as the program wrote it.
//!
//! **Source:** the figures of the report, held against each other.

use super::DoubtCase;
use crate::thresholds::EXAMPLES;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_record::ReportProgram;

/// The report holds impossible figures: the report was edited or damaged, or its tool has a fault.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let reported = case.reported.as_ref()?.report;
    let against = reported.contradictions();
    let all: Vec<&str> = reported.impossible.iter().chain(&against).map(String::as_str).collect();
    if all.is_empty() {
        return None;
    }
    let shown = &all[..all.len().min(EXAMPLES)];
    let left = all.len() - shown.len();
    let more = if left > 0 { format!(", and {left} more") } else { String::new() };
    let out = if reported.impossible.is_empty() { "" } else { "; what rests on them is left out" };
    Some(Doubt::new(
        if reported.are_impossible() || !against.is_empty() { Severity::Blocker } else { Severity::Warning },
        DoubtCode::ImpossibleFigures,
        format!("the report holds figures that cannot be: {}{more}{out}", shown.join("; ")),
        match case.reported.as_ref().map(|t| t.program) {
            Some(ReportProgram::Fio) if reported.impossible.is_empty() => {
                "report each job by itself, without group_reporting: a row that sums up unlike jobs shows the options of one of them; or take the report again, as the program wrote it"
            }
            _ => {
                "take the report again, as the program wrote it: this copy is not what it wrote, or the program has a fault"
            }
        },
    ))
}
