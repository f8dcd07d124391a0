//! An output that another program writes: it has its name once it is known to be one, and until then what the name held stays.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use super::OutputFile;
use super::destination::OutputPlace;
use super::part_name::PartName;

/// A file without a name of its own yet; a drop removes it.
pub struct PendingOutput<'o> {
    to: &'o OutputFile,
    part: PartName<'o>,
    file: File,
}

impl OutputFile {
    /// A file beside a regular output that is to replace it; none where the output is a stream.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn pending(&self) -> io::Result<Option<PendingOutput<'_>>> {
        let OutputPlace::Named { folder, name } = &self.place else { return Ok(None) };
        let (file, part) = PartName::beside(folder, name)?;
        Ok(Some(PendingOutput { to: self, part, file }))
    }

    /// The stream that takes it.
    ///
    /// # Errors
    /// It is no stream, or no descriptor is left.
    pub fn stream(&self) -> io::Result<File> {
        match &self.place {
            OutputPlace::Stream(file) => file.try_clone(),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

impl PendingOutput<'_> {
    /// The file, for the program that writes it.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// A name of the file for this process, to read it by.
    pub fn own_path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }

    /// Gives it the name of the output, in place of what had it.
    ///
    /// # Errors
    /// As for [`OutputFile::save`].
    pub fn replace(self) -> io::Result<()> {
        self.to.spares_others()?;
        let OutputPlace::Named { name, .. } = &self.to.place else { return Ok(()) };
        self.part.put_over(name)
    }
}
