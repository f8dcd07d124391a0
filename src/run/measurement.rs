//! The measurement that a command asks for: its input is checked, then it is done and published, or only told (`plan`, `--dry-run`).

use std::borrow::Cow;
use std::path::Path;

use super::pipeline::{CheckedRun, Front, Options};
use super::results::Results;
use super::targets::Surveyed;
use super::{Failure, end_signals, show_text};
use crate::cli::OutputArgs;
use crate::crosscheck;
use crate::device::Root;
use crate::engine::Timer;
use crate::exit::Exit;
use crate::output::{FileIdentity, screen};
use crate::plan::{Plan, Question};
use crate::promise_options::{self, PromiseOptions};
use crate::record::{Claimed, Record};

/// A plan, the way to run it, and the places of its results.
pub struct Measurement<'a> {
    /// The plan.
    pub plan: Plan,
    /// How it is run.
    pub options: Options,
    /// The promise that the result is held against.
    pub claim: Cow<'a, PromiseOptions>,
    /// Where results go.
    pub output: &'a OutputArgs,
    /// Every step is run by the installed fio too.
    pub cross: Option<Cross>,
    /// Files that no output may be.
    pub inputs: UsedFiles,
}

/// Every step by both tools, in turn.
#[derive(Clone, Copy)]
pub struct Cross {
    /// How often each.
    pub pairs: u32,
    /// The length of a run was asked for.
    pub runtime: bool,
}

/// The texts that a front end prints around the tables.
pub struct Words {
    /// Once nothing is wrong with the input.
    pub before: String,
    /// Below the tables.
    pub after: fn(&Record) -> String,
}

/// Files that no output may be, each with its part in the run.
pub type UsedFiles = Vec<(String, FileIdentity)>;

/// A measurement without mistakes in its input; its outputs are open.
struct CheckedMeasurement {
    job: CheckedRun,
    claimed: Option<Claimed>,
    results: Results,
}

impl Measurement<'_> {
    /// Finds every mistake of the input, and opens the outputs.
    fn check(&self) -> Result<CheckedMeasurement, Failure> {
        let (job, claimed, used) = self.check_input()?;
        Ok(CheckedMeasurement { job, claimed, results: Results::open(self.output, "volproof", &used)? })
    }

    /// Finds every mistake of the input but in the outputs, which may be none of the returned files.
    ///
    /// # Errors
    /// Of input.
    pub fn check_input(&self) -> Result<(CheckedRun, Option<Claimed>, UsedFiles), Failure> {
        let claim = &self.claim;
        // Applications and suites have criteria of their own.
        let has_criteria =
            self.options.asked.is_some() || matches!(self.plan.question, Some(Question::Suite(_)));
        if claim.kind.is_none() && (claim.tolerance.is_some() || (claim.judge_simulated && !has_criteria)) {
            let option = if claim.judge_simulated { "--judge-simulated" } else { "--tolerance" };
            return Err(Failure::input(format!(
                "{option} has no effect without --promise TYPE: name the type, or leave it out"
            )));
        }
        let root = Root::system();
        let plan = match &self.cross {
            Some(cross) => crosscheck::alternating(&self.plan, cross.pairs, cross.runtime),
            None => self.plan.clone(),
        };
        let targets = plan
            .targets
            .iter()
            .map(|path| (format!("the target {}", path.display()), FileIdentity::of(path)));
        let catalog = claim
            .catalog
            .iter()
            .map(|path| (format!("--catalog {}", path.display()), FileIdentity::of(path)));
        let used = targets.chain(catalog).chain(self.inputs.iter().cloned()).collect();
        let job = CheckedRun::survey(root.clone(), plan, self.options.clone())?;
        let claimed = promise_options::claimed(claim, Some(&root), &job.volumes())
            .map_err(|e| Failure::input(super::chain(&e)))?;
        Ok((job, claimed, used))
    }

    /// Prints the text of what would be done, then refuses what would be refused at the targets. Nothing is written.
    ///
    /// # Errors
    /// Those of [`Measurement::run`] before its first side effect.
    pub fn tell(
        &self,
        text: impl FnOnce(&Plan, &[Surveyed], Option<&Claimed>) -> String,
    ) -> Result<Exit, Failure> {
        let CheckedMeasurement { job, claimed, .. } = self.check()?;
        show_text(&text(job.plan(), job.surveyed(), claimed.as_ref()))?;
        job.try_targets()?;
        Ok(Exit::Done)
    }

    /// Does it, and puts its results where they were asked for.
    ///
    /// # Errors
    /// Of input, of the guard, and of the run.
    pub fn run(&self, words: Words) -> Result<Exit, Failure> {
        let timer = Timer::choose(Path::new("/"));
        let CheckedMeasurement { job, claimed, mut results } = self.check()?;
        if !words.before.is_empty() && results.talks() {
            // A result may go to a file as well: what cannot be printed is told at the end.
            show_text(&words.before).ok();
        }
        if !job.is_simulated() {
            results.ui().say(&job.announcement());
        } else if !job.plan().targets.is_empty() {
            let named: Vec<String> =
                job.plan().targets.iter().map(|path| format!("'{}'", path.display())).collect();
            let named = named.join(", ");
            let made = if job.plan().targets.iter().any(|path| path.is_dir()) {
                ", and the test file stays empty"
            } else {
                ""
            };
            results.ui().say(&format!("The device is simulated: no I/O goes to {named}{made}."));
        }
        if let Some(words) = job.skipped_preconditioning().filter(|_| self.output.quiet) {
            screen::say(&format!("volproof: {words}\n"));
        }
        let interrupts = end_signals::counted(end_signals::all())?;
        let mut ended = job.promised(claimed).run(&timer, &interrupts, &mut results);
        if let Some(cross) = &self.cross {
            ended.record.cross_checks = crosscheck::compare(&ended.record, &self.plan, cross.pairs);
        }
        results.publish(&ended, words.after)
    }
}
