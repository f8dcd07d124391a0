//! One output of a run: its content, and where that goes when its place cannot be written.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{Failure, output, save_output};
use volproof_device::output::{MisplacedOutput, OutputFile, OutputKind};
use volproof_record::Record;
use volproof_record::exit::Exit;

/// Writes a form of a Record.
pub type SheetContent = fn(&Record, &mut dyn Write) -> io::Result<()>;

/// A form of a Record: its option, the file that was named, the kind of the file, and the content.
pub type SheetForm<'a> = (&'a str, &'a Option<PathBuf>, OutputKind, SheetContent);

/// Opens the forms that were asked for.
///
/// # Errors
/// A file cannot be written.
pub fn opened(forms: &[SheetForm<'_>], force: bool) -> Result<Vec<Sheet>, Failure> {
    let mut sheets = Vec::new();
    for (option, path, kind, content) in forms {
        if let Some(path) = path {
            let file = output(option, path, *kind, force)?;
            sheets.push(Sheet { file, content: *content, misplaced: None, said: false });
        }
    }
    Ok(sheets)
}

/// One output and what it holds.
pub struct Sheet {
    pub(super) file: OutputFile,
    pub(super) content: SheetContent,
    /// Its last content, where that is not in its own place.
    pub(super) misplaced: Option<MisplacedOutput>,
    /// The user was told already that the content is not in its place.
    pub(super) said: bool,
}

impl Sheet {
    /// A Record, which is saved after every step.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record(option: &str, path: &Path, force: bool) -> Result<Sheet, Failure> {
        Ok(Sheet::of_record(output(option, path, OutputKind::Record, force)?))
    }

    /// The same in a file that has been opened.
    pub fn of_record(file: OutputFile) -> Sheet {
        Sheet { file, content: |record, out| record.write(out), misplaced: None, said: false }
    }

    /// The file that the output goes to.
    pub fn file(&self) -> &OutputFile {
        &self.file
    }

    /// The same for a run, which saves it more than once.
    ///
    /// # Errors
    /// Another program saves there.
    pub fn claimed(self) -> Result<Sheet, Failure> {
        Ok(Sheet { file: self.file.claimed()?, ..self })
    }

    /// Saves the Record of a command that measures nothing.
    ///
    /// # Errors
    /// It could not be saved.
    pub fn save_stored(&mut self, record: &Record) -> Result<Exit, Failure> {
        let content = self.content;
        save_output(&mut self.file, &|out| content(record, out))
    }

    /// Saves it. What its place does not take goes to the second place; [`Sheet::loss`] tells.
    pub fn save(&mut self, record: &Record) {
        let content = self.content;
        let write = |out: &mut dyn Write| content(record, out);
        let earlier = self.misplaced.take();
        let Err(why) = self.file.save(&write) else {
            self.said = false;
            let _ = earlier.map(MisplacedOutput::discard);
            return;
        };
        let told = earlier.as_ref().map(|lost| lost.second().map(Path::to_path_buf));
        let path = self.file.path();
        let now = match earlier {
            Some(earlier) => earlier.save_again(path, why, &write),
            None => MisplacedOutput::save(path, why, &write),
        };
        self.said &= told.is_some_and(|second| now.second() == second.as_deref());
        self.misplaced = Some(now);
    }

    /// The message for a content that is not where it was asked for.
    pub fn loss(&self) -> Option<String> {
        Some(format!("volproof: {}\n", self.misplaced.as_ref()?))
    }
}
