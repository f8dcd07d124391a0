//! `volume-or-instance`: a limit that several volumes share, such as that of the instance.
//!
//! **Experiment:** two of the volumes, each alone. It needs two targets.
//!
//! **Shown** where a volume does more alone than beside the others.

use std::path::PathBuf;

use super::{CauseCase, Change, found, is_above, part_of};
use crate::judge::facts::{interval_of, mean_rate};
use crate::plan::Step;
use crate::record::{Cause, CauseRow, CauseTrial, NotTried, StepRecord, bins};

/// Volumes that are tried alone: two tell whether they share a limit.
const ALONE: [Change; 2] = [Change::Alone(0), Change::Alone(1)];

pub(super) fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    if case.is_of_latency() {
        return Some(NotTried::OneAtATime);
    }
    (case.targets() < ALONE.len() || case.load.round_robin).then_some(NotTried::OneTarget)
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

/// A volume that does more alone than beside the others shares a limit with them.
pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let mut trials = Vec::new();
    for alone in ALONE {
        trials.push(beside_others(case, target(case, alone)?)?);
        trials.push(case.trial(Cause::VolumeOrInstance, alone)?);
    }
    let is_shared = trials.chunks(2).any(|pair| is_above(&pair[1], &pair[0]));
    trials.insert(0, case.base_trial());
    Some(found(Cause::VolumeOrInstance, is_shared, trials, None))
}

/// A volume in the deciding step, beside the others.
fn beside_others(case: &CauseCase<'_>, named: &PathBuf) -> Option<CauseTrial> {
    let part = part_of(case.base, case.record, named)?;
    let window_ns = case.base.window_ns;
    let alone = StepRecord { targets: vec![part.clone()], window_ns, ..StepRecord::default() };
    let ios = bins(&alone, false);
    let base = case.base_trial();
    Some(CauseTrial {
        depth: case.load.depth_per_target(),
        workers: case.load.numjobs,
        targets: vec![named.clone()],
        ios_per_second: mean_rate(&ios),
        interval: interval_of(&ios).map(|i| (i.low, i.high)),
        bytes_per_second: mean_rate(&bins(&alone, true)),
        ..base
    })
}
