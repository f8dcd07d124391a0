//! `burst-credits`: the credits of a burst are used up.
//!
//! **Experiment:** 30 s of rest, in which credits come back, and then the load.
//!
//! **Shown** where the rate of three seconds after the first one (of whole quotas, where a limiter lets those through) is 10 % higher than before and
//! at the end of the control, and above those intervals; open where it is higher and within one of them.

use super::cause_case::{CauseCase, Change};
use super::cause_row::answered;
use super::control;
use super::trial::{TrialComparison, quota_starts, rate_of_quotas};
use crate::facts::{interval_of, mean_rate};
use crate::thresholds::LEAST_BURST;
use volproof_base::sample::PER_SECOND;
use volproof_base::unit::Nanos;
use volproof_plan::Step;
use volproof_record::{Cause, CauseEvidence, CauseRow, NotTried, bins};

/// A volume earns its baseline in credits meanwhile: those of 30 s last at three times the baseline for 15 s.
const REST: Nanos = Nanos::seconds(30);
/// Limiters without credits pass what they saved within the first second, which is not looked at.
const SAVED: usize = PER_SECOND as usize;
/// Counts of 100 ms whose rate is looked at, at least.
const FIRST: usize = 3 * PER_SECOND as usize;
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
    let before = against_before(case, first_per_second);
    let control = control::done(case).filter(|_| before == TrialComparison::Yes);
    let compared = match control {
        Some(step) => against(first_per_second, end_of(&bins(step, false))),
        None if before == TrialComparison::Yes => return None,
        None => before,
    };
    let after = control::trial(case).filter(|_| control.is_some());
    let rest = case.trial(Cause::BurstCredits, Change::Rest);
    let trials = [Some(case.base_trial()), rest, after].into_iter().flatten().collect();
    let evidence = CauseEvidence::AfterRest { first_per_second };
    Some(answered(Cause::BurstCredits, compared, trials, Some(evidence)))
}

/// The first seconds after the rest were faster than the load before it.
pub(super) fn needs_control(case: &CauseCase<'_>) -> bool {
    let first_per_second = after_rest(case);
    first_per_second.is_some_and(|first| against_before(case, first) == TrialComparison::Yes)
}

/// The rate of the first seconds after the rest.
fn after_rest(case: &CauseCase<'_>) -> Option<f64> {
    let counts = bins(case.done(Cause::BurstCredits, Change::Rest)?, false);
    let counts = counts.get(SAVED..).filter(|counts| counts.len() >= FIRST)?;
    let starts = quota_starts(counts);
    let first = starts.first().copied().unwrap_or_default();
    let last = starts.into_iter().find(|start| *start >= first + FIRST);
    Some(mean_rate(last.map_or(&counts[..FIRST], |last| &counts[first..last])))
}

fn against_before(case: &CauseCase<'_>, first_per_second: f64) -> TrialComparison {
    let base = case.base_trial();
    let varies_to = base.interval.map_or(f64::INFINITY, |(_, high)| high);
    against(first_per_second, (base.ios_per_second, varies_to))
}

/// The rate of the last ten seconds, when credits of the rest are used up, and how high it varies by itself.
fn end_of(counts: &[u64]) -> (f64, f64) {
    let end = &counts[counts.len().saturating_sub(END * PER_SECOND as usize)..];
    (rate_of_quotas(end), interval_of(end).map_or(f64::INFINITY, |interval| interval.high))
}

/// The first seconds after the rest are faster than a rate, beyond what that varies by itself.
fn against(first_per_second: f64, (rate, varies_to): (f64, f64)) -> TrialComparison {
    if first_per_second <= (1.0 + LEAST_BURST) * rate {
        return TrialComparison::No;
    }
    if first_per_second > varies_to { TrialComparison::Yes } else { TrialComparison::Open }
}
