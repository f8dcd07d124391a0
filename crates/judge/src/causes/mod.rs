//! What held a volume back: experiments that each change one thing against the step that decides a promise.
//!
//! One file a cause: when its experiment cannot be done (`obstacle`), its next missing step (`next`), and how the result reads (`row`). All of
//! them are pure functions of the finished steps. An experiment drives the targets of the step that it follows, with the same pattern: where
//! that step only reads, so does the experiment. `shown` is what an experiment shows, `proven` what an exact counter says.

mod burst_credits;
mod cap;
mod cold_blocks;
mod completions_on_one_cpu;
mod control;
mod kernel_settings;
mod limit_of_instance;
mod not_throttled;
mod other_users;
mod own_limits;
mod provider_page;
mod queue_full;
mod request_parts;
mod scheduler;
mod slow_volume;
mod sold_as;
mod thermal_throttle;
mod this_machine;
mod too_little_load;
mod volume_limit;
mod volume_or_instance;

use std::path::PathBuf;

use super::facts::{interval_of, mean_latency, mean_rate};
use super::{follow_up, gravest_promise, promise_to_judge};
use volproof_base::doubt::DoubtCode;
use volproof_base::sample::PER_SECOND;
use volproof_base::stats::SAME_RATE;
use volproof_base::unit::{Bytes, Nanos, total};
use volproof_plan::{CAUSE_BUDGET, CausesWanted, FollowUp, Plan, Purpose, Step};
use volproof_record::{
    BasisCode, Cause, CauseEvidence, CauseFinding, CauseRow, CauseTable, CauseTrial, Claim, JudgedPromise,
    Metric, NotTried, Outcome, Record, State, StepRecord, StepTarget, Verdict, bins,
};

/// Measured time of a trial. An interval needs ten seconds, after the requests that filled the queue have come back. Buckets of a second or
/// less even out.
const TRIAL: Nanos = Nanos::seconds(15);
/// A trial of a few seconds needs no longer ramp.
const LONGEST_RAMP: Nanos = Nanos::seconds(2);

/// What a trial changes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    SmallerBlock,
    LargerBlock,
    Worker,
    /// All pairs of all settings.
    SettingPairs,
    /// A volume alone: the first or the second one.
    Alone(usize),
    Rest,
    /// The load that decides: see `control`.
    Again,
    /// One request at a time, below the limit.
    Offered,
    Depth(u64),
}

impl Change {
    /// Its name in plans and Records.
    fn name(self) -> String {
        match self {
            Change::SmallerBlock => "quarter-block".into(),
            Change::LargerBlock => "four-blocks".into(),
            Change::Worker => "worker".into(),
            Change::SettingPairs => "pairs".into(),
            Change::Alone(place) => format!("alone-{}", place + 1),
            Change::Rest => "rest".into(),
            Change::Again => "again".into(),
            Change::Offered => "offered".into(),
            Change::Depth(depth) => format!("depth-{depth}"),
        }
    }
}

/// An experiment on a cause.
struct Experiment {
    cause: Cause,
    /// Why it cannot be done here.
    obstacle: fn(&CauseCase<'_>) -> Option<NotTried>,
    /// Its next missing step.
    next: fn(&CauseCase<'_>) -> Option<Step>,
    /// What it shows; none while its steps are missing.
    row: fn(&CauseCase<'_>) -> Option<CauseRow>,
    /// A trial of it differs from the load that decides: the control tells whether the volume changed instead.
    needs_control: fn(&CauseCase<'_>) -> bool,
    /// Its trials compare rates or latencies: they show nothing while others take a part of the volume.
    needs_volume_alone: bool,
}

/// Exact counters, or the steps that decided the promise, show the cause: no step is needed.
const COUNTED: Experiment = Experiment {
    cause: Cause::ColdBlocks,
    obstacle: cold_blocks::obstacle,
    next: |_| None,
    row: |_| None,
    needs_control: |_| false,
    needs_volume_alone: false,
};

/// In the order of the table.
const EXPERIMENTS: [Experiment; 17] = [
    Experiment {
        cause: Cause::TooLittleLoad,
        obstacle: too_little_load::obstacle,
        row: too_little_load::row,
        ..COUNTED
    },
    Experiment {
        cause: Cause::ThisMachine,
        obstacle: this_machine::obstacle,
        next: this_machine::next,
        row: this_machine::row,
        needs_control: this_machine::needs_control,
        needs_volume_alone: true,
    },
    Experiment {
        cause: Cause::OtherUsers,
        obstacle: other_users::obstacle,
        row: other_users::row,
        ..COUNTED
    },
    Experiment { cause: Cause::OwnLimits, obstacle: own_limits::obstacle, row: own_limits::row, ..COUNTED },
    Experiment {
        cause: Cause::KernelSettings,
        obstacle: kernel_settings::obstacle,
        next: kernel_settings::next,
        row: kernel_settings::row,
        ..COUNTED
    },
    Experiment {
        cause: Cause::Cap,
        obstacle: cap::obstacle,
        next: cap::next,
        row: cap::row,
        needs_control: cap::needs_control,
        needs_volume_alone: true,
    },
    Experiment {
        cause: Cause::VolumeOrInstance,
        obstacle: volume_or_instance::obstacle,
        next: volume_or_instance::next,
        row: volume_or_instance::row,
        needs_control: volume_or_instance::needs_control,
        needs_volume_alone: true,
    },
    Experiment {
        cause: Cause::VolumeLimit,
        obstacle: provider_page::obstacle,
        row: volume_limit::row,
        ..COUNTED
    },
    Experiment {
        cause: Cause::InstanceLimit,
        obstacle: provider_page::obstacle,
        row: limit_of_instance::row,
        ..COUNTED
    },
    Experiment {
        cause: Cause::NotThrottled,
        obstacle: provider_page::obstacle,
        row: not_throttled::row,
        ..COUNTED
    },
    Experiment {
        cause: Cause::ThermalThrottle,
        obstacle: thermal_throttle::obstacle,
        row: thermal_throttle::row,
        ..COUNTED
    },
    Experiment { cause: Cause::QueueFull, obstacle: |_| None, row: queue_full::row, ..COUNTED },
    Experiment { cause: Cause::Scheduler, obstacle: |_| None, row: scheduler::row, ..COUNTED },
    Experiment {
        cause: Cause::CompletionsOnOneCpu,
        obstacle: |_| None,
        row: completions_on_one_cpu::row,
        ..COUNTED
    },
    Experiment {
        cause: Cause::BurstCredits,
        obstacle: burst_credits::obstacle,
        next: burst_credits::next,
        row: burst_credits::row,
        needs_control: burst_credits::needs_control,
        needs_volume_alone: true,
    },
    COUNTED,
    Experiment {
        cause: Cause::SlowVolume,
        obstacle: slow_volume::obstacle,
        next: slow_volume::next,
        row: slow_volume::row,
        needs_volume_alone: true,
        ..COUNTED
    },
];

/// The experiment step that a run does next: the one that takes least time; none where no cause is looked for, or the budget is spent.
pub fn next(record: &Record) -> Option<Step> {
    let case = CauseCase::new(record, record.verdict.as_ref()?).filter(|case| !case.is_faulty())?;
    if case.is_settled() {
        return None;
    }
    let open = EXPERIMENTS.iter().filter(|e| case.obstacle(e).is_none());
    let steps = open.filter_map(|e| (e.next)(&case)).filter(|step| case.has_time_for(step));
    let control = || control::next(&case).filter(|step| case.has_time_for(step));
    steps.min_by_key(Step::whole_time).or_else(control)
}

/// The table of a Record: none where its run looked for no cause.
pub fn table(record: &Record, verdict: &Verdict) -> Option<CauseTable> {
    let case = CauseCase::new(record, verdict)?;
    Some(CauseTable {
        step: case.first.name.clone(),
        metric: case.claim.metric,
        budget_ns: case.budget(),
        rows: EXPERIMENTS.iter().filter(|e| case.can_tell(e.cause)).map(|e| case.row_of(e)).collect(),
    })
}

/// What the experiments may take at most: time, and bytes written at the rate of forecasts.
pub fn at_most(plan: &Plan) -> (Nanos, Bytes) {
    let Some(follow_up) = &plan.follow_up else { return (Nanos(0), Bytes(0)) };
    let budget = follow_up.budget.unwrap_or(CAUSE_BUDGET);
    let writing = plan.steps.iter().filter(|s| s.rw.changes_data() && !plan.is_precondition(&s.name));
    let rate = writing.map(Step::forecast_rate).fold(0.0, f64::max);
    (budget, Bytes((rate * budget.as_seconds()) as u64))
}

/// The step of this purpose is no measurement: the run compares the kernel's settings in its place.
pub fn compares_settings(purpose: &Purpose) -> bool {
    matches!(purpose, Purpose::Cause { cause, .. } if *cause == Cause::KernelSettings.code())
}

/// An experiment's step of the plan, and its result where it has one.
struct Tried<'a> {
    cause: &'a str,
    case: &'a str,
    plan: &'a Step,
    done: Option<&'a StepRecord>,
}

impl Tried<'_> {
    fn figures(&self, record: &Record) -> Option<CauseTrial> {
        Some(trial_of(record, self.plan, self.done?))
    }
}

/// A promise whose cause is looked for.
struct CauseCase<'a> {
    record: &'a Record,
    judged_promise: &'a JudgedPromise,
    follow_up: &'a FollowUp,
    claim: &'a Claim,
    /// The step of the plan that tests the promise.
    first: &'a Step,
    /// The step that decides, whose load the experiments vary.
    base: &'a StepRecord,
    /// Its load.
    load: &'a Step,
    tried: Vec<Tried<'a>>,
    /// Others took a part of the volume, in the step that decides or in a trial.
    is_shared: bool,
}

impl<'a> CauseCase<'a> {
    fn new(record: &'a Record, verdict: &'a Verdict) -> Option<CauseCase<'a>> {
        let alone = record.rank.is_none() && record.fleet.is_none();
        let follow_up = record.plan.follow_up.as_ref().filter(|_| alone)?;
        let claim = gravest_promise(verdict)?;
        let by_instance = claim.blocker.as_deref() == Some(DoubtCode::LimitedByInstance.as_str());
        let is_missed = verdict.outcome == Some(Outcome::Fail) || by_instance;
        let wanted = is_missed || follow_up.causes == CausesWanted::Always;
        let judged_promise = promise_to_judge(record).filter(|_| wanted)?;
        let first = record.plan_step(&claim.step)?;
        let base = record.steps.iter().find(|step| step.name == claim.row_step())?;
        let load = record.plan_step(&base.name)?;
        let tried: Vec<Tried<'a>> =
            record.plan.steps.iter().filter_map(|plan| tried(record, first, plan)).collect();
        let trials = tried.iter().filter_map(|t| Some((t.plan, t.done?)));
        let is_shared = trials.chain([(load, base)]).any(|(p, done)| other_users::took_part(record, p, done));
        Some(CauseCase { record, judged_promise, follow_up, claim, first, base, load, tried, is_shared })
    }

    /// Why an experiment cannot be done here.
    fn obstacle(&self, experiment: &Experiment) -> Option<NotTried> {
        let others = || self.is_disturbed(experiment).then_some(NotTried::OtherUsers);
        (experiment.obstacle)(self).or_else(others)
    }

    fn is_disturbed(&self, experiment: &Experiment) -> bool {
        experiment.needs_volume_alone && self.is_shared
    }

    fn budget(&self) -> Nanos {
        self.follow_up.budget.unwrap_or(CAUSE_BUDGET)
    }

    /// The budget has time for a step: a budget of the user's is for all added steps, ours for the experiments.
    fn has_time_for(&self, step: &Step) -> bool {
        let added = |s: &&Step| match &s.follows {
            Some(follows) => self.follow_up.budget.is_some() || !follows.purpose.tests_promise(),
            None => false,
        };
        let taken = total(self.record.plan.steps.iter().filter(added).map(|s| s.whole_time().0));
        taken.saturating_add(kernel_settings::time_taken(self.record).0).saturating_add(step.whole_time().0)
            <= self.budget().0
    }

    /// The provider's counters prove the cause, and the user does not want all of the experiments.
    fn is_settled(&self) -> bool {
        self.follow_up.causes != CausesWanted::Always && provider_page::is_settled(self)
    }

    /// The row has a place in the table. Counters that a disk does not have are no experiment that was left out.
    fn can_tell(&self, cause: Cause) -> bool {
        match cause {
            Cause::VolumeLimit | Cause::InstanceLimit | Cause::NotThrottled => provider_page::is_told(self),
            Cause::ThermalThrottle => thermal_throttle::is_told(self),
            Cause::QueueFull | Cause::Scheduler | Cause::CompletionsOnOneCpu => {
                request_parts::anatomy(self).is_some()
            }
            _ => true,
        }
    }

    fn row_of(&self, experiment: &Experiment) -> CauseRow {
        if self.is_faulty() {
            return CauseRow {
                not_tried: Some(NotTried::Faulty),
                ..row(experiment.cause, CauseFinding::NotTried)
            };
        }
        let found = (experiment.row)(self);
        // What compares no two loads may still exclude a cause.
        let compares_none = |row: &CauseRow| row.trials.len() < 2 && row.finding == CauseFinding::Excluded;
        if let Some(row) = found.filter(|row| !self.is_disturbed(experiment) || compares_none(row)) {
            return row;
        }
        let why = self.obstacle(experiment).unwrap_or_else(|| self.why_open(experiment));
        CauseRow { not_tried: Some(why), ..row(experiment.cause, CauseFinding::NotTried) }
    }

    /// Why steps of an experiment that can be done are missing.
    fn why_open(&self, experiment: &Experiment) -> NotTried {
        let has_result = |t: &Tried<'_>| self.record.steps.iter().any(|s| s.name == t.plan.name);
        let failed = |t: &Tried<'_>| t.cause == experiment.cause.code() && !has_result(t);
        if self.is_settled() {
            return NotTried::NotNeeded;
        }
        match (experiment.next)(self).or_else(|| control::next(self)) {
            Some(step) if !self.has_time_for(&step) => NotTried::Budget,
            Some(_) => NotTried::Ended,
            None if self.tried.iter().any(failed) => NotTried::CouldNotRun,
            None if experiment.cause == Cause::TooLittleLoad => self.why_not_confirmed(),
            None => NotTried::Ended,
        }
    }

    /// Why a promise has no confirming step.
    fn why_not_confirmed(&self) -> NotTried {
        let is_whole = self.record.state == State::Complete;
        match self.claim.outcome {
            Outcome::Pass | Outcome::Fail => NotTried::NotNeeded,
            _ if is_whole && self.follow_up.budget.is_some() => NotTried::Budget,
            _ => NotTried::Ended,
        }
    }

    /// The step of a trial was planned, whatever became of it.
    fn was_begun(&self, cause: Cause, change: Change) -> bool {
        self.tried(cause, change).is_some()
    }

    fn tried(&self, cause: Cause, change: Change) -> Option<&Tried<'a>> {
        self.tried_as(cause.code(), change)
    }

    fn tried_as(&self, code: &str, change: Change) -> Option<&Tried<'a>> {
        self.tried.iter().find(|t| t.cause == code && t.case == change.name())
    }

    /// The result of a trial.
    fn done(&self, cause: Cause, change: Change) -> Option<&'a StepRecord> {
        self.tried(cause, change)?.done
    }

    /// The figures of a trial.
    fn trial(&self, cause: Cause, change: Change) -> Option<CauseTrial> {
        self.tried(cause, change)?.figures(self.record)
    }

    /// The load that decides the promise.
    fn base_trial(&self) -> CauseTrial {
        trial_of(self.record, self.load, self.base)
    }

    /// A step of an experiment: a load like the one that decides, with its name and its place in the run.
    fn step(&self, cause: Cause, change: Change, load: Step) -> Step {
        self.step_named(cause.code(), change, load)
    }

    fn step_named(&self, code: &str, change: Change, load: Step) -> Step {
        let case = change.name();
        let default = Step::default();
        let plain = Step {
            ramp: load.ramp.min(LONGEST_RAMP),
            io_size: None,
            time_based: false,
            end_fsync: false,
            start: default.start,
            ..load
        };
        let word = format!("{code}-{case}");
        let purpose = Purpose::Cause { cause: code.into(), case };
        follow_up::added(self.record, self.first, plain, purpose, &word)
    }

    /// The load that decides, for the time of a trial. No more requests are in flight than complete in a second. The trial would else show how
    /// a deep queue fills: a volume serves our first requests before those that others send after them.
    fn short_load(&self) -> Step {
        let queues = u64::from(self.load.numjobs) * self.targets() as u64;
        let in_a_second = self.base_trial().ios_per_second.ceil() as u64;
        let depth = in_a_second.div_ceil(queues.max(1)).max(1);
        let iodepth = u64::from(self.load.iodepth).min(depth) as u32;
        Step { runtime: TRIAL, delay: Nanos(0), iodepth, ..self.load.clone() }
    }

    /// How many targets the deciding step drives.
    fn targets(&self) -> usize {
        self.record.plan.targets_of(self.load).len().max(1)
    }

    fn is_simulated(&self) -> bool {
        self.load.simulate.is_some()
    }

    /// The device hangs or fails I/Os.
    fn is_faulty(&self) -> bool {
        matches!(self.claim.basis, BasisCode::Hangs | BasisCode::MediumErrors)
    }

    /// The promise is the latency of one request at a time.
    fn is_of_latency(&self) -> bool {
        self.claim.metric == Metric::Latency
    }
}

fn tried<'a>(record: &'a Record, first: &Step, plan: &'a Step) -> Option<Tried<'a>> {
    let follows = plan.follows.as_ref()?;
    let Purpose::Cause { cause, case } = &follows.purpose else { return None };
    let is_whole = |s: &&StepRecord| s.name == plan.name && s.window_ns.0 >= plan.runtime.0 / 10 * 9;
    let done = record.steps.iter().find(is_whole);
    (follows.step == first.name).then_some(Tried { cause, case, plan, done })
}

/// A row without evidence.
fn row(cause: Cause, finding: CauseFinding) -> CauseRow {
    CauseRow { cause, finding, not_tried: None, trials: Vec::new(), evidence: None }
}

/// A row of an experiment that shows its cause, or excludes it.
fn found(cause: Cause, is_shown: bool, trials: Vec<CauseTrial>, evidence: Option<CauseEvidence>) -> CauseRow {
    let finding = if is_shown { CauseFinding::Shown } else { CauseFinding::Excluded };
    CauseRow { trials, evidence, ..row(cause, finding) }
}

/// A row of an exact counter.
fn counted(cause: Cause, finding: CauseFinding, evidence: CauseEvidence) -> CauseRow {
    CauseRow { evidence: Some(evidence), ..row(cause, finding) }
}

/// A measured step as a trial.
fn trial_of(record: &Record, plan: &Step, done: &StepRecord) -> CauseTrial {
    let latency_ns = mean_latency(done);
    let (ios, bytes) = (bins(done, false), bins(done, true));
    let (ios, bytes) = (once_filled(&ios, latency_ns), once_filled(&bytes, latency_ns));
    let named = record.plan.targets_of(plan);
    let all = named.len() == record.targets.len();
    let targets: Vec<PathBuf> = if all { Vec::new() } else { named.to_vec() };
    CauseTrial {
        step: done.name.clone(),
        depth: done.in_flight_asked.get().unwrap_or(done.in_flight_mean).round() as u64,
        workers: plan.workers(named.len().max(1)),
        block_bytes: plan.bs.largest(),
        targets,
        offered_per_second: done.open_loop.as_ref().map(|open| open.offered_per_second),
        rest_ns: plan.delay,
        ios_per_second: rate_between(ios),
        interval: interval_of(ios).map(|i| (i.low, i.high)),
        bytes_per_second: rate_between(bytes),
        latency_ns,
    }
}

/// The rate of counts of 100 ms from the first completions to the last: where a limiter lets a quota through once a second, fifteen seconds would
/// hold one more or one less by chance.
fn rate_between(bins: &[u64]) -> f64 {
    let is_busy = |count: &u64| *count > 0;
    let Some((first, last)) = bins.iter().position(is_busy).zip(bins.iter().rposition(is_busy)) else {
        return 0.0;
    };
    if first == last { mean_rate(bins) } else { mean_rate(&bins[first + 1..=last]) }
}

/// The counts of 100 ms after the requests that filled the queue have come back, where ten seconds are left.
fn once_filled(bins: &[u64], latency_ns: f64) -> &[u64] {
    let filling = (latency_ns * PER_SECOND as f64 / 1e9).ceil() as usize;
    let left = bins.get(filling..).unwrap_or_default();
    if left.len() >= 10 * PER_SECOND as usize { left } else { bins }
}

/// A rate is above another one: by more than the same rate, and their intervals are apart.
fn is_above(trial: &CauseTrial, other: &CauseTrial) -> bool {
    let apart = match (trial.interval, other.interval) {
        (Some((low, _)), Some((_, high))) => low > high,
        _ => false,
    };
    apart && trial.ios_per_second > (1.0 + SAME_RATE) * other.ios_per_second
}

/// Two figures are the same: within 3 %.
fn is_same(a: f64, b: f64) -> bool {
    b > 0.0 && (a / b - 1.0).abs() <= SAME_RATE
}

/// The part of a step that one target has.
fn part_of<'a>(step: &'a StepRecord, record: &Record, named: &PathBuf) -> Option<&'a StepTarget> {
    let target = record.targets.iter().find(|t| t.named == *named)?;
    step.targets.iter().find(|t| t.path == target.path && t.beside.is_empty())
}
