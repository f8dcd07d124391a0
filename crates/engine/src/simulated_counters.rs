//! The own counters of a simulated volume in a step: those that a kernel keeps for a disk, and those of a page of AWS.
//!
//! I/Os count in the second of their completion, exceeded time in the second in which a request waited for a limit. Those of others count too.

use volproof_base::sample::Direction;
use volproof_base::unit::Nanos;
use volproof_device::nvme::provider_page::{LatencyBin, PageKind};
use volproof_host::observe::{CountTrack, DiskTrack, ExceededTrack, ProviderTrack};

/// They cover so many seconds of a step at most: a stall of a year is no reason for a table of a year.
const MOST_SECONDS: usize = 1 << 20;
const SECOND: u64 = 1_000_000_000;
/// Bins of a page: powers of two of microseconds.
const BINS: usize = 28;

/// A limit that makes requests wait.
#[derive(Clone, Copy)]
pub enum SimulatedLimit {
    VolumeIos,
    VolumeBytes,
    InstanceIos,
    InstanceBytes,
}

#[derive(Default)]
pub struct VolumeCounters {
    /// The start of the step.
    from: u64,
    seconds: Vec<SecondCounts>,
    /// Latencies of reads and writes.
    bins: [[u64; BINS]; 2],
    /// Until when requests that came so far wait for each limit.
    waits_until: [u64; 4],
}

#[derive(Clone, Copy, Default)]
struct SecondCounts {
    /// By direction.
    ios: [u64; 4],
    bytes: [u64; 4],
    /// Time of the requests in the volume, summed.
    busy: [u64; 4],
    /// Time in which requests waited, by limit.
    exceeded: [u64; 4],
}

impl VolumeCounters {
    /// Begins a step.
    pub fn begin(&mut self, from: u64) {
        *self = VolumeCounters { from, waits_until: self.waits_until, ..VolumeCounters::default() };
    }

    fn second(&mut self, since: u64) -> Option<&mut SecondCounts> {
        let second = (since / SECOND) as usize;
        if second < MOST_SECONDS && self.seconds.len() <= second {
            self.seconds.resize(second + 1, SecondCounts::default());
        }
        self.seconds.get_mut(second)
    }

    /// Counts a request that was completed at `end`.
    pub fn count(&mut self, direction: Direction, length: u64, end: u64, took: u64) {
        let at = direction as usize;
        let Some(counts) = end.checked_sub(self.from).and_then(|since| self.second(since)) else { return };
        counts.ios[at] += 1;
        counts.bytes[at] += length;
        counts.busy[at] += took;
        if let Some(bins) = self.bins.get_mut(at) {
            let bin = (u64::BITS - (took / 1000).leading_zeros()) as usize;
            bins[bin.min(BINS - 1)] += 1;
        }
    }

    /// A request that came at `now` waited for a limit until `admitted`. Requests come in the order of their times.
    pub fn exceed(&mut self, limit: SimulatedLimit, now: u64, admitted: u64) {
        let mut at = now.max(self.waits_until[limit as usize]).max(self.from);
        while at < admitted {
            let since = at - self.from;
            let part = (SECOND - since % SECOND).min(admitted - at);
            let Some(counts) = self.second(since) else { return };
            counts.exceeded[limit as usize] += part;
            at += part;
        }
        self.waits_until[limit as usize] = self.waits_until[limit as usize].max(admitted);
    }

    fn until(&mut self, until: u64) {
        let seconds = (until - self.from).div_ceil(SECOND).min(MOST_SECONDS as u64) as usize;
        self.seconds.resize(seconds, SecondCounts::default());
    }

    fn column(&self, figure: impl Fn(&SecondCounts) -> u64) -> Vec<u64> {
        self.seconds.iter().map(figure).collect()
    }

    /// The counters of a disk up to `until`.
    pub fn track(&mut self, until: u64, name: &str) -> DiskTrack {
        self.until(until);
        let none = vec![0; self.seconds.len()];
        let [reads, writes, discards, flushes] = Direction::ALL.map(|d| self.column(|s| s.ios[d as usize]));
        let [read_bytes, written_bytes] =
            [Direction::Read, Direction::Write].map(|d| self.column(|s| s.bytes[d as usize]));
        DiskTrack {
            name: name.into(),
            reads,
            reads_merged: none.clone(),
            read_bytes,
            writes,
            writes_merged: none.clone(),
            written_bytes,
            discards,
            flushes,
            busy_ns: self.column(|s| s.busy.iter().sum()),
            in_flight: none,
            ..DiskTrack::default()
        }
    }

    /// The page up to `until`.
    pub fn page(&mut self, until: u64, name: &str) -> ProviderTrack {
        self.until(until);
        let counts = |d: Direction| CountTrack {
            ios: self.column(|s| s.ios[d as usize]),
            bytes: self.column(|s| s.bytes[d as usize]),
            busy_ns: self.column(|s| s.busy[d as usize]),
        };
        let exceeded = |ios: SimulatedLimit, bytes: SimulatedLimit| ExceededTrack {
            ios_ns: self.column(|s| s.exceeded[ios as usize]),
            bytes_ns: self.column(|s| s.exceeded[bytes as usize]),
        };
        ProviderTrack {
            reads: counts(Direction::Read),
            writes: counts(Direction::Write),
            volume_exceeded: exceeded(SimulatedLimit::VolumeIos, SimulatedLimit::VolumeBytes),
            instance_exceeded: exceeded(SimulatedLimit::InstanceIos, SimulatedLimit::InstanceBytes),
            queue_length: vec![0; self.seconds.len()],
            read_bins: latency_bins(&self.bins[0]),
            write_bins: latency_bins(&self.bins[1]),
            ..ProviderTrack::new(name, PageKind::Ebs)
        }
    }
}

fn latency_bins(counts: &[u64; BINS]) -> Vec<LatencyBin> {
    let bin = |(number, count): (usize, &u64)| LatencyBin {
        from_ns: Nanos::micros(if number == 0 { 0 } else { 1 << (number - 1) }),
        to_ns: if number == BINS - 1 { Nanos(u64::MAX) } else { Nanos::micros(1 << number) },
        count: *count,
    };
    counts.iter().enumerate().map(bin).collect()
}
