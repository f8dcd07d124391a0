//! A sweep as a course: the order of its points. Their answer is in `sweep_answer`.
//!
//! The first run of every point goes up in depth, so that it can stop where more depth only adds waiting. All later runs are in random
//! order, so that a volume that drifts does not look like one that depends on an option.

use std::collections::HashMap;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::changed_volume::{PresentRuns, is_outdated};
use super::course_of::CourseOf;
use super::finished::Finished;
use super::measured_points::{GROWTH, Values};
use super::{Course, ENOUGH_OF_THE_MOST, FinishedStep, Forecast};
use volproof_base::unit::Nanos;
use volproof_plan::{AxisOption, Pattern, Step, Sweep};
use volproof_record::{CourseAnswer, JudgedPromise, UnmeasuredPoint};

/// The depth at which most volumes reach their limit, for the likely time.
const LIKELY_DEPTH: u64 = 32;

impl Course for Sweep {
    fn possible(&self) -> Vec<Step> {
        self.points().iter().map(|point| self.step(point, 0)).collect()
    }

    fn next(&self, finished: &[FinishedStep]) -> Option<Step> {
        CourseOf(self).next_point(finished)
    }

    fn answer(
        &self,
        finished: &[FinishedStep],
        judged_promise: Option<&JudgedPromise>,
    ) -> Option<CourseAnswer> {
        CourseOf(self).sweep_answer(finished, judged_promise).map(CourseAnswer::Sweep)
    }

    fn forecast(&self) -> Forecast {
        CourseOf(self).length()
    }
}

/// A step that measures a point once more.
fn again(step: &Step) -> Step {
    Step { name: format!("{}-again", step.name), ..step.clone() }
}

/// Whether more depth only adds waiting: over the last two doublings the rate grew by no more than its error, and the latency grew in
/// proportion to the depth.
fn levelled(measured: &[&FinishedStep]) -> bool {
    let Some((last, before)) = measured.split_last() else { return false };
    let deepest = last.step.depth_per_target();
    let Some(from) = before.iter().rposition(|f| f.step.depth_per_target() * 4 <= deepest) else {
        return false;
    };
    let first = before[from];
    let times = deepest as f64 / first.step.depth_per_target() as f64;
    let waits = last.mean_ns() / first.mean_ns().max(1.0) >= 0.9 * times;
    waits && !measured[from + 1..].iter().any(|f| grew(first, f))
}

/// The rate is above another one by more than their errors, or plainly.
fn grew(first: &FinishedStep, f: &FinishedStep) -> bool {
    f.iops > first.iops * (1.0 + GROWTH)
        || f.iops - f.half_interval() > (first.iops + first.half_interval()) * (1.0 + GROWTH / 5.0)
}

/// The step with the highest rate, where one of more depth gave less by more than the errors.
fn fallen_from<'a>(measured: &[&'a FinishedStep]) -> Option<&'a FinishedStep> {
    let (top, most) = measured.iter().enumerate().reduce(|a, b| if b.1.iops > a.1.iops { b } else { a })?;
    let mut deeper = measured[top + 1..].iter().filter(|f| f.iops < ENOUGH_OF_THE_MOST * most.iops);
    let fell = deeper.any(|f| f.iops + f.half_interval() < most.iops - most.half_interval());
    fell.then_some(*most)
}

/// The first runs of the points of a climb, as far as they are measured.
pub(super) struct Climb<'a> {
    /// The first run of each point, depths ascending.
    pub(super) measured: Vec<&'a FinishedStep>,
    /// How many of them had been measured when the highest was measured once more, and that step.
    again: Option<(usize, &'a FinishedStep)>,
    /// The step that comes next; absent where the climb has ended.
    next: Option<Step>,
}

impl<'a> Climb<'a> {
    /// Whether a first run is of an earlier state of the volume, or of both: where the same load shows that the volume changed, that holds for
    /// whatever gave more before, at any depth.
    pub(super) fn is_outdated(&self, run: &FinishedStep) -> bool {
        let Some((count, again)) = self.again else { return false };
        let before = &self.measured[..count];
        let changed = before.iter().any(|f| f.step.iodepth == again.step.iodepth && is_outdated(f, again));
        let gave_more = run.iops > again.iops * (1.0 + GROWTH);
        before.iter().any(|f| f.step.name == run.step.name)
            && (is_outdated(run, again) || changed && gave_more)
    }

    /// The first runs that are of the present state, with what was measured once more in place of what it outdates.
    fn standing(&self) -> Vec<&'a FinishedStep> {
        let present = self.measured.iter().filter_map(|f| match self.again {
            Some((_, again)) if self.is_outdated(f) => {
                Some(again).filter(|again| again.step.iodepth == f.step.iodepth)
            }
            _ => Some(*f),
        });
        present.collect()
    }
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

impl CourseOf<'_, Sweep> {
    /// The next run of a point.
    fn next_point(&self, finished: &[FinishedStep]) -> Option<Step> {
        let done = Finished::new(finished);
        let mut kept = Vec::new();
        for points in self.climbs() {
            let climb = self.climb(&points, &done);
            if climb.next.is_some() {
                return climb.next;
            }
            kept.extend(points.into_iter().take(climb.measured.len()));
        }
        (1..self.repeats).find_map(|run| {
            let order = shuffled(kept.clone(), self.seed ^ u64::from(run));
            let steps = order.iter().map(|point| self.step(point, run));
            steps.into_iter().find(|step| done.get(&step.name).is_none())
        })
    }

    /// How long the sweep takes.
    fn length(&self) -> Forecast {
        let all = self.points();
        let depth = self.depth_axis();
        // Two doublings beyond the sufficient depth show that more depth does not raise the rate.
        let deepest = 4 * LIKELY_DEPTH / u64::from(self.base.numjobs.max(1));
        let likely = all.iter().filter(|p| depth.is_none_or(|d| p[d] <= deepest)).count();
        let [likely, worst] = [likely * self.repeats as usize, self.worst_steps()]
            .map(|steps| (steps, Nanos(steps as u64 * self.step_time().0)));
        Forecast::of_steps(likely, worst, self.base.rw.changes_data())
    }

    pub(super) fn place(&self, option: AxisOption) -> Option<usize> {
        self.axes.iter().position(|a| a.option == option)
    }

    pub(super) fn depth_axis(&self) -> Option<usize> {
        self.place(AxisOption::Iodepth)
    }

    /// The first runs of some points, depths ascending. Where the rate fell, the point with the highest is measured once more before the
    /// climb ends: a volume that changed meanwhile does not look like one that loses by depth.
    pub(super) fn climb<'a>(&self, points: &[Values], done: &Finished<'a>) -> Climb<'a> {
        let mut climb = Climb { measured: Vec::new(), again: None, next: None };
        let deep = self.depth_axis().is_some();
        loop {
            let standing = climb.standing();
            let point = points.get(climb.measured.len());
            if deep && (point.is_none() || levelled(&standing)) {
                let top = fallen_from(&standing).filter(|_| climb.again.is_none());
                let Some(again) = top.map(|top| again(&top.step)) else { return climb };
                let Some(found) = done.get(&again.name) else {
                    climb.next = Some(again);
                    return climb;
                };
                climb.again = Some((climb.measured.len(), found));
                continue;
            }
            let Some(step) = point.map(|point| self.step(point, 0)) else { return climb };
            match done.get(&step.name) {
                Some(found) => climb.measured.push(found),
                None => {
                    climb.next = Some(step);
                    return climb;
                }
            }
        }
    }

    /// Steps of the longest sweep: every run of every point, and a point of each climb once more.
    pub(super) fn worst_steps(&self) -> usize {
        let again = self.depth_axis().map_or(0, |d| match self.axes[d].values.len() {
            1 => 0,
            depths => self.points().len() / depths,
        });
        self.points().len() * self.repeats as usize + again
    }

    /// All runs of each point that has one, in the order of time: those that are of the volume as it is now.
    pub(super) fn present_runs<'a>(&self, finished: &'a [FinishedStep]) -> Vec<MeasuredPoint<'a>> {
        let done = Finished::new(finished);
        let climbs: Vec<Climb> = self.climbs().iter().map(|points| self.climb(points, &done)).collect();
        let mut measured = Vec::new();
        for values in self.points() {
            let first = self.step(&values, 0);
            let mut names = vec![first.name.clone(), again(&first).name];
            names.extend((1..self.repeats).map(|run| self.step(&values, run).name));
            let all: Vec<&FinishedStep> = names.iter().filter_map(|name| done.get(name)).collect();
            if !all.is_empty() {
                let present =
                    PresentRuns::among(all.clone(), |f| climbs.iter().any(|climb| climb.is_outdated(f)));
                measured.push(MeasuredPoint { values, all, present });
            }
        }
        measured
    }

    /// The points that were asked for and have no finished step, each with its reason.
    pub(super) fn not_measured(&self, finished: &[FinishedStep]) -> Vec<UnmeasuredPoint> {
        let done = Finished::new(finished);
        let mut reasons: HashMap<Values, String> = HashMap::new();
        for points in self.climbs() {
            let climb = self.climb(&points, &done);
            let reason = match climb.measured.last() {
                Some(last) if climb.next.is_none() => {
                    format!("more depth up to {} only added waiting", last.step.iodepth)
                }
                _ => "the sweep ended before it".into(),
            };
            let open = points.into_iter().skip(climb.measured.len());
            reasons.extend(open.map(|p| (p, reason.clone())));
        }
        let mut all = Vec::new();
        for values in self.asked_points() {
            let left_out = self.axes.iter().zip(&values).any(|(axis, value)| axis.left_out.contains(value));
            let reason = if left_out { Some("no time for it".to_string()) } else { reasons.remove(&values) };
            all.extend(reason.map(|reason| UnmeasuredPoint { values, reason }));
        }
        all
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

/// A point and its runs over all repeats.
pub(super) struct MeasuredPoint<'a> {
    /// Its place on the axes.
    pub(super) values: Values,
    /// All runs, in the order of time.
    pub(super) all: Vec<&'a FinishedStep>,
    /// Those that count.
    pub(super) present: PresentRuns<'a>,
}
