//! Whether two paths are one file: by device and inode, also through overlays, or for a file that is not there yet, by its folder and name.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::AtFlags;

use crate::device::{DevNumber, FileId, held_file};

/// The file that a path leads to.
#[derive(Clone, Debug, Default)]
pub struct FileIdentity {
    pub(super) file: Option<FileId>,
    /// The folder and the name in it.
    pub(super) name: Option<(FileId, OsString)>,
}

/// The regular file behind a descriptor, if it is one.
pub(super) fn regular(descriptor: impl AsFd) -> Option<FileIdentity> {
    let file = File::from(descriptor.as_fd().try_clone_to_owned().ok()?);
    let about = file.metadata().ok().filter(Metadata::is_file)?;
    Some(FileIdentity { file: Some(inode(&about)), name: None })
}

impl FileIdentity {
    /// Of a path, all links followed. `-` is standard input, where a file was redirected to it: a terminal and a socket take texts as well.
    pub fn from_path(path: &Path) -> FileIdentity {
        if path == Path::new("-") {
            return regular(io::stdin()).unwrap_or_default();
        }
        let file = std::fs::metadata(path).ok().as_ref().and_then(distinct);
        let file = file.map(|file| held_file(path, file));
        let mut path = path.to_path_buf();
        for _ in 0..LINKS {
            let Ok(link) = std::fs::read_link(&path) else { break };
            path.set_file_name("");
            path.push(link);
        }
        let folder = path.parent().filter(|p| *p != Path::new("")).unwrap_or(Path::new("."));
        let folder = std::fs::metadata(folder).ok().map(|about| inode(&about));
        FileIdentity { file, name: folder.zip(path.file_name().map(OsString::from)) }
    }

    pub(super) fn of_open(descriptor: impl AsFd) -> FileIdentity {
        let about = descriptor.as_fd().try_clone_to_owned().and_then(|fd| File::from(fd).metadata());
        FileIdentity { file: about.ok().as_ref().and_then(distinct), name: None }
    }

    /// Whether both lead to one file.
    pub fn is(&self, other: &FileIdentity) -> bool {
        let same_file = self.file.is_some() && self.file == other.file;
        same_file || (self.name.is_some() && self.name == other.name)
    }
}

pub(super) fn inode(about: &Metadata) -> FileId {
    FileId { filesystem: DevNumber::from_raw(about.dev()), inode: about.ino() }
}

/// Nothing for devices that forget: any number of outputs may go to /dev/null.
fn distinct(about: &Metadata) -> Option<FileId> {
    let forgets = about.file_type().is_char_device() && rustix::fs::major(about.rdev()) == 1;
    (!forgets).then(|| inode(about))
}

/// Whether an open file has this name in a folder.
pub fn has_name(file: &File, folder: impl AsFd, name: &OsStr) -> bool {
    let there = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    matches!((file.metadata(), there), (Ok(a), Ok(b)) if (a.dev(), a.ino()) == (b.st_dev, b.st_ino))
}

/// Whether an open file is what standard output leads to.
pub fn is_stdout(file: &File) -> bool {
    let own = FileIdentity::of_open(file);
    own.file.is_some() && own.file == FileIdentity::of_open(io::stdout()).file
}

/// Whether an open file is what standard output or standard error leads to.
pub fn is_standard(file: &File) -> bool {
    let own = FileIdentity::of_open(file).file;
    is_stdout(file) || (own.is_some() && own == FileIdentity::of_open(io::stderr()).file)
}

/// Links that a path may lead through, as in the kernel.
pub const LINKS: usize = 40;
