//! Reads small text files of /sys and /proc below a root path, so that a captured tree answers like the machine.
//!
//! A file that is absent is an answer (an older kernel, another driver); a file that is there and cannot be understood is
//! an error that names it.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::TopoError;

/// The place below which /sys and /proc are read.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub fn new(root: &Path) -> Tree {
        Tree { root: fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf()) }
    }

    /// The path below the root; `path` may start with a slash.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The text without its surrounding blanks, if the file can be read.
    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        fs::read_to_string(self.path(path)).ok().map(|t| t.trim().to_string())
    }

    /// The value of a file, if the file can be read.
    pub fn value<T: FromStr>(&self, path: impl AsRef<Path>) -> Result<Option<T>, TopoError>
    where
        T::Err: std::fmt::Display,
    {
        let Some(text) = self.text(&path) else { return Ok(None) };
        let why = |e: T::Err| TopoError::Unreadable { path: self.path(&path), why: e.to_string() };
        text.parse().map(Some).map_err(why)
    }

    /// Names in a folder, sorted so that numbers compare as numbers (`queue 10` after `queue 9`); none if it is absent.
    pub fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(path)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|e| e.file_name().into_string().ok()).collect();
        names.sort_by_key(|n| (number_in(n), n.clone()));
        names
    }

    /// The numbers in a folder's names after a prefix (`node` in `node0`), ascending.
    pub fn numbers(&self, path: impl AsRef<Path>, prefix: &str) -> Vec<u32> {
        let mut numbers: Vec<u32> =
            self.names(path).iter().filter_map(|n| n.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Whether there is such a file or folder.
    pub fn has(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }

    /// Where a path leads when its links are followed, as a path below the root; none if it does not exist there.
    pub fn resolve(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        let real = fs::canonicalize(self.path(path)).ok()?;
        Some(Path::new("/").join(real.strip_prefix(&self.root).ok()?))
    }
}

/// The first number in a name; names without one come last.
fn number_in(name: &str) -> u64 {
    let digits: String =
        name.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(u64::MAX)
}
