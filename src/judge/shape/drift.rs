//! `drift`: the rate rose, or fell, little by little while it was measured.

use super::StepSamples;
use crate::record::{Confidence, Finding};
use crate::stats::moments::mean;
use crate::stats::spread::Spread;
use crate::stats::steady::ROUNDS;
use crate::unit::significant;

/// Fifths that differ by less than this from the first to the last are one level: rates that differ by less are held by one limit.
const MOVED: f64 = crate::stats::SAME_RATE;
/// A difference of so many standard errors is no chance, of which a fifth of a short run does not show all.
const UNLIKELY: f64 = 4.0;
/// The shortest fifth that has an error of its own, in seconds.
const SHORTEST_FIFTH: usize = 10;

pub(super) fn detect(samples: &StepSamples) -> Option<Finding> {
    let fifth = samples.seconds.len() / ROUNDS;
    if fifth < SHORTEST_FIFTH || samples.paced || samples.burst.is_some() {
        return None;
    }
    let fifths: Vec<Vec<f64>> = samples
        .seconds
        .chunks_exact(fifth)
        .take(ROUNDS)
        .map(|fifth| fifth.iter().map(|&n| n as f64).collect())
        .collect();
    let rates: Vec<f64> = fifths.iter().map(|fifth| mean(fifth)).collect();
    let (first, last) = (rates[0], rates[ROUNDS - 1]);
    let way = (last - first).abs();
    // Half of the whole way in one step is a change of level.
    let largest = rates.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f64::max);
    let one_way = rates.is_sorted() || rates.is_sorted_by(|a, b| a >= b);
    let error = [&fifths[0], &fifths[ROUNDS - 1]]
        .into_iter()
        .filter_map(|fifth| Some(Spread::of(fifth)?.standard_error))
        .fold(0.0, f64::hypot);
    if first <= 0.0 || way < MOVED * first || largest > way / 2.0 || !one_way || way < UNLIKELY * error {
        return None;
    }
    let verb = if last < first { "fell" } else { "rose" };
    let headline = format!(
        "The rate {verb} little by little, from {}/s to {}/s.",
        significant(first),
        significant(last)
    );
    let advice = "no single figure is the rate of this run: quote both, or measure again for longer";
    Some(
        Finding::new("drift", Confidence::Likely, headline, advice)
            .because(format!(
                "the first fifth of the run did {}/s, the last {}/s, {} % apart, and each fifth moved the same way",
                significant(first),
                significant(last),
                significant(100.0 * way / first)
            ))
            .number("first_per_second", first)
            .number("last_per_second", last),
    )
}
