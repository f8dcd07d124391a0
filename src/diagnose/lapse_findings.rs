//! Times in which requests waited and the volume did nothing, or far too little.
//!
//! `likely` at most: the engine saw requests in flight and no completion, but a guest that was paused as a whole, or load threads that got
//! no CPU, look the same from inside. CPU time and steal have rules of their own.
//! Where the disk served others in these times, as its own counters show, or may have: `possible`.

use super::{Confidence, DiagnosisCase, FILLED_BY_FEW, Finding, MeasuredStep};
use crate::codes;
use crate::record::{Intervention, StepRecord};
use crate::sample::PER_SECOND;
use crate::stats::LEAST_SEEN;
use crate::stats::gaps::Stops;
use crate::stats::lapses::{Event, Lapse};
use crate::stats::moments::{mean, median};
use crate::unit::{Bytes, Nanos, counted, significant, total};

/// The number of events that are listed; the others are only counted.
const TOLD: usize = 5;

/// Stalls with a longer period than this, in seconds, leave whole seconds without I/Os.
const SECOND: f64 = 1.05;
/// Where seconds differ by more than this share, neither a quota nor stops at equal distances explain them.
const UNEVEN: f64 = 0.1;

/// Stalls that take this share of the run are what its slow I/Os waited for.
const MUCH_STALLED: f64 = 0.05;
/// Stops with less than this share of the time that they would have all the time fill a part of the run.
const MOST: f64 = 0.8;
/// So many of the distances between stalls differ from the usual one by a tenth at most.
const REGULAR: f64 = 0.8;

/// I/Os and bytes a second outside of the stalls and brown-outs, where there are such.
pub fn rates_outside(case: &DiagnosisCase<'_>) -> Option<(f64, f64)> {
    let step = case.run?.step;
    let lapses = Some(case.run?.lapses).filter(|all| !all.is_empty())?;
    // Start and end lie somewhere within their bins.
    let lapsed = |i: usize| lapses.iter().any(|e| (e.bins().start..=e.bins().end).contains(&i));
    let rate = |bytes: bool| {
        let bins = super::bins(step, bytes);
        let rest: Vec<f64> =
            bins.iter().enumerate().filter(|(i, _)| !lapsed(*i)).map(|(_, n)| *n as f64).collect();
        (!rest.is_empty()).then(|| mean(&rest) * PER_SECOND as f64)
    };
    Some((rate(false)?, rate(true)?))
}

/// A filesystem's journal and the like write less than this while a volume stands still.
const SERVED: Bytes = Bytes::mib(1);

/// Bytes that the disk moved, by its own counters, in seconds that lie wholly within such times: those of others, since none of ours completed.
fn moved_meanwhile(step: &StepRecord, events: &[&Event]) -> Option<Bytes> {
    let counters = &step.evidence;
    let begins = std::iter::once(Nanos(0)).chain(counters.at_ns.iter().copied());
    let within = |(from, to): (Nanos, &Nanos)| {
        events.iter().any(|e| {
            let start = e.start_ns.0.saturating_add(counters.window_starts_ns.0);
            from.0 >= start && to.0 <= start.saturating_add(e.length_ns.0)
        })
    };
    let seconds: Vec<bool> = begins.zip(&counters.at_ns).map(within).collect();
    let of =
        |column: &[u64]| total(column.iter().zip(&seconds).filter(|(_, within)| **within).map(|(n, _)| *n));
    let each = counters.disks.iter().map(|disk| of(&disk.read_bytes).saturating_add(of(&disk.written_bytes)));
    Some(Bytes(total(each))).filter(|moved| *moved >= SERVED)
}

/// The stalls of the run.
fn stalls<'a>(run: &MeasuredStep<'a>) -> impl Iterator<Item = &'a Event> {
    run.lapses.iter().filter(|e| e.lapse == Lapse::Stall)
}

/// Whether stalls take much of the run: then two speeds of its I/Os are no sign of a throttle.
pub fn stalls_much(case: &DiagnosisCase<'_>) -> bool {
    case.run.is_some_and(|run| {
        if was_suspended(run.step) {
            return true;
        }
        let window = run.step.window_ns;
        Event::seconds_within(stalls(&run), window) >= MUCH_STALLED * window.as_seconds()
    })
}

/// The program itself stood still for a time, which looks as if the volume had: the doubt `suspended` says so, and no lapse of the volume is
/// told beside it.
fn was_suspended(step: &StepRecord) -> bool {
    step.interventions.iter().any(|i| matches!(i, Intervention::Suspended { .. }))
}

/// Nothing completed for a time.
pub fn stall(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let period = period(&case.run?);
    // Stalls of each second are told by `on_off`, except those that last longer than their period.
    let longer = |e: &Event| period.is_none_or(|p| p > SECOND || e.length_ns.as_seconds() > p);
    let finding = of(case, Lapse::Stall, codes::STALL, "nothing completed", longer)?;
    let Some(period) = period.filter(|p| *p > SECOND && case.summary.offered.is_none()) else {
        return Some(finding);
    };
    Some(
        Finding { advice: lower_rate(case), ..finding }
        .because(format!(
            "they begin every {} s: a throttle that hands out its quota at that distance does this, and so does a volume that stops",
            significant(period)
        ))
        .number(codes::figure::PERIOD_SECONDS, period),
    )
}

/// The period of the stalls in seconds, where they begin at equal distances.
fn period(run: &MeasuredStep<'_>) -> Option<f64> {
    let starts: Vec<f64> = stalls(run).map(|e| e.start_ns.as_seconds()).collect();
    let distances: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let period = median(&distances).filter(|_| distances.len() >= 3)?;
    let regular = distances.iter().filter(|d| (*d / period - 1.0).abs() <= 0.1).count() as f64;
    (regular >= REGULAR * distances.len() as f64).then_some(period)
}

/// Stalls that return in each second, of which nothing tells whether a quota or a volume that stops makes them.
fn stalls_of_each_second(run: &MeasuredStep<'_>) -> Option<Stops> {
    let period_seconds = period(run).filter(|p| *p <= SECOND)?;
    let lengths = stalls(run).map(|e| e.length_ns.as_seconds());
    let lengths: Vec<f64> = lengths.filter(|length| *length <= period_seconds).collect();
    Some(Stops {
        period_seconds: Some(period_seconds),
        stop_seconds: median(&lengths)?,
        silent_share: lengths.iter().sum::<f64>() / run.step.window_ns.as_seconds().max(1e-9),
    })
}

/// The advice for a run that tells a quota from a volume that stops.
fn lower_rate(case: &DiagnosisCase<'_>) -> String {
    let rate = case.summary.iops.map_or(0.0, |x| 0.9 * x);
    format!(
        "run it at a lower rate (--rate-iops {rate:.0}): a throttle's quota is not used up then, and where the stalls stay the volume stops by itself"
    )
}

/// Nothing completes for a part of each period, of a second at most or of a part of a second: each second has its I/Os, and I/Os that come
/// in between wait.
///
/// `likely`: the grid shows the pauses. Their cause stays open, since a quota and a volume that stops look alike here.
pub fn on_off(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let run = case.run.filter(|run| !was_suspended(run.step))?;
    let MeasuredStep { step, load, .. } = run;
    let stops = load.stops().or_else(|| stalls_of_each_second(&run))?;
    let (told, sure) = load.share_of(&stops);
    // I/Os that are slow one by one, all of which began with the run, come back together for a minute or two at any depth. A few of them may fill a
    // shallow queue now and then: each lasts longer than such a pause, and the seconds differ.
    let s = &case.summary;
    let uneven = s.cv_of_seconds.is_some_and(|cv| cv > UNEVEN);
    let shorter = s.outlasts(stops.stop_seconds);
    let filled_now_and_then = uneven && shorter && s.mean_where_slow_ios_fill(FILLED_BY_FEW).is_some();
    if s.slow_one_by_one() || filled_now_and_then {
        return None;
    }
    // What others have done meanwhile is no stop of the volume, and a few in a short run may be chance.
    let others = super::validity::other_traffic(case).is_some();
    let seen = !others && step.window_ns >= LEAST_SEEN;
    let finding = Finding::new(
        codes::ON_OFF,
        if seen { Confidence::Likely } else { Confidence::Possible },
        format!(
            "The volume does nothing {}for {}{} % of the time: {}.",
            if others { "of this load " } else { "" },
            if sure { "" } else { "at least " },
            significant(100.0 * told),
            how_often(&stops, told, sure)
        ),
        lower_rate(case),
    )
    .because("requests waited meanwhile; an I/O that comes at such a time waits for its end, which the percentiles of a load that waits for completions do not show")
    .number(codes::figure::SILENT_SHARE, stops.silent_share);
    let Some(period) = stops.period_seconds else {
        return Some(finding.because(
            "the requests waited for longer than that in all: other stops follow each other too closely to be told one by one",
        ));
    };
    Some(
        finding
            .number(codes::figure::STOP_SECONDS, stops.stop_seconds)
            .number(codes::figure::PERIOD_SECONDS, period),
    )
}

/// The length and distance of stops that take this share of the run, in words.
fn how_often(stops: &Stops, share: f64, sure: bool) -> String {
    let Some(period) = stops.period_seconds else { return "it stops again and again".into() };
    let in_part = stops.silent_share < MOST * stops.stop_seconds / period;
    let length = stops.stop_seconds * share / stops.silent_share;
    format!(
        "{}it stops for {} {} in every {} s",
        if in_part { "in a part of the run " } else { "" },
        if sure { "about" } else { "at least" },
        Nanos((length * 1e9) as u64),
        significant(period)
    )
}

/// About half of the usual rate, or less, for a time.
pub fn brown_out(case: &DiagnosisCase<'_>) -> Option<Finding> {
    of(case, Lapse::BrownOut, codes::BROWN_OUT, "about half of the median rate or less completed", |_| true)
}

/// A brown-out at the start of a run. The cause is left open: nothing tells a warm-up, blocks that are read for the first time and a volume
/// that was slow at that moment from each other, and where the reads themselves speak for loading, `lazy-loading` says so.
pub fn slow_start(case: &DiagnosisCase<'_>) -> Option<Finding> {
    if super::validity::lazy_loading(case).is_some() {
        return None;
    }
    let finding = of(
        case,
        Lapse::SlowStart,
        codes::SLOW_START,
        "about half of the median rate or less completed",
        |_| true,
    )?;
    let seconds = finding.numbers.get(codes::figure::LOST_SECONDS).copied().unwrap_or(0.0).ceil();
    let advice = format!(
        "run it again: a volume that loads its blocks from a snapshot is not slow a second time (volproof cold tells those), one that warms up is, and \
         --ramp {seconds}s leaves that out"
    );
    Some(Finding { headline: format!("The run began slowly. {}", finding.headline), advice, ..finding })
}

fn of(
    case: &DiagnosisCase<'_>,
    lapse: Lapse,
    code: &str,
    words: &str,
    told: impl Fn(&Event) -> bool,
) -> Option<Finding> {
    let MeasuredStep { step, load, lapses, .. } = case.run.filter(|run| !was_suspended(run.step))?;
    let all: Vec<&Event> = lapses.iter().filter(|e| e.lapse == lapse && told(e)).collect();
    let least = if all.iter().all(|e| load.length_of(e).1) { "" } else { "at least " };
    let length = |e: &Event| load.length_of(e).0;
    let longest = all.iter().map(|e| length(e)).max()?;
    let lost: f64 = all.iter().map(|e| length(e).as_seconds()).sum();
    let window = step.window_ns;
    let share_of_run = |ns: f64| ns / window.as_seconds().max(1e-9);
    let within = |e: &Event| load.length_within(e, window).as_seconds();
    let inside: f64 = all.iter().map(|e| within(e)).sum();
    let share = share_of_run(inside);
    let after = match lost > inside {
        true => format!(" ({} s of it after the window)", significant(lost - inside)),
        false => String::new(),
    };
    let headline = match all.len() {
        1 => format!("For {least}{} s{after} {words}, although requests waited.", significant(lost)),
        n => format!(
            "In {n} stretches, {least}{} s in all{after}, {words}, although requests waited; the longest took {least}{} s.",
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
    .number(codes::figure::EVENTS, all.len() as f64)
    .number(codes::figure::LOST_SECONDS, lost)
    .number(codes::figure::LOST_SHARE, share)
    .number("longest_seconds", longest.as_seconds());
    for e in all.iter().take(TOLD) {
        let of_run = match e.length_within(window) {
            whole if whole == e.length_ns => {
                format!("{} % of the run", significant(100.0 * share_of_run(within(e))))
            }
            part => format!(
                "of which {} s lie after the end of the window",
                significant((e.length_ns.0 - part.0) as f64 / 1e9)
            ),
        };
        finding = finding.because(format!(
            "from {} s on, for {least}{} s, {of_run}, with {} in flight",
            significant(e.start_ns.as_seconds()),
            significant(length(e).as_seconds()),
            counted(e.requests.round() as u64, "request")
        ));
    }
    let mut finding = match all.len().checked_sub(TOLD) {
        Some(more) if more > 0 => finding.because(format!("and {more} more")),
        _ => finding,
    };
    if let Some(moved) = moved_meanwhile(step, &all).filter(|_| lapse == Lapse::Stall) {
        finding.confidence = Confidence::Possible;
        finding.advice = "stop what else uses the disk, then run it again".into();
        finding = finding.because(format!(
            "the disk moved {moved} in these times: it served others, and the requests of this load waited behind theirs"
        ));
    }
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::DiskTrack;

    #[test]
    fn bytes_of_whole_seconds_within_a_stall_are_those_of_others() {
        let mut step = StepRecord::default();
        // The window begins at 1 s of the counters' clock.
        step.evidence.window_starts_ns = Nanos::seconds(1);
        step.evidence.at_ns = (1..=10).map(Nanos::seconds).collect();
        let written_bytes = (1..=10).map(|i| i << 20).collect();
        step.evidence.disks = vec![DiskTrack { written_bytes, ..DiskTrack::default() }];
        let stall = |start, length| Event {
            lapse: Lapse::Stall,
            start_ns: Nanos::millis(start),
            length_ns: Nanos::millis(length),
            requests: 32.0,
        };
        // From 3.5 s to 6.2 s of the counters' clock: the seconds to 5 s and to 6 s.
        assert_eq!(moved_meanwhile(&step, &[&stall(2500, 2700)]), Some(Bytes::mib(5 + 6)));
        assert_eq!(moved_meanwhile(&step, &[&stall(2500, 900)]), None, "no second lies within it");
        step.evidence.disks[0].written_bytes.fill(4096);
        assert_eq!(moved_meanwhile(&step, &[&stall(2500, 2700)]), None, "a journal");
    }
}
