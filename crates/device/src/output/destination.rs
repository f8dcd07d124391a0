//! The file or device at the path of an output, and how it is written.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;

use super::OutputError;
use super::content::is_emptied;
use super::identity::LINKS;
use super::late::told_if_late;
use super::output_names::LONGEST_NAME;
use super::part_name::PartName;
use crate::device::kernel_files;
use volproof_base::own_process::number_in_proc;
use volproof_base::standard_streams;

/// How an output is written.
#[derive(Debug)]
pub enum OutputPlace {
    /// A regular file, there or not: replaced in its folder.
    Named {
        /// Stays open, so that a folder that is renamed meanwhile is still found.
        folder: OwnedFd,
        /// The last name of the path, all links followed.
        name: OsString,
    },
    /// A new file, whose name is chosen when it is first saved.
    Fresh {
        /// Its folder.
        folder: OwnedFd,
        /// The front of its name.
        stem: OsString,
        /// The end of its name, without the dot.
        extension: OsString,
        /// The most that its mode may be: that of the file in whose place it is written.
        mode: u32,
    },
    /// Written as it is: standard output, a pipe, a terminal or a character device.
    Stream(File),
}

/// Why there is no such place.
#[derive(Debug)]
pub enum Unfit {
    /// A device with data.
    Device,
    /// A file through which the kernel or the firmware is set.
    Setting,
    /// Anything else, in words.
    Why(String),
}

impl Unfit {
    /// With the option and path that the user wrote.
    pub fn named(self, option: &str, path: &Path) -> OutputError {
        let (option, path) = (option.to_string(), path.to_path_buf());
        match self {
            Unfit::Device => OutputError::Device { option, path },
            Unfit::Setting => OutputError::Setting { option, path },
            Unfit::Why(why) => OutputError::Unwritable { option, path, why },
        }
    }
}

impl From<io::Error> for Unfit {
    fn from(e: io::Error) -> Unfit {
        Unfit::Why(e.to_string())
    }
}

impl From<Errno> for Unfit {
    fn from(e: Errno) -> Unfit {
        io::Error::from(e).into()
    }
}

/// Whether a device may hold data: every block device, and every character device but terminals and those that forget (`/dev/null`), since
/// disks have character nodes too (`/dev/sg0`, `/dev/ng0n1`). `/dev/ptmx` is no terminal: opening it makes a new one that nobody reads.
pub fn holds_data(about: &Metadata) -> bool {
    let number = about.rdev();
    let harmless = matches!(
        (rustix::fs::major(number), rustix::fs::minor(number)),
        (1, 3 | 5 | 7 | 8 | 9) | (5, 0 | 1) | (4 | 136..=143, _)
    );
    let kind = about.file_type();
    kind.is_block_device() || (kind.is_char_device() && !harmless)
}

impl OutputPlace {
    /// Follows the links of a path and tries what it leads to.
    ///
    /// # Errors
    /// A folder, a device that holds data, or a place that cannot be written.
    pub fn find(path: &Path) -> Result<OutputPlace, Unfit> {
        if path == Path::new("-") {
            return Ok(OutputPlace::Stream(standard_streams::output()?));
        }
        match std::fs::metadata(path) {
            Ok(about) if about.is_dir() => return Err(Unfit::Why("it is a folder".into())),
            Ok(about) if holds_data(&about) => return Err(Unfit::Device),
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e.into()),
            // A link that leads nowhere yet is followed below. One that somebody planted in a shared folder the kernel has refused.
            _ => {}
        }
        let mut path = path.to_path_buf();
        for _ in 0..LINKS {
            let (folder, name) = open_parent(&path)?;
            let kind = match rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(about) => FileType::from_raw_mode(about.st_mode),
                Err(Errno::NOENT) => {
                    try_folder(&folder, &name)?;
                    return Ok(OutputPlace::Named { folder, name });
                }
                Err(e) => return Err(e.into()),
            };
            let filesystem = rustix::fs::fstatfs(&folder)?.f_type;
            if filesystem == rustix::fs::PROC_SUPER_MAGIC {
                return descriptor(&path, &folder).map(OutputPlace::Stream);
            }
            if kernel_files::is_of_the_kernel(filesystem as _) {
                return Err(Unfit::Setting);
            }
            match kind {
                FileType::Symlink => {
                    let link = rustix::fs::readlinkat(&folder, &name, Vec::new())?;
                    let link = PathBuf::from(OsString::from(os(link.as_bytes())));
                    path.set_file_name("");
                    path.push(link);
                }
                FileType::RegularFile if is_of_devices(&folder) => return Err(no_device()),
                FileType::RegularFile => return regular(folder, name),
                _ => {
                    // Opened by its folder: what was looked at is what is opened. A pipe waits for its reader here.
                    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let file = File::from(rustix::fs::openat(&folder, &name, flags, Mode::empty())?);
                    return if holds_data(&file.metadata()?) {
                        Err(Unfit::Device)
                    } else {
                        Ok(OutputPlace::Stream(file))
                    };
                }
            }
        }
        Err(Errno::LOOP.into())
    }

    /// The file of this very name: a link, a pipe or a device that has the name is no place for it.
    ///
    /// # Errors
    /// Something else has the name, or the place cannot be written.
    pub fn find_itself(path: &Path) -> Result<OutputPlace, Unfit> {
        let (folder, name) = open_parent(path)?;
        match rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => {}
            Ok(about) if FileType::from_raw_mode(about.st_mode).is_file() => {}
            Ok(_) => return Err(Unfit::Why("something else than a file has its name".into())),
            Err(e) => return Err(e.into()),
        }
        try_folder(&folder, &name)?;
        Ok(OutputPlace::Named { folder, name })
    }

    /// The file whose content goes when the output is written, open for reading.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn replaced(&self) -> io::Result<Option<File>> {
        let OutputPlace::Named { folder, name } = self else { return Ok(None) };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::openat(folder, name, flags, Mode::empty()) {
            Ok(file) => Ok(Some(file.into())),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// A new file in a folder that can be written.
    ///
    /// # Errors
    /// The folder cannot be opened or written.
    pub fn fresh(folder: &Path, stem: &OsStr, extension: &str, mode: u32) -> Result<OutputPlace, Unfit> {
        let opened = open_folder(folder)?;
        try_folder(&opened, stem)?;
        Ok(OutputPlace::Fresh { folder: opened, stem: stem.into(), extension: extension.into(), mode })
    }
}

/// Whether a path leads to the file of that name in a folder.
pub fn leads_to(path: &Path, folder: &OwnedFd, name: &OsStr) -> bool {
    let there = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    let found = std::fs::metadata(path);
    matches!((there, found), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.dev(), b.ino()))
}

fn os(bytes: &[u8]) -> &OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}

/// A folder of device nodes: a file in it would be the name of a device, mistyped, and lie in memory. What is mounted below it (`/dev/shm`) is
/// for files.
fn is_of_devices(folder: &OwnedFd) -> bool {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd())).unwrap_or_default();
    let filesystem = |about: Result<rustix::fs::Stat, Errno>| about.ok().map(|about| about.st_dev);
    path.starts_with("/dev") && filesystem(rustix::fs::fstat(folder)) == filesystem(rustix::fs::stat("/dev"))
}

const OF_DEVICES: &str = "a file in a folder of devices would be lost with the memory";

fn no_device() -> Unfit {
    Unfit::Why(OF_DEVICES.into())
}

/// Makes a folder for outputs, and those above it, where no output of this name would be refused.
///
/// # Errors
/// The folder cannot be made, or would be one of the kernel or among devices.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    try_new_folder(folder)?;
    std::fs::create_dir_all(folder)
}

/// Refuses to make a folder of the kernel, which would be a setting, or one among devices.
///
/// # Errors
/// Says why.
pub fn try_new_folder(folder: &Path) -> io::Result<()> {
    if kernel_files::holds_settings(folder) {
        return Err(io::Error::other("a folder there is a setting of the kernel"));
    }
    match folder.ancestors().find_map(|above| open_folder(above).ok()) {
        Some(above) if is_of_devices(&above) => Err(io::Error::other(OF_DEVICES)),
        _ => Ok(()),
    }
}

fn open_folder(folder: &Path) -> Result<OwnedFd, Unfit> {
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(folder, flags, Mode::empty()).map_err(|e| match e {
        Errno::NOENT | Errno::NOTDIR => Unfit::Why(format!("there is no folder {}", folder.display())),
        e => e.into(),
    })
}

fn open_parent(path: &Path) -> Result<(OwnedFd, OsString), Unfit> {
    let slash = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let Some(name) = path.file_name().filter(|_| !slash) else {
        return Err(Unfit::Why("that is no name for a file".into()));
    };
    Ok((open_folder(path.parent().unwrap_or(Path::new("")))?, name.into()))
}

/// Makes a file in the folder and takes it away again: the only question about permissions, quotas and read-only filesystems whose
/// answer is always right.
fn try_folder(folder: &OwnedFd, name: &OsStr) -> Result<(), Unfit> {
    if is_of_devices(folder) {
        return Err(no_device());
    }
    // The longest name that will be needed is that of the output itself.
    if name.len() > LONGEST_NAME {
        return Err(Errno::NAMETOOLONG.into());
    }
    let about = rustix::fs::statx(folder, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?;
    if about.stx_attributes.contains(StatxAttributes::APPEND) {
        // The trial would stay.
        let why = "nothing in its folder can be renamed, as an output has to be (attribute a, chattr -a takes it off)";
        return Err(Unfit::Why(why.into()));
    }
    let path = std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd())).unwrap_or_default();
    told_if_late(&path.join(name), |_| {
        let (_, part) = PartName::beside(folder, name).map_err(|e| match e.kind() {
            // The folder is open, so that it is there: /proc and its like keep no files of others.
            io::ErrorKind::NotFound => Unfit::Why("no file can be made in its folder".into()),
            _ => e.into(),
        })?;
        Ok(part.remove()?)
    })
}

/// A regular file: replaced in its folder, or written as it is where a shell has redirected standard output or error to it.
fn regular(folder: OwnedFd, name: OsString) -> Result<OutputPlace, Unfit> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(&folder, &name, flags, Mode::empty())?);
    let about = rustix::fs::statx(&file, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?;
    // In a folder like /tmp only the owner of a file may replace it.
    let around = rustix::fs::fstat(&folder)?;
    let me = rustix::process::geteuid();
    let shared = around.st_mode & libc::S_ISVTX != 0
        && !me.is_root()
        && ![about.stx_uid, around.st_uid].contains(&me.as_raw());
    let unfit = if about.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
        Some(Unfit::Why("it is mounted by itself, so that no other file can take its name".into()))
    } else if shared {
        Some(Unfit::Why("another user owns it, and its folder lets nobody else replace it".into()))
    } else {
        try_folder(&folder, &name).err()
    };
    match unfit {
        None => Ok(OutputPlace::Named { folder, name }),
        Some(_) if !is_emptied(&file)? => Ok(OutputPlace::Stream(file)),
        Some(unfit) => Err(unfit),
    }
}

/// The file behind an open descriptor, by its name in /proc; every other file there is a setting of the kernel. `/dev/stdout` is such a link:
/// opening it anew would begin at the start of the file that a shell has redirected it to.
fn descriptor(path: &Path, folder: &OwnedFd) -> Result<File, Unfit> {
    let folder = std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()))?;
    let number = path.file_name().and_then(|n| n.to_str()?.parse::<u32>().ok());
    let number = number.filter(|_| folder.file_name() == Some(OsStr::new("fd"))).ok_or(Unfit::Setting)?;
    let own = folder == Path::new(&format!("/proc/{}/fd", number_in_proc().unwrap_or_default()));
    let file = match number {
        1 if own => standard_streams::output()?,
        2 if own => standard_streams::error()?,
        _ => OpenOptions::new().append(true).custom_flags(libc::O_NOCTTY).open(path)?,
    };
    if holds_data(&file.metadata()?) { Err(Unfit::Device) } else { Ok(file) }
}
