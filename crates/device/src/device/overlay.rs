//! Files under an overlay: one file has a name and an inode in the overlay and others in the layer that holds its bytes.
//!
//! `stat` gives a file of an overlay the overlay's own device number, and a write lease on it does not see who has the file of the layer
//! open (Documentation/filesystems/overlayfs.rst, "Inode properties"). A container and its host use one file in this way. Nothing is
//! written.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use super::mounts::{Mount, mounts_with_layers};
use super::{DevNumber, FileId, Root};

/// Whether files of such a filesystem may hold the bytes of other files of this machine: those of an overlay or another stacked filesystem, of
/// a program (bindfs, mergerfs, fuse-overlayfs), of the host of a virtual machine, or of a server, which may be this machine itself.
fn passes_on(filesystem: &str) -> bool {
    let stacked =
        matches!(filesystem, "overlay" | "aufs" | "ecryptfs" | "fuse") || filesystem.starts_with("fuse.");
    let served = matches!(
        filesystem,
        "virtiofs" | "vboxsf" | "9p" | "nfs" | "nfs4" | "cifs" | "smb3" | "afs" | "ceph"
    );
    stacked || served
}

/// Overlays on overlays are followed this far; the kernel stacks two.
const DEEPEST: usize = 4;

/// The overlays that our own mount namespace shows, as they were at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Overlays {
    /// All mounts, those of overlays with their layers.
    mounts: Vec<(Mount, Vec<PathBuf>)>,
    /// Device numbers of the filesystems whose files hold their own bytes, in all mount namespaces.
    ordinary: BTreeSet<DevNumber>,
}

impl Overlays {
    /// Reads the mounts; `all` are those of all mount namespaces. A captured tree has no files to compare.
    pub(super) fn read(root: &Root, all: &[(Mount, String)]) -> Overlays {
        let others = all.iter().map(|(mount, _)| mount).filter(|m| !passes_on(&m.filesystem));
        let mounts = if root.is_system() { mounts_with_layers(root) } else { Vec::new() };
        Overlays { mounts, ordinary: others.map(|m| m.number).collect() }
    }

    /// Whether a file, which is at a path, may be one of an overlay whose layers are not visible here, or of another filesystem that
    /// passes on files: then its bytes may be those of any file.
    /// The files of an overlay over two filesystems have device numbers that no mount shows. Those of btrfs have such numbers too.
    pub(super) fn may_hide(&self, path: &Path, file: FileId) -> bool {
        file.filesystem.is_anonymous()
            && !self.ordinary.contains(&file.filesystem)
            && self.above(path).is_none_or(|(mount, _)| mount.filesystem != "btrfs")
    }

    /// The mount that a path is seen through. Of mounts at one point the last one is seen.
    fn above(&self, path: &Path) -> Option<&(Mount, Vec<PathBuf>)> {
        let above = self.mounts.iter().filter(|(mount, _)| path.starts_with(&mount.mount_point));
        above.max_by_key(|(mount, _)| mount.mount_point.components().count())
    }

    /// The file of the layer that holds the bytes of this file, which is at a path; the same file where the path is under no overlay, or its
    /// layers are not visible here.
    pub(super) fn holder(&self, path: &Path, file: FileId) -> FileId {
        self.holder_at(path, file).1
    }

    /// That file, with the path of the layer.
    pub(super) fn holder_at(&self, path: &Path, file: FileId) -> (PathBuf, FileId) {
        let mut found = (path.to_path_buf(), file);
        // Numbers of devices tell an ordinary filesystem.
        for _ in 0..DEEPEST {
            if !found.1.filesystem.is_anonymous() {
                break;
            }
            let Some(below) = self.in_layer(&found.0) else { break };
            found = below;
        }
        found
    }

    /// The kind of filesystem that passes on this file, which is at a path, and does not tell which file holds its bytes: FUSE, a network mount, or
    /// an overlay whose layers are not visible here.
    pub(super) fn unknown_source(&self, path: &Path, file: FileId) -> Option<&str> {
        let (holder, _) = self.holder_at(path, file);
        let (mount, _) = self.above(&holder)?;
        passes_on(&mount.filesystem).then_some(mount.filesystem.as_str())
    }

    fn in_layer(&self, path: &Path) -> Option<(PathBuf, FileId)> {
        let (mount, layers) = self.above(path)?;
        // Only a path under an overlay is asked for its attributes: a dead network mount would hang.
        let layers = Some(layers).filter(|_| mount.filesystem == "overlay")?;
        let about = told(path)?;
        let subtree = mount.subtree.strip_prefix("/").unwrap_or(&mount.subtree);
        let inside = subtree.join(path.strip_prefix(&mount.mount_point).ok()?);
        layers.iter().find_map(|layer| {
            let below = layer.join(&inside);
            // The layers of another mount namespace may be names of other files here.
            let there = std::fs::symlink_metadata(&below).ok().filter(Metadata::is_file)?;
            if told(&below)? != about {
                return None;
            }
            Some((below, FileId { filesystem: DevNumber::from_raw(there.dev()), inode: there.ino() }))
        })
    }
}

/// The kind of filesystem that holds what is written to an overlay, where its upper layer is visible here.
pub(super) fn layer_filesystem(root: &Root, overlay: &Mount) -> Option<String> {
    if overlay.filesystem != "overlay" || !root.is_system() {
        return None;
    }
    let mounts = mounts_with_layers(root);
    let upper = mounts.iter().find(|(m, _)| m.id == overlay.id)?.1.first()?.clone();
    std::fs::metadata(&upper).ok().filter(|about| about.is_dir())?;
    let above = mounts.iter().filter(|(m, _)| upper.starts_with(&m.mount_point));
    above.max_by_key(|(m, _)| m.mount_point.components().count()).map(|(m, _)| m.filesystem.clone())
}

/// The file that holds the bytes of this file, which is at a path: for a file of an overlay that of its layer, for others the same. Outputs and
/// targets are compared by it.
pub fn held_file(path: &Path, file: FileId) -> FileId {
    if !file.filesystem.is_anonymous() {
        return file;
    }
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    Overlays::read(&Root::system(), &[]).holder(&path, file)
}

/// What an overlay tells of a file as its layer does.
#[derive(PartialEq)]
struct FileStamp {
    length: u64,
    /// When its content was changed last, in seconds and nanoseconds, and when anything of it.
    changed: [(i64, u32); 2],
}

/// Of the file at a path. No filesystem is asked to refresh it, so that a dead network mount hangs nobody.
fn told(path: &Path) -> Option<FileStamp> {
    let asked = StatxFlags::SIZE | StatxFlags::MTIME | StatxFlags::CTIME;
    let about = statx(CWD, path, AtFlags::STATX_DONT_SYNC, asked).ok()?;
    let changed = [about.stx_mtime, about.stx_ctime].map(|time| (time.tv_sec, time.tv_nsec));
    Some(FileStamp { length: about.stx_size, changed })
}

/// How often two files are compared that change meanwhile.
const LOOKS: u32 = 5;

/// Whether the files at two paths may be one file. One of the paths is in an overlay. Of a file that was copied up the overlay tells the inode
/// number that it had in the lower layer, so that numbers say nothing. None where a file cannot be looked at.
pub(super) fn may_be_same(one: &Path, other: &Path) -> Option<bool> {
    let mut before = told(one)?;
    for _ in 0..LOOKS {
        let between = told(other)?;
        let after = told(one)?;
        if before == after {
            return Some(between == after);
        }
        if before.length == after.length && between.length != after.length {
            return Some(false);
        }
        before = after;
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample;

    use super::*;
    use crate::device::mounts::parse_mountinfo;

    #[test]
    fn files_of_programs_and_overlays_may_hold_the_bytes_of_others() {
        let of = |kind: &str| format!("65 44 0:39 / /mnt/app rw - {kind} source rw\n");
        let may_hide = |mounts: &str| {
            let overlays = Overlays::read(&Root::tree("/nowhere"), &parse_mountinfo(mounts, None));
            let file = FileId { filesystem: DevNumber { major: 0, minor: 39 }, inode: 7 };
            overlays.may_hide(Path::new("/mnt/app/file"), file)
        };
        for kind in ["overlay", "fuse.mergerfs", "fuse", "nfs4", "9p"] {
            assert!(may_hide(&of(kind)), "{kind}");
        }
        for kind in ["tmpfs", "btrfs", "zfs", "fuseblk", "fusectl"] {
            assert!(!may_hide(&of(kind)), "{kind}");
        }
        assert!(may_hide(""), "a number that no mount shows, as over two filesystems");
    }

    proptest! {
        /// The mount that a path is seen through decides, whatever else is mounted in which order. No file is there, so that no layer is found.
        #[test]
        fn a_file_is_of_unknown_source_where_its_own_mount_passes_on_files(
            mounts in vec((vec(0..2_u8, 0..4), sample::select(KINDS)), 1..8),
            folders in vec(0..2_u8, 0..5),
        ) {
            let place = |folders: &[u8]| folders.iter().fold(PathBuf::from("/none"), |path, f| path.join(f.to_string()));
            let mut text = String::new();
            for (id, (folders, kind)) in mounts.iter().enumerate() {
                text += &format!("{id} 1 0:{id} / {} rw - {kind} source rw\n", place(folders).display());
            }
            let mounts_of = |text: &str| parse_mountinfo(text, None).into_iter().map(|(mount, _)| (mount, Vec::new())).collect();
            let overlays = Overlays { mounts: mounts_of(&text), ordinary: BTreeSet::new() };
            let file = FileId { filesystem: DevNumber { major: 0, minor: 99 }, inode: 7 };
            let seen_through = (0..=folders.len()).rev().find_map(|depth| mounts.iter().rfind(|(at, _)| *at == folders[..depth]));
            let expected = seen_through.map(|(_, kind)| *kind).filter(|kind| !["ext4", "tmpfs", "btrfs"].contains(kind));
            prop_assert_eq!(overlays.unknown_source(&place(&folders).join("file"), file), expected);
        }
    }

    const KINDS: &[&str] = &["ext4", "tmpfs", "btrfs", "overlay", "fuse.bindfs", "nfs4", "9p"];
}
