//! The door: what holds a result becomes a Record here, and everything behind reads Records alone.
//!
//! The form of a file is told by its content, not by its name. A reader of one more tool is one more file that makes a [`Record`] (as
//! `fio::to_record` does) and one more line in [`of_bytes`].

use std::path::{Path, PathBuf};

use super::typed_command;
use crate::doubts;
use crate::fio::json_read::ReadError;
use crate::fio::output::Output;
use crate::fio::to_record::to_record;
use crate::fio::{paste, read};
use crate::record::{Record, RecordError, ReportForm, SCHEMA};
use crate::unit::grouped;
use crate::verdict;

/// Why a file gives no Record.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read, or it is a Record that cannot.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// It is something else.
    #[error("{} is not a volproof Record, and no report of fio either", path.display())]
    Neither {
        /// The file.
        path: PathBuf,
    },
    /// It is a report, up to a place.
    #[error("{}: {source}", path.display())]
    Report {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: ReadError,
    },
    /// It is a report without a result.
    #[error("{}: {why}", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

/// The results of a text: one Record, or reports that become Records one after the other.
pub enum Found {
    /// A Record.
    Record(Box<Record>),
    /// Reports of fio, the last one of each run.
    Fio(Vec<(ReportForm, Output)>),
}

/// What a text holds; `path` is for messages.
///
/// # Errors
/// When it is no result, or a damaged one.
pub fn of_bytes(bytes: &[u8], path: &Path) -> Result<Found, LoadError> {
    let ours = bytes.windows(SCHEMA.len()).any(|part| part == SCHEMA.as_bytes());
    if let Some(text) = std::str::from_utf8(bytes).ok().filter(|_| ours) {
        match Record::parse(text, path.to_path_buf()) {
            Ok(record) => return Ok(Found::Record(Box::new(judged(record)))),
            Err(RecordError::Foreign { .. }) => {}
            Err(e) => return Err(e.into()),
        }
    }
    let reports = read::reports(bytes).map_err(|source| match source {
        ReadError::Nothing { .. } => LoadError::Neither { path: path.to_path_buf() },
        source => LoadError::Report { path: path.to_path_buf(), source },
    })?;
    let mut reports = read::last_of_each_run(reports);
    typed_command::attach(&paste::plain(bytes), &mut reports);
    Ok(Found::Fio(reports))
}

/// A report of fio as a Record with the doubts about its test.
pub fn of_fio(form: ReportForm, output: &Output) -> Record {
    let mut record = to_record(output, form);
    let doubts: Vec<_> = record.steps.iter().flat_map(|step| doubts::of_step(&record, step)).collect();
    record.warnings.extend(doubts);
    let together = doubts::of_runs_together(&record);
    record.warnings.extend(together);
    judged(record)
}

/// The Record with findings and verdict, where it came without those of this version.
pub fn judged(mut record: Record) -> Record {
    if record.diagnoses().is_none() {
        verdict::seal(&mut record);
    }
    record
}

/// The one Record of a file: the Record that it is, or the last report in it.
///
/// # Errors
/// See [`LoadError`].
pub fn load(path: &Path) -> Result<Record, LoadError> {
    let read = |source| RecordError::Read { path: path.to_path_buf(), source };
    let bytes = crate::input::read(path).map_err(read)?;
    one(&bytes, path)
}

/// The one Record of a text; `path` is for messages.
///
/// # Errors
/// See [`LoadError`].
pub fn one(bytes: &[u8], path: &Path) -> Result<Record, LoadError> {
    let reports = match of_bytes(bytes, path)? {
        Found::Record(record) => return Ok(*record),
        Found::Fio(reports) => reports,
    };
    let count = reports.len();
    let empty = |why: &str| LoadError::Empty { path: path.to_path_buf(), why: why.into() };
    let Some((form, output)) = reports.last() else { return Err(empty("it holds no report")) };
    let mut record = of_fio(*form, output);
    if record.steps.is_empty() {
        let why = output.partial.clone().unwrap_or_else(|| "no job of the report moved any data".into());
        return Err(empty(&why));
    }
    if let Some(report) = record.report.as_mut().filter(|_| count > 1) {
        report.notes.push(format!(
            "the file holds {} reports, of which this is the last: read the others with volproof explain",
            grouped(count as u64)
        ));
    }
    Ok(record)
}
