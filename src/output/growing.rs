//! Outputs that grow while a run goes on: reports in fio's forms, and the logs that clones share.
//!
//! Whatever another program writes into such a file meanwhile stays, and the text goes on under the next free name.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::content::{Content, fill, is_emptied};
use super::destination::{FileVersion, OutputPlace};
use super::late::told_if_late;
use super::part_name::PartName;
use super::{OutputFile, first_name, in_place, numbered};

impl OutputFile {
    /// Empties the output and opens it for a text that grows while a run goes on. A file of that name that another program has locked, or has
    /// written since this output was opened, stays, as with [`save`](Self::save). The file is locked until it is closed.
    ///
    /// # Errors
    /// The file cannot be made, or its folder went away.
    pub fn begin(&mut self) -> io::Result<File> {
        self.patiently(Self::begin_now)
    }

    /// Does work that may be held up. Where the output is a file, a message says so. A stream needs no message: its reader may take his time.
    fn patiently<T>(&mut self, work: impl FnOnce(&mut OutputFile) -> T) -> T {
        match self.is_stream() {
            true => work(self),
            false => told_if_late(&self.path.clone(), |_| work(self)),
        }
    }

    fn begin_now(&mut self) -> io::Result<File> {
        match &mut self.place {
            OutputPlace::Stream(file) => file.try_clone(),
            OutputPlace::InPlace { folder, name, replaceable } => {
                if let Some(file) = in_place::open(folder, name, *replaceable)? {
                    file.set_len(0)?;
                    *replaceable = FileVersion::of_open(&file);
                    return Ok(file);
                }
                self.give_way()?;
                self.begin_now()
            }
            OutputPlace::Named { folder, name, replaceable } => {
                let (file, part) = PartName::beside(folder, name)?;
                if part.put_over(name, *replaceable)? {
                    *replaceable = FileVersion::of(folder, name);
                    return Ok(file);
                }
                self.give_way()?;
                self.begin_now()
            }
            OutputPlace::Fresh { folder, stem, extension, mode } => {
                let (file, part) = PartName::new(folder, &numbered(stem, extension, 1), *mode)?;
                let named = first_name(folder, part, stem, extension)?;
                self.has_name(named);
                Ok(file)
            }
        }
    }

    /// Writes a content behind what the output holds. A file that another program wrote since this output was opened stays as it is: the content
    /// then begins a file under the next free name.
    ///
    /// # Errors
    /// The content cannot be written whole.
    pub fn append(&mut self, content: Content<'_>) -> io::Result<()> {
        self.patiently(|output| output.append_now(content))
    }

    fn append_now(&mut self, content: Content<'_>) -> io::Result<()> {
        let file = match &self.place {
            OutputPlace::Stream(file) => file.try_clone()?,
            OutputPlace::Named { folder, name, replaceable }
            | OutputPlace::InPlace { folder, name, replaceable } => {
                match opened(folder, name, *replaceable)? {
                    Some(file) => file,
                    None => {
                        self.give_way()?;
                        self.begin_now()?
                    }
                }
            }
            OutputPlace::Fresh { .. } => self.begin_now()?,
        };
        let written = fill(&file, content, &mut |_| Ok(()));
        if let OutputPlace::Named { replaceable, .. } | OutputPlace::InPlace { replaceable, .. } =
            &mut self.place
        {
            *replaceable = FileVersion::of_open(&file);
        }
        written?;
        self.found_again()
    }

    /// Leaves a file into which somebody else has written, and begins another one beside it.
    fn begin_beside(&mut self) -> io::Result<File> {
        self.give_way()?;
        self.begin()
    }
}

/// The file under a name, open behind its content, where it is the one that is expected there; made where none is.
fn opened(folder: &OwnedFd, name: &OsStr, expected: Option<FileVersion>) -> io::Result<Option<File>> {
    let made = if expected.is_none() { OFlags::CREATE | OFlags::EXCL } else { OFlags::NONBLOCK };
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC | made;
    match rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o666)) {
        Ok(file) => {
            let file = File::from(file);
            Ok((expected.is_none() || FileVersion::of_open(&file) == expected).then_some(file))
        }
        // A file that was removed is made again.
        Err(Errno::NOENT) if expected.is_some() => opened(folder, name, None),
        Err(Errno::EXIST | Errno::LOOP) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// An output whose text is written piece by piece.
#[derive(Debug)]
pub struct GrowingOutput {
    to: OutputFile,
    /// The file, once something was written, and its version then; without one for a stream, into which others may write.
    file: Option<(File, Option<FileVersion>)>,
    /// The text with which the file begins, if it has to begin anew.
    begin: Vec<u8>,
}

impl GrowingOutput {
    /// An output that is emptied when the first piece is written.
    pub fn new(to: OutputFile) -> GrowingOutput {
        GrowingOutput { to, file: None, begin: Vec::new() }
    }

    /// Where it goes.
    pub fn output(&self) -> &OutputFile {
        &self.to
    }

    /// A piece with which the text begins also where it goes on beside its own place.
    pub fn keep(&mut self, piece: &[u8]) {
        self.begin.extend_from_slice(piece);
    }

    /// Writes a piece behind the ones before it. Where somebody else has written into the file since then, it stays, and the text goes on beside it.
    ///
    /// # Errors
    /// The piece cannot be written, or no name leads to the file any more.
    pub fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        let (mut file, begun) = match self.file.take() {
            Some((file, left)) if left.is_none() || left == FileVersion::of_open(&file) => (file, true),
            Some(_) => (self.to.begin_beside()?, false),
            None => (self.to.begin()?, true),
        };
        let again: &[u8] = if begun { &[] } else { &self.begin };
        let mut write = || file.write_all(again).and_then(|()| file.write_all(piece));
        let written = self.to.patiently(|_| write());
        let left = if is_emptied(&file).unwrap_or(false) { FileVersion::of_open(&file) } else { None };
        let (file, _) = self.file.insert((file, left));
        written?;
        let about = file.metadata()?;
        if about.is_file() && about.nlink() == 0 {
            return Err(io::Error::other("another program has replaced or removed it meanwhile"));
        }
        self.to.found_again()
    }
}
