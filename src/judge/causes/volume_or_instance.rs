//! `volume-or-instance`: a limit that several volumes share, such as that of the instance.
//!
//! **Experiment:** two of the volumes, each alone. It needs two targets.
//!
//! **Shown** where a volume does more alone than beside the others.

use std::path::PathBuf;

use super::{CauseCase, Experiment, TRIAL, found, is_above, part_of};
use crate::judge::facts::{interval_of, mean_rate};
use crate::plan::Step;
use crate::record::{Cause, CauseRow, CauseTrial, NotTried, StepRecord, bins};
use crate::unit::Nanos;

pub(super) const EXPERIMENT: Experiment = Experiment { cause: Cause::VolumeOrInstance, obstacle, next, row };

/// Volumes that are tried alone: two tell whether they share a limit.
const ALONE: [&str; 2] = ["alone-1", "alone-2"];

fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    if case.is_of_latency() {
        return Some(NotTried::OneAtATime);
    }
    (case.targets() < ALONE.len() || case.load.round_robin).then_some(NotTried::OneTarget)
}

fn target<'a>(case: &CauseCase<'a>, name: &str) -> Option<&'a PathBuf> {
    let place = ALONE.iter().position(|alone| *alone == name)?;
    case.record.plan.targets_of(case.load).get(place)
}

fn next(case: &CauseCase<'_>) -> Option<Step> {
    let name = ALONE.iter().find(|name| !case.was_begun(Cause::VolumeOrInstance, name))?;
    let targets = vec![target(case, name)?.clone()];
    let load = Step { targets, runtime: Nanos(TRIAL.0 / 2 * 3), ..case.short_load() };
    Some(case.step(Cause::VolumeOrInstance, name, load))
}

/// A volume that does more alone than beside the others shares a limit with them.
fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let mut trials = Vec::new();
    for name in ALONE {
        trials.push(beside_others(case, target(case, name)?)?);
        trials.push(case.trial(Cause::VolumeOrInstance, name)?);
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
