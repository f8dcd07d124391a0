//! `cache-unknown`: a report does not show whether the page cache was bypassed.
//!
//! **Why it matters:** without direct I/O the page cache takes the I/O.
//!
//! **What to do:** look at the command line or the job file.
//!
//! **Source:** the options that the report lists, and the latencies of submission.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_record::{ReportProgram, ReportedFigures};

/// A request whose submission takes less than this share of its latency waited at the device.
const HANDED_OVER: f64 = 0.1;

/// The report does not say whether the load went through the page cache, and its figures do not exclude it.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = case.on_a_device().filter(|t| t.conditions.direct.is_unknown())?;
    // Requests that the kernel took at once, and that then waited side by side, bypassed the cache. One that waits for those before it to be
    // submitted has a small share of submission too.
    let handed_over =
        |(_, f): &(&str, &ReportedFigures)| share_of_submission(f).is_some_and(|s| s < HANDED_OVER);
    let side_by_side = case.figures.load.in_flight.is_some_and(|n| n >= 2.0)
        && case.figures.cpu.waits_to_submit.is_none()
        && t.report.parts().iter().any(handed_over);
    (!side_by_side).then(|| {
        Doubt::new(
            Severity::Note,
            DoubtCode::CacheUnknown,
            format!(
                "the report does not show whether {} was set: without it the page cache takes the I/O",
                t.program.direct_option()
            ),
            match t.program {
                ReportProgram::Fio => "look at the command line or job file; fio's JSON holds it",
                _ => "look at the command line, and give it with the report",
            },
        )
    })
}

/// The share of a latency that the submitting call took.
fn share_of_submission(f: &ReportedFigures) -> Option<f64> {
    let (submission, total) = (f.submission.as_ref()?, f.total.as_ref()?);
    (total.mean > 0.0 && submission.mean > 0.0).then(|| submission.mean / total.mean)
}
