//! Files that a killed run left behind: its test files are removed, and its unfinished outputs are named to the user.
//!
//! A test file is locked (`flock`) while its run lives; the kernel lets go of the lock with the process, however it ends. A file that has
//! the name of a test file and is not locked is therefore left by a dead run. Files that were to be kept have another name.
//!
//! The name holds the process and when it started: in a container every run may be process 1.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::file_lock::locked_until;
use crate::guard::{Clearance, Displaced};
use crate::output::{LeftOutput, left_in, screen};
use crate::record::{KEPT_FILE, TEST_FILE};
use crate::shell_word::shell_path;
use crate::tune;
use crate::ui::Ui;
use crate::unit::Bytes;

/// The kernel lets go of the locks of a killed process once it has taken its ring apart: some 50 ms after its end. A lock that is held for
/// longer is that of a process which only looks dead from here, as in another container. All files of a folder have this time together.
const UNLOCKED_WITHIN: Duration = Duration::from_millis(500);

/// The end of the names of test files.
const END: &str = ".dat";

/// The name of the `n`th test file of this run.
pub fn name(keep: bool, n: usize) -> String {
    let front = if keep { KEPT_FILE } else { TEST_FILE };
    let process = std::process::id();
    format!("{front}{process}-{}-{n}{}", tune::started(process).unwrap_or_default(), END)
}

/// The process that made a test file and when it started, by the file's name.
fn maker(name: &str) -> Option<(u32, u64)> {
    let mut numbers = name.strip_prefix(TEST_FILE)?.strip_suffix(END)?.split('-');
    let (process, started) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    numbers.next()?.parse::<usize>().ok().map(|_| (process, started))
}

/// Marks a test file as in use. Where a filesystem has no locks, its test files are never taken for leftovers either.
pub fn lock(clearance: &Clearance) {
    let _ = flock(clearance.as_fd(), FlockOperation::NonBlockingLockExclusive);
}

/// Removes test files of dead runs from a folder, and says so.
pub fn remove(folder: &Path, ui: &Ui) {
    let until = Instant::now() + UNLOCKED_WITHIN;
    for path in of_dead_runs(folder) {
        let removed = held(&path, until).and_then(|file| match file {
            Some(_) => std::fs::remove_file(&path).map(|()| true),
            None => Ok(false),
        });
        match removed {
            Ok(true) => {
                ui.say(&format!("Removed {}, the test file of a run that was killed", path.display()))
            }
            Ok(false) => {}
            Err(e) => {
                ui.say(&format!("{}, the test file of a run that was killed, stays: {e}", path.display()))
            }
        }
    }
}

/// The space that [`remove`] will free in a folder.
pub fn space(folder: &Path) -> Bytes {
    let until = Instant::now() + UNLOCKED_WITHIN;
    let taken = |path: PathBuf| Some(held(&path, until).ok()??.metadata().ok()?.blocks() * 512);
    Bytes(of_dead_runs(folder).filter_map(taken).sum())
}

/// The files of a folder that have the name of a test file whose process is gone.
fn of_dead_runs(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let named = |path: &PathBuf| path.file_name().and_then(|n| n.to_str()).and_then(maker);
    let found = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    found.filter(move |path| named(path).is_some_and(|(process, started)| !lives(process, started)))
}

/// Whether that process runs. Where that cannot be found out, the answer is yes.
fn lives(process: u32, started: u64) -> bool {
    let pid = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw);
    // A process of another user exists too.
    let exists =
        pid.is_none_or(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH));
    exists && tune::started(process).is_none_or(|now| now == started)
}

/// Opens and locks a file that is ours, has no other name, and that nobody holds any more at that time.
fn held(path: &Path, until: Instant) -> io::Result<Option<File>> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.uid() != rustix::process::geteuid().as_raw() || about.nlink() != 1 {
        return Ok(None);
    }
    // A filesystem without locks does not tell whose the file is.
    Ok(locked_until(&file, until).unwrap_or(false).then_some(file))
}

/// Names the outputs that killed runs were writing beside these files. They may be the only copies of results, so they stay.
pub fn tell_of_outputs<'a>(beside: impl IntoIterator<Item = &'a Path>) {
    let folders: BTreeSet<&Path> = beside
        .into_iter()
        .filter(|path| *path != Path::new("-"))
        .filter_map(Path::parent)
        .map(|folder| if folder == Path::new("") { Path::new(".") } else { folder })
        .collect();
    let text: String = folders.into_iter().flat_map(left_in).map(|left| left_output(&left)).collect();
    screen::say(&text);
}

/// Says what such an output is, and what to do with it.
fn left_output(left: &LeftOutput) -> String {
    let path = left.path.display();
    let asked = left.asked.to_string_lossy();
    let what = if asked.is_empty() { "a result".into() } else { asked };
    let (holds, advice) = match left.whole {
        Some(true) => (
            "it is whole",
            format!("give it a name of its own (mv {} NAME), or remove it", shell_path(&left.path)),
        ),
        Some(false) => ("it is cut off", "remove it once you have what you need of it".into()),
        None => ("its form does not tell whether it is whole", "look at it, then rename or remove it".into()),
    };
    format!("volproof: a run that was killed while it saved {what} left {path}: {holds}; {advice}\n")
}

/// Says where a test file is when it is not under its name any more. It may hold much space, and nobody else knows of it.
pub fn say_if_displaced(clearance: &Clearance) {
    if let Some(displaced) = clearance.displaced().filter(Displaced::is_left) {
        screen::say(&format!("volproof: the test file {displaced}: remove it by hand\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lock of a process that was killed is still there for a moment after it.
    #[test]
    fn a_lock_that_ends_soon_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("volproof-test-7-5-0.dat");
        std::fs::write(&path, "data").unwrap();
        let killed = File::open(&path).unwrap();
        flock(&killed, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(held(&path, Instant::now()).unwrap().is_none(), "the time is over");
        let (begun, begins) = std::sync::mpsc::channel();
        let waits = std::thread::spawn(move || {
            begun.send(()).unwrap();
            held(&path, Instant::now() + Duration::from_secs(60)).unwrap().is_some()
        });
        begins.recv().unwrap();
        drop(killed);
        assert!(waits.join().unwrap());
    }

    #[test]
    fn only_what_a_dead_run_left_goes() {
        let folder = tempfile::tempdir().unwrap();
        // The largest number of a process is below 2^22.
        let dead = 0x3fff_fff0;
        let make = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "data").unwrap();
            path
        };
        let left = make(&format!("volproof-test-{dead}-5-0.dat"));
        let held = make(&format!("volproof-test-{dead}-5-1.dat"));
        let holder = File::open(&held).unwrap();
        flock(&holder, FlockOperation::NonBlockingLockExclusive).unwrap();
        let linked = make(&format!("volproof-test-{dead}-5-2.dat"));
        std::fs::hard_link(&linked, folder.path().join("other")).unwrap();
        let living = make(&name(false, 0));
        // The number of a living process, which an earlier process had before.
        let namesake = make(&format!("volproof-test-{}-1-0.dat", std::process::id()));
        let kept = make(&format!("volproof-kept-{dead}-5-0.dat"));
        let foreign = make("volproof-test-x-5-0.dat");
        std::os::unix::fs::symlink(&kept, folder.path().join(format!("volproof-test-{dead}-5-3.dat")))
            .unwrap();
        let blocks = left.metadata().unwrap().blocks() + namesake.metadata().unwrap().blocks();
        assert_eq!(space(folder.path()), Bytes(blocks * 512));
        remove(folder.path(), &Ui::silent());
        assert!(!left.exists() && !namesake.exists());
        assert_eq!(space(folder.path()), Bytes(0));
        for path in [held, linked, living, kept, foreign] {
            assert!(path.exists(), "{}", path.display());
        }
    }
}
