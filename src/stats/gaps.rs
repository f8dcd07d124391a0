//! Gaps that a run has all the time: a slow device, the quota of a throttle, or a volume that stops again and again.
//!
//! The run is a row of cycles on the 100 ms grid: bins with completions, and the bins without any that follow while requests
//! wait. A gap seldom begins and ends with a bin. How much of the bin before it was silent follows from the missing I/Os of that bin, and
//! how much of the bin after it from the missing I/Os or from the latencies there: the requests that waited for the volume complete first,
//! and each took at least as long as the gap.

use std::ops::Range;

use super::event::{LoadGrid, runs, waits};
use super::moments::median;
use crate::sample::{GRID, PER_SECOND};

/// Gaps that take less of the time are single events, which the tolerance of a verdict allows.
const OFTEN: f64 = 0.02;
/// A shorter gap than this, in bins, is left to the percentiles.
const SHORTEST: f64 = 1.5;
/// A device completes at once no more than this multiple of the requests in flight: those, and a few that it takes up again within the bin.
pub(super) const BATCH: f64 = 1.1;
/// A batch completes within this many bins.
const AT_ONCE: f64 = 2.0;
/// The longest period of a quota, in bins: rates are promised by the second.
const QUOTA: f64 = PER_SECOND as f64;
/// A quota is used up within this share of its period, or within a bin and what straddles the next one.
const OPEN: f64 = 1.0 / 3.0;
const ONE_BIN: f64 = 1.5;
/// While a quota lasts, nothing else holds the volume: the rate is at least this share of what the depth gives at the latency of the
/// quickest I/Os.
const UNHELD: f64 = 0.5;
/// This share of the distances between quotas must be equal to within a bin.
const REGULAR: f64 = 0.8;
/// Of the bins with completions this share may be silent for a part.
const WHOLE: f64 = 0.75;
/// Completions that come independently of each other leave a gap of (ln n + this) / rate once in 20 runs.
const BY_CHANCE: f64 = 3.0;

/// Gaps of a length and more are no chance where they are this many times as many as it gives.
const TIMES_CHANCE: f64 = 4.0;
/// So few gaps are left to the longest gap that chance explains.
const FEW: usize = 20;
/// A quota is handed out at once: its completions touch no more bins than it fills, and those that it begins and ends within.
const STRADDLED: f64 = 2.0;

/// Bins with completions and the gap after them; the first cycle may be a gap alone.
#[derive(Clone, Debug)]
struct Cycle {
    /// First bin of the cycle.
    start: usize,
    /// The bins without completions.
    gap: Range<usize>,
    /// When the gap begins and ends, in bins.
    silent: (f64, f64),
    /// I/Os that completed.
    ios: u64,
    /// I/Os of the fullest bin.
    most: u64,
}

impl Cycle {
    /// How long nothing completed, in bins.
    fn silence(&self) -> f64 {
        self.silent.1 - self.silent.0
    }

    /// How long the cycle completed I/Os, in bins: as the fullest bin did.
    fn busy(&self) -> f64 {
        if self.most == 0 { 0.0 } else { self.ios as f64 / self.most as f64 }
    }

    /// Bins with completions, however few.
    fn active(&self) -> f64 {
        (self.gap.start - self.start) as f64
    }
}

/// Times without completions that return so often that each second has its I/Os.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stops {
    /// From one to the next, in seconds.
    pub period_seconds: f64,
    /// Share of the time without completions, 0 to 1.
    pub silent_share: f64,
}

/// The cycles of a run.
#[derive(Clone, Debug)]
pub struct Gaps {
    cycles: Vec<Cycle>,
    bins: usize,
    in_flight: f64,
    quick_ns: f64,
}

impl Gaps {
    /// The gaps of a part of a run.
    pub fn of(load: &LoadGrid, part: Range<usize>) -> Gaps {
        let edges = Edges::of(load, &part);
        let Edges { ios, in_flight, .. } = edges;
        let busy: Vec<Range<usize>> = runs(ios.len(), |i| ios[i] > 0).collect();
        let cycle = |start: usize, busy: Range<usize>| {
            let waiting = (busy.end..ios.len()).take_while(|i| waits(ios[*i], in_flight[*i])).count();
            let gap = busy.end..busy.end + waiting;
            Cycle {
                start,
                silent: edges.silent(&gap),
                gap,
                ios: ios[busy.clone()].iter().fold(0, |sum, n| sum.saturating_add(*n)),
                most: ios[busy].iter().max().copied().unwrap_or(0),
            }
        };
        let first = busy.first().map_or(0, |b| b.start);
        let waited = (0..first).all(|i| waits(ios[i], in_flight[i]));
        let before = Some(0..0).filter(|_| waited && first > 0);
        let cycles = before.into_iter().chain(busy).map(|b| cycle(b.start, b));
        Gaps {
            cycles: cycles.filter(|c| !c.gap.is_empty()).collect(),
            bins: ios.len(),
            in_flight: in_flight.iter().sum::<f64>() / in_flight.len().max(1) as f64,
            quick_ns: load.quick_ns,
        }
    }

    fn long(&self) -> impl Iterator<Item = &Cycle> {
        let (explained, many) = (self.by_chance(), self.too_many());
        let unlikely = move |silence: f64| silence > explained || many.is_some_and(|many| silence >= many);
        self.cycles.iter().filter(move |c| c.silence() >= SHORTEST && unlikely(c.silence()))
    }

    /// Share of the time that longer gaps take.
    fn silent_share(&self) -> f64 {
        self.long().map(Cycle::silence).sum::<f64>() / self.bins.max(1) as f64
    }

    /// The longest gap, in bins, that chance explains where requests complete independently of each other.
    fn by_chance(&self) -> f64 {
        let silent: f64 = self.cycles.iter().map(Cycle::silence).sum();
        let ios: u64 = self.cycles.iter().fold(0, |sum, c| sum.saturating_add(c.ios));
        let rate = ios as f64 / (self.bins as f64 - silent).max(1.0);
        if ios == 0 { 0.0 } else { ((ios as f64).ln() + BY_CHANCE) / rate }
    }

    /// The shortest gap, in bins, that comes far more often than chance explains, although one such gap may be chance: requests that complete
    /// independently of each other leave e^(-rate * length) of all gaps as long as that.
    fn too_many(&self) -> Option<f64> {
        let ios = self.cycles.iter().fold(0u64, |sum, c| sum.saturating_add(c.ios)) as f64;
        let rate = ios / self.bins.max(1) as f64;
        let mut lengths: Vec<f64> = self.cycles.iter().map(Cycle::silence).collect();
        lengths.sort_by(|a, b| b.total_cmp(a));
        let counted = lengths.iter().enumerate().skip(FEW);
        let beyond = |(i, length): &(usize, &f64)| {
            **length >= SHORTEST && (i + 1) as f64 > TIMES_CHANCE * ios * (-rate * **length).exp()
        };
        counted.filter(beyond).map(|(_, length)| *length).next_back()
    }

    /// When the gaps begin and end, in bins, where the run has them all the time and neither a slow device nor a quota explains them;
    /// empty otherwise.
    pub fn unexplained(&self) -> Vec<(f64, f64)> {
        if self.silent_share() < OFTEN || self.is_slow_device() || self.is_quota() {
            return Vec::new();
        }
        self.long().map(|c| c.silent).collect()
    }

    /// Whether the gaps return as those of another part of the run do, which a quota explains.
    pub fn beats_as(&self, other: &Gaps) -> bool {
        let beat = |gaps: &Gaps| median(&gaps.distances()).filter(|beat| gaps.is_regular(*beat));
        other.is_quota() && !other.is_slow_device() && beat(self).is_some() && beat(self) == beat(other)
    }

    /// Whether nearly all cycles begin so many bins after each other.
    fn is_regular(&self, period: f64) -> bool {
        let distances = self.distances();
        let regular = distances.iter().filter(|d| (*d - period).abs() <= 1.0).count() as f64;
        regular >= REGULAR * distances.len() as f64
    }

    /// The quota that explains gaps which the run has all the time.
    pub fn quota(&self) -> Option<Stops> {
        let often = self.silent_share() >= OFTEN && !self.is_slow_device() && self.is_quota();
        let period = median(&self.distances()).filter(|_| often)?;
        Some(Stops { period_seconds: period / PER_SECOND as f64, silent_share: self.silent_share() })
    }

    /// Whether in at least half of the cycles the device completed, at once, the requests in flight.
    fn is_slow_device(&self) -> bool {
        let batch = |c: &&Cycle| c.ios as f64 <= BATCH * self.in_flight.max(1.0) && c.busy() <= AT_ONCE;
        let busy = || self.cycles.iter().filter(|c| c.ios > 0);
        busy().count() > 0 && 2 * busy().filter(batch).count() >= busy().count()
    }

    /// From the start of each cycle to the next, in bins.
    fn distances(&self) -> Vec<f64> {
        self.cycles.windows(2).map(|pair| (pair[1].start - pair[0].start) as f64).collect()
    }

    /// Whether the cycles begin at equal distances and are busy for a part of each, in which nothing else holds the volume.
    fn is_quota(&self) -> bool {
        let of = |figure: fn(&Cycle) -> f64| median(&self.cycles.iter().map(figure).collect::<Vec<_>>());
        let (Some(period), Some(busy), Some(active), Some(most)) =
            (median(&self.distances()), of(Cycle::busy), of(Cycle::active), of(|c| c.most as f64))
        else {
            return false;
        };
        let unheld = most * self.quick_ns >= UNHELD * self.in_flight * GRID.0 as f64 || self.quick_ns == 0.0;
        self.is_regular(period)
            && period <= QUOTA
            && active <= busy + STRADDLED
            && (busy <= ONE_BIN || busy <= OPEN * period && unheld)
    }
}

/// The bins at both ends of a gap.
pub(super) struct Edges<'a> {
    ios: &'a [u64],
    in_flight: &'a [f64],
    latency_ns: &'a [u64],
    /// I/Os of a bin without silence.
    full: f64,
    /// Median latency, in bins.
    median: f64,
}

impl Edges<'_> {
    /// The bins of a part of a run.
    pub(super) fn of<'a>(load: &'a LoadGrid, part: &Range<usize>) -> Edges<'a> {
        let (ios, in_flight) = (&load.ios[part.clone()], &load.in_flight[part.clone()]);
        let latency_ns = load.latency_ns.get(part.clone()).unwrap_or_default();
        let busy = || ios.iter().enumerate().filter(|(_, n)| **n > 0);
        let mut counts: Vec<u64> = busy().map(|(_, n)| *n).collect();
        counts.sort_unstable();
        let full = counts.get((counts.len() as f64 * WHOLE) as usize).map_or(0.0, |n| *n as f64);
        Edges { ios, in_flight, latency_ns, full, median: load.median_ns / GRID.0 as f64 }
    }

    /// When a gap of whole bins really began and ended, in bins.
    pub(super) fn silent(&self, gap: &Range<usize>) -> (f64, f64) {
        let length = gap.len() as f64;
        if gap.is_empty() {
            return (gap.start as f64, gap.end as f64);
        }
        let missing = |bin: Option<&u64>| bin.map_or(0.0, |n| (1.0 - *n as f64 / self.full).clamp(0.0, 1.0));
        let before = missing(gap.start.checked_sub(1).and_then(|i| self.ios.get(i)));
        let waited = self.waited(gap.end).map_or(0.0, |waited| (waited - length - before).clamp(0.0, 1.0));
        let after = missing(self.ios.get(gap.end)).max(waited);
        (gap.start as f64 - before, gap.end as f64 + after)
    }

    /// How much longer than the median the first I/Os of a bin waited, as many as were in flight, in bins.
    fn waited(&self, bin: usize) -> Option<f64> {
        let (n, sum) = (*self.ios.get(bin)? as f64, *self.latency_ns.get(bin)? as f64 / GRID.0 as f64);
        let waiting = self.in_flight.get(bin)?.clamp(1.0, n.max(1.0));
        Some((sum - (n - waiting) * self.median) / waiting - self.median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINS: usize = 3000;

    fn stalls(ios: Vec<u64>) -> usize {
        let load = LoadGrid {
            in_flight: vec![32.0; ios.len()],
            ios,
            median_ns: 1.6e9,
            quick_ns: 1.2e9,
            ..LoadGrid::default()
        };
        load.events().len()
    }

    #[test]
    fn chance_explains_one_gap_and_not_one_in_every_second() {
        // 32 large requests in flight at 20 a second, of a volume that stops in each second: what waited completes at once.
        let cycle = [9, 2, 2, 2, 2, 2, 1, 0, 0, 0];
        let stopping: Vec<u64> = (0..BINS).map(|i| cycle[i % cycle.len()]).collect();
        assert_eq!(stalls(stopping), BINS / cycle.len());
        // The same rate with one such gap.
        let once = (0..BINS).map(|i| if (1500..1503).contains(&i) { 0 } else { 2 }).collect();
        assert_eq!(stalls(once), 0);
    }
}
