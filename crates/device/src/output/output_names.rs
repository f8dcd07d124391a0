//! Names of outputs: as long as any name may be, and numbered where others have them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// As long as any name may be, in bytes (`NAME_MAX`).
pub(super) const LONGEST_NAME: usize = 255;

/// The first name of a new file, `STEM.EXTENSION`, or a later one: `STEM-2.EXTENSION`. A stem for which a name has no room is cut.
pub(super) fn numbered(stem: &OsStr, extension: &OsStr, number: u64) -> OsString {
    let mut end = if number > 1 { OsString::from(format!("-{number}")) } else { OsString::new() };
    if !extension.is_empty() {
        end.push(".");
        end.push(extension);
    }
    let mut name = first_bytes(stem, LONGEST_NAME.saturating_sub(end.len())).to_os_string();
    name.push(end);
    name
}

/// At most so many bytes of the begin of a name, whole characters where it is text.
pub(super) fn first_bytes(name: &OsStr, most: usize) -> &OsStr {
    match name.to_str() {
        Some(text) => OsStr::new(&text[..text.floor_char_boundary(most)]),
        None => OsStr::from_bytes(&name.as_bytes()[..name.len().min(most)]),
    }
}

/// At most so many bytes of the end of a name.
pub(super) fn last_bytes(name: &OsStr, most: usize) -> &OsStr {
    let from = name.len().saturating_sub(most);
    match name.to_str() {
        Some(text) => OsStr::new(&text[text.ceil_char_boundary(from)..]),
        None => OsStr::from_bytes(&name.as_bytes()[from..]),
    }
}
