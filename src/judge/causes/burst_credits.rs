//! `burst-credits`: the credits of a burst are used up.
//!
//! **Experiment:** 30 s of rest, in which credits come back, and then the load. Where that is faster, the load once more without a rest.
//!
//! **Shown** where the rate of the second to the fourth second is 10 % higher than those before and after it, and above their intervals.

use super::{CauseCase, Change, TENTH, found};
use crate::judge::facts::mean_rate;
use crate::plan::Step;
use crate::record::{Cause, CauseEvidence, CauseRow, CauseTrial, NotTried, bins};
use crate::sample::PER_SECOND;
use crate::unit::Nanos;

/// A volume earns its baseline in credits meanwhile: those of 30 s last at three times the baseline for 15 s.
const REST: Nanos = Nanos::seconds(30);
/// The seconds of the load whose rate is looked at. Limiters without credits pass what they saved within the first second.
const FIRST: std::ops::Range<usize> = 1..4;

pub(super) fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    case.is_of_latency().then_some(NotTried::OneAtATime)
}

pub(super) fn next(case: &CauseCase<'_>) -> Option<Step> {
    if let Some(first_per_second) = after_rest(case) {
        return if is_faster(first_per_second, &case.base_trial()) {
            case.again(Cause::BurstCredits)
        } else {
            None
        };
    }
    if case.was_begun(Cause::BurstCredits, Change::Rest) {
        return None;
    }
    let load = Step { delay: REST, ramp: Nanos(0), ..case.short_load() };
    Some(case.step(Cause::BurstCredits, Change::Rest, load))
}

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let first_per_second = after_rest(case)?;
    let again = case.trial(Cause::BurstCredits, Change::Again);
    let mut trials = vec![case.base_trial(), case.trial(Cause::BurstCredits, Change::Rest)?];
    if is_faster(first_per_second, &trials[0]) && again.is_none() {
        return None;
    }
    let others = || trials.iter().take(1).chain(&again);
    let is_shown = others().all(|trial| is_faster(first_per_second, trial));
    trials.extend(again);
    Some(found(Cause::BurstCredits, is_shown, trials, Some(CauseEvidence::AfterRest { first_per_second })))
}

/// The rate of the first seconds after the rest.
fn after_rest(case: &CauseCase<'_>) -> Option<f64> {
    let counts = bins(case.done(Cause::BurstCredits, Change::Rest)?, false);
    let second = PER_SECOND as usize;
    Some(mean_rate(counts.get(FIRST.start * second..FIRST.end * second)?))
}

/// The first seconds after the rest are faster than another trial, beyond what that varies by itself.
fn is_faster(first_per_second: f64, other: &CauseTrial) -> bool {
    let varies = other.interval.is_none_or(|(_, high)| first_per_second <= high);
    first_per_second > (1.0 + TENTH) * other.ios_per_second && !varies
}
