//! `volproof fio` while it runs: interim reports at intervals and when a signal asks for one, signals that end it, the log of all jobs.
//! The installed fio is the judge where it is there.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::signals::wait_for_load;
use crate::{Bench, Ran};

/// Two jobs, one after the other, the first of which shares the machine with nobody.
const LINE: [&str; 12] = [
    "--size=1m",
    "--rw=randread",
    "--time_based",
    "--runtime=2600ms",
    "--rate_iops=500",
    "--name=a",
    "--name=b",
    "--rw=randrw",
    "--stonewall",
    "--numjobs=2",
    "--group_reporting",
    "--status-interval=1",
];

/// Documents one behind the other, each ended by one newline.
fn documents(text: &str) -> Vec<Value> {
    let mut rest = &text[text.find("{\n").unwrap_or(0)..];
    let mut found = Vec::new();
    while !rest.is_empty() {
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        found.push(stream.next().unwrap().unwrap());
        let after = &rest[stream.byte_offset()..];
        rest = after.strip_prefix('\n').unwrap_or_else(|| panic!("one newline, not '{after}'"));
    }
    found
}

/// Every key with the kind of its value; histograms and percentiles have keys of their own.
fn keys(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| keys(value, &format!("{at}/{key}"), into))
        }
        Value::Number(n) => drop(into.insert(format!("{at}: {}", if n.is_f64() { "real" } else { "int" }))),
        Value::Array(_) => drop(into.insert(format!("{at}: list"))),
        _ => drop(into.insert(at.to_string())),
    }
}

fn keys_of(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    keys(value, "", &mut found);
    found
}

fn fio(bench: &Bench, line: &[&str]) -> Option<Ran> {
    volproof::fio::installed::find(&std::env::var_os("PATH").unwrap_or_default())?;
    Some(Ran::of(Command::new("fio").args(line).current_dir(bench.path()).output().unwrap()))
}

#[test]
fn interim_reports_are_fios_in_json() {
    let bench = Bench::new();
    let line = [&LINE[..], &["--output-format=json"]].concat();
    let ran = bench.run(&[&["fio"], &line[..]].concat()).ended(0);
    assert!(!ran.err.contains("runs this"), "{}", ran.err);
    let ours = documents(&ran.out);
    assert!(ours.len() >= 3, "{} reports in five seconds", ours.len());
    let totals: Vec<[u64; 2]> = ours
        .iter()
        .map(|report| [0, 1].map(|job| report["jobs"][job]["read"]["total_ios"].as_u64().unwrap()))
        .collect();
    assert!(totals.is_sorted() && totals[0][0] > 0 && totals[0][1] == 0, "{totals:?}");
    let last = ours.last().unwrap();
    assert_eq!((&last["jobs"][0]["eta"], &last["jobs"][1]["eta"]), (&Value::from(0), &Value::from(0)));
    for report in &ours {
        // What is told is of one stretch of time, whole seconds.
        let read = &report["jobs"][0]["read"];
        if read["runtime"].as_u64().unwrap() >= 1000 {
            assert_eq!(read["total_ios"], read["clat_ns"]["N"]);
            assert_eq!(report["jobs"][0]["iodepth_level"]["1"], Value::from(100.0));
        }
    }
    let Some(judge) = fio(&bench, &line) else {
        println!("skipped: fio is not installed, nobody judges");
        return;
    };
    let fios = documents(&judge.ended(0).out);
    // A machine under load may end a first second late.
    let second = ours.iter().find(|r| r["jobs"][0]["read"]["clat_ns"]["N"] != 0).unwrap();
    for job in [0, 1] {
        // A job that has not begun, in the first report; one that runs or has ended, in the last.
        for (ours, fios) in [(second, &fios[0]), (last, fios.last().unwrap())] {
            assert_eq!(keys_of(&ours["jobs"][job]), keys_of(&fios["jobs"][job]), "job {job}");
        }
    }
    let top = |report: &Value| report.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let own = |key: &String| key == "measured by";
    assert_eq!(top(&ours[0]).into_iter().filter(|key| !own(key)).collect::<Vec<_>>(), top(&fios[0]));
    assert!(ours[0]["measured by"].as_str().unwrap().starts_with("volproof "));
}

/// The lines of a report that say which rows and groups it has.
fn rows(text: &str) -> Vec<String> {
    let heads = text.lines().filter(|l| l.contains("(groupid=") || l.starts_with("Run status"));
    heads.map(|l| l.split(": err").next().unwrap().to_string()).collect()
}

#[test]
fn interim_reports_are_fios_as_text() {
    let bench = Bench::new();
    let ours = bench.run(&[&["fio"], &LINE[..]].concat()).ended(0).out;
    let first =
        ["a: (groupid=0, jobs=1)", "Run status group 0 (all jobs):", "Run status group 1 (all jobs):"];
    let last = [
        "a: (groupid=0, jobs=1)",
        "b: (groupid=1, jobs=2)",
        "Run status group 0 (all jobs):",
        "Run status group 1 (all jobs):",
    ];
    let found = rows(&ours);
    assert!(found.starts_with(&first.map(String::from)), "{ours}");
    assert!(found.ends_with(&last.map(String::from)), "{ours}");
    if let Some(judge) = fio(&bench, &LINE) {
        let judged = rows(&judge.ended(0).out);
        assert!(judged.starts_with(&first.map(String::from)) && judged.ends_with(&last.map(String::from)));
    }
}

/// Starts a job that would run for ten minutes, sends it a signal once it runs, and then what ends it. A report that a signal asks for is
/// awaited before the next signal.
fn signalled(bench: &Bench, format: &str, signals: &[Signal]) -> Ran {
    let format = format!("--output-format={format}");
    let line = ["fio", "--name=j", "--size=1m", "--time_based", "--runtime=600", "--quiet-doubts", &format];
    let mut command = bench.command(&line);
    let path = bench.path().join("said");
    let out = std::fs::File::create(&path).unwrap();
    let child = command.stdout(out).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
    let size = || std::fs::metadata(&path).unwrap().len();
    for signal in signals {
        wait_for_load(child.id(), 16 << 20);
        let before = size();
        kill_process(Pid::from_child(&child), *signal).unwrap();
        while *signal == Signal::USR1 && size() == before {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let output = child.wait_with_output().unwrap();
    Ran { out: std::fs::read_to_string(&path).unwrap(), ..Ran::of(output) }
}

#[test]
fn a_signal_ends_it_with_a_report_and_is_named() {
    let bench = Bench::new();
    for (signal, number, code) in [(Signal::INT, 2, 128), (Signal::TERM, 15, 128), (Signal::HUP, 1, 129)] {
        let out = signalled(&bench, "normal", &[signal]).ended(code).out;
        let said = format!("\n\nfio: terminating on signal {number}\n\nj: (groupid=0");
        assert!(out.contains(&said) && out.contains("Run status group 0"), "{out}");
    }
    let ran = signalled(&bench, "json", &[Signal::TERM]).ended(128).says(&["terminating on signal 15"]);
    assert!(serde_json::from_str::<Value>(&ran.out).is_ok(), "what programs read is left as it is");
}

/// What somebody writes into the report while the job runs stays as it is.
#[test]
fn others_may_take_the_name_of_the_report_while_a_job_runs() {
    let bench = Bench::new();
    let path = |name: &str| bench.path().join(name);
    let line = ["fio", "--name=j", "--size=1m", "--time_based", "--runtime=600", "--rate_iops=500"];
    let mut child = bench.start(&[&line[..], &["--quiet-doubts", "--output=o"]].concat());
    // More than it reads before the load begins.
    wait_for_load(child.id(), 4 << 20);
    std::fs::write(path("o"), "other notes\n").unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut err = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut err).unwrap();
    child.wait().unwrap();
    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    assert_eq!(read("o"), "other notes\n");
    let told: String = err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("o could not be saved: another program has written into it meanwhile"), "{err}");
    assert!(err.contains("j: (groupid=0, jobs=1)"), "the text is on the screen too: {err}");
}

#[test]
fn sigusr1_asks_for_a_report_and_ends_nothing() {
    let bench = Bench::new();
    let ran = signalled(&bench, "json", &[Signal::USR1, Signal::USR1, Signal::INT]).ended(128);
    let reports = documents(&ran.out);
    assert_eq!(reports.len(), 3);
    let ios = |r: &Value| r["jobs"][0]["read"]["total_ios"].as_u64().unwrap();
    assert!(
        ios(&reports[0]) > 0 && ios(&reports[0]) < ios(&reports[1]) && ios(&reports[1]) < ios(&reports[2])
    );
}
