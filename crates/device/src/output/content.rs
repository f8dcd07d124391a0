//! How the content of an output is written into an open file.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use rustix::fs::OFlags;

use super::identity;
use super::patient_write::PatientWriter;

/// Writes the content of an output; called again when the content has to go elsewhere.
pub type Content<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;

/// Whether a file is a regular one whose content goes when an output is written to it. Standard output and error hold what a shell wrote before,
/// and keep it: `{ date; volproof ... --csv -; } > file`.
///
/// # Errors
/// The file cannot be looked at.
pub fn is_emptied(file: &File) -> io::Result<bool> {
    let kept = identity::is_standard(file) || rustix::fs::fcntl_getfl(file)?.contains(OFlags::APPEND);
    Ok(!kept && file.metadata()?.is_file())
}

/// Writes the content and waits until it is on the disk: the kernel reports some errors only then. A reader that has gone away is an error: the
/// content may be the only copy of a result.
///
/// # Errors
/// The content cannot be written, or does not reach the disk.
pub fn fill(file: &File, content: Content<'_>) -> io::Result<()> {
    // The reader of a stream may be slow.
    let to: Box<dyn Write + '_> =
        if file.metadata()?.is_file() { Box::new(file) } else { Box::new(PatientWriter(file)) };
    let mut out = BufWriter::with_capacity(1 << 16, to);
    content(&mut out)?;
    out.flush()?;
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
