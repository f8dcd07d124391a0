//! `topo`: hardware queues and CPUs of a device, and where workers would go.

use crate::device_tuning::{self, TopoArgs};
use crate::exit::Exit;
use crate::run::{Failure, print_with_code};
use crate::tune::Places;

/// `topo`.
///
/// # Errors
/// Of input: a device that is not there, or that cannot be understood.
pub fn topo(args: &TopoArgs, places: &Places) -> Result<Exit, Failure> {
    print_with_code(device_tuning::topo(args, &places.root))
}
