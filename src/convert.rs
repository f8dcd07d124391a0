//! `convert FILE --to FORM`: results of volproof and of fio in each other's forms, reports of other tools as Records, and the plans and job files behind them.
//!
//! A conversion that would make something up is refused and says why. Nothing is measured; the input is read and never written.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::result_file::{self, OtherFile, ResultFileError};
use fio_formats::json_read::ReadError;
use fio_formats::output::Output;
use fio_formats::read_report::reports;
use fio_formats::runs::parts;
use fio_formats::{command, jobfile, json_write, paste, text_read, text_write};
use volproof_base::input;
use volproof_base::unit::Bytes;
use volproof_device::output::OutputKind;
use volproof_fio::job_conditions::seems_time_based;
use volproof_fio::of_record;
use volproof_fio::plan::{PathKind, convert};
use volproof_fio::point_files::point_files;
use volproof_fio::support;
use volproof_fio::write_jobs::{self, JobTarget};
use volproof_plan::{Plan, parse_file};
use volproof_readers as foreign;
use volproof_record::{Record, ReportForm};
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
    /// Each point of a sweep as fio's JSON, in the folder of -o: what fio-plot draws.
    FioPlot,
}

impl Form {
    /// What an output in this form holds.
    pub fn output_kind(self) -> OutputKind {
        match self {
            Form::Record => OutputKind::Record,
            Form::Csv => OutputKind::Csv,
            Form::Jobfile => OutputKind::JobFile,
            Form::Plan => OutputKind::PlanFile,
            Form::Json | Form::JsonPlus | Form::Normal | Form::FioPlot => OutputKind::ConvertedReport,
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
    /// Reports of fio.
    Reports(Vec<(ReportForm, Output)>),
    /// A report of this other tool.
    Foreign(String),
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
    /// Reports of fio, one after the other.
    Reports(Vec<Output>, Form),
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
            Converted::Reports(outputs, form) => outputs.iter().try_for_each(|output| match form {
                Form::Normal => text_write::write_to(output, out),
                form => json_write::write_to(output, *form == Form::JsonPlus, out),
            }),
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

/// The files of a sweep's points for fio-plot, by their paths below its folder.
///
/// # Errors
/// When the file cannot be read, or is no Record of a sweep.
pub fn points(file: &Path) -> anyhow::Result<Vec<(PathBuf, Converted)>> {
    let bytes = input::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let record = result_file::one(&bytes, file)?;
    let files = point_files(&record).map_err(anyhow::Error::msg);
    let files = files.with_context(|| format!("{} cannot be converted", file.display()))?;
    let form = |(path, output)| (path, Converted::Reports(vec![output], Form::Json));
    Ok(files.into_iter().map(form).collect())
}

/// The content of a file in its new form.
///
/// # Errors
/// When it is none of the forms, or cannot become the other one.
pub fn of_bytes(bytes: Vec<u8>, args: &ConvertArgs) -> anyhow::Result<Converted> {
    if bytes.trim_ascii().is_empty() {
        bail!("{} {}", args.file.display(), OtherFile::Empty.words(&args.file));
    }
    let source = source(&bytes, args)?;
    drop(bytes);
    become_form(source, args.to).with_context(|| format!("{} cannot be converted", args.file.display()))
}

/// Reads only what the new form needs: a report that becomes a Record is not kept beside it.
fn source(bytes: &[u8], args: &ConvertArgs) -> anyhow::Result<ConvertSource> {
    let path = &args.file;
    if matches!(args.to, Form::Record | Form::Csv) {
        match result_file::only(bytes, path) {
            Ok(record) => return Ok(ConvertSource::Record(Box::new(record))),
            Err(ResultFileError::NoResult {
                holds: OtherFile::Text | OtherFile::Command | OtherFile::JobFile,
                ..
            }) => {}
            Err(e) => return Err(e.into()),
        }
    } else if let Some(source) = result(bytes, path)? {
        return Ok(source);
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

/// The result in a file, as it is; absent where the file holds none.
fn result(bytes: &[u8], path: &Path) -> anyhow::Result<Option<ConvertSource>> {
    if let Some(record) = result_file::stored(bytes, path)? {
        return Ok(Some(ConvertSource::Record(Box::new(record))));
    }
    let plain = paste::plain(bytes);
    if result_file::is_binary(&plain) {
        bail!("{} {}", path.display(), OtherFile::Binary.words(path));
    }
    let foreign = foreign::reports(&plain).reports;
    match reports(&plain) {
        Ok(found) if !foreign.is_empty() => {
            let count = found.len() + foreign.len();
            return Err(ResultFileError::Several { path: path.to_path_buf(), count }.into());
        }
        Ok(found) => return Ok(Some(ConvertSource::Reports(found))),
        Err(ReadError::Nothing { .. }) => {}
        Err(e) => return Err(paste::placed(bytes, e)).with_context(|| path.display().to_string()),
    }
    Ok(foreign.into_iter().next_back().map(|report| ConvertSource::Foreign(report.tool)))
}

fn become_form(source: ConvertSource, to: Form) -> anyhow::Result<Converted> {
    if let ConvertSource::Record(record) = &source
        && record.report.is_some()
        && !matches!(to, Form::Record | Form::Csv)
    {
        bail!("it was made from a report, and holds less than that did: convert the report itself")
    }
    if let ConvertSource::Reports(reports) = &source
        && let Some(why) = reports.iter().find_map(|(form, output)| why_untrue(to, *form, output))
    {
        bail!("{why}: it becomes a record")
    }
    let text = match (to, source) {
        (Form::FioPlot, _) => bail!("fio-plot reads a folder: name one with -o FOLDER"),
        (_, ConvertSource::Foreign(tool)) => {
            bail!("a report of {tool} says too little for that: it becomes a record or csv")
        }
        (Form::Jobfile, ConvertSource::Jobs(text)) => text,
        (Form::Jobfile, ConvertSource::Reports(reports)) => job_file(&outputs(reports))?,
        (Form::Jobfile, ConvertSource::Record(record)) => record_as_jobs(&record)?,
        (Form::Jobfile, ConvertSource::Plan(plan)) => plan_as_jobs(&plan)?,
        (Form::Plan, ConvertSource::Plan(plan)) => plan_toml(&plan),
        (Form::Plan, ConvertSource::Record(record)) => plan_toml(&record.plan),
        (Form::Plan, ConvertSource::Reports(reports)) => {
            let jobs = job_file(&outputs(reports))?;
            // What was inferred is said in the plan too.
            let said: String =
                jobs.lines().filter(|l| l.starts_with('#')).map(|l| l.to_string() + "\n").collect();
            said + &jobs_as_plan(&jobs)?
        }
        (Form::Plan, ConvertSource::Jobs(text)) => jobs_as_plan(&text)?,
        (_, ConvertSource::Plan(_) | ConvertSource::Jobs(_)) => {
            bail!(
                "it says what is to be done and holds no result: run it first, with volproof run --plan or volproof fio"
            )
        }
        (Form::Csv, ConvertSource::Record(record)) => csv::csv(&record),
        (Form::Record, ConvertSource::Record(record)) => return Ok(Converted::Record(record)),
        (form, ConvertSource::Reports(reports)) => {
            return Ok(Converted::Reports(outputs(reports), form));
        }
        (form, ConvertSource::Record(record)) => {
            return Ok(Converted::Reports(vec![of_record::of_record(&record)], form));
        }
    };
    Ok(Converted::Text(if to == Form::Plan { format!("{PLAN_MARK}\n{text}") } else { text }))
}

fn outputs(reports: Vec<(ReportForm, Output)>) -> Vec<Output> {
    reports.into_iter().map(|(_, output)| output).collect()
}

/// Why a report would say something else in a form than it says itself; none where it is the same.
fn why_untrue(to: Form, told: ReportForm, output: &Output) -> Option<String> {
    let as_json = matches!(to, Form::Json | Form::JsonPlus);
    let as_result = as_json || to == Form::Normal;
    let uncounted = || {
        let mut moved = output.jobs.iter().flat_map(parts);
        moved.any(|stats| stats.ios.is_none())
    };
    if let Some(why) = output.partial.as_ref().filter(|why| *why != text_read::INTERIM) {
        return Some(format!("the report is not whole ({why}), and in that form it would seem to be"));
    }
    if let Some(figure) = output.jobs.iter().flat_map(|job| &job.impossible).next().filter(|_| as_result) {
        return Some(format!("it holds a figure that cannot be ({figure}), which that form would leave out"));
    }
    if told == ReportForm::Terse && as_result {
        return Some("terse lines have no number of jobs and no count of I/Os, which that form needs".into());
    }
    if told == ReportForm::Text && as_json {
        return Some("fio's text rounds its figures, and its JSON has exact ones".into());
    }
    if to == Form::Normal && uncounted() {
        return Some("the report does not count its I/Os, which fio's text does".into());
    }
    None
}

/// The options of a report as the job file they came from; the clones of a job are one section.
fn job_file(outputs: &[Output]) -> anyhow::Result<String> {
    let output = outputs.last().context("it holds no report")?;
    let same = |other: &Output| {
        other.global_options == output.global_options
            && other.jobs.len() == output.jobs.len()
            && other.jobs.iter().zip(&output.jobs).all(|(a, b)| a.name == b.name && a.options == b.options)
    };
    if !outputs.iter().all(same) {
        bail!("it holds {} reports of several job files: give one at a time", outputs.len());
    }
    if output.jobs.iter().all(|j| j.options.is_empty()) {
        bail!(
            "the report does not carry the options of its jobs (fio's text, terse lines and JSON before 2.3 do not)"
        );
    }
    let mut text = String::new();
    let mut section = |name: &str, options: &[(String, String)]| {
        let options = options.iter().filter(|(o, _)| o != "name").map(|(o, v)| (o.as_str(), v.as_str()));
        write_jobs::write_section(&mut text, name, options).map_err(anyhow::Error::msg)
    };
    if !output.global_options.is_empty() {
        section("global", &output.global_options)?;
    }
    let mut inferred = Vec::new();
    let mut last = None;
    let mut group = None;
    for job in &output.jobs {
        let this = (&job.name, &job.options);
        if last.replace(this) == Some(this) || job.name == "All clients" {
            continue;
        }
        // fio keeps no word of options without a value, and stonewall is mostly given without one.
        let mut options = job.options.clone();
        let waits = ["stonewall", "wait_for_previous", "new_group"];
        let silent = group.is_some_and(|g| g != job.group)
            && !options.iter().any(|(o, _)| waits.contains(&o.as_str()));
        if silent {
            options.push(("stonewall".into(), String::new()));
        }
        group = Some(job.group);
        if seems_time_based(job, output) {
            options.push(("time_based".into(), "1".into()));
            inferred.push(job.name.as_str());
        }
        section(&job.name, &options)?;
    }
    let said = inferred.iter().map(|name| {
        format!("# {name}: time_based is inferred (fio does not list flags): it ran for its time, not for its size\n")
    });
    Ok(said.collect::<String>() + text.trim_start())
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
