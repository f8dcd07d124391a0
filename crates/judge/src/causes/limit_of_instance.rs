//! `instance-limit`: the limit that the provider enforces for all volumes of the instance, or for its local disks.
//!
//! **Experiment:** none: AWS's page of counters in the step that decides, whose I/Os have to be ours.
//!
//! **Proven** where it was exceeded for at least half of the time, and the rate over that share of the time is below the promise: no fault of the
//! volume. **Part** where it was exceeded for less of it.

use super::cause_case::CauseCase;
use super::provider_page;
use crate::provider::shares;
use volproof_record::{Cause, CauseRow};

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    provider_page::limit_row(case, Cause::InstanceLimit, shares(case.base).1)
}
