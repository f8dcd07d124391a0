//! The sentence of a verdict: the claim that stands first, in words. Nothing is decided here.

use super::headline::measured;
use volproof_base::sample::Direction;
use volproof_base::unit::{Nanos, grouped, significant};
use volproof_judge::{PromisedRates, figure, figures, gravest, judges_burst};
use volproof_record::{BasisCode, Claim, JudgedNeed, Metric, Outcome, Record, Verdict};

/// The sentence of a verdict.
pub fn answer(record: &Record, v: &Verdict) -> String {
    let Some(c) = gravest(v) else { return measured(record) };
    if let Some(need) = &c.need {
        return fit_answer(v, c, need);
    }
    match c.outcome {
        Outcome::Pass => pass(record, v, c),
        Outcome::Fail => format!("{}{}.", fail(record, c), failed_of_all(v)),
        Outcome::Inconclusive => not_decided(v, c),
        Outcome::Invalid => {
            format!("This run cannot judge the promise of {}.", amount(c.metric, c.promised))
        }
    }
}

/// A figure that names its unit.
pub fn amount(metric: Metric, v: f64) -> String {
    match metric {
        Metric::Iops => format!("{} IOPS", figure(metric, v)),
        Metric::Throughput => figure(metric, v),
        Metric::Latency => format!("{} mean latency", figure(metric, v)),
        Metric::Percentile | Metric::SlowShare => figure(metric, v),
    }
}

/// The volumes that a promise is about, and whether they are several.
fn volumes(record: &Record) -> (String, bool) {
    match record.judged_promise.as_ref().map_or(1, |c| c.promise.volumes.len()) {
        0 | 1 => ("The volume".into(), false),
        n => (format!("The {n} volumes"), true),
    }
}

/// The promise is kept: the figure nearest to it, and the load that it took.
fn pass(record: &Record, v: &Verdict, c: &Claim) -> String {
    let (measured, promised) = (amount(c.metric, c.measured), figure(c.metric, c.promised));
    let (who, several) = volumes(record);
    let deliver = if several { "deliver" } else { "delivers" };
    let only = only_direction(record, v);
    let what = match c.basis {
        BasisCode::WithinGuarantee => "what is guaranteed",
        _ if v.claims.iter().all(|c| is_of_burst(record, c)) => "what is promised of its burst",
        _ => "what is promised",
    };
    let tests = match v.claims.len() {
        1 => String::new(),
        n => format!(" in all {n} tests; the closest is"),
    };
    let load = load_needed(c).map_or(String::new(), |load| format!(", with {load}"));
    let colon = if tests.is_empty() { ":" } else { "" };
    format!("{who} {deliver} {what}{only}{tests}{colon} {measured} of {promised}{load}.")
}

/// The burst was judged, and not the baseline.
fn is_of_burst(record: &Record, c: &Claim) -> bool {
    let step = record.steps.iter().find(|step| step.name == c.row_step());
    let Some((promise, step)) = record.judged_promise.as_ref().zip(step) else { return false };
    let rates = PromisedRates::of_load(promise, &record.conditions(step));
    c.need.is_none() && rates.is_some_and(|rates| judges_burst(promise, &rates))
}

/// The promise is broken: the test and its figure, or what the volume does instead of answering.
fn fail(record: &Record, c: &Claim) -> String {
    let (measured, promised) = (amount(c.metric, c.measured), figure(c.metric, c.promised));
    let (who, several) = volumes(record);
    let falls = if several { "fall short of their promise" } else { "falls short of its promise" };
    match c.basis {
        BasisCode::MediumErrors => format!("{who} failed I/Os in {}", c.row_step()),
        BasisCode::Hangs => format!("{who} did not complete requests in {}", c.row_step()),
        _ if c.metric == Metric::Latency => {
            format!("{who} {falls} in {}: {measured}, where {promised} are promised", c.row_step())
        }
        // The mean is met, and the share of the time is not.
        _ if c.measured >= c.limit && !c.reason.is_empty() => {
            format!("{who} {falls} in {} at {measured}: {}", c.row_step(), c.reason)
        }
        _ => {
            let percent = significant(c.ratio * 100.0);
            let proven = if c.limit_below().is_some_and(|limit| !limit.of_instance) {
                ", proven by AWS's own counters"
            } else {
                ""
            };
            format!("{who} {falls} in {}: {measured}, {percent} % of {promised}{proven}", c.row_step())
        }
    }
}

/// How many of several promises failed; empty where one alone was tested.
fn failed_of_all(v: &Verdict) -> String {
    let promises = || v.claims.iter().filter(|c| c.need.is_none());
    let failed = promises().filter(|c| c.outcome == Outcome::Fail).count();
    match promises().count() {
        0 | 1 => String::new(),
        all => format!("; {failed} of {all} promises failed"),
    }
}

/// Depth and latency of the step that keeps a promise, where it has more load than the first step.
fn load_needed(c: &Claim) -> Option<String> {
    let (first, step) = (c.evidence.first()?, c.deciding_step()?);
    let is_same = step.depth == first.depth && step.offered_per_second == first.offered_per_second;
    let latency = Nanos(step.latency_ns as u64);
    (!is_same).then(|| format!("{} in flight, {latency} each", grouped(step.depth)))
}

/// The sentence of a promise that is not decided: the test that leaves it open, and how many others do.
fn not_decided(v: &Verdict, c: &Claim) -> String {
    let (measured, promised) = (amount(c.metric, c.measured), figure(c.metric, c.promised));
    let shows = if v.claims.len() == 1 { String::new() } else { format!("{} shows ", c.row_step()) };
    let beside = if c.metric.less_is_better() {
        format!("where {promised} are promised")
    } else {
        format!("{} % of the {promised} that are promised", significant(c.ratio * 100.0))
    };
    let others = match v.claims.iter().filter(|other| other.outcome == Outcome::Inconclusive).count() {
        0 | 1 => String::new(),
        2 => "; 1 other test is not decided either".into(),
        n => format!("; {} other tests are not decided either", n - 1),
    };
    format!("Not decided: {shows}{measured}, {beside}{others}.")
}

/// The direction of the tests, where all of them read or all of them wrote: the other one was not tested.
fn only_direction(record: &Record, v: &Verdict) -> &'static str {
    let steps = || record.steps.iter().filter(|s| v.claims.iter().any(|c| c.step == s.name));
    let all = |d| steps().all(|s| record.conditions(s).pattern().is_some_and(|p| p.directions() == [d]));
    if steps().next().is_none() {
        ""
    } else if all(Direction::Read) {
        " for reads"
    } else if all(Direction::Write) {
        " for writes"
    } else {
        ""
    }
}

/// The sentence of a verdict whose closest claim is the need of an application.
fn fit_answer(v: &Verdict, c: &Claim, need: &JudgedNeed) -> String {
    let (limit, measured) = figures(c.metric, c.promised, &[c.measured]);
    let measured = measured.concat();
    let side = if c.metric.less_is_better() { "at most" } else { "at least" };
    let figures = match c.outcome {
        // The class of the volume is wrong, whatever was measured.
        Outcome::Fail if c.room() > 1.0 => c.reason.clone(),
        _ => format!("{} {measured}, {side} {limit} asked for", need.figure),
    };
    let whom = need.whose();
    let all = match v.claims.len() {
        1 => return format!("{}.", of_one(c.outcome, &whom, &figures)),
        2 => "both needs are met".to_string(),
        n if v.claims.iter().all(|c| c.need.is_some()) => format!("all {n} needs are met"),
        n => format!("all {n} tests are passed"),
    };
    match c.outcome {
        Outcome::Pass => format!("Good enough: {all}; the closest is {whom}, {figures}."),
        outcome => format!("{}.", of_one(outcome, &whom, &figures)),
    }
}

/// The answer to one need.
fn of_one(outcome: Outcome, whom: &str, figures: &str) -> String {
    match outcome {
        Outcome::Pass => format!("Good enough for {whom}: {figures}"),
        Outcome::Fail => format!("Not good enough for {whom}: {figures}"),
        Outcome::Inconclusive => format!("Not decided for {whom}: {figures}"),
        Outcome::Invalid => format!("This run cannot judge the need of {whom}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_base::stats::limit_answer::ClaimAnswer;
    use volproof_record::ClaimStep;

    /// A claim whose first step missed it in 16 requests, and whose second step at this depth decides.
    fn claim(outcome: Outcome, basis: BasisCode, depth: u64) -> Claim {
        let step = |name: &str, depth| ClaimStep {
            step: name.into(),
            depth,
            offered_per_second: None,
            saturating: false,
            seconds: 60.0,
            per_second: 3000.0,
            interval: None,
            latency_ns: 21e6,
            dead_share: 0.0,
            keeps: None,
        };
        let found = ClaimAnswer::open(3000.0, 3000.0, None, None);
        let plain = Claim::new("a", Metric::Iops, outcome, 3000.0, found, String::new());
        Claim { evidence: vec![step("a", 16), step("a-deeper", depth)], decided_by: 1, basis, ..plain }
    }

    fn verdict(claims: &[Claim]) -> Verdict {
        Verdict {
            outcome: None,
            against: String::new(),
            tolerance: 0.02,
            claims: claims.to_vec(),
            beyond: Vec::new(),
            untested: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_pass_says_what_load_it_took() {
        assert_eq!(load_needed(&claim(Outcome::Pass, BasisCode::Kept, 16)), None);
        let deeper = claim(Outcome::Pass, BasisCode::KeptWithMoreLoad, 64);
        assert_eq!(load_needed(&deeper).as_deref(), Some("64 in flight, 21.0 ms each"));
    }

    #[test]
    fn a_fail_says_how_many_failed() {
        let fail = || claim(Outcome::Fail, BasisCode::Missed, 1500);
        let pass = || claim(Outcome::Pass, BasisCode::Kept, 16);
        assert_eq!(failed_of_all(&verdict(&[fail()])), "");
        assert_eq!(failed_of_all(&verdict(&[fail(), pass(), fail()])), "; 2 of 3 promises failed");
    }
}
