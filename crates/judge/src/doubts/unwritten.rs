//! `unwritten`: a report does not show whether the blocks that were read had been written.
//!
//! **Why it matters:** a volume answers blocks without data without its medium.
//!
//! **What to do:** write the whole range once before reading it.
//!
//! **Source:** the targets that the report names.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_record::ReportProgram;

/// Reads of blocks that were never written are answered without the medium.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    // sysbench reads files that it wrote before.
    let t = case
        .on_a_device()
        .filter(|t| case.figures.load.reads == Some(true) && t.program != ReportProgram::Sysbench)?;
    // fio lays a file out before it reads it.
    let targets = t.conditions.targets.as_ref().map(Vec::as_slice).unwrap_or_default();
    let file = targets.first().is_some_and(|t| t.starts_with("/") && !t.starts_with("/dev/"));
    (!file).then(|| {
        Doubt::new(
            Severity::Note,
            DoubtCode::Unwritten,
            "the report does not show whether the blocks that were read had ever been written: others are answered without the medium",
            "write the whole range once before reading it",
        )
    })
}
