//! A history as a table of comma-separated values, and as SQL that `sqlite3` and other databases read: a row for each figure of each run.

use super::csv::quoted;
use volproof_compare::ComparedFigure;
use volproof_device::output::screen::visible;
use volproof_history::{FigureSeries, HistoryRun, RunHistory, StoredFigure, VolumeHistory};

/// The columns, and whether they hold numbers. The first and the last ones are those of all our tables.
const COLUMNS: [(&str, bool); 17] = [
    ("step", false),
    ("direction", false),
    ("figure", false),
    ("value", true),
    ("error_pct", true),
    ("level", true),
    ("void", false),
    ("outcome", false),
    ("volume", false),
    ("size_bytes", true),
    ("plan", false),
    ("load", false),
    ("machine", false),
    ("kernel", false),
    ("file", false),
    ("simulated", false),
    ("started", false),
];

/// The table.
pub fn csv(history: &RunHistory) -> String {
    let mut out = COLUMNS.map(|(name, _)| name).join(",") + "\n";
    for cells in rows(history) {
        out += &cells.map(|cell| quoted(&cell)).join(",");
        out.push('\n');
    }
    visible(&out).into_owned()
}

/// The statements that make a table `figures`, in one transaction.
pub fn sql(history: &RunHistory) -> String {
    let columns =
        COLUMNS.map(|(name, is_number)| format!("{name} {}", if is_number { "REAL" } else { "TEXT" }));
    let mut out = String::from(
        "-- volproof history: sqlite3 FILE.db < this file\nBEGIN;\nDROP TABLE IF EXISTS figures;\n",
    );
    out += &format!("CREATE TABLE figures ({});\n", columns.join(", "));
    for cells in rows(history) {
        let mut values = Vec::new();
        for (cell, (_, is_number)) in cells.iter().zip(COLUMNS) {
            values.push(literal(cell, is_number));
        }
        out += &format!("INSERT INTO figures VALUES ({});\n", values.join(", "));
    }
    visible(&(out + "COMMIT;\n")).into_owned()
}

/// A value of SQL. What is not known is NULL.
fn literal(cell: &str, is_number: bool) -> String {
    match cell {
        "" => "NULL".into(),
        number if is_number => number.into(),
        text => format!("'{}'", text.replace('\'', "''")),
    }
}

/// The cells of all figures of all runs.
fn rows(history: &RunHistory) -> Vec<[String; 17]> {
    let mut out = Vec::new();
    for volume in &history.volumes {
        for (place, run) in volume.runs.iter().enumerate() {
            out.extend(run.line.figures.iter().map(|stored| cells(volume, place, run, stored)));
        }
    }
    out
}

fn cells(volume: &VolumeHistory, place: usize, run: &HistoryRun, stored: &StoredFigure) -> [String; 17] {
    let fact = |what: &str| run.line.surroundings.get(what).cloned().unwrap_or_default();
    let figure = match stored.figure {
        ComparedFigure::Iops => "iops",
        ComparedFigure::Throughput => "bytes_per_second",
        ComparedFigure::Median => "p50_ns",
        ComparedFigure::P99 => "p99_ns",
    };
    let simulated = if fact("simulated volume").is_empty() { "no" } else { "yes" };
    [
        stored.step.clone(),
        stored.direction.clone().unwrap_or_default(),
        figure.into(),
        format!("{:.3}", stored.value),
        stored.error.map(|share| format!("{:.3}", 100.0 * share)).unwrap_or_default(),
        level(volume, place, stored).map(|level| format!("{level:.3}")).unwrap_or_default(),
        stored.void.clone().unwrap_or_default(),
        run.line.outcome.map(|outcome| outcome.name().to_string()).unwrap_or_default(),
        volume.volume.clone().unwrap_or_default(),
        run.line.size_bytes.0.to_string(),
        volume.plan.clone(),
        volume.load.clone(),
        fact("machine"),
        fact("kernel"),
        run.file.clone(),
        simulated.into(),
        run.line.started.clone(),
    ]
}

/// The level of a figure at a run: the mean between the changes around it.
fn level(volume: &VolumeHistory, run: usize, stored: &StoredFigure) -> Option<f64> {
    let is_same = |one: &&FigureSeries| {
        one.step == stored.step && one.direction == stored.direction && one.figure == stored.figure
    };
    volume.series.iter().find(is_same)?.level_at(run)
}
