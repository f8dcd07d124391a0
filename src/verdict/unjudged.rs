//! Why a step was held against no rate: whoever names a promise is told, and never left with an empty answer.

use super::claim::{Judge, PromisedRates};
use crate::catalogue::promised_level::PromiseDirection;
use crate::diagnose::direction;
use crate::record::{Claimed, Diagnosis, Metric, Record, Untested};

/// Why the first step was held against no rate. `found` are the diagnoses of the steps.
pub fn first(record: &Record, claimed: &Claimed, found: &[Diagnosis]) -> Untested {
    let reason = match record.steps.iter().zip(found).next() {
        None => "no step was measured".into(),
        Some((step, diagnosis)) => {
            let conditions = record.conditions(step);
            let judge = Judge { record, claimed, conditions: &conditions, step, diagnosis, beside: None };
            format!("{}: {}", step.name, judge.missing())
        }
    };
    Untested { application: None, metric: Metric::Iops, reason, command: None }
}

impl Judge<'_> {
    /// The reason why [`Judge::rate`] has no claim.
    fn missing(&self) -> String {
        let Some(pattern) = self.conditions.pattern() else {
            return match self.step.directions().next() {
                Some(_) => "it is not known whether its I/Os were random or sequential".into(),
                None => "it is not known whether it read or wrote".into(),
            };
        };
        let Some(d) = direction(pattern) else { return format!("nothing is promised for {pattern}") };
        let Some(block) = self.conditions.single_block() else {
            return "its I/Os have several sizes, or their size is not known: the promise depends on the size".into();
        };
        let Some(rates) = PromisedRates::of(self.claimed, block, d) else {
            return format!("no rate is promised at {block} a block");
        };
        let writes = self.claimed.promise.least(block, PromiseDirection::Write);
        if pattern.directions().len() > 1 && writes != Some(rates.least) {
            return "reads and writes are promised apart, which a mix does not test".into();
        }
        match self.step.directions().next() {
            None => "nothing completed".into(),
            Some(_) => "its rate or the time that it ran is not known".into(),
        }
    }
}
