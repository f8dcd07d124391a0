//! `reads-from-memory`: reads never reached the disk's own counters.
//!
//! **Why it matters:** memory above the disk answered them: the page cache, a layer below, blocks that were never written.
//!
//! **What to do:** use direct I/O (the default) on a range that was written before.
//!
//! **Source:** the disk's counters (`/sys/block/DISK/stat`, or those of a report) less the reads of the load.

use super::DoubtCase;
use super::disk_counters::missing_reads;
use crate::thresholds::NEGLIGIBLE;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::{Bytes, total};
use volproof_plan::EngineKind;
use volproof_record::Conditions;

/// Reads were answered by memory above the disk's own counters.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    if case.reported.is_some() {
        return of_report(case);
    }
    let (plan, step) = (case.plan?, case.step);
    let read = step.read.as_ref()?;
    if case.evidence.disks.is_empty() {
        return without_counters(&Conditions::of_step(plan, 1));
    }
    if case.ran_on(EngineKind::Null) {
        return None;
    }
    // Where other steps go through the page cache, their reads are the missing ones.
    if plan.direct && case.others.iter().any(|(p, s)| !p.direct && s.read.is_some()) {
        return None;
    }
    let device: u64 = total(case.evidence.disks.iter().flat_map(|d| d.read_bytes.iter().copied()));
    let asked: u64 = total(case.stage().filter_map(|(_, s)| Some(s.read.as_ref()?.bytes.0)));
    // The ramp also reached the device, so that a device count below ours is no rounding.
    let missing = 1.0 - device as f64 / asked.max(1) as f64;
    (missing > NEGLIGIBLE && read.bytes.0 > Bytes::MIB.0).then(|| {
        let (severity, why) = if plan.direct {
            (Severity::Warning, "direct I/O was asked for: a layer below answers from memory (unwritten blocks, a cache, or a stacked device)")
        } else {
            (Severity::Blocker, "the page cache answered: use direct I/O (the default) to measure the device")
        };
        Doubt::new(
            severity,
            DoubtCode::ReadsFromMemory,
            format!("{:.0} % of the bytes read never reached the disk's own counters", missing * 100.0),
            why,
        )
    })
}

/// Without counters of the disk nothing shows that reads through the page cache reached the volume.
fn without_counters(conditions: &Conditions) -> Option<Doubt> {
    conditions.memory_answers().then(|| {
        Doubt::new(
            Severity::Blocker,
            DoubtCode::ReadsFromMemory,
            "the reads went through the page cache, and no counter shows how many reached the volume",
            "use direct I/O (the default) to measure the volume",
        )
    })
}

/// Reads of a report that the disk never saw. Another tool read the counters, at a moment of its own: they prove nothing by themselves.
fn of_report(case: &DoubtCase<'_>) -> Option<Doubt> {
    let (_, evidence) = missing_reads(&case.figures)?;
    let (severity, advice) = match case.figures.load.direct {
        Some(true) => (
            Severity::Warning,
            "measure 300 s or more on a range that was written before: direct=1 was set, so that only blocks without data or counters of another moment explain it",
        ),
        Some(false) => (Severity::Blocker, "use direct I/O (direct=1) on a range that was written before"),
        None => (Severity::Blocker, "make sure that direct=1 was set and that the range was written before"),
    };
    let message = format!("part of the reads came from memory, not from the disk: {evidence}");
    Some(Doubt::new(severity, DoubtCode::ReadsFromMemory, message, advice))
}
