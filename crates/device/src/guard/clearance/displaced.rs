//! A cleared file whose name does not lead to it any more: the file, or its folder, was renamed, removed or replaced.
//!
//! I/O goes through the open descriptor, and so to the file that was checked, wherever it is. Only a reader who looks for the file by its
//! name is misled.

use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Clearance;
use crate::device::Root;

/// What became of the name of a cleared file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Displaced {
    was: PathBuf,
    now: FilePlaceNow,
    /// Another file has the name now.
    replaced: bool,
}

/// Where the file is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FilePlaceNow {
    At(PathBuf),
    /// No name leads to the file: the kernel frees it when it is closed.
    Removed,
    /// The file has a name that cannot be found from here.
    Unknown,
}

impl fmt::Display for Displaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let was = self.was.display();
        match &self.now {
            FilePlaceNow::At(now) => {
                write!(f, "{was} was moved during the run and is now {}", now.display())?
            }
            FilePlaceNow::Removed => write!(f, "{was} was removed during the run")?,
            FilePlaceNow::Unknown => {
                write!(f, "{was} does not lead any more to the file that the run has open")?;
            }
        }
        if self.replaced { write!(f, " (another file has its name)") } else { Ok(()) }
    }
}

impl Displaced {
    /// The path that leads to the file now, where one is known.
    pub fn now(&self) -> Option<&Path> {
        match &self.now {
            FilePlaceNow::At(path) => Some(path),
            FilePlaceNow::Removed | FilePlaceNow::Unknown => None,
        }
    }

    /// The file is still there, under another name.
    pub fn is_left(&self) -> bool {
        self.now != FilePlaceNow::Removed
    }
}

/// The file at a path itself, and not what a link in the last place leads to.
fn at(root: &Root, path: &Path) -> io::Result<Metadata> {
    std::fs::symlink_metadata(root.path(path))
}

impl Clearance {
    /// What became of a file whose name does not lead to it any more. Nothing of a block device: its node is not what was measured.
    pub fn displaced(&self) -> Option<Displaced> {
        let ours = self.file.metadata().ok().filter(Metadata::is_file)?;
        let leads = |path: &Path| at(&self.root, path).map(|there| is_same(&there, &ours));
        let there = leads(self.path());
        if matches!(there, Ok(true)) {
            return None;
        }
        let link = std::fs::read_link(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        let now = match link {
            _ if ours.nlink() == 0 => FilePlaceNow::Removed,
            // One of several names was removed, or the filesystem was unmounted: the link in /proc still has the old path.
            Ok(path) if matches!(leads(&path), Ok(true)) => FilePlaceNow::At(path),
            _ => FilePlaceNow::Unknown,
        };
        Some(Displaced { was: self.path().to_path_buf(), now, replaced: there.is_ok() })
    }

    /// Removes a file that this Clearance made, and leaves anything else alone.
    ///
    /// # Errors
    /// Those of [`Clearance::remove`].
    pub fn remove_created(&self) -> io::Result<()> {
        if matches!(self.hold, super::Hold::Created) { self.remove() } else { Ok(()) }
    }

    /// Removes a file that may be written, also one that was there before. Another file that has taken its name since is left alone.
    ///
    /// # Errors
    /// The file or its name cannot be looked at, or the file cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        let ours = self.file.metadata()?;
        match at(&self.root, self.path()) {
            Ok(there) if self.may_write() && ours.is_file() && is_same(&there, &ours) => {
                std::fs::remove_file(self.root.path(self.path()))
            }
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}
