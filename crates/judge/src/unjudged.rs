//! Why a step was held against no rate. A user who names a promise gets this reason, and never an empty answer.

use super::promised_rates::PromisedRates;
use volproof_promise::catalogue::promised_level::PromiseDirection;
use volproof_record::{
    Conditions, JudgedPromise, Metric, Record, StepRecord, Untested, load_without_promise,
    promise_direction as direction,
};

/// Why the first step was held against no rate.
pub fn first(record: &Record, judged_promise: &JudgedPromise) -> Untested {
    let (reason, metric) = match record.steps.first() {
        None => ("no step was measured".into(), None),
        Some(step) => {
            let conditions = record.conditions(step);
            let reason = format!("{}: {}", step.name, reason(judged_promise, &conditions, step));
            (reason, nearest(judged_promise, &conditions))
        }
    };
    Untested { application: None, metric: metric.unwrap_or(Metric::Iops), reason, command: None }
}

/// The quantity that binds at the block size of the step, as for reads where it does not say whether it read or wrote.
fn nearest(judged_promise: &JudgedPromise, conditions: &Conditions) -> Option<Metric> {
    let d = conditions.pattern().and_then(direction).unwrap_or(PromiseDirection::Read);
    Some(PromisedRates::at_block(judged_promise, conditions.single_block()?, d)?.metric())
}

/// What is lacking of a pattern that a report does not say.
fn pattern_not_known(step: &StepRecord) -> &'static str {
    if step.read.is_some() || step.write.is_some() {
        "it is not known whether its I/Os were random or sequential"
    } else {
        "it is not known whether it read or wrote"
    }
}

/// Why a step has no claim of its rate.
pub fn reason(judged_promise: &JudgedPromise, conditions: &Conditions, step: &StepRecord) -> String {
    let Some(pattern) = conditions.pattern() else {
        return conditions.rw.as_ref().map_or_else(
            || pattern_not_known(step).into(),
            |word| format!("nothing is promised for {word}"),
        );
    };
    let Some(d) = direction(pattern) else { return format!("nothing is promised for {pattern}") };
    let Some(block) = conditions.single_block() else {
        return "its I/Os have several sizes, or their size is not known: the promise depends on the size"
            .into();
    };
    if PromisedRates::at_block(judged_promise, block, d).is_none() {
        return format!("no rate is promised at {block} a block");
    }
    if let Some(why) = load_without_promise(&judged_promise.promise, block, pattern) {
        return why.into();
    }
    if !step.moved() {
        "nothing completed".into()
    } else if step.reported.is_some() {
        "its rate or the time that it ran is not known".into()
    } else {
        "it is too short to judge".into()
    }
}
