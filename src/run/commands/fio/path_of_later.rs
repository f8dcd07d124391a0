//! Paths that lead elsewhere once fio runs than now, when the guard looks: what they will lead to cannot be checked.
//!
//! The folders on the way to a file are made: `new/../a.img` leads nowhere until then, and to `a.img` afterwards. Nothing is made here.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{PROC_SUPER_MAGIC, statfs};

use volproof_device::output::LINKS;

/// Why it cannot be said now what a path will lead to; nothing where it can.
pub(super) fn undecided(path: &Path) -> Option<String> {
    let at = missing_folder(path)?;
    Some(format!(
        "{} is no folder yet, and once it is one, the `..` behind it may lead to anything; name the file without `..`",
        at.display()
    ))
}

/// The first place of a path that is missing or no folder, and has a `..` behind it. Goes the way of the kernel, a name at a time.
fn missing_folder(path: &Path) -> Option<PathBuf> {
    let mut here = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let mut rest: Vec<OsString> = names(path);
    let (mut gone, mut links) = (None, 0);
    while let Some(name) = rest.pop() {
        if name == "/" {
            here = "/".into();
            continue;
        }
        if name == ".." {
            if gone.is_some() {
                return gone;
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
            // What a process has open is opened once, by volproof itself.
            Ok(about) if about.is_symlink() && in_proc(&here) => return None,
            Ok(about) if about.is_symlink() => {
                links += 1;
                let link = std::fs::read_link(&here).ok().filter(|_| links <= LINKS)?;
                here.pop();
                rest.extend(names(&link));
            }
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
        for name in [
            "file",
            "new",
            "new/deep/file",
            "folder/../file",
            "./folder/./back",
            "link/new",
            "link/../file",
            "loop/x",
        ] {
            assert_eq!(undecided(&path(name)), None, "{name}");
        }
        for name in
            ["new/../file", "new/deep/../../file", "folder/new/../../file", "file/../file", "dangling"]
        {
            assert!(undecided(&path(name)).is_some_and(|why| why.contains("`..`")), "{name}");
        }
    }
}
