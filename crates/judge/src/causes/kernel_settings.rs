//! `kernel-settings`: settings of the kernel for the disk make it slower.
//!
//! **Experiment:** short runs with and without each setting that the run changed, in six alternating pairs. All of them are put back. It needs
//! root and a block device.
//!
//! **Shown** where a recommended setting makes the volume slower, with an interval that excludes 1. The report also lists a setting that makes
//! it faster. That one held nothing back: the run had it.

use super::cause_case::{CauseCase, Change};
use super::cause_row::found;
use volproof_base::stats::compare::{ComparisonOutcome, FEWEST_PAIRS};
use volproof_base::unit::Nanos;
use volproof_device::device::Facts;
use volproof_host::tune::ab::COMPARED_RUN;
use volproof_host::tune::{Applied, Attempt};
use volproof_plan::Step;
use volproof_record::{Cause, CauseEvidence, CauseRow, NotTried, Record, SettingEffect, TargetRecord};

pub(super) fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    let is_device = |t: &&TargetRecord| matches!(t.facts, Facts::Block(_));
    if case.is_simulated() {
        return Some(NotTried::Simulated);
    }
    if !case.record.targets_of(case.base).iter().all(is_device) {
        return Some(NotTried::AFile);
    }
    if !case.record.environment.root {
        return Some(NotTried::NeedsRoot);
    }
    let Some(tuning) = &case.record.tuning else { return Some(NotTried::LeftAlone) };
    if !tuning.untouched.is_empty() {
        return Some(NotTried::LeftAlone);
    }
    tuning.applied.iter().all(|a| !was_written(a)).then_some(NotTried::AsRecommended)
}

fn was_written(applied: &Applied) -> bool {
    applied.attempt == Attempt::Written
}

/// One step stands for all pairs of all settings.
pub(super) fn next(case: &CauseCase<'_>) -> Option<Step> {
    let tuning = case.record.tuning.as_ref().filter(|t| t.effects.is_empty())?;
    if case.was_begun(Cause::KernelSettings, Change::SettingPairs) {
        return None;
    }
    let settings = tuning.applied.iter().filter(|a| was_written(a)).count();
    let runtime = time_of_pairs(settings);
    let load = Step { runtime, ..case.short_load() };
    Some(case.step(Cause::KernelSettings, Change::SettingPairs, load))
}

/// The time of the pairs of so many settings.
fn time_of_pairs(settings: usize) -> Nanos {
    Nanos((2 * FEWEST_PAIRS * settings) as u64 * COMPARED_RUN.0)
}

/// The time that a run took to compare its settings as an experiment, whose step is in no plan.
pub(super) fn time_taken(record: &Record) -> Nanos {
    time_of_pairs(record.tuning.as_ref().map_or(0, |tuning| tuning.effects.len()))
}

/// A recommended setting that makes the volume slower held it back. One that makes it faster did not: the run had it.
pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let compared = &case.record.tuning.as_ref()?.effects;
    let effects: Vec<SettingEffect> = compared
        .iter()
        .filter_map(|effect| {
            let comparison = effect.comparison?;
            let setting = effect.knob.clone();
            Some(SettingEffect {
                setting,
                low_ratio: comparison.low_ratio,
                high_ratio: comparison.high_ratio,
            })
        })
        .collect();
    if effects.is_empty() {
        return None;
    }
    let slows = compared.iter().filter_map(|e| e.comparison).any(|c| c.outcome == ComparisonOutcome::Slower);
    Some(found(Cause::KernelSettings, slows, Vec::new(), Some(CauseEvidence::Settings { effects })))
}
