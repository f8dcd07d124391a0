//! `drift`: the rate rose, or fell, little by little while it was measured.

use super::StepSamples;
use volproof_base::stats::SAME_RATE;
use volproof_base::stats::moments::{autocorrelation, beside_line, mean, variance};
use volproof_base::stats::spread::FEWEST;
use volproof_base::unit::significant;
use volproof_record::{Confidence, Finding};

/// The parts of a run that are compared.
const PARTS: usize = 5;
/// A difference of so many standard errors is no chance. The fifth of a short run does not show all of its error.
const UNLIKELY: f64 = 4.0;

pub(super) fn detect(samples: &StepSamples) -> Option<Finding> {
    let fifth = samples.seconds.len() / PARTS;
    if fifth < FEWEST || samples.paced || samples.burst.is_some() {
        return None;
    }
    let fifths: Vec<Vec<f64>> = samples
        .seconds
        .chunks_exact(fifth)
        .take(PARTS)
        .map(|fifth| fifth.iter().map(|&n| n as f64).collect())
        .collect();
    let rates: Vec<f64> = fifths.iter().map(|fifth| mean(fifth)).collect();
    let (first, last) = (rates[0], rates[PARTS - 1]);
    let way = (last - first).abs();
    // Half of the whole way in one step is a change of level.
    let largest = rates.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f64::max);
    let one_way = rates.is_sorted() || rates.is_sorted_by(|a, b| a >= b);
    let error = 2f64.sqrt() * error_of_fifth(&fifths);
    if first <= 0.0 || way < SAME_RATE * first || largest > way / 2.0 || !one_way || way < UNLIKELY * error {
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

/// Beyond this correlation of neighbours a fifth shows no error.
const MOST_ALIKE: f64 = 0.9;

/// Standard error of the rate of a fifth, from how its seconds vary around a straight line, and how neighbours resemble each other.
fn error_of_fifth(fifths: &[Vec<f64>]) -> f64 {
    let beside: Vec<f64> = fifths.iter().flat_map(|fifth| beside_line(fifth)).collect();
    let alike = autocorrelation(&beside, 1).map_or(0.0, |r| r[1].clamp(0.0, MOST_ALIKE));
    (variance(&beside) * (1.0 + alike) / (1.0 - alike) / fifths[0].len() as f64).sqrt()
}
