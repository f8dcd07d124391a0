//! A run from its first change to its end: the targets made ready, the knobs, the steps and the courses, and all put back.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use super::{Ended, not_resumed};
use crate::cli::TuneMode;
use crate::run::fleet_start::Due;
use crate::run::front::Front;
use crate::run::open_targets::{self, Ready};
use crate::run::run_options::RunOptions;
use crate::run::surveyed::Surveyed;
use crate::run::tuning::{self, ComparedRun, Knobs};
use crate::run::{Failure, stage};
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_course as course;
use volproof_course::seal::{seal, seal_steps};
use volproof_device::device::Root;
use volproof_engine as engine;
use volproof_engine::{EngineChoice, Timer};
use volproof_judge::{causes, doubts, provider};
use volproof_record::long_samples::SampleText;
use volproof_record::{Headroom, Record, State, TuningRecord};
use volproof_report::tune as tune_report;

/// A run that has begun.
pub(super) struct Running<'a> {
    pub(super) root: Root,
    pub(super) choices: Vec<EngineChoice>,
    pub(super) options: RunOptions,
    pub(super) timer: &'a Timer,
    pub(super) interrupts: &'a AtomicUsize,
    pub(super) continued: &'a AtomicBool,
    pub(super) front: &'a mut dyn Front,
    pub(super) record: Record,
    /// The length of its samples.
    pub(super) sample_text: SampleText,
    pub(super) ready: Ready,
    pub(super) tuned: Option<volproof_host::tune::Tuned>,
    /// Steps that failed, and why.
    pub(super) failed: Vec<(String, String)>,
    /// Targets that could not be made ready, and why.
    pub(super) unready: Vec<(PathBuf, String)>,
}

impl Running<'_> {
    fn interrupted(&self) -> bool {
        self.interrupts.load(Ordering::Relaxed) > 0
    }

    /// Everything from the first change to the last step.
    pub(super) fn work(&mut self, surveyed: Vec<Surveyed>) -> Result<State, Failure> {
        // The later steps of a course are not known.
        let plan = &self.record.plan;
        let known = if plan.question.is_some() { plan.precondition_steps() } else { plan.steps.len() };
        let finished = if plan.question.is_some() { 0 } else { self.finished_steps() };
        // Headroom is measured before a target is touched; each step takes its own from there.
        for number in finished.min(known)..known {
            let _ = self.headroom(number);
        }
        for target in surveyed {
            let setting = open_targets::ReadySetting {
                root: &self.root,
                plan: &self.record.plan,
                options: &self.options,
                timer: self.timer,
                interrupts: self.interrupts,
            };
            let named = target.job_file.map(|_| target.named.clone()).filter(|_| self.options.others_go_on);
            match (self.ready.add(&setting, target, self.front.ui()), named) {
                (Ok(true), _) => {}
                (Ok(false), _) => return Ok(State::Interrupted),
                // The steps on this target fail and are not begun.
                (Err(failure), Some(named)) => self.unready.push((named, failure.message)),
                (Err(failure), None) => return Err(failure),
            }
        }
        self.record.targets = self.ready.records();
        self.record.doubts.extend(self.ready.doubts(&self.record.plan));
        self.tune()?;
        let tuned = self.tuned.as_ref().is_some_and(|tuned| !tuned.applied().is_empty());
        if let Some(earlier) = &self.options.earlier {
            let disks = self.ready.disks(&self.record.plan, &self.record.plan.steps);
            if let Some(what) = earlier.other_settings(&self.root, &disks, tuned) {
                return Err(not_resumed(&what));
            }
        }
        self.front.ui().run_is(&self.record);
        let mut stages = self.begin_steps();
        self.front.begun(&self.record);
        loop {
            if self.interrupted() {
                return Ok(State::Interrupted);
            }
            let Some(stage) = stages.next().or_else(|| self.next_of_course()) else { break };
            if self.is_comparison(&stage) {
                self.front.stage_begins(&self.record, Duration::MAX);
                self.compare_settings(stage.start);
                continue;
            }
            if self.wait_until_due(&stage)? {
                return Ok(State::Interrupted);
            }
            self.front.stage_begins(&self.record, self.length(&stage));
            if let Some(failed) = self.stage(stage)? {
                return Ok(failed);
            }
        }
        Ok(self.failed.first().map_or(State::Complete, |(_, why)| State::Failed(why.clone())))
    }

    /// Steps that an earlier run has finished.
    fn finished_steps(&self) -> usize {
        self.options.earlier.as_ref().map_or(0, |earlier| earlier.steps.len())
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
            // The steps that follow from a verdict need it, where no step of the plan is left to measure.
            seal(&mut self.record);
        }
        let stages = self.record.plan.stages();
        stages.into_iter().filter(|stage| stage.end > begun).collect::<Vec<_>>().into_iter()
    }

    /// The next step of a course, at the end of the plan.
    fn next_of_course(&mut self) -> Option<Range<usize>> {
        let step = course::next(&self.record)?;
        let place = self.record.plan.steps.len();
        if self.record.plan.steps.iter().any(|s| s.name == step.name) {
            // The step was cut off and nobody interrupted it: a repetition would be cut off as well.
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
        let (untouched, no_journal) = match tuning::begin(self.options.tune, plan, &self.ready)? {
            Knobs::Set(tuned) => {
                self.tuned = Some(*tuned);
                (Vec::new(), None)
            }
            Knobs::Unasked => (tuning::untouched(self.options.tune, plan, &self.ready), None),
            Knobs::NoJournal(disks, why) => (disks, Some(why)),
        };
        let Some(tuned) = &mut self.tuned else {
            if !untouched.is_empty() {
                let tuning = TuningRecord { untouched, no_journal, ..TuningRecord::default() };
                if tuning.no_journal.is_some() {
                    self.front.ui().say(&tune_report::untouched(&tuning));
                }
                self.record.tuning = Some(tuning);
            }
            return Ok(());
        };
        let effects = match self.options.tune {
            Some(TuneMode::Ab) => {
                let first = plan.precondition_steps();
                let run = ComparedRun {
                    plan,
                    step: &plan.steps[first],
                    engine: self.choices[first].engine,
                    ready: &self.ready,
                    timer: self.timer,
                    interrupts: self.interrupts,
                };
                tuning::effects(tuned, &run, self.front.ui())?
            }
            _ => Vec::new(),
        };
        self.record.tuning =
            Some(TuningRecord { applied: tuned.applied().to_vec(), effects, ..TuningRecord::default() });
        Ok(())
    }

    /// How long a stage takes as planned, by the clock of the wall.
    fn length(&self, stage: &Range<usize>) -> Duration {
        let steps = &self.record.plan.steps[stage.clone()];
        let real = steps.iter().filter(|step| step.simulate.is_none());
        real.map(|step| Duration::from_nanos(step.whole_time().0)).max().unwrap_or_default()
    }

    /// The stage stands for the experiment on the kernel's settings.
    fn is_comparison(&self, stage: &Range<usize>) -> bool {
        let step = &self.record.plan.steps[stage.start];
        step.follows.as_ref().is_some_and(|f| causes::compares_settings(&f.purpose))
    }

    /// Measures what each setting that was written does to the load of a step, as an experiment on the cause. The step stays in the plan
    /// where that fails.
    fn compare_settings(&mut self, place: usize) {
        let step = self.record.plan.steps[place].clone();
        let Some(tuned) = &mut self.tuned else { return };
        let run = ComparedRun {
            plan: &self.record.plan,
            step: &step,
            engine: self.choices[place].engine,
            ready: &self.ready,
            timer: self.timer,
            interrupts: self.interrupts,
        };
        match (tuning::effects(tuned, &run, self.front.ui()), &mut self.record.tuning) {
            (Ok(effects), Some(tuning)) => {
                tuning.effects = effects;
                // The comparison stands in the effects, and is no step of the plan.
                self.record.plan.steps.truncate(place);
            }
            (Ok(_), None) => {}
            (Err(failure), _) => self.say_left_out(&step.name, &failure),
        }
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
        let due = Due::of_step(&self.record.plan, rank, stage.start);
        let in_virtual_time = self.record.plan.steps[stage.clone()].iter().all(|s| s.simulate.is_some());
        if !in_virtual_time && stage.start == measured {
            due.still_ahead()?;
        }
        if stage.start == measured {
            self.front.ui().say(&due.announcement());
        }
        if in_virtual_time {
            // Each machine has a virtual time of its own, in which the step begins when it is due.
            return Ok(false);
        }
        while !self.interrupted() && !due.is_near() {
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(self.interrupted())
    }

    /// The stage is a step that the run added to its plan.
    fn is_added(&self, range: &Range<usize>) -> bool {
        self.record.plan.steps[range.start].follows.is_some()
    }

    /// An added step that cannot be set up (memory, limits of the kernel) is left out: what the plan asked for is measured already.
    fn leave_out(&mut self, range: &Range<usize>, failure: &Failure) -> Option<State> {
        let step = self.record.plan.steps[range.start].clone();
        self.say_left_out(&step.name, failure);
        // Experiments do not need each other. A promise whose confirming step is not possible stays open.
        if step.follows.is_some_and(|follows| follows.purpose.tests_promise()) {
            self.record.plan.follow_up = None;
        }
        None
    }

    fn say_left_out(&mut self, step: &str, failure: &Failure) {
        let doubt = Doubt::new(
            Severity::Note,
            DoubtCode::FollowUpLeftOut,
            format!("step {step} could not be run: {}", failure.message),
            "run it again where memory and limits allow it; the steps before it stand",
        );
        self.front.ui().say(&doubt.message);
        self.record.doubts.push(doubt);
    }

    /// Measures a stage into the Record; says why the run cannot go on after it.
    fn stage(&mut self, range: Range<usize>) -> Result<Option<State>, Failure> {
        let done = match self.measure(range.clone()) {
            Err(failure) if self.is_added(&range) => return Ok(self.leave_out(&range, &failure)),
            done => done?,
        };
        let record = &mut self.record;
        let first = record.steps.len();
        let limited = changed_limit(record, &self.root);
        record.doubts.extend(done.steps.iter().filter_map(|step| Some(limited.clone()?.in_step(&step.name))));
        record.steps.extend(done.steps);
        record.together.extend(done.together);
        self.sample_text.fit(record);
        provider::complete(record, first);
        for i in first..record.steps.len() {
            let doubts = doubts::of_step(record, &record.steps[i]);
            let placed = record.steps[i].placement.iter().flat_map(|p| p.doubts.clone());
            record.doubts.extend(placed);
            record.doubts.extend(doubts);
        }
        if record.steps.len() > first {
            tell_of_displaced(record, &self.ready);
            seal_steps(record, first);
            self.front.ui().measured(record, first);
            self.front.measured(record);
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
        headrooms.measure(step, plan.targets_of(step).len(), &go_on)
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
                .map(|rank| Due::of_step(&self.record.plan, rank, range.start).instant()),
            others_go_on: self.options.others_go_on,
            anatomy: self.options.anatomy,
            interrupts: self.interrupts,
            continued: self.continued,
        };
        let mut done = stage::run(&setting, range.clone(), self.front)?;
        for step in &mut done.steps {
            let place = self.record.plan.steps[range.clone()].iter().position(|s| s.name == step.name);
            step.headroom = place.and_then(|place| headrooms[place].clone());
        }
        Ok(done)
    }

    /// The last step that was begun is an experiment on a cause.
    fn looks_for_causes(&self) -> bool {
        let last = self.record.plan.steps.last().and_then(|step| step.follows.as_ref());
        last.is_some_and(|follows| !follows.purpose.tests_promise())
    }

    /// Puts everything back.
    pub(super) fn end(mut self, outcome: Result<State, Failure>) -> Ended {
        let put_back = tuning::end(self.tuned.take(), &mut self.record.tuning);
        self.record.state = match &outcome {
            // What the plan asked for is measured where the user ends an experiment on the cause.
            Ok(_) if self.interrupted() && !self.looks_for_causes() => State::Interrupted,
            Ok(_) if self.interrupted() => State::Complete,
            Ok(state) => state.clone(),
            Err(failure) => State::Failed(failure.message.clone()),
        };
        tell_of_displaced(&mut self.record, &self.ready);
        seal(&mut self.record);
        let kept = self.ready.finish(self.record.plan.keep);
        Ended { record: self.record, kept, failed: self.failed, failure: outcome.err(), put_back }
    }
}

/// A doubt about limits of this process's cgroup that were changed while a stage ran. The Record holds those of now, for the steps that follow.
fn changed_limit(record: &mut Record, root: &Root) -> Option<Doubt> {
    let changed = record
        .targets
        .iter_mut()
        .filter_map(|target| target.facts.limits_have_changed(root).then_some(&*target));
    // Any target tells of its disk; all are looked at.
    let target = changed.last()?;
    let limits: Vec<String> = target
        .facts
        .device()?
        .cgroup_limits
        .iter()
        .map(|l| format!("{} says {}", l.file.display(), l.limit))
        .collect();
    let now = if limits.is_empty() { "none is left".to_string() } else { limits.join(", ") };
    let message = format!(
        "the limit of this process's own cgroup on the disk of {} changed during the step: {now}",
        target.path.display()
    );
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::OwnCgroupLimit,
        message,
        "measure again while nobody changes io.max",
    ))
}

/// Names in the Record the test files that are not in their place any more.
fn tell_of_displaced(record: &mut Record, ready: &Ready) {
    record.doubts.retain(|doubt| doubt.code != DoubtCode::TargetMoved);
    record.doubts.extend(ready.displaced());
}
