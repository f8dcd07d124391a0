//! `short-ios`: I/Os moved less than their blocks.
//!
//! **Why it matters:** they count as whole ones, so that the rate is too high.
//!
//! **What to do:** look for the end of the file or device within the range (did it shrink?), and for errors in the kernel log (`dmesg`).
//!
//! **Source:** bytes and I/Os of the step, or the report's own count.

use super::DoubtCase;
use crate::thresholds::NEGLIGIBLE;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::sample::Direction;
use volproof_base::unit::{grouped, total};
use volproof_record::ReportProgram;

/// From this share of short or dropped I/Os on, a rate is not usable. The tool counts them as whole I/Os, so that the rate is too high by
/// that share, and the percentile with that share above it may consist of such I/Os alone. The share is a twentieth of the tolerance of a
/// promise.
const SHORT_SHARE: f64 = 0.001;

/// The I/Os of a measured step moved less than their blocks. The installed fio counts what it does beyond the end of a file that shrank, without an error.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    if case.reported.is_some() {
        return of_report(case);
    }
    let plan = case.plan?;
    let (d, s, block) = [Direction::Read, Direction::Write].into_iter().find_map(|d| {
        let (s, block) = (case.step.direction(d)?, plan.bs.single()?);
        ((s.bytes.0 as f64) < (1.0 - NEGLIGIBLE) * s.ios as f64 * block.0 as f64).then_some((d, s, block))
    })?;
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::ShortIos,
        format!(
            "{} {}s of {block} moved {} in all: less than their blocks",
            grouped(s.ios),
            d.name(),
            s.bytes
        ),
        "look for the end of the file or device within the range (did it shrink?), and for errors in the kernel log (dmesg)",
    ))
}

/// Some I/Os moved less than their block.
fn of_report(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = case.on_a_device()?;
    let reported = t.report;
    let short = total(reported.parts().iter().map(|(_, f)| f.short_ios));
    let share = short as f64 / reported.ios();
    let flushed = t.conditions.fsync.get().is_some_and(|n| n > 0);
    (short > 0 && share.is_finite() && !flushed).then(|| {
        Doubt::new(
            if share >= SHORT_SHARE { Severity::Blocker } else { Severity::Warning },
            DoubtCode::ShortIos,
            format!(
                "{} of {} I/Os were cut short or dropped, and count as whole ones",
                grouped(short),
                grouped(reported.ios().round() as u64)
            ),
            match t.program {
                ReportProgram::Dd => {
                    "add iflag=fullblock where dd reads from a pipe; else look for errors in the kernel log (dmesg)"
                }
                _ => {
                    "look for the end of the file or device within the range, and for errors in the kernel log (dmesg)"
                }
            },
        )
    })
}
