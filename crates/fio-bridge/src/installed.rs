//! The fio that is installed on this machine: where it is, never ourselves, and how it is started.
//!
//! volproof may be called through a link named `fio`, also from a folder that comes first in `PATH`. Handing a command to such a link would call
//! volproof again, and again. volproof knows its own file by device and inode: no link and no second name hides them.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A call of fio that does not outlive us. fio's jobs leave its process group and its terminal (setsid(2)), so that SIGHUP, SIGQUIT and
/// the end of fio's first process do not reach them: so fio ignores both signals, and gets SIGTERM, which ends the jobs in order, when the thread that
/// started it is gone. It ignores SIGPIPE as well: what it says of its end goes to our end of a pipe, and a signal then would leave its jobs
/// writing.
pub fn command(fio: &Path) -> Command {
    let mut command = Command::new(fio);
    // SAFETY: between fork and exec only `signal` and `prctl` are called, which are async-signal-safe and take plain numbers.
    unsafe { command.pre_exec(prepare_signals) };
    command
}

/// Has the process ignore the signals that fio ignores, and end with the thread that started it.
fn prepare_signals() -> std::io::Result<()> {
    for signal in [libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE] {
        // SAFETY: the signal is ignored, so that no handler of ours is called.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    // SAFETY: PR_SET_PDEATHSIG takes one number.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// The first executable named `fio` along `path` that is not the running program.
pub fn find(path: &OsStr) -> Option<PathBuf> {
    let ourselves = fs::metadata("/proc/self/exe").ok();
    find_other_than(path, ourselves.as_ref())
}

fn find_other_than(path: &OsStr, ourselves: Option<&Metadata>) -> Option<PathBuf> {
    // A relative entry leads to what lies below the current folder by chance, and so does an empty one: that is not an installed program.
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join("fio")).find(|file| is_program(file, ourselves))
}

fn is_program(file: &Path, ourselves: Option<&Metadata>) -> bool {
    let Ok(found) = fs::metadata(file) else { return false };
    let same = ourselves.is_some_and(|us| (us.dev(), us.ino()) == (found.dev(), found.ino()));
    found.is_file() && found.permissions().mode() & 0o111 != 0 && !same
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_to_ourselves_and_what_cannot_run_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = dir.path().join(name);
            fs::create_dir(&folder).unwrap();
            folder
        };
        let (us, soft, hard, text, real) =
            (folder("us"), folder("soft"), folder("hard"), folder("text"), folder("real"));
        let program = |file: &Path| {
            fs::write(file, "#!/bin/sh\n").unwrap();
            fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
        };
        program(&us.join("volproof"));
        symlink(us.join("volproof"), soft.join("fio")).unwrap();
        fs::hard_link(us.join("volproof"), hard.join("fio")).unwrap();
        fs::write(text.join("fio"), "notes").unwrap();
        program(&real.join("fio"));
        let ourselves = fs::metadata(us.join("volproof")).unwrap();
        let path = |folders: &[&Path]| std::env::join_paths(folders).unwrap();
        let all = path(&[Path::new(""), Path::new("."), &soft, &hard, &text, &real]);
        assert_eq!(find_other_than(&all, Some(&ourselves)), Some(real.join("fio")));
        assert_eq!(find_other_than(&path(&[&soft, &hard, &text]), Some(&ourselves)), None);
        assert_eq!(find_other_than(&path(&[&soft]), None), Some(soft.join("fio")), "not ourselves");
    }
}
