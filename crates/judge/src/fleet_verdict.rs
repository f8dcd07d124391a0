//! The verdict on a fleet. A shared volume is one volume: its promise is held against the sum of all machines. Own volumes are held each
//! against their own promise and the needs of applications, by the Record of their machine; the sum stands beside them and is held against
//! nothing.

use std::cmp::Reverse;

use super::asked_verdict::{promise_to_judge, wants_verdict};
use super::faults::{self, Fault};
use super::verdict::verdict_of;
use super::{against_all, judged, shape};
use volproof_base::unit::grouped;
use volproof_record::{
    Claim, ClaimStep, Diagnosis, Finding, Fleet, FleetMachine, Outcome, Record, Remark, StepRecord, Untested,
    Verdict, form, remarks,
};

/// The findings and the verdict of one machine, with its name.
struct JudgedMachine<'a> {
    label: String,
    record: &'a Record,
    found: Vec<Diagnosis>,
    verdict: Option<Verdict>,
}

impl JudgedMachine<'_> {
    /// How much better than others a step did: by its answer, and by its rate where that is the same.
    fn did(&self, step: &str) -> (Reverse<Option<u8>>, f64) {
        let claims = self.verdict.iter().flat_map(|v| &v.claims).filter(|c| c.step == step);
        let rate = self.record.steps.iter().find(|s| s.name == step).map_or(0.0, StepRecord::iops);
        (Reverse(claims.map(|c| c.outcome.weight()).max()), rate)
    }
}

/// Findings of each step and the verdict of the Record of a fleet.
pub fn of_fleet<'a>(record: &Record, fleet: &'a Fleet) -> (Vec<Diagnosis>, Option<Verdict>) {
    // The findings of a machine are those from its whole Record. The fleet keeps less of it.
    let machine = |m: &'a FleetMachine| {
        let (found, verdict) = if fleet.volumes.is_shared() {
            (m.record.diagnoses().unwrap_or_else(|| shape::of_record(&m.record)), None)
        } else {
            judged(&m.record)
        };
        JudgedMachine { label: m.label(), record: &m.record, found, verdict }
    };
    let machines: Vec<JudgedMachine<'_>> = fleet.machines.iter().map(machine).collect();
    if !fleet.volumes.is_shared() {
        let found = record.steps.iter().map(|s| of_machines(&s.name, &machines)).collect();
        return (found, wants_verdict(record).then(|| of_each(record, machines)));
    }
    let found = shape::of_record(record);
    let verdict = promise_to_judge(record).map(|_| {
        let mut verdict = verdict_of(record);
        // Also where nothing was measured.
        verdict.outcome = verdict.outcome.or(record.fleet_blocker().map(|_| Outcome::Invalid));
        // A command for one machine says nothing about all of them.
        verdict.claims.iter_mut().for_each(|c| c.command = None);
        verdict.untested.iter_mut().for_each(|u| u.command = None);
        verdict
    });
    (found, verdict)
}

/// The findings of machines on a step. Those of one code and one advice are one, told in the words of the machine that did worst.
fn of_machines(step: &str, machines: &[JudgedMachine<'_>]) -> Diagnosis {
    let mut worst_first: Vec<&JudgedMachine<'_>> = machines.iter().collect();
    worst_first.sort_by(|a, b| {
        let ((answer, rate), (other_answer, other_rate)) = (a.did(step), b.did(step));
        answer.cmp(&other_answer).then(rate.total_cmp(&other_rate))
    });
    let of_step = worst_first.iter().flat_map(|m| m.found.iter().map(|d| (m.label.as_str(), d)));
    let all: Vec<(&str, &Finding)> = of_step
        .filter(|(_, d)| d.step == step)
        .flat_map(|(label, d)| d.findings.iter().map(move |f| (label, f)))
        .collect();
    let kinds = remarks(
        all.iter(),
        |(_, f)| (&f.code, f.confidence.name(), form(&f.advice)),
        |(_, f)| &f.headline,
        |(m, _)| m,
    );
    let one = |remark: Remark<'_, (&str, &Finding)>| {
        let elsewhere = remark.elsewhere("machine");
        let Remark { of: (_, finding), named, others } = remark;
        let who = match named.as_slice() {
            [one] => one.to_string(),
            many => format!("{} of {} machines", grouped(many.len() as u64), grouped(machines.len() as u64)),
        };
        let headline = format!("{who}: {}{elsewhere}.", finding.headline.trim_end_matches('.'));
        let mut finding = Finding { headline, ..(*finding).clone() };
        let all = [named.as_slice(), &others].concat();
        let evidence = format!("on {}; the figures are those of {}", all.join(", "), named[0]);
        finding.evidence.insert(0, evidence);
        finding
    };
    Diagnosis { step: step.to_string(), findings: kinds.into_iter().map(one).collect() }
}

/// A claim whose steps have the name of their machine.
fn on_machine(claim: Claim, label: &str) -> Claim {
    let named = |step: &str| format!("{step} on {label}");
    let evidence = claim.evidence.into_iter().map(|e| ClaimStep { step: named(&e.step), ..e }).collect();
    let measured_in = claim.measured_in.as_deref().map(named);
    // A command for one machine says nothing about all of them.
    Claim { step: named(&claim.step), evidence, measured_in, command: None, ..claim }
}

/// Each machine's own volumes against their own promise and the needs of applications.
fn of_each(record: &Record, machines: Vec<JudgedMachine<'_>>) -> Verdict {
    let blocker = record.fleet_blocker();
    let judged_promise = promise_to_judge(record);
    let known = judged_promise.map_or(&[][..], |promise| &promise.notes);
    let (mut claims, mut untested, mut notes) = (Vec::new(), Vec::new(), known.to_vec());
    // An application without an answer keeps its machine from a PASS.
    let outcomes: Vec<Outcome> = machines.iter().filter_map(|m| m.verdict.as_ref()?.outcome).collect();
    for JudgedMachine { label, verdict, .. } in machines {
        let Some(verdict) = verdict else { continue };
        claims.extend(verdict.claims.into_iter().map(|claim| {
            let claim = on_machine(claim, &label);
            match blocker {
                None => claim,
                Some(doubt) => faults::void(claim, &Fault::from(doubt)),
            }
        }));
        untested = verdict.untested.into_iter().map(|u| Untested { command: None, ..u }).collect();
        notes.extend(verdict.notes.into_iter().filter(|n| !known.contains(n)));
    }
    notes.dedup();
    Verdict {
        outcome: match blocker {
            Some(_) => Some(Outcome::Invalid),
            None => outcomes.into_iter().max_by_key(|o| o.weight()),
        },
        against: against_all(record) + ", each by itself",
        tolerance: judged_promise.map_or(0.0, |promise| promise.tolerance),
        claims,
        beyond: Vec::new(),
        untested,
        notes,
    }
}
