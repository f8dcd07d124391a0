//! Completions beside requests in flight, and the stalls that they show: requests waited and nothing completed. In the samples of a long run a stall
//! shows where it fills a whole interval.
//!
//! A stall lasts a second at least: throttles that hand out a quota leave shorter gaps, and no second empty. A stall that is under way when
//! the window ends lasts until the requests in flight come back.

use crate::sample::{GRID, PER_SECOND, Series};
use crate::unit::Nanos;

/// Silence that no sample shows is laid out in at most so many bins, ten minutes: a forged length exhausts neither memory nor time.
const UNSAMPLED: usize = 600 * PER_SECOND as usize;

/// A time in which requests waited and nothing completed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// Its start, after the start of the window.
    pub start: Nanos,
    /// Its length, which may reach beyond the window.
    pub length: Nanos,
}

impl Stall {
    /// How much of it lies before the end of a window.
    pub fn length_within(&self, window: Nanos) -> Nanos {
        self.length.min(Nanos(window.0.saturating_sub(self.start.0)))
    }
}

/// Completions and requests in flight over time, of all targets and directions together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadGrid {
    /// Length of a bin: the interval of the samples.
    pub bin: Nanos,
    /// I/Os completed in each bin.
    pub ios: Vec<u64>,
    /// Request-nanoseconds in flight in each bin.
    pub waiting_ns: Vec<u64>,
    /// How long after the window none of the requests in flight came back.
    pub silent_after: Nanos,
}

impl LoadGrid {
    /// The load of series that ran together. A last bin that is cut short is left out.
    pub fn from_series<'a>(series: impl IntoIterator<Item = &'a Series>) -> LoadGrid {
        let all: Vec<&Series> = series.into_iter().collect();
        // Where one of several volumes answers, all of them together are not silent.
        let silent_after = all.iter().map(|s| s.silent_after_ns).min().unwrap_or_default();
        let mut load = LoadGrid { silent_after, ..LoadGrid::default() };
        all.iter().for_each(|series| load.add(series));
        load
    }

    fn add(&mut self, series: &Series) {
        let sampled =
            series.streams().map(|stream| stream.track.ios.len()).chain([series.in_flight_ns.len()]);
        let sampled = sampled.max().unwrap_or(0);
        self.bin = series.interval_ns.max(GRID);
        let whole = ((series.window_ns.0 / self.bin.0) as usize).min(sampled + UNSAMPLED);
        self.ios.resize(self.ios.len().max(whole), 0);
        self.waiting_ns.resize(self.ios.len(), 0);
        series.streams().for_each(|stream| add_column(&mut self.ios, &stream.track.ios));
        add_column(&mut self.waiting_ns, &series.in_flight_ns);
    }

    /// Whether in each bin requests waited and none completed.
    pub fn idle(&self) -> impl Iterator<Item = bool> + '_ {
        self.ios.iter().zip(&self.waiting_ns).map(|(ios, waiting)| *ios == 0 && *waiting > 0)
    }

    /// The stalls, in the order of time.
    pub fn stalls(&self) -> Vec<Stall> {
        let idle: Vec<bool> = self.idle().collect();
        let mut stalls = Vec::new();
        let mut start = 0;
        for stretch in idle.chunk_by(|a, b| a == b) {
            let end = start + stretch.len();
            let after = if end == idle.len() { self.silent_after } else { Nanos(0) };
            let length = Nanos((stretch.len() as u64).saturating_mul(self.bin.0).saturating_add(after.0));
            if stretch[0] && length >= Nanos::seconds(1) {
                stalls.push(Stall { start: Nanos((start as u64).saturating_mul(self.bin.0)), length });
            }
            start = end;
        }
        stalls
    }
}

fn add_column(sums: &mut [u64], column: &[u64]) {
    for (sum, n) in sums.iter_mut().zip(column) {
        *sum = sum.saturating_add(*n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(ios: Vec<u64>) -> LoadGrid {
        LoadGrid { bin: GRID, waiting_ns: vec![32 * GRID.0; ios.len()], ios, silent_after: Nanos(0) }
    }

    #[test]
    fn a_second_without_completions_is_a_stall_and_a_quota_is_none() {
        let stall = load((0..600).map(|i| if (101..118).contains(&i) { 0 } else { 50 }).collect());
        let told = stall.stalls();
        assert_eq!(
            (told.len(), told[0].start, told[0].length),
            (1, Nanos::millis(10_100), Nanos::millis(1_700))
        );
        let quota = load((0..600).map(|i| if i % 10 < 3 { 500 } else { 0 }).collect());
        assert_eq!(quota.stalls(), []);
    }

    #[test]
    fn an_idle_time_is_no_stall() {
        let ios = vec![0; 100];
        let idle = LoadGrid { bin: GRID, waiting_ns: vec![0; 100], ios, silent_after: Nanos(0) };
        assert_eq!(idle.stalls(), []);
    }

    #[test]
    fn a_stall_at_the_end_goes_on_until_the_requests_come_back() {
        let mut ended = load((0..300).map(|i| if i < 295 { 50 } else { 0 }).collect());
        assert!(ended.stalls().is_empty());
        ended.silent_after = Nanos::seconds(3);
        let told = ended.stalls();
        assert_eq!((told.len(), told[0].length), (1, Nanos::millis(3_500)));
        assert_eq!(told[0].length_within(Nanos::seconds(30)), Nanos::millis(500));
    }
}
