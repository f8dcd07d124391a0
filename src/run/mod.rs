//! The pipeline, one function per subcommand; the only module that knows the order of steps.
//!
//! Everything that can be wrong with the input is found before the first side effect; every side effect comes after the
//! Clearance; the Record is written after every step. Nothing here measures or judges. Front ends are here, and the work they share
//! is in [`pipeline`].

mod course_commands;
mod end_signals;
pub mod fio;
mod fit_run;
mod fleet_gather;
mod fleet_run;
mod fleet_start;
mod leftover;
mod lint_run;
mod measurement;
mod million;
#[cfg(feature = "mpi")]
mod mpi_exchange;
mod open_targets;
pub mod pipeline;
mod plans;
mod preconditioning;
mod results;
mod resume;
mod shell_completions;
mod stage;
mod targets;
#[cfg(test)]
mod tests;
mod tuning;

use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use crate::check;
use crate::cli::{CliCommand, MergeArgs, ReportArgs, RunArgs, SheetArgs, ShowArgs};
use crate::convert::{self, ConvertArgs, Form};
use crate::device::Root;
use crate::engine::Headrooms;
use crate::exit::Exit;
use crate::explain;
use crate::fit::AskedFits;
use crate::guard::{self, GuardError};
use crate::machine;
use crate::merge;
use crate::output::{self, Content, FileIdentity, OutputFile, screen};
use crate::plan::{PRESETS, Plan};
use crate::promise;
use crate::record::Claimed;
use crate::report::headline::Headline;
use crate::report::{csv, html, layout, plan_text, summary_text};
use crate::result_file;
use crate::tune::{Places, TuneError};
use crate::unit::{Bytes, Nanos};
use crate::verdict_command;
use measurement::{Cross, Measurement, Words};
use pipeline::Options;
use results::StoredSheets;

/// A command that did not succeed: its message and exit code.
#[derive(Clone, Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }

    fn new(exit: Exit, message: impl std::fmt::Display) -> Failure {
        Failure { code: exit.code(), message: message.to_string() }
    }

    fn input(message: impl std::fmt::Display) -> Failure {
        Failure::new(Exit::WrongInput, message)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.message.is_empty() {
            return Ok(());
        }
        write!(f, "volproof: ")?;
        self.message.lines().try_for_each(|line| writeln!(f, "{}", shortened(line)))
    }
}

/// Shortens a line of more than 1000 characters to its first and last 400: a message may repeat input of any length.
fn shortened(line: &str) -> Cow<'_, str> {
    let count = line.chars().count();
    if count <= 1000 {
        return line.into();
    }
    let front: String = line.chars().take(400).collect();
    let end: String = line.chars().skip(count - 400).collect();
    format!("{front} [... {} characters ...] {end}", count - 800).into()
}

impl From<anyhow::Error> for Failure {
    /// Errors of the run itself, as opposed to its input.
    fn from(e: anyhow::Error) -> Failure {
        Failure::new(Exit::Failed, chain(&e))
    }
}

impl From<GuardError> for Failure {
    fn from(e: GuardError) -> Failure {
        Failure::new(if matches!(e, GuardError::Refused(_)) { Exit::Refused } else { Exit::WrongInput }, e)
    }
}

/// An error with its causes, without those that the message contains already.
fn chain(e: &anyhow::Error) -> String {
    e.chain().skip(1).map(ToString::to_string).fold(e.to_string(), |text, cause| {
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// Runs a subcommand.
///
/// # Errors
/// With the message and exit code for the caller to print and return.
pub fn main(command: CliCommand) -> Result<ExitCode, Failure> {
    let places = Places::system();
    if !matches!(command, CliCommand::Restore(_)) {
        screen::say(&machine::recover(&places));
    }
    let exit = match command {
        CliCommand::Fio { arguments } => return fio::main(&arguments),
        CliCommand::Run(args) => run(&args),
        CliCommand::Million(args) => million::main(&args),
        CliCommand::Sweep(args) => course_commands::sweep(&args),
        CliCommand::Slo(args) => course_commands::slo(&args),
        CliCommand::Suite(args) => course_commands::suite(&args),
        CliCommand::Cold(args) => course_commands::cold(&args),
        CliCommand::Fit(args) => fit_run::fit(&args),
        CliCommand::Fits(args) => fit_run::fits(&args),
        CliCommand::Plan(args) => plan(&args),
        CliCommand::Check(args) => {
            let answer = check::answer(&args, &Root::system()).map_err(|e| Failure::input(chain(&e)))?;
            let printed = print(&answer.text)?;
            Ok(if answer.ready { printed } else { Exit::Refused })
        }
        CliCommand::Show(args) => show(&args),
        CliCommand::Report(args) => report(&args),
        CliCommand::Fleet(args) => fleet_run::fleet(&args),
        CliCommand::Merge(args) => merge(&args),
        CliCommand::Verdict(args) => {
            let input = |e: anyhow::Error| Failure::input(chain(&e));
            let judge = &args.judge;
            let mut sheets = StoredSheets::open(&args.sheets, &[input_of(&judge.record)])?;
            let mut record = result_file::load_only(&judge.record).map_err(Failure::input)?;
            let (text, exit) = verdict_command::answer(judge, &mut record).map_err(input)?;
            let printed = match (sheets.takes_stdout(), judge.json) {
                (true, _) => Ok(Exit::Done),
                (false, true) => print(&text),
                (false, false) => show_text(&text),
            };
            given([printed, sheets.save(&record)], exit)
        }
        CliCommand::Convert(ConvertArgs { to: Form::FioPlot, output: Some(folder), file })
            if folder != Path::new("-") =>
        {
            point_files(&file, &folder)
        }
        CliCommand::Convert(args) => {
            let path = args.output.as_deref().unwrap_or(Path::new("-"));
            let mut output = beside_input("-o", path, &args.file)?;
            let converted = convert::answer(&args).map_err(|e| Failure::input(chain(&e)))?;
            deliver(&mut output, &|out| converted.write(&mut screen::VisibleWriter(out)))
        }
        CliCommand::Explain(args) => {
            let told = explain::answer(&args).map_err(|e| Failure::input(chain(&e)))?;
            if args.json {
                print(&told.text)?
            } else {
                show_text(&told.text)?
            };
            match told.refused.is_empty() {
                true => Ok(told.exit),
                false => Err(Failure::input(told.refused.join("\nvolproof: "))),
            }
        }
        CliCommand::Presets => {
            let presets = PRESETS.iter().map(|p| (p.name.to_string(), p.about.to_string())).collect();
            let list = |all: Vec<(String, String)>| {
                let width = all.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
                let line = |(name, about)| layout::wrap(&format!("{name:width$}  "), about);
                all.iter().map(|(name, about)| line((name, about))).collect::<String>()
            };
            let suites = list(crate::course::suites::list());
            print(&format!("{}\nSuites (volproof suite NAME TARGET)\n{suites}", list(presets)))
        }
        CliCommand::Promise(args) => print(&promise::answer(&args).map_err(|e| Failure::input(chain(&e)))?),
        CliCommand::Lint(args) => lint_run::main(&args),
        CliCommand::Topo(args) => coded(machine::topo(&args, &places.root)),
        CliCommand::Tune(args) => {
            let seen = end_signals::counted()?;
            let stop = || seen.load(Ordering::Relaxed) > 0;
            // What is tuned is put back even when nobody reads on.
            let mut say = |text: &str| drop(print(text));
            coded(machine::tune(&args, &places, &stop, &mut say).map(|exit| (String::new(), exit)))
        }
        CliCommand::Restore(args) => coded(machine::restore(&args, &places)),
        CliCommand::Completions { shell } => print(&shell_completions::script(shell)),
    };
    exit.map(ExitCode::from)
}

/// Prints an answer that carries its exit code. A device that another run holds is refused like one in use.
fn coded(answer: anyhow::Result<(String, Exit)>) -> Result<Exit, Failure> {
    let (text, exit) = answer.map_err(|e| {
        let busy = matches!(e.downcast_ref(), Some(TuneError::Busy { .. }));
        Failure::new(if busy { Exit::Refused } else { Exit::WrongInput }, chain(&e))
    })?;
    print(&text)?;
    Ok(exit)
}

/// The exit code of an answer that went to several places. One that did not get there turns 0 into 1, and leaves any other code: 1 of a
/// verdict is FAIL.
fn given(places: impl IntoIterator<Item = Result<Exit, Failure>>, exit: Exit) -> Result<Exit, Failure> {
    let lost: Vec<String> = places.into_iter().filter_map(|p| Some(p.err()?.message)).collect();
    match (lost.is_empty(), exit) {
        (true, exit) => Ok(exit),
        (false, Exit::Done) => Err(Failure::new(Exit::Failed, lost.join("\n"))),
        (false, exit) => {
            lost.iter().for_each(|message| screen::say(&format!("volproof: {message}\n")));
            Ok(exit)
        }
    }
}

/// Writes results to standard output.
fn print(text: &str) -> Result<Exit, Failure> {
    screen::print(text).map(|()| Exit::Done).map_err(unprinted)
}

/// Writes a text for people to standard output.
fn show_text(text: &str) -> Result<Exit, Failure> {
    screen::show(text).map(|()| Exit::Done).map_err(unprinted)
}

fn unprinted(e: std::io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("standard output: {e}"))
}

/// Opens an output. The guard checks a file that exists, whether it is replaced or written in place: a result must not overwrite a disk
/// image in use or a swap file either. Standard output is not checked, since the shell has emptied its file already.
fn output(option: &str, path: &Path) -> Result<OutputFile, Failure> {
    let output = OutputFile::open(option, path)?;
    if !output.is_stdout() && path.is_file() {
        guard::check_overwrite(&Root::system(), path, true)?;
    }
    Ok(output)
}

/// An input that no output may be.
fn input_of(path: &Path) -> (String, FileIdentity) {
    (format!("the input {}", path.display()), FileIdentity::of(path))
}

/// The output of a command that reads one file, which it must not overwrite.
fn beside_input(option: &str, path: &Path, input: &Path) -> Result<OutputFile, Failure> {
    let output = output(option, path)?;
    output::apart(&[&output], &[input_of(input)])?;
    Ok(output)
}

/// Saves the whole text of an output that can be made again; in the temporary folder where its own place does not take it. A reader that has
/// gone away, as `head` does, wants no more of it.
fn deliver(output: &mut OutputFile, content: Content<'_>) -> Result<Exit, Failure> {
    let e = match output.save(content) {
        Ok(()) => {
            screen::say(&output.other_name().unwrap_or_default());
            return Ok(Exit::Done);
        }
        Err(e) if output.is_stream() && e.kind() == ErrorKind::BrokenPipe => return Ok(Exit::Done),
        Err(e) => e,
    };
    let second = output.save_elsewhere(content).map(|path| format!("; it is in {} instead", path.display()));
    let message = format!("{} could not be saved: {e}{}", output.shown(), second.unwrap_or_default());
    Err(Failure::new(Exit::Failed, message))
}

/// Writes the points of a sweep into a folder, a file for each.
fn point_files(file: &Path, folder: &Path) -> Result<Exit, Failure> {
    for (name, converted) in convert::points(file).map_err(|e| Failure::input(chain(&e)))? {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent)
            .map_err(|e| Failure::input(format!("cannot make the folder {}: {e}", parent.display())))?;
        deliver(&mut beside_input("-o", &path, file)?, &|out| converted.write(out))?;
    }
    Ok(Exit::Done)
}

/// `plan`: whatever `run` refuses with the same arguments is refused here too, with the same exit code.
fn plan(args: &RunArgs) -> Result<Exit, Failure> {
    of_run(args)?.tell(forecast)
}

/// The text of what a plan would do.
fn forecast(plan: &Plan, surveyed: &[targets::Surveyed], claimed: Option<&Claimed>) -> String {
    let named: Vec<_> = surveyed.iter().map(targets::Surveyed::describe).collect();
    let writing = plan.steps.iter().filter(|s| s.rw.changes_data());
    let written: f64 = writing.map(|s| Nanos(s.ramp.0 + s.runtime.0).as_seconds() * s.forecast_rate()).sum();
    let writes = Bytes(written as u64 * surveyed.len().max(1) as u64);
    let mut headrooms = Headrooms::default();
    let headrooms =
        plan.steps.iter().map(|s| headrooms.of(s, plan.targets_of(s).len(), &|| true)).collect::<Vec<_>>();
    let fill = targets::to_fill(surveyed);
    let first = preconditioning::words(plan).map_or(String::new(), |words| layout::wrap("first    ", &words));
    plan_text::plan(plan, &named, claimed, writes, fill, &headrooms) + &first
}

fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let SheetArgs { junit, openmetrics, markdown } = &args.sheets;
    let files = [junit, openmetrics, markdown].into_iter().any(Option::is_some);
    if (args.csv || files) && args.records.len() > 1 {
        return Err(Failure::input(match args.csv {
            true => {
                "--csv prints one result on standard output and takes no file: name one Record, as in volproof show --csv RECORD > FILE"
            }
            false => "an output file holds one result: name one Record",
        }));
    }
    for (i, path) in args.records.iter().enumerate() {
        let mut sheets = StoredSheets::open(&args.sheets, &[input_of(path)])?;
        if args.csv && sheets.takes_stdout() {
            return Err(Failure::input("--csv prints on standard output: name a file with the other option"));
        }
        let record = result_file::load(path).map_err(Failure::input)?;
        let saved = sheets.save(&record);
        if sheets.takes_stdout() {
            saved?;
            continue;
        }
        let title = match args.records.len() {
            1 => String::new(),
            _ => format!("{}{}\n", if i > 0 { "\n" } else { "" }, path.display()),
        };
        let printed = match args.csv {
            true => print(&csv::csv(&record)),
            false if args.quiet => show_text(&Headline::of(&record).line()),
            false => show_text(&(title + &summary_text::shown(&record, args.details))),
        };
        given([printed, saved], Exit::Done)?;
    }
    Ok(Exit::Done)
}

fn merge(args: &MergeArgs) -> Result<Exit, Failure> {
    let mut file = match &args.output {
        Some(path) => output("--output", path)?,
        None => {
            let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
            OutputFile::fresh("--output", Path::new("."), format!("volproof-fleet-{now}"), "json")?
        }
    };
    let inputs: Vec<_> = args.records.iter().map(|path| input_of(path)).collect();
    output::apart(&[&file], &inputs)?;
    let mut sheets = StoredSheets::open(&args.sheets, &inputs)?;
    let prints = !file.is_stdout() && !sheets.takes_stdout();
    let record = merge::answer(&args.records, &args.claim).map_err(|e| Failure::input(chain(&e)))?;
    let saved = deliver(&mut file, &|out| record.write(out));
    let path = file.path().display();
    let text = match args.quiet {
        _ if !prints => String::new(),
        true => Headline::of(&record).line(),
        false if saved.is_err() || file.is_stream() => summary_text::shown(&record, args.details),
        false => {
            let text = summary_text::shown(&record, args.details);
            format!("{text}\nRecord: {path}\n  print it again: volproof show {path}\n")
        }
    };
    given([saved, sheets.save(&record), show_text(&text)], Exit::Done)?;
    Ok(merge::exit(&record))
}

fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let mut output = match (&args.output, args.record.file_stem()) {
        (Some(path), _) => beside_input("-o", path, &args.record)?,
        // Nobody named this file: one that has its name stays.
        (None, Some(stem)) if args.record != Path::new("-") => {
            OutputFile::fresh("-o", Path::new(""), stem, "html")?
        }
        (None, _) => output("-o", Path::new("-"))?,
    };
    let stream = output.is_stream();
    let record = result_file::load(&args.record).map_err(Failure::input)?;
    deliver(&mut output, &|out| html::write(&record, out))?;
    if stream { Ok(Exit::Done) } else { print(&format!("Page: {}\n", output.path().display())) }
}

fn run(args: &RunArgs) -> Result<Exit, Failure> {
    of_run(args)?.run(Words { before: String::new(), after: |_| String::new() })
}

/// The measurement that the arguments of `run` ask for.
fn of_run(args: &RunArgs) -> Result<Measurement<'_>, Failure> {
    let (plan, asked) = plans::from_args(&args.what)?;
    let asked = asked.map(|fits| AskedFits { judge_simulated: args.claim.judge_simulated, ..fits });
    let options = Options {
        rank: fleet_start::place(&args.fleet, &plan)?,
        asked,
        destroy: args.what.consent.destroy.clone(),
        overwrite_shared: args.what.consent.shared(),
        tune: args.tune,
        until_conclusive: args.until_conclusive,
        headrooms: Some(Headrooms::default()),
        ..Options::default()
    };
    if args.cross_check.is_some() && args.what.file.precondition.is_some() {
        return Err(Failure::input(
            "--cross-check runs every step twice: precondition the targets in a run before it",
        ));
    }
    let plan = preconditioning::add(plan, args.what.file.precondition, &options, &args.output.folders())?;
    let cross = args.cross_check.map(|pairs| Cross { pairs, runtime: args.what.step.has("runtime") });
    let inputs =
        args.what.plan.iter().map(|path| (format!("--plan {}", path.display()), FileIdentity::of(path)));
    Ok(Measurement {
        plan,
        options,
        claim: Cow::Borrowed(&args.claim),
        output: &args.output,
        cross,
        inputs: inputs.collect(),
    })
}
