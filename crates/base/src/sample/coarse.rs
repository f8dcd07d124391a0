//! Samples of long runs. A Record holds a limited number of values, whatever the run's length: where there are more, neighbouring intervals are
//! stored as one, in pairs, and those in pairs again. Counts, sums and histograms are merged exactly.
//!
//! In memory every series lies on the grid: what was merged is spread evenly over its intervals. A run spreads its own samples in the same way
//! before it judges them, so that a stored Record is judged as the run was.

use super::{Direction, GRID, PER_SECOND, Series, Stream, Track, WorkerTrack};
use crate::hist::StoredHistogram;
use crate::unit::{Nanos, total};

impl Series {
    /// How many intervals of the grid are one in the stored form.
    pub fn merged(&self) -> usize {
        (self.interval_ns.0 / GRID.0).max(1) as usize
    }

    /// The form that is stored: of the same sums, and shorter.
    pub fn stored(&self) -> Series {
        let by = self.merged();
        let columns = |column: &[u64]| column.chunks(by).map(|part| total(part.iter().copied())).collect();
        self.with_samples(columns, |seconds| seconds.chunks(by).map(merged_histogram).collect())
    }

    /// The stored form on the grid again.
    pub fn spread(&self) -> Series {
        let (by, window) = (self.merged(), self.window_ns.0);
        let [bins, seconds] = [GRID.0, GRID.0 * PER_SECOND].map(|length| window.div_ceil(length) as usize);
        self.with_samples(
            |column| spread_column(column, by, bins),
            |histograms| spread_histograms(histograms, by, seconds),
        )
    }

    /// Merges the samples in pairs once more.
    pub fn coarsen(&mut self) {
        self.interval_ns = Nanos(GRID.0 * 2 * self.merged() as u64);
        *self = self.stored().spread();
    }

    /// How many numbers its columns and histograms have.
    pub fn values(&self) -> usize {
        self.values_in_parts(1)
    }

    /// At most so many numbers has what is spread of this stored form.
    pub fn values_spread(&self) -> usize {
        self.values_in_parts(self.merged())
    }

    /// The same where each interval and each histogram is so many.
    fn values_in_parts(&self, parts: usize) -> usize {
        let mut columns = self.in_flight_ns.len();
        for worker in &self.workers {
            columns += worker.ios.len();
        }
        let mut histograms = 0;
        for Stream { track, service, response } in self.streams() {
            columns += track.ios.len() + track.bytes.len() + track.latency_ns.len();
            for histogram in service.iter().chain(response) {
                histograms += histogram.values_in_parts(parts);
            }
        }
        columns.saturating_mul(parts).saturating_add(histograms)
    }

    /// The same with other columns and histograms.
    fn with_samples(
        &self,
        column: impl Fn(&[u64]) -> Vec<u64>,
        histograms: impl Fn(&[StoredHistogram]) -> Vec<StoredHistogram>,
    ) -> Series {
        let mut other = Series {
            interval_ns: self.interval_ns,
            window_ns: self.window_ns,
            in_flight_ns: column(&self.in_flight_ns),
            silent_after_ns: self.silent_after_ns,
            ..Series::default()
        };
        for worker in &self.workers {
            other.workers.push(WorkerTrack { worker: worker.worker, ios: column(&worker.ios) });
        }
        for d in Direction::ALL {
            let Some(Stream { track, service, response }) = self.stream(d) else { continue };
            *other.stream_mut(d) = Stream {
                track: Track {
                    ios: column(&track.ios),
                    bytes: column(&track.bytes),
                    latency_ns: column(&track.latency_ns),
                },
                service: histograms(service),
                response: histograms(response),
            };
        }
        other
    }
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

fn spread_histograms(stored: &[StoredHistogram], by: usize, length: usize) -> Vec<StoredHistogram> {
    let mut spread = Vec::new();
    for histogram in stored {
        spread.extend(histogram.split(by.min(length - spread.len())));
    }
    spread
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::hist::Histogram;
    use crate::sample::{Counts, Interval, PerDirection, Second};
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

    fn whole(series: &Series) -> (Counts, StoredHistogram, u64, u64) {
        let Some(write) = &series.write else { return Default::default() };
        let workers = series.workers.iter().flat_map(|worker| &worker.ios).sum();
        (write.track.total(), merged_histogram(&write.service), series.in_flight_ns.iter().sum(), workers)
    }

    proptest! {
        #[test]
        fn a_coarser_series_has_the_same_sums_and_is_read_as_it_was_judged(
            ios in vec(0u64..1000, 1..150),
            seconds in vec(vec(1u64..1 << 40, 0..20), 15),
            times in 1usize..6,
        ) {
            let fine = series(&ios, &seconds);
            let mut coarse = fine.clone();
            (0..times).for_each(|_| coarse.coarsen());
            prop_assert_eq!(coarse.merged(), 1 << times);
            prop_assert_eq!(whole(&coarse), whole(&fine));
            prop_assert_eq!(coarse.in_flight_ns.len(), fine.in_flight_ns.len());
            let text = serde_json::to_string(&coarse.stored()).unwrap();
            let stored: Series = serde_json::from_str(&text).unwrap();
            prop_assert!(stored.in_flight_ns.len() <= ios.len().div_ceil(1 << times));
            prop_assert!(coarse.values() <= stored.values_spread());
            prop_assert_eq!(stored.spread(), coarse);
        }
    }
}
