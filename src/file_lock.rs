//! A lock on an open file (`flock`) that another process may hold for a moment longer. The kernel drops it with the process.

use std::os::fd::AsFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, Result};

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// Locks a file for this process alone, and looks once at least; `false` where another process still holds it at that time.
///
/// # Errors
/// The filesystem has no locks.
pub fn locked_until(file: impl AsFd, until: Instant) -> Result<bool> {
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) if Instant::now() < until => sleep(PAUSE),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(e) => return Err(e),
        }
    }
}
