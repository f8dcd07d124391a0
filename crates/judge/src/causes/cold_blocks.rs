//! `cold-blocks`: blocks of a volume made from a snapshot are loaded when they are first read.
//!
//! **Experiment:** `volproof cold` makes it: some thousand blocks in pairs of groups, first reads beside second ones.

use super::cause_case::CauseCase;
use volproof_record::NotTried;

/// The experiment reads some thousand blocks in pairs of groups, as the suite `cold` does.
pub(super) fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    Some(if case.load.rw.changes_data() { NotTried::Writes } else { NotTried::OwnCommand })
}
