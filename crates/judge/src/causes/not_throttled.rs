//! `not-throttled`: no limit of the provider holds the volume back: it is slow or stalls, or the path to it does.
//!
//! **Experiment:** none: AWS's page of counters in the step that decides, whose I/Os have to be ours.
//!
//! **Proven** where a promise is broken and no limit was exceeded for more than 1 % of the time.

use super::cause_case::CauseCase;
use super::cause_row::counted;
use super::provider_page;
use crate::provider::excludes_limits;
use volproof_record::{Cause, CauseFinding, CauseRow, Outcome};

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    if provider_page::obstacle(case).is_some() {
        return None;
    }
    let is_missed = case.claim.outcome == Outcome::Fail;
    let is_proven = is_missed && excludes_limits(case.base);
    let finding = if is_proven { CauseFinding::Proven } else { CauseFinding::Excluded };
    Some(counted(Cause::NotThrottled, finding, provider_page::evidence(case, None)))
}
