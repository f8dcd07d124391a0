//! The control of all experiments: the load that decides, once more after them.
//!
//! A trial that differs from the load before it shows its cause only where that load, come again, differs from it too: else the volume changed
//! meanwhile. It lasts a minute, so that credits of a rest are used up at its end, and is left out where no trial needs it.

use super::{CauseCase, Change, burst_credits, cap, this_machine, volume_or_instance};
use crate::plan::Step;
use crate::record::{CauseTrial, StepRecord};
use crate::unit::Nanos;

/// Its name in plans and Records, in the place of a cause.
const CODE: &str = "control";
/// How long it takes.
const MINUTE: Nanos = Nanos::seconds(60);

/// The missing control.
pub(super) fn next(case: &CauseCase<'_>) -> Option<Step> {
    let load = Step { runtime: MINUTE, ..case.short_load() };
    is_missing(case).then(|| case.step_named(CODE, Change::Again, load))
}

/// A trial needs the control, and no step of the plan is one.
fn is_missing(case: &CauseCase<'_>) -> bool {
    case.tried_as(CODE, Change::Again).is_none() && is_needed(case)
}

fn is_needed(case: &CauseCase<'_>) -> bool {
    this_machine::needs_control(case)
        || volume_or_instance::needs_control(case)
        || burst_credits::needs_control(case)
        || cap::needs_control(case)
}

/// The measured control.
pub(super) fn done<'a>(case: &CauseCase<'a>) -> Option<&'a StepRecord> {
    case.tried_as(CODE, Change::Again)?.done
}

/// Its figures.
pub(super) fn trial(case: &CauseCase<'_>) -> Option<CauseTrial> {
    let tried = case.tried_as(CODE, Change::Again)?;
    Some(super::trial_of(case.record, tried.plan, tried.done?))
}
