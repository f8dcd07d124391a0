//! The level that a run kept for the longest time, where its rate moved from one level to another: figures of the whole run are those of no
//! level then.

use std::ops::Range;

use super::summary::bins;
use super::{DiagnosisCase, Finding, MeasuredStep, Summary};
use crate::record::{Record, StepRecord};
use crate::sample::PER_SECOND;
use crate::stats::LEAST_SEEN;
use crate::stats::burst::BurstSeen;
use crate::stats::lapses::{Event, LoadGrid};
use crate::stats::steady::{self, Assessment};

/// What the rate of a run kept to.
pub enum Kept {
    /// One level, from its start to its end.
    Throughout,
    /// A level in a part of it, and others before or after.
    ForATime(Box<KeptLevel>),
    /// No level.
    Nothing,
}

/// A level of a run, as a run of its own.
pub struct KeptLevel {
    /// Its time in the run.
    pub seconds: Range<usize>,
    /// The part of the step in this time.
    pub step: StepRecord,
    /// Its figures.
    pub summary: Summary,
    load: LoadGrid,
    lapses: Vec<Event>,
}

impl Kept {
    /// What a measured step kept to.
    pub fn of(record: &Record, step: &StepRecord) -> Kept {
        let bins = bins(step, false);
        let end = bins.len() / PER_SECOND as usize;
        // A long run counts as steady behind a burst that is short beside it.
        let behind_a_burst =
            || BurstSeen::of(&bins).filter(BurstSeen::fell).map(|b| b.baseline_from_second()..end);
        let moved = steady::assess(&bins).filter(Assessment::moved).map(|whole| longest_level(&whole, end));
        let Some(seconds) = moved.or_else(behind_a_burst) else { return Kept::Throughout };
        if (seconds.len() as f64) < LEAST_SEEN.as_seconds() {
            return Kept::Nothing;
        }
        let part = step.within(seconds.clone());
        if steady::assess(&super::bins(&part, false)).is_none_or(|level| level.moved()) {
            return Kept::Nothing;
        }
        let load = LoadGrid::of(part.targets.iter().map(|t| &t.series));
        let (summary, lapses) = (Summary::of_part(record, &part, step), load.events());
        Kept::ForATime(Box::new(KeptLevel { seconds, step: part, summary, load, lapses }))
    }
}

/// The longest time between two changes, in whole seconds. The second of a change belongs to neither level.
fn longest_level(whole: &Assessment, seconds: usize) -> Range<usize> {
    let steadiness = &whole.steadiness;
    let changes: Vec<usize> = steadiness.changes.iter().map(|c| c.at_seconds.ceil() as usize).collect();
    let starts =
        [steadiness.warmup.cut_seconds.ceil() as usize].into_iter().chain(changes.iter().map(|at| at + 1));
    let ends = changes.iter().map(|at| at.saturating_sub(1)).chain([seconds]);
    starts.zip(ends).map(|(from, to)| from..to).max_by_key(|level| level.len()).unwrap_or(0..0)
}

/// What a rule finds about a rate that something held: of the level that the run kept for the longest time, where its rate moved.
pub fn of_level(
    case: &DiagnosisCase<'_>,
    rule: impl Fn(&DiagnosisCase<'_>) -> Option<Finding>,
) -> Option<Finding> {
    let Some(run) = case.run else { return rule(case) };
    let level = match run.kept {
        Kept::Throughout => return rule(case),
        Kept::Nothing => return None,
        Kept::ForATime(level) => level,
    };
    let part = MeasuredStep {
        step: &level.step,
        load: &level.load,
        lapses: &level.lapses,
        kept: &Kept::Throughout,
        ..run
    };
    let finding = rule(&DiagnosisCase { summary: level.summary.clone(), run: Some(part) })?;
    let Range { start, end } = level.seconds;
    let headline = format!("{} So it was from {start} s to {end} s: the rate moved.", finding.headline);
    Some(Finding { headline, ..finding })
}
