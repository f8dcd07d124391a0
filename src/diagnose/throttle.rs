//! The fingerprints of a throttle: a token bucket refilled now and then, or a queue served at a constant rate.

use super::{Case, Confidence, Finding, Modes, Summary};
use crate::unit::{Nanos, grouped, significant};

/// Refill periods that throttles are known to use: QEMU and the kernel 100 ms, microVM monitors 100 ms and 1 s.
const KNOWN_PERIODS: [f64; 3] = [0.1, 0.5, 1.0];
/// A rate this near to the promise is the promise.
const AT_PROMISE: f64 = 0.02;
/// One-second rates of a throttle differ by less.
const FLAT: f64 = 0.01;

/// What a token bucket shows of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// The two speeds.
    pub modes: Modes,
    /// Length of its period in seconds, inferred: in each period every request in flight is held once, so that the share
    /// that is held is N / (T X).
    pub period: f64,
    /// I/Os let through in a period.
    pub quota: f64,
    /// The rate while I/Os pass.
    pub open_rate: Option<f64>,
}

impl Bucket {
    /// The bucket that would explain a run; `None` when its two speeds are not those of one.
    pub fn of(s: &Summary) -> Option<Bucket> {
        let (n, x) = (s.in_flight?, s.iops?);
        let modes = Modes::of(s)?;
        if s.offered.is_some() || n < 1.5 {
            return None;
        }
        let period = n / (modes.held * x);
        let hold = modes.hold() / 1e9;
        // Nobody is held for longer than a period, and a bucket that is open most of the time does not limit.
        let explains = hold <= 1.1 * period + modes.passed.as_seconds() && hold >= 0.2 * period;
        let alike = modes.held_to.0 as f64 <= 2.0 * modes.held_from.0 as f64;
        (explains && alike && period < 60.0).then(|| Bucket {
            modes,
            period,
            quota: x * period,
            open_rate: (period > 1.05 * hold).then(|| x * period / (period - hold)),
        })
    }
}

/// A token bucket: the latencies have an empty middle, and Little's law gives its period.
pub fn bucket(case: &Case<'_>) -> Option<Finding> {
    let s = &case.summary;
    let b = Bucket::of(s)?;
    let (n, x) = (s.in_flight?, s.iops?);
    let mut signs = 1;
    let held = match (b.modes.held_from.to_string(), b.modes.held_to.to_string()) {
        (from, to) if from == to => from,
        (from, to) => format!("{from} to {to}"),
    };
    let mut evidence = vec![format!(
        "{} % of the I/Os took {held}, {} % lay in between, and the others took {} (median)",
        significant(b.modes.held * 100.0),
        significant(b.modes.between.max(0.0) * 100.0),
        b.modes.passed,
    )];
    let law = format!(
        "{n:.0} in flight / ({} % x {}/s) = {} ms: a quota of {} I/Os each {} ms",
        significant(b.modes.held * 100.0),
        rate(x),
        significant(b.period * 1e3),
        grouped(b.quota.round() as u64),
        significant(b.period * 1e3),
    );
    let known = KNOWN_PERIODS.iter().any(|k| (b.period / k - 1.0).abs() < 0.05);
    signs += usize::from(known);
    evidence.push(if known { law + ", a period that throttles use" } else { law });
    if let Some(open) = b.open_rate {
        evidence.push(format!(
            "each quota is used up in about {} ms, at about {}/s",
            significant((b.period - b.modes.hold() / 1e9) * 1e3),
            rate(open)
        ));
    }
    if let Some(p) = s.period.filter(|p| multiple(p.as_seconds(), b.period)) {
        signs += 1;
        evidence.push(format!("the rate repeats itself every {p}"));
    }
    if let Some(cv) = s.cv_of_seconds.filter(|cv| *cv < FLAT) {
        signs += 1;
        evidence.push(format!("one-second rates differ by {} %", significant(cv * 100.0)));
    }
    let (near, words) = against_promise(s);
    signs += usize::from(near);
    evidence.extend(words);
    let owner =
        if case.own_cgroup() { "the limit of our own cgroup" } else { "a throttle outside this machine" };
    let by_iops = |p: &&super::Promised| p.binding.counts_ios();
    let (met, under) = match s.promised.as_ref().filter(by_iops) {
        Some(p) if x >= (1.0 - AT_PROMISE) * p.iops => {
            (format!("The promised {} IOPS are met: a", rate(p.iops)), String::new())
        }
        Some(p) => ("A".into(), format!(", below the promised {}", rate(p.iops))),
        None => ("A".into(), String::new()),
    };
    let finding = Finding::new(
        "throttle",
        Confidence::of_signs(signs),
        format!(
            "{met} token bucket of about {} ms sets the rate, {}/s{under}; without it the volume takes {}.",
            significant(b.period * 1e3),
            rate(x),
            b.modes.passed
        ),
        format!("the rate is set by {owner}, so more depth only adds waiting: buy a higher cap, or offer less than {}/s to keep the short latencies", rate(x)),
    )
    .number("rate_per_second", x)
    .number("period_ms", b.period * 1e3)
    .number("quota_ios", b.quota)
    .number("held_share", b.modes.held)
    .number("device_latency_ms", b.modes.passed.0 as f64 / 1e6);
    Some(evidence.into_iter().fold(finding, Finding::because))
}

/// A queue served at a constant rate: all wait alike, at many times the shortest latency.
pub fn steady_queue(case: &Case<'_>) -> Option<Finding> {
    let s = &case.summary;
    let (n, x, min) = (s.in_flight?, s.iops?, s.min?);
    let at = |share: f64| s.percentiles.iter().find(|p| p.0 == share).map(|p| p.1.0 as f64);
    let (low, middle, high) = (at(0.05)?, at(0.5)?, at(0.95)?);
    // A machine that is itself uneven spreads the waiting; then the rate has to be all the flatter.
    let steady = s.cv_of_seconds.is_some_and(|cv| cv < FLAT / 2.0);
    let alike = high <= if steady { 2.0 } else { 1.3 } * low;
    if !alike || middle <= 3.0 * min.0 as f64 || n < 4.0 || s.offered.is_some() {
        return None;
    }
    let mut signs = 1;
    let mut finding = Finding::new(
        "throttle",
        Confidence::Possible,
        format!(
            "Requests wait in a queue that is served at a constant rate, {}/s; the shortest took {min}.",
            rate(x)
        ),
        "more depth only adds waiting: buy a higher cap, or offer less than this rate",
    )
    .number("rate_per_second", x)
    .number("device_latency_ms", min.0 as f64 / 1e6)
    .because(format!(
        "90 % of the I/Os took {} to {}, but the shortest {min}: they wait their turn ({n:.0} / {}/s = {})",
        Nanos(low as u64),
        Nanos(high as u64),
        rate(x),
        Nanos((n / x * 1e9) as u64)
    ));
    if let Some(cv) = s.cv_of_seconds.filter(|cv| *cv < FLAT) {
        signs += 1;
        finding = finding.because(format!("one-second rates differ by {} %", significant(cv * 100.0)));
    }
    let (near, words) = against_promise(s);
    signs += usize::from(near);
    let finding = words.into_iter().fold(finding, Finding::because);
    Some(Finding { confidence: Confidence::of_signs(signs), ..finding })
}

/// Without any other sign: the rate is what is promised, and does not move.
pub fn at_the_promise(case: &Case<'_>) -> Option<Finding> {
    let s = &case.summary;
    let cv = s.cv_of_seconds.filter(|cv| *cv < FLAT)?;
    let (true, words) = against_promise(s) else { return None };
    let x = s.iops?;
    let finding = Finding::new(
        "throttle",
        Confidence::Likely,
        format!("The rate, {}/s, is that of the promised cap and does not move.", rate(x)),
        "the cap is reached: buy a higher one if it is not enough",
    )
    .number("rate_per_second", x)
    .because(format!("one-second rates differ by {} %", significant(cv * 100.0)));
    Some(words.into_iter().fold(finding, Finding::because))
}

/// One or two in flight: the rate is the latency.
pub fn one_at_a_time(case: &Case<'_>) -> Option<Finding> {
    let s = &case.summary;
    let (n, x, mean) = (s.in_flight?, s.iops?, s.mean_ns?);
    if n > 2.05 || s.offered.is_some() || mean <= 0.0 {
        return None;
    }
    let (more, advice) = match s.blocking {
        // Such an engine does one I/O at a time whatever its depth.
        Some(true) => (
            "more jobs give more",
            "this shows latency, not what the volume can do: for its rate use an engine that keeps several I/Os in flight (io_uring, libaio) with --iodepth, or more --numjobs",
        ),
        _ => (
            "more depth gives more",
            "this shows latency, not what the volume can do: raise --iodepth for its rate",
        ),
    };
    Some(
        Finding::new(
            "one-at-a-time",
            Confidence::Proven,
            format!("With {} in flight the rate is the latency: {more}.", significant(n)),
            advice,
        )
        .because(format!(
            "{} in flight / {} = {}/s, as Little's law says, and {}/s were measured",
            significant(n),
            Nanos(mean as u64),
            rate(n / mean * 1e9),
            rate(x)
        ))
        .number("mean_latency_ms", mean / 1e6),
    )
}

/// Whether the rate is that of the promise, and in words how far it is.
fn against_promise(s: &Summary) -> (bool, Option<String>) {
    let (Some(p), Some(x)) = (s.promised, s.iops) else { return (false, None) };
    let ratio = x / p.iops;
    let words = format!(
        "{}/s are {} % of the promised {} ({})",
        rate(x),
        significant(ratio * 100.0),
        rate(p.iops),
        p.binding.words()
    );
    ((ratio - 1.0).abs() <= AT_PROMISE, Some(words))
}

fn multiple(of: f64, unit: f64) -> bool {
    let times = (of / unit).round();
    (1.0..=10.0).contains(&times) && (of / unit / times - 1.0).abs() < 0.1
}

/// A rate for people.
pub fn rate(x: f64) -> String {
    if x >= 99.95 { grouped(x.round() as u64) } else { significant(x) }
}
