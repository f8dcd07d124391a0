//! Mean latency with its error, for promises such as "0.2 ms on average at depth 1".
//!
//! The mean over I/Os is a ratio: summed latency over number of I/Os. Both vary from second to second, and together, so the
//! error comes from the residuals latency - mean x I/Os of single seconds (ratio estimator, Cochran 1977, 6.3), whose
//! spread is that of [`super::spread`]. Input is on the 100 ms grid; nanoseconds throughout.

use super::CONFIDENCE;
use super::spread::{FEWEST, Spread, quantile};
use crate::hist::StoredHistogram;
use crate::sample::PER_SECOND;
use crate::unit::Nanos;

/// Mean latency of one run, with its error.
#[derive(Clone, Debug, PartialEq)]
pub struct MeanLatency {
    /// Mean over I/Os.
    pub mean_ns: f64,
    /// Length of the window.
    pub seconds: f64,
    /// Standard error of the mean; absent below ten seconds, when fewer than ten I/Os completed, and when the latency varies too
    /// slowly for a run of this length.
    pub standard_error_ns: Option<f64>,
}

impl MeanLatency {
    /// Mean of `(completed I/Os, sum of their latencies)` per 100 ms bin; `None` when nothing completed.
    pub fn from_bins(bins: &[(u64, Nanos)]) -> Option<MeanLatency> {
        let ios: f64 = bins.iter().map(|b| b.0 as f64).sum();
        if ios == 0.0 {
            return None;
        }
        let mean_ns = bins.iter().map(|b| b.1.0 as f64).sum::<f64>() / ios;
        let mut found =
            MeanLatency { mean_ns, seconds: bins.len() as f64 / PER_SECOND as f64, standard_error_ns: None };
        let second = PER_SECOND as usize;
        let used = &bins[bins.len() % second..];
        let used_ios: f64 = used.iter().map(|b| b.0 as f64).sum();
        if ios < FEWEST as f64 || used_ios == 0.0 {
            return Some(found);
        }
        let residuals: Vec<f64> = used
            .chunks_exact(second)
            .map(|c| c.iter().map(|b| b.1.0 as f64 - mean_ns * b.0 as f64).sum())
            .collect();
        if let Some(spread) = Spread::from_values(&residuals).filter(|s| s.holds) {
            found.standard_error_ns = Some(spread.standard_error / (used_ios / residuals.len() as f64));
        }
        Some(found)
    }

    /// Mean of whole seconds.
    pub fn of_seconds(seconds: &[StoredHistogram]) -> Option<MeanLatency> {
        // Of the ten bins of a second the first has all of it.
        let mut bins = vec![(0, Nanos(0)); seconds.len() * PER_SECOND as usize];
        for (bin, second) in bins.iter_mut().step_by(PER_SECOND as usize).zip(seconds) {
            *bin = (second.count(), second.sum);
        }
        MeanLatency::from_bins(&bins)
    }

    /// The 95 % interval in nanoseconds.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.one_sided((1.0 + CONFIDENCE) / 2.0)
    }

    /// Lower and upper bound in nanoseconds, each alone held with the given confidence.
    pub fn one_sided(&self, confidence: f64) -> Option<(f64, f64)> {
        let half = quantile(confidence) * self.standard_error_ns?;
        Some(((self.mean_ns - half).max(0.0), self.mean_ns + half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_over_ios_not_over_bins() {
        // A stalled bin completes one I/O of 100 ms; the others 1000 of 100 us each.
        let bins: Vec<(u64, Nanos)> = (0..600)
            .map(|i| if i % 50 == 9 { (1, Nanos::millis(100)) } else { (1000, Nanos::millis(100)) })
            .collect();
        let m = MeanLatency::from_bins(&bins).unwrap();
        let ios = 588.0 * 1000.0 + 12.0;
        assert!((m.mean_ns - 600.0 * 1e8 / ios).abs() < 1e-6);
        let (lowest, highest) = m.interval().unwrap();
        assert!(lowest < m.mean_ns && m.mean_ns < highest && highest < 1.2 * m.mean_ns);
        let (low, high) = m.one_sided(0.95).unwrap();
        assert!(lowest < low && high < highest);
    }

    #[test]
    fn short_and_empty_runs_have_no_interval() {
        assert_eq!(MeanLatency::from_bins(&[(0, Nanos(0)); 600]), None);
        assert_eq!(MeanLatency::from_bins(&[(10, Nanos(1000)); 99]).unwrap().interval(), None);
        let mut stalled = vec![(0, Nanos(0)); 105];
        stalled[0] = (50, Nanos(50_000));
        let m = MeanLatency::from_bins(&stalled).unwrap();
        assert_eq!((m.mean_ns, m.interval()), (1000.0, None));
    }
}
