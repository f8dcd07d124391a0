//! The pipeline behind every front end that measures: a [`Plan`] in, a [`Record`] out.
//!
//! ```text
//! Job::survey   targets looked at, engines chosen, everything wrong with the input found; nothing is touched
//! Job::run      targets cleared, opened and filled; knobs set; steps measured; all put back, however it ends
//! Ended         the Record, what stays behind, the exit code; publishing them is the front end's affair
//! ```
//!
//! Nothing here reads arguments, prints results or knows which front end asks. What a front end hears while the work goes
//! on comes through [`Front`].

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::targets::{self, Ready, Surveyed};
use super::{Failure, measure, plans, tuning};
use crate::cli::TuneMode;
use crate::device::Root;
use crate::doubts;
use crate::engine::{Choice, Timer, clock_source};
use crate::environment::Environment;
use crate::judge;
use crate::machine;
use crate::plan::Plan;
use crate::record::{Claimed, Record, SCHEMA, SCHEMA_VERSION, State, TuningRecord};
use crate::ui::Ui;
use crate::unit::{Bytes, Nanos};
use crate::warn::Warning;

/// How a plan is to be run, beyond what it says itself.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Consents to destroy block devices, by serial.
    pub destroy: Vec<String>,
    /// What happens to the kernel's knobs; the usual when absent.
    pub tune: Option<TuneMode>,
    /// A step whose verdict is not decided is measured again, for no longer than this.
    pub until_conclusive: Option<Nanos>,
}

/// Who asks for the work, and hears how it goes.
pub trait Front {
    /// Where progress is shown.
    fn ui(&mut self) -> &mut Ui;

    /// Steps have ended and are in the Record: a moment to save it.
    ///
    /// # Errors
    /// End the run.
    fn measured(&mut self, record: &Record) -> Result<(), Failure>;
}

/// Work whose input was checked. Nothing is opened or changed yet.
pub struct Job {
    root: Root,
    plan: Plan,
    surveyed: Vec<Surveyed>,
    choices: Vec<Choice>,
    warnings: Vec<Warning>,
    claimed: Option<Claimed>,
    options: Options,
}

impl Job {
    /// Looks at the targets of a plan and finds whatever cannot work.
    ///
    /// # Errors
    /// Of input, and what the guard refuses for lack of consent.
    pub fn survey(root: Root, plan: Plan, options: Options) -> Result<Job, Failure> {
        let surveyed = targets::survey(&root, &plan)?;
        let (choices, warnings) = plans::engines(&plan, &surveyed)?;
        Ok(Job { root, plan, surveyed, choices, warnings, claimed: None, options })
    }

    /// Sizes of the whole disks under the targets: what a volume was bought with.
    pub fn disk_sizes(&self) -> Vec<Option<Bytes>> {
        targets::disk_sizes(&self.root, &self.surveyed)
    }

    /// The same work held against a promise.
    pub fn promised(self, claimed: Option<Claimed>) -> Job {
        Job { claimed, ..self }
    }

    /// Does the work. `interrupts` above 0 ends it soon, with what was measured until then.
    pub fn run(self, timer: &Timer, interrupts: &AtomicUsize, front: &mut dyn Front) -> Ended {
        let Job { root, plan, surveyed, choices, warnings, claimed, options } = self;
        let record = Record {
            schema: SCHEMA.into(),
            schema_version: SCHEMA_VERSION,
            volproof_version: env!("CARGO_PKG_VERSION").into(),
            started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            state: State::Running,
            environment: Environment::read(&root, &timer.description, clock_source(Path::new("/"))),
            targets: Vec::new(),
            tuning: None,
            steps: Vec::new(),
            warnings,
            claimed,
            plan,
        };
        // Dropping `ready` takes test files away again, however this function ends.
        let ready = Ready::default();
        let mut running =
            Running { root, choices, options, timer, interrupts, front, record, ready, tuned: None };
        let outcome = running.work(surveyed);
        running.front.ui().clear();
        running.end(outcome)
    }
}

/// A run that has begun.
struct Running<'a> {
    root: Root,
    choices: Vec<Choice>,
    options: Options,
    timer: &'a Timer,
    interrupts: &'a AtomicUsize,
    front: &'a mut dyn Front,
    record: Record,
    ready: Ready,
    tuned: Option<crate::tune::Tuned>,
}

impl Running<'_> {
    fn interrupted(&self) -> bool {
        self.interrupts.load(Ordering::Relaxed) > 0
    }

    /// Everything from the first change to the last step.
    fn work(&mut self, surveyed: Vec<Surveyed>) -> Result<State, Failure> {
        for target in surveyed {
            let setting = targets::Setting {
                root: &self.root,
                plan: &self.record.plan,
                destroy: &self.options.destroy,
                timer: self.timer,
                interrupts: self.interrupts,
            };
            if !self.ready.add(&setting, target, self.front.ui())? {
                return Ok(State::Interrupted);
            }
        }
        self.record.targets = self.ready.records();
        self.record.warnings.extend(self.ready.warnings(&self.record.plan));
        self.tune()?;
        for step in 0..self.choices.len() {
            if self.interrupted() {
                return Ok(State::Interrupted);
            }
            if let Some(failed) = self.step(step)? {
                return Ok(failed);
            }
        }
        Ok(State::Complete)
    }

    /// Sets the kernel's knobs, and measures what each of them does where that was asked for.
    fn tune(&mut self) -> Result<(), Failure> {
        let plan = &self.record.plan;
        self.tuned = tuning::begin(self.options.tune, plan, &self.ready)?;
        let Some(tuned) = &mut self.tuned else { return Ok(()) };
        let effects = match self.options.tune {
            Some(TuneMode::Ab) => {
                let (step, engine) = (&plan.steps[0], self.choices[0].engine);
                tuning::effects(tuned, plan, step, engine, &self.ready, self.timer, self.front.ui())?
            }
            _ => Vec::new(),
        };
        self.record.tuning =
            Some(TuningRecord { applied: tuned.applied().to_vec(), effects, restored: None });
        Ok(())
    }

    /// Measures a step into the Record; says why the run cannot go on after it.
    fn step(&mut self, i: usize) -> Result<Option<State>, Failure> {
        let record = &mut self.record;
        let done = loop {
            let step = record.plan.steps[i].clone();
            let after = Nanos(record.plan.steps[i + 1..].iter().map(|s| s.ramp.0 + s.runtime.0).sum());
            let place = format!("[{}/{}]", i + 1, self.choices.len());
            let done = measure::step(
                &measure::Setting {
                    root: &self.root,
                    timer: self.timer,
                    ready: &self.ready,
                    plan: &record.plan,
                },
                &step,
                self.choices[i].engine,
                &place,
                after,
                self.front.ui(),
                self.interrupts,
            )?;
            let doubts = doubts::of_step(&step, &done, &record.targets);
            let longer = match self.options.until_conclusive {
                Some(most) if self.interrupts.load(Ordering::Relaxed) == 0 => {
                    judge::longer(record, &done, &doubts, most)
                }
                _ => None,
            };
            let Some(runtime) = longer else {
                record.warnings.extend(done.placement.iter().flat_map(|p| p.warnings.clone()));
                record.warnings.extend(doubts);
                break done;
            };
            self.front.ui().say(&format!(
                "{}: {} did not decide the verdict, measuring again for {}",
                step.name,
                done.window_ns.clock(),
                runtime.clock()
            ));
            record.plan.steps[i].runtime = runtime;
        };
        let failed = if done.stuck_workers > 0 {
            Some(State::Failed(format!("step {}: the device hangs", done.name)))
        } else if done.errors.count > 0 && !record.plan.continue_on_error {
            let first = done.errors.first.first();
            Some(State::Failed(first.map(|e| format!("step {}: {}", done.name, e.error)).unwrap_or_default()))
        } else {
            None
        };
        record.steps.push(done);
        self.front.measured(record)?;
        Ok(failed)
    }

    /// Puts everything back.
    fn end(mut self, outcome: Result<State, Failure>) -> Ended {
        let put_back = tuning::end(self.tuned.take(), &mut self.record.tuning);
        self.record.state = match &outcome {
            Ok(_) if self.interrupted() => State::Interrupted,
            Ok(state) => state.clone(),
            Err(failure) => State::Failed(failure.message.clone()),
        };
        let kept = self.ready.finish(self.record.plan.keep);
        Ended { record: self.record, kept, failure: outcome.err(), put_back }
    }
}

/// Work that has ended, one way or another.
pub struct Ended {
    /// What was measured.
    pub record: Record,
    /// Files that were made and stay.
    pub kept: Vec<PathBuf>,
    failure: Option<Failure>,
    put_back: bool,
}

impl Ended {
    /// The exit code of the contract in the help text.
    ///
    /// # Errors
    /// When the run could not go on; the message says why.
    pub fn code(self) -> Result<ExitCode, Failure> {
        if let Some(failure) = self.failure {
            let code = if self.put_back { failure.code } else { machine::NOT_RESTORED };
            return Err(Failure { code, ..failure });
        }
        Ok(match self.record.state {
            _ if !self.put_back => ExitCode::from(machine::NOT_RESTORED),
            State::Interrupted => ExitCode::from(130),
            State::Failed(_) => ExitCode::from(1),
            State::Complete | State::Running => {
                let broken = judge::judged(&self.record).1.is_some_and(|v| v.failed());
                ExitCode::from(u8::from(broken))
            }
        })
    }
}
