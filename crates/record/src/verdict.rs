//! The verdict on a run: each promise held against what was measured, as values. The rules that make them are in the crate `judge`.
//!
//! Figures are I/Os per second, bytes per second or nanoseconds, by the metric. Every figure is finite, so that JSON can hold it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ProvenLimit, StepRecord};
use volproof_base::sample::Direction;
use volproof_base::stats::limit_answer::{ClaimAnswer, LimitAnswer};
use volproof_promise::catalogue::SourceQuality;
use volproof_promise::fit::{Grade, OWN_NEED};

/// The four answers to a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "VerdictOutcome")]
pub enum Outcome {
    /// The promise was kept.
    Pass,
    /// The promise was not decided. `more_seconds` says how much longer the step should be, where more time decides it.
    Inconclusive,
    /// The measurement is at fault, and says nothing about the volume.
    Invalid,
    /// The promise was not kept.
    Fail,
}

impl From<LimitAnswer> for Outcome {
    fn from(answer: LimitAnswer) -> Outcome {
        match answer {
            LimitAnswer::Pass => Outcome::Pass,
            LimitAnswer::Fail => Outcome::Fail,
            LimitAnswer::Inconclusive => Outcome::Inconclusive,
        }
    }
}

impl Outcome {
    /// The word as people read it.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Pass => "PASS",
            Outcome::Inconclusive => "INCONCLUSIVE",
            Outcome::Invalid => "INVALID",
            Outcome::Fail => "FAIL",
        }
    }

    /// A FAIL outweighs every other outcome, a PASS none.
    pub fn weight(self) -> u8 {
        match self {
            Outcome::Pass => 0,
            Outcome::Inconclusive => 1,
            Outcome::Invalid => 2,
            Outcome::Fail => 3,
        }
    }
}

/// The quantity that a promise is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Throughput,
    /// Mean latency in nanoseconds.
    Latency,
    /// A percentile of latencies in nanoseconds; no provider promises one.
    Percentile,
    /// Share of the I/Os above a latency, 0 to 1; no provider promises one.
    SlowShare,
}

impl Metric {
    /// The metrics that providers promise, in the order of a report.
    pub const PROMISED: [Metric; 3] = [Metric::Iops, Metric::Throughput, Metric::Latency];

    /// The bounds of a figure in words: a mean latency is held against a bound of each side, all other figures by an interval.
    pub fn bounds_name(self) -> &'static str {
        match self {
            Metric::Latency => "one-sided 95 % bounds",
            Metric::Iops | Metric::Throughput | Metric::Percentile | Metric::SlowShare => "95 % bounds",
        }
    }

    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Iops => "IOPS",
            Metric::Throughput => "throughput",
            Metric::Latency => "latency",
            Metric::Percentile => "latency percentile",
            Metric::SlowShare => "slow I/Os",
        }
    }

    /// The figure has to stay below its limit.
    pub fn less_is_better(self) -> bool {
        matches!(self, Metric::Latency | Metric::Percentile | Metric::SlowShare)
    }
}

/// The need of an application that a claim is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgedNeed {
    /// The application with its parameters: `CockroachDB, vcpus=8`.
    pub application: String,
    /// The figure in words: `p99 of flushes`.
    pub figure: String,
    /// The I/Os that the figure is about; absent for reads and writes together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// How much is asked with it.
    pub grade: Grade,
    /// Where it was published.
    pub source: String,
    /// The edition or the date.
    pub as_of: String,
    /// How sure it is.
    pub confidence: SourceQuality,
}

impl JudgedNeed {
    /// The application and how much it asks: `etcd (heavy)`.
    pub fn whose(&self) -> String {
        let grade = if self.source == OWN_NEED { OWN_NEED } else { self.grade.name() };
        format!("{} ({grade})", self.application)
    }
}

/// A promise, or the need of an application, held against the steps that test it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// Name of the step of the plan that tests it.
    pub step: String,
    /// The quantity.
    pub metric: Metric,
    /// The need; absent for the promise of a provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub need: Option<JudgedNeed>,
    /// The answer.
    pub outcome: Outcome,
    /// The promise, or the limit of the need.
    pub promised: f64,
    /// The limit that decides: the promise with its tolerance.
    pub limit: f64,
    /// Which limit binds: `volume IOPS`, `instance throughput`, ...
    pub binding: String,
    /// The figure held against the promise: that of the step that decides.
    pub measured: f64,
    /// Measured over promised.
    pub ratio: f64,
    /// Bounds of the measured figure, together 95 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<(f64, f64)>,
    /// The steps that test the promise, in the order of time; of a rate alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<ClaimStep>,
    /// Which of these steps decides.
    #[serde(default)]
    pub decided_by: usize,
    /// Name of the step that has the figure of a latency, where the run added it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_in: Option<String>,
    /// Share of the seconds that delivered 90 % of the promise; of a rate alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<Delivered>,
    /// The limit of the provider that held the deciding step, by its own counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven_limit: Option<ProvenLimit>,
    /// How much longer the step should be; only when inconclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_seconds: Option<u64>,
    /// The code of the doubt that makes the figure void; only when invalid. `reason` has its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocker: Option<String>,
    /// Why the answer is what it is, for programs.
    #[serde(default)]
    pub basis: BasisCode,
    /// The same in a sentence; empty for a plain PASS.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The command that can decide it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Why a claim has its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BasisCode {
    /// The figure keeps its limit.
    #[default]
    Kept,
    /// The figure keeps its limit with more load than the plan offered.
    KeptWithMoreLoad,
    /// Below the nominal rate, and within the provider's promise of time.
    WithinGuarantee,
    /// The figure misses its limit.
    Missed,
    /// Too few seconds delivered.
    TooFewSeconds,
    /// Requests never came back.
    Hangs,
    /// The medium failed I/Os.
    MediumErrors,
    /// The figure misses its limit, and more load may give more.
    LoadNotShown,
    /// The volume changed between the steps.
    Changed,
    /// The mean is kept, and the volume did nothing for some of the time.
    DeadTime,
    /// The promised share of time is neither refuted nor confirmed.
    ShareOpen,
    /// The samples of a long run are too coarse to show the seconds or the pauses that decide.
    SamplesMerged,
    /// The step is too short.
    TooShort,
    /// The interval holds the limit.
    Spans,
    /// Burst credits may have given the rate.
    Credits,
    /// More than the type can give.
    BeyondTheType,
    /// Kept by one reading of the provider's unit, and missed by the other.
    OneUnit,
    /// The user ended the step early.
    EndedEarly,
    /// The load that decides is not possible here.
    DepthNotPossible,
    /// The load leaves room for a cache to answer.
    CacheMayAnswer,
    /// A need is open for a reason of its own, which `reason` says.
    NeedOpen,
    /// The measurement is at fault.
    NotValid,
}

/// A step that tests a promised rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimStep {
    /// Name of the step.
    pub step: String,
    /// Requests that were to be in flight, over all targets.
    pub depth: u64,
    /// I/Os a second that were offered; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_per_second: Option<f64>,
    /// The depth is as much as any promise asks for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub saturating: bool,
    /// Length of its window in seconds.
    pub seconds: f64,
    /// Its rate, in the unit of the claim.
    pub per_second: f64,
    /// The 95 % interval of the rate; absent below ten seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// Mean latency in nanoseconds.
    pub latency_ns: f64,
    /// Share of its seconds in which requests waited and none completed.
    pub dead_share: f64,
    /// Whether it keeps the promise by itself; absent where it says neither yes nor no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps: Option<bool>,
}

impl Claim {
    /// A figure beside its promise; all else is absent.
    pub fn new(
        step: &str,
        metric: Metric,
        outcome: Outcome,
        promised: f64,
        found: ClaimAnswer,
        reason: String,
    ) -> Claim {
        Claim {
            step: step.into(),
            metric,
            need: None,
            outcome,
            promised,
            limit: found.limit,
            binding: String::new(),
            measured: found.value,
            ratio: found.value / promised,
            bounds: found.bounds.filter(|(low, high)| low.is_finite() && high.is_finite()),
            evidence: Vec::new(),
            decided_by: 0,
            measured_in: None,
            delivered: None,
            proven_limit: None,
            more_seconds: found.more_seconds.filter(|_| outcome == Outcome::Inconclusive),
            blocker: None,
            basis: match outcome {
                Outcome::Pass => BasisCode::Kept,
                Outcome::Fail => BasisCode::Missed,
                Outcome::Inconclusive => BasisCode::Spans,
                Outcome::Invalid => BasisCode::NotValid,
            },
            reason,
            command: None,
        }
    }

    /// The limit of the provider that is proven to be below the promise.
    pub fn limit_below(&self) -> Option<ProvenLimit> {
        self.proven_limit.filter(|limit| limit.is_below(self.measured, self.limit))
    }

    /// The claim in a few words: `IOPS`, `p99 of flushes for etcd (minimum)`.
    pub fn title(&self) -> String {
        match &self.need {
            Some(need) => format!("{} for {}", need.figure, need.whose()),
            None => self.metric.name().into(),
        }
    }

    /// The step whose figures decide; absent for a latency and for a need.
    pub fn deciding_step(&self) -> Option<&ClaimStep> {
        self.evidence.get(self.decided_by)
    }

    /// Name of the step in whose row of a table the claim stands: the one that has its figures.
    pub fn row_step(&self) -> &str {
        let deciding = self.deciding_step().map(|deciding| &deciding.step);
        deciding.or(self.measured_in.as_ref()).unwrap_or(&self.step)
    }

    /// How far the figure is from its limit: 1 at the limit, more is better, whichever side the limit bounds.
    pub fn room(&self) -> f64 {
        if self.metric.less_is_better() { 1.0 / self.ratio } else { self.ratio }
    }

    /// Whether the figure lies on the wrong side of its limit, however surely.
    pub fn misses_limit(&self) -> bool {
        if self.metric.less_is_better() { self.measured > self.limit } else { self.measured < self.limit }
    }

    /// The row of its step in which a claim stands: for a need that of its own I/Os, for a promise that of the step as a whole, which
    /// is the total of a mix. `None` where the step only flushed.
    pub fn row(&self, step: &StepRecord) -> Option<&'static str> {
        match self.need.as_ref().and_then(|need| need.direction) {
            Some(direction) => Some(direction.name()),
            None => {
                step.figures().map(|(word, _)| word).filter(|word| *word != Direction::Sync.name()).last()
            }
        }
    }
}

/// Share of the seconds that delivered 90 % of the promise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delivered {
    /// The share, 0 to 1.
    pub share: f64,
    /// Lower 95 % bound of the share (Clopper and Pearson).
    pub low: f64,
    /// Upper 95 % bound of the share.
    pub high: f64,
    /// The share that is promised; absent where neither the catalogue nor the user names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promised: Option<f64>,
    /// The promised share against the bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Outcome>,
}

/// A promise, or the needs of an application, that no step tested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Untested {
    /// The application and its grade; absent for the promise of a provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// The quantity; of an application that of the first need without an answer.
    pub metric: Metric,
    /// The reason why no step tested the promise.
    pub reason: String,
    /// The command that tests it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl Untested {
    /// The application, or the quantity that is promised.
    pub fn title(&self) -> &str {
        self.application.as_deref().unwrap_or(self.metric.name())
    }
}

/// All claims of a Record. Further fields of earlier versions are not read: a verdict is made anew whenever a Record is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The gravest outcome; absent when nothing was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The volumes and the instance, in words.
    pub against: String,
    /// Share by which a figure may be missed.
    pub tolerance: f64,
    /// Each promise that a step tested.
    pub claims: Vec<Claim>,
    /// Needs of higher grades than those that were asked for: they decide nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beyond: Vec<Claim>,
    /// Promises that no step tested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untested: Vec<Untested>,
    /// Notes on the promise that the reader needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Verdict {
    /// How much longer a step should be to be decided; absent when more time does not help.
    pub fn more_seconds(&self, step: &str) -> Option<u64> {
        self.claims.iter().filter(|c| c.step == step).filter_map(|c| c.more_seconds).max()
    }
}
