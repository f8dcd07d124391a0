//! Front ends of courses: arguments become a question, the pipeline measures until it is answered.

use super::pipeline::{EarlierRun, Options};
use super::{Failure, Words, measure_and_publish, plans, print, targets};
use crate::cli::{CourseArgs, SloArgs, SweepArgs};
use crate::course;
use crate::device::Root;
use crate::engine::Headrooms;
use crate::exit::Exit;
use crate::output::FileIdentity;
use crate::plan::{Plan, Preset, Question};
use crate::report::course_text;

/// `sweep`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn sweep(args: &SweepArgs) -> Result<Exit, Failure> {
    let base = base(&args.targets, &args.how);
    let sweep = args.load.sweep(args.repeats, base.seed).map_err(Failure::input)?;
    let sweep = match args.how.budget {
        Some(limit) => course::within(sweep, limit).map_err(Failure::input)?,
        None => sweep,
    };
    ask(Plan { name: "sweep".into(), question: Some(Question::Sweep(sweep)), ..base }, &args.how)
}

/// `slo`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn slo(args: &SloArgs) -> Result<Exit, Failure> {
    let search = args.search.search(args.how.budget, args.targets.len()).map_err(Failure::input)?;
    let base = base(&args.targets, &args.how);
    ask(Plan { name: "slo".into(), question: Some(Question::Load(search)), ..base }, &args.how)
}

/// The plan of a course but its question.
fn base(targets: &[std::path::PathBuf], how: &CourseArgs) -> Plan {
    let standard = Preset::find("standard").expect("a preset of ours").plan();
    Plan {
        targets: targets.to_vec(),
        file_size: how.file.file_size,
        keep: how.file.keep,
        overwrite: how.consent.overwrite.is_some(),
        seed: how.file.seed.unwrap_or(standard.seed),
        ..standard
    }
}

/// Measures until the question of a plan is answered.
fn ask(mut plan: Plan, how: &CourseArgs) -> Result<Exit, Failure> {
    let course = course::of(plan.question.as_ref().expect("the plan of a course has a question"));
    let forecast = course.forecast();
    plan.steps = course.possible();
    if let Some(problem) = plan.problem() {
        return Err(Failure::input(problem));
    }
    let earlier = how.resume.as_deref().map(|path| EarlierRun::load(path, &plan)).transpose()?;
    let options = Options {
        destroy: how.consent.destroy.clone(),
        overwrite_shared: how.consent.shared(),
        tune: how.tune,
        earlier: earlier.map(Box::new),
        headrooms: Some(Headrooms::default()),
        ..Options::default()
    };
    if how.dry_run {
        let root = Root::system();
        let surveyed = targets::survey(&root, &plan, &options)?;
        plans::engines(&plan, &root)?;
        let named: Vec<_> = surveyed.iter().map(|t| (t.describe(), t.size)).collect();
        return print(&course_text::plan(&plan, &named, &forecast, targets::to_fill(&surveyed)));
    }
    let inputs =
        how.resume.iter().map(|path| (format!("--resume {}", path.display()), FileIdentity::of(path)));
    let words = Words { before: course_text::before(&forecast), after: |_| String::new() };
    measure_and_publish(plan, options, &how.claim, &how.output, None, inputs.collect(), words)
}
