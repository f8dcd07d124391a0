//! An output: opened and checked before the first I/O, and written whole.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;

use super::claimed_name::ClaimedName;
use super::content::{Call, CallGate, Content, fill, through};
use super::destination::{self, OutputPlace, Unfit};
use super::identity::{self, has_name};
use super::kind::OutputKind;
use super::late::{told_if_late, until_killed};
use super::output_error::OutputError;
use super::output_names::numbered;
use super::part_name::PartName;

/// An output that was opened and checked. Nothing is written before the first save.
#[derive(Debug)]
pub struct OutputFile {
    pub(super) option: String,
    pub(super) path: PathBuf,
    pub(super) place: OutputPlace,
    /// What the content is, where it replaces only such a file.
    pub(super) kind: Option<OutputKind>,
    /// Its name is this program's until its end.
    pub(super) claim: Option<ClaimedName>,
    /// The mode that it gets, whatever stood in its place.
    mode: Option<u32>,
}

impl OutputFile {
    /// Opens a path that an option names; `-` is standard output. A missing file is not made yet, but its folder has been tried.
    ///
    /// # Errors
    /// The path is a device, a setting of the kernel, or cannot be written.
    pub fn open(option: &str, path: &Path) -> Result<OutputFile, OutputError> {
        let place = OutputPlace::find(path).map_err(|why| why.named(option, path))?;
        Ok(OutputFile::at(place, option, path.into()))
    }

    /// Opens a file under a name that nobody chose: a link that has this name was planted, and is not followed.
    ///
    /// # Errors
    /// The name is that of something else than a file, or cannot be written.
    pub fn itself(option: &str, path: &Path) -> Result<OutputFile, OutputError> {
        let place = OutputPlace::find_itself(path).map_err(|why| why.named(option, path))?;
        Ok(OutputFile::at(place, option, path.into()))
    }

    fn at(place: OutputPlace, option: &str, path: PathBuf) -> OutputFile {
        OutputFile { option: option.into(), path, place, kind: None, claim: None, mode: None }
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
        let named = if folder == Path::new("") { Path::new(".") } else { folder };
        let place =
            OutputPlace::fresh(folder, stem, extension, ANY_MODE).map_err(|why| why.named(option, named))?;
        let path = folder.join(numbered(stem, OsStr::new(extension), 1));
        Ok(OutputFile::at(place, option, path))
    }

    /// What it holds: it replaces an empty file, and one that begins as such an output does. [`apart`](super::apart) sees to that.
    pub fn of_kind(self, kind: OutputKind) -> OutputFile {
        OutputFile { kind: Some(kind), ..self }
    }

    /// With this mode, which the umask does not change.
    pub fn with_mode(self, mode: u32) -> OutputFile {
        OutputFile { mode: Some(mode), ..self }
    }

    /// Claims its name until its end, for a content that is saved more than once. What the name holds stays until [`OutputFile::is_complete`].
    ///
    /// # Errors
    /// Another program saves there.
    pub fn claimed(self) -> Result<OutputFile, OutputError> {
        let claim =
            ClaimedName::take(&self.place).map_err(|e| Unfit::from(e).named(&self.option, &self.path))?;
        Ok(OutputFile { claim: Some(claim), ..self })
    }

    /// Nothing has its name yet, and a regular file is to have it.
    pub fn is_new(&self) -> bool {
        !self.is_stream() && self.place.replaced().is_ok_and(|file| file.is_none())
    }

    /// The file that it replaces or is written into, by the path that it was found at: a link that leads elsewhere by now is not followed again.
    pub fn existing(&self) -> Option<PathBuf> {
        let found = match &self.place {
            OutputPlace::Named { folder, name } => {
                let folder = std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()));
                folder.map_or_else(|_| self.path.clone(), |folder| folder.join(name))
            }
            _ => self.path.clone(),
        };
        Some(found).filter(|path| path.is_file())
    }

    /// Its content is complete: what the name held before goes.
    pub fn is_complete(&mut self) {
        if let (Some(claim), OutputPlace::Named { folder, .. }) = (&mut self.claim, &self.place) {
            claim.forget_earlier(folder);
        }
    }

    /// Where that is which the name held before.
    pub fn earlier(&self) -> Option<PathBuf> {
        Some(self.path.with_file_name(self.claim.as_ref()?.earlier()?))
    }

    /// Removes the file that was saved under a claimed name, where that still has the name: it is of no use.
    pub fn remove(&self) {
        if let (Some(claim), OutputPlace::Named { folder, name }) = (&self.claim, &self.place)
            && claim.has_name(folder, name)
        {
            let _ = rustix::fs::unlinkat(folder, name, rustix::fs::AtFlags::empty());
        }
    }

    /// Replaces a file that this program holds locked. Gives the new one, which is locked too, since before it had the name.
    ///
    /// # Errors
    /// The new text cannot be written whole, or another file has the name: what has the name stays.
    pub fn replace_held(&self, held: &File, content: Content<'_>) -> io::Result<File> {
        let OutputPlace::Named { folder, name } = &self.place else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let (file, part) = PartName::beside(folder, name)?;
        fill(&file, content, &mut |_| Ok(()))?;
        if !has_name(held, folder, name) {
            return Err(io::Error::other("another file has its name now"));
        }
        part.rename_to(name)?;
        Ok(file)
    }

    /// Refuses to replace a file that holds something else.
    pub(super) fn replaces_its_kind(&self) -> Result<(), OutputError> {
        let Some(kind) = self.kind else { return Ok(()) };
        let (option, path) = (self.option.clone(), self.path.clone());
        match self.holds_other_than(kind) {
            Ok(false) => Ok(()),
            Ok(true) => Err(OutputError::Foreign { option, path, kind: kind.noun() }),
            Err(e) => Err(Unfit::from(e).named(&option, &path)),
        }
    }

    /// A file is in its place, which holds something, and no output of this kind.
    pub(super) fn holds_other_than(&self, kind: OutputKind) -> io::Result<bool> {
        match self.place.replaced()? {
            Some(mut file) => Ok(!kind.is_in(&mut file)?),
            None => Ok(false),
        }
    }

    /// Refuses to replace a file that somebody else has put in its place since it was opened.
    pub(super) fn spares_others(&self) -> io::Result<()> {
        let Some(kind) = self.kind else { return Ok(()) };
        // A link that has the name is replaced, and what it leads to stays.
        if self.holds_other_than(kind).unwrap_or(false) {
            return Err(io::Error::other(format!(
                "another file, which is no {}, has its name now",
                kind.noun()
            )));
        }
        Ok(())
    }

    /// Where it is, as the user named it or as the first save called it.
    pub fn path(&self) -> &Path {
        &self.path
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

    /// Writes the content, replacing what was there at once or not at all. A file of another kind
    /// that somebody else put there since this output was opened stays.
    ///
    /// # Errors
    /// The new text cannot be written whole (a full disk, a folder that went away): the old one stays.
    pub fn save(&mut self, content: Content<'_>) -> io::Result<()> {
        // Who reads a stream may be slow.
        if self.is_stream() {
            return self.save_through(content, &mut |_| Ok(()));
        }
        let path = self.path.clone();
        told_if_late(&path, |held| self.save_through(content, &mut until_killed(held)))
    }

    pub(super) fn save_through(&mut self, content: Content<'_>, gate: CallGate<'_>) -> io::Result<()> {
        match &self.place {
            OutputPlace::Stream(file) => through(file, content, gate),
            OutputPlace::Named { folder, name } => {
                gate(Call::Create)?;
                let (file, part) = PartName::beside(folder, name)?;
                if let Some(mode) = self.mode {
                    rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
                }
                fill(&file, content, gate)?;
                gate(Call::Rename)?;
                self.spares_others()?;
                if let Some(claim) = &mut self.claim {
                    claim.before_rename(folder, name);
                }
                part.put_over(name)?;
                drop(file);
                if let Some(claim) = &mut self.claim {
                    claim.after_rename(folder, name);
                }
                self.is_where_it_was()
            }
            OutputPlace::Fresh { folder, stem, extension, mode } => {
                gate(Call::Create)?;
                let (file, part) = PartName::new(folder, &numbered(stem, extension, 1), *mode)?;
                fill(&file, content, gate)?;
                gate(Call::Rename)?;
                let named = first_name(folder, part, stem, extension)?;
                drop(file);
                if let Some(claim) = &mut self.claim {
                    claim.after_rename(&named.0, &named.1);
                }
                self.has_name(named);
                self.is_where_it_was()
            }
        }
    }

    /// The new file has its name.
    pub(super) fn has_name(&mut self, (folder, name): (OwnedFd, OsString)) {
        self.path.set_file_name(&name);
        self.place = OutputPlace::Named { folder, name };
    }

    /// Whether its path still leads to it.
    ///
    /// # Errors
    /// Its folder was renamed or removed, or its filesystem taken away (`umount -l`).
    pub fn is_where_it_was(&self) -> io::Result<()> {
        match &self.place {
            OutputPlace::Named { folder, name } if !destination::leads_to(&self.path, folder, name) => {
                Err(io::Error::other("its folder is no longer there"))
            }
            _ => Ok(()),
        }
    }
}

/// What a new file may be where none stood in its place; the umask takes from it.
pub(super) const ANY_MODE: u32 = 0o666;

/// Gives a new file the first name that nobody has, `STEM.EXTENSION`, `STEM-2.EXTENSION` and so on; returns its folder and the name.
pub(super) fn first_name(
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
