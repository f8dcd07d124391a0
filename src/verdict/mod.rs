//! The verdict: did the volume deliver what it is promised? PASS, FAIL, INCONCLUSIVE or INVALID, for IOPS, throughput and
//! latency.
//!
//! Works on a Record alone, fresh or stored. The promise is the lesser of what the volumes and the instance promise, at the block size of
//! the step. At that size either the IOPS limit or the bytes limit binds, and only the one that binds is judged. The whole window is
//! judged; see [`window`]. A step that could not have reached the promise, or that a blocker spoilt, is INVALID whatever it measured: its
//! figures are about the test. The one exception: a blocker that can only slow a run down does not undo a PASS. docs/method.md gives the
//! reasons; statistics are in [`crate::stats`].

mod blocker;
mod cap_wait;
mod claim;
mod claim_terms;
mod claims_of_reports;
mod each_target;
mod excess;
mod fleet_verdict;
mod levels;
mod needs;
mod needs_of_reports;
mod pass_of_reports;
mod reach;
mod reach_of_reports;
pub mod recommended_test;
mod remeasure;
mod unjudged;
mod volume_class;
mod window;

use std::collections::{HashMap, HashSet};

pub use claim::{PromisedRates, figure, figures};
pub use needs::shares_by_hour;
pub use remeasure::longer;

use crate::diagnose;
use crate::fit::AskedFits;
use crate::record::{
    Claim, Claimed, Diagnosis, Metric, Outcome, Record, StepRecord, Untested, Verdict, company,
};

/// Findings of each step and the verdict: those that the Record holds, where this version judged it, else those of the rules now.
pub fn judged(record: &Record) -> (Vec<Diagnosis>, Option<Verdict>) {
    match record.diagnoses() {
        Some(found) if record.verdict.is_some() == is_judged(record) => (found, record.verdict.clone()),
        _ => judged_anew(record),
    }
}

/// Findings of each step and the verdict by the rules, whatever the Record holds.
pub fn judged_anew(record: &Record) -> (Vec<Diagnosis>, Option<Verdict>) {
    if let Some(fleet) = &record.fleet {
        return fleet_verdict::of_fleet(record, fleet);
    }
    let found = diagnose::of_record(record);
    let verdict = is_judged(record).then(|| of(record, &found, claims_of(record, &record.steps, &found)));
    (found, verdict)
}

/// The promise to judge. The points of a course are not judged: most of them are made to stay below the limit.
fn to_judge(record: &Record) -> Option<&Claimed> {
    record.claimed.as_ref().filter(|_| record.plan.question.is_none())
}

/// A promise or the needs of applications are there to judge.
fn is_judged(record: &Record) -> bool {
    to_judge(record).is_some() || record.asked.as_ref().is_some_and(AskedFits::has_needs)
}

/// Puts findings and verdict into a Record. Whoever changes a step or doubt of a Record, or names another promise, seals it again.
pub fn seal(record: &mut Record) {
    let (found, verdict) = judged_anew(record);
    record.findings = Some(found.into_iter().flat_map(|d| d.findings).collect());
    record.verdict = verdict;
}

/// Seals the steps from `first` on, which a sealed Record was given: no other step is looked into again, so that a long plan is judged in
/// time linear in its steps. Findings that compare steps (limits across block sizes) are made when the whole Record is sealed at the end.
pub fn seal_steps(record: &mut Record, first: usize) {
    let sealed = record.findings.is_some() && record.verdict.is_some() == is_judged(record);
    if first == 0 || !sealed {
        return seal(record);
    }
    let found: Vec<Diagnosis> =
        record.steps[first..].iter().map(|step| diagnose::of_step(record, step)).collect();
    if let Some(verdict) = &record.verdict {
        let known = verdict.claims.iter().chain(&verdict.beyond).cloned();
        let claims = known.chain(claims_of(record, &record.steps[first..], &found)).collect();
        record.verdict = Some(of(record, &found, claims));
    }
    record.findings.get_or_insert_default().extend(found.into_iter().flat_map(|d| d.findings));
}

/// The claims of some steps; `found` are their diagnoses.
fn claims_of(record: &Record, steps: &[StepRecord], found: &[Diagnosis]) -> Vec<Claim> {
    let mut claims = Vec::new();
    let of_step: HashMap<&str, &Diagnosis> = found.iter().map(|d| (d.step.as_str(), d)).collect();
    let company = company(record);
    for step in steps.iter().filter(|step| !record.plan.is_precondition(&step.name)) {
        let Some(diagnosis) = of_step.get(step.name.as_str()) else { continue };
        if let Some(asked) = &record.asked {
            claims.extend(needs::claims(record, asked, step, diagnosis));
        }
        if let Some(claimed) = to_judge(record) {
            let conditions = record.conditions(step);
            let beside = company.get(step.name.as_str()).copied();
            let judge = claim::Judge { record, claimed, conditions: &conditions, step, diagnosis, beside };
            claims.extend(judge.rate());
            claims.extend(judge.latency());
        }
    }
    claims
}

/// The rate of one step against the promise of its Record; none without a promise, and where nothing is promised for its load.
pub fn of_rate(record: &Record, step: &StepRecord) -> Option<Claim> {
    let claimed = record.claimed.as_ref()?;
    let (conditions, diagnosis) = (record.conditions(step), diagnose::of_step(record, step));
    let (conditions, diagnosis) = (&conditions, &diagnosis);
    claim::Judge { record, claimed, conditions, step, diagnosis, beside: None }.rate()
}

/// The verdict that claims come to; `found` are diagnoses of all steps, or of those that the Record was just given.
fn of(record: &Record, found: &[Diagnosis], mut claims: Vec<Claim>) -> Verdict {
    // A step with one request in flight shows latency; where another one tests the rate, it is no test of it.
    let is_deep = |s: &&StepRecord| record.depth_per_target(s).is_some_and(|depth| depth > 1);
    let deep_steps: HashSet<&str> = record.steps.iter().filter(is_deep).map(|s| s.name.as_str()).collect();
    let deep = |c: &Claim| deep_steps.contains(c.step.as_str());
    let promised = |c: &Claim| c.need.is_none();
    let tested: Vec<Metric> = claims.iter().filter(|c| promised(c) && deep(c)).map(|c| c.metric).collect();
    // Nor is one that was made for the latency's sake: one request at a time, as fast as it goes or at a rate.
    let shows_latency = |c: &&Claim| promised(c) && c.metric == Metric::Latency;
    let latencies: HashSet<String> = claims.iter().filter(shows_latency).map(|c| c.step.clone()).collect();
    let of_latency =
        |c: &Claim| latencies.contains(&c.step) && c.blocker.as_deref() == Some("could-not-reach");
    claims.retain(|c| {
        !promised(c)
            || c.metric == Metric::Latency
            || !of_latency(c) && (deep(c) || !tested.contains(&c.metric))
    });
    let (beyond, claims): (Vec<Claim>, Vec<Claim>) =
        claims.into_iter().partition(|c| needs::is_beyond(record.asked.as_ref(), c));
    let claimed = to_judge(record);
    let unanswered =
        record.asked.as_ref().map_or_else(Vec::new, |asked| needs::unanswered(record, asked, &claims));
    let outcome = claims.iter().map(|c| c.outcome).max_by_key(|o| o.weight());
    // An application of which nothing is known has no PASS, whatever another one has.
    let open = Outcome::Inconclusive;
    let outcome = outcome.map(|o| if unanswered.is_empty() || o.weight() > open.weight() { o } else { open });
    let passed = outcome == Some(Outcome::Pass);
    let mut untested: Vec<Untested> = Metric::ALL
        .into_iter()
        .filter(|m| claims.iter().filter(|c| promised(c)).all(|c| c.metric != *m))
        .filter_map(|m| match record.report {
            Some(_) => claims_of_reports::untested(record, claimed?, found, m, passed),
            None => reach::untested(record, claimed?, m),
        })
        .collect();
    if let Some(claimed) = claimed.filter(|_| claims.is_empty() && untested.is_empty()) {
        untested.push(unjudged::first(record, claimed));
    }
    untested.extend(unanswered);
    let mut notes = claimed.map(|c| c.notes.clone()).unwrap_or_default();
    let by_bytes = |c: &Claim| promised(c) && c.metric == Metric::Throughput;
    if claimed.is_some_and(|c| !c.promise.unit_certain()) && claims.iter().any(by_bytes) {
        notes.push("the provider's unit is in doubt (MB or MiB): only less than both is a FAIL, only more than both a PASS".into());
    }
    notes.extend(record.asked.iter().flat_map(|asked| needs::notes(record, asked)));
    let volumes = claimed.map(against);
    let asked = record.asked.iter().flat_map(|asked| &asked.applications);
    let applications = asked.filter(|a| !a.needs.is_empty()).map(|a| a.title());
    Verdict {
        outcome,
        against: volumes.into_iter().chain(applications).collect::<Vec<_>>().join(" and "),
        tolerance: claimed.map_or(0.0, |c| c.tolerance),
        claims,
        beyond,
        untested,
        notes,
    }
}

/// The volumes whose promise is judged, in words: type and size of each, and their instance.
pub fn against(claimed: &Claimed) -> String {
    let mut groups: Vec<(String, usize)> = Vec::new();
    for v in &claimed.promise.volumes {
        let text = format!("{}, {}", v.id, v.size());
        match groups.iter_mut().find(|(t, _)| *t == text) {
            Some((_, n)) => *n += 1,
            None => groups.push((text, 1)),
        }
    }
    let volumes: Vec<String> =
        groups.into_iter().map(|(t, n)| if n > 1 { format!("{n} x {t}") } else { t }).collect();
    match &claimed.promise.instance {
        Some(i) => format!("{} on {}", volumes.join(" + "), i.name),
        None => volumes.join(" + "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::LOOKED_INTO;
    use crate::plan::{Plan, Step};
    use crate::record::{Known, Report, ReportForm, ReportProgram};
    use crate::unit::Nanos;

    /// A Record is begun from a report, which then goes.
    fn report() -> Report {
        let (tool, program, form) = (String::new(), ReportProgram::default(), ReportForm::Json);
        Report { tool, program, form, written: Known::Unknown, partial: None, runs: None, notes: Vec::new() }
    }

    fn step(i: usize) -> StepRecord {
        StepRecord { name: format!("s{i}"), window_ns: Nanos::seconds(1), ..StepRecord::default() }
    }

    #[test]
    fn a_long_plan_is_sealed_in_time_linear_in_its_steps() {
        const STEPS: usize = 200;
        let mut record = Record { report: None, ..Record::of_report(report(), Default::default()) };
        let planned = |i| Step { name: format!("s{i}"), ..Step::default() };
        record.plan = Plan { steps: (0..STEPS).map(planned).collect(), ..Plan::none() };
        let before = LOOKED_INTO.get();
        for i in 0..STEPS {
            record.steps.push(step(i));
            seal_steps(&mut record, i);
        }
        assert_eq!(LOOKED_INTO.get() - before, STEPS, "each step is looked into once");
        let by_step = record.findings.clone();
        seal(&mut record);
        assert!(by_step.as_ref().is_some_and(|f| f.len() >= STEPS), "every step is too short: {by_step:?}");
        assert_eq!(record.findings, by_step);
    }
}
