//! `buffered`: the load of a report went through the page cache.
//!
//! **Why it matters:** memory takes the writes and answers the reads, so that the rate is not that of the disk.
//!
//! **What to do:** use the option of the tool for direct I/O (`direct=1` of fio).
//!
//! **Source:** the options that the report lists.

use super::{DoubtCase, ReportOfStep};
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_record::Known;

/// The load went through the page cache.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = case.on_a_device().filter(|t| t.conditions.direct.get() == Some(false))?;
    let option = t.program.direct_option();
    let through = match &t.conditions.direct {
        Known::Assumed { why, .. } => format!("I/O most likely went through the page cache ({why})"),
        _ => format!("I/O went through the page cache ({option} was not given)"),
    };
    let severity = if t.conditions.memory_answers() { Severity::Blocker } else { Severity::Note };
    let advice = format!("add {option}; for the cache on purpose, say so and flush at the end");
    Some(Doubt::new(severity, DoubtCode::Buffered, through + &what_memory_did(case, t), advice))
}

/// What the page cache did with the I/Os of a load.
fn what_memory_did(case: &DoubtCase<'_>, t: &ReportOfStep<'_>) -> String {
    let c = t.conditions;
    if c.each_write_waits() {
        return ", and each write was flushed: the time is that of both".into();
    }
    if c.rw.is_unknown() {
        return ": memory takes writes and holds reads, and the rate is not that of the disk alone".into();
    }
    let reads = case.figures.load.reads == Some(true);
    match c.fsync.get().filter(|every| *every > 0) {
        _ if c.only_reads() => ": reads that memory holds never reach the disk".into(),
        Some(every) if !reads => {
            format!(": memory takes the writes, and only the flush after each {every} waits for the disk")
        }
        _ if reads => ": reads that memory holds never reach the disk, and writes end in memory".into(),
        _ => ": writes end in memory, and reach the disk when the kernel likes".into(),
    }
}
