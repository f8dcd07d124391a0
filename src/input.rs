//! Files that users name as input, read whole and with an end.
//!
//! A device or a pipe that never ends would fill the memory of the machine, so nothing is read beyond [`LONGEST_RESULT`]. A named pipe that nobody
//! writes to is not waited for without end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::standard_streams;
use crate::unit::Bytes;

/// The longest result: a Record or a report. A Record of a day has a tenth of it.
pub const LONGEST_RESULT: Bytes = Bytes::mib(128);

/// The longest plan file, job file or catalogue. Ten thousand steps take half of it, and what is made of a byte may take two hundred.
pub const LONGEST_SETTINGS: Bytes = Bytes::mib(2);

/// The longest wait for a program that opens a named pipe to write to it.
const WRITER_WAIT: Duration = Duration::from_secs(3);

/// The bytes of a result; `-` is standard input.
///
/// # Errors
/// Errors of the system, and an input that is longer than [`LONGEST_RESULT`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_to(path, LONGEST_RESULT, "give it in parts")
}

/// The bytes of a plan file, job file or catalogue; `-` is standard input.
///
/// # Errors
/// Errors of the system, and an input that is longer than [`LONGEST_SETTINGS`].
pub fn read_settings(path: &Path) -> io::Result<Vec<u8>> {
    read_to(path, LONGEST_SETTINGS, "name a plan file, a job file or a catalogue")
}

/// The text of a plan file or catalogue; `-` is standard input.
///
/// # Errors
/// As [`read_settings`], and bytes that are no UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_settings(path)?).map_err(|_| io::Error::other("it is no text in UTF-8"))
}

fn read_to(path: &Path, most: Bytes, advice: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        standard_streams::input()?.take(most.0 + 1).read_to_end(&mut bytes)?;
    } else if std::fs::metadata(path)?.file_type().is_fifo() {
        from_pipe(path, &mut bytes)?.take(most.0).read_to_end(&mut bytes)?;
    } else {
        File::open(path)?.take(most.0 + 1).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > most.0 {
        return Err(io::Error::other(format!("it is longer than {most}, the most that is read: {advice}")));
    }
    Ok(bytes)
}

/// Opens a named pipe and reads what comes first. Reading ends at once while no program has the pipe open to write; with a writer it waits.
fn from_pipe(path: &Path, bytes: &mut Vec<u8>) -> io::Result<File> {
    let mut pipe = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let began = Instant::now();
    let mut first = [0; 4096];
    loop {
        match pipe.read(&mut first) {
            Ok(0) if began.elapsed() > WRITER_WAIT => {
                return Err(io::Error::other(
                    "no program writes to this named pipe: start the one that does, or name a file",
                ));
            }
            Ok(0) => std::thread::sleep(Duration::from_millis(20)),
            Ok(n) => {
                bytes.extend(&first[..n]);
                break;
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
            Err(e) => return Err(e),
        }
    }
    rustix::fs::fcntl_setfl(&pipe, rustix::fs::OFlags::empty())?;
    Ok(pipe)
}

/// How messages name an input: `-` is standard input.
pub fn named(path: &Path) -> &Path {
    if path == Path::new("-") { Path::new("standard input") } else { path }
}
