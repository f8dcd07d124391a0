//! Locks on open files: our own (`flock`), which another process may hold for a moment longer, and those of others. The kernel drops them with the
//! process.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, Result};
use rustix::process::{Flock, FlockType, fcntl_getlk};

use crate::own_process::number_in_proc;

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// Locks a file for this process alone, and looks once at least; `false` where another process still holds it at that time.
///
/// # Errors
/// The filesystem has no locks.
pub fn locked_until(file: impl AsFd, until: Instant) -> Result<bool> {
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) if Instant::now() < until => sleep(PAUSE),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(e) => return Err(e),
        }
    }
}

/// Whether somebody else holds a lock on an open file, of either kind (flock(2), fcntl(2)). A lock that this program was started with is its own:
/// `flock FILE volproof ...`.
pub fn is_locked(file: &File) -> bool {
    let whole = flock(file, FlockOperation::NonBlockingLockExclusive);
    if whole.is_ok() {
        // Closing the file gives it back as well.
        let _ = flock(file, FlockOperation::Unlock);
    }
    let parts = fcntl_getlk(file, &Flock::from(FlockType::WriteLock));
    (whole == Err(Errno::WOULDBLOCK) || matches!(parts, Ok(Some(_)))) && !is_inherited(file)
}

/// Whether a descriptor of this program holds a lock on this file that another process took, as its fdinfo says (proc_pid_fdinfo(5)):
/// `lock: 1: FLOCK ADVISORY WRITE PID ...`.
fn is_inherited(file: &File) -> bool {
    let Ok(own) = file.metadata() else { return false };
    for entry in std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten() {
        let Ok(about) = std::fs::metadata(entry.path()) else { continue };
        let info = std::fs::read_to_string(Path::new("/proc/self/fdinfo").join(entry.file_name()));
        let is_this = (about.dev(), about.ino()) == (own.dev(), own.ino());
        if is_this && info.is_ok_and(|info| info.lines().any(is_lock_of_another)) {
            return true;
        }
    }
    false
}

/// Whether a line of fdinfo names a lock that another process took.
fn is_lock_of_another(line: &str) -> bool {
    let us = number_in_proc().map(|pid| pid.to_string());
    line.starts_with("lock:") && line.split_whitespace().nth(5) != us.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_another_is_seen() {
        let path = tempfile::NamedTempFile::new().unwrap();
        let open = || File::options().read(true).write(true).open(path.path()).unwrap();
        let (file, other) = (open(), open());
        assert!(!is_locked(&file));
        assert!(locked_until(&other, Instant::now()).unwrap());
        assert!(is_locked(&file), "by another part of this program");
        drop(other);
        assert!(!is_locked(&file));
        let script = "exec flock \"$0\" sh -c 'echo locked; exec cat'";
        let mut locker = std::process::Command::new("sh");
        locker.args(["-c", script]).arg(path.path());
        locker.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut locker = locker.spawn().unwrap();
        let mut said = String::new();
        let lines = locker.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(lines), &mut said).unwrap();
        assert!(said == "locked\n" && is_locked(&file));
        drop(locker.stdin.take());
        locker.wait().unwrap();
        assert!(!is_locked(&file));
    }
}
