//! The pipeline behind every front end that measures: a [`Plan`] in, a [`Record`] out.
//!
//! ```text
//! CheckedRun::survey   looks at the targets, chooses the engines and finds every mistake of the input; touches nothing
//! CheckedRun::run      clears, opens and fills the targets; sets knobs; measures the steps; puts all back, however it ends
//! Ended                the Record, what stays behind, the exit code; publishing them is the front end's affair
//! ```
//!
//! Nothing here reads arguments, prints results or knows which front end asks. What a front end hears while the work goes
//! on comes through [`Front`].

mod running;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

pub use super::earlier_run::EarlierRun;
pub use super::front::Front;
pub use super::run_options::RunOptions;

use super::open_targets::{self, Ready};
use super::surveyed::Surveyed;
use super::{Failure, fleet_start, plans, preconditioning, targets};
use running::Running;
use volproof_base::doubt::Doubt;
use volproof_base::unit::{Bytes, utc};
use volproof_device::device::Root;
use volproof_engine::{EngineChoice, Timer, clock_source};
use volproof_host::environment::Environment;
use volproof_judge as judge;
use volproof_plan::{Plan, Precondition};
use volproof_record::exit::Exit;
use volproof_record::long_samples::{LONGEST, SampleText, longest_step};
use volproof_record::{JudgedPromise, Record};
use volproof_report::plan_text;

/// Work whose input was checked. Nothing is opened or changed yet.
pub struct CheckedRun {
    root: Root,
    plan: Plan,
    surveyed: Vec<Surveyed>,
    choices: Vec<EngineChoice>,
    doubts: Vec<Doubt>,
    pub(super) judged_promise: Option<JudgedPromise>,
    options: RunOptions,
}

fn not_resumed(why: &str) -> Failure {
    Failure::input(format!(
        "the earlier run cannot be resumed here: {why}; run without --resume to begin anew"
    ))
}

impl CheckedRun {
    /// Looks at the targets of a plan and finds whatever cannot work there. Promise and outputs are checked by the front end
    /// (`measurement`).
    ///
    /// # Errors
    /// Of input, and what the guard refuses for lack of consent.
    pub fn survey(root: Root, plan: Plan, options: RunOptions) -> Result<CheckedRun, Failure> {
        let mut plan = plan;
        if let Some(rank) = &options.rank {
            if let Some(asked) = options.asked.as_ref().filter(|_| rank.volumes.is_shared()) {
                asked.on_shared_volume().map_err(|e| Failure::input(e.to_string()))?;
            }
            // A rank's own part of a shared volume depends on the size. Everything below looks at that part.
            let sizes = targets::survey(&root, &plan, &options)?;
            plan = fleet_start::of_rank(plan, rank, &sizes)?;
        }
        let surveyed = targets::survey(&root, &plan, &options)?;
        targets::test_file_options(&plan, &surveyed, &options)?;
        let longest = longest_step(&plan);
        if longest > LONGEST {
            return Err(Failure::input(format!(
                "a step of {longest} is longer than a Record can be, {LONGEST}: measure for a shorter time (--runtime)"
            )));
        }
        let (choices, doubts) = plans::engines(&plan, &root)?;
        if let Some(earlier) = &options.earlier {
            let here = Environment::read(&root, "", String::new());
            if let Some(what) = earlier.other_place(&here, &surveyed) {
                return Err(not_resumed(&what));
            }
            if plan.precondition_steps() > 0 && surveyed.iter().any(|target| target.make.is_some()) {
                return Err(not_resumed("its preconditioning was lost with its test file"));
            }
        }
        Ok(CheckedRun { root, plan, surveyed, choices, doubts, judged_promise: None, options })
    }

    /// The plan, as it will be run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The targets, in the order of the plan.
    pub(super) fn surveyed(&self) -> &[Surveyed] {
        &self.surveyed
    }

    /// Refuses what the run would refuse at its targets. Each is opened as the run opens it, and closed again.
    ///
    /// # Errors
    /// A target is in use or holds data, as the guard found; or it cannot be opened.
    pub(super) fn try_targets(&self) -> Result<(), Failure> {
        self.surveyed
            .iter()
            .try_for_each(|target| open_targets::try_open(&self.root, &self.plan, target, &self.options))
    }

    /// The volumes under the targets, by their sizes.
    pub fn volumes(&self) -> Vec<Option<Bytes>> {
        let simulated = self.plan.steps.iter().any(|step| step.simulate.is_some());
        targets::volumes(&self.root, &self.surveyed, simulated)
    }

    /// No step touches a target: time is virtual.
    pub fn is_simulated(&self) -> bool {
        self.plan.needs_no_target()
    }

    /// How long the work takes, in words: said before anything begins.
    pub fn announcement(&self) -> String {
        let left = self.left();
        let (steps, takes) = (left.steps.len(), left.duration().clock());
        let what = if steps == 1 { "1 step".into() } else { format!("{steps} steps") };
        let filling = match targets::to_fill(&self.surveyed) {
            None => String::new(),
            Some(fill) => format!(
                "; first {fill} of test data are written, {} at 100 MiB/s",
                plan_text::fill_time(fill).clock()
            ),
        };
        let precondition = preconditioning::words(&left).map_or(String::new(), |words| format!("\n{words}"));
        let resumed = self.resumption().map_or(String::new(), |words| format!("\n{words}"));
        format!("{}: {what}, {takes}{filling}{precondition}{resumed}", self.plan.name)
    }

    /// The plan with the steps that are left to do: those of a fixed list that an earlier run has finished are taken out.
    pub fn left(&self) -> Plan {
        let Some(earlier) = self.options.earlier.as_ref().filter(|_| self.plan.question.is_none()) else {
            return self.plan.clone();
        };
        let done = earlier.steps.len();
        let mut plan = self.plan.clone();
        plan.steps.drain(..done);
        let steps = self.plan.precondition_steps().saturating_sub(done);
        plan.precondition = plan.precondition.filter(|_| steps > 0).map(|p| Precondition { steps, ..p });
        plan
    }

    /// What an earlier run has done of a fixed list of steps, in words.
    pub fn resumption(&self) -> Option<String> {
        let earlier = self.options.earlier.as_ref().filter(|_| self.plan.question.is_none())?;
        let began =
            earlier.began().map_or(String::new(), |began| format!(" from the run that began {began}"));
        let all = self.plan.steps.len();
        Some(format!("{} of {all} steps are kept{began}", all - self.left().steps.len()))
    }

    /// The promise that the result is held against.
    pub fn judged_promise(&self) -> Option<&JudgedPromise> {
        self.judged_promise.as_ref()
    }

    /// Does the work. `interrupts` above 0 ends it soon, with what was measured until then.
    pub fn run(self, timer: &Timer, interrupts: &Arc<AtomicUsize>, front: &mut dyn Front) -> Ended {
        let CheckedRun { root, plan, surveyed, choices, doubts, judged_promise, options } = self;
        let record = Record {
            rank: options.rank.clone(),
            environment: Environment::read(&root, &timer.description(), clock_source(Path::new("/"))),
            doubts,
            judged_promise,
            asked: options.asked.clone(),
            ..Record::of_plan(plan, utc(jiff::Timestamp::now()).into())
        };
        front.ui().run_begins(&record, interrupts);
        let continued = Arc::new(AtomicBool::new(false));
        // Without this signal, the time of a suspension would look like a stall of the device.
        let by_signal = signal_hook::flag::register(signal_hook::consts::SIGCONT, continued.clone());
        // Dropping `ready` takes test files away again, however this function ends.
        let ready = Ready::default();
        let mut running = Running {
            root,
            choices,
            options,
            timer,
            interrupts,
            continued: &continued,
            front,
            record,
            sample_text: SampleText::default(),
            ready,
            tuned: None,
            failed: Vec::new(),
            unready: Vec::new(),
        };
        let outcome = running.work(surveyed);
        running.front.ui().clear();
        let _ = by_signal.map(signal_hook::low_level::unregister);
        running.end(outcome)
    }
}

/// Work that has ended, one way or another.
pub struct Ended {
    /// The Record of the run.
    pub record: Record,
    /// Files that were made and stay.
    pub kept: Vec<PathBuf>,
    /// Steps that failed and why, in the order in which they did; those that never sent an I/O are not in the Record.
    pub failed: Vec<(String, String)>,
    failure: Option<Failure>,
    /// The kernel's knobs are as they were.
    pub put_back: bool,
}

impl Ended {
    /// How the run ended.
    ///
    /// # Errors
    /// When the run could not go on; the message says why.
    pub fn exit(&self) -> Result<Exit, Failure> {
        if let Some(failure) = &self.failure {
            let code = if self.put_back { failure.code } else { Exit::NotRestored.code() };
            return Err(Failure { code, ..failure.clone() });
        }
        if !self.put_back {
            return Ok(Exit::NotRestored);
        }
        Ok(judge::exit(&self.record))
    }
}
