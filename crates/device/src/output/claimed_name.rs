//! The name of a Record while its run goes on: another run that is asked to save there is refused, and what the name held before stays until the
//! new Record is complete.
//!
//! A lock (`flock`) on the file that has the name says that its run goes on; the kernel lets go of it with the process. Filesystems without locks
//! keep nobody away.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock};

use super::destination::OutputPlace;
use super::identity::has_name;
use super::part_name::random;
use super::unfinished;
use volproof_base::file_lock::is_locked;

/// A name that this program saves to, more than once.
#[derive(Debug, Default)]
pub struct ClaimedName {
    /// The file that has the name, locked.
    held: Option<File>,
    /// The file that had the name before it was saved to.
    earlier: EarlierFile,
}

/// A file that is to be replaced.
#[derive(Debug, Default)]
enum EarlierFile {
    #[default]
    None,
    /// It still has its name.
    InPlace,
    /// It has this name beside it, and is locked.
    Beside(OsString, File),
}

impl ClaimedName {
    /// Takes the name of an output.
    ///
    /// # Errors
    /// Another program saves there, or the file that has the name cannot be read.
    pub fn take(place: &OutputPlace) -> io::Result<ClaimedName> {
        let Some(file) = place.replaced()? else { return Ok(ClaimedName::default()) };
        if is_locked(&file) {
            return Err(io::Error::other("another program that still runs has locked it"));
        }
        unfinished::mark(&file);
        let earlier = if file.metadata()?.len() > 0 { EarlierFile::InPlace } else { EarlierFile::None };
        Ok(ClaimedName { held: Some(file), earlier })
    }

    /// Gives way to the file that takes the name now; the one that had it before this program gets another name first.
    pub fn before_rename(&mut self, folder: &OwnedFd, name: &OsStr) {
        let Some(held) = self.held.take() else { return };
        let _ = flock(&held, FlockOperation::Unlock);
        if !matches!(self.earlier, EarlierFile::InPlace) {
            return;
        }
        let beside = unfinished::earlier_name(random(), name);
        // A filesystem without hard links keeps no second name.
        self.earlier = match rustix::fs::linkat(folder, name, folder, &beside, AtFlags::empty()) {
            Ok(()) => EarlierFile::Beside(beside, held),
            Err(_) => EarlierFile::None,
        };
    }

    /// The new file has the name. What was written through is closed before: a filesystem with a file that is open for writing cannot be made
    /// read-only.
    pub fn after_rename(&mut self, folder: &OwnedFd, name: &OsStr) {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        self.held = rustix::fs::openat(folder, name, flags, Mode::empty()).ok().map(File::from);
        if let Some(file) = &self.held {
            unfinished::mark(file);
        }
        if let EarlierFile::Beside(_, file) = &self.earlier {
            unfinished::mark(file);
        }
    }

    /// Forgets what the name held before: the new content is complete.
    pub fn forget_earlier(&mut self, folder: &OwnedFd) {
        if let EarlierFile::Beside(name, _) = std::mem::take(&mut self.earlier) {
            let _ = rustix::fs::unlinkat(folder, &name, AtFlags::empty());
        }
    }

    /// Whether the file that this program saved there still has the name.
    pub fn has_name(&self, folder: &OwnedFd, name: &OsStr) -> bool {
        self.held.as_ref().is_some_and(|file| has_name(file, folder, name))
    }

    /// The name of the file that stays beside the new one.
    pub fn earlier(&self) -> Option<&OsStr> {
        match &self.earlier {
            EarlierFile::Beside(name, _) => Some(name),
            _ => None,
        }
    }
}
