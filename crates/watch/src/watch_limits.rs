//! What a volume gives at most, promised or learned, and which share of it a load takes.

use serde::{Deserialize, Serialize};

use volproof_base::sample::{Direction, Interval};

/// The rates that a volume gives, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchLimits {
    /// Reads.
    pub read_ios: f64,
    /// Writes.
    pub write_ios: f64,
    /// Bytes read.
    pub read_bytes: f64,
    /// Bytes written.
    pub write_bytes: f64,
}

impl WatchLimits {
    /// One limit for both directions.
    pub fn shared(ios: f64, bytes: f64) -> WatchLimits {
        WatchLimits { read_ios: ios, write_ios: ios, read_bytes: bytes, write_bytes: bytes }
    }

    /// The share of the limit that a sample took, by I/Os or by bytes, whichever is more. Where reads and writes have limits of their own their shares
    /// are added too: a load is then sooner taken for served, and never wrongly for a fault.
    pub fn share(&self, sample: &Interval) -> f64 {
        let seconds = sample.length.as_seconds();
        let [read, write] = [sample.counts[Direction::Read], sample.counts[Direction::Write]];
        let ios = read.ios as f64 / self.read_ios + write.ios as f64 / self.write_ios;
        let bytes = read.bytes.0 as f64 / self.read_bytes + write.bytes.0 as f64 / self.write_bytes;
        // No bytes of no limit are no share.
        ios.max(bytes) / seconds.max(1e-9)
    }

    /// Every limit is a rate above 0.
    pub fn is_complete(&self) -> bool {
        let all = [self.read_ios, self.write_ios, self.read_bytes, self.write_bytes];
        all.iter().all(|rate| *rate > 0.0 && rate.is_finite())
    }
}
