//! `sweep`: rate and latency over depths, block sizes, mixes and jobs.

use super::course_question::{ask, refuse_verdict};
use crate::cli::SweepArgs;
use crate::run::{Failure, plans};
use volproof_course as course;
use volproof_plan::{Plan, Question};
use volproof_record::exit::Exit;

/// `sweep`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn sweep(args: &SweepArgs) -> Result<Exit, Failure> {
    ask(plan(args)?, &args.how)
}

/// The plan of a sweep.
///
/// # Errors
/// Of input.
fn plan(args: &SweepArgs) -> Result<Plan, Failure> {
    refuse_verdict("a sweep", &args.how.promise)?;
    let base = plans::of_targets(&args.targets, &args.how.using);
    let sweep = args.load.sweep(args.repeats, base.seed).map_err(Failure::input)?;
    let sweep = match args.how.budget {
        Some(limit) => course::within(sweep, limit).map_err(Failure::input)?,
        None => sweep,
    };
    Ok(Plan { name: "sweep".into(), question: Some(Question::Sweep(sweep)), ..base })
}
