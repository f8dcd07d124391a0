//! The facts of a step that a promise is held against: its rate, the seconds that delivered, and how much load it was.
//!
//! Pure functions of samples. Rates are in I/Os or bytes a second, by the unit of the promise. Nothing here knows a promise's catalogue,
//! a doubt or a word.

use crate::plan::Purpose;
use crate::record::{Record, StepRecord};
use crate::sample::{Direction, PER_SECOND, Series};
use crate::stats::LEAST_QUOTABLE;
use crate::stats::rate::{Estimate, per_second, period, unit};
use crate::stats::spread::{Spread, quantile};
use crate::unit::Nanos;

/// A second counts as delivered from this share of the promise on: providers that promise a share of the time promise 90 % of the rate
/// (AWS: "at least 90 percent of provisioned IOPS performance").
pub const DELIVERED: f64 = 0.9;
/// The end of a window is looked at by itself: its last fifth, of at least so many seconds, and its last minute.
const LAST_PART: f64 = 0.2;
const SHORTEST_LAST_PART: usize = 20;
/// The last minute, in seconds.
const MINUTE: usize = 60;

/// A mean with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateInterval {
    /// The mean.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The load of a step, as far as it decides how much a volume can be asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TriedLoad {
    /// Requests that were to be in flight, over all targets.
    pub depth: u64,
    /// I/Os a second that were offered; absent in a closed loop, which offers as many as the volume takes.
    pub offered: Option<f64>,
}

impl TriedLoad {
    /// No less load than another one.
    pub fn is_at_least(&self, other: &TriedLoad) -> bool {
        match (self.offered, other.offered) {
            (Some(_), None) => false,
            (Some(own), Some(other)) if own < other => false,
            _ => self.depth >= other.depth,
        }
    }
}

/// The facts of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepFacts {
    /// Name of the step.
    pub step: String,
    /// Its load.
    pub load: TriedLoad,
    /// Requests in flight, averaged over time.
    pub in_flight: f64,
    /// Mean latency of its I/Os, in nanoseconds.
    pub latency_ns: f64,
    /// Length of the window in seconds.
    pub seconds: f64,
    /// The rate of the whole window. Its interval is absent below ten seconds.
    pub mean: f64,
    /// The rate with its interval.
    pub rate: Option<RateInterval>,
    /// The lower of the intervals of the last fifth and of the last minute.
    pub last: Option<RateInterval>,
    /// Mean rate of the last minute; of the whole window where that is shorter.
    pub last_minute: f64,
    /// Whether each whole second delivered 90 % of the promise less its tolerance.
    pub delivered: Vec<bool>,
    /// Whether in each whole second requests waited and none completed.
    pub dead: Vec<bool>,
    /// The load was as much as any promise asks for.
    pub is_saturating: bool,
    /// Requests never came back.
    pub hangs: bool,
    /// I/Os that the medium failed.
    pub medium_errors: u64,
    /// The user ended it before its time.
    pub was_ended_early: bool,
    /// It is a step of the plan, and none that the run added.
    pub is_planned: bool,
}

impl StepFacts {
    /// The facts of a step for a promised rate less its tolerance. `bins` are the counts of 100 ms, in the unit of the promise.
    pub fn of(record: &Record, step: &StepRecord, bins: &[u64], limit: f64, saturating: u64) -> StepFacts {
        let counts = seconds_of(bins);
        let plan = record.plan_step(&step.name);
        let load = TriedLoad {
            depth: step.in_flight_asked.get().unwrap_or(step.in_flight_mean).round() as u64,
            offered: step.open_loop.as_ref().map(|o| o.offered_per_second),
        };
        StepFacts {
            step: step.name.clone(),
            load,
            in_flight: step.in_flight_mean,
            latency_ns: mean_latency(step),
            seconds: bins.len() as f64 / PER_SECOND as f64,
            mean: mean_rate(bins),
            rate: interval_of(bins),
            last: last_part(bins),
            last_minute: mean(&counts[counts.len().saturating_sub(MINUTE)..]),
            delivered: delivered_seconds(bins, DELIVERED * limit),
            dead: dead_seconds(step.targets.iter().map(|t| &t.series), counts.len()),
            is_saturating: load.offered.is_none() && step.in_flight_mean >= REACHED * saturating as f64,
            hangs: step.lost_ios > 0 || step.stuck_workers > 0,
            medium_errors: if step.errors.first.iter().any(|e| is_of_medium(&e.error)) {
                step.errors.count
            } else {
                0
            },
            was_ended_early: step.was_ended_early(),
            is_planned: plan.is_none_or(|p| p.follows.as_ref().is_none_or(|f| f.purpose == Purpose::Repeat)),
        }
    }

    /// Long enough to be quoted.
    pub fn is_quotable(&self) -> bool {
        self.seconds + 0.5 >= LEAST_QUOTABLE.as_seconds()
    }

    /// Share of the seconds in which requests waited and none completed.
    pub fn dead_share(&self) -> f64 {
        share(&self.dead)
    }
}

/// A depth counts as reached from this share on: load threads refill a queue a little late.
const REACHED: f64 = 0.9;

/// Share of the values that are true.
pub fn share(values: &[bool]) -> f64 {
    values.iter().filter(|v| **v).count() as f64 / values.len().max(1) as f64
}

/// An I/O error that the device reported, and not one of the program or of the kernel's limits.
fn is_of_medium(error: &str) -> bool {
    const OF_MEDIUM: [&str; 6] = ["EIO", "ENODATA", "EILSEQ", "EREMOTEIO", "ETIMEDOUT", "EBADE"];
    OF_MEDIUM.iter().any(|name| error.contains(name)) || error.contains("Input/output error")
}

/// Mean service latency of reads and writes, in nanoseconds.
fn mean_latency(step: &StepRecord) -> f64 {
    let data = step.directions().filter(|(d, _)| *d != Direction::Sync);
    let (sum, ios) = data.fold((0.0, 0.0), |(sum, ios), (_, s)| {
        (sum + s.service_latency_ns.mean * s.ios as f64, ios + s.ios as f64)
    });
    if ios > 0.0 { sum / ios } else { 0.0 }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn mean_rate(bins: &[u64]) -> f64 {
    let sum: f64 = bins.iter().map(|n| *n as f64).sum();
    sum * PER_SECOND as f64 / bins.len().max(1) as f64
}

fn seconds_of(bins: &[u64]) -> Vec<f64> {
    per_second(bins).into_iter().map(|n| n as f64).collect()
}

/// The rate of counts of 100 ms with its interval. Where the series varies too slowly for the usual interval, the one of its lowest
/// frequencies, which is wide then. `None` below ten seconds.
pub fn interval_of(bins: &[u64]) -> Option<RateInterval> {
    let found = Estimate::of(bins)?;
    if let Some(bounds) = &found.interval {
        let (low, high) = (bounds.low_per_second, bounds.high_per_second);
        return Some(RateInterval { mean: found.mean_per_second, low, high });
    }
    let spread = Spread::of(&seconds_of(bins))?;
    let half = quantile(0.975) * spread.standard_error;
    let mean = found.mean_per_second;
    Some(RateInterval { mean, low: (mean - half).max(0.0), high: mean + half })
}

/// The lower of the last fifth and the last minute. Where they are the whole window, that.
fn last_part(bins: &[u64]) -> Option<RateInterval> {
    let seconds = bins.len() / PER_SECOND as usize;
    let fifth = ((seconds as f64 * LAST_PART) as usize).max(SHORTEST_LAST_PART).min(seconds);
    let of_last = |n: usize| interval_of(&bins[bins.len() - n * PER_SECOND as usize..]);
    let of_fifth = of_last(fifth)?;
    if seconds < MINUTE + SHORTEST_LAST_PART {
        return Some(of_fifth);
    }
    let of_minute = of_last(MINUTE)?;
    Some(if of_minute.high < of_fifth.high { of_minute } else { of_fifth })
}

/// Whether each second reached a rate. Under a limiter that lets its quota through once or several times a second, the edges of seconds
/// say nothing: a unit is then as long as whole periods need, less than two seconds.
fn delivered_seconds(bins: &[u64], per_second: f64) -> Vec<bool> {
    let length = unit(period(bins).filter(|p| *p <= PER_SECOND as usize));
    let wanted = per_second * length as f64 / PER_SECOND as f64;
    let reached = |unit: &[u64]| unit.iter().map(|n| *n as f64).sum::<f64>() >= wanted;
    bins.chunks_exact(length).map(reached).collect()
}

/// Whether in each second requests waited and none completed, on all targets together.
pub fn dead_seconds<'a>(series: impl Iterator<Item = &'a Series>, seconds: usize) -> Vec<bool> {
    dead_units(series, seconds, PER_SECOND as usize)
}

/// The same of each sample of a series.
pub fn dead_samples<'a>(series: impl Iterator<Item = &'a Series>, samples: usize) -> Vec<bool> {
    dead_units(series, samples, 1)
}

fn dead_units<'a>(series: impl Iterator<Item = &'a Series>, units: usize, bins: usize) -> Vec<bool> {
    let mut done = vec![0u64; units];
    let mut waited = vec![0u64; units];
    for s in series {
        for track in Direction::ALL.into_iter().filter_map(|d| s.stream(d)).map(|stream| &stream.track) {
            add_units(&mut done, &track.ios, bins);
        }
        add_units(&mut waited, &s.in_flight_ns, bins);
    }
    done.iter().zip(&waited).map(|(done, waited)| *done == 0 && *waited > 0).collect()
}

fn add_units(sums: &mut [u64], column: &[u64], bins: usize) {
    for (sum, unit) in sums.iter_mut().zip(column.chunks(bins)) {
        *sum = unit.iter().fold(*sum, |sum, n| sum.saturating_add(*n));
    }
}

/// Time that a rate needs in all to be told from a limit, in seconds: the interval shrinks with the square root of time.
pub fn seconds_to_tell(rate: &RateInterval, limit: f64, seconds: f64) -> f64 {
    let distance = (rate.mean - limit).abs();
    let half = (rate.high - rate.low) / 2.0;
    if distance > 0.0 { seconds * (half / distance).powi(2) } else { f64::INFINITY }
}

/// A length in whole seconds as a time.
pub fn as_time(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9) as u64)
}
