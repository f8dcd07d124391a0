//! Files that a killed run left behind: its test files are removed, and its unfinished outputs are named to the user.
//!
//! A test file is locked (`flock`) while its run lives; the kernel lets go of the lock with the process, however it ends. A file that has
//! the name of a test file and is not locked is therefore left by a dead run. Files that were to be kept have another name.
//!
//! The name holds the process and when it started: in a container every run may be process 1. Anybody may give a file such a name, so that
//! the name is not enough. A test file has a mark of its own, the extended attribute [`MARK`] with the number of its inode, which no copy
//! of it and no other file has. What has no mark, has a length that no test file has, or is used by anybody, stays and is named. So do test
//! files on a filesystem without extended attributes.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, XattrFlags, fgetxattr, flock, fsetxattr};

use crate::ui::{self, Ui};
use volproof_base::file_lock::locked_until;
use volproof_base::regular_file::open_regular;
use volproof_base::shell_word::shell_path;
use volproof_base::unit::Bytes;
use volproof_device::device::Root;
use volproof_device::guard::{self, Access, Clearance, Code, Displaced};
use volproof_device::output::{LeftOutput, left_in, screen};
use volproof_host::anatomy;
use volproof_host::tune::{self, Owner};
use volproof_record::{KEPT_FILE, TEST_FILE};

/// The kernel lets go of the locks of a killed process once it has taken its ring apart: some 50 ms after its end. A lock that is held for
/// longer is that of a process which only looks dead from here, as in another container. All files of a folder have this time together.
const UNLOCKED_WITHIN: Duration = Duration::from_millis(500);

/// The extended attribute of a test file: the number of its inode, in decimal digits.
const MARK: &str = "user.volproof.test_file";
/// A test file grows by blocks of at least this size: a file of another length holds what somebody else wrote.
const LEAST_BLOCK: u64 = 512;

/// The end of the names of test files.
const END: &str = ".dat";

/// The name of the `n`th test file of this run.
pub fn name(keep: bool, n: usize) -> String {
    let front = if keep { KEPT_FILE } else { TEST_FILE };
    let Owner { pid, start, .. } = Owner::me();
    format!("{front}{pid}-{start}-{n}{END}")
}

/// The process that made a test file and when it started, by the file's name.
fn maker(name: &str) -> Option<(u32, u64)> {
    let mut numbers = name.strip_prefix(TEST_FILE)?.strip_suffix(END)?.split('-');
    let (process, started) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    numbers.next()?.parse::<usize>().ok().map(|_| (process, started))
}

/// Marks a test file as ours and as in use. Where a filesystem has no locks or no marks, its test files are never taken for leftovers either.
pub fn mark(clearance: &Clearance) {
    let _ = flock(clearance.as_fd(), FlockOperation::NonBlockingLockExclusive);
    let _ = mark_file(clearance.as_fd());
}

fn mark_file(file: BorrowedFd<'_>) -> rustix::io::Result<()> {
    let inode = rustix::fs::fstat(file)?.st_ino.to_string();
    fsetxattr(file, MARK, inode.as_bytes(), XattrFlags::empty())
}

/// Whether a file has the mark of a test file, which was made for it.
fn is_marked(file: &File, inode: u64) -> bool {
    let mut mark = [0; 20];
    let length = fgetxattr(file, MARK, &mut mark);
    length.is_ok_and(|length| mark[..length] == *inode.to_string().as_bytes())
}

/// Removes test files of dead runs from a folder, and says so also where the user wants no progress. Names those that it leaves.
pub fn remove(root: &Root, folder: &Path, ui: &Ui) {
    let until = Instant::now() + UNLOCKED_WITHIN;
    for path in of_dead_runs(folder) {
        let (shown, word) = (path.display(), shell_path(&path));
        match left(root, &path, until).and_then(|left| left.map_or(Ok(false), |left| removed(&left))) {
            Ok(true) => ui.say_always(&format!("Removed {shown}, the test file of a run that was killed")),
            Ok(false) => {}
            // Another run has removed it.
            Err(_) if path.symlink_metadata().is_err() => {}
            Err(why) => ui.say_always(&format!(
                "{shown} stays, though it is named as a test file of a run that was killed: {why}; if nobody needs it: rm {word}"
            )),
        }
    }
}

/// Names the test files that killed runs left in a folder: the next run there removes them, and until then they take space.
pub fn tell_of_test_files(folder: &Path) {
    let until = Instant::now() + UNLOCKED_WITHIN;
    for path in of_dead_runs(folder).filter(|path| is_free(path, until) == Ok(true)) {
        let word = shell_path(&path);
        ui::tell(&format!(
            "a run that was killed left its test file {}: the next run in its folder removes it, and so does rm {word}",
            path.display()
        ));
    }
}

fn removed(left: &Clearance) -> Result<bool, String> {
    left.remove().map(|()| true).map_err(|e| e.to_string())
}

/// The space that [`remove`] will free in a folder.
pub fn space(root: &Root, folder: &Path) -> Bytes {
    let until = Instant::now() + UNLOCKED_WITHIN;
    let taken = |path: PathBuf| {
        let left = left(root, &path, until).ok()??;
        Some(rustix::fs::fstat(left.as_fd()).ok()?.st_blocks as u64 * 512)
    };
    Bytes(of_dead_runs(folder).filter_map(taken).sum())
}

/// The files of a folder that have the name of a test file whose process is not seen to run. That of another container runs unseen: the lock tells.
fn of_dead_runs(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let named = |path: &PathBuf| path.file_name().and_then(|n| n.to_str()).and_then(maker);
    let found = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    found
        .filter(move |path| named(path).is_some_and(|(process, start)| tune::started(process) != Some(start)))
}

/// A test file that may go: we have made it, and nobody uses it. `None` where a process holds it at that time, which only looks dead from here.
///
/// # Errors
/// Why it stays, in words.
fn left(root: &Root, path: &Path, until: Instant) -> Result<Option<Clearance>, String> {
    if !is_free(path, until)? {
        return Ok(None);
    }
    // The questions are those about a file that a run is to overwrite. That it may be another file elsewhere does not count: the mark is on it.
    let cleared = guard::clear(root, path, Access::Overwrite { shared: true }, false);
    let mut left = cleared.map_err(|e| e.in_one_line())?;
    let users = [Code::OpenElsewhere, Code::Locked, Code::OtherNames];
    if let Some(used) = left.notes().iter().find(|note| users.contains(&note.code)) {
        return Err(format!("{} ({})", used.what, used.evidence));
    }
    left.confirm().map_err(|e| e.in_one_line())?;
    Ok(Some(left))
}

/// Whether a file is a test file of ours, and nobody holds its lock any more at that time.
fn is_free(path: &Path, until: Instant) -> Result<bool, String> {
    let told = |e: io::Error| e.to_string();
    let file = open_regular(path, OpenOptions::new().read(true)).map_err(told)?;
    let about = file.metadata().map_err(told)?;
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err("it is no file of this user".into());
    }
    match locked_until(&file, until) {
        Ok(true) => {}
        Ok(false) => return Ok(false),
        Err(e) => return Err(format!("whether a run uses it is not known here: {e}")),
    }
    if !is_marked(&file, about.ino()) || about.len() % LEAST_BLOCK != 0 {
        return Err("it does not have the mark and length of a file that volproof has made".into());
    }
    Ok(true)
}

/// Folders whose unfinished outputs were named already: a command opens several outputs beside each other.
static TOLD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Names the outputs that killed runs were writing beside these files, once for each folder. They may be the only copies of results, so they stay.
pub fn tell_of_outputs<'a>(beside: impl IntoIterator<Item = &'a Path>) {
    let mut text = String::new();
    for folder in beside.into_iter().filter(|path| *path != Path::new("-")).filter_map(Path::parent) {
        let folder = if folder == Path::new("") { Path::new(".") } else { folder };
        if TOLD.lock().is_ok_and(|mut told| told.insert(folder.to_path_buf())) {
            text.extend(left_in(folder).iter().map(left_output));
        }
    }
    screen::say(&text);
}

/// Removes the instances of the kernel's tracing that killed runs left, and says so.
pub fn remove_traces(root: &Root) {
    let said = |(folder, removed): (PathBuf, io::Result<()>)| match removed {
        Ok(()) => format!("volproof: removed {}, the tracing of a run that was killed\n", folder.display()),
        Err(e) => format!(
            "volproof: {} stays, the tracing of a run that was killed: {e}; remove it with rmdir {}\n",
            folder.display(),
            shell_path(&folder)
        ),
    };
    screen::say(&anatomy::remove_left(root).into_iter().map(said).collect::<String>());
}

/// Says what such an output is, and what to do with it.
fn left_output(left: &LeftOutput) -> String {
    let path = left.path.display();
    let asked = left.asked.to_string_lossy();
    let what = if asked.is_empty() { "a result".into() } else { asked };
    let name = shell_path(&left.path);
    if left.is_whole {
        return format!(
            "volproof: a run that was killed before its end had replaced {what}; what that held before is whole in {path}: \
             give it a name of its own (mv {name} NAME), or remove it\n"
        );
    }
    format!(
        "volproof: a run that was killed while it saved {what} left {path}, which may be cut off: \
         give it a name of its own (mv {name} NAME), or remove it\n"
    )
}

/// Says where a test file is when it is not under its name any more. It may hold much space, and nobody else knows of it.
pub fn say_if_displaced(clearance: &Clearance) {
    if let Some(displaced) = clearance.displaced().filter(Displaced::is_left) {
        ui::tell(&format!("the test file {displaced}: remove it by hand"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file as a run makes it.
    fn test_file(path: &Path) {
        std::fs::write(path, [0; 512]).unwrap();
        mark_file(File::open(path).unwrap().as_fd()).unwrap();
    }

    /// The lock of a process that was killed is still there for a moment after it.
    #[test]
    fn a_lock_that_ends_soon_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("volproof-test-7-5-0.dat");
        test_file(&path);
        let killed = File::open(&path).unwrap();
        flock(&killed, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(is_free(&path, Instant::now()), Ok(false), "the time is over");
        let (begun, begins) = std::sync::mpsc::channel();
        let waits = std::thread::spawn(move || {
            begun.send(()).unwrap();
            is_free(&path, Instant::now() + Duration::from_secs(60)) == Ok(true)
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
            test_file(&path);
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
        let open = make(&format!("volproof-test-{dead}-5-4.dat"));
        let _opened = File::open(&open).unwrap();
        // Somebody's files of that name: one of his own, one that he wrote into, and a copy, which has the mark of its source.
        let own = folder.path().join(format!("volproof-test-{dead}-5-5.dat"));
        std::fs::write(&own, [1; 512]).unwrap();
        let edited = make(&format!("volproof-test-{dead}-5-6.dat"));
        std::fs::write(&edited, "precious").unwrap();
        let copy = folder.path().join(format!("volproof-test-{dead}-5-7.dat"));
        std::fs::write(&copy, [0; 512]).unwrap();
        let inode = left.metadata().unwrap().ino().to_string();
        fsetxattr(File::open(&copy).unwrap(), MARK, inode.as_bytes(), XattrFlags::empty()).unwrap();
        std::os::unix::fs::symlink(&kept, folder.path().join(format!("volproof-test-{dead}-5-3.dat")))
            .unwrap();
        let blocks = left.metadata().unwrap().blocks() + namesake.metadata().unwrap().blocks();
        let root = Root::system();
        assert_eq!(space(&root, folder.path()), Bytes(blocks * 512));
        remove(&root, folder.path(), &Ui::silent());
        assert!(!left.exists() && !namesake.exists());
        assert_eq!(space(&root, folder.path()), Bytes(0));
        for path in [held, linked, living, kept, foreign, open, own, edited, copy] {
            assert!(path.exists(), "{}", path.display());
        }
    }
}
