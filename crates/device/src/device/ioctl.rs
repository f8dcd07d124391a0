//! The raw calls about targets, and about who has them open, that neither sysfs nor rustix carries. Each only asks.

use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::{io, mem};

use rustix::ioctl::{Getter, Ioctl, IoctlOutput, Opcode, Updater, ioctl, opcode};

use volproof_base::unit::Bytes;

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
pub(super) struct FiemapExtent {
    pub(super) logical: u64,
    pub(super) physical: u64,
    pub(super) length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

impl FiemapExtent {
    /// Its bytes lie on the device as they are, at the place that it names.
    pub(super) fn is_placed(&self) -> bool {
        self.flags & EXTENT_ELSEWHERE == 0
    }
}

/// Extents asked for at once.
const BATCH: usize = 64;
/// Dirty pages are written before the answer.
const FIEMAP_SYNC: u32 = 0x1;
/// The last extent of the file.
const EXTENT_LAST: u32 = 0x1;
/// Allocated on disk, reads as zeros without touching it.
const EXTENT_UNWRITTEN: u32 = 0x800;
/// Where the bytes lie is not known, or they lie there in another form: not yet chosen, encoded, not aligned, within the inode, packed.
const EXTENT_ELSEWHERE: u32 = 0x2 | 0x4 | 0x8 | 0x80 | 0x100 | 0x200 | 0x400;

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
///
/// # Errors
/// The descriptor is no block device.
pub fn block_size(fd: BorrowedFd<'_>) -> io::Result<Bytes> {
    // SAFETY: the request writes one u64, which is what the getter holds.
    Ok(Bytes(unsafe { ioctl(fd, Getter::<BLKGETSIZE64, u64>::new()) }?))
}

/// The sequence number of an open block device's disk.
///
/// # Errors
/// The descriptor is no block device, or the kernel is older than 5.15.
pub fn disk_sequence(fd: BorrowedFd<'_>) -> io::Result<u64> {
    // SAFETY: the request writes one u64, which is what the getter holds.
    Ok(unsafe { ioctl(fd, Getter::<BLKGETDISKSEQ, u64>::new()) }?)
}

/// How much of these bytes of an open file is mapped to blocks, and how much of that was never written.
///
/// # Errors
/// The filesystem cannot tell.
pub(super) fn mapped(fd: BorrowedFd<'_>, bytes: Range<u64>) -> io::Result<Mapped> {
    let mut sum = Mapped::default();
    for e in file_extents(fd, bytes.clone())? {
        // The filesystem rounds the last extent up to its block.
        let end = e.logical.saturating_add(e.length).min(bytes.end);
        let length = end.saturating_sub(e.logical.max(bytes.start));
        let kind = if e.flags & EXTENT_UNWRITTEN != 0 { &mut sum.unwritten } else { &mut sum.written };
        kind.0 += length;
    }
    Ok(sum)
}

/// The extents under these bytes of an open file. What is still in memory is written first, since until then the filesystem has not chosen blocks
/// for it.
///
/// # Errors
/// The filesystem cannot tell.
pub(super) fn file_extents(fd: BorrowedFd<'_>, bytes: Range<u64>) -> io::Result<Vec<FiemapExtent>> {
    let (mut all, mut start) = (Vec::new(), bytes.start);
    while start < bytes.end {
        let header = FiemapHeader {
            start,
            length: bytes.end - start,
            flags: FIEMAP_SYNC,
            extent_count: BATCH as u32,
            ..Default::default()
        };
        let mut map = Fiemap { header, extents: [FiemapExtent::default(); BATCH] };
        // SAFETY: the struct is `struct fiemap` followed by as many extents as `extent_count` says, and outlives the call.
        unsafe { ioctl(fd, Updater::<FS_IOC_FIEMAP, Fiemap>::new(&mut map)) }?;
        let found = &map.extents[..(map.header.mapped_extents as usize).min(BATCH)];
        all.extend(found);
        match found.last() {
            Some(e) if e.flags & EXTENT_LAST == 0 => start = e.logical.saturating_add(e.length),
            _ => break,
        }
    }
    Ok(all)
}

/// `LOOP_GET_STATUS64`, from linux/loop.h.
const LOOP_GET_STATUS64: Opcode = 0x4c05;
/// `DM_TABLE_STATUS`, from linux/dm-ioctl.h.
const DM_TABLE_STATUS: Opcode = opcode::read_write::<DmHeader>(0xfd, 12);

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// The file or device behind an attached loop device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LoopStatus {
    /// `st_dev` of the file behind it, or of the node when that is a device.
    pub(super) device: u64,
    /// Its inode.
    pub(super) inode: u64,
    /// `st_rdev` of the device behind it; 0 for a file.
    pub(super) rdevice: u64,
    /// Where in it the loop device begins.
    pub(super) offset: Bytes,
}

/// The file or device behind an open loop device. `ENXIO`: nothing is attached.
pub(super) fn loop_status(fd: BorrowedFd<'_>) -> io::Result<LoopStatus> {
    // SAFETY: the request writes one struct loop_info64, which is what the getter holds.
    let info = unsafe { ioctl(fd, Getter::<LOOP_GET_STATUS64, LoopInfo>::new()) }?;
    Ok(LoopStatus {
        device: info.device,
        inode: info.inode,
        rdevice: info.rdevice,
        offset: Bytes(info.offset),
    })
}

/// `struct dm_ioctl`.
#[repr(C)]
#[derive(Clone, Copy)]
struct DmHeader {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event_nr: u32,
    padding: u32,
    dev: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    data: [u8; 7],
}

/// Room for the tables of volumes with hundreds of segments.
const DM_TABLE: usize = 64 << 10;
/// Asks for the table and not for its state.
const DM_STATUS_TABLE: u32 = 1 << 4;
/// The answer did not fit.
const DM_BUFFER_FULL: u32 = 1 << 8;

#[repr(C)]
struct DmTable {
    header: DmHeader,
    data: [u8; DM_TABLE],
}

/// One line of a device mapper's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DmTarget {
    /// Where it begins on the mapped device.
    pub(super) start: Bytes,
    /// Its length.
    pub(super) length: Bytes,
    /// Its kind, such as `linear`.
    pub(super) kind: String,
    /// Its words behind that.
    pub(super) words: String,
}

/// The table of the device mapper device with this number, by an open `/dev/mapper/control`.
pub(super) fn dm_table(fd: BorrowedFd<'_>, dev: u64) -> io::Result<Vec<DmTarget>> {
    let header = DmHeader {
        version: [4, 0, 0],
        data_size: mem::size_of::<DmTable>() as u32,
        data_start: mem::size_of::<DmHeader>() as u32,
        target_count: 0,
        open_count: 0,
        flags: DM_STATUS_TABLE,
        event_nr: 0,
        padding: 0,
        dev,
        name: [0; 128],
        uuid: [0; 129],
        data: [0; 7],
    };
    let mut table = Box::new(DmTable { header, data: [0; DM_TABLE] });
    // SAFETY: the struct is `struct dm_ioctl` followed by as many bytes as `data_size` says, and outlives the call.
    unsafe { ioctl(fd, Updater::<DM_TABLE_STATUS, DmTable>::new(&mut table)) }?;
    if table.header.flags & DM_BUFFER_FULL != 0 {
        return Err(io::Error::other("the table is too long"));
    }
    Ok(dm_targets(&table.data, table.header.target_count))
}

/// `struct dm_target_spec` (start, length, status, next, 16 bytes of kind) and its words, for each target.
fn dm_targets(data: &[u8], count: u32) -> Vec<DmTarget> {
    let (mut found, mut at) = (Vec::new(), 0usize);
    for _ in 0..count {
        let Some(spec) = data.get(at..).filter(|rest| rest.len() > 40) else { break };
        let [start, length] = [&spec[..8], &spec[8..16]].map(|bytes| {
            let sectors = u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
            Bytes(sectors.saturating_mul(super::ioctl::SECTOR))
        });
        found.push(DmTarget { start, length, kind: text_of(&spec[24..40]), words: text_of(&spec[40..]) });
        at = u32::from_ne_bytes(spec[20..24].try_into().expect("four bytes")) as usize;
    }
    found
}

/// The text up to the first zero.
fn text_of(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// `NVME_IOCTL_ADMIN_CMD`, from linux/nvme_ioctl.h.
const NVME_ADMIN_COMMAND: Opcode = opcode::read_write::<NvmeCommand>(b'N', 0x41);
/// Get Log Page, from the NVM Express Base Specification.
const GET_LOG_PAGE: u8 = 0x02;

/// `struct nvme_admin_cmd`. A timeout of 0 is the kernel's own: a shorter one has the kernel reset a controller that is late.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct NvmeCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_length: u32,
    length: u32,
    words_10: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// A command to a controller.
struct AdminCommand<'a>(&'a mut NvmeCommand);

// SAFETY: the request reads and writes one `struct nvme_admin_cmd`, which is what the pointer leads to, and gives the status of the command.
unsafe impl Ioctl for AdminCommand<'_> {
    type Output = IoctlOutput;
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        NVME_ADMIN_COMMAND
    }

    fn as_ptr(&mut self) -> *mut libc::c_void {
        std::ptr::from_mut(self.0).cast()
    }

    unsafe fn output_from_ptr(status: IoctlOutput, _: *mut libc::c_void) -> rustix::io::Result<IoctlOutput> {
        Ok(status)
    }
}

/// Reads a page of the log of an open NVMe disk: the status of the command, 0 where `page` was filled.
pub(crate) fn nvme_log_page(
    fd: BorrowedFd<'_>,
    namespace: u32,
    number: u8,
    page: &mut [u8],
) -> io::Result<u16> {
    let words = (page.len() / 4) as u32;
    let mut command = NvmeCommand {
        opcode: GET_LOG_PAGE,
        namespace,
        address: page.as_mut_ptr() as u64,
        length: words * 4,
        words_10: [u32::from(number) | (words - 1) << 16, 0, 0, 0, 0, 0],
        ..NvmeCommand::default()
    };
    // SAFETY: the kernel writes `length` bytes at `address`, which is the borrowed page, and both outlive the call.
    let status = unsafe { ioctl(fd, AdminCommand(&mut command)) }?;
    // The upper bits of the status say more, and whether to repeat.
    Ok((status & 0x7ff) as u16)
}

/// `F_SETSIG`, from asm-generic/fcntl.h.
const F_SETSIG: libc::c_int = 10;

/// Whether no other process, no mapping and no part of the kernel has this file open: only then does the kernel give a write lease
/// (fcntl(2), F_SETLEASE). The lease is given back at once. An error: not the owner, or a filesystem without leases.
pub(super) fn opened_alone(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let call = |command: libc::c_int, argument: libc::c_int| {
        // SAFETY: these commands of fcntl take an int, and the descriptor is open for as long as it is borrowed.
        match unsafe { libc::fcntl(fd.as_raw_fd(), command, argument) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // If another process opens the file in this moment, the kernel signals the holder, by default with the deadly SIGIO.
    call(F_SETSIG, libc::SIGURG)?;
    match call(libc::F_SETLEASE, libc::F_WRLCK) {
        Ok(()) => call(libc::F_SETLEASE, libc::F_UNLCK).map(|()| true),
        Err(e) if e.raw_os_error() == Some(libc::EAGAIN) => Ok(false),
        Err(e) => Err(e),
    }
}

/// `KCMP_FILES`, from linux/kcmp.h.
const KCMP_FILES: libc::c_long = 2;

/// Whether two threads have one table of open files (kcmp(2)). False also where the kernel does not say.
pub(super) fn same_files(one: libc::pid_t, other: libc::pid_t) -> bool {
    let (one, other) = (libc::c_long::from(one), libc::c_long::from(other));
    // SAFETY: kcmp takes five integers and touches no memory of ours.
    unsafe {
        libc::syscall(libc::SYS_kcmp, one, other, KCMP_FILES, 0 as libc::c_long, 0 as libc::c_long) == 0
    }
}

const _: () = assert!(mem::size_of::<NvmeCommand>() == 72);

const _: () = assert!(mem::size_of::<LoopInfo>() == 232 && mem::size_of::<DmHeader>() == 312);

const _: () = assert!(mem::size_of::<FiemapHeader>() == 32 && mem::size_of::<FiemapExtent>() == 56);

/// The unit of `size` and `start` in sysfs.
pub const SECTOR: u64 = 512;
