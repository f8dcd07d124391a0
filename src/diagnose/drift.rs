//! A rate that moved little by little while it was measured: no single figure is its rate.

use super::summary::bins;
use super::{Confidence, DiagnosisCase, Finding};
use crate::codes;
use crate::stats::rate::per_second;
use crate::stats::steady::ROUNDS;
use crate::unit::significant;

/// Fifths of a run that move by less than this from the first to the last are one level.
const MOVED: f64 = 0.03;
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
    (first > 0.0 && (last / first - 1.0).abs() >= MOVED && gradual && one_way).then_some((first, last))
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
