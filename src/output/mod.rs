//! Every file that volproof writes for its user: Records, tables, pages, reports in fio's forms, logs.
//!
//! An output is opened and checked before the first I/O of a run, and written whole when there is something to say. A regular file is
//! replaced by a rename: a reader sees the old text or the new one, and a write that fails leaves the old one. The new text goes into a
//! neighbour under a random name, made exclusively, so that nobody can plant a link there. A file whose folder takes no neighbour is written where
//! it is, and gets the old text back where that fails. Terminals, pipes and character devices are written through. Block devices are never written: their bytes are somebody's data.
//!
//! Nothing here knows what the content is, what the targets of a run are, or who else uses a file: the caller of [`apart`] says what must
//! not be overwritten, and `run` asks the guard about a file that is there already.

mod colours;
mod content;
mod destination;
mod fio_report;
mod growing;
mod held_signals;
mod identity;
mod in_place;
mod kind;
pub mod late;
mod part_name;
pub mod patient_write;
mod same_text;
pub mod screen;
mod second_place;
mod standard_error;
mod sum_line;
mod table_sum;
mod unfinished;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags};

pub use content::Content;
use content::{Call, CallGate, fill, through};
use destination::{FileVersion, OutputPlace, Unfit};
pub use destination::{LINKS, holds_data};
pub use growing::GrowingOutput;
pub use identity::{FileIdentity, apart};
pub use kind::{OutputKind, PLAN_MARK};
use late::{told_if_late, until_killed};
use part_name::PartName;
pub use same_text::SameText;
pub use second_place::MisplacedOutput;
pub use table_sum::with_sum;
pub use unfinished::{LeftOutput, left_in};

/// As long as any name may be, in bytes (`NAME_MAX`).
const LONGEST_NAME: usize = 255;

/// How long a state waits, again and again, for another run that puts its own state there, in milliseconds.
const STATE_WAITS: [u64; 8] = [5, 10, 20, 40, 80, 160, 320, 640];

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
    /// A file with something else is there.
    #[error("{} is there and is no {kind}, so it is not replaced; name another file with {option}, or remove this one", path.display())]
    Foreign {
        /// The option that names the output.
        option: String,
        /// The file.
        path: PathBuf,
        /// The kind of the output.
        kind: &'static str,
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

impl OutputError {
    /// The reason alone, for a message that names the output itself.
    pub fn reason(self) -> String {
        match self {
            OutputError::Unwritable { why, .. } => why,
            other => other.to_string(),
        }
    }
}

/// Why an output is not where it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Elsewhere {
    /// Somebody else wrote a file of that name meanwhile, or has locked it.
    Taken,
    /// Its folder was renamed meanwhile.
    Moved,
}

/// An output that was opened and checked. Nothing is written before the first save.
#[derive(Debug)]
pub struct OutputFile {
    option: String,
    path: PathBuf,
    place: OutputPlace,
    /// The path that the option names.
    asked: Option<PathBuf>,
    /// Why it is not there.
    elsewhere: Option<Elsewhere>,
    /// The content is a state: only the last one counts.
    is_state: bool,
    /// What the content is, where a file that is there may be something else.
    kind: Option<OutputKind>,
}

impl OutputFile {
    /// Opens a path that an option names; `-` is standard output. A missing file is not made yet, but its folder has been tried.
    ///
    /// # Errors
    /// The path is a device, a setting of the kernel, or cannot be written.
    pub fn open(option: &str, path: &Path) -> Result<OutputFile, OutputError> {
        let place = OutputPlace::find(path).map_err(|why| why.named(option, path))?;
        Ok(OutputFile {
            option: option.into(),
            path: path.into(),
            place,
            asked: Some(path.into()),
            elsewhere: None,
            is_state: false,
            kind: None,
        })
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
        let place =
            OutputPlace::fresh(folder, stem, extension, ANY_MODE).map_err(|why| why.named(option, folder))?;
        let path = folder.join(numbered(stem, OsStr::new(extension), 1));
        Ok(OutputFile {
            option: option.into(),
            path,
            place,
            asked: None,
            elsewhere: None,
            is_state: false,
            kind: None,
        })
    }

    /// The same output under the next free name, `r-2.json`, while its own name keeps the file that has it. None for a stream. A file that is
    /// written where it is may be in a folder that takes no other: then it is in the temporary folder.
    pub fn beside(&self) -> Option<OutputFile> {
        let (path, place) = match &self.place {
            OutputPlace::Named { folder, name, .. } => (self.path.clone(), beside(folder, name).ok()?),
            OutputPlace::Fresh { .. } | OutputPlace::Stream(_) => return None,
            OutputPlace::InPlace { .. } => {
                let [stem, extension] =
                    [self.path.file_stem(), self.path.extension()].map(Option::unwrap_or_default);
                let name = numbered(stem, extension, 1);
                let parent = self.path.parent().filter(|parent| *parent != Path::new(""));
                let own = (parent.unwrap_or(Path::new(".")).to_path_buf(), self.path.with_file_name(&name));
                let temporary = (std::env::temp_dir(), std::env::temp_dir().join(&name));
                let memory = (PathBuf::from("/dev/shm"), Path::new("/dev/shm").join(&name));
                let mode = std::fs::metadata(&self.path).map_or(ANY_MODE, |about| about.mode() & ANY_MODE);
                let place =
                    |folder: &Path| OutputPlace::fresh(folder, stem, &extension.to_string_lossy(), mode).ok();
                [own, temporary, memory]
                    .into_iter()
                    .find_map(|(folder, path)| Some((path, place(&folder)?)))?
            }
        };
        Some(OutputFile { option: self.option.clone(), path, place, asked: None, elsewhere: None, ..*self })
    }

    /// The same output for a state: only the last one counts. It replaces also the state that another run wrote meanwhile, and leaves no second
    /// file beside it. Who reads a folder of states takes each file for one. Any other file that appeared or was edited meanwhile stays.
    pub fn of_state(self) -> OutputFile {
        OutputFile { is_state: true, ..self }
    }

    /// Removes the file that was saved last, unless somebody else has written it since.
    pub fn discard(self) {
        if let OutputPlace::Named { folder, name, replaceable: Some(own) } = &self.place
            && FileVersion::of(folder, name) == Some(*own)
        {
            told_if_late(&self.path, |_| {
                let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
            });
        }
    }

    /// What it holds: it replaces such files alone, which [`apart`] sees to.
    pub fn of_kind(self, kind: OutputKind) -> OutputFile {
        OutputFile { kind: Some(kind), ..self }
    }

    /// What it holds, where that was said.
    pub fn kind(&self) -> Option<OutputKind> {
        self.kind
    }

    /// Refuses to replace a file that holds something else.
    fn replaces_its_kind(&self) -> Result<(), OutputError> {
        self.replaces_only(|kind, file| kind.is_in(file))
    }

    /// Refuses to replace a file that is no such output. Where nothing is replaced, nobody is asked.
    ///
    /// # Errors
    /// The file is another one, or cannot be read.
    pub fn replaces_only(
        &self,
        is_output: impl FnOnce(OutputKind, &mut File) -> io::Result<bool>,
    ) -> Result<(), OutputError> {
        let Some(kind) = self.kind else { return Ok(()) };
        let (option, path) = (self.option.clone(), self.path.clone());
        let replaced = self.place.replaced();
        match replaced.and_then(|file| file.map_or(Ok(true), |mut file| is_output(kind, &mut file))) {
            Ok(true) => Ok(()),
            Ok(false) => Err(OutputError::Foreign { option, path, kind: kind.noun() }),
            Err(e) => Err(Unfit::from(e).named(&option, &path)),
        }
    }

    /// Whether saving it replaces a table, a page or a report with figures that are not of a simulation alone.
    pub fn replaces_measured(&self) -> bool {
        let Some(
            kind @ (OutputKind::Csv
            | OutputKind::Html
            | OutputKind::Markdown
            | OutputKind::ConvertedReport
            | OutputKind::FioReport),
        ) = self.kind
        else {
            return false;
        };
        let Ok(Some(file)) = self.place.replaced() else { return false };
        file.metadata().is_ok_and(|about| about.len() > 0) && !kind.is_simulated(file).unwrap_or(false)
    }

    /// Where it is, as the user named it or as the first save called it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Tells why this output is not where it was asked for, and where it is.
    pub fn other_name(&self) -> Option<String> {
        let (asked, own) = (self.asked.as_ref()?.display(), self.path.display());
        Some(match self.elsewhere? {
            Elsewhere::Taken => {
                format!("{asked} was written or locked by another program, and stays; this result is {own}")
            }
            Elsewhere::Moved => format!("the folder of {asked} was renamed meanwhile; this result is {own}"),
        })
    }

    /// It is standard output, a terminal, a pipe or a device: it takes one text and cannot be replaced by a later one.
    pub fn is_stream(&self) -> bool {
        matches!(&self.place, OutputPlace::Stream(_))
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
    /// The new text cannot be written whole (a full disk, a folder that went away): the old one stays.
    pub fn save(&mut self, content: Content<'_>) -> io::Result<()> {
        // Who reads a stream may be slow.
        if self.is_stream() {
            return self.save_through(content, &mut |_| Ok(()));
        }
        let (kind, path) = (self.kind, self.path.clone());
        told_if_late(&path, |held| {
            self.save_through(&|out| write_whole(kind, content, out), &mut until_killed(held))
        })
    }

    fn save_through(&mut self, content: Content<'_>, gate: CallGate<'_>) -> io::Result<()> {
        let state = self.kind.filter(|_| self.is_state);
        match &mut self.place {
            OutputPlace::Stream(file) => through(file, content, gate),
            OutputPlace::InPlace { folder, name, replaceable } => {
                gate(Call::Create)?;
                if let Some(state) = state.and_then(|kind| of_kind(kind, folder, name)) {
                    *replaceable = Some(state);
                }
                let Some(file) = in_place::open(folder, name, *replaceable)? else {
                    self.give_way()?;
                    return self.save_through(content, gate);
                };
                let written = in_place::write(&file, &self.path, content, gate);
                *replaceable = FileVersion::of_open(&file);
                written?;
                self.found_again()
            }
            OutputPlace::Named { folder, name, replaceable } => {
                let newer_state = || state.and_then(|kind| of_kind(kind, folder, name));
                let mut waits = STATE_WAITS.iter();
                loop {
                    gate(Call::Create)?;
                    let (file, part) = PartName::beside(folder, name)?;
                    fill(&file, content, gate)?;
                    gate(Call::Rename)?;
                    *replaceable = newer_state().or(*replaceable);
                    if part.put_over(name, *replaceable)? {
                        break;
                    }
                    // Another run that puts its state there holds it until the disk has it.
                    match waits.next().filter(|_| newer_state().is_some()) {
                        Some(wait) => std::thread::sleep(Duration::from_millis(*wait)),
                        None => {
                            self.give_way()?;
                            return self.save_through(content, gate);
                        }
                    }
                }
                *replaceable = FileVersion::of(folder, name);
                self.found_again()
            }
            OutputPlace::Fresh { folder, stem, extension, mode } => {
                gate(Call::Create)?;
                let (file, part) = PartName::new(folder, &numbered(stem, extension, 1), *mode)?;
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
    ///
    /// # Errors
    /// There is no such place.
    fn give_way(&mut self) -> io::Result<()> {
        let free = self.beside().ok_or_else(|| io::Error::other("another program writes into it"))?;
        (self.path, self.place, self.elsewhere) = (free.path, free.place, Some(Elsewhere::Taken));
        Ok(())
    }

    /// Takes the path of today for a folder that was renamed since it was opened.
    ///
    /// # Errors
    /// No path leads to the file: it or its folder was removed, or its filesystem taken away (`umount -l`).
    pub fn found_again(&mut self) -> io::Result<()> {
        let (OutputPlace::Named { folder, name, .. } | OutputPlace::InPlace { folder, name, .. }) =
            &self.place
        else {
            return Ok(());
        };
        if destination::leads_to(&self.path, folder, name) {
            return Ok(());
        }
        let link = std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        match link.map(|folder| folder.join(name)) {
            Ok(path) if destination::leads_to(&path, folder, name) => {
                self.path = path;
                self.elsewhere.get_or_insert(Elsewhere::Moved);
                Ok(())
            }
            _ => Err(io::Error::other("it is no longer there, or its folder is not")),
        }
    }
}

/// Writes the content of a file of this kind, with the last line by which some kinds are known again.
///
/// # Errors
/// When `out` takes no more.
pub fn write_whole(kind: Option<OutputKind>, content: Content<'_>, out: &mut dyn Write) -> io::Result<()> {
    match kind.and_then(OutputKind::sum_line) {
        Some(line) => line.write(out, content),
        None => content(out),
    }
}

/// Makes a write beyond the limit of file sizes (`ulimit -f`) fail with EFBIG; else SIGXFSZ would end the program.
pub fn survive_size_limit() {
    // A handler, other than an ignored signal, is not handed down to programs that are started.
    let _ = signal_hook::flag::register(libc::SIGXFSZ, Arc::default());
}

/// What a new file may be where none stood in its place; the umask takes from it.
const ANY_MODE: u32 = 0o666;

/// A place for a content whose name somebody else has taken: `r.json` becomes `r-2.json` or a higher number.
fn beside(folder: impl AsFd, name: &OsStr) -> io::Result<OutputPlace> {
    let name = Path::new(name);
    let [stem, extension] = [name.file_stem(), name.extension()].map(Option::unwrap_or_default);
    // What is too long to be the extension of a name that grows is a part of it.
    let [stem, extension] =
        if extension.len() > 64 { [name.as_os_str(), OsStr::new("")] } else { [stem, extension] };
    let (stem, extension) = (stem.to_os_string(), extension.to_os_string());
    let old = rustix::fs::statat(&folder, name, AtFlags::empty());
    let mode = old.map_or(ANY_MODE, |old| old.st_mode & ANY_MODE);
    Ok(OutputPlace::Fresh { folder: folder.as_fd().try_clone_to_owned()?, stem, extension, mode })
}

/// The first name of a new file, `STEM.EXTENSION`, or a later one: `STEM-2.EXTENSION`. A stem for which a name has no room is cut.
fn numbered(stem: &OsStr, extension: &OsStr, number: u64) -> OsString {
    let mut end = if number > 1 { OsString::from(format!("-{number}")) } else { OsString::new() };
    if !extension.is_empty() {
        end.push(".");
        end.push(extension);
    }
    let mut name = first_bytes(stem, LONGEST_NAME.saturating_sub(end.len())).to_os_string();
    name.push(end);
    name
}

/// At most so many bytes of the begin of a name, whole characters where it is text.
fn first_bytes(name: &OsStr, most: usize) -> &OsStr {
    match name.to_str() {
        Some(text) => OsStr::new(&text[..text.floor_char_boundary(most)]),
        None => OsStr::from_bytes(&name.as_bytes()[..name.len().min(most)]),
    }
}

/// At most so many bytes of the end of a name.
fn last_bytes(name: &OsStr, most: usize) -> &OsStr {
    let from = name.len().saturating_sub(most);
    match name.to_str() {
        Some(text) => OsStr::new(&text[text.ceil_char_boundary(from)..]),
        None => OsStr::from_bytes(&name.as_bytes()[from..]),
    }
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

/// The file under a name, where it holds an output of this kind and nothing else.
fn of_kind(kind: OutputKind, folder: &OwnedFd, name: &OsStr) -> Option<FileVersion> {
    // What is written into it after this look makes it another version.
    let version = FileVersion::of(folder, name)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty()).ok()?);
    let holds = file.metadata().is_ok_and(|about| about.is_file() && about.len() > 0);
    (holds && kind.is_in(&mut file).unwrap_or(false)).then_some(version)
}

#[cfg(test)]
mod tests;
