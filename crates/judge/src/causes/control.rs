//! The control of all experiments: the load that decides, once more after them.
//!
//! A trial that differs from the load before it shows its cause only where that load, come again, differs from it too: else the volume changed
//! meanwhile. It lasts a minute, so that credits of a rest are used up at its end, and is left out where no trial needs it.

use super::cause_case::{CauseCase, Change, Tried};
use volproof_base::stats::LEAST_QUOTABLE;
use volproof_plan::Step;
use volproof_record::{CauseTrial, StepRecord};

/// Its name in plans and Records, in the place of a cause.
const CODE: &str = "control";

/// The missing control.
pub(super) fn next(case: &CauseCase<'_>) -> Option<Step> {
    let load = Step { runtime: LEAST_QUOTABLE, ..case.short_load() };
    (tried(case).is_none() && !case.is_shared).then(|| case.step_named(CODE, Change::Again, load))
}

fn tried<'c, 'a>(case: &'c CauseCase<'a>) -> Option<&'c Tried<'a>> {
    case.tried_as(CODE, Change::Again)
}

/// The measured control.
pub(super) fn done<'a>(case: &CauseCase<'a>) -> Option<&'a StepRecord> {
    tried(case)?.done
}

/// Its figures.
pub(super) fn trial(case: &CauseCase<'_>) -> Option<CauseTrial> {
    tried(case)?.figures(case.record)
}
