//! Reports while a run goes on: what was heard of each step until now, in the form of the Record, so that the same conversion makes
//! interim and final reports.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::run::pipeline::News;
use volproof_base::unit::Nanos;
use volproof_engine::step_entry::so_far::StepSoFar;
use volproof_host::observe::KernelCounters;
use volproof_plan::Step;
use volproof_record::{Record, StepRecord};

/// The last second of a step is heard of so long after its end.
const LATE: Duration = Duration::from_millis(200);

/// The state behind interim reports, and when one is due.
pub struct Interim {
    every: Option<Duration>,
    /// Time counts from the begin of the first load.
    next: Option<Instant>,
    asked: Arc<AtomicBool>,
    parts: Vec<StepSoFar>,
    done: Vec<StepRecord>,
    together: Vec<KernelCounters>,
    /// Of the stage that runs.
    evidence: KernelCounters,
}

impl Interim {
    /// For so many steps; a report is due at these intervals, and whenever `asked` is set.
    pub fn new(steps: usize, every: Option<Nanos>, asked: Arc<AtomicBool>) -> Interim {
        Interim {
            every: every.map(Duration::from),
            next: None,
            asked,
            parts: vec![StepSoFar::default(); steps],
            done: Vec::new(),
            together: Vec::new(),
            evidence: KernelCounters::default(),
        }
    }

    /// Takes in what is new of a step, which has that place in the plan.
    pub fn hear(&mut self, place: usize, news: &News<'_>) {
        self.begin(Instant::now(), news.elapsed);
        self.parts[place].hear(news.step, news.targets, news.fresh);
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
                self.parts[place] = StepSoFar::default();
            }
            self.done.push(step.clone());
        }
        self.together = record.together.iter().map(|t| t.evidence.clone()).collect();
        self.evidence = KernelCounters::default();
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
        let running = plan.iter().zip(&self.parts).filter(|(_, part)| !part.is_silent());
        let record = |(step, part): (&Step, &StepSoFar)| {
            part.entry(step, step.engine, vec![Default::default(); part.series().len()])
        };
        self.done.iter().cloned().chain(running.map(record)).collect()
    }

    /// The kernel's counters beside them.
    pub fn evidence(&self) -> impl Iterator<Item = &KernelCounters> {
        self.together.iter().chain([&self.evidence])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
