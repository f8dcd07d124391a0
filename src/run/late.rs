//! Work that may be held up for as long as somebody likes, such as a write to a frozen filesystem: whoever waits is told.

use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use crate::device::{Root, own_mounts};
use crate::shell_word::shell_path;

/// So long a write may take before a person is told.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// The stack of a main thread.
const STACK_BYTES: usize = 8 << 20;

/// Does the work, and calls `late` once where it takes longer than that. The work has a thread of its own: a write that the kernel holds up
/// cannot be interrupted.
pub fn told_if_late(patience: Duration, late: impl FnOnce(), work: impl FnMut() + Send) {
    let work = Mutex::new(work);
    std::thread::scope(|scope| {
        let (done, end) = channel::<()>();
        let in_thread = || {
            let _done = done;
            (work.lock().expect("it is locked once"))();
        };
        match Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, in_thread) {
            Ok(_) if end.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) => late(),
            Ok(_) => {}
            Err(_) => (work.lock().expect("no thread has it"))(),
        }
    });
}

/// What is said of a file whose write waits.
pub fn waits(path: &Path) -> String {
    // The folder may be a link into another filesystem. A file is replaced by its neighbour, so that its folder's is the filesystem.
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    let mounts = own_mounts(&Root::system());
    let above = mounts.iter().map(|mount| &mount.mount_point).filter(|point| folder.starts_with(point));
    let frozen = above.max_by_key(|point| point.components().count());
    let thaw = frozen.map_or(String::new(), |point| {
        format!(". If its filesystem is frozen: fsfreeze -u {}", shell_path(point))
    });
    format!(
        "{} has waited for {} s to be saved; the run waits with it, and loses nothing{thaw}",
        path.display(),
        PATIENCE.as_secs()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_work_that_waits_is_told() {
        let (thaw, frozen) = channel();
        let frozen = Mutex::new(frozen);
        let mut saved = false;
        told_if_late(
            Duration::ZERO,
            || thaw.send(()).unwrap(),
            || saved = frozen.lock().unwrap().recv().is_ok(),
        );
        assert!(saved, "the work went on after it was told");
        told_if_late(Duration::MAX, || panic!("it was not late"), || saved = false);
        assert!(!saved);
    }

    #[test]
    fn the_command_that_ends_a_freeze_names_the_filesystem() {
        let told = waits(Path::new("/proc/x.json"));
        assert!(told.starts_with("/proc/x.json has waited") && told.ends_with("fsfreeze -u /proc"), "{told}");
    }
}
