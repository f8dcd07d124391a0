//! `run --resume RECORD`: what an interrupted run has finished is kept, the rest is measured, and nothing has to be typed again.

use std::io::BufReader;

use volproof::record::{Record, State};

use crate::run::devices::Loop;
use crate::run::signals::{finish, wait_for};
use crate::run::{Bench, is_root};

const PLAN: &str = "[defaults]\nramp = '0s'\nruntime = '200ms'\n[[step]]\nname = 'a'\nrw = 'randread'\n\
     [[step]]\nname = 'b'\nrw = 'randwrite'\n[[step]]\nname = 'c'\nruntime = '2s'\n\
     [[step]]\nname = 'd'\nstart = 'with-previous'\n";
/// What is left of it after two steps.
const LEFT: &str = "2 of 4 steps are kept from the run that began 20";

/// Starts a run that writes `r.json`, and sends a signal to it when its third step begins.
fn ended_in_the_third_step(bench: &Bench, words: &[&str], signal: rustix::process::Signal) {
    let mut child = bench.start(&[&["run", "--no-live", "--json", "r.json"][..], words].concat());
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let seen = wait_for(&mut err, "[3/");
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
    finish(child, err, seen);
}

/// The machine was started again since the run of `r.json`.
fn reboot(bench: &Bench) -> Vec<u8> {
    let mut record = bench.record();
    record.environment.boot_id = Some("another boot".into());
    let text = serde_json::to_vec(&record).unwrap();
    std::fs::write(bench.path().join("r.json"), &text).unwrap();
    text
}

fn load(bench: &Bench, name: &str) -> Record {
    Record::load(&bench.path().join(name)).unwrap()
}

/// Each step with whether an earlier run measured it.
fn steps(record: &Record) -> Vec<(&str, bool)> {
    record.steps.iter().map(|step| (step.name.as_str(), step.earlier_run.is_some())).collect()
}

const ALL: [(&str, bool); 4] = [("a", true), ("b", true), ("c", false), ("d", false)];

#[test]
fn a_run_that_was_killed_goes_on_after_a_reboot() {
    let bench = Bench::new();
    let folder = bench.folder("data");
    bench.file("f.dat", 8);
    std::fs::write(bench.path().join("p.toml"), PLAN).unwrap();
    let words = ["data", "f.dat", "--plan", "p.toml", "--file-size", "8M", "--overwrite"];
    ended_in_the_third_step(&bench, &words, rustix::process::Signal::KILL);
    let before = reboot(&bench);
    assert_eq!(bench.record().state, State::Running);

    let planned = bench.run(&["plan", "--resume", "r.json", "--overwrite"]).ended(0).out;
    let flat = planned.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(LEFT) && !planned.contains("\na  ") && planned.contains("\nc  "), "{planned}");
    bench.run(&["run", "--resume", "r.json", "--json", "s.json"]).ended(3).says(&["f.dat", "--overwrite"]);
    bench
        .run(&["run", "--resume", "r.json", "--json", "r.json", "--overwrite"])
        .ended(2)
        .says(&["same file"]);
    bench
        .run(&["run", "--resume", "r.json", "--json", "s.json", "--overwrite"])
        .ended(0)
        .says(&[LEFT, "[3/4] c"]);

    assert_eq!(std::fs::read(bench.path().join("r.json")).unwrap(), before, "the old Record stays as it was");
    assert!(Bench::names(&folder).is_empty(), "both test files are gone");
    let record = load(&bench, "s.json");
    assert_eq!((steps(&record).as_slice(), &record.state), (&ALL[..], &State::Complete));
    assert_eq!(record.targets.iter().map(|t| t.size_bytes.0 >> 20).collect::<Vec<_>>(), [8, 8]);
    assert!(record.together.iter().any(|stage| stage.steps == ["c", "d"]));
    for command in ["run", "plan"] {
        let done = bench.run(&[command, "--resume", "s.json"]).ended(0).out;
        assert!(done.ends_with("s.json is complete: nothing is left to measure.\n"), "{done}");
    }
    bench.run(&["run", "--resume", "s.json", "--csv", "s.csv"]).ended(2).says(&["nothing for --csv"]);
}

#[test]
fn a_run_on_a_device_goes_on_with_the_settings_that_it_had() {
    let bench = Bench::new();
    let Some(disk) = Loop::over(&bench.file("disk", 16)) else { return };
    let plan = PLAN.replace("rw = 'randwrite'", "rw = 'read'");
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    for tune in ["on", "off"] {
        let words = [disk.path(), "--plan", "p.toml", "--tune", tune];
        ended_in_the_third_step(&bench, &words, rustix::process::Signal::INT);
        let tuned = bench.record().tuning.is_some_and(|tuning| !tuning.applied.is_empty());
        assert_eq!((bench.record().state, tuned), (State::Interrupted, tune == "on" && is_root()));
        bench.run(&["run", "--resume", "r.json", "--json", "s.json"]).ended(0);
        let record = load(&bench, "s.json");
        assert_eq!(steps(&record), ALL);
        let again = record.tuning.is_some_and(|tuning| !tuning.applied.is_empty());
        assert_eq!(again, tuned, "--tune {tune}");
        for name in ["r.json", "s.json"] {
            std::fs::remove_file(bench.path().join(name)).unwrap();
        }
    }
}

/// A preconditioning that was written to a test file is lost with it.
#[test]
fn a_preconditioned_test_file_is_not_resumed() {
    let bench = Bench::new();
    bench.folder("data");
    let words =
        ["data", "--rw", "randread", "--runtime", "200ms", "--file-size", "4M", "--precondition", "regions"];
    bench.run(&[&["run", "--json", "r.json"][..], &words].concat()).ended(0);
    let mut record = bench.record();
    record.steps.pop();
    record.state = State::Interrupted;
    std::fs::write(bench.path().join("r.json"), serde_json::to_vec(&record).unwrap()).unwrap();
    bench
        .run(&["run", "--resume", "r.json"])
        .ended(2)
        .says(&["its preconditioning was lost with its test file"]);
}

/// Wherever a run is cut, the rest comes to the answer of the whole one.
#[test]
fn the_answer_does_not_depend_on_where_a_run_was_cut() {
    const DEVICE: &str = "latency=500us,jitter=100us,iops-cap=1000";
    let promise = ["--promise", "alibaba:cloud_essd.PL0", "--volume-size", "40GiB"];
    let preset = ["--preset", "read-only", "--runtime", "60s"];
    let fit = ["--fit", "etcd"];
    for (words, judged) in
        [([&preset[..], &promise].concat(), true), (fit.to_vec(), true), (preset.to_vec(), false)]
    {
        let bench = Bench::new();
        let run = [&["run", "--simulate", DEVICE, "--json", "r.json"][..], &words].concat();
        let code = bench.run(&run).code;
        let whole = bench.record();
        assert_eq!(whole.outcome.is_some(), judged, "{words:?}");
        for kept in 0..whole.steps.len() {
            let mut part = whole.clone();
            part.steps.truncate(kept);
            part.state = State::Interrupted;
            std::fs::write(bench.path().join("part.json"), serde_json::to_vec(&part).unwrap()).unwrap();
            let ran = bench.run(&["run", "--resume", "part.json", "--json", "s.json"]);
            let resumed = load(&bench, "s.json");
            assert_eq!(
                (ran.code, resumed.outcome),
                (code, whole.outcome),
                "{words:?} from {kept}: {}",
                ran.err
            );
            assert_eq!(resumed.steps.len(), whole.steps.len());
            std::fs::remove_file(bench.path().join("s.json")).unwrap();
        }
    }
}

#[test]
fn options_of_a_plan_are_refused_by_name() {
    let bench = Bench::new();
    let device = "latency=1ms,iops-cap=500";
    let run = ["run", "--simulate", device, "--preset", "read-only", "--runtime", "1s", "--json", "r.json"];
    bench.run(&run).ended(0);
    let mut record = bench.record();
    record.steps.pop();
    record.state = State::Interrupted;
    std::fs::write(bench.path().join("r.json"), serde_json::to_vec(&record).unwrap()).unwrap();
    let mut told = String::new();
    for more in [
        &["--runtime", "2s"][..],
        &["--simulate", "latency=2ms"],
        &["--preset", "quick"],
        &["--rw", "randread"],
        &["."],
        &["--seed", "7"],
        &["--fit", "etcd"],
        &["--precondition", "fill"],
        &["--tune", "ab"],
        &["--continue-on-error"],
        &["--cross-check"],
        &["--start-at", "2026-11-21T22:00:00Z"],
    ] {
        let ran = bench.run(&[&["run", "--resume", "r.json"][..], more].concat()).ended(2);
        assert!(ran.err.contains(more[0]), "{}", ran.err);
        told += &ran.err;
    }
    insta::assert_snapshot!("resumed_plan_options", told);
    bench.run(&["run", "--resume", "r.json", "-q"]).ended(0);
    let sweep = ["sweep", "--simulate", device, "--iodepth", "1..2", "--runtime", "1s", "--json", "w.json"];
    bench.run(&sweep);
    bench.run(&["run", "--resume", "w.json"]).ended(2).says(&["volproof sweep", "--resume w.json"]);
}
