//! The judge: did the volume deliver what is promised, and what an application needs? PASS, FAIL, INCONCLUSIVE or INVALID, by experiment.
//!
//! Works on a Record alone, fresh or stored. `facts` reads what a step shows, `outcome` is the table that answers a promised rate,
//! `follow_up` gives the step that is missing for an answer. `doubts` are faults of the measurement and remarks about it, `shape` the five
//! descriptions of samples, which never change an outcome. A rule reads facts, never what another rule found. INVALID is a fault of the measurement and nothing else (`faults`). Words for
//! people are made in `words`. The promise is the lesser of what the volumes and the instance promise, at the block size of the step.
//! Nothing here measures, waits or prints. docs/method.md has the reasons; statistics are in [`volproof_base::stats`].

mod added_step;
mod against;
mod answer;
mod asked_verdict;
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
mod gravest;
mod latency;
mod needs;
mod outcome;
mod promised;
mod promised_rates;
pub mod provider;
mod saturating_depth;
pub mod shape;
mod sold_beyond;
mod sold_burst;
mod step_answer;
mod terms;
mod test_command;
#[cfg(test)]
mod tests;
mod thresholds;
mod unjudged;
mod verdict;
mod volume_class;
mod words;

pub use against::{against, against_all};
pub use conclusion::{Conclusion, exit};
pub use gravest::gravest;
pub use latency::{fits_latency, latency_promised, promised_latency};
pub use promised_rates::PromisedRates;
pub use sold_beyond::question_of_excess;
pub use terms::{PromisedTime, judges_burst, promised_readings, promised_time};
pub use unjudged::reason as why_without_rate;
pub use verdict::claim_of_step;
pub use words::{RESUME, depths_and_rates, figure, figures, rate};

use asked_verdict::wants_verdict;
use verdict::verdict_of;
use volproof_record::{Diagnosis, Record, Verdict};

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
