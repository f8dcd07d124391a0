//! Every file that volproof writes for its user: Records, tables, pages, reports in fio's forms, logs.
//!
//! An output is opened and checked before the first I/O of a run, and written whole when there is something to say. A regular file is
//! replaced by a rename: a reader sees the old text or the new one, and a write that fails leaves the old one. The new text goes into a
//! neighbour under a random name, made exclusively, so that nobody can plant a link there. Terminals, pipes and character devices are
//! written through. Block devices are never written: their bytes are somebody's data.
//!
//! Nothing here knows what the content is, what the targets of a run are, or who else uses a file: [`apart`] is told what must not be
//! overwritten, and `run` asks the guard about a file that is there already.

mod colours;
mod content;
mod destination;
mod identity;
mod part_name;
pub mod screen;
mod unfinished;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, Mode, OFlags};

pub use content::Content;
use content::{Call, CallGate, empty, fill, through};
pub use destination::holds_data;
use destination::{FileVersion, OutputPlace};
pub use identity::{FileIdentity, apart};
use part_name::{PartName, random};
pub use unfinished::{LeftOutput, left_in};

/// Why a path cannot take an output.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A block device, or a character device with data behind it.
    #[error("{} is a device, and the output would overwrite it; name a file with {option}", path.display())]
    Device {
        /// The option that names the output.
        option: String,
        /// The device.
        path: PathBuf,
    },
    /// A file of /proc, /sys or their like.
    #[error("{} is a setting of the kernel, and the output would overwrite it; name a file with {option}", path.display())]
    Setting {
        /// The option that names the output.
        option: String,
        /// The file.
        path: PathBuf,
    },
    /// The path cannot be written.
    #[error("{} cannot be written: {why}; name another path with {option}", path.display())]
    Unwritable {
        /// The option that names the output.
        option: String,
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Standard output takes one text.
    #[error("{other} goes to standard output already; name a file with {option}")]
    StdoutTaken {
        /// The option that names the output.
        option: String,
        /// The option of the other output.
        other: String,
    },
    /// Writing it would destroy something else that the command uses.
    #[error("{} is the same file as {other}; name another file with {option}", path.display())]
    Same {
        /// The option that names the output.
        option: String,
        /// The file.
        path: PathBuf,
        /// The other use of the file.
        other: String,
    },
}

/// An output that was opened and checked. Nothing is written before the first save.
#[derive(Debug)]
pub struct OutputFile {
    option: String,
    path: PathBuf,
    place: OutputPlace,
    /// The path that was asked for, where somebody else wrote a file meanwhile.
    taken: Option<PathBuf>,
}

impl OutputFile {
    /// Opens a path that an option names; `-` is standard output. A missing file is not made yet, but its folder has been tried.
    ///
    /// # Errors
    /// See [`OutputError`].
    pub fn open(option: &str, path: &Path) -> Result<OutputFile, OutputError> {
        let place = OutputPlace::find(path).map_err(|why| why.named(option, path))?;
        Ok(OutputFile { option: option.into(), path: path.into(), place, taken: None })
    }

    /// A new file in a folder: `STEM.EXTENSION`, or `STEM-2.EXTENSION` and so on where others have that name. The first save chooses it.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn fresh(
        option: &str,
        folder: &Path,
        stem: impl AsRef<OsStr>,
        extension: &str,
    ) -> Result<OutputFile, OutputError> {
        let stem = stem.as_ref();
        let place = OutputPlace::fresh(folder, stem, extension).map_err(|why| why.named(option, folder))?;
        let path = folder.join(numbered(stem, OsStr::new(extension), 1));
        Ok(OutputFile { option: option.into(), path, place, taken: None })
    }

    /// Where it is, as the user named it or as the first save called it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name for people.
    pub fn shown(&self) -> Cow<'_, str> {
        if self.path == Path::new("-") { "standard output".into() } else { self.path.to_string_lossy() }
    }

    /// Tells of a file that somebody else wrote under the name that was asked for, and where this output is instead.
    pub fn other_name(&self) -> Option<String> {
        let taken = self.taken.as_ref()?.display();
        let own = self.path.display();
        Some(format!(
            "volproof: {taken} was written by another program meanwhile, and stays; this result is {own}\n"
        ))
    }

    /// It is standard output, a terminal, a pipe or a device: it takes one text and cannot be replaced by a later one.
    pub fn is_stream(&self) -> bool {
        matches!(self.place, OutputPlace::Stream(_))
    }

    /// It is standard output, by whatever name.
    pub fn is_stdout(&self) -> bool {
        let OutputPlace::Stream(file) = &self.place else { return false };
        self.path == Path::new("-") || identity::is_stdout(file)
    }

    /// Writes the content, replacing what was there at once or not at all. A file that somebody else wrote under the name since this output
    /// was opened stays: the content then takes the next free name, `r-2.json`, which [`path`](Self::path) tells.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn save(&mut self, content: Content<'_>) -> io::Result<()> {
        self.save_through(content, &mut |_| Ok(()))
    }

    fn save_through(&mut self, content: Content<'_>, gate: CallGate<'_>) -> io::Result<()> {
        match &mut self.place {
            OutputPlace::Stream(file) => through(file, content, gate),
            OutputPlace::Named { folder, name, replaceable } => {
                gate(Call::Create)?;
                let (file, part) = PartName::beside(folder, name)?;
                fill(&file, content, gate)?;
                gate(Call::Rename)?;
                if !part.put_over(name, *replaceable)? {
                    let free = beside(folder, name)?;
                    self.give_way(free);
                    return self.save_through(content, gate);
                }
                *replaceable = FileVersion::of(folder, name);
                self.found_again()
            }
            OutputPlace::Fresh { folder, stem, extension } => {
                gate(Call::Create)?;
                let (file, part) = PartName::new(folder, &numbered(stem, extension, 1))?;
                fill(&file, content, gate)?;
                gate(Call::Rename)?;
                let named = first_name(folder, part, stem, extension)?;
                self.has_name(named);
                self.found_again()
            }
        }
    }

    /// The new file has its name.
    fn has_name(&mut self, (folder, name): (OwnedFd, OsString)) {
        self.path.set_file_name(&name);
        let replaceable = FileVersion::of(&folder, &name);
        self.place = OutputPlace::Named { folder, name, replaceable };
    }

    /// Leaves the name that was asked for to the file of somebody else, for a place beside it.
    fn give_way(&mut self, free: OutputPlace) {
        self.place = free;
        self.taken = Some(self.path.clone());
    }

    /// Takes the path of today for a folder that was renamed since it was opened.
    ///
    /// # Errors
    /// No path leads to the file: it or its folder was removed, or its filesystem taken away (`umount -l`).
    pub fn found_again(&mut self) -> io::Result<()> {
        let OutputPlace::Named { folder, name, .. } = &self.place else { return Ok(()) };
        if destination::leads_to(&self.path, folder, name) {
            return Ok(());
        }
        let link = std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        match link.map(|folder| folder.join(name)) {
            Ok(path) if destination::leads_to(&path, folder, name) => {
                self.path = path;
                Ok(())
            }
            _ => Err(io::Error::other("it is no longer there, or its folder is not")),
        }
    }

    /// Empties the output and opens it for a text that grows while a run goes on. A file of that name that another program writes now, or has
    /// written since this output was opened, stays, as with [`save`](Self::save). The file is locked until it is closed.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn begin(&mut self) -> io::Result<File> {
        match &mut self.place {
            OutputPlace::Stream(file) => {
                empty(file)?;
                file.try_clone()
            }
            OutputPlace::Named { folder, name, replaceable } => {
                if !is_growing(&*folder, name) {
                    let (file, part) = PartName::beside(folder, name)?;
                    if part.put_over(name, *replaceable)? {
                        *replaceable = FileVersion::of(folder, name);
                        return Ok(file);
                    }
                }
                let free = beside(folder, name)?;
                self.give_way(free);
                self.begin()
            }
            OutputPlace::Fresh { folder, stem, extension } => {
                let (file, part) = PartName::new(folder, &numbered(stem, extension, 1))?;
                let named = first_name(folder, part, stem, extension)?;
                self.has_name(named);
                Ok(file)
            }
        }
    }

    /// Opens the output behind what it holds already.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn extend(&self) -> io::Result<File> {
        match &self.place {
            OutputPlace::Stream(file) => file.try_clone(),
            OutputPlace::Named { folder, name, .. } | OutputPlace::Fresh { folder, stem: name, .. } => {
                let flags =
                    OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                Ok(rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o666))?.into())
            }
        }
    }

    /// Saves the content in the temporary folder, since it could not be saved where it was asked for; readable by its owner alone.
    /// `None` when that fails too.
    pub fn save_elsewhere(&self, content: Content<'_>) -> Option<PathBuf> {
        elsewhere(&self.path, content)
    }
}

/// Makes a write beyond the limit of file sizes (`ulimit -f`) fail with EFBIG; else SIGXFSZ would end the program.
pub fn survive_size_limit() {
    // A handler, other than an ignored signal, is not handed down to programs that are started.
    let _ = signal_hook::flag::register(libc::SIGXFSZ, Arc::default());
}

/// Saves a content in a new file of the temporary folder, or where that is full, in memory (`/dev/shm`). The file has the end of the
/// name that was asked for.
pub fn elsewhere(asked: &Path, content: Content<'_>) -> Option<PathBuf> {
    let name = asked.file_name().filter(|name| *name != "-").unwrap_or(OsStr::new("output"));
    let stem = format!("volproof-saved-{:08x}", random() as u32);
    let tried = [std::env::temp_dir(), PathBuf::from("/dev/shm")];
    tried.into_iter().find_map(|folder| {
        let mut unsaved = OsString::from(&stem);
        unsaved.push("-");
        unsaved.push(name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = folder.join(unsaved);
        let file = File::from(rustix::fs::open(&path, flags, Mode::from_raw_mode(0o600)).ok()?);
        let written = fill(&file, content, &mut |_| Ok(()));
        if written.is_err() {
            let _ = std::fs::remove_file(&path);
        }
        written.ok().map(|()| path)
    })
}

/// A place for a content whose name somebody else has taken: `r.json` becomes `r-2.json` or a higher number.
fn beside(folder: impl AsFd, name: &OsStr) -> io::Result<OutputPlace> {
    let name = Path::new(name);
    let [stem, extension] = [name.file_stem(), name.extension()].map(Option::unwrap_or_default);
    let (stem, extension) = (stem.to_os_string(), extension.to_os_string());
    Ok(OutputPlace::Fresh { folder: folder.as_fd().try_clone_to_owned()?, stem, extension })
}

/// The first name of a new file, `STEM.EXTENSION`, or a later one: `STEM-2.EXTENSION`.
fn numbered(stem: &OsStr, extension: &OsStr, number: u64) -> OsString {
    let mut name = stem.to_os_string();
    if number > 1 {
        name.push(format!("-{number}"));
    }
    if !extension.is_empty() {
        name.push(".");
        name.push(extension);
    }
    name
}

/// Gives a new file the first name that nobody has, `STEM.EXTENSION`, `STEM-2.EXTENSION` and so on; returns its folder and the name.
fn first_name(
    folder: &OwnedFd,
    mut part: PartName,
    stem: &OsStr,
    extension: &OsStr,
) -> io::Result<(OwnedFd, OsString)> {
    let own = folder.try_clone()?;
    let mut number = 0;
    loop {
        number += 1;
        let name = numbered(stem, extension, number);
        if part.take(&name)? {
            return Ok((own, name));
        }
    }
}

/// Another program has [begun](OutputFile::begin) a text in this file and has not ended it.
fn is_growing(folder: impl AsFd, name: &OsStr) -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty()).is_ok_and(|file| {
        rustix::fs::flock(file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
    })
}

#[cfg(test)]
mod tests;
