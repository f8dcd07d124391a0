//! The commands `sweep`, `slo`, `suite` and `cold`: arguments become a question, the pipeline measures until it is answered.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::measurement::{Measurement, Words};
use super::open_targets::NULL_SIZE;
use super::pipeline::{EarlierRun, Options};
use super::targets::Surveyed;
use super::{Failure, million, plans, preconditioning, targets};
use crate::catalogue::volume_promise::VolumePromise;
use crate::cli::{ColdArgs, CourseArgs, SloArgs, SuiteArgs, SweepArgs};
use crate::course::suites::SuiteRange;
use crate::course::{self, Course, suites};
use crate::device::Root;
use crate::exit::Exit;
use crate::output::FileIdentity;
use crate::plan::{Plan, Question, ReferenceLatency, Step};
use crate::promise_options::{self, PromiseOptions};
use crate::record::{CourseAnswer, Record, SuitePoint};
use crate::report::{course_text, layout, load_text};
use crate::topo::Topology;
use crate::unit::{Bytes, Nanos};

/// `sweep`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn sweep(args: &SweepArgs) -> Result<Exit, Failure> {
    let base = plans::of_targets(&args.targets, &args.how.using);
    let sweep = args.load.sweep(args.repeats, base.seed).map_err(Failure::input)?;
    let sweep = match args.how.budget {
        Some(limit) => course::within(sweep, limit).map_err(Failure::input)?,
        None => sweep,
    };
    ask(Plan { name: "sweep".into(), question: Some(Question::Sweep(sweep)), ..base }, &args.how, None)
}

/// `slo`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn slo(args: &SloArgs) -> Result<Exit, Failure> {
    let burst = burst(&args.how.claim);
    let search = args.search.search(args.how.budget, args.targets.len(), burst).map_err(Failure::input)?;
    let base = plans::of_targets(&args.targets, &args.how.using);
    ask(Plan { name: "slo".into(), question: Some(Question::Load(search)), ..base }, &args.how, None)
}

/// How long the type of a promise can burst, where the options say its size; a wrong promise is told later.
fn burst(claim: &PromiseOptions) -> Option<Nanos> {
    let claimed = promise_options::claimed(claim, None, &[]).ok()??;
    let seconds = |v: &VolumePromise| v.level.burst.as_ref()?.seconds;
    claimed
        .promise
        .volumes
        .iter()
        .filter_map(seconds)
        .max_by(f64::total_cmp)
        .map(|s| Nanos::seconds(s.ceil() as u64))
}

/// `suite`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn suite(args: &SuiteArgs) -> Result<Exit, Failure> {
    if args.how.using.file.precondition.is_some() {
        return Err(Failure::input("a suite prepares its targets itself: leave --precondition out"));
    }
    of_name(&args.name, &args.targets, args.load.base(), args.reference.as_deref(), &args.how)
}

/// `cold`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn cold(args: &ColdArgs) -> Result<Exit, Failure> {
    if let Some(folder) = args.targets.iter().find(|target| target.is_dir()) {
        return Err(Failure::input(format!(
            "{} is a folder, and a new file in it is never cold: name a block device or a file",
            folder.display()
        )));
    }
    let (step, _) = args.load.base();
    of_name(suites::COLD, &args.targets, (step, false), None, &args.how())
}

/// A suite over the range of its targets. Its steps follow from `step`, whose length was given or not.
fn of_name(
    name: &str,
    targets: &[PathBuf],
    (step, given): (Step, bool),
    compared: Option<&Path>,
    how: &CourseArgs,
) -> Result<Exit, Failure> {
    let of = |range: SuiteRange| suites::of(name, &step, given, &range).map_err(Failure::input);
    let base = Plan { name: name.into(), ..plans::of_targets(targets, &how.using) };
    // The amounts of a suite follow from the range: the survey of a plan with the smallest amounts says what it is.
    let smallest = SuiteRange { part: Bytes::mib(1), whole: false, smallest: Bytes::kib(4), queues: 1 };
    let smallest_amounts = of(smallest)?;
    // A procedure shortens the range of its page to that part, which need not hold a block for each of its jobs.
    let steps = smallest_amounts.possible().into_iter().map(|s| Step { size: step.size, ..s }).collect();
    let question = Some(Question::Suite(smallest_amounts));
    let surveyed = targets::survey(
        &Root::system(),
        &Plan { steps, question, ..base.clone() },
        &plans::options(&how.using),
    )?;
    let target = surveyed.iter().map(|t| t.size).min().unwrap_or(NULL_SIZE);
    let part = step.size.unwrap_or(Bytes(target.0.saturating_sub(step.offset.0)));
    let unit = surveyed.iter().filter_map(|t| t.facts.direct()).map(|align| align.offset_bytes).max();
    let mut suite = of(SuiteRange {
        part,
        whole: part == target,
        smallest: unit.unwrap_or(Bytes(512)),
        queues: surveyed.iter().map(queues).max().unwrap_or(1),
    })?;
    suite.judge_simulated = how.claim.judge_simulated;
    if let Some(path) = compared {
        suite.reference = reference(path)?;
    }
    let suite = match how.budget {
        Some(limit) => course::suite_course::shortened(suite, limit).map_err(Failure::input)?,
        None => suite,
    };
    let file_size = surveyed.iter().find_map(|t| t.make).or(base.file_size);
    ask(Plan { question: Some(Question::Suite(suite)), file_size, ..base }, how, compared)
}

/// Hardware queues of the disk under a target, no more than there are CPUs; 1 where it has none.
fn queues(target: &Surveyed) -> u32 {
    let disk = target.facts.disk().map(|disk| disk.name.clone());
    let topology = disk.and_then(|name| Topology::read(&Root::system(), &[&name]).ok());
    topology.map_or(1, |topology| million::queues(&topology)).max(1)
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

/// Measures until the question of a plan is answered. No output replaces a Record that the run reads: the one to resume, or to compare with.
fn ask(mut plan: Plan, how: &CourseArgs, compared: Option<&Path>) -> Result<Exit, Failure> {
    let course = course::of(plan.question.as_ref().expect("the plan of a course has a question"));
    let forecast = course.forecast();
    plan.steps = course.possible();
    if let Some(problem) = plan.problem() {
        return Err(Failure::input(problem));
    }
    // An interrupted run goes on with the preconditioning that it began with.
    let folders = if how.resume.is_some() { Vec::new() } else { how.output.folders() };
    let plan =
        preconditioning::add(plan, how.using.file.precondition, &plans::options(&how.using), &folders)?;
    let earlier = how.resume.as_deref().map(|path| EarlierRun::load(path, &plan)).transpose()?;
    let options = Options { earlier: earlier.map(Box::new), ..plans::options(&how.using) };
    let read = [("--resume", how.resume.as_deref()), ("--reference", compared)];
    let inputs = read.into_iter().filter_map(|(option, path)| Some((option, path?)));
    let inputs =
        inputs.map(|(option, path)| (format!("{option} {}", path.display()), FileIdentity::of(path)));
    let limit = match &plan.question {
        Some(Question::Load(search)) => load_text::limit(search),
        _ => String::new(),
    };
    let measurement = Measurement {
        plan,
        options,
        claim: Cow::Borrowed(&how.claim),
        output: &how.output,
        cross: None,
        inputs: inputs.collect(),
    };
    if how.dry_run {
        return measurement.tell(|plan, surveyed, claimed| {
            let named: Vec<_> = surveyed.iter().map(Surveyed::describe).collect();
            let text = course_text::plan(plan, &named, claimed, &forecast, targets::to_fill(surveyed));
            text + &preconditioning::words(plan)
                .map_or(String::new(), |words| layout::wrap("first    ", &words))
        });
    }
    measurement.run(Words { before: limit + &course_text::before(&forecast), after: |_| String::new() })
}
