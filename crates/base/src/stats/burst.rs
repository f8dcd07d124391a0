//! Burst: the level from which a run fell, and the lower one at which it settled, as a volume does whose credits run out.
//!
//! It describes a run, to the second. A full bucket that lasts less than three seconds is none.

use super::change::{sharpest, significance};
use super::moments::{beside_line, mean};
use super::rate::per_second;
use crate::unit::Nanos;

/// The shortest level, in seconds.
const SHORTEST: usize = 3;
/// The end of a burst is a fall of the level by at least this share.
pub const FALL: f64 = 0.10;
/// The chance of such a fall where there is none: a hundredth of the usual limit, since the fall is the largest of as many as there are seconds.
const CHANCE: f64 = 1e-5;
/// At least half of the seconds of a level lie as near to its mean as this. A run that alternates between stalls and full speed has none.
const LEVEL: f64 = 0.25;

/// A burst at the start of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstSeen {
    /// Length of the burst in whole seconds.
    pub seconds: usize,
    /// The rate during the burst.
    pub level_per_second: f64,
    /// The rate after the burst.
    pub baseline_per_second: f64,
}

impl BurstSeen {
    /// The burst at the start of a run, when there is one.
    pub fn from_bins(bins: &[u64]) -> Option<BurstSeen> {
        let series: Vec<f64> = per_second(bins).iter().map(|&n| n as f64).collect();
        let seconds = sharpest(&series, SHORTEST)?;
        let (before, after) = series.split_at(seconds);
        let burst = BurstSeen { seconds, level_per_second: mean(before), baseline_per_second: mean(after) };
        let falls = burst.baseline_per_second > 0.0
            && burst.baseline_per_second <= burst.level_per_second * (1.0 - FALL)
            && significance(before, after, true) <= CHANCE;
        // A rate that goes on falling settles at no level: one straight line tells it better than two levels do.
        let settles = squares(&beside_line(&series)) > around(before) + around(after);
        (falls && settles && is_level(before) && is_level(after)).then_some(burst)
    }

    /// Its length in words.
    pub fn length(&self) -> String {
        Nanos::seconds(self.seconds as u64).length()
    }
}

fn squares(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

/// Squares around the mean.
fn around(level: &[f64]) -> f64 {
    let mean = mean(level);
    level.iter().map(|x| (x - mean).powi(2)).sum()
}

fn is_level(x: &[f64]) -> bool {
    let mean = mean(x);
    let near = x.iter().filter(|rate| (*rate - mean).abs() <= LEVEL * mean).count();
    2 * near >= x.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_that_run_out_give_two_levels() {
        let noise = |i: u64| i * 7919 % 13;
        let bins: Vec<u64> = (0..1200).map(|i| if i < 203 { 600 } else { 300 } + noise(i)).collect();
        let b = BurstSeen::from_bins(&bins).unwrap();
        assert_eq!(b.seconds, 20, "{b:?}");
        assert!((b.level_per_second / 6060.0 - 1.0).abs() < 0.01, "{b:?}");
        assert!((b.baseline_per_second / 3060.0 - 1.0).abs() < 0.01, "{b:?}");
    }

    #[test]
    fn a_burst_ends_where_its_rate_does() {
        // Whatever the share of the run, and where a quota comes every half second.
        for end in [30, 203, 600, 1101, 2704] {
            let even: Vec<u64> = (0..3000).map(|i| if i < end { 185 } else { 49 } + i % 3).collect();
            let quota = |i: u64| if i.is_multiple_of(5) { if i < end { 925 } else { 245 } } else { 0 };
            for bins in [even, (0..3000).map(quota).collect()] {
                let b = BurstSeen::from_bins(&bins).unwrap_or_else(|| panic!("none until {end}"));
                assert!((b.seconds as f64 - end as f64 / 10.0).abs() <= 1.0, "{end}: {b:?}");
            }
        }
    }

    #[test]
    fn steady_noisy_rising_and_beating_runs_have_none() {
        let noise = |i: u64| (i + 1) * 2_654_435_761 % 97;
        let steady: Vec<u64> = (0..600).map(|i| 1000 + noise(i)).collect();
        let rising: Vec<u64> = (0..600).map(|i| if i < 300 { 500 } else { 1000 } + noise(i)).collect();
        let beating: Vec<u64> = (0..600).map(|i| if i % 10 < 2 { 10_000 } else { 0 }).collect();
        let one_quota: Vec<u64> = (0..600).map(|i| if i == 0 { 20_000 } else { 1000 }).collect();
        for bins in [steady, rising, beating, one_quota, vec![0; 100], vec![], vec![5; 3]] {
            assert_eq!(BurstSeen::from_bins(&bins), None);
        }
    }

    #[test]
    fn a_noisy_fall_that_goes_on_is_no_burst() {
        let noise = |i: u64| i * 2_654_435_761 % 1009 % 61;
        for (from, to) in [(400, 300), (400, 350), (300, 100)] {
            let falling: Vec<u64> = (0..3000).map(|i| from - (from - to) * i / 3000 + noise(i)).collect();
            assert_eq!(BurstSeen::from_bins(&falling), None, "{from} to {to}");
            for end in [300, 1500, 2700] {
                let levels: Vec<u64> =
                    (0..3000).map(|i| if i < end { from } else { to } + noise(i)).collect();
                let b = BurstSeen::from_bins(&levels).unwrap_or_else(|| panic!("{from} to {to} at {end}"));
                assert!((b.seconds as f64 - end as f64 / 10.0).abs() <= 1.5, "{end}: {b:?}");
            }
        }
    }
}
