//! `other-traffic`: the disk did more than the load asked for.
//!
//! **Why it matters:** something else used the disk at the same time. Without it the rate is this or more, and latencies are these or less. No promise
//! fails by these figures, unless all that others did would not have been enough either.
//!
//! **What to do:** stop it (a filesystem's journal, a snapshot, another process or job).
//!
//! **Source:** the disk's counters (`/sys/block/DISK/stat`, or those of a report) less the I/Os of the load.

use super::DoubtCase;
use super::disk_counters::counter_error;
use super::splits::MORE_REQUESTS;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::stats::limit_answer::TOLERANCE;
use volproof_base::unit::{Bytes, Nanos, significant, total};
use volproof_plan::{EngineKind, Step};
use volproof_record::{StepFigures, StepRecord, most_parts};

/// Less than this is no traffic worth a word, however short the step.
const FEW_BYTES: u64 = 4 * Bytes::MIB.0;
/// The samples of the counters and our window may differ by a tenth of a second at both ends.
const EDGES: Nanos = Nanos::millis(200);

/// The disk's counters less ours.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let message = if case.reported.is_some() {
        other_direction(&case.figures).or_else(|| more_requests(&case.figures))?
    } else {
        beyond_ours(case).or_else(|| written_beside_reads(case))?
    };
    Some(Doubt::new(
        Severity::Warning,
        DoubtCode::OtherTraffic,
        message,
        "stop it (a filesystem's journal, a snapshot, another process or job): without it the rate is this or more, and latencies are these or less",
    ))
}

/// The counters of the disk are those of the step: of a real one, or of a simulated one that others use.
fn has_counters(plan: &Step, step: &StepRecord) -> bool {
    match &plan.simulate {
        Some(device) => device.has_counters(),
        None => step.engine.get() != Some(EngineKind::Null),
    }
}

/// Bytes that the disk moved beyond those of a direct load, in words.
pub(super) fn beyond_ours(case: &DoubtCase<'_>) -> Option<String> {
    case.plan.filter(|plan| plan.direct && has_counters(plan, case.step))?;
    let moved = bytes(&case.figures, case.step)?;
    is_beyond_ours(moved, case.step).then(|| {
        let (device, ours) = (Bytes(moved.0 as u64), Bytes(moved.1 as u64));
        format!(
            "the disk moved {device} during this step, and only {ours} were ours: {} % more",
            significant((moved.0 / moved.1 - 1.0) * 100.0)
        )
    })
}

/// Bytes that the disk moved in the window of a step, and those of the load.
pub(crate) fn bytes(figures: &StepFigures, step: &StepRecord) -> Option<(f64, f64)> {
    Some((figures.disk.own?.bytes?, figures.rate.bytes_per_second? * step.window_ns.as_seconds()))
}

/// Of the bytes that the disk moved in a step and those of the load, so many more were moved that others moved them.
pub(crate) fn is_beyond_ours((device, ours): (f64, f64), step: &StepRecord) -> bool {
    let edges = EDGES.as_seconds() / step.window_ns.as_seconds();
    device / ours - 1.0 > TOLERANCE + edges && device - ours > FEW_BYTES as f64
}

/// The disk was written to while all steps of the stage only read: whatever is written comes from elsewhere.
fn written_beside_reads(case: &DoubtCase<'_>) -> Option<String> {
    let quiet = |(plan, step): (&Step, &StepRecord)| {
        has_counters(plan, step) && plan.direct && !plan.rw.changes_data()
    };
    if case.evidence.disks.is_empty() || !case.stage().all(quiet) {
        return None;
    }
    let written: u64 = total(case.evidence.disks.iter().flat_map(|d| d.written_bytes.iter().copied()));
    let ours: u64 = total(case.stage().filter_map(|(_, s)| Some(s.read.as_ref()?.bytes.0)));
    let share = written as f64 / ours.max(1) as f64;
    (share > TOLERANCE && written > FEW_BYTES).then(|| {
        format!("{} were written to the disk during this reading step, not by volproof", Bytes(written))
    })
}

/// By a report: reads beside a load of writes, or writes beside a load of reads. The journal of a filesystem does little.
fn other_direction(s: &StepFigures) -> Option<String> {
    let (others, ios) = (s.disk.other_direction?, s.rate.ios.filter(|ios| *ios > 0.0)?);
    let by_bytes = others.bytes.zip(s.rate.bytes_in_window()).map_or(0.0, |(others, ours)| others / ours);
    let share = (others.ios / ios).max(by_bytes);
    let (did, load) = if s.load.reads == Some(true) { ("write", "read") } else { ("read", "write") };
    (share > TOLERANCE && others.ios > 0.0).then(|| {
        format!(
            "the disk completed {} {did}s beside the {} {load}s of the load",
            significant(others.ios),
            significant(ios)
        )
    })
}

/// By a report: more requests than the I/Os can have been split into, or more than their rate.
fn more_requests(s: &StepFigures) -> Option<String> {
    let (device, ios, block) = (s.disk.own?, s.rate.ios?, s.load.block?);
    let each = (device.ios + device.merges) / ios;
    let beyond_splits = each > MORE_REQUESTS && each > most_parts(block);
    (!s.load.flushes && (beyond_splits || is_beyond_the_rate(s))).then(|| {
        format!(
            "the disk completed {} requests while {} I/Os were done, which are too small to be split into so many",
            significant(device.ios),
            significant(ios)
        )
    })
}

/// The disk completed more requests a second than the load. This shows others only where the counters cover a known time and no I/O can be
/// split.
fn is_beyond_the_rate(s: &StepFigures) -> bool {
    let (Some(device), Some(counted), Some(window)) = (s.disk.own, s.disk.time, s.rate.window) else {
        return false;
    };
    let (Some(ios), Some(block)) = (s.rate.ios, s.load.block) else { return false };
    let share = device.ios / counted.as_seconds() / (ios / window.as_seconds()) - 1.0;
    s.load.direct == Some(true) && most_parts(block) <= 1.0 && share.is_finite() && share > counter_error(s)
}
