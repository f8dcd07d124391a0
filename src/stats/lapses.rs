//! Stalls: times in which requests waited and nothing completed, on the 100 ms grid.
//!
//! A stall lasts a second at least: throttles that hand out a quota leave shorter gaps, and no second empty. A stall that is under way when
//! the window ends lasts until the requests in flight come back.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sample::{Direction, GRID, PER_SECOND, Series};
use crate::unit::Nanos;

/// A shorter gap is no stall, in bins: one second, the unit in which rates are promised.
const SHORTEST_STALL: usize = PER_SECOND as usize;
/// Silence that no sample shows is laid out in at most so many bins, ten minutes: a forged length exhausts neither memory nor time.
const UNSAMPLED: usize = 600 * PER_SECOND as usize;

/// How a volume failed to deliver for a time. Records of earlier versions know all three; now only stalls are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lapse {
    /// Nothing completed.
    Stall,
    /// Less than half of the usual completed.
    BrownOut,
    /// A brown-out from the start of the run on.
    SlowStart,
}

/// A time in which a volume did not deliver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// The way in which the volume failed to deliver.
    pub lapse: Lapse,
    /// Start of the event, after the start of the window.
    pub start_ns: Nanos,
    /// Length of the event.
    pub length_ns: Nanos,
    /// Requests that were in flight, on average.
    pub requests: f64,
}

impl Event {
    /// How much of the event lies before the end of a window.
    pub fn length_within(&self, window: Nanos) -> Nanos {
        self.length_ns.min(Nanos(window.0.saturating_sub(self.start_ns.0)))
    }

    /// The seconds of a window that lie in these events.
    pub fn seconds_within<'a>(events: impl IntoIterator<Item = &'a Event>, window: Nanos) -> f64 {
        events.into_iter().map(|e| e.length_within(window).as_seconds()).sum()
    }
}

/// Completions and requests in flight over the grid, of all targets and directions together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadGrid {
    /// I/Os completed in each bin.
    pub ios: Vec<u64>,
    /// Requests in flight in each bin, on average.
    pub in_flight: Vec<f64>,
    /// How long after the window none of the requests in flight came back.
    pub silent_after: Nanos,
}

impl LoadGrid {
    /// The load of series that ran together. A last bin that is cut short is left out.
    pub fn of<'a>(series: impl IntoIterator<Item = &'a Series>) -> LoadGrid {
        let all: Vec<&Series> = series.into_iter().collect();
        // Where one of several volumes answers, all of them together are not silent.
        let silent_after = all.iter().map(|s| s.silent_after_ns).min().unwrap_or_default();
        let mut load = LoadGrid { silent_after, ..LoadGrid::default() };
        all.iter().for_each(|series| load.add(series));
        load
    }

    fn add(&mut self, series: &Series) {
        let streams: Vec<_> = Direction::ALL.into_iter().filter_map(|d| series.stream(d)).collect();
        let sampled = streams.iter().map(|stream| stream.track.ios.len()).chain([series.in_flight_ns.len()]);
        let sampled = sampled.max().unwrap_or(0);
        let whole = ((series.window_ns.0 / GRID.0) as usize).min(sampled + UNSAMPLED);
        self.ios.resize(self.ios.len().max(whole), 0);
        self.in_flight.resize(self.ios.len(), 0.0);
        for stream in streams {
            self.ios.iter_mut().zip(&stream.track.ios).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
        }
        for (sum, ns) in self.in_flight.iter_mut().zip(&series.in_flight_ns) {
            *sum += *ns as f64 / GRID.0 as f64;
        }
    }

    /// Requests waited in a bin and none completed.
    fn is_dead(&self, bin: usize) -> bool {
        self.ios[bin] == 0 && self.in_flight[bin] > 0.0
    }

    /// The stalls, in the order of time.
    pub fn stalls(&self) -> Vec<Event> {
        let mut stalls = Vec::new();
        let mut start = 0;
        while start < self.ios.len() {
            let end = (start..self.ios.len()).find(|bin| !self.is_dead(*bin)).unwrap_or(self.ios.len());
            stalls.extend(self.stall(start..end));
            start = end + 1;
        }
        stalls
    }

    /// The stall of dead bins, where they are one.
    fn stall(&self, bins: Range<usize>) -> Option<Event> {
        let waiting = &self.in_flight[bins.clone()];
        let until_the_end = bins.end == self.ios.len() && !bins.is_empty();
        let after = if until_the_end { self.silent_after } else { Nanos(0) };
        let length = Nanos((bins.len() as u64 * GRID.0).saturating_add(after.0));
        (length.0 >= SHORTEST_STALL as u64 * GRID.0).then(|| Event {
            lapse: Lapse::Stall,
            start_ns: Nanos(bins.start as u64 * GRID.0),
            length_ns: length,
            requests: waiting.iter().sum::<f64>() / waiting.len() as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(ios: Vec<u64>) -> LoadGrid {
        LoadGrid { in_flight: vec![32.0; ios.len()], ios, silent_after: Nanos(0) }
    }

    #[test]
    fn a_second_without_completions_is_a_stall_and_a_quota_is_none() {
        let stall = load((0..600).map(|i| if (101..118).contains(&i) { 0 } else { 50 }).collect());
        let told = stall.stalls();
        assert_eq!(
            (told.len(), told[0].start_ns, told[0].length_ns),
            (1, Nanos::millis(10_100), Nanos::millis(1_700))
        );
        let quota = load((0..600).map(|i| if i % 10 < 3 { 500 } else { 0 }).collect());
        assert_eq!(quota.stalls(), []);
    }

    #[test]
    fn an_idle_time_is_no_stall() {
        let ios = vec![0; 100];
        let idle = LoadGrid { in_flight: vec![0.0; 100], ios, silent_after: Nanos(0) };
        assert_eq!(idle.stalls(), []);
    }

    #[test]
    fn a_stall_at_the_end_goes_on_until_the_requests_come_back() {
        let mut ended = load((0..300).map(|i| if i < 295 { 50 } else { 0 }).collect());
        assert!(ended.stalls().is_empty());
        ended.silent_after = Nanos::seconds(3);
        let told = ended.stalls();
        assert_eq!((told.len(), told[0].length_ns), (1, Nanos::millis(3_500)));
        assert_eq!(told[0].length_within(Nanos::seconds(30)), Nanos::millis(500));
    }
}
