//! `same-range`: sequential jobs went over the same range.
//!
//! **Why it matters:** all but the first may find their blocks in caches.
//!
//! **What to do:** give each job a part of its own, or test random I/O.
//!
//! **Source:** the offsets and sizes that the report lists.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_record::ReportProgram;

/// All jobs use the same part of the target.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = case.on_a_device()?;
    let jobs = t.conditions.jobs_over_one_range()?;
    Some(Doubt::new(
        Severity::Warning,
        DoubtCode::SameRange,
        format!(
            "{jobs} sequential jobs went over the same range: all but the first may find their blocks in caches"
        ),
        match t.program {
            ReportProgram::Fio => "add offset_increment=10% (or a file per job), or test random I/O",
            ReportProgram::Diskspd => {
                "give the threads parts of their own (-T), use one thread, or test random I/O (-r)"
            }
            _ => "use one job, or test random I/O",
        },
    ))
}
