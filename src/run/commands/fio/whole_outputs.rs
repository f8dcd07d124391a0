//! Whether the installed fio wrote its report to its end. fio notices no failed write: on a full disk it ends with 0 and leaves a part.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use serde::de::IgnoredAny;

use super::Failure;
use fio_formats::command::{Command, Format};
use volproof_base::unit::Bytes;

/// Refuses to call a run done whose report is cut. A report that went to a stream was looked at on its way.
///
/// # Errors
/// With the file that is cut, the space that its filesystem has, and the way out.
pub fn check(command: &Command, streamed: bool) -> Result<(), Failure> {
    let json = command.formats.iter().any(|format| matches!(format, Format::Json | Format::JsonPlus));
    let Some(path) = command.output.as_ref().filter(|path| !streamed && is_cut(path, json)) else {
        return Ok(());
    };
    let free = free_bytes(path).map_or_else(String::new, |free| format!(", and {free} are free there"));
    Err(Failure {
        code: 1,
        message: format!(
            "{}: fio's report is cut, which fio itself does not notice{free}: run it again with room for it, or with its name on another filesystem",
            path.display()
        ),
    })
}

/// Every line that fio writes ends, and every object of JSON is closed.
fn is_cut(path: &Path, json: bool) -> bool {
    let Some(length) = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|file| file.len()) else {
        return false;
    };
    length == 0 || last_byte(path).is_ok_and(|last| last != b'\n') || (json && ends_within_json(path))
}

fn last_byte(path: &Path) -> io::Result<u8> {
    let (mut file, mut last) = (File::open(path)?, [0]);
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last[0])
}

/// Text of another form may stand around the objects.
fn ends_within_json(path: &Path) -> bool {
    let Ok(text) = fs::read(path) else { return false };
    let Some(begin) = text.windows(2).position(|two| two == b"{\n") else { return true };
    let mut objects =
        serde_json::Deserializer::from_reader(BufReader::new(&text[begin..])).into_iter::<IgnoredAny>();
    objects.find_map(Result::err).is_some_and(|error| error.is_eof())
}

fn free_bytes(path: &Path) -> Option<Bytes> {
    let found = rustix::fs::statvfs(path).ok()?;
    Some(Bytes(found.f_bavail.saturating_mul(found.f_frsize)))
}
