//! `topo`: hardware queues and CPUs of a device, and where workers would go.

use crate::device_tuning::{self, TopoArgs};
use crate::run::{Failure, print_with_code};
use volproof_host::tune::Places;
use volproof_record::exit::Exit;

/// `topo`.
///
/// # Errors
/// Of input: a device that is not there, or that cannot be understood.
pub fn topo(args: &TopoArgs, places: &Places) -> Result<Exit, Failure> {
    print_with_code(device_tuning::topo(args, &places.root))
}
