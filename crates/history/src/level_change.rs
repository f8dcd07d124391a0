//! Where a figure moves to another level from one run to the next, as in Hunter: see [`volproof_base::stats::change`].

use serde::Serialize;
use volproof_base::stats::change;
use volproof_compare::{ComparedFigure, Difference, differences_between};

use crate::volume_history::{HistoryRun, SeriesPoint};

/// Runs of a level at least: one run alone is an event.
const SHORTEST: usize = 2;
/// The smallest change of a rate that counts, as a share. Less is noise of the method.
const LEAST_OF_RATE: f64 = 0.01;
/// The same of a percentile: a bucket of the histogram is a sixth of it.
const LEAST_OF_LATENCY: f64 = 0.05;

/// A change of level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelShift {
    /// The first run of the new level: its place among the runs of the volume.
    pub run: usize,
    /// Mean back to the change before.
    pub before: f64,
    /// Mean up to the change after.
    pub after: f64,
    /// Chance of such a difference without a change.
    pub p_value: f64,
    /// What else changed from the run before to this one.
    pub differs: Vec<Difference>,
}

impl LevelShift {
    /// The level afterwards over the level before.
    pub fn ratio(&self) -> f64 {
        self.after / self.before
    }
}

/// The changes in a series of values, by the places of their runs.
pub fn level_changes(figure: ComparedFigure, points: &[SeriesPoint], runs: &[HistoryRun]) -> Vec<LevelShift> {
    let least = if figure.less_is_better() { LEAST_OF_LATENCY } else { LEAST_OF_RATE };
    let all: Vec<f64> = points.iter().map(|point| point.value).collect();
    let points: Vec<SeriesPoint> =
        change::without_events(&all).into_iter().map(|place| points[place]).collect();
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let mut changes = Vec::new();
    for found in change::points_of_runs(&values, SHORTEST, least) {
        let facts = |place: usize| [runs[points[place].run].line.surroundings.clone()];
        changes.push(LevelShift {
            run: points[found.index].run,
            before: found.before,
            after: found.after,
            p_value: found.p_value,
            differs: differences_between(&facts(found.index - 1), &facts(found.index)),
        });
    }
    changes
}
