//! `tune`: the kernel's settings as a run makes them, until its user ends it.

use std::sync::atomic::Ordering;

use crate::device_tuning::{self, TuneArgs};
use crate::exit::Exit;
use crate::run::{Failure, end_signals, print, print_with_code};
use crate::tune::Places;

/// `tune`.
///
/// # Errors
/// Of input, and of the system.
pub fn tune(args: &TuneArgs, places: &Places) -> Result<Exit, Failure> {
    let seen = end_signals::counted(end_signals::all())?;
    let stop = || seen.load(Ordering::Relaxed) > 0;
    // The settings are put back even when standard output is closed.
    let mut say = |text: &str| drop(print(text));
    print_with_code(device_tuning::tune(args, places, &stop, &mut say).map(|exit| (String::new(), exit)))
}
