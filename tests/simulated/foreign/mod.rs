//! Reports of other tools than fio: each figure as it is printed, the doubts that must be there, and every command that takes a report.
//!
//! `tests/fixtures/foreign/make` made those of dd, sysbench 1.0, ioping and pg_test_fsync with the real programs. Those of DiskSpd, Iometer and
//! the other versions of sysbench are written after the published formats, with figures of our own.

mod apart;
mod commands;
mod compared;
mod figures;
mod parts;
mod told;

use std::path::{Path, PathBuf};

use volproof::foreign::{self, ForeignReport};
use volproof::record::{Known, Record, ReportedStep};
use volproof::result_file::one;

fn fixture(name: &str) -> PathBuf {
    Path::new("tests/fixtures/foreign").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(fixture(name)).unwrap()
}

/// The one report of a fixture.
fn report(name: &str) -> ForeignReport {
    let mut found = foreign::reports(&bytes(name)).reports;
    assert_eq!(found.len(), 1, "{name}");
    found.remove(0)
}

/// The one run of a fixture.
fn run(name: &str) -> ReportedStep {
    let mut report = report(name);
    assert_eq!((report.runs.len(), &report.partial), (1, &None), "{name}");
    report.runs.remove(0)
}

fn record(name: &str) -> Record {
    one(&bytes(name), &fixture(name)).unwrap()
}

/// Codes of the doubts about a fixture, with `!` behind those that make it void.
fn doubts(name: &str) -> Vec<String> {
    codes_of(&record(name))
}

fn codes_of(record: &Record) -> Vec<String> {
    use volproof::doubt::Severity;
    let mark = |s| if s == Severity::Blocker { "!" } else { "" };
    record.doubts.iter().map(|w| format!("{}{}", w.code, mark(w.severity))).collect()
}

/// All fixtures that hold a run.
fn all() -> Vec<String> {
    let named = |f: std::fs::DirEntry| f.file_name().into_string().unwrap();
    let mut names: Vec<String> =
        std::fs::read_dir("tests/fixtures/foreign").unwrap().map(|f| named(f.unwrap())).collect();
    names.retain(|n| n != "make" && n != "dd-full.txt");
    names.sort();
    assert!(names.len() > 30);
    names
}

fn near(found: Known<f64>, printed: f64, digits: i32) {
    let found = found.get().unwrap();
    let half = 0.5 * 10f64.powi(-digits) * (1.0 + 1e-6);
    assert!((found - printed).abs() <= half, "{found} is not {printed}");
}
