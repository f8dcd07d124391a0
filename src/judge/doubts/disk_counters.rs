//! What the disk's counters of a report lack: reads, writes and flushes of the load that it never saw.

use crate::record::{DirectionCounts, ReportedDevice, StepFigures};
use crate::unit::{Bytes, Nanos, grouped, significant};

/// fio reads the disk's counters for the last time at most so many seconds before the end: it reads them four times a second, and late where
/// its thread waits for a CPU (0.5 s were seen).
const COUNTERS_EARLY: f64 = 0.6;

/// The share of a report's reads that the disk's counters lack, and the counts in words. None where the reads of the last moments explain it.
pub fn missing_reads(s: &StepFigures) -> Option<(f64, String)> {
    missing_from_disk(s, s.read_counts, "reads", 0.0).filter(|_| s.reads == Some(true))
}

/// The counts, if the ramp did as many reads a second as the run: the disk counted those too, and they may stand for reads of the run that it never saw.
/// A slower ramp leaves more for the run, and no report tells how fast it was.
pub fn reads_in_doubt(s: &StepFigures) -> Option<String> {
    let missing = missing_from_disk(s, s.read_counts, "reads", of_the_ramp(s));
    missing.filter(|_| s.reads == Some(true)).map(|(_, told)| told)
}

/// The counts of a report's flushes and of the disk's writes, in words, where some flushes have no write before them: each stands behind a write of its
/// job, and those of several jobs may go to the disk together.
pub fn missing_flushes(s: &StepFigures, flushes: f64, disk: &ReportedDevice) -> Option<String> {
    let together = s.jobs.unwrap_or(1.0).max(1.0);
    let writes = (disk.writes.ios + disk.writes.merges) as f64;
    let missing = 1.0 - writes * together / flushes.max(f64::MIN_POSITIVE);
    (missing > uncounted(s)).then(|| {
        format!(
            "the disk completed {} writes for {} flushes",
            grouped(writes as u64),
            grouped(flushes as u64)
        )
    })
}

/// The share of the requests that the disk's counters of a report may lack: tools read them a moment before the end.
fn uncounted(s: &StepFigures) -> f64 {
    match s.window.map(Nanos::as_seconds) {
        Some(t) if t > 0.0 => (COUNTERS_EARLY / t).max(0.05),
        _ => 0.05,
    }
}

/// The counts of writes that the disk's counters lack, or may lack with those of a ramp, in words: the page cache holds those of a filesystem that takes
/// no direct ones.
pub fn missing_writes(s: &StepFigures) -> Option<String> {
    let writes = s.write_counts.is_some() || s.reads == Some(false);
    let missing = |ramp| missing_from_disk(s, s.write_counts, "writes", ramp);
    let (_, told) = missing(0.0).or_else(|| missing(of_the_ramp(s)))?;
    (writes && s.direct != Some(false)).then_some(told)
}

/// The I/Os of the ramp for each of the run, if it was as fast.
fn of_the_ramp(s: &StepFigures) -> f64 {
    let (Some(counted), Some(window)) = (s.counted, s.window.filter(|w| w.0 > 0)) else { return 0.0 };
    counted.0 as f64 / window.0 as f64 - 1.0
}

/// `counts`: those of the direction, where it is counted apart. `ramp`: what of a ramp is among the disk's counters, for each I/O of the run.
fn missing_from_disk(
    s: &StepFigures,
    counts: Option<DirectionCounts>,
    direction: &str,
    ramp: f64,
) -> Option<(f64, String)> {
    let all = counts.or_else(|| {
        let moved = s.bytes_per_second.zip(s.window).map(|(rate, t)| rate * t.as_seconds());
        Some(DirectionCounts { ios: s.ios?, bytes: moved, device: s.device? })
    });
    let DirectionCounts { ios, bytes: moved, device } = all?;
    // Of I/Os of several sizes only the large ones may be split, so that bytes are compared and not counts.
    let bytes = device.bytes.zip(moved).filter(|_| s.block.is_none());
    let (seen, evidence) = match bytes {
        Some((seen, moved)) if moved > 0.0 => {
            (seen / moved, format!("the disk moved {} of {}", Bytes(seen as u64), Bytes(moved as u64)))
        }
        _ => (
            (device.ios + device.merges) / ios,
            format!(
                "the disk completed {} of {} {direction}",
                significant(device.ios + device.merges),
                significant(ios)
            ),
        ),
    };
    let missing = (1.0 + ramp - seen).min(1.0);
    (missing > uncounted(s)).then(|| {
        let share = significant(missing * 100.0);
        let told = match ramp > 0.0 {
            true => format!(
                "{evidence}, those of its ramp among them: as fast as the run, the ramp leaves {share} % that are not among its counters"
            ),
            false => format!("{evidence}: {share} % are not among its counters"),
        };
        (missing, told)
    })
}
