//! `tune`: the kernel's settings as a run makes them, until its user ends it.

use std::sync::atomic::Ordering;

use crate::device_tuning::{self, TuneArgs};
use crate::run::{Failure, code_after_outputs, end_signals, print, unanswered};
use volproof_host::tune::Places;
use volproof_record::exit::Exit;

/// `tune`.
///
/// # Errors
/// Of input, and of the system.
pub fn tune(args: &TuneArgs, places: &Places) -> Result<Exit, Failure> {
    let seen = end_signals::counted(end_signals::all(), false)?;
    let stop = || seen.load(Ordering::Relaxed) > 0;
    // The settings are put back even when standard output is closed.
    let mut printed = Ok(Exit::Done);
    let mut say = |text: &str| {
        if let Err(failure) = print(text) {
            printed = Err(failure);
        }
    };
    let exit = device_tuning::tune(args, places, &stop, &mut say).map_err(|e| unanswered(&e))?;
    code_after_outputs([printed], exit)
}
