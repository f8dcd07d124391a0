//! The disks of a report that hold the files of its jobs. fio lists a stacked device (LVM, LUKS, md) with the mean counters of the devices that it lies
//! on, and then these devices.

use fio_formats::output::{DiskCounters, DiskCounts};
use volproof_base::sample::Direction;
use volproof_base::unit::Bytes;
use volproof_record::{ReportedDevice, ReportedRequests};

/// The requests that reached the disks of a report: those of all its disks, or of the stacked device that is listed first. None where another stacked
/// device follows: it may lie below the first one or beside it.
pub fn device(disks: &[DiskCounters]) -> Option<ReportedDevice> {
    let (first, others) = disks.split_first()?;
    if others.iter().any(|disk| disk.below.is_some()) {
        return None;
    }
    let stacked = first.below.is_some();
    let tops = if stacked { &disks[..1] } else { disks };
    let lowest = if stacked && !others.is_empty() { others } else { disks };
    let alone = if let [disk] = disks { Some(disk) } else { None };
    Some(ReportedDevice {
        name: tops.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>().join(", "),
        reads: requests(tops, Direction::Read),
        writes: requests(tops, Direction::Write),
        lowest_disks: holding_data(lowest),
        request_time: alone.and_then(DiskCounters::own_time),
        busy: alone.filter(|disk| disk.own_time().is_some()).map(|disk| disk.counts.busy),
    })
}

/// A disk with this share of the requests holds some of the data, and not only what keeps the rest in order.
const HOLDS_DATA: f64 = 0.01;

fn holding_data(disks: &[DiskCounters]) -> u32 {
    let completed: Vec<f64> =
        disks.iter().map(|disk| disk.counts.ios.0.saturating_add(disk.counts.ios.1) as f64).collect();
    let all: f64 = completed.iter().sum();
    completed.iter().filter(|n| **n > HOLDS_DATA * all).count() as u32
}

fn requests(disks: &[DiskCounters], d: Direction) -> ReportedRequests {
    let mut sum = ReportedRequests { ios: 0, merges: 0, bytes: Some(Bytes(0)) };
    for disk in disks {
        let DiskCounts { ios, merges, sectors, .. } = disk.counts;
        let [ios, merges, sectors] = [Some(ios), Some(merges), sectors]
            .map(|pair| pair.map(|(reads, writes)| if d == Direction::Read { reads } else { writes }));
        sum.ios = sum.ios.saturating_add(ios.unwrap_or(0));
        sum.merges = sum.merges.saturating_add(merges.unwrap_or(0));
        let bytes = sectors.map(|sectors| sectors.saturating_mul(512));
        sum.bytes = sum.bytes.zip(bytes).map(|(sum, bytes)| Bytes(sum.0.saturating_add(bytes)));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use fio_formats::output::DiskCounts;

    /// Name, reads and lowest disks, from disks with their reads and the mean of those below.
    fn seen(disks: &[(&str, u64, Option<u64>)]) -> Option<(String, u64, u32)> {
        let counts = |reads| DiskCounts { ios: (reads, 0), ..DiskCounts::default() };
        let counters = |(name, reads, below): &(&str, u64, Option<u64>)| DiskCounters {
            name: name.to_string(),
            counts: counts(*reads),
            below: below.map(counts),
        };
        let disks: Vec<DiskCounters> = disks.iter().map(counters).collect();
        device(&disks).map(|found| (found.name, found.reads.ios, found.lowest_disks))
    }

    #[test]
    fn disks_side_by_side_and_one_stack() {
        assert_eq!(seen(&[("vdb", 10, None)]), Some(("vdb".into(), 10, 1)));
        assert_eq!(seen(&[("vdb", 10, None), ("vdc", 7, None)]), Some(("vdb, vdc".into(), 17, 2)));
        assert_eq!(seen(&[("vdb", 1000, None), ("vdc", 7, None)]).unwrap().2, 1);
        assert_eq!(seen(&[("dm-0", 10, Some(10)), ("vdb", 10, None)]), Some(("dm-0".into(), 10, 1)));
        let md = [("md0", 11, Some(5)), ("vdb", 6, None), ("vdc", 5, None)];
        assert_eq!(seen(&md), Some(("md0".into(), 11, 2)));
        assert_eq!(seen(&[("dm-0", 10, Some(10))]), Some(("dm-0".into(), 10, 1)));
        let over = [("dm-1", 10, Some(10)), ("dm-0", 10, Some(10)), ("vdb", 10, None)];
        assert_eq!(seen(&over), None, "over another one, or beside it");
        assert_eq!(seen(&[]), None);
    }
}
