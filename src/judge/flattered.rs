//! Conditions under which a load may find more than the volume gives: a PASS under them is INCONCLUSIVE.
//!
//! Nothing shows that a cache or a compressor was at work; the load does not exclude it.

use crate::judge::doubts::SMALL_RANGE;
use crate::record::StepFigures;
use crate::record::{Conditions, Known};
use crate::unit::{Bytes, significant};

/// A load that moved this many times its range sent nine in ten I/Os to blocks that it had used before.
const TIMES: f64 = 10.0;

/// Why the figures of a step may be better than those of the volume, and what to do. A part of a range that is not known is a part of volumes of the
/// size that was `sold`.
pub(super) fn reason(s: &StepFigures, conditions: &Conditions, sold: Option<Bytes>) -> Option<String> {
    by_data(conditions).or_else(|| by_places(conditions)).or_else(|| by_small_range(s, conditions, sold))
}

/// Data that a volume may take without storing all of it.
pub(super) fn by_data(conditions: &Conditions) -> Option<String> {
    let writes = conditions.pattern().is_some_and(|p| p.changes_data());
    if writes && matches!(conditions.zeros, Known::Said(true)) {
        return Some(
            "the load wrote zeros alone, which a volume that compresses or drops them takes faster: write random data"
                .into(),
        );
    }
    if let Some(percent) = conditions.repeated_percent.get().filter(|percent| writes && *percent > 0) {
        return Some(format!(
            "{percent} % of the blocks that the load wrote repeat others, which a volume that deduplicates takes faster: write random data"
        ));
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
    if let Some(jobs) = conditions.jobs_over_one_range() {
        return Some(format!(
            "{jobs} jobs went over the same range one block after the other, so that a cache may have answered all but the first: give each a range of its own"
        ));
    }
    if let Some(hot) = conditions.preferred_blocks() {
        return Some(format!(
            "the load preferred some blocks ({hot}), which a cache may have answered: use each block alike"
        ));
    }
    let spacing = conditions.spacing.as_ref();
    if let Some((times, spacing)) = spacing.and_then(|spacing| Some((spacing.times_in_a_row?, spacing))) {
        return Some(format!(
            "the load used each block {times} times in a row ({}), so that a cache may have answered: use each block once",
            spacing.words()
        ));
    }
    None
}

/// A range that a cache may hold, gone over many times.
pub(super) fn by_small_range(
    s: &StepFigures,
    conditions: &Conditions,
    sold: Option<Bytes>,
) -> Option<String> {
    let part = conditions.spacing.as_ref().filter(|spacing| spacing.leaves_out());
    let of_sold = part.zip(sold).map(|(part, sold)| part.part_of(sold));
    let range = s.used_range(of_sold).filter(|range| *range < SMALL_RANGE)?;
    let moved = s.ios? * s.block?.0 as f64;
    // The range of a report is that of all jobs where it tells whose files they are.
    let apart = if conditions.own_files.is_unknown() { s.jobs.unwrap_or(1.0).max(1.0) } else { 1.0 };
    let times = moved / (range.0.max(1) as f64 * apart);
    let left_out = part
        .filter(|_| s.range.is_none_or(|whole| whole.0 == 0 || range < whole))
        .map_or(String::new(), |part| format!(", since {} leaves out the rest", part.words()));
    let assumed = if conditions.size.is_assumed() { " (assumed)" } else { "" };
    (times >= TIMES).then(|| {
        format!(
            "the load went over {range}{assumed} some {} times{left_out}, so that a cache may have answered: use a range of {SMALL_RANGE} or more",
            significant(times)
        )
    })
}
