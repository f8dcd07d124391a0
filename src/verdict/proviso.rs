//! What a verdict on a report takes for granted, where the report does not show the options of its load.

use crate::record::{Claim, Conditions, Outcome, Record, ReportProgram};

/// What would undo a PASS or a FAIL, in words. fio's text and terse lines show no options but those of the job's first line.
pub fn proviso(record: &Record, conditions: &Conditions, outcome: Outcome) -> Option<String> {
    let of_fio = record.report.as_ref().is_some_and(|report| report.program == ReportProgram::Fio);
    let options = match outcome {
        Outcome::Pass => {
            "made the load easy (a small size, random_distribution, zero_buffers, dedupe_percentage)"
        }
        Outcome::Fail => {
            "held the load back (sync, prioclass, offset, thinktime, new_group without stonewall)"
        }
        _ => return None,
    };
    (of_fio && conditions.runtime.is_unknown()).then(|| {
        format!(
            "it holds if no option that the report does not show {options}: the command above the report, or fio's JSON, tells them"
        )
    })
}

/// The claim with its proviso.
pub(super) fn with_proviso(record: &Record, conditions: &Conditions, claim: Claim) -> Claim {
    let reason = match proviso(record, conditions, claim.outcome) {
        Some(proviso) if claim.reason.is_empty() => proviso,
        Some(proviso) => format!("{}; {proviso}", claim.reason),
        None => return claim,
    };
    Claim { reason, ..claim }
}
