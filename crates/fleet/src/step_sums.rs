//! The samples of one step of all machines, added up second by second while the Records come in, in any order; then cut to the time in which
//! every machine measured.
//!
//! The grid is that of the planned start. A machine that began late by some whole seconds is moved by as many; what is left of its lateness,
//! half a second at most, is the skew of the sums. Seconds are added whole, so that counts and histograms are exact.

use volproof_base::hist::StoredHistogram;
use volproof_base::sample::{Direction, GRID, PER_SECOND, Series};
use volproof_base::unit::Nanos;
use volproof_record::StepRecord;

const SECOND: i64 = 1_000_000_000;
/// A machine that is further from the planned time was not in this run.
pub const FURTHEST: Nanos = Nanos::seconds(3600);

/// When one machine measured, on the grid of the sums.
#[derive(Clone, Copy, Debug)]
pub struct MachineWindow {
    /// The rank of the machine.
    pub rank: u32,
    /// The first second of its window, after the planned start of the window.
    pub second: i64,
    /// How long after the planned time its first I/O was sent.
    pub late_ns: i64,
    /// The length of its window.
    pub window: Nanos,
    /// The time after its window in which none of its requests in flight came back.
    pub silent_after: Nanos,
}

impl MachineWindow {
    fn ends(&self) -> i64 {
        self.second.saturating_mul(SECOND).saturating_add(self.window.0 as i64)
    }

    /// The part of its lateness that moving it by whole seconds leaves.
    fn rest(&self) -> i64 {
        self.late_ns - self.second * SECOND
    }
}

/// The time in which every machine measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonWindow {
    /// Its first second, after the planned start of the window.
    pub second: i64,
    /// Its length.
    pub length: Nanos,
    /// Seconds that are added up began at most so far from each other.
    pub skew: Nanos,
}

impl CommonWindow {
    /// The intervals of a machine that lie in it.
    pub fn of_machine(&self, machine: &MachineWindow) -> std::ops::Range<usize> {
        let first = (self.second - machine.second).max(0) as usize * PER_SECOND as usize;
        first..first + self.length.0.div_ceil(GRID.0) as usize
    }

    /// The parts of a machine's window before and after it.
    pub fn left_out(&self, machine: &MachineWindow) -> (Nanos, Nanos) {
        let before = ((self.second - machine.second).max(0) * SECOND) as u64;
        (Nanos(before), Nanos(machine.window.0.saturating_sub(before).saturating_sub(self.length.0)))
    }
}

/// The sums of one step.
#[derive(Debug, Default)]
pub struct StepSums {
    /// The machines that measured it, in the order in which they came.
    pub machines: Vec<MachineWindow>,
    /// The second of the grid that element 0 belongs to.
    base: i64,
    sum: Series,
}

impl StepSums {
    /// Adds the step of one machine whose first I/O was sent so long after the planned time: [`FURTHEST`] at most.
    pub fn add(&mut self, rank: u32, late_ns: i64, step: &StepRecord) {
        let second = (late_ns as f64 / SECOND as f64).round() as i64;
        if self.machines.is_empty() {
            self.base = second;
        }
        if second < self.base {
            self.begin_earlier((self.base - second) as usize);
            self.base = second;
        }
        let at = (second - self.base) as usize;
        for series in step.targets.iter().map(|t| &t.series) {
            let at_grid = at * PER_SECOND as usize;
            for d in Direction::ALL {
                let Some(stream) = series.stream(d) else { continue };
                let sum = self.sum.stream_mut(d);
                add_column(&mut sum.track.ios, at_grid, &series.on_grid(&stream.track.ios));
                add_column(&mut sum.track.bytes, at_grid, &series.on_grid(&stream.track.bytes));
                add_column(&mut sum.track.latency_ns, at_grid, &series.on_grid(&stream.track.latency_ns));
                add_histograms(&mut sum.service, at, &stream.service, series.seconds_merged());
                add_histograms(&mut sum.response, at, &stream.response, series.seconds_merged());
            }
            add_column(&mut self.sum.in_flight_ns, at_grid, &series.on_grid(&series.in_flight_ns));
        }
        let silent_after = step.targets.iter().map(|t| t.series.silent_after_ns).min().unwrap_or_default();
        // A stored Record may name any window: it has no more than its samples.
        let sampled = |series: &Series| series.interval_ns.0.saturating_mul(series.in_flight_ns.len() as u64);
        let sampled = step.targets.iter().map(|t| sampled(&t.series)).max().unwrap_or(0);
        let window = step.window_ns.min(Nanos(sampled));
        self.machines.push(MachineWindow { rank, second, late_ns, window, silent_after });
    }

    /// Moves what was added so far behind so many seconds of nothing.
    fn begin_earlier(&mut self, seconds: usize) {
        let grid = seconds * PER_SECOND as usize;
        for stream in self.sum.streams_mut() {
            for column in stream.track.columns_mut() {
                column.splice(0..0, std::iter::repeat_n(0, grid));
            }
            for histograms in [&mut stream.service, &mut stream.response] {
                if !histograms.is_empty() {
                    histograms.splice(0..0, std::iter::repeat_n(StoredHistogram::default(), seconds));
                }
            }
        }
        self.sum.in_flight_ns.splice(0..0, std::iter::repeat_n(0, grid));
    }

    /// The time in which every machine measured; none where some pair of them never did.
    pub fn common(&self) -> Option<CommonWindow> {
        let second = self.machines.iter().map(|m| m.second).max()?;
        let end = self.machines.iter().map(MachineWindow::ends).min()?;
        let length = u64::try_from(end - second * SECOND).ok()?;
        // A second that only some machines ended belongs to none of them.
        let whole = self.machines.iter().all(|m| m.ends() == end);
        let length = if whole { length } else { length / SECOND as u64 * SECOND as u64 };
        let rests = self.machines.iter().map(MachineWindow::rest);
        let skew = (rests.clone().max()? - rests.min()?).unsigned_abs();
        (length >= GRID.0).then_some(CommonWindow { second, length: Nanos(length), skew: Nanos(skew) })
    }

    /// The two machines whose windows are furthest apart: the one that ended first, and the one that began last.
    pub fn furthest(&self) -> Option<(MachineWindow, MachineWindow)> {
        let first = self.machines.iter().min_by_key(|m| m.ends())?;
        Some((*first, *self.machines.iter().max_by_key(|m| m.second)?))
    }

    /// How long after the common window nothing came back to any machine. Where one of them is answered, all of them together are. A machine whose
    /// window goes on shows that as far as it goes, and then by its own requests in flight.
    fn silence_after(&self, common: &CommonWindow) -> Nanos {
        let starts = (common.second - self.base).max(0) as usize * PER_SECOND as usize;
        let ends = starts + (common.length.0 / GRID.0) as usize;
        // The first interval in which a machine was answered, or the end of all samples.
        let mut quiet_until = self.sum.streams().map(|s| s.track.ios.len()).max().unwrap_or(0).max(ends);
        for ios in self.sum.streams().map(|s| &s.track.ios) {
            let answered = ios.iter().skip(ends).position(|n| *n > 0);
            quiet_until = quiet_until.min(answered.map_or(usize::MAX, |after| ends + after));
        }
        let quiet = (quiet_until - ends) as u64 * GRID.0;
        let silent = self.machines.iter().map(|machine| match common.left_out(machine).1.0 {
            // Its last interval may be cut short.
            rest if rest < quiet + GRID.0 => rest.saturating_add(machine.silent_after.0),
            _ => quiet,
        });
        Nanos(silent.min().unwrap_or(0))
    }

    /// The sums within the common window.
    pub fn within(mut self, common: &CommonWindow) -> Series {
        self.sum.silent_after_ns = self.silence_after(common);
        let skip = (common.second - self.base).max(0) as usize;
        let grid = skip * PER_SECOND as usize;
        for stream in self.sum.streams_mut() {
            for column in stream.track.columns_mut() {
                column.drain(..grid.min(column.len()));
            }
            for histograms in [&mut stream.service, &mut stream.response] {
                histograms.drain(..skip.min(histograms.len()));
            }
        }
        let in_flight = &mut self.sum.in_flight_ns;
        in_flight.drain(..grid.min(in_flight.len()));
        self.sum.close(common.length);
        self.sum
    }
}

fn add_column(sum: &mut Vec<u64>, at: usize, column: &[u64]) {
    sum.resize(sum.len().max(at + column.len()), 0);
    sum[at..].iter_mut().zip(column).for_each(|(a, b)| *a = a.saturating_add(*b));
}

/// Adds histograms that hold so many seconds each: all of one lies on its first second.
fn add_histograms(sum: &mut Vec<StoredHistogram>, at: usize, all: &[StoredHistogram], held: usize) {
    if all.is_empty() {
        return;
    }
    sum.resize(sum.len().max(at + all.len().saturating_mul(held)), StoredHistogram::default());
    sum[at..].iter_mut().step_by(held).zip(all).for_each(|(a, b)| a.merge(b));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use volproof_base::hist::Histogram;
    use volproof_base::sample::{Counts, Interval, PerDirection, Second};
    use volproof_base::unit::Bytes;
    use volproof_record::StepTarget;

    /// A machine whose every second holds one latency: `first` in the first second, one more in each later one.
    fn step(first: u64, seconds: u64) -> StepRecord {
        let mut series = Series::default();
        for index in 0..(seconds * PER_SECOND) as i64 {
            let mut counts = PerDirection::<Counts>::default();
            let last = (index + 1) % PER_SECOND as i64 == 0;
            let latency = first + index as u64 / PER_SECOND;
            if last {
                counts[Direction::Read] = Counts { ios: 1, bytes: Bytes(4096), latency: Nanos(latency) };
            }
            let second = last.then(|| {
                let mut histogram = Histogram::new();
                histogram.record(latency);
                let mut second = Second::default();
                second.service[Direction::Read] = histogram.to_sparse();
                Box::new(second)
            });
            series.add(&Interval { worker: 0, index, length: GRID, counts, in_flight: 1, second });
        }
        series.close(Nanos::seconds(seconds));
        let target = StepTarget {
            path: "x".into(),
            beside: Vec::new(),
            read: None,
            write: None,
            trim: None,
            sync: None,
            in_flight_mean: 0.0,
            series,
        };
        StepRecord { window_ns: Nanos::seconds(seconds), targets: vec![target], ..StepRecord::default() }
    }

    fn latencies(sum: &Series) -> Vec<Vec<usize>> {
        let read = sum.read.as_ref().unwrap();
        read.service.iter().map(|s| s.buckets().flat_map(|(i, n)| vec![i; n as usize]).collect()).collect()
    }

    #[test]
    fn only_seconds_that_all_measured_are_added() {
        let mut sums = StepSums::default();
        // Rank 1 is two seconds and 40 ms late, rank 2 is 30 ms early; what began first comes last.
        sums.add(1, 2_040_000_000, &step(20, 10));
        sums.add(0, 0, &step(0, 10));
        sums.add(2, -30_000_000, &step(40, 10));
        let common = sums.common().unwrap();
        assert_eq!(common, CommonWindow { second: 2, length: Nanos::seconds(8), skew: Nanos::millis(70) });
        assert_eq!(common.left_out(&sums.machines[0]), (Nanos(0), Nanos::seconds(2)));
        assert_eq!(common.left_out(&sums.machines[1]), (Nanos::seconds(2), Nanos(0)));
        assert_eq!(common.of_machine(&sums.machines[1]), 20..100);
        let sum = sums.within(&common);
        assert_eq!(latencies(&sum), (0..8).map(|s| vec![2 + s, 20 + s, 42 + s]).collect::<Vec<_>>());
        let read = sum.read.as_ref().unwrap();
        assert_eq!((read.track.total().ios, read.track.ios.len(), sum.in_flight_ns.len()), (24, 80, 80));
    }

    #[test]
    fn machines_that_never_measured_together_have_no_common_window() {
        let mut sums = StepSums::default();
        sums.add(0, 0, &step(0, 5));
        sums.add(3, 5_000_000_000, &step(0, 5));
        assert_eq!(sums.common(), None);
        let (first, last) = sums.furthest().unwrap();
        assert_eq!((first.rank, last.rank), (0, 3));
    }

    #[test]
    fn a_second_that_some_did_not_end_is_left_out() {
        let mut sums = StepSums::default();
        let mut short = step(0, 5);
        short.window_ns = Nanos::millis(4_960);
        sums.add(0, 0, &step(0, 5));
        sums.add(1, 0, &short);
        assert_eq!(sums.common().unwrap().length, Nanos::seconds(4));
    }

    #[test]
    fn a_stop_at_the_end_lasts_as_long_as_no_machine_is_answered() {
        let stopped = |seconds, dead: usize, after: u64| {
            let mut step = step(0, seconds);
            let series = &mut step.targets[0].series;
            let ios = &mut series.read.as_mut().unwrap().track.ios;
            let alive = ios.len() - dead;
            ios[alive..].fill(0);
            series.silent_after_ns = Nanos::seconds(after);
            step
        };
        let silence = |machines: &[(i64, StepRecord)]| {
            let mut sums = StepSums::default();
            machines.iter().for_each(|(late, step)| sums.add(0, late * SECOND, step));
            let common = sums.common().unwrap();
            sums.within(&common).silent_after_ns
        };
        assert_eq!(silence(&[(0, stopped(10, 5, 8)), (0, stopped(10, 5, 7))]), Nanos::seconds(7));
        assert_eq!(silence(&[(0, stopped(10, 5, 8)), (0, step(0, 10))]), Nanos(0), "one is answered");
        // The second machine began two seconds later, and its window goes on.
        assert_eq!(silence(&[(0, stopped(10, 5, 8)), (2, stopped(10, 30, 5))]), Nanos::seconds(7));
        // The volume came back within that time.
        assert_eq!(silence(&[(0, stopped(10, 5, 1)), (2, step(0, 10))]), Nanos::millis(900));
    }

    proptest! {
        /// The sum has every latency of the common seconds of every machine, once, in whatever order the machines come.
        #[test]
        fn histograms_are_those_of_all_samples(machines in proptest::collection::vec((-3i64..4, 8u64..12), 1..6)) {
            let mut sums = StepSums::default();
            for (i, (late, seconds)) in machines.iter().enumerate() {
                sums.add(i as u32, late * SECOND, &step(i as u64 * 20, *seconds));
            }
            let common = sums.common().unwrap();
            let mut all: Vec<usize> = Vec::new();
            for (i, (late, _)) in machines.iter().enumerate() {
                let first = common.second - late;
                let last = first + (common.length.0 as i64) / SECOND;
                all.extend((first..last).map(|s| i * 20 + s as usize));
            }
            let mut found = latencies(&sums.within(&common)).concat();
            found.sort_unstable();
            all.sort_unstable();
            prop_assert_eq!(found, all);
        }
    }
}
