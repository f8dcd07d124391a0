//! The judge: did the volume deliver what is promised, and what an application needs? PASS, FAIL, INCONCLUSIVE or INVALID, by experiment.
//!
//! Works on a Record alone, fresh or stored. `facts` reads what a step shows, `outcome` is the table that answers a promised rate,
//! `follow_up` gives the step that is missing for an answer. `doubts` are faults of the measurement and remarks about it, `shape` the five
//! descriptions of samples, which never change an outcome. A rule reads facts, never what another rule found. INVALID is a fault of the measurement and nothing else (`faults`). Words for
//! people are made in `words`. The promise is the lesser of what the volumes and the instance promise, at the block size of the step.
//! Nothing here measures, waits or prints. docs/method.md has the reasons; statistics are in [`volproof_base::stats`].

mod burst_part;
mod cache_may_answer;
pub mod comparison;

pub mod causes;
mod conclusion;
pub mod doubts;
pub mod facts;
mod faults;
mod fleet_verdict;
pub mod follow_up;
mod latency;
mod needs;
mod outcome;
mod promised;
pub mod provider;
mod saturating_depth;
pub mod shape;
mod sold_beyond;
mod step_answer;
mod terms;
mod test_command;
#[cfg(test)]
mod tests;
mod thresholds;
mod unjudged;
mod volume_class;
mod words;

pub use conclusion::{Conclusion, exit};
use latency::TestedLatency;
pub use latency::{fits_latency, latency_promised, promised_latency};
pub use promised::PromisedRates;
use promised::TestedPromise;
pub use sold_beyond::question_of_excess;
pub use terms::{judges_burst, promised_readings};
pub use unjudged::reason as why_without_rate;
pub use words::RESUME;
pub use words::{depths_and_rates, figure, figures, rate};

use volproof_promise::fit::AskedFits;
use volproof_record::{
    Claim, Diagnosis, JudgedPromise, Metric, Outcome, Record, StepRecord, Untested, Verdict,
};

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
    (shape::of_record(record), wants_verdict(record).then(|| verdict_of(record)))
}

/// The promise to judge. Reports of other tools are compared with it, and not judged.
fn promise_to_judge(record: &Record) -> Option<&JudgedPromise> {
    record.judged_promise.as_ref().filter(|_| record.tests_a_volume() && record.report.is_none())
}

/// A promise or the needs of applications are there to judge.
fn wants_verdict(record: &Record) -> bool {
    let has_needs = record.asked.as_ref().is_some_and(AskedFits::has_needs);
    record.tests_a_volume() && record.report.is_none() && (record.judged_promise.is_some() || has_needs)
}

/// Puts findings and verdict into a Record. Only `seal` calls it, since the answer of a course follows from them.
pub fn judge(record: &mut Record) {
    provider::complete(record, 0);
    judge_counted(record);
}

/// The same with the figures of the provider that its steps have now. Only `seal_counted` calls it.
pub fn judge_counted(record: &mut Record) {
    let (found, verdict) = judged_anew(record);
    record.findings = Some(found.into_iter().flat_map(|d| d.findings).collect());
    set_verdict(record, verdict);
}

/// Puts a verdict into a Record, and what was tried to explain it.
fn set_verdict(record: &mut Record, verdict: Option<Verdict>) {
    record.causes = verdict.as_ref().and_then(|verdict| causes::table(record, verdict));
    record.verdict = verdict;
}

/// Judges a Record to which the steps from `first` on were added: what is found in other steps stays.
pub fn judge_steps(record: &mut Record, first: usize) {
    if first == 0 || record.findings.is_none() {
        return judge(record);
    }
    provider::complete(record, first);
    let tests = record.steps[first..].iter().filter(|step| !record.is_experiment(step));
    let found = tests.map(|step| shape::diagnosis(record, step));
    let findings: Vec<_> = found.flat_map(|d| d.findings).collect();
    record.findings.get_or_insert_default().extend(findings);
    let verdict = wants_verdict(record).then(|| verdict_of(record));
    set_verdict(record, verdict);
}

/// The claims of all steps.
fn claims_of(record: &Record) -> Vec<Claim> {
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
    let mut alone = record.clone();
    alone.steps = vec![step.clone()];
    let claim = if record.depth_per_target(step) == Some(1) {
        latency::tested(&alone, judged_promise).first().and_then(TestedLatency::claim)
    } else {
        promised::tested(&alone, judged_promise).first().and_then(TestedPromise::claim)
    };
    Some(claim.ok_or_else(|| unjudged::reason(judged_promise, &record.conditions(step), step)))
}

/// The verdict on the steps of a Record.
fn verdict_of(record: &Record) -> Verdict {
    let judged_promise = promise_to_judge(record);
    let (beyond, claims): (Vec<Claim>, Vec<Claim>) =
        claims_of(record).into_iter().partition(|c| needs::is_beyond(record.asked.as_ref(), c));
    let unanswered =
        record.asked.as_ref().map_or_else(Vec::new, |asked| needs::unanswered(record, asked, &claims));
    let outcome = outcome_of(record, &claims, &unanswered);
    let mut untested = untested_metrics(record, &claims);
    untested.extend(unanswered);
    Verdict {
        outcome,
        against: against_all(record),
        tolerance: judged_promise.map_or(0.0, |c| c.tolerance),
        notes: notes(record, &claims),
        claims,
        beyond,
        untested,
    }
}

/// The claim is about what a provider promises, and not about the need of an application.
fn is_of_promise(claim: &Claim) -> bool {
    claim.need.is_none()
}

/// The gravest outcome. An application without an answer has no PASS, whatever another one has; nor has a promise that no step tests.
fn outcome_of(record: &Record, claims: &[Claim], unanswered: &[Untested]) -> Option<Outcome> {
    let open = Outcome::Inconclusive;
    let answered =
        unanswered.is_empty() && (promise_to_judge(record).is_none() || claims.iter().any(is_of_promise));
    let gravest = claims.iter().map(|c| c.outcome).max_by_key(|o| o.weight())?;
    Some(if answered || gravest.weight() > open.weight() { gravest } else { open })
}

/// The claim of the gravest outcome that comes first. The order is: misses its limit by most; more time does not decide it; nearest to its limit.
pub fn gravest(v: &Verdict) -> Option<&Claim> {
    gravest_of(v, |_| true)
}

/// The same among the promises of the provider, whose cause is looked for; of a PASS the one nearest to its limit.
fn gravest_promise(v: &Verdict) -> Option<&Claim> {
    gravest_of(v, is_of_promise)
}

fn gravest_of(v: &Verdict, counts: impl Fn(&Claim) -> bool) -> Option<&Claim> {
    let of_outcome = v.claims.iter().filter(|c| Some(c.outcome) == v.outcome && counts(c));
    of_outcome.min_by(|a, b| {
        let [room_a, room_b] = [a, b].map(|c| if c.misses_limit() { c.room() } else { 1.0 });
        let by_time = a.more_seconds.is_some().cmp(&b.more_seconds.is_some());
        room_a.total_cmp(&room_b).then(by_time).then_with(|| a.room().total_cmp(&b.room()))
    })
}

/// A claim is about a promise of that metric.
fn tests(claims: &[Claim], metric: Metric) -> bool {
    claims.iter().any(|c| is_of_promise(c) && c.metric == metric)
}

/// What is promised and no claim is about.
fn untested_metrics(record: &Record, claims: &[Claim]) -> Vec<Untested> {
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
fn notes(record: &Record, claims: &[Claim]) -> Vec<String> {
    let judged_promise = promise_to_judge(record);
    let mut notes = judged_promise.map(|c| c.notes.clone()).unwrap_or_default();
    if judged_promise.is_some_and(|c| !c.promise.unit_certain()) && tests(claims, Metric::Throughput) {
        notes.push("the provider's unit is in doubt (MB or MiB): FAIL only below both readings, PASS only above both".into());
    }
    notes.extend(record.asked.iter().flat_map(|asked| needs::notes(record, asked)));
    notes
}

/// What a Record is held against: the promise of its volumes, and the needs of applications.
pub fn against_all(record: &Record) -> String {
    let volumes = record.judged_promise.as_ref().filter(|_| record.tests_a_volume()).map(against);
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
