//! The rate of the last second, over all steps that run.

use std::collections::BTreeMap;

use crate::sample::{Counts, Direction, GRID, Interval, PER_SECOND};
use crate::unit::{Bytes, Nanos, grouped, significant};

/// Sums of the last intervals of the grid.
#[derive(Clone, Debug, Default)]
pub struct RecentRates {
    /// Counts and request-nanoseconds by place on the grid of the stage.
    intervals: BTreeMap<i64, (Counts, u64)>,
    /// When something completed last, on the grid of the stage.
    last_completion: Option<i64>,
    /// Bytes moved since the stage began.
    moved: u64,
}

impl RecentRates {
    /// Takes in intervals of a step, whose window begins at `shift` on the grid of the stage. Flushes are no I/Os of the rate.
    pub fn add(&mut self, fresh: &[Interval], shift: i64) {
        for interval in fresh {
            let place = interval.index + shift;
            let (sums, in_flight) = self.intervals.entry(place).or_default();
            for (_, counts) in interval.counts.iter().filter(|(d, _)| *d != Direction::Sync) {
                sums.add(counts);
                self.moved = self.moved.saturating_add(counts.bytes.0);
            }
            *in_flight = in_flight.saturating_add(interval.in_flight);
            if sums.ios > 0 {
                self.last_completion = self.last_completion.max(Some(place));
            }
        }
        while self.intervals.len() > PER_SECOND as usize {
            self.intervals.pop_first();
        }
    }

    /// Time to go until an amount is moved, at the mean rate since the stage began; none before the first sample.
    pub fn left(&self, amount: Bytes, elapsed: Nanos) -> Option<Nanos> {
        let rest = amount.0.saturating_sub(self.moved) as f64;
        (self.moved > 0).then(|| Nanos((elapsed.0 as f64 * rest / self.moved as f64) as u64))
    }

    fn seconds(&self) -> f64 {
        self.intervals.len() as f64 / PER_SECOND as f64
    }

    fn total(&self) -> Counts {
        let mut sums = Counts::default();
        self.intervals.values().for_each(|(counts, _)| sums.add(counts));
        sums
    }

    /// I/Os a second; absent before the first sample.
    pub fn iops(&self) -> Option<f64> {
        (!self.intervals.is_empty()).then(|| self.total().ios as f64 / self.seconds())
    }

    /// Requests in flight on average.
    pub fn in_flight(&self) -> Option<f64> {
        let sum: f64 = self.intervals.values().map(|(_, n)| *n as f64).sum();
        (!self.intervals.is_empty()).then(|| sum / (self.intervals.len() as f64 * GRID.0 as f64))
    }

    /// For how long nothing has completed, at a time since the first load of the stage began.
    pub fn silence(&self, now: Nanos) -> Nanos {
        let until = self.last_completion.map_or(0, |place| (place + 1).max(0) as u64 * GRID.0);
        Nanos(now.0.saturating_sub(until))
    }

    /// Rate, bytes and mean latency in a line.
    pub fn text(&self) -> String {
        let Counts { ios, bytes: Bytes(bytes), latency } = self.total();
        if ios == 0 {
            return "waiting for the device".into();
        }
        let seconds = self.seconds();
        format!(
            "{} IOPS  {} MB/s  {}",
            grouped((ios as f64 / seconds) as u64),
            significant(bytes as f64 / seconds / 1e6),
            Nanos(latency.0 / ios)
        )
    }
}
