//! `convert FILE --to FORM`: Records in fio's forms, reports of other tools as Records, and the plans and job files behind Records.
//!
//! A conversion that would make something up is refused and says why. Nothing is measured; the input is read and never written.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::result_file::{self, OtherFile, ResultFileError};
use fio_formats::output::Output;
use fio_formats::{command, jobfile, json_write, text_write};
use volproof_base::input;
use volproof_base::unit::Bytes;
use volproof_device::output::OutputKind;
use volproof_fio::of_record;
use volproof_fio::plan::{PathKind, convert};
use volproof_fio::support;
use volproof_fio::write_jobs::{self, JobTarget};
use volproof_plan::{Plan, parse_file};
use volproof_record::Record;
use volproof_report::csv;
use volproof_report::html::repeat::plan_toml;

/// The first line of a plan file that `convert` writes.
const PLAN_MARK: &str = "# made by volproof convert";

/// A form that a file can take.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A Record of volproof.
    Record,
    /// fio's JSON.
    Json,
    /// The same with histograms.
    #[value(name = "json+")]
    JsonPlus,
    /// volproof's table of comma-separated values.
    Csv,
    /// fio's text.
    Normal,
    /// A job file for fio.
    Jobfile,
    /// A plan file for `volproof run --plan`.
    Plan,
}

impl Form {
    /// What an output in this form holds.
    pub fn output_kind(self) -> OutputKind {
        match self {
            Form::Record => OutputKind::Record,
            Form::Csv => OutputKind::Csv,
            Form::Jobfile => OutputKind::JobFile,
            Form::Plan => OutputKind::PlanFile,
            Form::Json | Form::JsonPlus | Form::Normal => OutputKind::ConvertedReport,
        }
    }
}

/// Which file, and what it becomes.
#[derive(clap::Args, Clone, Debug)]
pub struct ConvertArgs {
    /// A Record, a report of fio or another tool, a plan file or a job file; - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Its new form
    #[arg(long, value_name = "FORM")]
    pub to: Form,
    /// Where it goes [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace a file that holds something else
    #[arg(long, requires = "output")]
    pub force: bool,
}

/// The content of an input file.
enum ConvertSource {
    /// A Record, or the one that a report becomes.
    Record(Box<Record>),
    Plan(Box<Plan>),
    /// Text of a job file.
    Jobs(String),
}

/// A file in its new form. Results become text while they are written, since they may be long.
pub enum Converted {
    /// The text itself.
    Text(String),
    /// A Record, as JSON.
    Record(Box<Record>),
    /// A Record as fio would report it, in one of fio's forms.
    Report(Box<Output>, Form),
}

impl Converted {
    /// Writes the text.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        match self {
            Converted::Text(text) => out.write_all(text.as_bytes()),
            Converted::Record(record) => record.write(out),
            Converted::Report(output, Form::Normal) => text_write::write_to(output, out),
            Converted::Report(output, form) => json_write::write_to(output, *form == Form::JsonPlus, out),
        }
    }
}

/// The file in its new form.
///
/// # Errors
/// When the file cannot be read, is none of the forms, or cannot become the other one.
pub fn answer(args: &ConvertArgs) -> anyhow::Result<Converted> {
    let bytes = input::read(&args.file).with_context(|| format!("cannot read {}", args.file.display()))?;
    of_bytes(bytes, args)
}

/// The content of a file in its new form.
///
/// # Errors
/// When it is none of the forms, or cannot become the other one.
pub fn of_bytes(bytes: Vec<u8>, args: &ConvertArgs) -> anyhow::Result<Converted> {
    if bytes.trim_ascii().is_empty() {
        bail!("{} {}", args.file.display(), OtherFile::Empty.words(&args.file));
    }
    let source = source(&bytes, &args.file)?;
    drop(bytes);
    become_form(source, args.to).with_context(|| format!("{} cannot be converted", args.file.display()))
}

fn source(bytes: &[u8], path: &Path) -> anyhow::Result<ConvertSource> {
    match result_file::only(bytes, path) {
        Ok(record) => return Ok(ConvertSource::Record(Box::new(record))),
        Err(ResultFileError::NoResult {
            holds: OtherFile::Text | OtherFile::Command | OtherFile::JobFile,
            ..
        }) => {}
        Err(e) => return Err(e.into()),
    }
    let most = input::LONGEST_SETTINGS;
    if bytes.len() as u64 > most.0 {
        bail!("{} is no result, and a plan or job file is not longer than {most}", path.display());
    }
    let text = String::from_utf8_lossy(bytes);
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let toml = parse_file(&text, &name);
    if let Ok(plan) = toml {
        if plan.is_none() {
            bail!("{} holds neither a result nor a step of a plan", path.display());
        }
        return Ok(ConvertSource::Plan(Box::new(plan)));
    }
    if text.contains("[[") {
        return Err(toml.expect_err("it was not read")).with_context(|| path.display().to_string());
    }
    jobs(&text)?;
    Ok(ConvertSource::Jobs(text.into_owned()))
}

fn become_form(source: ConvertSource, to: Form) -> anyhow::Result<Converted> {
    if let ConvertSource::Record(record) = &source
        && let Some(report) = &record.report
        && !matches!(to, Form::Record | Form::Csv)
    {
        bail!("it is a report of {}, which becomes a record or csv", report.tool)
    }
    let text = match (to, source) {
        (Form::Jobfile, ConvertSource::Jobs(text)) => text,
        (Form::Jobfile, ConvertSource::Record(record)) => record_as_jobs(&record)?,
        (Form::Jobfile, ConvertSource::Plan(plan)) => plan_as_jobs(&plan)?,
        (Form::Plan, ConvertSource::Plan(plan)) => plan_toml(&plan),
        (Form::Plan, ConvertSource::Record(record)) => plan_toml(&record.plan),
        (Form::Plan, ConvertSource::Jobs(text)) => jobs_as_plan(&text)?,
        (_, ConvertSource::Plan(_) | ConvertSource::Jobs(_)) => {
            bail!(
                "it says what is to be done and holds no result: run it first, with volproof run --plan or volproof fio"
            )
        }
        (Form::Csv, ConvertSource::Record(record)) => csv::csv(&record),
        (Form::Record, ConvertSource::Record(record)) => return Ok(Converted::Record(record)),
        (form, ConvertSource::Record(record)) => {
            return Ok(Converted::Report(Box::new(of_record::of_record(&record)), form));
        }
    };
    Ok(Converted::Text(if to == Form::Plan { format!("{PLAN_MARK}\n{text}") } else { text }))
}

fn jobs(text: &str) -> anyhow::Result<command::Command> {
    jobfile::jobs(text).map_err(|mistakes| {
        let lines: Vec<_> = mistakes.iter().map(|m| m.to_string()).collect();
        anyhow::anyhow!("it is neither a result nor a plan nor a job file: {}", lines.join("; "))
    })
}

/// The plan that volproof makes of fio's jobs. Files are taken to be there; what depends on the size of a device cannot be known here.
fn jobs_as_plan(text: &str) -> anyhow::Result<String> {
    let command = jobs(text)?;
    if let Some((option, why)) = support::of_command(&command)?.needs_fio.first() {
        bail!("only fio itself can run it: {option}: {why}");
    }
    let relative = |line: &str| line.split_once('=').is_some_and(|(_, v)| v.trim_end().ends_with('%'));
    if let Some(line) = text.lines().find(|l| relative(l) && (l.contains("size") || l.contains("offset"))) {
        bail!("'{}' depends on the target: give it in bytes", line.trim());
    }
    let look = |path: &Path| {
        if path.starts_with("/dev") { PathKind::Block(Bytes::GIB) } else { PathKind::Missing }
    };
    match convert(&command.jobs, &look, 0) {
        Ok(native) => Ok(plan_toml(&native.plan)),
        Err(obstacles) => {
            let lines: Vec<_> =
                obstacles.iter().map(|o| format!("{} of job {}: {}", o.option, o.job, o.why)).collect();
            bail!("only fio itself can run it: {}", lines.join("; "))
        }
    }
}

/// The plan of a Record for fio, on the files that were driven: a folder that was named had a test file in it, which fio makes anew.
fn record_as_jobs(record: &Record) -> anyhow::Result<String> {
    let driven =
        |named: &PathBuf| record.targets.iter().find(|t| t.named == *named).filter(|t| t.path != t.named);
    let mut plan = record.plan.as_given().into_owned();
    let steps = plan.steps.iter_mut().flat_map(|step| &mut step.targets);
    for named in plan.targets.iter_mut().chain(steps) {
        if let Some(target) = driven(named) {
            named.clone_from(&target.path);
        }
    }
    let made = |path: &PathBuf| {
        record.targets.iter().find(|t| t.path == *path && t.filled_in_ns.is_some()).map(|t| t.size_bytes)
    };
    for i in 0..plan.steps.len() {
        let sizes: Option<Vec<Bytes>> = plan.targets_of(&plan.steps[i]).iter().map(made).collect();
        let step = &mut plan.steps[i];
        if let (None, None, Some(size)) =
            (step.size, step.offset_increment, sizes.and_then(|s| s.into_iter().min()))
        {
            step.size = Some(Bytes(size.0.saturating_sub(step.offset.0)));
        }
    }
    let place = |t: &PathBuf| JobTarget { path: t.display().to_string(), size: made(t) };
    let places: Vec<JobTarget> = plan.targets.iter().map(place).collect();
    Ok(write_jobs::job_file(&plan, &places)?)
}

/// A plan for fio: each step a section that waits as the plan says.
fn plan_as_jobs(plan: &Plan) -> anyhow::Result<String> {
    if let Some(folder) = plan.targets.iter().find(|t| t.is_dir()) {
        bail!("its target {} is a folder, and fio needs a file: name one in the plan", folder.display());
    }
    let place = |t: &PathBuf| JobTarget { path: t.display().to_string(), size: None };
    let places: Vec<JobTarget> = plan.targets.iter().map(place).collect();
    Ok(write_jobs::job_file(plan, &places)?)
}
