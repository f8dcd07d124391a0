//! `buffered-writes`: writes went through the page cache.
//!
//! **Why it matters:** a write ends in memory, and the kernel writes it to the disk later: the rate is not that of the disk.
//!
//! **What to do:** use direct I/O (the default, without `--buffered`).
//!
//! **Source:** the plan, and the bytes that the disk's counters show at the end of the step.

use super::DoubtCase;
use crate::thresholds::NEGLIGIBLE;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::{Bytes, total};
use volproof_record::Conditions;

/// Writes went through the page cache: they end in memory, and the kernel writes them to the disk later.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let (plan, step) = (case.plan?, case.step);
    let conditions = Conditions::of_step(plan, 1);
    let write = step.write.as_ref().filter(|_| conditions.memory_answers())?;
    let waits = conditions.fsync.get() == Some(1);
    let written: u64 = total(case.evidence.disks.iter().flat_map(|d| d.written_bytes.iter().copied()));
    let missing = 1.0 - written as f64 / write.bytes.0.max(1) as f64;
    // The counters of a stage are those of all its steps.
    let seen = !case.evidence.disks.is_empty() && case.others.is_empty() && write.bytes.0 > Bytes::MIB.0;
    let message = if waits {
        "each write waited for its flush, but the reads went through the page cache, and those that memory holds never reach the disk".into()
    } else if seen && missing > NEGLIGIBLE {
        format!(
            "{:.0} % of the bytes written had not reached the disk when the step ended: they were in the page cache",
            missing * 100.0
        )
    } else {
        "writes went through the page cache, and a write ends in memory: the rate is not that of the disk"
            .into()
    };
    Some(Doubt::new(
        // The application whose load it is has its needs of the flushes.
        if plan.fsync > 0 && case.published { Severity::Warning } else { Severity::Blocker },
        DoubtCode::BufferedWrites,
        message,
        "use direct I/O (the default, without --buffered) to measure the volume",
    ))
}
