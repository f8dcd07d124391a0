//! `queue-full`: requests wait for a tag of the disk's queue in the kernel.
//!
//! **Experiment:** none: `--anatomy` traces requests of the step that decides.
//!
//! **Shown** where they wait for a tag for at least half of their time, and the device takes no longer than usual (what is promised, else 2 ms, or 20 ms of a
//! hard disk). The row says how many hardware queues and tags there are.

use super::cause_case::CauseCase;
use super::request_parts;
use volproof_host::anatomy::RequestPart;
use volproof_record::{Cause, CauseRow};

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    request_parts::row_of_part(case, Cause::QueueFull, RequestPart::Tag)
}
