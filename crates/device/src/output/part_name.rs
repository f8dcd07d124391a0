//! The name that a file has while its content is written: one of its own, until it takes the name of the output. A drop before
//! that removes the file.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, renameat_with};
use rustix::io::Errno;

use super::unfinished;
use volproof_base::file_lock::is_locked;

/// A name that nobody can foresee, for a file that is marked as being written.
pub struct PartName<'f> {
    folder: &'f OwnedFd,
    name: OsString,
    /// Nothing of ours has the name any more.
    given_up: bool,
}

impl<'f> PartName<'f> {
    /// Makes a file for the content of `name`, with the mode and owner of the file that has that name now.
    ///
    /// # Errors
    /// The name cannot be looked at, or the file cannot be made.
    pub fn beside(folder: &'f OwnedFd, name: &OsStr) -> io::Result<(File, PartName<'f>)> {
        let old = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(old) if FileType::from_raw_mode(old.st_mode).is_file() => Some(old),
            // Whatever else has taken the name stays there.
            Ok(_) | Err(Errno::NOENT) => None,
            Err(e) => return Err(e.into()),
        };
        PartName::like(folder, name, old)
    }

    /// Makes a file for the content of `name`, with at most this mode.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn new(folder: &'f OwnedFd, name: &OsStr, mode: u32) -> io::Result<(File, PartName<'f>)> {
        PartName::made(folder, name, mode)
    }

    fn like(folder: &'f OwnedFd, name: &OsStr, old: Option<Stat>) -> io::Result<(File, PartName<'f>)> {
        let (file, part) = PartName::made(folder, name, if old.is_some() { 0o600 } else { 0o666 })?;
        if let Some(old) = old {
            let new = rustix::fs::fstat(&file)?;
            if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
                // Only root may give a file away; for everybody else the new file is their own.
                let (user, group) =
                    (rustix::fs::Uid::from_raw(old.st_uid), rustix::fs::Gid::from_raw(old.st_gid));
                let _ = rustix::fs::fchown(&file, Some(user), Some(group));
            }
            // A filesystem without modes keeps none.
            let _ = rustix::fs::fchmod(&file, Mode::from_raw_mode(old.st_mode & 0o777));
        }
        Ok((file, part))
    }

    fn made(folder: &'f OwnedFd, name: &OsStr, mode: u32) -> io::Result<(File, PartName<'f>)> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let name = unfinished::name(random(), name);
            match rustix::fs::openat(folder, &name, flags, Mode::from_raw_mode(mode)) {
                Ok(file) => {
                    let file = File::from(file);
                    unfinished::mark(&file);
                    return Ok((file, PartName { folder, name, given_up: false }));
                }
                Err(Errno::EXIST) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Gives the file this name, in place of the file that has it.
    ///
    /// # Errors
    /// The file cannot be given the name, or another program has locked the file that has it.
    pub fn put_over(self, name: &OsStr) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let there = rustix::fs::openat(self.folder, name, flags, Mode::empty());
        if there.is_ok_and(|file| is_locked(&file.into())) {
            return Err(io::Error::other("another program has locked it"));
        }
        self.rename_to(name)
    }

    /// Gives the file this name, in place of a file that this program holds.
    ///
    /// # Errors
    /// The file cannot be given the name.
    pub fn rename_to(mut self, name: &OsStr) -> io::Result<()> {
        rustix::fs::renameat(self.folder, &self.name, self.folder, name)?;
        self.given_up = true;
        settle(self.folder);
        Ok(())
    }

    /// Gives the file a name that nobody has; `false` where somebody has it.
    ///
    /// # Errors
    /// The file cannot be given the name for another reason.
    pub fn take(&mut self, name: &OsStr) -> io::Result<bool> {
        let folder = self.folder;
        let taken = match renameat_with(folder, &self.name, folder, name, RenameFlags::NOREPLACE) {
            // Not every filesystem knows the flag; a hard link never replaces anything.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(folder, &self.name, folder, name, AtFlags::empty())
                    .and_then(|()| rustix::fs::unlinkat(folder, &self.name, AtFlags::empty()))
            }
            done => done,
        };
        match taken {
            Ok(()) => {
                self.given_up = true;
                settle(folder);
                Ok(true)
            }
            Err(Errno::EXIST) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Removes the file, and says whether that could be done.
    pub fn remove(mut self) -> rustix::io::Result<()> {
        self.given_up = true;
        rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty())
    }
}

impl Drop for PartName<'_> {
    fn drop(&mut self) {
        if !self.given_up {
            let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Makes a new name durable. A folder that cannot be synchronised still holds the file.
fn settle(folder: &OwnedFd) {
    if let Ok(open) = rustix::fs::openat(folder, ".", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()) {
        let _ = rustix::fs::fsync(open);
    }
}

/// A number that nobody can foresee: the hasher of the standard library is seeded by the system.
pub fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}
