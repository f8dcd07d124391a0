//! Stops that are too short to leave a gap on the 100 ms grid: bins with fewer I/Os than the bins around them, while all requests in flight
//! wait.
//!
//! A rate that dips for 100 ms is no stop by itself: requests may have gone on at a slower pace, or single ones may hang. A stop holds all
//! requests in flight for as long as it lasts, so the histogram of its second must have as many I/Os that took most of that time. Where
//! requests take as long in ordinary times (a deep queue, a used-up quota), only a bin without any I/O shows a stop.

use std::ops::Range;

use super::OFTEN;
use super::gaps::{BATCH, Stops, beat, is_closed_loop};
use super::lapses::runs;
use super::moments::median;
use super::percentile::{mean_below, pooled};
use crate::hist::{Histogram, StoredHistogram, bucket};
use crate::sample::{GRID, PER_SECOND};
use crate::unit::Nanos;

/// The fewest stops; fewer are single events.
pub(super) const FEWEST: usize = 5;
/// A bin that has less than this share of what the bins around it have lacks I/Os.
const FULL: f64 = 0.75;
/// This share of the bins around has fewer I/Os than a full one.
const QUANTILE: f64 = 0.75;
/// Requests waited where at least this share of the usual number was in flight.
const IN_FLIGHT: f64 = 0.8;
/// A longer dip, in bins, is a slow time.
const LONGEST_DIP: usize = 3;
/// Random arrivals are seldom this many standard deviations below their mean.
const DEVIATIONS: f64 = 2.0;
/// Of the requests in flight at a dip, 60 % must each have taken 60 % of the time that the dip lacks.
const HELD: f64 = 0.6;
/// They took at most this multiple of that time beyond a usual I/O: single I/Os that hang for longer make no stop.
const LONGER: f64 = 1.75;
/// Usual I/Os (see [`QUANTILE`]) take at most this share of that time.
const USUAL: f64 = 0.5;
/// Dips in all, or requests that wait, for this multiple of the time of the stops that show: there are others, which show too little.
const MORE: f64 = 1.25;
/// An empty bin where this many I/Os are expected is no chance.
const MANY: f64 = 20.0;

const SECOND: usize = PER_SECOND as usize;
const BIN_NS: f64 = 1e9 / PER_SECOND as f64;

/// A time in which bins lack I/Os.
#[derive(Clone, Debug, PartialEq)]
struct Dip {
    bins: Range<usize>,
    /// I/Os of a full bin around it.
    full: f64,
    /// The missing I/Os, as a number of full bins.
    missing: f64,
}

/// Short dips of counts on the grid.
fn dips(ios: &[u64], in_flight: &[f64]) -> Vec<Dip> {
    let (mut share, mut fulls) = (vec![1.0; ios.len()], Vec::with_capacity(ios.len()));
    for from in (0..ios.len()).step_by(SECOND) {
        let around = from.saturating_sub(SECOND)..(from + 2 * SECOND).min(ios.len());
        let mut counts = ios[around.clone()].to_vec();
        counts.sort_unstable();
        let full = counts[(counts.len() as f64 * QUANTILE) as usize] as f64;
        let usual = median(&in_flight[around]).unwrap_or(0.0);
        for i in from..(from + SECOND).min(ios.len()) {
            let lacks = full - ios[i] as f64;
            let waited = in_flight[i] >= IN_FLIGHT * usual && usual > 0.0;
            if waited && lacks > (1.0 - FULL) * full && lacks > DEVIATIONS * full.sqrt() {
                share[i] = 1.0 - lacks / full;
            }
            fulls.push(full);
        }
    }
    let missing = |bins: &Range<usize>| share[bins.clone()].iter().map(|s| 1.0 - s).sum();
    let dip = |bins: Range<usize>| Dip { missing: missing(&bins), full: fulls[bins.start], bins };
    runs(ios.len(), |i| share[i] < 1.0).filter(|r| r.len() <= LONGEST_DIP).map(dip).collect()
}

/// Whether the counts have so many dips that [`short_stops`] may find stops in them.
pub(super) fn has_dips(ios: &[u64], in_flight: &[f64]) -> bool {
    let dips = dips(ios, in_flight);
    dips.len() >= FEWEST && dips.iter().map(|d| d.missing).sum::<f64>() >= OFTEN * ios.len() as f64
}

/// Stops that return, with the median distance between them. `seconds` are histograms of all I/Os.
///
/// Stops that follow each other within a few bins leave no bin that is full, and many of them too little to be told one by one. The requests
/// of a closed loop have waited for all of them, and leave dips that are no stop by themselves. In an open loop nothing tells whether there are others.
pub(super) fn short_stops(ios: &[u64], in_flight: &[f64], seconds: &[StoredHistogram]) -> Option<Stops> {
    let all = pooled(seconds);
    let usual = all.quantile(QUANTILE)?.0 as f64;
    let holds_all = |dip: &Dip| {
        let lasted = dip.missing * BIN_NS;
        let (from, bins) = (HELD * lasted, dip.bins.clone());
        let requests = in_flight[bins.clone()].iter().sum::<f64>() / bins.len() as f64;
        if ios[bins.clone()].contains(&0) && dip.full >= MANY && dip.full > BATCH * requests {
            return true;
        }
        // The requests that waited complete when the stop ends: in the last bin of the dip, or in the next one.
        let (first, last) = ((bins.end - 1) / SECOND, bins.end / SECOND);
        let as_long = Nanos(from as u64)..Nanos((LONGER * lasted + usual) as u64);
        let held = (first..=last).filter_map(|s| seconds.get(s)).map(|h| within(h, &as_long)).sum::<u64>();
        usual <= USUAL * from && held as f64 >= HELD * requests
    };
    let (stops, other_dips): (Vec<Dip>, Vec<Dip>) = dips(ios, in_flight).into_iter().partition(holds_all);
    let share = |dips: &[Dip]| dips.iter().map(|d| d.missing).sum::<f64>() / ios.len().max(1) as f64;
    let silent_share = share(&stops);
    let distances: Vec<f64> =
        stops.windows(2).map(|pair| (pair[1].bins.start - pair[0].bins.start) as f64).collect();
    let often = stops.len() >= FEWEST && silent_share >= OFTEN;
    let period = beat(&distances).filter(|_| often)?;
    let each = median(&stops.iter().map(|d| d.missing).collect::<Vec<_>>())?;
    let waiting = waiting_share(&all, in_flight, USUAL * each * BIN_NS);
    let more = (MORE - 1.0) * silent_share;
    let others = !is_closed_loop(in_flight)
        || share(&other_dips) > more
        || waiting.is_some_and(|waiting| waiting - silent_share > more);
    Some(Stops {
        period_seconds: (!others).then_some(period / PER_SECOND as f64),
        stop_seconds: each / PER_SECOND as f64,
        silent_share,
    })
}

/// Share of the time in which the requests in flight did more than wait as long as I/Os do that take less than `short`, in nanoseconds.
fn waiting_share(all: &Histogram, in_flight: &[f64], short: f64) -> Option<f64> {
    let waited = in_flight.iter().sum::<f64>() * GRID.0 as f64;
    Some(1.0 - all.count() as f64 * mean_below(all, short)? / waited)
}

/// I/Os that took as long as that.
fn within(second: &StoredHistogram, times: &Range<Nanos>) -> u64 {
    let (from, to) = (bucket(times.start.0), bucket(times.end.0));
    second.buckets().filter(|(b, _)| (from..=to).contains(b)).fold(0, |sum, (_, n)| sum.saturating_add(n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hist::Histogram;

    const SECONDS: usize = 60;

    /// A second with I/Os of two latencies.
    fn second(quick: (u64, u64), slow: (u64, u64)) -> StoredHistogram {
        let mut h = Histogram::new();
        for (n, ms) in [quick, slow] {
            h.record_n(Nanos::millis(ms), n);
        }
        h.to_sparse()
    }

    fn found(cycle: [u64; 10], seconds: StoredHistogram) -> Option<(f64, f64)> {
        let ios: Vec<u64> = (0..10 * SECONDS).map(|i| cycle[i % 10]).collect();
        let in_flight = vec![30.0; ios.len()];
        assert!(has_dips(&ios, &in_flight));
        let stops = short_stops(&ios, &in_flight, &vec![seconds; SECONDS])?;
        Some((stops.period_seconds?, (stops.silent_share * 1e3).round() / 1e3))
    }

    #[test]
    fn a_stop_holds_all_requests_in_flight() {
        // 75 ms within one bin, and 100 ms over two.
        let one = [1000, 1000, 1000, 250, 1000, 1000, 1000, 1000, 1000, 1000];
        assert_eq!(found(one, second((9218, 3), (32, 76))), Some((1.0, 0.075)));
        let two = [1000, 1000, 1000, 400, 600, 1000, 1000, 1000, 1000, 1000];
        assert_eq!(found(two, second((9000, 3), (32, 101))), Some((1.0, 0.1)));
        // The volume was slower for that time, or a few requests hung beside it.
        assert_eq!(found(one, second((9000, 3), (250, 13))), None);
        assert_eq!(found(one, second((9000, 3), (10, 76))), None);
        assert_eq!(found(one, second((9000, 3), (32, 300))), None);
        // A deep queue takes as long at any time: only a bin without I/Os shows the stop.
        assert_eq!(found(one, second((9000, 60), (32, 140))), None);
        let empty = [1000, 1000, 1000, 0, 1000, 1000, 1000, 1000, 1000, 1000];
        assert_eq!(found(empty, second((9000, 60), (32, 140))), Some((1.0, 0.1)));
        // The device completes all that is in flight, at once.
        assert_eq!(found(empty.map(|n| n * 32 / 1000), second((9000, 60), (32, 140))), None);
    }

    #[test]
    fn stops_that_follow_each_other_within_two_bins_are_told_in_part() {
        // 70 ms in every 130 ms: 30 requests of 0.5 ms do 2,769 I/Os in a period, and 60,000 in a second without stops.
        let runs = |ms: usize| ms % 130 >= 70;
        let ios: Vec<u64> =
            (0..10 * SECONDS).map(|i| 60 * (0..100).filter(|ms| runs(100 * i + ms)).count() as u64).collect();
        let in_flight = vec![30.0; ios.len()];
        let mut h = Histogram::new();
        h.record_n(Nanos::micros(500), 27_500);
        h.record_n(Nanos::millis(70), 230);
        let stops = short_stops(&ios, &in_flight, &vec![h.to_sparse(); SECONDS]).unwrap();
        assert_eq!(stops.period_seconds, None);
        assert!((OFTEN..0.54).contains(&stops.silent_share), "{stops:?}");
    }

    #[test]
    fn chance_and_slow_times_are_no_dips() {
        let of = |rate: &dyn Fn(usize) -> u64| {
            let ios: Vec<u64> = (0..600).map(rate).collect();
            has_dips(&ios, &vec![32.0; 600])
        };
        assert!(!of(&|i| 10 + (i * i * 7919 % 7) as u64), "few I/Os in a bin vary by so much");
        assert!(!of(&|i| if i % 50 < 20 { 300 } else { 1000 }), "two seconds at a third of the rate");
        assert!(!of(&|i| if i == 300 { 100 } else { 1000 }), "one dip");
        assert!(of(&|i| if i % 10 == 3 { 300 } else { 1000 }));
    }
}
