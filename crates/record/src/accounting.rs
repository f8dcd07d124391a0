//! The engine's account of itself: facts that bound the error of a step's figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_base::unit::Nanos;

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
    /// Time in flight within the window that no recorded latency contains (of I/Os that failed, or were in flight at the end of the
    /// window), less the time before the window that recorded latencies contain; summed over requests. The mean number of requests in
    /// flight times the length of the window is the sum of all latencies plus this figure.
    pub outside_latency_ns: i64,
    /// The longest time that the engine waits, at the end of the step, for I/Os still in flight.
    pub patience_ns: Nanos,
}

/// Reports mention the share of time outside all latencies from this value on.
const TOLD: f64 = 0.01;

impl Accounting {
    /// Share of the time in flight that no recorded latency contains; none below `TOLD`. Negative where latencies contain more time from
    /// before the window. `in_flight_mean` is the mean number of requests in flight in the window.
    pub fn outside_share(&self, in_flight_mean: f64, window: Nanos) -> Option<f64> {
        let share = self.outside_latency_ns as f64 / (in_flight_mean * window.0 as f64);
        Some(share).filter(|s| s.is_finite() && s.abs() > TOLD)
    }
}
