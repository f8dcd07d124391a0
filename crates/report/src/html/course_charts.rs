//! The charts of a course: sweeps, searches for a load, and rounds of suites. They hold what the answer says; the page's script draws them.
//!
//! Latencies are in microseconds.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde::Serialize;

use super::bins::rounded;
use crate::suite_text::tracked;
use volproof_base::unit::{Bytes, Nanos, grouped, significant, throughput};
use volproof_course::steady::{DRIFT_PCT, RANGE_PCT, ROUNDS};
use volproof_plan::{AxisOption, TrackedFigure};
use volproof_record::{
    Record, SloAnswer, SuiteRounds, SweepAnswer, SweepPoint, TrialOutcome, promise_direction,
};

/// A chart has so many measured series at most.
const MOST_SERIES: usize = 4;
/// Colours of measured series.
const COLOURS: [&str; MOST_SERIES] = ["accent", "second", "third", "fourth"];

/// A chart.
#[derive(Debug, Default, Serialize)]
pub struct CourseChart {
    /// Its title.
    #[serde(skip)]
    pub title: String,
    /// How to read it.
    #[serde(skip)]
    pub caption: String,
    x: ChartAxis,
    y: ChartAxis,
    series: Vec<ChartSeries>,
    /// Latencies by row and column, in place of series.
    cells: Vec<Vec<Option<f64>>>,
}

/// An axis.
#[derive(Debug, Default, Serialize)]
struct ChartAxis {
    name: String,
    logarithmic: bool,
    is_latency: bool,
    /// Values with their texts, where the script is not to choose round ones.
    marks: Vec<(f64, String)>,
}

/// Points of one kind.
#[derive(Debug, Serialize)]
struct ChartSeries {
    name: String,
    colour: &'static str,
    kind: SeriesKind,
    points: Vec<ChartPoint>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum SeriesKind {
    /// Measured points with a line through them.
    Line,
    /// Measured points.
    Dots,
    /// A line that nothing was measured for: a promise, a limit, a fit.
    Dashed,
}

#[derive(Debug, Serialize)]
struct ChartPoint {
    x: f64,
    y: f64,
    /// The text beside the pointer.
    said: String,
    /// The word beside the point.
    beside: String,
}

fn axis(name: &str) -> ChartAxis {
    ChartAxis { name: name.into(), ..ChartAxis::default() }
}

fn logarithmic(name: &str) -> ChartAxis {
    ChartAxis { logarithmic: true, ..axis(name) }
}

fn latency_axis(name: &str) -> ChartAxis {
    ChartAxis { is_latency: true, ..logarithmic(name) }
}

fn micros(n: Nanos) -> f64 {
    n.0 as f64 / 1e3
}

/// A line through places that nothing was measured at.
fn dashed(name: String, colour: &'static str, places: impl IntoIterator<Item = (f64, f64)>) -> ChartSeries {
    let point =
        |(x, y)| ChartPoint { x: rounded(x), y: rounded(y), said: name.clone(), beside: String::new() };
    let points = places.into_iter().map(point).collect();
    ChartSeries { name, colour, kind: SeriesKind::Dashed, points }
}

/// An upright line over the height of some series.
fn upright(name: String, colour: &'static str, x: f64, beside: &[ChartSeries]) -> ChartSeries {
    let heights = beside.iter().flat_map(|s| &s.points).map(|p| p.y);
    let (low, high) = heights.fold((f64::MAX, 0.0), |(l, h), y| (y.min(l), y.max(h)));
    dashed(name, colour, [(x, low.min(high)), (x, high)])
}

/// The points of each combination of the other options, which has a name. The combination with the highest rate comes first: charts draw
/// the first few.
fn groups<'a>(sweep: &'a SweepAnswer, without: &[AxisOption]) -> Vec<(String, Vec<&'a SweepPoint>)> {
    let mut groups: Vec<(String, Vec<&SweepPoint>)> = Vec::new();
    for point in &sweep.points {
        let others = sweep.axes.iter().filter(|axis| !without.contains(axis));
        let name = point.place(others);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, group)) => group.push(point),
            None => groups.push((name, vec![point])),
        }
    }
    let highest = sweep.points.iter().max_by(|a, b| sound_and_fast(a, b));
    let best = groups.iter().position(|(_, group)| group.iter().any(|p| Some(*p) == highest));
    if let Some(best) = best {
        groups[..=best].rotate_right(1);
    }
    groups
}

/// A point that nothing spoilt is above one that something did, and of those alike the one with the higher rate.
fn sound_and_fast(a: &SweepPoint, b: &SweepPoint) -> Ordering {
    let sound = a.spoilt_by.is_empty().cmp(&b.spoilt_by.is_empty());
    sound.then(a.iops.total_cmp(&b.iops))
}

/// Points of a sweep as a series, each with its depth beside it; `place` says where each lies.
fn measured(
    sweep: &SweepAnswer,
    number: usize,
    name: &str,
    points: &[&SweepPoint],
    place: impl Fn(&SweepPoint) -> Option<(f64, f64)>,
) -> ChartSeries {
    let points = points.iter().filter_map(|p| {
        let (x, y) = place(p)?;
        Some(ChartPoint { x: rounded(x), y: rounded(y), said: said(sweep, p), beside: p.iodepth.to_string() })
    });
    let colour = COLOURS[number % MOST_SERIES];
    ChartSeries { name: name.into(), colour, kind: SeriesKind::Line, points: points.collect() }
}

/// Leaves out the depths beside the points.
fn without_depths(series: &mut ChartSeries) {
    for point in &mut series.points {
        point.beside.clear();
    }
}

/// Everything about a point.
fn said(sweep: &SweepAnswer, p: &SweepPoint) -> String {
    let spoilt =
        if p.spoilt_by.is_empty() { String::new() } else { format!(" ({})", p.spoilt_by.join(", ")) };
    let mean = Nanos(p.mean_ns.round() as u64);
    format!("{}: {} IOPS, mean {mean}{spoilt}", p.place(&sweep.axes), significant(p.iops))
}

/// The words about series that are not drawn.
fn left_out(groups: usize) -> String {
    if groups > MOST_SERIES {
        format!(" The best and {} more of {groups} are drawn.", MOST_SERIES - 1)
    } else {
        String::new()
    }
}

/// The charts of a sweep: latency against rate, rate over block size, latency over mixes.
pub(super) fn of_sweep(record: &Record, sweep: &SweepAnswer) -> Vec<CourseChart> {
    let mut charts = Vec::new();
    if sweep.axes.contains(&AxisOption::Iodepth) {
        charts.push(latency_against_rate(record, sweep));
    }
    if sweep.axes.contains(&AxisOption::Bs) {
        charts.push(rate_by_block(record, sweep));
    }
    charts.extend(latency_of_mixes(sweep));
    charts
}

/// The promised rate at a block size.
fn promised(record: &Record, sweep: &SweepAnswer, block: Bytes) -> Option<f64> {
    let promise = &record.judged_promise.as_ref()?.promise;
    Some(promise.least(block, promise_direction(sweep.rw)?)?.iops)
}

/// Latency against rate, as depth rises: three percentiles of one load, or the 99th of up to four.
fn latency_against_rate(record: &Record, sweep: &SweepAnswer) -> CourseChart {
    let groups = groups(sweep, &[AxisOption::Iodepth]);
    let mut series: Vec<ChartSeries> = Vec::new();
    if let [(_, one)] = groups.as_slice() {
        series.push(measured(sweep, 0, "p50", one, |p| Some((p.iops, micros(p.p50_ns?)))));
        series.push(measured(sweep, 1, "p99", one, |p| Some((p.iops, micros(p.p99_ns?)))));
        series.push(measured(sweep, 2, "p99.9", one, |p| Some((p.iops, micros(p.p999_ns?)))));
    } else {
        for (i, (name, group)) in groups.iter().take(MOST_SERIES).enumerate() {
            let name = format!("p99, {name}");
            series.push(measured(sweep, i, &name, group, |p| Some((p.iops, micros(p.p99_ns?)))));
        }
    }
    // The series of one load have the same depths: one of them shows them.
    if groups.len() == 1 {
        series[..2].iter_mut().for_each(without_depths);
    }
    if let Some(rate) = groups.first().and_then(|(_, g)| promised(record, sweep, g[0].block_bytes)) {
        series.push(upright("promised".into(), "bad", rate, &series));
    }
    CourseChart {
        title: "Latency against rate".into(),
        caption: format!(
            "Each point is a depth. Up and no longer right is a queue. Latency is logarithmic.{}",
            left_out(groups.len())
        ),
        x: axis("IOPS"),
        y: latency_axis("latency"),
        series,
        cells: Vec::new(),
    }
}

/// The points with the highest rate of each block size.
fn most_of_each_size<'a>(group: &[&'a SweepPoint]) -> Vec<&'a SweepPoint> {
    let sizes: BTreeSet<Bytes> = group.iter().map(|p| p.block_bytes).collect();
    let of_size = sizes.into_iter().filter_map(|size| {
        let points = group.iter().filter(|p| p.block_bytes == size);
        points.max_by(|a, b| sound_and_fast(a, b)).copied()
    });
    of_size.collect()
}

/// The most at each block size beside both limits and the promise.
fn rate_by_block(record: &Record, sweep: &SweepAnswer) -> CourseChart {
    let mut series: Vec<ChartSeries> = Vec::new();
    let mut sizes: BTreeSet<Bytes> = BTreeSet::new();
    let groups = groups(sweep, &[AxisOption::Bs, AxisOption::Iodepth]);
    for (i, (name, group)) in groups.iter().take(MOST_SERIES).enumerate() {
        let name = if name.is_empty() { "the most" } else { name };
        let points = most_of_each_size(group);
        sizes.extend(points.iter().map(|p| p.block_bytes));
        let mut most = measured(sweep, i, name, &points, |p| Some((p.block_bytes.0 as f64, p.iops)));
        without_depths(&mut most);
        series.push(most);
    }
    if let (Some(fit), Some(low), Some(high)) = (sweep.caps.first(), sizes.first(), sizes.last()) {
        let (a, b) = (fit.iops_cap.unwrap_or(f64::INFINITY), fit.bytes_cap.unwrap_or(f64::INFINITY));
        let (low, high) = (low.0 as f64, high.0 as f64);
        let knee = fit.knee_bytes.filter(|k| *k > low && *k < high);
        let name = format!(
            "the limits: {}, {}{}",
            fit.iops_cap.map_or("no limit of I/Os met".into(), |a| format!("{} IOPS", significant(a))),
            fit.bytes_cap.map_or("none of bytes".into(), throughput),
            fit.only_at_depth.map_or(String::new(), |n| format!(
                ", with up to {} in flight, which more depth may raise",
                grouped(n)
            ))
        );
        let places = [Some(low), knee, Some(high)].into_iter().flatten();
        series.push(dashed(name, "soft", places.map(|size| (size, a.min(b / size)))));
    }
    let promise: Vec<(f64, f64)> =
        sizes.iter().filter_map(|size| Some((size.0 as f64, promised(record, sweep, *size)?))).collect();
    if !promise.is_empty() {
        series.push(dashed("promised".into(), "bad", promise));
    }
    let marks = sizes.iter().map(|size| (size.0 as f64, size.to_string())).collect();
    CourseChart {
        title: "Rate by block size".into(),
        caption: format!(
            "Level where I/Os are the limit, falling where bytes are. Both axes are logarithmic.{}",
            left_out(groups.len())
        ),
        x: ChartAxis { marks, ..logarithmic("block size") },
        y: logarithmic("IOPS"),
        series,
        cells: Vec::new(),
    }
}

/// Mean latency over shares of reads and another option; empty where nothing was measured.
fn latency_of_mixes(sweep: &SweepAnswer) -> Option<CourseChart> {
    let other = *sweep.axes.iter().find(|axis| **axis != AxisOption::Rwmix)?;
    if !sweep.axes.contains(&AxisOption::Rwmix) {
        return None;
    }
    let mixes: BTreeSet<u64> = sweep.points.iter().map(|p| p.on(AxisOption::Rwmix)).collect();
    let others: BTreeSet<u64> = sweep.points.iter().map(|p| p.on(other)).collect();
    let mut cells = Vec::new();
    for row in &others {
        let sound = sweep.points.iter().filter(|p| p.spoilt_by.is_empty() && p.on(other) == *row);
        let latency = |mix: &u64| {
            sound.clone().find(|p| p.on(AxisOption::Rwmix) == *mix).map(|p| rounded(p.mean_ns / 1e3))
        };
        cells.push(mixes.iter().map(latency).collect());
    }
    let x_marks = mixes.iter().map(|m| (*m as f64, format!("{m} %"))).collect();
    let y_marks = others.iter().map(|v| (*v as f64, other.show(*v))).collect();
    Some(CourseChart {
        title: "Mean latency of each mix".into(),
        caption: "The darker, the longer; logarithmic. Empty: not measured, or not reached by the volume."
            .into(),
        x: ChartAxis { marks: x_marks, ..axis("share of reads") },
        y: ChartAxis { marks: y_marks, ..axis(other.name()) },
        series: Vec::new(),
        cells,
    })
}

/// The trials of an SLO search: the limited figure against the offered load.
pub(super) fn of_slo(slo: &SloAnswer) -> Option<CourseChart> {
    let offered: Vec<f64> =
        slo.trials.iter().filter(|t| t.value_ns.is_some()).map(|t| t.offered_per_second).collect();
    if offered.is_empty() {
        return None;
    }
    let (low, high) = offered.iter().fold((f64::MAX, 0f64), |(l, h), v| (v.min(l), v.max(h)));
    let limit = micros(slo.limit_ns);
    let kinds = [
        (TrialOutcome::Holds, "third", "holds"),
        (TrialOutcome::Unsure, "fourth", "does not decide"),
        (TrialOutcome::Fails, "second", "fails"),
        (TrialOutcome::Overload, "bad", "fails by overload"),
    ];
    let mut series = Vec::new();
    for (outcome, colour, word) in kinds {
        let points: Vec<ChartPoint> = slo
            .trials
            .iter()
            .filter(|t| t.outcome == outcome)
            .filter_map(|t| {
                let (rate, value) = (t.offered_per_second, t.value_ns?);
                let said = format!("{}: {} IOPS offered, {} {value}", t.step, significant(rate), slo.figure);
                Some(ChartPoint { x: rounded(rate), y: rounded(micros(value)), said, beside: String::new() })
            })
            .collect();
        if !points.is_empty() {
            series.push(ChartSeries {
                name: format!("a trial that {word}"),
                colour,
                kind: SeriesKind::Dots,
                points,
            });
        }
    }
    if let Some(found) = slo.holds_per_second {
        let name = format!("the highest load: {} IOPS", significant(found));
        series.push(upright(name, "soft", found, &series));
    }
    let name = format!("limit: {} {}", slo.figure, slo.limit_ns);
    series.push(dashed(name, "bad", [(low, limit), (high, limit)]));
    Some(CourseChart {
        title: "Response time against offered load".into(),
        caption: "Each point is a trial. Under overload the volume does not complete what is offered. Latency is logarithmic.".into(),
        x: axis("offered IOPS"),
        y: latency_axis("response time"),
        series,
        cells: Vec::new(),
    })
}

/// The tracked figure of all rounds, and over the window its mean, its limits and its fitted line.
pub(super) fn of_rounds(rounds: &SuiteRounds) -> CourseChart {
    let (scale, unit) = match rounds.figure {
        TrackedFigure::MeanLatency => (1e3, "mean latency, µs"),
        TrackedFigure::BytesPerSecond => (Bytes::MIB.0 as f64, "MiB/s"),
        TrackedFigure::Iops | TrackedFigure::FirstMinute => (1.0, rounds.figure.words()),
    };
    let end = rounds.reached.map_or(rounds.values.len(), |r| r as usize);
    let mut points = Vec::new();
    for (i, value) in rounds.values.iter().enumerate() {
        let said = format!("round {}: {}", i + 1, tracked(rounds.figure, *value));
        points.push(ChartPoint { x: (i + 1) as f64, y: rounded(value / scale), said, beside: String::new() });
    }
    let marks = (1..=points.len()).map(|n| (n as f64, n.to_string())).collect();
    let mut series =
        vec![ChartSeries { name: rounds.step.clone(), colour: "accent", kind: SeriesKind::Line, points }];
    if let Some(mean) = rounds.window_mean.map(|mean| mean / scale).filter(|_| end >= ROUNDS) {
        let (low, high) = ((end - ROUNDS + 1) as f64, end as f64);
        let half = rounds.drift_pct.unwrap_or_default() / 200.0;
        series.push(dashed("mean of the window".into(), "soft", [(low, mean), (high, mean)]));
        let beside = RANGE_PCT / 2.0;
        let (above, below) = (mean * (1.0 + beside / 100.0), mean * (1.0 - beside / 100.0));
        series.push(dashed(format!("mean + {beside} %"), "bad", [(low, above), (high, above)]));
        series.push(dashed(format!("mean - {beside} %"), "bad", [(low, below), (high, below)]));
        let fit = [(low, mean * (1.0 - half)), (high, mean * (1.0 + half))];
        series.push(dashed("fitted line".into(), "second", fit));
    }
    let caption = match rounds.reached {
        Some(_) => format!(
            "Steady: over {ROUNDS} rounds a range of at most {RANGE_PCT} % of the mean, and a fitted line that changes by at most {DRIFT_PCT} %."
        ),
        None => "Not steady.".into(),
    };
    CourseChart {
        title: format!("Convergence of {}", rounds.phase),
        caption,
        x: ChartAxis { marks, ..axis("round") },
        y: axis(unit),
        series,
        cells: Vec::new(),
    }
}
