//! Reports that grow while a run goes on, in fio's forms.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;

use super::OutputFile;
use super::content::is_emptied;
use super::destination::OutputPlace;
use super::late::told_if_late;
use super::output_file::first_name;
use super::output_names::numbered;
use super::part_name::PartName;

impl OutputFile {
    /// Empties the output and opens it for a text that grows while a run goes on. The file is locked until it is closed.
    ///
    /// # Errors
    /// The file cannot be made, holds something else by now, or its folder went away.
    pub fn begin(&mut self) -> io::Result<File> {
        self.patiently(Self::begin_now)
    }

    /// Does work that may be held up. Where the output is a file, a message says so. A stream needs no message: its reader may take his time.
    fn patiently<T>(&mut self, work: impl FnOnce(&mut OutputFile) -> T) -> T {
        if self.is_stream() {
            return work(self);
        }
        told_if_late(&self.path.clone(), |_| work(self))
    }

    fn begin_now(&mut self) -> io::Result<File> {
        self.spares_others()?;
        match &self.place {
            OutputPlace::Stream(file) => file.try_clone(),
            OutputPlace::Named { folder, name } => {
                let (file, part) = PartName::beside(folder, name)?;
                part.put_over(name)?;
                Ok(file)
            }
            OutputPlace::Fresh { folder, stem, extension, mode } => {
                let (file, part) = PartName::new(folder, &numbered(stem, extension, 1), *mode)?;
                let named = first_name(folder, part, stem, extension)?;
                self.has_name(named);
                Ok(file)
            }
        }
    }
}

/// An output whose text is written piece by piece.
#[derive(Debug)]
pub struct GrowingOutput {
    to: OutputFile,
    /// The file, once something was written, and its length then; without one for a stream, into which others may write.
    file: Option<(File, Option<u64>)>,
}

impl GrowingOutput {
    /// An output that is emptied when the first piece is written.
    pub fn new(to: OutputFile) -> GrowingOutput {
        GrowingOutput { to, file: None }
    }

    /// Where it goes.
    pub fn output(&self) -> &OutputFile {
        &self.to
    }

    /// Writes a piece behind the ones before it.
    ///
    /// # Errors
    /// The piece cannot be written, somebody else has written into the file, or no name leads to it any more.
    pub fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        let (mut file, left) = match self.file.take() {
            Some(open) => open,
            None => (self.to.begin()?, None),
        };
        if left.is_some_and(|left| file.metadata().is_ok_and(|about| about.len() != left)) {
            self.file = Some((file, left));
            return Err(io::Error::other("another program has written into it meanwhile"));
        }
        let written = self.to.patiently(|_| file.write_all(piece));
        let about = file.metadata()?;
        let left = is_emptied(&file).unwrap_or(false).then_some(about.len());
        self.file = Some((file, left));
        written?;
        if about.is_file() && about.nlink() == 0 {
            return Err(io::Error::other("another program has replaced or removed it meanwhile"));
        }
        self.to.is_where_it_was()
    }
}
