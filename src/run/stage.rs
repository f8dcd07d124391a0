//! A stage: the steps that may run together, each by an engine of its own on its own thread, watched by one.
//!
//! A step begins when what it waits for has ended and its delay has passed. A single step runs as a stage of its own. The kernel's counters
//! are sampled once for the whole stage: they are the one step's evidence, or belong to all of them.

mod prepared_step;
mod start_order;
mod stillness;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use super::Failure;
use super::front::Front;
use super::open_targets::Ready;
use crate::ui::{StagedStep, Tick};
use prepared_step::{Prepared, Said, load, prepare};
use stillness::Stillness;
use volproof_base::sample::{GRID, Interval};
use volproof_base::unit::{Nanos, utc};
use volproof_device::device::Root;
use volproof_device::guard::GuardError;
use volproof_engine::step_entry::{self, EndedStep};
use volproof_engine::{EngineChoice, EngineError, Gate, StepOutcome, Timer};
use volproof_host::anatomy::{NotTraced, Tracer};
use volproof_host::observe::{KernelCounters, Observer};
use volproof_plan::{EngineKind, Plan, Step};
use volproof_record::exit::Exit;
use volproof_record::{Intervention, StepRecord, Together};

/// How often the stage looks whether a step is to begin or the user wants to end.
const TICK: Duration = Duration::from_millis(50);

/// The circumstances that all stages share.
pub struct StageSetting<'a> {
    /// Where /sys and /proc are.
    pub root: &'a Root,
    /// The clock.
    pub timer: &'a Timer,
    /// Open targets.
    pub ready: &'a Ready,
    /// The plan.
    pub plan: &'a Plan,
    /// The engine of each of its steps.
    pub choices: &'a [EngineChoice],
    /// Targets that could not be made ready, and why: steps on them fail before they begin.
    pub unready: &'a [(PathBuf, String)],
    /// Requests are traced, to tell where their time goes.
    pub anatomy: bool,
    /// When the first I/O is due, where the run is a rank of a fleet.
    pub due: Option<Instant>,
    /// A failed step does not end the others; when false, it ends them.
    pub others_go_on: bool,
    /// Number of signals that ask the run to end (Ctrl-C, SIGTERM): above 0 it ends.
    pub interrupts: &'a AtomicUsize,
    /// Set by SIGCONT: the program had been suspended.
    pub continued: &'a AtomicBool,
}

/// The results of a stage.
pub struct StageOutcome {
    /// The steps that ran, in the order of the plan.
    pub steps: Vec<StepRecord>,
    /// The evidence that several steps of a stage share.
    pub together: Option<Together>,
    /// Steps that could not run.
    pub failures: Vec<(String, Failure)>,
}

/// The progress of a step.
enum StepState {
    Waiting,
    Running { started: String, first_io: Option<Instant> },
    Ended(Instant),
}

/// Runs the steps of a stage to their end.
///
/// # Errors
/// When a step cannot be begun for a reason known before any of them was.
pub fn run(
    setting: &StageSetting<'_>,
    stage: Range<usize>,
    front: &mut dyn Front,
) -> Result<StageOutcome, Failure> {
    let plan = setting.plan;
    let steps = &plan.steps[stage.clone()];
    let (prepared, shared) = prepare(setting, stage.clone())?;
    let alone = steps.len() == 1;
    let ramp = if alone { steps[0].ramp } else { Nanos(0) };
    let observer = Observer::start(setting.root, &setting.ready.disks(plan, steps), ramp);
    let observer =
        if setting.anatomy { observer.with_trace(begin_trace(setting, &prepared)) } else { observer };
    let total = steps.iter().all(|s| s.runtime.0 > 0).then(|| plan.stage_length(stage.clone()));
    let later = plan.stages().into_iter().filter(|s| s.start >= stage.end);
    // The number of steps of a course is not known in advance.
    let course = plan.question.is_some();
    let after = (!course).then(|| Nanos(later.map(|s| plan.stage_length(s).0).sum()));
    let staged = prepared.iter().enumerate().map(|(i, p)| StagedStep {
        place: match (stage.start + i + 1, plan.steps.len()) {
            // How many steps follow from what is found is not known in advance either.
            (place, _) if course || p.step.follows.is_some() => format!("[{place}]"),
            (place, all) => format!("[{place}/{all}]"),
        },
        step: p.step.clone(),
        engine: p.engine,
        paths: setting.ready.paths_of(plan, p.step),
        targets: p.targets.len(),
        is_touch: plan.is_touch(&p.step.name),
    });
    front.ui().stage(staged.collect(), total, after);
    setting.continued.store(false, Ordering::Relaxed);
    let mut watched = Stage {
        setting,
        begun: Instant::now(),
        states: steps.iter().map(|_| StepState::Waiting).collect(),
        prepared: &prepared,
        observer,
        zero: None,
        elapsed: Nanos(0),
        outcomes: Vec::new(),
        failures: Vec::new(),
        looked: Instant::now(),
        stillness: Stillness::default(),
        samples: 0,
        by_user: false,
        suspensions: Vec::new(),
    };
    for (i, step) in steps.iter().enumerate() {
        let mut on = plan.targets_of(step).iter();
        if let Some((_, why)) = on.find_map(|t| setting.unready.iter().find(|(named, _)| named == t)) {
            watched.states[i] = StepState::Ended(watched.begun);
            watched.failures.push((step.name.clone(), Failure::from(anyhow::anyhow!("{why}"))));
        }
    }
    watched.watch(&AtomicBool::new(false), front);
    if let Some(run) = shared {
        run.rest(plan.stage_length(stage));
    }
    watched.done()
}

/// A stage that runs.
struct Stage<'a> {
    setting: &'a StageSetting<'a>,
    prepared: &'a [Prepared<'a>],
    states: Vec<StepState>,
    begun: Instant,
    observer: Observer,
    /// When the first I/O of the stage was sent.
    zero: Option<Instant>,
    elapsed: Nanos,
    outcomes: Vec<(usize, Started, StepOutcome)>,
    failures: Vec<(String, Failure)>,
    /// When the loop last looked for signals and keys.
    looked: Instant,
    /// Signs of a suspension that no signal tells.
    stillness: Stillness,
    /// Samples of the kernel's counters that the front end has heard of.
    samples: usize,
    /// The user ended the stage, by key or signal.
    by_user: bool,
    /// Suspensions of the whole program, each with the number of a step that ran then.
    suspensions: Vec<(usize, Intervention)>,
}

/// When a step began, on the wall and on the clock.
struct Started {
    wall: String,
    first_io: Instant,
}

/// What the threads of all steps share.
struct ThreadSetting<'a> {
    gate: Option<&'a Gate>,
    stop: &'a AtomicBool,
    say: Sender<(usize, Said)>,
}

/// Tells the steps to stop when it is dropped.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<'a> Stage<'a> {
    /// Begins the steps that are due and takes the messages of those that run, until no step runs or waits any more.
    fn watch(&mut self, stop: &AtomicBool, front: &mut dyn Front) {
        let (say, heard) = channel::<(usize, Said)>();
        let gate = self.gate();
        let with = ThreadSetting { gate: gate.as_ref(), stop, say };
        std::thread::scope(|scope| {
            // The scope waits for the steps, so they must be told to stop however this closure ends, by a panic too.
            let _end = StopOnDrop(stop);
            let mut handles = Vec::new();
            loop {
                self.mind_the_user(stop, front);
                for i in 0..self.states.len() {
                    if !stop.load(Ordering::Relaxed) && self.due(i) {
                        handles.extend(self.begin(i, scope, &with, front).map(|thread| (i, thread)));
                    }
                }
                if self.is_over(stop) {
                    return;
                }
                let said = match heard.recv_timeout(TICK) {
                    Ok(said) => said,
                    // A thread that has ended has sent all its messages. If the last one is missing, it panicked.
                    Err(_) if handles.iter().any(|(i, t)| self.runs(*i) && t.is_finished()) => {
                        let Ok(said) = heard.try_recv() else { return };
                        said
                    }
                    Err(_) => continue,
                };
                match said {
                    (i, Said::Watch { elapsed, at, fresh }) => self.news(i, elapsed, at, &fresh, front),
                    (i, Said::Ended(result)) => self.ended(i, *result, stop),
                }
            }
        });
    }

    /// The gate at which the steps that begin at once wait for each other, and for the moment that a fleet has named.
    fn gate(&self) -> Option<Gate> {
        let at_once = (0..self.states.len()).filter(|i| self.waits(*i) && self.at_once(*i)).count();
        // A simulated step begins when it is due in virtual time, for which nobody waits.
        let simulated = self.prepared.iter().all(|p| p.step.simulate.is_some());
        let due = self.setting.due.filter(|_| !simulated);
        (at_once > 1 || due.is_some()).then(|| Gate::new(at_once).not_before(due))
    }

    /// Begins a step on a thread of its own; none where it cannot begin.
    fn begin<'scope, 'env>(
        &mut self,
        i: usize,
        scope: &'scope Scope<'scope, 'env>,
        with: &ThreadSetting<'env>,
        front: &mut dyn Front,
    ) -> Option<ScopedJoinHandle<'scope, ()>>
    where
        'a: 'env,
    {
        let gate = with.gate.filter(|_| self.at_once(i));
        if let Err(e) = self.still_free(i) {
            withdraw(gate);
            self.failed(i, Failure::from(e), with.stop);
            return None;
        }
        front.ui().begin(i);
        let started = utc(jiff::Timestamp::now());
        self.states[i] = StepState::Running { started, first_io: None };
        let (prepared, setting, say, stop) = (&self.prepared[i], self.setting, with.say.clone(), with.stop);
        let tap = self.observer.tap();
        let body = move || load(prepared, setting, gate, tap.as_ref(), (i, stop, &say));
        match std::thread::Builder::new().spawn_scoped(scope, body) {
            Ok(thread) => Some(thread),
            Err(e) => {
                withdraw(gate);
                self.ended(i, Err(EngineError::no_thread(&e)), with.stop);
                None
            }
        }
    }

    /// No step runs, and none waits that may still begin.
    fn is_over(&self, stop: &AtomicBool) -> bool {
        let mut all = 0..self.states.len();
        let stopping = stop.load(Ordering::Relaxed);
        !all.any(|i| self.runs(i) || (self.waits(i) && !stopping))
    }

    fn waits(&self, i: usize) -> bool {
        matches!(self.states[i], StepState::Waiting)
    }

    fn runs(&self, i: usize) -> bool {
        matches!(self.states[i], StepState::Running { .. })
    }

    /// Ends the stage where the user wants that, and notes that the program was suspended.
    fn mind_the_user(&mut self, stop: &AtomicBool, front: &mut dyn Front) {
        let looked = std::mem::replace(&mut self.looked, Instant::now());
        if self.setting.interrupts.load(Ordering::Relaxed) > 0 {
            self.by_user = true;
        }
        self.by_user |= front.ui().is_end_ordered();
        stop.fetch_or(self.by_user, Ordering::Relaxed);
        let still = if self.setting.continued.swap(false, Ordering::Relaxed) {
            self.stillness.continued(looked, self.looked, self.by_user)
        } else {
            self.stillness.looked(looked, self.looked)
        };
        self.stood_still(still);
    }

    /// Notes that the program was suspended while steps ran.
    fn stood_still(&mut self, still: Option<Nanos>) {
        let Some(for_ns) = still else { return };
        let since = |zero| Nanos(self.looked.saturating_duration_since(zero).as_nanos() as u64);
        let after_ns = self.zero.map(since).unwrap_or_default();
        let running = (0..self.states.len()).filter(|i| self.runs(*i));
        let suspensions: Vec<_> =
            running.map(|i| (i, Intervention::Suspended { after_ns, for_ns })).collect();
        self.suspensions.extend(suspensions);
    }

    fn news(&mut self, i: usize, elapsed: Nanos, at: Instant, fresh: &[Interval], front: &mut dyn Front) {
        let began = at.checked_sub(elapsed.into()).unwrap_or(at);
        let StepState::Running { first_io, .. } = &mut self.states[i] else { return };
        let began = *first_io.get_or_insert(began);
        let zero = self.zero.map_or(began, |z| z.min(began));
        self.zero = Some(zero);
        self.elapsed = Nanos(at.saturating_duration_since(zero).as_nanos() as u64).max(self.elapsed);
        self.observer.poll(self.elapsed);
        let step = self.prepared[i].step;
        if step.simulate.is_none() {
            let still = self.stillness.heard(at, fresh);
            self.stood_still(still);
        }
        let window = began.saturating_duration_since(zero).as_nanos() as u64 + step.ramp.0;
        let evidence = self.observer.so_far();
        let samples = std::mem::replace(&mut self.samples, evidence.at_ns.len());
        front.ui().tick(&Tick {
            number: i,
            elapsed: self.elapsed,
            fresh,
            shift: (window / GRID.0) as i64,
            evidence: (samples != self.samples).then_some(evidence),
        });
    }

    /// The files that a step writes may have come into use since they were cleared: in the pause before it, or in the steps before it.
    fn still_free(&self, i: usize) -> Result<(), GuardError> {
        let p = &self.prepared[i];
        if p.engine == EngineKind::Null || !p.step.rw.changes_data() {
            return Ok(());
        }
        let ours_running = (0..self.states.len()).any(|i| self.runs(i) && self.prepared[i].step.fio);
        p.targets.iter().filter_map(|t| t.clearance.as_ref()).try_for_each(|c| c.still_free(ours_running))
    }

    /// A step cannot run, or did not. The other steps end with it unless `others_go_on`.
    fn failed(&mut self, i: usize, why: Failure, stop: &AtomicBool) {
        self.states[i] = StepState::Ended(Instant::now());
        let name = &self.prepared[i].step.name;
        let failure = Failure { message: format!("step '{name}': {}", why.message), ..why };
        self.failures.push((name.clone(), failure));
        stop.fetch_or(!self.setting.others_go_on, Ordering::Relaxed);
    }

    /// Notes that a step has ended. After a failure the other steps end as well unless `others_go_on`.
    fn ended(&mut self, i: usize, result: Result<StepOutcome, EngineError>, stop: &AtomicBool) {
        let before = std::mem::replace(&mut self.states[i], StepState::Ended(Instant::now()));
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(e) => {
                let exit =
                    if matches!(e, EngineError::Panicked) { Exit::RunFailed } else { Exit::WrongInput };
                return self.failed(i, Failure::new(exit, e), stop);
            }
        };
        let StepState::Running { started, first_io } = before else { unreachable!("only what runs can end") };
        let failed = outcome.ends.iter().any(|e| e.errors.count > 0) && !self.setting.plan.continue_on_error;
        let stuck = outcome.stuck > 0;
        let first_io = first_io.unwrap_or_else(Instant::now);
        self.outcomes.push((i, Started { wall: started, first_io }, outcome));
        stop.fetch_or(stuck || (failed && !self.setting.others_go_on), Ordering::Relaxed);
    }

    /// The outcome of the stage, in the form of the Record.
    fn done(mut self) -> Result<StageOutcome, Failure> {
        let evidence = self.observer.finish(self.elapsed);
        let alone = self.prepared.len() == 1;
        let zero = self.zero.unwrap_or(self.begun);
        self.outcomes.sort_by_key(|(i, ..)| *i);
        let mut steps = Vec::new();
        for (i, started, mut outcome) in self.outcomes {
            let p = &self.prepared[i];
            let cut = self.by_user && outcome.interrupted;
            let after = started.first_io.saturating_duration_since(zero);
            let mut step = step_entry::entry(EndedStep {
                step: p.step,
                engine: p.engine,
                paths: self.setting.ready.paths_of(self.setting.plan, p.step),
                started: started.wall,
                started_after: Nanos(after.as_nanos() as u64),
                pinned_cpus: p.cpus.clone(),
                placement: p.placement.clone(),
                evidence: evidence_of(p.step, &mut outcome, if alone { Some(&evidence) } else { None }),
                outcome,
            });
            step.first_io_unix_ns = self.setting.due.map(|due| {
                // In virtual time the first I/O is when it is due.
                unix_ns(if p.step.simulate.is_some() { due } else { started.first_io })
            });
            let suspensions = self.suspensions.iter().filter(|(of, _)| *of == i);
            step.interventions.extend(suspensions.map(|(_, suspension)| suspension.clone()));
            if cut && (p.step.runtime.0 == 0 || step.window_ns < p.step.runtime) {
                step.interventions.push(Intervention::EndedEarly { after_ns: self.elapsed });
            }
            steps.push(step);
        }
        let names = steps.iter().map(|s| s.name.clone()).collect();
        let together = (!alone && !steps.is_empty()).then_some(Together { steps: names, evidence });
        Ok(StageOutcome { steps, together, failures: self.failures })
    }
}

/// Begins to trace the requests of a step.
///
/// # Errors
/// Why its requests cannot be traced.
fn begin_trace(setting: &StageSetting<'_>, prepared: &[Prepared<'_>]) -> Result<Tracer, NotTraced> {
    let [one] = prepared else { return Err(NotTraced::NotAlone) };
    if one.step.fio {
        return Err(NotTraced::NotAlone);
    }
    let places = setting.ready.places(setting.root, setting.plan, one.step, &one.targets)?;
    Tracer::begin(setting.root, places)
}

/// A step that cannot begin waits at no gate.
fn withdraw(gate: Option<&Gate>) {
    if let Some(gate) = gate {
        gate.withdraw();
    }
}

/// The counters that belong to a step alone: the kernel's, unless other steps ran beside it. A simulated volume that others use or that has a page has its own.
fn evidence_of(step: &Step, outcome: &mut StepOutcome, kernel: Option<&KernelCounters>) -> KernelCounters {
    let of_volumes = outcome.volumes_counters.take();
    if step.simulate.as_ref().is_some_and(|device| device.has_counters()) {
        let anatomy = kernel.and_then(|kernel| kernel.anatomy.clone());
        return KernelCounters { anatomy, ..of_volumes.unwrap_or_default() };
    }
    kernel.cloned().unwrap_or_default()
}

/// A moment, past or to come, on the machine's own wall clock.
fn unix_ns(moment: Instant) -> i64 {
    let (now, wall) = (Instant::now(), jiff::Timestamp::now().as_nanosecond() as i64);
    if moment > now {
        wall + (moment - now).as_nanos() as i64
    } else {
        wall - (now - moment).as_nanos() as i64
    }
}
