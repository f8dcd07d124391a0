//! Whether two runs of a report were under way at the same time: one reporting group, start times that overlap, run times that do not fit
//! behind each other into the whole, or a command that says so.

use super::ReportedStep;
use crate::unit::Nanos;

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
    pub fn of(run: &'a ReportedStep) -> TimedRun<'a> {
        TimedRun { run, length: run.window().unwrap_or_default() }
    }

    /// Why this run and a later one of the same report were under way at the same time; none where nothing says that they were.
    pub fn ran_beside(self, later: TimedRun<'_>) -> Option<&'static str> {
        let (a, from, b, to) = (self.run, self.length, later.run, later.length);
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
}
