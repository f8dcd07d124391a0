//! A measured step as a trial: its figures, and whether two of them differ.

use std::path::PathBuf;

use crate::facts::{interval_of, mean_latency, mean_rate};
use volproof_base::sample::PER_SECOND;
use volproof_base::stats::SAME_RATE;
use volproof_plan::Step;
use volproof_record::{CauseFinding, CauseTrial, Record, StepRecord, StepTarget, bins};

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
        ios_per_second: rate_of_quotas(ios),
        interval: interval_of(ios).map(|i| (i.low, i.high)),
        bytes_per_second: rate_of_quotas(bytes),
        latency_ns,
    }
}

/// The rate of counts of 100 ms. Where a limiter lets quotas through, fifteen seconds would hold one more or one less by chance: whole quotas
/// count, from the start of the first one to the start of the last one. Pauses in a small part of the time are no quotas.
pub(super) fn rate_of_quotas(bins: &[u64]) -> f64 {
    match quota_starts(bins)[..] {
        [first, .., last] if 2 * (last - first) >= bins.len() => mean_rate(&bins[first..last]),
        _ => mean_rate(bins),
    }
}

/// Where a quota begins: the first counts after a pause.
pub(super) fn quota_starts(bins: &[u64]) -> Vec<usize> {
    (1..bins.len()).filter(|bin| bins[*bin] > 0 && bins[bin - 1] == 0).collect()
}

/// The counts of 100 ms after the requests that filled the queue have come back, where ten seconds are left.
fn once_filled(bins: &[u64], latency_ns: f64) -> &[u64] {
    let filling = (latency_ns * PER_SECOND as f64 / 1e9).ceil() as usize;
    let left = bins.get(filling..).unwrap_or_default();
    if left.len() >= 10 * PER_SECOND as usize { left } else { bins }
}

/// The answer of a comparison of two trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TrialComparison {
    Yes,
    No,
    /// Their intervals allow both.
    Open,
}

impl TrialComparison {
    /// The answer of several comparisons: one of them is enough.
    pub(super) fn of_any(answers: &[TrialComparison]) -> TrialComparison {
        if answers.contains(&TrialComparison::Yes) {
            return TrialComparison::Yes;
        }
        if answers.contains(&TrialComparison::Open) { TrialComparison::Open } else { TrialComparison::No }
    }
}

impl From<TrialComparison> for CauseFinding {
    fn from(compared: TrialComparison) -> CauseFinding {
        match compared {
            TrialComparison::Yes => CauseFinding::Shown,
            TrialComparison::No => CauseFinding::Excluded,
            TrialComparison::Open => CauseFinding::NotDecided,
        }
    }
}

/// A rate is above another one: by more than the same rate, and their intervals are apart.
pub(super) fn is_above(trial: &CauseTrial, other: &CauseTrial) -> bool {
    above(trial, other) == TrialComparison::Yes
}

/// Whether a rate is above another one. Open where it is, and their intervals are not apart.
pub(super) fn above(trial: &CauseTrial, other: &CauseTrial) -> TrialComparison {
    if trial.ios_per_second <= (1.0 + SAME_RATE) * other.ios_per_second {
        return TrialComparison::No;
    }
    match (trial.interval, other.interval) {
        (Some((low, _)), Some((_, high))) if low > high => TrialComparison::Yes,
        _ => TrialComparison::Open,
    }
}

/// Whether two rates are the same: within 3 %. Open where they are not, and their intervals allow it.
pub(super) fn same(rate: fn(&CauseTrial) -> f64, a: &CauseTrial, b: &CauseTrial) -> TrialComparison {
    let ratio = rate(a) / rate(b);
    if (ratio - 1.0).abs() <= SAME_RATE {
        return TrialComparison::Yes;
    }
    let [(low_a, high_a), (low_b, high_b)] = [a, b].map(spread);
    let may_be_same = ratio * low_a / high_b <= 1.0 + SAME_RATE && ratio * high_a / low_b >= 1.0 - SAME_RATE;
    if may_be_same { TrialComparison::Open } else { TrialComparison::No }
}

/// The ends of the interval of a rate, as parts of that.
fn spread(trial: &CauseTrial) -> (f64, f64) {
    match trial.interval {
        Some((low, high)) if trial.ios_per_second > 0.0 => {
            (low / trial.ios_per_second, high / trial.ios_per_second)
        }
        _ => (1.0, 1.0),
    }
}

/// The part of a step that one target has.
pub(super) fn part_of<'a>(step: &'a StepRecord, record: &Record, named: &PathBuf) -> Option<&'a StepTarget> {
    let target = record.targets.iter().find(|t| t.named == *named)?;
    step.targets.iter().find(|t| t.path == target.path && t.beside.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of 100 ms where a quota comes each so many nanoseconds, `per_bin` of it in 100 ms.
    fn quotas(period_ms: usize, quota: u64, per_bin: u64, offset_ms: usize) -> Vec<u64> {
        let (mut counts, mut left, mut next) = (Vec::new(), 0, offset_ms);
        for bin in 0..150 {
            while next < 100 * (bin + 1) {
                left = quota;
                next += period_ms;
            }
            let done = left.min(per_bin);
            left -= done;
            counts.push(done);
        }
        counts
    }

    #[test]
    fn the_rate_of_quotas_depends_on_no_period_and_no_phase() {
        for period_ms in [200, 250, 500, 700, 1000, 1250, 1500, 2000, 2350, 3000, 3300, 4100, 5000] {
            for offset_ms in (0..period_ms).step_by(170) {
                for bins_per_quota in [1, 2, 5, 12] {
                    let quota = 24 * period_ms as u64 / 10;
                    if 100 * bins_per_quota > period_ms as u64 * 3 / 4 {
                        continue;
                    }
                    let counts = quotas(period_ms, quota, quota.div_ceil(bins_per_quota), offset_ms);
                    let rate = rate_of_quotas(&counts);
                    // A start is known to 100 ms, and the counts hold ten seconds of quotas at least.
                    let told = format!("{period_ms} ms + {offset_ms} ms, {bins_per_quota}: {rate}");
                    assert!((rate / 2400.0 - 1.0).abs() < 0.012, "{told}");
                }
            }
        }
    }

    #[test]
    fn overlapping_intervals_leave_a_difference_open() {
        let trial = |rate: f64, spread: f64| CauseTrial {
            ios_per_second: rate,
            interval: Some((rate * (1.0 - spread), rate * (1.0 + spread))),
            ..CauseTrial::default()
        };
        let rate = |t: &CauseTrial| t.ios_per_second;
        for (b, spread, is_same, is_above) in [
            (100.0, 0.01, TrialComparison::Yes, TrialComparison::No),
            (102.0, 0.0, TrialComparison::Yes, TrialComparison::No),
            (110.0, 0.01, TrialComparison::No, TrialComparison::Yes),
            (110.0, 0.06, TrialComparison::Open, TrialComparison::Open),
            (150.0, 0.06, TrialComparison::No, TrialComparison::Yes),
        ] {
            let (a, b) = (trial(100.0, spread), trial(b, spread));
            assert_eq!((same(rate, &a, &b), same(rate, &b, &a)), (is_same, is_same), "{b:?}");
            assert_eq!((above(&b, &a), above(&a, &b)), (is_above, TrialComparison::No), "{b:?}");
        }
    }
}
