//! Statistics of one run: how precise a figure is, and which figures may be printed at all.
//!
//! Input is the output of an engine, reduced to plain slices: counts on the 100 ms grid of [`crate::sample`], and one
//! latency histogram a second. Everything here is a pure function, so a stored Record gives the same answer again.
//! Resampling takes its random numbers from a fixed seed. Neighbouring seconds of a storage test are never taken as
//! independent, because they are not: throttles, caches and background work make them resemble each other, and the usual
//! error of the mean is then several times too small.
//!
//! Nothing in here knows of volumes, prices or devices, prints, or reads files.

pub mod burst;
pub mod change;
pub mod change_of_runs;
pub mod compare;
pub mod limit_answer;
pub mod little;
pub mod load_grid;
pub mod mean_latency;
pub mod moments;
pub mod percentile;
pub mod percentile_interval;
pub mod rate;
pub mod share_interval;
pub mod spread;

use crate::unit::Nanos;

/// Confidence of every two-sided interval that is printed, and of each bound that decides an answer.
pub const CONFIDENCE: f64 = 0.95;

/// A figure of a shorter run is not quoted: bursts and cycles of a minute are common, and the error of its rate is not known well.
pub const LEAST_QUOTABLE: Nanos = Nanos::seconds(60);
/// The length of a run that is recommended.
pub const RECOMMENDED: Nanos = Nanos::seconds(300);
/// In a shorter run a rate that falls, or that repeats itself, may do so by chance.
pub const LEAST_SEEN: Nanos = Nanos::seconds(20);
/// Rates that differ by less are held by one limit.
pub const SAME_RATE: f64 = 0.03;

/// Blocks into which the seconds of a run are put where latencies are resampled (see `percentile_interval`).
pub const BATCHES: usize = 10;
/// Long runs are looked at in at most so many units of several seconds each.
const UNITS: usize = 600;
/// Where random numbers start. The number is arbitrary and must not change: the same samples give the same figures again.
const SEED: u64 = 0x766f_6c70_726f_6f66;
