//! A rate against a promise: by the interval of the rate, or by its levels where the rate moved or varies slowly.

use crate::sample::PER_SECOND;
use crate::stats::limit_answer::{self as answer, ClaimAnswer, LimitAnswer, ONE_SIDED};
use crate::stats::rate::{Estimate, TooShort};
use crate::stats::steady::{Assessment, ROUNDS};

/// A rate that rose by this share through the window may go on rising.
const RISE: f64 = 0.02;

/// A rate against a promise. Where the rate moved to other levels, these decide, if all of them lie on one side of the limit. A rate that
/// varies slowly all the time has no levels: a part of the run predicts the later rate no better than the whole run.
pub(super) fn compare(
    bins: &[u64],
    a: &Assessment,
    estimate: &Estimate,
    promised: f64,
    tolerance: f64,
) -> ClaimAnswer {
    let found = answer::rate(estimate, promised, tolerance);
    let moved = |r: &TooShort| matches!(r, TooShort::NotSteady | TooShort::LongMemory);
    if found.answer != LimitAnswer::Inconclusive
        || estimate.too_short.is_empty()
        || !estimate.too_short.iter().all(moved)
    {
        return found;
    }
    let changes = a.steadiness.changes.iter().map(|c| (c.at_seconds * PER_SECOND as f64) as usize);
    let fifths = (1..ROUNDS).map(|i| i * bins.len() / ROUNDS);
    let slow = estimate.too_short.contains(&TooShort::LongMemory);
    let of_fifths = || levels(bins, fifths).filter(|_| !slow);
    let Some((low, high)) = levels(bins, changes).or_else(of_fifths) else {
        // A rate that was never as high as the limit stays below the limit where it falls, or where it moved and neither rises nor varies
        // slowly.
        let stays = falls(bins) || !slow && !rises(bins);
        let missed = stays && highest(bins).is_some_and(|rate| rate < found.limit);
        return if missed {
            ClaimAnswer { answer: LimitAnswer::Fail, more_seconds: None, ..found }
        } else {
            found
        };
    };
    let answer = if low >= found.limit {
        LimitAnswer::Pass
    } else if high < found.limit && !rises(bins) {
        LimitAnswer::Fail
    } else {
        return found;
    };
    ClaimAnswer { answer, bounds: Some((low, high)), more_seconds: None, ..found }
}

/// I/Os of each of so many parts of the run.
fn in_parts(bins: &[u64], parts: usize) -> Vec<u64> {
    bins.chunks_exact((bins.len() / parts).max(1)).map(|c| c.iter().sum()).collect()
}

/// The rate fell from tenth to tenth of the run, by more than a rounding. A rate that wanders falls through some fifths, and not through all tenths.
fn falls(bins: &[u64]) -> bool {
    let tenths = in_parts(bins, 2 * ROUNDS);
    let ends = tenths.first().zip(tenths.last());
    tenths.is_sorted_by(|a, b| a >= b) && ends.is_some_and(|(a, b)| *a as f64 > (1.0 + RISE) * *b as f64)
}

/// The highest rate of the window's pieces of ten seconds.
fn highest(bins: &[u64]) -> Option<f64> {
    let tens = bins.chunks_exact(10 * PER_SECOND as usize);
    tens.map(|c| c.iter().map(|&n| n as f64).sum::<f64>() / 10.0).reduce(f64::max)
}

/// The rate rose from fifth to fifth, and still after the first one, by more than a rounding: where it ends is not seen.
pub(super) fn rises(bins: &[u64]) -> bool {
    let fifths = in_parts(bins, ROUNDS);
    let last = fifths.last().map_or(0.0, |n| *n as f64);
    let above =
        |fifth: usize, share: f64| fifths.get(fifth).is_some_and(|n| last > (1.0 + share) * *n as f64);
    fifths.is_sorted() && above(0, RISE) && above(1, RISE / 2.0)
}

/// The lowest and the highest bound of the parts between `edges`; `None` without edges, or where a part is too short for bounds or varies too
/// slowly.
fn levels(bins: &[u64], edges: impl Iterator<Item = usize>) -> Option<(f64, f64)> {
    let edges: Vec<usize> = edges.filter(|e| *e < bins.len()).chain([bins.len()]).collect();
    let (mut low, mut high, mut from) = (f64::INFINITY, 0.0f64, 0);
    for &to in edges.iter().filter(|_| edges.len() > 1) {
        let (l, h) = Estimate::of(bins.get(from..to)?)?.one_sided(ONE_SIDED)?;
        (low, high, from) = (low.min(l), high.max(h), to);
    }
    (edges.len() > 1).then_some((low, high))
}
