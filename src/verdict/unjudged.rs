//! Why a step was held against no rate: whoever names a promise is told, and never left with an empty answer.

use super::claim::PromisedRates;
use crate::catalogue::promised_level::PromiseDirection;
use crate::diagnose::direction;
use crate::record::{Claimed, Conditions, Metric, Record, StepRecord, Untested};

/// Why the first step was held against no rate.
pub fn first(record: &Record, claimed: &Claimed) -> Untested {
    let reason = match record.steps.first() {
        None => "no step was measured".into(),
        Some(step) => format!("{}: {}", step.name, missing(claimed, &record.conditions(step), step)),
    };
    Untested { application: None, metric: Metric::Iops, reason, command: None }
}

/// The reason why there is no claim of its rate.
fn missing(claimed: &Claimed, conditions: &Conditions, step: &StepRecord) -> String {
    let Some(pattern) = conditions.pattern() else {
        return match step.directions().next() {
            Some(_) => "it is not known whether its I/Os were random or sequential".into(),
            None => "it is not known whether it read or wrote".into(),
        };
    };
    let Some(d) = direction(pattern) else { return format!("nothing is promised for {pattern}") };
    let Some(block) = conditions.single_block() else {
        return "its I/Os have several sizes, or their size is not known: the promise depends on the size"
            .into();
    };
    let Some(rates) = PromisedRates::of(claimed, block, d) else {
        return format!("no rate is promised at {block} a block");
    };
    let writes = claimed.promise.least(block, PromiseDirection::Write);
    if pattern.directions().len() > 1 && writes != Some(rates.least) {
        return "reads and writes are promised apart, which a mix does not test".into();
    }
    match step.directions().next() {
        None => "nothing completed".into(),
        Some(_) => "its rate or the time that it ran is not known".into(),
    }
}
