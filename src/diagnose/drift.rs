//! A rate that moved little by little while it was measured: no single figure is its rate.

use super::summary::bins;
use super::{Confidence, DiagnosisCase, Finding};
use crate::codes;
use crate::stats::moments::{mean, median};
use crate::stats::rate::per_second;
use crate::stats::steady::ROUNDS;
use crate::unit::significant;

/// Fifths of a run that move by less than this from the first to the last are one level.
const MOVED: f64 = 0.03;
/// The shortest fifth that tells anything, in seconds.
const SHORTEST_FIFTH: usize = 10;

/// A second with less than this share of the median of its fifth is one of a dip, which is told by itself.
const DIP: f64 = 0.9;

/// A rate that moved little by little.
pub struct Moved {
    /// Rate of the first fifth of the run.
    pub first: f64,
    /// Rate of the last fifth.
    pub last: f64,
    /// Seconds of dips were left out of both.
    pub beside_dips: bool,
}

/// The rates of a run that rose, or fell, from each fifth to the next, whatever dips there were in some of them.
///
/// A schedule that was kept sets the rate by itself; one that was not kept shows what the volume did.
pub fn moved(case: &DiagnosisCase<'_>) -> Option<Moved> {
    let step = case.run?.step;
    let seconds = per_second(&bins(step, false));
    let fifth = seconds.len() / ROUNDS;
    let kept = step.open_loop.as_ref().is_none_or(|open| open.sustained);
    if fifth < SHORTEST_FIFTH || case.summary.offered.is_some() && kept {
        return None;
    }
    let seconds: Vec<f64> = seconds.iter().map(|n| *n as f64).collect();
    let fifths: Vec<Vec<f64>> = seconds.chunks_exact(fifth).take(ROUNDS).map(outside_dips).collect();
    let beside_dips = fifths.iter().any(|seconds| seconds.len() < fifth);
    let rates: Vec<f64> = fifths.iter().map(|seconds| mean(seconds)).collect();
    let (first, last) = (rates[0], rates[ROUNDS - 1]);
    // Half of the whole way in one step is a change of level, or a slow start.
    let largest = rates.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f64::max);
    let gradual = largest <= (last - first).abs() / 2.0;
    let one_way = rates.is_sorted() || rates.is_sorted_by(|a, b| a >= b);
    (first > 0.0 && (last / first - 1.0).abs() >= MOVED && gradual && one_way).then_some(Moved {
        first,
        last,
        beside_dips,
    })
}

/// The seconds without those of dips.
fn outside_dips(seconds: &[f64]) -> Vec<f64> {
    let least = DIP * median(seconds).unwrap_or(0.0);
    seconds.iter().copied().filter(|n| *n >= least).collect()
}

/// The rate rose or fell little by little. `likely`: the samples show the movement, and not its cause.
pub fn drift(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let told = super::credits::fell(case) || super::validity::lazy_loading(case).is_some();
    let Moved { first, last, beside_dips } = moved(case).filter(|_| !told)?;
    let way = if last < first { "fell" } else { "rose" };
    Some(
        Finding::new(
            codes::DRIFT,
            Confidence::Likely,
            format!("The rate {way} little by little, from {}/s to {}/s.", significant(first), significant(last)),
            "no single figure is the rate of this run: quote both, or measure again for longer",
        )
        .because(format!(
            "the first fifth of the run did {}/s{}, the last {}/s, {} % apart, and each fifth moved the same way",
            significant(first),
            if beside_dips { " outside of its dips" } else { "" },
            significant(last),
            significant(100.0 * (last / first - 1.0).abs())
        ))
        .number("first_per_second", first)
        .number("last_per_second", last),
    )
}
