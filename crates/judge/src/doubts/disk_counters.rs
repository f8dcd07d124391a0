//! What the disk's counters of a report lack: reads of the load that it never saw.

use crate::thresholds::SETS_THE_FIGURE;
use volproof_base::unit::{Bytes, Nanos, significant};
use volproof_record::{DirectionCounts, StepFigures};

/// fio reads the disk's counters for the last time at most so many seconds before the end: it reads them four times a second, and late where
/// its thread waits for a CPU (0.5 s were seen).
const COUNTERS_EARLY: f64 = 0.6;

/// The share of a report's reads that the disk's counters lack, and the counts in words. None where the reads of the last moments explain it.
pub fn missing_reads(s: &StepFigures) -> Option<(f64, String)> {
    missing_from_disk(s, s.disk.reads, "reads").filter(|_| s.load.reads == Some(true))
}

/// The share by which the disk's counters of a report may be wrong: tools read them a moment before the end.
pub(super) fn counter_error(s: &StepFigures) -> f64 {
    match s.rate.window.map(Nanos::as_seconds) {
        Some(t) if t > 0.0 => (COUNTERS_EARLY / t).max(SETS_THE_FIGURE),
        _ => SETS_THE_FIGURE,
    }
}

/// `counts`: those of the direction, where it is counted apart.
fn missing_from_disk(
    s: &StepFigures,
    counts: Option<DirectionCounts>,
    direction: &str,
) -> Option<(f64, String)> {
    let all = counts.or_else(|| {
        Some(DirectionCounts { ios: s.rate.ios?, bytes: s.rate.bytes_in_window(), device: s.disk.own? })
    });
    let DirectionCounts { ios, bytes: moved, device } = all?;
    // Of I/Os of several sizes only the large ones may be split, so that bytes are compared and not counts.
    let bytes = device.bytes.zip(moved).filter(|_| s.load.block.is_none());
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
    let missing = (1.0 - seen).min(1.0);
    (missing > counter_error(s)).then(|| {
        let share = significant(missing * 100.0);
        (missing, format!("{evidence}: {share} % are not among its counters"))
    })
}
