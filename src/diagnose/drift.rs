//! A rate that moved little by little while it was measured: no single figure is its rate.

use super::summary::bins;
use super::{Confidence, DiagnosisCase, Finding};
use crate::codes;
use crate::stats::moments::{autocorrelation, mean, variance};
use crate::stats::rate::per_second;
use crate::stats::steady::ROUNDS;
use crate::unit::significant;

/// Fifths of a run that move by less than this from the first to the last are one level.
const MOVED: f64 = 0.03;
/// Fifths that differ by so many standard errors do not differ by chance, of which a fifth of a short run does not show all.
const UNLIKELY: f64 = 4.0;
/// Neighbouring seconds are taken as alike up to this correlation.
const MOST_ALIKE: f64 = 0.9;
/// The shortest fifth that tells anything, in seconds.
const SHORTEST_FIFTH: usize = 10;

/// Rates of the first and the last fifth of a run whose rate rose, or fell, from each fifth to the next.
pub fn moved(case: &DiagnosisCase<'_>) -> Option<(f64, f64)> {
    let step = case.run?.step;
    let seconds = per_second(&bins(step, false));
    let fifth = seconds.len() / ROUNDS;
    if fifth < SHORTEST_FIFTH || case.summary.offered.is_some() {
        return None;
    }
    let rates: Vec<f64> = seconds
        .chunks_exact(fifth)
        .take(ROUNDS)
        .map(|c| c.iter().sum::<u64>() as f64 / fifth as f64)
        .collect();
    let (first, last) = (rates[0], rates[ROUNDS - 1]);
    // Half of the whole way in one step is a change of level, or a slow start.
    let largest = rates.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f64::max);
    let gradual = largest <= (last - first).abs() / 2.0;
    let one_way = rates.is_sorted() || rates.is_sorted_by(|a, b| a >= b);
    let by_chance = (last - first).abs() < UNLIKELY * 2f64.sqrt() * error_of_fifth(&seconds, fifth);
    (first > 0.0 && (last / first - 1.0).abs() >= MOVED && gradual && one_way && !by_chance)
        .then_some((first, last))
}

/// Standard error of the rate of a fifth, from how the seconds vary around a straight line in each fifth, and how neighbours resemble each other.
fn error_of_fifth(seconds: &[u64], fifth: usize) -> f64 {
    let beside: Vec<f64> = seconds.chunks_exact(fifth).take(ROUNDS).flat_map(beside_line).collect();
    let alike = autocorrelation(&beside, 1).map_or(0.0, |r| r[1].clamp(0.0, MOST_ALIKE));
    (variance(&beside) * (1.0 + alike) / (1.0 - alike) / fifth as f64).sqrt()
}

/// What a straight line leaves of counts.
fn beside_line(counts: &[u64]) -> Vec<f64> {
    let x: Vec<f64> = counts.iter().map(|&n| n as f64).collect();
    let (level, middle) = (mean(&x), (x.len() as f64 - 1.0) / 2.0);
    let from_middle = |i: usize| i as f64 - middle;
    let square: f64 = (0..x.len()).map(|i| from_middle(i).powi(2)).sum();
    let slope = x.iter().enumerate().map(|(i, v)| from_middle(i) * v).sum::<f64>() / square;
    x.iter().enumerate().map(|(i, v)| v - level - slope * from_middle(i)).collect()
}

/// The rate rose or fell little by little. `likely`: the samples show the movement, and not its cause.
pub fn drift(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let told = super::credits::fell(case) || super::validity::lazy_loading(case).is_some();
    let (first, last) = moved(case).filter(|_| !told)?;
    let way = if last < first { "fell" } else { "rose" };
    Some(
        Finding::new(
            codes::DRIFT,
            Confidence::Likely,
            format!("The rate {way} little by little, from {}/s to {}/s.", significant(first), significant(last)),
            "no single figure is the rate of this run: quote both, or measure again for longer",
        )
        .because(format!(
            "the first fifth of the run did {}/s, the last {}/s, {} % apart, and each fifth moved the same way",
            significant(first),
            significant(last),
            significant(100.0 * (last / first - 1.0).abs())
        ))
        .number("first_per_second", first)
        .number("last_per_second", last),
    )
}
