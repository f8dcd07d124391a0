//! Work that may be held up for as long as somebody likes, such as a write to a frozen filesystem. A message says so. A signal that
//! would kill the program waits for a moment at which no unfinished file stays behind.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, StatxFlags};

use super::content::Call;
use super::held_signals::HeldSignals;
use super::screen;
use crate::device::{Root, own_mounts};
use volproof_base::shell_word::shell_path;

/// So long a write may take before a message says that it waits.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Memory of the thread that waits.
const STACK_BYTES: usize = 256 << 10;

/// Does work that writes to the file at a path, and says so once it has taken long. The kernel holds the work up, so that another thread waits.
pub fn told_if_late<T>(path: &Path, work: impl FnOnce(&HeldSignals) -> T) -> T {
    told(PATIENCE, || screen::insist(&waits(path)), work)
}

fn told<T>(patience: Duration, late: impl FnOnce() + Send, work: impl FnOnce(&HeldSignals) -> T) -> T {
    let held = HeldSignals::hold();
    std::thread::scope(|scope| {
        let (done, end) = channel::<()>();
        // Without a thread there is no message.
        let _ = Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || {
            if end.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                late();
            }
        });
        let _done = done;
        work(&held)
    })
}

/// Ends a save before its next call of the system where a signal has come that will kill the program.
pub fn until_killed(held: &HeldSignals) -> impl FnMut(Call) -> io::Result<()> {
    |_| {
        if held.came() {
            return Err(io::Error::other("a signal ended the program meanwhile"));
        }
        Ok(())
    }
}

/// What is said of a file whose write waits.
fn waits(path: &Path) -> String {
    let thaw = mount_point_of(path).map_or(String::new(), |point| {
        format!(". If its filesystem is frozen: fsfreeze -u {}", shell_path(&point))
    });
    format!(
        "{} has waited for {} s to be written; volproof waits with it, and loses nothing{thaw}",
        path.display(),
        PATIENCE.as_secs()
    )
}

/// Where the filesystem of a file is mounted.
fn mount_point_of(path: &Path) -> Option<PathBuf> {
    // The folder may be a link into another filesystem. A file is replaced by its neighbour, so that its folder's is the filesystem.
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let id = rustix::fs::statx(CWD, folder, AtFlags::STATX_DONT_SYNC, StatxFlags::MNT_ID).ok()?.stx_mnt_id;
    own_mounts(&Root::system()).into_iter().find(|mount| mount.id == id).map(|mount| mount.mount_point)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn only_work_that_waits_is_told() {
        let (thaw, frozen) = channel();
        let saved = told(Duration::ZERO, || thaw.send(()).unwrap(), |_| frozen.recv().is_ok());
        assert!(saved, "the work went on after it was told");
        assert!(told(Duration::MAX, || panic!("it was not late"), |_| true));
    }

    #[test]
    fn the_command_that_ends_a_freeze_names_the_filesystem() {
        let told = waits(Path::new("/proc/x.json"));
        assert!(told.starts_with("/proc/x.json has waited") && told.ends_with("fsfreeze -u /proc"), "{told}");
    }
}
