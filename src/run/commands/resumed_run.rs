//! `run --resume RECORD`: plan, targets, needs and promise are those of the Record. Options may repeat plan,
//! targets and needs, and may not change them. Another promise judges the measured steps anew.

use std::borrow::Cow;
use std::path::Path;

use super::course_question::inputs;
use super::run_command::refuse_idle;
use crate::cli::{RunArgs, TuneMode};
use crate::crosscheck;
use crate::promise_options::{self, PromiseOptions};
use crate::run::measurement::{self, Measurement};
use crate::run::pipeline::{EarlierRun, RunOptions};
use crate::run::resume::other_plan;
use crate::run::{Failure, chain, plans, show_text};
use volproof_base::shell_word::shell_path;
use volproof_base::unit::Bytes;
use volproof_course as course;
use volproof_course::seal::seal;
use volproof_device::device::Root;
use volproof_engine::Headrooms;
use volproof_judge as judge;
use volproof_plan::{CausesWanted, FollowUp, Plan, Precondition, PreconditionChoice, Question};
use volproof_promise::fit::AskedFits;
use volproof_record::exit::Exit;
use volproof_record::{Record, State};
use volproof_report::headline::Headline;

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
    refuse_contradiction(args, &record, path)?;
    if record.judged_promise.is_none() {
        measurement::refuse_idle(&args.promise, record.asked.is_some())?;
    }
    // Another promise is a new question: the measured steps are judged anew, and those that it lacks follow.
    promise_options::hold_here_against(&args.promise, &Root::system(), &mut record)
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
    let options = RunOptions {
        destroy: args.what.consent.destroy.clone(),
        overwrite_shared: args.what.consent.shared(),
        tune: args.tune.or(Some(tune_as_then(&earlier))),
        headrooms: Some(Headrooms::default()),
        asked: record.asked,
        earlier: Some(Box::new(earlier)),
        ..RunOptions::default()
    };
    Ok(Resumed::Open(Box::new(Measurement {
        plan,
        options,
        promise: Cow::Owned(PromiseOptions::default()),
        earlier: record.judged_promise,
        output: &args.output,
        cross: None,
        inputs: inputs([
            ("--resume", Some(path)),
            ("--plan", args.what.plan.as_deref()),
            ("--catalog", args.promise.catalog.as_deref()),
        ]),
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
    let line = Headline::of(record).line();
    show_text(&format!("{line}{name} is complete: nothing is left to measure.\n"))?;
    Ok(judge::exit(record))
}

/// The plan's steps have finished, and none follows: what [`Front::next_of_course`](crate::run::pipeline::Front::next_of_course) asks behind them
/// is asked here too.
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

/// The kernel's settings are tuned again, or left alone again.
fn tune_as_then(earlier: &EarlierRun) -> TuneMode {
    if earlier.is_tuned() { TuneMode::On } else { TuneMode::Off }
}

/// An option that asks for something else than the Record has, with the difference in words.
type Contradiction = (String, String);

/// Refuses the first option that contradicts the Record.
fn refuse_contradiction(args: &RunArgs, record: &Record, path: &Path) -> Result<(), Failure> {
    let found = other_plan_asked(args, record)?
        .or_else(|| other_precondition(args, record))
        .or_else(|| other_file_size(args, record))
        .or_else(|| measured_settings(args));
    let Some((option, why)) = found else { return Ok(()) };
    Err(Failure::input(format!(
        "{option} contradicts {}: {why}; leave it out, since --resume takes the whole plan from the Record",
        shell_path(path)
    )))
}

/// An option that makes another plan.
fn other_plan_asked(args: &RunArgs, record: &Record) -> Result<Option<Contradiction>, Failure> {
    let what = &args.what;
    let planned = without_precondition(&record.plan);
    let differs = |option: &str, asked: &Plan| Some((option.to_string(), other_plan(&planned, asked)?));
    let on_targets = plans::on_targets(planned.clone(), &what.targets);
    if !what.targets.is_empty()
        && let Some(found) = differs("the target", &on_targets)
    {
        return Ok(Some(found));
    }
    if let Some(option) = option_of_a_whole_plan(args) {
        let (asked, needs) = plans::from_args(what)?;
        let targets = if what.targets.is_empty() { planned.targets.clone() } else { asked.targets.clone() };
        let of_needs = || {
            let differ = plain_needs(needs.as_ref()) != plain_needs(record.asked.as_ref());
            differ.then(|| (option.to_string(), "its run was held against other needs".to_string()))
        };
        return Ok(differs(option, &Plan { targets, ..asked }).or_else(of_needs));
    }
    for (option, alone) in what.step.each() {
        let mut asked = planned.clone();
        asked.steps.iter_mut().for_each(|step| alone.apply(step));
        if let Some(found) = differs(&option, &asked) {
            return Ok(Some(found));
        }
    }
    let seed = what.file.seed.unwrap_or(planned.seed);
    let continue_on_error = planned.continue_on_error || what.continue_on_error;
    Ok(differs("--seed", &Plan { seed, ..planned.clone() })
        .or_else(|| differs("--continue-on-error", &Plan { continue_on_error, ..planned.clone() })))
}

/// The option that names a whole plan, over which all others are laid.
fn option_of_a_whole_plan(args: &RunArgs) -> Option<&'static str> {
    let what = &args.what;
    let all = [
        ("--plan", what.plan.is_some()),
        ("--preset", what.preset.is_some()),
        ("--rw", what.step.has("rw")),
        ("--fit", what.fit.is_some()),
        ("--suite", what.suite.is_some()),
    ];
    all.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
}

/// The needs of applications, without the wish to judge a simulated device.
fn plain_needs(asked: Option<&AskedFits>) -> Option<AskedFits> {
    asked.map(|fits| AskedFits { judge_simulated: false, ..fits.clone() })
}

/// A preconditioning that the run did not begin with.
fn other_precondition(args: &RunArgs, record: &Record) -> Option<Contradiction> {
    let choice = args.what.file.precondition?;
    let then = record.plan.precondition.as_ref();
    let same = match (choice, then) {
        (PreconditionChoice::Method(asked), Some(Precondition { method, .. })) => asked == *method,
        (PreconditionChoice::Auto, Some(_)) => true,
        (_, None) => false,
    };
    let had = then.map_or("no preconditioning".to_string(), |then| format!("--precondition {}", then.method));
    (!same).then(|| ("--precondition".to_string(), format!("its run had {had}")))
}

/// Another size of the test file.
fn other_file_size(args: &RunArgs, record: &Record) -> Option<Contradiction> {
    let (asked, then) = (args.what.file.file_size?, size_of_test_file(record)?);
    (asked != then).then(|| ("--file-size".to_string(), format!("its test file had {}", then.exact())))
}

/// Settings of the kernel are compared before the first step alone.
fn measured_settings(args: &RunArgs) -> Option<Contradiction> {
    let asked = args.tune == Some(TuneMode::Ab);
    asked.then(|| ("--tune ab".to_string(), "settings are compared before the first step".to_string()))
}

/// A plan as its options made it, before the preconditioning was put in front.
fn without_precondition(plan: &Plan) -> Plan {
    let steps = plan.steps[plan.precondition_steps()..].to_vec();
    Plan { steps, precondition: None, ..plan.clone() }
}
