//! A promised latency and a promised rate of the same volume: whether the mean latency of one request at a time contains the wait for the
//! volume's IOPS limit.
//!
//! One request at a time at X I/Os a second takes 1 / X in the mean (Little's law). Where 1 / X is more than the promised latency, even the
//! quickest volume cannot show that latency at its promised rate; a lower rate can.

use super::claim::{Judge, PromisedRates, figure, fits_latency};
use super::reach;
use crate::catalogue::promised_level::PromiseDirection;
use crate::plan::{BlockSizes, Pattern, Step};
use crate::record::{Conditions, JudgedPromise, Metric, StepRecord, promise_direction};
use crate::stats::SAME_RATE;
use crate::unit::{Bytes, Nanos};

/// Share of a limit at which I/Os do not wait for it.
const BELOW_LIMIT: f64 = 0.5;

/// Why a mean latency contains the wait for an IOPS limit, the rate that shows the latency without it, and the command for that.
pub(super) struct CapWait {
    pub(super) reason: String,
    pub(super) rate: f64,
    pub(super) command: Option<String>,
}

impl Judge<'_> {
    /// `None` where nothing shows that the step was held by an IOPS limit.
    pub(super) fn cap_wait(&self) -> Option<CapWait> {
        let summary = self.summary();
        let (rate, mean) = (summary.iops.filter(|rate| *rate > 0.0)?, Nanos(summary.mean_ns? as u64));
        let d = promise_direction(self.conditions.pattern()?)?;
        let promised = PromisedRates::of(self.judged_promise, self.conditions.single_block()?, d)?.least.iops;
        let mut contains = "contains";
        // From the promised rate on the volume may hold any rate. Only a deeper step that did more excludes that.
        let least = promised * (1.0 - self.judged_promise.tolerance);
        let why = if rate >= least && !self.did_more_deeper(rate) {
            contains = "may contain";
            format!("{} IOPS are promised", figure(Metric::Iops, promised))
        } else {
            format!(
                "{} did no more with more in flight",
                self.deeper(rate, |times| (times - 1.0).abs() <= SAME_RATE)?.name
            )
        };
        let reason = format!(
            "at {} IOPS the mean {contains} the wait for the IOPS limit ({why}): at such a limit one request at a time takes {mean}, however \
             quick the volume is; a lower rate shows its latency",
            figure(Metric::Iops, rate),
        );
        let plan = self.record.plan_step(&self.step.name).filter(|_| self.step.reported.is_none());
        let rate = below(rate.min(promised));
        let slower = |plan: &Step| Step { rate_iops: Some(rate), rate_bw: None, ..plan.clone() };
        let command = plan.map(|plan| reach::command(self.record, self.judged_promise, &slower(plan)));
        Some(CapWait { reason, rate, command })
    }

    /// More in flight gave more, and the volume has no burst that the step with less in flight may have found used up.
    fn did_more_deeper(&self, rate: f64) -> bool {
        let promise = &self.judged_promise.promise;
        let bursts = promise.volumes.iter().any(|volume| volume.level.burst.is_some())
            || promise.instance.as_ref().is_some_and(|instance| instance.iops_burst.is_some());
        !bursts && self.deeper(rate, |times| times > 1.0 + SAME_RATE).is_some()
    }

    /// Another step of the same load with more in flight, whose rate is so many times this one.
    fn deeper(&self, rate: f64, is_asked: impl Fn(f64) -> bool) -> Option<&StepRecord> {
        let depth = self.step.in_flight_asked.get()?;
        self.record.steps.iter().find(|other| {
            other.name != self.step.name
                && other.in_flight_asked.get().is_some_and(|asked| asked >= 2.0 * depth)
                && is_asked(other.iops() / rate)
                && self.record.same_load(self.step, other)
        })
    }
}

/// A load of one request at a time, for which a latency is promised.
#[derive(Clone, Copy, Debug)]
pub struct LatencyLoad {
    /// Order and direction of its I/Os.
    pub pattern: Pattern,
    /// Their size.
    pub block: Bytes,
    /// I/Os a second at which requests do not wait for the promised IOPS; absent where they do not wait at full speed either.
    pub rate: Option<f64>,
}

/// The load that shows a promised latency, with this pattern where the promise covers the pattern.
pub(super) fn latency_load(judged_promise: &JudgedPromise, pattern: Pattern, promised: Nanos) -> LatencyLoad {
    let block = Bytes::kib(4);
    let fits = |rw: &Pattern| {
        let step = Step { rw: *rw, iodepth: 1, numjobs: 1, bs: BlockSizes::one(block), ..Step::default() };
        fits_latency(judged_promise, &Conditions::of_step(&step, 1), Some(1))
    };
    let at_random = match promise_direction(pattern) {
        Some(PromiseDirection::Read) => Pattern::RandRead,
        _ => Pattern::RandWrite,
    };
    let pattern = [pattern, at_random].into_iter().find(fits).unwrap_or(Pattern::RandWrite);
    let rate = promise_direction(pattern).and_then(|d| slow_enough(judged_promise, block, d, promised));
    LatencyLoad { pattern, block, rate }
}

/// The rate at which one request at a time shows a promised latency, where at full speed it would wait for the promised IOPS.
fn slow_enough(
    judged_promise: &JudgedPromise,
    block: Bytes,
    d: PromiseDirection,
    latency: Nanos,
) -> Option<f64> {
    let promised = PromisedRates::of(judged_promise, block, d)?.least.iops;
    (promised * latency.as_seconds() * (1.0 + judged_promise.tolerance) < 1.0).then(|| below(promised))
}

/// A rate at which I/Os do not wait for a limit.
fn below(limit: f64) -> f64 {
    (limit * BELOW_LIMIT).floor().max(1.0)
}
