//! `scheduler`: the kernel's I/O scheduler holds requests back.
//!
//! **Experiment:** none: `--anatomy` traces requests of the step that decides.
//!
//! **Shown** where they wait between their tag and the driver for at least half of their time, and the device takes no longer than usual (what is promised, else
//! 2 ms, or 20 ms of a hard disk).

use super::cause_case::CauseCase;
use super::request_parts;
use volproof_host::anatomy::RequestPart;
use volproof_record::{Cause, CauseRow};

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    request_parts::row_of_part(case, Cause::Scheduler, RequestPart::Scheduler)
}
