//! `run --resume RECORD`: plan, targets, needs and promise are those of the Record, and options for them are refused. Another promise judges
//! the measured steps anew.

use std::borrow::Cow;
use std::path::Path;

use super::run_command::refuse_idle;
use crate::cli::{RunArgs, TuneMode};
use crate::crosscheck;
use crate::promise_options::{self, PromiseOptions};
use crate::run::measurement::{self, Measurement};
use crate::run::pipeline::EarlierRun;
use crate::run::run_options::RunOptions;
use crate::run::{Failure, chain, show_text};
use volproof_base::shell_word::shell_path;
use volproof_base::unit::Bytes;
use volproof_course::seal::seal;
use volproof_device::device::Root;
use volproof_plan::{CausesWanted, FollowUp, Plan, Question};
use volproof_record::exit::Exit;
use volproof_record::{Record, State};
use volproof_report::headline::Headline;
use {volproof_course as course, volproof_judge as judge};

/// What there is to do for `--resume`.
pub enum Resumed<'a> {
    /// Steps are left: the measurement that goes on.
    Open(Box<Measurement<'a>>),
    /// All steps of this complete Record have finished, and none follows.
    Done(Box<Record>),
}

/// What is left of the run of a Record.
///
/// # Errors
/// A Record that cannot be read or resumed, and options that contradict it.
pub fn resumed<'a>(args: &'a RunArgs, path: &'a Path) -> Result<Resumed<'a>, Failure> {
    let mut record = Record::load(path).map_err(Failure::input)?;
    refuse_other_kinds(&record, path)?;
    refuse_plan_options(args, path)?;
    if record.judged_promise.is_none() {
        measurement::refuse_idle(&args.promise)?;
    }
    // Another promise is a new question: the measured steps are judged anew, and those that it lacks follow.
    promise_options::hold_against(&args.promise, Some(&Root::system()), &mut record)
        .map_err(|e| Failure::input(chain(&e)))?;
    refuse_idle(args, record.judged_promise.is_some())?;
    record.plan.follow_up = follow_up(args, &record).filter(|_| record.judged_promise.is_some());
    let plan = Plan {
        keep: record.plan.keep || args.what.file.keep,
        // The consent to overwrite is given anew, as that to destroy.
        overwrite: args.what.consent.overwrite.is_some(),
        file_size: size_of_test_file(&record).or(record.plan.file_size),
        ..record.plan.clone()
    };
    let earlier = EarlierRun::of_record(record.clone(), path, &plan)?;
    if is_done(&record, &earlier) {
        seal(&mut record);
        return Ok(Resumed::Done(Box::new(record)));
    }
    // The kernel's settings are tuned again, or left alone again.
    let tune = if earlier.is_tuned() { TuneMode::On } else { TuneMode::Off };
    let options = RunOptions {
        asked: record.asked,
        anatomy: args.anatomy,
        earlier: Some(Box::new(earlier)),
        ..RunOptions::asked(&args.what.consent, args.tune.or(Some(tune)))
    };
    Ok(Resumed::Open(Box::new(Measurement {
        plan,
        options,
        promise: Cow::Owned(PromiseOptions::default()),
        earlier: record.judged_promise,
        output: &args.output,
        cross: None,
    })))
}

/// What follows the verdict is asked for anew: the run may have left it out, or its budget was spent. What it looked for is looked for still.
fn follow_up(args: &RunArgs, record: &Record) -> Option<FollowUp> {
    let asked = args.follow_up.follow_up()?;
    let Some(before) = &record.plan.follow_up else { return Some(asked) };
    let causes = if before.causes == CausesWanted::Always { before.causes } else { asked.causes };
    Some(FollowUp { causes, longest: asked.longest.or(before.longest), ..asked })
}

/// Says that nothing is left to do, and ends as the run of the Record did.
///
/// # Errors
/// An option names a file for results: there are no new ones.
pub fn nothing_left(args: &RunArgs, path: &Path, record: &Record) -> Result<Exit, Failure> {
    let name = shell_path(path);
    if let Some(option) = args.output.named() {
        return Err(Failure::input(format!(
            "{name} is complete and nothing is left to measure, so there is nothing for {option}: `volproof show {name}` has every form of its result"
        )));
    }
    let line = Headline::of_record(record).line();
    show_text(&format!("{line}{name} is complete: nothing is left to measure.\n"))?;
    Ok(judge::exit(record))
}

/// The plan's steps have finished, and none follows: what [`course::next`] asks behind them is asked here too.
fn is_done(record: &Record, earlier: &EarlierRun) -> bool {
    record.state == State::Complete
        && earlier.steps.len() == record.plan.steps.len()
        && course::next(record).is_none()
}

/// Refuses Records that are no plain run of one machine, with the way to go on.
fn refuse_other_kinds(record: &Record, path: &Path) -> Result<(), Failure> {
    let name = shell_path(path);
    let no = |why: &str| Err(Failure::input(format!("{name} cannot be resumed by run: {why}")));
    if let Some(question) = &record.plan.question {
        let command = match question {
            Question::Sweep(_) => "sweep",
            Question::Slo(_) => "slo",
            Question::Suite(_) if record.plan.name == "cold" => {
                return no("run `volproof cold` again, it takes a minute");
            }
            Question::Suite(_) => &format!("suite {}", record.plan.name),
        };
        return no(&format!(
            "give the command that it began with, `volproof {command} ...`, and add --resume {name}"
        ));
    }
    if record.fleet.is_some() || record.rank.is_some() {
        return no("the machines of a fleet measure at one time: run the fleet anew");
    }
    if crosscheck::is_alternating(&record.plan) {
        return no("a cross-check compares runs back to back: run it anew");
    }
    Ok(())
}

/// The size of the test file that the run made in a folder: the new one has to be as large.
fn size_of_test_file(record: &Record) -> Option<Bytes> {
    record.targets.iter().find(|target| target.is_test_file()).map(|target| target.size_bytes)
}

/// Refuses an option of the plan, also one that repeats what the Record has.
fn refuse_plan_options(args: &RunArgs, path: &Path) -> Result<(), Failure> {
    let what = &args.what;
    let all = [
        ("a target", !what.targets.is_empty()),
        ("--preset", what.preset.is_some()),
        ("--plan", what.plan.is_some()),
        ("--suite", what.suite.is_some()),
        ("--fit", what.fit.is_some()),
        ("--continue-on-error", what.continue_on_error),
        ("--seed", what.file.seed.is_some()),
        ("--file-size", what.file.file_size.is_some()),
        ("--precondition", what.file.precondition.is_some()),
        ("--tune ab", args.tune == Some(TuneMode::Ab)),
    ];
    let of_plan = all.into_iter().find(|(_, given)| *given).map(|(option, _)| option.to_string());
    let Some(option) = of_plan.or_else(|| what.step.other_than(&[])) else { return Ok(()) };
    Err(Failure::input(format!(
        "{option} has no place beside --resume, which takes the whole plan from {}: leave it out",
        shell_path(path)
    )))
}
