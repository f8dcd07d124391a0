//! I/Os that waited above the disk, by the counters that a report has of it.

use super::{Confidence, DiagnosisCase, Finding, SATURATED};
use crate::codes;
use crate::unit::{Nanos, significant};

/// The disk had its I/Os for at most this share of their latency, and at most this share of the requests that were to be in flight.
const SMALL_PART: f64 = 0.25;
/// The disk had nothing to do for the rest of the time: a disk that takes only few requests at once has always some of them.
const BUSY: f64 = 0.9;
/// Less than this above the disk is the kernel's own work, and that of the load.
const OWN_WORK: Nanos = Nanos::micros(100);
/// The disk counted this share of the I/Os at least: the latencies are those of I/Os that reached it.
const COUNTED: f64 = 0.95;

/// The time of the I/Os at the disk, where they spent most of it above.
struct AboveTheDisk {
    /// Mean latency of an I/O, nanoseconds.
    mean_ns: f64,
    /// What the disk took for it, nanoseconds.
    disk_ns: f64,
    /// Requests at the disk, averaged over time.
    at_disk: f64,
    /// Requests that were to be in flight.
    asked: f64,
    /// Share of the time in which the disk had a request.
    busy: f64,
}

impl AboveTheDisk {
    /// Of direct I/O, and of reads that the disk counted: writes through the page cache wait there for their turn.
    fn of(case: &DiagnosisCase<'_>) -> Option<AboveTheDisk> {
        let s = &case.summary;
        let own_work = s.busiest_thread.is_some_and(|busy| busy >= SATURATED);
        let at_the_disk = s.direct == Some(true)
            || s.direct.is_none() && s.read_counts.is_some() && s.write_counts.is_none();
        if !at_the_disk || s.flushes.is_some() || own_work {
            return None;
        }
        let (disk, device) = (s.disk_time?, s.device?);
        let (mean_ns, ios, iops, asked) = (s.mean_ns?, s.ios?, s.iops?, s.asked?);
        // Parts of an I/O may follow each other, and merged I/Os take as long as their one request.
        let disk_ns = disk.total.0 as f64 / device.ios.min(ios).max(1.0);
        let at_disk = iops * disk_ns / 1e9;
        let reached = device.ios + device.merges >= COUNTED * ios;
        let above = disk_ns <= SMALL_PART * mean_ns && mean_ns - disk_ns >= OWN_WORK.0 as f64;
        (reached && above && at_disk <= SMALL_PART * asked && disk.busy < BUSY).then_some(AboveTheDisk {
            mean_ns,
            disk_ns,
            at_disk,
            asked,
            busy: disk.busy,
        })
    }
}

impl DiagnosisCase<'_> {
    /// Whether the I/Os spent most of their time above the disk, so that no limit of the disk held them.
    pub(super) fn waits_above_the_disk(&self) -> bool {
        AboveTheDisk::of(self).is_some()
    }
}

/// The I/Os waited above the disk.
///
/// `likely`: the disk had nothing to do for part of the time while requests waited, which excludes that they waited for it; but another tool read its
/// counters, at a moment of its own.
pub fn above_the_disk(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let found = AboveTheDisk::of(case)?;
    let (mean, disk) = (Nanos(found.mean_ns as u64), Nanos(found.disk_ns as u64));
    Some(
        Finding::new(
            codes::ABOVE_THE_DISK,
            Confidence::Likely,
            format!("The I/Os waited above the disk: it had each of them for {disk} of the {mean} that they took."),
            "look for a limit of the container or slice (io.max, blkio.throttle) or a file that takes one direct write at a time, and run it without: \
             this measured what held the I/Os above the disk, not the volume",
        )
        .because(format!(
            "by its own counters the disk had {} requests at a time, and {} were to be in flight",
            significant(found.at_disk),
            significant(found.asked)
        ))
        .because(format!("it had nothing to do for {} % of the time", significant(100.0 * (1.0 - found.busy))))
        .number("disk_share", found.disk_ns / found.mean_ns)
        .blocking(),
    )
}
