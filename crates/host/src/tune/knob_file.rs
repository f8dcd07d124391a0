//! Every operation on a file that tuning makes: settings of the kernel, journals, locks.
//!
//! A file that the program keeps for itself must be a regular file of the expected user; nothing else is opened for long
//! enough to hang. Unit tests play the kernel and stop the program before any change (`tests::fake_kernel`).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

#[cfg(test)]
use super::tests::fake_kernel;

/// The largest journal, in bytes. On a machine with thousands of CPUs a journal has less than a hundredth of that.
const LARGEST: u64 = 16 << 20;

/// The text of a kernel setting.
pub(super) fn read(path: &Path) -> io::Result<String> {
    #[cfg(test)]
    if let Some(text) = fake_kernel::read(path) {
        return text;
    }
    fs::read_to_string(path)
}

/// Writes a kernel setting with one write at offset 0, which sysfs takes whole. Never creates a file.
pub(super) fn write(path: &Path, value: &str) -> io::Result<()> {
    #[cfg(test)]
    if let Some(done) = fake_kernel::write(path, value) {
        return done;
    }
    OpenOptions::new().write(true).open(path)?.write_all(format!("{value}\n").as_bytes())
}

/// Names in a folder of the kernel, short ones first, so that policy2 comes before policy10; none if there is no folder.
pub(super) fn names(folder: &Path) -> Vec<String> {
    #[cfg(test)]
    if let Some(names) = fake_kernel::names(folder) {
        return names;
    }
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries.flatten().filter_map(|e| e.file_name().into_string().ok()).collect();
    names.sort_by_key(|n| (n.len(), n.clone()));
    names
}

/// The inode of a folder of the kernel.
pub(super) fn inode(folder: &Path) -> Option<u64> {
    #[cfg(test)]
    if let Some(names) = fake_kernel::names(folder) {
        return (!names.is_empty()).then_some(1);
    }
    fs::metadata(folder).ok().map(|facts| facts.ino())
}

/// Whether a kernel setting can be written at all, by its mode: root's rights do not help where the kernel has no code for it.
pub(super) fn writable(path: &Path) -> bool {
    #[cfg(test)]
    if fake_kernel::read(path).is_some() {
        return true;
    }
    fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.mode() & 0o222 != 0)
}

/// The bytes of a journal that belongs to a user.
pub(super) fn load(path: &Path, user: u32) -> io::Result<Vec<u8>> {
    #[cfg(test)]
    if let Some(text) = fake_kernel::load(path) {
        return text.map(String::into_bytes);
    }
    let file = regular(OpenOptions::new().read(true), path, user)?;
    if file.metadata()?.len() > LARGEST {
        return Err(io::Error::other(format!("it has more than {LARGEST} bytes, which no journal has")));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Makes these bytes the content of a journal: a new file beside it, on disk, renamed over it, the folder on disk.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    #[cfg(test)]
    if fake_kernel::replace(path, bytes) {
        return Ok(());
    }
    let fresh = path.with_extension("new");
    // An unfinished save of a dead run.
    match fs::remove_file(&fresh) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&fresh)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&fresh, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&fresh)))?;
    sync_folder(path)
}

/// Removes a journal, for good.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    if fake_kernel::remove(path) {
        return Ok(());
    }
    match fs::remove_file(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
        Ok(()) => sync_folder(path),
    }
}

/// The files in the folder of journals, sorted.
pub(super) fn list(folder: &Path) -> Vec<PathBuf> {
    #[cfg(test)]
    if let Some(paths) = fake_kernel::list() {
        return paths;
    }
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
}

/// Opens a file to lock it, and makes it where it is missing.
pub(super) fn lock(path: &Path, user: u32) -> io::Result<File> {
    regular(OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600), path, user)
}

/// Whether an open file is still the one at its path.
pub(super) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let inode = |facts: fs::Metadata| (facts.dev(), facts.ino());
    match fs::symlink_metadata(path) {
        Ok(facts) => Ok(inode(facts) == inode(file.metadata()?)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// Opens a regular file of a user. A link is not followed; a pipe or a device is refused without waiting for it.
fn regular(options: &mut OpenOptions, path: &Path, user: u32) -> io::Result<File> {
    let fits = |facts: &fs::Metadata| -> io::Result<()> {
        let kind = facts.file_type();
        let what = match () {
            () if kind.is_file() && facts.uid() == user => return Ok(()),
            () if kind.is_file() => format!("it belongs to user {}, not to user {user}", facts.uid()),
            () if kind.is_dir() => "it is a folder".to_string(),
            () if kind.is_symlink() => "it is a symbolic link".to_string(),
            () if kind.is_fifo() => "it is a pipe".to_string(),
            () => "it is a device or a socket".to_string(),
        };
        Err(io::Error::other(format!("{what}; remove it")))
    };
    match fs::symlink_metadata(path) {
        Ok(facts) => fits(&facts)?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e),
    }
    let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    fits(&file.metadata()?)?;
    Ok(file)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}
