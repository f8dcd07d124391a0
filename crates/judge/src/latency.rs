//! Promises of a mean latency: one request at a time, at a rate that no limit of the volume holds back.
//!
//! One request at a time at full speed may wait for the volume's limit on I/Os. A mean that misses the promise so is measured again, offered
//! at half of the promised rate at most: a mean above the promise is the volume's then.

use super::answer::{MOST_DEAD, Missing};
use super::facts::{dead_share, share_of_all};
use super::promised_rates::PromisedRates;
use super::thresholds::BELOW_A_LIMIT;
use super::{faults, words};
use volproof_base::sample::{Direction, PER_SECOND};
use volproof_base::stats::limit_answer::{self, ClaimAnswer, LimitAnswer};
use volproof_base::stats::mean_latency::MeanLatency;
use volproof_base::unit::{Bytes, Nanos, grouped, significant};
use volproof_plan::{BlockSizes, Pattern, Purpose, Step};
use volproof_promise::catalogue::promised_level::PromiseDirection;
use volproof_record::{
    BasisCode, Claim, Conditions, JudgedPromise, Metric, Outcome, Record, StepRecord,
    promise_direction as direction,
};

/// An offered rate up to this multiple of the one that is asked for is one that no limit holds back, and a completed one this much below it was offered too much.
const ROUNDING: f64 = 1.01;

/// Steps with an offered rate: the second one at half of what the volume completed of the first.
const MOST_OFFERED: usize = 2;

/// The largest mean latency that is promised for any of the volumes.
pub fn latency_promised(judged_promise: &JudgedPromise) -> Option<Nanos> {
    let high =
        judged_promise.promise.volumes.iter().filter_map(|v| Some(v.latency_ms?[1])).fold(0.0, f64::max);
    Some(Nanos((high * 1e6) as u64)).filter(|promised| promised.0 > 0)
}

/// The provider measured the latency with a load of these words.
fn is_promised_for(judged_promise: &JudgedPromise, words: &str) -> bool {
    let mut basis = judged_promise.promise.volumes.iter().filter_map(|v| v.latency_basis.as_ref());
    basis.any(|basis| basis.contains(words))
}

/// Whether a promised latency covers a step: one request in flight, small blocks; writes at random where the provider says so. The latency of a
/// request to the page cache is that of memory, also where a flush follows it.
pub fn fits_latency(judged_promise: &JudgedPromise, c: &Conditions, depth_per_target: Option<u64>) -> bool {
    let block = if is_promised_for(judged_promise, "4 KiB") { Bytes::kib(4) } else { Bytes::kib(16) };
    let Some(pattern) = c.pattern() else { return false };
    c.direct.get() != Some(false)
        && depth_per_target == Some(1)
        && c.single_block().is_some_and(|b| b <= block)
        && (!is_promised_for(judged_promise, "random write") || pattern == Pattern::RandWrite)
        && pattern.directions().len() == 1
}

/// The mean latency that is promised for a planned step, if its load is the one that the promise covers.
pub fn promised_latency(judged_promise: &JudgedPromise, step: &Step) -> Option<Nanos> {
    let conditions = Conditions::of_step(step, 1);
    let covered = fits_latency(judged_promise, &conditions, Some(step.depth_per_target()));
    latency_promised(judged_promise).filter(|_| covered)
}

/// I/Os a second to each of so many targets at which no limit of the volume takes part in the latency.
pub fn offered_rate(judged_promise: &JudgedPromise, step: &Step, targets: usize) -> Option<f64> {
    let latency = latency_promised(judged_promise)?;
    let rates = PromisedRates::at_block(judged_promise, step.single_block()?, direction(step.rw)?);
    let one_at_a_time = 1.0 / latency.as_seconds();
    let promised = rates.map_or(f64::INFINITY, |rates| rates.least.iops / targets.max(1) as f64);
    Some((BELOW_A_LIMIT * promised.min(one_at_a_time)).floor().max(1.0))
}

/// The step that tests a promised latency, with the pattern of a step where the promise covers it.
pub fn latency_step(judged_promise: &JudgedPromise, base: &Step) -> Step {
    let block = Bytes::kib(4);
    let at_random = match direction(base.rw) {
        Some(PromiseDirection::Read) => Pattern::RandRead,
        _ => Pattern::RandWrite,
    };
    let mut step = Step {
        iodepth: 1,
        numjobs: 1,
        direct: true,
        bs: BlockSizes::one(block),
        rate_bw: None,
        runtime: base.runtime.max(Nanos::seconds(60)),
        ..base.clone()
    };
    for rw in [base.rw, at_random, Pattern::RandWrite] {
        step.rw = rw;
        if fits_latency(judged_promise, &Conditions::of_step(&step, 1), Some(1)) {
            break;
        }
    }
    Step { rate_iops: offered_rate(judged_promise, &step, 1), ..step }
}

/// A latency promise with the steps that test it.
pub struct TestedLatency<'a> {
    record: &'a Record,
    judged_promise: &'a JudgedPromise,
    /// The promise.
    pub promised: Nanos,
    /// The planned step that tests it first.
    pub first: &'a Step,
    /// The measured steps in the order of time.
    pub steps: Vec<&'a StepRecord>,
}

/// The latency promises that the steps of a Record test, each planned step with what the run added for it.
pub fn tested<'a>(record: &'a Record, judged_promise: &'a JudgedPromise) -> Vec<TestedLatency<'a>> {
    tested_by(&record.steps, record, judged_promise)
}

/// The same for some of the steps.
pub fn tested_by<'a>(
    steps: &'a [StepRecord],
    record: &'a Record,
    judged_promise: &'a JudgedPromise,
) -> Vec<TestedLatency<'a>> {
    let Some(promised) = latency_promised(judged_promise) else { return Vec::new() };
    let mut all: Vec<TestedLatency<'a>> = Vec::new();
    for step in steps {
        let Some(planned) = record.plan_step(&step.name) else { continue };
        if record.plan.is_precondition(&step.name)
            || !fits_latency(judged_promise, &record.conditions(step), record.depth_per_target(step))
        {
            continue;
        }
        match &planned.follows {
            None => {
                let steps = vec![step];
                all.push(TestedLatency { record, judged_promise, promised, first: planned, steps });
            }
            Some(follows) if matches!(follows.purpose, Purpose::Offered | Purpose::Repeat) => {
                let of = all.iter_mut().find(|t| t.first.name == follows.step);
                of.into_iter().for_each(|tested| tested.steps.push(step));
            }
            Some(_) => {}
        }
    }
    all
}

impl TestedLatency<'_> {
    /// Its claim: that of the last step. `None` where nothing completed.
    pub fn claim(&self) -> Option<Claim> {
        let claims: Vec<Claim> = self.steps.iter().filter_map(|s| self.of_step(s)).collect();
        let kept = claims.iter().find(|c| c.outcome == Outcome::Pass);
        let claim = kept.or(claims.last())?;
        let measured_in = Some(claim.step.clone()).filter(|step| *step != self.first.name);
        Some(Claim { step: self.first.name.clone(), measured_in, ..claim.clone() })
    }

    /// The step that is missing: the same load, offered.
    pub fn missing(&self) -> Option<Missing> {
        let claim = self.claim()?;
        let is_open = claim.basis == BasisCode::LoadNotShown;
        (is_open && self.offered_steps() < MOST_OFFERED).then_some(Missing::Confirm)
    }

    fn offered_steps(&self) -> usize {
        let plans = self.steps.iter().filter_map(|step| self.record.plan_step_of(step));
        let added = plans.filter_map(|plan| plan.follows.as_ref());
        added.filter(|follows| follows.purpose == Purpose::Offered).count()
    }

    /// I/Os a second of the last step, where the volume completed fewer than were offered.
    pub fn completed_below_the_offer(&self) -> Option<f64> {
        self.steps.last().filter(|step| is_overloaded(step)).map(|step| step.iops())
    }

    fn of_step(&self, step: &StepRecord) -> Option<Claim> {
        let columns = columns(step);
        let found = MeanLatency::from_bins(&columns)?;
        let answer = limit_answer::mean_latency(&found, self.promised, self.judged_promise.tolerance);
        let claim = self.answered(step, answer);
        let fault = faults::fault(self.record, self.judged_promise, step, claim.outcome == Outcome::Pass);
        Some(match fault {
            Some(fault) => faults::void(claim, &fault),
            None => claim,
        })
    }

    fn answered(&self, step: &StepRecord, found: ClaimAnswer) -> Claim {
        let dead = self.dead_share();
        let offered = step.open_loop.as_ref().map(|o| o.offered_per_second);
        let (outcome, basis, reason) = match found.answer {
            _ if step.was_ended_early() => {
                (Outcome::Inconclusive, BasisCode::EndedEarly, words::ENDED_EARLY.to_string())
            }
            LimitAnswer::Pass if dead > MOST_DEAD => (
                Outcome::Inconclusive,
                BasisCode::DeadTime,
                format!(
                    "the mean is kept, but for {}{} % of the time nothing completed for a second or longer, which one request at a time hides",
                    if self.steps.iter().all(|step| step.shows_pauses()) { "" } else { "up to " },
                    significant(100.0 * dead)
                ),
            ),
            LimitAnswer::Pass => (Outcome::Pass, BasisCode::Kept, self.how_offered(offered)),
            LimitAnswer::Fail if self.is_held_by_no_limit(step) => {
                (Outcome::Fail, BasisCode::Missed, self.how_offered(offered))
            }
            LimitAnswer::Fail => (
                Outcome::Inconclusive,
                BasisCode::LoadNotShown,
                "one request at a time may wait here for the volume's limit on I/Os: offered at half of what the volume is promised, or completes, it does not"
                    .to_string(),
            ),
            LimitAnswer::Inconclusive => {
                (Outcome::Inconclusive, BasisCode::Spans, words::longer(found.more_seconds))
            }
        };
        let promised = self.promised.0 as f64;
        let mut claim = Claim::new(&step.name, Metric::Latency, outcome, promised, found, reason);
        claim.binding = "volume latency".into();
        claim.basis = basis;
        if basis == BasisCode::LoadNotShown {
            claim.command = Some(words::RESUME.into());
            claim.more_seconds = None;
        }
        claim
    }

    /// Share of the time of all steps in which the request waited for a second or longer.
    fn dead_share(&self) -> f64 {
        share_of_all(self.steps.iter().map(|step| (dead_share(step), step.window_ns.as_seconds())))
    }

    fn how_offered(&self, offered: Option<f64>) -> String {
        offered.map_or(String::new(), |rate| {
            format!("one request at a time, offered at {} a second", grouped(rate.round() as u64))
        })
    }

    /// The step was offered so few I/Os that no limit of the volume takes part.
    fn is_held_by_no_limit(&self, step: &StepRecord) -> bool {
        let Some(open) = step.open_loop.as_ref().filter(|_| !is_overloaded(step)) else { return false };
        let targets = self.record.plan.targets_of(self.first).len().max(1);
        let most = offered_rate(self.judged_promise, self.first, targets).map(|rate| rate * targets as f64);
        most.is_some_and(|most| open.offered_per_second <= ROUNDING * most)
    }
}

/// The volume completed fewer I/Os than were offered, so that a limit of it takes part in their latency.
fn is_overloaded(step: &StepRecord) -> bool {
    step.open_loop.as_ref().is_some_and(|open| ROUNDING * step.iops() < open.offered_per_second)
}

/// I/Os and the sum of their latencies by 100 ms, of all targets and both directions.
fn columns(step: &StepRecord) -> Vec<(u64, Nanos)> {
    let mut columns: Vec<(u64, Nanos)> = Vec::new();
    for series in step.targets.iter().map(|t| &t.series) {
        for stream in [Direction::Read, Direction::Write].into_iter().filter_map(|d| series.stream(d)) {
            let track = &stream.track;
            let (ios, latency_ns) = (series.on_grid(&track.ios), series.on_grid(&track.latency_ns));
            columns.resize(columns.len().max(ios.len()), (0, Nanos(0)));
            for (sum, (n, ns)) in columns.iter_mut().zip(ios.iter().zip(&*latency_ns)) {
                *sum = (sum.0.saturating_add(*n), Nanos(sum.1.0.saturating_add(*ns)));
            }
        }
    }
    let whole = step.window_ns.as_seconds() * PER_SECOND as f64;
    columns.truncate(whole as usize);
    columns
}
