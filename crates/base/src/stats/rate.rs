//! A rate with its error: I/Os or bytes per second from counts on the 100 ms grid.
//!
//! The series is cut into seconds, or into whole periods where the rate is periodic (a token bucket refilled every 100 ms to some seconds,
//! found by autocorrelation), and [`super::spread`] gives the error of their mean whatever the correlation between them. Where the
//! correlation time of the series is too long, there is no interval, and [`Estimate::too_short`] says why and how long the run should be.
//!
//! Counts go in, events per second come out; the caller knows whether the events are I/Os or bytes. Ramp and the
//! drain at the end must be cut off before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::moments::{autocorrelation, mean, variance};
use super::spread::{FEWEST, FREQUENCIES, Spread, quantile};
use super::{CONFIDENCE, LEAST_QUOTABLE};
use crate::sample::PER_SECOND;

const BINS: usize = PER_SECOND as usize;
/// The longest period looked for, in bins: 5 s.
const LONGEST_PERIOD: usize = 5 * BINS;
/// A period shows as a correlation above this.
const PERIOD_CORRELATION: f64 = 0.3;
/// A period stands out by this much from the trough before it; drifts and slow noise have no trough.
const PERIOD_PROMINENCE: f64 = 0.15;
/// A run of this many correlation times has a useful interval.
const ENOUGH_CORRELATION_TIMES: f64 = 16.0;

/// Rate of one run, with its error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Events over the whole window, divided by its length.
    pub mean_per_second: f64,
    /// Length of the window.
    pub seconds: f64,
    /// The 95 % interval; absent where [`Estimate::too_short`] says that none holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<RateBounds>,
    /// The number of independent seconds that would give the mean with the same precision (at most the window's length). Absent without an
    /// interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_seconds: Option<f64>,
    /// Standard deviation of one-second counts over their mean. Absent below two seconds and when nothing was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cv_of_seconds: Option<f64>,
    /// The worst whole second. Absent below one second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst_second: Option<u64>,
    /// The rate that 99 % of the seconds reach or exceed. Absent below 100 seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p1_second: Option<u64>,
    /// Period that was found in the series, 200 ms to 5 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ms: Option<u64>,
    /// Why the interval should not be quoted; empty when it may be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub too_short: Vec<TooShort>,
    /// How long the window should be instead. Present exactly when there is a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extend_to_seconds: Option<u64>,
}

/// Interval of a rate.
///
/// Its width is 0 only if all 100 ms bins hold the same count. Where the seconds agree exactly but their bins vary (a
/// quota handed out once a second), shifting the window by part of a period still gains or loses up to one bin, so the
/// half-width is never below (largest bin - smallest bin) / window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateBounds {
    /// Share of such intervals that hold the true rate: 0.95.
    pub confidence: f64,
    /// Lower end.
    pub low_per_second: f64,
    /// Upper end.
    pub high_per_second: f64,
    /// Standard error of the mean.
    pub standard_error_per_second: f64,
    /// Degrees of freedom of Student's quantile that goes with the standard error.
    #[serde(alias = "batches")]
    pub degrees_of_freedom: u32,
}

/// Why a run is too short for its own interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TooShort {
    /// Fewer than ten whole seconds (or periods): no interval at all.
    NoInterval,
    /// Shorter than a minute.
    BelowAMinute,
    /// The correlation time of the series is longer than a third of the run: no interval.
    LongMemory,
}

impl TooShort {
    /// The reason in words, without the advice (that is [`Estimate::extend_to_seconds`]).
    pub fn text(self) -> &'static str {
        match self {
            TooShort::NoInterval => "fewer than ten whole seconds or periods were measured",
            TooShort::BelowAMinute => "less than a minute was measured",
            TooShort::LongMemory => "the rate varies too slowly for a run of this length",
        }
    }
}

impl Estimate {
    /// Rate from counts on the 100 ms grid; `None` without any bin.
    pub fn from_bins(bins: &[u64]) -> Option<Estimate> {
        if bins.is_empty() {
            return None;
        }
        let length = bins.len() as f64 / BINS as f64;
        let mut found = Estimate {
            mean_per_second: bins.iter().map(|&n| n as f64).sum::<f64>() / length,
            seconds: length,
            interval: None,
            effective_seconds: None,
            cv_of_seconds: None,
            worst_second: None,
            p1_second: None,
            period_ms: None,
            too_short: Vec::new(),
            extend_to_seconds: None,
        };
        found.describe_seconds(bins);
        let period = period(bins);
        found.period_ms = period.map(|p| (p * 1000 / BINS) as u64);
        found.bound(bins, unit(period));
        let counted = !found.too_short.contains(&TooShort::NoInterval);
        if counted && found.seconds < LEAST_QUOTABLE.as_seconds() {
            found.ask(TooShort::BelowAMinute, 2.0 * found.seconds);
        }
        Some(found)
    }

    /// The interval that may be printed: none of a run below a minute, whose bursts and cycles it did not see.
    pub fn quoted(&self) -> Option<&RateBounds> {
        self.interval.as_ref().filter(|_| !self.too_short.contains(&TooShort::BelowAMinute))
    }

    /// Lower and upper bound. Each alone holds with the given confidence: `one_sided(0.95)` uses t = 1.860.
    pub fn one_sided(&self, confidence: f64) -> Option<(f64, f64)> {
        let b = self.interval.as_ref()?;
        let half = quantile(confidence) * b.standard_error_per_second;
        Some(((self.mean_per_second - half).max(0.0), self.mean_per_second + half))
    }

    fn ask(&mut self, reason: TooShort, seconds: f64) {
        if !self.too_short.contains(&reason) {
            self.too_short.push(reason);
        }
        let wanted = seconds.max(LEAST_QUOTABLE.as_seconds()).ceil() as u64;
        self.extend_to_seconds = Some(self.extend_to_seconds.map_or(wanted, |s| s.max(wanted)));
    }

    /// Fills in the figures of single seconds: their variation, the worst and the first percentile.
    fn describe_seconds(&mut self, bins: &[u64]) {
        let mut seconds = per_second(bins);
        let counts: Vec<f64> = seconds.iter().map(|&n| n as f64).collect();
        if counts.len() >= 2 && mean(&counts) > 0.0 {
            self.cv_of_seconds = Some(variance(&counts).sqrt() / mean(&counts));
        }
        seconds.sort_unstable();
        self.worst_second = seconds.first().copied();
        // The nearest rank; below 100 seconds it would be the worst second again.
        if seconds.len() >= 100 {
            self.p1_second = Some(seconds[seconds.len().div_ceil(100) - 1]);
        }
    }

    /// Adds the interval, computed from units of `unit` bins.
    fn bound(&mut self, bins: &[u64], unit: usize) {
        let unit_seconds = unit as f64 / BINS as f64;
        // Bins that do not fill a unit are left out at the start of the window, because warm-up lingers there.
        let per_unit: Vec<f64> = bins[bins.len() % unit..]
            .chunks_exact(unit)
            .map(|c| c.iter().map(|&n| n as f64).sum::<f64>() / unit_seconds)
            .collect();
        let Some(spread) = Spread::from_values(&per_unit) else {
            self.ask(TooShort::NoInterval, (FEWEST as f64 * unit_seconds).max(2.0 * self.seconds));
            return;
        };
        self.effective_seconds = Some(self.seconds / spread.memory);
        if !spread.holds {
            let wanted = ENOUGH_CORRELATION_TIMES * spread.memory * unit_seconds;
            self.ask(TooShort::LongMemory, wanted.clamp(2.0 * self.seconds, 10.0 * self.seconds));
            return;
        }
        let range = bins.iter().max().unwrap_or(&0) - bins.iter().min().unwrap_or(&0);
        let t = quantile((1.0 + CONFIDENCE) / 2.0);
        let half = (t * spread.standard_error).max(range as f64 / self.seconds);
        self.interval = Some(RateBounds {
            confidence: CONFIDENCE,
            low_per_second: (self.mean_per_second - half).max(0.0),
            high_per_second: self.mean_per_second + half,
            standard_error_per_second: half / t,
            degrees_of_freedom: FREQUENCIES as u32,
        });
    }
}

/// Counts of whole seconds; a last part of a second is left out.
pub fn per_second(bins: &[u64]) -> Vec<u64> {
    // Saturating, because a stored Record may hold any number.
    bins.chunks_exact(BINS).map(|c| c.iter().fold(0, |sum: u64, n| sum.saturating_add(*n))).collect()
}

/// Bins that are counted together: a second, or as many whole periods as fill one.
pub fn unit(period: Option<usize>) -> usize {
    period.map_or(BINS, |p| p * BINS.div_ceil(p))
}

/// Period of the series in bins: the shortest lag whose correlation peak comes close to the highest one.
///
/// All multiples of a period peak alike, and noise decides which of them is highest, so the shortest that reaches 90 % of the highest is
/// the period. A period of exactly one bin (100 ms) cannot be seen on this grid and does not matter.
pub fn period(bins: &[u64]) -> Option<usize> {
    let x: Vec<f64> = bins.iter().map(|&n| n as f64).collect();
    let longest = LONGEST_PERIOD.min(x.len() / 4);
    let r = autocorrelation(&x, longest + 1)?;
    let mut trough = f64::INFINITY;
    let mut peaks: Vec<(usize, f64)> = Vec::new();
    for lag in 1..r.len() - 1 {
        let peak = lag > 1 && r[lag] >= r[lag - 1] && r[lag] > r[lag + 1];
        if peak && r[lag] > PERIOD_CORRELATION && r[lag] - trough > PERIOD_PROMINENCE {
            peaks.push((lag, r[lag]));
        }
        trough = trough.min(r[lag]);
    }
    let highest = peaks.iter().map(|p| p.1).fold(0.0, f64::max);
    peaks.iter().find(|p| p.1 >= 0.9 * highest).map(|p| p.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_rate_has_a_width_of_zero() {
        let e = Estimate::from_bins(&[2000; 3000]).unwrap();
        let b = e.interval.unwrap();
        assert_eq!((b.low_per_second, e.mean_per_second, b.high_per_second), (20_000.0, 20_000.0, 20_000.0));
        assert_eq!((e.effective_seconds, e.cv_of_seconds), (Some(300.0), Some(0.0)));
        assert_eq!((e.worst_second, e.p1_second), (Some(20_000), Some(20_000)));
        assert_eq!((e.period_ms, e.extend_to_seconds), (None, None));
        assert!(e.too_short.is_empty());
    }

    #[test]
    fn below_ten_seconds_there_is_no_interval() {
        let bins: Vec<u64> = (0..30).map(|i| 100 + i % 7).collect();
        let e = Estimate::from_bins(&bins).unwrap();
        assert_eq!((e.interval, e.effective_seconds), (None, None));
        assert_eq!((e.too_short, e.extend_to_seconds), (vec![TooShort::NoInterval], Some(60)));
        assert_eq!(e.mean_per_second, bins.iter().sum::<u64>() as f64 / 3.0);
        assert_eq!(Estimate::from_bins(&[]), None);
        let one = Estimate::from_bins(&[7]).unwrap();
        assert_eq!((one.mean_per_second, one.worst_second, one.cv_of_seconds), (70.0, None, None));
    }

    #[test]
    fn nothing_counted_is_a_rate_of_zero() {
        let e = Estimate::from_bins(&[0; 600]).unwrap();
        assert_eq!((e.mean_per_second, e.cv_of_seconds), (0.0, None));
        assert_eq!(e.interval.as_ref().map(|b| b.high_per_second), Some(0.0));
        let text = serde_json::to_string(&e).unwrap();
        assert!(!text.contains("null"), "{text}");
        assert_eq!(serde_json::from_str::<Estimate>(&text).unwrap(), e);
    }

    #[test]
    fn a_token_bucket_shows_its_period_and_its_edges() {
        // 1.5 s quotas, each used up within 300 ms.
        let bins: Vec<u64> = (0..3000).map(|i| if i % 15 < 3 { 10_000 } else { 0 }).collect();
        let e = Estimate::from_bins(&bins).unwrap();
        assert_eq!(e.period_ms, Some(1500));
        let b = e.interval.unwrap();
        // The periods agree exactly; one bin more or less at the edge is what remains.
        assert!((b.high_per_second - e.mean_per_second - 10_000.0 / 300.0).abs() < 1e-6);
        assert!(e.too_short.is_empty(), "{:?}", e.too_short);
    }

    #[test]
    fn a_slow_wave_is_called_too_short() {
        let wave =
            |i: usize| (1000.0 + 300.0 * (i as f64 / 3000.0 * 2.0 * std::f64::consts::PI).sin()) as u64;
        let bins: Vec<u64> = (0..3000).map(wave).collect();
        let e = Estimate::from_bins(&bins).unwrap();
        assert_eq!((&e.interval, &e.too_short[..]), (&None, &[TooShort::LongMemory][..]));
        assert!(e.extend_to_seconds.unwrap() >= 600);
        assert!(e.effective_seconds.unwrap() < 20.0);
    }

    #[test]
    fn the_share_of_a_last_second_counts_in_the_mean_alone() {
        let mut bins = vec![10; 105];
        bins[104] = 0;
        let e = Estimate::from_bins(&bins).unwrap();
        assert_eq!(e.mean_per_second, 1040.0 / 10.5);
        assert_eq!(e.worst_second, Some(100));
        assert!(e.interval.is_some());
    }
}
