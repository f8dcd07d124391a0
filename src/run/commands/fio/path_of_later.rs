//! Paths that lead elsewhere once fio runs than now, when the guard looks: what they will lead to cannot be checked.
//!
//! fio makes the folders on the way to its files, and removes files: `new/../a.img` leads nowhere until then, and to `a.img` afterwards. Links
//! of /proc lead to what a process has open, and the installed fio is another process: `/dev/fd/5` may be what a job before has opened.
//! Nothing is made here.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{PROC_SUPER_MAGIC, statfs};

use crate::output::LINKS;

/// Why it cannot be said now what a path will lead to; nothing where it can. The installed fio has more ways to bend a path than volproof
/// with its own engines, which opens what was checked.
pub(super) fn undecided(path: &Path, handed_over: bool) -> Option<String> {
    let (at, bend) = bend(path, handed_over)?;
    let at = at.display();
    match bend {
        Bend::NoFolder => Some(format!(
            "{at} is no folder yet, and once it is one, the `..` behind it may lead to anything; name the file without `..`"
        )),
        Bend::Link => Some(format!(
            "{at} is a link, which fio may replace, and then the `..` behind it leads elsewhere; name the file without `..`"
        )),
        Bend::Process if handed_over && !is_stream(path) => Some(format!(
            "{at} leads to what a process has open, and for the installed fio that may be another file; name the file itself"
        )),
        Bend::Process => None,
    }
}

/// What makes a path lead elsewhere later.
enum Bend {
    /// `..` behind something that is missing, or no folder.
    NoFolder,
    /// `..` behind a link.
    Link,
    /// A link of /proc, or one that is missing there.
    Process,
}

/// The first place of a path at which it may come to lead elsewhere. Goes the way of the kernel, a name at a time.
fn bend(path: &Path, handed_over: bool) -> Option<(PathBuf, Bend)> {
    let mut here = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let mut rest: Vec<OsString> = names(path);
    let (mut gone, mut links) = (None, 0);
    while let Some(name) = rest.pop() {
        if name == "/" {
            here = "/".into();
            continue;
        }
        if name == ".." {
            if let Some(gone) = gone {
                return Some((gone, Bend::NoFolder));
            }
            here.pop();
            continue;
        }
        here.push(&name);
        if gone.is_some() {
            continue;
        }
        match std::fs::symlink_metadata(&here) {
            Ok(about) if about.is_dir() => {}
            Ok(about) if about.is_symlink() => {
                if handed_over && rest.last().is_some_and(|next| next == "..") {
                    return Some((here, Bend::Link));
                }
                if !is_standard(&here) && in_proc(&here) {
                    return Some((here, Bend::Process));
                }
                links += 1;
                let link = std::fs::read_link(&here).ok().filter(|_| links <= LINKS)?;
                here.pop();
                rest.extend(names(&link));
            }
            Err(_) if in_proc(&here) => return Some((here, Bend::Process)),
            _ => gone = Some(here.clone()),
        }
    }
    None
}

/// The names of a path, the last one first.
fn names(path: &Path) -> Vec<OsString> {
    let named = path.components().filter(|part| *part != Component::CurDir);
    named.map(|part| part.as_os_str().to_owned()).rev().collect()
}

/// Whether a name stands directly in /proc, or in a folder of it.
fn in_proc(place: &Path) -> bool {
    place.parent().is_some_and(|folder| statfs(folder).is_ok_and(|fs| fs.f_type == PROC_SUPER_MAGIC))
}

/// The link to our own process, and those to the standard streams, which fio has too.
fn is_standard(place: &Path) -> bool {
    let own = Path::new("/proc").join(std::process::id().to_string()).join("fd");
    place == Path::new("/proc/self")
        || (place.parent() == Some(&own)
            && place.file_name().is_some_and(|n| ["0", "1", "2"].map(OsStr::new).contains(&n)))
}

/// Whether a path leads to a pipe, a socket or a character device now: those are inherited, and hold no data.
fn is_stream(path: &Path) -> bool {
    let stream = |kind: std::fs::FileType| kind.is_fifo() || kind.is_socket() || kind.is_char_device();
    std::fs::metadata(path).is_ok_and(|about| stream(about.file_type()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_is_decided_where_everything_it_goes_back_over_is_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::create_dir(path("folder")).unwrap();
        std::fs::write(path("file"), "data").unwrap();
        symlink("folder", path("link")).unwrap();
        symlink("new/../file", path("dangling")).unwrap();
        symlink("../file", path("folder/back")).unwrap();
        symlink("loop", path("loop")).unwrap();
        for name in
            ["file", "new", "new/deep/file", "folder/../file", "./folder/./back", "link/new", "loop/x"]
        {
            assert_eq!(undecided(&path(name), true), None, "{name}");
        }
        for (name, ours) in [
            ("new/../file", true),
            ("new/deep/../../file", true),
            ("folder/new/../../file", true),
            ("file/../file", true),
            ("dangling", true),
            ("link/../file", false),
        ] {
            assert!(undecided(&path(name), true).is_some_and(|why| why.contains("`..`")), "{name}");
            assert_eq!(undecided(&path(name), false).is_some(), ours, "{name}");
        }
    }

    #[test]
    fn what_a_process_has_open_is_another_file_for_another_process() {
        let file = tempfile::tempfile().unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&file);
        let own = std::process::id();
        for path in [
            format!("/dev/fd/{number}"),
            format!("/proc/self/fd/{number}"),
            format!("/proc/{own}/fd/{number}"),
            format!("/proc/{own}/root/etc/passwd"),
            "/proc/self/cwd/new".into(),
            "/dev/fd/999999".into(),
        ] {
            assert!(undecided(Path::new(&path), true).is_some_and(|why| why.contains("process")), "{path}");
            assert_eq!(undecided(Path::new(&path), false), None, "{path}");
        }
        for path in ["/dev/stdout", "/dev/fd/0", "/dev/null", "/dev/shm/new"] {
            assert_eq!(undecided(Path::new(path), true), None, "{path}");
        }
    }
}
