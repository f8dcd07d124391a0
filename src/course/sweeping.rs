//! A sweep as a course: the order of its points. Their answer is in `sweep_answer`.
//!
//! The first run of every point goes up in depth, so that it can stop where more depth only adds waiting. All later runs are in random
//! order, so that a volume that drifts does not look like one that depends on an option.

use std::collections::HashMap;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::{Course, FinishedStep, Forecast};
use crate::plan::{AxisOption, Pattern, Step, Sweep};
use crate::record::{Claimed, CourseAnswer, UnmeasuredPoint};
use crate::stats::spread::quantile;
use crate::unit::Nanos;

/// A rate that grows by less than this share over two doublings of depth has levelled off.
pub(super) const GROWTH: f64 = 0.05;
/// The depth at which most volumes reach their limit, for the likely time.
const LIKELY_DEPTH: u64 = 32;

/// A point: one value for each axis.
pub(super) type Values = Vec<u64>;

impl Course for Sweep {
    fn possible(&self) -> Vec<Step> {
        self.points().iter().map(|point| self.step(point, 0)).collect()
    }

    fn next(&self, finished: &[FinishedStep]) -> Option<Step> {
        let done = by_name(finished);
        let mut kept = Vec::new();
        for climb in self.climbs() {
            let mut measured: Vec<&FinishedStep> = Vec::new();
            for point in climb {
                if self.ends(&measured) {
                    break;
                }
                let step = self.step(&point, 0);
                let Some(found) = done.get(step.name.as_str()) else { return Some(step) };
                measured.push(found);
                kept.push(point);
            }
        }
        (1..self.repeats).find_map(|run| {
            let order = shuffled(kept.clone(), self.seed ^ u64::from(run));
            let steps = order.iter().map(|point| self.step(point, run));
            steps.into_iter().find(|step| !done.contains_key(step.name.as_str()))
        })
    }

    fn answer(&self, finished: &[FinishedStep], claimed: Option<&Claimed>) -> Option<CourseAnswer> {
        self.sweep_answer(finished, claimed.map(|claimed| &claimed.promise)).map(CourseAnswer::Sweep)
    }

    fn forecast(&self) -> Forecast {
        let all = self.points();
        let depth = self.depth_axis();
        // Two doublings beyond the sufficient depth show that more depth does not raise the rate.
        let likely =
            |p: &&Values| depth.is_none_or(|d| p[d] * u64::from(self.base.numjobs) <= 4 * LIKELY_DEPTH);
        let time = |steps: usize| Nanos(steps as u64 * self.step_time().0);
        let worst_steps = all.len() * self.repeats as usize;
        let likely_steps = all.iter().filter(likely).count() * self.repeats as usize;
        let (worst, likely) = (time(worst_steps), time(likely_steps));
        let writing = |time: Nanos| if self.base.rw.changes_data() { time } else { Nanos(0) };
        Forecast {
            worst_steps,
            worst,
            likely_steps,
            likely,
            worst_writing: writing(worst),
            likely_writing: writing(likely),
        }
    }
}

/// Finished steps by their names.
pub(super) fn by_name(finished: &[FinishedStep]) -> HashMap<&str, &FinishedStep> {
    finished.iter().map(|f| (f.step.name.as_str(), f)).collect()
}

/// Whether more depth only adds waiting: over the last two doublings the rate grew by no more than its error, and the latency grew in
/// proportion to the depth.
fn levelled(measured: &[&FinishedStep]) -> bool {
    let Some((last, before)) = measured.split_last() else { return false };
    let depth = |f: &FinishedStep| f.step.depth_per_target();
    let Some(from) = before.iter().rposition(|f| depth(f) * 4 <= depth(last)) else { return false };
    let first = before[from];
    let half = |f: &FinishedStep| f.error.map_or(0.0, |e| e * quantile(0.975));
    let grew = |f: &&FinishedStep| {
        f.iops > first.iops * (1.0 + GROWTH)
            || f.iops - half(f) > (first.iops + half(first)) * (1.0 + GROWTH / 5.0)
    };
    let waits = last.mean_ns() / first.mean_ns().max(1.0) >= 0.9 * depth(last) as f64 / depth(first) as f64;
    !before[from + 1..].iter().chain([last]).any(grew) && waits
}

/// The items in random order.
fn shuffled<T>(mut items: Vec<T>, seed: u64) -> Vec<T> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    for i in (1..items.len()).rev() {
        let draw = (u128::from(rng.next_u64()) * (i as u128 + 1)) >> 64;
        items.swap(i, draw as usize);
    }
    items
}

impl Sweep {
    pub(super) fn place(&self, option: AxisOption) -> Option<usize> {
        self.axes.iter().position(|a| a.option == option)
    }

    pub(super) fn depth_axis(&self) -> Option<usize> {
        self.place(AxisOption::Iodepth)
    }

    /// Whether a first run ends behind these steps, depths ascending.
    fn ends(&self, measured: &[&FinishedStep]) -> bool {
        self.depth_axis().is_some() && levelled(measured)
    }

    /// The points that were asked for and have no finished step, each with its reason.
    pub(super) fn not_measured(&self, finished: &[FinishedStep]) -> Vec<UnmeasuredPoint> {
        let done = by_name(finished);
        let mut reasons: HashMap<Values, String> = HashMap::new();
        for climb in self.climbs() {
            let found = |point: &Values| done.get(self.step(point, 0).name.as_str()).copied();
            let measured: Vec<&FinishedStep> = climb.iter().map_while(found).collect();
            let reason = match measured.last() {
                Some(last) if self.ends(&measured) => {
                    format!("more depth up to {} only added waiting", last.step.iodepth)
                }
                _ => "the sweep ended before it".into(),
            };
            reasons.extend(climb.into_iter().filter(|p| found(p).is_none()).map(|p| (p, reason.clone())));
        }
        let left_out =
            |p: &Values| self.axes.iter().zip(p).any(|(axis, value)| axis.left_out.contains(value));
        let mut reason = |p: &Values| match left_out(p) {
            true => Some("no time for it".to_string()),
            false => reasons.remove(p),
        };
        let all = self.asked_points().into_iter();
        all.filter_map(|values| Some(UnmeasuredPoint { reason: reason(&values)?, values })).collect()
    }

    /// The first runs. The combinations of the other options come in random order, and within each the depths ascend. In a sweep without
    /// depths all points come in random order.
    fn climbs(&self) -> Vec<Vec<Values>> {
        let points = self.points();
        let depths = self.depth_axis().map_or(1, |d| self.axes[d].values.len());
        shuffled(points.chunks(depths).map(<[Values]>::to_vec).collect(), self.seed)
    }
}

/// The pattern of a sweep of mixes, where none was given.
pub const MIXED: Pattern = Pattern::RandRw;
