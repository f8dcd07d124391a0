//! `burst-credits`: the credits of a burst are used up.
//!
//! **Experiment:** 30 s of rest, in which credits come back, and then the load.
//!
//! **Shown** where the rate of the second to the fourth second is 10 % higher than the one that decides, and above its interval.

use super::{CauseCase, Change, TENTH, found};
use crate::judge::facts::mean_rate;
use crate::plan::Step;
use crate::record::{Cause, CauseEvidence, CauseRow, NotTried, bins};
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
    if case.was_begun(Cause::BurstCredits, Change::Rest) {
        return None;
    }
    let load = Step { delay: REST, ramp: Nanos(0), ..case.short_load() };
    Some(case.step(Cause::BurstCredits, Change::Rest, load))
}

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let counts = bins(case.done(Cause::BurstCredits, Change::Rest)?, false);
    let second = PER_SECOND as usize;
    let first = counts.get(FIRST.start * second..FIRST.end * second)?;
    let (base, first_per_second) = (case.base_trial(), mean_rate(first));
    // A rate that varies as much by itself shows no credits.
    let varies = base.interval.is_some_and(|(_, high)| first_per_second <= high);
    let is_shown = first_per_second > (1.0 + TENTH) * base.ios_per_second && !varies;
    let trials = vec![base, case.trial(Cause::BurstCredits, Change::Rest)?];
    Some(found(Cause::BurstCredits, is_shown, trials, Some(CauseEvidence::AfterRest { first_per_second })))
}
