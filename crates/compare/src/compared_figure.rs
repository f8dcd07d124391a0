//! The figures of a step that are compared, and their interval in one run.
//!
//! Rates are a second; latencies are nanoseconds.

use serde::Serialize;
use volproof_base::sample::Direction;
use volproof_base::stats::change_of_runs::RunFigure;
use volproof_base::stats::percentile;
use volproof_base::unit::Bytes;
use volproof_record::{DirectionSummary, StepRecord};

/// From this block size on the rate is told in bytes.
const LARGE_BLOCK: Bytes = Bytes::kib(64);
/// Latencies are kept in 64 buckets per power of two: half of a bucket, as a share.
const HALF_BUCKET: f64 = 1.0 / 128.0;

/// A figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedFigure {
    /// I/Os a second.
    Iops,
    /// Bytes a second.
    Throughput,
    /// Median latency.
    Median,
    /// 99th percentile of the latency.
    P99,
}

impl ComparedFigure {
    /// The figures that are compared of a direction: its rate and two percentiles.
    pub(crate) fn of_direction(summary: &DirectionSummary) -> [ComparedFigure; 3] {
        let block = summary.bytes.0 / summary.ios.max(1);
        let rate = if block >= LARGE_BLOCK.0 { ComparedFigure::Throughput } else { ComparedFigure::Iops };
        [rate, ComparedFigure::Median, ComparedFigure::P99]
    }

    /// As tables name it.
    pub fn name(self) -> &'static str {
        match self {
            ComparedFigure::Iops => "IOPS",
            ComparedFigure::Throughput => "MiB/s",
            ComparedFigure::Median => "p50",
            ComparedFigure::P99 => "p99",
        }
    }

    /// A smaller figure is a better one.
    pub fn less_is_better(self) -> bool {
        matches!(self, ComparedFigure::Median | ComparedFigure::P99)
    }

    /// The figure of a direction in a run; none where the run does not tell it.
    pub(crate) fn of_run(self, step: &StepRecord, direction: Direction) -> Option<RunFigure> {
        let summary = step.direction(direction)?;
        match self {
            ComparedFigure::Iops => Some(rate(summary, 1.0)),
            ComparedFigure::Throughput => {
                Some(rate(summary, summary.bytes.0 as f64 / summary.ios.max(1) as f64))
            }
            ComparedFigure::Median => latency(step, direction, ("50", 0.5)),
            ComparedFigure::P99 => latency(step, direction, ("99", 0.99)),
        }
    }
}

/// The rate of I/Os with its interval, times a factor.
fn rate(summary: &DirectionSummary, factor: f64) -> RunFigure {
    let interval = summary.rate.as_ref().and_then(|rate| rate.interval.as_ref());
    RunFigure {
        value: summary.iops * factor,
        interval: interval.map(|i| (i.low_per_second * factor, i.high_per_second * factor)),
    }
}

/// A percentile. Its interval is no narrower than a bucket of the histogram.
fn latency(step: &StepRecord, direction: Direction, wanted: (&str, f64)) -> Option<RunFigure> {
    let value = step.direction(direction)?.latency().known_percentile(wanted.0)?.0 as f64;
    let settled = percentile::table(&step.latencies_of_seconds(Some(direction)), &[wanted]);
    let interval = settled.first().and_then(|found| found.interval.as_ref()).map(|bounds| {
        let low = (bounds.low_ns.0 as f64).min(value * (1.0 - HALF_BUCKET));
        (low, (bounds.high_ns.0 as f64).max(value * (1.0 + HALF_BUCKET)))
    });
    Some(RunFigure { value, interval })
}
