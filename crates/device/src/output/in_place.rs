//! A regular file whose folder lets no other take its name: a folder in which the user makes no files, or a file that is mounted by itself. Its
//! content is written where it is, once there is room for all of it.
//!
//! The file is opened for each write alone. Held open all the time, it would look to the guard, and to other runs, like one in use.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::content::{Content, fill};
use volproof_base::file_lock::is_ours_until;

/// How long another program is waited for that has locked the file: a save of ours takes less, unless its disk is slow.
const PATIENCE: Duration = Duration::from_secs(1);

/// Opens the file under a name for writing, and locks it until it is closed.
///
/// # Errors
/// It cannot be opened, or somebody else keeps a lock on it.
pub fn open(folder: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?);
    if is_ours_until(&file, Instant::now() + PATIENCE) {
        return Ok(file);
    }
    Err(io::Error::other("another program has locked it"))
}

/// Writes a content over what the open file holds. Without room for all of it, the file stays as it is.
///
/// # Errors
/// The content cannot be written whole.
pub fn write(file: &File, content: Content<'_>) -> io::Result<()> {
    let mut length = Length(0);
    content(&mut length)?;
    // The kernel does not hold room beyond the end of a file to the limit of the process.
    if getrlimit(Resource::Fsize).current.is_some_and(|most| length.0 > most) {
        return Err(Errno::FBIG.into());
    }
    match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, 0, length.0.max(1)) {
        // A filesystem that sets no room aside.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
        Err(e) => return Err(e.into()),
    }
    fill(file, content)?;
    file.set_len(length.0)?;
    file.sync_all()
}

/// Counts the bytes of a content.
struct Length(u64);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
