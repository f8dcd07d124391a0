//! One blocking system call at a time: `pread`, `pwrite`, `fsync`, and discards.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::fs::FallocateFlags;

use super::backend::{Backend, Request};
use super::buffers::Buffers;
use crate::guard::Clearance;
use crate::sample::Direction;
use crate::unit::Nanos;

/// The synchronous backend; depth 1.
pub struct Psync {
    target: Arc<Clearance>,
    buffer: *mut u8,
    pending: Option<Request>,
    done: Option<(u32, i64)>,
}

impl Psync {
    /// Uses the first slot of `buffers`, which must outlive this value.
    pub fn new(target: Arc<Clearance>, buffers: &Buffers) -> Psync {
        Psync { target, buffer: buffers.address(0), pending: None, done: None }
    }
}

/// The result of a system call in the form of a completion: bytes, or a negative error number.
fn completion(result: rustix::io::Result<usize>) -> i64 {
    match result {
        Ok(n) => n as i64,
        Err(e) => -i64::from(e.raw_os_error()),
    }
}

/// Discards a range: `BLKDISCARD` on a block device, a punched hole in a file.
fn discard(fd: BorrowedFd<'_>, is_block: bool, offset: u64, length: u64) -> rustix::io::Result<usize> {
    if is_block {
        use std::os::fd::AsRawFd;
        let range = [offset, length];
        // SAFETY: BLKDISCARD reads two u64, which live until the call returns.
        let rc = unsafe { libc::ioctl(fd.as_raw_fd(), libc::_IO(0x12, 119), range.as_ptr()) };
        if rc < 0 {
            return Err(rustix::io::Errno::from_io_error(&io::Error::last_os_error())
                .unwrap_or(rustix::io::Errno::IO));
        }
    } else {
        rustix::fs::fallocate(fd, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, length)?;
    }
    Ok(length as usize)
}

impl Backend for Psync {
    #[inline(always)]
    fn fill(&mut self, n: u32, mut next: impl FnMut() -> Request) {
        debug_assert!(n <= 1 && self.pending.is_none());
        if n > 0 {
            self.pending = Some(next());
        }
    }

    #[inline(always)]
    fn submit_and_wait(&mut self, _want: u32, _timeout: Option<Nanos>) -> io::Result<()> {
        if let Some(r) = self.pending.take() {
            let fd = self.target.as_fd();
            // SAFETY: slot 0 is at least `length` long and used by this thread alone.
            let buffer = unsafe { std::slice::from_raw_parts_mut(self.buffer, r.length as usize) };
            let result = match r.direction {
                Direction::Read => rustix::io::pread(fd, buffer, r.offset),
                Direction::Write => rustix::io::pwrite(fd, buffer, r.offset),
                Direction::Trim => discard(fd, self.target.is_block(), r.offset, u64::from(r.length)),
                Direction::Sync => rustix::fs::fdatasync(fd).map(|()| 0),
            };
            if result == Err(rustix::io::Errno::INTR) {
                self.pending = Some(r);
            } else {
                self.done = Some((r.slot, completion(result)));
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn ready(&mut self) -> u32 {
        u32::from(self.done.is_some())
    }

    #[inline(always)]
    fn reap(&mut self, _n: u32, mut each: impl FnMut(u32, i64)) {
        if let Some((slot, result)) = self.done.take() {
            each(slot, result);
        }
    }
}
