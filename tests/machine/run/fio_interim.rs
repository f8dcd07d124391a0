//! `volproof fio` while it runs: signals that end it, and one that does not.

use std::os::unix::process::CommandExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::run::signals::wait_for_load;
use crate::run::{Bench, Ran};

/// Starts a job that would run for ten minutes, and sends it these signals once it runs.
fn signalled(bench: &Bench, format: &str, signals: &[Signal]) -> Ran {
    let format = format!("--output-format={format}");
    let line = ["fio", "--name=j", "--size=1m", "--time_based", "--runtime=600", "--quiet-doubts", &format];
    let mut command = bench.command(&line);
    let path = bench.path().join("said");
    let out = std::fs::File::create(&path).unwrap();
    let child = command.stdout(out).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
    for signal in signals {
        wait_for_load(child.id(), 16 << 20);
        kill_process(Pid::from_child(&child), *signal).unwrap();
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
    assert!(
        told.contains("o could not be saved: another file, which is no report of fio, has its name now"),
        "{err}"
    );
    assert!(err.contains("j: (groupid=0, jobs=1)"), "the text is on the screen too: {err}");
}

/// fio prints a report when it gets this signal.
#[test]
fn sigusr1_ends_nothing() {
    let bench = Bench::new();
    let ran = signalled(&bench, "json", &[Signal::USR1, Signal::INT]).ended(128);
    assert!(serde_json::from_str::<Value>(&ran.out).is_ok(), "one report, at the end: {}", ran.out);
}
