//! Large inputs take memory and work in proportion to their length, for every reader and every output.
//!
//! 512 MiB are enough for 100 MB of input. The work for four times as many rows is four times as much; with a part that grows with the square it
//! would be up to sixteen times.

mod fleet_of_a_thousand;
mod growth;
mod inputs;
mod meter;

use std::hint::black_box;
use std::io;
use std::path::Path;

use clap::{Parser, ValueEnum};
use volproof::convert::{self, ConvertArgs, Form};
use volproof::explain;
use volproof::merge::Gathering;
use volproof::record::Record;
use volproof::report::{csv, html, junit, markdown, openmetrics, summary_text};
use volproof::result_file;
use volproof::stored_verdict::{self, VerdictArgs};

use inputs::{FLEET, INPUTS, Input, WALLED};
use meter::{CountedHeap, Instructions, peak};

#[global_allocator]
static HEAP: CountedHeap = CountedHeap;

const PATH: &str = "large.json";
/// Rows of the shorter input, and how many times as many the longer one has.
const ROWS: usize = 8;
const TIMES: usize = 4;
/// The most that the longer one may take, for each time that the shorter one took: some work is not for rows.
const MOST_WORK: f64 = 4.6;
const MIB: f64 = 1_048_576.0;
/// Steps of a page.
const SECTIONS: f64 = 256.0;
/// The most memory of the longest input, and what the program has without input.
const MOST_MEMORY: f64 = 512.0 * MIB;
const EMPTY: f64 = 24.0 * MIB;

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
    let line = ["verdict", PATH, "--json", "--offline"];
    let line = line.into_iter().chain(["--promise", "alibaba:cloud_essd.PL0", "--volume-size", "40GiB"]);
    let Some(mut record) = read(bytes) else { return };
    let _ = black_box(stored_verdict::answer(&Judgement::parse_from(line).arguments, &mut record));
}

/// Records of machines, a line each, as one. As `merge` does, it keeps the text of one of them at a time.
fn merged(mut bytes: Vec<u8>) -> Record {
    let mut fleet = Gathering::default();
    while !bytes.is_empty() {
        let before = bytes[..bytes.len() - 1].iter().rposition(|b| *b == b'\n');
        let machine = bytes.split_off(before.map_or(0, |at| at + 1));
        bytes.shrink_to_fit();
        fleet.add(result_file::one(&machine, Path::new(PATH)).unwrap()).unwrap();
    }
    fleet.finish().unwrap()
}

fn needed(bytes: Vec<u8>) {
    let line = ["verdict", PATH, "--json", "--fit", "etcd,vault"];
    let Some(mut record) = read(bytes) else { return };
    let _ = black_box(stored_verdict::answer(&Judgement::parse_from(line).arguments, &mut record));
}

const WAYS: [(&str, Way); 19] = [
    ("merge", |bytes| merged(bytes).write(&mut io::sink()).unwrap()),
    ("merge, its text", |bytes| drop(black_box(summary_text::shown(&merged(bytes), true)))),
    ("merge, its page", |bytes| html::write(&merged(bytes), &mut io::sink()).unwrap()),
    ("verdict --fit", needed),
    ("show", |bytes| drop(black_box(read(bytes).map(|r| summary_text::shown(&r, false))))),
    ("show --details", |bytes| drop(black_box(read(bytes).map(|r| summary_text::shown(&r, true))))),
    ("show --csv", |bytes| drop(black_box(read(bytes).map(|r| csv::csv(&r))))),
    ("show --junit", |bytes| drop(black_box(read(bytes).map(|r| junit::junit(&r))))),
    ("show --openmetrics", |bytes| drop(black_box(read(bytes).map(|r| openmetrics::openmetrics(&r))))),
    ("show --markdown", |bytes| drop(black_box(read(bytes).map(|r| markdown::markdown(&r))))),
    ("report", |bytes| {
        black_box(read(bytes).map(|r| html::write(&r, &mut io::sink()).unwrap()));
    }),
    ("verdict", judged),
    ("show, in words", |bytes| {
        if let Ok(told) = explain::explained(Path::new(PATH), &bytes) {
            drop(black_box(told));
        }
    }),
    ("convert --to record", |bytes| converted(bytes, Form::Record)),
    ("convert --to json", |bytes| converted(bytes, Form::Json)),
    ("convert --to json+", |bytes| converted(bytes, Form::JsonPlus)),
    ("convert --to normal", |bytes| converted(bytes, Form::Normal)),
    ("convert --to jobfile", |bytes| converted(bytes, Form::Jobfile)),
    ("convert --to plan", |bytes| converted(bytes, Form::Plan)),
];

/// The ways that differ for an input: outputs are tried in full with a few of the inputs that become Records, readers with two ways.
fn ways(input: &Input) -> impl Iterator<Item = &'static (&'static str, Way)> {
    let whole = ["a Record of many steps", "a Record of many samples", "fio's JSON, small jobs"];
    let all = whole.contains(&input.name);
    let fleet = input.name.starts_with(FLEET);
    WAYS.iter().filter(move |(name, _)| {
        if fleet || name.starts_with("merge") {
            return fleet && name.starts_with("merge");
        }
        all || (input.name == WALLED && name.starts_with("verdict"))
            || ["show --csv", "show, in words", "convert --to json", "convert --to plan"].contains(name)
    })
}

#[test]
fn work_is_linear_in_the_input() {
    let Some(counter) = Instructions::counter() else {
        println!("skipped: this machine counts no instructions");
        return;
    };
    let mut wrong = Vec::new();
    for input in INPUTS {
        let [few, many] = [ROWS, ROWS * TIMES].map(|n| (input.rows)(n).into_bytes());
        for (name, way) in ways(&input) {
            way(few.clone()); // Tables that are made once are made here.
            let [less, more] = [&few, &many].map(|bytes| bytes.clone()).map(|b| counter.of(|| way(b)));
            let ratio = more as f64 / less as f64;
            println!("{ratio:5.2} times of {} k, {}, {name}", less / 1000, input.name);
            if ratio > MOST_WORK * many.len() as f64 / few.len() as f64 / TIMES as f64 {
                wrong.push(format!(
                    "{}, {name}: {ratio:.2} times the work for {TIMES} times the rows",
                    input.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// From what eight rows and 32 rows take: the memory of 100 MB, of which no more rows are kept than the input says.
#[test]
fn a_hundred_megabytes_fit_into_512_mebibytes() {
    let mut wrong = Vec::new();
    for input in INPUTS {
        let [few, many] = [ROWS, ROWS * TIMES].map(|n| (input.rows)(n).into_bytes());
        let (mut of_plain, mut plain_of_many) = (0.0, 0.0);
        // Records of machines are read one after another.
        let held = if input.name.starts_with(FLEET) { 0.0 } else { 1.0 };
        for (name, way) in ways(&input) {
            way(few.clone());
            let [less, more] =
                [&few, &many].map(|bytes| peak(|| way(bytes.clone())) as f64 - held * bytes.len() as f64);
            let a_row = (more - less) / (ROWS * TIMES - ROWS) as f64;
            let rows = (input.longest * (ROWS * TIMES) as f64 / many.len() as f64).min(input.steps as f64);
            let whole = match *name {
                // A page shows no more steps than that; the others are read.
                "report" | "merge, its page" => {
                    of_plain + (more - plain_of_many) / (ROWS * TIMES) as f64 * rows.min(SECTIONS)
                }
                _ => EMPTY + held * input.longest + a_row * rows,
            };
            if ["show --csv", "merge"].contains(name) {
                (of_plain, plain_of_many) = (whole, more);
            }
            println!("{:4.0} MiB for {}, {name}", whole / MIB, input.name);
            if whole > MOST_MEMORY {
                wrong.push(format!("{}, {name}: {:.0} MiB", input.name, whole / MIB));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
