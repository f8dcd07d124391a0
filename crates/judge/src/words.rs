//! The reasons of answers, for people: made here alone, from the facts that the answer rests on.

use std::path::Path;

use super::answer::{Answer, Basis, Missing, Open};
use super::facts::{DELIVERED, share_of_all};
use super::faults::Fault;
use super::saturating_depth::Deepest;
use super::terms::ClaimTerms;
use volproof_base::unit::{Bytes, Nanos, grouped, significant, significant_percent, throughput};
use volproof_record::{Claim, ClaimStep, Metric, Record, State};

/// The command that measures the step which is missing.
pub const RESUME: &str = "volproof run --resume RECORD";

/// A figure of a metric for people.
pub fn figure(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Iops => significant(value),
        Metric::Throughput => throughput(value),
        Metric::Latency | Metric::Percentile => Nanos(value.round() as u64).to_string(),
        Metric::SlowShare => format!("{} %", significant(value * 100.0)),
    }
}

/// A limit and the figures that are held against it, with enough digits to tell each figure from the limit.
pub fn figures(metric: Metric, limit: f64, values: &[f64]) -> (String, Vec<String>) {
    let all =
        |text: &dyn Fn(f64) -> String| (text(limit), values.iter().map(|v| text(*v)).collect::<Vec<_>>());
    let tells_apart = |(l, texts): &(String, Vec<String>)| {
        texts.iter().zip(values).all(|(text, v)| text != l || (v / limit - 1.0).abs() < 1e-9)
    };
    let (scale, unit) = match metric {
        Metric::Iops => (1.0, ""),
        Metric::Throughput => (Bytes::MIB.0 as f64, " MiB/s"),
        Metric::Latency | Metric::Percentile if limit < 1e6 => (1e3, " us"),
        Metric::Latency | Metric::Percentile => (1e6, " ms"),
        Metric::SlowShare => (0.01, " %"),
    };
    let short = all(&|v| figure(metric, v));
    let longer = (1..=6).map(|digits| all(&|v| format!("{:.digits$}{unit}", v / scale)));
    std::iter::once(short.clone()).chain(longer).find(tells_apart).unwrap_or(short)
}

/// A rate with its unit.
pub fn rate(metric: Metric, value: f64) -> String {
    let unit = if metric == Metric::Iops { " IOPS" } else { "" };
    figure(metric, value) + unit
}

/// A share of time, with as many digits as it was given.
fn share_of_time(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

/// The level from which on a second counts as delivered: the tolerance is for it as for the promise.
fn delivered_level(terms: &ClaimTerms) -> String {
    let level = share_of_time(DELIVERED);
    if terms.tolerance > 0.0 {
        format!("{level} of the promise less {}", share_of_time(terms.tolerance))
    } else {
        format!("{level} of the promise")
    }
}

/// Share of dead time over the steps that are judged together.
fn dead_share(claim: &Claim) -> f64 {
    share_of_all(claim.evidence.iter().map(|step| (step.dead_share, step.seconds)))
}

fn no_progress(dead: f64) -> String {
    format!(
        "for {} of the time requests waited for a second or longer and none completed",
        significant_percent(dead)
    )
}

fn in_flight(step: &ClaimStep) -> String {
    match step.offered_per_second {
        Some(offered) => format!("{} I/Os a second offered", grouped(offered.round() as u64)),
        None => format!("{} in flight", grouped(step.depth)),
    }
}

/// The rates at their depths: `16 -> 1,500 in flight: 301 -> 301 IOPS`.
pub fn depths_and_rates(claim: &Claim) -> Option<String> {
    let (first, last) = (claim.evidence.first()?, claim.deciding_step()?);
    if first.step == last.step {
        return None;
    }
    let unit = if claim.metric == Metric::Iops { " IOPS" } else { "" };
    let rates = format!(
        "{} -> {}{unit}",
        figure(claim.metric, first.per_second),
        figure(claim.metric, last.per_second)
    );
    Some(match (first.offered_per_second, last.offered_per_second) {
        (None, None) => format!("{} -> {} in flight: {rates}", grouped(first.depth), grouped(last.depth)),
        _ => format!("{} -> {}: {rates}", in_flight(first), in_flight(last)),
    })
}

/// Why a long step leaves a promise open that a shorter one decides.
const SAMPLES_MERGED: &str = "the samples of so long a step are too coarse to show its pauses and single seconds: measure for an hour (--runtime 1h)";

/// The reason of an answer about a rate; empty for a plain PASS.
pub fn of_rate(claim: &Claim, answer: &Answer, terms: &ClaimTerms, deepest: &Deepest) -> String {
    let told = |i: usize| &claim.evidence[i];
    let by = told(answer.by);
    let metric = claim.metric;
    match answer.basis {
        Basis::Kept => String::new(),
        Basis::KeptWithMoreLoad { first } => format!(
            "{} in flight keep it, {} each in the mean; {} gave {}; {} of the seconds delivered {}",
            grouped(by.depth),
            Nanos(by.latency_ns as u64),
            in_flight(told(first)),
            rate(metric, told(first).per_second),
            claim.delivered.map_or(String::new(), |d| significant_percent(d.share)),
            delivered_level(terms),
        ),
        Basis::WithinGuarantee => format!(
            "within the guarantee ({} for {} of the time), {}",
            delivered_level(terms),
            share_of_time(terms.time.unwrap_or_default()),
            if claim.ratio < 1.0 {
                format!("{} below the nominal rate; a longer run does not change that", significant_percent(1.0 - claim.ratio))
            } else {
                "and too near the nominal rate to tell whether that is kept".into()
            }
        ),
        Basis::Missed => missed(claim, by, deepest),
        Basis::TooFewSeconds => too_few_seconds(claim, terms),
        Basis::Hangs => "the device hangs: requests in flight at the end of the step never came back; look at the kernel log (dmesg)".into(),
        Basis::MediumErrors => "the device failed I/Os; look at the kernel log (dmesg)".into(),
        Basis::LoadNotShown => not_enough_load(claim, by, answer, deepest),
        Basis::Changed { first, again } => format!(
            "the volume changed between the steps: {} gave {} at first and {} later; run it again to see which of them lasts",
            in_flight(told(first)),
            rate(metric, told(first).per_second),
            rate(metric, told(again).per_second)
        ),
        Basis::DeadTime => format!(
            "the mean is kept, but {}; the provider promises no share of time: --min-share 99% decides",
            no_progress(dead_share(claim))
        ),
        Basis::ShareOpen { more_seconds } => share_is_open(claim, terms, more_seconds),
        Basis::SamplesMerged => SAMPLES_MERGED.into(),
        Basis::DepthNotPossible => format!(
            "{} are the most that {} here, and the rate still grows with the number in flight: {} decide",
            in_flight(by),
            if deepest.by_memory { "memory allows" } else { "the target has blocks for" },
            grouped(deepest.saturating)
        ),
        Basis::BurstUntested { shown_seconds, more_seconds } => burst_untested(terms, shown_seconds, more_seconds),
        Basis::Open(open) => of_open(open, terms, by),
    }
}

fn burst_untested(terms: &ClaimTerms, shown_seconds: u64, more_seconds: Option<u64>) -> String {
    let promised = terms.judged_burst().and_then(|burst| burst.seconds).unwrap_or_default();
    let [shown, promised] = [shown_seconds, promised as u64].map(|s| Nanos::seconds(s).clock());
    let of = format!("{shown} of the {promised} that are promised");
    match more_seconds {
        Some(_) => format!("the burst was measured for {of}: {}", longer(more_seconds)),
        None => format!("the burst lasted {of}, and then came the baseline, {NOT_FULL}"),
    }
}

fn missed(claim: &Claim, by: &ClaimStep, deepest: &Deepest) -> String {
    let shown = match claim.limit_below() {
        Some(limit) if !limit.of_instance => {
            "no load gives more: by the provider's own counters the volume's limit is below the promise"
                .into()
        }
        _ => depths_and_rates(claim).unwrap_or_else(|| format!("{} give no more", in_flight(by))),
    };
    if by.saturating {
        return shown;
    }
    format!(
        "{shown}; {} are the most that {} here, and half as many gave the same",
        in_flight(by),
        if deepest.by_memory { "memory allows" } else { "the target has blocks for" }
    )
}

fn too_few_seconds(claim: &Claim, terms: &ClaimTerms) -> String {
    let share = claim.delivered.map_or(0.0, |d| d.share);
    let mean = if claim.measured >= claim.limit {
        "the mean is kept, but only ".into()
    } else {
        depths_and_rates(claim).map_or("only ".into(), |shown| format!("{shown}; only "))
    };
    format!(
        "{mean}{} of the seconds delivered {}; {} are promised",
        significant_percent(share),
        delivered_level(terms),
        share_of_time(terms.time.unwrap_or_default())
    )
}

fn share_is_open(claim: &Claim, terms: &ClaimTerms, more_seconds: Option<u64>) -> String {
    let share = claim.delivered.map_or(0.0, |d| d.share);
    let wait = more_seconds.map_or("no run of a week confirms it".into(), |s| {
        format!("{} more without a slow second would confirm it", Nanos::seconds(s).clock())
    });
    let dead = dead_share(claim);
    let dead = if dead > 0.0 { format!("{}; ", no_progress(dead)) } else { String::new() };
    format!(
        "{dead}{} of the seconds delivered {}, {} are promised: too short to tell how often slow seconds come; {wait}",
        significant_percent(share),
        delivered_level(terms),
        share_of_time(terms.time.unwrap_or_default())
    )
}

fn not_enough_load(claim: &Claim, by: &ClaimStep, answer: &Answer, deepest: &Deepest) -> String {
    let gave = format!("{} gave {}", in_flight(by), rate(claim.metric, by.per_second));
    match answer.missing {
        Some(Missing::Repeat(load)) => format!(
            "{gave}; {} once more would tell whether the load or the volume changed the rate",
            grouped(load.depth)
        ),
        _ => format!("{gave}; {} in flight decide, and were not tried", grouped(deepest.depth())),
    }
}

/// What a baseline shows where a burst is judged.
const NOT_FULL: &str =
    "as of a bucket that was not full: leave the volume idle until it is, then run it again";

fn of_open(open: Open, terms: &ClaimTerms, by: &ClaimStep) -> String {
    match open {
        Open::Short { .. } => "less than a minute was measured".into(),
        Open::Spans { more_seconds } => longer(more_seconds),
        Open::Credits { more_seconds: None } => {
            "the burst of this type could have given this rate, and how long it lasts is not published: --promise-burst judges the burst".into()
        }
        Open::Credits { more_seconds: Some(more) } => format!(
            "burst credits of this type could have given this rate: measure {} longer, or judge the burst with --promise-burst",
            Nanos::seconds(more).clock()
        ),
        Open::CreditsMayBeLeft => {
            "burst credits of this type could have given this rate, which asks for less than the burst: more load uses them up".into()
        }
        Open::FewCredits => format!("less than the burst and no less than the baseline, {NOT_FULL}"),
        Open::BeyondTheType => beyond_the_type(terms, by.per_second),
        Open::OneUnit => "kept by one reading of the provider's unit (MB or MiB), missed by the other: ask the provider which it is".into(),
        Open::EndedEarly => ENDED_EARLY.into(),
    }
}

/// The reason of an answer that only time decides.
pub fn longer(more_seconds: Option<u64>) -> String {
    match more_seconds {
        Some(s) => format!("measure {} longer to decide", Nanos::seconds(s).clock()),
        None => "too close to the limit: a week would not decide it".into(),
    }
}

/// A user who watches the figures and chooses when to end the step chooses the answer as well.
pub const ENDED_EARLY: &str = "the user ended the step before its time: let it run to its end";

/// The question to a user whose volume does more than type and size can give.
pub fn beyond_the_type(terms: &ClaimTerms, per_second: f64) -> String {
    let most = if terms.ceiling() > terms.most { "the burst that" } else { "what" };
    format!(
        "{} of {most} is promised at this size: name the right type, and what was bought beside it (--iops, --throughput); check that the I/O reaches the volume",
        significant_percent(per_second / terms.ceiling())
    )
}

/// The claim of a volume among several whose sum keeps the promise.
pub fn by_itself(path: &Path, claim: Claim, sum: &Claim) -> Claim {
    let lead = if claim.reason.is_empty() { "by itself" } else { "by itself: " };
    let all = rate(sum.metric, sum.measured);
    let reason = format!("{} {lead}{}; all volumes together did {all}", path.display(), claim.reason);
    Claim { reason, ..claim }
}

/// A fault of the measurement as a reason.
pub fn of_fault(fault: &Fault) -> String {
    format!("{}; {}", fault.message.trim_end_matches('.'), fault.advice)
}

/// What kept a run from the step that decides: the time that its user gave it. Empty where that is not the reason.
pub fn beyond_the_budget(record: &Record, answer: &Answer) -> String {
    let budget = record.plan.follow_up.as_ref().and_then(|follow_up| follow_up.budget);
    match budget.filter(|_| answer.missing.is_some() && record.state == State::Complete) {
        Some(budget) => format!("; --budget {} has no time for that step", budget.clock()),
        None => String::new(),
    }
}
