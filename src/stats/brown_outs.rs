//! Seconds in which a volume delivered far less than usual under a full queue ([`super::lapses`]).

use std::ops::Range;

use super::lapses::{Event, Lapse, LoadGrid, SHORTEST_STALL, runs};
use super::rate::per_second;
use crate::sample::PER_SECOND;

/// Below this share of the median rate a second is a brown-out.
const HALF: f64 = 0.5;
/// A brown-out goes on while the rate is below this multiple of that limit, or above it by no more than chance.
const BACK: f64 = 1.1;
/// A rate this many standard deviations below the median is no chance. Brown-outs lower the rate, so that the seconds above the median tell
/// how much it varies by itself: three quarters of a normal distribution lie below [`QUARTILE`] of them.
const DEVIATIONS: f64 = 3.0;
const QUARTILE: f64 = 0.6745;
/// Seconds in which a level falls to the next one.
const FALL: usize = 2;
/// The queue is as full as usual above this share of the median.
const FULL: f64 = 0.8;
/// The brown-outs and the slow start of a part of a run, of which the `usual` longest gap is known, in bins, and the stalls.
pub(super) fn brown_outs(load: &LoadGrid, part: Range<usize>, usual: usize, stalls: &[Event]) -> Vec<Event> {
    // Where long gaps are usual, the rate of a single second is no evidence of a brown-out.
    if usual >= SHORTEST_STALL {
        return Vec::new();
    }
    let second = PER_SECOND as usize;
    let seconds = per_second(&load.ios[part.clone()]);
    let depth: Vec<f64> = load.in_flight[part.clone()]
        .chunks_exact(second)
        .map(|c| c.iter().sum::<f64>() / second as f64)
        .collect();
    let mut sorted = (seconds.clone(), depth.clone());
    sorted.0.sort_unstable();
    sorted.1.sort_unstable_by(f64::total_cmp);
    let (Some(rate), Some(full)) = (sorted.0.get(seconds.len() / 2), sorted.1.get(depth.len() / 2)) else {
        return Vec::new();
    };
    let above = sorted.0.get(seconds.len() * 3 / 4).map_or(0.0, |n| n.saturating_sub(*rate) as f64);
    let chance = DEVIATIONS * above / QUARTILE;
    let half = HALF * *rate as f64;
    let (least, back) = ((*rate as f64 - chance).min(half), half * BACK.max(1.0 + chance / *rate as f64));
    let bins = |s: usize| part.start + s * second..part.start + (s + 1) * second;
    let stalled = |s: usize| {
        let b = bins(s);
        stalls.iter().any(|e| e.bins().start < b.end && b.start < e.bins().end)
    };
    // A level that falls for good ends within a second or two.
    let falls = if part.end < load.ios.len() { seconds.len().saturating_sub(FALL) } else { seconds.len() };
    // The first I/Os of a run begin at once and complete after their latency.
    let starting = if part.start == 0 { load.mean_latency(part.clone()) } else { 0.0 };
    let first = (starting / second as f64).ceil() as usize;
    let below = |s: usize, rate: f64| {
        (seconds[s] as f64) < rate && s >= first && depth[s] >= FULL * full && !stalled(s)
    };
    // A rate near half of the usual goes below it again and again: what comes in between is of the same event.
    let from_the_first_low = |r: Range<usize>| r.clone().find(|s| below(*s, least)).map(|low| low..r.end);
    runs(falls, |s| below(s, back))
        .filter_map(from_the_first_low)
        .map(|r| {
            let lapse = match part.start == 0 && r.start <= first {
                true => Lapse::SlowStart,
                false => Lapse::BrownOut,
            };
            load.event(lapse, bins(r.start).start as f64..bins(r.end - 1).end as f64)
        })
        .collect()
}
