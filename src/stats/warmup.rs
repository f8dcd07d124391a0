//! Where warm-up ends: MSER-5 (White 1997, "An effective truncation heuristic for bias reduction in simulation output").
//!
//! The series is put into groups of five bins (half a second), and the cut is where the mean of the rest has the smallest
//! squared standard error: cutting a start that differs lowers the spread, cutting more than that loses samples. A best
//! cut at half of the run means that the series never settled. Works on counts of the 100 ms grid; cuts nothing itself.

use serde::{Deserialize, Serialize};

use crate::sample::PER_SECOND;

/// Bins in a group: the 5 in MSER-5.
const GROUP: usize = 5;

/// Where the warm-up of a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warmup {
    /// Bins to cut off at the front.
    pub cut_bins: u64,
    /// The same as time.
    pub cut_seconds: f64,
    /// False when the best cut lies at half of the run: there is no steady part in it.
    pub settled: bool,
}

impl Warmup {
    /// Finds the cut. A series below two groups (1 s) or without variation has none.
    pub fn of(bins: &[u64]) -> Warmup {
        let groups: Vec<f64> =
            bins.chunks_exact(GROUP).map(|c| c.iter().map(|&n| n as f64).sum::<f64>()).collect();
        let cut = cut(&groups);
        let last = groups.len() / 2;
        let bins = (cut * GROUP) as u64;
        Warmup {
            cut_bins: bins,
            cut_seconds: bins as f64 / PER_SECOND as f64,
            settled: cut == 0 || cut < last,
        }
    }
}

/// Number of groups to drop, in `0..=groups / 2`; the smallest of equally good cuts.
fn cut(groups: &[f64]) -> usize {
    let (mut best, mut best_error) = (0, f64::INFINITY);
    let (mut n, mut mean, mut squares) = (0.0, 0.0, 0.0);
    // From the end to the front, so that mean and squares of every tail come from the one before (Welford 1962).
    for (d, z) in groups.iter().enumerate().rev() {
        n += 1.0;
        let before = z - mean;
        mean += before / n;
        squares += before * (z - mean);
        let error = squares / (n * n);
        if d <= groups.len() / 2 && error <= best_error {
            (best, best_error) = (d, error);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts around `level` with a small deterministic wobble.
    fn wobble(level: u64, n: usize) -> impl Iterator<Item = u64> {
        (0..n).map(move |i| level + [0, 7, 3, 9, 1, 5, 8, 2, 6, 4, 0][i * i % 11])
    }

    #[test]
    fn a_known_warm_up_is_cut_where_it_ends() {
        // 10 s at half the level, then 90 s at the level.
        let bins: Vec<u64> = wobble(500, 100).chain(wobble(1000, 900)).collect();
        let w = Warmup::of(&bins);
        assert_eq!((w.cut_bins, w.cut_seconds, w.settled), (100, 10.0, true));
    }

    #[test]
    fn an_exponential_approach_is_cut_within_its_tail() {
        // Time constant 3 s: after 12 s 98 % of the way is done.
        let bins: Vec<u64> = wobble(1000, 1000)
            .enumerate()
            .map(|(i, n)| n - (500.0 * (-(i as f64) / 30.0).exp()) as u64)
            .collect();
        let w = Warmup::of(&bins);
        assert!(w.settled && (6.0..=20.0).contains(&w.cut_seconds), "{w:?}");
    }

    #[test]
    fn burst_at_the_start_is_cut_too() {
        let bins: Vec<u64> = wobble(3000, 20).chain(wobble(1000, 600)).collect();
        assert_eq!(Warmup::of(&bins).cut_seconds, 2.0);
    }

    #[test]
    fn a_steady_series_loses_nothing() {
        assert_eq!(Warmup::of(&[1000; 600]), Warmup { cut_bins: 0, cut_seconds: 0.0, settled: true });
        assert!(Warmup::of(&wobble(1000, 600).collect::<Vec<_>>()).cut_seconds < 3.0);
        assert_eq!(Warmup::of(&[]).cut_bins, 0);
        assert!(Warmup::of(&[1, 2, 3]).settled);
    }

    #[test]
    fn a_climb_that_never_ends_is_not_settled() {
        let bins: Vec<u64> = (0..600).map(|i| 1000 + 2 * i).collect();
        assert!(!Warmup::of(&bins).settled);
    }
}
