//! A value in a file of sysfs or procfs, or why it could not be read.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use volproof_device::device::Root;

/// Why the machine could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TopoError {
    /// No such block device.
    #[error("no block device '{name}': {path} does not exist; `ls /sys/class/block` lists the names")]
    NoDevice {
        /// The name as it was given.
        name: String,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A file that is not what its name promises.
    #[error("{path}: {why}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason why the file could not be understood.
        why: String,
    },
}

/// The value of a file; `None` where the file cannot be read, as under an older kernel or another driver.
///
/// # Errors
/// A file that is there and cannot be understood, by its name.
pub(super) fn value<T: FromStr>(root: &Root, path: impl AsRef<Path>) -> Result<Option<T>, TopoError>
where
    T::Err: std::fmt::Display,
{
    let Some(text) = root.text(&path) else { return Ok(None) };
    parsed(root, path, &text).map(Some)
}

/// The value in a text from a file.
pub(super) fn parsed<T: FromStr>(root: &Root, path: impl AsRef<Path>, text: &str) -> Result<T, TopoError>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|e: T::Err| TopoError::Unreadable { path: root.path(path), why: e.to_string() })
}
