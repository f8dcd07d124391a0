//! What the table answers to sequences of steps, and which step it asks for next.

use super::{PROMISED, SATURATING, closed, plain};
use crate::answer::{Answer, Basis, Missing, Open};
use crate::facts::{BinSamples, DELIVERED, StepFacts, StepMishaps, TriedLoad};
use crate::outcome::Case;
use crate::sold_burst::SoldBurst;
use crate::terms::ClaimTerms;
use volproof_record::Outcome;

const KEEPS: f64 = 1.0;
const MISSES: f64 = 0.5;
const MINUTE: usize = 60;

/// A step at the same share of the promise all the time.
fn step(load: TriedLoad, share: f64, seconds: usize) -> StepFacts {
    of_seconds(load, &vec![share; seconds])
}

/// A step of seconds at these shares of the promise.
fn of_seconds(load: TriedLoad, shares: &[f64]) -> StepFacts {
    let bin = |share: f64| (share * PROMISED / 10.0).round() as u64;
    let counts: Vec<u64> = shares.iter().flat_map(|share| [bin(*share); 10]).collect();
    let samples = BinSamples {
        idle: counts.iter().map(|n| *n == 0).collect(),
        counts,
        merged: 1,
        in_flight: load.depth as f64,
        latency_ns: 1e6,
    };
    StepFacts::of_samples("step", load, &samples, plain(PROMISED).limits().0, SATURATING)
}

fn at(depth: u64, share: f64) -> StepFacts {
    step(closed(depth), share, MINUTE)
}

fn answer_for(terms: &ClaimTerms, steps: &[StepFacts]) -> Answer {
    Case { terms, steps, deepest: None }.answer()
}

fn answer(steps: &[StepFacts]) -> Answer {
    answer_for(&plain(PROMISED), steps)
}

fn timed() -> ClaimTerms {
    ClaimTerms { time: Some(0.99), level: DELIVERED, ..plain(PROMISED) }
}

fn bursting(seconds: f64) -> ClaimTerms {
    let burst = SoldBurst { per_second: 3.0 * PROMISED, seconds: Some(seconds) };
    ClaimTerms { burst: Some(burst), ..plain(PROMISED) }
}

#[test]
fn a_load_that_keeps_the_promise_is_enough() {
    let found = answer(&[at(16, KEEPS)]);
    assert_eq!((found.outcome, found.basis, found.missing), (Outcome::Pass, Basis::Kept, None));
}

#[test]
fn a_miss_is_tried_at_the_saturating_depth() {
    let found = answer(&[at(16, MISSES)]);
    assert_eq!((found.outcome, found.missing), (Outcome::Inconclusive, Some(Missing::Confirm)));
    let found = answer(&[at(16, MISSES), at(SATURATING, MISSES)]);
    assert_eq!((found.outcome, found.basis, found.by), (Outcome::Fail, Basis::Missed, 1));
    let found = answer(&[at(SATURATING, MISSES)]);
    assert_eq!((found.outcome, found.missing), (Outcome::Fail, None));
}

#[test]
fn the_first_load_once_more_tells_whether_load_was_the_reason() {
    let mut steps = vec![at(16, MISSES), at(SATURATING, KEEPS)];
    assert_eq!(answer(&steps).missing, Some(Missing::Repeat(closed(16))));
    steps.push(at(16, MISSES));
    let found = answer(&steps);
    assert_eq!(
        (found.outcome, found.missing),
        (Outcome::Inconclusive, Some(Missing::Repeat(closed(SATURATING))))
    );
    steps.push(at(SATURATING, KEEPS));
    let found = answer(&steps);
    let twice = Some(Missing::Repeat(closed(SATURATING)));
    assert_eq!(
        (found.outcome, found.missing),
        (Outcome::Inconclusive, twice),
        "the first load may have saved credits"
    );
    steps.push(at(SATURATING, KEEPS));
    let found = answer(&steps);
    let more_load = Basis::KeptWithMoreLoad { first: 0 };
    assert_eq!((found.outcome, found.basis, found.by), (Outcome::Pass, more_load, 3));
    assert_eq!(found.missing, Some(Missing::Depth(64)), "four times as many in flight");
    steps.truncate(2);
    steps.push(at(16, KEEPS));
    let found = answer(&steps);
    let changed = Basis::Changed { first: 0, again: 2 };
    assert_eq!((found.outcome, found.basis, found.missing), (Outcome::Inconclusive, changed, None));
}

#[test]
fn a_rate_on_both_sides_of_the_limit_is_tried_with_more_load() {
    let spans =
        of_seconds(closed(16), &(0..60).map(|i| if i % 7 < 3 { 0.9 } else { 1.03 }).collect::<Vec<_>>());
    let found = answer(std::slice::from_ref(&spans));
    assert_eq!((found.outcome, found.missing), (Outcome::Inconclusive, Some(Missing::Confirm)));
    assert_eq!(answer(&[spans.clone(), at(SATURATING, MISSES)]).outcome, Outcome::Fail);
    // Its mean is below the limit: the first load once more, as after a miss.
    let mut steps = vec![spans, at(SATURATING, KEEPS)];
    assert_eq!(answer(&steps).missing, Some(Missing::Repeat(closed(16))));
    steps.extend([at(16, MISSES), at(SATURATING, KEEPS), at(SATURATING, KEEPS)]);
    assert_eq!(answer(&steps).outcome, Outcome::Pass);
}

#[test]
fn credits_that_were_saved_under_the_first_load_do_not_keep_a_promise() {
    let steps = [at(16, MISSES), at(SATURATING, KEEPS), at(16, MISSES)];
    let with = |first: f64, last: f64| {
        answer(&[&steps[..], &[at(SATURATING, first), at(SATURATING, last)]].concat())
    };
    assert_eq!((with(KEEPS, KEEPS).outcome, with(KEEPS, KEEPS).by), (Outcome::Pass, 3));
    assert_eq!(with(MISSES, MISSES).outcome, Outcome::Fail);
    assert_eq!(with(KEEPS, MISSES).outcome, Outcome::Fail, "the first load saved credits for one minute");
}

#[test]
fn a_guaranteed_share_is_kept_by_no_saved_credits_either() {
    let steps = [at(16, MISSES), at(SATURATING, 0.92), at(16, MISSES)];
    let with = |first: f64, last: f64| {
        answer_for(&timed(), &[&steps[..], &[at(SATURATING, first), at(SATURATING, last)]].concat())
    };
    assert_eq!((with(0.92, 0.92).outcome, with(0.92, 0.92).basis), (Outcome::Pass, Basis::WithinGuarantee));
    assert_ne!(with(0.92, MISSES).outcome, Outcome::Pass, "the first load saved credits for one minute");
    let found = answer_for(&timed(), &steps);
    assert_eq!(
        (found.outcome, found.missing),
        (Outcome::Inconclusive, Some(Missing::Repeat(closed(SATURATING))))
    );
}

#[test]
fn all_windows_of_a_load_keep_the_promise_together() {
    let deep = at(SATURATING, KEEPS);
    let tried = [at(16, MISSES), deep.clone(), at(16, MISSES), deep.clone(), deep];
    let with = |share: f64| answer(&[&tried[..], &[step(closed(64), share, 600), at(64, KEEPS)]].concat());
    assert_eq!((with(KEEPS).outcome, with(KEEPS).by), (Outcome::Pass, 5));
    assert_eq!(
        (with(0.9).outcome, with(0.9).basis),
        (Outcome::Inconclusive, Basis::Changed { first: 5, again: 6 })
    );
}

#[test]
fn a_load_that_misses_between_two_steps_that_keep_it_shows_a_change() {
    let found = answer(&[at(16, KEEPS), at(16, MISSES), at(16, KEEPS)]);
    assert_eq!(found.outcome, Outcome::Inconclusive);
    assert_eq!(found.basis, Basis::Changed { first: 1, again: 2 });
}

#[test]
fn a_rate_that_no_second_reached_is_missed_however_slowly_it_varies() {
    let slow = of_seconds(
        closed(SATURATING),
        &(0..60).map(|i| if i % 20 < 8 { 0.2 } else { 0.9 }).collect::<Vec<_>>(),
    );
    assert_eq!(answer(&[slow]).outcome, Outcome::Fail);
}

#[test]
fn depths_between_end_with_the_least_that_keeps_the_promise() {
    let mut steps = vec![at(16, MISSES), at(SATURATING, KEEPS), at(16, MISSES), at(SATURATING, KEEPS)];
    steps.push(at(SATURATING, KEEPS));
    steps.push(at(64, MISSES));
    assert_eq!(answer(&steps).missing, Some(Missing::Depth(256)));
    steps.push(at(256, KEEPS));
    let found = answer(&steps);
    assert_eq!((found.outcome, found.by, found.missing), (Outcome::Pass, 6, None));
    steps[5] = at(64, KEEPS);
    let found = answer(&steps[..6]);
    assert_eq!((found.outcome, found.by, found.missing), (Outcome::Pass, 5, None));
}

#[test]
fn a_short_first_step_decides_nothing_by_itself() {
    let short = |share| step(closed(16), share, 30);
    assert_eq!(answer(&[short(KEEPS)]).missing, Some(Missing::Repeat(closed(16))));
    assert_eq!(answer(&[short(KEEPS), at(16, KEEPS)]).outcome, Outcome::Pass);
    assert_eq!(answer(&[short(MISSES)]).missing, Some(Missing::Confirm));
    assert_eq!(answer(&[short(MISSES), at(SATURATING, MISSES)]).outcome, Outcome::Fail);
    let mut steps = vec![short(MISSES), at(SATURATING, KEEPS)];
    assert_eq!(answer(&steps).missing, Some(Missing::Repeat(closed(16))));
    steps.push(at(16, KEEPS));
    let found = answer(&steps);
    assert_eq!((found.outcome, found.missing), (Outcome::Inconclusive, None), "slow for half a minute");
    steps[0] = step(closed(16), MISSES, 5);
    let found = answer(&steps);
    assert_eq!((found.outcome, found.missing), (Outcome::Pass, None), "a few seconds are no change");
}

#[test]
fn dead_time_leaves_a_kept_mean_open() {
    let shares: Vec<f64> = (0..120).map(|i| if i % 20 == 0 { 0.0 } else { 1.08 }).collect();
    for depth in [16, SATURATING] {
        let found = answer(&[of_seconds(closed(depth), &shares)]);
        assert_eq!((found.outcome, found.basis), (Outcome::Inconclusive, Basis::DeadTime), "{depth}");
    }
    let found = answer_for(&timed(), &[of_seconds(closed(SATURATING), &shares)]);
    assert_eq!((found.outcome, found.basis), (Outcome::Fail, Basis::TooFewSeconds));
}

#[test]
fn a_promised_share_of_time_allows_a_tenth_less() {
    let found = answer_for(&timed(), &[at(16, 0.92), at(SATURATING, 0.92)]);
    assert_eq!((found.outcome, found.basis), (Outcome::Pass, Basis::WithinGuarantee));
    let found = answer_for(&timed(), &[at(16, 0.8), at(SATURATING, 0.8)]);
    assert_eq!((found.outcome, found.basis), (Outcome::Fail, Basis::Missed));
}

#[test]
fn a_quota_on_the_edges_of_seconds_makes_no_second_slow() {
    // Half a second's quota at a time; chance puts it before or after the edge.
    let late = |i: usize| i.wrapping_mul(2_654_435_761).is_multiple_of(3);
    let counts: Vec<u64> = (0..600)
        .map(|bin: usize| {
            let here = bin % 5 == 4 && !late(bin);
            let from_before = bin.is_multiple_of(5) && bin > 0 && late(bin - 1);
            if here || from_before { (0.95 * PROMISED / 2.0) as u64 } else { 0 }
        })
        .collect();
    let samples = BinSamples {
        idle: vec![false; 600],
        merged: 1,
        counts,
        in_flight: SATURATING as f64,
        latency_ns: 1e6,
    };
    let load = closed(SATURATING);
    let found = StepFacts::of_samples("step", load, &samples, plain(PROMISED).limits().0, SATURATING);
    assert!(found.delivered.iter().all(|delivered| *delivered), "{:?}", found.delivered);
}

#[test]
fn slow_seconds_of_a_shallow_load_are_tried_with_more_load() {
    // One second of ten at half the promise: the mean is kept.
    let uneven: Vec<f64> = (0..120).map(|i| if i % 10 == 0 { 0.5 } else { 1.09 }).collect();
    let shallow = of_seconds(closed(16), &uneven);
    let found = answer_for(&timed(), std::slice::from_ref(&shallow));
    assert_eq!((found.outcome, found.missing), (Outcome::Inconclusive, Some(Missing::Confirm)));
    let found = answer_for(&timed(), &[shallow.clone(), at(SATURATING, KEEPS)]);
    assert_eq!(found.outcome, Outcome::Pass, "the load was the reason");
    let found = answer_for(&timed(), &[shallow, of_seconds(closed(SATURATING), &uneven)]);
    assert_eq!((found.outcome, found.basis), (Outcome::Fail, Basis::TooFewSeconds));
}

#[test]
fn credits_leave_a_kept_rate_open_until_they_are_used_up() {
    let found = answer_for(&bursting(1800.0), &[at(16, 2.0)]);
    let Basis::Open(Open::Credits { more_seconds: Some(more) }) = found.basis else { panic!("{found:?}") };
    assert!((3000..3600).contains(&more), "{more}");
    // The last minute is the baseline.
    let mut ends: Vec<f64> = vec![3.0; 120];
    ends.extend([1.0; 120]);
    assert_eq!(answer_for(&bursting(120.0), &[of_seconds(closed(SATURATING), &ends)]).outcome, Outcome::Pass);
    // A load that asks for no burst leaves its credits for a later one.
    let mut steps = vec![at(16, KEEPS)];
    assert_eq!(answer_for(&bursting(1800.0), &steps).missing, Some(Missing::Confirm));
    steps.push(at(SATURATING, KEEPS));
    assert_eq!(answer_for(&bursting(1800.0), &steps).outcome, Outcome::Pass);
    steps[1] = at(SATURATING, 3.0);
    let found = answer_for(&bursting(1800.0), &steps);
    assert!(matches!(found.basis, Basis::Open(Open::Credits { .. })), "{found:?}");
    ends[120..].fill(MISSES);
    let steps = [of_seconds(closed(16), &ends), at(SATURATING, MISSES)];
    assert_eq!(answer_for(&bursting(120.0), &steps).outcome, Outcome::Fail);
}

#[test]
fn more_than_the_type_can_give_asks_for_the_type() {
    let found = answer(&[at(16, 1.3)]);
    assert_eq!((found.outcome, found.basis), (Outcome::Inconclusive, Basis::Open(Open::BeyondTheType)));
}

#[test]
fn where_the_saturating_depth_is_not_possible_a_flat_rate_decides() {
    let deepest = |steps: &[StepFacts]| Case { terms: &plain(PROMISED), steps, deepest: Some(64) }.answer();
    let mut steps = vec![at(16, 0.2)];
    assert_eq!(deepest(&steps).missing, Some(Missing::Depth(32)));
    steps.push(at(32, 0.4));
    assert_eq!(deepest(&steps).missing, Some(Missing::Depth(64)));
    steps.push(at(64, 0.8));
    let found = deepest(&steps);
    assert_eq!((found.outcome, found.basis), (Outcome::Inconclusive, Basis::DepthNotPossible));
    steps[2] = at(64, 0.4);
    assert_eq!(deepest(&steps).outcome, Outcome::Fail);
}

#[test]
fn what_the_volume_does_wrong_counts_against_it() {
    let hangs = StepFacts { mishaps: StepMishaps { hangs: true, ..StepMishaps::default() }, ..at(16, KEEPS) };
    let found = answer(&[hangs]);
    assert_eq!((found.outcome, found.basis), (Outcome::Fail, Basis::Hangs));
    let errors =
        StepFacts { mishaps: StepMishaps { medium_errors: 1, ..StepMishaps::default() }, ..at(16, KEEPS) };
    let found = answer(&[errors]);
    assert_eq!((found.outcome, found.basis), (Outcome::Fail, Basis::MediumErrors));
}

#[test]
fn a_step_that_the_user_ended_decides_nothing() {
    let ended = StepFacts {
        mishaps: StepMishaps { was_ended_early: true, ..StepMishaps::default() },
        ..at(16, MISSES)
    };
    let found = answer(&[ended]);
    assert_eq!((found.outcome, found.basis), (Outcome::Inconclusive, Basis::Open(Open::EndedEarly)));
}

#[test]
fn a_greater_load_that_misses_later_is_a_change_of_the_volume() {
    let mut steps = vec![at(16, KEEPS), at(64, MISSES)];
    assert_eq!(answer(&steps).missing, Some(Missing::Repeat(closed(16))));
    steps.push(at(16, KEEPS));
    assert_eq!(answer(&steps).outcome, Outcome::Pass, "any depth that keeps the promise keeps it");
    steps[2] = at(16, MISSES);
    assert_eq!(answer(&steps).missing, Some(Missing::Confirm));
    steps.push(at(SATURATING, MISSES));
    assert_eq!(answer(&steps).outcome, Outcome::Fail);
}
