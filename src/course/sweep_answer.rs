//! The answer of a sweep, from its finished points: limits, the depth that is enough, and doubts, in one sentence and notes.

use super::search_answer::TypeBurst;
use super::sweeping::{GROWTH, Values, by_name};
use super::{FinishedStep, caps, point};
use crate::catalogue::Promise;
use crate::diagnose;
use crate::plan::{AxisOption, Sweep};
use crate::record::{AxisBest, CapFit, DeadTime, DepthAnswer, DepthKnee, SweepAnswer, SweepPoint};
use crate::stats::moments::mean;
use crate::unit::{Bytes, grouped, significant, throughput};

/// The smallest depth that reaches this share of the highest rate is enough.
const ENOUGH: f64 = 0.95;
/// Nothing queues at the smallest depth when the rate at the next one is higher by this share of what the depth is.
const PROPORTIONAL: f64 = 0.9;
/// A rate above this multiple of the promise is that of another volume.
const MUCH: f64 = 1.5;
/// Where the rate differs by less than this over the shares of reads, reads and writes have one limit.
const SAME_LIMIT: f64 = 0.05;
/// Dead time of this share of a point makes its rate a mean of two states; the sentence says so.
const DEAD: f64 = 0.05;
/// A volume whose rate changes by more than this share between the first and the last runs drifts.
const DRIFT: f64 = 0.03;

/// The points that show what the volume can do; all points where none does.
fn sound<'a>(points: &[&'a (Values, SweepPoint)]) -> Vec<&'a (Values, SweepPoint)> {
    let sound: Vec<_> = points.iter().copied().filter(|(_, p)| p.spoilt_by.is_empty()).collect();
    if sound.is_empty() { points.to_vec() } else { sound }
}

/// The point with the highest rate.
fn highest<'a>(points: &[&'a (Values, SweepPoint)]) -> Option<&'a (Values, SweepPoint)> {
    // Of equal rates the one with more bytes, and of those the first, which has the least depth.
    let rates = |point: &SweepPoint| (point.iops, point.bytes_per_second);
    sound(points).into_iter().reduce(|most, p| if rates(&p.1) > rates(&most.1) { p } else { most })
}

fn total_depth(point: &SweepPoint) -> u64 {
    u64::from(point.iodepth) * u64::from(point.numjobs)
}

/// This many requests in flight, in the words of a sweep with one job, whose `--iodepth` it is, or with several.
fn in_flight_words(points: &[(Values, SweepPoint)], depth: u64) -> String {
    match points.iter().any(|(_, p)| p.numjobs > 1) {
        true => format!("{} in flight", grouped(depth)),
        false => format!("depth {}", grouped(depth)),
    }
}

impl Sweep {
    /// The answer so far, held against a promise where there is one; none before the first step has finished.
    pub(super) fn sweep_answer(
        &self,
        finished: &[FinishedStep],
        promise: Option<&Promise>,
    ) -> Option<SweepAnswer> {
        let done = by_name(finished);
        let runs_of = |point: &Values| -> Vec<&FinishedStep> {
            (0..self.repeats)
                .filter_map(|run| done.get(self.step(point, run).name.as_str()).copied())
                .collect()
        };
        let measured: Vec<(Values, Vec<&FinishedStep>)> = self
            .points()
            .into_iter()
            .map(|p| (p.clone(), runs_of(&p)))
            .filter(|(_, runs)| !runs.is_empty())
            .collect();
        if measured.is_empty() {
            return None;
        }
        let points: Vec<(Values, SweepPoint)> =
            measured.iter().map(|(values, runs)| (values.clone(), point::of_runs(runs))).collect();
        let depths = self.depths(&points);
        let caps = self.caps(&points, promise);
        let best = self.best(&points);
        let mut notes = self.notes(&points, &measured, &depths);
        notes.extend(promise.and_then(|promise| self.beside_promise(&points, promise)));
        Some(SweepAnswer {
            sentence: self.sentence(&points, &depths, &caps, &best),
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
    fn beside_promise(&self, points: &[(Values, SweepPoint)], promise: &Promise) -> Option<String> {
        let (values, most) = highest(&points.iter().collect::<Vec<_>>())?;
        let promised = promise.least(most.block_bytes, diagnose::direction(self.base.rw)?)?.iops;
        let share = significant(100.0 * most.iops / promised);
        let base = format!(
            "{} IOPS are promised at {}, and the most is {share} % of them",
            grouped(promised.round() as u64),
            most.block_bytes
        );
        let burst = TypeBurst::of(promise, &self.step(values, 0)).filter(|b| most.iops > b.baseline);
        Some(match burst.map(|b| b.lasts) {
            Some(Some(lasts)) => {
                format!(
                    "{base}: the type bursts for up to {}, and the most may last no longer",
                    lasts.clock()
                )
            }
            Some(None) => format!("{base}: the type bursts, and the most may last no longer than its burst"),
            None if most.iops > MUCH * promised => format!("{base}: was the right type and size named?"),
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
        let groups = self.groups(points, &[AxisOption::Iodepth]);
        groups.into_iter().filter_map(|(at, group)| depth_answer(at, &group)).collect()
    }

    fn caps(&self, points: &[(Values, SweepPoint)], promise: Option<&Promise>) -> Vec<CapFit> {
        if self.place(AxisOption::Bs).is_none() {
            return Vec::new();
        }
        let direction = diagnose::direction(self.base.rw);
        let promised = |size: Bytes| Some(promise?.least(size, direction?)?.iops);
        let groups = self.groups(points, &[AxisOption::Bs, AxisOption::Iodepth]);
        let fits = groups.into_iter().filter_map(|(at, group)| {
            let mut sizes: Vec<Bytes> = group.iter().map(|(_, p)| p.block_bytes).collect();
            sizes.dedup();
            let of_size = |size: &Bytes| -> Vec<_> {
                group.iter().copied().filter(|(_, p)| p.block_bytes == *size).collect()
            };
            let most: Vec<(Bytes, f64)> =
                sizes.iter().filter_map(|size| Some((*size, highest(&of_size(size))?.1.iops))).collect();
            let edges = sizes.iter().filter_map(|size| depth_answer(String::new(), &of_size(size)));
            let only_at_depth = edges.filter(|d| d.at_edge).map(|d| d.most_at).max();
            Some(CapFit { only_at_depth, ..caps::fit(at, &most, promised)? })
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
        depths: &[DepthAnswer],
        caps: &[CapFit],
        best: &[AxisBest],
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
                text += &format!(
                    " that was seen, at the edge of the range: more than {} may give more",
                    in_flight_words(points, d.most_at)
                );
            }
            Some(d) => {
                let enough = in_flight_words(points, d.enough);
                text += &format!("; {enough} is the smallest that reaches 95 % of it");
            }
            None => text += &format!(", with {} in flight", grouped(total_depth(most))),
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
        if let Some((_, dead)) = most_dead(points).filter(|(_, dead)| dead.share >= DEAD) {
            let percent = significant(100.0 * dead.share);
            text += &format!("; the volume delivered nothing or little for up to {percent} % of the time");
        }
        text + "."
    }

    fn notes(
        &self,
        points: &[(Values, SweepPoint)],
        measured: &[(Values, Vec<&FinishedStep>)],
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
        if !spoilt.is_empty() {
            let mut codes: Vec<&str> = spoilt.iter().flat_map(|p| &p.spoilt_by).map(String::as_str).collect();
            codes.sort_unstable();
            codes.dedup();
            let what = match spoilt.len() == points.len() {
                true => "no point shows",
                false => "points marked ! do not show",
            };
            notes.push(format!(
                "{what} what the volume can do ({}): `volproof explain` on the Record says why",
                codes.join(", ")
            ));
        }
        if let Some((point, dead)) = most_dead(points) {
            let with = points.iter().filter(|(_, p)| p.dead_time.is_some()).count();
            let axes = self.axes.iter().map(|axis| &axis.option);
            notes.push(format!(
                "points marked ~ ({with} of {}) had times in which requests waited and the volume delivered nothing or less than half of its \
                 rate, at {} for {} % of the time ({}): their rates are means over such times; `volproof explain` on the Record says when",
                points.len(),
                point.place(axes),
                significant(100.0 * dead.share),
                dead.finding
            ));
        }
        let changes: Vec<f64> = measured
            .iter()
            .filter_map(|(_, runs)| {
                let (first, last) = (runs.first()?, runs.last().filter(|_| runs.len() > 1)?);
                (first.iops > 0.0 && last.iops > 0.0).then(|| (last.iops / first.iops).ln())
            })
            .collect();
        if !changes.is_empty() && mean(&changes).abs() > DRIFT {
            let percent = 100.0 * (mean(&changes).exp() - 1.0);
            notes.push(format!(
                "the volume changed during the sweep: the last runs are {} % {} than the first",
                significant(percent.abs()),
                if percent > 0.0 { "faster" } else { "slower" }
            ));
        }
        notes
    }
}

/// The point with the longest dead time.
fn most_dead(points: &[(Values, SweepPoint)]) -> Option<(&SweepPoint, &DeadTime)> {
    let dead = points.iter().filter_map(|(_, p)| Some((p, p.dead_time.as_ref()?)));
    dead.max_by(|a, b| a.1.share.total_cmp(&b.1.share))
}

/// The effect of depth in a group of points, ascending.
fn depth_answer(at: String, group: &[&(Values, SweepPoint)]) -> Option<DepthAnswer> {
    let (_, most) = highest(group)?;
    let sound = sound(group);
    let enough = sound.iter().find(|(_, p)| p.iops >= ENOUGH * most.iops)?;
    let (_, first) = group.first()?;
    let (_, last) = sound.last()?;
    let grew = match sound.len() {
        0 | 1 => true,
        n => last.iops > sound[n - 2].1.iops * (1.0 + GROWTH),
    };
    let apart = last.iops_high.zip(most.iops_low).is_none_or(|(high, low)| high < low);
    let curve: Vec<&SweepPoint> = group.iter().map(|(_, point)| point).collect();
    Some(DepthAnswer {
        at,
        most_iops: most.iops,
        most_at: total_depth(most),
        enough: total_depth(&enough.1),
        unloaded_ns: first.mean_ns,
        knee: if grew { None } else { knee(&curve, most) },
        at_edge: grew,
        falls_after: (last.iops < ENOUGH * most.iops && apart).then(|| total_depth(most)),
    })
}

/// The knee of rates over depth, ascending, that have levelled off. By Little's law the latency at the smallest depth is that depth
/// over its rate, so that the knee is the smallest depth times the growth of the rate, and its error that of the two rates. None where
/// the rate did not grow for certain, or where requests already queued at the smallest depth: then that latency is none of the volume's.
fn knee(curve: &[&SweepPoint], most: &SweepPoint) -> Option<DepthKnee> {
    let (first, second) = (curve.first()?, curve.get(1)?);
    let share = |p: &SweepPoint| Some((p.iops_high? - p.iops_low?) / (2.0 * p.iops));
    let queued =
        second.iops / first.iops < PROPORTIONAL * total_depth(second) as f64 / total_depth(first) as f64;
    // One request has none to wait for.
    if !first.spoilt_by.is_empty() || first.dead_time.is_some() || (total_depth(first) > 1 && queued) {
        return None;
    }
    let depth = most.iops * first.mean_ns / 1e9;
    let half = depth * share(first)?.hypot(share(most)?);
    let knee = DepthKnee { depth, low: depth - half, high: depth + half };
    (knee.low > total_depth(first) as f64 * (1.0 + GROWTH)).then_some(knee)
}

/// The difference between the largest and the smallest rate, as a share of their mean.
fn spread_of(best: &[AxisBest], option: AxisOption) -> Option<f64> {
    let rates: Vec<f64> = best.iter().filter(|b| b.option == option).map(|b| b.iops).collect();
    let (low, high) = (rates.iter().copied().reduce(f64::min)?, rates.iter().copied().reduce(f64::max)?);
    (rates.len() > 1 && high > 0.0).then(|| (high - low) / mean(&rates))
}

#[cfg(test)]
mod tests;
