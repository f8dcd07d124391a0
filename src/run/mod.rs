//! The pipeline, one function per subcommand; the only module that knows the order of steps.
//!
//! Everything that can be wrong with the input is found before the first side effect; every side effect comes after the
//! Clearance; the Record is written after every step. Nothing here measures or judges. Front ends are here, and the work they share
//! is in [`pipeline`].

pub mod fio;
mod measure;
mod million;
pub mod pipeline;
mod plans;
mod ready;
mod stage;
mod targets;
mod tuning;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use clap::CommandFactory;

use crate::check;
use crate::cli::{Cli, Command, OutputArgs, OverwriteMode, PlanArgs, ReportArgs, RunArgs, ShowArgs};
use crate::convert;
use crate::crosscheck;
use crate::device::Root;
use crate::engine::Timer;
use crate::explain;
use crate::guard::GuardError;
use crate::judge::{self, ClaimArgs};
use crate::machine;
use crate::plan::{PRESETS, Plan, Preset};
use crate::promise;
use crate::record::{Record, State};
use crate::report::{html, text};
use crate::tune::{Places, TuneError};
use crate::ui::Ui;
use crate::unit::Bytes;
use pipeline::{Ended, Front, Job, Options};

/// A command that did not succeed: its message and exit code.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// The exit code of the contract in the help text.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }

    fn input(message: impl std::fmt::Display) -> Failure {
        Failure { code: 2, message: message.to_string() }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.message.is_empty() { Ok(()) } else { writeln!(f, "volproof: {}", self.message) }
    }
}

impl From<anyhow::Error> for Failure {
    /// Errors of the run itself, as opposed to its input.
    fn from(e: anyhow::Error) -> Failure {
        Failure { code: 1, message: format!("{e:#}") }
    }
}

impl From<GuardError> for Failure {
    fn from(e: GuardError) -> Failure {
        let code = if matches!(e, GuardError::Refused(_)) { 3 } else { 2 };
        Failure { code, message: e.to_string() }
    }
}

/// Runs a subcommand.
///
/// # Errors
/// With the message and exit code for the caller to print and return.
pub fn main(command: Command) -> Result<ExitCode, Failure> {
    let places = Places::system();
    if !matches!(command, Command::Restore(_)) {
        // Nowhere else to say it; the subcommand goes on.
        let _ = std::io::stderr().write_all(machine::recover(&places).as_bytes());
    }
    match command {
        Command::Run(args) => run(&args),
        Command::Million(args) => million::main(&args),
        Command::Plan(args) => plan(&args),
        Command::Check(args) => {
            let answer =
                check::answer(&args, &Root::system()).map_err(|e| Failure::input(format!("{e:#}")))?;
            let printed = print(&answer.text)?;
            Ok(if answer.ready { printed } else { ExitCode::from(3) })
        }
        Command::Show(args) => show(&args),
        Command::Report(args) => report(&args),
        Command::Verdict(args) => {
            let input = |e: anyhow::Error| Failure::input(format!("{e:#}"));
            let (text, failed) = match explain::verdict_of_report(&args).map_err(input)? {
                Some(judged) => judged,
                None => judge::answer(&args).map_err(input)?,
            };
            print(&text)?;
            Ok(ExitCode::from(u8::from(failed)))
        }
        Command::Convert(args) => {
            let text = convert::answer(&args).map_err(|e| Failure::input(format!("{e:#}")))?;
            match args.output.as_deref().filter(|p| *p != Path::new("-")) {
                None => print(&text),
                Some(path) => {
                    writable(path, "-o")?;
                    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
                    Ok(ExitCode::SUCCESS)
                }
            }
        }
        Command::Explain(args) => {
            let told = explain::answer(&args).map_err(|e| Failure::input(format!("{e:#}")))?;
            print(&told.text)?;
            match told.refused.is_empty() {
                true => Ok(ExitCode::from(u8::from(told.failed))),
                false => Err(Failure::input(told.refused.join("\nvolproof: "))),
            }
        }
        Command::Fio { arguments } => fio::main(&arguments),
        Command::Presets => {
            let width = PRESETS.iter().map(|p| p.name.len()).max().unwrap_or(0);
            let line = |p: &Preset| text::wrap(&format!("{:width$}  ", p.name), p.about);
            print(&PRESETS.iter().map(line).collect::<String>())
        }
        Command::Promise(args) => {
            print(&promise::answer(&args).map_err(|e| Failure::input(format!("{e:#}")))?)
        }
        Command::Topo(args) => coded(machine::topo(&args, &places.root)),
        Command::Tune(args) => {
            let seen = signals()?;
            let stop = || seen.load(Ordering::Relaxed) > 0;
            // What is tuned is put back even when nobody reads on.
            let mut say = |text: &str| drop(print(text));
            coded(machine::tune(&args, &places, &stop, &mut say).map(|code| (String::new(), code)))
        }
        Command::Restore(args) => coded(machine::restore(&args, &places)),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "volproof", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
    }
}

/// Prints an answer that carries its exit code. A device that another run holds is refused like one in use.
fn coded(answer: anyhow::Result<(String, u8)>) -> Result<ExitCode, Failure> {
    let (text, code) = answer.map_err(|e| {
        let busy = matches!(e.downcast_ref(), Some(TuneError::Busy { .. }));
        Failure { code: if busy { 3 } else { 2 }, message: format!("{e:#}") }
    })?;
    print(&text)?;
    Ok(ExitCode::from(code))
}

/// Writes results; a reader that has gone away (`| head`) is no error.
fn print(text: &str) -> Result<ExitCode, Failure> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure { code: 1, message: format!("standard output: {e}") })
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn plan(args: &PlanArgs) -> Result<ExitCode, Failure> {
    let root = Root::system();
    let plan = plans::from_args(args)?;
    let surveyed = targets::survey(&root, &plan, &Options::default())?;
    let fill: u64 = surveyed.iter().filter_map(|t| t.make).map(|b| b.0).sum();
    let named: Vec<_> = surveyed.iter().map(|t| (t.describe(), t.size)).collect();
    // What a volume of 100 MiB/s would be written: the reader's own volume scales it.
    let writing: f64 = plan
        .steps
        .iter()
        .filter(|s| s.rw.changes_data())
        .map(|s| (s.ramp.0 + s.runtime.0) as f64 / 1e9)
        .sum();
    let writes = Bytes((writing * 100.0 * Bytes::MIB.0 as f64) as u64 * surveyed.len().max(1) as u64);
    print(&text::plan(&plan, &named, writes, (fill > 0).then_some(Bytes(fill))))
}

fn show(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let record = explain::load(&args.record).map_err(Failure::input)?;
    print(&if args.csv { text::csv(&record) } else { shown(&record) })
}

/// A Record as text. Runs that were made to compare tools are no test of the volume.
fn shown(record: &Record) -> String {
    let judged = if record.cross_checks.is_empty() { judge::text(record) } else { String::new() };
    text::record(record) + &judged
}

fn report(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let path = match &args.output {
        Some(path) => path.clone(),
        None => PathBuf::from(args.record.with_extension("html").file_name().unwrap_or_default()),
    };
    if path != Path::new("-") {
        writable(&path, "-o")?;
        let itself = path.canonicalize().is_ok_and(|p| args.record.canonicalize().is_ok_and(|r| p == r));
        if itself {
            return Err(Failure::input(format!(
                "{} is the Record itself; name another file with -o",
                path.display()
            )));
        }
    }
    let record = explain::load(&args.record).map_err(Failure::input)?;
    write_page(&record, &path)?;
    if path == Path::new("-") { Ok(ExitCode::SUCCESS) } else { print(&format!("Page: {}\n", path.display())) }
}

/// Writes the page of a Record.
fn write_page(record: &Record, path: &Path) -> Result<(), Failure> {
    let page = html::page(record).context("writing the page")?;
    if path == Path::new("-") {
        print(&page)?;
        return Ok(());
    }
    std::fs::write(path, page).with_context(|| format!("writing {}", path.display())).map_err(Failure::from)
}

/// SIGINT, SIGTERM and SIGHUP as a count: the first ends the load, the second also the waiting for it.
fn signals() -> anyhow::Result<Arc<AtomicUsize>> {
    let seen = Arc::new(AtomicUsize::new(0));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        let count = seen.clone();
        let action = move || {
            count.fetch_add(1, Ordering::Relaxed);
        };
        // SAFETY: the action only adds to an atomic, which is safe in a signal handler.
        unsafe { signal_hook::low_level::register(signal, action) }.context("installing signal handlers")?;
    }
    Ok(seen)
}

/// Where the Record goes: known, and known to be writable, before anything is done.
fn record_path(args: &OutputArgs) -> Result<Option<PathBuf>, Failure> {
    let path = match &args.json {
        Some(p) if p == Path::new("-") => return Ok(None),
        Some(p) => p.clone(),
        None => {
            let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
            PathBuf::from(format!("volproof-{now}.json"))
        }
    };
    writable(&path, "--json")?;
    Ok(Some(path))
}

/// Refuses an output file whose folder cannot be written to.
fn writable(path: &Path, option: &str) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(p) if p != Path::new("") => p,
        _ => Path::new("."),
    };
    let bad = |e: &dyn std::fmt::Display| {
        Failure::input(format!("{} cannot be written: {e}; name another file with {option}", path.display()))
    };
    if path.is_dir() {
        return Err(bad(&"it is a folder"));
    }
    if !folder.is_dir() {
        return Err(bad(&format!("there is no folder {}", folder.display())));
    }
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).map_err(|e| bad(&e))
}

fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let options = Options {
        destroy: args.what.destroy.clone(),
        overwrite_shared: args.what.overwrite == Some(OverwriteMode::Shared),
        tune: args.tune,
        until_conclusive: args.until_conclusive,
        ..Options::default()
    };
    let plan = plans::from_args(&args.what)?;
    let cross = args.cross_check.map(|pairs| Cross { pairs, runtime: args.what.step.runtime.is_some() });
    measure_and_publish(plan, options, &args.claim, &args.output, cross, "")?.code()
}

/// Every step by both tools, in turn.
struct Cross {
    pairs: u32,
    /// The length of a run was asked for.
    runtime: bool,
}

/// Runs a plan and puts its results where they were asked for. The foreword is printed when nothing is wrong with the input.
fn measure_and_publish(
    asked: Plan,
    options: Options,
    claim: &ClaimArgs,
    output: &OutputArgs,
    cross: Option<Cross>,
    foreword: &str,
) -> Result<Ended, Failure> {
    let root = Root::system();
    let timer = Timer::choose(Path::new("/"));
    let plan = match &cross {
        Some(cross) => crosscheck::alternating(&asked, cross.pairs, cross.runtime),
        None => asked.clone(),
    };
    let job = Job::survey(root.clone(), plan, options)?;
    let claimed = judge::claimed(claim, Some(&root), &job.disk_sizes())
        .map_err(|e| Failure::input(format!("{e:#}")))?;
    let record_path = record_path(output)?;
    for (path, option) in [(&output.csv, "--csv"), (&output.html, "--html")] {
        if let Some(path) = path.as_deref().filter(|p| *p != Path::new("-")) {
            writable(path, option)?;
        }
    }
    if !foreword.is_empty() && !output.quiet && !output.takes_stdout() {
        print(foreword)?;
    }
    let interrupts = signals()?;
    let mut front = Saving { ui: Ui::new(output.quiet), path: record_path.as_deref() };
    let mut ended = job.promised(claimed).run(&timer, &interrupts, &mut front);
    if let Some(cross) = &cross {
        ended.record.cross_checks = crosscheck::compare(&ended.record, &asked, cross.pairs);
    }
    publish(output, &ended.record, record_path.as_deref(), &ended.kept, &front.ui)?;
    Ok(ended)
}

/// `run` itself: the Record is saved whenever it grew.
struct Saving<'a> {
    ui: Ui,
    path: Option<&'a Path>,
}

impl Front for Saving<'_> {
    fn ui(&mut self) -> &mut Ui {
        &mut self.ui
    }

    fn measured(&mut self, record: &Record) -> Result<(), Failure> {
        if let Some(path) = self.path {
            record.save(path).with_context(|| format!("saving the Record to {}", path.display()))?;
        }
        Ok(())
    }
}

/// Saves and prints a Record.
fn publish(
    args: &OutputArgs,
    record: &Record,
    path: Option<&Path>,
    kept: &[PathBuf],
    ui: &Ui,
) -> Result<(), Failure> {
    if record.steps.is_empty() && record.state != State::Complete {
        return Ok(()); // Nothing was measured: an empty Record helps nobody.
    }
    match path {
        Some(path) => {
            record.save(path).with_context(|| format!("saving the Record to {}", path.display()))?
        }
        None => {
            let json = serde_json::to_string(record).context("writing the Record as JSON")?;
            print(&format!("{json}\n"))?;
        }
    }
    match args.csv.as_deref() {
        Some(p) if p == Path::new("-") => {
            print(&text::csv(record))?;
        }
        Some(p) => {
            std::fs::write(p, text::csv(record)).with_context(|| format!("writing {}", p.display()))?
        }
        None => {}
    }
    if let Some(path) = &args.html {
        write_page(record, path)?;
    }
    let stdout_taken =
        path.is_none() || [&args.csv, &args.html].iter().any(|o| o.as_deref() == Some(Path::new("-")));
    if !args.quiet && !stdout_taken {
        print(&(shown(record)))?;
    }
    for file in kept {
        ui.say(&format!("\nThe test file stays: {}", file.display()));
    }
    if let Some(path) = path {
        ui.say(&format!("\nRecord: {0}\n  print it again: volproof show {0}", path.display()));
    }
    Ok(())
}
