//! Whether the installed fio wrote its report to its end. fio notices no failed write: on a full disk it ends with 0 and leaves a part.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use serde::de::IgnoredAny;

use super::{Failure, messages};
use fio_formats::command::{Command, Format};
use volproof_base::unit::Bytes;
use volproof_device::output::{OutputFile, PendingOutput};

/// Puts fio's report in its place once fio has ended, where it is one: an earlier report survives a job that fio refuses. A report that went to a stream was looked at on its way.
///
/// # Errors
/// The report is cut: with the space that its filesystem has, and the way out. Or it cannot have its name.
pub fn settle(
    command: &Command,
    report: &OutputFile,
    pending: PendingOutput<'_>,
    code: u8,
) -> Result<(), Failure> {
    let json = command.formats.iter().any(|format| matches!(format, Format::Json | Format::JsonPlus));
    let path = report.path().display();
    let is_cut = code == 0 && is_cut(&pending.own_path(), json);
    if has_results(&pending, code) {
        pending.replace().map_err(|e| messages::not_written(report, &e))?;
    } else {
        let earlier = if report.is_new() { "" } else { ", and the file holds what it held before" };
        messages::say(&format!("{path}: fio wrote no report{earlier}"));
    }
    if !is_cut {
        return Ok(());
    }
    let free =
        free_bytes(report.path()).map_or_else(String::new, |free| format!(", and {free} are free there"));
    Err(Failure {
        code: 1,
        message: format!(
            "{path}: fio's report is cut, which fio itself does not notice{free}: run it again with room for it, or with its name on another filesystem"
        ),
    })
}

/// A run of fio that ends well has a report, and one that fails has it where a job began. What fio says of a job that it refuses goes into that file
/// too, and to standard error.
fn has_results(pending: &PendingOutput<'_>, code: u8) -> bool {
    let text = fs::read(pending.own_path()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let is_result =
        |line: &str| line.starts_with('{') || line.contains(": (groupid=") || line.contains(";fio-");
    if code == 0 { !text.is_empty() } else { text.lines().any(is_result) }
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
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(Bytes(found.f_bavail.saturating_mul(found.f_frsize)))
}
