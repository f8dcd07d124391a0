//! `tune`: the kernel's settings as a run makes them, until its user ends it.

use std::sync::atomic::Ordering;

use crate::exit::Exit;
use crate::machine::{self, TuneArgs};
use crate::run::{Failure, coded, end_signals, print};
use crate::tune::Places;

/// `tune`.
///
/// # Errors
/// Of input, and of the system.
pub fn tune(args: &TuneArgs, places: &Places) -> Result<Exit, Failure> {
    let seen = end_signals::counted(end_signals::all())?;
    let stop = || seen.load(Ordering::Relaxed) > 0;
    // What is tuned is put back even when nobody reads on.
    let mut say = |text: &str| drop(print(text));
    coded(machine::tune(args, places, &stop, &mut say).map(|exit| (String::new(), exit)))
}
