//! A step that a run adds to its plan: its name, and its place in the run.

use volproof_plan::{Follows, Purpose, Step};
use volproof_record::Record;

/// A step with its name and its place in the run.
pub(super) fn added(record: &Record, first: &Step, step: Step, purpose: Purpose, word: &str) -> Step {
    let plain = format!("{}-{word}", first.name);
    let (mut name, mut number) = (plain.clone(), 1);
    while record.plan.steps.iter().any(|s| s.name == name) {
        number += 1;
        name = format!("{plain}-{number}");
    }
    let follows = Some(Box::new(Follows { step: first.name.clone(), purpose }));
    Step { name, follows, ..step }
}
