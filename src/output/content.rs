//! How the content of an output is written into an open file.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};

use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::{identity, patient_write};
use crate::file_lock::is_locked;

/// Writes the content of an output; called again when the content has to go elsewhere.
pub type Content<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;

/// A call of an output to the system, in this order: tests make each of them fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// The file is made.
    Create,
    /// Some of the content is written.
    Write,
    /// The content is brought to the disk.
    Sync,
    /// The file gets its name.
    Rename,
}

/// Asked before each [`Call`]; an error stands for that of the system.
pub type CallGate<'a> = &'a mut dyn FnMut(Call) -> io::Result<()>;

/// Writes a content to a stream as it is. A reader that has gone away is an error: the content may be the only copy of a result.
///
/// # Errors
/// The stream takes no more, or nobody reads it.
pub fn through(file: &File, content: Content<'_>, gate: CallGate<'_>) -> io::Result<()> {
    gate(Call::Create)?;
    if is_emptied(file)? {
        make_room(file, content)?;
    }
    fill(file, content, gate)
}

/// Sets room aside for a content in a regular file that holds another one, and goes to its begin. What the file holds stays until then.
///
/// The limit of the process on the size of files is asked for apart, since the kernel does not hold room beyond the end of a file to it. Where
/// a filesystem cannot set room aside, zeros are written behind what the file holds, and taken back if they do not fit.
fn make_room(mut file: &File, content: Content<'_>) -> io::Result<()> {
    let mut length = Length(0);
    content(&mut length)?;
    if getrlimit(Resource::Fsize).current.is_some_and(|most| length.0 > most) {
        return Err(Errno::FBIG.into());
    }
    unlocked(file)?;
    let held = file.metadata()?.len();
    match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, 0, length.0.max(1)) {
        Ok(()) => {}
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) if length.0 > held => {
            file.seek(io::SeekFrom::End(0))?;
            let zeros =
                io::copy(&mut io::repeat(0).take(length.0 - held), &mut file).and_then(|_| file.sync_data());
            if let Err(e) = zeros {
                file.set_len(held)?;
                return Err(e);
            }
        }
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
        Err(e) => return Err(e.into()),
    }
    if held > length.0 {
        file.set_len(length.0)?;
    }
    file.rewind()
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

/// Empties a regular file that is written where it is. Standard output and error hold what a shell wrote before, and keep it:
/// `{ date; volproof ... --csv -; } > file`.
///
/// # Errors
/// The file cannot be made shorter, or somebody has locked it.
pub fn empty(file: &File) -> io::Result<()> {
    if is_emptied(file)? {
        unlocked(file)?;
        file.set_len(0)?;
    }
    Ok(())
}

fn unlocked(file: &File) -> io::Result<()> {
    if is_locked(file) { Err(io::Error::other("another program has locked it")) } else { Ok(()) }
}

/// Whether [`empty`] takes away what the file holds.
///
/// # Errors
/// The file cannot be looked at.
pub fn is_emptied(file: &File) -> io::Result<bool> {
    let kept = identity::is_standard(file) || rustix::fs::fcntl_getfl(file)?.contains(OFlags::APPEND);
    Ok(!kept && file.metadata()?.is_file())
}

/// Writes the content and waits until it is on the disk: some errors are told only then.
///
/// # Errors
/// The content cannot be written, or does not reach the disk.
pub fn fill(file: &File, content: Content<'_>, gate: CallGate<'_>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, Gated { file, gate, waits: !file.metadata()?.is_file() });
    content(&mut out)?;
    out.flush()?;
    let Gated { gate, .. } = out.into_parts().0;
    gate(Call::Sync)?;
    match file.sync_all() {
        // Pipes, terminals and some network filesystems have nothing to synchronise.
        Err(e)
            if matches!(
                e.raw_os_error(),
                Some(libc::EINVAL | libc::ENOTSUP | libc::ENOSYS | libc::EROFS)
            ) =>
        {
            Ok(())
        }
        done => done,
    }
}

/// A file that asks before each write.
struct Gated<'a, 'b> {
    file: &'a File,
    gate: CallGate<'b>,
    /// It is no regular file: whoever reads it may stop.
    waits: bool,
}

impl Write for Gated<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.gate)(Call::Write)?;
        if self.waits { patient_write::write(self.file, bytes) } else { (&*self.file).write(bytes) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
