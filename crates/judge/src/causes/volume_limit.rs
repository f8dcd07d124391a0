//! `volume-limit`: the limit that the provider enforces for the volume.
//!
//! **Experiment:** none: AWS's page of counters in the step that decides, whose I/Os have to be ours.
//!
//! **Proven** where the limit was exceeded for at least half of the time, that of the instance for no more than 1 %, and the rate over that share of
//! the time is below the promise; **part** where it was exceeded for less of it. What is enforced is the rate of that time.

use super::cause_case::CauseCase;
use super::provider_page;
use crate::provider::shares;
use volproof_record::{Cause, CauseRow};

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    provider_page::limit_row(case, Cause::VolumeLimit, shares(case.base).0)
}
