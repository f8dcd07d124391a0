//! What held a volume back: experiments that each change one thing against the step that decides a promise.
//!
//! One file a cause: when its experiment cannot be done (`obstacle`), its next missing step (`next`), and how the result reads (`row`). All of
//! them are pure functions of the finished steps. An experiment drives the targets of the step that it follows, with the same pattern: where
//! that step only reads, so does the experiment. `shown` is what an experiment shows, `proven` what an exact counter says.

mod burst_credits;
mod cap;
mod cause_case;
mod cause_row;
mod cold_blocks;
mod completions_on_one_cpu;
mod control;
mod experiments;
mod kernel_settings;
mod limit_of_instance;
mod not_throttled;
mod other_users;
mod own_limits;
mod provider_page;
mod queue_full;
mod request_parts;
mod scheduler;
mod slow_volume;
mod sold_as;
mod thermal_throttle;
mod this_machine;
mod too_little_load;
mod trial;
mod volume_limit;
mod volume_or_instance;

use cause_case::CauseCase;
use experiments::EXPERIMENTS;
use volproof_base::unit::{Bytes, Nanos};
use volproof_plan::{CAUSE_BUDGET, Plan, Purpose, Step};
use volproof_record::{Cause, CauseTable, Record, Verdict};

/// The experiment step that a run does next: the one that takes least time; none where no cause is looked for, or the budget is spent.
pub fn next(record: &Record) -> Option<Step> {
    let case = CauseCase::new(record, record.verdict.as_ref()?).filter(|case| !case.is_faulty())?;
    if case.is_settled() {
        return None;
    }
    let open = EXPERIMENTS.iter().filter(|e| case.obstacle(e).is_none());
    let steps = open.filter_map(|e| (e.next)(&case)).filter(|step| case.has_time_for(step));
    let control = || case.next_control().filter(|step| case.has_time_for(step));
    steps.min_by_key(Step::whole_time).or_else(control)
}

/// The table of a Record: none where its run looked for no cause.
pub fn table(record: &Record, verdict: &Verdict) -> Option<CauseTable> {
    let case = CauseCase::new(record, verdict)?;
    Some(CauseTable {
        step: case.first.name.clone(),
        metric: case.claim.metric,
        budget_ns: case.budget(),
        rows: EXPERIMENTS.iter().filter(|e| case.can_tell(e.cause)).map(|e| case.row_of(e)).collect(),
    })
}

/// A limit that the volumes share held back the promise that is missed by most, and they are cleared of it.
pub(crate) fn clears_the_volumes(record: &Record, verdict: &Verdict) -> bool {
    CauseCase::new(record, verdict).is_some_and(|case| volume_or_instance::clears_the_volumes(&case))
}

/// What the experiments may take at most: time, and bytes written at the rate of forecasts.
pub fn at_most(plan: &Plan) -> (Nanos, Bytes) {
    let Some(follow_up) = &plan.follow_up else { return (Nanos(0), Bytes(0)) };
    let budget = follow_up.budget.unwrap_or(CAUSE_BUDGET);
    let writing = plan.steps.iter().filter(|s| s.rw.changes_data() && !plan.is_precondition(&s.name));
    let rate = writing.map(Step::forecast_rate).fold(0.0, f64::max);
    (budget, Bytes((rate * budget.as_seconds()) as u64))
}

/// The step of this purpose is no measurement: the run compares the kernel's settings in its place.
pub fn compares_settings(purpose: &Purpose) -> bool {
    matches!(purpose, Purpose::Cause { cause, .. } if *cause == Cause::KernelSettings.code())
}
