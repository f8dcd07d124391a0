//! What `sweep`, `slo`, `suite` and `cold` have in common: the pipeline measures until their question is answered.

use std::borrow::Cow;

use crate::cli::CourseArgs;
use crate::promise_options::PromiseOptions;
use crate::run::measurement::{Measurement, Words};
use crate::run::pipeline::EarlierRun;
use crate::run::run_options::RunOptions;
use crate::run::surveyed::Surveyed;
use crate::run::{Failure, plans, preconditioning, targets};
use volproof_course as course;
use volproof_course::Course;
use volproof_plan::{Plan, Question};
use volproof_record::exit::Exit;
use volproof_report::{course_text, layout, slo_text};

fn course_of(plan: &Plan) -> &dyn Course {
    course::course_for(plan.question.as_ref().expect("the plan of a course has a question"))
}

/// The plan with one step of each kind that its course may ask for.
///
/// # Errors
/// A mistake of the input in one of them.
fn with_possible_steps(plan: Plan) -> Result<Plan, Failure> {
    let steps = course_of(&plan).possible();
    let plan = Plan { steps, ..plan };
    plan.problem().map_or(Ok(plan), |problem| Err(Failure::input(problem)))
}

/// Refuses options of a verdict on a promise for a course that gives none.
///
/// # Errors
/// Names the option.
pub fn refuse_verdict(course: &str, promise: &PromiseOptions) -> Result<(), Failure> {
    let given = [
        ("--promise-burst", promise.promise_burst),
        ("--tolerance", promise.tolerance.is_some()),
        ("--min-share", promise.min_share.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::input(format!(
            "{option} is about a verdict, and {course} gives none: leave it out, or use `volproof run`"
        ))),
    }
}

/// Measures until the question of a plan is answered.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn ask(plan: Plan, how: &CourseArgs) -> Result<Exit, Failure> {
    let plan = with_possible_steps(plan)?;
    let forecast = course_of(&plan).forecast();
    let plan =
        preconditioning::add(plan, how.using.file.precondition, &how.promise, &plans::options(&how.using))?;
    let earlier = how.resume.as_deref().map(|path| EarlierRun::load(path, &plan)).transpose()?;
    let options = RunOptions { earlier: earlier.map(Box::new), ..plans::options(&how.using) };
    let limit = match &plan.question {
        Some(Question::Slo(search)) => slo_text::limit(search),
        _ => String::new(),
    };
    let measurement = Measurement {
        plan,
        options,
        promise: Cow::Borrowed(&how.promise),
        earlier: None,
        output: &how.output,
        cross: None,
    };
    if how.dry_run {
        return measurement.tell(|plan, surveyed, judged_promise| {
            let named: Vec<_> = surveyed.iter().map(Surveyed::describe).collect();
            let text = course_text::plan(plan, &named, judged_promise, &forecast, targets::to_fill(surveyed));
            text + &preconditioning::words(plan)
                .map_or(String::new(), |words| layout::wrap("first    ", &words))
        });
    }
    measurement.run(Words { before: limit + &course_text::before(&forecast), after: |_| String::new() })
}
