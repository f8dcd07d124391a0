//! The counters of a disk (`/sys/block/NAME/stat`, Documentation/ABI/stable/sysfs-block), and the sample between two readings of them.

use volproof_base::sample::{Counts, Direction, Interval, PerDirection};
use volproof_base::unit::{Bytes, Nanos};

/// Counters in the line: those of discards came with Linux 4.18, those of flushes with 5.5.
const FIELDS: usize = 17;
/// Fewer were never printed.
const LEAST_FIELDS: usize = 11;
/// The counter of requests in flight, which goes up and down.
const IN_FLIGHT: usize = 8;
/// The counter of the time in which any request was on its way.
const ACTIVE: usize = 9;
/// Counters of milliseconds: the kernel prints their low 32 bits.
const TIMES: [usize; 6] = [3, 7, ACTIVE, 10, 14, 16];
/// The first counter of each direction, in the order of `Direction`, with the places of bytes and time behind it.
const DIRECTIONS: [(usize, Option<usize>, usize); 4] =
    [(0, Some(2), 3), (4, Some(6), 7), (11, Some(13), 14), (15, None, 16)];
/// Bytes of a sector in these counters.
const SECTOR: u64 = 512;

/// A reading of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatCounters([u64; FIELDS]);

impl StatCounters {
    /// Reads the line; `None` where it is no such line.
    pub fn parse(line: &[u8]) -> Option<StatCounters> {
        let mut counters = [0; FIELDS];
        let mut read = 0;
        for word in line.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty()) {
            if let Some(place) = counters.get_mut(read) {
                *place = std::str::from_utf8(word).ok()?.parse().ok()?;
            }
            read += 1;
        }
        (read >= LEAST_FIELDS).then_some(StatCounters(counters))
    }

    /// From the counters in the order of the line.
    pub fn from_fields(fields: [u64; 17]) -> StatCounters {
        StatCounters(fields)
    }

    /// Requests on their way at that moment.
    pub fn in_flight(&self) -> u64 {
        self.0[IN_FLIGHT]
    }

    /// The sample since an earlier reading, and the time in which any request was on its way. `None` where a count fell: the disk was attached anew.
    pub fn since(&self, earlier: &StatCounters, index: i64, length: Nanos) -> Option<(Interval, Nanos)> {
        let mut steps = [0; FIELDS];
        for (i, step) in steps.iter_mut().enumerate() {
            *step = match (TIMES.contains(&i), i) {
                (_, IN_FLIGHT) => 0,
                (true, _) => u64::from((self.0[i] as u32).wrapping_sub(earlier.0[i] as u32)),
                (false, _) => self.0[i].checked_sub(earlier.0[i])?,
            };
        }
        let mut counts = PerDirection::<Counts>::default();
        for (direction, (ios, sectors, ms)) in Direction::ALL.into_iter().zip(DIRECTIONS) {
            counts[direction] = Counts {
                ios: steps[ios],
                bytes: Bytes(sectors.map_or(0, |at| steps[at].saturating_mul(SECTOR))),
                latency: Nanos::millis(steps[ms]),
            };
        }
        let both = self.in_flight().saturating_add(earlier.in_flight());
        let in_flight = both.saturating_mul(length.0) / 2;
        let active = Nanos::millis(steps[ACTIVE]).min(length);
        Some((Interval { worker: 0, index, length, counts, in_flight, second: None }, active))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_line_of_any_kernel_is_read() {
        let line = b"    4831      112   386610     1743     1021      330    33952      722        3     1432     2465";
        let old = StatCounters::parse(line).unwrap();
        assert_eq!((old.0[0], old.0[7], old.in_flight(), old.0[16]), (4831, 722, 3, 0));
        let new = StatCounters::parse(b"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n").unwrap();
        assert_eq!(new.0[16], 17);
        assert_eq!(StatCounters::parse(b"1 2 3"), None);
        assert_eq!(StatCounters::parse(b"a 2 3 4 5 6 7 8 9 10 11"), None);
    }

    #[test]
    fn times_begin_anew_and_counts_that_fall_are_another_attachment() {
        let mut before = [0; FIELDS];
        (before[0], before[3]) = (10, u64::from(u32::MAX) - 4);
        let mut after = before;
        (after[0], after[2], after[3], after[IN_FLIGHT]) = (30, 160, 15, 4);
        let (before, after) = (StatCounters(before), StatCounters(after));
        let (sample, _) = after.since(&before, 7, Nanos::millis(100)).unwrap();
        let reads = sample.counts[Direction::Read];
        assert_eq!((reads.ios, reads.bytes, reads.latency), (20, Bytes(81920), Nanos::millis(20)));
        assert_eq!((sample.index, sample.in_flight), (7, 2 * 100_000_000));
        assert_eq!(before.since(&after, 8, Nanos::millis(100)), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(line in prop::collection::vec(any::<u8>(), 0..200), other in any::<[u64; 17]>()) {
            if let Some(counters) = StatCounters::parse(&line) {
                let _ = counters.since(&StatCounters(other), 0, Nanos::millis(100));
            }
        }
    }
}
