//! `completions-on-one-cpu`: completed requests wait until their thread sees them.
//!
//! **Experiment:** none: `--anatomy` traces requests of the step that decides.
//!
//! **Shown** where completed requests wait for their thread for at least half of their time, and the device takes no longer than usual (what is promised, else
//! 2 ms, or 20 ms of a hard disk). The row says how many of them complete on the same CPU.

use super::cause_case::CauseCase;
use super::request_parts;
use volproof_host::anatomy::RequestPart;
use volproof_record::{Cause, CauseRow};

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    request_parts::row_of_part(case, Cause::CompletionsOnOneCpu, RequestPart::Wake)
}
