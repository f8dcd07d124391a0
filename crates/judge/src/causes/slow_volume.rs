//! `slow-volume`: each I/O takes long, even when it is alone.
//!
//! **Experiment:** one request at a time, offered below the limit; where that takes longer than usual (what is promised, else 2 ms, or 20 ms of a hard disk),
//! depths of 1, 4, 16 and 64.
//!
//! **Shown** where the rate grows in proportion from one in flight to four, and as many I/Os at a time of the usual latency would keep the promise.
//! Else something else limits the load that decides.

use super::cause_case::{CauseCase, Change, TRIAL};
use super::cause_row::found;
use crate::latency::latency_promised;
use crate::saturating_depth::at_depth;
use crate::thresholds::{BELOW_A_LIMIT, LOADS_APART};
use volproof_base::unit::{Bytes, Nanos};
use volproof_plan::Step;
use volproof_record::{Cause, CauseEvidence, CauseRow, CauseTrial, NotTried};

/// A small I/O of an SSD or of a network volume takes no longer, where its provider promises no latency. One of a hard disk takes a turn or
/// two.
const USUAL: Nanos = Nanos::millis(2);
const USUAL_OF_HARD_DISKS: Nanos = Nanos::millis(20);
/// A throughput that adds little to the time of a larger block.
const TRANSFER: Bytes = Bytes::mib(100);
/// Rates grow in proportion to the load from this share on: latencies vary by a tenth.
const IN_PROPORTION: f64 = 0.9;

pub(super) fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    case.load.single_block().is_none().then_some(NotTried::NoOtherSize)
}

pub(super) fn next(case: &CauseCase<'_>) -> Option<Step> {
    if case.is_of_latency() {
        return None;
    }
    let targets = case.targets();
    if !case.was_begun(Cause::SlowVolume, Change::Offered) {
        let one_at_a_time = 1e9 / usual(case);
        let rate = BELOW_A_LIMIT * one_at_a_time.min(case.base_trial().ios_per_second / targets as f64);
        let one = Step {
            runtime: TRIAL,
            rate_iops: Some(rate.floor().max(1.0)),
            ..at_depth(case.load, targets, 1)
        };
        return Some(case.step(Cause::SlowVolume, Change::Offered, Step { numjobs: 1, iodepth: 1, ..one }));
    }
    if !is_slow_alone(case)? {
        return None;
    }
    let is_open = |depth: &u64| !case.was_begun(Cause::SlowVolume, Change::Depth(*depth));
    let depth = depths().into_iter().find(is_open)?;
    let load = Step { numjobs: 1, ..case.short_load() };
    let load = Step { runtime: TRIAL, ..at_depth(&load, targets, depth * targets as u64) };
    Some(case.step(Cause::SlowVolume, Change::Depth(depth), load))
}

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    let (latency_ns, usual_ns) = (own_latency(case)?, usual(case));
    let evidence = Some(CauseEvidence::OwnLatency { latency_ns, usual_ns });
    if latency_ns <= usual_ns || case.is_of_latency() {
        return Some(found(Cause::SlowVolume, latency_ns > usual_ns, Vec::new(), evidence));
    }
    let trial = |depth| case.trial(Cause::SlowVolume, Change::Depth(depth));
    let trials: Vec<CauseTrial> = depths().into_iter().map(trial).collect::<Option<_>>()?;
    let in_proportion = IN_PROPORTION * LOADS_APART as f64 * trials[0].ios_per_second;
    let grows = trials[1].ios_per_second >= in_proportion;
    // As many I/Os at a time, each of the usual latency.
    let would_be = case.claim.measured * latency_ns / usual_ns;
    Some(found(Cause::SlowVolume, grows && would_be >= case.claim.limit, trials, evidence))
}

/// 1, 4, 16 and 64 in flight for each target.
fn depths() -> [u64; 4] {
    [0, 1, 2, 3].map(|power| LOADS_APART.pow(power))
}

/// The mean latency of one request at a time, offered below the limit; of a latency that is promised its own step tells it.
pub(super) fn own_latency(case: &CauseCase<'_>) -> Option<f64> {
    if case.is_of_latency() {
        return Some(case.base_trial().latency_ns);
    }
    case.trial(Cause::SlowVolume, Change::Offered).map(|trial| trial.latency_ns)
}

fn is_slow_alone(case: &CauseCase<'_>) -> Option<bool> {
    own_latency(case).map(|latency| latency > usual(case))
}

/// What an I/O of this kind of volume takes at most in the mean, in nanoseconds.
pub(super) fn usual(case: &CauseCase<'_>) -> f64 {
    let volumes = &case.judged_promise.promise.volumes;
    let on_disks = volumes.iter().any(|v| v.media.as_deref() == Some("hdd"));
    let of_kind = if on_disks { USUAL_OF_HARD_DISKS } else { USUAL };
    let promised = latency_promised(case.judged_promise).unwrap_or(of_kind);
    let block = case.load.bs.largest().0.saturating_sub(Bytes::kib(16).0);
    promised.0 as f64 + block as f64 / TRANSFER.0 as f64 * 1e9
}
