//! How long a step must be measured for a verdict that its own length left open.

use super::facts::dead_share;
use super::judge_steps;
use super::outcome::MOST_DEAD;
use crate::doubt::Doubt;
use crate::record::{Claim, Record, StepRecord};
use crate::unit::Nanos;

/// How long a step should be measured instead, when its verdict is not decided and `most` allows for more; none where a stall is in it.
///
/// The step is measured anew and not prolonged until it decides: looking at a growing sample again and again until it shows
/// something makes it show something (docs/method.md, "Verdict").
pub fn runtime_to_decide(record: &Record, done: &StepRecord, doubts: &[Doubt], most: Nanos) -> Option<Nanos> {
    let step = record.plan_step(&done.name)?;
    record.judged_promise.as_ref()?;
    let mut with = record.clone();
    let first = with.steps.len();
    with.steps.push(done.clone());
    with.doubts.extend(doubts.iter().cloned());
    judge_steps(&mut with, first);
    let claims = with.verdict?.claims;
    // A step with a stall in it stays in the Record: measured anew, it would be forgotten.
    if dead_share(done) > MOST_DEAD {
        return None;
    }
    let more = claims.iter().filter(|c| decides(c, &done.name)).filter_map(|c| c.more_seconds).max()?;
    // An estimate from a short run is rough: a step that is measured again is at least half as long again.
    let wanted =
        done.window_ns.0.saturating_add(Nanos::seconds(more).0).max(done.window_ns.0 / 2 * 3).min(most.0);
    (wanted > step.runtime.0 && !step.ends_by_amount())
        .then(|| Nanos::seconds(wanted.div_ceil(1_000_000_000)))
}

/// The step is the one on which a claim rests.
fn decides(claim: &Claim, step: &str) -> bool {
    claim.deciding_step().map_or(claim.step.as_str(), |s| s.step.as_str()) == step
}
