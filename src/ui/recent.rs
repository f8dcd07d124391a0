//! The rate of the last second, over all steps that run.

use std::collections::BTreeMap;

use volproof_base::hist::{Histogram, StoredHistogram};
use volproof_base::sample::{Counts, Direction, GRID, Interval, PER_SECOND, Second};
use volproof_base::stats::percentile::pooled;
use volproof_base::unit::{Bytes, Nanos, grouped, throughput};

/// Sums of the last intervals of the grid.
#[derive(Clone, Debug, Default)]
pub struct RecentRates {
    /// Counts and request-nanoseconds by place on the grid of the stage.
    intervals: BTreeMap<i64, (Counts, u64)>,
    /// The newest whole second: its place on the grid, and its latencies.
    second: Option<(i64, StoredHistogram)>,
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
            if let Some(second) = &interval.second {
                self.add_second(place, second);
            }
        }
        while self.intervals.len() > PER_SECOND as usize {
            self.intervals.pop_first();
        }
    }

    /// Takes in the latencies of a second that ends at a place.
    fn add_second(&mut self, place: i64, second: &Second) {
        if self.second.as_ref().is_none_or(|(newest, _)| place > *newest) {
            self.second = Some((place, StoredHistogram::default()));
        }
        let Some((newest, sum)) = &mut self.second else { return };
        for direction in Direction::ALL.into_iter().filter(|d| *d != Direction::Sync && place == *newest) {
            sum.merge(second.latency(direction));
        }
    }

    /// The latencies of the newest whole second.
    pub fn last_second(&self) -> Option<Histogram> {
        self.second.as_ref().map(|(_, second)| pooled([second])).filter(|all| !all.is_empty())
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
        // Before the first whole second only the time from submission on is known.
        let second = self.second.as_ref().filter(|(_, all)| all.count() > 0);
        let (latency, of) = second.map_or((latency, ios), |(_, all)| (all.sum, all.count()));
        let seconds = self.seconds();
        format!(
            "{} IOPS  {}  {}",
            grouped((ios as f64 / seconds) as u64),
            throughput(bytes as f64 / seconds),
            Nanos(latency.0 / of)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_base::sample::PerDirection;

    #[test]
    fn under_a_schedule_the_latency_is_that_of_a_client() {
        let mut recent = RecentRates::default();
        let all_of = |latency: Nanos| {
            let mut all = Histogram::new();
            all.record_n(latency, 100);
            all.to_sparse()
        };
        let mut counts = PerDirection::<Counts>::default();
        counts[Direction::Read] = Counts { ios: 10, bytes: Bytes::kib(40), latency: Nanos::millis(10) };
        let interval = |index: i64, second: Option<Second>| Interval {
            worker: 0,
            index,
            length: GRID,
            counts: counts.clone(),
            in_flight: 0,
            second: second.map(Box::new),
        };
        recent.add(&[interval(0, None)], 0);
        assert!(recent.text().ends_with("  1.00 ms"), "{}", recent.text());
        let mut second = Second::default();
        second.service[Direction::Read] = all_of(Nanos::millis(1));
        recent.add(&[interval(9, Some(second.clone()))], 0);
        assert!(recent.text().ends_with("  1.00 ms"), "{}", recent.text());
        second.response[Direction::Read] = all_of(Nanos::millis(7));
        recent.add(&[interval(19, Some(second))], 0);
        assert!(recent.text().ends_with("  7.00 ms"), "{}", recent.text());
    }
}
