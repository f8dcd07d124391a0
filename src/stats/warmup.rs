//! Where warm-up ends: MSER-5 (White 1997, "An effective truncation heuristic for bias reduction in simulation output"), limited to a
//! transient at the start that ends.
//!
//! The series is put into groups of five bins (half a second), and the cut is where the mean of the rest has the smallest squared standard
//! error. That point alone does not show a warm-up: a stall early in the run also moves the cut behind the stall. So a cut must reduce the
//! error clearly, takes at most a tenth of the window and 60 s, holds no silence, and its level does not come back later. A run whose best
//! cut lies beyond those limits is not steady, and nothing of it is cut. Works on counts of the 100 ms grid; cuts nothing itself.

use serde::{Deserialize, Serialize};

use super::moments::{mean, median};
use crate::sample::PER_SECOND;

/// Bins in a group: the 5 in MSER-5.
const GROUP: usize = 5;
/// The longest warm-up: this share of the window ...
const LONGEST_SHARE: usize = 10;
/// ... and a minute.
const LONGEST_SECONDS: usize = 60;
const LONGEST_WARMUP: usize = LONGEST_SECONDS * PER_SECOND as usize / GROUP;

/// The longest warm-up of a window, both in seconds.
pub fn longest_warmup(window: f64) -> f64 {
    (window / LONGEST_SHARE as f64).min(LONGEST_SECONDS as f64)
}

/// A cut is worth it when at most this share of the squared error remains; noise alone leaves more.
const PAYS: f64 = 0.75;
/// A cut within the limits is as good as the best one when its squared error is at most this many times as large.
const AS_GOOD: f64 = 1.25;
/// A cut that moves the mean by less than this share is ignored: a device that never varies has a first bin too.
const WORTH: f64 = 0.001;
/// Less than this share of the later rate is silence.
const SILENCE: f64 = 0.05;

/// Where the warm-up of a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warmup {
    /// Bins to cut off at the front.
    pub cut_bins: u64,
    /// Length of the cut in seconds.
    pub cut_seconds: f64,
    /// False when the start of the run changes for longer than a warm-up may last: the run then has no steady part.
    pub settled: bool,
}

impl Warmup {
    /// Finds the cut. A series below two groups (1 s) or without variation has none.
    pub fn of(bins: &[u64]) -> Warmup {
        let groups: Vec<f64> =
            bins.chunks_exact(GROUP).map(|c| c.iter().map(|&n| n as f64).sum::<f64>()).collect();
        let errors = errors(&groups);
        let none = Warmup { cut_bins: 0, cut_seconds: 0.0, settled: true };
        let within = (groups.len() / LONGEST_SHARE).min(LONGEST_WARMUP);
        let (best, near) = (least(&errors), least(&errors[..errors.len().min(within + 1)]));
        if best == 0 || errors[best] > PAYS * errors[0] {
            return none;
        }
        if errors[near] > AS_GOOD * errors[best] {
            return Warmup { settled: !is_transient(&groups, best), ..none };
        }
        let moves = (mean(&groups[near..]) / mean(&groups) - 1.0).abs();
        if near == 0 || moves < WORTH || !is_transient(&groups, near) {
            return none;
        }
        let bins = (near * GROUP) as u64;
        Warmup { cut_bins: bins, cut_seconds: bins as f64 / PER_SECOND as f64, settled: true }
    }
}

/// Whether the part before the cut is a transient that ends: the part is not silent, and its level does not come back.
fn is_transient(groups: &[f64], cut: usize) -> bool {
    let (head, rest) = groups.split_at(cut);
    let (of_head, of_rest) = (median(head).unwrap_or(0.0), median(rest).unwrap_or(0.0));
    let silent = |v: &f64| *v < SILENCE * of_rest;
    let returns = |v: &f64| if of_head < of_rest { *v <= of_head } else { *v >= of_head };
    !head.iter().any(silent) && rest.iter().filter(|v| returns(v)).count() < 2.max(cut / 4)
}

/// The smallest of the best cuts.
fn least(errors: &[f64]) -> usize {
    (0..errors.len()).min_by(|&a, &b| errors[a].total_cmp(&errors[b])).unwrap_or(0)
}

/// Squared standard error of the mean of the groups after each cut, for cuts of `0..=groups / 2`.
fn errors(groups: &[f64]) -> Vec<f64> {
    let mut errors = vec![0.0; groups.len() / 2 + 1];
    let (mut n, mut mean, mut squares) = (0.0, 0.0, 0.0);
    // From the end to the front, so that mean and squares of every tail follow from those of the next shorter tail (Welford 1962).
    for (d, z) in groups.iter().enumerate().rev() {
        n += 1.0;
        let before = z - mean;
        mean += before / n;
        squares += before * (z - mean);
        if d < errors.len() {
            errors[d] = squares / (n * n);
        }
    }
    errors
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
        let bins: Vec<u64> = wobble(1000, 3000)
            .enumerate()
            .map(|(i, n)| n - (500.0 * (-(i as f64) / 30.0).exp()) as u64)
            .collect();
        let w = Warmup::of(&bins);
        assert!(w.settled && (6.0..=30.0).contains(&w.cut_seconds), "{w:?}");
    }

    #[test]
    fn burst_at_the_start_is_cut_too() {
        let bins: Vec<u64> = wobble(3000, 20).chain(wobble(1000, 600)).collect();
        assert_eq!(Warmup::of(&bins).cut_seconds, 2.0);
    }

    #[test]
    fn a_steady_series_loses_nothing() {
        assert_eq!(Warmup::of(&[1000; 600]), Warmup { cut_bins: 0, cut_seconds: 0.0, settled: true });
        assert_eq!(Warmup::of(&wobble(1000, 600).collect::<Vec<_>>()).cut_bins, 0);
        assert_eq!(Warmup::of(&[]).cut_bins, 0);
        assert!(Warmup::of(&[1, 2, 3]).settled);
        // The first bin lacks what was in flight before it.
        assert_eq!(
            Warmup::of(&(0..600).map(|i| if i == 0 { 32 } else { 40 }).collect::<Vec<_>>()).cut_bins,
            0
        );
    }

    #[test]
    fn a_start_beyond_the_limits_is_not_settled_and_not_cut() {
        let climb: Vec<u64> = (0..600).map(|i| 1000 + 2 * i).collect();
        assert_eq!((Warmup::of(&climb).settled, Warmup::of(&climb).cut_bins), (false, 0));
        // Half the level for 30 s of 120 s; for 70 s of 900 s.
        for (low, all) in [(300, 1200), (700, 9000)] {
            let bins: Vec<u64> = wobble(500, low).chain(wobble(1000, all - low)).collect();
            let w = Warmup::of(&bins);
            assert_eq!((w.settled, w.cut_bins), (false, 0), "{low} of {all}");
        }
    }

    #[test]
    fn a_stall_is_no_warm_up() {
        // Silence from 2 s to 7 s, from the first moment on, and in the middle of the run.
        for (from, to) in [(20, 70), (0, 50), (300, 400)] {
            let bins: Vec<u64> = wobble(1000, 3000)
                .enumerate()
                .map(|(i, n)| if (from..to).contains(&i) { 0 } else { n })
                .collect();
            assert_eq!(Warmup::of(&bins).cut_bins, 0, "{from}");
        }
    }

    #[test]
    fn a_level_that_returns_is_no_warm_up() {
        // 5 s at half the rate, every 50 s.
        let bins: Vec<u64> =
            wobble(1000, 3000).enumerate().map(|(i, n)| if i % 500 < 50 { n / 2 } else { n }).collect();
        assert_eq!(Warmup::of(&bins).cut_bins, 0);
    }
}
