//! Doubts because of which the figures of a step say nothing about the volume.

use crate::doubt::DoubtCode;
use crate::record::{Record, StepRecord};

/// Whether a blocker can only slow a run down.
pub(super) fn only_slows(code: &str) -> bool {
    DoubtCode::from(code).only_slows() || code == "too-few-instances"
}

/// Code, message and advice of every doubt that voids a step: those that can only slow a run down last, since the others explain more.
pub(super) fn of_figures<'a>(
    record: &'a Record,
    step: &'a StepRecord,
) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
    let doubts = record.doubts.iter().filter(|w| w.voids(&step.name));
    let mut all: Vec<_> = doubts.map(|w| (w.code.as_str(), w.message.as_str(), w.advice.as_str())).collect();
    all.sort_by_key(|(code, ..)| only_slows(code));
    all.into_iter()
}

/// A blocker as the reason of a claim.
pub(super) fn reason(message: &str, advice: &str) -> String {
    format!("{}; {advice}", message.trim_end_matches('.'))
}
