//! A watch as one page that needs no script: the answer, a strip of latency with a row for each day, and the demand against the limit.

use std::collections::BTreeMap;

use askama::Template;
use jiff::Timestamp;

use crate::watch_text;
use volproof_base::stats::limit_answer::LimitAnswer;
use volproof_base::unit::{Nanos, grouped, micro};
use volproof_watch::{WatchAnswer, WatchHistory, WatchSpan};

/// Width and height of the chart of demand, in its own units.
const BOX: (f64, f64) = (640.0, 200.0);
/// Points of a curve.
const POINTS: usize = 320;
/// Days in the strip, the latest.
const MOST_DAYS: usize = 35;
/// Cells of a day: quarters of an hour.
const CELLS: usize = 96;
const CELL_MS: i64 = 900_000;
const DAY_MS: i64 = 86_400_000;
/// Bounds of the classes of latency, as multiples of the usual.
const CLASSES: [f64; 4] = [1.5, 3.0, 6.0, 12.0];
/// The share of the cells that are no slower than usual.
const USUAL: f64 = 0.25;

#[derive(Template)]
#[template(path = "watch.html")]
struct WatchPage {
    version: &'static str,
    title: String,
    headline: String,
    class: &'static str,
    answer: String,
    days: Vec<DayRow>,
    legend: Vec<String>,
    demand: DemandChart,
    spells: Vec<String>,
}

/// A day of the strip.
struct DayRow {
    name: String,
    /// The first cell, how many have the same class, and the class.
    runs: Vec<(usize, usize, String)>,
}

struct DemandChart {
    top: String,
    mean: String,
    most: String,
    /// The height of the limit, where there is one.
    limit: Option<(f64, String)>,
    ends: [String; 2],
}

/// The page.
///
/// # Errors
/// None but those of the template.
pub fn page(history: &WatchHistory) -> Result<String, askama::Error> {
    let answer = WatchAnswer::of_history(history);
    let (headline, class) = headline(&answer);
    let cells = latency_cells(&history.spans);
    let usual = usual(&cells);
    let latest = cells.last().map_or(0, |(day, _)| *day);
    let shown = cells.into_iter().filter(|(day, _)| latest - day < MOST_DAYS as i64);
    WatchPage {
        version: env!("CARGO_PKG_VERSION"),
        title: format!("{} {}", history.header.disk, history.header.key),
        headline,
        class,
        answer: micro(&watch_text::answer(history, &answer, None)),
        days: shown.map(|(day, cells)| day_row(day, &cells, usual)).collect(),
        legend: legend(usual),
        demand: demand_chart(history, &answer),
        spells: answer.spells.iter().map(|spell| micro(&watch_text::spell(spell))).collect(),
    }
    .render()
}

fn headline(answer: &WatchAnswer) -> (String, &'static str) {
    match answer.account.map(|account| account.answer) {
        Some(LimitAnswer::Pass) => ("The promise of time was kept".into(), "good"),
        Some(LimitAnswer::Fail) => ("The promise of time was likely missed".into(), "bad"),
        Some(LimitAnswer::Inconclusive) => ("Not decided yet".into(), "doubt"),
        None => ("What the volume was asked for, and what it gave".into(), ""),
    }
}

/// The mean latency of the slowest minute in each quarter of an hour, 0 without any, by days since 1970. An hour of old minutes fills its four quarters.
fn latency_cells(spans: &[WatchSpan]) -> Vec<(i64, Vec<u64>)> {
    let mut days: BTreeMap<i64, Vec<u64>> = BTreeMap::new();
    for span in spans {
        let Some(latency) = span.mean_latency() else { continue };
        let first = span.start_unix_ms.div_euclid(CELL_MS);
        let length = (span.covered_ns.0 / 1_000_000) as i64 / CELL_MS;
        for cell in first..=first + length.clamp(0, 3) {
            let day = days.entry(cell.div_euclid(CELLS as i64)).or_insert_with(|| vec![0; CELLS]);
            let slowest = &mut day[cell.rem_euclid(CELLS as i64) as usize];
            *slowest = latency.0.max(*slowest);
        }
    }
    days.into_iter().collect()
}

/// The latency that a quarter of the cells do not exceed.
fn usual(days: &[(i64, Vec<u64>)]) -> f64 {
    let mut means: Vec<u64> =
        days.iter().flat_map(|(_, cells)| cells).copied().filter(|cell| *cell > 0).collect();
    means.sort_unstable();
    means.get((means.len() as f64 * USUAL) as usize).map_or(1.0, |usual| *usual as f64)
}

/// The class of a cell; none without I/O.
fn latency_class(cell: u64, usual: f64) -> String {
    if cell == 0 {
        return String::new();
    }
    let class = CLASSES.iter().position(|bound| (cell as f64) < bound * usual);
    format!("c{}", class.unwrap_or(CLASSES.len()))
}

fn day_row(day: i64, cells: &[u64], usual: f64) -> DayRow {
    let mut runs: Vec<(usize, usize, String)> = Vec::new();
    for (place, cell) in cells.iter().enumerate() {
        let class = latency_class(*cell, usual);
        match runs.last_mut().filter(|(_, _, last)| *last == class) {
            Some(run) => run.1 += 1,
            None => runs.push((place, 1, class)),
        }
    }
    runs.retain(|(_, _, class)| !class.is_empty());
    DayRow { name: named(day * DAY_MS, "%b %d"), runs }
}

fn named(unix_ms: i64, form: &str) -> String {
    Timestamp::from_millisecond(unix_ms).map_or_else(|_| String::new(), |at| at.strftime(form).to_string())
}

fn legend(usual: f64) -> Vec<String> {
    let bound = |times: f64| micro(&Nanos((usual * times) as u64).to_string());
    let mut words = vec![format!("below {}", bound(CLASSES[0]))];
    words.extend(CLASSES.windows(2).map(|pair| format!("to {}", bound(pair[1]))));
    words.push("longer".into());
    words
}

/// Demand over the whole time: the mean of each point, and the most in 100 ms.
fn demand_chart(history: &WatchHistory, answer: &WatchAnswer) -> DemandChart {
    let (from, to) = answer.between.unwrap_or_default();
    let length = to.saturating_sub(from).max(1) as f64;
    let mut points = vec![(0.0_f64, 0.0_f64, 0.0_f64); POINTS];
    for span in &history.spans {
        let place = span.start_unix_ms.saturating_sub(from) as f64 / length * POINTS as f64;
        let point = &mut points[(place.max(0.0) as usize).min(POINTS - 1)];
        *point = (
            point.0 + span.ios() as f64,
            point.1 + span.covered_ns.as_seconds(),
            point.2.max(span.most_ios as f64 * 10.0),
        );
    }
    let limit = history.header.limits.map(|limits| limits.read_ios.min(limits.write_ios));
    let top = answer.demand.most_iops.max(limit.unwrap_or(0.0)).max(1.0);
    let watched = || points.iter().enumerate().filter(|(_, point)| point.1 > 0.0);
    DemandChart {
        top: grouped(top as u64),
        mean: curve(watched().map(|(place, point)| (place, point.0 / point.1 / top))),
        most: curve(watched().map(|(place, point)| (place, point.2 / top))),
        limit: limit.map(|limit| (BOX.1 * (1.0 - limit / top), grouped(limit as u64))),
        ends: [named(from, "%b %d %H:%M"), named(to, "%b %d %H:%M")],
    }
}

/// Points of a curve: the number of each, and its part of the height.
fn curve(points: impl Iterator<Item = (usize, f64)>) -> String {
    let placed =
        points.map(|(place, part)| (BOX.0 * place as f64 / (POINTS - 1) as f64, BOX.1 * (1.0 - part)));
    placed.map(|(x, y)| format!("{x:.1},{y:.1} ")).collect()
}
