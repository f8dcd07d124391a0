//! `littles-law`: rate times latency is not what was in flight.
//!
//! **Why it matters:** Little's law is an identity: a deviation is a miscount.
//!
//! **What to do:** repeat the run, and report it if it stays.
//!
//! **Source:** rate, latencies and the time in flight, counted apart.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::sample::Direction;
use volproof_base::stats::little::{Little, MeasuredWindow};
use volproof_base::unit::{Nanos, total};

/// Rate, latency and requests in flight do not agree: one of them was miscounted.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let (plan, step) = (case.plan?, case.step);
    // The requests in flight of a load thread that never came back are unknown.
    let outside = step.accounting.as_ref().filter(|_| step.stuck_workers == 0).map(|a| a.outside_latency_ns);
    let mut measured =
        MeasuredWindow { ios: 0, latency: Nanos(0), in_flight: 0, outside, window: step.window_ns };
    for series in step.targets.iter().map(|t| &t.series) {
        measured.in_flight = measured.in_flight.saturating_add(total(series.in_flight_ns.iter().copied()));
        for d in Direction::ALL {
            if let Some(stream) = series.stream(d) {
                let total = stream.track.total();
                measured.ios += total.ios;
                measured.latency.0 += total.latency.0;
            }
        }
    }
    let little = Little::from_window(measured)?;
    // The time of an I/O that failed is in no latency.
    if step.errors.count > 0 {
        return None;
    }
    // Where I/Os at the edges were not counted: a window that ends with the amount of I/O ends at a moment of its own on each worker.
    let uneven = plan.ends_by_amount() || step.lost_ios > 0;
    (!little.holds && (outside.is_some() || !uneven)).then(|| {
        Doubt::new(
            Severity::Blocker,
            DoubtCode::LittlesLaw,
            format!(
                "rate times latency is {:.2} requests, but {:.2} were in flight: {:.1} % apart",
                little.in_flight_by_law, little.in_flight_mean, little.deviation_pct
            ),
            "the latencies or the rate were miscounted: repeat the run, and report this if it stays",
        )
    })
}
