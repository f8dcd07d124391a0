//! Limits that the load set itself: flushes between its I/Os, a rate, or pauses. They look like limits of the volume.

use super::{Confidence, DiagnosisCase, Finding};
use crate::codes;
use crate::record::{DrainedQueue, StepTarget};
use crate::sample::{GRID, PER_SECOND};
use crate::stats::little::in_flight;
use crate::unit::{Nanos, significant};

/// Flushes below this share of the time are not the limit.
const FLUSHES: f64 = 0.2;
/// From this share of the time on the rate is that of flushes.
const MOSTLY_FLUSHES: f64 = 0.9;
/// A rate within this share of the offered rate is the offered rate.
pub(super) const KEPT: f64 = 0.03;
/// A rate that misses the offered rate by more than this share misses more than a schedule explains: a backlog may grow.
const EXACT: f64 = 0.002;
/// A load that does more than this multiple of its rate is not held back by it: no random schedule explains that.
const ABOVE: f64 = 2.0;
/// Samples whose spread is below this share of their mean are as even as a clock.
const EVEN: f64 = 0.005;
/// With at least this many samples, such evenness is no chance.
const SAMPLES: u64 = 20;
/// A queue that is filled to less than this saw no load for most of the time.
pub const EMPTY: f64 = 0.5;
/// A queue that is filled to less than this waits for the load.
const FILLED: f64 = 0.9;
/// A queue that is full for so many bins of 100 ms has made the load wait: half a second leaves four whole ones.
const FULL_FOR: usize = 4;
/// A load that waits for more than this share of the time is hardly what sets the rate.
const MOSTLY: f64 = 0.5;

/// Time went into flushes.
///
/// `proven` where flushes were counted and each job does one thing at a time: then the time of flushes is no time of I/O. Else `likely`:
/// with more in flight, I/O goes on beside a flush, which has its share of the requests in flight; and where the number of flushes is
/// inferred from the rest of the time, pauses are not excluded.
pub fn flushes(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let s = &case.summary;
    let (f, window, jobs) = (s.flushes?, s.window?, s.jobs.filter(|n| *n > 0.0)?);
    // Threads that ended before others had less than the window.
    let time = s.threads_time.map_or(window.0 as f64 * jobs, |t| t.0 as f64);
    let running = time / window.0 as f64;
    let busy = s.iops.zip(s.mean_ns).map(|(x, mean)| x * mean * window.as_seconds());
    // A job that does one thing at a time flushes when it does no I/O.
    let left = busy.filter(|_| s.asked == Some(jobs)).map(|busy| (time - busy).max(0.0));
    let (count, counted) = match (f.count, left) {
        (Some(n), _) => (n, true),
        // No more than one comes behind an I/O.
        (None, Some(left)) => ((left / f.mean_ns).min(s.ios.unwrap_or(f64::INFINITY)), false),
        (None, None) => return None,
    };
    let under_way = count * f.mean_ns / window.0 as f64;
    // A job with less than one request in flight has the time of one.
    let all = s.iops.zip(s.mean_ns).map(|(x, mean)| (in_flight(x, mean) + under_way).max(running));
    let places = all.unwrap_or(running);
    let share = under_way / places;
    if !share.is_finite() || share < FLUSHES || f.mean_ns <= 0.0 || count < 1.0 {
        return None;
    }
    let mean = Nanos(f.mean_ns as u64);
    let alone = s.asked == Some(jobs);
    let own_pace = s.pauses.is_some()
        || s.offered.zip(s.iops).is_some_and(|(offered, x)| (x / offered - 1.0).abs() <= KEPT);
    let headline = if !alone && all.is_some() {
        format!(
            "Of the requests in flight {} % are flushes, {mean} each: {} are under way at any time.",
            significant(share * 100.0),
            significant(under_way)
        )
    } else if share < MOSTLY_FLUSHES || own_pace && share <= 1.02 {
        format!("Flushes take {} % of the time, {mean} each.", significant(share * 100.0))
    } else if share <= 1.02 {
        format!(
            "Flushes take {} % of the time: the rate is that of flushes, {mean} each.",
            significant(share.min(1.0) * 100.0)
        )
    } else {
        format!(
            "{} flushes were under way at any time, {mean} each{}.",
            significant(under_way),
            if own_pace { "" } else { ": they set the pace" }
        )
    };
    let mut finding = Finding::new(
        codes::FLUSHES,
        if counted && alone { Confidence::Proven } else { Confidence::Likely },
        headline,
        "compare it with what the volume promises for durable writes, or leave fsync and fdatasync out to see its rate; fewer flushes, each for more writes, give more",
    )
    .because(format!(
        "{}{} flushes x {mean} = {} s of {}",
        if counted { "" } else { "about " },
        significant(count),
        significant(count * f.mean_ns / 1e9),
        match (alone, significant(window.as_seconds())) {
            (true, of_all) if jobs <= 1.0 => format!("{of_all} s"),
            (true, _) if running < FILLED * jobs => {
                format!("{} s in all {jobs:.0} jobs together", significant(time / 1e9))
            }
            (true, of_each) => format!("{of_each} s x {jobs:.0} jobs"),
            (false, of_all) => format!("{of_all} s x {} in flight, I/Os and flushes", significant(places)),
        }
    ))
    .number("flush_share", share)
    .number(codes::figure::FLUSH_COUNT, count)
    .number("flush_mean_ms", f.mean_ns / 1e6);
    if let (Some(own), Some(ios)) = (s.mean_ns, s.ios) {
        let each = match ios / count {
            n if (0.95..1.05).contains(&n) => "I/O".to_string(),
            n if n >= 1.0 => format!("{} I/Os", significant(n)),
            n => {
                return Some(
                    finding.because(format!("there are {} flushes for each I/O", significant(1.0 / n))),
                );
            }
        };
        finding = finding.because(format!(
            "an I/O itself takes {}; there is one flush for each {each}",
            Nanos(own as u64)
        ));
    }
    Some(finding)
}

/// The load's own settings held it: a rate or pauses.
///
/// `proven` where the rate is the one asked for and room was left in the queue all the time, which excludes that the load ever waited for the
/// volume. Where it waited, a volume that ends at the same rate is not excluded: `likely`, and `possible` where it waited most of the time.
pub fn limited(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let s = &case.summary;
    let x = s.iops?;
    let queue = s.mean_ns.map(|mean| in_flight(x, mean)).zip(s.asked);
    let filled = queue.map(|(n, asked)| n / asked);
    let short = |finding: Finding| match queue {
        Some((n, asked)) => finding.because(format!(
            "{} were in flight on average, {} could have been",
            significant(n),
            significant(asked)
        )),
        None => finding,
    };
    if let Some(offered) = s.offered {
        let finding = limited_by_rate(case, x, offered, filled)?;
        return Some(short(finding).number("offered_per_second", offered));
    }
    if let Some(queue) = &s.drained_queue {
        return Some(short(limited_by_draining(queue, filled)));
    }
    let filled = filled.filter(|f| *f < FILLED && flushes(case).is_none())?;
    if let Some(pauses) = &s.pauses {
        return Some(short(limited_by_pauses(pauses)));
    }
    let own = s.busiest_thread.is_some_and(|b| b >= super::kernel::SATURATED);
    let even = s.samples.filter(|(spread, n)| *n >= SAMPLES && *spread < EVEN);
    if let Some((spread, n)) = even.filter(|_| !own && !s.pace_known) {
        let finding = short(Finding::new(
            codes::LOAD_LIMITED,
            Confidence::Possible,
            "The rate hardly moves while the queue is not full: the load may have held itself back.",
            "look for rate, rate_iops or thinktime in the job file or command line, which this report does not show",
        ))
        .because(format!("{n} samples of the rate differ by {} %", significant(spread * 100.0)))
        .number("spread", spread);
        return Some(finding);
    }
    (filled < EMPTY).then(|| short(limited_by_unknown(s.pace_known, filled)))
}

/// The load had a rate of `offered` I/Os a second and did `done`; `filled` is the share of the queue in use.
fn limited_by_rate(
    case: &DiagnosisCase<'_>,
    done: f64,
    offered: f64,
    filled: Option<f64>,
) -> Option<Finding> {
    let s = &case.summary;
    let open = case.run.and_then(|r| r.step.open_loop.as_ref());
    // A growing backlog is due to the volume, even while the queue still has room.
    if done > ABOVE * offered || open.is_some_and(|open| !open.sustained) {
        return None;
    }
    let told = s.pace.clone().unwrap_or_else(|| "its rate".into());
    // A random schedule of few I/Os misses its rate by chance: the arrivals are counted instead, and room in the queue shows that the
    // volume did not hold the load.
    let missed = |by: f64| (done / offered - 1.0).abs() > by;
    let due = open.zip(s.window).map(|(open, window)| open.arrivals as f64 / window.as_seconds().max(1e-9));
    let kept = !missed(KEPT) && due.is_none_or(|due| (done / due - 1.0).abs() <= EXACT);
    if !kept && !filled.is_some_and(|f| f < EMPTY) {
        return None;
    }
    let (waited, seconds) = (waited(case, offered), s.window.map_or(0.0, Nanos::as_seconds));
    let roomy = filled.is_some_and(|f| f < FILLED) && !missed(EXACT);
    let figure = if missed(EXACT) { format!("{} done", significant(done)) } else { "done".into() };
    let finding = Finding::new(
        codes::LOAD_LIMITED,
        match waited {
            Some(0.0) if roomy => Confidence::Proven,
            Some(full) if full > MOSTLY * seconds => Confidence::Possible,
            _ => Confidence::Likely,
        },
        format!(
            "The load held itself back: {}/s were asked for ({told}) and {figure}.",
            significant(offered)
        ),
        format!("leave {told} out to see what the volume can do; the latencies are those at this load"),
    );
    let finding = finding.because(format!(
        "{}/s were done, {} % of what was asked for",
        significant(done),
        significant(done / offered * 100.0)
    ));
    Some(match waited.filter(|full| *full > 0.0) {
        Some(full) => finding.because(format!(
            "for {} s of {} the queue was full, and I/Os that were due waited for a place in it",
            significant(full),
            significant(seconds)
        )),
        None => finding,
    })
}

/// For how many seconds a load with a rate of its own waited for the volume, since its queue was full, or that of the target where it was full for
/// longest. `None` where the result does not tell it.
fn waited(case: &DiagnosisCase<'_>, offered: f64) -> Option<f64> {
    let s = &case.summary;
    let Some(run) = case.run else {
        // While the longest I/O was under way, fewer became due than the queue holds.
        let due = s.max.filter(|longest| longest.0 > 0)?.as_seconds() * offered;
        return (due < FILLED * s.asked?).then_some(0.0);
    };
    let targets = &run.step.targets;
    let least = FILLED * GRID.0 as f64 * s.asked? / targets.len() as f64;
    let full = |t: &StepTarget| t.series.in_flight_ns.iter().filter(|ns| **ns as f64 >= least).count();
    let longest = targets.iter().map(full).max()?;
    let known = targets.iter().all(|t| !t.series.in_flight_ns.is_empty());
    known.then_some(if longest < FULL_FOR { 0.0 } else { longest as f64 / PER_SECOND as f64 })
}

/// The load paused between its I/Os, as an option of fio says.
fn limited_by_pauses(pauses: &str) -> Finding {
    let headline = if pauses.starts_with("latency_target") {
        format!(
            "fio held the depth down to keep a latency ({pauses}): the rate is that of the depth it found."
        )
    } else {
        format!("The load paused between its I/Os ({pauses}): the rate is that of its pauses.")
    };
    let advice = format!("leave {pauses} out to see what the volume can do");
    Finding::new(codes::LOAD_LIMITED, Confidence::Likely, headline, advice)
}

/// The load let its queue drain before it filled it again. `possible` where as many were in flight as were asked for, which may be a slow volume:
/// fio counts a request as in flight until it has taken its completion.
fn limited_by_draining(queue: &DrainedQueue, filled: Option<f64>) -> Finding {
    let DrainedQueue { option, left } = queue;
    let drained = filled.is_none_or(|f| f < FILLED);
    let headline = match drained {
        true => format!(
            "The load let its queue drain to {left} before it filled it again ({option}): the rate is that of a queue that is not kept full."
        ),
        false => format!(
            "The load let its queue drain to {left} before it filled it again ({option}): the volume had less in flight than fio counts."
        ),
    };
    Finding::new(
        codes::LOAD_LIMITED,
        if drained { Confidence::Likely } else { Confidence::Possible },
        headline,
        format!("leave {option} out to see what the volume can do"),
    )
    .because(format!("{option}: fio refills the queue when {left} are left, and counts a request as in flight until it takes its completion"))
}

/// The queue was nearly empty, and no option says why.
fn limited_by_unknown(pace_known: bool, filled: f64) -> Finding {
    let advice = if pace_known {
        "find out what the load did between its I/Os: a busy CPU, jobs that ended before others or buffered I/O leave a queue empty; \
         the volume may do more"
    } else {
        "look for rate, rate_iops, thinktime or buffered I/O in the job file or command line, which this report does not show"
    };
    let headline =
        format!("The queue was {} % full: the load may have held itself back.", significant(filled * 100.0));
    Finding::new(codes::LOAD_LIMITED, Confidence::Possible, headline, advice)
}
