//! A step as if some seconds of its window were all of it. Where the rate moved from one level to another, what a level shows is judged by the
//! requests of that level alone.

use std::ops::Range;

use super::{DirectionSummary, StepRecord, StepTarget};
use volproof_base::sample::{Direction, GRID, PER_SECOND, Series};
use volproof_base::unit::Nanos;

impl StepRecord {
    /// The step of these whole seconds. Figures that no sample tells (CPU time, errors, the depth of the queue) stay those of the whole.
    pub fn within(&self, seconds: Range<usize>) -> StepRecord {
        let targets = self.targets.iter();
        let targets: Vec<StepTarget> =
            targets.map(|t| StepTarget::of_samples(t.path.clone(), t.series.within(&seconds), &[])).collect();
        let series: Vec<&Series> = targets.iter().map(|t| &t.series).collect();
        let window = series.iter().map(|s| s.window_ns).max().unwrap_or_default();
        let share = window.as_seconds() / self.window_ns.as_seconds().max(1e-9);
        let mut open_loop = self.open_loop.clone();
        if let Some(schedule) = &mut open_loop {
            schedule.arrivals = (share * schedule.arrivals as f64).round() as u64;
        }
        let [read, write, trim, sync] = Direction::ALL.map(|d| DirectionSummary::of_samples(d, &series, &[]));
        let before = Nanos(GRID.0 * PER_SECOND * seconds.start as u64);
        let mut evidence = self.evidence.clone();
        evidence.window_starts_ns = Nanos(evidence.window_starts_ns.0.saturating_add(before.0));
        StepRecord {
            window_ns: window,
            read,
            write,
            trim,
            sync,
            total: DirectionSummary::total(&series, &[]),
            in_flight_mean: series.iter().map(|s| s.in_flight_mean()).sum(),
            open_loop,
            provider: Vec::new(),
            evidence,
            targets,
            ..self.clone()
        }
    }
}
