//! What the reports of other tools show, in plain words: of fio, of any version and form, and of the tools of the crate `readers`.
//!
//! For each run: what was tested, the line that matters, whether Little's law holds, what limited it, what is wrong with the test and which test would
//! be right. Nothing is measured and no target is touched: what a report does not hold is not told. Files are known by their content, not by their
//! name. A promise is held against reports by `verdict`, and two results against each other by `compare`.

mod explanation_text;
mod sentences;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::result_file::{self, ResultFileError};
use volproof_base::doubt::Doubt;
use volproof_base::unit::counted;
use volproof_judge as judge;
use volproof_judge::comparison;
use volproof_record::{Conditions, Diagnosis, Record, ReportForm, ReportedStep, StepFigures, StepRecord};

/// Reports of one file that are explained; more are counted.
const MOST_REPORTS: usize = 64;
/// Runs of one report that are explained; more are counted.
const MOST_RUNS: usize = 64;

/// One report explained.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The file.
    pub file: PathBuf,
    /// The form of the report.
    pub form: Option<ReportForm>,
    /// The tool that measured: `fio-2.2.8`.
    pub tool: String,
    /// When the report was written, as far as it is known.
    pub written: Option<String>,
    /// Why the report is not whole.
    pub partial: Option<String>,
    /// Notes on parts of the report that looked wrong while reading.
    pub notes: Vec<String>,
    /// The runs in the report.
    pub runs: Vec<RunExplained>,
    /// Doubts about several runs at once.
    pub doubts: Vec<Doubt>,
}

/// One run explained.
#[derive(Clone, Debug)]
pub struct RunExplained {
    /// The run's name.
    pub name: String,
    /// The run's host, in client mode.
    pub host: Option<String>,
    /// The run's hosts, where several ran it at the same time: a line for each.
    pub hosts: Vec<String>,
    /// The load that was tested, in words.
    pub tested: String,
    /// The line that matters.
    pub result: Vec<String>,
    /// The run's latencies.
    pub latency: Vec<String>,
    /// Little's law.
    pub little: Option<String>,
    /// Whether Little's law holds; absent where that cannot be said.
    pub little_holds: Option<bool>,
    /// What is seen in the samples of the run.
    pub diagnosis: Diagnosis,
    /// Doubts about the test.
    pub doubts: Vec<Doubt>,
    /// The command of volproof that shows more than a report does.
    pub command: Option<String>,
    /// Figures for the table.
    pub figures: RunFigures,
    /// The conditions of the run, as far as they are known.
    pub conditions: Conditions,
}

/// The figures of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunFigures {
    /// I/Os a second.
    pub iops: Option<f64>,
    /// Bytes a second.
    pub bytes_per_second: Option<f64>,
    /// Mean latency, nanoseconds.
    pub mean_ns: Option<f64>,
    /// Median, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99th percentile, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Requests in flight.
    pub in_flight: Option<f64>,
    /// Length, seconds.
    pub seconds: Option<f64>,
}

/// What reports of other tools show, and a table of all of them.
///
/// # Errors
/// Of input: a file that is no report.
pub fn of_reports(files: &[PathBuf]) -> anyhow::Result<String> {
    let mut all = Vec::new();
    for file in files {
        let found = content(file).and_then(|bytes| in_lines(file, &bytes));
        all.extend(found.with_context(|| format!("cannot show {}", file.display()))?);
    }
    Ok(explanation_text::all(&all))
}

/// The same of the reports in one file.
///
/// # Errors
/// It is no report.
pub fn of_report(file: &Path, bytes: &[u8]) -> anyhow::Result<String> {
    let found = in_lines(file, bytes).with_context(|| format!("cannot show {}", file.display()))?;
    Ok(explanation_text::all(&found))
}

/// What is in a file, for a text in which no name begins a line.
fn in_lines(file: &Path, bytes: &[u8]) -> anyhow::Result<Vec<Explained>> {
    explained_as(file, bytes, |record| match record.in_lines() {
        Cow::Owned(copy) => copy,
        Cow::Borrowed(_) => record,
    })
}

fn content(file: &Path) -> anyhow::Result<Vec<u8>> {
    volproof_base::input::read(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Explains the reports in a file.
///
/// # Errors
/// When it is no report.
pub fn explained(file: &Path, bytes: &[u8]) -> anyhow::Result<Vec<Explained>> {
    explained_as(file, bytes, |record| record)
}

/// The same of the Records that reports become, with their names as they are to be told.
fn explained_as(file: &Path, bytes: &[u8], named: fn(Record) -> Record) -> anyhow::Result<Vec<Explained>> {
    let reports = match result_file::of_bytes(bytes, file).map_err(without_path)? {
        result_file::Found::Record(_) => bail!("it is a Record of volproof, and no report of another tool"),
        result_file::Found::Reports(reports) => reports,
        result_file::Found::Watch(_) => bail!("is the file of a watch: `volproof show` reads it"),
    };
    let (several, count) = (reports.len() > 1, reports.len());
    let mut all: Vec<Explained> = Vec::new();
    for report in reports.into_iter().take(MOST_REPORTS) {
        // One report among several that was cut off does not hide the others: it is explained without a run.
        if let Some(why) = report.cut_off().filter(|_| !several) {
            let advice =
                if why.contains("breaks off") { ": no row is whole, copy the report to its end" } else { "" };
            bail!("{why}{advice}");
        }
        all.push(of_record(file, named(report.record())));
    }
    let left = count.saturating_sub(MOST_REPORTS) as u64;
    if let Some(last) = all.last_mut().filter(|_| left > 0) {
        last.notes.push(format!("left out: {}: give the file in parts", counted(left, "more report")));
    }
    Ok(all)
}

/// The message without the file's name, which the caller puts before it.
fn without_path(e: ResultFileError) -> anyhow::Error {
    match e {
        ResultFileError::Report { source, .. } => source.into(),
        ResultFileError::NoResult { path, holds } => anyhow::anyhow!("it {}", holds.words(&path)),
        e => e.into(),
    }
}

/// Explains the Record that a report became.
fn of_record(file: &Path, record: Record) -> Explained {
    let report = record.report.as_ref();
    let count = report.and_then(|r| r.runs).unwrap_or(record.steps.len());
    let left = count.saturating_sub(MOST_RUNS);
    let (found, _) = judge::judged(&record);
    let told = record.steps.iter().take(MOST_RUNS).zip(found);
    Explained {
        file: file.to_path_buf(),
        form: report.map(|r| r.form),
        tool: report.map(|r| r.tool.clone()).unwrap_or_default(),
        written: report.and_then(|r| r.written_here()),
        partial: report.and_then(|r| r.partial.clone()),
        notes: notes(&record, left),
        doubts: record.doubts.iter().filter(|w| w.step.is_none()).cloned().collect(),
        runs: told.map(|(step, diagnosis)| run(&record, step, diagnosis)).collect(),
    }
}

fn notes(record: &Record, left: usize) -> Vec<String> {
    let simulated = "SIMULATED: a device in virtual time; nothing was measured of any volume";
    let mut notes = Vec::from_iter(record.is_simulated().then(|| simulated.to_string()));
    let Some(report) = &record.report else { return notes };
    notes.extend(report.notes.iter().cloned());
    if report.form == ReportForm::Text && report.tool.starts_with("fio-2.") {
        notes.push(
            "KB, MB and GB of fio 2.x are 1024-based; figures here have the units that they name".into(),
        );
    }
    if left > 0 {
        notes.push(format!("left out: {}: give the file in parts", counted(left as u64, "more run")));
    }
    if record.steps.is_empty() && report.partial.is_none() {
        notes.push("no job moved any data".into());
    }
    notes
}

fn run(record: &Record, step: &StepRecord, diagnosis: Diagnosis) -> RunExplained {
    let conditions = record.conditions(step);
    let summary = StepFigures::of_step(record, step);
    let reported = step.reported.as_deref();
    // A comparison has the command of each figure, and what volproof ran has its plan.
    let alone = reported.is_some() && record.compared.is_none() && !conditions.on_windows();
    let command = alone.then(|| comparison::for_rate(&conditions, &[])).flatten();
    let outside = step.accounting.as_ref().map_or(0, |a| a.outside_latency_ns);
    let counted = reported.is_none().then_some(outside as f64 / step.window_ns.0.max(1) as f64);
    // A rate that was made of the latency shows no law, nor do figures that contradict each other.
    let shows_no_law =
        |t: &ReportedStep| t.rate_of_latency || t.are_impossible() || !t.contradictions().is_empty();
    let (little, little_holds) = if reported.is_some_and(shows_no_law) {
        (None, None)
    } else {
        sentences::little(&conditions, &summary, counted)
    };
    RunExplained {
        name: reported.map_or(&step.name, |t| &t.name).clone(),
        host: reported.and_then(|t| t.host.clone()),
        hosts: reported.map(sentences::hosts).unwrap_or_default(),
        tested: sentences::tested(record, step, &conditions, &summary),
        result: sentences::result(step, &summary),
        latency: sentences::latencies(step),
        little,
        little_holds,
        diagnosis,
        doubts: record.doubts.iter().filter(|w| w.step.as_ref() == Some(&step.name)).cloned().collect(),
        command,
        figures: figures(&summary),
        conditions,
    }
}

fn figures(s: &StepFigures) -> RunFigures {
    let at = |share: f64| s.latency.percentiles.iter().find(|p| (p.0 - share).abs() < 1e-9).map(|p| p.1.0);
    RunFigures {
        iops: s.rate.iops,
        bytes_per_second: s.rate.bytes_per_second,
        mean_ns: s.latency.mean_ns,
        p50_ns: at(0.5),
        p99_ns: at(0.99),
        in_flight: s.load.in_flight,
        seconds: s.rate.window.map(|w| w.as_seconds()),
    }
}
