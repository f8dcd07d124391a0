//! The fingerprints of a throttle: a token bucket refilled now and then, or a queue served at a constant rate.
//!
//! Other explanations of two speeds are a cache that hits and misses, a tier, and a device that collects garbage: Little's law
//! holds for all of them, since it is an identity, and so does the period that it gives. Two signs speak against them: counts that are too even
//! for I/Os which are slow by chance (`stats::held_together`), and a comb (requests held for one, two and three periods). A token bucket is
//! `likely` with one of these signs, or at the rate of the promise. A run of too few periods to count shows neither chance nor its absence, unless its
//! rate does not move. In a report, which has no counts, a bucket is `likely` where its period shows in the rate, or the rate or its samples are too
//! even for chance. A period that throttles use is no such sign: 1 % of the I/Os at 80 ms beside 200 us have 100 ms by Little's law. Otherwise it is
//! `possible`. It is never `proven`: see [`bucket`].

use super::level::of_level;
use super::summary::TOGETHER;
use super::{Confidence, DiagnosisCase, Finding, FindingRule, Modes, Summary, bins};
use crate::codes;
use crate::hist::bucket_high;
use crate::record::{Diagnosis, Record, StepRecord};
use crate::sample::PER_SECOND;
use crate::unit::{Nanos, grouped, megabytes, significant};

/// Refill periods that throttles are known to use, in seconds: QEMU and the kernel 100 ms, Firecracker and Cloud Hypervisor 100 ms to 1 s
/// as they are set.
const KNOWN_PERIODS: [f64; 3] = [0.1, 0.5, 1.0];
/// A rate within this share of the promise is at the promise.
pub(super) const AT_PROMISE: f64 = 0.02;
/// One-second rates of a throttle differ by less.
const FLAT: f64 = 0.01;
/// Requests that a bucket holds for one period or for two differ by this factor, with what the volume itself takes.
const ONE_OR_TWO_PERIODS: f64 = 2.1;
/// Rates of seconds show nothing of longer periods.
const HALF_SECOND: f64 = 0.5;

/// Two periods are the same where they differ by less than this share.
const SAME_PERIOD: f64 = 0.1;
/// Requests waited where their mean latency is this multiple of the shortest.
const WAITED: f64 = 1.5;
/// This multiple of the requests in flight may find the queue empty, since the queue fills once.
const EMPTY_QUEUE: f64 = 2.0;
/// Where one-second rates differ by more than this, nothing holds the rate.
const UNEVEN: f64 = 0.1;

/// A token bucket, as the latencies show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBucket {
    /// The two speeds.
    pub modes: Modes,
    /// Length of its period T in seconds. It follows from the held share, which is N / (T X) for N requests in flight and X I/Os a second,
    /// since each period holds every request in flight once.
    pub period: f64,
    /// I/Os let through in a period.
    pub quota: f64,
    /// The rate while I/Os pass.
    pub open_rate: Option<f64>,
}

impl TokenBucket {
    /// The bucket that would explain a run; `None` when the two speeds of the run are not those of a bucket.
    pub fn of(s: &Summary) -> Option<TokenBucket> {
        let (n, x) = (s.ios_in_flight()?, s.iops?);
        let modes = Modes::of(s)?;
        // I/Os that wait until others of their batch are done have speeds of their own.
        if s.drained_queue.is_some() {
            return None;
        }
        // With one request at a time, some slow I/Os are enough for two speeds: only equal counts show a quota.
        if s.offered.is_some() || s.in_flight? < super::ALONE && !s.held_together() {
            return None;
        }
        let period = n / (modes.held * x);
        let hold = modes.hold() / 1e9;
        // No request is held for longer than a period, and a bucket that is open most of the time is no limit.
        let explains = hold <= 1.1 * period + modes.passed.as_seconds() && hold >= 0.2 * period;
        let alike = modes.held_to.0 as f64 <= 2.0 * modes.held_from.0 as f64;
        (explains && alike && period < 60.0).then(|| TokenBucket {
            modes,
            period,
            quota: x * period,
            open_rate: (period > 1.05 * hold).then(|| x * period / (period - hold)),
        })
    }

    /// The evidence that latencies give for the bucket, in a run at the rate `x` with `n` in flight. `known`: throttles use such a period.
    fn evidence(&self, s: &Summary, n: f64, x: f64, known: bool) -> Vec<String> {
        let Modes { held, held_from, held_to, between, passed } = &self.modes;
        let times = match (held_from.to_string(), held_to.to_string()) {
            (from, to) if from == to => from,
            (from, to) => format!("{from} to {to}"),
        };
        let (share, period) = (significant(held * 100.0), significant(self.period * 1e3));
        let between = significant(between.max(0.0) * 100.0);
        let latencies = format!(
            "{share} % of the I/Os took {times}, {between} % lay in between, and the others took {passed} (median)"
        );
        let law = format!(
            "{} in flight / ({share} % x {}/s) = {period} ms: a quota of {} I/Os each {period} ms{}",
            if s.flushes.is_some() { significant(n) } else { format!("{n:.0}") },
            significant(x),
            grouped(self.quota.round() as u64),
            if known { ", a period that throttles use" } else { "" },
        );
        let used_up = self.open_rate.map(|open| {
            let time = significant((self.period - self.modes.hold() / 1e9) * 1e3);
            format!("each quota is used up in about {time} ms, at about {}/s", significant(open))
        });
        [latencies, law].into_iter().chain(used_up).collect()
    }
}

/// A token bucket: the latencies have an empty middle, and Little's law gives its period.
///
/// `likely` at most: I/Os that hang for one fixed time come back together and give the rate their period, and a device that slows down
/// regularly has a flat rate and a period of its own.
pub fn bucket(case: &DiagnosisCase<'_>) -> Option<Finding> {
    held(case, bucket_of)
}

fn bucket_of(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let s = &case.summary;
    let b = TokenBucket::of(s).filter(|b| !never_used_up(case, b))?;
    let (n, x) = (s.ios_in_flight()?, s.iops?);
    let mut seen_apart = false;
    let known = KNOWN_PERIODS.iter().any(|k| (b.period / k - 1.0).abs() < 0.05);
    let mut evidence = b.evidence(s, n, x, known);
    if let Some(p) = s.period.filter(|p| multiple(p.as_seconds(), b.period)) {
        seen_apart = true;
        // A quota that is no whole number of I/Os comes out even after several periods.
        let times = (p.as_seconds() / b.period).round();
        let periods =
            if times > 1.0 { format!(", which is {times:.0} of these periods") } else { String::new() };
        evidence.push(format!("the rate repeats itself every {p}{periods}"));
    }
    let teeth = comb(s, &b);
    if let Some(teeth) = &teeth {
        evidence
            .push(format!("requests are held for {teeth} periods, and next to none for anything in between"));
    }
    // Seconds do not differ by a quota that comes about once in each.
    let flat = s.cv_of_seconds.filter(|cv| *cv < FLAT && b.period < HALF_SECOND);
    if let Some(cv) = flat {
        evidence.push(format!("one-second rates differ by {} %", significant(cv * 100.0)));
    }
    let (near, words) = against_promise(s);
    evidence.extend(words);
    // I/Os that hang for one fixed time give the rate their period, and seconds that differ. The seconds of a bucket differ by one quota at
    // most.
    let uneven = s.cv_of_seconds.is_some_and(|cv| cv > UNEVEN.max(b.period / 2.0));
    // I/Os that are slow by chance have the period of their hold in the latencies, and in the rate as well.
    let not_by_chance = match s.over_chance {
        Some(over) => {
            evidence.extend(beside_chance(s, over, flat.is_some()));
            s.held_together()
        }
        // Slow I/Os at equal distances, as of blocks in a row, make no rate move.
        None if s.random != Some(true) => false,
        // Samples of our own that are too few for that: I/Os that hang for a fixed time give the rate a period as well.
        None if case.run.is_some() => flat.is_some(),
        None => {
            let over = b.modes.samples_over_chance(n, s);
            let even = over.filter(|over| *over < TOGETHER);
            evidence.extend(even.map(|over| {
                format!(
                    "the samples of its rate vary by {} % of what they would if each I/O were slow by chance",
                    significant(100.0 * over)
                )
            }));
            seen_apart || flat.is_some() || even.is_some()
        }
    };
    // Where the counts show chance, a rate near the promise is an accident.
    let by_chance = s.over_chance.is_some() && !not_by_chance;
    // A volume that stops holds no request for two of its periods, and is at the rate of the promise only by accident.
    let stops = s.may_stop(b.modes.passed).filter(|_| teeth.is_none() && !near);
    let confidence = match not_by_chance || teeth.is_some() || near && !by_chance {
        true if !uneven && stops.is_none() => Confidence::Likely,
        _ => Confidence::Possible,
    };
    if let Some(share) = stops {
        evidence.push(format!(
            "requests wait for {} % of the time: a volume that stops for so long in each period looks alike, and gives more with more in flight",
            significant(100.0 * share)
        ));
    }
    let period = shown_period(case, b.period);
    let owner =
        if case.own_cgroup() { "the limit of our own cgroup" } else { "a throttle outside this machine" };
    let finding = Finding::new(
        codes::THROTTLE,
        confidence,
        format!(
            "A token bucket of about {} ms{} {} the rate, {}/s; without it the volume takes {}.",
            significant(period * 1e3),
            if stops.is_some() { ", or a volume that stops as often," } else { "" },
            if confidence == Confidence::Possible && stops.is_none() { "may set" } else { "sets" },
            significant(x),
            b.modes.passed
        ),
        match stops {
            Some(_) => "run it with four times as many requests in flight: a quota gives no more then, and a volume that stops does".into(),
            None if confidence == Confidence::Possible => advice(
                case,
                "run it with four times as many requests in flight: a throttle gives no more then".into(),
            ),
            None => advice(case, format!("the rate is set by {owner}, so more depth only adds waiting: buy a higher cap, or offer less than {}/s to keep the short latencies", significant(x))),
        },
    )
    .number(codes::figure::RATE_PER_SECOND, x)
    .number("period_ms", period * 1e3)
    .number(codes::figure::QUOTA_IOS, b.quota)
    .number("held_share", b.modes.held)
    .number(codes::figure::DEVICE_LATENCY_MS, b.modes.passed.0 as f64 / 1e6);
    Some(evidence.into_iter().fold(finding, Finding::because))
}

/// Whether the counts exclude a bucket: each period ends with a pause that lasts as long as its requests are held, and the counts of this run show no
/// such pauses. I/Os that are slow for another reason, beside a quota of shorter periods, look like a bucket but for that. Several targets may pause
/// at different times.
fn never_used_up(case: &DiagnosisCase<'_>, b: &TokenBucket) -> bool {
    let Some(run) = case.run.filter(|run| run.step.targets.len() == 1) else { return false };
    let counts = bins(run.step, false);
    let usual = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let paused = counts.iter().filter(|n| (**n as f64) < usual / 2.0).count() as f64 / counts.len() as f64;
    // A pause begins and ends within an interval of the grid.
    let pause = b.modes.hold() / 1e9 - 2.0 / PER_SECOND as f64;
    pause > 0.0 && paused < pause / b.period / 2.0
}

/// The period of a bucket in seconds: the one that the pauses of the run show, where the period that follows from the latencies is as long.
/// That one rests on the number of I/Os that were held, and is the less exact.
fn shown_period(case: &DiagnosisCase<'_>, period: f64) -> f64 {
    let shown = case.run.and_then(|run| run.load.stops()).and_then(|stops| stops.period_seconds);
    shown.filter(|shown| (shown / period - 1.0).abs() < SAME_PERIOD).unwrap_or(period)
}

/// How counts of whole periods vary in comparison with chance, in words; none where the rate of each second is the same anyway.
fn beside_chance(s: &Summary, over_chance: f64, flat: bool) -> Option<String> {
    let share = significant(100.0 * over_chance);
    if !s.held_together() {
        return Some(format!(
            "counts of whole periods vary by {share} % of what they do where each I/O is slow by chance, one by one: more in flight would tell, \
             since the others go on beside those"
        ));
    }
    (!flat).then(|| {
        format!(
            "counts of whole periods vary by {share} % of what they would if each I/O were slow by chance"
        )
    })
}

/// The advice for a rate below the promise.
pub(super) const LESS_THAN_BOUGHT: &str = "this is less than was bought: check type, size and instance, and that nothing else loads the volume; with a FAIL, open a ticket";

/// The advice for a rate above the promise.
const MORE_THAN_PROMISED: &str = "this is more than is promised of what was named, a burst or another volume: check type, size and what was bought before you buy more";

/// The advice for a rate that a throttle holds. Nobody is advised to buy more while the promise is not kept, or is another volume's.
fn advice(case: &DiagnosisCase<'_>, otherwise: String) -> String {
    let s = &case.summary;
    let promised = s.promised.zip(s.iops).filter(|_| !case.own_cgroup());
    match promised {
        Some((p, x)) if p.is_missed(x, s.bytes_per_second) => LESS_THAN_BOUGHT.into(),
        Some((p, x)) if p.is_exceeded(x, s.bytes_per_second) => MORE_THAN_PROMISED.into(),
        _ => otherwise,
    }
}

/// How many periods the requests are held for, as `1 and 2`, when the latencies of those that were held are a comb: narrow teeth
/// one period apart.
fn comb(s: &Summary, b: &TokenBucket) -> Option<String> {
    let held: Vec<(f64, f64)> = s
        .bands
        .iter()
        .filter(|band| band.above >= b.modes.held_from || band.up_to > b.modes.held_from)
        .map(|band| ((band.above.0 + band.up_to.0) as f64 / 2e9, band.share))
        .collect();
    let first = held.first()?.0;
    let mut teeth = std::collections::BTreeMap::new();
    let mut off = 0.0;
    for (at, share) in &held {
        let n = ((at - first) / b.period).round();
        if (at - first - n * b.period).abs() < 0.1 * b.period {
            *teeth.entry(n as u64).or_insert(0.0) += share;
        } else {
            off += share;
        }
    }
    let all: f64 = held.iter().map(|h| h.1).sum();
    teeth.retain(|_, share| *share > 0.02 * all);
    let words: Vec<String> = teeth.keys().map(|n| (n + 1).to_string()).collect();
    (words.len() >= 2 && off < 0.02 * all).then(|| words.join(", "))
}

/// What a rule finds about the rate that a throttle held. None held one rate where the rate fell or drifted from one level to another, and stalls
/// have two speeds without any throttle.
fn held(case: &DiagnosisCase<'_>, rule: FindingRule) -> Option<Finding> {
    let holds_none = super::credits::fell(case) || super::drift::moved(case).is_some();
    if holds_none || super::lapse_findings::stalls_much(case) { None } else { of_level(case, rule) }
}

/// Most I/Os that took less than half of `low` came after the first second, when the queue was full: they did not find it empty.
fn overtook(case: &DiagnosisCase<'_>, low: f64) -> bool {
    let quick = |(i, n): (usize, u64)| if bucket_high(i) as f64 * 2.0 <= low { n } else { 0 };
    let (mut first, mut later) = (0, 0);
    let series = case.run.into_iter().flat_map(|run| &run.step.targets).map(|t| &t.series);
    for stream in series.flat_map(|s| [&s.read, &s.write]).flatten() {
        let mut seconds = stream.service.iter().map(|h| h.buckets().map(quick).sum::<u64>());
        first += seconds.next().unwrap_or(0);
        later += seconds.sum::<u64>();
    }
    later > first
}

/// A queue served at a constant rate: all wait alike, at many times the shortest latency.
pub fn steady_queue(case: &DiagnosisCase<'_>) -> Option<Finding> {
    held(case, steady_queue_of)
}

fn steady_queue_of(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let s = &case.summary;
    let (n, x, min) = (s.in_flight?, s.iops?, s.min?);
    let at = |share: f64| s.percentiles.iter().find(|p| p.0 == share).map(|p| p.1.0 as f64);
    let (low, middle, high) = (at(0.05)?, at(0.5)?, at(0.95)?);
    // A machine that is uneven itself spreads the waiting; then the rate has to be flatter still.
    let steady = s.cv_of_seconds.is_some_and(|cv| cv < FLAT / 2.0);
    let alike = high <= if steady { ONE_OR_TWO_PERIODS } else { 1.3 } * low;
    if s.drained_queue.is_some() || !alike || middle <= 3.0 * min.0 as f64 || n < 4.0 || s.offered.is_some() {
        return None;
    }
    // Only requests that find the queue empty do not wait. Where more are quick, they overtook others, and there is no such queue.
    let quick: f64 = s.bands.iter().filter(|b| b.up_to.0 as f64 * 2.0 <= low).map(|b| b.share).sum();
    if s.ios.is_some_and(|ios| quick * ios > EMPTY_QUEUE * n) || overtook(case, low) {
        return None;
    }
    let mut signs = 1;
    let mut finding = Finding::new(
        codes::THROTTLE,
        Confidence::Possible,
        format!(
            "Requests wait in a queue that is served at a constant rate, {}/s; the shortest took {min}.",
            significant(x)
        ),
        advice(case, "more depth only adds waiting: buy a higher cap, or offer less than this rate".into()),
    )
    .number(codes::figure::RATE_PER_SECOND, x)
    .number(codes::figure::DEVICE_LATENCY_MS, min.0 as f64 / 1e6)
    .because(format!(
        "90 % of the I/Os took {} to {}, but the shortest {min}: they wait their turn ({n:.0} / {}/s = {})",
        Nanos(low as u64),
        Nanos(high as u64),
        significant(x),
        Nanos((n / x * 1e9) as u64)
    ));
    if let Some(cv) = s.cv_of_seconds.filter(|cv| *cv < FLAT) {
        signs += 1;
        finding = finding.because(format!("one-second rates differ by {} %", significant(cv * 100.0)));
    }
    let (near, words) = against_promise(s);
    signs += usize::from(near);
    let finding = words.into_iter().fold(finding, Finding::because);
    // The deep queue of any device looks alike. Only a rate that stays the same with less in flight would exclude that.
    let confidence = if signs > 1 { Confidence::Likely } else { Confidence::Possible };
    Some(Finding { confidence, ..finding })
}

/// The rate is the promised one, and nothing else tells of a throttle.
///
/// A volume that happens to be as fast as its cap looks the same. So this is `likely` where the rate does not move and requests waited, and
/// else `possible`: where all requests take equally long, depth and latency explain the rate.
pub fn at_the_promise(case: &DiagnosisCase<'_>) -> Option<Finding> {
    held(case, at_the_promise_of)
}

fn at_the_promise_of(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let s = &case.summary;
    if s.offered.is_some() {
        return None;
    }
    let (true, words) = against_promise(s) else { return None };
    let (x, cv) = (s.iops?, s.cv_of_seconds.filter(|cv| *cv < UNEVEN)?);
    let waited = s.min.zip(s.mean_ns).is_none_or(|(min, mean)| mean >= WAITED * min.0 as f64);
    let (confidence, moves) = match cv < FLAT {
        true if waited => (Confidence::Likely, " and does not move"),
        true => (Confidence::Possible, " and does not move"),
        false => (Confidence::Possible, ""),
    };
    let finding = Finding::new(
        codes::THROTTLE,
        confidence,
        format!("The rate, {}/s, is that of the cap{moves}.", significant(x)),
        "the cap is the limit: buy a higher one if it is not enough",
    )
    .number(codes::figure::RATE_PER_SECOND, x)
    .because(format!("one-second rates differ by {} %", significant(cv * 100.0)));
    Some(words.into_iter().fold(finding, Finding::because))
}

/// One or two requests in flight: the latency sets the rate.
///
/// The finding says how the load was made, which is known. What more depth would give, only a deeper step shows.
pub fn one_at_a_time(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let s = &case.summary;
    let (n, x) = (s.in_flight?, s.iops?);
    let asked = s.asked.unwrap_or(n);
    // Without latencies the rate tells how long a request can have taken.
    let (mean, most) = s.mean_ns.map_or((n / x * 1e9, "at most "), |mean| (mean, ""));
    // Flushes and pauses between the I/Os take a part of the time.
    let others = s.flushes.is_some() || s.pauses.is_some() || s.drained_queue.is_some();
    if n > super::FEW_IN_FLIGHT
        || asked > super::FEW_IN_FLIGHT
        || s.offered.is_some()
        || mean <= 0.0
        || others
        || super::lapse_findings::stalls_much(case)
        || super::lapse_findings::on_off(case).is_some()
    {
        return None;
    }
    // Where a throttle holds the rate, the latency does not.
    let throttles = [bucket, at_the_promise].map(|rule| rule(case));
    if throttles.iter().flatten().any(|f| f.confidence > Confidence::Possible || s.held_together()) {
        return None;
    }
    // Each I/O may have waited for a throttle as well.
    let confidence = match throttles.iter().flatten().next() {
        Some(_) => Confidence::Possible,
        None => Confidence::Likely,
    };
    let advice = match s.blocking {
        _ if s.on_windows => {
            "this shows latency, not what the volume can do: raise the number of outstanding I/Os (-o of DiskSpd) for its rate"
        }
        // Such an engine does one I/O at a time whatever its depth.
        Some(true) => {
            let deeper = s.program.deeper();
            &format!("this shows latency, not what the volume can do: for its rate {deeper}")
        }
        _ => "this shows latency, not what the volume can do: raise --iodepth for its rate",
    };
    let kept = if asked < 1.5 {
        "One request at a time was".into()
    } else {
        format!("{} requests at a time were", significant(asked))
    };
    Some(
        Finding::new(
            codes::ONE_AT_A_TIME,
            confidence,
            format!("{kept} asked for: the rate is what the latency allows."),
            advice,
        )
        .because(format!(
            "{} in flight, {most}{} each, {}/s",
            significant(n),
            Nanos(mean as u64),
            significant(x)
        ))
        .number("mean_latency_ms", mean / 1e6),
    )
}

/// Takes `one-at-a-time` back where a deeper step of the same load did no more: the latency did not hold the rate.
pub fn no_more_at_depth(record: &Record, all: &mut [Diagnosis]) {
    let asked = |step: &StepRecord| step.in_flight_asked.get().unwrap_or(1.0);
    for (step, diagnosis) in record.steps.iter().zip(all) {
        let no_more = |deeper: &StepRecord| {
            asked(deeper) >= 2.0 * asked(step)
                && record.same_load(step, deeper)
                && deeper.iops() > 0.0
                && deeper.iops() <= (1.0 + AT_PROMISE) * step.iops()
        };
        if diagnosis.find(codes::ONE_AT_A_TIME).is_some() && record.steps.iter().any(no_more) {
            diagnosis.findings.retain(|f| f.code != codes::ONE_AT_A_TIME);
        }
    }
}

/// Whether the rate is that of the promise, and in words how far it is.
fn against_promise(s: &Summary) -> (bool, Option<String>) {
    let (Some(p), Some(x)) = (s.promised, s.iops) else { return (false, None) };
    // The promise in its own unit; where the unit is in doubt, the reading that the run is nearer to.
    let (ratio, what) = match s.bytes_per_second.filter(|_| !p.binding.counts_ios()) {
        Some(bytes) => {
            let cap = p.nearest_bytes(bytes);
            (
                bytes / cap,
                format!(
                    "{} are {} % of the promised {}",
                    megabytes(bytes),
                    significant(bytes / cap * 100.0),
                    megabytes(cap)
                ),
            )
        }
        None => (
            x / p.iops,
            format!(
                "{}/s are {} % of the promised {}",
                significant(x),
                significant(x / p.iops * 100.0),
                significant(p.iops)
            ),
        ),
    };
    ((ratio - 1.0).abs() <= AT_PROMISE, Some(format!("{what} ({})", p.binding_words())))
}

fn multiple(of: f64, unit: f64) -> bool {
    let times = (of / unit).round();
    (1.0..=10.0).contains(&times) && (of / unit / times - 1.0).abs() < 0.1
}
