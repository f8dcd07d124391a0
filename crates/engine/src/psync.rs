//! One blocking system call at a time: `pread`, `pwrite`, `fsync`, and discards.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;

use rustix::fs::FallocateFlags;
use rustix::io::ReadWriteFlags;

use super::backend::{Backend, IoRequest};
use super::buffers::Buffers;
use volproof_base::sample::Direction;
use volproof_base::unit::Nanos;
use volproof_device::guard::Clearance;

/// The synchronous backend; depth 1.
pub struct Psync {
    target: Arc<Clearance>,
    fd: RawFd,
    buffer: *mut u8,
    datasync: bool,
    /// The durability that each write waits for.
    durability: ReadWriteFlags,
    /// The result of the last request.
    result: i64,
}

impl Psync {
    /// Uses the first slot of `buffers`, which must outlive this value.
    pub fn new(target: Arc<Clearance>, buffers: &Buffers) -> Psync {
        Psync {
            fd: target.as_fd().as_raw_fd(),
            target,
            buffer: buffers.address(0),
            datasync: true,
            durability: ReadWriteFlags::empty(),
            result: 0,
        }
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

/// `pread` with its result as the kernel gives it: bytes, or a negative error number. `rustix::io::pread` makes the same system call and splits
/// the result, and a completion would join it again: 7 more instructions for each I/O, of 64 (`tests/instructions`).
///
/// # Safety
/// `length` bytes at `buffer` are writable and used by nobody else.
#[inline(always)]
unsafe fn pread(fd: RawFd, buffer: *mut u8, length: u32, offset: u64) -> i64 {
    let number = syscalls::Sysno::pread64 as usize;
    // SAFETY: the arguments are those of pread(2), and the kernel writes at most `length` bytes, as the caller promised.
    unsafe {
        syscalls::raw::syscall4(
            number,
            fd as usize,
            buffer.expose_provenance(),
            length as usize,
            offset as usize,
        ) as i64
    }
}

impl Psync {
    /// Everything that is not a read.
    fn change(&mut self, r: &IoRequest) -> i64 {
        let fd = self.target.as_fd();
        // SAFETY: slot 0 is at least `length` long and used by this thread alone.
        let buffer = unsafe { std::slice::from_raw_parts(self.buffer, r.length as usize) };
        completion(match r.direction {
            Direction::Write if self.durability.is_empty() => rustix::io::pwrite(fd, buffer, r.offset),
            Direction::Write => {
                rustix::io::pwritev2(fd, &[io::IoSlice::new(buffer)], r.offset, self.durability)
            }
            Direction::Trim => discard(fd, self.target.is_block(), r.offset, u64::from(r.length)),
            Direction::Sync | Direction::Read if self.datasync => rustix::fs::fdatasync(fd).map(|()| 0),
            Direction::Sync | Direction::Read => rustix::fs::fsync(fd).map(|()| 0),
        })
    }
}

impl Backend for Psync {
    const ONE_BY_ONE: bool = true;

    #[inline(always)]
    fn fill(&mut self, _slots: &[u32], mut next: impl FnMut(u32) -> IoRequest) {
        self.carry_out(next(0));
    }

    #[inline(always)]
    fn carry_out(&mut self, r: IoRequest) -> i64 {
        self.result = if r.direction == Direction::Read {
            // SAFETY: slot 0 is at least `length` long and used by this thread alone.
            unsafe { pread(self.fd, self.buffer, r.length, r.offset) }
        } else {
            self.change(&r)
        };
        self.result
    }

    fn datasync(&mut self, yes: bool) {
        self.datasync = yes;
    }

    fn sync_writes(&mut self, durability: ReadWriteFlags) {
        self.durability = durability;
    }

    #[inline(always)]
    fn submit_and_wait(&mut self, _want: u32, _timeout: Option<Nanos>) -> io::Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn ready(&mut self) -> u32 {
        1
    }

    #[inline(always)]
    fn completions(&mut self) -> impl Iterator<Item = (u32, i64)> {
        std::iter::once((0, self.result))
    }
}
