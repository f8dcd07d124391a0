//! Work that may be held up for as long as somebody likes, such as a write to a frozen filesystem. A message says so, unless the work merely
//! takes long, as a large page does. A signal that would kill the program waits for a moment at which no unfinished file stays behind.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, StatxFlags};
use rustix::process::Pid;
use rustix::thread::gettid;

use super::content::Call;
use super::held_signals::HeldSignals;
use super::screen;
use crate::device::{Root, own_mounts};
use volproof_base::shell_word::shell_path;

/// So long a write may take before a message says that it waits.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Work that has a CPU for one part in so many of that time is not held up.
const WORKS: u32 = 20;
/// Memory of the thread that waits.
const STACK_BYTES: usize = 256 << 10;

/// Does work that writes to the file at a path, and says so once it has waited for long. The kernel holds the work up, so that another thread waits.
pub fn told_if_late<T>(path: &Path, work: impl FnOnce(&HeldSignals) -> T) -> T {
    told(PATIENCE, || screen::insist(&waits(path)), work)
}

fn told<T>(patience: Duration, late: impl FnOnce() + Send, work: impl FnOnce(&HeldSignals) -> T) -> T {
    let held = HeldSignals::hold();
    let worker = gettid();
    std::thread::scope(|scope| {
        let (done, end) = channel::<()>();
        // Without a thread there is no message.
        let _ = Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || {
            let mut worked = cpu_time(worker);
            while end.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                let now = cpu_time(worker);
                if now.saturating_sub(worked) <= patience / WORKS {
                    return late();
                }
                worked = now;
            }
        });
        let _done = done;
        work(&held)
    })
}

/// The time that a thread of this program was on a CPU (the first figure of schedstat); zero where the kernel does not say.
fn cpu_time(thread: Pid) -> Duration {
    let place = format!("/proc/self/task/{}/schedstat", thread.as_raw_nonzero());
    let figures = std::fs::read_to_string(place).unwrap_or_default();
    let on_cpu = figures.split(' ').next().and_then(|figure| figure.parse().ok());
    Duration::from_nanos(on_cpu.unwrap_or(0))
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
    fn the_time_of_a_thread_on_a_cpu_grows_while_it_works() {
        let own = gettid();
        let before = cpu_time(own);
        // Without the figure in the kernel there is nothing to wait for.
        while before > Duration::ZERO && cpu_time(own) == before {}
    }

    #[test]
    fn the_command_that_ends_a_freeze_names_the_filesystem() {
        let told = waits(Path::new("/proc/x.json"));
        assert!(told.starts_with("/proc/x.json has waited") && told.ends_with("fsfreeze -u /proc"), "{told}");
    }
}
