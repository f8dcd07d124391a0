//! A point of a course over all its runs: rate with interval, latencies, doubts.

use super::FinishedStep;
use super::finished::{longest, percentile};
use volproof_base::hist::Histogram;
use volproof_base::stats::moments::{mean, student, variance};
use volproof_base::stats::spread::quantile;
use volproof_base::unit::Bytes;
use volproof_plan::AxisOption;
use volproof_record::SweepPoint;

/// The rate at a point and its error, from all its runs: the greater of the error within runs and that between them.
fn pooled_rate(runs: &[&FinishedStep]) -> (f64, Option<f64>) {
    let rates: Vec<f64> = runs.iter().map(|f| f.iops).collect();
    let n = rates.len() as f64;
    let errors: Option<Vec<f64>> = runs.iter().map(|f| f.error).collect();
    let within = errors.map(|e| e.iter().map(|e| e * e).sum::<f64>().sqrt() / n);
    let between = (rates.len() > 1).then(|| (variance(&rates) / n).sqrt());
    let half = match (within, between) {
        (Some(within), Some(between)) if between > within => Some(between * student(0.975, n - 1.0)),
        (Some(within), _) => Some(within * quantile(0.975)),
        (None, Some(between)) if rates.len() > 2 => Some(between * student(0.975, n - 1.0)),
        (None, _) => None,
    };
    (mean(&rates), half)
}

/// The figures of a point over all its runs. There is at least one run.
pub(super) fn of_runs(runs: &[&FinishedStep]) -> SweepPoint {
    let step = &runs[0].step;
    let (iops, half) = pooled_rate(runs);
    let mut service = Histogram::new();
    runs.iter().for_each(|f| service.merge(&f.service));
    let mut spoilt_by: Vec<String> = runs.iter().flat_map(|f| f.spoilt_by.clone()).collect();
    spoilt_by.sort();
    spoilt_by.dedup();
    let n = runs.len() as f64;
    SweepPoint {
        block_bytes: Bytes(AxisOption::Bs.value_in(step)),
        iodepth: step.iodepth,
        numjobs: step.numjobs,
        reads_percent: (step.rw.directions().len() > 1).then_some(step.rwmix),
        runs: runs.len() as u32,
        iops,
        iops_low: half.map(|h| (iops - h).max(0.0)),
        iops_high: half.map(|h| iops + h),
        bytes_per_second: runs.iter().map(|f| f.bytes_per_second).sum::<f64>() / n,
        in_flight: runs.iter().map(|f| f.in_flight).sum::<f64>() / n,
        mean_ns: service.mean().unwrap_or(0.0),
        p50_ns: percentile(&service, 0.5),
        p99_ns: percentile(&service, 0.99),
        p999_ns: percentile(&service, 0.999),
        spoilt_by,
        dead_time: longest(runs.iter().filter_map(|f| f.dead_time.clone())),
    }
}
