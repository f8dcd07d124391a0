//! Files that a ring of io_uring keeps open: those registered with it stay open although no descriptor shows them.
//!
//! The ring's fdinfo lists their paths (`io_uring_show_fdinfo` in the kernel's io_uring/fdinfo.c).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::mounts::unescape;
use super::stack::readable;
use super::stack_node::StackNode;
use super::under_mounts::{AtPath, at_paths};
use super::{Root, number_at};

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
    let paths: Vec<PathBuf> = lines.map_while(path_in_line).filter(|path| path.is_absolute()).collect();
    let deleted = paths.iter().find(|path| path.as_os_str().as_encoded_bytes().ends_with(DELETED.as_bytes()));
    let unseen = deleted.map(|path| {
        format!("one of them, {}, was deleted", path.display().to_string().trim_end_matches(DELETED))
    });
    RingFiles { paths, unseen }
}

fn path_in_line(line: &str) -> Option<PathBuf> {
    let (slot, path) = line.split_once(':')?;
    slot.trim().parse::<u32>().ok()?;
    Some(PathBuf::from(OsString::from_vec(unescape(path.trim_start_matches(' ').as_bytes()))))
}

/// What the paths of registered files lead to, in the mount namespace of their owner, whose folder in /proc is given, each with its path; and why
/// one of the files may be another one, as a clause.
pub(super) fn things<'p>(
    root: &Root,
    proc: &Path,
    paths: &'p [PathBuf],
) -> (Vec<(StackNode, &'p PathBuf)>, Option<String>) {
    if !root.is_system() {
        let devices = paths.iter().filter_map(|path| Some((StackNode::Device(number_at(root, path)?), path)));
        return (devices.collect(), None);
    }
    let places = match at_paths(proc, paths) {
        Ok(places) => places,
        Err(e) => return (Vec::new(), Some(format!("its mounts cannot be looked at ({e})"))),
    };
    let lost = paths.iter().zip(&places).find_map(|(path, at)| why_lost(path, at));
    let found =
        places.iter().zip(paths).flat_map(|(at, path)| at.found.iter().map(move |thing| (*thing, path)));
    (found.collect(), lost)
}

/// Why the file at a path may not be the one that the ring has.
fn why_lost(path: &Path, at: &AtPath) -> Option<String> {
    let nothing = at.found.is_empty().then_some("leads to no file");
    let why = nothing.or(at.unused.then_some("leads to a file that nobody has open"));
    let why = why.map(|why| format!("the path of one of them, {}, {why}", readable(path)));
    at.unseen.clone().or(why)
}

/// The numbers of the rings that a process maps into its memory, by the text of its maps: a ring stays although its descriptor was closed.
pub(super) fn mapped(maps: &str) -> impl Iterator<Item = u64> {
    let rings = maps.lines().filter(|line| line.ends_with(LINK));
    rings.filter_map(|line| line.split_ascii_whitespace().nth(4)?.parse().ok())
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
        let maps =
            "7f0-7f1 rw-s 00000000 00:10 2639 anon_inode:[io_uring]\n7f1-7f2 rw-p 00000000 00:00 0 [heap]\n";
        assert_eq!(mapped(maps).collect::<Vec<_>>(), [2639]);
        let deleted = registered("UserFiles:\t1\n    0: /run/node\\040(deleted)\n").unseen.unwrap();
        assert!(deleted == "one of them, /run/node, was deleted", "{deleted}");
    }
}
