//! `run`: the steps of a plan or preset, on the targets that its user names.

use std::borrow::Cow;
use std::path::Path;

use super::compare_command;
use super::resume_command::{self, Resumed};
use crate::cli::RunArgs;
use crate::run::baseline::Baseline;
use crate::run::measurement::{Cross, Measurement, Words, idle_without_promise};
use crate::run::run_options::RunOptions;
use crate::run::{Failure, fleet_start, plans, preconditioning, show_text};
use crate::ui;
use volproof_compare::{RunDesign, compare, load_differences};
use volproof_plan::Plan;
use volproof_record::exit::Exit;
use volproof_record::{Conditions, Record};
use volproof_report::compare_text;

/// `run`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let words = Words { before: String::new(), after: |_| String::new() };
    if args.gate.gate.is_some() && args.baseline.is_none() {
        return Err(Failure::input(
            "--gate has no effect without --baseline: name a Record or a folder of them",
        ));
    }
    let measurement = match &args.resume {
        None => of_run(args)?,
        Some(path) => match resume_command::resumed(args, path)? {
            Resumed::Open(measurement) => *measurement,
            Resumed::Done(record) => return resume_command::nothing_left(args, path, &record),
        },
    };
    let Some(path) = &args.baseline else { return measurement.run(words) };
    let baseline = Baseline::load(path)?;
    if let Baseline::Record(record) = &baseline {
        refuse_other_loads(path, record, &measurement.plan)?;
    }
    let (exit, record) = measurement.run_to_record(words)?;
    let gate = compare_with(args, baseline, &record).unwrap_or_else(|failure| {
        failure.tell();
        Exit::Invalid
    });
    Ok(with_gate(exit, gate))
}

/// Refuses a baseline that no step of the plan can be held against, before anything is measured.
fn refuse_other_loads(path: &Path, baseline: &Record, plan: &Plan) -> Result<(), Failure> {
    let mut other = Vec::new();
    for step in baseline.tests() {
        let Some(planned) = plan.steps.iter().find(|planned| planned.name == step.name) else { continue };
        let conditions = Conditions::of_step(planned, step.targets.len());
        let differs = load_differences(&baseline.conditions(step), &conditions);
        if differs.is_empty() {
            return Ok(());
        }
        other.push(format!("{}: {}", step.name, differs.join(", ")));
    }
    let why = if other.is_empty() { "none of its steps is in this plan".into() } else { other.join("; ") };
    Err(Failure::input(format!("--baseline {}: its loads are others: {why}", path.display())))
}

/// Compares a run with its baseline, and prints how it stands.
fn compare_with(args: &RunArgs, baseline: Baseline, record: &Record) -> Result<Exit, Failure> {
    let before = baseline.records(&[record])?;
    let before: Vec<_> = before.iter().map(Record::in_lines).collect();
    let before: Vec<&Record> = before.iter().map(|record| &**record).collect();
    let comparison = compare(&before, &[&*record.in_lines()], RunDesign::Groups, args.gate.gate)
        .map_err(|e| Failure::new(Exit::Invalid, e))?;
    if args.output.takes_stdout() {
        ui::tell(&compare_text::answer(&comparison));
    } else if args.output.quiet {
        show_text(&format!("{}\n", compare_text::answer(&comparison)))?;
    } else {
        show_text(&format!("\n{}", compare_text::text(&comparison)))?;
    }
    Ok(compare_command::exit(&comparison))
}

/// The exit code of a run and its gate: the graver one. A run that did not end well keeps its own.
fn with_gate(run: Exit, gate: Exit) -> Exit {
    match run {
        Exit::Done | Exit::Fail | Exit::Inconclusive | Exit::Invalid => Exit::gravest([run, gate]),
        other => other,
    }
}

/// The measurement that the arguments of `run` ask for without `--resume`.
///
/// # Errors
/// Options, plan or applications that contradict each other or cannot be read.
pub fn of_run(args: &RunArgs) -> Result<Measurement<'_>, Failure> {
    let (plan, asked) = plans::from_args(&args.what)?;
    let options = RunOptions {
        rank: fleet_start::place(&args.fleet, &plan)?,
        asked,
        anatomy: args.anatomy,
        ..RunOptions::asked(&args.what.consent, args.tune)
    };
    if args.cross_check.is_some() && args.what.file.precondition.is_some() {
        return Err(Failure::input(
            "--cross-check runs every step twice: precondition the targets in a run before it",
        ));
    }
    let plan = preconditioning::add(plan, args.what.file.precondition, &args.promise, &options)?;
    refuse_idle(args, args.promise.kind.is_some())?;
    let is_judged = args.promise.kind.is_some() && args.cross_check.is_none() && options.rank.is_none();
    let follow_up = args.follow_up.follow_up().filter(|_| is_judged);
    let plan = Plan { follow_up, ..plan };
    let cross = args.cross_check.map(|pairs| Cross { pairs, runtime: args.what.step.has("runtime") });
    Ok(Measurement {
        plan,
        options,
        promise: Cow::Borrowed(&args.promise),
        earlier: None,
        output: &args.output,
        cross,
    })
}

/// Refuses options of the follow-up where nothing is promised that it could follow from.
///
/// # Errors
/// Of input.
pub(super) fn refuse_idle(args: &RunArgs, has_promise: bool) -> Result<(), Failure> {
    match args.follow_up.needs_promise().filter(|_| !has_promise) {
        Some(option) => Err(idle_without_promise(option)),
        None => Ok(()),
    }
}
