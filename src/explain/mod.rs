//! `explain FILE...`: results of fio, of any version and form, of the tools of the crate `readers`, and Records of ours, in plain words.
//!
//! For each run: what was tested, the line that matters, whether Little's law holds, what limited it, what is wrong with the
//! test and which test would be right; with a promise, the verdict. Nothing is measured and no target is touched: what a report
//! does not hold is not told. Files are known by their content, not by their name.

mod explanation_text;
mod sentences;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;

use crate::promise_options::{self, NeedsOption, PromiseOptions};
use crate::result_file::{self, ResultFileError};
use crate::stored_verdict;
use volproof_base::doubt::Doubt;
use volproof_base::unit::counted;
use volproof_course::suites;
use volproof_judge as judge;
use volproof_judge::comparison;
use volproof_plan::Question;
use volproof_record::exit::Exit;
use volproof_record::{
    Conditions, CourseAnswer, CrossCheck, Diagnosis, JudgedPromise, Record, ReportComparison, ReportForm,
    ReportedStep, StepFigures, StepRecord, Verdict,
};
use volproof_report::fleet_text;

/// Reports of one file that are explained; more are counted.
const MOST_REPORTS: usize = 64;
/// Runs of one report that are explained; more are counted.
const MOST_RUNS: usize = 64;

/// The arguments of `explain`.
#[derive(Debug, Clone, clap::Args)]
pub struct ExplainArgs {
    /// Reports of fio, dd, sysbench fileio, ioping, pg_test_fsync, DiskSpd, Iometer, iostat -x or /proc/diskstats, or Records; - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The promise to judge the results against
    #[command(flatten)]
    pub promise: PromiseOptions,
    /// The applications
    #[command(flatten)]
    pub needs: NeedsOption,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// One report explained.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// The file.
    pub file: PathBuf,
    /// The form of the report; absent for a Record of ours.
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
    /// How two engines compared, in a Record that holds both.
    pub cross_checks: Vec<CrossCheck>,
    /// The answer of a suite, a search or a sweep.
    pub answer: Option<CourseAnswer>,
    /// A report beside what is promised or needed.
    pub compared: Option<ReportComparison>,
    /// The verdict on what volproof measured, where something is promised.
    pub verdict: Option<Verdict>,
    /// Why nothing was judged, where a promise or needs were named.
    pub not_judged: Option<String>,
    /// The arithmetic of the promise.
    pub promise: Vec<String>,
    /// The exit code of the Record.
    #[serde(skip)]
    pub exit: Exit,
}

/// One run explained.
#[derive(Clone, Debug, Serialize)]
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
    /// Figures for programs and for the table.
    pub figures: RunFigures,
    /// The conditions of the run, as far as they are known.
    pub conditions: Conditions,
}

/// The figures of a run.
#[derive(Clone, Copy, Debug, Default, Serialize)]
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

/// The answer to what was asked.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// All that could be explained.
    pub text: String,
    /// The gravest exit code of the results.
    pub exit: Exit,
    /// Why the other files could not be explained.
    pub refused: Vec<String>,
}

/// Explains all files that can be.
///
/// # Errors
/// Of input: no file can be read or none is a result, a promise that is not known.
pub fn answer(args: &ExplainArgs) -> anyhow::Result<Explanation> {
    if args.files.iter().filter(|f| f.as_os_str() == "-").count() > 1 {
        bail!("standard input can be named once only");
    }
    let (mut all, mut refused) = (Vec::new(), Vec::new());
    for file in &args.files {
        let told = content(file).and_then(|bytes| {
            explained_for(file, &bytes, &args.promise, args.needs.fit.as_deref(), !args.json)
                .with_context(|| format!("cannot explain {}", file.display()))
        });
        match told {
            Ok(found) => all.extend(found),
            // One bad file of several hides nothing of the others.
            Err(e) => refused.push(e),
        }
    }
    if all.is_empty()
        && let Some(first) = refused.drain(..).next()
    {
        return Err(first);
    }
    let exit = Exit::gravest(all.iter().map(|told| told.exit));
    let text = if args.json {
        serde_json::to_string_pretty(&all).context("cannot write the explanation as JSON")? + "\n"
    } else {
        explanation_text::all(&all)
    };
    let refused = refused.iter().map(|e| format!("{e:#}")).collect();
    Ok(Explanation { text, exit, refused })
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
    explained_for(file, bytes, &PromiseOptions::default(), None, true)
}

fn content(file: &Path) -> anyhow::Result<Vec<u8>> {
    volproof_base::input::read(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Explains what is in a file.
///
/// # Errors
/// When it is no result, or the promise is not known.
pub fn explained(file: &Path, bytes: &[u8], promise: &PromiseOptions) -> anyhow::Result<Vec<Explained>> {
    explained_for(file, bytes, promise, None, false)
}

/// The same held against the needs of applications; `in_lines` where it becomes a text, in which no name begins a line.
fn explained_for(
    file: &Path,
    bytes: &[u8],
    promise: &PromiseOptions,
    fit: Option<&str>,
    in_lines: bool,
) -> anyhow::Result<Vec<Explained>> {
    // A catalogue that cannot be read is an error, also where no type is named.
    promise.catalogue()?;
    let named = |record: Record| match in_lines.then(|| record.in_lines()) {
        Some(Cow::Owned(copy)) => copy,
        _ => record,
    };
    let reports = match result_file::of_bytes(bytes, file).map_err(without_path)? {
        result_file::Found::Record(record) => {
            return Ok(vec![of_record(file, named(*record), promise, fit)?]);
        }
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
        all.push(of_record(file, named(report.record()), promise, fit)?);
    }
    let left = count.saturating_sub(MOST_REPORTS) as u64;
    if let Some(last) = all.last_mut().filter(|_| left > 0) {
        last.notes.push(format!("left out: {}: give the file in parts", counted(left, "more report")));
        if last.compared.is_some() {
            // What is not read does not count.
            last.exit = Exit::gravest([last.exit, Exit::Inconclusive]);
        }
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

/// Explains a Record.
fn of_record(
    file: &Path,
    mut record: Record,
    promise: &PromiseOptions,
    fit: Option<&str>,
) -> anyhow::Result<Explained> {
    let count = record.report.as_ref().and_then(|r| r.runs).unwrap_or(record.steps.len());
    let left = count.saturating_sub(MOST_RUNS);
    let named = PromiseOptions {
        catalog: promise.catalog.clone().filter(|_| promise.kind.is_some()),
        ..promise.clone()
    };
    promise_options::hold_against(&named, None, &mut record)?;
    promise_options::ask(fit, &mut record)?;
    let (found, verdict) = judge::judged(&record);
    let told = record.steps.iter().take(MOST_RUNS).zip(found);
    let runs = told.map(|(step, diagnosis)| run(&record, step, diagnosis)).collect();
    let not_judged = not_judged(&record, promise, fit);
    Ok(Explained {
        // A promise that nothing was held against is not decided.
        exit: Exit::gravest(
            [judge::exit(&record)].into_iter().chain(not_judged.as_ref().map(|_| Exit::Inconclusive)),
        ),
        not_judged,
        file: file.to_path_buf(),
        form: record.report.as_ref().map(|r| r.form),
        tool: match &record.report {
            Some(report) => report.tool.clone(),
            None => format!("volproof {}", record.volproof_version),
        },
        written: match &record.report {
            Some(report) => report.written_here(),
            None => record.started.as_ref().cloned(),
        },
        partial: match &record.report {
            Some(report) => report.partial.clone(),
            None => record.state.end(),
        },
        notes: notes(&record, left),
        doubts: record.doubts.iter().filter(|w| w.step.is_none()).cloned().collect(),
        promise: record.judged_promise.as_ref().map(workings).unwrap_or_default(),
        compared: record.compared,
        cross_checks: record.cross_checks,
        answer: record.answer,
        runs,
        verdict,
    })
}

/// Why a Record has no verdict on the promise or the needs that the options name. The answer of some suites holds a promise.
fn not_judged(record: &Record, promise: &PromiseOptions, fit: Option<&str>) -> Option<String> {
    let in_answer = match &record.plan.question {
        Some(Question::Suite(suite)) => {
            suites::regards_promise(&suite.name)
                && record.answer.as_ref().is_some_and(|a| a.outcome().is_some())
        }
        _ => false,
    };
    let asked = fit.is_some() || promise.kind.is_some() && !in_answer;
    stored_verdict::why_not_judged(record).filter(|_| asked)
}

fn notes(record: &Record, left: usize) -> Vec<String> {
    let simulated = "SIMULATED: a device in virtual time; nothing was measured of any volume";
    let mut notes = Vec::from_iter(record.is_simulated().then(|| simulated.to_string()));
    let Some(report) = &record.report else {
        if let Some(fleet) = &record.fleet {
            notes.push(format!("the sum of {}", fleet_text::machines(fleet)));
            notes.extend(fleet.steps.iter().map(|s| format!("{}: {}", s.step, fleet_text::window(s))));
        }
        return notes;
    };
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

fn workings(judged_promise: &JudgedPromise) -> Vec<String> {
    let volumes = judged_promise.promise.volumes.iter();
    volumes
        .flat_map(|v| {
            v.level.workings.iter().map(|w| {
                let unit = if w.of == "throughput" { format!(" {}", v.unit.printed) } else { String::new() };
                format!("{}: {} = {}{unit}", w.of, w.text, volproof_base::unit::grouped(w.value as u64))
            })
        })
        .collect()
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
