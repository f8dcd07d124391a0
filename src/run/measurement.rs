//! The measurement that a command asks for. After the check of its input it is run and published, or only printed (`plan`, `--dry-run`).

use std::borrow::Cow;
use std::path::Path;

use super::front::Front;
use super::pipeline::CheckedRun;
use super::results::Results;
use super::run_options::RunOptions;
use super::surveyed::Surveyed;
use super::{Failure, end_signals, show_text};
use crate::cli::{OutputArgs, TuneMode};
use crate::crosscheck;
use crate::promise_options::{self, PromiseOptions};
use volproof_course::seal::seal;
use volproof_device::device::Root;
use volproof_device::output::FileIdentity;
use volproof_engine::Timer;
use volproof_plan::Plan;
use volproof_record::exit::Exit;
use volproof_record::{JudgedPromise, Record};
use volproof_report::layout;

/// A plan, the way to run it, and the places of its results.
pub struct Measurement<'a> {
    /// The plan.
    pub plan: Plan,
    /// How it is run.
    pub options: RunOptions,
    /// The promise that the result is held against.
    pub promise: Cow<'a, PromiseOptions>,
    /// The promise of a run that goes on, in place of the options.
    pub earlier: Option<JudgedPromise>,
    /// Where results go.
    pub output: &'a OutputArgs,
    /// Every step is run by the installed fio too.
    pub cross: Option<Cross>,
}

/// Refuses options that say how a promise is judged, where none is named.
///
/// # Errors
/// Names the option.
pub fn refuse_idle(promise: &PromiseOptions) -> Result<(), Failure> {
    let options =
        [("--min-share", promise.min_share.is_some()), ("--tolerance", promise.tolerance.is_some())];
    let given = options.into_iter().find(|(_, is_given)| *is_given);
    match given.filter(|_| promise.kind.is_none()) {
        Some((option, _)) => Err(idle_without_promise(option)),
        None => Ok(()),
    }
}

/// Refuses options about targets, where no step drives one.
fn refuse_without_targets(plan: &Plan, options: &RunOptions) -> Result<(), Failure> {
    let tunes = options.tune.is_some_and(|mode| mode != TuneMode::Off);
    let given = [
        ("--tune", tunes),
        ("--destroy", !options.destroy.is_empty()),
        ("--overwrite", plan.overwrite || options.overwrite_shared),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) if plan.needs_no_target() && !plan.steps.is_empty() => Err(Failure::input(
            format!("{option} has no effect: the device is simulated, and no target is driven; leave it out"),
        )),
        _ => Ok(()),
    }
}

/// The refusal of an option that only a promise gives an effect.
pub fn idle_without_promise(option: &str) -> Failure {
    Failure::input(format!("{option} has no effect without --promise TYPE: name the type, or leave it out"))
}

/// A cross-check: every step by both tools, in turn.
#[derive(Clone, Copy)]
pub struct Cross {
    /// How often each tool runs a step.
    pub pairs: u32,
    /// The user gave the length of a run.
    pub runtime: bool,
}

/// The texts that a front end prints around the tables.
pub struct Words {
    /// Printed once the input is known to be right.
    pub before: String,
    /// Printed below the tables.
    pub after: fn(&Record) -> String,
}

/// Targets, which a plan file may name: no output may be one of them.
pub type UsedFiles = Vec<(String, FileIdentity)>;

impl Measurement<'_> {
    /// Finds every mistake of the input, and opens the outputs.
    fn check(&self) -> Result<(CheckedRun, Results), Failure> {
        let (job, used) = self.check_input()?;
        Ok((job, Results::open(self.output, "volproof", &used)?))
    }

    /// Finds every mistake of the input except in the outputs, which are not opened here. No output may be one of the returned files.
    ///
    /// # Errors
    /// A plan, target or promise that cannot be used; nothing was begun.
    pub fn check_input(&self) -> Result<(CheckedRun, UsedFiles), Failure> {
        let promise = &self.promise;
        refuse_idle(promise)?;
        refuse_without_targets(&self.plan, &self.options)?;
        let root = Root::system();
        let plan = match &self.cross {
            Some(cross) => crosscheck::alternating(&self.plan, cross.pairs, cross.runtime),
            None => self.plan.clone(),
        };
        let targets = plan
            .targets
            .iter()
            .map(|path| (format!("the target {}", path.display()), FileIdentity::from_path(path)));
        let used = targets.collect();
        let mut job = CheckedRun::survey(root.clone(), plan, self.options.clone())?;
        let judged_promise = promise_options::judged_promise(promise, Some(&root), &job.volumes())
            .map_err(|e| Failure::input(super::chain(&e)))?;
        job.judged_promise = judged_promise.or_else(|| self.earlier.clone());
        Ok((job, used))
    }

    /// Prints the text of what would be done, then refuses what would be refused at the targets. Nothing is written.
    ///
    /// # Errors
    /// Those of [`Measurement::run`] before its first side effect.
    pub fn tell(
        &self,
        text: impl FnOnce(&Plan, &[Surveyed], Option<&JudgedPromise>) -> String,
    ) -> Result<Exit, Failure> {
        let (job, _) = self.check()?;
        let resumed = job.resumption().map_or_else(String::new, |words| layout::wrap("resume   ", &words));
        show_text(&(text(&job.left(), job.surveyed(), job.judged_promise()) + &resumed))?;
        job.try_targets()?;
        Ok(Exit::Done)
    }

    /// Runs the measurement, and writes its results to the outputs that were asked for.
    ///
    /// # Errors
    /// Of input, of the guard, and of the run.
    pub fn run(&self, words: Words) -> Result<Exit, Failure> {
        self.run_to_record(words).map(|(exit, _)| exit)
    }

    /// The same with the Record of the run.
    ///
    /// # Errors
    /// Those of [`Measurement::run`].
    pub fn run_to_record(&self, words: Words) -> Result<(Exit, Record), Failure> {
        let timer = Timer::choose(Path::new("/"));
        let (job, mut results) = self.check()?;
        if !words.before.is_empty() && results.talks() {
            // The result may go to a file as well, so that an error of printing is reported only at the end.
            show_text(&words.before).ok();
        }
        if !job.is_simulated() {
            results.ui().say(&job.announcement());
        } else if !job.plan().targets.is_empty() {
            let named: Vec<String> =
                job.plan().targets.iter().map(|path| format!("'{}'", path.display())).collect();
            let named = named.join(", ");
            results.ui().say(&format!("The device is simulated: no I/O goes to {named}."));
        }
        let interrupts = end_signals::counted(end_signals::all(), self.output.keeps_answer())?;
        let mut ended = job.run(&timer, &interrupts, &mut results);
        if let Some(cross) = &self.cross {
            ended.record.cross_checks = crosscheck::compare(&ended.record, &self.plan, cross.pairs);
            seal(&mut ended.record);
        }
        let exit = results.publish(&ended, words.after)?;
        Ok((exit, ended.record))
    }
}
