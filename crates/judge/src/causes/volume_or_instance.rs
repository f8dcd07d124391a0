//! `volume-or-instance`: a limit that several volumes share, such as that of the instance.
//!
//! **Experiment:** two of the volumes, each alone. It needs two targets.
//!
//! **Shown** where a volume does more alone than beside the others, before and in the control.

use std::path::PathBuf;

use super::cause_case::{CauseCase, Change};
use super::cause_row::found;
use super::control;
use super::trial::{is_above, part_of, rate_between};
use crate::facts::interval_of;
use volproof_plan::Step;
use volproof_record::{Cause, CauseRow, CauseTrial, NotTried, StepRecord, bins};

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
    let mut is_shared = does_more_alone(&pairs);
    if is_shared {
        is_shared = does_more_alone(&beside_and_alone(case, control::done(case)?)?);
    }
    let trials = std::iter::once(case.base_trial()).chain(pairs.into_iter().flatten()).collect();
    Some(found(Cause::VolumeOrInstance, is_shared, trials, None))
}

/// A volume did more alone than beside the others before.
pub(super) fn needs_control(case: &CauseCase<'_>) -> bool {
    beside_and_alone(case, case.base).is_some_and(|pairs| does_more_alone(&pairs))
}

fn does_more_alone(pairs: &[[CauseTrial; 2]]) -> bool {
    pairs.iter().any(|[beside, alone]| is_above(alone, beside))
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
        ios_per_second: rate_between(&ios),
        interval: interval_of(&ios).map(|i| (i.low, i.high)),
        bytes_per_second: rate_between(&bins(&alone, true)),
        ..case.base_trial()
    })
}
