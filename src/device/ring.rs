//! Files that a ring of io_uring keeps open: those registered with it stay open although no descriptor shows them.
//!
//! The ring's fdinfo lists their paths (`io_uring_show_fdinfo` in the kernel's io_uring/fdinfo.c).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Root;
use super::mounts::unescape;

/// A ring, as a link in `/proc/PID/fd` names it.
pub(super) const LINK: &str = "anon_inode:[io_uring]";
/// The heading of the list. A ring that is busy at the moment shows nothing.
const HEADING: &str = "UserFiles:";
/// How often a ring that shows nothing is looked at, and the time between two looks.
const LOOKS: u32 = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);
/// The end of a path whose name was deleted.
const DELETED: &str = " (deleted)";

/// Files registered with a ring.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RingFiles {
    /// Their paths, as the owner of the ring sees them.
    pub(super) paths: Vec<PathBuf>,
    /// Why others of them may be the target, as a clause.
    pub(super) unseen: Option<String>,
}

/// Files registered with the ring that has this fdinfo.
pub(super) fn files(root: &Root, fdinfo: &Path) -> RingFiles {
    for _ in 0..LOOKS {
        // The process may have ended meanwhile.
        let Some(info) = root.text(fdinfo) else { return RingFiles::default() };
        if info.contains(HEADING) || !root.is_system() {
            return registered(&info);
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    RingFiles { unseen: Some("the ring is too busy to show them".into()), ..RingFiles::default() }
}

/// The lines below the heading: a slot, a colon, and the path with blanks and backslashes in octal, as in /proc/self/mountinfo.
fn registered(fdinfo: &str) -> RingFiles {
    let lines = fdinfo.lines().skip_while(|line| !line.starts_with(HEADING)).skip(1);
    let path = |line: &str| {
        let (slot, path) = line.split_once(':')?;
        slot.trim().parse::<u32>().ok()?;
        Some(PathBuf::from(OsString::from_vec(unescape(path.trim_start_matches(' ').as_bytes()))))
    };
    let paths: Vec<PathBuf> = lines.map_while(path).filter(|path| path.is_absolute()).collect();
    let deleted = paths.iter().find(|path| path.as_os_str().as_encoded_bytes().ends_with(DELETED.as_bytes()));
    let unseen = deleted.map(|path| {
        format!("one of them, {}, was deleted", path.display().to_string().trim_end_matches(DELETED))
    });
    RingFiles { paths, unseen }
}

/// Why one of these files of a process may be the target although its path leads nowhere: its filesystem was detached, or lies under another one.
pub(super) fn lost(root: &Root, proc: &Path, paths: &[PathBuf]) -> Option<String> {
    let leads = |path: &Path| std::fs::symlink_metadata(root.path(path)).is_ok();
    let lost = paths.iter().find(|path| root.is_system() && !leads(path) && !leads(&in_root(proc, path)))?;
    Some(format!("the path of one of them, {}, leads to no file", lost.display()))
}

/// A path as a process sees it whose root may be another folder.
pub(super) fn in_root(proc: &Path, path: &Path) -> PathBuf {
    proc.join("root").join(path.strip_prefix("/").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_shows_the_paths_of_its_files() {
        let info = "SqMask:\t0x7\nUserFiles:\t3\n    0: /dev/loop7\n    2: /tmp/a\\040file\nUserBufs:\t1\n    0: 0x7f/4096\n";
        let files = registered(info);
        assert_eq!(files.paths, [Path::new("/dev/loop7"), Path::new("/tmp/a file")]);
        assert_eq!(files.unseen, None);
        assert_eq!(registered("UserFiles:\t1\n    0: <none>\n"), RingFiles::default());
        assert_eq!(registered("SqMask:\t0x7\n"), RingFiles::default());
        let deleted = registered("UserFiles:\t1\n    0: /run/node\\040(deleted)\n").unseen.unwrap();
        assert!(deleted == "one of them, /run/node, was deleted", "{deleted}");
    }
}
