//! Interval: the only sample type. Every engine (ours, fio, a remote rank) produces it, and nothing else reaches statistics.
//!
//! Counts lie on a fixed grid of [`GRID`] after the start of the measured window (after the ramp); a completion belongs to
//! the interval in which it was observed. Latency histograms are kept once a second, on the interval that closes it.
//! Intervals of several workers on the same grid add up exactly, also across processes.

use serde::{Deserialize, Serialize};

use crate::hist::Sparse;
use crate::unit::{Bytes, Nanos};

/// Length of one interval.
pub const GRID: Nanos = Nanos::millis(100);
/// Intervals in a second: how often histograms are kept.
pub const PER_SECOND: u64 = 10;

/// What an I/O does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Data comes from the device.
    Read,
    /// Data goes to the device.
    Write,
    /// Blocks are discarded.
    Trim,
}

impl Direction {
    /// All directions, in the order in which they are indexed.
    pub const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

    /// The word used in tables and keys.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
        }
    }
}

/// One value per direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerDirection<T>(pub [T; 3]);

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

/// What one direction did within an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// I/Os completed without error.
    pub ios: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Sum of their service latencies.
    pub latency: Nanos,
}

impl Counts {
    /// Adds another worker's counts of the same interval.
    pub fn add(&mut self, other: &Counts) {
        self.ios += other.ios;
        self.bytes.0 += other.bytes.0;
        self.latency.0 += other.latency.0;
    }
}

/// Latencies of one second, per direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Second {
    /// From submission to completion.
    pub service: PerDirection<Sparse>,
    /// From the intended start to completion; only with a schedule (open loop).
    pub response: PerDirection<Sparse>,
}

/// What one worker did in one interval of the grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The worker, numbered through the whole run step.
    pub worker: u32,
    /// Place on the grid: covers `[index * GRID, (index + 1) * GRID)` after the start of the window. Negative while ramping.
    pub index: i64,
    /// Per direction.
    pub counts: PerDirection<Counts>,
    /// Integral of requests in flight over time, in request-nanoseconds: divided by the length it is the mean depth.
    pub in_flight: u64,
    /// Histograms of the second that ends with this interval.
    pub second: Option<Box<Second>>,
}
