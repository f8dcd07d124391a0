//! The engine's account of itself: facts that bound the error of a step's figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unit::Nanos;

/// How the stamps of a step were taken, and what its latencies leave out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accounting {
    /// The clock of all stamps, with the reason where it is not the TSC.
    pub clock: String,
    /// How far that clock ran from `CLOCK_MONOTONIC` over the step, in parts per million; absent where it is that clock, for steps
    /// shorter than a second and for simulated devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_ppm: Option<f64>,
    /// Completions that the clock stamped before their submission. Their latency was taken as 0.
    pub negative_latencies: u64,
    /// Request-nanoseconds of the window that no latency has (I/Os that failed, or were in flight at its end), less what latencies have from
    /// before the window. Mean requests in flight times the window are the sum of all latencies and this.
    pub outside_latency_ns: i64,
    /// How long I/Os in flight at the end of the step were waited for at most.
    pub patience_ns: Nanos,
}

/// The smallest share of time outside all latencies that is worth a sentence.
const TOLD: f64 = 0.01;

impl Accounting {
    /// Share of the time of all requests that is in no latency, where it is worth a sentence; below 0 where latencies have more from before
    /// the window. `in_flight_mean` requests were in flight in the window.
    pub fn outside_share(&self, in_flight_mean: f64, window: Nanos) -> Option<f64> {
        let share = self.outside_latency_ns as f64 / (in_flight_mean * window.0 as f64);
        Some(share).filter(|s| s.is_finite() && s.abs() > TOLD)
    }
}
