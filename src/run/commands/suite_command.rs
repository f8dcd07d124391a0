//! `suite`: the steps of a standard procedure over the range of its targets.

use std::path::{Path, PathBuf};

use super::course_question::ask;
use crate::cli::{CourseArgs, SuiteArgs};
use crate::run::open_targets::NULL_SIZE;
use crate::run::targets;
use crate::run::{Failure, plans};
use volproof_base::unit::Bytes;
use volproof_course::suites::SuiteRange;
use volproof_course::{self as course, suites};
use volproof_device::device::Root;
use volproof_plan::{Plan, Question, ReferenceLatency, Step, SuiteName};
use volproof_record::exit::Exit;
use volproof_record::{CourseAnswer, Record, SuitePoint};

/// `suite`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn suite(args: &SuiteArgs) -> Result<Exit, Failure> {
    ask(plan(args)?, &args.how)
}

/// The plan of a suite.
///
/// # Errors
/// Of input, and what the guard refuses for lack of consent.
fn plan(args: &SuiteArgs) -> Result<Plan, Failure> {
    if args.how.using.file.precondition.is_some() {
        return Err(Failure::input("a suite prepares its targets itself: leave --precondition out"));
    }
    let name = suites::named(&args.name).map_err(Failure::input)?;
    plan_of_name(&name, &args.targets, args.load.base(), args.reference.as_deref(), &args.how)
}

/// A suite over the range of its targets. Its steps follow from `step`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn of_name(
    name: &SuiteName,
    targets: &[PathBuf],
    load: (Step, bool),
    how: &CourseArgs,
) -> Result<Exit, Failure> {
    ask(plan_of_name(name, targets, load, None, how)?, how)
}

fn plan_of_name(
    name: &SuiteName,
    targets: &[PathBuf],
    (step, given): (Step, bool),
    compared: Option<&Path>,
    how: &CourseArgs,
) -> Result<Plan, Failure> {
    if how.promise.kind.is_some() && !suites::regards_promise(name) {
        return Err(Failure::input(format!(
            "{name} holds nothing against a promise: leave --promise out; volproof run judges a promise, and so do the suites essd-contract and \
             provider:NAME"
        )));
    }
    let of = |range: SuiteRange| suites::suite(name, &step, given, &range).map_err(Failure::input);
    let mut base = Plan { name: name.to_string(), ..plans::of_targets(targets, &how.using) };
    if *name == SuiteName::Cold && step.simulate.is_none() {
        // Blocks are never read before only once: each run reads others.
        base.seed = jiff::Timestamp::now().as_nanosecond() as u64;
    }
    let seed = base.seed;
    // The amounts of a suite follow from the range: the survey of a plan with the smallest amounts says what it is.
    let smallest = SuiteRange { part: Bytes::mib(1), whole: false, smallest: Bytes::kib(4), seed };
    let smallest_amounts = of(smallest)?;
    // A procedure shortens the range of its page to that part, which need not hold a block for each of its jobs.
    let question = Question::Suite(smallest_amounts);
    let possible = course::course_for(&question).possible();
    let steps = possible.into_iter().map(|s| Step { size: step.size, offset: step.offset, ..s }).collect();
    let question = Some(question);
    let surveyed = targets::survey(
        &Root::system(),
        &Plan { steps, question, ..base.clone() },
        &plans::options(&how.using),
    )?;
    let target = surveyed.iter().map(|t| t.size).min().unwrap_or(NULL_SIZE);
    let part = step.size.unwrap_or(Bytes(target.0.saturating_sub(step.offset.0)));
    let unit = surveyed.iter().filter_map(|t| t.facts.direct()).map(|align| align.offset_bytes).max();
    // A test file is made as long as the range.
    let cut = step.size.is_some() && surveyed.iter().any(|t| t.make.is_some());
    let mut suite =
        of(SuiteRange { part, whole: part == target && !cut, smallest: unit.unwrap_or(Bytes(512)), seed })?;
    if let Some(path) = compared {
        suite.reference = reference(path)?;
    }
    let suite = match how.budget {
        Some(limit) => course::suite_course::shortened(suite, limit).map_err(Failure::input)?,
        None => suite,
    };
    let file_size = surveyed.iter().find_map(|t| t.make).or(base.file_size);
    Ok(Plan { question: Some(Question::Suite(suite)), file_size, ..base })
}

/// The mean latencies of a stored suite.
fn reference(path: &Path) -> Result<Vec<ReferenceLatency>, Failure> {
    let record = Record::load(path).map_err(Failure::input)?;
    let Some(CourseAnswer::Suite(answer)) = &record.answer else {
        return Err(Failure::input(format!(
            "{} holds no suite: run `volproof suite essd-contract` on the local disk first",
            path.display()
        )));
    };
    let of = |p: &SuitePoint| ReferenceLatency { step: p.step.clone(), mean_ns: p.point.mean_ns };
    Ok(answer.points.iter().map(of).collect())
}
