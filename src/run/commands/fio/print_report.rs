//! fio's report of a run, in each form that was asked for, and where it goes.
//!
//! fio prints JSON first, then text, whatever the order in `--output-format`.

use std::io;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::messages;
use crate::run::Failure;
use fio_formats::command::{Command, Format};
use fio_formats::job::{Given, Job};
use fio_formats::output::{self, Output};
use fio_formats::{json_write, text_write};
use volproof_base::doubt::{Doubt, Severity};
use volproof_base::shell_word::shell_path;
use volproof_base::unit::Nanos;
use volproof_device::output::{MisplacedOutput, OutputFile, OutputKind, screen};
use volproof_fio::help::{MEASURED_BY, SIMULATED_BY, SPOKEN};
use volproof_fio::of_record;
use volproof_fio::plan::Native;
use volproof_fio::support::CommandLimits;
use volproof_host::observe::KernelCounters;
use volproof_record::{Record, StepRecord};

/// So many doubts have a message each.
const DOUBTS: usize = 4;

/// The file that `--output` names, or standard output.
///
/// # Errors
/// The file cannot be written.
pub fn open(command: &Command, force: bool) -> Result<OutputFile, Failure> {
    let path = command.output.as_deref().unwrap_or(Path::new("-"));
    crate::run::output("--output", path, OutputKind::FioReport, force)
}

/// The report in every form that was asked for. A signal that ended the run is named where that is no part of a form that programs read.
pub fn text(command: &Command, native: &Native, report: &Output, signal: Option<usize>) -> String {
    let has = |format| command.formats.contains(&format);
    let mut text = String::new();
    if has(Format::Normal) {
        text += &text_write::before(&announced(command, native));
        text.extend(native.layouts.iter().map(|layout| layout.line() + "\n"));
        text += &signal.map_or(String::new(), terminating);
    }
    if has(Format::JsonPlus) {
        text += &json_write::write(report, true);
    } else if has(Format::Json) {
        text += &json_write::write(report, false);
    }
    if has(Format::Normal) {
        text += &text_write::results(report);
    }
    text
}

/// fio's line on the signal that ends a run.
pub fn terminating(signal: usize) -> String {
    format!("\nfio: terminating on signal {signal}\n")
}

/// Writes the report; whether it is in its place. Else it goes to the temporary folder and to the screen: no figure is lost with it.
pub fn save(to: &mut OutputFile, text: &str) -> bool {
    let text = screen::visible(text);
    let Err(e) = to.save(&|out| out.write_all(text.as_bytes())) else { return true };
    let is_unread = e.kind() == io::ErrorKind::BrokenPipe;
    let lost = MisplacedOutput::save(to.path(), e, &|out| out.write_all(text.as_bytes()));
    // A reader that has gone away may have had all that it wanted (`| head`): its terminal is spared.
    if is_unread && lost.second().is_some() {
        messages::say(&lost.to_string());
    } else {
        messages::say(&format!("{lost}; its text:"));
        screen::say(&text);
    }
    false
}

/// The jobs as they are announced before their results.
fn announced(command: &Command, native: &Native) -> Output {
    Output {
        version: SPOKEN.into(),
        measured_by: Some(measured_by(native)),
        global_options: globals(command),
        jobs: command.jobs.iter().map(announced_job).collect(),
        ..Output::default()
    }
}

/// A job as it is announced before its results.
fn announced_job(job: &Job) -> output::OutputRow {
    output::OutputRow {
        name: job.name.clone(),
        group: job.group,
        members: job.int("numjobs").unwrap_or(1).max(1) as u32,
        options: options(&job.own),
        header: Some(job.header()),
        ..output::OutputRow::default()
    }
}

/// Options as fio repeats them in its JSON.
pub fn options(given: &[Given]) -> Vec<(String, String)> {
    given.iter().map(|g| (g.option.name.to_string(), g.text.clone().unwrap_or_default())).collect()
}

/// Global options of the command: those of its first job stand for all.
pub fn globals(command: &Command) -> Vec<(String, String)> {
    command.jobs.first().map(|job| options(&job.globals)).unwrap_or_default()
}

/// Options that were taken without an effect here, in one line.
pub fn say_noted(limits: &CommandLimits, native: &Native) {
    let mut names: Vec<&str> = Vec::new();
    for name in limits.noted.iter().map(String::as_str).chain(native.notes.iter().map(|n| n.option)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if !names.is_empty() {
        let names = names.join(", ");
        messages::say(&format!("taken, but nothing here depends on it (see docs/fio-compat.md): {names}"));
    }
}

/// The gravest doubts about the result, in few lines.
pub fn say_doubts(record: &Record, saved: Option<&Path>) {
    let told = |w: &&Doubt| w.severity > Severity::Note;
    let mut doubts: Vec<_> = record.doubts.iter().filter(told).collect();
    doubts.sort_by_key(|w| std::cmp::Reverse(w.severity));
    doubts.dedup_by(|a, b| a.message == b.message);
    for doubt in doubts.iter().take(DOUBTS) {
        messages::say(&doubt.message);
    }
    if doubts.len() > DOUBTS {
        let rest = doubts.len() - DOUBTS;
        match saved {
            Some(path) => {
                messages::say(&format!("and {rest} more doubts: volproof show {}", shell_path(path)))
            }
            None => messages::say(&format!("and {rest} more doubts: --record FILE keeps them")),
        }
    }
}

/// Steps of one row of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRow {
    /// Places of its steps in the plan.
    pub steps: Vec<usize>,
    /// The job whose name it has.
    pub first: usize,
    /// The job whose options it shows: fio's last one.
    pub last: usize,
    /// Reporting group.
    pub group: u32,
    /// Jobs and clones in it.
    pub members: u32,
}

/// Rows in order: a job or clone each, or under `group_reporting` all neighbours of one group (`show_run_stats` in fio's stat.c).
pub fn rows(jobs: &[Job], native: &Native) -> Vec<GroupRow> {
    let mut rows: Vec<GroupRow> = Vec::new();
    for (step, member) in native.members.iter().enumerate() {
        let job = &jobs[member.job];
        match rows.last_mut() {
            Some(row) if job.flag("group_reporting") && row.group == job.group => {
                row.steps.push(step);
                row.last = member.job;
                row.members += member.clones;
            }
            _ => rows.push(GroupRow {
                steps: vec![step],
                first: member.job,
                last: member.job,
                group: job.group,
                members: member.clones,
            }),
        }
    }
    rows
}

/// The steps measured until now.
pub struct Seen<'a> {
    /// Steps that have begun.
    pub steps: &'a [StepRecord],
    /// The kernel's counters beside them.
    pub evidence: Vec<&'a KernelCounters>,
    /// Steps that failed, and why.
    pub failed: &'a [(String, String)],
    /// Since the start.
    pub ran: Duration,
}

impl<'a> Seen<'a> {
    /// A Record, so long after the start.
    pub fn all(record: &'a Record, failed: &'a [(String, String)], ran: Duration) -> Seen<'a> {
        let alone = record.steps.iter().map(|s| &s.evidence);
        let evidence = alone.chain(record.together.iter().map(|t| &t.evidence)).collect();
        Seen { steps: &record.steps, evidence, failed, ran }
    }

    fn step(&self, name: &str) -> Option<&'a StepRecord> {
        self.steps.iter().find(|step| step.name == name)
    }
}

/// The name of this program, which says where no volume was measured.
fn measured_by(native: &Native) -> &'static str {
    let simulated = native.plan.steps.iter().any(|step| step.simulate.is_some());
    if simulated { SIMULATED_BY } else { MEASURED_BY }
}

/// The report: steps as the rows of the jobs they stand for.
pub fn output(command: &Command, native: &Native, seen: &Seen<'_>) -> Output {
    let steps = &native.plan.steps;
    let rows = rows(&command.jobs, native).into_iter().map(|row| {
        let part = |i: &usize| Some((&steps[*i], seen.step(&steps[*i].name)?));
        let parts: Vec<_> = row.steps.iter().filter_map(part).collect();
        let about = about(command, native, &row, seen);
        let mut job = of_record::row(&about, &parts);
        job.members = row.members;
        job.pid = Some(std::process::id());
        job
    });
    let ran = Nanos(seen.ran.as_nanos() as u64);
    let output = of_record::report(globals(command), rows.collect(), &seen.evidence, Timestamp::now(), ran);
    let disks = if command.jobs.iter().any(|job| job.flag("disk_util")) { output.disks } else { Vec::new() };
    Output { version: SPOKEN.into(), measured_by: Some(measured_by(native)), disks, ..output }
}

/// The parts of a row that are not measured: fio takes them from the first job of a group, but for the options.
fn about(command: &Command, native: &Native, row: &GroupRow, seen: &Seen<'_>) -> of_record::ReportRow {
    let job = &command.jobs[row.first];
    let error = row.steps.iter().find_map(|i| {
        let (name, why) = seen.failed.iter().find(|(name, _)| *name == native.plan.steps[*i].name)?;
        let done = seen.step(name);
        let number = messages::error_number(why);
        let func = if done.is_some() { "io_u error" } else { "set up" };
        Some((number, format!("func={func}, error={}", messages::error_words(number))))
    });
    of_record::ReportRow {
        name: job.name.clone(),
        group: row.group,
        options: options(&command.jobs[row.last].own),
        description: job.text("description"),
        percentiles: job.floats("percentile_list"),
        clat_percentiles: job.flag("clat_percentiles"),
        lat_percentiles: job.flag("lat_percentiles"),
        continue_on_error: native.plan.continue_on_error,
        error,
    }
}
