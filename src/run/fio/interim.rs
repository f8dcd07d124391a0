//! Reports while a run goes on: what was heard of each step until now, in the form of the Record, so that the same conversion makes
//! interim and final reports.
//!
//! Latencies come once a second, and counts ten times: what is told of a running step are its whole seconds, so that all figures are of
//! one stretch of time. Before the first second is over, there are counts and no latencies.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::engine::{StepOutcome, WorkerEnd};
use crate::observe::Evidence;
use crate::plan::Step;
use crate::record::{Record, StepRecord};
use crate::run::measure::{self, Measured};
use crate::run::pipeline::News;
use crate::sample::{CpuTime, Depth, GRID, Interval, Series};
use crate::unit::Nanos;

/// The last second of a step is heard of so long after its end.
const LATE: Duration = Duration::from_millis(200);

/// The state behind interim reports, and when one is due.
pub struct Interim {
    every: Option<Duration>,
    /// Time counts from the begin of the first load.
    next: Option<Instant>,
    asked: Arc<AtomicBool>,
    parts: Vec<InterimPart>,
    done: Vec<StepRecord>,
    together: Vec<Evidence>,
    /// Of the stage that runs.
    evidence: Evidence,
}

/// The intervals of a step that came so far.
#[derive(Clone, Debug, Default)]
struct InterimPart {
    /// Whole seconds, for each target.
    series: Vec<Series>,
    /// Intervals of a second that is not over, by worker.
    begun: BTreeMap<u32, Vec<Interval>>,
    /// CPU time and depths of each worker until the end of its last whole second.
    standing: BTreeMap<u32, (CpuTime, Depth)>,
    /// End of the last whole second.
    window: Nanos,
}

impl Interim {
    /// For so many steps; a report is due at these intervals, and whenever `asked` is set.
    pub fn new(steps: usize, every: Option<Nanos>, asked: Arc<AtomicBool>) -> Interim {
        Interim {
            every: every.map(Duration::from),
            next: None,
            asked,
            parts: vec![InterimPart::default(); steps],
            done: Vec::new(),
            together: Vec::new(),
            evidence: Evidence::default(),
        }
    }

    /// Takes in what is new of a step, which has that place in the plan.
    pub fn hear(&mut self, place: usize, news: &News<'_>) {
        self.begin(Instant::now(), news.elapsed);
        let part = &mut self.parts[place];
        part.series.resize_with(if news.step.round_robin { 1 } else { news.targets }, Series::default);
        news.fresh.iter().filter(|i| i.index >= 0).for_each(|interval| part.add(news.step, interval));
        if news.evidence.at_ns.len() != self.evidence.at_ns.len() {
            self.evidence = news.evidence.clone();
        }
    }

    /// A load has begun so long ago.
    fn begin(&mut self, now: Instant, elapsed: Nanos) {
        if let (None, Some(every)) = (self.next, self.every) {
            self.next = Some(now.checked_sub(elapsed.into()).unwrap_or(now) + every + LATE);
        }
    }

    /// Steps have ended: their place is taken by what the Record says of them.
    pub fn keep(&mut self, record: &Record, place: impl Fn(&str) -> Option<usize>) {
        for step in &record.steps[self.done.len()..] {
            if let Some(place) = place(&step.name) {
                self.parts[place] = InterimPart::default();
            }
            self.done.push(step.clone());
        }
        self.together = record.together.iter().map(|t| t.evidence.clone()).collect();
        self.evidence = Evidence::default();
    }

    /// A report is due; said once for each.
    pub fn due(&mut self, now: Instant) -> bool {
        let asked = self.asked.swap(false, Ordering::Relaxed);
        let Some(every) = self.every else { return asked };
        let Some(next) = &mut self.next else { return asked };
        let due = *next <= now;
        while *next <= now {
            *next += every;
        }
        asked || due
    }

    /// The steps that have begun, ended ones as they are in the Record.
    pub fn steps(&self, plan: &[Step]) -> Vec<StepRecord> {
        let running = plan.iter().zip(&self.parts).filter(|(_, part)| !part.series.is_empty());
        self.done.iter().cloned().chain(running.map(|(step, part)| part.record(step))).collect()
    }

    /// The kernel's counters beside them.
    pub fn evidence(&self) -> impl Iterator<Item = &Evidence> {
        self.together.iter().chain([&self.evidence])
    }
}

impl InterimPart {
    fn add(&mut self, step: &Step, interval: &Interval) {
        let Some(second) = &interval.second else {
            return self.begun.entry(interval.worker).or_default().push(interval.clone());
        };
        let series = &mut self.series[step.series_of(interval.worker)];
        self.begun.remove(&interval.worker).into_iter().flatten().for_each(|before| series.add(&before));
        series.add(interval);
        self.standing.insert(interval.worker, (second.cpu, second.depth.clone()));
        self.window = self.window.max(end(interval));
    }

    /// The step as if it had ended with its last whole second; within its first one, now.
    fn record(&self, step: &Step) -> StepRecord {
        let mut series = self.series.clone();
        let mut window = self.window;
        if window.0 == 0 {
            for interval in self.begun.values().flatten() {
                series[step.series_of(interval.worker)].add(interval);
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
        measure::record(Measured {
            step,
            engine: step.engine,
            paths: vec![Default::default(); series.len()],
            started: String::new(),
            started_after: Nanos(0),
            trace_left_out: 0,
            pinned_cpus: Vec::new(),
            placement: None,
            outcome: StepOutcome { ends: ends.collect(), series, ..StepOutcome::default() },
            evidence: Evidence::default(),
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
    use crate::hist::Histogram;
    use crate::sample::{Counts, Direction, PerDirection, Second};
    use crate::unit::Bytes;

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
        let mut part = InterimPart { series: vec![Series::default()], ..InterimPart::default() };
        let reads = |part: &InterimPart| {
            let record = part.record(&step);
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
        let record = part.record(&step);
        assert_eq!((record.depth.unwrap().in_flight[0], record.cpu.context_switches), (100, 14));
    }

    #[test]
    fn reports_are_due_at_intervals_and_when_asked_for() {
        let asked = Arc::new(AtomicBool::new(false));
        let mut interim = Interim::new(1, Some(Nanos::seconds(1)), asked.clone());
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        assert!(!interim.due(at(9000)), "nothing has begun");
        interim.begin(at(50), Nanos::millis(50));
        interim.begin(at(800), Nanos::millis(10));
        assert!(!interim.due(at(1100)));
        assert!(interim.due(at(1250)) && !interim.due(at(1300)));
        assert!(interim.due(at(5000)), "a pause is made up for by one report");
        assert!(!interim.due(at(5100)) && interim.due(at(5250)));
        asked.store(true, Ordering::Relaxed);
        assert!(interim.due(at(5300)) && !interim.due(at(5310)));
    }
}
