//! Whether two runs of a report were under way at the same time. The signs are: one reporting group, start times that overlap, run times
//! whose sum exceeds the time of the whole, or a command that says so.

use std::collections::HashMap;

use super::{Record, ReportedStep};
use volproof_base::unit::Nanos;

/// `elapsed` counts whole seconds, and threads begin and end a moment apart.
const SLACK: Nanos = Nanos::seconds(2);

/// A run of a report with its length, which is worked out once for all comparisons.
#[derive(Clone, Copy, Debug)]
pub struct TimedRun<'a> {
    run: &'a ReportedStep,
    length: Nanos,
}

impl<'a> TimedRun<'a> {
    /// Of a run.
    pub fn new(run: &'a ReportedStep) -> TimedRun<'a> {
        TimedRun { run, length: run.window().unwrap_or_default() }
    }

    /// Why this run and a later one of the same report were under way at the same time; none where nothing says that they were.
    pub fn ran_beside(self, later: TimedRun<'_>) -> Option<&'static str> {
        let (a, from, b, to) = (self.run, self.length, later.run, later.length);
        if let (Some(start), Some(other)) = (a.began_ms, b.began_ms) {
            let (end, end_of_other) =
                (start.saturating_add(from.0 / 1_000_000), other.saturating_add(to.0 / 1_000_000));
            let both = end.min(end_of_other).saturating_sub(start.max(other));
            // A short overlap at the edges does not count.
            return (both.saturating_mul(10) > from.min(to).0 / 1_000_000)
                .then_some("their start times overlap");
        }
        let (waits, later_waits) = (a.conditions.stonewall.get(), b.conditions.stonewall.get());
        if a.group == b.group {
            let waited = waits == Some(true) || later_waits == Some(true);
            return (!waited).then_some("one reporting group");
        }
        let whole = a.elapsed_s.max(b.elapsed_s).map(Nanos::seconds);
        if whole.is_some_and(|whole| from.0.saturating_add(to.0) > whole.0.saturating_add(SLACK.0)) {
            return Some("their run times do not fit behind each other into the whole run");
        }
        // fio's JSON may leave out flags without a value: a missing flag says nothing, a listed one does.
        (later_waits == Some(false) && b.group.checked_sub(1) == Some(a.group))
            .then_some("new_group without stonewall")
    }
}

/// A run that was under way at the same time as another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour<'a> {
    /// The name of its step.
    pub name: &'a str,
    /// Each of the two tells its disk, and these are different ones.
    pub on_another_disk: bool,
}

/// For each run that another run of the same report overlapped, such a run, by the name of its own step.
pub fn company(record: &Record) -> HashMap<&str, Neighbour<'_>> {
    let steps: Vec<(&str, &ReportedStep)> =
        record.steps.iter().filter_map(|s| Some((s.name.as_str(), s.reported.as_deref()?))).collect();
    let runs: Vec<TimedRun<'_>> = steps.iter().map(|(_, run)| TimedRun::new(run)).collect();
    let mut company = HashMap::new();
    for ((name, run), other) in steps.iter().zip(overlaps(&runs)) {
        let Some((other_name, other)) = other.map(|place| steps[place]) else { continue };
        let disks = run.conditions.disk().zip(other.conditions.disk());
        let on_another_disk = disks.is_some_and(|(a, b)| a != b);
        company.insert(*name, Neighbour { name: other_name, on_another_disk });
    }
    company
}

/// A run is compared with this many before and after it, and with the longest of all: a report may have tens of thousands.
const NEAR: usize = 64;

/// For each run, one that was under way at the same time.
fn overlaps(runs: &[TimedRun<'_>]) -> Vec<Option<usize>> {
    let longest = (0..runs.len()).max_by_key(|i| runs[*i].length);
    let mut found = Vec::new();
    for i in 0..runs.len() {
        let near = i.saturating_sub(NEAR)..runs.len().min(i + NEAR + 1);
        let mut others = near.chain(longest).filter(|j| *j != i);
        found.push(others.find(|j| runs[i.min(*j)].ran_beside(runs[i.max(*j)]).is_some()));
    }
    found
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::{Conditions, ReportedFigures};

    fn run(group: u32, seconds: u64, began: Option<u64>, waits: Option<bool>) -> ReportedStep {
        let figures = ReportedFigures { runtime: Nanos::seconds(seconds).into(), ..Default::default() };
        ReportedStep {
            group,
            began_ms: began.map(|s| 1000 * s),
            elapsed_s: Some(200),
            conditions: Conditions { stonewall: waits.into(), ..Conditions::default() },
            read: Some(figures),
            ..ReportedStep::default()
        }
    }

    /// Whether each run had company, and the answer of all pairs.
    fn agree(steps: &[ReportedStep]) {
        let runs: Vec<TimedRun<'_>> = steps.iter().map(TimedRun::new).collect();
        for (i, other) in overlaps(&runs).iter().enumerate() {
            let beside = |j: usize| i != j && runs[i.min(j)].ran_beside(runs[i.max(j)]).is_some();
            assert_eq!(other.is_some(), (0..runs.len()).any(beside), "run {i} of {steps:#?}");
            assert!(other.is_none_or(beside), "run {i} was not beside {other:?}");
        }
    }

    #[test]
    fn company_is_what_all_pairs_say() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
        let mut pick = |n: u64| rng.next_u64() % n;
        for _ in 0..300 {
            let waits = |n: u64| [None, Some(true), Some(false)][n as usize];
            let groups: Vec<ReportedStep> =
                (0..1 + pick(8)).map(|_| run(pick(5) as u32, 10 + pick(150), None, waits(pick(3)))).collect();
            agree(&groups);
            // In the order of their starts, as a report has them; some begin before the one before has ended.
            let mut at = 0;
            let started: Vec<ReportedStep> = (0..1 + pick(8))
                .map(|_| {
                    at += [30, 60, 90][pick(3) as usize];
                    run(0, 60, Some(at), None)
                })
                .collect();
            agree(&started);
        }
    }

    /// Foreign bytes hold integers of the whole range.
    #[test]
    fn times_and_groups_of_any_size_are_compared() {
        let most =
            |began| ReportedStep { elapsed_s: Some(u64::MAX), ..run(u32::MAX, u64::MAX, began, Some(false)) };
        let waits = run(0, u64::MAX, None, Some(true));
        agree(&[most(None), waits.clone()]);
        agree(&[waits, most(None)]);
        agree(&[most(Some(0)), most(Some(u64::MAX / 1000))]);
    }
}
