//! Did a figure become worse by more than was allowed?
//!
//! Shares are of 1. Three answers, as for a promise: worse where chance explains it too rarely, kept where the whole interval is within what was
//! allowed, else not decided. All figures of a comparison are asked at once, so that their chances are added up (Holm).

use serde::Serialize;
use volproof_base::stats::CONFIDENCE;
use volproof_base::stats::change_of_runs::{ChangeOfRuns, holm};

use crate::comparison::StepChange;

/// The answer for one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateWord {
    /// It became worse by more than was allowed.
    Worse,
    /// It did not.
    Kept,
    /// The runs do not tell.
    Undecided,
    /// A run of the step is void: its figures show nothing. Of all figures: or a step or a run cannot be compared.
    Void,
}

/// The answer for all figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GateAnswer {
    /// The share by which a figure may become worse.
    pub allowed: f64,
    /// The gravest answer of a figure: worse, void, undecided, kept.
    pub word: GateWord,
}

impl GateAnswer {
    /// Answers for each figure, and for all of them. `has_all`: each step before is among them, of runs that ended well.
    pub(crate) fn for_rows(allowed: f64, has_all: bool, rows: &mut [StepChange]) -> GateAnswer {
        let chances: Vec<f64> = rows.iter().map(|row| chance_of_no_loss(row, allowed)).collect();
        for (row, chance) in rows.iter_mut().zip(holm(&chances)) {
            row.gate = Some(word(row, allowed, chance));
        }
        let weight = |word: &GateWord| {
            [GateWord::Kept, GateWord::Undecided, GateWord::Void, GateWord::Worse]
                .iter()
                .position(|w| w == word)
        };
        let missing = if has_all { None } else { Some(GateWord::Void) };
        let gravest = rows.iter().filter_map(|row| row.gate).chain(missing).max_by_key(weight);
        GateAnswer { allowed, word: gravest.unwrap_or(GateWord::Undecided) }
    }
}

/// The ratio at which a figure is worse by exactly what was allowed, of [`goodness`].
fn least_ratio(row: &StepChange, allowed: f64) -> f64 {
    if row.figure.less_is_better() { 1.0 / (1.0 + allowed) } else { 1.0 - allowed }
}

/// The change as a ratio that is above 1 where the figure became better.
fn goodness(row: &StepChange) -> Option<ChangeOfRuns> {
    let change = row.change.filter(|_| row.void.is_none())?;
    Some(if row.figure.less_is_better() { change.inverted() } else { change })
}

fn chance_of_no_loss(row: &StepChange, allowed: f64) -> f64 {
    if row.is_dead() {
        return 0.0;
    }
    goodness(row).map_or(1.0, |change| change.p_of_less(least_ratio(row, allowed)))
}

fn word(row: &StepChange, allowed: f64, chance: f64) -> GateWord {
    if row.void.is_some() {
        return GateWord::Void;
    }
    if row.is_dead() {
        return GateWord::Worse;
    }
    let Some(change) = goodness(row) else { return GateWord::Undecided };
    // The lower end of a two-sided interval leaves half of the rest below it.
    if chance < (1.0 - CONFIDENCE) / 2.0 {
        return GateWord::Worse;
    }
    if change.low_ratio >= least_ratio(row, allowed) { GateWord::Kept } else { GateWord::Undecided }
}
