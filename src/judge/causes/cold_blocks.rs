//! `cold-blocks`: blocks of a volume made from a snapshot are loaded when they are first read.
//!
//! **Experiment:** `volproof cold` makes it: some thousand blocks in pairs of groups, first reads beside second ones.

use super::{CauseCase, Experiment, no_step};
use crate::record::{Cause, CauseRow, NotTried};

pub(super) const EXPERIMENT: Experiment =
    Experiment { cause: Cause::ColdBlocks, obstacle, next: no_step, row };

/// The experiment reads some thousand blocks in pairs of groups, as the suite `cold` does.
fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    Some(if case.load.rw.changes_data() { NotTried::Writes } else { NotTried::OwnCommand })
}

fn row(_: &CauseCase<'_>) -> Option<CauseRow> {
    None
}
