//! The promises of rates that a Record tests: which steps test which, and the claim on each.
//!
//! A promise is one direction at one block size on the same targets. The steps of the plan that test it, and those that the run added for
//! it, are one case in the order of time.

use std::borrow::Cow;
use std::path::PathBuf;

use super::answer::{Answer, Basis, Open};
use super::burst_part::BurstPart;
use super::facts::StepFacts;
use super::outcome::Case;
use super::promised_rates::PromisedRates;
use super::saturating_depth::Deepest;
use super::step_answer::{StepAnswer, read};
use super::terms::ClaimTerms;
use super::{faults, provider, test_command, words};
use volproof_base::doubt::DoubtCode;
use volproof_base::stats::LEAST_QUOTABLE;
use volproof_base::stats::limit_answer::{ClaimAnswer, LimitAnswer, TimeShare};
use volproof_base::unit::Bytes;
use volproof_plan::{Plan, Purpose, Step};
use volproof_record::{
    BasisCode, Claim, ClaimStep, Delivered, JudgedPromise, Metric, Outcome, Record, StepRecord, bins,
    promise_direction as direction,
};

/// A promise that steps of a Record test.
pub struct TestedPromise<'a> {
    record: &'a Record,
    /// The promise.
    judged_promise: Cow<'a, JudgedPromise>,
    /// The rates.
    pub rates: PromisedRates,
    /// The block size.
    pub block: Bytes,
    /// Requests in flight that no promise exceeds: of several volumes, each has its part of those of all.
    pub saturating: u64,
    /// The planned step that tests it first.
    pub first: &'a Step,
    /// The measured steps, in the order of time.
    pub steps: Vec<Cow<'a, StepRecord>>,
}

/// Two planned loads test one promise.
fn test_the_same(plan: &Plan, a: &Step, b: &Step) -> bool {
    direction(a.rw) == direction(b.rw)
        && a.rw.directions().len() == b.rw.directions().len()
        && a.rw.is_random() == b.rw.is_random()
        && (a.direct, a.fsync, a.sync) == (b.direct, b.fsync, b.sync)
        && a.single_block() == b.single_block()
        && plan.targets_of(a) == plan.targets_of(b)
}

/// The promises of rates that the steps of a Record test, in the order in which they are tested first.
pub fn tested<'a>(record: &'a Record, judged_promise: &'a JudgedPromise) -> Vec<TestedPromise<'a>> {
    tested_by(&record.steps, record, judged_promise)
}

/// The same for some of the steps.
pub fn tested_by<'a>(
    steps: &'a [StepRecord],
    record: &'a Record,
    judged_promise: &'a JudgedPromise,
) -> Vec<TestedPromise<'a>> {
    let mut all: Vec<TestedPromise<'a>> = Vec::new();
    for step in steps {
        let Some(planned) = record.plan_step(&step.name) else { continue };
        let is_other = planned
            .follows
            .as_ref()
            .is_some_and(|f| !f.purpose.tests_promise() || f.purpose == Purpose::Offered);
        if is_other || record.plan.is_precondition(&step.name) {
            continue;
        }
        let rates = PromisedRates::of_load(judged_promise, &record.conditions(step));
        let (Some(rates), Some(block)) = (rates, planned.single_block()) else { continue };
        let known = all.iter_mut().find(|promise| test_the_same(&record.plan, promise.first, planned));
        if let Some(promise) = known {
            promise.steps.push(Cow::Borrowed(step));
            continue;
        }
        all.push(TestedPromise {
            record,
            judged_promise: Cow::Borrowed(judged_promise),
            rates,
            block,
            saturating: rates.saturating_depth(judged_promise, block),
            first: planned,
            steps: vec![Cow::Borrowed(step)],
        });
    }
    all.into_iter().map(without_side_steps).collect()
}

/// The load of a step tests a rate: it waits for completions alone, and has more than one request in flight.
fn keeps_busy(record: &Record, step: &StepRecord) -> bool {
    step.open_loop.is_none() && record.depth_per_target(step).is_some_and(|depth| depth > 1)
}

/// The promise without the steps that test something else: one request at a time, and rates that were offered, where another step of the plan
/// keeps the volume busy. Steps that the run added follow from the first load, which is compared with them.
fn without_side_steps(mut promise: TestedPromise<'_>) -> TestedPromise<'_> {
    let record = promise.record;
    let mut planned = promise
        .steps
        .iter()
        .filter(|step| record.plan_step_of(step).is_some_and(|plan| plan.follows.is_none()));
    if planned.any(|step| keeps_busy(record, step)) {
        promise.steps.retain(|step| keeps_busy(record, step));
    }
    if let Some(first) = promise.steps.first().and_then(|step| record.plan_step_of(step)) {
        promise.first = first;
    }
    promise
}

impl<'a> TestedPromise<'a> {
    /// Its claim: the gravest one of all volumes together and, where several are named, of each by itself. `None` where no step is long
    /// enough to have a rate.
    pub fn claim(&self) -> Option<Claim> {
        let sum = RateCase::new(self)?.claim();
        if sum.outcome != Outcome::Pass {
            return Some(sum);
        }
        let mut gravest: Option<(PathBuf, Claim)> = None;
        for (path, volume) in self.volumes() {
            let Some(claim) = RateCase::new(&volume).map(|case| case.claim()) else { continue };
            let most = gravest.as_ref().map_or(Outcome::Pass, |(_, most)| most.outcome);
            if claim.outcome.weight() > most.weight() {
                gravest = Some((path, claim));
            }
        }
        Some(gravest.map_or(sum.clone(), |(path, claim)| words::by_itself(&path, claim, &sum)))
    }

    /// The step that is missing for its answer, and the answer so far. Where all volumes together keep the promise, what one of them misses by itself.
    pub fn answer(&self) -> Option<Answer> {
        let sum = RateCase::new(self)?.answer();
        if sum.missing.is_some() || sum.outcome != Outcome::Pass {
            return Some(sum);
        }
        let volumes = self.volumes();
        let missing = volumes.iter().find_map(|(_, volume)| RateCase::new(volume)?.answer().missing);
        Some(Answer { missing: missing.map(|missing| missing.times(volumes.len() as u64)), ..sum })
    }

    /// The part of each volume in the same steps, where several are named and the instance is not what limits them, in the order of the targets.
    fn volumes(&self) -> Vec<(PathBuf, TestedPromise<'a>)> {
        let volumes = &self.judged_promise.promise.volumes;
        let Some(d) = direction(self.first.rw) else { return Vec::new() };
        let is_of_volumes = self.rates.least.binding.owner() == "volume";
        if !is_of_volumes || volumes.len() < 2 || volumes.len() != self.record.targets.len() {
            return Vec::new();
        }
        let mut parts = Vec::new();
        for (target, volume) in self.record.targets.iter().zip(volumes) {
            let own = self.judged_promise.of_volume(volume);
            let Some(rates) = PromisedRates::at_block(&own, self.block, d) else { continue };
            let alone = self.steps.iter().filter_map(|step| faults::alone(step, &target.path));
            let part = TestedPromise {
                record: self.record,
                judged_promise: Cow::Owned(own),
                rates,
                block: self.block,
                saturating: self.saturating / volumes.len() as u64,
                first: self.first,
                steps: alone.map(Cow::Owned).collect(),
            };
            parts.push((target.path.clone(), part));
        }
        parts
    }
}

/// A promise of a rate with the facts of its steps.
struct RateCase<'a> {
    tested: &'a TestedPromise<'a>,
    terms: ClaimTerms,
    /// The steps that are valid measurements.
    facts: Vec<StepFacts>,
    /// The faults of measurements, each with its step.
    faults: Vec<(faults::Fault, String)>,
    has_valid_step: bool,
    deepest: Deepest,
}

impl<'a> RateCase<'a> {
    fn new(tested: &'a TestedPromise<'a>) -> Option<RateCase<'a>> {
        let (record, judged_promise) = (tested.record, &*tested.judged_promise);
        let bytes = tested.rates.metric() == Metric::Throughput;
        let terms = ClaimTerms::from_promise(judged_promise, &tested.rates);
        let saturating = tested.saturating;
        let (mut facts, mut faults) = (Vec::new(), Vec::new());
        for step in &tested.steps {
            let counts = bins(step, bytes);
            if counts.is_empty() {
                continue;
            }
            let part = BurstPart::of_counts(&counts, &terms);
            let judged = counts[..part.judged].to_vec();
            let mut found = StepFacts::measured(step, judged, terms.limits().0, saturating);
            part.mark(&mut found);
            let fault = faults::fault(record, judged_promise, step, is_reached(&found, &terms));
            let is_of_instance = tested.rates.least.binding.owner() == "instance";
            let counts = |fault: &faults::Fault| {
                // Where the instance's own promise is judged, its limit is what is judged.
                let is_judged = is_of_instance && fault.code == DoubtCode::LimitedByInstance;
                !is_judged && explains(fault, record, step, &terms, bytes)
            };
            match fault.filter(counts) {
                Some(fault) => faults.push((fault, found)),
                None => facts.push(found),
            }
        }
        let has_valid_step = !facts.is_empty();
        if !has_valid_step {
            facts.extend(faults.iter().map(|(_, found)| found.clone()));
        }
        let faults = faults.into_iter().map(|(fault, found)| (fault, found.step)).collect();
        let deepest = Deepest::for_step(record, tested.first, saturating);
        let case = RateCase { tested, terms, facts, faults, has_valid_step, deepest };
        (!case.facts.is_empty()).then_some(case)
    }

    /// The answer of the valid steps. A fault of the measurement makes it INVALID where they leave the promise open.
    fn answer(&self) -> Answer {
        let answer =
            Case { terms: &self.terms, steps: &self.facts, deepest: self.deepest.if_shallow() }.answer();
        let is_open = answer.outcome == Outcome::Inconclusive;
        if !self.has_valid_step || (is_open && !self.faults.is_empty()) {
            return Answer { outcome: Outcome::Invalid, missing: None, ..answer };
        }
        answer
    }

    /// The fault of the step that decides, or else the first of another, with its step.
    fn fault_of(&self, step: &str) -> Option<&(faults::Fault, String)> {
        self.faults.iter().find(|(_, of)| of == step).or(self.faults.first())
    }

    fn claim(&self) -> Claim {
        let answer = self.answer();
        let by = &self.facts[answer.by];
        let promised = self.promised(by);
        let found = ClaimAnswer {
            answer: LimitAnswer::Inconclusive,
            value: by.mean,
            limit: promised * (1.0 - self.terms.tolerance),
            ratio: by.mean / promised,
            bounds: by.rate.map(|rate| (rate.low, rate.high)),
            more_seconds: more_seconds(&answer.basis, by),
        };
        let mut claim = Claim::new(
            &self.tested.first.name,
            self.tested.rates.metric(),
            answer.outcome,
            promised,
            found,
            String::new(),
        );
        claim.binding = self.tested.rates.least.binding.words().into();
        claim.evidence = self.facts.iter().map(|f| self.evidence(f)).collect();
        claim.decided_by = answer.by;
        claim.delivered = by.shows_seconds().then(|| self.delivered(by));
        let deciding = self.tested.steps.iter().find(|step| step.name == by.step);
        claim.proven_limit = deciding.and_then(|step| provider::proven_limit(step));
        claim.basis = basis_code(&answer.basis);
        claim.reason = words::of_rate(&claim, &answer, &self.terms, &self.deepest);
        if answer.outcome == Outcome::Inconclusive {
            claim.reason += &words::beyond_the_budget(self.tested.record, &answer);
            claim.command = test_command::command_to_decide(
                self.tested.record,
                &self.tested.judged_promise,
                &claim,
                &answer,
            );
        }
        if let (Outcome::Invalid, Some((fault, step))) = (answer.outcome, self.fault_of(&by.step)) {
            claim = faults::void(claim, fault);
            if *step != by.step {
                claim.reason = format!("{step}: {}", claim.reason);
            }
        }
        faults::if_cache_may_answer(self.tested.record, &self.tested.steps, claim)
    }

    /// The reading of the unit that the answer names: for a PASS, and for what is open between both, the one that asks most.
    fn promised(&self, by: &StepFacts) -> f64 {
        let (least, most) = self.terms.readings();
        if by.mean >= least * (1.0 - self.terms.tolerance) { most } else { least }
    }

    fn evidence(&self, f: &StepFacts) -> ClaimStep {
        ClaimStep {
            step: f.step.clone(),
            depth: f.load.depth,
            offered_per_second: f.load.offered,
            saturating: f.is_saturating,
            seconds: f.seconds,
            per_second: f.mean,
            interval: f.rate.map(|rate| (rate.low, rate.high)),
            latency_ns: f.latency_ns,
            dead_share: f.dead_share(),
            keeps: match read(f, &self.terms) {
                StepAnswer::Keeps => Some(true),
                StepAnswer::Misses => Some(false),
                StepAnswer::Open(_) => None,
            },
        }
    }

    fn delivered(&self, by: &StepFacts) -> Delivered {
        let share = TimeShare::of_seconds(&by.delivered);
        let answer = self.terms.time.map(|time| Outcome::from(share.answer(time)));
        Delivered {
            share: share.share(),
            low: share.low,
            high: share.high,
            promised: self.terms.time,
            answer,
        }
    }
}

/// The promise is kept, or its rate was given for too short a time: nothing is left that a slower measurement explains.
fn is_reached(found: &StepFacts, terms: &ClaimTerms) -> bool {
    matches!(read(found, terms), StepAnswer::Keeps | StepAnswer::Open(Open::Short { is_below: false }))
}

/// Whether a fault may be why a rate misses its promise. Traffic of others is not where all that the disk did falls short as well.
fn explains(
    fault: &faults::Fault,
    record: &Record,
    step: &StepRecord,
    terms: &ClaimTerms,
    bytes: bool,
) -> bool {
    if fault.code != DoubtCode::OtherTraffic {
        return true;
    }
    let most = faults::rate_with_others(record, step, bytes);
    most.is_none_or(|most| most >= terms.limits().0)
}

/// How much longer the deciding step should be; absent where time does not decide.
fn more_seconds(basis: &Basis, by: &StepFacts) -> Option<u64> {
    if let Basis::Open(Open::Short { .. }) = basis {
        return Some((LEAST_QUOTABLE.as_seconds() - by.seconds).ceil().max(1.0) as u64);
    }
    basis.more_seconds()
}

fn basis_code(basis: &Basis) -> BasisCode {
    match basis {
        Basis::Kept => BasisCode::Kept,
        Basis::KeptWithMoreLoad { .. } => BasisCode::KeptWithMoreLoad,
        Basis::WithinGuarantee => BasisCode::WithinGuarantee,
        Basis::Missed => BasisCode::Missed,
        Basis::TooFewSeconds => BasisCode::TooFewSeconds,
        Basis::Hangs => BasisCode::Hangs,
        Basis::MediumErrors => BasisCode::MediumErrors,
        Basis::LoadNotShown => BasisCode::LoadNotShown,
        Basis::Changed { .. } => BasisCode::Changed,
        Basis::DeadTime => BasisCode::DeadTime,
        Basis::ShareOpen { .. } => BasisCode::ShareOpen,
        Basis::SamplesMerged => BasisCode::SamplesMerged,
        Basis::DepthNotPossible => BasisCode::DepthNotPossible,
        Basis::Open(Open::Short { .. }) => BasisCode::TooShort,
        Basis::Open(Open::Spans { .. }) => BasisCode::Spans,
        Basis::BurstUntested { .. } => BasisCode::Credits,
        Basis::Open(Open::Credits { .. } | Open::CreditsMayBeLeft | Open::FewCredits) => BasisCode::Credits,
        Basis::Open(Open::BeyondTheType) => BasisCode::BeyondTheType,
        Basis::Open(Open::OneUnit) => BasisCode::OneUnit,
        Basis::Open(Open::EndedEarly) => BasisCode::EndedEarly,
    }
}
