//! `explain`: what it tells of results, what it doubts, and which files it takes.

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

use volproof::explain::{ExplainArgs, answer};
use volproof::promise_options::{NeedsOption, PromiseOptions};
use volproof::unit::Bytes;

/// The volume of the published report, under the formula of its time.
fn promised() -> PromiseOptions {
    PromiseOptions {
        kind: Some("alibaba:cloud_ssd@2018-07".into()),
        volume_size: Some(Bytes::gib(800)),
        ..PromiseOptions::default()
    }
}

/// The explanation of reports among the fixtures.
fn told(files: &[&str], promise: PromiseOptions) -> String {
    let files = files.iter().map(|f| PathBuf::from("tests/fixtures/fio").join(f)).collect();
    let told = answer(&ExplainArgs { files, promise, json: false, needs: NeedsOption::default() }).unwrap();
    assert!(told.exit != volproof::exit::Exit::Fail && told.refused.is_empty(), "{told:?}");
    let text = told.text;
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    // A JSON report knows its moment, which this machine's zone turns into another time of day.
    text.lines().map(|l| l.split(", JSON, ").next().unwrap().trim_end().to_string() + "\n").collect()
}
