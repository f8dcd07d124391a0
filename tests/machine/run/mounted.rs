//! Filesystems that a test mounts for itself.

use std::process::Command;

use crate::run::{Bench, is_root};

/// A filesystem of its own on this path, unmounted when dropped.
pub struct Mounted(pub std::path::PathBuf);

impl Mounted {
    /// Mounts memory with these options on a folder named `small`.
    pub fn new(bench: &Bench, options: &str) -> Option<Mounted> {
        Mounted::at(bench, "small", &["-t", "tmpfs", "-o", options, "none"])
    }

    /// Mounts what these words say on a folder.
    pub fn at(bench: &Bench, name: &str, words: &[&str]) -> Option<Mounted> {
        let place = bench.folder(name);
        let done =
            is_root() && Command::new("mount").args(words).arg(&place).status().is_ok_and(|s| s.success());
        if !done {
            println!("skipped: no filesystem can be mounted here");
        }
        done.then_some(Mounted(place))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
