//! What `show` tells of reports in plain words, what it doubts, and which files it takes.

mod accounting;
mod disputed;
mod doubts;
mod files;
mod fio_unsaid;
mod held_back;
mod page_cache;
mod public_reports;
mod runs;
mod stored;
mod verdicts;

#[allow(dead_code)] // Other tests use the rest of it.
use crate::page_record;

use std::path::PathBuf;

use volproof::explain::of_reports;

/// The explanation of reports among the fixtures.
fn told(files: &[&str]) -> String {
    let files: Vec<PathBuf> = files.iter().map(|f| PathBuf::from("tests/fixtures/fio").join(f)).collect();
    let text = of_reports(&files).unwrap();
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    // A JSON report knows its moment, which this machine's zone turns into another time of day.
    text.lines().map(|l| l.split(", JSON, ").next().unwrap().trim_end().to_string() + "\n").collect()
}
