//! `run`: the steps of a plan or preset, on the targets that its user names.

use std::borrow::Cow;

use super::course_question::inputs;
use super::resumed_run::{self, Resumed};
use crate::cli::RunArgs;
use crate::run::measurement::{Cross, Measurement, Words, idle_without_promise};
use crate::run::run_options::RunOptions;
use crate::run::{Failure, fleet_start, plans, preconditioning};
use volproof_plan::Plan;
use volproof_record::exit::Exit;

/// `run`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let words = Words { before: String::new(), after: |_| String::new() };
    let Some(path) = &args.resume else { return of_run(args)?.run(words) };
    match resumed_run::resumed(args, path)? {
        Resumed::Open(measurement) => measurement.run(words),
        Resumed::Done(record) => resumed_run::nothing_left(args, path, &record),
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
        inputs: inputs([("--plan", args.what.plan.as_deref())]),
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
