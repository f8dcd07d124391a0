//! Mean latency with its error, for promises such as "0.2 ms on average at depth 1".
//!
//! The mean over I/Os is a ratio: summed latency over number of I/Os. Both vary from batch to batch, and together, so the
//! error comes from the batch residuals latency - mean x I/Os (ratio estimator, Cochran 1977, 6.3), in the same batches
//! as the rate. Input is on the 100 ms grid; nanoseconds throughout.

use serde::{Deserialize, Serialize};

use super::moments::{autocorrelation, student, variance};
use super::{BATCHES, CONFIDENCE};
use crate::sample::PER_SECOND;
use crate::unit::Nanos;

/// Mean latency of one run, with its error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeanLatency {
    /// Mean over I/Os.
    pub mean_ns: f64,
    /// Length of the window.
    pub seconds: f64,
    /// The 95 % interval; absent below ten seconds and when fewer than ten I/Os completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Bounds>,
    /// Correlation of neighbouring batches; above 0.42 the interval is too narrow, and the run should last twice as long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_correlation: Option<f64>,
}

/// Interval of a mean latency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Share of such intervals that hold the true mean: 0.95.
    pub confidence: f64,
    /// Lower end.
    pub low_ns: f64,
    /// Upper end.
    pub high_ns: f64,
    /// Standard error, with nine degrees of freedom.
    pub standard_error_ns: f64,
}

impl MeanLatency {
    /// Mean of `(completed I/Os, sum of their latencies)` per 100 ms bin; `None` when nothing completed.
    pub fn of(bins: &[(u64, Nanos)]) -> Option<MeanLatency> {
        let ios: f64 = bins.iter().map(|b| b.0 as f64).sum();
        if ios == 0.0 {
            return None;
        }
        let mean_ns = bins.iter().map(|b| b.1.0 as f64).sum::<f64>() / ios;
        let mut found = MeanLatency {
            mean_ns,
            seconds: bins.len() as f64 / PER_SECOND as f64,
            interval: None,
            batch_correlation: None,
        };
        let second = PER_SECOND as usize;
        let length = bins.len() / second / BATCHES * second;
        if length == 0 || ios < BATCHES as f64 {
            return Some(found);
        }
        let used = &bins[bins.len() - length * BATCHES..];
        let used_ios: f64 = used.iter().map(|b| b.0 as f64).sum();
        if used_ios == 0.0 {
            return Some(found);
        }
        let residuals: Vec<f64> = used
            .chunks_exact(length)
            .map(|c| c.iter().map(|b| b.1.0 as f64 - mean_ns * b.0 as f64).sum())
            .collect();
        let error = (variance(&residuals) / BATCHES as f64).sqrt() / (used_ios / BATCHES as f64);
        let half = student((1.0 + CONFIDENCE) / 2.0, (BATCHES - 1) as f64) * error;
        found.interval = Some(Bounds {
            confidence: CONFIDENCE,
            low_ns: (mean_ns - half).max(0.0),
            high_ns: mean_ns + half,
            standard_error_ns: error,
        });
        found.batch_correlation = autocorrelation(&residuals, 1).map(|r| r[1]);
        Some(found)
    }

    /// Lower and upper bound in nanoseconds, each alone held with the given confidence.
    pub fn one_sided(&self, confidence: f64) -> Option<(f64, f64)> {
        let half = student(confidence, (BATCHES - 1) as f64) * self.interval?.standard_error_ns;
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
        let m = MeanLatency::of(&bins).unwrap();
        let ios = 588.0 * 1000.0 + 12.0;
        assert!((m.mean_ns - 600.0 * 1e8 / ios).abs() < 1e-6);
        let b = m.interval.unwrap();
        assert!(b.low_ns < m.mean_ns && m.mean_ns < b.high_ns && b.high_ns < 1.2 * m.mean_ns);
        let (low, high) = m.one_sided(0.95).unwrap();
        assert!(b.low_ns < low && high < b.high_ns);
    }

    #[test]
    fn short_and_empty_runs_have_no_interval() {
        assert_eq!(MeanLatency::of(&[(0, Nanos(0)); 600]), None);
        assert_eq!(MeanLatency::of(&[(10, Nanos(1000)); 99]).unwrap().interval, None);
        let mut stalled = vec![(0, Nanos(0)); 105];
        stalled[0] = (50, Nanos(50_000));
        let m = MeanLatency::of(&stalled).unwrap();
        assert_eq!((m.mean_ns, m.interval), (1000.0, None));
    }
}
