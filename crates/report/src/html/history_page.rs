//! A history of runs as one page that needs no script: for each volume under each load its rows, and a curve of each figure with its levels.
//!
//! Curves are SVG in the markup. Time runs to the right, figures upwards, between the ends that the title of a curve names.

use std::fmt::Write;

use askama::Template;

use crate::compare_text::figure;
use crate::history_text::{self, change_words, heading};
use volproof_base::unit::{micro, moment};
use volproof_history::{FigureSeries, RunHistory, VolumeHistory};

/// Width and height of a chart, in its own units.
const BOX: (f64, f64) = (640.0, 160.0);
/// A chart reaches down to this share of its top at least: what hardly varies looks flat.
const LEAST_SHOWN: f64 = 0.9;
/// The last rows of a volume that are printed.
const MOST_ROWS: usize = 200;

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage<'a> {
    version: &'a str,
    answer: String,
    history: &'a RunHistory,
    volumes: Vec<VolumeSection>,
}

/// One volume under one load.
struct VolumeSection {
    heading: String,
    load: String,
    figure: String,
    rows: Vec<[String; 5]>,
    changes: Vec<String>,
    charts: Vec<SeriesChart>,
    first: String,
    last: String,
}

/// The curve of one figure.
struct SeriesChart {
    title: String,
    dots: Vec<(f64, f64)>,
    /// Each level as a line from its first run to its last.
    levels: Vec<String>,
}

/// The page.
///
/// # Errors
/// None but those of the template.
pub fn page(history: &RunHistory, folder: &str) -> Result<String, askama::Error> {
    HistoryPage {
        version: env!("CARGO_PKG_VERSION"),
        answer: history_text::answer(history, folder),
        history,
        volumes: history.volumes.iter().map(section).collect(),
    }
    .render()
}

fn section(volume: &VolumeHistory) -> VolumeSection {
    let places = places(volume);
    let mut changes = Vec::new();
    for one in &volume.series {
        changes.extend(one.changes.iter().map(|change| change_words(one, change, volume)));
    }
    let rows = volume.series.first().map(|main| history_text::rows(volume, main)).unwrap_or_default();
    let day = |run: usize| history_text::day(&volume.runs[run].line).to_string();
    VolumeSection {
        heading: heading(volume),
        load: volume.load.clone(),
        figure: volume.series.first().map(FigureSeries::title).unwrap_or_default(),
        rows: rows.into_iter().rev().take(MOST_ROWS).map(|row| row.map(|cell| micro(&cell))).collect(),
        changes,
        charts: volume.series.iter().filter_map(|one| chart(one, &places)).collect(),
        first: day(0),
        last: day(volume.runs.len() - 1),
    }
}

/// The place of each run on the axis of time: by its start, or evenly where one does not tell it.
fn places(volume: &VolumeHistory) -> Vec<f64> {
    let times: Option<Vec<i64>> =
        volume.runs.iter().map(|run| Some(moment(&run.line.started)?.as_second())).collect();
    let times = times.unwrap_or_else(|| (0..volume.runs.len() as i64).collect());
    let first = times[0];
    let all = (times[times.len() - 1] - first).max(1) as f64;
    times.iter().map(|at| BOX.0 * (at - first) as f64 / all).collect()
}

/// None for fewer than two values.
fn chart(series: &FigureSeries, places: &[f64]) -> Option<SeriesChart> {
    let values = || series.points.iter().map(|point| point.value);
    if series.points.len() < 2 {
        return None;
    }
    let top = values().fold(0.0, f64::max);
    let low = values().fold(top * LEAST_SHOWN, f64::min);
    let height = |value: f64| BOX.1 * (1.0 - (value - low) / (top - low));
    let dots = series.points.iter().map(|point| (places[point.run], height(point.value)));
    let mut levels = Vec::new();
    let begins = std::iter::once(0).chain(series.changes.iter().map(|change| change.run));
    let begins: Vec<usize> = begins.collect();
    for (n, begin) in begins.iter().enumerate() {
        let end = begins.get(n + 1).map_or(places.len(), |next| *next) - 1;
        if let Some(level) = series.level_at(*begin) {
            let mut line = String::new();
            let y = height(level);
            let _ = write!(line, "{:.1},{y:.1} {:.1},{y:.1}", places[*begin], places[end]);
            levels.push(line);
        }
    }
    let unit = |value| micro(&figure(series.figure, value));
    Some(SeriesChart {
        title: format!("{}, from {} to {}", series.title(), unit(low), unit(top)),
        dots: dots.collect(),
        levels,
    })
}
