//! Where `/sys`, `/proc` and `/dev` are read: the machine's own, or a captured tree of another machine.
//!
//! Every reader of this program takes a [`Root`], so that a tree captured from a real machine is a test fixture. A file that
//! is missing or unreadable is an absent fact, never an error: kernels differ in what they show. Links inside a captured
//! tree must be relative, as those of sysfs are. Nothing is written here.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::Stack;

/// The folder under which `/sys`, `/proc` and `/dev` are found.
///
/// Its clones share one graph of what lies on what, which is read when it is first asked for: a command that looks at many targets reads it
/// once. Before a write the guard looks at the machine [anew](Root::anew).
#[derive(Clone, Debug)]
pub struct Root {
    folder: PathBuf,
    stack: Arc<OnceLock<Stack>>,
}

impl PartialEq for Root {
    fn eq(&self, other: &Root) -> bool {
        self.folder == other.folder
    }
}

impl Root {
    /// The machine this program runs on.
    pub fn system() -> Root {
        Root::tree("/")
    }

    /// A captured tree.
    pub fn tree(folder: impl Into<PathBuf>) -> Root {
        Root { folder: folder.into(), stack: Arc::default() }
    }

    /// The same machine or tree, whose graph is read again.
    pub fn anew(&self) -> Root {
        Root::tree(&self.folder)
    }

    /// The graph of what lies on what, as it was when one of the clones first asked.
    pub fn stack(&self) -> &Stack {
        self.stack.get_or_init(|| Stack::read(self))
    }

    /// Whether this is the machine itself, where devices can be opened and not only read about.
    pub fn is_system(&self) -> bool {
        self.folder == Path::new("/")
    }

    /// The place of an absolute path such as `/sys/block/vda`.
    pub fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let inside = absolute.as_ref().components().filter(|c| !matches!(c, Component::RootDir));
        self.folder.join(inside.collect::<PathBuf>())
    }

    /// The bytes of a file.
    pub fn bytes(&self, absolute: impl AsRef<Path>) -> Option<Vec<u8>> {
        std::fs::read(self.path(absolute)).ok()
    }

    /// The text of a file without blanks at its ends; `None` when it cannot be read or is empty.
    pub fn text(&self, absolute: impl AsRef<Path>) -> Option<String> {
        let bytes = self.bytes(absolute)?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_string())
    }

    /// A file that holds one path and a newline: the path itself may end in blanks, and its name may be no UTF-8.
    pub fn path_in(&self, absolute: impl AsRef<Path>) -> Option<PathBuf> {
        let mut bytes = self.bytes(absolute)?;
        bytes.pop_if(|last| *last == b'\n');
        (!bytes.is_empty()).then(|| PathBuf::from(OsString::from_vec(bytes)))
    }

    /// A file that holds one number.
    pub fn number(&self, absolute: impl AsRef<Path>) -> Option<u64> {
        self.text(absolute)?.parse().ok()
    }

    /// A file that holds `0` or `1`; absent counts as `0`.
    pub fn flag(&self, absolute: impl AsRef<Path>) -> bool {
        self.number(absolute) == Some(1)
    }

    /// Whether a path exists.
    pub fn has(&self, absolute: impl AsRef<Path>) -> bool {
        self.path(absolute).exists()
    }

    /// The names in a folder, sorted; none when there is no such folder.
    pub fn names(&self, absolute: impl AsRef<Path>) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.path(absolute))
            .map(|entries| entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect())
            .unwrap_or_default();
        names.sort();
        names
    }

    /// The folder of this process's control group of version 2; `None` where there is none.
    pub fn own_cgroup(&self) -> Option<PathBuf> {
        let groups = self.text("/proc/self/cgroup")?;
        let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
        Some(PathBuf::from(format!("/sys/fs/cgroup{group}")))
    }

    /// The numbers in a folder's names after a prefix (`node` in `node0`), ascending.
    pub fn numbers(&self, absolute: impl AsRef<Path>, prefix: &str) -> Vec<u32> {
        let mut numbers: Vec<u32> =
            self.names(absolute).iter().filter_map(|n| n.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Where a link leads, as text; not followed further.
    pub fn link(&self, absolute: impl AsRef<Path>) -> Option<PathBuf> {
        std::fs::read_link(self.path(absolute)).ok()
    }

    /// The same absolute path with every link followed.
    ///
    /// # Errors
    /// The path does not exist, or leads out of a captured tree.
    pub fn resolve(&self, absolute: impl AsRef<Path>) -> io::Result<PathBuf> {
        let real = std::fs::canonicalize(self.path(absolute))?;
        if self.is_system() {
            return Ok(real);
        }
        let root = std::fs::canonicalize(&self.folder)?;
        match real.strip_prefix(root) {
            Ok(inside) => Ok(Path::new("/").join(inside)),
            Err(_) => {
                Err(io::Error::other(format!("a link leads out of the captured tree, to {}", real.display())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_stands_for_the_machine() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("sys/devices/vda")).unwrap();
        std::fs::create_dir_all(dir.path().join("sys/block")).unwrap();
        std::fs::write(dir.path().join("sys/devices/vda/size"), "2048\n").unwrap();
        std::os::unix::fs::symlink("../devices/vda", dir.path().join("sys/block/vda")).unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("sys/block/out")).unwrap();
        let root = Root::tree(dir.path());
        assert_eq!(root.number("/sys/block/vda/size"), Some(2048));
        assert_eq!(root.resolve("/sys/block/vda").unwrap(), Path::new("/sys/devices/vda"));
        assert_eq!(root.names("/sys/block"), ["out", "vda"]);
        assert!(root.resolve("/sys/block/out").unwrap_err().to_string().contains("leads out"));
        assert_eq!(root.text("/sys/none"), None);
        assert!(!root.is_system() && Root::system().is_system());
        assert_eq!(Root::system().path("/sys/block"), Path::new("/sys/block"));
    }
}
