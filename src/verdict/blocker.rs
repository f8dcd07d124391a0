//! Doubts and findings because of which the figures of a step say nothing of the volume.

use crate::doubt::{Doubt, Severity};
use crate::record::{Diagnosis, Record, StepRecord};

/// Blockers that can only slow a run down.
pub(super) const ONLY_SLOWS: [&str; 9] = [
    "headroom",
    "generator-limited",
    "own-cgroup-limit",
    "cpu-steal",
    "cpu-quota",
    "depth-not-reached",
    "shared-disk",
    "ran-together",
    "too-few-instances",
];

/// Code, message and advice of every blocker of a step: findings before doubts, and those that can only slow a run down last. That the target
/// is no volume explains more than how busy the machine was.
pub(super) fn of_figures<'a>(
    record: &'a Record,
    step: &'a StepRecord,
    diagnosis: &'a Diagnosis,
) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
    let of_step =
        |w: &&Doubt| w.severity == Severity::Blocker && w.step.as_ref().is_none_or(|s| *s == step.name);
    let doubts = record.warnings.iter().filter(of_step);
    let doubts = doubts.map(|w| (w.code.as_str(), w.message.as_str(), w.advice.as_str()));
    let findings = diagnosis.findings.iter().filter(|f| f.blocks);
    let findings = findings.map(|f| (f.code.as_str(), f.headline.as_str(), f.advice.as_str()));
    let mut all: Vec<_> = findings.chain(doubts).collect();
    all.sort_by_key(|(code, ..)| ONLY_SLOWS.contains(code));
    all.into_iter()
}

/// A blocker as the reason of a claim.
pub(super) fn reason(message: &str, advice: &str) -> String {
    format!("{}; {advice}", message.trim_end_matches('.'))
}
