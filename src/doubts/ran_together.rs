//! Which runs of a report were under way at the same time: one reporting group, start times that overlap, run times that do not fit
//! behind each other into the whole, or a command that says so.

use crate::diagnose::cap::megabytes;
use crate::doubt::{Doubt, Severity};
use crate::record::{Record, ReportedStep, StepRecord};
use crate::unit::{Nanos, grouped};

/// `elapsed` counts whole seconds, and threads begin and end a moment apart.
const SLACK: Nanos = Nanos::seconds(2);
/// Runs of a report that are held against each other, each with all others.
const MOST: usize = 512;

/// Doubts about runs that were under way at the same time, one for each such set.
pub fn of_report(record: &Record) -> Vec<Doubt> {
    let runs: Vec<(&StepRecord, &ReportedStep)> =
        record.steps.iter().filter_map(|s| Some((s, s.reported.as_deref()?))).take(MOST).collect();
    let lengths: Vec<Nanos> = runs.iter().map(|(_, r)| r.window().unwrap_or_default()).collect();
    let mut set: Vec<usize> = (0..runs.len()).collect();
    let mut why: Vec<Vec<&'static str>> = vec![Vec::new(); runs.len()];
    for later in 0..runs.len() {
        for earlier in 0..later {
            let [first, second] = [earlier, later].map(|i| (runs[i].1, lengths[i]));
            let Some(reason) = reason(first, second) else { continue };
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

/// Why two runs were under way at the same time; each with its length.
fn reason((a, from): (&ReportedStep, Nanos), (b, to): (&ReportedStep, Nanos)) -> Option<&'static str> {
    if let (Some(start), Some(other)) = (a.began_ms, b.began_ms) {
        let ends = |start: u64, length: Nanos| start.saturating_add(length.0 / 1_000_000);
        let both = ends(start, from).min(ends(other, to)).saturating_sub(start.max(other));
        // A moment at the edge is no company.
        return (both * 10 > from.min(to).0 / 1_000_000).then_some("their start times overlap");
    }
    let waits = |r: &ReportedStep| r.conditions.stonewall.get();
    if a.group == b.group {
        let waited = waits(a) == Some(true) || waits(b) == Some(true);
        return (!waited).then_some("one reporting group");
    }
    let whole = a.elapsed_s.max(b.elapsed_s).map(Nanos::seconds);
    if whole.is_some_and(|whole| from.0.saturating_add(to.0) > whole.0 + SLACK.0) {
        return Some("their run times do not fit behind each other into the whole run");
    }
    // fio's JSON lists no flag without a value: that it lists none says nothing, that it lists this one does.
    (waits(b) == Some(false) && b.group == a.group + 1).then_some("new_group without stonewall")
}

fn doubt(runs: &[(&StepRecord, &ReportedStep)], why: &str) -> Doubt {
    let names: Vec<&str> = runs.iter().map(|r| r.1.name.as_str()).collect();
    let sum = |of: fn(&crate::record::ReportedFigures) -> Option<f64>| -> f64 {
        runs.iter().flat_map(|r| r.1.parts()).filter_map(|(_, f)| of(f)).sum()
    };
    let (iops, bytes) = (sum(|f| f.iops.get()), sum(|f| f.bytes_per_second.get()));
    let shown = match names.as_slice() {
        [a, b, c, rest @ ..] if rest.len() > 1 => format!("{a}, {b}, {c} and {} more", rest.len()),
        all => all.join(", "),
    };
    Doubt::new(
        Severity::Warning,
        "ran-together",
        format!(
            "{shown} ran at the same time ({why}): each shows only its part, together they did {} IOPS, {}",
            grouped(iops.round() as u64),
            megabytes(bytes)
        ),
        "add stonewall to each job that is to be measured alone",
    )
}
