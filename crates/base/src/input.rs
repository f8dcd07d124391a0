//! Files that users name as input, read whole and with an end.
//!
//! A device or a pipe that never ends would fill the memory of the machine, so nothing is read beyond [`LONGEST_RESULT`].

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::misspelling::nearest;
use crate::quoting;
use crate::standard_streams;
use crate::unit::Bytes;

/// The longest result: a Record or a report. A Record of a day has a tenth of it.
pub const LONGEST_RESULT: Bytes = Bytes::mib(128);

/// The longest plan file, job file or catalogue. Ten thousand steps take half of it, and what is made of a byte may take two hundred.
pub const LONGEST_SETTINGS: Bytes = Bytes::mib(2);

/// So many names of a folder are compared with one that is not there.
const MOST_NAMES: usize = 10_000;

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
    read_whole(path, most, advice).map_err(|e| with_way_out(e, path))
}

/// The same error in words that say what to do next, where the path is the mistake.
fn with_way_out(e: io::Error, path: &Path) -> io::Error {
    let told = match e.kind() {
        io::ErrorKind::NotFound => absent(path),
        io::ErrorKind::IsADirectory => {
            "it is a folder: name a file in it; `volproof history FOLDER` reads all Records of one".into()
        }
        io::ErrorKind::PermissionDenied => {
            "this user may not read it: give the right to read it, or run as root".into()
        }
        _ => return e,
    };
    io::Error::new(e.kind(), told)
}

/// What to say of a path that leads to no file: the folder in which it was looked for, and the name there that is most like it.
fn absent(path: &Path) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = folder.read_dir() else {
        return format!("there is no folder {}", folder.display());
    };
    let names = entries.take(MOST_NAMES).flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let typed = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match nearest(typed, names.map(|name| (name.clone(), name))) {
        Some(name) => format!("there is no such file: did you mean {}?", path.with_file_name(name).display()),
        None => {
            let whole = folder.canonicalize().unwrap_or(folder.to_path_buf());
            format!("there is no such file in {}: check the name and the folder", whole.display())
        }
    }
}

fn read_whole(path: &Path, most: Bytes, advice: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        standard_streams::input()?.take(most.0 + 1).read_to_end(&mut bytes)?;
    } else {
        let file = File::open(path)?;
        let facts = file.metadata()?;
        quoting::note(&facts);
        // One byte more than it has, so that its end is seen without more memory.
        bytes.reserve(facts.len().min(most.0) as usize + 1);
        file.take(most.0 + 1).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > most.0 {
        return Err(io::Error::other(format!("it is longer than {most}, the most that is read: {advice}")));
    }
    Ok(bytes)
}

/// How messages name an input: `-` is standard input.
pub fn named(path: &Path) -> &Path {
    if path == Path::new("-") { Path::new("standard input") } else { path }
}
