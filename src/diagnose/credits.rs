//! Credits: what was delivered at the start and will not be delivered again.

use super::summary::bins;
use super::throttle::rate;
use super::{Confidence, DiagnosisCase, Finding};
use crate::stats::burst::BurstSeen;
use crate::unit::significant;

fn found(case: &DiagnosisCase<'_>) -> Option<(BurstSeen, f64)> {
    let run = case.run?;
    let b = BurstSeen::of(&bins(run.step, false))?;
    Some((b, run.step.window_ns.as_seconds()))
}

/// The rate fell from one level to another: figures of the whole run are those of neither.
pub fn fell(case: &DiagnosisCase<'_>) -> bool {
    found(case).is_some_and(|(b, _)| b.seconds >= 1.0)
}

/// The rate fell from one stable level to another.
pub fn credits(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let (b, seconds) = found(case).filter(|(b, _)| b.seconds >= 1.0)?;
    let x = case.summary.iops?;
    Some(
        Finding::new(
            "burst",
            Confidence::Likely,
            format!(
                "A burst of {}/s lasted {} s; the baseline after it is {}/s.",
                rate(b.level_per_second),
                significant(b.seconds),
                rate(b.baseline_per_second)
            ),
            "size for the baseline: credits come back only while the volume does less than it",
        )
        .because(format!(
            "the rate fell from {}/s to {}/s after {} s and stayed there for {} s",
            rate(b.level_per_second),
            rate(b.baseline_per_second),
            significant(b.seconds),
            significant(seconds - b.seconds)
        ))
        .because(format!(
            "about {} I/Os came on top of the baseline; the whole run, {}/s, over-reports it by {} %",
            rate(b.surplus),
            rate(x),
            significant((x / b.baseline_per_second - 1.0) * 100.0)
        ))
        .number("burst_per_second", b.level_per_second)
        .number("burst_seconds", b.seconds)
        .number("baseline_per_second", b.baseline_per_second)
        .number("credits_ios", b.surplus),
    )
}

/// The first moment let more through than any later one: a bucket that was full.
pub fn first_quota(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let (b, seconds) = match found(case) {
        Some(found) => found,
        None => return of_surplus(case),
    };
    (b.seconds < 1.0).then(|| {
        Finding::new(
            "full-bucket-at-start",
            Confidence::Likely,
            format!("A full bucket at the start added {}/s to the rate.", rate(b.adds_per_second(seconds))),
            "a longer run, or a ramp (--ramp 2s), leaves it out",
        )
        .because(format!(
            "the first {} s let {} I/Os more through than the same time later",
            significant(b.seconds),
            rate(b.surplus)
        ))
        .number("surplus_ios", b.surplus)
        .number("baseline_per_second", b.baseline_per_second)
    })
}

/// From a report without samples: a rate a little above the cap, by no more than one quota.
fn of_surplus(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let s = &case.summary;
    let (x, p, seconds) = (s.iops?, s.promised?.iops, s.window?.as_seconds());
    let quota = super::throttle::TokenBucket::of(s)?.quota;
    let surplus = (x - p) * seconds;
    (case.run.is_none() && surplus > 0.05 * quota && surplus <= 1.1 * quota).then(|| {
        Finding::new(
            "full-bucket-at-start",
            Confidence::Possible,
            format!("A full bucket at the start explains the {}/s above the cap.", rate(x - p)),
            "a longer run, or a ramp, leaves it out",
        )
        .because(format!(
            "({} - {}) x {} s = {} I/Os, {} of one quota",
            rate(x),
            rate(p),
            significant(seconds),
            rate(surplus),
            significant(surplus / quota)
        ))
        .number("surplus_ios", surplus)
    })
}
