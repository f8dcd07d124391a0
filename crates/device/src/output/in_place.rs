//! A regular file whose folder lets no other take its name: a folder in which the user makes no files, or a file that is mounted by itself. Its
//! content is written where it is.
//!
//! The file is opened for each write alone. Held open all the time, it would look to the guard, and to other runs, like one in use. What it holds
//! is put aside before the first byte of it is overwritten.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::MisplacedOutput;
use super::content::{CallGate, Content, fill};
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

/// Writes a content over what the open file holds. Where that fails halfway, the file gets back what it held.
///
/// # Errors
/// The content cannot be written whole. The message names the copy of what the file held, if it did not go back.
pub fn write(file: &File, path: &Path, content: Content<'_>, gate: CallGate<'_>) -> io::Result<()> {
    let mut length = Length(0);
    content(&mut length)?;
    let held = file.metadata()?.len();
    make_room(file, held, length.0)?;
    let copy = if held > 0 { Some(put_aside(file, path, held)?) } else { None };
    let written =
        fill(file, content, gate).and_then(|()| if held > length.0 { cut(file, length.0) } else { Ok(()) });
    let Err(e) = written else {
        let _ = copy.map(MisplacedOutput::discard);
        return Ok(());
    };
    let Some(copy) = copy else {
        let _ = cut(file, 0);
        return Err(e);
    };
    match put_back(file, &copy, held) {
        Ok(()) => {
            copy.discard();
            Err(e)
        }
        Err(_) => Err(match copy.second() {
            Some(second) => {
                io::Error::other(format!("{e}; the file is cut, and what it held is in {}", second.display()))
            }
            None => io::Error::other(format!("{e}; the file is cut")),
        }),
    }
}

/// Sets room aside for a content of this length, and goes to the begin of the file.
///
/// The limit of the process on the size of files is asked for apart, since the kernel does not hold room beyond the end of a file to it. Where
/// a filesystem cannot set room aside, zeros are written behind what the file holds, and taken back if they do not fit.
fn make_room(mut file: &File, held: u64, length: u64) -> io::Result<()> {
    if getrlimit(Resource::Fsize).current.is_some_and(|most| length > most) {
        return Err(Errno::FBIG.into());
    }
    match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, 0, length.max(1)) {
        Ok(()) => {}
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) if length > held => {
            file.seek(SeekFrom::End(0))?;
            let zeros = io::copy(&mut io::repeat(0).take(length - held), &mut file);
            if let Err(e) = zeros.and_then(|_| file.sync_data()) {
                file.set_len(held)?;
                return Err(e);
            }
        }
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
        Err(e) => return Err(e.into()),
    }
    file.rewind()
}

/// Keeps what the file holds in a second place. Without such a place the file is written all the same: there is room for the content.
fn put_aside(file: &File, path: &Path, held: u64) -> io::Result<MisplacedOutput> {
    let old = File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    Ok(MisplacedOutput::save(path, "it is being written", &|out| {
        (&old).rewind()?;
        io::copy(&mut (&old).take(held), out).map(drop)
    }))
}

fn put_back(mut file: &File, copy: &MisplacedOutput, held: u64) -> io::Result<()> {
    let copy = copy.second().ok_or(io::ErrorKind::NotFound)?;
    file.rewind()?;
    io::copy(&mut File::open(copy)?, &mut file)?;
    cut(file, held)
}

/// Ends the file at a length, and waits until that is on the disk.
fn cut(file: &File, length: u64) -> io::Result<()> {
    file.set_len(length)?;
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
