//! The sums of a minute while it goes on: arrays of buckets, so that a sample allocates nothing.
//!
//! Buckets are quarters of an octave. Each keeps its sums, so that a mean is exact however wide the bucket is.

use crate::ClockReading;
use crate::spell_detector::Spell;
use crate::watch_span::{DemandBucket, DirectionIos, ThrottleTimes, WatchSpan};
use volproof_base::sample::{Direction, GRID, Interval};
use volproof_base::unit::Nanos;

/// Buckets of I/Os in 100 ms: up to 2^23.
pub const DEMAND_BUCKETS: usize = 96;
/// Buckets of latencies in microseconds: up to 2^31, which is half an hour.
pub const LATENCY_BUCKETS: usize = 128;
/// Classes of the mean size of a sample's I/Os: to 8, 32 and 128 KiB, and above.
pub const SIZE_CLASSES: usize = 4;
/// The largest size of each class but the last.
const CLASS_BYTES: [u64; SIZE_CLASSES - 1] = [8 << 10, 32 << 10, 128 << 10];

/// The bucket of a value: 0 alone, then four an octave.
pub fn quarter_octave(value: u64, buckets: usize) -> usize {
    let Some(octave) = value.checked_ilog2() else { return 0 };
    let quarter = if octave >= 2 { (value >> (octave - 2)) & 3 } else { (value << (2 - octave)) & 3 };
    (1 + octave as usize * 4 + quarter as usize).min(buckets - 1)
}

/// The value in the middle of a bucket.
pub fn bucket_middle(bucket: usize) -> u64 {
    let Some(place) = bucket.checked_sub(1) else { return 0 };
    let low = 2f64.powi((place / 4) as i32) * (1.0 + (place % 4) as f64 / 4.0);
    (low * 1.125).round() as u64
}

/// The latency in the middle of a bucket of microseconds.
pub fn bucket_latency(bucket: usize) -> Nanos {
    Nanos(bucket_middle(bucket).saturating_mul(1000))
}

#[derive(Clone, Copy, Debug, Default)]
struct DemandSums {
    slots: u64,
    ios: u64,
    bytes: u64,
}

/// A minute that goes on.
#[derive(Clone, Debug)]
pub struct MinuteSums {
    span: WatchSpan,
    demand: Box<[DemandSums; DEMAND_BUCKETS * SIZE_CLASSES]>,
    latency: Box<[u64; LATENCY_BUCKETS]>,
    held: Nanos,
}

impl MinuteSums {
    /// A minute that begins.
    pub fn begin(at: ClockReading) -> MinuteSums {
        MinuteSums {
            span: WatchSpan { start_unix_ms: at.unix_ms, ..WatchSpan::default() },
            demand: Box::new([DemandSums::default(); DEMAND_BUCKETS * SIZE_CLASSES]),
            latency: Box::new([0; LATENCY_BUCKETS]),
            held: Nanos(0),
        }
    }

    /// Adds time in which requests were in flight and the volume gave less than promised.
    pub fn add_held(&mut self, time: Nanos) {
        self.held.0 += time.0;
    }

    /// The time that its samples cover.
    pub fn covered(&self) -> Nanos {
        self.span.covered_ns
    }

    /// Adds a sample. A late one stands for all the tenths of a second that it covers.
    pub fn add(&mut self, sample: &Interval) {
        self.span.covered_ns.0 += sample.length.0;
        self.span.in_flight_ns = self.span.in_flight_ns.saturating_add(sample.in_flight);
        let [read, write] = [sample.counts[Direction::Read], sample.counts[Direction::Write]];
        let (ios, bytes) = (read.ios + write.ios, read.bytes.0.saturating_add(write.bytes.0));
        let latency = read.latency.0.saturating_add(write.latency.0);
        for (sums, direction) in self.span.counts.iter_mut().zip(Direction::ALL) {
            sums.add(&DirectionIos::of_sample(&sample.counts[direction]));
        }
        let slots = ((sample.length.0 + GRID.0 / 2) / GRID.0).max(1);
        let (slot_ios, slot_bytes) = (ios.div_ceil(slots), bytes.div_ceil(slots));
        self.span.most_ios = self.span.most_ios.max(slot_ios);
        self.span.most_bytes = self.span.most_bytes.max(slot_bytes);
        let class = CLASS_BYTES.iter().position(|most| bytes.checked_div(ios).unwrap_or(0) <= *most);
        let class = class.unwrap_or(SIZE_CLASSES - 1);
        let sums = &mut self.demand[class * DEMAND_BUCKETS + quarter_octave(slot_ios, DEMAND_BUCKETS)];
        sums.slots += slots;
        sums.ios += ios;
        sums.bytes = sums.bytes.saturating_add(bytes);
        if let Some(mean) = latency.checked_div(ios) {
            self.latency[quarter_octave(mean / 1000, LATENCY_BUCKETS)] += ios;
        }
    }

    /// Adds time in which the volume was degraded; less than none takes it back.
    pub fn add_degraded(&mut self, time: i128) {
        let sum = i128::from(self.span.degraded_ns.0) + time;
        self.span.degraded_ns = Nanos(sum.clamp(0, i128::from(u64::MAX)) as u64);
    }

    /// Counts a degraded spell. One that goes on from the minute before was counted there.
    pub fn count_spell(&mut self, spell: &Spell) {
        self.span.account.spells += u64::from(!spell.goes_on);
    }

    /// The provider's count of throttled time.
    pub fn throttled(&mut self) -> &mut ThrottleTimes {
        self.span.throttled.get_or_insert_default()
    }

    /// Adds time in which the device was away.
    pub fn add_absent(&mut self, time: Nanos) {
        self.span.absent_ns.0 += time.0;
    }

    /// The minute, closed.
    pub fn close(self, missed_before: bool) -> WatchSpan {
        let mut span = self.span;
        for (key, sums) in self.demand.iter().enumerate().filter(|(_, sums)| sums.slots > 0) {
            let key = key as u16;
            span.demand.push(DemandBucket { key, slots: sums.slots, ios: sums.ios, bytes: sums.bytes });
        }
        let latencies = self.latency.iter().enumerate().filter(|(_, ios)| **ios > 0);
        span.latency = latencies.map(|(bucket, ios)| (bucket as u8, *ios)).collect();
        span.fold();
        span.judge_minute(missed_before, self.held);
        span
    }
}
