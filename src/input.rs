//! Files that users name as input, read whole and with an end.
//!
//! A device or a pipe that never ends would fill the memory of the machine, so nothing is read beyond [`LONGEST`].

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::unit::Bytes;

/// The longest input. A Record of a day has a tenth of it.
pub const LONGEST: Bytes = Bytes::mib(128);

/// The bytes of a file; `-` is standard input.
///
/// # Errors
/// Errors of the system, and an input that is longer than [`LONGEST`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().take(LONGEST.0 + 1).read_to_end(&mut bytes)?;
    } else {
        File::open(path)?.take(LONGEST.0 + 1).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > LONGEST.0 {
        return Err(io::Error::other(format!(
            "it is longer than {LONGEST}, the most that is read: give it in parts"
        )));
    }
    Ok(bytes)
}

/// The text of a file; `-` is standard input.
///
/// # Errors
/// As [`read`], and bytes that are no UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| io::Error::other("it is no text in UTF-8"))
}
