//! `volume-or-instance`: a limit that several volumes share, such as that of the instance.
//!
//! **Experiment:** two of the volumes, each alone. It needs two targets.
//!
//! **Shown** where a volume does more alone than beside the others, before and in the control; open where the intervals of the rates overlap. A
//! shown limit is no fault of the volumes: see `limited-by-instance`.

use std::path::PathBuf;

use super::cause_case::{CauseCase, Change};
use super::cause_row::answered;
use super::control;
use super::trial::{TrialComparison, above, is_above, part_of, rate_of_quotas};
use crate::facts::interval_of;
use crate::promised_rates::PromisedRates;
use volproof_plan::Step;
use volproof_record::{
    Cause, CauseFinding, CauseRow, CauseTrial, NotTried, StepRecord, bins, promise_direction,
};

/// Volumes that are tried alone: two tell whether they share a limit.
const ALONE: [Change; 2] = [Change::Alone(0), Change::Alone(1)];

pub(super) fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    if case.is_of_latency() {
        return Some(NotTried::OneAtATime);
    }
    (case.targets() < ALONE.len()).then_some(NotTried::OneTarget)
}

fn target<'a>(case: &CauseCase<'a>, alone: Change) -> Option<&'a PathBuf> {
    let place = ALONE.iter().position(|other| *other == alone)?;
    case.record.plan.targets_of(case.load).get(place)
}

pub(super) fn next(case: &CauseCase<'_>) -> Option<Step> {
    let alone = ALONE.into_iter().find(|alone| !case.was_begun(Cause::VolumeOrInstance, *alone))?;
    let targets = vec![target(case, alone)?.clone()];
    Some(case.step(Cause::VolumeOrInstance, alone, Step { targets, ..case.short_load() }))
}

/// A volume that does more alone than beside the others, before and in the control, shares a limit with them.
pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let pairs = beside_and_alone(case, case.base)?;
    let mut does_more = more_alone(&pairs);
    if does_more == TrialComparison::Yes {
        does_more = more_alone(&beside_and_alone(case, control::done(case)?)?);
    }
    let trials = std::iter::once(case.base_trial()).chain(pairs.into_iter().flatten()).collect();
    Some(answered(Cause::VolumeOrInstance, does_more, trials, None))
}

/// The volumes share a limit, and none of those that were tried alone misses its own promise by itself: what they miss together is no fault of
/// theirs. A volume that alone does as much as all together is held by that limit too.
pub(super) fn clears_the_volumes(case: &CauseCase<'_>) -> bool {
    if row(case).is_none_or(|row| row.finding != CauseFinding::Shown) {
        return false;
    }
    let pairs = beside_and_alone(case, case.base).unwrap_or_default();
    let alone = |place: usize| pairs.get(place).map(|[_, alone]| alone);
    (0..ALONE.len()).all(|place| alone(place).is_some_and(|alone| !misses_by_itself(case, place, alone)))
}

/// A volume alone misses its own promise, and does less than all of them together.
fn misses_by_itself(case: &CauseCase<'_>, place: usize, alone: &CauseTrial) -> bool {
    let judged_promise = case.judged_promise;
    let Some(volume) = judged_promise.promise.volumes.get(place) else { return true };
    let (Some(block), Some(d)) = (case.load.single_block(), promise_direction(case.load.rw)) else {
        return true;
    };
    let Some(rates) = PromisedRates::at_block(&judged_promise.of_volume(volume), block, d) else {
        return true;
    };
    let misses = alone.ios_per_second < (1.0 - judged_promise.tolerance) * rates.least.iops;
    misses && is_above(&case.base_trial(), alone)
}

/// A volume did more alone than beside the others before.
pub(super) fn needs_control(case: &CauseCase<'_>) -> bool {
    beside_and_alone(case, case.base).is_some_and(|pairs| more_alone(&pairs) == TrialComparison::Yes)
}

fn more_alone(pairs: &[[CauseTrial; 2]]) -> TrialComparison {
    let answers: Vec<TrialComparison> = pairs.iter().map(|[beside, alone]| above(alone, beside)).collect();
    TrialComparison::of_any(&answers)
}

/// Each of the volumes beside the others in a step, and alone; none before all of them are measured alone.
fn beside_and_alone(case: &CauseCase<'_>, step: &StepRecord) -> Option<Vec<[CauseTrial; 2]>> {
    let pair = |alone: Change| {
        let beside = beside_others(case, step, target(case, alone)?)?;
        Some([beside, case.trial(Cause::VolumeOrInstance, alone)?])
    };
    ALONE.into_iter().map(pair).collect()
}

/// A volume in a step beside the others.
fn beside_others(case: &CauseCase<'_>, step: &StepRecord, named: &PathBuf) -> Option<CauseTrial> {
    let part = part_of(step, case.record, named)?;
    let alone =
        StepRecord { targets: vec![part.clone()], window_ns: step.window_ns, ..StepRecord::default() };
    let ios = bins(&alone, false);
    Some(CauseTrial {
        depth: case.load.depth_per_target(),
        workers: case.load.numjobs,
        targets: vec![named.clone()],
        ios_per_second: rate_of_quotas(&ios),
        interval: interval_of(&ios).map(|i| (i.low, i.high)),
        bytes_per_second: rate_of_quotas(&bins(&alone, true)),
        ..case.base_trial()
    })
}
