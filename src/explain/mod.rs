//! `explain FILE...`: results of fio, of any version and form, and Records of ours, in plain words.
//!
//! For each run: what was tested, the line that matters, whether Little's law holds, what limited it, what is wrong with the
//! test and which test would be right; with a promise, the verdict. Nothing is measured and no target is touched: what a report
//! does not hold is not told. Files are known by their content, not by their name.

mod command;
mod conditions;
mod doubts;
mod hint;
pub mod imported;
mod own;
mod subject;
mod text;
mod together;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;

use crate::diagnose::{self, Diagnosis, Summary};
use crate::fio::output::{Job, Output};
use crate::fio::{json_read, paste, terse, text_read};
use crate::judge::{self, ClaimArgs, VerdictArgs};
use crate::record::{Claimed, CrossCheck, Record, SCHEMA};
use crate::report::verdict as report;
use crate::unit::grouped;
use crate::verdict::{Figures, Verdict};
use crate::warn::{Severity, Warning};
use conditions::Conditions;
pub use doubts::Better;
pub use imported::load;

/// Runs of one file that are told in full, whatever its form; more are counted.
const MOST_RUNS: usize = 64;

/// What to explain.
#[derive(Debug, Clone, clap::Args)]
pub struct ExplainArgs {
    /// Results of fio (text, JSON, terse) or Records; - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// What is promised
    #[command(flatten)]
    pub claim: ClaimArgs,
    /// Writes JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// fio's normal text.
    Text,
    /// fio's JSON or JSON+.
    Json,
    /// fio's terse lines.
    Terse,
    /// A Record of ours.
    Record,
}

/// One report explained.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// The file.
    pub file: PathBuf,
    /// Its form.
    pub form: Form,
    /// Who measured: `fio-2.2.8`.
    pub tool: String,
    /// When, as far as it is known.
    pub written: Option<String>,
    /// Why it is not whole.
    pub partial: Option<String>,
    /// What looked wrong while reading.
    pub notes: Vec<String>,
    /// The runs in it.
    pub runs: Vec<RunExplained>,
    /// Doubts about several runs at once.
    pub doubts: Vec<Warning>,
    /// How two engines compared, in a Record that holds both.
    pub cross_checks: Vec<CrossCheck>,
    /// The verdict, where something is promised.
    pub verdict: Option<Verdict>,
    /// The arithmetic of the promise.
    pub promise: Vec<String>,
}

/// One run explained.
#[derive(Clone, Debug, Serialize)]
pub struct RunExplained {
    /// Its name.
    pub name: String,
    /// Its host, in client mode.
    pub host: Option<String>,
    /// What was tested.
    pub tested: String,
    /// The line that matters.
    pub result: Vec<String>,
    /// Its latencies.
    pub latency: Vec<String>,
    /// Little's law.
    pub little: Option<String>,
    /// The law holds; absent where that cannot be said.
    pub little_holds: Option<bool>,
    /// What limited it.
    pub diagnosis: Diagnosis,
    /// Caps in the catalogue that the rate is at, where nothing is promised.
    pub caps: Vec<String>,
    /// What is wrong with the test.
    pub doubts: Vec<Warning>,
    /// Tests that would be right.
    pub better: Vec<Better>,
    /// Figures for programs and for the table.
    pub figures: RunFigures,
    /// Under which conditions, where fio ran it.
    pub conditions: Option<Conditions>,
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
pub struct Answer {
    /// All that could be explained.
    pub text: String,
    /// A promise was broken.
    pub failed: bool,
    /// Why the other files could not be explained.
    pub refused: Vec<String>,
}

/// Explains all files that can be.
///
/// # Errors
/// Of input: no file can be read or none is a result, a promise that cannot be told.
pub fn answer(args: &ExplainArgs) -> anyhow::Result<Answer> {
    if args.files.iter().filter(|f| f.as_os_str() == "-").count() > 1 {
        bail!("standard input can be named once only");
    }
    let (mut all, mut refused) = (Vec::new(), Vec::new());
    for file in &args.files {
        let told = content(file).and_then(|bytes| {
            explained(file, &bytes, &args.claim).with_context(|| format!("cannot explain {}", file.display()))
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
    let failed = all.iter().any(|e| e.verdict.as_ref().is_some_and(Verdict::failed));
    let text = if args.json {
        serde_json::to_string_pretty(&all).context("cannot write the explanation as JSON")? + "\n"
    } else {
        text::all(&all)
    };
    let refused = refused.iter().map(|e| format!("{e:#}")).collect();
    Ok(Answer { text, failed, refused })
}

/// `verdict FILE` of a report of fio: as [`explained`] judges it, of its figures and at its date. `None` where the file is no such
/// report or no promise is named.
///
/// # Errors
/// Of input: a promise that cannot be told.
pub fn verdict_of_report(args: &VerdictArgs) -> anyhow::Result<Option<(String, bool)>> {
    if args.claim.kind.is_none() {
        return Ok(None);
    }
    let bytes = content(&args.record)?;
    if String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]).contains(SCHEMA) || outputs(&bytes).is_err() {
        return Ok(None);
    }
    let last = explained(&args.record, &bytes, &args.claim)?.pop();
    let Some((verdict, runs)) = last.and_then(|e| Some((e.verdict?, e.runs))) else { return Ok(None) };
    let found: Vec<Diagnosis> = runs.into_iter().map(|r| r.diagnosis).collect();
    let text = if args.json {
        let value = serde_json::json!({ "record": args.record, "verdict": verdict, "diagnoses": found });
        serde_json::to_string_pretty(&value).context("cannot write the verdict as JSON")? + "\n"
    } else {
        report::verdict(&verdict).trim_start().to_string() + &report::findings(&found)
    };
    Ok(Some((text, verdict.failed())))
}

fn content(file: &Path) -> anyhow::Result<Vec<u8>> {
    crate::input::read(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Explains what is in a file.
///
/// # Errors
/// When it is no result, or the promise cannot be told.
pub fn explained(file: &Path, bytes: &[u8], claim: &ClaimArgs) -> anyhow::Result<Vec<Explained>> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    if head.contains(SCHEMA) {
        let text = std::str::from_utf8(bytes).context("a Record is text in UTF-8")?;
        let record = Record::parse(text, file.to_path_buf())?;
        return Ok(vec![own::explained(file, record, claim)?]);
    }
    let text = paste::plain(bytes);
    let mut all: Vec<Explained> = Vec::new();
    let mut room = MOST_RUNS;
    let (mut more_reports, mut more_runs) = (0, 0);
    for (form, outputs) in outputs(&text).map_err(|e| match e.downcast::<json_read::ReadError>() {
        Ok(e) => paste::placed(bytes, e).into(),
        Err(e) => e,
    })? {
        let mut outputs = last_of_each_run(outputs);
        command::attach(&text, &mut outputs);
        for output in outputs {
            if output.jobs.is_empty()
                && let Some(why) = &output.partial
            {
                bail!("{why}: no row is whole, copy the report to its end");
            }
            if room == 0 {
                more_reports += 1;
                more_runs += runs(&output).len();
                continue;
            }
            let told = of_output(file, form, &output, claim, room)?;
            // A report without runs takes room too: a file may hold any number of them.
            room = room.saturating_sub(told.runs.len().max(1));
            all.push(told);
        }
    }
    if let Some(last) = all.last_mut().filter(|_| more_reports > 0) {
        last.notes.push(format!(
            "{} more reports with {} runs follow in the file and are not told: give it in parts",
            grouped(more_reports),
            grouped(more_runs as u64)
        ));
    }
    Ok(all)
}

/// Reports of fio in all forms that are there. JSON comes first, because it says most; a report that is there in several forms
/// (`--output-format=json,normal`) is told once.
fn outputs(bytes: &[u8]) -> anyhow::Result<Vec<(Form, Vec<Output>)>> {
    let json = json_read::read(bytes);
    let text = text_read::read(bytes);
    let mut all: Vec<(Form, Vec<Output>)> = Vec::new();
    let mut told: HashSet<JobTimes> = HashSet::new();
    let mut add = |all: &mut Vec<(Form, Vec<Output>)>, form, found: Vec<Output>| {
        let known = |o: &Output| !o.jobs.is_empty() && o.jobs.iter().all(|j| told.contains(&times(j)));
        let new: Vec<Output> = found.into_iter().filter(|o| !known(o)).collect();
        told.extend(new.iter().flat_map(|o| &o.jobs).map(times));
        if !new.is_empty() {
            all.push((form, new));
        }
    };
    let mut failed = Vec::new();
    match json {
        Ok(found) => add(&mut all, Form::Json, found),
        Err(e) => failed.push(e),
    }
    match text {
        Ok(found) => add(&mut all, Form::Text, found),
        // Around JSON, status lines are all that there is of the text.
        Err(_) if !all.is_empty() => {}
        Err(e) => failed.push(e),
    }
    if let Ok(found) = terse::read(bytes) {
        add(&mut all, Form::Terse, vec![found]);
    }
    // What came nearest to a report says where it fails.
    let placed = failed.into_iter().find(|e| !matches!(e, json_read::ReadError::Nothing { .. }));
    match placed {
        Some(e) if all.is_empty() => return Err(e.into()),
        Some(e) => {
            for output in all.iter_mut().flat_map(|(_, outputs)| outputs) {
                output
                    .partial
                    .get_or_insert_with(|| format!("another report in the file cannot be read: {e}"));
            }
        }
        None if all.is_empty() => {
            bail!("it is no result: neither text, JSON or terse lines of fio nor a Record")
        }
        None => {}
    }
    Ok(all)
}

/// What two forms of one job have in common: its name and its times, which every form tells in milliseconds.
type JobTimes = (String, Vec<u64>);

fn times(job: &Job) -> JobTimes {
    (job.name.clone(), subject::parts(job).iter().map(|(_, s)| s.runtime.0 / 1_000_000).collect())
}

/// Interim reports (`--status-interval`) are left out where the last one of their run is there.
fn last_of_each_run(outputs: Vec<Output>) -> Vec<Output> {
    let mut last: Vec<Output> = Vec::new();
    for output in outputs {
        if last.last().is_some_and(|before| is_interim(before, &output)) {
            last.pop();
        }
        last.push(output);
    }
    last
}

fn is_interim(before: &Output, after: &Output) -> bool {
    let names = |o: &Output| o.jobs.iter().map(|j| (j.name.clone(), j.group)).collect::<Vec<_>>();
    if names(before) != names(after) {
        return false;
    }
    if before.partial.as_ref().is_some_and(|why| why.starts_with("an interim report")) {
        return true;
    }
    let elapsed = |o: &Output| o.jobs.iter().filter_map(|j| j.elapsed).max();
    let (Some(from), Some(to)) = (elapsed(before), elapsed(after)) else { return false };
    let (Some(t0), Some(t1)) = (before.timestamp_ms, after.timestamp_ms) else { return false };
    let same_clock = (t1 as f64 - t0 as f64) / 1000.0 - (to as f64 - from as f64);
    let grew = before.jobs.iter().zip(&after.jobs).all(|(a, b)| {
        subject::moved_ios(a) <= subject::moved_ios(b)
            && subject::parts(a).iter().zip(subject::parts(b)).all(|(a, b)| a.1.runtime <= b.1.runtime)
    });
    to >= from && same_clock.abs() <= 1.5 && grew
}

/// Rows that are one run: members of one job, at the same time.
fn runs(output: &Output) -> Vec<Vec<&Job>> {
    let mut runs: Vec<Vec<&Job>> = Vec::new();
    let mut known: HashMap<(&str, u32), Vec<usize>> = HashMap::new();
    // In client mode the sum of all clients is a row of its own.
    let sum = output.jobs.iter().any(|j| j.host.is_none()) && output.jobs.iter().any(|j| j.host.is_some());
    // A row whose figures cannot be says that much.
    let says = |j: &&Job| subject::moved_ios(j) > 0.0 || !j.impossible.is_empty();
    for job in output.jobs.iter().filter(says) {
        let clone = |other: &&Job| {
            !sum && other.name == job.name
                && other.group == job.group
                && other.header == job.header
                && other.options == job.options
                && (other.host == job.host || job.host.is_some())
        };
        let same = known.entry((job.name.as_str(), job.group)).or_default();
        match same.iter().find(|i| clone(&runs[**i][0])) {
            Some(i) => runs[*i].push(job),
            // Jobs of one name that differ are told apart, a few of them.
            None if same.len() >= MOST_RUNS => runs[same[0]].push(job),
            None => {
                same.push(runs.len());
                runs.push(vec![job]);
            }
        }
    }
    runs
}

/// A run of a report with what was found of it.
struct Told<'a> {
    /// Its rows.
    rows: Vec<&'a Job>,
    /// They as one.
    job: Job,
    conditions: Conditions,
    summary: Summary,
    diagnosis: Diagnosis,
    doubts: Vec<Warning>,
}

/// The runs of a report, so many at most, with their findings and doubts.
fn doubted<'a>(output: &'a Output, claimed: Option<&Claimed>, most: usize) -> Vec<Told<'a>> {
    let found = runs(output);
    let alone = found.len() == 1;
    let tell = |rows: Vec<&'a Job>| {
        let job = subject::merged(&rows);
        let mut conditions = Conditions::of(output, &job);
        conditions.jobs = rows.iter().map(|j| j.members.max(1)).sum();
        let summary = subject::summary(output, &job, &conditions, claimed, alone);
        let diagnosis = diagnose::of_summary(summary.clone());
        let doubts = doubts::of(output, &job, &conditions, &summary);
        Told { rows, job, conditions, summary, diagnosis, doubts }
    };
    found.into_iter().take(most).map(tell).collect()
}

fn of_output(
    file: &Path,
    form: Form,
    output: &Output,
    claim: &ClaimArgs,
    most: usize,
) -> anyhow::Result<Explained> {
    let claimed = claimed(claim, output)?;
    let told = doubted(output, claimed.as_ref(), most);
    let words = claimed.as_ref().map(|c| c.options.clone()).unwrap_or_default();
    let better: Vec<Vec<Better>> = told
        .iter()
        .map(|r| doubts::better(&r.job, &r.conditions, &r.summary, &r.diagnosis, &words))
        .collect();
    let verdict = claimed.as_ref().map(|claimed| verdict(claimed, &told, &better));
    let together = together::doubts(&told);
    let date = output.timestamp_ms.and_then(date);
    let mut notes = output.notes.clone();
    if form == Form::Text && output.version.starts_with("fio-2.") {
        notes.push(
            "KB, MB and GB of fio 2.x are 1024-based; figures here have the units that they name".into(),
        );
    }
    let left = runs(output).len().saturating_sub(told.len());
    if left > 0 {
        notes.push(format!("{} more runs are in it and not told: give it in parts", grouped(left as u64)));
    }
    if told.is_empty() && output.partial.is_none() {
        notes.push("no job moved any data".into());
    }
    let runs = told.into_iter().zip(better).map(|(told, better)| {
        let Told { job, conditions, summary, diagnosis, doubts, .. } = told;
        let caps = match (&claimed, diagnosis.find("throttle")) {
            (None, Some(_)) => hint::caps(&conditions, &summary, date.as_deref()),
            _ => Vec::new(),
        };
        let (little, little_holds) = text::little(&conditions, &summary);
        RunExplained {
            name: job.name.clone(),
            host: job.host.clone(),
            tested: text::tested(&job, &conditions, &summary),
            result: text::result(&job, &summary),
            latency: text::latencies(&job),
            little,
            little_holds,
            figures: figures(&summary),
            diagnosis,
            caps,
            doubts,
            better,
            conditions: Some(conditions),
        }
    });
    Ok(Explained {
        file: file.to_path_buf(),
        form,
        tool: output.version.clone(),
        written: output.timestamp_ms.and_then(date_and_time),
        partial: output.partial.clone(),
        notes,
        runs: runs.collect(),
        doubts: together,
        cross_checks: Vec::new(),
        verdict,
        promise: claimed.as_ref().map(workings).unwrap_or_default(),
    })
}

/// The promise in the edition of the time of the report, unless another was asked for.
fn claimed(claim: &ClaimArgs, output: &Output) -> anyhow::Result<Option<Claimed>> {
    let mut claim = claim.clone();
    let dated = claim.kind.as_ref().is_some_and(|k| k.contains('@'));
    if claim.at.is_none() && !dated {
        claim.at = output.timestamp_ms.and_then(date).filter(|d| d.as_str() > "2000");
    }
    judge::claimed(&claim, None, &[None])
}

fn workings(claimed: &Claimed) -> Vec<String> {
    let volumes = claimed.promise.volumes.iter();
    volumes
        .flat_map(|v| {
            v.level
                .workings
                .iter()
                .map(|w| format!("{}: {} = {}", w.of, w.text, crate::unit::grouped(w.value as u64)))
        })
        .collect()
}

fn verdict(claimed: &Claimed, told: &[Told<'_>], better: &[Vec<Better>]) -> Verdict {
    let steps: Vec<_> = told.iter().map(|r| r.conditions.step()).collect();
    let command = |i: usize, shows: &str| {
        let found = better[i].iter().find(|b| b.shows.contains(shows)).or(better[i].first());
        found.map(|b| b.volproof.clone()).unwrap_or_default()
    };
    let runs: Vec<Figures<'_>> = told
        .iter()
        .zip(&steps)
        .enumerate()
        .filter(|(_, (r, _))| r.conditions.pattern().is_some())
        .map(|(i, (r, step))| {
            let parts = subject::parts(&r.job);
            let samples = parts.first().and_then(|(_, s)| s.bandwidth_samples);
            let one = r.job.members == 1 && parts.len() == 1;
            Figures {
                summary: &r.summary,
                diagnosis: &r.diagnosis,
                step,
                spread: samples
                    .filter(|s| one && s.mean > 0.0)
                    .map(|s| (s.deviation / s.mean, s.samples.unwrap_or_else(|| halves(&r.summary)))),
                blockers: r
                    .doubts
                    .iter()
                    .filter(|d| d.severity == Severity::Blocker)
                    .map(|d| (d.code.clone(), d.message.clone(), d.advice.clone()))
                    .collect(),
                command: command(i, "rate"),
                latency_command: command(i, "latency"),
            }
        })
        .collect();
    Verdict::of_figures(claimed, &runs)
}

/// How many samples fio took, where it does not say: two a second.
fn halves(s: &Summary) -> u64 {
    s.window.map_or(0, |w| (w.as_seconds() * 2.0) as u64)
}

fn figures(s: &Summary) -> RunFigures {
    let at = |share: f64| s.percentiles.iter().find(|p| (p.0 - share).abs() < 1e-9).map(|p| p.1.0);
    RunFigures {
        iops: s.iops,
        bytes_per_second: s.bytes_per_second,
        mean_ns: s.mean_ns,
        p50_ns: at(0.5),
        p99_ns: at(0.99),
        in_flight: s.in_flight,
        seconds: s.window.map(|w| w.as_seconds()),
    }
}

fn date(ms: u64) -> Option<String> {
    date_and_time(ms).map(|t| t[..10].to_string())
}

fn date_and_time(ms: u64) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(i64::try_from(ms).ok()?).ok()?;
    Some(at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string())
}
