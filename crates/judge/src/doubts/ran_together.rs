//! `ran-together`: runs of one report were under way at the same time.
//!
//! **Why it matters:** each run shows only its part of what the volume did.
//!
//! **What to do:** add `stonewall` to each job that is to be measured alone.
//!
//! **Source:** the start and end of the runs. Each set of runs gets one doubt.

use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::{grouped, megabytes};
use volproof_record::{Record, ReportedStep, StepRecord, TimedRun};

/// Up to this many runs of a report are all compared with each other.
const MOST_RUNS: usize = 512;

/// Doubts about runs that were under way at the same time, one for each such set.
pub fn of_report(record: &Record) -> Vec<Doubt> {
    let runs: Vec<(&StepRecord, &ReportedStep)> =
        record.steps.iter().filter_map(|s| Some((s, s.reported.as_deref()?))).take(MOST_RUNS).collect();
    let timed: Vec<TimedRun> = runs.iter().map(|(_, r)| TimedRun::new(r)).collect();
    let mut set: Vec<usize> = (0..runs.len()).collect();
    let mut why: Vec<Vec<&'static str>> = vec![Vec::new(); runs.len()];
    for later in 0..runs.len() {
        for earlier in 0..later {
            let Some(reason) = timed[earlier].ran_beside(timed[later]) else { continue };
            let (from, to) = (set[later], set[earlier]);
            if from != to {
                set.iter_mut().filter(|s| **s == from).for_each(|s| *s = to);
            }
            if !why[later].contains(&reason) {
                why[later].push(reason);
            }
        }
    }
    let mut all = Vec::new();
    for first in 0..runs.len() {
        let members: Vec<usize> = (0..runs.len()).filter(|i| set[*i] == first).collect();
        if members.len() < 2 {
            continue;
        }
        let mut reasons: Vec<&str> = members.iter().flat_map(|i| why[*i].iter().copied()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let of: Vec<(&StepRecord, &ReportedStep)> = members.iter().map(|i| runs[*i]).collect();
        all.push(doubt(&of, &reasons.join(", ")));
    }
    all
}

fn doubt(runs: &[(&StepRecord, &ReportedStep)], why: &str) -> Doubt {
    let names: Vec<&str> = runs.iter().map(|r| r.1.name.as_str()).collect();
    let sum = |of: fn(&volproof_record::ReportedFigures) -> Option<f64>| -> f64 {
        runs.iter().flat_map(|r| r.1.parts()).filter_map(|(_, f)| of(f)).sum()
    };
    let (iops, bytes) = (sum(|f| f.iops.get()), sum(|f| f.bytes_per_second.get()));
    let shown = match names.as_slice() {
        [a, b, c, rest @ ..] if rest.len() > 1 => format!("{a}, {b}, {c} and {} more", rest.len()),
        all => all.join(", "),
    };
    Doubt::new(
        Severity::Warning,
        DoubtCode::RanTogether,
        format!(
            "the jobs {shown} ran at the same time ({why}): each shows only its part, together they did {} IOPS, {}",
            grouped(iops.round() as u64),
            megabytes(bytes)
        ),
        "add stonewall to each job that is to be measured alone",
    )
}
