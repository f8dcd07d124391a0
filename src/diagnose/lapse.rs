//! Times in which requests waited and the volume did nothing, or far too little.
//!
//! `likely` at most: the engine saw requests in flight and no completion, but a guest that was paused as a whole, or load threads
//! that got no CPU, look the same from inside. The evidence of CPU time and steal is told by rules of its own.

use super::{Confidence, DiagnosisCase, Finding, SHALLOW};
use crate::record::StepRecord;
use crate::stats::event::{Event, Lapse, LoadGrid};
use crate::stats::gaps::Stops;
use crate::stats::moments::median;
use crate::unit::{Nanos, grouped, significant};

/// Events told one by one; the others are counted.
const TOLD: usize = 5;

/// A stop holds the I/Os of a shallow queue as long as it lasts: one that takes less than this share of the longest I/O is none.
const SHORTER: f64 = 0.9;
/// Stalls that return no more often than this leave seconds without I/Os, in seconds.
const SECOND: f64 = 1.05;
/// Seconds of a quota, and of stops at equal distances, differ by less.
const UNEVEN: f64 = 0.1;

/// Stalls and brown-outs of a step, over all its targets.
pub fn events(step: &StepRecord) -> Vec<Event> {
    LoadGrid::of(step.targets.iter().map(|t| &t.series)).events()
}

/// Stalls that take this share of the run are what its slow I/Os waited for.
const MUCH: f64 = 0.05;
/// So many of the distances between stalls differ from the usual one by a tenth at most.
const REGULAR: f64 = 0.8;

/// Stalls that take much of a run: two speeds of its I/Os are then no throttle's.
pub fn stalls_much(case: &DiagnosisCase<'_>) -> bool {
    case.run.is_some_and(|run| {
        let stalls = events(run.step).into_iter().filter(|e| e.lapse == Lapse::Stall);
        let lost: f64 = stalls.map(|e| e.length_ns.as_seconds()).sum();
        lost >= MUCH * run.step.window_ns.as_seconds()
    })
}

/// Nothing completed for a time.
pub fn stall(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let period = period(case.run?.step);
    // Those of each second are told as on and off, but for any that outlasts its second.
    let longer = |e: &Event| period.is_none_or(|p| p > SECOND || e.length_ns.as_seconds() > p);
    let finding = of(case, Lapse::Stall, "stall", "nothing completed", longer)?;
    let Some(period) = period.filter(|p| *p > SECOND && case.summary.offered.is_none()) else {
        return Some(finding);
    };
    Some(
        Finding { advice: lower_rate(case), ..finding }
        .because(format!(
            "they begin every {} s: a throttle that hands out its quota at that distance does this, and so does a volume that stops",
            significant(period)
        ))
        .number("period_seconds", period),
    )
}

/// The distance in seconds at which stalls begin, where they return at equal ones.
fn period(step: &StepRecord) -> Option<f64> {
    let stalls = events(step).into_iter().filter(|e| e.lapse == Lapse::Stall);
    let starts: Vec<f64> = stalls.map(|e| e.start_ns.as_seconds()).collect();
    let distances: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let period = median(&distances).filter(|_| distances.len() >= 3)?;
    let regular = distances.iter().filter(|d| (*d / period - 1.0).abs() <= 0.1).count() as f64;
    (regular >= REGULAR * distances.len() as f64).then_some(period)
}

/// Stalls that return in each second, of which nothing tells whether a quota or a volume that stops makes them.
fn stalls_of_each_second(step: &StepRecord) -> Option<Stops> {
    let period_seconds = period(step).filter(|p| *p <= SECOND)?;
    let stalls = events(step).into_iter().filter(|e| e.lapse == Lapse::Stall);
    let lost: f64 = stalls.map(|e| e.length_ns.as_seconds()).filter(|length| *length <= period_seconds).sum();
    Some(Stops { period_seconds, silent_share: lost / step.window_ns.as_seconds().max(1e-9) })
}

/// The run that tells a quota from a volume that stops.
fn lower_rate(case: &DiagnosisCase<'_>) -> String {
    let rate = case.summary.iops.map_or(0.0, |x| 0.9 * x);
    format!(
        "run it at a lower rate (--rate-iops {rate:.0}): a throttle's quota is not used up then, and where the stalls stay the volume stops by itself"
    )
}

/// Nothing completes for a part of each period, of a second at most or of a part of a second: each second has its I/Os, and I/Os that come
/// in between wait.
///
/// `likely`, as it is seen on the grid; the cause is told apart: a quota and a volume that stops look alike here.
pub fn on_off(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let step = case.run?.step;
    let Stops { silent_share: silent, period_seconds: period } =
        LoadGrid::of(step.targets.iter().map(|t| &t.series))
            .stops()
            .or_else(|| stalls_of_each_second(step))?;
    // A few slow I/Os fill a shallow queue now and then: each outlasts such a time, and no two seconds are alike.
    let s = &case.summary;
    let uneven = s.cv_of_seconds.is_some_and(|cv| cv > UNEVEN);
    let shorter = s.max.is_some_and(|max| silent * period < SHORTER * max.as_seconds());
    if s.held_by_slow(SHALLOW).is_some() && (s.slow_one_by_one() || uneven && shorter) {
        return None;
    }
    Some(
        Finding::new(
            "on-off",
            Confidence::Likely,
            format!(
                "The volume does nothing for {} % of the time: it stops for about {} in every {} s.",
                significant(100.0 * silent),
                Nanos((silent * period * 1e9) as u64),
                significant(period)
            ),
            lower_rate(case),
        )
        .because("requests waited meanwhile; an I/O that comes at such a time waits for its end, which the percentiles of a load that waits for completions do not show")
        .number("silent_share", silent)
        .number("period_seconds", period),
    )
}

/// Less than half of the usual rate for a time.
pub fn brown_out(case: &DiagnosisCase<'_>) -> Option<Finding> {
    of(case, Lapse::BrownOut, "brown-out", "less than half of the median rate completed", |_| true)
}

fn of(
    case: &DiagnosisCase<'_>,
    lapse: Lapse,
    code: &str,
    words: &str,
    told: impl Fn(&Event) -> bool,
) -> Option<Finding> {
    let step = case.run?.step;
    let all: Vec<Event> = events(step).into_iter().filter(|e| e.lapse == lapse && told(e)).collect();
    let longest = all.iter().map(|e| e.length_ns).max()?;
    let lost: f64 = all.iter().map(|e| e.length_ns.as_seconds()).sum();
    let share = lost / step.window_ns.as_seconds().max(1e-9);
    let headline = match all.len() {
        1 => format!("For {} s {words}, although requests waited.", significant(lost)),
        n => format!(
            "In {n} stretches, {} s in all, {words}, although requests waited; the longest took {} s.",
            significant(lost),
            significant(longest.as_seconds())
        ),
    };
    let mut finding = Finding::new(
        code,
        Confidence::Likely,
        headline,
        "look at the kernel log and the provider's events of that time; if the machine itself was not paused, send this Record to the provider's support",
    )
    .number("events", all.len() as f64)
    .number("lost_seconds", lost)
    .number("lost_share", share)
    .number("longest_seconds", longest.as_seconds());
    for e in all.iter().take(TOLD) {
        finding = finding.because(format!(
            "from {} s on, for {} s, {} % of the run, with {} requests in flight",
            significant(e.start_ns.as_seconds()),
            significant(e.length_ns.as_seconds()),
            significant(100.0 * e.length_ns.as_seconds() / step.window_ns.as_seconds().max(1e-9)),
            grouped(e.requests.round() as u64)
        ));
    }
    Some(match all.len().checked_sub(TOLD) {
        Some(more) if more > 0 => finding.because(format!("and {more} more")),
        _ => finding,
    })
}
