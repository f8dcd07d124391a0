//! The disks of a report that hold the files of its jobs, and not those that lie below them. fio lists a stacked device (LVM, LUKS, md) with the
//! mean counters of the devices that it lies on, and then these devices, each with those below it.

use fio_formats::output::{DiskCounters, DiskCounts};
use volproof_base::sample::Direction;
use volproof_base::unit::Bytes;
use volproof_record::{ReportedDevice, ReportedRequests};

/// The requests that reached the disks of a report: those of all disks that hold files. A stacked device answers some requests without the devices
/// below it (blocks that a thin volume never wrote), so that of each stack the level counts that completed fewest.
pub fn device(disks: &[DiskCounters]) -> Option<ReportedDevice> {
    let stacks = Stacks::of(disks);
    let tops = stacks.tops();
    let alone = if let [disk] = disks { Some(disk) } else { None };
    let of = |d: Direction| tops.iter().map(|at| stacks.reached(*at, d)).reduce(|a, b| sum(&a, &b));
    Some(ReportedDevice {
        name: tops.iter().map(|at| disks[*at].name.as_str()).collect::<Vec<_>>().join(", "),
        reads: of(Direction::Read)?,
        writes: of(Direction::Write)?,
        lowest_disks: stacks.lowest(),
        request_time: alone.and_then(DiskCounters::own_time),
        busy: alone.filter(|disk| disk.own_time().is_some()).map(|disk| disk.counts.busy),
    })
}

/// A disk with this share of the requests holds some of the data, and not only what keeps the rest in order.
const HOLDS_DATA: f64 = 0.01;

/// Disks in the order of a report.
struct Stacks<'a> {
    disks: &'a [DiskCounters],
    /// Behind each disk and all that lie below it.
    ends: Vec<usize>,
    /// The disks on which it lies are all there.
    whole: Vec<bool>,
}

impl Stacks<'_> {
    fn of(disks: &[DiskCounters]) -> Stacks<'_> {
        let (mut ends, mut whole) = (vec![0; disks.len()], vec![false; disks.len()]);
        for (at, disk) in disks.iter().enumerate().rev() {
            ends[at] = at + 1;
            let Some(mean) = &disk.below else { continue };
            // The mean tells how many disks it is of.
            let (mut next, mut ios, mut count) = (at + 1, (0u64, 0u64), 0);
            let mut found = None;
            while let Some(below) = disks.get(next) {
                ios = (ios.0.saturating_add(below.counts.ios.0), ios.1.saturating_add(below.counts.ios.1));
                (next, count) = (ends[next], count + 1);
                found = Some(next).filter(|_| (ios.0 / count, ios.1 / count) == mean.ios).or(found);
            }
            (ends[at], whole[at]) = (found.unwrap_or(next), found.is_some());
        }
        Stacks { disks, ends, whole }
    }

    /// The disks that lie below no other one.
    fn tops(&self) -> Vec<usize> {
        std::iter::successors(Some(0), |at| self.ends.get(*at).copied())
            .take_while(|at| *at < self.disks.len())
            .collect()
    }

    /// The disks that lie on no others and completed requests.
    fn lowest(&self) -> u32 {
        let completed =
            |at: usize| self.disks[at].counts.ios.0.saturating_add(self.disks[at].counts.ios.1) as f64;
        let lowest: Vec<f64> =
            (0..self.disks.len()).filter(|at| self.ends[*at] == at + 1).map(completed).collect();
        let all: f64 = lowest.iter().sum();
        lowest.iter().filter(|n| **n > HOLDS_DATA * all).count() as u32
    }

    /// The requests of a direction that went through all levels below a disk.
    fn reached(&self, at: usize, d: Direction) -> ReportedRequests {
        let own = requests(&self.disks[at].counts, d);
        if !self.whole[at] {
            return own;
        }
        let below =
            std::iter::successors(Some(at + 1), |next| Some(self.ends[*next]).filter(|n| *n < self.ends[at]));
        let below = below.map(|next| self.reached(next, d)).reduce(|a, b| sum(&a, &b));
        let all = |r: &ReportedRequests| r.ios.saturating_add(r.merges);
        below.filter(|below| all(below) < all(&own)).unwrap_or(own)
    }
}

fn requests(counts: &DiskCounts, d: Direction) -> ReportedRequests {
    let of = |pair: (u64, u64)| if d == Direction::Read { pair.0 } else { pair.1 };
    ReportedRequests {
        ios: of(counts.ios),
        merges: of(counts.merges),
        bytes: counts.sectors.map(|sectors| Bytes(of(sectors).saturating_mul(512))),
    }
}

fn sum(a: &ReportedRequests, b: &ReportedRequests) -> ReportedRequests {
    ReportedRequests {
        ios: a.ios.saturating_add(b.ios),
        merges: a.merges.saturating_add(b.merges),
        bytes: a.bytes.zip(b.bytes).map(|(a, b)| Bytes(a.0.saturating_add(b.0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Disks with their reads, and the mean of those below.
    fn seen(disks: &[(&str, u64, Option<u64>)]) -> (String, u64) {
        let found = all(disks);
        (found.name, found.reads.ios)
    }

    fn all(disks: &[(&str, u64, Option<u64>)]) -> ReportedDevice {
        let counts = |reads| DiskCounts { ios: (reads, 0), ..DiskCounts::default() };
        let disks: Vec<DiskCounters> = disks
            .iter()
            .map(|(name, reads, below)| DiskCounters {
                name: name.to_string(),
                counts: counts(*reads),
                below: below.map(counts),
            })
            .collect();
        device(&disks).unwrap()
    }

    #[test]
    fn the_disks_that_hold_data_are_counted() {
        for (disks, lowest) in [
            (&[("vdb", 10, None)][..], 1),
            (&[("vdb", 10, None), ("vdc", 7, None)], 2),
            (&[("vdb", 1000, None), ("vdc", 7, None)], 1),
            (&[("dm-0", 10, Some(10)), ("vdb", 10, None)], 1),
            (&[("md0", 11, Some(5)), ("vdb", 6, None), ("vdc", 5, None)], 2),
            (&[("dm-1", 10, Some(10)), ("dm-0", 10, Some(10)), ("vdb", 10, None)], 1),
            (&[("dm-0", 10, Some(10))], 1),
        ] {
            assert_eq!(all(disks).lowest_disks, lowest, "{disks:?}");
        }
    }

    #[test]
    fn what_lies_below_is_told_from_what_lies_beside() {
        assert_eq!(seen(&[("vdb", 10, None)]), ("vdb".into(), 10));
        assert_eq!(seen(&[("vdb", 10, None), ("vdc", 7, None)]), ("vdb, vdc".into(), 17));
        assert_eq!(seen(&[("dm-0", 10, Some(10)), ("vdb", 10, None)]), ("dm-0".into(), 10));
        let md = [("md0", 11, Some(5)), ("vdb", 6, None), ("vdc", 5, None)];
        assert_eq!(seen(&md), ("md0".into(), 11));
        // Device mapper over device mapper, and two of them side by side.
        let over = [("dm-1", 10, Some(10)), ("dm-0", 10, Some(10)), ("vdb", 10, None)];
        assert_eq!(seen(&over), ("dm-1".into(), 10));
        let beside = [("dm-0", 4, Some(4)), ("vdb", 4, None), ("dm-1", 9, Some(9)), ("vdc", 9, None)];
        assert_eq!(seen(&beside), ("dm-0, dm-1".into(), 13));
        let both = [
            ("md0", 13, Some(6)),
            ("dm-0", 4, Some(4)),
            ("vdb", 4, None),
            ("dm-1", 9, Some(9)),
            ("vdc", 9, None),
        ];
        assert_eq!(seen(&both), ("md0".into(), 13));
        // A disk beside a stack.
        assert_eq!(
            seen(&[("dm-0", 4, Some(4)), ("vdb", 4, None), ("vdc", 9, None)]),
            ("dm-0, vdc".into(), 13)
        );
        // A thin volume answers for blocks that it never wrote.
        assert_eq!(
            seen(&[("dm-1", 10, Some(10)), ("dm-0", 10, Some(1)), ("vdb", 1, None)]),
            ("dm-1".into(), 1)
        );
        // Figures that no number of disks explains: all that follows lies below.
        assert_eq!(seen(&[("dm-0", 10, Some(10)), ("vdb", 3, None)]), ("dm-0".into(), 10));
        assert!(device(&[]).is_none());
    }
}
