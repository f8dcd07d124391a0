//! The command of volproof that decides what a report leaves open.

use crate::PromisedRates;
use crate::thresholds::USUAL_DEPTH;
use volproof_base::shell_word::shell;
use volproof_base::unit::Bytes;
use volproof_plan::Pattern;
use volproof_record::promise_direction as direction;
use volproof_record::{Conditions, JudgedPromise};

/// Requests in flight below this show a latency and no rate.
const SHALLOW: u64 = 4;

/// The load of the report again, with direct I/O and with the promise, if any. None where the load is not known, or drove no device.
pub fn for_rate(c: &Conditions, promise: &[String]) -> Option<String> {
    c.pattern().filter(|_| !c.is_null())?;
    let has_several_sizes = c.block.get().is_some_and(|(least, most)| least != most);
    if has_several_sizes && promise.is_empty() {
        // One size would be another load, and a report does not tell the share of each.
        return None;
    }
    let step = c.step();
    let deep = c.in_flight().is_some_and(|n| n >= SHALLOW);
    let (depth, jobs) = if deep { (step.iodepth, step.numjobs) } else { (USUAL_DEPTH, 1) };
    let mut words = load(c, step.rw, block(c));
    words.push(format!("--iodepth {depth}"));
    if jobs > 1 {
        words.push(format!("--numjobs {jobs}"));
    }
    // A promise of a rate is one without flushes.
    let flushes = c.fsync.get().filter(|every| *every > 0 && promise.is_empty() && step.rw.changes_data());
    words.extend(flushes.map(|every| format!("--fsync {every}")));
    // A promise is tried with as much as the volume takes.
    let rate = c.offered().filter(|rate| promise.is_empty() && *rate >= 1.0);
    words.extend(rate.map(|rate| format!("--rate-iops {rate:.0}")));
    Some(finish(words, promise))
}

/// One request at a time, offered at most half of the promised rate, so that no limit of a rate takes part.
pub(super) fn for_latency(c: &Conditions, promise: &JudgedPromise) -> String {
    let (rw, block) = (c.step().rw, block(c));
    let rates = direction(rw).and_then(|d| PromisedRates::at_block(promise, block, d));
    let mut words = load(c, rw, block);
    words.push("--iodepth 1".into());
    words.extend(rates.map(|rates| format!("--rate-iops {:.0}", (rates.least.iops / 2.0).floor().max(1.0))));
    finish(words, &promise.options)
}

fn load(c: &Conditions, rw: Pattern, block: Bytes) -> Vec<String> {
    let targets: Vec<String> =
        c.targets.as_ref().iter().flat_map(|all| all.iter()).map(|t| shell(&t.to_string_lossy())).collect();
    // No command overwrites what the report's own target holds.
    let named = !targets.is_empty() && !c.on_windows() && !rw.changes_data();
    let target = if named { targets.join(" ") } else { "TARGET".into() };
    let mut words =
        vec![format!("volproof run {target}"), format!("--rw {rw}"), format!("--bs {}", block.exact())];
    let mixed = c.reads_percent.get().filter(|_| rw.directions().len() > 1);
    words.extend(mixed.map(|percent| format!("--rwmix {percent}")));
    words
}

/// The block of the report. Direct I/O is of whole sectors.
fn block(c: &Conditions) -> Bytes {
    c.single_block().filter(|b| b.0 > 0 && b.0.is_multiple_of(512)).unwrap_or(Bytes::kib(4))
}

fn finish(mut words: Vec<String>, promise: &[String]) -> String {
    words.push("--runtime 300s --ramp 10s".into());
    words.extend(promise.iter().map(|word| shell(word)));
    words.join(" ")
}
