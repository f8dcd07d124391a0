//! Two groups of runs as one page that needs no script: the answer, the table, and the curves laid over each other.
//!
//! Curves are SVG in the markup: rates over time in I/Os a second, and the share of I/Os within a latency.

use std::fmt::Write;

use askama::Template;

use super::bins::{Curve, Cut, rates};
use crate::compare_text::{self, change_cell, ends, figure};
use volproof_base::stats::percentile::pooled;
use volproof_base::unit::{Nanos, micro, significant};
use volproof_compare::{GateWord, RunComparison};
use volproof_record::{Record, StepRecord, bins as step_bins};

/// Width and height of a chart, in its own units.
const BOX: (f64, f64) = (640.0, 200.0);
/// Runs of a group that are drawn.
const MOST_RUNS: usize = 12;
/// Shares of I/Os on the axis of latencies.
const SHARES: [(f64, &str); 5] =
    [(0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %")];

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage<'a> {
    version: &'a str,
    answer: String,
    class: &'static str,
    basis: String,
    rows: Vec<[String; 6]>,
    comparison: &'a RunComparison,
    left_out: Vec<(&'static str, &'a str)>,
    charts: Vec<OverlaidChart>,
}

/// Curves of all runs in one chart.
struct OverlaidChart {
    title: String,
    /// The value at the top of the box.
    top: String,
    /// Labels below the box, each at a share of its width in percent.
    ticks: Vec<(f64, String)>,
    /// Points of the curves before, and after.
    before: Vec<String>,
    after: Vec<String>,
}

/// The page.
///
/// # Errors
/// None but those of the template.
pub fn page(
    comparison: &RunComparison,
    before: &[&Record],
    after: &[&Record],
) -> Result<String, askama::Error> {
    let rows = comparison.rows.iter().map(|row| {
        [
            row.title(),
            micro(&figure(row.figure, row.before)),
            micro(&figure(row.figure, row.after)),
            change_cell(row),
            row.change.as_ref().map_or("-".into(), ends),
            row.gate.map_or("", compare_text::word).to_string(),
        ]
    });
    let mut steps: Vec<&str> = comparison.rows.iter().map(|row| row.step.as_str()).collect();
    steps.dedup();
    let mut charts = Vec::new();
    for name in steps {
        charts.extend(rate_chart(name, before, after));
        charts.extend(latency_chart(name, before, after));
    }
    ComparePage {
        version: env!("CARGO_PKG_VERSION"),
        answer: compare_text::answer(comparison),
        class: class(comparison),
        basis: compare_text::basis(comparison),
        rows: rows.collect(),
        comparison,
        left_out: compare_text::left_out(comparison),
        charts,
    }
    .render()
}

fn class(comparison: &RunComparison) -> &'static str {
    match comparison.gate.map(|gate| gate.word) {
        Some(GateWord::Kept) => "good",
        Some(GateWord::Worse) => "bad",
        Some(GateWord::Undecided | GateWord::Void) => "doubt",
        None => "",
    }
}

/// The step of this name in each run.
fn steps<'a>(name: &'a str, runs: &'a [&Record]) -> impl Iterator<Item = &'a StepRecord> {
    runs.iter().take(MOST_RUNS).filter_map(move |run| run.tests().find(|step| step.name == name))
}

/// Rates over time, from 0; none where no run has samples.
fn rate_chart(name: &str, before: &[&Record], after: &[&Record]) -> Option<OverlaidChart> {
    let curves = |runs| -> Vec<Curve> {
        steps(name, runs).map(rate_over_time).filter(|curve| !curve.mean.is_empty()).collect()
    };
    let (a, b) = (curves(before), curves(after));
    let all = || a.iter().chain(&b);
    let top = all().flat_map(|curve| &curve.mean).copied().fold(0.0, f64::max);
    let seconds =
        all().map(|curve| curve.step * curve.mean.len() as f64).reduce(f64::max).filter(|_| top > 0.0)?;
    let drawn = |curve: &Curve| {
        let place = |i: usize| BOX.0 * (curve.first + i as f64 * curve.step) / seconds;
        points(curve.mean.iter().enumerate().map(|(i, rate)| (place(i), BOX.1 * (1.0 - rate / top))))
    };
    Some(OverlaidChart {
        title: format!("{name}: I/Os a second over time"),
        top: significant(top),
        ticks: [0.0, 0.5, 1.0]
            .map(|share| (100.0 * share, format!("{} s", significant(share * seconds))))
            .to_vec(),
        before: a.iter().map(drawn).collect(),
        after: b.iter().map(drawn).collect(),
    })
}

/// I/Os a second of all directions.
fn rate_over_time(step: &StepRecord) -> Curve {
    let counts = step_bins(step, false);
    rates(&counts, step.window_ns.as_seconds(), Cut::new(counts.len(), step.merged()))
}

/// Latencies by the share of I/Os that take no longer, on a scale of decades; none where no run has samples.
fn latency_chart(name: &str, before: &[&Record], after: &[&Record]) -> Option<OverlaidChart> {
    let tails = |runs| -> Vec<Vec<(f64, f64)>> {
        steps(name, runs).map(tail).filter(|tail| !tail.is_empty()).collect()
    };
    let (a, b) = (tails(before), tails(after));
    let all = || a.iter().chain(&b).flatten();
    let low = all().map(|(_, ns)| *ns).reduce(f64::min)?;
    let top = all().map(|(_, ns)| *ns).fold(low, f64::max);
    let decades = (top / low).log10().max(0.1);
    let last = SHARES.len() - 1;
    let curve = |tail: &Vec<(f64, f64)>| {
        points(tail.iter().map(|(nines, ns)| (BOX.0 * nines, BOX.1 * (1.0 - (ns / low).log10() / decades))))
    };
    let ticks =
        SHARES.iter().enumerate().map(|(i, (_, label))| (100.0 * i as f64 / last as f64, label.to_string()));
    Some(OverlaidChart {
        title: format!(
            "{name}: latency, from {} on a scale of decades",
            micro(&Nanos(low as u64).to_string())
        ),
        top: micro(&Nanos(top as u64).to_string()),
        ticks: ticks.collect(),
        before: a.iter().map(curve).collect(),
        after: b.iter().map(curve).collect(),
    })
}

/// The latency at each of [`SHARES`] that the run has samples for: its place on the axis, and nanoseconds.
fn tail(step: &StepRecord) -> Vec<(f64, f64)> {
    let all = pooled(&step.latencies_of_seconds(None));
    let mut out = Vec::new();
    for (i, (share, _)) in SHARES.iter().enumerate() {
        let has_ten_above = all.count() as f64 * (1.0 - share) >= 10.0;
        if let Some(ns) = all.quantile(*share).filter(|_| has_ten_above) {
            out.push((i as f64 / (SHARES.len() - 1) as f64, ns.0.max(1) as f64));
        }
    }
    out
}

fn points(places: impl Iterator<Item = (f64, f64)>) -> String {
    let mut out = String::new();
    for (x, y) in places {
        let _ = write!(out, "{}{x:.1},{y:.1}", if out.is_empty() { "" } else { " " });
    }
    out
}
