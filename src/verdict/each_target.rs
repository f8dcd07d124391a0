//! Several volumes under one step: each must deliver its own promise, whatever their sum is.

use super::claim::Judge;
use crate::catalogue::Promise;
use crate::record::{Claim, JudgedPromise, Metric, OpenLoopRecord, Outcome, StepRecord, StepTarget};
use crate::verdict::figure;

impl Judge<'_> {
    /// The claim on the sum of several volumes. Where the sum passes and a volume does not, the claim of the volume with the gravest
    /// outcome.
    pub(super) fn each_delivers(&self, sum: Claim) -> Claim {
        if sum.outcome != Outcome::Pass {
            return sum;
        }
        let gravest = self.of_each_target().max_by_key(|(_, claim)| claim.outcome.weight());
        let Some((target, claim)) = gravest.filter(|(_, claim)| claim.outcome != Outcome::Pass) else {
            return sum;
        };
        let reason = format!(
            "{} by itself: {}; the {} volumes together did {}",
            target.path.display(),
            claim.reason,
            self.step.targets.len(),
            rate(&sum)
        );
        Claim { reason, ..claim }
    }

    /// Each target with the claim on its own promise. Volumes are named in the order of the targets. None where the instance limits the
    /// sum: it promises nothing to a single volume.
    fn of_each_target(&self) -> impl Iterator<Item = (&StepTarget, Claim)> {
        let targets = self.step.targets.as_slice();
        let volumes = &self.judged_promise.promise.volumes;
        let told = targets.len() > 1 && volumes.len() == self.record.targets.len();
        targets.iter().filter(move |_| told).filter_map(|target| {
            let place = self.record.targets.iter().position(|t| t.path == target.path)?;
            let promise = Promise {
                volumes: vec![volumes[place].clone()],
                instance: None,
                block: self.judged_promise.promise.block,
            };
            let judged_promise = JudgedPromise { promise, ..self.judged_promise.clone() };
            let step = alone(self.step, target);
            let judge = Judge { judged_promise: &judged_promise, step: &step, ..*self };
            Some((target, judge.rate()?))
        })
    }
}

/// The part of a step on one of its targets.
pub(super) fn alone(step: &StepRecord, target: &StepTarget) -> StepRecord {
    let part = 1.0 / step.targets.len() as f64;
    let offered =
        |o: &OpenLoopRecord| OpenLoopRecord { offered_per_second: part * o.offered_per_second, ..o.clone() };
    StepRecord {
        read: target.read.clone(),
        write: target.write.clone(),
        trim: target.trim.clone(),
        sync: target.sync.clone(),
        total: None,
        in_flight_mean: target.in_flight_mean,
        in_flight_asked: step.in_flight_asked.get().map(|n| part * n).into(),
        open_loop: step.open_loop.as_ref().map(offered),
        targets: vec![target.clone()],
        ..step.clone()
    }
}

/// A measured rate with its unit.
fn rate(claim: &Claim) -> String {
    let unit = if claim.metric == Metric::Iops { " IOPS" } else { "" };
    format!("{}{unit}", figure(claim.metric, claim.measured))
}
