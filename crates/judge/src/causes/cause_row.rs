//! The rows of the table of causes.

use volproof_record::{Cause, CauseEvidence, CauseFinding, CauseRow, CauseTrial};

/// A row without evidence.
pub(super) fn row(cause: Cause, finding: CauseFinding) -> CauseRow {
    CauseRow { cause, finding, not_tried: None, trials: Vec::new(), evidence: None }
}

/// A row of an experiment that shows its cause, or excludes it.
pub(super) fn found(
    cause: Cause,
    is_shown: bool,
    trials: Vec<CauseTrial>,
    evidence: Option<CauseEvidence>,
) -> CauseRow {
    let finding = if is_shown { CauseFinding::Shown } else { CauseFinding::Excluded };
    CauseRow { trials, evidence, ..row(cause, finding) }
}

/// A row of an exact counter.
pub(super) fn counted(cause: Cause, finding: CauseFinding, evidence: CauseEvidence) -> CauseRow {
    CauseRow { evidence: Some(evidence), ..row(cause, finding) }
}
