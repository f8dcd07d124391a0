//! Samples of long runs: the older a step, the coarser its series. Neighbouring intervals become one where a series would have more than
//! [`MOST_INTERVALS`] of them, and neighbouring histograms beyond [`MOST_HISTOGRAMS`]. A run merges while it measures, and a Record merges further
//! where it would be too large. Counts, sums and histograms are merged exactly.
//!
//! The first merge of counts makes whole seconds of them, so that what a promise says of seconds can still be read; each further one doubles
//! the interval. In memory a series is as coarse as in a file. What needs the grid of 100 ms takes [`Series::on_grid`], and rules that need to see
//! a pause or a single second ask [`Series::shows_pauses`] and [`Series::merged`] first.

use std::borrow::Cow;

use super::{GRID, PER_SECOND, Series, Stream};
use crate::hist::{StoredHistogram, text_of_column};
use crate::unit::{Nanos, total};

/// The most intervals of a series: 3.6 hours of 100 ms, 36 hours of seconds.
pub const MOST_INTERVALS: usize = 1 << 17;
/// The most histograms of a stream: 68 minutes of seconds.
pub const MOST_HISTOGRAMS: usize = 1 << 12;
const SECOND: Nanos = Nanos(GRID.0 * PER_SECOND);

impl Series {
    /// How many intervals of the grid are one.
    pub fn merged(&self) -> usize {
        (self.interval_ns.0 / GRID.0).max(1) as usize
    }

    /// The time that each histogram holds.
    pub fn histogram_length(&self) -> Nanos {
        let of_intervals = Nanos(self.interval_ns.max(GRID).0.saturating_mul(PER_SECOND));
        if self.histogram_ns.0 == 0 { of_intervals } else { self.histogram_ns.max(SECOND) }
    }

    /// How many seconds each histogram holds.
    pub fn seconds_merged(&self) -> usize {
        (self.histogram_length().0 / SECOND.0) as usize
    }

    /// Its intervals are those of the grid, so that pauses of less than a second can be seen.
    pub fn shows_pauses(&self) -> bool {
        self.merged() == 1
    }

    /// A column on the grid: what was merged is spread evenly.
    pub fn on_grid<'a>(&self, column: &'a [u64]) -> Cow<'a, [u64]> {
        let bins = self.window_ns.0.div_ceil(GRID.0) as usize;
        match self.merged() {
            1 => Cow::Borrowed(column),
            by => Cow::Owned(spread_column(column, by, bins.min(column.len().saturating_mul(by)))),
        }
    }

    /// Time of its samples, at least that of the window.
    pub fn sampled(&self) -> Nanos {
        let columns = self.streams().map(|stream| stream.track.ios.len()).chain([self.in_flight_ns.len()]);
        let intervals = columns.max().unwrap_or(0) as u64;
        self.window_ns.max(Nanos(self.interval_ns.0.saturating_mul(intervals)))
    }

    /// Makes counts and histograms coarser until an interval of the grid has its place.
    pub(super) fn make_room_for(&mut self, on_grid: usize) {
        while on_grid / self.merged() >= MOST_INTERVALS {
            self.coarsen_counts();
        }
        while on_grid / PER_SECOND as usize / self.seconds_merged() >= MOST_HISTOGRAMS {
            self.coarsen_histograms();
        }
    }

    /// Merges neighbouring intervals: those of the grid to seconds, others in pairs.
    pub fn coarsen_counts(&mut self) {
        self.merge_counts(if self.shows_pauses() { PER_SECOND as usize } else { 2 });
    }

    /// Merges neighbouring histograms in pairs.
    pub fn coarsen_histograms(&mut self) {
        self.merge_histograms(2);
    }

    /// Makes the samples of targets that ran together as coarse as each other, so that they can be added up.
    pub fn equalise(together: &mut [&mut Series]) {
        let counts = together.iter().fold(1, |all, series| lcm(all, series.merged()));
        let seconds = together.iter().fold(1, |all, series| lcm(all, series.seconds_merged()));
        for series in together {
            series.merge_counts(counts / series.merged());
            series.merge_histograms(seconds / series.seconds_merged());
        }
    }

    /// Makes samples at least as coarse as others are.
    pub fn coarsen_as(&mut self, other: &Series) {
        while self.merged() < other.merged() {
            self.coarsen_counts();
        }
        while self.seconds_merged() < other.seconds_merged() {
            self.coarsen_histograms();
        }
    }

    fn merge_counts(&mut self, by: usize) {
        if by <= 1 {
            return;
        }
        let held = self.histogram_length();
        let merge = |column: &mut Vec<u64>| {
            *column = column.chunks(by).map(|part| total(part.iter().copied())).collect();
        };
        for stream in self.streams_mut() {
            stream.track.columns_mut().into_iter().for_each(merge);
        }
        merge(&mut self.in_flight_ns);
        self.workers.iter_mut().for_each(|worker| merge(&mut worker.ios));
        self.interval_ns = Nanos(self.interval_ns.max(GRID).0.saturating_mul(by as u64));
        self.hold(held);
    }

    fn merge_histograms(&mut self, by: usize) {
        if by <= 1 {
            return;
        }
        let held = Nanos(self.histogram_length().0.saturating_mul(by as u64));
        for stream in self.streams_mut() {
            for seconds in [&mut stream.service, &mut stream.response] {
                *seconds = seconds.chunks(by).map(merged_histogram).collect();
            }
        }
        self.hold(held);
    }

    /// Each histogram holds so much time.
    fn hold(&mut self, held: Nanos) {
        let is_of_intervals = held.0 == self.interval_ns.0.saturating_mul(PER_SECOND);
        self.histogram_ns = if is_of_intervals { Nanos(0) } else { held };
    }

    /// Characters of its counts in a file.
    pub fn text_of_counts(&self) -> usize {
        let of_streams =
            self.streams().flat_map(|Stream { track, .. }| [&track.ios, &track.bytes, &track.latency_ns]);
        let all = of_streams.chain([&self.in_flight_ns]).chain(self.workers.iter().map(|worker| &worker.ios));
        all.map(|column| text_of_column(column)).sum()
    }

    /// Characters of its histograms in a file.
    pub fn text_of_histograms(&self) -> usize {
        let streams = self.streams().flat_map(|stream| stream.service.iter().chain(&stream.response));
        streams.map(StoredHistogram::text_length).sum()
    }
}

/// The least common multiple of two lengths; lengths of a forged file may have none that counts.
fn lcm(a: usize, b: usize) -> usize {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).saturating_mul(b)
}

fn merged_histogram(seconds: &[StoredHistogram]) -> StoredHistogram {
    let mut all = StoredHistogram::default();
    seconds.iter().for_each(|second| all.merge(second));
    all
}

/// Each value over so many places, as evenly as whole numbers go; `length` places in all.
fn spread_column(stored: &[u64], by: usize, length: usize) -> Vec<u64> {
    let mut spread = Vec::new();
    for value in stored {
        let places = by.min(length - spread.len()) as u64;
        let extra = value.checked_rem(places).unwrap_or(0);
        spread.extend((0..places).map(|place| value / places + u64::from(place < extra)));
    }
    spread
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::hist::Histogram;
    use crate::sample::{Counts, Direction, Interval, PerDirection, Second};
    use crate::unit::Bytes;

    /// A series of one worker, with the latencies of each second.
    fn series(ios: &[u64], seconds: &[Vec<u64>]) -> Series {
        let mut series = Series::default();
        for (index, ios) in ios.iter().enumerate() {
            let mut counts = PerDirection::<Counts>::default();
            counts[Direction::Write] =
                Counts { ios: *ios, bytes: Bytes(ios * 4096), latency: Nanos(ios * 77) };
            let ends = index % PER_SECOND as usize == PER_SECOND as usize - 1;
            let latencies = seconds.get(index / PER_SECOND as usize).filter(|_| ends);
            let second = latencies.map(|latencies| {
                let mut histogram = Histogram::new();
                latencies.iter().for_each(|ns| histogram.record(*ns));
                let mut second = Second::default();
                second.service[Direction::Write] = histogram.to_sparse();
                Box::new(second)
            });
            let index = index as i64;
            series.add(&Interval { worker: 3, index, length: GRID, counts, in_flight: 9, second });
        }
        series.close(Nanos(GRID.0 * ios.len() as u64));
        series
    }

    type Whole = (Counts, StoredHistogram, u64, u64);

    fn whole(series: &Series) -> Whole {
        let Some(write) = &series.write else { return Default::default() };
        let workers = series.workers.iter().flat_map(|worker| &worker.ios).sum();
        (write.track.total(), merged_histogram(&write.service), series.in_flight_ns.iter().sum(), workers)
    }

    proptest! {
        #[test]
        fn a_coarser_series_has_the_same_sums_in_the_same_order(
            ios in vec(0u64..1000, 1..150),
            seconds in vec(vec(1u64..1 << 40, 0..20), 15),
            counts in 0usize..4,
            histograms in 0usize..4,
        ) {
            let fine = series(&ios, &seconds);
            let mut coarse = fine.clone();
            (0..counts).for_each(|_| coarse.coarsen_counts());
            (0..histograms).for_each(|_| coarse.coarsen_histograms());
            prop_assert_eq!(coarse.merged(), [1, 10, 20, 40][counts]);
            prop_assert_eq!(coarse.seconds_merged(), 1 << histograms);
            prop_assert_eq!(whole(&coarse), whole(&fine));
            // Each interval has the sum of those it was made of, and lies where they lay.
            let (whole_column, spread) = (&fine.in_flight_ns, coarse.on_grid(&coarse.in_flight_ns));
            prop_assert_eq!(spread.len(), whole_column.len());
            for (part, sum) in whole_column.chunks(coarse.merged()).zip(&coarse.in_flight_ns) {
                prop_assert_eq!(part.iter().sum::<u64>(), *sum);
            }
            let text = serde_json::to_string(&coarse).unwrap();
            prop_assert_eq!(serde_json::from_str::<Series>(&text).unwrap(), coarse.clone());
            let (of_counts, of_histograms) = (coarse.text_of_counts(), coarse.text_of_histograms());
            prop_assert!((text.len() - 250..=text.len()).contains(&(of_counts + of_histograms)));
        }

        #[test]
        fn a_run_of_any_length_has_room(seconds in 1u64..20_000_000, worker in 0u32..3) {
            let mut series = Series::default();
            let mut counts = PerDirection::<Counts>::default();
            counts[Direction::Read] = Counts { ios: 7, bytes: Bytes(7), latency: Nanos(7) };
            // Some intervals of it, the last one too.
            for part in 1..=20 {
                let index = ((seconds * part).div_ceil(20) * PER_SECOND - 1) as i64;
                let mut second = Second::default();
                let mut histogram = Histogram::new();
                histogram.record(part);
                second.service[Direction::Read] = histogram.to_sparse();
                let second = Some(Box::new(second));
                series.add(&Interval { worker, index, length: GRID, counts: counts.clone(), in_flight: 9, second });
            }
            series.close(Nanos::seconds(seconds));
            let read = series.read.as_ref().unwrap();
            prop_assert!(read.track.ios.len() <= MOST_INTERVALS && read.service.len() <= MOST_HISTOGRAMS);
            prop_assert_eq!((read.track.total().ios, merged_histogram(&read.service).count()), (140, 20));
            prop_assert!(series.merged() <= 10 || seconds > MOST_INTERVALS as u64);
        }
    }
}
