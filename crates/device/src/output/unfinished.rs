//! Outputs that a killed run was writing, and what tells them from those that are being written now.
//!
//! The content of an output goes into a file of another name first. A lock (`flock`) marks that file while its program lives; the kernel lets
//! go of it with the process, however it ends. Such a file that nobody holds may be the only copy of a result, so nothing here removes it.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::output_names::LONGEST_NAME;
use volproof_base::regular_file::open_regular;

const BEGIN: &[u8] = b".volproof-";
const END: &[u8] = b".part";
/// The end of the name of a whole file that an unfinished run replaced.
const EARLIER_END: &[u8] = b".kept";
/// Hexadecimal digits of the number between, which makes the name one that nobody can foresee.
const DIGITS: usize = 16;
/// A program that has just made its file may not have marked it yet. There is nothing in the file then.
const FRESH: Duration = Duration::from_secs(60);

/// An output that a program which is no more has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOutput {
    /// Where it is.
    pub path: PathBuf,
    /// The name that it was to have, perhaps without its end; empty in files of earlier versions.
    pub asked: OsString,
    /// It is whole: it had that name before an unfinished run took it.
    pub is_whole: bool,
}

/// The name under which the content for `asked` is written.
pub(super) fn name(number: u64, asked: &OsStr) -> OsString {
    ending(END, number, asked)
}

/// The name under which a whole file is kept that had the name `asked`.
pub(super) fn earlier_name(number: u64, asked: &OsStr) -> OsString {
    ending(EARLIER_END, number, asked)
}

fn ending(end: &[u8], number: u64, asked: &OsStr) -> OsString {
    let room = LONGEST_NAME - BEGIN.len() - DIGITS - 1 - end.len();
    let asked = &asked.as_bytes()[..asked.len().min(room)];
    OsString::from_vec([BEGIN, format!("{number:0DIGITS$x}-").as_bytes(), asked, end].concat())
}

/// The name that the content of such a file was to have, or had.
fn asked(name: &OsStr) -> Option<OsString> {
    let middle = name.as_bytes().strip_prefix(BEGIN)?;
    let middle = middle.strip_suffix(END).or_else(|| middle.strip_suffix(EARLIER_END))?;
    let (number, asked) = middle.split_at_checked(DIGITS)?;
    if !number.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    match asked.split_first() {
        None => Some(OsString::new()),
        Some((b'-', asked)) => Some(OsStr::from_bytes(asked).into()),
        Some(_) => None,
    }
}

/// Marks a file as being written, until it is closed. Where a filesystem has no locks, its files are never taken for left ones either.
pub(super) fn mark(file: &File) {
    let _ = flock(file, FlockOperation::NonBlockingLockExclusive);
}

/// The outputs of this user that killed runs have left in a folder, by name.
pub fn left_in(folder: &Path) -> Vec<LeftOutput> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let named = entries.flatten().filter_map(|entry| Some((entry.path(), asked(&entry.file_name())?)));
    let mut left: Vec<LeftOutput> = named.filter_map(|(path, asked)| left(path, asked)).collect();
    left.sort_by(|a, b| a.path.cmp(&b.path));
    left
}

/// The file at this path as one that was left, if it is one.
fn left(path: PathBuf, asked: OsString) -> Option<LeftOutput> {
    let file = open_regular(&path, OpenOptions::new().read(true)).ok()?;
    let about = file.metadata().ok()?;
    let ours = about.uid() == rustix::process::geteuid().as_raw();
    let age = about.modified().ok()?.elapsed().unwrap_or_default();
    if !ours || (about.len() == 0 && age < FRESH) {
        return None;
    }
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    let is_whole = path.as_os_str().as_bytes().ends_with(EARLIER_END);
    Some(LeftOutput { path, asked, is_whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_writes_any_more_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let make = |number: u64, asked: &str, text: &str| {
            let path = folder.path().join(name(number, OsStr::new(asked)));
            std::fs::write(&path, text).unwrap();
            path
        };
        let living = make(1, "a.json", "{}");
        let held = File::open(&living).unwrap();
        mark(&held);
        make(2, "b.json", "{\"a\": [1]}\n");
        make(3, "c.html", "<!DOCTYPE html><p");
        make(7, "fresh.json", "");
        make(8, &"e".repeat(300), "# TYPE a gauge\n# EOF\n");
        std::fs::write(folder.path().join(".volproof-000000000000000a.part"), "{}").unwrap();
        std::fs::write(folder.path().join(".volproof-x.part"), "{}").unwrap();
        std::os::unix::fs::symlink(&living, folder.path().join(name(9, OsStr::new("link")))).unwrap();
        let left = left_in(folder.path()).into_iter();
        let told: Vec<String> = left.map(|left| left.asked.into_string().unwrap()).collect();
        assert_eq!(told, ["b.json", "c.html", &"e".repeat(223), ""]);
        drop(held);
        assert_eq!(left_in(folder.path())[0].path, living);
    }
}
