//! Which runs of a report were under way at the same time: one reporting group, start times that overlap, run times that do not fit
//! behind each other into the whole, or a command that says so.

use super::{Told, text};
use crate::fio::output::Job;
use crate::unit::{Nanos, grouped};
use crate::warn::{Severity, Warning};

/// `elapsed` counts whole seconds, and threads begin and end a moment apart.
const SLACK: Nanos = Nanos::seconds(2);

/// Doubts about runs that were under way at the same time, one for each such set.
pub fn doubts(told: &[Told<'_>]) -> Vec<Warning> {
    // In client mode the sum of all hosts is a row of its own.
    let hosts_alone = told.iter().all(|r| r.job.host.is_some());
    let runs: Vec<&Told<'_>> = told.iter().filter(|r| r.job.host.is_none() || hosts_alone).collect();
    let mut set: Vec<usize> = (0..runs.len()).collect();
    let mut why: Vec<Vec<&'static str>> = vec![Vec::new(); runs.len()];
    for later in 0..runs.len() {
        for earlier in 0..later {
            let Some(reason) = reason(runs[earlier], runs[later]) else { continue };
            let (from, to) = (set[later], set[earlier]);
            set.iter_mut().filter(|s| **s == from).for_each(|s| *s = to);
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
        let of: Vec<&Told<'_>> = members.iter().map(|i| runs[*i]).collect();
        all.push(doubt(&of, &reasons.join(", ")));
    }
    all
}

fn reason(earlier: &Told<'_>, later: &Told<'_>) -> Option<&'static str> {
    let (a, b) = (&earlier.job, &later.job);
    let (from, to) = (longest(a), longest(b));
    if let (Some(start), Some(other)) = (a.start_ms, b.start_ms) {
        let ends = |start: u64, length: Nanos| start.saturating_add(length.0 / 1_000_000);
        let both = ends(start, from).min(ends(other, to)).saturating_sub(start.max(other));
        // A moment at the edge is no company.
        return (both * 10 > from.min(to).0 / 1_000_000).then_some("their start times overlap");
    }
    if a.group == b.group {
        let waited = earlier.conditions.stonewall == Some(true) || later.conditions.stonewall == Some(true);
        return (!waited).then_some("one reporting group");
    }
    let whole = a.elapsed.max(b.elapsed).map(Nanos::seconds);
    if whole.is_some_and(|whole| from.0 + to.0 > whole.0 + SLACK.0) {
        return Some("their run times do not fit behind each other into the whole run");
    }
    let given = |name: &str| b.options.iter().any(|(n, _)| n == name);
    let waits = ["stonewall", "wait_for_previous", "wait_for"].into_iter().any(given);
    // fio's JSON lists no flag without a value: that it lists none says nothing, that it lists this one does.
    (given("new_group") && !waits && b.group == a.group + 1).then_some("new_group without stonewall")
}

fn longest(job: &Job) -> Nanos {
    super::subject::parts(job).iter().map(|(_, s)| s.runtime).max().unwrap_or_default()
}

fn doubt(runs: &[&Told<'_>], why: &str) -> Warning {
    let names: Vec<&str> = runs.iter().map(|r| r.job.name.as_str()).collect();
    let iops: f64 = runs.iter().filter_map(|r| r.summary.iops).sum();
    let bytes: f64 = runs.iter().filter_map(|r| r.summary.bytes_per_second).sum();
    let shown = match names.as_slice() {
        [a, b, c, rest @ ..] if rest.len() > 1 => format!("{a}, {b}, {c} and {} more", rest.len()),
        all => all.join(", "),
    };
    Warning::new(
        Severity::Warning,
        "ran-together",
        format!(
            "{shown} ran at the same time ({why}): each shows only its part, together they did {} IOPS, {}",
            grouped(iops.round() as u64),
            text::rate(bytes)
        ),
        "add stonewall to each job that is to be measured alone",
    )
}
