//! Interval: the only sample type. Every engine (ours, fio, a remote rank) produces it, and nothing else reaches statistics.
//!
//! Counts lie on a fixed grid of [`GRID`] after the start of the measured window (after the ramp); a completion belongs to
//! the interval in which it was observed. Latency histograms are kept once a second, on the interval that closes it.
//! Intervals of several workers on the same grid add up exactly, also across processes.

mod coarse;

pub use coarse::{MOST_HISTOGRAMS, MOST_INTERVALS};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hist::StoredHistogram;
use crate::unit::{Bytes, Nanos, total};

/// Length of one interval.
pub const GRID: Nanos = Nanos::millis(100);
/// Intervals in a second: how often histograms are kept.
pub const PER_SECOND: u64 = 10;

/// How full the queue was, and in what batches requests went out and came back: counts in fio's classes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Depth {
    /// I/Os by the number that was in flight once their batch was prepared, themselves included: 1, 2 to 3, 4 to 7, 8 to 15,
    /// 16 to 31, 32 to 63, 64 and more.
    pub in_flight: [u64; 7],
    /// Batches by how many I/Os were prepared together: none, 1 to 4, 5 to 8, 9 to 16, 17 to 32, 33 to 64, more.
    pub submitted: [u64; 7],
    /// Checks for completions by how many they found, in the same classes as the batches.
    pub completed: [u64; 7],
}

impl Depth {
    /// Class of a batch.
    #[inline(always)]
    fn batch(n: u32) -> usize {
        match n {
            0 => 0,
            n => ((n - 1) >> 2).checked_ilog2().map_or(1, |log| (log as usize + 2).min(6)),
        }
    }

    /// Counts a batch of `n` I/Os (above 0) that was prepared, after which `in_flight` I/Os were in flight.
    #[inline(always)]
    pub fn submit(&mut self, n: u32, in_flight: u32) {
        self.in_flight[(in_flight | 1).ilog2().min(6) as usize] += u64::from(n);
        self.submitted[Depth::batch(n)] += 1;
    }

    /// Counts a check for completions that found `n` of them.
    #[inline(always)]
    pub fn complete(&mut self, n: u32) {
        self.completed[Depth::batch(n)] += 1;
    }

    /// Adds `ios` I/Os that were submitted and completed one after another.
    pub fn one_by_one(&mut self, ios: u64) {
        for counts in [&mut self.in_flight[0], &mut self.submitted[1], &mut self.completed[1]] {
            *counts += ios;
        }
    }

    /// Adds the counts of another worker.
    pub fn add(&mut self, other: &Depth) {
        for (mine, theirs) in [
            (&mut self.in_flight, &other.in_flight),
            (&mut self.submitted, &other.submitted),
            (&mut self.completed, &other.completed),
        ] {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a = a.saturating_add(*b));
        }
    }
}

/// The kind of an I/O: read, write, discard or flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Data comes from the device.
    Read,
    /// Data goes to the device.
    Write,
    /// Blocks are discarded.
    Trim,
    /// Earlier writes are made durable (a flush); moves no bytes.
    Sync,
}

impl Direction {
    /// All directions, in the order in which they are indexed.
    pub const ALL: [Direction; 4] = [Direction::Read, Direction::Write, Direction::Trim, Direction::Sync];

    /// The word used in tables and keys.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
            Direction::Sync => "sync",
        }
    }
}

/// One value per direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerDirection<T>(pub [T; 4]);

impl<T> std::ops::Index<Direction> for PerDirection<T> {
    type Output = T;
    fn index(&self, d: Direction) -> &T {
        &self.0[d as usize]
    }
}

impl<T> std::ops::IndexMut<Direction> for PerDirection<T> {
    fn index_mut(&mut self, d: Direction) -> &mut T {
        &mut self.0[d as usize]
    }
}

/// Completed I/Os of one direction in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// I/Os completed without error.
    pub ios: u64,
    /// Bytes of these I/Os.
    pub bytes: Bytes,
    /// Sum of the service latencies of these I/Os.
    pub latency: Nanos,
}

impl Counts {
    /// Adds another worker's counts of the same interval.
    pub fn add(&mut self, other: &Counts) {
        self.ios = self.ios.saturating_add(other.ios);
        self.bytes.0 = self.bytes.0.saturating_add(other.bytes.0);
        self.latency.0 = self.latency.0.saturating_add(other.latency.0);
    }
}

/// CPU time of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In user space.
    pub user: Nanos,
    /// In the kernel on our behalf.
    pub system: Nanos,
    /// Voluntary and involuntary context switches.
    pub switches: u64,
    /// Page faults that waited for a device.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
}

impl CpuTime {
    /// The CPU time since an earlier reading.
    pub fn since(&self, earlier: &CpuTime) -> CpuTime {
        CpuTime {
            user: Nanos(self.user.0.saturating_sub(earlier.user.0)),
            system: Nanos(self.system.0.saturating_sub(earlier.system.0)),
            switches: self.switches.saturating_sub(earlier.switches),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
        }
    }

    /// Adds the CPU time of another thread.
    pub fn add(&mut self, other: &CpuTime) {
        self.user.0 += other.user.0;
        self.system.0 += other.system.0;
        self.switches += other.switches;
        self.major_faults += other.major_faults;
        self.minor_faults += other.minor_faults;
    }
}

/// Latencies of one second, per direction, and what the worker has used and done by its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Second {
    /// From submission to completion.
    pub service: PerDirection<StoredHistogram>,
    /// From the intended start to completion; only with a schedule (open loop).
    pub response: PerDirection<StoredHistogram>,
    /// CPU time since the start of the window.
    pub cpu: CpuTime,
    /// Queue and batches since the start of the window.
    pub depth: Depth,
}

impl Second {
    /// The latencies that a client sees: under a schedule from the intended start on.
    pub fn latency(&self, d: Direction) -> &StoredHistogram {
        if self.response[d].is_empty() { &self.service[d] } else { &self.response[d] }
    }
}

/// The I/Os of one worker in one interval of the grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The worker, numbered through the whole run step.
    pub worker: u32,
    /// Place on the grid: covers `[index * GRID, (index + 1) * GRID)` after the start of the window. Negative while ramping.
    pub index: i64,
    /// [`GRID`], or less for the last one of a window.
    pub length: Nanos,
    /// Per direction.
    pub counts: PerDirection<Counts>,
    /// Integral of requests in flight over time, in request-nanoseconds: divided by the length it is the mean depth.
    pub in_flight: u64,
    /// Histograms of the second that ends with this interval.
    pub second: Option<Box<Second>>,
}

impl<T> PerDirection<T> {
    /// Directions and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Direction, &T)> {
        Direction::ALL.into_iter().zip(&self.0)
    }
}

/// Counts of one direction over the grid: element `i` belongs to interval `i` of the window. Columns have equal length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Track {
    /// I/Os completed without error.
    pub ios: Vec<u64>,
    /// Bytes of these I/Os.
    pub bytes: Vec<u64>,
    /// Sum of the service latencies of these I/Os.
    pub latency_ns: Vec<u64>,
}

impl Track {
    /// Adds the counts of one interval.
    pub fn add(&mut self, index: usize, counts: &Counts) {
        add_at(&mut self.ios, index, counts.ios);
        add_at(&mut self.bytes, index, counts.bytes.0);
        add_at(&mut self.latency_ns, index, counts.latency.0);
    }

    /// Sums over the whole window. A sum beyond 2^64 - 1 stays there: a stored Record may hold any numbers.
    pub fn total(&self) -> Counts {
        Counts {
            ios: total(self.ios.iter().copied()),
            bytes: Bytes(total(self.bytes.iter().copied())),
            latency: Nanos(total(self.latency_ns.iter().copied())),
        }
    }

    /// The columns.
    pub fn columns_mut(&mut self) -> [&mut Vec<u64>; 3] {
        [&mut self.ios, &mut self.bytes, &mut self.latency_ns]
    }
}

/// All samples of one direction on one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Counts over the grid, all workers together.
    pub track: Track,
    /// Service latency, one histogram a second.
    pub service: Vec<StoredHistogram>,
    /// Response time from the intended start, one histogram a second; empty without a schedule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response: Vec<StoredHistogram>,
}

/// All samples of one step on one target: what statistics, live view, verdict and report work on, now or from a stored Record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Length of an interval: 100 ms, and in a long run a second or more.
    pub interval_ns: Nanos,
    /// The time that each histogram holds; absent where it is ten intervals.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub histogram_ns: Nanos,
    /// Length of the window; the last interval may be shorter than the others.
    pub window_ns: Nanos,
    /// Reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Stream>,
    /// Writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Stream>,
    /// Discards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<Stream>,
    /// Flushes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<Stream>,
    /// Integral of requests in flight over each interval, in request-nanoseconds.
    pub in_flight_ns: Vec<u64>,
    /// I/Os of each worker over the grid, all directions together.
    pub workers: Vec<WorkerTrack>,
    /// The longest time after the window in which no I/O ended, although at least half of those in flight at its end were still under way.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub silent_after_ns: Nanos,
}

/// The I/Os that one worker contributed to a series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerTrack {
    /// Number within the step.
    pub worker: u32,
    /// I/Os of each interval.
    pub ios: Vec<u64>,
}

impl Series {
    /// The stream of a direction, when anything happened there.
    pub fn stream(&self, d: Direction) -> Option<&Stream> {
        match d {
            Direction::Read => self.read.as_ref(),
            Direction::Write => self.write.as_ref(),
            Direction::Trim => self.trim.as_ref(),
            Direction::Sync => self.sync.as_ref(),
        }
    }

    /// The streams of all directions in which anything happened, in the order of [`Direction::ALL`].
    pub fn streams(&self) -> impl Iterator<Item = &Stream> {
        [&self.read, &self.write, &self.trim, &self.sync].into_iter().flatten()
    }

    /// The same streams, to be changed.
    pub fn streams_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        [&mut self.read, &mut self.write, &mut self.trim, &mut self.sync].into_iter().flatten()
    }

    /// The stream of a direction, made when missing.
    pub fn stream_mut(&mut self, d: Direction) -> &mut Stream {
        let slot = match d {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
            Direction::Trim => &mut self.trim,
            Direction::Sync => &mut self.sync,
        };
        slot.get_or_insert_default()
    }

    /// Adds what a worker did in an interval; intervals of the ramp do not count.
    pub fn add(&mut self, interval: &Interval) {
        let Ok(on_grid) = usize::try_from(interval.index) else { return };
        self.begin();
        self.make_room_for(on_grid);
        let index = on_grid / self.merged();
        let mut ios = 0;
        for (d, counts) in interval.counts.iter().filter(|(_, c)| c.ios > 0) {
            self.stream_mut(d).track.add(index, counts);
            ios += counts.ios;
        }
        add_at(&mut self.in_flight_ns, index, interval.in_flight);
        let place = match self.workers.iter().position(|w| w.worker == interval.worker) {
            Some(p) => p,
            None => {
                self.workers.push(WorkerTrack { worker: interval.worker, ios: Vec::new() });
                self.workers.len() - 1
            }
        };
        add_at(&mut self.workers[place].ios, index, ios);
        if let Some(second) = &interval.second {
            let at = on_grid / PER_SECOND as usize / self.seconds_merged();
            for d in Direction::ALL {
                if !second.service[d].is_empty() {
                    merge_at(&mut self.stream_mut(d).service, at, &second.service[d]);
                }
                if !second.response[d].is_empty() {
                    merge_at(&mut self.stream_mut(d).response, at, &second.response[d]);
                }
            }
        }
    }

    /// Ends the window: all columns get its length, so that an interval without I/O is a zero and not a gap.
    pub fn close(&mut self, window: Nanos) {
        self.begin();
        self.window_ns = window;
        let n = window.0.div_ceil(self.interval_ns.0) as usize;
        let seconds = window.0.div_ceil(self.histogram_length().0) as usize;
        for stream in self.streams_mut() {
            for column in stream.track.columns_mut() {
                column.resize(n, 0);
            }
            stream.service.resize(seconds, StoredHistogram::default());
            if !stream.response.is_empty() {
                stream.response.resize(seconds, StoredHistogram::default());
            }
        }
        self.in_flight_ns.resize(n, 0);
        for worker in &mut self.workers {
            worker.ios.resize(n, 0);
        }
        self.workers.sort_by_key(|w| w.worker);
    }

    /// Empty columns are on the grid.
    fn begin(&mut self) {
        if self.interval_ns.0 == 0 {
            self.interval_ns = GRID;
        }
    }

    /// Time-averaged requests in flight over the window.
    pub fn in_flight_mean(&self) -> f64 {
        if self.window_ns.0 == 0 {
            return 0.0;
        }
        self.in_flight_ns.iter().map(|n| *n as f64).sum::<f64>() / self.window_ns.0 as f64
    }
}

fn add_at(column: &mut Vec<u64>, index: usize, value: u64) {
    if column.len() <= index {
        column.resize(index + 1, 0);
    }
    column[index] = column[index].saturating_add(value);
}

fn merge_at(column: &mut Vec<StoredHistogram>, index: usize, value: &StoredHistogram) {
    if column.len() <= index {
        column.resize(index + 1, StoredHistogram::default());
    }
    column[index].merge(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_and_batches_fall_into_their_classes() {
        let mut d = Depth::default();
        for in_flight in [1, 2, 3, 4, 8, 31, 32, 63, 64, 5000] {
            d.submit(1, in_flight);
        }
        assert_eq!(d.in_flight, [1, 2, 1, 1, 1, 2, 2]);
        for n in [0, 1, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 9999] {
            d.complete(n);
        }
        assert_eq!(d.completed, [1, 2, 2, 2, 2, 2, 2]);
        d.add(&d.clone());
        d.one_by_one(3);
        assert_eq!((d.in_flight[0], d.submitted[1], d.completed[1]), (5, 23, 7));
    }

    #[test]
    fn workers_add_up_on_one_grid() {
        let interval = |worker, index, ios| {
            let mut counts = PerDirection::<Counts>::default();
            counts[Direction::Read] = Counts { ios, bytes: Bytes(ios * 4096), latency: Nanos(ios * 10) };
            Interval { worker, index, length: GRID, counts, in_flight: 7, second: None }
        };
        let mut series = Series::default();
        for i in [interval(1, 0, 5), interval(0, 0, 3), interval(0, 2, 4), interval(0, -1, 99)] {
            series.add(&i);
        }
        series.close(Nanos::millis(350));
        let read = series.read.as_ref().unwrap();
        assert_eq!(read.track.ios, [8, 0, 4, 0]);
        assert_eq!(read.track.total().bytes, Bytes(12 * 4096));
        assert_eq!(series.in_flight_ns, [14, 0, 7, 0]);
        assert_eq!(series.workers[1], WorkerTrack { worker: 1, ios: vec![5, 0, 0, 0] });
        let json = serde_json::to_string(&series).unwrap();
        assert_eq!(serde_json::from_str::<Series>(&json).unwrap(), series);
    }
}
