//! Outputs that a killed run was writing: the next command in the folder tells of them, and removes none.

use std::process::Command;

use volproof::record::Record;

use crate::run::threads::can_trace;
use crate::run::{Bench, Ran};

const RUN: &str = "run --simulate latency=1ms --rw randread --runtime 10ms -q --json r.json";

/// A run that is killed when the content of its Record is written and not yet on disk.
fn killed(bench: &Bench) {
    let out = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:signal=KILL"])
        .arg(env!("CARGO_BIN_EXE_volproof"))
        .args(RUN.split(' '))
        .current_dir(bench.path())
        .output()
        .unwrap();
    assert!(!out.status.success());
}

#[test]
fn the_next_command_tells_of_the_result_that_a_killed_run_was_saving() {
    if !can_trace() {
        return;
    }
    let bench = Bench::new();
    killed(&bench);
    let names = Bench::names(bench.path());
    let [left] = names.as_slice() else { panic!("{names:?}") };
    assert!(left.starts_with(".volproof-") && left.ends_with("-r.json.part"), "{left}");
    let part = bench.path().join(left);
    let whole = std::fs::read(&part).unwrap();
    let said = format!(
        "volproof: a run that was killed while it saved r.json left ./{left}, which may be cut off: "
    );
    let command: Vec<&str> = RUN.split(' ').collect();
    bench.run(&command).ended(0).says(&[&said, &format!("mv ./{left} NAME")]);
    bench.run(&["show", "-q", "r.json"]).ended(0).says(&[&said]);
    assert_eq!(Record::load(&part).unwrap().steps.len(), 1);
    std::fs::write(&part, &whole[..whole.len() / 2]).unwrap();
    bench.run(&["show", "r.json"]).says(&["left ./", "which may be cut off"]);
    assert_eq!(Bench::names(bench.path()), [left.as_str(), "r.json"]);
    std::fs::remove_file(part).unwrap();
    let Ran { err, .. } = bench.run(&["show", "-q", "r.json"]).ended(0);
    assert_eq!(err, "");
}

/// The Record has its name, and that name has its run, from the first step on.
#[test]
fn a_run_that_was_killed_in_its_first_step_is_told_of_and_goes_on() {
    let bench = Bench::new();
    bench.file("f.dat", 1);
    let line = ["run", "f.dat", "--rw", "randread", "--runtime", "10m", "-q", "--json", "r.json"];
    let mut running = bench.start(&line);
    let began = std::time::Instant::now();
    while !bench.path().join("r.json").exists() {
        assert!(began.elapsed().as_secs() < 60, "it does not begin");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    bench
        .run(&line)
        .ended(2)
        .says(&["r.json cannot be written: another program that still runs has locked it"]);
    bench.run(&["run", "--resume", "r.json"]).ended(2).says(&["its run still goes on"]);
    running.kill().unwrap();
    running.wait().unwrap();
    let shown = bench.run(&["show", "r.json"]);
    assert!(shown.out.contains("CUT OFF") && shown.out.contains("Nothing was measured"), "{}", shown.out);
    let left = bench.run(&["plan", "--resume", "r.json"]).ended(0);
    assert!(left.out.contains("10 min"), "{}", left.out);
}
