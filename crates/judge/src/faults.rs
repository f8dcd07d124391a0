//! Whether a step measured the volume that the promise is about: faults of the measurement, which void a figure, and conditions that let a
//! cache answer in its place.

use std::borrow::Cow;
use std::path::Path;

use super::{cache_may_answer, words};
use volproof_base::doubt::{Doubt, DoubtCode};
use volproof_base::unit::Bytes;
use volproof_record::StepFigures;
use volproof_record::{BasisCode, Claim, JudgedPromise, Outcome, Record, StepRecord};

/// A range larger than this multiple of the named size cannot lie on the named volume: a GiB is only 7 % more than a GB.
const NAMED_SIZE: f64 = 1.08;

/// A fault of the measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Its code.
    pub code: DoubtCode,
    /// The observation.
    pub message: String,
    /// The advice.
    pub advice: String,
}

impl Fault {
    pub(super) fn new(
        code: impl Into<DoubtCode>,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Fault {
        Fault { code: code.into(), message: message.into(), advice: advice.into() }
    }

    /// It can only make figures worse: a figure that keeps its limit keeps it in spite of the fault.
    pub fn only_slows(&self) -> bool {
        self.code.only_slows()
    }
}

impl From<&Doubt> for Fault {
    fn from(doubt: &Doubt) -> Fault {
        Fault::new(doubt.code.clone(), &*doubt.message, &*doubt.advice)
    }
}

/// An experiment showed a limit that the volumes share.
pub fn shared_limit() -> Fault {
    Fault::new(
        DoubtCode::LimitedByInstance,
        "the volumes share a limit, such as that of the instance: each alone does more than beside the others; shown, and no fault of a volume",
        "test each volume alone or on an instance with a higher limit, or judge the promise of this one with --instance",
    )
}

/// A claim that a fault of the measurement voids.
pub fn void(claim: Claim, fault: &Fault) -> Claim {
    Claim {
        outcome: Outcome::Invalid,
        basis: BasisCode::NotValid,
        blocker: Some(fault.code.to_string()),
        reason: words::of_fault(fault),
        more_seconds: None,
        command: None,
        ..claim
    }
}

/// The first fault of the measurement that voids a step. `keeps`: its figure keeps the promise, so that what only slows it down does not
/// count.
pub fn fault(
    record: &Record,
    judged_promise: &JudgedPromise,
    step: &StepRecord,
    keeps: bool,
) -> Option<Fault> {
    let mut all = of_doubts(record, step).into_iter().chain(other_volume(record, judged_promise, step));
    all.find(|fault| !(keeps && fault.only_slows()))
}

/// The doubts that void a step. Those that only slow it down come last, since the others explain more.
pub fn of_doubts(record: &Record, step: &StepRecord) -> Vec<Fault> {
    let spoiling = record.doubts.iter().filter(|doubt| doubt.spoils(&step.name));
    let mut all: Vec<Fault> = spoiling.map(Fault::from).collect();
    all.sort_by_key(Fault::only_slows);
    all
}

/// A rate with all that others moved on the disk meanwhile, by its counters: the most that the volume can have done. In bytes or in I/Os a
/// second.
pub fn rate_with_others(record: &Record, step: &StepRecord, in_bytes: bool) -> Option<f64> {
    let figures = StepFigures::of_step(record, step);
    let device = figures.disk.own?;
    let seconds = step.window_ns.as_seconds();
    if in_bytes { Some(device.bytes? / seconds) } else { Some((device.ios + device.merges) / seconds) }
}

/// Why the figures of a step are not those of all the volumes that the promise is for.
fn other_volume(record: &Record, judged_promise: &JudgedPromise, step: &StepRecord) -> Option<Fault> {
    shared(record, step)
        .or_else(|| larger_than_named(record, judged_promise, step))
        .or_else(|| too_few_instances(record, judged_promise))
        .or_else(|| not_all_volumes(record, judged_promise, step))
}

fn shared(record: &Record, step: &StepRecord) -> Option<Fault> {
    let sharing = record.sharing(step);
    let first = sharing.first.first()?;
    Some(Fault::new(
        DoubtCode::SharedDisk,
        format!("it ran together with {first} on the same disk"),
        "run the steps one after another, or as one step with more jobs or a mixed pattern",
    ))
}

/// The size of all volumes of the promise.
fn sold(judged_promise: &JudgedPromise) -> Bytes {
    let gib: f64 = judged_promise.promise.volumes.iter().map(|v| v.gib).sum();
    Bytes((gib * Bytes::GIB.0 as f64) as u64)
}

fn larger_than_named(record: &Record, judged_promise: &JudgedPromise, step: &StepRecord) -> Option<Fault> {
    let sold = sold(judged_promise);
    let range = StepFigures::of_step(record, step).load.range?;
    (range.0 as f64 > NAMED_SIZE * sold.0 as f64).then(|| {
        Fault::new(
            DoubtCode::LargerThanNamed,
            format!("the load went over {range}, and {sold} are named as the size of the volume"),
            "name the size of the volume that was measured (--volume-size)",
        )
    })
}

fn too_few_instances(record: &Record, judged_promise: &JudgedPromise) -> Option<Fault> {
    let instances = record.fleet.as_ref().map_or(1, |fleet| fleet.instances());
    let mut volumes = judged_promise.promise.volumes.iter();
    let volume = volumes.find(|v| v.least_instances.is_some_and(|least| least > instances))?;
    Some(Fault::new(
        DoubtCode::TooFewInstances,
        format!(
            "the figures of {} hold when {} or more instances load it at the same time, and {instances} did; ranks on one machine are one \
             instance",
            volume.id,
            volume.least_instances.unwrap_or_default()
        ),
        "run it on several instances with --start-at and --shared, and merge their Records (docs/fleet.md)",
    ))
}

fn not_all_volumes(record: &Record, judged_promise: &JudgedPromise, step: &StepRecord) -> Option<Fault> {
    let (driven, all) = (record.targets_of(step).len(), record.targets.len());
    (driven < all && judged_promise.promise.volumes.len() > 1).then(|| {
        Fault::new(
            DoubtCode::NotAllVolumes,
            format!("it drove {driven} of {all} targets, and the promise is that of all of them"),
            "let one step drive all targets, or judge each volume by a run of its own",
        )
    })
}

/// The claim, or INCONCLUSIVE where a cache may have answered in place of the volume.
pub fn if_cache_may_answer(record: &Record, steps: &[Cow<'_, StepRecord>], claim: Claim) -> Claim {
    if claim.outcome != Outcome::Pass {
        return claim;
    }
    let decides = claim.deciding_step().map_or(claim.step.as_str(), |s| s.step.as_str());
    let Some(step) = steps.iter().find(|s| s.name == decides) else { return claim };
    let (summary, conditions) = (StepFigures::of_step(record, step), record.conditions(step));
    match cache_may_answer::reason(&summary, &conditions) {
        Some(reason) => {
            Claim { outcome: Outcome::Inconclusive, basis: BasisCode::CacheMayAnswer, reason, ..claim }
        }
        None => claim,
    }
}

/// The part of a step on one of its targets; none where it did not drive that target.
pub fn alone(step: &StepRecord, path: &Path) -> Option<StepRecord> {
    let target = step.targets.iter().find(|t| t.path == path)?;
    let part = 1.0 / step.targets.len() as f64;
    let mut open_loop = step.open_loop.clone();
    if let Some(open) = &mut open_loop {
        open.offered_per_second *= part;
    }
    Some(StepRecord {
        read: target.read.clone(),
        write: target.write.clone(),
        trim: target.trim.clone(),
        sync: target.sync.clone(),
        total: None,
        in_flight_mean: target.in_flight_mean,
        in_flight_asked: step.in_flight_asked.get().map(|n| part * n).into(),
        open_loop,
        targets: vec![target.clone()],
        provider: step.provider.iter().filter(|page| page.target == path).cloned().collect(),
        ..step.clone()
    })
}
