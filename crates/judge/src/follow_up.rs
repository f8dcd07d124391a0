//! The steps that a run adds after those of its plan: which one is missing for an answer, and how long all of them may take.
//!
//! A promise that was missed is tried at the saturating depth; the first load comes once more where that kept the promise (A B A), and the
//! greater one twice where that missed it again (A B A B B); depths between find the one that is enough. A mean latency that was missed at full speed is
//! offered at half of the promised rate. A pure function of the finished steps, so that an interrupted run goes on where it stood.

use super::added_step::added;
use super::answer::Missing;
use super::asked_verdict::promise_to_judge;
use super::causes;
use super::facts::TriedLoad;
use super::latency::{self, TestedLatency, offered_rate, promised_latency};
use super::promised::{self, TestedPromise};
use super::promised_rates::PromisedRates;
use super::saturating_depth::{Deepest, at_depth, for_a_minute};
use super::thresholds::{BELOW_A_LIMIT, LOADS_APART};
use volproof_base::unit::{Bytes, Nanos, total};
use volproof_plan::{FollowUp, Plan, Purpose, Step};
use volproof_record::{Claim, JudgedPromise, Record, promise_direction as direction};

/// At most so many steps are added for one promise: a run ends, whatever a volume does.
const MOST_STEPS: usize = 12;

/// A load that time alone leaves open is measured for so many times its planned length, if that is enough.
const LONGER: u64 = 5;

/// The step that a run adds next; none at its end, and where its plan asks for none.
pub fn next(record: &Record) -> Option<Step> {
    let follow_up = record.plan.follow_up.as_ref().filter(|_| record.rank.is_none())?;
    let judged_promise = promise_to_judge(record)?;
    let (rates, latencies) =
        (promised::tested(record, judged_promise), latency::tested(record, judged_promise));
    let for_rates = rates.iter().filter_map(|t| next_for_rate(record, follow_up, t));
    let for_latencies =
        latencies.iter().filter_map(|t| next_for_latency(record, judged_promise, follow_up, t));
    for_rates.chain(for_latencies).find(|step| fits(record, follow_up, step)).or_else(|| causes::next(record))
}

fn next_for_rate(record: &Record, follow_up: &FollowUp, tested: &TestedPromise<'_>) -> Option<Step> {
    // A user who ended a step early wants no more of them.
    if tested.steps.iter().any(|step| step.was_ended_early()) {
        return None;
    }
    match tested.answer()?.missing {
        Some(missing) => {
            let deepest = Deepest::for_step(record, tested.first, tested.saturating);
            Some(missing_step(record, tested.first, missing, &deepest))
        }
        None => longer(record, tested.first, &tested.claim()?, follow_up),
    }
}

fn next_for_latency(
    record: &Record,
    judged_promise: &JudgedPromise,
    follow_up: &FollowUp,
    tested: &TestedLatency<'_>,
) -> Option<Step> {
    match tested.missing() {
        Some(_) => offered(record, judged_promise, tested),
        None => longer(record, tested.first, &tested.claim()?, follow_up),
    }
}

/// The time of all added steps stays within the budget, and their number within what a promise needs.
fn fits(record: &Record, follow_up: &FollowUp, step: &Step) -> bool {
    let place = step.follows.as_ref().map(|follows| &follows.step);
    let (mut for_it, mut taken) = (0, step.whole_time().0);
    for added in &record.plan.steps {
        let Some(follows) = &added.follows else { continue };
        taken = taken.saturating_add(added.whole_time().0);
        for_it += usize::from(Some(&follows.step) == place && follows.purpose.tests_promise());
    }
    for_it < MOST_STEPS && follow_up.budget.is_none_or(|budget| taken <= budget.0)
}

/// The step that is missing for an answer.
fn missing_step(record: &Record, first: &Step, missing: Missing, deepest: &Deepest) -> Step {
    let targets = record.plan.targets_of(first).len();
    let (step, purpose, word) = match missing {
        Missing::Confirm => {
            (at_depth(first, targets, deepest.depth()), Purpose::Confirm, "confirm".to_string())
        }
        Missing::Depth(depth) => (at_depth(first, targets, depth), Purpose::Depth, format!("depth-{depth}")),
        Missing::Repeat(load) => {
            let planned = step_of_load(record, first, load).unwrap_or(first);
            (for_a_minute(planned), Purpose::Repeat, "again".to_string())
        }
    };
    added(record, first, step, purpose, &word)
}

/// The load of the deciding step once more, for as long as its claim asks for, where only time leaves that open: as long as the user allows,
/// else once, where five times the planned length is enough. An estimate from a short step is rough: the new one is at least half as
/// long again. The shorter step stays beside it, with what it shows.
fn longer(record: &Record, first: &Step, claim: &Claim, follow_up: &FollowUp) -> Option<Step> {
    let name = claim.row_step();
    let measured = record.steps.iter().find(|done| done.name == name)?.window_ns;
    let wanted = measured.0.saturating_add(Nanos::seconds(claim.more_seconds?).0).max(measured.0 / 2 * 3);
    let planned_length = for_a_minute(first).runtime;
    let enough = longest_unasked(first);
    if follow_up.longest.is_none() && (wanted > enough.0 || measured > planned_length) {
        return None;
    }
    let runtime = Nanos::seconds(wanted.min(follow_up.longest.unwrap_or(enough).0).div_ceil(1_000_000_000));
    let planned = record.plan_step(name)?;
    let purpose = match &planned.follows {
        Some(follows) if follows.purpose == Purpose::Offered => Purpose::Offered,
        _ => Purpose::Repeat,
    };
    let step = Step { runtime, ..for_a_minute(planned) };
    (runtime > measured.max(planned.runtime)).then(|| added(record, first, step, purpose, "longer"))
}

/// How long a load is measured once more without `--until-conclusive`.
fn longest_unasked(first: &Step) -> Nanos {
    Nanos(for_a_minute(first).runtime.0.saturating_mul(LONGER))
}

/// The step whose load is repeated: the first one of that depth that was offered its I/Os, or was not, as that load.
fn step_of_load<'a>(record: &'a Record, first: &Step, load: TriedLoad) -> Option<&'a Step> {
    let plan = record.plan.steps.iter();
    let mut like =
        plan.filter(|step| step.rw == first.rw && step.bs == first.bs && step.targets == first.targets);
    like.find(|step| {
        let done = record.steps.iter().find(|done| done.name == step.name);
        done.is_some_and(|done| {
            let depth = done.in_flight_asked.get().map(|depth| depth.round() as u64);
            depth == Some(load.depth) && done.open_loop.is_some() == load.offered.is_some()
        })
    })
}

/// One request at a time, offered: at half of what the volume completed, where it completed fewer than were offered.
fn offered(record: &Record, judged_promise: &JudgedPromise, tested: &TestedLatency<'_>) -> Option<Step> {
    let first = tested.first;
    let targets = record.plan.targets_of(first).len();
    let mut rate = offered_rate(judged_promise, first, targets)?;
    if let Some(completed) = tested.completed_below_the_offer() {
        rate = rate.min((BELOW_A_LIMIT * completed / targets.max(1) as f64).floor().max(1.0));
    }
    let rate_iops = Some(rate);
    let step = Step { rate_iops, rate_bw: None, ..for_a_minute(first) };
    Some(added(record, first, step, Purpose::Offered, "offered"))
}

/// What the added steps of a plan may take at most: time, and bytes written at the rate of forecasts.
pub fn at_most(plan: &Plan, judged_promise: &JudgedPromise) -> (Nanos, Bytes) {
    let Some(follow_up) = &plan.follow_up else { return (Nanos(0), Bytes(0)) };
    let limit = follow_up.budget.map_or(u64::MAX, |budget| budget.0);
    let (mut time, mut written) = (0u64, 0f64);
    for step in plan.steps.iter().filter(|step| step.follows.is_none() && !plan.is_precondition(&step.name)) {
        let steps = most_steps(step, judged_promise);
        let each = for_a_minute(step);
        let planned = steps * total([each.ramp.0, each.runtime.0]);
        let seconds = planned.saturating_add(longer_at_most(step, judged_promise, follow_up));
        time = time.saturating_add(seconds);
        if step.rw.changes_data() {
            written += Nanos(seconds.min(limit)).as_seconds() * step.forecast_rate();
        }
    }
    (Nanos(time.min(limit)), Bytes(written as u64))
}

/// How long a planned step may be measured once more: where the user allows it, each time at least half as long again, and all times together
/// at most three times the longest.
fn longer_at_most(step: &Step, judged_promise: &JudgedPromise, follow_up: &FollowUp) -> u64 {
    if most_steps(step, judged_promise) == 0 {
        return 0;
    }
    follow_up.longest.map_or(longest_unasked(step).0, |longest| longest.0.saturating_mul(3))
}

/// How many steps a planned step may be followed by: the confirming load three times, the first one again, and the depths between; two for a
/// latency.
fn most_steps(step: &Step, judged_promise: &JudgedPromise) -> u64 {
    if promised_latency(judged_promise, step).is_some() {
        return 2;
    }
    let promised = direction(step.rw).zip(step.single_block());
    let promised = promised.and_then(|(d, block)| PromisedRates::at_block(judged_promise, block, d));
    let Some(rates) = promised else { return 0 };
    let saturating = rates.saturating_depth(judged_promise, step.bs.largest());
    let depths = (1..).map(|n| step.depth_per_target().saturating_mul(LOADS_APART.saturating_pow(n)));
    4 + depths.take_while(|depth| *depth < saturating).count() as u64
}
