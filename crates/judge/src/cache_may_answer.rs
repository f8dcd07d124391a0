//! Conditions under which a load may find more than the volume gives: a PASS under them is INCONCLUSIVE.
//!
//! Nothing shows that a cache or a compressor was at work; the load does not exclude it.

use crate::doubts::SMALL_RANGE;
use volproof_base::unit::significant;
use volproof_record::{Conditions, StepFigures};

/// A load that moved this many times its range sent nine in ten I/Os to blocks that it had used before.
const TIMES_OVER: f64 = 10.0;

/// Why the figures of a step may be better than those of the volume, and what to do.
pub(super) fn reason(s: &StepFigures, conditions: &Conditions) -> Option<String> {
    by_data(conditions).or_else(|| by_places(conditions)).or_else(|| by_small_range(s, conditions))
}

/// Data that a volume may take without storing all of it.
pub(super) fn by_data(conditions: &Conditions) -> Option<String> {
    let writes = conditions.pattern().is_some_and(|p| p.changes_data());
    if writes && conditions.zeros.get() == Some(true) {
        return Some(
            "the load wrote zeros alone, which a volume that compresses or drops them takes faster: write random data"
                .into(),
        );
    }
    if let Some(percent) = conditions.pattern_percent.get().filter(|percent| writes && *percent > 0) {
        return Some(format!(
            "{percent} % of the data that the load wrote is one pattern over and over, which a volume that compresses takes faster: write random data"
        ));
    }
    None
}

/// Blocks that were used again soon.
pub(super) fn by_places(conditions: &Conditions) -> Option<String> {
    let hot = conditions.preferred_blocks()?;
    Some(format!(
        "the load preferred some blocks ({hot}), which a cache may have answered: use each block alike"
    ))
}

/// A range that a cache may hold, gone over many times.
pub(super) fn by_small_range(s: &StepFigures, conditions: &Conditions) -> Option<String> {
    let part = conditions.spacing.as_ref().filter(|spacing| spacing.leaves_out());
    let range = s.load.used_range(None).filter(|range| *range < SMALL_RANGE)?;
    let moved = s.rate.ios? * s.load.block?.0 as f64;
    let times = moved / (range.0.max(1) as f64 * s.load.jobs.unwrap_or(1.0).max(1.0));
    let left_out = part
        .filter(|_| s.load.range.is_none_or(|whole| whole.0 == 0 || range < whole))
        .map_or(String::new(), |part| format!(", since {} leaves out the rest", part.words()));
    (times >= TIMES_OVER).then(|| {
        format!(
            "the load went over {range} some {} times{left_out}, so that a cache may have answered: use a range of {SMALL_RANGE} or more",
            significant(times)
        )
    })
}
