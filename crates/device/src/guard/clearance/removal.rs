//! The end of a cleared file: whether its name still leads to it, and its removal.
//!
//! I/O goes through the open descriptor, and so to the file that was checked, wherever it is. Only a reader who looks for the file by its
//! name is misled.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;

use super::Clearance;

impl Clearance {
    /// Whether the name of a file does not lead to it any more: the file, or its folder, was renamed, removed or replaced. Never of a block device:
    /// its node is not what was measured.
    pub fn is_displaced(&self) -> bool {
        let ours = self.file.metadata().ok().filter(Metadata::is_file);
        ours.is_some_and(|ours| !self.named().is_ok_and(|there| is_same(&there, &ours)))
    }

    /// The file under its name, and not what a link in the last place leads to.
    fn named(&self) -> io::Result<Metadata> {
        std::fs::symlink_metadata(self.root.path(self.path()))
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
        match self.named() {
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
