//! The latency that requests of this volume usually have: the lower quarter over about a day, so that a backup that
//! saturates the volume does not become the usual.

use crate::minute_sums::{LATENCY_BUCKETS, bucket_latency};
use crate::watch_span::WatchSpan;
use volproof_base::unit::Nanos;

/// What a minute keeps of its weight for each later one: half is gone after 12 hours.
const DECAY: f64 = 0.999;
/// With fewer I/Os a latency is not usual.
const LEAST_IOS: f64 = 1000.0;
/// A request waits when it takes so many times the usual latency.
const TIMES_USUAL: u64 = 10;
/// No request that takes less than this waits, however fast the volume usually is.
const LEAST_WAIT: Nanos = Nanos::millis(10);
/// The wait while nothing is known: ten times what a hard disk takes.
const WAIT_UNKNOWN: Nanos = Nanos::millis(100);

/// Latencies of the last day.
#[derive(Clone, Debug)]
pub struct UsualLatency {
    weights: [f64; LATENCY_BUCKETS],
    usual: Option<Nanos>,
}

/// The share of I/Os that are no slower than usual.
const USUAL_SHARE: f64 = 0.25;

impl Default for UsualLatency {
    fn default() -> UsualLatency {
        UsualLatency { weights: [0.0; LATENCY_BUCKETS], usual: None }
    }
}

impl UsualLatency {
    /// Learns from a minute. A minute that was not kept is not usual, however many follow each other.
    pub fn learn(&mut self, minute: &WatchSpan) {
        if !minute.keeps() {
            return;
        }
        self.weights.iter_mut().for_each(|weight| *weight *= DECAY);
        for (bucket, ios) in &minute.latency {
            if let Some(weight) = self.weights.get_mut(usize::from(*bucket)) {
                *weight += *ios as f64;
            }
        }
        self.usual = self.quantile();
    }

    fn quantile(&self) -> Option<Nanos> {
        let total: f64 = self.weights.iter().sum();
        let mut seen = 0.0;
        let bucket = self.weights.iter().position(|weight| {
            seen += weight;
            seen >= USUAL_SHARE * total
        });
        bucket.filter(|_| total >= LEAST_IOS).map(bucket_latency)
    }

    /// A request that took at least this long has waited.
    pub fn wait(&self) -> Nanos {
        self.usual.map_or(WAIT_UNKNOWN, |usual| Nanos(usual.0.saturating_mul(TIMES_USUAL)).max(LEAST_WAIT))
    }
}
