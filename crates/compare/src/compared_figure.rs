//! The figures of a step that are compared, and their interval in one run.
//!
//! Rates are a second; latencies are nanoseconds.

use serde::{Deserialize, Serialize};
use volproof_base::sample::Direction;
use volproof_base::stats::percentile;
use volproof_base::unit::Bytes;
use volproof_record::{DirectionSummary, StepRecord};

/// From this block size on the rate is in bytes.
const LARGE_BLOCK: Bytes = Bytes::kib(64);
/// Latencies are kept in 64 buckets per power of two: half of a bucket, as a share.
const HALF_BUCKET: f64 = 1.0 / 128.0;

/// A figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    pub fn of_direction(summary: &DirectionSummary) -> [ComparedFigure; 3] {
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

    /// The figure of a direction in a run; none where the run does not tell it. The rate of a direction that completed nothing is 0.
    pub fn of_run(self, step: &StepRecord, direction: Direction) -> Option<f64> {
        let Some(summary) = step.direction(direction) else {
            return if self.less_is_better() { None } else { Some(0.0) };
        };
        match self {
            ComparedFigure::Iops => Some(summary.iops),
            ComparedFigure::Throughput => Some(summary.iops * bytes_per_io(summary)),
            ComparedFigure::Median => Some(summary.latency().known_percentile("50")?.0 as f64),
            ComparedFigure::P99 => Some(summary.latency().known_percentile("99")?.0 as f64),
        }
    }

    /// The 95 % interval of the figure in one run; none where the run does not carry one.
    pub fn interval(self, step: &StepRecord, direction: Direction) -> Option<(f64, f64)> {
        let summary = step.direction(direction)?;
        match self {
            ComparedFigure::Iops => rate_interval(summary, 1.0),
            ComparedFigure::Throughput => rate_interval(summary, bytes_per_io(summary)),
            ComparedFigure::Median => latency_interval(step, direction, ("50", 0.5)),
            ComparedFigure::P99 => latency_interval(step, direction, ("99", 0.99)),
        }
    }

    /// By which share the figure of each run may be off because it is kept in a bucket.
    pub(crate) fn half_bucket(self) -> f64 {
        if self.less_is_better() { HALF_BUCKET } else { 0.0 }
    }
}

fn bytes_per_io(summary: &DirectionSummary) -> f64 {
    summary.bytes.0 as f64 / summary.ios.max(1) as f64
}

/// The interval of the rate of I/Os, times a factor.
fn rate_interval(summary: &DirectionSummary, factor: f64) -> Option<(f64, f64)> {
    let bounds = summary.rate.as_ref()?.interval.as_ref()?;
    Some((bounds.low_per_second * factor, bounds.high_per_second * factor))
}

fn latency_interval(step: &StepRecord, direction: Direction, wanted: (&str, f64)) -> Option<(f64, f64)> {
    let settled = percentile::table(&step.latencies_of_seconds(Some(direction)), &[wanted]);
    let bounds = settled.first()?.interval.as_ref()?;
    Some((bounds.low_ns.0 as f64, bounds.high_ns.0 as f64))
}
