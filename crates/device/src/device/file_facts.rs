//! The place of a file or folder: filesystem, free space, the disk beneath, what direct I/O asks for, and whether the file's
//! blocks were ever written.
//!
//! Holes and unwritten extents read as zeros without reaching the disk: a benchmark that reads them measures memory.
//! Nothing is written and no file is created here.

use std::fs::{Metadata, OpenOptions};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rustix::fs::{AtFlags, StatxFlags};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::block::block_at;
use super::disk_identity::filesystem_uuid;
use super::kernel_files::holds_settings;
use super::mounts::own_mounts;
use super::{Block, DevNumber, Layer, Root, StackNode, ioctl, overlay, pools};
use volproof_base::unit::Bytes;

/// The alignment that direct I/O (`O_DIRECT`) requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectAlignment {
    /// The alignment of the buffer's address.
    pub memory_bytes: Bytes,
    /// The alignment of offset and length.
    pub offset_bytes: Bytes,
    /// How the alignment became known.
    pub source: AlignmentSource,
}

/// How an alignment became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlignmentSource {
    /// The kernel said so (`STATX_DIOALIGN`, Linux 6.1).
    Statx,
    /// The logical block of the device beneath.
    LogicalBlock,
    /// Nothing is known; 4 KiB fits every device in use.
    Assumed,
}

/// Where a file or folder lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilePlace {
    /// The path with all links followed.
    pub path: PathBuf,
    /// Device number as `stat` gives it; anonymous for btrfs, overlay, tmpfs.
    pub number: DevNumber,
    /// Kind of filesystem, from mountinfo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<String>,
    /// The UUID of the filesystem, where udev has found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem_uuid: Option<String>,
    /// Under an overlay the kind of filesystem that holds what is written; absent where that layer is not visible here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer_filesystem: Option<String>,
    /// Where that filesystem is mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount_point: Option<PathBuf>,
    /// Space left for this user.
    pub free_bytes: Bytes,
    /// The block device beneath, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Box<Block>>,
    /// Further block devices of a filesystem that spreads over several (btrfs).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_devices: Vec<Block>,
    /// The alignment that direct I/O requires; absent when the kernel says that direct I/O is not possible here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct: Option<DirectAlignment>,
}

/// The bytes of a file by the state of their extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Extents {
    /// Blocks with data.
    pub written_bytes: Bytes,
    /// Allocated and never written: reads give zeros from memory.
    pub unwritten_bytes: Bytes,
    /// Not allocated: reads give zeros from memory.
    pub hole_bytes: Bytes,
}

/// Facts about a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileFacts {
    /// Where the file lives.
    pub place: FilePlace,
    /// The inode number, which tells another file under the same name apart.
    pub inode: u64,
    /// When it was made, in seconds since 1970: a later file may get the inode number of one that was removed. Absent where the filesystem does not
    /// say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<String>,
    /// The file's length.
    pub size_bytes: Bytes,
    /// The extents of the file; absent where the filesystem cannot report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extents: Option<Extents>,
}

/// Facts about an existing file or folder; `path` has all links followed.
pub(super) fn place(root: &Root, path: &Path) -> std::io::Result<FilePlace> {
    let real = root.path(path);
    let stat = std::fs::metadata(&real)?;
    let number = DevNumber::from_raw(stat.dev());
    let asked = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID | StatxFlags::DIOALIGN;
    let statx = rustix::fs::statx(rustix::fs::CWD, &real, AtFlags::empty(), asked).ok();
    let known = |flag: StatxFlags| statx.filter(|s| StatxFlags::from_bits_retain(s.stx_mask).contains(flag));
    let mount_id = known(StatxFlags::MNT_ID).filter(|_| root.is_system()).map(|s| s.stx_mnt_id);
    let mounts = own_mounts(root);
    let mount = match mount_id.and_then(|id| mounts.iter().find(|m| m.id == id)) {
        Some(m) => Some(m),
        // The deepest mount above the path; of several on one point, the last one covers the others.
        None => mounts
            .iter()
            .filter(|m| path.starts_with(&m.mount_point))
            .max_by_key(|m| m.mount_point.components().count()),
    };
    let on = if root.is_system() { number } else { mount.map_or(number, |m| m.number) };
    let device = match Block::with_number(root, on) {
        Some(block) => Some(block),
        None => mount.and_then(|m| block_at(root, Path::new(&m.source))),
    };
    let direct = match known(StatxFlags::DIOALIGN).filter(|_| stat.is_file()) {
        Some(s) if s.stx_dio_offset_align == 0 => None,
        Some(s) => Some(DirectAlignment {
            memory_bytes: Bytes(s.stx_dio_mem_align.into()),
            offset_bytes: Bytes(s.stx_dio_offset_align.into()),
            source: AlignmentSource::Statx,
        }),
        None => Some(device.as_ref().map_or(ASSUMED, Block::direct)),
    };
    let space = rustix::fs::statvfs(&real)?;
    Ok(FilePlace {
        path: path.to_path_buf(),
        number,
        filesystem: mount.map(|m| m.filesystem.clone()),
        filesystem_uuid: device.as_ref().and_then(|d| filesystem_uuid(root, &d.name)),
        layer_filesystem: mount.and_then(|m| overlay::layer_filesystem(root, m)),
        mount_point: mount.map(|m| m.mount_point.clone()),
        free_bytes: Bytes(space.f_bavail.saturating_mul(space.f_frsize)),
        more_devices: device.iter().flat_map(|d| pools::fellows(root, &d.name)).collect(),
        device: device.map(Box::new),
        direct,
    })
}

/// Filesystems that hold their files in memory.
const IN_MEMORY: [&str; 3] = ["tmpfs", "ramfs", "devtmpfs"];
/// Filesystems whose files lie on other machines.
const REMOTE: [&str; 9] = ["nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "lustre", "9p", "fuse.sshfs"];

impl FilePlace {
    /// Its files are in memory and on no disk.
    pub fn is_memory(&self) -> bool {
        self.is_on(&IN_MEMORY)
    }

    /// Its files lie on another machine.
    pub fn is_remote(&self) -> bool {
        self.is_on(&REMOTE)
    }

    /// Its files are settings of the kernel.
    pub fn holds_settings(&self, root: &Root) -> bool {
        root.is_system() && holds_settings(&self.path)
    }

    /// It is in an overlay, and the layer that is written to is not visible here.
    pub fn is_hidden_by_overlay(&self) -> bool {
        self.is_on(&["overlay"]) && self.layer_filesystem.is_none()
    }

    fn is_on(&self, kinds: &[&str]) -> bool {
        [&self.filesystem, &self.layer_filesystem].into_iter().flatten().any(|f| kinds.contains(&f.as_str()))
    }

    /// All block devices beneath.
    pub fn devices(&self) -> impl Iterator<Item = &Block> {
        self.device.iter().map(|d| &**d).chain(&self.more_devices)
    }
}

/// Loop devices over files on loop devices, and so on, that are looked through.
const MOST_LOOPS: u32 = 8;

const ASSUMED: DirectAlignment = DirectAlignment {
    memory_bytes: Bytes::kib(4),
    offset_bytes: Bytes::kib(4),
    source: AlignmentSource::Assumed,
};

impl Block {
    /// The alignment that direct I/O to this device needs.
    pub fn direct(&self) -> DirectAlignment {
        let block = self.logical_block_bytes;
        DirectAlignment { memory_bytes: block, offset_bytes: block, source: AlignmentSource::LogicalBlock }
    }
}

/// Facts about an existing regular file; `path` has all links followed.
pub(super) fn file(root: &Root, path: &Path) -> std::io::Result<FileFacts> {
    let real = root.path(path);
    let stat = std::fs::metadata(&real)?;
    let size = Bytes(stat.len());
    Ok(FileFacts {
        place: place(root, path)?,
        inode: stat.ino(),
        born: born(&stat),
        size_bytes: size,
        extents: extents(&real, 0..size.0, None),
    })
}

fn born(about: &Metadata) -> Option<String> {
    let since = about.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{}.{:09}", since.as_secs(), since.subsec_nanos()))
}

/// Extents, unwritten extents and holes of these bytes of the file at a path, which must be the expected file if there is one.
fn extents(path: &Path, bytes: Range<u64>, expected: Option<StackNode>) -> Option<Extents> {
    // Somebody's lease on the file would keep an ordinary open waiting.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    let about = file.metadata().ok()?;
    if expected.is_some() && StackNode::from_metadata(&about) != expected {
        return None;
    }
    let bytes = bytes.start..bytes.end.min(about.len());
    let length = bytes.end.saturating_sub(bytes.start);
    let mapped = ioctl::mapped(file.as_fd(), bytes).ok()?;
    Some(Extents {
        written_bytes: mapped.written,
        unwritten_bytes: mapped.unwritten,
        hole_bytes: Bytes(length.saturating_sub(mapped.written.0 + mapped.unwritten.0)),
    })
}

/// The path of the file behind a loop device, and that file: under the path there may be another one by now.
fn file_behind<'b>(root: &Root, device: &'b Block) -> Option<(&'b Path, StackNode)> {
    let path = device.backing_file.as_ref().filter(|_| root.is_system())?;
    let lower = root.stack().lower(StackNode::Device(device.disk.number)).into_iter();
    let mut files =
        lower.filter(|(lower, layer)| *layer == Layer::Loop && matches!(lower, StackNode::File(_)));
    Some((path, files.next()?.0))
}

/// Extents, unwritten extents and holes of the file behind a loop device, below the device or a partition of it.
pub(super) fn extents_behind(root: &Root, device: &Block) -> Option<Extents> {
    let (path, file) = file_behind(root, device)?;
    let from = device.backing_offset_bytes.0 + device.start_bytes.0;
    extents(path, from..from.saturating_add(device.size_bytes.0), Some(file))
}

/// The file behind a loop device, and the room that its holes have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomBehind {
    /// The file.
    pub file: PathBuf,
    /// Its holes below the device.
    pub holes: Bytes,
    /// Space that its filesystem has for them.
    pub free: Bytes,
    /// That filesystem, or the one further down that has less space.
    pub filesystem: DevNumber,
}

impl FilePlace {
    /// The filesystem, by the block device beneath it: several numbers of `stat` may share the space of one device (btrfs).
    pub fn filesystem_number(&self) -> DevNumber {
        self.device.as_ref().map_or(self.number, |device| device.number)
    }
}

impl RoomBehind {
    /// Of a loop device, or a partition of one. None for other devices, and where the file or its holes cannot be seen.
    pub fn read(root: &Root, device: &Block) -> Option<RoomBehind> {
        RoomBehind::below(root, device, MOST_LOOPS)
    }

    fn below(root: &Root, device: &Block, loops: u32) -> Option<RoomBehind> {
        let holes = extents_behind(root, device)?.hole_bytes;
        let (file, _) = file_behind(root, device)?;
        let place = place(root, file).ok()?;
        let lower = place.device.as_ref().filter(|_| loops > 0);
        let lower = lower.and_then(|device| RoomBehind::below(root, device, loops - 1));
        let (free, filesystem) = (place.free_bytes, place.filesystem_number());
        let own = RoomBehind { file: file.to_path_buf(), holes, free, filesystem };
        // What fills a hole here may fill one in each file further down.
        Some(
            lower
                .filter(|lower| lower.is_short() && lower.free < own.free)
                .map_or(own.clone(), |lower| RoomBehind { file: own.file, holes: own.holes, ..lower }),
        )
    }

    /// Not all of the holes can be filled.
    pub fn is_short(&self) -> bool {
        self.holes > self.free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    #[test]
    fn holes_and_unwritten_blocks_are_told_from_data() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let f = File::create(&path).unwrap();
        f.set_len(1 << 20).unwrap();
        f.write_all_at(&[7; 65536], 256 << 10).unwrap();
        let fallocated =
            rustix::fs::fallocate(&f, rustix::fs::FallocateFlags::empty(), 512 << 10, 65536).is_ok();
        f.sync_all().unwrap();
        let facts = file(&Root::system(), &path.canonicalize().unwrap()).unwrap();
        assert_eq!(facts.size_bytes, Bytes::mib(1));
        assert!(facts.place.free_bytes > Bytes(0));
        let Some(e) = facts.extents else {
            return eprintln!("skipped: {:?} has no FIEMAP", facts.place.filesystem);
        };
        assert_eq!(e.written_bytes, Bytes::kib(64), "{e:?}");
        assert_eq!(e.written_bytes.0 + e.unwritten_bytes.0 + e.hole_bytes.0, 1 << 20, "{e:?}");
        if fallocated && facts.place.filesystem.as_deref() == Some("ext4") {
            assert_eq!(e.unwritten_bytes, Bytes::kib(64), "{e:?}");
        }
    }
}
