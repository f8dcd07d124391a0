//! The reader of all results, Records and reports of other tools: each becomes a Record here, and all other code reads Records alone.
//!
//! The content of a file tells its form, not its name. To read the reports of one more tool, see the crate `readers`. That of fio is `to_record.rs` of `fio-bridge`.

mod typed_command;

use std::path::{Path, PathBuf};

use fio_formats::json_read::ReadError;
use fio_formats::output::Output;
use fio_formats::{jobfile, paste, read_report};
use volproof_base::input;
use volproof_base::unit::{counted, grouped};
use volproof_course::seal::seal;
use volproof_fio::to_record::to_record;
use volproof_judge::doubts;
use volproof_readers::{self as foreign, ForeignReport};
use volproof_record::{Record, RecordError, ReportForm, SCHEMA, SavedAs};
use volproof_watch::{WatchFileError, WatchHistory};

/// The line of kubestr's summary above fio's figures.
const KUBESTR: &[u8] = b"FIO test results:";

/// What a file without a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherFile {
    /// Nothing, or blanks.
    Empty,
    /// Some text.
    Text,
    /// No text.
    Binary,
    /// A command of fio without its output.
    Command,
    /// The text of `kubestr fio`, which keeps little of fio's report.
    Kubestr,
    /// A job file of fio: it says what to do.
    JobFile,
}

impl OtherFile {
    /// What is said of a file at this path.
    pub fn words(self, path: &Path) -> String {
        match self {
            OtherFile::Empty => "is empty".into(),
            OtherFile::Text => "is not a volproof Record, and no report of fio (text, JSON, terse lines), dd, sysbench fileio, ioping, pg_test_fsync, \
                                DiskSpd, Iometer, iostat -x or /proc/diskstats either".into(),
            OtherFile::Binary => "holds binary data, and no Record or report: name the JSON or the text that the tool wrote".into(),
            OtherFile::Command => "is a command of fio without its output: run it (`volproof fio ...` takes the same words), and give what it prints".into(),
            OtherFile::Kubestr => "is the summary that `kubestr fio` prints, which has neither latencies nor times: run `kubestr fio -o json` with the same \
                                   options, and give the JSON".into(),
            OtherFile::JobFile => {
                format!("is a job file of fio: it says what to do and holds no result; {}", jobfile::ways(path))
            }
        }
    }
}

/// Why a file gives no Record.
#[derive(Debug, thiserror::Error)]
pub enum ResultFileError {
    /// The file cannot be read, or it is a Record that cannot be parsed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The file holds no result.
    #[error("{} {}", path.display(), holds.words(path))]
    NoResult {
        /// The file.
        path: PathBuf,
        /// What it is.
        holds: OtherFile,
    },
    /// The file is a report that cannot be read beyond some place.
    #[error("{}: {source}", path.display())]
    Report {
        /// The file.
        path: PathBuf,
        /// Where and why reading ended.
        source: ReadError,
    },
    /// The file holds several reports, where one is asked for.
    #[error("{} holds {count} reports: give one at a time, or read all of them with 'volproof show'", path.display())]
    Several {
        /// The file.
        path: PathBuf,
        /// How many.
        count: usize,
    },
    /// The file holds Records in lines, and more than one result.
    #[error("{} holds {} of volproof and {}: give each as a file of its own", path.display(), counted(*records as u64, "Record"), counted(*others as u64, "report"))]
    Mixed {
        /// The file.
        path: PathBuf,
        /// Records.
        records: usize,
        /// Reports of other tools.
        others: usize,
    },
    /// The file of a watch, which has no steps.
    #[error("{} is the file of a watch: `volproof show` and `volproof report` read it", path.display())]
    Watch {
        /// The file.
        path: PathBuf,
    },
    /// The file is a report without a result.
    #[error("{}: {why}", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// Why there is no result.
        why: String,
    },
}

/// The results of a text: one Record, or reports that become Records one after the other.
pub enum Found {
    /// A Record.
    Record(Box<Record>),
    /// Reports of other tools, those of fio first (the last one of each run).
    Reports(Vec<ToolReport>),
    /// The file of a watch.
    Watch(Box<WatchHistory>),
}

/// A report of another tool.
pub enum ToolReport {
    /// A report of fio.
    Fio(ReportForm, Box<Output>),
    /// A report of a tool of the crate `readers`.
    Foreign(ForeignReport),
}

impl ToolReport {
    /// The report as a Record with the doubts about its test.
    pub fn record(&self) -> Record {
        let mut record = match self {
            ToolReport::Fio(form, output) => to_record(output, *form),
            ToolReport::Foreign(report) => report.to_record(),
        };
        let doubts: Vec<_> = record.steps.iter().flat_map(|step| doubts::of_step(&record, step)).collect();
        record.doubts.extend(doubts);
        let together = doubts::of_runs_together(&record);
        record.doubts.extend(together);
        judged(record)
    }

    /// How many runs the report has.
    pub fn runs(&self) -> usize {
        match self {
            ToolReport::Fio(_, output) => volproof_fio::to_record::count(output),
            ToolReport::Foreign(report) => report.count(),
        }
    }

    /// Why the report has no run, where it breaks off before the first.
    pub fn cut_off(&self) -> Option<&str> {
        match self {
            ToolReport::Fio(_, output) => output.partial.as_deref().filter(|_| output.jobs.is_empty()),
            ToolReport::Foreign(report) => report.partial.as_deref().filter(|_| report.count() == 0),
        }
    }
}

/// The Record that a text is; absent for any other text. `path` is for messages.
///
/// # Errors
/// When it is a Record that cannot be read.
pub fn stored(bytes: &[u8], path: &Path) -> Result<Option<Record>, RecordError> {
    let json = bytes.trim_ascii_start().starts_with(b"{");
    let ours = json && names_schema(bytes);
    let Some(text) = std::str::from_utf8(bytes).ok().filter(|_| ours) else { return Ok(None) };
    match Record::parse(text, path.to_path_buf()) {
        Ok(mut record) => {
            // The steps of a fleet are sums over the time that its machines share, and have no samples of their own.
            if record.fleet.is_none() {
                doubts::look_for_edits(&mut record);
            }
            Ok(Some(judged(record)))
        }
        Err(RecordError::Foreign { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

/// The watch that bytes hold; `path` is for messages.
fn watch(bytes: &[u8], path: &Path) -> Result<WatchHistory, ResultFileError> {
    let cut = |e: WatchFileError| ResultFileError::Empty { path: path.to_path_buf(), why: e.to_string() };
    WatchHistory::read(bytes).map_err(cut)
}

/// The Record that a text holds as one of its lines, as a log does that took `--json -`; absent where it holds none.
///
/// # Errors
/// The Record cannot be read, or stands among other results.
fn in_a_log(plain: &[u8], path: &Path) -> Result<Option<Record>, ResultFileError> {
    let begins = |line: &[u8]| {
        let text = line.trim_ascii_start();
        text.starts_with(b"{\"schema\"") && names_schema(&text[..text.len().min(BEGIN_OF_RECORD)])
    };
    let lines = || plain.split(|b| *b == b'\n');
    let mut ours = lines().filter(|line| begins(line));
    let Some(first) = ours.next() else { return Ok(None) };
    let records = 1 + ours.count();
    let rest = lines().filter(|line| !begins(line)).collect::<Vec<_>>().join(&b'\n');
    let others =
        foreign::reports(&rest).reports.len() + read_report::reports(&rest).map_or(0, |all| all.len());
    if records + others > 1 {
        return Err(ResultFileError::Mixed { path: path.to_path_buf(), records, others });
    }
    Ok(stored(first, path)?)
}

fn names_schema(bytes: &[u8]) -> bool {
    bytes.windows(SCHEMA.len()).any(|part| part == SCHEMA.as_bytes())
}

/// The first bytes of a Record, which name its schema.
const BEGIN_OF_RECORD: usize = 64;

/// Bytes of a file that tell whether it is text.
const BEGIN: usize = 64 << 10;

/// Whether a file holds other data than text: more than one in sixteen of its first bytes are control characters that no report has. A
/// console may leave a few in what is pasted from it.
pub fn is_binary(plain: &[u8]) -> bool {
    let begin = &plain[..plain.len().min(BEGIN)];
    let control = begin.iter().filter(|b| **b < b' ' && !matches!(b, b'\t' | b'\n' | b'\r' | 8 | 12 | 27));
    control.count() * 16 > begin.len()
}

/// What a text without a result is; `plain` is the text without the marks of a console.
fn other_file(bytes: &[u8], plain: &[u8]) -> OtherFile {
    let is_short = bytes.len() as u64 <= input::LONGEST_SETTINGS.0;
    if bytes.trim_ascii().is_empty() {
        OtherFile::Empty
    } else if plain.windows(KUBESTR.len()).any(|part| part == KUBESTR) {
        OtherFile::Kubestr
    } else if typed_command::holds_one(plain) {
        OtherFile::Command
    } else if is_short && std::str::from_utf8(bytes).is_ok_and(jobfile::is_one) {
        OtherFile::JobFile
    } else {
        OtherFile::Text
    }
}

/// The results that a text holds; `path` is for messages.
///
/// # Errors
/// When the text holds no result, or a damaged one.
pub fn of_bytes(bytes: &[u8], path: &Path) -> Result<Found, ResultFileError> {
    if WatchHistory::is_one(bytes) {
        return watch(bytes, path).map(|history| Found::Watch(Box::new(history)));
    }
    if let Some(record) = stored(bytes, path)? {
        return Ok(Found::Record(Box::new(record)));
    }
    let plain = paste::plain(bytes);
    if let Some(record) = in_a_log(&plain, path)? {
        return Ok(Found::Record(Box::new(record)));
    }
    let no_result = |holds| Err(ResultFileError::NoResult { path: path.to_path_buf(), holds });
    if is_binary(&plain) {
        return no_result(OtherFile::Binary);
    }
    let foreign = foreign::reports(&plain);
    let mut all: Vec<ToolReport> = Vec::new();
    let mut unread = None;
    match read_report::reports(&plain).map_err(|e| paste::placed(bytes, e)) {
        Ok(reports) => {
            let mut reports = read_report::last_of_each_run(reports);
            typed_command::attach(&plain, &mut reports);
            all.extend(reports.into_iter().map(|(form, output)| ToolReport::Fio(form, Box::new(output))));
        }
        Err(ReadError::Nothing { .. }) if !foreign.reports.is_empty() => {}
        Err(broken) if !foreign.reports.is_empty() => unread = Some(broken),
        Err(ReadError::Nothing { .. }) => return no_result(other_file(bytes, &plain)),
        Err(source) => return Err(ResultFileError::Report { path: path.to_path_buf(), source }),
    }
    all.extend(foreign.reports.into_iter().map(ToolReport::Foreign));
    if let Some(ToolReport::Foreign(last)) = all.last_mut() {
        if foreign.more > 0 {
            let more = grouped(foreign.more as u64);
            last.notes
                .push(format!("{more} more reports follow in the file and are not read: give it in parts"));
        }
        if let Some(broken) = unread {
            last.notes.push(format!("a report of fio in the same file is not read: {broken}"));
        }
    }
    Ok(Found::Reports(all))
}

/// The Record with findings, verdict and the answer of its course as its samples or figures give them, whatever the file says they are.
pub fn judged(mut record: Record) -> Record {
    seal(&mut record);
    record
}

/// The one Record of a file: the Record that it is, or the last report in it.
///
/// # Errors
/// The file cannot be read, or holds neither a Record nor a known report.
pub fn load(path: &Path) -> Result<Record, ResultFileError> {
    read_by(path, one)
}

/// Reads whatever result a file holds, once: a pipe has its bytes only once.
///
/// # Errors
/// The file cannot be read, or is no known result.
pub fn found(path: &Path) -> Result<Found, ResultFileError> {
    of_bytes(&bytes_of(path)?, input::named(path))
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, RecordError> {
    input::read(path).map_err(|source| RecordError::Read { path: input::named(path).to_path_buf(), source })
}

/// Reads a file, and makes a Record of its bytes.
fn read_by(
    path: &Path,
    make: fn(&[u8], &Path) -> Result<Record, ResultFileError>,
) -> Result<Record, ResultFileError> {
    let record = make(&bytes_of(path)?, input::named(path))?;
    Ok(Record { saved_as: SavedAs::read_from(path), ..record })
}

/// The one Record of a text; `path` is for messages.
///
/// # Errors
/// The bytes are neither a Record nor a known report.
pub fn one(bytes: &[u8], path: &Path) -> Result<Record, ResultFileError> {
    of_bytes(bytes, path)?.one(path)
}

impl Found {
    /// [`Found::one`], which knows the file that it is from.
    ///
    /// # Errors
    /// As there.
    pub fn one_of_file(self, path: &Path) -> Result<Record, ResultFileError> {
        let record = self.one(input::named(path))?;
        Ok(Record { saved_as: SavedAs::read_from(path), ..record })
    }

    /// The one Record of it: the Record that it is, or the last report; `path` is for messages.
    ///
    /// # Errors
    /// The last report cannot be made a Record.
    pub fn one(self, path: &Path) -> Result<Record, ResultFileError> {
        match self {
            Found::Record(record) => Ok(*record),
            Found::Reports(reports) => last(&reports, path),
            Found::Watch(_) => Err(ResultFileError::Watch { path: path.to_path_buf() }),
        }
    }
}

/// The one Record of a file that is judged: one answer for several reports would be that of one of them.
///
/// # Errors
/// The file cannot be read, is no known result, or holds more than one.
pub fn load_only(path: &Path) -> Result<Record, ResultFileError> {
    read_by(path, only)
}

/// The one Record of a text that holds no other; `path` is for messages.
///
/// # Errors
/// The bytes are no known result, or hold more than one.
pub fn only(bytes: &[u8], path: &Path) -> Result<Record, ResultFileError> {
    match of_bytes(bytes, path)? {
        Found::Record(record) => Ok(*record),
        Found::Reports(all) if all.len() > 1 => {
            Err(ResultFileError::Several { path: path.to_path_buf(), count: all.len() })
        }
        Found::Reports(all) => last(&all, path),
        Found::Watch(_) => Err(ResultFileError::Watch { path: path.to_path_buf() }),
    }
}

/// The Record of the last report.
fn last(reports: &[ToolReport], path: &Path) -> Result<Record, ResultFileError> {
    let count = reports.len();
    let empty = |why: &str| ResultFileError::Empty { path: path.to_path_buf(), why: why.into() };
    let Some(last) = reports.last() else { return Err(empty("it holds no report")) };
    let mut record = last.record();
    if record.steps.is_empty() {
        let partial = record.report.as_ref().and_then(|r| r.partial.clone());
        return Err(empty(&partial.unwrap_or_else(|| "no job of the report moved any data".into())));
    }
    if let Some(report) = &mut record.report {
        report.beside = count as u64 - 1;
        report.notes.extend(report.told_beside());
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_several_calls_is_several_reports() {
        let line = |disk: u64| {
            let zeros = |n: usize| vec!["0"; n].join(";");
            let stats = |head: &str| {
                format!("{head};{};{};{};{}", zeros(8), vec!["0%=0"; 20].join(";"), zeros(6), "0%;0;0")
            };
            let (read, write) = (stats("240000;4000;1000;60000"), stats("0;0;0;0"));
            let shares = |n: usize| vec!["0%"; n].join(";");
            format!(
                "3;fio-3.33;j;0;0;{read};{write};1%;1%;0;0;0;{};sda;{disk};0;0;0;1;0;1;50.00%\n",
                shares(7 + 10 + 12)
            )
        };
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("all.terse");
        std::fs::write(&file, line(60_000) + &line(120_000)).unwrap();
        assert!(matches!(load_only(&file), Err(ResultFileError::Several { count: 2, .. })));
        assert!(load(&file).is_ok());
        std::fs::write(&file, line(60_000) + &line(60_000)).unwrap();
        assert_eq!(load_only(&file).unwrap().steps.len(), 1, "clones of one call are one run");
    }
}
