//! Credits: a higher rate at the start that the volume does not keep up.

use super::summary::bins;
use super::{Confidence, DiagnosisCase, Finding};
use crate::codes;
use crate::stats::burst::{BurstSeen, FEWEST};
use crate::unit::significant;

fn found(case: &DiagnosisCase<'_>) -> Option<(BurstSeen, f64)> {
    let run = case.run?;
    let b = BurstSeen::of(&bins(run.step, false))?;
    Some((b, run.step.window_ns.as_seconds()))
}

/// Whether the rate fell from one level to another, so that figures of the whole run are those of neither level.
pub fn fell(case: &DiagnosisCase<'_>) -> bool {
    found(case).is_some_and(|(b, _)| b.fell())
}

/// The rate fell from one stable level to another: a burst, if the lower level lasted.
pub fn credits(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let (b, seconds) = found(case).filter(|(b, _)| b.fell())?;
    let x = case.summary.iops?;
    let [level, baseline] = [b.level_per_second, b.baseline_per_second].map(significant);
    let (length, rest) = (b.length(), b.rest(seconds));
    let fell =
        format!("the rate fell from {level}/s to {baseline}/s after {length} and stayed there for {rest}");
    let others = super::validity::other_traffic(case).is_some();
    let stops = case.run.is_some_and(|run| run.load.stops_from(b.baseline_from_bin));
    let finding = if stops && !others {
        Finding::new(
            codes::BURST,
            Confidence::Possible,
            format!(
                "After {length} the rate fell from {level}/s to {baseline}/s, and the volume stops again and again from then on: stops that \
                 began, or credits that ended."
            ),
            "run it again: credits that are used up do not come back under this load, and stops may not return",
        )
        .because(fell)
        .because("between the stops the volume is as fast as before")
        .number("baseline_per_second", b.baseline_per_second)
    } else if b.has_baseline(seconds) && !others {
        Finding::new(
            codes::BURST,
            Confidence::Likely,
            format!("A burst of {level}/s lasted {length}; the baseline after it is {baseline}/s."),
            "size for the baseline: credits come back only while the volume does less than it",
        )
        .because(fell)
        .because(format!(
            "about {} I/Os came on top of the baseline; the whole run, {}/s, over-reports it by {} %",
            significant(b.surplus),
            significant(x),
            significant((x / b.baseline_per_second - 1.0) * 100.0)
        ))
        .number("baseline_per_second", b.baseline_per_second)
    } else {
        Finding::new(
            codes::BURST,
            Confidence::Possible,
            format!(
                "In its last {rest} the run did {baseline}/s, after {level}/s until then: a dip, {}or credits that ended.",
                if others { "what others did, " } else { "" }
            ),
            match others {
                true => "stop what else uses the disk, then run it again",
                false => "run it for longer: a dip ends, and a baseline stays",
            },
        )
        .because(fell + ", to its end")
        .number("last_per_second", b.baseline_per_second)
    };
    let finding = finding.number("burst_per_second", b.level_per_second).number("burst_seconds", b.seconds);
    Some(finding.number("credits_ios", b.surplus))
}

/// The first quota let more through than any later one: the bucket was full. I/Os that are slow one by one begin with quick ones as well.
pub fn first_quota(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let (b, seconds) = match found(case) {
        Some(found) => found,
        None => return of_surplus(case),
    };
    (!b.fell()).then(|| {
        let (confidence, added) = match case.summary.may_be_slow_one_by_one() {
            true => (Confidence::Possible, "may have added"),
            false => (Confidence::Likely, "added"),
        };
        Finding::new(
            codes::FULL_BUCKET_AT_START,
            confidence,
            format!(
                "A full bucket at the start {added} {}/s to the rate.",
                significant(b.adds_per_second(seconds))
            ),
            "a longer run, or a ramp (--ramp 2s), leaves it out",
        )
        .because(format!(
            "the first {} let {} I/Os more through than the same time later",
            b.length(),
            significant(b.surplus)
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
    (case.run.is_none() && surplus > (0.05 * quota).max(FEWEST) && surplus <= 1.1 * quota).then(|| {
        Finding::new(
            codes::FULL_BUCKET_AT_START,
            Confidence::Possible,
            format!("A full bucket at the start explains the {}/s above the cap.", significant(x - p)),
            "a longer run, or a ramp, leaves it out",
        )
        .because(format!(
            "({} - {}) x {} s = {} I/Os, {} of one quota",
            significant(x),
            significant(p),
            significant(seconds),
            significant(surplus),
            significant(surplus / quota)
        ))
        .number("surplus_ios", surplus)
    })
}
