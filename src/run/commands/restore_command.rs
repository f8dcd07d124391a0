//! `restore`: puts back the kernel's settings that a killed or kept tuning left.

use crate::device_tuning::{self, RestoreArgs};
use crate::run::{Failure, print_with_code};
use volproof_host::tune::Places;
use volproof_record::exit::Exit;

/// `restore`.
///
/// # Errors
/// A journal that cannot be read, or a setting that cannot be put back.
pub fn restore(args: &RestoreArgs, places: &Places) -> Result<Exit, Failure> {
    print_with_code(device_tuning::restore(args, places))
}
