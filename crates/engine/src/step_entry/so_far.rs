//! A step that still runs, in the form of the Record: what was heard of it until now.
//!
//! Workers send counts ten times a second, and histograms once. The figures of a running step therefore cover its whole seconds, so that
//! all of them are of the same time. Before the first second is over, there are counts and no latencies.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{EndedStep, entry};
use crate::{StepOutcome, WorkerEnd};
use volproof_base::sample::{CpuTime, Depth, GRID, Interval, Series};
use volproof_base::unit::Nanos;
use volproof_host::observe::KernelCounters;
use volproof_plan::{EngineKind, Step};
use volproof_record::StepRecord;

/// The intervals of a step that came so far.
#[derive(Clone, Debug, Default)]
pub struct StepSoFar {
    /// Whole seconds, for each target.
    series: Vec<Series>,
    /// Intervals of a second that is not over, by worker.
    begun: BTreeMap<u32, Vec<Interval>>,
    /// CPU time and depths of each worker until the end of its last whole second.
    standing: BTreeMap<u32, (CpuTime, Depth)>,
    /// End of the last whole second.
    window: Nanos,
}

impl StepSoFar {
    /// Nothing was heard of the step.
    pub fn is_silent(&self) -> bool {
        self.series.is_empty()
    }

    /// The time that the whole seconds cover, from the start of the window.
    pub fn window(&self) -> Nanos {
        self.window
    }

    /// The samples of the whole seconds, one series for each target.
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// Takes in what is new of the step, which drives so many targets. The ramp does not count.
    pub fn hear(&mut self, step: &Step, targets: usize, fresh: &[Interval]) {
        self.series.resize_with(targets, Series::default);
        fresh.iter().filter(|i| i.index >= 0).for_each(|interval| self.add(step, interval));
    }

    fn add(&mut self, step: &Step, interval: &Interval) {
        let Some(second) = &interval.second else {
            return self.begun.entry(interval.worker).or_default().push(interval.clone());
        };
        let series = &mut self.series[step.target_of(interval.worker)];
        self.begun.remove(&interval.worker).into_iter().flatten().for_each(|before| series.add(&before));
        series.add(interval);
        self.standing.insert(interval.worker, (second.cpu, second.depth.clone()));
        self.window = self.window.max(end(interval));
    }

    /// The step as if it had ended with its last whole second; in its first second, as if it ended now. `paths` are its targets, as far as
    /// they matter.
    pub fn entry(&self, step: &Step, engine: EngineKind, paths: Vec<PathBuf>) -> StepRecord {
        let mut series = self.series.clone();
        let mut window = self.window;
        if window.0 == 0 {
            for interval in self.begun.values().flatten() {
                series[step.target_of(interval.worker)].add(interval);
                window = window.max(end(interval));
            }
        }
        series.iter_mut().for_each(|s| s.close(window));
        let ends = self.standing.iter().map(|(worker, (cpu, depth))| WorkerEnd {
            worker: *worker,
            window,
            cpu: *cpu,
            depth: depth.clone(),
            ..WorkerEnd::default()
        });
        entry(EndedStep {
            step,
            engine,
            paths,
            started: String::new(),
            started_after: Nanos(0),
            pinned_cpus: Vec::new(),
            placement: None,
            outcome: StepOutcome { ends: ends.collect(), series, ..StepOutcome::default() },
            evidence: KernelCounters::default(),
        })
    }
}

/// Where an interval ends, after the start of the window.
fn end(interval: &Interval) -> Nanos {
    Nanos(interval.index.max(0) as u64 * GRID.0 + interval.length.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_base::hist::Histogram;
    use volproof_base::sample::{Counts, Direction, PerDirection, Second};
    use volproof_base::unit::Bytes;

    fn interval(worker: u32, index: i64, ends_second: bool) -> Interval {
        let mut counts = PerDirection::<Counts>::default();
        counts[Direction::Read] = Counts { ios: 5, bytes: Bytes(5 << 12), latency: Nanos(500) };
        let second = ends_second.then(|| {
            let mut second = Box::new(Second::default());
            let mut latencies = Histogram::new();
            (0..50).for_each(|_| latencies.record(100));
            second.service[Direction::Read] = latencies.to_sparse();
            second.depth.one_by_one(50);
            second.cpu.switches = 7;
            second
        });
        Interval { worker, index, length: GRID, counts, in_flight: 500, second }
    }

    #[test]
    fn whole_seconds_are_told() {
        let step = Step { numjobs: 2, ..Step::default() };
        let mut part = StepSoFar { series: vec![Series::default()], ..StepSoFar::default() };
        let reads = |part: &StepSoFar| {
            let record = part.entry(&step, EngineKind::Psync, vec!["f".into()]);
            let mut latencies = Histogram::new();
            let stream = record.targets[0].series.stream(Direction::Read).unwrap();
            stream.service.iter().for_each(|second| latencies.merge_sparse(second));
            (record.window_ns, stream.track.total().ios, latencies.count())
        };
        (0..4).for_each(|i| part.add(&step, &interval(0, i, false)));
        assert_eq!(reads(&part), (Nanos::millis(400), 20, 0), "counts come first");
        (4..10).for_each(|i| part.add(&step, &interval(0, i, i == 9)));
        (0..10).for_each(|i| part.add(&step, &interval(1, i, i == 9)));
        (10..13).for_each(|i| part.add(&step, &interval(0, i, false)));
        assert_eq!(reads(&part), (Nanos::seconds(1), 100, 100));
        let record = part.entry(&step, EngineKind::Psync, vec!["f".into()]);
        assert_eq!((record.depth.unwrap().in_flight[0], record.cpu.context_switches), (100, 14));
    }
}
