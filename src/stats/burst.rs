//! Burst: the events of a run beyond the level that the run settled at.
//!
//! A volume with credits starts fast and falls to its baseline; a full token bucket lets one quota through at once. Either
//! adds B / T to the rate of a run of length T, so a short run over-reports: the burst is subtracted before a promise
//! is judged. Counts on the 100 ms grid go in; events and events per second come out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LEAST_SEEN;
use super::change::{self, Point, Rule};
use super::moments::mean;
use super::rate::per_second;
use crate::sample::PER_SECOND;
use crate::unit::Nanos;

/// The end of a burst is a fall of the level by at least this share.
const FALL: f64 = 0.10;
/// The chance of such a fall where there is none. The fall is the largest of as many as there are seconds, so that it is a hundredth of the usual
/// limit.
const CHANCE: f64 = 1e-5;
/// Half of the seconds of a level are as near to its mean as this.
const LEVEL: f64 = 0.25;
/// A first window that adds less than this share to the rate is ignored.
const WORTH: f64 = 0.001;
/// A quota adds at least so many events. Fewer are chance, or the requests that all begin at once.
pub const FEWEST: f64 = 4.0;

/// A level that lasted for so many seconds, or for this share of the run and [`LEAST_SEEN`], is a baseline.
pub const BASELINE: f64 = 60.0;
const BASELINE_SHARE: f64 = 0.2;

/// A burst at the start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BurstSeen {
    /// Length of the burst.
    pub seconds: f64,
    /// The rate during the burst.
    pub level_per_second: f64,
    /// The rate after the burst.
    pub baseline_per_second: f64,
    /// Events of the burst beyond the baseline.
    pub surplus: f64,
    /// First bin of the baseline.
    pub baseline_from_bin: usize,
}

impl BurstSeen {
    /// The burst at the start of a run, when there is one.
    pub fn of(bins: &[u64]) -> Option<BurstSeen> {
        BurstSeen::long(bins).or_else(|| BurstSeen::first_window(bins))
    }

    /// Two stable levels, the later one lower: credits that ran out.
    fn long(bins: &[u64]) -> Option<BurstSeen> {
        let seconds: Vec<f64> = per_second(bins).iter().map(|&n| n as f64).collect();
        let (unit, series) = change::series(&seconds);
        let rule = Rule { shortest: 3usize.div_ceil(unit).max(2), p_value: CHANCE, magnitude: FALL };
        let points = change::points(&series, &rule);
        let last = points.last()?;
        // Only a run that falls, and stays at the lower level, has a baseline.
        if points.iter().any(|p| p.after > p.before) || last.after <= 0.0 {
            return None;
        }
        if falls_all_along(&series, &points) {
            return None;
        }
        let base = mean(&series[last.index..]);
        // A run that alternates between stalls and full speed has a mean, and no level.
        let level_off =
            series[last.index..].iter().filter(|rate| (*rate / base - 1.0).abs() <= LEVEL).count();
        if 2 * level_off < series.len() - last.index {
            return None;
        }
        // The second of the fall lies between the levels, and may look like a level of its own with those after it.
        let of_baseline = |rate: &&f64| **rate < (last.before + base) / 2.0;
        let before = last.index - series[..last.index].iter().rev().take_while(of_baseline).count();
        let from = before * unit * PER_SECOND as usize;
        // One second that stands out is no level.
        let middle = (points.first()?.before + base) / 2.0;
        let nearer = series[..last.index].iter().filter(|rate| **rate > middle).count();
        if 2 * nearer < last.index {
            return None;
        }
        let around = 2 * unit * PER_SECOND as usize;
        let window = from.saturating_sub(around)..(from + around).min(bins.len());
        let middle = (last.before + base) / 2.0 / PER_SECOND as f64;
        let head = &bins[..window.start + highest_sum(&bins[window], middle)];
        // The bin of the change belongs to neither level.
        let baseline_from_bin = (head.len() + 1).min(bins.len());
        let (level, baseline) = (rate(head), rate(&bins[baseline_from_bin..]));
        (level > baseline && baseline > 0.0).then(|| BurstSeen::between(head, baseline, baseline_from_bin))
    }

    /// The burst of these first bins. Its rate is that of its own samples, and its surplus is what that rate exceeds the baseline by.
    fn between(head: &[u64], baseline: f64, baseline_from_bin: usize) -> BurstSeen {
        let (seconds, level) = (head.len() as f64 / PER_SECOND as f64, rate(head));
        BurstSeen {
            seconds,
            level_per_second: level,
            baseline_per_second: baseline,
            surplus: (level - baseline) * seconds,
            baseline_from_bin,
        }
    }

    /// A quota that was full when the run began: the first bins stand out from all later ones.
    fn first_window(bins: &[u64]) -> Option<BurstSeen> {
        let later = &bins[bins.len() / 4..];
        let mut sorted = later.to_vec();
        sorted.sort_unstable();
        let base = *sorted.get(sorted.len() / 2)? as f64;
        let (low, high) =
            (sorted[sorted.len() / 20] as f64, sorted[sorted.len() - 1 - sorted.len() / 20] as f64);
        // Where the later bins vary, a high first bin is not evidence of a full quota.
        if later.len() < 10 || base <= 0.0 || high - low > 0.2 * base {
            return None;
        }
        let stands_out = |n: u64| n as f64 > (high + (high - low)).max(base * 1.05);
        let length = bins.iter().take_while(|n| stands_out(**n)).count();
        let surplus: f64 = bins[..length].iter().map(|&n| n as f64 - base).sum();
        let total: f64 = bins.iter().map(|&n| n as f64).sum();
        (length > 0 && length <= bins.len() / 4 && surplus > (WORTH * total).max(FEWEST))
            .then(|| BurstSeen::between(&bins[..length], base * PER_SECOND as f64, length))
    }

    /// Whether it is a level of its own, from which the rate fell: less than a second is the first quota of a full bucket.
    pub fn fell(&self) -> bool {
        self.seconds >= 1.0
    }

    /// The first whole second of the baseline.
    pub fn baseline_from_second(&self) -> usize {
        self.baseline_from_bin.div_ceil(PER_SECOND as usize)
    }

    /// Its length in words, with the one rounding that all sentences share.
    pub fn length(&self) -> String {
        Nanos((self.seconds * 1e9) as u64).length()
    }

    /// The time after it in a run of so many seconds, in words.
    pub fn rest(&self, seconds: f64) -> String {
        Nanos(((seconds - self.seconds) * 1e9) as u64).length()
    }

    /// Whether the level after the burst lasted so long, in a run of so many seconds, that it is a baseline. A short time at the end may be a
    /// dip that nobody saw the end of.
    pub fn has_baseline(&self, seconds: f64) -> bool {
        let after = seconds - self.seconds;
        after >= BASELINE || after >= LEAST_SEEN.as_seconds().max(BASELINE_SHARE * seconds)
    }
}

/// Events a second of bins.
fn rate(bins: &[u64]) -> f64 {
    mean(&bins.iter().map(|&n| n as f64).collect::<Vec<_>>()) * PER_SECOND as f64
}

/// Whether one straight line tells the series better than the levels between its changes do: a rate that goes on falling has steps as well
/// where it is noisy, and no level that it settles at. Schwarz's criterion compares the two (BIC, 1978): the logarithm of what each leaves
/// unexplained, and a price for each figure that it takes.
fn falls_all_along(series: &[f64], changes: &[Point]) -> bool {
    let n = series.len() as f64;
    let (middle, level) = ((n - 1.0) / 2.0, mean(series));
    let times = |i: usize| i as f64 - middle;
    let slope =
        series.iter().enumerate().map(|(i, x)| times(i) * x).sum::<f64>() * 12.0 / (n * (n * n - 1.0));
    let beside_line: f64 =
        series.iter().enumerate().map(|(i, x)| (x - level - slope * times(i)).powi(2)).sum();
    let ends: Vec<usize> =
        [0].into_iter().chain(changes.iter().map(|p| p.index)).chain([series.len()]).collect();
    let around = |level: &[f64]| level.iter().map(|x| (x - mean(level)).powi(2)).sum::<f64>();
    let beside_levels: f64 = ends.windows(2).map(|w| around(&series[w[0]..w[1]])).sum();
    let cost = |unexplained: f64, figures: usize| {
        n * unexplained.max(f64::EPSILON * level * level * n).ln() + figures as f64 * n.ln()
    };
    cost(beside_line, 2) <= cost(beside_levels, 2 * changes.len() + 1)
}

/// How many of the first bins together exceed `each` per bin by the most: the end of a level above `each`, however the bins vary.
fn highest_sum(bins: &[u64], each: f64) -> usize {
    let (mut sum, mut best) = (0.0, (0.0, 0));
    for (i, n) in bins.iter().enumerate() {
        sum += *n as f64 - each;
        if sum > best.0 {
            best = (sum, i + 1);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_that_run_out_give_two_levels() {
        let noise = |i: u64| i * 7919 % 13;
        let bins: Vec<u64> = (0..1200).map(|i| if i < 203 { 600 } else { 300 } + noise(i)).collect();
        let b = BurstSeen::of(&bins).unwrap();
        assert!((b.seconds - 20.3).abs() < 0.11, "{b:?}");
        assert!((b.level_per_second / 6060.0 - 1.0).abs() < 0.01, "{b:?}");
        assert!((b.baseline_per_second / 3060.0 - 1.0).abs() < 0.01, "{b:?}");
        assert!((b.surplus / (203.0 * 300.0) - 1.0).abs() < 0.02, "{b:?}");
    }

    #[test]
    fn a_burst_ends_where_its_rate_does() {
        // Whatever the share of the run, within a second, and where a quota comes every half second.
        for end in [203, 600, 1101, 2704] {
            let bins: Vec<u64> = (0..3000).map(|i| if i < end { 185 } else { 49 } + i % 3).collect();
            let b = BurstSeen::of(&bins).unwrap();
            assert_eq!((b.seconds, b.baseline_from_bin as u64), (end as f64 / 10.0, end + 1), "{b:?}");
            let quota = |i: u64| if i.is_multiple_of(5) { if i < end { 925 } else { 245 } } else { 0 };
            let b = BurstSeen::of(&(0..3000).map(quota).collect::<Vec<_>>()).unwrap();
            assert!((b.seconds - end as f64 / 10.0).abs() <= 0.5, "{end}: {b:?}");
        }
    }

    #[test]
    fn the_rate_of_a_burst_is_that_of_its_own_samples() {
        // Three seconds, whatever the unit in which changes are searched (1, 3 and 12 s), and in quotas of half a second.
        for seconds in [300, 1800, 7200] {
            let bins: Vec<u64> = (0..10 * seconds).map(|i| if i < 30 { 300 } else { 22 } + i % 2).collect();
            let quota = |i: u64| if i.is_multiple_of(5) { if i < 30 { 1500 } else { 112 } } else { 0 };
            for bins in [bins, (0..10 * seconds).map(quota).collect()] {
                let b = BurstSeen::of(&bins).unwrap_or_else(|| panic!("none in {seconds} s"));
                let by_rate = (b.level_per_second - b.baseline_per_second) * b.seconds;
                assert!((b.level_per_second / 3000.0 - 1.0).abs() < 0.17, "{seconds}: {b:?}");
                assert!((b.surplus / by_rate - 1.0).abs() < 1e-9, "{seconds}: {b:?}");
                assert!((b.surplus / (2775.0 * 3.0) - 1.0).abs() < 0.02, "{seconds}: {b:?}");
            }
        }
    }

    #[test]
    fn a_full_bucket_at_the_start_is_one_quota() {
        // As a published run of 13 s: 20,000 a second and 1,644 more at the start.
        let mut bins = vec![2000; 130];
        bins[0] += 1644;
        let b = BurstSeen::of(&bins).unwrap();
        assert_eq!((b.surplus, b.seconds, b.baseline_per_second), (1644.0, 0.1, 20_000.0));
        // One I/O more is no quota.
        let mut few = vec![1; 600];
        few[0] += 1;
        assert_eq!(BurstSeen::of(&few), None);
        assert!((20_000.0 + b.surplus / 13.0 - 20_126.5).abs() < 0.1);
    }

    #[test]
    fn steady_noisy_rising_and_beating_runs_have_none() {
        let noise = |i: u64| (i + 1) * 2_654_435_761 % 97;
        let steady: Vec<u64> = (0..600).map(|i| 1000 + noise(i)).collect();
        let rising: Vec<u64> = (0..600).map(|i| if i < 300 { 500 } else { 1000 } + noise(i)).collect();
        let beating: Vec<u64> = (0..600).map(|i| if i % 10 < 2 { 10_000 } else { 0 }).collect();
        for bins in [steady, rising, beating, vec![0; 100], vec![], vec![5; 3]] {
            assert_eq!(BurstSeen::of(&bins), None);
        }
    }

    #[test]
    fn a_noisy_fall_that_goes_on_is_no_burst() {
        let noise = |i: u64| i * 2_654_435_761 % 1009 % 61;
        for (from, to) in [(400, 300), (400, 350), (300, 100)] {
            let falling: Vec<u64> = (0..3000).map(|i| from - (from - to) * i / 3000 + noise(i)).collect();
            assert_eq!(BurstSeen::of(&falling), None, "{from} to {to}");
            for end in [300, 1500, 2700] {
                let levels: Vec<u64> =
                    (0..3000).map(|i| if i < end { from } else { to } + noise(i)).collect();
                let b = BurstSeen::of(&levels).unwrap_or_else(|| panic!("{from} to {to} at {end}"));
                assert!((b.seconds - end as f64 / 10.0).abs() <= 1.5, "{end}: {b:?}");
            }
        }
    }

    #[test]
    fn two_low_seconds_at_the_end_of_a_short_run_are_no_baseline() {
        let of = |seconds| BurstSeen { seconds, ..BurstSeen::default() };
        assert!(!of(6.0).has_baseline(8.0) && !of(40.0).has_baseline(59.0));
        assert!(of(40.0).has_baseline(60.0) && of(3.0).has_baseline(23.0));
        assert!(of(540.0).has_baseline(600.0) && !of(320.0).has_baseline(370.0));
    }
}
