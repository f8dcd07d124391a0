//! What lies at a path, through every mount that has the place. A mount hides what lies under it, and a program may have opened that before.
//!
//! A look under a mount makes a copy of a single other one, to which no path leads and which goes with its descriptor (open_tree(2)). Nothing is
//! written.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, openat, statx};
use rustix::mount::{OpenTreeFlags, open_tree};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use super::mounts::parse_mountinfo;
use super::stack::readable;
use super::{Mount, StackNode, ioctl};

/// Files and devices that one path may mean.
#[derive(Debug, Default)]
pub(super) struct AtPath {
    /// Those that are there, the visible one among them.
    pub(super) found: Vec<StackNode>,
    /// Each of them is a file that nobody has open.
    pub(super) unused: bool,
    /// Why others may be there, as a clause.
    pub(super) unseen: Option<String>,
}

/// What lies at these paths in the mount namespace of a process, whose folder in /proc is given.
///
/// # Errors
/// The namespace cannot be entered.
pub(super) fn at_paths(process: &Path, paths: &[PathBuf]) -> io::Result<Vec<AtPath>> {
    let proc = File::open("/proc")?;
    if std::fs::read_link("/proc/self/ns/mnt")? == std::fs::read_link(process.join("ns/mnt"))? {
        return look(&proc, paths);
    }
    let theirs = File::open(process.join("ns/mnt"))?;
    let inside = || {
        // SAFETY: FS lets this thread have a root of its own; the descriptors stay those of all threads.
        unsafe { unshare_unsafe(UnshareFlags::FS) }?;
        move_into_link_name_space(theirs.as_fd(), Some(LinkNameSpaceType::Mount))?;
        look(&proc, paths)
    };
    std::thread::scope(|scope| scope.spawn(inside).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// In the namespace of this thread, in which /proc may be anywhere.
fn look(proc: &File, paths: &[PathBuf]) -> io::Result<Vec<AtPath>> {
    let mut text = Vec::new();
    opened(proc, "thread-self/mountinfo")?.read_to_end(&mut text)?;
    let mounts = parse_mountinfo(&String::from_utf8_lossy(&text), None);
    let mounts: Vec<Mount> = mounts.into_iter().map(|(mount, _)| mount).collect();
    Ok(paths.iter().map(|path| at(proc, &mounts, path)).collect())
}

fn opened(proc: &File, name: &str) -> io::Result<File> {
    Ok(openat(proc, name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?.into())
}

fn at(proc: &File, mounts: &[Mount], path: &Path) -> AtPath {
    let mut at = AtPath::default();
    let seen = place(CWD, path);
    let through = seen.as_ref().ok().and_then(|seen| mount_id(seen).ok());
    let mut all: Vec<File> = seen.into_iter().collect();
    // autofs holds no files of its own.
    let others = mounts.iter().filter(|m| m.filesystem != "autofs" && path.starts_with(&m.mount_point));
    for mount in others.filter(|m| through != Some(m.id)) {
        match under(mount, path) {
            Ok(file) => all.extend(file),
            Err(e) => {
                let (kind, point) = (&mount.filesystem, readable(&mount.mount_point));
                at.unseen = Some(format!(
                    "what lies at {} on the {kind} under {point} cannot be seen ({e})",
                    readable(path)
                ));
            }
        }
    }
    let about: Vec<Metadata> = all.iter().filter_map(|file| file.metadata().ok()).collect();
    at.found = about.iter().filter_map(StackNode::from_metadata).collect();
    at.unused = about.iter().all(Metadata::is_file) && all.iter().all(|file| is_unused(proc, file));
    at
}

/// A descriptor of what has a name, be it a link.
fn place(folder: impl AsFd, path: &Path) -> io::Result<File> {
    Ok(openat(folder, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?.into())
}

fn mount_id(of: &File) -> io::Result<u64> {
    Ok(statx(of, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?.stx_mnt_id)
}

/// What lies at a path on one mount, whatever is mounted over it.
fn under(mount: &Mount, path: &Path) -> io::Result<Option<File>> {
    let top = place(CWD, &mount.mount_point)?;
    if mount_id(&top)? != mount.id {
        return Err(io::Error::other("another mount covers it"));
    }
    let copy =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    let tree: OwnedFd = open_tree(&top, "", copy)?;
    let below = path.strip_prefix(&mount.mount_point).unwrap_or(path);
    if below == Path::new("") {
        return Ok(Some(top));
    }
    match place(&tree, below) {
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) => Ok(None),
        found => found.map(Some),
    }
}

/// Whether nobody has a regular file open.
fn is_unused(proc: &File, file: &File) -> bool {
    let opened = opened(proc, &format!("thread-self/fd/{}", file.as_raw_fd()));
    opened.is_ok_and(|file| ioctl::opened_alone(file.as_fd()).unwrap_or(false))
}
