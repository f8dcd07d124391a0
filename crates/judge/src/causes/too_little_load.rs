//! `too-little-load`: more requests in flight give a higher rate.
//!
//! **Experiment:** the load at the saturating depth: that of the confirming step.
//!
//! **Shown** where the rate grows and keeps the promise. Where the promise is missed there too, load is not what is missing.

use super::cause_case::CauseCase;
use super::cause_row::found;
use super::trial::{is_above, trial_of};
use volproof_record::{BasisCode, Cause, CauseRow, CauseTrial, ClaimStep, NotTried, Outcome};

pub(super) fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    if case.is_of_latency() {
        return Some(NotTried::OneAtATime);
    }
    (case.claim.outcome == Outcome::Invalid).then_some(NotTried::NotValid)
}

/// The confirming step of the promise is the experiment. Where it misses too, the load is not what is missing.
pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let (first, last) = (case.claim.evidence.first()?, case.claim.deciding_step()?);
    let trials: Vec<CauseTrial> = if first.step == last.step {
        vec![case.base_trial()]
    } else {
        [first, last].into_iter().filter_map(|step| trial(case, step)).collect()
    };
    let is_shown = trials.len() > 1 && trials[1].depth > trials[0].depth && is_above(&trials[1], &trials[0]);
    // A miss at the deepest load that is possible, which half of it equals, needs no deeper one.
    let is_refuted = last.saturating || case.claim.basis == BasisCode::Missed;
    let is_tried = is_shown || is_refuted || !case.claim.misses_limit();
    is_tried
        .then(|| found(Cause::TooLittleLoad, is_shown && case.claim.outcome != Outcome::Fail, trials, None))
}

fn trial(case: &CauseCase<'_>, step: &ClaimStep) -> Option<CauseTrial> {
    let done = case.record.steps.iter().find(|s| s.name == step.step)?;
    Some(trial_of(case.record, case.record.plan_step(&step.step)?, done))
}
