//! The rows of the table of causes.

use super::trial::TrialComparison;
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
    let compared = if is_shown { TrialComparison::Yes } else { TrialComparison::No };
    answered(cause, compared, trials, evidence)
}

/// A row of an experiment whose intervals may leave it open.
pub(super) fn answered(
    cause: Cause,
    compared: TrialComparison,
    trials: Vec<CauseTrial>,
    evidence: Option<CauseEvidence>,
) -> CauseRow {
    CauseRow { trials, evidence, ..row(cause, compared.into()) }
}

/// A row of an exact counter.
pub(super) fn counted(cause: Cause, finding: CauseFinding, evidence: CauseEvidence) -> CauseRow {
    CauseRow { evidence: Some(evidence), ..row(cause, finding) }
}
