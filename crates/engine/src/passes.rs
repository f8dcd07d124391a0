//! The end of a pass: a job has gone over its part of the targets and begins anew.
//!
//! Cached pages are dropped (`invalidate`): without that, a buffered load measures memory from its second pass on. fio 3.33 does the same
//! whenever a job begins anew over its files (`loops`, `time_based`). A file of a step's own gets back the state that the step asks for
//! (`file_state`): without that, the second pass overwrites blocks.

use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate, ftruncate};

use super::Target;
use super::generator::Region;
use volproof_base::unit::Bytes;
use volproof_device::guard::Clearance;
use volproof_plan::{FileState, Step};

/// How far a job has come with its pass.
pub struct Passes {
    target: Arc<Clearance>,
    region: Region,
    /// The state in which each pass finds its file.
    file_state: FileState,
    /// Bytes of a pass.
    length: u64,
    /// Bytes left of the present pass.
    left: u64,
}

impl Passes {
    /// The passes of a job over this region of this target. None where the end of a pass changes nothing: the step overwrites its file,
    /// and no cached pages are to be dropped.
    pub fn new(step: &Step, target: &Target, region: Region) -> Option<Passes> {
        let file_state = step.file_state;
        if file_state == FileState::Filled && (!step.invalidate || step.direct) {
            return None;
        }
        let target = target.clearance.clone()?;
        let block = step.largest_block().0;
        let length = region.length.0 / block * block;
        Some(Passes { target, region, file_state, length, left: length })
    }

    /// Counts the bytes of a finished I/O, and begins the next pass after the last byte of this one.
    #[inline(always)]
    pub fn complete(&mut self, bytes: u32) {
        self.left = self.left.saturating_sub(u64::from(bytes));
        if self.left == 0 {
            self.begin_anew();
        }
    }

    /// Begins the next pass: drops the cached pages, or gives the file its state again. The load goes on when the kernel refuses: it accepted
    /// the same call when the load began.
    #[cold]
    fn begin_anew(&mut self) {
        self.left = self.length;
        let Region { start, length } = self.region;
        let _ = match self.file_state {
            FileState::Filled => {
                fadvise(self.target.as_fd(), start.0, length.0.try_into().ok(), Advice::DontNeed)
            }
            state => begin_file(&self.target, state, length),
        };
    }
}

/// Gives a file of a step's own the state in which the step finds it. A filesystem that cannot reserve room leaves the file empty.
///
/// # Errors
/// When the file cannot be emptied. Room that cannot be reserved is no error.
pub fn begin_file(clearance: &Clearance, state: FileState, size: Bytes) -> rustix::io::Result<()> {
    ftruncate(clearance.as_fd(), 0)?;
    if state == FileState::Reserved {
        let _ = fallocate(clearance.as_fd(), FallocateFlags::empty(), 0, size.0);
    }
    Ok(())
}
