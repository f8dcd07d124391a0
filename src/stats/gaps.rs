//! Gaps that a run has all the time: a slow device, the quota of a throttle, or a volume that stops again and again.
//!
//! The run is a row of cycles on the 100 ms grid: bins with completions, and the bins without any that follow while requests
//! wait. A gap seldom begins and ends with a bin. How much of the bin before it was silent follows from the missing I/Os of that bin, and
//! how much of the bin after it from the missing I/Os or from the latencies there: the requests that waited for the volume complete first,
//! and each took at least as long as the gap.

use std::ops::Range;

use super::OFTEN;
use super::lapses::{LoadGrid, SHORT_NS, runs, waits};
use super::moments::{mean, median};
use crate::sample::{GRID, PER_SECOND};

/// A shorter gap than this, in bins, is left to the percentiles.
const SHORTEST_GAP: f64 = 1.5;
/// A device completes at once no more than this multiple of the requests in flight: those, and a few that it takes up again within the bin.
pub(super) const BATCH: f64 = 1.1;
/// A batch is at least this share of them: those that wait for a quota are let through in parts.
const WHOLE_BATCH: f64 = 0.9;
/// Fewer requests in flight than this come back in batches of any size, by chance.
const FEW_IN_FLIGHT: f64 = 8.0;
/// A slow device completes exactly the requests in flight; a quota has that size only by accident.
const ONCE: f64 = 0.01;
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
/// A gap that is longer than the period of a quota by so many bins outlasts it, whatever straddles both ends.
const BEYOND_QUOTA: f64 = 1.5;
/// Of the bins with completions this share may be silent for a part.
const FULL_PARTS: f64 = 0.75;
/// Completions that come independently of each other leave a gap of (ln n + this) / rate once in 20 runs.
const BY_CHANCE: f64 = 3.0;

/// Gaps of a length and more are no chance where they are this many times as many as it gives.
const TIMES_CHANCE: f64 = 4.0;
/// Up to this many gaps, only the longest gap is compared with chance.
const FEW_GAPS: usize = 20;
/// A run has a quota all the time where cycles fill this share of the run.
const ALWAYS: f64 = 0.5;
/// A bin with less than this share of a full one has slow I/Os alone, which complete while the volume waits for its next quota.
const FAINT: f64 = 0.02;
/// Quotas are equal within this share.
const SAME_QUOTA: f64 = 0.1;
/// This share of the bins with completions may have neither a quota nor a part of one.
const ODD: f64 = 0.1;
/// This share of the quotas come in the next bin or the one after it.
const NEARLY_ALL: f64 = 0.97;
/// Quotas over which a period of less than two bins is taken: on the grid each distance is off by up to one bin.
const QUOTAS: usize = 10;
/// A period of less than two bins differs at least so much from one bin, in bins.
const BESIDE_GRID: f64 = 0.02;
/// Requests in flight are alike where bins have this share of the most, and nearly all bins do.
const ALIKE: f64 = 0.8;
const NEARLY_ALL_BINS: f64 = 0.95;
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

    /// How long the cycle completed I/Os, in bins, at the rate of its fullest bin.
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
    /// From one stop to the next, in seconds; `None` where the grid shows only some of the stops.
    pub period_seconds: Option<f64>,
    /// How long each stop lasts, in seconds.
    pub stop_seconds: f64,
    /// Share of the run without completions, 0 to 1; a lower bound where the grid shows only some of the stops.
    pub silent_share: f64,
}

impl Stops {
    /// Stops of so many bins in each period of so many bins.
    fn of(period: f64, silent: f64) -> Stops {
        let seconds = |bins: f64| bins / PER_SECOND as f64;
        Stops {
            period_seconds: Some(seconds(period)),
            stop_seconds: seconds(silent),
            silent_share: silent / period,
        }
    }

    /// Stops that fill a part of a run, as stops of the whole run.
    pub(super) fn within(self, share_of_run: f64) -> Stops {
        Stops { silent_share: self.silent_share * share_of_run, ..self }
    }
}

/// Whether requests are sent as soon as others complete: the number in flight is then nearly the same at any time.
pub(super) fn is_closed_loop(in_flight: &[f64]) -> bool {
    let most = in_flight.iter().copied().fold(0.0, f64::max);
    let fewer = in_flight.iter().filter(|n| **n < ALIKE * most).count() as f64;
    most > 0.0 && fewer <= (1.0 - NEARLY_ALL_BINS) * in_flight.len() as f64
}

/// The usual distance, from distances of whole bins: a period of two and a half bins shows as two and three in turn.
pub(super) fn beat(distances: &[f64]) -> Option<f64> {
    let usual = median(distances)?;
    let near: Vec<f64> = distances.iter().copied().filter(|d| (d - usual).abs() <= 1.0).collect();
    Some(mean(&near))
}

/// The cycles of a run.
#[derive(Clone, Debug)]
pub struct Gaps {
    cycles: Vec<Cycle>,
    bins: usize,
    in_flight: f64,
    quick_ns: f64,
    /// How long an I/O takes outside of the gaps; `None` where the latencies and the requests in flight do not tell.
    own_ns: Option<f64>,
    beats_with_grid: Option<Stops>,
}

impl Gaps {
    /// The gaps of a part of a run. Slow I/Os that complete between two quotas of a throttle do not end the gap.
    pub fn of(load: &LoadGrid, part: Range<usize>) -> Gaps {
        let edges = Edges::of(load, &part);
        let Edges { ios, in_flight, full, .. } = edges;
        let in_flight = in_flight.iter().sum::<f64>() / in_flight.len().max(1) as f64;
        let quick_ns = load.quick_ns;
        let told = |own: &f64| *own > 0.0 && *own < SHORT_NS && !load.open_loop;
        let own_ns = Some(load.own_ns).filter(told);
        let mut whole =
            Gaps { cycles: Vec::new(), bins: ios.len(), in_flight, quick_ns, own_ns, beats_with_grid: None };
        whole.beats_with_grid = beat_with_grid(ios, full).and_then(|period| whole.used_up(period, full));
        let above = |least| Gaps { cycles: edges.cycles(least), ..whole.clone() };
        let least = (FAINT * full) as u64;
        let of_quota = (least > 0).then(|| above(least));
        let of_quota = of_quota.filter(|gaps| gaps.is_quota() && !gaps.is_slow_device());
        of_quota.unwrap_or_else(|| above(0))
    }

    /// How long the requests in flight need for so many I/Os of a length, in bins.
    fn busy_with(&self, ios: f64, each_ns: f64) -> f64 {
        ios * each_ns / self.in_flight.max(1.0) / GRID.0 as f64
    }

    /// The stops of a quota of so many I/Os in each period, in bins, where the requests in flight use it up in a part of that time.
    fn used_up(&self, period: f64, quota: f64) -> Option<Stops> {
        let quick = self.busy_with(quota, self.quick_ns);
        let silent = period - self.busy_with(quota, self.own_ns.unwrap_or(self.quick_ns)).min(period);
        (quick > 0.0 && quick <= OPEN * period).then(|| Stops::of(period, silent))
    }

    /// How long nothing completes in each period, in bins: what the requests in flight need for the I/Os of a period leaves the rest of it.
    /// Without latencies that tell, it is what the grid shows.
    fn silent_in(&self, period: f64) -> f64 {
        let shown = self.silent_share() * period;
        let ios = self.cycles.iter().fold(0u64, |sum, c| sum.saturating_add(c.ios)) as f64;
        let quota = ios * period / self.bins.max(1) as f64;
        self.own_ns.map_or(shown, |own| (period - self.busy_with(quota, own)).max(shown))
    }

    fn long(&self) -> impl Iterator<Item = &Cycle> {
        let (explained, many) = (self.by_chance(), self.too_many());
        let unlikely = move |silence: f64| silence > explained || many.is_some_and(|many| silence >= many);
        self.cycles.iter().filter(move |c| c.silence() >= SHORTEST_GAP && unlikely(c.silence()))
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
        let counted = lengths.iter().enumerate().skip(FEW_GAPS);
        let beyond = |(i, length): &(usize, &f64)| {
            **length >= SHORTEST_GAP && (i + 1) as f64 > TIMES_CHANCE * ios * (-rate * **length).exp()
        };
        counted.filter(beyond).map(|(_, length)| *length).next_back()
    }

    /// When the gaps begin and end, in bins, where the run has them all the time and neither a slow device nor a quota explains them;
    /// empty otherwise. `beats` says that they return as those of a quota do, which explains no gap that outlasts its period.
    pub fn unexplained(&self, beats: bool) -> Vec<(f64, f64)> {
        if self.silent_share() < OFTEN || self.is_slow_device() {
            return Vec::new();
        }
        let period = beat(&self.distances()).filter(|_| beats);
        let explained = period.map_or(0.0, |period| period + BEYOND_QUOTA);
        self.long().map(|c| c.silent).filter(|(from, to)| to - from >= explained).collect()
    }

    /// Whether the gaps return as those of a part of the run do, this one or another, which a quota explains.
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
        if self.beats_with_grid.is_some() && !self.is_slow_device() {
            return self.beats_with_grid;
        }
        let often = self.silent_share() >= OFTEN && !self.is_slow_device() && self.is_quota();
        // Batches that spread over time leave gaps only at the start of the run.
        let always = |period: &f64| *period * self.cycles.len() as f64 >= ALWAYS * self.bins as f64;
        let period = beat(&self.distances()).filter(|_| often).filter(always)?;
        Some(Stops::of(period, self.silent_in(period)))
    }

    /// Whether in at least half of the cycles the device completed, at once, the requests in flight.
    fn is_slow_device(&self) -> bool {
        let all = self.in_flight.max(1.0);
        let least = if all < FEW_IN_FLIGHT { 0.0 } else { WHOLE_BATCH * all };
        // Each request once in every cycle: latencies that vary spread a batch over time.
        let each_once = |n: f64| (n - all).abs() <= ONCE * all;
        let at_once = |c: &Cycle, n: f64| (least..=BATCH * all).contains(&n) && c.busy() <= AT_ONCE;
        let batch = |c: &&Cycle| at_once(c, c.ios as f64) || each_once(c.ios as f64);
        let busy = || self.cycles.iter().filter(|c| c.ios > 0);
        busy().count() > 0 && 2 * busy().filter(batch).count() >= busy().count()
    }

    /// From the start of each cycle to the next, in bins.
    fn distances(&self) -> Vec<f64> {
        self.cycles.windows(2).map(|pair| (pair[1].start - pair[0].start) as f64).collect()
    }

    /// Whether the cycles begin at equal distances and are busy for a part of each, in which nothing else holds the volume.
    fn is_quota(&self) -> bool {
        if self.beats_with_grid.is_some() {
            return true;
        }
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

/// The period, in bins, of a quota that comes after more than one bin and less than two: some bins have no quota and the others one, in two
/// parts where it straddles them.
fn beat_with_grid(ios: &[u64], quota: f64) -> Option<f64> {
    let whole = |n: u64| (n as f64 / quota - 1.0).abs() <= SAME_QUOTA;
    let (mut at, mut odd, mut i) = (Vec::new(), 0, 0);
    while i < ios.len() {
        let (n, next) = (ios[i], ios.get(i + 1).copied().unwrap_or(0));
        let some = n as f64 > FAINT * quota;
        let straddles = some && !whole(n) && next > 0 && whole(n.saturating_add(next));
        match some {
            true if whole(n) || straddles => at.push(i as f64),
            true => odd += 1,
            false => {}
        }
        i += if straddles { 2 } else { 1 };
    }
    let spans: Vec<f64> = at.windows(QUOTAS + 1).map(|w| w[QUOTAS] - w[0]).collect();
    let span = beat(&spans)?;
    let period = span / QUOTAS as f64;
    let regular = spans.iter().filter(|s| (*s - span).abs() <= 1.0).count() as f64;
    // A longer distance is a time without quotas, which a volume that stops again and again has often.
    let next = at.windows(2).filter(|pair| pair[1] - pair[0] <= 2.0).count() as f64;
    let all = odd as f64 <= ODD * at.len() as f64
        && next >= NEARLY_ALL * at.len() as f64
        && regular >= REGULAR * spans.len() as f64
        && at.len() as f64 * period >= ALWAYS * ios.len() as f64;
    (all && (1.0 + BESIDE_GRID..2.0).contains(&period)).then_some(period)
}

/// The bins of a part of a run, at both ends of its gaps.
pub(super) struct Edges<'a> {
    ios: &'a [u64],
    in_flight: &'a [f64],
    latency_ns: &'a [u64],
    /// I/Os of a bin without silence.
    full: f64,
    /// How long an I/O takes that does not wait for the end of a gap, in bins.
    own: f64,
    open_loop: bool,
}

impl Edges<'_> {
    /// The bins of a part of a run.
    pub(super) fn of<'a>(load: &'a LoadGrid, part: &Range<usize>) -> Edges<'a> {
        let (ios, in_flight) = (&load.ios[part.clone()], &load.in_flight[part.clone()]);
        let latency_ns = load.latency_ns.get(part.clone()).unwrap_or_default();
        let busy = || ios.iter().enumerate().filter(|(_, n)| **n > 0);
        let mut counts: Vec<u64> = busy().map(|(_, n)| *n).collect();
        counts.sort_unstable();
        let full = counts.get((counts.len() as f64 * FULL_PARTS) as usize).map_or(0.0, |n| *n as f64);
        Edges {
            ios,
            in_flight,
            latency_ns,
            full,
            own: load.own_ns / GRID.0 as f64,
            open_loop: load.open_loop,
        }
    }

    /// Bins with more I/Os than `least`, and the gaps after them.
    fn cycles(&self, least: u64) -> Vec<Cycle> {
        let ios = self.ios;
        let silent = |i: &usize| waits(ios[*i].saturating_sub(least), self.in_flight[*i]);
        let busy: Vec<Range<usize>> = runs(ios.len(), |i| ios[i] > least).collect();
        // One bin between two gaps is not silent twice.
        let mut silent_until = 0.0;
        let mut cycle = |start: usize, busy: Range<usize>| {
            let gap = busy.end..busy.end + (busy.end..ios.len()).take_while(silent).count();
            let (from, to) = self.silent(&gap);
            let from = f64::max(from, silent_until).min(to);
            silent_until = to;
            Cycle {
                start,
                silent: (from, to),
                gap,
                ios: ios[busy.clone()].iter().fold(0, |sum, n| sum.saturating_add(*n)),
                most: ios[busy].iter().max().copied().unwrap_or(0),
            }
        };
        let first = busy.first().map_or(0, |b| b.start);
        let before = Some(0..0).filter(|_| first > 0 && (0..first).all(|i| silent(&i)));
        let cycles = before.into_iter().chain(busy).map(|b| cycle(b.start, b));
        cycles.filter(|c| !c.gap.is_empty()).collect()
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

    /// How much longer than usual the first I/Os of a bin waited, as many as were in flight, in bins.
    fn waited(&self, bin: usize) -> Option<f64> {
        if self.open_loop {
            return None;
        }
        let (n, sum) = (*self.ios.get(bin)? as f64, *self.latency_ns.get(bin)? as f64 / GRID.0 as f64);
        let waiting = self.in_flight.get(bin)?.clamp(1.0, n.max(1.0));
        Some((sum - (n - waiting) * self.own) / waiting - self.own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Nanos;

    const BINS: usize = 3000;

    fn stalls(ios: Vec<u64>) -> usize {
        let load = LoadGrid {
            in_flight: vec![32.0; ios.len()],
            ios,
            median_ns: 1.6e9,
            own_ns: 1.6e9,
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

    /// A quota of 448 I/Os every so many milliseconds, which 64 requests of 0.5 ms use up in 3.5 ms.
    fn quota_every(ms: usize) -> LoadGrid {
        let mut ios = vec![0; BINS];
        (0..BINS * 100).step_by(ms).for_each(|at| ios[at / 100] += 448);
        LoadGrid {
            in_flight: vec![64.0; BINS],
            ios,
            median_ns: 0.5e6,
            own_ns: 0.5e6,
            quick_ns: 0.5e6,
            ..LoadGrid::default()
        }
    }

    #[test]
    fn a_quota_of_any_period_is_told_as_one() {
        for ms in (103..200).step_by(3) {
            let load = quota_every(ms);
            assert_eq!(load.events(), [], "{ms} ms");
            let stops = load.stops().unwrap_or_else(|| panic!("{ms} ms"));
            let period = stops.period_seconds.unwrap();
            assert!((period * 1e3 - ms as f64).abs() < 2.0, "{ms} ms: {stops:?}");
            assert!((0.96..0.99).contains(&stops.silent_share), "{ms} ms: {stops:?}");
        }
        assert!([200, 250, 333, 500, 1000].iter().all(|ms| quota_every(*ms).events().is_empty()));
    }

    #[test]
    fn slow_ios_between_quotas_make_no_stalls_of_them() {
        for ms in [160, 200, 250, 500, 1000] {
            let mut load = quota_every(ms);
            // One in some hundred completes 200 ms late.
            let slow = (0..BINS - 2).filter(|i| load.ios[*i] > 0 && i % 3 != 0).collect::<Vec<_>>();
            for at in slow {
                (load.ios[at], load.ios[at + 2]) = (load.ios[at] - 2, load.ios[at + 2] + 2);
            }
            assert_eq!(load.events(), [], "{ms} ms");
            assert!(load.stops().is_none_or(|s| s.silent_share <= 1.0), "{ms} ms: {:?}", load.stops());
        }
    }

    #[test]
    fn a_bin_between_two_gaps_is_silent_once() {
        // One I/O in the middle of each second without any, after 0.3 s at full speed.
        let ios = (0..BINS).map(|i| [900, 900, 900, 0, 0, 0, 40, 0, 0, 0][i % 10]).collect();
        let load = LoadGrid { in_flight: vec![32.0; BINS], ios, quick_ns: 3e6, ..LoadGrid::default() };
        let stalls = load.events();
        let silent: u64 = stalls.iter().map(|e| e.length_ns.0).sum();
        assert!(!stalls.is_empty() && silent <= BINS as u64 * GRID.0 * 7 / 10, "{silent}");
        assert!(stalls.windows(2).all(|e| e[0].start_ns.0 + e[0].length_ns.0 <= e[1].start_ns.0));
    }

    #[test]
    fn a_volume_that_stops_for_longer_than_a_bin_has_no_quota_of_less_than_two() {
        // Dead for 0.7 s of 1.9 s.
        let ios = (0..BINS).map(|i| if i % 19 < 12 { 448 } else { 0 }).collect();
        assert_eq!(LoadGrid { ios, ..quota_every(1000) }.events().len(), BINS.div_ceil(19));
    }

    #[test]
    fn a_volume_that_stops_within_each_third_of_a_second_has_no_quota() {
        // Full speed but for 100 ms in every 300 ms: 12,800 in a bin, as 64 requests of 0.5 ms do.
        let ios = (0..BINS).map(|i| if i % 3 == 2 { 0 } else { 12_800 }).collect();
        let load = LoadGrid { ios, ..quota_every(1000) };
        assert!(Gaps::of(&load, 0..BINS).quota().is_none());
    }

    #[test]
    fn a_quota_beside_stops_is_no_slow_device() {
        let of = |cycle: &[u64]| LoadGrid {
            in_flight: vec![256.0; BINS],
            ios: (0..BINS).map(|i| cycle[i % cycle.len()]).collect(),
            median_ns: 620e6,
            own_ns: 620e6,
            quick_ns: 500e6,
            ..LoadGrid::default()
        };
        // A quota of 100 ms, and a stop of 259 ms in every 500 ms: fewer I/Os come after it than were in flight.
        let stopping = of(&[0, 0, 123, 41, 41]);
        let stalls = stopping.events();
        assert_eq!(stalls.len(), BINS / 5);
        // How long a queue as deep as that waited does not show in its latencies.
        assert_eq!(stopping.length_of(&stalls[9]), (Nanos(2 * GRID.0), false));
        // The same in every 300 ms is a quota, of which whole bins are known.
        let quota = of(&[0, 0, 123]);
        let (share, known) = quota.share_of(&quota.stops().unwrap());
        assert!((share - 2.0 / 3.0).abs() < 0.01 && !known, "{share}");
        // A device that takes 600 ms, or somewhat more, completes just what is in flight.
        for slow in [[256, 0, 0, 0, 0, 0], [47, 161, 48, 0, 0, 0]] {
            assert_eq!((of(&slow).events().len(), of(&slow).stops()), (0, None), "{slow:?}");
        }
    }
}
