//! A promised latency and a promised rate of the same volume: whether the mean latency of one request at a time contains the wait for the
//! volume's IOPS limit.
//!
//! One request at a time at X I/Os a second takes 1 / X in the mean (Little's law). Where 1 / X is more than the promised latency, even the
//! quickest volume cannot show that latency at its promised rate; a lower rate can.

use super::claim::{Judge, PromisedRates, figure, fits_latency};
use super::reach;
use crate::catalogue::promised_level::PromiseDirection;
use crate::codes;
use crate::diagnose::{self, Kept, direction};
use crate::plan::{BlockSizes, Pattern, Step};
use crate::record::{Conditions, Confidence, Finding, JudgedPromise, Metric, StepRecord};
use crate::stats::SAME_RATE;
use crate::unit::{Bytes, Nanos};

/// Share of a limit at which I/Os do not wait for it.
const BELOW_LIMIT: f64 = 0.5;

/// Why a mean latency contains the wait for an IOPS limit, and the command that shows the latency without it.
pub(super) struct CapWait {
    pub(super) reason: String,
    pub(super) command: Option<String>,
}

impl Judge<'_> {
    /// `None` where nothing shows that the step was held by an IOPS limit.
    pub(super) fn cap_wait(&self) -> Option<CapWait> {
        // Where the rate moved, figures of the whole run are those of no limit.
        let level = match Kept::of(self.record, self.step) {
            Kept::ForATime(level) => Some(level),
            Kept::Throughout | Kept::Nothing => None,
        };
        let of_level = level.as_ref().map(|level| diagnose::of_part(self.record, &level.step, self.step));
        let found = of_level.as_ref().unwrap_or(self.diagnosis);
        let summary = level.as_ref().map_or_else(|| self.summary(), |level| level.summary.clone());
        let (rate, mean) = (summary.iops.filter(|rate| *rate > 0.0)?, Nanos(summary.mean_ns? as u64));
        let d = direction(self.conditions.pattern()?)?;
        let promised = PromisedRates::of(self.judged_promise, self.conditions.single_block()?, d)?.least.iops;
        // With one request at a time, even counts come from a throttle or from a volume that stops now and then; a lower rate tells which.
        let throttle = found.find(codes::THROTTLE);
        let throttle = throttle.filter(|f| f.confidence > Confidence::Possible || summary.held_together());
        let at_equal_distances = |stall: &Finding| stall.numbers.contains_key(codes::figure::PERIOD_SECONDS);
        let stops = found.find(codes::ON_OFF).or(found.find(codes::STALL).filter(|f| at_equal_distances(f)));
        let mut contains = "contains";
        // From the promised rate on the volume may hold any rate. Only a deeper step that did more excludes that.
        let least = promised * (1.0 - self.judged_promise.tolerance);
        let why = if rate >= least && !self.did_more_deeper(rate) {
            contains = "may contain";
            format!("{} IOPS are promised", figure(Metric::Iops, promised))
        } else if let Some(found) = throttle {
            if found.confidence == Confidence::Possible {
                contains = "may contain";
            }
            format!("a throttle holds it there, {}", found.confidence.name())
        } else if stops.is_some() {
            contains = "may contain";
            "the volume stops again and again, as one with a quota does".into()
        } else {
            format!(
                "{} did no more with more in flight",
                self.deeper(rate, |times| (times - 1.0).abs() <= SAME_RATE)?.name
            )
        };
        let time = level.map(|level| format!(", from {} s to {} s,", level.seconds.start, level.seconds.end));
        let reason = format!(
            "at {} IOPS{} the mean {contains} the wait for the IOPS limit ({why}): at such a limit one request at a time takes {mean}, however \
             quick the volume is; a lower rate shows its latency",
            figure(Metric::Iops, rate),
            time.unwrap_or_default()
        );
        let plan = self.record.plan_step(&self.step.name);
        let rate = below(rate.min(promised));
        let slower = |plan: &Step| Step { rate_iops: Some(rate), rate_bw: None, ..plan.clone() };
        let command = plan.map(|plan| reach::command(self.record, self.judged_promise, &slower(plan)));
        Some(CapWait { reason, command })
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
    let at_random = match direction(pattern) {
        Some(PromiseDirection::Read) => Pattern::RandRead,
        _ => Pattern::RandWrite,
    };
    let pattern = [pattern, at_random].into_iter().find(fits).unwrap_or(Pattern::RandWrite);
    let rate = direction(pattern).and_then(|d| slow_enough(judged_promise, block, d, promised));
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
