//! How the content of an output is written into an open file.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use rustix::fs::OFlags;

use super::{identity, patient_write};

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
    fill(file, content, gate)
}

/// Whether a file is a regular one whose content goes when an output is written to it. Standard output and error hold what a shell wrote before,
/// and keep it: `{ date; volproof ... --csv -; } > file`.
///
/// # Errors
/// The file cannot be looked at.
pub fn is_emptied(file: &File) -> io::Result<bool> {
    let kept = identity::is_standard(file) || rustix::fs::fcntl_getfl(file)?.contains(OFlags::APPEND);
    Ok(!kept && file.metadata()?.is_file())
}

/// Writes the content and waits until it is on the disk: the kernel reports some errors only then.
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
    /// It is no regular file: its reader may stop.
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
