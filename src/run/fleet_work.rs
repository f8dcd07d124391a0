//! What the ranks of a fleet are asked to measure: the plan or the course that the arguments of `fleet` name, and the options beside it.

use std::path::PathBuf;

use super::commands::course_question::with_possible_steps;
use super::commands::{slo_command, suite_command, sweep_command};
use super::run_options::RunOptions;
use super::{Failure, plans};
use crate::cli::{
    ConsentArgs, CourseArgs, FleetCourse, FleetMemberArgs, FleetRunArgs, OutputArgs, TestFileArgs, TuneMode,
};
use crate::promise_options::PromiseOptions;
use volproof_device::output::FileIdentity;
use volproof_plan::Plan;
use volproof_promise::fit::AskedFits;

type MakePlan<'a> = Box<dyn Fn() -> Result<(Plan, Option<AskedFits>), Failure> + 'a>;

/// The arguments of one rank.
pub(super) struct FleetWork<'a> {
    /// Makes the plan. Only rank 0 does.
    pub plan: MakePlan<'a>,
    /// The options that have to be the same on all ranks, in words that are compared.
    pub same: String,
    pub targets: &'a [PathBuf],
    pub consent: &'a ConsentArgs,
    pub file: &'a TestFileArgs,
    pub promise: &'a PromiseOptions,
    pub member: FleetMemberArgs,
    pub output: &'a OutputArgs,
    /// Files that no output may be.
    pub inputs: Vec<(String, FileIdentity)>,
    tune: Option<TuneMode>,
}

impl<'a> FleetWork<'a> {
    /// What the arguments ask for.
    ///
    /// # Errors
    /// Of input: an option that a course of many machines has not.
    pub fn from_args(args: &'a FleetRunArgs) -> Result<FleetWork<'a>, Failure> {
        let named = |option: &str, path: &PathBuf| {
            (format!("{option} {}", path.display()), FileIdentity::from_path(path))
        };
        Ok(match &args.course {
            None => {
                let FleetRunArgs { what, tune, promise, member, output, .. } = args;
                let plan =
                    (&what.preset, &what.plan, &what.suite, &what.fit, what.continue_on_error, &what.step);
                FleetWork {
                    plan: Box::new(|| plans::from_args(what)),
                    same: same(&format!("{plan:?}"), &what.file, promise, *member),
                    targets: &what.targets,
                    consent: &what.consent,
                    file: &what.file,
                    promise,
                    member: *member,
                    output,
                    inputs: what.plan.iter().map(|path| named("--plan", path)).collect(),
                    tune: *tune,
                }
            }
            Some(FleetCourse::Sweep(args)) => {
                let course = &args.course;
                let load = format!("sweep {:?} {:?}", course.load, course.repeats);
                let plan = Box::new(|| sweep_command::plan(course));
                FleetWork::of_course(plan, &load, &course.targets, &course.how, args.member)?
            }
            Some(FleetCourse::Slo(args)) => {
                let course = &args.course;
                let load = format!("slo {:?}", course.search);
                let plan = Box::new(|| slo_command::plan(course));
                FleetWork::of_course(plan, &load, &course.targets, &course.how, args.member)?
            }
            Some(FleetCourse::Suite(args)) => {
                let course = &args.course;
                let load = format!("suite {} {:?} {:?}", course.name, course.load, course.reference);
                let plan = Box::new(|| suite_command::plan(course));
                let work = FleetWork::of_course(plan, &load, &course.targets, &course.how, args.member)?;
                let inputs = course.reference.iter().map(|path| named("--reference", path)).collect();
                FleetWork { inputs, ..work }
            }
        })
    }

    fn of_course(
        plan: Box<dyn Fn() -> Result<Plan, Failure> + 'a>,
        load: &str,
        targets: &'a [PathBuf],
        how: &'a CourseArgs,
        member: FleetMemberArgs,
    ) -> Result<FleetWork<'a>, Failure> {
        let without_effect = [("--resume", how.resume.is_some()), ("--dry-run", how.dry_run)];
        if let Some((option, _)) = without_effect.into_iter().find(|(_, given)| *given) {
            return Err(Failure::input(format!("{option} is for a course on one machine: leave it out")));
        }
        let using = &how.using;
        Ok(FleetWork {
            plan: Box::new(move || Ok((with_possible_steps(plan()?)?, None))),
            same: same(&format!("{load} {:?}", how.budget), &using.file, &how.promise, member),
            targets,
            consent: &using.consent,
            file: &using.file,
            promise: &how.promise,
            member,
            output: &how.output,
            inputs: Vec::new(),
            tune: using.tune,
        })
    }

    /// How this rank runs the plan, beyond what the plan says.
    pub fn options(&self) -> RunOptions {
        RunOptions::asked(self.consent, self.tune)
    }
}

fn same(load: &str, file: &TestFileArgs, promise: &PromiseOptions, member: FleetMemberArgs) -> String {
    format!("{load} {file:?} {:?} {:?}", member.sharing, promise.kind)
}
