//! The verdict: did the volume deliver what it is promised? PASS, FAIL, INCONCLUSIVE or INVALID, for IOPS, throughput and
//! latency.
//!
//! Works on a Record alone, fresh or stored. The promise is the lesser of what the volumes and the instance promise, at the block size of
//! the step. At that size either the IOPS limit or the bytes limit binds, and only the one that binds is judged. The whole window is
//! judged; see `judged_window`. A step that could not have reached the promise, or that a blocker spoilt, is INVALID whatever it measured:
//! its figures are about the test. The one exception: a blocker that can only slow a run down does not undo a PASS. docs/method.md gives
//! the reasons; statistics are in [`crate::stats`]. FAIL of a step is decided in `judged_window`, of an application's need in `needs`, and of
//! a report in `claims_of_reports`.

mod blocker;
mod cap_wait;
mod claim;
mod claim_terms;
mod claims_of_reports;
mod conclusion;
mod each_target;
mod excess;
mod extra_requests;
mod flattered;
mod fleet_verdict;
mod judged_window;
mod levels;
mod needs;
mod needs_of_reports;
mod overrun;
mod pass_of_reports;
mod proviso;
mod reach;
mod reach_of_reports;
pub mod recommended_test;
mod remeasure;
mod undecided;
mod unjudged;
mod volume_class;

use std::collections::HashSet;

pub use claim::{PromisedRates, figure, figures};
pub use conclusion::{Conclusion, exit};
pub use excess::question_of_excess;
pub use needs::shares_by_hour;
pub use proviso::proviso;
pub use remeasure::runtime_to_decide;

use crate::fit::AskedFits;
use crate::judge::shape;
use crate::plan::Step;
use crate::record::{
    Claim, Conditions, Diagnosis, JudgedPromise, Metric, Outcome, Record, StepRecord, Untested, Verdict,
    company,
};
use crate::unit::Nanos;

/// Findings of each step and the verdict: those that the Record holds, where this version made them; else those that the rules make now.
pub fn judged(record: &Record) -> (Vec<Diagnosis>, Option<Verdict>) {
    match record.diagnoses() {
        Some(found) if record.verdict.is_some() == wants_verdict(record) => (found, record.verdict.clone()),
        _ => judged_anew(record),
    }
}

/// Findings of each step and the verdict by the rules, whatever the Record holds.
pub fn judged_anew(record: &Record) -> (Vec<Diagnosis>, Option<Verdict>) {
    if let Some(fleet) = &record.fleet {
        return fleet_verdict::of_fleet(record, fleet);
    }
    let found = shape::of_record(record);
    let verdict = wants_verdict(record).then(|| of(record, claims_of(record, &record.steps)));
    (found, verdict)
}

/// The promise to judge.
fn promise_to_judge(record: &Record) -> Option<&JudgedPromise> {
    record.judged_promise.as_ref().filter(|_| record.tests_a_volume())
}

/// A promise or the needs of applications are there to judge.
fn wants_verdict(record: &Record) -> bool {
    record.tests_a_volume()
        && (record.judged_promise.is_some() || record.asked.as_ref().is_some_and(AskedFits::has_needs))
}

/// Puts findings and verdict into a Record. Only [`seal`](crate::seal) calls it, since the answer of a course follows from them.
pub(crate) fn judge(record: &mut Record) {
    let (found, verdict) = judged_anew(record);
    record.findings = Some(found.into_iter().flat_map(|d| d.findings).collect());
    record.verdict = verdict;
}

/// Judges the steps from `first` on, which were added to a judged Record: no other step is looked into again.
pub(crate) fn judge_steps(record: &mut Record, first: usize) {
    let judged = record.findings.is_some() && record.verdict.is_some() == wants_verdict(record);
    if first == 0 || !judged {
        return judge(record);
    }
    let found: Vec<Diagnosis> =
        record.steps[first..].iter().map(|step| shape::diagnosis(record, step)).collect();
    if let Some(verdict) = &record.verdict {
        let known = verdict.claims.iter().chain(&verdict.beyond).cloned();
        let claims = known.chain(claims_of(record, &record.steps[first..])).collect();
        record.verdict = Some(of(record, claims));
    }
    record.findings.get_or_insert_default().extend(found.into_iter().flat_map(|d| d.findings));
}

/// The claims of some steps.
fn claims_of(record: &Record, steps: &[StepRecord]) -> Vec<Claim> {
    let mut claims = Vec::new();
    let company = company(record);
    for step in steps.iter().filter(|step| !record.plan.is_precondition(&step.name)) {
        if let Some(asked) = &record.asked {
            claims.extend(needs::claims(record, asked, step));
        }
        if let Some(judged_promise) = promise_to_judge(record) {
            let conditions = record.conditions(step);
            let beside = company.get(step.name.as_str()).copied();
            let judge = claim::Judge { record, judged_promise, conditions: &conditions, step, beside };
            claims.extend(judge.rate());
            claims.extend(judge.latency());
        }
    }
    claims
}

/// One step by itself against the promise of its Record: the latency of one request at a time, or the rate of more; or why the step is
/// held against nothing. `None` without a promise.
pub fn claim_of_step(record: &Record, step: &StepRecord) -> Option<Result<Claim, String>> {
    let judged_promise = record.judged_promise.as_ref()?;
    let conditions = &record.conditions(step);
    let judge = claim::Judge { record, judged_promise, conditions, step, beside: None };
    let why = || unjudged::reason(judged_promise, conditions, step);
    let is_lone = record.depth_per_target(step) == Some(1);
    Some(if is_lone { judge.latency() } else { judge.rate() }.ok_or_else(why))
}

/// The mean latency that is promised for a planned step, if its load is the one that the promise covers.
pub fn promised_latency(judged_promise: &JudgedPromise, step: &Step) -> Option<Nanos> {
    let conditions = Conditions::of_step(step, 1);
    let covered = claim::fits_latency(judged_promise, &conditions, Some(step.depth_per_target()));
    claim::latency_promised(judged_promise).filter(|_| covered)
}

/// The verdict that claims come to.
fn of(record: &Record, claims: Vec<Claim>) -> Verdict {
    let judged_promise = promise_to_judge(record);
    let elsewhere = judged_promise.and_then(|promise| unjudged::other_disk(record, promise, &claims));
    let (beyond, claims): (Vec<Claim>, Vec<Claim>) = without_side_claims(record, claims)
        .into_iter()
        .partition(|c| needs::is_beyond(record.asked.as_ref(), c));
    let mut unanswered =
        record.asked.as_ref().map_or_else(Vec::new, |asked| needs::unanswered(record, asked, &claims));
    unanswered.extend(elsewhere);
    let outcome = outcome_of(record, &claims, &unanswered);
    let mut untested = untested_metrics(record, &claims, outcome == Some(Outcome::Pass));
    untested.extend(unanswered);
    Verdict {
        outcome,
        against: against_all(record),
        tolerance: judged_promise.map_or(0.0, |c| c.tolerance),
        notes: notes(record, &claims, &untested),
        claims,
        beyond,
        untested,
    }
}

/// The claim is about what a provider promises, and not about the need of an application.
fn is_of_promise(claim: &Claim) -> bool {
    claim.need.is_none()
}

/// The claims without those on the rate of steps that were made for another purpose: one request at a time where a deeper step tests the rate, and
/// steps for the latency, at full speed or at a rate.
fn without_side_claims(record: &Record, mut claims: Vec<Claim>) -> Vec<Claim> {
    let is_deep = |s: &&StepRecord| record.depth_per_target(s).is_some_and(|depth| depth > 1);
    let deep_steps: HashSet<&str> = record.steps.iter().filter(is_deep).map(|s| s.name.as_str()).collect();
    let deep = |c: &Claim| deep_steps.contains(c.step.as_str());
    let tested: Vec<Metric> =
        claims.iter().filter(|c| is_of_promise(c) && deep(c)).map(|c| c.metric).collect();
    let shows_latency = |c: &&Claim| is_of_promise(c) && c.metric == Metric::Latency;
    let latencies: HashSet<String> = claims.iter().filter(shows_latency).map(|c| c.step.clone()).collect();
    let of_latency =
        |c: &Claim| latencies.contains(&c.step) && c.blocker.as_deref() == Some("could-not-reach");
    claims.retain(|c| {
        !is_of_promise(c)
            || c.metric == Metric::Latency
            || !of_latency(c) && (deep(c) || !tested.contains(&c.metric))
    });
    claims
}

/// The gravest outcome. An application or a disk of which nothing is known has no PASS, whatever another one has; nor has a promise that no step
/// tests.
fn outcome_of(record: &Record, claims: &[Claim], unanswered: &[Untested]) -> Option<Outcome> {
    let open = Outcome::Inconclusive;
    let answered =
        unanswered.is_empty() && (promise_to_judge(record).is_none() || claims.iter().any(is_of_promise));
    let gravest = claims.iter().map(|c| c.outcome).max_by_key(|o| o.weight())?;
    Some(if answered || gravest.weight() > open.weight() { gravest } else { open })
}

/// What is promised and no claim is about.
fn untested_metrics(record: &Record, claims: &[Claim], passed: bool) -> Vec<Untested> {
    let Some(judged_promise) = promise_to_judge(record) else { return Vec::new() };
    let mut untested: Vec<Untested> = Metric::PROMISED
        .into_iter()
        .filter(|m| claims.iter().filter(|c| is_of_promise(c)).all(|c| c.metric != *m))
        .filter_map(|m| match record.report {
            Some(_) => claims_of_reports::untested(record, judged_promise, m, passed),
            None => reach::untested(record, judged_promise, m),
        })
        .collect();
    if claims.is_empty() && untested.is_empty() {
        untested.push(unjudged::first(record, judged_promise));
    }
    untested
}

/// What a reader of the verdict has to know beside it.
fn notes(record: &Record, claims: &[Claim], untested: &[Untested]) -> Vec<String> {
    let judged_promise = promise_to_judge(record);
    let mut notes = judged_promise.map(|c| c.notes.clone()).unwrap_or_default();
    let by_bytes = |c: &Claim| is_of_promise(c) && c.metric == Metric::Throughput;
    if judged_promise.is_some_and(|c| !c.promise.unit_certain()) && claims.iter().any(by_bytes) {
        notes.push("the provider's unit is in doubt (MB or MiB): only less than both is a FAIL, only more than both a PASS".into());
    }
    notes.extend(record.asked.iter().flat_map(|asked| needs::notes(record, asked)));
    let commands = claims.iter().map(|c| &c.command).chain(untested.iter().map(|u| &u.command)).flatten();
    let lost = record.steps.iter().find_map(|step| {
        let conditions = record.conditions(step);
        commands.clone().find_map(|command| recommended_test::overwritten_by_diskspd(command, &conditions))
    });
    notes.extend(lost.map(|words| format!("the commands {words}")));
    notes
}

/// What a Record is held against: the promise of its volumes, and the needs of applications.
fn against_all(record: &Record) -> String {
    let volumes = promise_to_judge(record).map(against);
    let asked = record.asked.iter().flat_map(|asked| &asked.applications);
    let applications = asked.filter(|a| !a.needs.is_empty()).map(|a| a.title());
    volumes.into_iter().chain(applications).collect::<Vec<_>>().join(" and ")
}

/// The volumes whose promise is judged, in words: type and size of each, and their instance.
pub fn against(judged_promise: &JudgedPromise) -> String {
    let mut groups: Vec<(String, usize)> = Vec::new();
    for v in &judged_promise.promise.volumes {
        let text = format!("{}, {}", v.id, v.size());
        match groups.iter_mut().find(|(t, _)| *t == text) {
            Some((_, n)) => *n += 1,
            None => groups.push((text, 1)),
        }
    }
    let volumes: Vec<String> =
        groups.into_iter().map(|(t, n)| if n > 1 { format!("{n} x {t}") } else { t }).collect();
    match &judged_promise.promise.instance {
        Some(i) => format!("{} on {}", volumes.join(" + "), i.name),
        None => volumes.join(" + "),
    }
}
