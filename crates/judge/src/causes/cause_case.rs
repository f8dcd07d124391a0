//! A promise whose cause is looked for: the step that decides it, and the experiments that were made on it.

use super::other_users;
use super::trial::trial_of;
use crate::added_step::added;
use crate::asked_verdict::promise_to_judge;
use crate::gravest::gravest_promise;
use volproof_base::doubt::DoubtCode;
use volproof_base::unit::Nanos;
use volproof_plan::{CAUSE_BUDGET, CausesWanted, FollowUp, Purpose, Step};
use volproof_record::{
    BasisCode, Cause, CauseTrial, Claim, JudgedPromise, Metric, Outcome, Record, StepRecord, Verdict,
};

/// Measured time of a trial. An interval needs ten seconds, after the requests that filled the queue have come back. Buckets of a second or
/// less even out.
pub(super) const TRIAL: Nanos = Nanos::seconds(15);

/// A trial of a few seconds needs no longer ramp.
const LONGEST_RAMP: Nanos = Nanos::seconds(2);

/// What a trial changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change {
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
    pub(super) fn name(self) -> String {
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

/// An experiment's step of the plan, and its result where it has one.
pub(super) struct Tried<'a> {
    pub(super) cause: &'a str,
    pub(super) case: &'a str,
    pub(super) plan: &'a Step,
    pub(super) done: Option<&'a StepRecord>,
}

impl Tried<'_> {
    pub(super) fn figures(&self, record: &Record) -> Option<CauseTrial> {
        Some(trial_of(record, self.plan, self.done?))
    }
}

/// A promise whose cause is looked for.
pub(super) struct CauseCase<'a> {
    pub(super) record: &'a Record,
    pub(super) judged_promise: &'a JudgedPromise,
    pub(super) follow_up: &'a FollowUp,
    pub(super) claim: &'a Claim,
    /// The step of the plan that tests the promise.
    pub(super) first: &'a Step,
    /// The step that decides, whose load the experiments vary.
    pub(super) base: &'a StepRecord,
    /// Its load.
    pub(super) load: &'a Step,
    pub(super) tried: Vec<Tried<'a>>,
    /// Others took a part of the volume, in the step that decides or in a trial.
    pub(super) is_shared: bool,
}

impl<'a> CauseCase<'a> {
    pub(super) fn new(record: &'a Record, verdict: &'a Verdict) -> Option<CauseCase<'a>> {
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

    pub(super) fn budget(&self) -> Nanos {
        self.follow_up.budget.unwrap_or(CAUSE_BUDGET)
    }

    /// The step of a trial was planned, whatever became of it.
    pub(super) fn was_begun(&self, cause: Cause, change: Change) -> bool {
        self.tried(cause, change).is_some()
    }

    pub(super) fn tried(&self, cause: Cause, change: Change) -> Option<&Tried<'a>> {
        self.tried_as(cause.code(), change)
    }

    pub(super) fn tried_as(&self, code: &str, change: Change) -> Option<&Tried<'a>> {
        self.tried.iter().find(|t| t.cause == code && t.case == change.name())
    }

    /// The result of a trial.
    pub(super) fn done(&self, cause: Cause, change: Change) -> Option<&'a StepRecord> {
        self.tried(cause, change)?.done
    }

    /// The figures of a trial.
    pub(super) fn trial(&self, cause: Cause, change: Change) -> Option<CauseTrial> {
        self.tried(cause, change)?.figures(self.record)
    }

    /// The load that decides the promise.
    pub(super) fn base_trial(&self) -> CauseTrial {
        trial_of(self.record, self.load, self.base)
    }

    /// A step of an experiment: a load like the one that decides, with its name and its place in the run.
    pub(super) fn step(&self, cause: Cause, change: Change, load: Step) -> Step {
        self.step_named(cause.code(), change, load)
    }

    pub(super) fn step_named(&self, code: &str, change: Change, load: Step) -> Step {
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
        added(self.record, self.first, plain, purpose, &word)
    }

    /// The load that decides, for the time of a trial. No more requests are in flight than complete in a second. The trial would else show how
    /// a deep queue fills: a volume serves our first requests before those that others send after them.
    pub(super) fn short_load(&self) -> Step {
        let queues = u64::from(self.load.numjobs) * self.targets() as u64;
        let in_a_second = self.base_trial().ios_per_second.ceil() as u64;
        let depth = in_a_second.div_ceil(queues.max(1)).max(1);
        let iodepth = u64::from(self.load.iodepth).min(depth) as u32;
        Step { runtime: TRIAL, delay: Nanos(0), iodepth, ..self.load.clone() }
    }

    /// How many targets the deciding step drives.
    pub(super) fn targets(&self) -> usize {
        self.record.plan.targets_of(self.load).len().max(1)
    }

    pub(super) fn is_simulated(&self) -> bool {
        self.load.simulate.is_some()
    }

    /// The device hangs or fails I/Os.
    pub(super) fn is_faulty(&self) -> bool {
        matches!(self.claim.basis, BasisCode::Hangs | BasisCode::MediumErrors)
    }

    /// The promise is the latency of one request at a time.
    pub(super) fn is_of_latency(&self) -> bool {
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
