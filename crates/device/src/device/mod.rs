//! Facts about a target: its kind, the devices beneath it, its users, the data on it.
//!
//! This module gathers facts only; the guard's rules decide from them whether a run may write. The facts go into the Record as
//! they are, with units in the names of their keys. Everything is read under a [`Root`]; nothing is written.

mod blkid;
mod block;
mod cgroup_limit;
pub mod cloud;
mod device_number;
mod disk_identity;
mod disk_place;
mod file_facts;
mod file_use;
mod hidden_parts;
mod ioctl;
pub mod kernel_files;
mod magic;
mod mounted_image;
mod mounts;
mod overlay;
mod pools;
mod processes;
mod ring;
mod root;
mod signature;
mod stack;
mod stack_node;
mod under_mounts;
mod unseen;
mod usage;

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use blkid::Opinion;
pub use block::{Block, Driver, Node, Partition};
pub use cgroup_limit::CgroupLimit;
pub use device_number::DevNumber;
pub use disk_identity::{change, changes, lasting_change, word};
pub use disk_place::DiskPlace;
pub use file_facts::{AlignmentSource, DirectAlignment, Extents, FileFacts, FilePlace, RoomBehind};
pub use file_use::FileUse;
pub use hidden_parts::hidden_parts;
pub(crate) use ioctl::nvme_log_page;
pub use ioctl::{SECTOR, block_size, disk_sequence};
pub use mounts::{Mount, Swap, own_mounts, swaps, unescaped};
pub use overlay::held_file;
pub use processes::Opener;
pub use root::Root;
pub use signature::{Scan, Signature, WINDOW, Windows};
pub use stack::{Branch, Layer, Relation, Sharing, Shown, Stack};
pub use stack_node::{FileId, StackNode};
pub use unseen::Unseen;
pub use usage::{MountedOn, Relative, Usage, claimed, shares_disk};

use block::number_at;
use cgroup_limit::cgroup_limits;
use kernel_files::holds_settings;
use volproof_base::unit::Bytes;

/// Why nothing can be said of a target.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The path cannot be looked at.
    #[error("cannot look at {}: {source}; {remedy}", path.display())]
    Path {
        /// As it was given.
        path: PathBuf,
        /// The next thing to do, in words.
        remedy: String,
        /// The error of the system call.
        source: io::Error,
    },
    /// Neither a block device nor a file nor a folder.
    #[error("{} is {kind}: name a block device, a file or a folder", path.display())]
    Kind {
        /// As it was given.
        path: PathBuf,
        /// The kind of file that the path names.
        kind: &'static str,
    },
    /// A file or folder that was deleted, or that lies in another mount namespace: its users cannot be looked for.
    #[error(
        "{} leads to a file or folder that no path here leads to, one that was deleted or lies in another mount namespace: nobody can say that it is not in use; name a file by its path",
        path.display()
    )]
    NoPath {
        /// As it was given.
        path: PathBuf,
    },
    /// A file or folder that would be made where the kernel keeps its settings.
    #[error("{} would be a setting of the kernel, not a file of a disk: name a block device, or a file or folder on a disk", path.display())]
    Setting {
        /// As it was given.
        path: PathBuf,
    },
    /// A block device that sysfs does not show.
    #[error("{} is a block device, but /sys/dev/block does not show it: mount sysfs and try again", path.display())]
    Sysfs {
        /// As it was given.
        path: PathBuf,
    },
}

impl DeviceError {
    /// The target is there, and what has to be known of it is hidden, or it is nothing that may be made: a refusal, and not a mistake in its
    /// name.
    pub fn is_refusal(&self) -> bool {
        matches!(self, DeviceError::NoPath { .. } | DeviceError::Sysfs { .. } | DeviceError::Setting { .. })
    }
}

/// A block device with those who use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockFacts {
    /// The path of the device node with all links followed.
    pub path: PathBuf,
    /// Facts about the device itself.
    pub device: Block,
    /// Who uses the device.
    pub usage: Usage,
    /// The extents under the bytes of a loop device, in the file behind it; absent for other devices, and where the filesystem cannot
    /// report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extents: Option<Extents>,
}

/// Facts about a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Facts {
    /// A block device.
    Block(Box<BlockFacts>),
    /// A regular file.
    File(Box<FileFacts>),
    /// A folder, in which a file can be made.
    Folder(Box<FilePlace>),
}

impl Facts {
    /// The size of the device or file; none for a folder.
    pub fn size(&self) -> Option<Bytes> {
        match self {
            Facts::Block(b) => Some(b.device.size_bytes),
            Facts::File(f) => Some(f.size_bytes),
            Facts::Folder(_) => None,
        }
    }

    /// The block device itself, or the one beneath the file or folder.
    pub fn device(&self) -> Option<&Block> {
        match self {
            Facts::Block(b) => Some(&b.device),
            Facts::File(f) => f.place.device.as_deref(),
            Facts::Folder(p) => p.device.as_deref(),
        }
    }

    /// Reads again what cgroups allow of the device: limits may be set during a run. Returns whether they differ from those that were read before.
    pub fn limits_have_changed(&mut self, root: &Root) -> bool {
        let device = match self {
            Facts::Block(b) => Some(&mut b.device),
            Facts::File(f) => f.place.device.as_deref_mut(),
            Facts::Folder(p) => p.device.as_deref_mut(),
        };
        device.is_some_and(|device| {
            let before =
                std::mem::replace(&mut device.cgroup_limits, cgroup_limits(root, device.disk.number));
            before != device.cgroup_limits
        })
    }

    /// Where a file or folder lives; none for a block device.
    pub fn place(&self) -> Option<&FilePlace> {
        match self {
            Facts::Block(_) => None,
            Facts::File(f) => Some(&f.place),
            Facts::Folder(p) => Some(p),
        }
    }

    /// The extents under the target's bytes, where a filesystem can report them.
    pub fn extents(&self) -> Option<Extents> {
        match self {
            Facts::Block(b) => b.extents,
            Facts::File(f) => f.extents,
            Facts::Folder(_) => None,
        }
    }

    /// The block device itself, or all those beneath the file or folder.
    pub fn devices(&self) -> Vec<&Block> {
        match self {
            Facts::Block(b) => vec![&b.device],
            Facts::File(f) => f.place.devices().collect(),
            Facts::Folder(p) => p.devices().collect(),
        }
    }

    /// The whole disks whose `/sys/block/NAME/stat` count the target's I/O.
    pub fn disks(&self) -> Vec<&Node> {
        self.devices().into_iter().map(|d| &d.disk).collect()
    }

    /// The first of the disks that [`Facts::disks`] lists.
    pub fn disk(&self) -> Option<&Node> {
        self.device().map(|d| &d.disk)
    }

    /// The alignment that direct I/O requires; `None` where direct I/O is not possible.
    pub fn direct(&self) -> Option<DirectAlignment> {
        match self {
            Facts::Block(b) => Some(b.device.direct()),
            Facts::File(f) => f.place.direct,
            Facts::Folder(p) => p.direct,
        }
    }

    /// The target as a node of the storage graph ([`Stack`]); a folder stands for the device beneath it.
    pub fn thing(&self) -> Option<StackNode> {
        match self {
            Facts::Block(b) => Some(StackNode::Device(b.device.number)),
            Facts::File(f) => Some(StackNode::File(FileId { filesystem: f.place.number, inode: f.inode })),
            Facts::Folder(p) => p.device.as_ref().map(|d| StackNode::Device(d.number)),
        }
    }

    /// The target's path with all links followed.
    pub fn path(&self) -> &Path {
        match self {
            Facts::Block(b) => &b.path,
            Facts::File(f) => &f.place.path,
            Facts::Folder(p) => &p.path,
        }
    }
}

/// Everything known about the device, file or folder at a path.
///
/// # Errors
/// The path cannot be read, or is neither a block device nor a file nor a folder.
pub fn facts(root: &Root, path: &Path) -> Result<Facts, DeviceError> {
    let failed =
        |source| DeviceError::Path { path: path.to_path_buf(), remedy: remedy(root, path, &source), source };
    let named = absolute(path).map_err(failed)?;
    if let Some(number) = number_at(root, &named) {
        let Some(device) = Block::with_number(root, number) else {
            return Err(DeviceError::Sysfs { path: path.to_path_buf() });
        };
        let real = root.resolve(path).unwrap_or_else(|_| device.dev_path());
        let usage = Usage::read(root, &device);
        let extents = file_facts::extents_behind(root, &device);
        return Ok(Facts::Block(Box::new(BlockFacts { path: real, device, usage, extents })));
    }
    let about = match std::fs::metadata(root.path(&named)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound && root.is_system() && holds_settings(&named) => {
            return Err(DeviceError::Setting { path: path.to_path_buf() });
        }
        about => about.map_err(failed)?,
    };
    let kind = match about.file_type() {
        k if k.is_dir() || k.is_file() => {
            let real = real_path(root, &named, &about).map_err(failed)?;
            let real = real.ok_or_else(|| DeviceError::NoPath { path: path.to_path_buf() })?;
            return if k.is_dir() {
                Ok(Facts::Folder(Box::new(file_facts::place(root, &real).map_err(failed)?)))
            } else {
                Ok(Facts::File(Box::new(file_facts::file(root, &real).map_err(failed)?)))
            };
        }
        k if k.is_char_device() => "a character device",
        k if k.is_fifo() => "a pipe",
        k if k.is_socket() => "a socket",
        _ => "neither",
    };
    Err(DeviceError::Kind { path: path.to_path_buf(), kind })
}

/// The path with all links followed, where it leads to the same file or folder. The links of /proc/PID/fd, root and cwd lead to files that may have
/// been deleted or lie in another mount namespace: their texts are no path here, or that of another file.
fn real_path(root: &Root, named: &Path, about: &Metadata) -> io::Result<Option<PathBuf>> {
    let real = match root.resolve(named) {
        Err(_) if root.is_system() => return Ok(None),
        real => real?,
    };
    let there = std::fs::metadata(root.path(&real)).ok();
    let same = there.is_some_and(|there| (there.dev(), there.ino()) == (about.dev(), about.ino()));
    Ok(same.then_some(real))
}

/// More disks are not named.
const MOST_NAMED: usize = 8;

/// The way out for a path that cannot be looked at: the device node, where the name is one under /dev.
fn remedy(root: &Root, path: &Path, failure: &io::Error) -> String {
    let node = Path::new("/dev").join(path);
    if path.is_relative() && number_at(root, &node).is_some() {
        return format!("did you mean {}?", node.display());
    }
    if failure.kind() == io::ErrorKind::NotFound && (path.starts_with("/dev") || is_bare_name(path)) {
        return devices_here(root);
    }
    if failure.kind() == io::ErrorKind::NotFound {
        return "name a folder, in which a run makes a test file, as in `volproof run .`, or an existing file or device".into();
    }
    "check that you may read it".into()
}

/// Whether a path is one word, as the name of a device is.
fn is_bare_name(path: &Path) -> bool {
    path.components().count() == 1 && path.extension().is_none()
}

/// The disks of this machine, for a path that none of them has, and the command that tells of one.
fn devices_here(root: &Root) -> String {
    let is_disk = |name: &String| {
        !name.starts_with("loop") && Block::read(root, name).is_some_and(|disk| disk.size_bytes.0 > 0)
    };
    let disks: Vec<String> = root.names("/sys/block").into_iter().filter(is_disk).take(MOST_NAMED).collect();
    match disks.first() {
        Some(first) => format!(
            "the disks here are {}, and `volproof check /dev/{first}` tells of one; or name a folder, in which a run makes a test file",
            disks.join(", ")
        ),
        None => "no disk is seen here; name a folder, in which a run makes a test file".into(),
    }
}

/// A path from the root, so that it can be looked up under a [`Root`].
fn absolute(path: &Path) -> io::Result<PathBuf> {
    std::path::absolute(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_know_their_disk() {
        let root = Root::system();
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        std::fs::write(&file, [1; 5000]).unwrap();
        let folder = facts(&root, dir.path()).unwrap();
        let file = facts(&root, &file).unwrap();
        assert_eq!((folder.size(), file.size()), (None, Some(Bytes(5000))));
        assert_eq!(folder.disk(), file.disk());
        if let Some(disk) = file.disk() {
            assert!(root.has(format!("/sys/block/{}/stat", disk.name)), "{disk:?}");
        }
        let json = serde_json::to_string(&file).unwrap();
        assert!(json.contains(r#""kind":"file""#) && json.contains(r#""size_bytes":5000"#), "{json}");
        assert_eq!(serde_json::from_str::<Facts>(&json).unwrap(), file);
    }

    #[test]
    fn other_kinds_are_refused_by_name() {
        let root = Root::system();
        let e = facts(&root, Path::new("/dev/null")).unwrap_err().to_string();
        assert_eq!(e, "/dev/null is a character device: name a block device, a file or a folder");
        let e = facts(&root, Path::new("/nowhere/at/all")).unwrap_err().to_string();
        assert!(e.starts_with("cannot look at /nowhere/at/all: No such file"), "{e}");
        assert!(e.ends_with("an existing file or device"), "{e}");
    }

    #[test]
    fn the_name_of_a_disk_leads_to_its_node() {
        let root = Root::system();
        // Disks that no neighbouring test takes away meanwhile.
        let stays = |d: &&String| ["vd", "sd", "nvme", "loop0"].iter().any(|kind| d.starts_with(kind));
        for disk in root.names("/sys/block").iter().filter(stays).filter(|d| root.has(format!("/dev/{d}"))) {
            let e = facts(&root, Path::new(disk)).unwrap_err().to_string();
            assert!(e.ends_with(&format!("did you mean /dev/{disk}?")), "{e}");
        }
    }
}
