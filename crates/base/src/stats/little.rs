//! Little's law, N = X W: requests in flight are the completion rate times the mean latency, whatever the order, the
//! distribution or the device. It ties three figures that the engine takes in three places, so it finds accounting errors.

use serde::{Deserialize, Serialize};

use super::limit_answer::TOLERANCE;
use crate::unit::Nanos;

/// The measurements of one window that Little's law ties together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredWindow {
    /// Completions.
    pub ios: u64,
    /// Sum of the latencies of these completions.
    pub latency: Nanos,
    /// Integral of the requests in flight over time, in request-nanoseconds.
    pub in_flight: u64,
    /// Request-nanoseconds that `in_flight` has beyond `latency`: those of I/Os still in flight at the end of the window, less the parts of
    /// latencies that lie before the window. Unknown for imports.
    pub outside: Option<i64>,
    /// Length of the window.
    pub window: Nanos,
}

/// Little's law applied to one window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Little {
    /// Requests in flight, averaged over time, as counted.
    pub in_flight_mean: f64,
    /// The same from rate times latency.
    pub in_flight_by_law: f64,
    /// How far the law is from the count.
    pub deviation_pct: f64,
    /// The deviation that the window allows: 2 %. Where requests at the edges of the window were not counted, one mean latency is added.
    pub allowed_pct: f64,
    /// Whether the law holds.
    pub holds: bool,
}

impl Little {
    /// Checks the law; `None` when nothing completed, nothing was in flight or no time passed.
    pub fn from_window(m: MeasuredWindow) -> Option<Little> {
        if m.ios == 0 || m.in_flight == 0 || m.window.0 == 0 {
            return None;
        }
        let window = m.window.0 as f64;
        let in_flight_mean = m.in_flight as f64 / window;
        let in_flight_by_law = (m.latency.0 as f64 + m.outside.unwrap_or(0) as f64) / window;
        let deviation_pct = 100.0 * (in_flight_by_law / in_flight_mean - 1.0);
        let latency_mean = m.latency.0 as f64 / m.ios as f64;
        let edges_pct = if m.outside.is_some() { 0.0 } else { 100.0 * latency_mean / window };
        let allowed_pct = 100.0 * TOLERANCE + edges_pct;
        let holds = deviation_pct.abs() <= allowed_pct;
        Some(Little { in_flight_mean, in_flight_by_law, deviation_pct, allowed_pct, holds })
    }
}

/// Mean requests in flight at a rate a second with a mean latency in nanoseconds.
pub fn in_flight(per_second: f64, mean_ns: f64) -> f64 {
    per_second * mean_ns / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ten_seconds(ios: u64, latency_us: u64, depth: f64) -> MeasuredWindow {
        MeasuredWindow {
            ios,
            latency: Nanos::micros(ios * latency_us),
            in_flight: (depth * 1e10) as u64,
            outside: None,
            window: Nanos::seconds(10),
        }
    }

    #[test]
    fn the_worked_case_of_a_capped_disk_holds() {
        // 20,126 per second at 6.358 ms are 127.97 in flight, at a depth of 128.
        let law = Little::from_window(ten_seconds(201_260, 6_358, 127.97)).unwrap();
        assert!(law.holds && law.deviation_pct.abs() < 0.1);
    }

    #[test]
    fn the_law_breaks_beyond_two_percent_and_the_edges() {
        assert!(Little::from_window(ten_seconds(1_000_000, 1_000, 98.1)).unwrap().holds);
        assert!(!Little::from_window(ten_seconds(1_000_000, 1_000, 97.9)).unwrap().holds);
        assert!(!Little::from_window(ten_seconds(1_000_000, 1_000, 103.0)).unwrap().holds);
        // Latencies of a second in a window of ten: requests at the edges are a tenth of all.
        assert!(Little::from_window(ten_seconds(100, 1_000_000, 9.0)).unwrap().holds);
        assert_eq!(Little::from_window(ten_seconds(0, 0, 1.0)), None);
    }

    #[test]
    fn requests_at_the_edges_belong_to_the_law() {
        // A device that stops after 8 of 10 seconds with 32 in flight: 64 request-seconds have no latency.
        let stopped = ten_seconds(256_000, 1_000, 32.0);
        assert!(!Little::from_window(stopped).unwrap().holds);
        let law = Little::from_window(MeasuredWindow { outside: Some(64_000_000_000), ..stopped }).unwrap();
        assert!(law.holds && law.deviation_pct.abs() < 1e-9, "{law:?}");
        // With the edges counted nothing else excuses a deviation.
        let slow = ten_seconds(100, 1_000_000, 9.0);
        assert!(!Little::from_window(MeasuredWindow { outside: Some(0), ..slow }).unwrap().holds);
    }
}
