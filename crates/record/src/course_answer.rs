//! The answer to the question of a plan, as a Record keeps it. `course` works it out; nothing here computes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Outcome, SloAnswer, SuiteAnswer};
use volproof_base::unit::{Bytes, Nanos, text};
use volproof_plan::{AxisOption, Pattern};

/// The answer to a question, from the steps that have finished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CourseAnswer {
    /// To a sweep.
    Sweep(SweepAnswer),
    /// To a search for the highest load within a limit. Records call it `load`.
    #[serde(rename = "load")]
    Slo(SloAnswer),
    /// Of a suite.
    Suite(SuiteAnswer),
}

impl CourseAnswer {
    /// The answer in one sentence.
    pub fn sentence(&self) -> &str {
        match self {
            CourseAnswer::Sweep(sweep) => &sweep.sentence,
            CourseAnswer::Slo(slo) => &slo.sentence,
            CourseAnswer::Suite(suite) => &suite.sentence,
        }
    }

    /// The answer as an outcome, for the exit code; none where the question has no yes or no.
    pub fn outcome(&self) -> Option<Outcome> {
        match self {
            CourseAnswer::Sweep(sweep) => {
                let shows = sweep.points.iter().any(|p| p.spoilt_by.is_empty());
                (!shows).then_some(Outcome::Invalid)
            }
            CourseAnswer::Slo(slo) => slo.outcome(),
            CourseAnswer::Suite(suite) => suite.outcome,
        }
    }
}

/// The answer to a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepAnswer {
    /// The answer in one sentence.
    pub sentence: String,
    /// The pattern of all points.
    #[serde(with = "text")]
    #[schemars(with = "String")]
    pub rw: Pattern,
    /// The options that changed, the one that changes fastest last.
    pub axes: Vec<AxisOption>,
    /// The points that were measured, in the order of the axes.
    pub points: Vec<SweepPoint>,
    /// The points that were asked for and not measured, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_measured: Vec<UnmeasuredPoint>,
    /// For each combination of the other options: what depth does. Empty for a sweep without depths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depths: Vec<DepthAnswer>,
    /// The two limits that explain the rates at all block sizes, for each combination of shares of reads and jobs. Empty for a sweep
    /// without block sizes, and where fewer than three of them were measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caps: Vec<CapFit>,
    /// The most at each value of the other axes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub best: Vec<AxisBest>,
    /// Reasons why the answer holds only in part, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One point of a sweep, over all its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepPoint {
    /// Block size.
    pub block_bytes: Bytes,
    /// Requests kept in flight by each job.
    pub iodepth: u32,
    /// Jobs for each target.
    pub numjobs: u32,
    /// Share of reads; absent for a pattern that does not mix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_percent: Option<u32>,
    /// How often it was measured.
    pub runs: u32,
    /// I/Os a second, the mean of its runs.
    pub iops: f64,
    /// Lower end of the 95 % interval of that mean; absent where the runs are too short for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_low: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_high: Option<f64>,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// Requests in flight over all jobs, averaged over time.
    pub in_flight: f64,
    /// Mean service latency of all I/Os.
    pub mean_ns: f64,
    /// Median; absent where too few I/Os carry it, as are the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<Nanos>,
    /// 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<Nanos>,
    /// 99.9th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_ns: Option<Nanos>,
    /// Codes of findings and doubts that keep the point from showing what the volume can do, and `changed` where it was measured
    /// before the volume changed, or while it did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spoilt_by: Vec<String>,
    /// The longest dead time of any of its runs; absent where a run had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_time: Option<DeadTime>,
}

/// A point of a sweep that was asked for and not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnmeasuredPoint {
    /// Its value on each axis, in the order of the axes: bytes, percent of reads, jobs, or depth.
    pub values: Vec<u64>,
    /// Why it was not measured, in words.
    pub reason: String,
}

/// The part of a step in which requests waited for a second or longer and none completed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadTime {
    /// Code of the description: `stall`.
    pub finding: String,
    /// Share of the step, 0 to 1.
    pub share: f64,
}

impl SweepPoint {
    /// Its value on an axis: bytes, percent of reads, jobs, or depth.
    pub fn on(&self, axis: AxisOption) -> u64 {
        match axis {
            AxisOption::Bs => self.block_bytes.0,
            AxisOption::Rwmix => u64::from(self.reads_percent.unwrap_or_default()),
            AxisOption::Numjobs => u64::from(self.numjobs),
            AxisOption::Iodepth => u64::from(self.iodepth),
        }
    }

    /// Its place on some axes, in words: `4 KiB, depth 32`.
    pub fn place<'a>(&self, axes: impl IntoIterator<Item = &'a AxisOption>) -> String {
        let words = axes.into_iter().map(|axis| axis.words(self.on(*axis)));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// The effect of depth, the other options being fixed. Depths are of all jobs together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DepthAnswer {
    /// The values of the other options, in the order of the axes; empty where depth alone changes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
    /// The most I/Os a second.
    pub most_iops: f64,
    /// The depth at which they were measured.
    pub most_at: u64,
    /// The smallest depth that reaches 95 % of the most.
    pub enough: u64,
    /// Mean latency at the smallest depth: the service time, as far as nothing queues there. Absent where requests wait there too: the
    /// rate is at its limit, or more depth raises it by less than its share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unloaded_ns: Option<f64>,
    /// The depth that the service time alone needs for the most (Kleinrock: the most times the unloaded latency). Absent where the points
    /// do not show it: the rate still grew at the largest depth, or requests queued at the smallest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<DepthKnee>,
    /// More depth than the largest that was measured may give more: the rate still grew there.
    pub at_edge: bool,
    /// The depth above which the rate falls again, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub falls_after: Option<u64>,
}

/// The knee of a curve of rates over depth, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DepthKnee {
    /// The depth, of all jobs together.
    pub depth: f64,
    /// Lower end of its interval, from the errors of the two rates.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The two limits of min(A, B / block size), fitted to the most at each block size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapFit {
    /// The values of the other options; empty where there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
    /// A: the limit of I/Os a second. Absent where no measured block size is small enough to meet it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_cap: Option<f64>,
    /// B: the limit of bytes a second. Absent where no measured block size is large enough to meet it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_cap: Option<f64>,
    /// B / A: from this block size on the bytes limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee_bytes: Option<f64>,
    /// The two limits explain every point to within 5 %.
    pub explains: bool,
    /// Requests in flight, where more of them may give more: no other depth was measured, or the rate still grew at this one. Whether the
    /// volume or the depth sets the rates is then not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_at_depth: Option<u64>,
    /// Each block size.
    pub residuals: Vec<CapResidual>,
}

/// A block size beside the fit and the promise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapResidual {
    /// Block size.
    pub block_bytes: Bytes,
    /// The most I/Os a second at it.
    pub iops: f64,
    /// Measured over fitted, less 1.
    pub off_fit: f64,
    /// Measured over promised, less 1; absent without a promise for this load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_promise: Option<f64>,
}

/// The most at one value of an axis, whatever the other options are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AxisBest {
    /// The axis.
    pub option: AxisOption,
    /// Its value; block sizes in bytes.
    pub value: u64,
    /// The most I/Os a second.
    pub iops: f64,
    /// The bytes a second of that point.
    pub bytes_per_second: f64,
}
