//! The verdict on the steps of a Record: its claims, their gravest outcome, and what is promised and not tested.

use super::against::against_all;
use super::asked_verdict::promise_to_judge;
use super::gravest::{gravest_promise, is_of_promise};
use super::latency::{self, TestedLatency};
use super::promised::{self, TestedPromise};
use super::{causes, faults, needs, test_command, unjudged};
use volproof_record::{Claim, Metric, Outcome, Record, StepRecord, Untested, Verdict};

/// The claims of all steps.
pub(crate) fn claims_of(record: &Record) -> Vec<Claim> {
    let mut claims = Vec::new();
    if let Some(promise) = promise_to_judge(record) {
        claims.extend(promised::tested(record, promise).iter().filter_map(TestedPromise::claim));
        claims.extend(latency::tested(record, promise).iter().filter_map(TestedLatency::claim));
        claims.sort_by_key(|claim| record.steps.iter().position(|step| step.name == claim.step));
    }
    if let Some(asked) = &record.asked {
        let tests = record.tests().filter(|step| !record.plan.is_precondition(&step.name));
        claims.extend(tests.flat_map(|step| needs::claims(record, asked, step)));
    }
    claims
}

/// One step by itself against the promise of its Record. `Ok` is its claim: on latency at depth 1, else on the rate. `Err` says why it has none.
/// `None` means that the Record has no promise.
pub fn claim_of_step(record: &Record, step: &StepRecord) -> Option<Result<Claim, String>> {
    let judged_promise = record.judged_promise.as_ref()?;
    let alone = std::slice::from_ref(step);
    let claim = if record.depth_per_target(step) == Some(1) {
        latency::tested_by(alone, record, judged_promise).first().and_then(TestedLatency::claim)
    } else {
        promised::tested_by(alone, record, judged_promise).first().and_then(TestedPromise::claim)
    };
    Some(claim.ok_or_else(|| unjudged::reason(judged_promise, &record.conditions(step), step)))
}

/// The verdict on the steps of a Record.
pub(crate) fn verdict_of(record: &Record) -> Verdict {
    let judged_promise = promise_to_judge(record);
    let (beyond, claims): (Vec<Claim>, Vec<Claim>) =
        claims_of(record).into_iter().partition(|c| needs::is_beyond(record.asked.as_ref(), c));
    let unanswered =
        record.asked.as_ref().map_or_else(Vec::new, |asked| needs::unanswered(record, asked, &claims));
    let outcome = outcome_of(record, &claims, &unanswered);
    let mut untested = untested_metrics(record, &claims);
    untested.extend(unanswered.iter().cloned());
    let verdict = Verdict {
        outcome,
        against: against_all(record),
        tolerance: judged_promise.map_or(0.0, |c| c.tolerance),
        notes: notes(record, &claims),
        claims,
        beyond,
        untested,
    };
    without_shared_limits(record, verdict, &unanswered)
}

/// A limit of the instance is no fault of a volume: a miss for which an experiment showed that limit is INVALID, as one that counters prove. Where
/// the instance's own promise is judged, it counts.
fn without_shared_limits(record: &Record, mut verdict: Verdict, unanswered: &[Untested]) -> Verdict {
    for _ in 0..verdict.claims.len() {
        let Some(missed) = gravest_promise(&verdict).filter(|claim| claim.outcome == Outcome::Fail) else {
            break;
        };
        if missed.binding.starts_with("instance") || !causes::clears_the_volumes(record, &verdict) {
            break;
        }
        let place = verdict.claims.iter().position(|claim| claim == missed);
        let Some(claim) = place.and_then(|place| verdict.claims.get_mut(place)) else { break };
        *claim = faults::void(claim.clone(), &faults::shared_limit());
        verdict.outcome = outcome_of(record, &verdict.claims, unanswered);
    }
    verdict
}

/// The gravest outcome. An application without an answer has no PASS, whatever another one has; nor has a promise that no step tests.
pub(crate) fn outcome_of(record: &Record, claims: &[Claim], unanswered: &[Untested]) -> Option<Outcome> {
    let open = Outcome::Inconclusive;
    let answered =
        unanswered.is_empty() && (promise_to_judge(record).is_none() || claims.iter().any(is_of_promise));
    let gravest = claims.iter().map(|c| c.outcome).max_by_key(|o| o.weight())?;
    Some(if answered || gravest.weight() > open.weight() { gravest } else { open })
}

/// A claim is about a promise of that metric.
pub(crate) fn tests(claims: &[Claim], metric: Metric) -> bool {
    claims.iter().any(|c| is_of_promise(c) && c.metric == metric)
}

/// What is promised and no claim is about.
pub(crate) fn untested_metrics(record: &Record, claims: &[Claim]) -> Vec<Untested> {
    let Some(judged_promise) = promise_to_judge(record) else { return Vec::new() };
    let mut untested = Vec::new();
    for metric in Metric::PROMISED {
        if !tests(claims, metric) {
            untested.extend(test_command::untested(record, judged_promise, metric));
        }
    }
    if claims.is_empty() && untested.is_empty() {
        untested.push(unjudged::first(record, judged_promise));
    }
    untested
}

/// What a reader of the verdict has to know beside it.
pub(crate) fn notes(record: &Record, claims: &[Claim]) -> Vec<String> {
    let judged_promise = promise_to_judge(record);
    let mut notes = judged_promise.map(|c| c.notes.clone()).unwrap_or_default();
    if judged_promise.is_some_and(|c| !c.promise.unit_certain()) && tests(claims, Metric::Throughput) {
        notes.push("the provider's unit is in doubt (MB or MiB): FAIL only below both readings, PASS only above both".into());
    }
    notes.extend(record.asked.iter().flat_map(|asked| needs::notes(record, asked)));
    notes
}
