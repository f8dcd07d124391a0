//! The raw calls about one open target that neither sysfs nor rustix carries. Each only asks.

use std::os::fd::BorrowedFd;
use std::{io, mem};

use rustix::ioctl::{Getter, Opcode, Updater, ioctl, opcode};

use crate::unit::Bytes;

/// `BLKGETSIZE64`, from linux/fs.h.
const BLKGETSIZE64: Opcode = opcode::read::<usize>(0x12, 114);
/// `BLKGETDISKSEQ`, from linux/fs.h (Linux 5.15).
const BLKGETDISKSEQ: Opcode = opcode::read::<u64>(0x12, 128);
/// `FS_IOC_FIEMAP`, from linux/fs.h; its size counts the header alone.
const FS_IOC_FIEMAP: Opcode = opcode::read_write::<FiemapHeader>(b'f', 11);

/// `struct fiemap` without its extents (kernel: Documentation/filesystems/fiemap.rst).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapHeader {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// Extents asked for at once.
const BATCH: usize = 64;
/// The last extent of the file.
const EXTENT_LAST: u32 = 0x1;
/// Allocated on disk, reads as zeros without touching it.
const EXTENT_UNWRITTEN: u32 = 0x800;

#[repr(C)]
struct Fiemap {
    header: FiemapHeader,
    extents: [FiemapExtent; BATCH],
}

/// Bytes of a file by what lies beneath them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mapped {
    pub(super) written: Bytes,
    pub(super) unwritten: Bytes,
}

/// The size of an open block device.
pub fn block_size(fd: BorrowedFd<'_>) -> io::Result<Bytes> {
    // SAFETY: the request writes one u64, which is what the getter holds.
    Ok(Bytes(unsafe { ioctl(fd, Getter::<BLKGETSIZE64, u64>::new()) }?))
}

/// The sequence number of an open block device's disk.
pub fn disk_sequence(fd: BorrowedFd<'_>) -> io::Result<u64> {
    // SAFETY: the request writes one u64, which is what the getter holds.
    Ok(unsafe { ioctl(fd, Getter::<BLKGETDISKSEQ, u64>::new()) }?)
}

/// How much of an open file is mapped to blocks, and how much of that was never written.
pub(super) fn mapped(fd: BorrowedFd<'_>, size: Bytes) -> io::Result<Mapped> {
    let (mut sum, mut start) = (Mapped::default(), 0);
    while start < size.0 {
        let header =
            FiemapHeader { start, length: size.0 - start, extent_count: BATCH as u32, ..Default::default() };
        let mut map = Fiemap { header, extents: [FiemapExtent::default(); BATCH] };
        // SAFETY: the struct is `struct fiemap` followed by as many extents as `extent_count` says, and outlives the call.
        unsafe { ioctl(fd, Updater::<FS_IOC_FIEMAP, Fiemap>::new(&mut map)) }?;
        let found = &map.extents[..(map.header.mapped_extents as usize).min(BATCH)];
        for e in found {
            // The filesystem rounds the last extent up to its block.
            let end = e.logical.saturating_add(e.length).min(size.0);
            let length = end.saturating_sub(e.logical.max(start));
            let kind = if e.flags & EXTENT_UNWRITTEN != 0 { &mut sum.unwritten } else { &mut sum.written };
            kind.0 += length;
        }
        match found.last() {
            Some(e) if e.flags & EXTENT_LAST == 0 => start = e.logical.saturating_add(e.length),
            _ => break,
        }
    }
    Ok(sum)
}

const _: () = assert!(mem::size_of::<FiemapHeader>() == 32 && mem::size_of::<FiemapExtent>() == 56);
