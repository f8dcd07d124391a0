//! Large inputs take memory and work in proportion to their length, for every reader and every output.
//!
//! 512 MiB are enough for 100 MB of input, so five bytes of memory are there for a byte of it. The work for four times as many rows is four times as
//! much; with a part that grows with the square it would be up to sixteen times.

mod inputs;
mod meter;

use std::hint::black_box;
use std::io;
use std::path::Path;

use clap::{Parser, ValueEnum};
use volproof::convert::{self, ConvertArgs, Form};
use volproof::explain;
use volproof::promise_options::PromiseOptions;
use volproof::record::Record;
use volproof::report::{html, junit, markdown, openmetrics, summary_text, text};
use volproof::result_file;
use volproof::verdict_command::{self, VerdictArgs};

use inputs::INPUTS;
use meter::{CountedHeap, Instructions, peak};

#[global_allocator]
static HEAP: CountedHeap = CountedHeap;

const PATH: &str = "large.json";
/// Rows of the shorter input, and how many times as many the longer one has.
const ROWS: usize = 8;
const TIMES: usize = 4;
/// The most that the longer one may take, for each time that the shorter one took: some work is not for rows.
const MOST_WORK: f64 = 4.4;
/// Bytes of memory for a byte of input, the input itself included, and what any process has.
const MOST_MEMORY: f64 = 5.0;
const EMPTY: u64 = 8 << 20;

#[derive(Parser)]
struct Conversion {
    #[command(flatten)]
    arguments: ConvertArgs,
}

#[derive(Parser)]
struct Judgement {
    #[command(flatten)]
    arguments: VerdictArgs,
}

/// An output of a file: the whole way of a subcommand, but for the screen.
type Way = fn(Vec<u8>);

fn read(bytes: Vec<u8>) -> Option<Record> {
    result_file::one(&bytes, Path::new(PATH)).ok()
}

fn converted(bytes: Vec<u8>, form: Form) {
    let name = form.to_possible_value().unwrap();
    let arguments = Conversion::parse_from(["convert", PATH, "--to", name.get_name()]).arguments;
    if let Ok(converted) = convert::of_bytes(bytes, &arguments) {
        converted.write(&mut io::sink()).unwrap();
    }
}

fn judged(bytes: Vec<u8>) {
    let line = ["verdict", PATH, "--json", "--judge-simulated", "--offline"];
    let line = line.into_iter().chain(["--promise", "alibaba:cloud_essd.PL0", "--volume-size", "40GiB"]);
    let Some(mut record) = read(bytes) else { return };
    let _ = black_box(verdict_command::answer(&Judgement::parse_from(line).arguments, &mut record));
}

const WAYS: [(&str, Way); 16] = [
    ("show", |bytes| drop(black_box(read(bytes).map(|r| summary_text::shown(&r, false))))),
    ("show --details", |bytes| drop(black_box(read(bytes).map(|r| summary_text::shown(&r, true))))),
    ("show --csv", |bytes| drop(black_box(read(bytes).map(|r| text::csv(&r))))),
    ("show --junit", |bytes| drop(black_box(read(bytes).map(|r| junit::junit(&r))))),
    ("show --openmetrics", |bytes| drop(black_box(read(bytes).map(|r| openmetrics::openmetrics(&r))))),
    ("show --markdown", |bytes| drop(black_box(read(bytes).map(|r| markdown::markdown(&r))))),
    ("report", |bytes| drop(black_box(read(bytes).map(|r| html::page(&r).unwrap())))),
    ("verdict", judged),
    ("explain", |bytes| {
        if let Ok(told) = explain::explained(Path::new(PATH), &bytes, &PromiseOptions::default()) {
            drop(black_box(serde_json::to_string_pretty(&told).unwrap()));
        }
    }),
    ("convert --to record", |bytes| converted(bytes, Form::Record)),
    ("convert --to json", |bytes| converted(bytes, Form::Json)),
    ("convert --to json+", |bytes| converted(bytes, Form::JsonPlus)),
    ("convert --to terse", |bytes| converted(bytes, Form::Terse)),
    ("convert --to normal", |bytes| converted(bytes, Form::Normal)),
    ("convert --to jobfile", |bytes| converted(bytes, Form::Jobfile)),
    ("convert --to plan", |bytes| converted(bytes, Form::Plan)),
];

#[test]
fn work_is_linear_in_the_input() {
    let Some(counter) = Instructions::counter() else {
        println!("skipped: this machine counts no instructions");
        return;
    };
    let mut wrong = Vec::new();
    for (input, rows) in INPUTS {
        let [few, many] = [ROWS, ROWS * TIMES].map(|n| rows(n).into_bytes());
        for (name, way) in WAYS {
            way(few.clone()); // Tables that are made once are made here.
            let [less, more] = [&few, &many].map(|bytes| bytes.clone()).map(|b| counter.of(|| way(b)));
            let ratio = more as f64 / less as f64;
            println!("{ratio:5.2} {:9} k {:7} B {input}: {name}", more / 1000, many.len());
            if ratio > MOST_WORK * many.len() as f64 / few.len() as f64 / TIMES as f64 {
                wrong.push(format!("{input}, {name}: {ratio:.2} times the work for {TIMES} times the rows"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn memory_follows_the_input() {
    let mut wrong = Vec::new();
    for (input, rows) in INPUTS {
        let bytes = rows(ROWS * TIMES * 4).into_bytes();
        let most = EMPTY + (MOST_MEMORY * bytes.len() as f64) as u64;
        for (name, way) in WAYS {
            let used = peak(|| way(bytes.clone()));
            println!("{:5.2} {:9} B {input}: {name}", used as f64 / bytes.len() as f64, bytes.len());
            if used > most {
                wrong.push(format!("{input}, {name}: {used} bytes of memory for {}", bytes.len()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
