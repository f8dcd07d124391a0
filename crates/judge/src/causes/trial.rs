//! A measured step as a trial: its figures, and whether two of them differ.

use std::path::PathBuf;

use crate::facts::{interval_of, mean_latency, mean_rate};
use volproof_base::sample::PER_SECOND;
use volproof_base::stats::SAME_RATE;
use volproof_plan::Step;
use volproof_record::{CauseTrial, Record, StepRecord, StepTarget, bins};

/// A measured step as a trial.
pub(super) fn trial_of(record: &Record, plan: &Step, done: &StepRecord) -> CauseTrial {
    let latency_ns = mean_latency(done);
    let (ios, bytes) = (bins(done, false), bins(done, true));
    let (ios, bytes) = (once_filled(&ios, latency_ns), once_filled(&bytes, latency_ns));
    let named = record.plan.targets_of(plan);
    let all = named.len() == record.targets.len();
    let targets: Vec<PathBuf> = if all { Vec::new() } else { named.to_vec() };
    CauseTrial {
        step: done.name.clone(),
        depth: done.in_flight_asked.get().unwrap_or(done.in_flight_mean).round() as u64,
        workers: plan.workers(named.len().max(1)),
        block_bytes: plan.bs.largest(),
        targets,
        offered_per_second: done.open_loop.as_ref().map(|open| open.offered_per_second),
        rest_ns: plan.delay,
        ios_per_second: rate_between(ios),
        interval: interval_of(ios).map(|i| (i.low, i.high)),
        bytes_per_second: rate_between(bytes),
        latency_ns,
    }
}

/// The rate of counts of 100 ms from the first completions to the last: where a limiter lets a quota through once a second, fifteen seconds would
/// hold one more or one less by chance.
pub(super) fn rate_between(bins: &[u64]) -> f64 {
    let is_busy = |count: &u64| *count > 0;
    let Some((first, last)) = bins.iter().position(is_busy).zip(bins.iter().rposition(is_busy)) else {
        return 0.0;
    };
    if first == last { mean_rate(bins) } else { mean_rate(&bins[first + 1..=last]) }
}

/// The counts of 100 ms after the requests that filled the queue have come back, where ten seconds are left.
fn once_filled(bins: &[u64], latency_ns: f64) -> &[u64] {
    let filling = (latency_ns * PER_SECOND as f64 / 1e9).ceil() as usize;
    let left = bins.get(filling..).unwrap_or_default();
    if left.len() >= 10 * PER_SECOND as usize { left } else { bins }
}

/// A rate is above another one: by more than the same rate, and their intervals are apart.
pub(super) fn is_above(trial: &CauseTrial, other: &CauseTrial) -> bool {
    let apart = match (trial.interval, other.interval) {
        (Some((low, _)), Some((_, high))) => low > high,
        _ => false,
    };
    apart && trial.ios_per_second > (1.0 + SAME_RATE) * other.ios_per_second
}

/// Two figures are the same: within 3 %.
pub(super) fn is_same(a: f64, b: f64) -> bool {
    b > 0.0 && (a / b - 1.0).abs() <= SAME_RATE
}

/// The part of a step that one target has.
pub(super) fn part_of<'a>(step: &'a StepRecord, record: &Record, named: &PathBuf) -> Option<&'a StepTarget> {
    let target = record.targets.iter().find(|t| t.named == *named)?;
    step.targets.iter().find(|t| t.path == target.path && t.beside.is_empty())
}
