//! A promised latency and a promised rate of the same volume: whether the mean latency of one request at a time contains the wait for the
//! volume's IOPS limit.
//!
//! One request at a time at X I/Os a second takes 1 / X in the mean (Little's law). Where that is more than the promised latency, no volume
//! shows the promised latency at its promised rate, however quick it is: only a lower rate does.

use super::claim::{Judge, PromisedRates, figure};
use super::reach;
use crate::catalogue::promised_level::PromiseDirection;
use crate::diagnose::direction;
use crate::plan::Step;
use crate::record::{Claimed, Confidence, Metric, StepRecord};
use crate::unit::{Bytes, Nanos};

/// Share of a limit at which I/Os do not wait for it.
const BELOW_LIMIT: f64 = 0.5;
/// Rates that differ by less are held by one limit.
const SAME: f64 = 0.03;

/// Why a mean latency contains the wait for an IOPS limit, and the command that shows the latency without it.
pub(super) struct CapWait {
    pub(super) reason: String,
    pub(super) command: Option<String>,
}

impl Judge<'_> {
    /// `None` where nothing shows that the step was held by an IOPS limit.
    pub(super) fn cap_wait(&self) -> Option<CapWait> {
        let summary = self.summary();
        let (rate, mean) = (summary.iops.filter(|rate| *rate > 0.0)?, Nanos(summary.mean_ns? as u64));
        let d = direction(self.conditions.pattern()?)?;
        let promised = PromisedRates::of(self.claimed, self.conditions.single_block()?, d)?.least.iops;
        let throttle = self.diagnosis.find("throttle").filter(|f| f.confidence > Confidence::Possible);
        let why = if rate >= promised * (1.0 - self.claimed.tolerance) {
            format!("{} IOPS are promised", figure(Metric::Iops, promised))
        } else if let Some(found) = throttle {
            format!("a throttle holds it there, {}", found.confidence.name())
        } else {
            format!("{} did no more with more in flight", self.deeper_with_same_rate(rate)?.name)
        };
        let reason = format!(
            "at {} IOPS the mean contains the wait for the IOPS limit ({why}): one request at a time takes {mean} there, however quick the \
             volume is; a lower rate shows its latency",
            figure(Metric::Iops, rate)
        );
        let plan = self.record.plan_step(&self.step.name).filter(|_| self.step.reported.is_none());
        let slower =
            |plan: &Step| Step { rate_iops: Some(below(rate.min(promised))), rate_bw: None, ..plan.clone() };
        let command = plan.map(|plan| reach::command(self.record, self.claimed, &slower(plan)));
        Some(CapWait { reason, command })
    }

    /// Another step of the same load with more in flight that did no more.
    fn deeper_with_same_rate(&self, rate: f64) -> Option<&StepRecord> {
        let depth = self.step.in_flight_asked.get()?;
        self.record.steps.iter().find(|other| {
            let load = self.record.conditions(other);
            other.name != self.step.name
                && other.in_flight_asked.get().is_some_and(|asked| asked >= 2.0 * depth)
                && (other.iops() / rate - 1.0).abs() <= SAME
                && (load.rw == self.conditions.rw && load.block == self.conditions.block)
        })
    }
}

/// The rate at which one request at a time shows a promised latency, where as fast as it goes it would wait for the promised IOPS.
pub(super) fn slow_enough(
    claimed: &Claimed,
    block: Bytes,
    d: PromiseDirection,
    latency: Nanos,
) -> Option<f64> {
    let promised = PromisedRates::of(claimed, block, d)?.least.iops;
    (promised * latency.as_seconds() * (1.0 + claimed.tolerance) < 1.0).then(|| below(promised))
}

/// A rate at which I/Os do not wait for a limit.
fn below(limit: f64) -> f64 {
    (limit * BELOW_LIMIT).floor().max(1.0)
}
