//! Stalls and brown-outs: times in which a volume did nothing, or far too little, although requests waited for it.
//!
//! A stall is a time with requests in flight in which none completed, for longer than the load explains: three times as long as nearly all
//! gaps between completions of the same run. Gaps that a run has all the time are no stalls in two cases ([`Gaps`]):
//!
//! - The device is slow: no more I/Os between two gaps than were in flight.
//! - A throttle hands out a quota: gaps at equal distances of at most a second, none of which outlasts that distance, and the quota is used
//!   up in a part of that time. A quota that comes less often leaves seconds without any I/O, and rates are promised by the second.
//!
//! Other gaps that take a fiftieth of the time are stalls, however regular.
//!
//! A brown-out is one or several seconds below half the median rate while the queue was as full as usual; it ends where the rate is back for
//! good, and one that the run begins with is a slow start. All are seen on the 100 ms grid: a single stall below half a second, and
//! repeated ones below 150 ms, are left to the percentiles.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::brown_outs::brown_outs;
use super::burst::BurstSeen;
use super::gaps::{Edges, Gaps, Stops, is_closed_loop};
use super::percentile::{mean_below, pooled};
use super::short_stops::{FEWEST, has_dips, short_stops};
use crate::hist::{Histogram, StoredHistogram};
use crate::sample::{Direction, GRID, PER_SECOND, Series};
use crate::unit::Nanos;

/// A shorter gap is no stall, in bins.
pub(super) const SHORTEST_STALL: usize = 5;
/// A stall is this many times as long as the usual gaps.
const TIMES: usize = 3;
/// This share of all gaps, the shortest ones, counts as usual.
const USUAL: f64 = 0.98;
/// Where I/Os usually take more than this share of a gap, they do not show when the gap began and ended: I/Os that waited for its end look
/// like I/Os that waited in the queue.
const TELLS_ENDS: f64 = 0.5;

/// Between stops a volume is as fast as before them where its fast bins have this share of what they had.
const AS_FAST: f64 = 0.9;

/// How a volume failed to deliver for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lapse {
    /// Nothing completed.
    Stall,
    /// Less than half of the usual completed.
    BrownOut,
    /// A brown-out from the start of the run on: the volume may have been slow, warmed up or read blocks for the first time.
    SlowStart,
}

/// A time in which a volume did not deliver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// The way in which the volume failed to deliver.
    pub lapse: Lapse,
    /// Start of the event, after the start of the window.
    pub start_ns: Nanos,
    /// Length of the event.
    pub length_ns: Nanos,
    /// Requests that were in flight, on average.
    pub requests: f64,
}

impl Event {
    /// How much of the event lies before the end of a window. A stall that is under way then goes on until the requests in flight come back.
    pub fn length_within(&self, window: Nanos) -> Nanos {
        self.length_ns.min(Nanos(window.0.saturating_sub(self.start_ns.0)))
    }

    /// The seconds of a window that lie in these events.
    pub fn seconds_within<'a>(events: impl IntoIterator<Item = &'a Event>, window: Nanos) -> f64 {
        events.into_iter().map(|e| e.length_within(window).as_seconds()).sum()
    }

    /// The event as bins of the grid.
    pub fn bins(&self) -> Range<usize> {
        let at = |ns: u64| (ns / GRID.0) as usize;
        at(self.start_ns.0)..at(self.start_ns.0 + self.length_ns.0)
    }
}

/// An I/O that takes less than half a bin, in nanoseconds, waits for the end of no gap.
pub(super) const SHORT_NS: f64 = GRID.0 as f64 / 2.0;
/// Silence that no sample shows is laid out in at most so many bins, ten minutes: a forged length exhausts neither memory nor time.
const UNSAMPLED: usize = 600 * PER_SECOND as usize;
/// Bins of a day.
const DAY: usize = 86_400 * PER_SECOND as usize;

/// Completions and requests in flight over the grid, of all targets and directions together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadGrid {
    /// I/Os completed in each bin.
    pub ios: Vec<u64>,
    /// Requests in flight in each bin, on average.
    pub in_flight: Vec<f64>,
    /// Sum of the latencies of the I/Os of each bin, in nanoseconds; empty where they are not known.
    pub latency_ns: Vec<u64>,
    /// Median latency of the I/Os, in nanoseconds; 0 where it is not known, or where no bin is empty.
    pub median_ns: f64,
    /// Mean latency of the I/Os that take less than half a bin, which wait for the end of no gap; the median where that is longer.
    pub own_ns: f64,
    /// The latency of the shortest hundredth of the I/Os of each direction, on average.
    pub quick_ns: f64,
    /// Requests do not wait for others to complete before they are sent, so that any number may be in flight at the end of a gap.
    pub open_loop: bool,
    /// Latencies of the I/Os of each second; empty where no bin lacks I/Os.
    pub seconds: Vec<StoredHistogram>,
    /// Bins after the window in which none of the requests in flight came back.
    pub silent_after: usize,
}

impl LoadGrid {
    /// The load of series that ran together. A last bin that is cut short is left out.
    pub fn of<'a>(series: impl IntoIterator<Item = &'a Series>) -> LoadGrid {
        let mut load = LoadGrid::default();
        let all: Vec<&Series> = series.into_iter().collect();
        // Where one of several volumes answers, all of them together are not silent.
        load.silent_after =
            all.iter().map(|s| (s.silent_after_ns.0 / GRID.0) as usize).min().unwrap_or(0).min(DAY);
        for s in &all {
            let streams = || Direction::ALL.into_iter().filter_map(|d| s.stream(d));
            let kept = streams()
                .map(|stream| stream.track.ios.len())
                .chain([s.in_flight_ns.len()])
                .max()
                .unwrap_or(0);
            let whole = ((s.window_ns.0 / GRID.0) as usize).min(kept + UNSAMPLED);
            load.ios.resize(load.ios.len().max(whole), 0);
            load.in_flight.resize(load.ios.len(), 0.0);
            load.latency_ns.resize(load.ios.len(), 0);
            for stream in streams() {
                let track = &stream.track;
                for (sums, column) in [(&mut load.ios, &track.ios), (&mut load.latency_ns, &track.latency_ns)]
                {
                    sums.iter_mut().zip(column).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
                }
            }
            for (sum, ns) in load.in_flight.iter_mut().zip(&s.in_flight_ns) {
                *sum += *ns as f64 / GRID.0 as f64;
            }
        }
        load.open_loop = !is_closed_loop(&load.in_flight);
        if load.ios.contains(&0) || load.silent_after > 0 {
            load.look_at_latencies(&all);
        }
        if has_dips(&load.ios, &load.in_flight) {
            let streams = all.iter().flat_map(|s| Direction::ALL.into_iter().filter_map(|d| s.stream(d)));
            for stream in streams {
                load.seconds.resize(load.seconds.len().max(stream.service.len()), StoredHistogram::default());
                load.seconds.iter_mut().zip(&stream.service).for_each(|(sum, second)| sum.merge(second));
            }
        }
        load
    }

    /// The usual latencies of series that ran together.
    fn look_at_latencies(&mut self, series: &[&Series]) {
        let of = |d| pooled(series.iter().filter_map(|s| s.stream(d)).flat_map(|stream| &stream.service));
        let (mut all, mut quick) = (Histogram::new(), 0.0);
        for each in Direction::ALL.map(of) {
            quick += each.quantile(0.01).map_or(0.0, |ns| ns.0 as f64 * each.count() as f64);
            all.merge(&each);
        }
        self.median_ns = all.quantile(0.5).map_or(0.0, |ns| ns.0 as f64);
        self.quick_ns = quick / all.count().max(1) as f64;
        let short = mean_below(&all, SHORT_NS).filter(|_| self.median_ns < SHORT_NS);
        self.own_ns = short.unwrap_or(self.median_ns);
    }

    /// Stalls and brown-outs, in the order of time. A rate that falls for good is a change of level and no brown-out: the
    /// parts before and after the fall are searched separately.
    ///
    /// A stall that is under way when the window ends lasts until the requests in flight come back, however long after.
    pub fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let beyond = self.with_silence_after();
        let whole = beyond.as_ref().unwrap_or(self);
        let [before, after] = self.parts();
        let searched = [before.clone(), after.start..whole.ios.len()];
        let gaps = searched.clone().map(|part| Gaps::of(whole, part));
        for ((part, searched), own) in [before, after].into_iter().zip(searched).zip(&gaps) {
            let usual = usual_gap(&self.ios[part.clone()]);
            // A throttle has the same period before and after a fall, whatever its quota.
            let mut stalls = own.unexplained(gaps.iter().any(|other| own.beats_as(other)));
            if stalls.is_empty() {
                stalls = whole.single_stalls(&searched, usual);
            }
            let first = part.start as f64;
            let until = |to: f64| match to + 1.0 > whole.ios.len() as f64 {
                true => to + self.silent_after.saturating_sub(UNSAMPLED) as f64,
                false => to,
            };
            let stalls: Vec<Event> = stalls
                .iter()
                .map(|at| whole.event(Lapse::Stall, first + at.0..until(first + at.1)))
                .collect();
            events.extend(brown_outs(self, part, usual, &stalls));
            events.extend(stalls);
        }
        events.sort_by_key(|e| e.start_ns);
        events
    }

    /// Why the volume does nothing for a part of nearly each second: the quota of the longest part of the run that one explains, or stops
    /// that are too short for [`LoadGrid::events`].
    pub fn stops(&self) -> Option<Stops> {
        let parts =
            self.parts().into_iter().filter_map(|part| Some((part.len(), Gaps::of(self, part).quota()?)));
        let longest = parts.max_by_key(|(bins, _)| *bins);
        let quota = longest.map(|(bins, quota)| quota.within(bins as f64 / self.ios.len() as f64));
        // Stalls that return are told one by one, and some of them may be shorter than others.
        let return_often = || self.events().iter().filter(|e| e.lapse == Lapse::Stall).count() >= FEWEST;
        let may_stop = || !self.seconds.is_empty() && !return_often();
        quota.or_else(|| may_stop().then(|| short_stops(&self.ios, &self.in_flight, &self.seconds)).flatten())
    }

    /// Whether the length of such a gap is known more exactly than in whole bins.
    fn tells_ends(&self, gap: Nanos) -> bool {
        !self.open_loop && self.median_ns <= TELLS_ENDS * gap.0 as f64
    }

    /// The length of an event, and whether the length is known more exactly than in whole bins; if not, it is a lower bound.
    pub fn length_of(&self, event: &Event) -> (Nanos, bool) {
        if event.lapse != Lapse::Stall || self.tells_ends(event.length_ns) {
            return (event.length_ns, true);
        }
        let bins = event.bins().start..(event.bins().end + 1).min(self.ios.len());
        (Nanos(GRID.0 * self.ios[bins].iter().filter(|n| **n == 0).count() as u64), false)
    }

    /// How much of that length lies before the end of a window.
    pub fn length_within(&self, event: &Event, window: Nanos) -> Nanos {
        self.length_of(event).0.min(event.length_within(window))
    }

    /// Share of the time that stops take, and whether the share is known more exactly than in whole bins; if not, it is a lower bound.
    pub fn share_of(&self, stops: &Stops) -> (f64, bool) {
        if stops.period_seconds.is_none() {
            return (stops.silent_share, false);
        }
        if self.tells_ends(Nanos((stops.stop_seconds * 1e9) as u64)) {
            return (stops.silent_share, true);
        }
        let silent = self.ios.iter().zip(&self.in_flight).filter(|(n, in_flight)| waits(**n, **in_flight));
        (stops.silent_share.min(silent.count() as f64 / self.ios.len().max(1) as f64), false)
    }

    /// Whether the volume stops again and again from a bin on, not before, and is as fast as before in between.
    pub fn stops_from(&self, bin: usize) -> bool {
        let second = PER_SECOND as usize;
        // The stop that the fall began with is no earlier one.
        let earlier = |e: &Event| e.bins().end + second <= bin;
        let stalls: Vec<bool> =
            self.events().iter().filter(|e| e.lapse == Lapse::Stall).map(earlier).collect();
        let bin = bin.div_ceil(second) * second;
        if bin >= self.ios.len() {
            return false;
        }
        let short = |bins: Range<usize>| {
            let seconds = self.seconds.get(bins.start / second..bins.end / second).unwrap_or_default();
            short_stops(&self.ios[bins.clone()], &self.in_flight[bins], seconds).is_some()
        };
        let return_often = stalls.len() >= FEWEST && !stalls.contains(&true);
        let full = |bins: &[u64]| {
            let mut sorted = bins.to_vec();
            sorted.sort_unstable();
            sorted.get(sorted.len() * 3 / 4).map_or(0.0, |n| *n as f64)
        };
        let as_fast = full(&self.ios[bin..]) >= AS_FAST * full(&self.ios[..bin]);
        as_fast && (return_often || short(bin..self.ios.len()) && !short(0..bin))
    }

    /// The run with the time after its window in which nothing came back; `None` where that is too short for a stall, together with the time
    /// before.
    fn with_silence_after(&self) -> Option<LoadGrid> {
        let before = self.ios.iter().rev().take_while(|n| **n == 0).count();
        let silent = self.silent_after > 0 && before + self.silent_after >= SHORTEST_STALL;
        let last = *self.in_flight.last().filter(|_| silent)?;
        let mut whole = self.clone();
        let bins = whole.ios.len() + self.silent_after.min(UNSAMPLED);
        whole.ios.resize(bins, 0);
        whole.in_flight.resize(bins, last.max(1.0));
        whole.latency_ns.resize(bins, 0);
        Some(whole)
    }

    /// The run before a fall from one level to another, and after it.
    fn parts(&self) -> [Range<usize>; 2] {
        let fall = BurstSeen::of(&self.ios).map_or(0, |b| b.baseline_from_bin).min(self.ios.len());
        [0..fall, fall..self.ios.len()]
    }

    /// An event from a place on the grid to another, in bins.
    pub(super) fn event(&self, lapse: Lapse, at: Range<f64>) -> Event {
        let bins = &self.in_flight[at.start as usize..(at.end as usize).min(self.in_flight.len())];
        let ns = |bins: f64| Nanos((bins * GRID.0 as f64).round() as u64);
        Event {
            lapse,
            start_ns: ns(at.start),
            length_ns: Nanos(ns(at.end).0 - ns(at.start).0),
            requests: bins.iter().sum::<f64>() / bins.len().max(1) as f64,
        }
    }

    /// The mean latency in bins, by Little's law; 0 where nothing completed. I/Os that all begin at once leave a gap of this length at the
    /// start.
    pub(super) fn mean_latency(&self, part: Range<usize>) -> f64 {
        let ios = self.ios[part.clone()].iter().fold(0, |sum: u64, n| sum.saturating_add(*n));
        if ios == 0 { 0.0 } else { self.in_flight[part].iter().sum::<f64>() / ios as f64 }
    }

    /// Stalls of half a second and more, by when they begin and end, in bins from the start of the part.
    fn single_stalls(&self, part: &Range<usize>, usual: usize) -> Vec<(f64, f64)> {
        let waiting = |i: usize| waits(self.ios[part.start + i], self.in_flight[part.start + i]);
        let latency = self.mean_latency(part.clone());
        let edges = Edges::of(self, part);
        runs(part.len(), waiting)
            .filter(|r| r.len() >= SHORTEST_STALL.max(TIMES * usual + 1) && r.len() as f64 > latency)
            .map(|r| edges.silent(&r))
            .collect()
    }
}

/// Whether requests were in flight, and none completed.
pub(super) fn waits(ios: u64, in_flight: f64) -> bool {
    ios == 0 && in_flight >= 0.5
}

/// The longest gap between completions that is usual in a run, in bins: nearly all gaps are as short.
fn usual_gap(ios: &[u64]) -> usize {
    let busy: Vec<usize> = (0..ios.len()).filter(|i| ios[*i] > 0).collect();
    let mut gaps: Vec<usize> = busy.windows(2).map(|w| w[1] - w[0] - 1).collect();
    gaps.sort_unstable();
    gaps.get((gaps.len() as f64 * USUAL) as usize).copied().unwrap_or(0)
}

/// Runs of neighbours for which something holds.
pub(super) fn runs(n: usize, holds: impl Fn(usize) -> bool) -> impl Iterator<Item = Range<usize>> {
    let mut i = 0;
    std::iter::from_fn(move || {
        while i < n && !holds(i) {
            i += 1;
        }
        let start = i;
        while i < n && holds(i) {
            i += 1;
        }
        (i > start).then_some(start..i)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(rate: impl Fn(usize) -> u64) -> LoadGrid {
        LoadGrid { ios: (0..1200).map(rate).collect(), in_flight: vec![32.0; 1200], ..LoadGrid::default() }
    }

    fn found(load: &LoadGrid) -> Vec<(Lapse, f64, f64)> {
        load.events().iter().map(|e| (e.lapse, e.start_ns.as_seconds(), e.length_ns.as_seconds())).collect()
    }

    #[test]
    fn silence_under_load_is_a_stall() {
        let l = load(|i| if (600..700).contains(&i) { 0 } else { 680 });
        assert_eq!(found(&l), [(Lapse::Stall, 60.0, 10.0)]);
        assert_eq!(l.events()[0].requests, 32.0);
        let at_the_ends = load(|i| if (50..1100).contains(&i) { 680 } else { 0 });
        assert_eq!(found(&at_the_ends), [(Lapse::Stall, 0.0, 5.0), (Lapse::Stall, 110.0, 10.0)]);
        assert_eq!(found(&load(|_| 0)), [(Lapse::Stall, 0.0, 120.0)], "dead from end to end");
        let repeated = load(|i| if i % 200 < 10 { 0 } else { 680 });
        assert_eq!(found(&repeated).len(), 6);
    }

    #[test]
    fn a_forged_silence_after_the_window_is_at_most_a_day() {
        let series = |silent: Nanos| Series { silent_after_ns: silent, ..Series::default() };
        assert_eq!(LoadGrid::of([&series(Nanos(u64::MAX))]).silent_after, DAY);
        assert_eq!(LoadGrid::of([&series(Nanos::millis(8550))]).silent_after, 85);
        let endless = Series { window_ns: Nanos(u64::MAX), ..Series::default() };
        assert_eq!(LoadGrid::of([&endless]).ios.len(), UNSAMPLED);
    }

    #[test]
    fn an_hour_of_silence_after_the_window_is_told_whole() {
        let mut hung = load(|_| 680);
        hung.silent_after = 36_000;
        assert_eq!(found(&hung), [(Lapse::Stall, 120.0, 3600.0)]);
    }

    #[test]
    fn an_idle_load_does_not_stall() {
        let mut l = load(|i| if (600..700).contains(&i) { 0 } else { 680 });
        l.in_flight[600..700].fill(0.0);
        assert_eq!(found(&l), []);
    }

    #[test]
    fn slow_devices_and_slow_buckets_do_not_stall() {
        // Two I/Os a second; all that are in flight every two seconds; a quota every 0.2, 0.5 and 1 s.
        assert_eq!(found(&load(|i| u64::from(i % 5 == 0))), []);
        assert_eq!(found(&load(|i| if i % 20 == 0 { 32 } else { 0 })), []);
        // 32 in flight that take a second each.
        assert_eq!(found(&load(|i| if i < 9 { 0 } else { 3 })), []);
        for period in [2, 5, 10] {
            assert_eq!(found(&load(|i| if i % period == 0 { 5000 } else { 0 })), [], "{period}");
        }
        assert_eq!(found(&load(|i| if i % 10 < 3 { 5000 } else { 0 })), []);
        let stalled = load(|i| if i % 10 < 3 && !(600..700).contains(&i) { 5000 } else { 0 });
        assert_eq!(
            found(&stalled),
            [(Lapse::Stall, 59.3, 10.7)],
            "a stall of a bucket is longer than its period"
        );
    }

    #[test]
    fn stalls_that_outlast_a_quota_are_told_however_many() {
        // A quota each second, half a second and quarter, and a time of silence again and again, longer than the quota's.
        for (period, every, dead) in [(10, 300, 30), (5, 200, 15), (5, 90, 9)] {
            let quota = |i: usize| if i % every >= dead && i.is_multiple_of(period) { 5000 } else { 0 };
            let ios: Vec<u64> = (0..3000).map(quota).collect();
            let l = LoadGrid { in_flight: vec![32.0; 3000], ios, ..LoadGrid::default() };
            let stalls = found(&l);
            assert_eq!(stalls.len(), 3000_usize.div_ceil(every), "{period}: {stalls:?}");
            assert!(stalls.iter().all(|(lapse, _, s)| *lapse == Lapse::Stall && 10.0 * s >= dead as f64));
        }
    }

    #[test]
    fn repeated_silence_is_a_stall_however_regular() {
        let stalls = |l: &LoadGrid| {
            let all = l.events();
            assert!(all.iter().all(|e| e.lapse == Lapse::Stall), "{all:?}");
            (all.len(), all.iter().map(|e| e.length_ns.as_seconds()).sum::<f64>())
        };
        // Dead and alive in turn for 0.2, 0.5, 1, 2 and 5 s.
        for half in [2, 5, 10, 20, 50] {
            let (n, lost) = stalls(&load(|i| if i / half % 2 == 0 { 80 } else { 0 }));
            assert_eq!((n, lost.round()), (600 / half, 60.0), "{half}");
        }
        // 0.2 s that begin within a bin.
        assert_eq!(stalls(&load(|i| [40, 80, 40, 0][i % 4])).0, 300);
        // Of no fixed length and distance.
        let mut dead = vec![false; 1200];
        for (i, at) in (0..60).map(|i| (i, i * 20 + i * i * 7 % 11)) {
            dead[at..at + 2 + i * 5 % 7].fill(true);
        }
        let (n, lost) = stalls(&load(|i| if dead[i] { 0 } else { 80 }));
        assert!(n == 60 && lost > 20.0, "{n} {lost}");
        // A quota that comes every 1.5 s and every 20 s leaves seconds without any I/O.
        assert_eq!(stalls(&load(|i| if i % 15 < 3 { 5000 } else { 0 })).0, 80);
        assert_eq!(stalls(&load(|i| if i % 200 < 3 { 5000 } else { 0 })), (6, 118.2));
    }

    #[test]
    fn a_gap_ends_where_the_latencies_after_it_say() {
        // 0.25 s from the middle of a bin: the bin before lacks half, and the 32 I/Os that waited complete within the last one.
        let mut l = load(|i| [80, 40, 0, 80][(i % 20).min(3)]);
        let waited = |i: usize| if i % 20 == 3 { 32 * 250_000_000 } else { 0 };
        l.latency_ns = (0..1200).map(|i| waited(i) + l.ios[i] * 1_000_000).collect();
        (l.median_ns, l.own_ns, l.quick_ns) = (1e6, 1e6, 1e6);
        let stalls = found(&l);
        assert_eq!(stalls.len(), 60, "{stalls:?}");
        assert!(stalls.iter().all(|(_, _, length)| (0.23..0.27).contains(length)), "{stalls:?}");
        // The same on the grid alone.
        l.latency_ns.clear();
        assert!(found(&l).iter().all(|(_, _, length)| (length - 0.15).abs() < 1e-9), "{:?}", found(&l));
    }

    #[test]
    fn gaps_that_chance_explains_are_no_stalls() {
        // One at a time, 10 to 310 ms each.
        let mut ios = vec![0; 1200];
        let mut at = 0.0;
        for i in 0u64.. {
            at += 0.1 + (i * i * 7919 % 300) as f64 / 100.0;
            if at >= 1200.0 {
                break;
            }
            ios[at as usize] += 1;
        }
        let l = LoadGrid { ios, in_flight: vec![1.0; 1200], ..LoadGrid::default() };
        assert_eq!(found(&l), []);
    }

    #[test]
    fn a_quota_is_one_where_nothing_else_holds_the_volume() {
        let quota = |busy: usize, rate: u64, quick_ns: f64| {
            let mut l = load(|i| if i % 10 < busy { rate } else { 0 });
            (l.median_ns, l.own_ns, l.quick_ns) = (quick_ns, quick_ns, quick_ns);
            let told = |q: Stops| (q.period_seconds.unwrap(), (q.silent_share * 10.0).round());
            (l.stops().map(told), l.events().len())
        };
        // 32 in flight at 1 ms do 3,200 in a bin.
        assert_eq!(quota(1, 400, 1e6), (Some((1.0, 10.0)), 0), "used up in 12.5 ms");
        assert_eq!(quota(3, 3000, 1e6), (Some((1.0, 7.0)), 0));
        assert_eq!(
            quota(3, 150, 1e6),
            (None, 120),
            "held at a rate of its own, and dead for 0.7 s of each second"
        );
        assert_eq!(quota(10, 400, 1e6), (None, 0));
    }

    #[test]
    fn a_brown_out_is_below_half_under_full_load() {
        let l = load(|i| if (600..630).contains(&i) { 200 } else { 680 });
        assert_eq!(found(&l), [(Lapse::BrownOut, 60.0, 3.0)]);
        let mut idle = l.clone();
        idle.in_flight[600..630].fill(4.0);
        assert_eq!(found(&idle), [], "little was asked for");
        assert_eq!(found(&load(|i| if (600..630).contains(&i) { 400 } else { 680 })), []);
    }

    #[test]
    fn one_dip_is_one_brown_out_however_near_to_half() {
        // 20 s at 46 % to 54 % of the usual rate, which itself varies by as much.
        let noise = |i: usize| (i / 10 * 7919 % 9) as u64;
        let l = load(|i| if (600..800).contains(&i) { 460 + 10 * noise(i) } else { 960 + 10 * noise(i) });
        let dips = found(&l);
        assert!(matches!(dips[..], [(Lapse::BrownOut, 60.0..62.0, 18.0..=20.0)]), "{dips:?}");
        // Two dips with three seconds of full speed between them.
        let l = load(|i| if (600..700).contains(&i) || (730..800).contains(&i) { 400 } else { 1000 });
        assert_eq!(found(&l), [(Lapse::BrownOut, 60.0, 10.0), (Lapse::BrownOut, 73.0, 7.0)]);
    }

    #[test]
    fn a_run_that_begins_slowly_has_a_slow_start() {
        // The first second may be that of I/Os which all began at once.
        assert_eq!(found(&load(|i| 200 + 8 * i.min(100) as u64)), [(Lapse::SlowStart, 1.0, 3.0)]);
        let l = load(|i| if i < 30 { 200 } else { 1000 });
        assert_eq!(found(&l), [(Lapse::SlowStart, 1.0, 2.0)]);
    }

    #[test]
    fn a_rate_that_varies_by_itself_has_no_brown_out() {
        // Seconds of 10 % to 190 % of the mean.
        let l = load(|i| 100 + (i / 10 * 7919 % 19 * 100) as u64);
        assert_eq!(found(&l), []);
    }

    #[test]
    fn a_baseline_is_no_brown_out() {
        assert_eq!(found(&load(|i| if i < 700 { 680 } else { 100 })), []);
    }
}
