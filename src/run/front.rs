//! Who asks for the work, and hears how it goes.

use std::time::Duration;

use super::Failure;
use crate::ui::Ui;
use volproof_record::{RankClock, Record};

/// Who asks for the work, and hears how it goes.
pub trait Front {
    /// Where progress is shown.
    fn ui(&mut self) -> &mut Ui;

    /// The first step is about to begin: a Record without steps says so where the run is killed in it. The default is for runs that save nothing.
    fn begun(&mut self, record: &Record) {
        let _ = record;
    }

    /// Steps have ended and are in the Record: a moment to save it. What cannot be saved is no reason to end the run.
    fn measured(&mut self, record: &Record);

    /// Nothing of the Record changes for about so long: the last moment to save what is not saved yet. The default is for runs that save nothing.
    fn stage_begins(&mut self, record: &Record, length: Duration) {
        let _ = (record, length);
    }

    /// This rank of a fleet is ready: when the first I/O of all ranks is due, by the clock of rank 0, and what is known of the clock of this one.
    /// The default is for a start that was planned before.
    ///
    /// # Errors
    /// When the fleet ends before it begins.
    fn common_start(&mut self, record: &Record) -> Result<Option<(i64, RankClock)>, Failure> {
        let _ = record;
        Ok(None)
    }
}
