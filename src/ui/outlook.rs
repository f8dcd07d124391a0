//! The outlook of a running step: the figures that the final report would have of it now, by the very functions that write the report.

use std::time::{Duration, Instant};

use volproof_base::doubt::{Doubt, DoubtCode};
use volproof_base::sample::Direction;
use volproof_base::unit::Nanos;
use volproof_host::observe::KernelCounters;
use volproof_judge::{self as judge, doubts};
use volproof_record::{Claim, DirectionSummary, Record, StepRecord, Together};

/// The figures and doubts that the report would have of one step.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// The time that it is about.
    pub window: Nanos,
    /// All targets together.
    pub all: Vec<(Direction, DirectionSummary)>,
    /// Requests that were to be in flight.
    pub in_flight_asked: Option<f64>,
    /// Doubts of these figures.
    pub doubts: Vec<Doubt>,
    /// The promise held against the step.
    pub claims: Vec<Claim>,
}

/// Doubts that time alone takes away: nothing to tell while the step still runs.
const TIME_CURES: [DoubtCode; 1] = [DoubtCode::ShortRun];

/// A pause of so many times the time that the outlook took: it costs at most this share of a CPU.
const PAUSE: u32 = 100;
/// The shortest pause.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// When the outlook is worked out again.
#[derive(Clone, Debug, Default)]
pub struct OutlookPace {
    next: Option<Instant>,
}

impl OutlookPace {
    /// Whether the outlook is to be worked out now.
    pub fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| next <= now)
    }

    /// Notes that working out the outlook took from `began` to `now`.
    pub fn took(&mut self, began: Instant, now: Instant) {
        self.next = Some(now + SHORTEST_PAUSE.max((now - began) * PAUSE));
    }
}

impl Outlook {
    /// The outlook of the steps that run now. `record` is the Record without finished steps.
    pub fn of_steps(
        record: &mut Record,
        mut steps: Vec<StepRecord>,
        evidence: &KernelCounters,
    ) -> Vec<Outlook> {
        record.lookup = Default::default();
        record.together.clear();
        if let [alone] = steps.as_mut_slice() {
            alone.evidence = evidence.clone();
        } else {
            let names = steps.iter().map(|s| s.name.clone()).collect();
            record.together.push(Together { steps: names, evidence: evidence.clone() });
        }
        record.steps = steps;
        let doubts: Vec<Vec<Doubt>> = record.steps.iter().map(|s| doubts::of_step(record, s)).collect();
        let run_doubts = std::mem::take(&mut record.doubts);
        record.doubts = doubts.iter().flatten().cloned().collect();
        let claims = judge::judged_anew(record).1.map(|v| v.claims).unwrap_or_default();
        record.doubts = run_doubts;
        let steps = std::mem::take(&mut record.steps);
        let outlook = |(step, doubts): (&StepRecord, Vec<Doubt>)| Outlook {
            window: step.window_ns,
            all: step.directions().map(|(d, summary)| (d, summary.clone())).collect(),
            in_flight_asked: step.in_flight_asked.get(),
            doubts: doubts.into_iter().filter(|d| !TIME_CURES.contains(&d.code)).collect(),
            claims: claims.iter().filter(|c| c.step == step.name).cloned().collect(),
        };
        steps.iter().zip(doubts).map(outlook).collect()
    }
}
