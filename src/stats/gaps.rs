//! Gaps that a run has all the time: a slow device, the quota of a throttle, or a volume that stops again and again.
//!
//! The run is a row of cycles on the 100 ms grid: bins with completions, and the bins without any that follow while requests
//! wait. On the grid a cycle shows when it begins, how long it is and how many I/Os it has; how long it was busy follows from its
//! fullest bin, so that a gap that begins within a bin has its whole length.

use std::ops::Range;

use super::event::{runs, waits};
use super::moments::median;
use crate::sample::PER_SECOND;

/// Gaps that take less of the time are single events.
const OFTEN: f64 = 0.05;
/// A shorter gap than this, in bins, is left to the percentiles.
const SHORTEST: f64 = 1.5;
/// A device completes at once no more than this multiple of the requests in flight: those, and a few that it takes up again within the bin.
const BATCH: f64 = 1.1;
/// A batch completes within this many bins.
const AT_ONCE: f64 = 2.0;
/// The longest period of a quota, in bins: rates are promised by the second.
const QUOTA: f64 = PER_SECOND as f64;
/// A quota is used up within this share of its period, or within a bin and what straddles the next one.
const OPEN: f64 = 1.0 / 3.0;
const ONE_BIN: f64 = 1.5;
/// This share of the distances between quotas must be equal to within a bin.
const REGULAR: f64 = 0.8;

/// Bins with completions and the gap after them; the first cycle may be a gap alone.
#[derive(Clone, Debug)]
struct Cycle {
    /// First bin of the cycle.
    start: usize,
    /// The bins without completions.
    gap: Range<usize>,
    /// I/Os that completed.
    ios: u64,
    /// How long the cycle completed I/Os, in bins.
    busy: f64,
}

impl Cycle {
    /// Length, in bins.
    fn length(&self) -> f64 {
        (self.gap.end - self.start) as f64
    }

    /// How long nothing completed, in bins.
    fn silence(&self) -> f64 {
        self.length() - self.busy
    }
}

/// The cycles of a run.
#[derive(Clone, Debug)]
pub struct Gaps {
    cycles: Vec<Cycle>,
    bins: usize,
    in_flight: f64,
}

impl Gaps {
    /// The gaps of a run; I/Os and requests in flight by bins.
    pub fn of(ios: &[u64], in_flight: &[f64]) -> Gaps {
        let busy: Vec<Range<usize>> = runs(ios.len(), |i| ios[i] > 0).collect();
        let cycle = |b: &Range<usize>| {
            let waiting = (b.end..ios.len()).take_while(|i| waits(ios[*i], in_flight[*i])).count();
            let sum: u64 = ios[b.clone()].iter().fold(0, |sum, n| sum.saturating_add(*n));
            let most = ios[b.clone()].iter().max().copied().unwrap_or(1);
            Cycle { start: b.start, gap: b.end..b.end + waiting, ios: sum, busy: sum as f64 / most as f64 }
        };
        let first = busy.first().map_or(0, |b| b.start);
        let before = Cycle { start: 0, gap: 0..first, ios: 0, busy: 0.0 };
        let waited = (0..first).all(|i| waits(ios[i], in_flight[i]));
        let cycles = Some(before).filter(|_| waited).into_iter().chain(busy.iter().map(cycle));
        Gaps {
            cycles: cycles.filter(|c| !c.gap.is_empty()).collect(),
            bins: ios.len(),
            in_flight: in_flight.iter().sum::<f64>() / in_flight.len().max(1) as f64,
        }
    }

    /// The gaps, where the run has them all the time and neither a slow device nor a quota explains them; empty otherwise.
    pub fn unexplained(&self) -> Vec<Range<usize>> {
        let long = || self.cycles.iter().filter(|c| c.silence() >= SHORTEST);
        let silent: usize = long().map(|c| c.gap.len()).sum();
        let often = silent as f64 >= OFTEN * self.bins as f64;
        if !often || self.is_slow_device() || self.is_quota() {
            return Vec::new();
        }
        long().map(|c| c.gap.clone()).collect()
    }

    /// Whether in at least half of the cycles the device completed, at once, the requests in flight.
    fn is_slow_device(&self) -> bool {
        let batch = |c: &&Cycle| c.ios as f64 <= BATCH * self.in_flight.max(1.0) && c.busy <= AT_ONCE;
        let busy = || self.cycles.iter().filter(|c| c.ios > 0);
        busy().count() > 0 && 2 * busy().filter(batch).count() >= busy().count()
    }

    /// Whether the cycles begin at equal distances and are busy for a part of each.
    fn is_quota(&self) -> bool {
        let distances: Vec<f64> =
            self.cycles.windows(2).map(|pair| (pair[1].start - pair[0].start) as f64).collect();
        let busy: Vec<f64> = self.cycles.iter().map(|c| c.busy).collect();
        let (Some(period), Some(busy)) = (median(&distances), median(&busy)) else { return false };
        let regular = distances.iter().filter(|d| (*d - period).abs() <= 1.0).count() as f64;
        regular >= REGULAR * distances.len() as f64 && period <= QUOTA && busy <= ONE_BIN.max(OPEN * period)
    }
}
