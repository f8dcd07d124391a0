//! One output of a run: its content, an earlier result that stays in its place, and where the content goes when its place cannot be
//! written.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{Failure, output, save_output};
use crate::exit::Exit;
use crate::output::{Content, MisplacedOutput, OutputFile, OutputKind, write_whole};
use crate::plan::EngineKind;
use crate::record::{Record, State, StepRecord};

/// One output and what it holds.
pub struct Sheet {
    pub(super) file: OutputFile,
    pub(super) content: fn(&Record, &mut dyn Write) -> io::Result<()>,
    /// Its last content, where that is not in its own place.
    pub(super) misplaced: Option<MisplacedOutput>,
    /// The user was told already that the content is not in its place.
    pub(super) said: bool,
    /// The file that was asked for, where it holds a result of an earlier run: only one of no less worth replaces it.
    kept: Option<(OutputFile, Worth)>,
    /// The result beside the kept file, and why it is there.
    beside: Option<(PathBuf, &'static str)>,
    /// The output beside the kept file, once there is a result that may replace that one.
    interim: Option<OutputFile>,
}

/// Why a table, a page or a report stays.
const MEASURED: &str = "was measured, which no simulation replaces,";

/// How much a result is worth as evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Worth {
    /// All steps ran.
    complete: bool,
    /// volproof measured a step of it on a target that exists, which neither a simulation nor the report of another tool says.
    measured: bool,
}

impl Worth {
    fn of(record: &Record) -> Worth {
        // A simulated device is one of the null engine.
        let real = |step: &StepRecord| step.engine.get() != Some(EngineKind::Null);
        let measured = record.report.is_none() && record.steps.iter().any(real);
        Worth { complete: record.state == State::Complete, measured }
    }

    /// Of a table or page of this Record, which says that it is simulated where any step is.
    fn of_page(record: &Record) -> Worth {
        Worth { complete: record.state == State::Complete, measured: !record.is_simulated() }
    }

    /// Why a Record of this worth replaces none of another.
    fn lacks(self, other: Worth) -> Option<&'static str> {
        let less = |has: fn(Worth) -> bool| has(other) && !has(self);
        if less(|worth| worth.complete) {
            Some("holds the Record of a complete run")
        } else if less(|worth| worth.measured) {
            Some("holds the Record of a measurement, which no simulation and no report replaces,")
        } else {
            (other.measured && !self.complete).then_some("holds steps that were measured")
        }
    }

    /// Why a table or page of this worth replaces none of another.
    fn lacks_as_page(self, other: Worth) -> Option<&'static str> {
        if other.measured && !self.measured {
            Some(MEASURED)
        } else {
            (other.complete && !self.complete).then_some("is of an earlier run")
        }
    }

    /// Of the Record in a file. One that cannot be read may be of a newer version.
    fn of_file(path: &Path) -> Worth {
        let whole = std::fs::metadata(path).is_ok_and(|about| about.len() > 0);
        Record::load(path).map_or(Worth { complete: whole, measured: whole }, |record| Worth::of(&record))
    }
}

impl Sheet {
    pub(super) fn new(file: OutputFile, content: fn(&Record, &mut dyn Write) -> io::Result<()>) -> Sheet {
        Sheet { file, content, misplaced: None, said: false, kept: None, beside: None, interim: None }
    }

    pub(super) fn open(
        option: &str,
        path: &Path,
        kind: OutputKind,
        content: fn(&Record, &mut dyn Write) -> io::Result<()>,
    ) -> Result<Sheet, Failure> {
        Ok(Sheet::new(output(option, path, kind)?, content))
    }

    /// A Record, which is saved after every step. One that is complete, or that holds a measured step, stays in its file until there is another
    /// complete one: it may be somebody's evidence, and a run may be interrupted.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record(option: &str, path: &Path) -> Result<Sheet, Failure> {
        Ok(Sheet::of_record(output(option, path, OutputKind::Record)?))
    }

    /// The same in a file that has been opened.
    pub fn of_record(file: OutputFile) -> Sheet {
        Sheet::new(file, |record, out| record.write(out))
    }

    /// Leaves what an earlier run wrote to the file until this run is complete.
    ///
    /// # Errors
    /// Nothing takes the result of this run meanwhile.
    pub fn keep_earlier(&mut self) -> Result<(), Failure> {
        if self.file.is_stream() {
            return Ok(());
        }
        let path = self.file.path();
        let worth = match self.file.kind() {
            Some(OutputKind::Record) => Worth::of_file(path),
            Some(OutputKind::Csv | OutputKind::Html | OutputKind::Markdown) => {
                let complete = std::fs::metadata(path).is_ok_and(|about| about.len() > 0);
                Worth { complete, measured: self.file.replaces_measured() }
            }
            // Other programs read this output, and want the last run.
            _ => Worth::default(),
        };
        if worth == Worth::default() {
            return Ok(());
        }
        let Some(beside) = self.file.beside() else {
            return Err(Failure::input(format!(
                "{} holds an earlier result, which stays until this one is complete, and no folder takes a new file meanwhile: set TMPDIR to a \
                 folder that does, or name another file",
                path.display()
            )));
        };
        self.kept = Some((std::mem::replace(&mut self.file, beside), worth));
        Ok(())
    }

    /// Tells of an earlier result that stays where this one was to go.
    pub fn stays(&self) -> Option<String> {
        let ((kept, _), (own, why)) = (self.kept.as_ref()?, self.beside.as_ref()?);
        Some(told_to_stay(kept.path(), why, own))
    }

    /// The file that the output goes to.
    pub fn file(&self) -> &OutputFile {
        &self.file
    }

    /// Saves the Record of a command that measures nothing.
    ///
    /// # Errors
    /// It could not be saved, or is elsewhere because a measurement is in its place: the next command reads the name that was asked for.
    pub fn save_stored(&mut self, record: &Record) -> Result<Exit, Failure> {
        if self.file.kind() != Some(OutputKind::Record) {
            let content = self.content;
            return save_page(&mut self.file, record.is_simulated(), &|out| content(record, out));
        }
        self.keep_earlier()?;
        let lacks = self.take_asked(record);
        let content = self.content;
        let exit = save_output(&mut self.file, &|out| content(record, out))?;
        self.has_place(lacks);
        self.stays().map_or(Ok(exit), |told| Err(Failure::new(Exit::RunFailed, told)))
    }

    /// Goes to the place that was asked for, where the Record may replace what is there; else tells why not.
    fn take_asked(&mut self, record: &Record) -> Option<&'static str> {
        let (kept, worth) = self.kept.as_ref()?;
        let lacks = match kept.kind() {
            Some(OutputKind::Record) => Worth::of(record).lacks(*worth),
            _ => Worth::of_page(record).lacks_as_page(*worth),
        };
        if lacks.is_none() {
            self.interim = Some(std::mem::replace(&mut self.file, self.kept.take()?.0));
        }
        lacks
    }

    /// It was saved: a file beside the place that was asked for stays only as long as there is a reason.
    fn has_place(&mut self, lacks: Option<&'static str>) {
        match lacks {
            Some(why) => self.beside = Some((self.file.path().to_path_buf(), why)),
            None => {
                self.beside = None;
                let _ = self.interim.take().map(OutputFile::discard);
            }
        }
    }

    /// Saves it. What its place does not take goes to the second place; [`Sheet::loss`] tells.
    pub fn save(&mut self, record: &Record) {
        let lacks = self.take_asked(record);
        let content = self.content;
        let write = |out: &mut dyn Write| content(record, out);
        let earlier = self.misplaced.take();
        let Err(why) = self.file.save(&write) else {
            self.said = false;
            self.has_place(lacks);
            let _ = earlier.map(MisplacedOutput::discard);
            return;
        };
        let told = earlier.as_ref().and_then(|m| Some(m.second()?.to_path_buf()));
        let path = self.file.path();
        let kind = self.file.kind();
        let write = |out: &mut dyn Write| write_whole(kind, &write, out);
        let now = match earlier {
            Some(earlier) => earlier.save_again(path, why, &write),
            None => MisplacedOutput::save(path, why, &write),
        };
        self.said &= told.as_deref().is_some_and(|second| now.second() == Some(second));
        self.misplaced = Some(now);
    }

    /// The message for a content that is not where it was asked for.
    pub fn loss(&self) -> Option<String> {
        Some(format!("volproof: {}\n", self.misplaced.as_ref()?))
    }
}

fn told_to_stay(kept: &Path, why: &str, own: &Path) -> String {
    format!("{} {why} and stays; this one is {}", kept.display(), own.display())
}

/// Saves a table, a page or a report of a command that measures nothing; beside the file of that name where a simulation would replace what was
/// measured.
///
/// # Errors
/// It could not be saved, or is elsewhere.
pub fn save_page(file: &mut OutputFile, simulated: bool, content: Content<'_>) -> Result<Exit, Failure> {
    if !simulated || !file.replaces_measured() {
        return save_output(file, content);
    }
    let Some(mut beside) = file.beside() else {
        let told = format!("{} {MEASURED} and stays; name another file", file.path().display());
        return Err(Failure::new(Exit::RunFailed, told));
    };
    save_output(&mut beside, content)?;
    Err(Failure::new(Exit::RunFailed, told_to_stay(file.path(), MEASURED, beside.path())))
}
