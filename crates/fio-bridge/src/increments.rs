//! From fio's running totals to [`Interval`]s: what came between two interim reports of one run.
//!
//! fio reports totals since the start of the window, about every 100 ms, with the exact number of milliseconds they cover. Totals are drawn as
//! lines between those moments and read at the ends of our grid; a histogram is that of the reports next to the end of each second. Reports
//! of the ramp hold no latencies and are passed over. Nothing is lost or made: the intervals add up to the last report.
//!
//! Requests in flight are not reported by fio: the sum of latencies stands in for them (Little's law holds by construction here and proves nothing).

use fio_formats::output::{Latency, Output, OutputRow, Stats};
use volproof_base::hist::{StoredHistogram, bucket, bucket_high, bucket_low};
use volproof_base::sample::{Counts, Direction, GRID, Interval, PER_SECOND, PerDirection, Second};
use volproof_base::unit::{Bytes, Nanos};

/// Directions that fio counts with a histogram.
const MOVING: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

/// Totals of one direction at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Totals {
    ios: f64,
    bytes: f64,
    latency: f64,
}

/// One row of the reports: a target.
#[derive(Debug, Default)]
struct RowTotals {
    /// Time that the last report covered, ms.
    seen_ms: f64,
    seen: [Totals; 3],
    /// The sum of the intervals so far.
    given: [Counts; 3],
    /// Histogram at the end of the last second.
    counted: [StoredHistogram; 3],
    /// Index of the next interval.
    next: i64,
    /// Totals of the last report, exactly.
    last: [Counts; 3],
}

/// Rows of the reports of one run, in the order of its targets; worker numbers are `row * jobs`.
#[derive(Debug)]
pub struct Increments {
    rows: Vec<RowTotals>,
    jobs: u32,
}

impl Increments {
    /// For so many targets with so many jobs on each.
    pub fn new(targets: usize, jobs: u32) -> Increments {
        Increments { rows: (0..targets).map(|_| RowTotals::default()).collect(), jobs }
    }

    /// Takes the next report and returns the intervals that have ended by then.
    pub fn add(&mut self, report: &Output) -> Vec<Interval> {
        self.take(report, false)
    }

    /// Takes the last report: returns what is left, with a last interval that may be short.
    pub fn finish(&mut self, report: &Output) -> Vec<Interval> {
        self.take(report, true)
    }

    fn take(&mut self, report: &Output, last: bool) -> Vec<Interval> {
        let mut intervals = Vec::new();
        for (n, (row, job)) in self.rows.iter_mut().zip(&report.jobs).enumerate() {
            row.take(n as u32 * self.jobs, job, last, &mut intervals);
        }
        intervals
    }
}

/// Length of the window of a row in whole milliseconds.
pub fn window(job: &OutputRow) -> Nanos {
    job.directions.iter().filter_map(|(_, s)| Some(s.as_ref()?.runtime)).max().unwrap_or_default()
}

impl RowTotals {
    fn take(&mut self, worker: u32, job: &OutputRow, last: bool, out: &mut Vec<Interval>) {
        let stats = MOVING.map(|d| job.directions[d].as_deref());
        let now_ms = window(job).0 as f64 / 1e6;
        let counts = stats.map(|s| s.map_or(Counts::default(), counts));
        let ramping = counts.iter().any(|c| c.ios > 0)
            && stats.iter().flatten().all(|s| latency(s).and_then(|l| l.samples).unwrap_or(0) == 0);
        if ramping || now_ms < self.seen_ms {
            return;
        }
        self.last = counts;
        let totals = counts.map(|c| Totals {
            ios: c.ios as f64,
            bytes: c.bytes.0 as f64,
            latency: c.latency.0 as f64,
        });
        let grid_ms = GRID.0 as f64 / 1e6;
        loop {
            let end = (self.next + 1) as f64 * grid_ms;
            let rest = now_ms - self.next as f64 * grid_ms;
            let whole = end <= now_ms;
            let rests = last && rest > 0.0;
            if !whole && !rests {
                break;
            }
            let share = if !whole || now_ms <= self.seen_ms {
                1.0
            } else {
                ((end - self.seen_ms) / (now_ms - self.seen_ms)).clamp(0.0, 1.0)
            };
            let closes = (self.next + 1) % PER_SECOND as i64 == 0 || (last && end >= now_ms);
            let interval = self.interval(worker, &totals, share, whole, rest, closes.then_some(&stats));
            out.push(interval);
            self.next += 1;
        }
        (self.seen_ms, self.seen) = (now_ms, totals);
    }

    /// The next interval: totals at `share` of the way from the last report to this one, less what was given before.
    fn interval(
        &mut self,
        worker: u32,
        totals: &[Totals; 3],
        share: f64,
        whole: bool,
        rest_ms: f64,
        closing: Option<&[Option<&Stats>; 3]>,
    ) -> Interval {
        let mut interval = Interval {
            worker,
            index: self.next,
            length: if whole { GRID } else { Nanos((rest_ms * 1e6) as u64) },
            counts: PerDirection::default(),
            in_flight: 0,
            second: None,
        };
        for (i, d) in MOVING.into_iter().enumerate() {
            let (from, to) = (&self.seen[i], &totals[i]);
            let sum = if share >= 1.0 {
                self.last[i]
            } else {
                // Bytes and latency come with whole I/Os: an interval without any has none of them.
                let ios = (from.ios + (to.ios - from.ios) * share).round();
                let part =
                    if to.ios > from.ios { ((ios - from.ios) / (to.ios - from.ios)).max(0.0) } else { 0.0 };
                let [bytes, latency] = [(from.bytes, to.bytes), (from.latency, to.latency)]
                    .map(|(from, to)| (from + (to - from) * part).round() as u64);
                Counts { ios: ios as u64, bytes: Bytes(bytes), latency: Nanos(latency) }
            };
            let given = &mut self.given[i];
            let new = Counts {
                ios: sum.ios.saturating_sub(given.ios),
                bytes: Bytes(sum.bytes.0.saturating_sub(given.bytes.0)),
                latency: Nanos(sum.latency.0.saturating_sub(given.latency.0)),
            };
            given.add(&new);
            interval.in_flight += new.latency.0;
            interval.counts[d] = new;
        }
        if let Some(stats) = closing {
            let mut second = Second::default();
            for (i, d) in MOVING.into_iter().enumerate() {
                let Some(latency) = stats[i].and_then(latency) else { continue };
                let now = sparse(latency);
                second.service[d] = difference(&now, &self.counted[i]);
                self.counted[i] = now;
            }
            interval.second = Some(Box::new(second));
        }
        interval
    }
}

fn counts(stats: &Stats) -> Counts {
    let latency = latency(stats).map_or(0.0, |l| l.mean * l.samples.unwrap_or(0) as f64);
    Counts { ios: stats.ios.unwrap_or(0), bytes: stats.bytes, latency: Nanos(latency as u64) }
}

/// Total latency: fio's `clat` begins when its bookkeeping is done, which for io_uring is after the kernel may have answered.
fn latency(stats: &Stats) -> Option<&Latency> {
    stats.lat.as_ref()
}

/// fio's bins in our form; the bucket layouts are the same.
pub fn sparse(latency: &Latency) -> StoredHistogram {
    let mut buckets: Vec<(usize, u64)> = Vec::with_capacity(latency.bins.len());
    for (middle, count) in latency.bins.iter().filter(|b| b.1 > 0) {
        let index = bucket(middle.0);
        match buckets.last_mut() {
            Some(last) if last.0 == index => last.1 += count,
            _ => buckets.push((index, *count)),
        }
    }
    let samples = latency.samples.unwrap_or(0) as f64;
    StoredHistogram::from_buckets(
        latency.min,
        latency.max,
        Nanos((latency.mean * samples) as u64),
        buckets.into_iter(),
    )
}

/// The difference of two totals. Smallest and largest are known exactly only where the report's own lie in the outermost bucket.
fn difference(now: &StoredHistogram, before: &StoredHistogram) -> StoredHistogram {
    let mut earlier = before.buckets().peekable();
    let mut buckets = Vec::new();
    for (index, count) in now.buckets() {
        while earlier.next_if(|e| e.0 < index).is_some() {}
        let was = earlier.next_if(|e| e.0 == index).map_or(0, |e| e.1);
        if count > was {
            buckets.push((index, count - was));
        }
    }
    let (Some(first), Some(last)) = (buckets.first(), buckets.last()) else {
        return StoredHistogram::default();
    };
    let (min, max) = (Nanos(bucket_low(first.0)).max(now.min), Nanos(bucket_high(last.0)).min(now.max));
    StoredHistogram::from_buckets(
        min,
        max,
        Nanos(now.sum.0.saturating_sub(before.sum.0)),
        buckets.into_iter(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use volproof_base::hist::Histogram;
    use volproof_base::sample::Series;

    /// A report in which each I/O of 4 KiB took one of a few latencies.
    fn report(ms: u64, ios: u64, latencies: &[u64]) -> Output {
        let mut h = Histogram::new();
        (0..ios).for_each(|i| h.record(latencies[i as usize % latencies.len()]));
        let bins = h.nonzero().map(|(i, n)| (Nanos(volproof_base::hist::bucket_middle(i)), n)).collect();
        let lat = Latency {
            min: h.min().unwrap_or_default(),
            max: h.max().unwrap_or_default(),
            mean: h.mean().unwrap_or(0.0),
            samples: Some(ios),
            bins,
            ..Latency::default()
        };
        let mut job = OutputRow::default();
        let stats = Stats {
            bytes: Bytes(ios * 4096),
            runtime: Nanos::millis(ms),
            ios: Some(ios),
            lat: Some(lat),
            ..Stats::default()
        };
        job.directions[Direction::Read] = Some(Box::new(stats));
        Output { jobs: vec![job], ..Output::default() }
    }

    fn series(reports: &[Output]) -> Series {
        let mut increments = Increments::new(1, 1);
        let mut series = Series::default();
        let (last, before) = reports.split_last().unwrap();
        for r in before {
            increments.add(r).iter().for_each(|i| series.add(i));
        }
        increments.finish(last).iter().for_each(|i| series.add(i));
        series.close(window(&last.jobs[0]));
        series
    }

    #[test]
    fn totals_become_a_steady_rate() {
        let reports: Vec<_> = (1..=25).map(|k| report(k * 99, k * 990, &[100_000])).collect();
        let s = series(&reports);
        let read = s.read.as_ref().unwrap();
        assert_eq!(read.track.ios[..24], [1000; 24], "10 I/Os a millisecond, whenever it was asked");
        assert_eq!(read.track.ios[24], 750);
        assert_eq!(read.track.total().ios, 25 * 990);
        assert_eq!(s.window_ns, Nanos::millis(2475));
        assert_eq!(read.service.iter().map(StoredHistogram::count).sum::<u64>(), 25 * 990);
        assert_eq!(read.service[2].max, Nanos(100_000));
    }

    #[test]
    fn the_ramp_is_passed_over() {
        let mut ramp = report(900, 5000, &[1000]);
        ramp.jobs[0].directions[Direction::Read].as_mut().unwrap().lat =
            Some(Latency { samples: Some(0), ..Latency::default() });
        let s = series(&[ramp, report(100, 50, &[1000]), report(200, 110, &[1000])]);
        assert_eq!(s.read.unwrap().track.ios, [50, 60]);
    }

    #[test]
    fn an_end_between_two_grid_lines_keeps_its_rest() {
        let s = series(&[report(100, 10, &[5]), report(201, 20, &[5]), report(201, 20, &[5])]);
        assert_eq!(s.read.unwrap().track.ios.iter().sum::<u64>(), 20);
        assert_eq!(s.window_ns, Nanos::millis(201));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_made(steps in prop::collection::vec((1u64..400, 0u64..3000), 1..30)) {
            let (mut ms, mut ios) = (0, 0);
            let reports: Vec<_> = steps.iter().map(|(dt, n)| {
                ms += dt;
                ios += n;
                report(ms, ios, &[40_000, 70_000, 9_000_000])
            }).collect();
            let s = series(&reports);
            let track = s.read.as_ref().map(|r| r.track.total()).unwrap_or_default();
            prop_assert_eq!((track.ios, track.bytes.0), (ios, ios * 4096));
            let kept: u64 = s.read.iter().flat_map(|r| &r.service).map(StoredHistogram::count).sum();
            prop_assert_eq!(kept, ios);
        }
    }
}
