//! Too little load: more requests in flight give a higher rate.

use super::{CauseCase, Experiment, found, no_step, trial_of};
use crate::record::{BasisCode, Cause, CauseRow, CauseTrial, ClaimStep, NotTried, Outcome};

pub(super) const EXPERIMENT: Experiment =
    Experiment { cause: Cause::TooLittleLoad, obstacle, next: no_step, row };

fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    case.is_of_latency().then_some(NotTried::OneAtATime)
}

/// The confirming step of the promise is the experiment.
fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let (first, last) = (case.claim.evidence.first()?, case.claim.deciding_step()?);
    let trials: Vec<CauseTrial> = if first.step == last.step {
        vec![case.base_trial()]
    } else {
        [first, last].into_iter().filter_map(|step| trial(case, step)).collect()
    };
    match case.claim.basis {
        BasisCode::KeptWithMoreLoad => Some(found(Cause::TooLittleLoad, true, trials, None)),
        _ if case.claim.outcome == Outcome::Pass || last.saturating => {
            Some(found(Cause::TooLittleLoad, false, trials, None))
        }
        _ => None,
    }
}

fn trial(case: &CauseCase<'_>, step: &ClaimStep) -> Option<CauseTrial> {
    let done = case.record.steps.iter().find(|s| s.name == step.step)?;
    Some(trial_of(case.record, case.record.plan_step(&step.step)?, done))
}
