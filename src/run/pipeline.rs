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

use crate::fio::plan::JobFile;
use crate::unit::utc;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::fleet_start::{self, Due};
use super::open_targets::{self, Ready};
use super::stage;
use super::targets::{self, Surveyed};
use super::{Failure, plans, preconditioning, tuning};
use crate::cli::TuneMode;
use crate::course;
use crate::device::Root;
use crate::doubt::{Doubt, Severity};
use crate::doubts;
use crate::engine::{self, EngineChoice, Headrooms, Timer, Trace, clock_source};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::fit::AskedFits;
use crate::observe::Evidence;
use crate::plan::{Plan, Step};
use crate::record::{
    AbortedStep, Claimed, CourseAnswer, FleetRank, Headroom, Intervention, RankClock, Record, SCHEMA,
    SCHEMA_VERSION, State, TuningRecord,
};
use crate::report::plan_text;
use crate::sample::Interval;
use crate::ui::{EndOrder, Ui};
use crate::unit::{Bytes, Nanos};
use crate::verdict;

pub use super::resume::EarlierRun;

/// How a plan is to be run, beyond what it says itself.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Consents to destroy block devices, by serial.
    pub destroy: Vec<String>,
    /// Existing files may be overwritten also where others have them open, or know them by other names.
    pub overwrite_shared: bool,
    /// Whether the kernel's knobs are set; by the kind of the targets when absent.
    pub tune: Option<TuneMode>,
    /// A step whose verdict is not decided is measured again, each time for at most this long.
    pub until_conclusive: Option<Nanos>,
    /// Files that may be made, made longer and overwritten, by the name that the plan has for them. All other targets keep to
    /// the rules of `run`.
    pub job_files: BTreeMap<PathBuf, JobFile>,
    /// A failed step does not end the steps beside it and after it; when false, it ends the run. A device that hangs always ends the run.
    pub others_go_on: bool,
    /// A Record of an earlier run of the same plan, whose finished steps are not measured again.
    pub earlier: Option<Box<EarlierRun>>,
    /// More pinned workers than CPUs are allowed; when false, such a plan is refused.
    pub share_cpus: bool,
    /// The place of the run in a fleet: its steps begin at planned times.
    pub rank: Option<FleetRank>,
    /// The applications whose needs the run is held against.
    pub asked: Option<AskedFits>,
    /// Headrooms measured so far: that of each load is measured before its step. Absent where headroom is not measured.
    pub headrooms: Option<Headrooms>,
}

/// Who asks for the work, and hears how it goes.
pub trait Front {
    /// Where progress is shown.
    fn ui(&mut self) -> &mut Ui;

    /// Steps have ended and are in the Record: a moment to save it. What cannot be saved is no reason to end the run.
    fn measured(&mut self, record: &Record);

    /// Every I/O of a step that keeps them (`Step::trace`), by worker: the moment to write logs. They are not kept after it.
    fn traced(&mut self, step: &Step, traces: Vec<Trace>) {
        let _ = (step, traces);
    }

    /// News of each running step, about ten times a second. The default does nothing, because [`Ui`] shows progress already.
    fn heard(&mut self, news: &News<'_>) {
        let _ = news;
    }

    /// This rank of a fleet is ready: when the first I/O of all ranks is due, by the clock of rank 0, and what is known of the clock of this one.
    /// The default is for a start that was planned before.
    ///
    /// # Errors
    /// When the fleet ends before it begins.
    fn common_start(&mut self, record: &Record) -> Result<Option<(i64, RankClock)>, Failure> {
        let _ = record;
        Ok(None)
    }

    /// Time passes while a stage runs, also when nothing is new: called every 50 ms or more often.
    fn tick(&mut self) {}
}

/// News of a running step.
pub struct News<'a> {
    /// The step.
    pub step: &'a Step,
    /// How many targets it drives: one series of samples each.
    pub targets: usize,
    /// Time since its load began, ramp included.
    pub elapsed: Nanos,
    /// Intervals that came in since the last news, ramp included.
    pub fresh: &'a [Interval],
    /// The kernel's counters so far, which become the evidence of the stage.
    pub evidence: &'a Evidence,
}

/// Work whose input was checked. Nothing is opened or changed yet.
pub struct CheckedRun {
    root: Root,
    plan: Plan,
    surveyed: Vec<Surveyed>,
    choices: Vec<EngineChoice>,
    warnings: Vec<Doubt>,
    claimed: Option<Claimed>,
    options: Options,
}

fn not_resumed(why: &str) -> Failure {
    Failure::input(format!(
        "the earlier run cannot be resumed here: {why}; run without --resume to begin anew"
    ))
}

impl CheckedRun {
    /// Looks at the targets of a plan and finds whatever cannot work.
    ///
    /// # Errors
    /// Of input, and what the guard refuses for lack of consent.
    pub fn survey(root: Root, plan: Plan, options: Options) -> Result<CheckedRun, Failure> {
        let mut plan = plan;
        if let Some(rank) = &options.rank {
            // The part that is a rank's own depends on the size; what is looked at below is that part.
            let sizes = targets::survey(&root, &plan, &options)?;
            plan = fleet_start::of_rank(plan, rank, &sizes)?;
        }
        let surveyed = targets::survey(&root, &plan, &options)?;
        let (choices, warnings) = plans::engines(&plan, &root)?;
        if let Some(earlier) = &options.earlier {
            let here = Environment::read(&root, "", String::new());
            if let Some(what) = earlier.other_place(&here, &surveyed) {
                return Err(not_resumed(&what));
            }
        }
        Ok(CheckedRun { root, plan, surveyed, choices, warnings, claimed: None, options })
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
    /// The guard's answer.
    pub(super) fn try_targets(&self) -> Result<(), Failure> {
        let Options { destroy, overwrite_shared, .. } = &self.options;
        self.surveyed.iter().try_for_each(|target| {
            open_targets::try_open(&self.root, &self.plan, target, destroy, *overwrite_shared)
        })
    }

    /// Sizes of the whole disks under the targets: what a volume was bought with.
    pub fn disk_sizes(&self) -> Vec<Option<Bytes>> {
        targets::disk_sizes(&self.root, &self.surveyed)
    }

    /// No step touches a target: time is virtual.
    pub fn is_simulated(&self) -> bool {
        self.plan.needs_no_target()
    }

    /// How long the work takes, in words: said before anything begins.
    pub fn announcement(&self) -> String {
        let (steps, takes) = (self.plan.steps.len(), self.plan.duration().clock());
        let what = if steps == 1 { "1 step".into() } else { format!("{steps} steps") };
        let filling = match targets::to_fill(&self.surveyed) {
            None => String::new(),
            Some(fill) => format!(
                "; first {fill} of test data are written, {} at 100 MiB/s",
                plan_text::fill_time(fill).clock()
            ),
        };
        let precondition =
            preconditioning::words(&self.plan).map_or(String::new(), |words| format!("\n{words}"));
        format!("{}: {what}, {takes}{filling}{precondition}", self.plan.name)
    }

    /// That an earlier run took the place of the preconditioning that was asked for.
    pub fn skipped_preconditioning(&self) -> Option<String> {
        preconditioning::skipped(&self.plan)
    }

    /// The same work held against a promise.
    pub fn promised(self, claimed: Option<Claimed>) -> CheckedRun {
        CheckedRun { claimed, ..self }
    }

    /// Does the work. `interrupts` above 0 ends it soon, with what was measured until then.
    pub fn run(self, timer: &Timer, interrupts: &Arc<AtomicUsize>, front: &mut dyn Front) -> Ended {
        let CheckedRun { root, plan, surveyed, choices, warnings, claimed, options } = self;
        let record = Record {
            schema: SCHEMA.into(),
            schema_version: SCHEMA_VERSION,
            volproof_version: env!("CARGO_PKG_VERSION").into(),
            started: utc(jiff::Timestamp::now()).into(),
            report: None,
            rank: options.rank.clone(),
            fleet: None,
            state: State::Running,
            environment: Environment::read(&root, &timer.description(), clock_source(Path::new("/"))),
            targets: Vec::new(),
            tuning: None,
            steps: Vec::new(),
            aborted: Vec::new(),
            together: Vec::new(),
            warnings,
            cross_checks: Vec::new(),
            answer: None,
            resumed_after: Vec::new(),
            claimed,
            asked: options.asked.clone(),
            verdict: None,
            findings: None,
            lookup: Default::default(),
            plan,
        };
        front.ui().run_begins(&record, interrupts);
        let resumed = Arc::new(AtomicBool::new(false));
        // Without this signal, the time of a suspension would look like a stall of the device.
        let resumes = signal_hook::flag::register(signal_hook::consts::SIGCONT, resumed.clone());
        // Dropping `ready` takes test files away again, however this function ends.
        let ready = Ready::default();
        let mut running = Running {
            root,
            choices,
            options,
            timer,
            interrupts,
            resumed: &resumed,
            front,
            record,
            ready,
            tuned: None,
            failed: Vec::new(),
            unready: Vec::new(),
        };
        let outcome = running.work(surveyed);
        running.front.ui().clear();
        let _ = resumes.map(signal_hook::low_level::unregister);
        running.end(outcome)
    }
}

/// A run that has begun.
struct Running<'a> {
    root: Root,
    choices: Vec<EngineChoice>,
    options: Options,
    timer: &'a Timer,
    interrupts: &'a AtomicUsize,
    resumed: &'a AtomicBool,
    front: &'a mut dyn Front,
    record: Record,
    ready: Ready,
    tuned: Option<crate::tune::Tuned>,
    /// Steps that failed, and why.
    failed: Vec<(String, String)>,
    /// Targets that could not be made ready, and why.
    unready: Vec<(PathBuf, String)>,
}

impl Running<'_> {
    fn interrupted(&self) -> bool {
        self.interrupts.load(Ordering::Relaxed) > 0
    }

    /// Everything from the first change to the last step.
    fn work(&mut self, surveyed: Vec<Surveyed>) -> Result<State, Failure> {
        // Of a course the steps that are to come are not known.
        let plan = &self.record.plan;
        let known = if plan.question.is_some() { plan.precondition_steps() } else { plan.steps.len() };
        for number in 0..known {
            let _ = self.headroom(number);
        }
        for target in surveyed {
            let setting = open_targets::ReadySetting {
                root: &self.root,
                plan: &self.record.plan,
                destroy: &self.options.destroy,
                overwrite_shared: self.options.overwrite_shared,
                timer: self.timer,
                interrupts: self.interrupts,
            };
            let named = target.job_file.map(|_| target.named.clone()).filter(|_| self.options.others_go_on);
            match (self.ready.add(&setting, target, self.front.ui()), named) {
                (Ok(true), _) => {}
                (Ok(false), _) => return Ok(State::Interrupted),
                // The steps on it fail; they are not begun.
                (Err(failure), Some(named)) => self.unready.push((named, failure.message)),
                (Err(failure), None) => return Err(failure),
            }
        }
        self.record.targets = self.ready.records();
        self.record.warnings.extend(self.ready.warnings(&self.record.plan));
        self.tune()?;
        let tuned = self.tuned.as_ref().is_some_and(|tuned| !tuned.applied().is_empty());
        if let Some(what) = self.options.earlier.as_ref().and_then(|earlier| earlier.other_tuning(tuned)) {
            return Err(not_resumed(what));
        }
        self.front.ui().run_is(&self.record);
        let mut stages = self.begin_steps();
        loop {
            let paused = self.wait_while_paused();
            if self.interrupted() {
                return Ok(State::Interrupted);
            }
            let Some(stage) = stages.next().or_else(|| self.next_of_course()) else { break };
            if self.wait_until_due(&stage)? {
                return Ok(State::Interrupted);
            }
            if let Some(failed) = self.stage(stage, paused)? {
                return Ok(failed);
            }
        }
        Ok(self.failed.first().map_or(State::Complete, |(_, why)| State::Failed(why.clone())))
    }

    /// The known stages, without those that an earlier run has finished: those of a fixed list, and the preconditioning of a course.
    fn begin_steps(&mut self) -> std::vec::IntoIter<Range<usize>> {
        let earlier = self.options.earlier.take();
        let plan = &mut self.record.plan;
        let course = plan.question.is_some();
        if course {
            plan.steps.truncate(plan.precondition_steps());
        }
        let mut begun = 0;
        if let Some(earlier) = earlier {
            if course {
                plan.steps.extend(earlier.plan.steps.iter().skip(plan.steps.len()).cloned());
            }
            begun = earlier.steps.len();
            earlier.into_record(&mut self.record);
        }
        self.record
            .plan
            .stages()
            .into_iter()
            .filter(|stage| stage.end > begun)
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// The next step of a course, at the end of the plan.
    fn next_of_course(&mut self) -> Option<Range<usize>> {
        let step = course::next(&self.record)?;
        let place = self.record.plan.steps.len();
        if self.record.plan.steps.iter().any(|s| s.name == step.name) {
            // The step was cut off without an interrupt, so it would be cut off again.
            self.failed.push((step.name.clone(), format!("step {}: it ended before its time", step.name)));
            return None;
        }
        let choice = engine::choose(step.engine).unwrap_or_else(|_| self.choices[0].clone());
        self.choices.truncate(place);
        self.choices.resize(place + 1, choice);
        self.record.plan.steps.push(step);
        Some(place..place + 1)
    }

    /// Sets the kernel's knobs, and measures what each of them does where that was asked for.
    fn tune(&mut self) -> Result<(), Failure> {
        let plan = &self.record.plan;
        self.tuned = tuning::begin(self.options.tune, plan, &self.ready)?;
        let Some(tuned) = &mut self.tuned else {
            let untouched = tuning::untouched(self.options.tune, plan, &self.ready);
            if !untouched.is_empty() {
                self.record.tuning = Some(TuningRecord { untouched, ..TuningRecord::default() });
            }
            return Ok(());
        };
        let effects = match self.options.tune {
            Some(TuneMode::Ab) => {
                let first = plan.precondition_steps();
                let (step, engine) = (&plan.steps[first], self.choices[first].engine);
                tuning::effects(tuned, plan, step, engine, &self.ready, self.timer, self.front.ui())?
            }
            _ => Vec::new(),
        };
        self.record.tuning =
            Some(TuningRecord { applied: tuned.applied().to_vec(), effects, ..TuningRecord::default() });
        Ok(())
    }

    /// Waits for the moment at which a rank of a fleet sets up a stage; whether the user ended it meanwhile.
    fn wait_until_due(&mut self, stage: &Range<usize>) -> Result<bool, Failure> {
        // Preconditioning is done by each machine in its own time.
        let measured = self.record.plan.precondition_steps();
        if self.record.rank.is_none() || stage.start < measured {
            return Ok(false);
        }
        if stage.start == measured {
            let agreed = self.front.common_start(&self.record)?;
            if let (Some((start, clock)), Some(rank)) = (agreed, &mut self.record.rank) {
                (rank.start_unix_ns, rank.clock) = (start, clock);
            }
        }
        let Some(rank) = &self.record.rank else { return Ok(false) };
        let due = Due::of(&self.record.plan, rank, stage.start);
        if stage.start == measured {
            due.still_ahead()?;
            self.front.ui().say(&due.announcement());
        }
        while !self.interrupted() && !due.is_near() {
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(self.interrupted())
    }

    /// Waits while the user has paused the schedule, and returns for how long.
    fn wait_while_paused(&mut self) -> Option<Nanos> {
        let began = Instant::now();
        while self.front.ui().is_paused() && !self.interrupted() {
            std::thread::sleep(Duration::from_millis(50));
        }
        let waited = began.elapsed();
        (waited >= Duration::from_millis(50)).then_some(Nanos(waited.as_nanos() as u64))
    }

    /// The user wants no result of a stage.
    fn abort(&mut self, done: &stage::StageOutcome) {
        for step in &done.steps {
            self.record.aborted.push(AbortedStep { step: step.name.clone(), after_ns: done.elapsed });
            let doubt = Doubt::new(
                Severity::Note,
                "step-aborted",
                format!("the user aborted step {} after {}", step.name, done.elapsed.clock()),
                "it has no result: run it again to have one",
            );
            self.front.ui().say(&doubt.message);
            self.record.warnings.push(doubt);
        }
    }

    /// Measures a stage into the Record, after the schedule was paused for so long; says why the run cannot go on after it.
    fn stage(&mut self, range: Range<usize>, paused: Option<Nanos>) -> Result<Option<State>, Failure> {
        let mut done = self.measure(range.clone())?;
        while let Some(runtime) = self.longer(&done) {
            let again = &done.steps[0];
            self.front.ui().say(&format!(
                "{}: {} did not decide the verdict, measuring again for {}",
                again.name,
                again.window_ns.clock(),
                runtime.clock()
            ));
            self.record.plan.steps[range.start].runtime = runtime;
            done = self.measure(range.clone())?;
        }
        if done.ended_by == Some(EndOrder::Abort) {
            self.abort(&done);
            return Ok(None);
        }
        for (step, for_ns) in done.steps.iter_mut().zip(paused.into_iter().cycle()) {
            step.interventions.insert(0, Intervention::PausedBefore { for_ns });
        }
        let record = &mut self.record;
        let first = record.steps.len();
        record.steps.extend(done.steps);
        record.together.extend(done.together);
        for i in first..record.steps.len() {
            let doubts = doubts::of_step(record, &record.steps[i]);
            let placed = record.steps[i].placement.iter().flat_map(|p| p.warnings.clone());
            record.warnings.extend(placed);
            record.warnings.extend(doubts);
        }
        if record.steps.len() > first {
            verdict::seal_steps(record, first);
            course::seal(record);
            self.front.ui().measured(record, first);
            self.front.measured(record);
        }
        for (i, traces) in done.traces {
            self.front.traced(&record.plan.steps[range.start + i], traces);
        }
        if let Some(stuck) = record.steps[first..].iter().find(|s| s.stuck_workers > 0) {
            return Ok(Some(State::Failed(format!("step {}: the device hangs", stuck.name))));
        }
        for step in &record.steps[first..] {
            if step.errors.count > 0 && !record.plan.continue_on_error {
                // The installed fio counts errors without telling them.
                let why = match step.errors.first.first() {
                    Some(first) => first.error.clone(),
                    None => format!("errors counted by the installed fio: {}", step.errors.count),
                };
                self.failed.push((step.name.clone(), format!("step {}: {why}", step.name)));
            }
        }
        for (step, failure) in done.failures {
            if !self.options.others_go_on {
                return Err(failure);
            }
            self.front.ui().say(&format!("volproof: {}", failure.message));
            self.failed.push((step, failure.message));
        }
        let ends = self.failed.first().filter(|_| !self.options.others_go_on);
        Ok(ends.map(|(_, why)| State::Failed(why.clone())))
    }

    /// The headroom of a step of the plan; measured once for each load.
    fn headroom(&mut self, number: usize) -> Option<Headroom> {
        let go_on = || self.interrupts.load(Ordering::Relaxed) == 0;
        let plan = &self.record.plan;
        let step = &plan.steps[number];
        let headrooms = self.options.headrooms.as_mut().filter(|_| go_on())?;
        headrooms.of(step, plan.targets_of(step).len(), &go_on)
    }

    fn measure(&mut self, range: Range<usize>) -> Result<stage::StageOutcome, Failure> {
        let headrooms: Vec<_> = range.clone().map(|number| self.headroom(number)).collect();
        let setting = stage::StageSetting {
            root: &self.root,
            timer: self.timer,
            ready: &self.ready,
            plan: &self.record.plan,
            choices: &self.choices,
            unready: &self.unready,
            due: self
                .record
                .rank
                .as_ref()
                .filter(|_| range.start >= self.record.plan.precondition_steps())
                .map(|rank| Due::of(&self.record.plan, rank, range.start).instant()),
            others_go_on: self.options.others_go_on,
            interrupts: self.interrupts,
            resumed: self.resumed,
        };
        let mut done = stage::run(&setting, range.clone(), self.front)?;
        for step in &mut done.steps {
            let place = self.record.plan.steps[range.clone()].iter().position(|s| s.name == step.name);
            step.headroom = place.and_then(|place| headrooms[place].clone());
        }
        Ok(done)
    }

    /// How long a step is to be measured instead, when its verdict is not decided. Steps that run together have none.
    fn longer(&self, done: &stage::StageOutcome) -> Option<Nanos> {
        let most = self.options.until_conclusive.filter(|_| !self.interrupted())?;
        let ([step], None) = (done.steps.as_slice(), &done.together) else { return None };
        if done.ended_by.is_some() {
            return None;
        }
        verdict::longer(&self.record, step, &doubts::of_step(&self.record, step), most)
    }

    /// Puts everything back.
    fn end(mut self, outcome: Result<State, Failure>) -> Ended {
        let put_back = tuning::end(self.tuned.take(), &mut self.record.tuning);
        self.record.state = match &outcome {
            Ok(_) if self.interrupted() => State::Interrupted,
            Ok(state) => state.clone(),
            Err(failure) => State::Failed(failure.message.clone()),
        };
        verdict::seal(&mut self.record);
        course::seal(&mut self.record);
        let kept = self.ready.finish(self.record.plan.keep);
        Ended { record: self.record, kept, failed: self.failed, failure: outcome.err(), put_back }
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
    put_back: bool,
}

impl Ended {
    /// Whether the kernel's knobs are as they were.
    pub fn put_back(&self) -> bool {
        self.put_back
    }

    /// How the run ended.
    ///
    /// # Errors
    /// When the run could not go on; the message says why.
    pub fn exit(&self) -> Result<Exit, Failure> {
        if let Some(failure) = &self.failure {
            let code = if self.put_back { failure.code } else { Exit::NotRestored.code() };
            return Err(Failure { code, ..failure.clone() });
        }
        Ok(match self.record.state {
            _ if !self.put_back => Exit::NotRestored,
            State::Interrupted => Exit::Interrupted,
            State::Failed(_) => Exit::Failed,
            // A pipeline must not take a device that answers nothing for a healthy one.
            State::Complete if self.record.measured_nothing() => Exit::Failed,
            State::Complete | State::Running => {
                match self.record.answer.as_ref().and_then(CourseAnswer::outcome) {
                    Some(outcome) => Exit::of_outcome(outcome),
                    None => Exit::of(verdict::judged(&self.record).1.as_ref()),
                }
            }
        })
    }
}
