//! The answer of a sweep, from its finished points: limits, the depth that is enough, and doubts, in one sentence and notes.

use super::changed_volume::{CHANGED, is_outdated};
use super::course_of::CourseOf;
use super::depth_knee::depth_answer;
use super::forecast::SHORTEST_STEP;
use super::measured_points::{Values, highest, total_depth};
use super::slo_conclusion::{TypeBurst, promised_iops};
use super::sweep_course::MeasuredPoint;
use super::{FinishedStep, POINT_TIME, caps, point};
use volproof_base::stats::moments::mean;
use volproof_base::unit::{Bytes, grouped, significant, throughput};
use volproof_judge::{PromisedRates, question_of_excess};
use volproof_plan::{AxisOption, Sweep};
use volproof_promise::catalogue::Promise;
use volproof_record::{
    AxisBest, CapFit, DeadTime, DepthAnswer, JudgedPromise, SweepAnswer, SweepPoint, promise_direction,
};

/// Where the rate differs by less than this over the shares of reads, reads and writes have one limit.
const SAME_LIMIT: f64 = 0.05;
/// Rates of two block sizes that differ by less have met one limit.
const SAME_CAP: f64 = 0.01;
/// Dead time of this share of a point makes its rate a mean of two states; the sentence says so.
const DEAD_TIME_SHARE: f64 = 0.05;
/// A volume whose rate changes by more than this share between the first and the last runs drifts.
const DRIFT: f64 = 0.03;

fn of_point(measured: &MeasuredPoint<'_>) -> (Values, SweepPoint) {
    let mut point = point::of_runs(&measured.present.runs);
    if measured.present.changed {
        point.spoilt_by.push(CHANGED.into());
    }
    (measured.values.clone(), point)
}

fn is_changed(point: &SweepPoint) -> bool {
    point.spoilt_by.iter().any(|code| code == CHANGED)
}

/// A load that was measured before the volume changed, and after; none for a volume that stayed as it is.
fn twice<'a>(measured: &[MeasuredPoint<'a>]) -> Option<(&'a FinishedStep, &'a FinishedStep)> {
    let mut found = Vec::new();
    for p in measured {
        let Some(last) = p.all.last() else { continue };
        found.extend(p.all.iter().filter(|f| is_outdated(f, last)).map(|high| (*high, *last)));
    }
    found.into_iter().max_by(|a, b| a.0.iops.total_cmp(&b.0.iops))
}

/// This many requests in flight, in the words of a sweep with one job, whose `--iodepth` it is, or with several.
fn in_flight_words(points: &[(Values, SweepPoint)], depth: u64) -> String {
    if points.iter().any(|(_, p)| p.numjobs > 1) {
        format!("{} in flight", grouped(depth))
    } else {
        format!("depth {}", grouped(depth))
    }
}

impl CourseOf<'_, Sweep> {
    /// Whether points are long enough for a rate that can be quoted: shorter ones tell neither a limit nor the depth that is enough.
    fn concludes(&self) -> bool {
        self.base.runtime >= SHORTEST_STEP
    }

    /// The answer so far, held against a promise where there is one; none before the first step has finished.
    pub(super) fn sweep_answer(
        &self,
        finished: &[FinishedStep],
        judged_promise: Option<&JudgedPromise>,
    ) -> Option<SweepAnswer> {
        let measured = self.present_runs(finished);
        if measured.is_empty() {
            return None;
        }
        let points: Vec<(Values, SweepPoint)> = measured.iter().map(of_point).collect();
        let concludes = self.concludes();
        let promise = judged_promise.map(|judged_promise| &judged_promise.promise);
        let depths = if concludes { self.depths(&points) } else { Vec::new() };
        let caps = if concludes { self.caps(&points, promise) } else { Vec::new() };
        let best = self.best(&points);
        let changed = twice(&measured).map(|twice| self.changed_note(twice, &points));
        let mut notes = self.notes(&points, &measured, &depths);
        notes.extend(changed);
        notes.extend(judged_promise.and_then(|judged_promise| self.beside_promise(&points, judged_promise)));
        Some(SweepAnswer {
            sentence: self.sentence(&points, (&depths, &caps, &best)),
            rw: self.base.rw,
            axes: self.axes.iter().map(|a| a.option).collect(),
            depths,
            caps,
            best,
            notes,
            points: points.into_iter().map(|(_, point)| point).collect(),
            not_measured: self.not_measured(finished),
        })
    }

    /// The most beside what is promised at its block size: a sweep judges nothing, and what a burst or another type gives is no rate that lasts.
    fn beside_promise(
        &self,
        points: &[(Values, SweepPoint)],
        judged_promise: &JudgedPromise,
    ) -> Option<String> {
        let (values, most) = highest(&points.iter().collect::<Vec<_>>())?;
        let rates =
            PromisedRates::at_block(judged_promise, most.block_bytes, promise_direction(self.base.rw)?)?;
        if let Some(question) = question_of_excess(judged_promise, &rates, (most.iops, most.bytes_per_second))
        {
            return Some(format!("the most is {question}"));
        }
        let promised = rates.least.iops;
        let share = significant(100.0 * most.iops / promised);
        let base = format!(
            "{} IOPS are promised at {}, and the most is {share} % of them",
            grouped(promised.round() as u64),
            most.block_bytes
        );
        let burst = TypeBurst::in_promise(&judged_promise.promise, &self.step(values, 0))
            .filter(|b| most.iops > b.baseline);
        Some(match burst.map(|b| b.lasts) {
            Some(Some(lasts)) => {
                format!(
                    "{base}: the type bursts for up to {}, and the most may last no longer",
                    lasts.clock()
                )
            }
            Some(None) => format!("{base}: the type bursts, and the most may last no longer than its burst"),
            None => format!("{base}; a sweep judges nothing, `volproof run` with the promise does"),
        })
    }

    /// The points, grouped by the values of all options but those of `without`, in the order of the axes.
    fn groups<'a>(
        &self,
        points: &'a [(Values, SweepPoint)],
        without: &[AxisOption],
    ) -> Vec<(String, Vec<&'a (Values, SweepPoint)>)> {
        let mut groups: Vec<(String, Vec<&(Values, SweepPoint)>)> = Vec::new();
        for point in points {
            let of_axes = self.axes.iter().zip(&point.0).filter(|(axis, _)| !without.contains(&axis.option));
            let words: Vec<String> = of_axes.map(|(axis, value)| axis.option.words(*value)).collect();
            let at = words.join(", ");
            match groups.iter_mut().find(|(name, _)| *name == at) {
                Some((_, group)) => group.push(point),
                None => groups.push((at, vec![point])),
            }
        }
        groups
    }

    fn depths(&self, points: &[(Values, SweepPoint)]) -> Vec<DepthAnswer> {
        if self.depth_axis().is_none() {
            return Vec::new();
        }
        self.depth_curves(points).into_iter().map(|curve| curve.answer).collect()
    }

    /// The effect of depth at each value of the other axes. A rate that still grew with depth to the limit that other block sizes have met is at that
    /// limit too.
    fn depth_curves<'a>(&self, points: &'a [(Values, SweepPoint)]) -> Vec<DepthCurve<'a>> {
        let groups = self.groups(points, &[AxisOption::Iodepth]);
        let mut curves: Vec<DepthCurve<'a>> = Vec::new();
        for (at, group) in groups {
            if let (Some(most), Some(answer)) = (highest(&group), depth_answer(at, &group)) {
                curves.push(DepthCurve { most, answer });
            }
        }
        let met: Vec<_> = curves.iter().filter(|c| !c.answer.at_edge).map(|c| c.most).collect();
        for curve in curves.iter_mut().filter(|c| c.answer.at_edge) {
            let (values, most) = curve.most;
            let mut beside = met.iter().filter(|(other, _)| self.differ_by_size_and_depth(values, other));
            curve.answer.at_edge = !beside.any(|(_, p)| have_met_one_limit(most, p));
        }
        curves
    }

    /// Two points have the same values of all options but block size and depth.
    fn differ_by_size_and_depth(&self, a: &Values, b: &Values) -> bool {
        let free = [self.place(AxisOption::Bs), self.depth_axis()];
        (0..a.len()).all(|place| free.contains(&Some(place)) || a[place] == b[place])
    }

    fn caps(&self, points: &[(Values, SweepPoint)], promise: Option<&Promise>) -> Vec<CapFit> {
        if self.place(AxisOption::Bs).is_none() {
            return Vec::new();
        }
        let groups = self.groups(points, &[AxisOption::Bs, AxisOption::Iodepth]);
        let curves = self.depth_curves(points);
        let fits = groups.into_iter().filter_map(|(at, group)| {
            let sizes = group.chunk_by(|(_, a), (_, b)| a.block_bytes == b.block_bytes);
            let most: Vec<(Bytes, f64)> =
                sizes.filter_map(highest).map(|(_, p)| (p.block_bytes, p.iops)).collect();
            let edges = curves.iter().filter(|c| c.answer.at_edge && group.contains(&c.most));
            let only_at_depth = edges.map(|c| c.answer.most_at).max();
            let fit = caps::fit(at, &most, |size| promised_iops(promise?, self.base.rw, size))?;
            Some(CapFit { only_at_depth, ..fit })
        });
        fits.collect()
    }

    /// The highest rate at each value of each axis but depth, in a sweep of more than one axis.
    fn best(&self, points: &[(Values, SweepPoint)]) -> Vec<AxisBest> {
        let mut best = Vec::new();
        for (place, axis) in self.axes.iter().enumerate().filter(|(_, a)| a.option != AxisOption::Iodepth) {
            for value in &axis.values {
                let of_value: Vec<_> = points.iter().filter(|(values, _)| values[place] == *value).collect();
                best.extend(highest(&of_value).map(|(_, p)| AxisBest {
                    option: axis.option,
                    value: *value,
                    iops: p.iops,
                    bytes_per_second: p.bytes_per_second,
                }));
            }
        }
        best
    }

    fn sentence(
        &self,
        points: &[(Values, SweepPoint)],
        (depths, caps, best): (&[DepthAnswer], &[CapFit], &[AxisBest]),
    ) -> String {
        let all: Vec<_> = points.iter().collect();
        let Some((values, most)) = highest(&all) else { return String::new() };
        let at: Vec<String> = self
            .axes
            .iter()
            .zip(values)
            .filter(|(axis, _)| axis.option != AxisOption::Iodepth)
            .map(|(axis, value)| axis.option.words(*value))
            .collect();
        let (iops, rate) = (grouped(most.iops.round() as u64), throughput(most.bytes_per_second));
        let fit = caps.iter().find(|c| c.explains);
        // Where I/Os are the limit at every block size, the largest has the most bytes.
        let level = fit.is_some_and(|c| c.iops_cap.is_some() && c.bytes_cap.is_none()) && at.len() == 1;
        // Whether the volume sets the rates, and not the depth.
        let limited = self.depth_axis().is_some() && depths.iter().all(|d| !d.at_edge);
        let mut text = match at.join(", ") {
            at if level => format!("{iops} IOPS is the most at every block size ({rate} at {at})"),
            at if at.is_empty() => format!("{iops} IOPS ({rate}) is the most"),
            at => format!("{iops} IOPS ({rate}) is the most at {at}"),
        };
        let top = depths.iter().max_by(|a, b| a.most_iops.total_cmp(&b.most_iops));
        match top {
            Some(d) if d.at_edge => {
                let has_changed = points.iter().any(|(_, p)| is_changed(p) && total_depth(p) > d.most_at);
                let seen = if has_changed { "since the volume changed" } else { "at the edge of the range" };
                text += &format!(
                    " that was seen, {seen}: more than {} may give more",
                    in_flight_words(points, d.most_at)
                );
            }
            Some(d) => {
                let enough = in_flight_words(points, d.enough);
                // A smaller one may reach it too, where none of the present volume was measured.
                let open = points.iter().any(|(_, p)| total_depth(p) < d.enough && is_changed(p));
                let smallest = if open { "" } else { "is the smallest that " };
                text += &format!("; {enough} {smallest}reaches 95 % of it");
            }
            None if self.concludes() => text += &format!(", with {} in flight", grouped(total_depth(most))),
            None => {
                text += &format!(
                    " that was seen, with {} in flight, of points too short for an interval: to know limits and the depth that is enough, give \
                     --runtime {} or more",
                    grouped(total_depth(most)),
                    POINT_TIME.0.exact()
                )
            }
        }
        if let Some(fit) = fit.filter(|fit| !level && fit.only_at_depth.is_none()) {
            let (a, b) = (fit.iops_cap, fit.bytes_cap);
            let iops = a.map(|a| format!("{} IOPS", grouped(a.round() as u64)));
            let bytes = b.map(throughput);
            text += &match (iops, bytes, fit.knee_bytes) {
                (Some(iops), Some(bytes), Some(knee)) => {
                    format!("; the limit is {iops} up to blocks of {} and {bytes} above", Bytes(knee as u64))
                }
                (Some(one), ..) | (None, Some(one), _) => {
                    format!("; the limit is {one} at every block size")
                }
                (None, None, _) => String::new(),
            };
        }
        if let Some(spread) = spread_of(best, AxisOption::Rwmix) {
            let percent = significant(100.0 * spread);
            text += &if limited && spread <= SAME_LIMIT {
                format!("; the mix changes it by {percent} %: reads and writes have one limit")
            } else {
                format!("; the mix changes it by {percent} %")
            };
        }
        if let Some((_, dead)) = most_dead(points).filter(|(_, dead)| dead.share >= DEAD_TIME_SHARE) {
            let percent = significant(100.0 * dead.share);
            text += &format!("; the volume delivered nothing for up to {percent} % of the time");
        }
        text + "."
    }

    /// What shows that the volume changed, and what became of the points that were measured before.
    fn changed_note(
        &self,
        (high, low): (&FinishedStep, &FinishedStep),
        points: &[(Values, SweepPoint)],
    ) -> String {
        let [before, since] = [high, low].map(|f| grouped(f.iops.round() as u64));
        let axes: Vec<AxisOption> = self.axes.iter().map(|axis| axis.option).collect();
        let marked = points.iter().filter(|(_, p)| is_changed(p));
        let marked: Vec<String> = marked.map(|(_, p)| p.place(&axes)).collect();
        let left = match marked.as_slice() {
            [] => "what was measured before the change is in no figure".to_string(),
            all => format!(
                "{} (marked !) {} of the time before or of both: measure again{}",
                all.join("; "),
                if all.len() == 1 { "is" } else { "are" },
                if self.repeats < 3 { ", with --repeats 3" } else { "" }
            ),
        };
        format!(
            "the volume changed during the sweep: {} gave {before} IOPS at first and {since} IOPS when it was measured again, as where burst credits run out; {left}",
            point::of_runs(&[high]).place(&axes)
        )
    }

    fn notes(
        &self,
        points: &[(Values, SweepPoint)],
        measured: &[MeasuredPoint<'_>],
        depths: &[DepthAnswer],
    ) -> Vec<String> {
        let mut notes: Vec<String> =
            self.left_out.iter().map(|what| format!("left out for lack of time: {what}")).collect();
        let deepest = self.depth_axis().and_then(|axis| self.axes[axis].values.last());
        let is_deepest = |d: &&DepthAnswer| {
            let of_group = points.iter().filter(|(_, p)| total_depth(p) == d.most_at);
            of_group.map(|(_, p)| u64::from(p.iodepth)).any(|depth| Some(&depth) == deepest)
        };
        for d in depths.iter().filter(|d| d.at_edge).filter(is_deepest) {
            let at = if d.at.is_empty() { String::new() } else { format!(" with {}", d.at) };
            notes.push(format!(
                "the rate still grew at {}{at}: give --iodepth a larger range",
                in_flight_words(points, d.most_at)
            ));
        }
        for d in depths {
            if let Some(after) = d.falls_after {
                let at = if d.at.is_empty() { String::new() } else { format!(" with {}", d.at) };
                notes.push(format!("more than {}{at} gives less", in_flight_words(points, after)));
            }
        }
        if self.place(AxisOption::Bs).is_some() && self.depth_axis().is_none() {
            notes.push(format!(
                "depth was {} at every point; whether more depth gives more was not measured: add --iodepth 1..256",
                self.base.iodepth
            ));
        }
        let spoilt: Vec<&SweepPoint> =
            points.iter().map(|(_, p)| p).filter(|p| !p.spoilt_by.is_empty()).collect();
        let mut codes: Vec<&str> = spoilt.iter().flat_map(|p| &p.spoilt_by).map(String::as_str).collect();
        codes.retain(|code| *code != CHANGED);
        codes.sort_unstable();
        codes.dedup();
        if !codes.is_empty() {
            let is_all = spoilt.len() == points.len();
            let what = if is_all { "no point shows" } else { "points marked ! do not show" };
            notes.push(format!(
                "{what} what the volume can do ({}): `volproof show RECORD --details` says why",
                codes.join(", ")
            ));
        }
        if let Some((point, dead)) = most_dead(points) {
            let with = points.iter().filter(|(_, p)| p.dead_time.is_some()).count();
            let axes = self.axes.iter().map(|axis| &axis.option);
            notes.push(format!(
                "points marked ~ ({with} of {}) had times of a second or longer in which requests waited and none completed, \
                 at {} for {} % of the time ({}): their rates are means over such times; `volproof show RECORD --details` says when",
                points.len(),
                point.place(axes),
                significant(100.0 * dead.share),
                dead.finding
            ));
        }
        notes.extend(drift(measured));
        notes
    }
}

/// The mean change from the first runs to the last, where the volume drifts and no load shows that it changed.
fn drift(measured: &[MeasuredPoint<'_>]) -> Option<String> {
    let ends =
        measured.iter().filter(|p| p.all.len() > 1).map(|p| (p.all[0].iops, p.all[p.all.len() - 1].iops));
    let changes: Vec<f64> = ends
        .filter(|(first, last)| *first > 0.0 && *last > 0.0)
        .map(|(first, last)| (last / first).ln())
        .collect();
    if changes.is_empty() || mean(&changes).abs() <= DRIFT || twice(measured).is_some() {
        return None;
    }
    let percent = 100.0 * (mean(&changes).exp() - 1.0);
    let word = if percent > 0.0 { "faster" } else { "slower" };
    Some(format!(
        "the volume changed during the sweep: the last runs are {} % {word} than the first",
        significant(percent.abs())
    ))
}

/// Rates in I/Os or in bytes are the same.
fn have_met_one_limit(a: &SweepPoint, b: &SweepPoint) -> bool {
    let ratios = [a.bytes_per_second / b.bytes_per_second, a.iops / b.iops];
    ratios.iter().any(|ratio| (ratio - 1.0).abs() <= SAME_CAP)
}

/// The effect of depth in a group of points, with the point of the highest rate.
struct DepthCurve<'a> {
    most: &'a (Values, SweepPoint),
    answer: DepthAnswer,
}

/// The point with the longest dead time.
fn most_dead(points: &[(Values, SweepPoint)]) -> Option<(&SweepPoint, &DeadTime)> {
    let dead = points.iter().filter_map(|(_, p)| Some((p, p.dead_time.as_ref()?)));
    dead.max_by(|a, b| a.1.share.total_cmp(&b.1.share))
}

/// The difference between the largest and the smallest rate, as a share of their mean.
fn spread_of(best: &[AxisBest], option: AxisOption) -> Option<f64> {
    let rates: Vec<f64> = best.iter().filter(|b| b.option == option).map(|b| b.iops).collect();
    let (low, high) = (rates.iter().copied().reduce(f64::min)?, rates.iter().copied().reduce(f64::max)?);
    (rates.len() > 1 && high > 0.0).then(|| (high - low) / mean(&rates))
}

#[cfg(test)]
mod tests;
