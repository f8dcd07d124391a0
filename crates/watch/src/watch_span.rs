//! A minute of a watch, or the sum of several: an hour once the minutes are old.

use volproof_base::sample::Counts;
use volproof_base::unit::{Bytes, Nanos, total};

use crate::minute_sums::{DEMAND_BUCKETS, SIZE_CLASSES, bucket_latency};

/// Buckets that a span keeps of its demand, and of its latencies. With more, neighbours become one.
const MOST_BUCKETS: usize = 12;
/// A minute is kept when the volume was degraded for no more than this part of it.
const KEPT_PART: u64 = 10;
/// The length of a minute.
pub const MINUTE: Nanos = Nanos::seconds(60);
/// The length of an hour, in milliseconds.
pub const HOUR_MS: i64 = 3_600_000;

/// Adds to a sum, which stays at its end: a file may hold any numbers.
fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

/// I/Os of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionIos {
    /// I/Os.
    pub ios: u64,
    /// Bytes.
    pub bytes: u64,
    /// The time that each of them took, summed, in milliseconds as the kernel counts it.
    pub latency_ms: u64,
}

impl DirectionIos {
    /// Those of a sample.
    pub fn of_sample(counts: &Counts) -> DirectionIos {
        DirectionIos { ios: counts.ios, bytes: counts.bytes.0, latency_ms: counts.latency.0 / 1_000_000 }
    }

    /// Adds those of another time.
    pub fn add(&mut self, more: &DirectionIos) {
        add(&mut self.ios, more.ios);
        add(&mut self.bytes, more.bytes);
        add(&mut self.latency_ms, more.latency_ms);
    }
}

/// Tenths of a second with about as many reads and writes of about the same size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DemandBucket {
    /// Size class and bucket of I/Os: sorts alone.
    pub(crate) key: u16,
    /// Tenths of a second.
    pub slots: u64,
    /// I/Os in all of them together.
    pub ios: u64,
    /// Bytes in all of them together.
    pub bytes: u64,
}

impl DemandBucket {
    /// I/Os a second in the mean.
    pub fn iops(&self) -> f64 {
        self.ios as f64 * 10.0 / self.slots.max(1) as f64
    }

    /// Bytes a second in the mean.
    pub fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 * 10.0 / self.slots.max(1) as f64
    }

    fn add(&mut self, more: &DemandBucket) {
        add(&mut self.slots, more.slots);
        add(&mut self.ios, more.ios);
        add(&mut self.bytes, more.bytes);
    }
}

/// For how long the provider counted a limit as exceeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThrottleTimes {
    /// That of the volume.
    pub volume_ns: Nanos,
    /// That of the instance.
    pub instance_ns: Nanos,
    /// Spells of the volume that began.
    pub volume_spells: u64,
    /// Spells of the instance that began.
    pub instance_spells: u64,
    /// I/Os that the provider counted.
    pub ios: u64,
    /// I/Os that the kernel counted in the same seconds.
    pub kernel_ios: u64,
}

impl ThrottleTimes {
    fn add(&mut self, more: &ThrottleTimes) {
        add(&mut self.volume_ns.0, more.volume_ns.0);
        add(&mut self.instance_ns.0, more.instance_ns.0);
        add(&mut self.volume_spells, more.volume_spells);
        add(&mut self.instance_spells, more.instance_spells);
        add(&mut self.ios, more.ios);
        add(&mut self.kernel_ios, more.kernel_ios);
    }
}

/// Minutes, and how many of them were kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinuteAccount {
    /// Minutes in which a read or write came back or was waited for, and that are decided.
    pub with_demand: u64,
    /// Those of them in which the volume was degraded for at most a tenth of the time.
    pub kept: u64,
    /// Minutes that were not kept and follow one that was.
    pub missed_runs: u64,
    /// Degraded spells that ended.
    pub spells: u64,
    /// Minutes that are not decided: requests were in flight all the time, the volume gave less than promised, and no longer wait than usual tells
    /// whether it held them back.
    pub undecided: u64,
}

impl MinuteAccount {
    /// Adds later minutes.
    pub(crate) fn add(&mut self, more: &MinuteAccount) {
        add(&mut self.with_demand, more.with_demand);
        add(&mut self.kept, more.kept);
        add(&mut self.missed_runs, more.missed_runs);
        add(&mut self.spells, more.spells);
        add(&mut self.undecided, more.undecided);
    }
}

/// A minute of a watch, or the sum of several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchSpan {
    /// When it began, in milliseconds since 1970, by the clock of the machine at that time.
    pub start_unix_ms: i64,
    /// The time that its samples cover: up to a minute for a minute.
    pub covered_ns: Nanos,
    /// The time in which the device was away.
    pub absent_ns: Nanos,
    /// Reads, writes, discards, flushes.
    pub counts: [DirectionIos; 4],
    /// Requests in flight over time, in request-nanoseconds.
    pub in_flight_ns: u64,
    /// Reads and writes by tenths of a second.
    pub demand: Vec<DemandBucket>,
    /// The most reads and writes in a tenth of a second.
    pub most_ios: u64,
    /// The most bytes in a tenth of a second.
    pub most_bytes: u64,
    /// I/Os by the mean latency of their tenth of a second: number of the bucket, and I/Os.
    pub(crate) latency: Vec<(u8, u64)>,
    /// The time in which requests waited and the volume gave less than it was asked and promised.
    pub degraded_ns: Nanos,
    /// What the provider counted; none where it tells nothing.
    pub throttled: Option<ThrottleTimes>,
    /// The account of its minutes.
    pub account: MinuteAccount,
}

impl WatchSpan {
    /// Reads and writes.
    pub fn ios(&self) -> u64 {
        self.counts[0].ios.saturating_add(self.counts[1].ios)
    }

    /// Bytes of reads and writes.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.counts[0].bytes.saturating_add(self.counts[1].bytes))
    }

    /// The mean latency of reads and writes; none without any.
    pub fn mean_latency(&self) -> Option<Nanos> {
        let ms = self.counts[0].latency_ms.saturating_add(self.counts[1].latency_ms);
        ms.saturating_mul(1_000_000).checked_div(self.ios()).map(Nanos)
    }

    /// The latency that a share of its I/Os did not exceed, to the quarter of an octave.
    pub fn latency_within(&self, share: f64) -> Option<Nanos> {
        let all = total(self.latency.iter().map(|(_, ios)| *ios));
        let mut seen = 0;
        let bucket = self.latency.iter().find(|(_, ios)| {
            add(&mut seen, *ios);
            seen as f64 >= share * all as f64
        });
        bucket.map(|(bucket, _)| bucket_latency(usize::from(*bucket)))
    }

    /// The volume was degraded for at most a tenth of it.
    pub fn keeps(&self) -> bool {
        self.degraded_ns.0.saturating_mul(KEPT_PART) <= self.covered_ns.0
    }

    /// When it ended, in milliseconds since 1970. An hour ends with its hour at the latest: a clock that was set back gives it more minutes.
    pub(crate) fn end_ms(&self) -> i64 {
        let end = self.start_unix_ms.saturating_add((self.covered_ns.0 / 1_000_000) as i64);
        let hour_ends = self.start_unix_ms.div_euclid(HOUR_MS).saturating_add(1).saturating_mul(HOUR_MS);
        if self.covered_ns.0 > 2 * MINUTE.0 { end.min(hour_ends) } else { end }
    }

    /// Makes the account of a single minute. `held` is the time in which requests were in flight and the volume gave less than promised.
    pub(crate) fn judge_minute(&mut self, missed_before: bool, held: Nanos) {
        let unheld = Nanos(self.covered_ns.0.saturating_sub(held.0));
        let is_open = self.keeps() && unheld.0.saturating_mul(KEPT_PART) <= self.covered_ns.0;
        // Requests that never came back were asked for too.
        let has_demand = !is_open && (self.ios() > 0 || !self.degraded_ns.is_zero());
        self.account = MinuteAccount {
            undecided: u64::from(is_open && !self.covered_ns.is_zero()),
            with_demand: u64::from(has_demand),
            kept: u64::from(has_demand && self.keeps()),
            missed_runs: u64::from(has_demand && !self.keeps() && !missed_before),
            spells: self.account.spells,
        };
    }

    /// Adds a later span. Sums stay exact; the distributions get coarser.
    pub fn merge(&mut self, later: &WatchSpan) {
        add(&mut self.covered_ns.0, later.covered_ns.0);
        add(&mut self.absent_ns.0, later.absent_ns.0);
        self.counts.iter_mut().zip(&later.counts).for_each(|(sum, more)| sum.add(more));
        add(&mut self.in_flight_ns, later.in_flight_ns);
        self.demand.extend(&later.demand);
        self.latency.extend(&later.latency);
        self.most_ios = self.most_ios.max(later.most_ios);
        self.most_bytes = self.most_bytes.max(later.most_bytes);
        add(&mut self.degraded_ns.0, later.degraded_ns.0);
        if let Some(more) = &later.throttled {
            self.throttled.get_or_insert_default().add(more);
        }
        self.account.add(&later.account);
        self.fold();
    }

    /// Makes neighbouring buckets one until few enough are left.
    pub(crate) fn fold(&mut self) {
        self.demand.sort_by_key(|bucket| bucket.key);
        self.latency.sort_by_key(|(bucket, _)| *bucket);
        for level in 0..8 {
            let class_and_octave =
                |key: u16| (key / DEMAND_BUCKETS as u16, (key % DEMAND_BUCKETS as u16) >> level);
            self.demand.dedup_by(|later, kept| {
                let same = class_and_octave(later.key) == class_and_octave(kept.key);
                if same {
                    kept.add(later);
                }
                same
            });
            if self.demand.len() <= MOST_BUCKETS.max(SIZE_CLASSES) {
                break;
            }
        }
        for level in 0..8 {
            self.latency.dedup_by(|later, kept| {
                let same = later.0 >> level == kept.0 >> level;
                if same {
                    kept.1 = kept.1.saturating_add(later.1);
                }
                same
            });
            if self.latency.len() <= MOST_BUCKETS {
                break;
            }
        }
    }
}
