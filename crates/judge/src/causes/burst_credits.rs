//! `burst-credits`: the credits of a burst are used up.
//!
//! **Experiment:** 30 s of rest, in which credits come back, and then the load.
//!
//! **Shown** where the rate of the second to the fourth second is 10 % higher than before and at the end of the control, and above those intervals.

use super::cause_case::{CauseCase, Change};
use super::cause_row::found;
use super::control;
use crate::facts::{interval_of, mean_rate};
use crate::thresholds::LEAST_BURST;
use volproof_base::sample::PER_SECOND;
use volproof_base::unit::Nanos;
use volproof_plan::Step;
use volproof_record::{Cause, CauseEvidence, CauseRow, NotTried, bins};

/// A volume earns its baseline in credits meanwhile: those of 30 s last at three times the baseline for 15 s.
const REST: Nanos = Nanos::seconds(30);
/// The seconds of the load whose rate is looked at. Limiters without credits pass what they saved within the first second.
const FIRST: std::ops::Range<usize> = 1..4;
/// The seconds at the end of the control whose rate is looked at.
const END: usize = 10;

pub(super) fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    case.is_of_latency().then_some(NotTried::OneAtATime)
}

pub(super) fn next(case: &CauseCase<'_>) -> Option<Step> {
    if case.was_begun(Cause::BurstCredits, Change::Rest) {
        return None;
    }
    let load = Step { delay: REST, ramp: Nanos(0), ..case.short_load() };
    Some(case.step(Cause::BurstCredits, Change::Rest, load))
}

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let first_per_second = after_rest(case)?;
    let may_be_shown = is_faster_than_before(case, first_per_second);
    let control = control::done(case).filter(|_| may_be_shown);
    if may_be_shown && control.is_none() {
        return None;
    }
    let falls = control.is_some_and(|step| is_faster(first_per_second, end_of(&bins(step, false))));
    let after = control::trial(case).filter(|_| may_be_shown);
    let rest = case.trial(Cause::BurstCredits, Change::Rest);
    let trials = [Some(case.base_trial()), rest, after].into_iter().flatten().collect();
    let evidence = CauseEvidence::AfterRest { first_per_second };
    Some(found(Cause::BurstCredits, may_be_shown && falls, trials, Some(evidence)))
}

/// The first seconds after the rest were faster than the load before it.
pub(super) fn needs_control(case: &CauseCase<'_>) -> bool {
    after_rest(case).is_some_and(|first_per_second| is_faster_than_before(case, first_per_second))
}

/// The rate of the first seconds after the rest.
fn after_rest(case: &CauseCase<'_>) -> Option<f64> {
    let counts = bins(case.done(Cause::BurstCredits, Change::Rest)?, false);
    let second = PER_SECOND as usize;
    Some(mean_rate(counts.get(FIRST.start * second..FIRST.end * second)?))
}

fn is_faster_than_before(case: &CauseCase<'_>, first_per_second: f64) -> bool {
    let base = case.base_trial();
    let varies_to = base.interval.map_or(f64::INFINITY, |(_, high)| high);
    is_faster(first_per_second, (base.ios_per_second, varies_to))
}

/// The rate of the last ten seconds, when credits of the rest are used up, and how high it varies by itself.
fn end_of(counts: &[u64]) -> (f64, f64) {
    let end = &counts[counts.len().saturating_sub(END * PER_SECOND as usize)..];
    (mean_rate(end), interval_of(end).map_or(f64::INFINITY, |interval| interval.high))
}

/// The first seconds after the rest are faster than a rate, beyond what that varies by itself.
fn is_faster(first_per_second: f64, (rate, varies_to): (f64, f64)) -> bool {
    first_per_second > (1.0 + LEAST_BURST) * rate && first_per_second > varies_to
}
