//! Steps that run together: when each begins, what they share, and how one of them ends the others.
//!
//! Order is asserted, never how long anything took: a step of minutes that is ended by another one has certainly begun before.

use volproof::record::{Record, State, StepRecord};
use volproof::unit::Nanos;

use crate::run::{Bench, Ran, fits};

/// Runs a plan file on targets, Record in `r.json`.
fn run(bench: &Bench, plan: &str, arguments: &[&str]) -> Ran {
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    bench.run(&[&["run", "--plan", "p.toml", "--json", "r.json"], arguments].concat())
}

fn step<'a>(record: &'a Record, name: &str) -> &'a StepRecord {
    record.steps.iter().find(|s| s.name == name).unwrap_or_else(|| panic!("no step '{name}'"))
}

/// From its first I/O to the end of its window, on the clock of its stage.
fn load(record: &Record, name: &str) -> std::ops::Range<Nanos> {
    let step = step(record, name);
    step.started_after_ns..Nanos(step.started_after_ns.0 + step.window_ns.0)
}

fn meet(record: &Record, a: &str, b: &str) -> bool {
    let (a, b) = (load(record, a), load(record, b));
    a.start < b.end && b.start < a.end
}

#[test]
fn steps_run_together_after_each_other_and_after_a_delay() {
    let bench = Bench::new();
    bench.file("f.dat", 8);
    let plan = "[defaults]\nrw = 'randread'\nruntime = '1s'\n\
                [[step]]\nname = 'first'\nruntime = '200ms'\n\
                [[step]]\nname = 'a'\n\
                [[step]]\nname = 'b'\nstart = 'with-previous'\nbs = '16k'\n\
                [[step]]\nname = 'chained'\nstart = 'after:a'\nruntime = '200ms'\n\
                [[step]]\nname = 'delayed'\nstart = 'after:a'\ndelay = '300ms'\nruntime = '200ms'\n";
    let ran = run(&bench, plan, &["f.dat"]).ended(0);
    let record = bench.record();
    let names: Vec<_> = record.steps.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["first", "a", "b", "chained", "delayed"], "in the order of the plan");
    assert!(record.steps.iter().all(|s| s.iops() > 0.0));

    assert_eq!(record.together.len(), 1, "the first step was alone");
    assert_eq!(record.together[0].steps, ["a", "b", "chained", "delayed"]);
    assert!(load(&record, "chained").start >= load(&record, "a").end, "it waited for the step it names");
    // A delay counts from the end of the step that is waited for. From the start of the stage it could not be held against the first I/O,
    // which on a busy machine comes later than the start.
    let over = load(&record, "a").end.0 + Nanos::millis(300).0;
    assert!(load(&record, "delayed").start.0 >= over, "it waited for its delay");
    assert!(
        ["a", "b"].contains(
            &record.steps.iter().skip(1).find(|s| s.started_after_ns.0 == 0).unwrap().name.as_str()
        )
    );

    // Which of them met is a matter of the machine; what is said of it must agree with what was measured.
    let stage = ["a", "b", "chained", "delayed"];
    for name in stage {
        let met = stage.iter().filter(|other| **other != name && meet(&record, name, other)).count();
        assert_eq!(record.beside(step(&record, name)).count, met, "{name}");
    }
    assert_eq!(record.beside(step(&record, "first")).count, 0);
    assert!(!meet(&record, "a", "chained"));

    assert!(!step(&record, "first").evidence.at_ns.is_empty());
    assert!(step(&record, "a").evidence.at_ns.is_empty(), "kept once, for the whole stage");
    assert!(!record.together[0].evidence.at_ns.is_empty());
    assert_eq!(record.evidence(step(&record, "b")), &record.together[0].evidence);
    fits(&ran.out);
    assert_eq!(bench.run(&["show", "r.json"]).ended(0).out, ran.out);
    let page = bench.run(&["report", "r.json", "-o", "-"]).ended(0).out;
    assert_eq!(page.contains("together with"), record.beside(step(&record, "a")).count > 0);
}

#[test]
fn who_shared_a_disk_is_told_and_never_judged_by_its_rate() {
    let bench = Bench::new();
    bench.file("f.dat", 8);
    let volume = ["--promise", "alibaba:cloud_essd.PL1", "--volume-size", "100G", "--offline"];
    let promise = [&["f.dat"], &volume[..], &["--no-follow-up"]].concat();
    // A machine that is busy may start one step after the other has ended; so they run longer until they meet.
    let met = [2, 8, 32, 128].into_iter().find_map(|seconds| {
        let plan = format!(
            "[defaults]\nrw = 'randread'\nruntime = '{seconds}s'\niodepth = 4\n\
             [[step]]\nname = 'reader'\n[[step]]\nname = 'other'\nstart = 'with-previous'\n"
        );
        let ran = run(&bench, &plan, &promise);
        let record = bench.record();
        meet(&record, "reader", "other").then_some((ran, record))
    });
    let (ran, record) = met.expect("two steps that run together for two minutes meet");
    assert!(matches!(ran.code, Some(0 | 1 | 5 | 6)), "{}", ran.err);
    for name in ["reader", "other"] {
        let doubt = record.doubts.iter().find(|w| w.code == "shared-disk" && w.step.as_deref() == Some(name));
        assert!(doubt.is_some(), "{name}: {:?}", record.doubts);
    }
    assert!(ran.out.contains("together with other"), "{}", ran.out);
    let json = bench.run(&["verdict", "r.json", "--json"]).out;
    let verdict: serde_json::Value = serde_json::from_str(&json).unwrap();
    for claim in verdict["verdict"]["claims"].as_array().unwrap() {
        // A busy machine may name another fault first. Steps of a few seconds that gave the rate are asked for alone, for a minute.
        let is_short = claim["outcome"] == "inconclusive" && claim["basis"] == "too-short";
        assert!(is_short || ["pass", "invalid"].contains(&claim["outcome"].as_str().unwrap()), "{claim}");
    }
}

#[test]
fn a_step_drives_its_own_targets() {
    let bench = Bench::new();
    bench.file("a.dat", 8);
    bench.file("b.dat", 8);
    let plan = "[defaults]\nrw = 'randread'\nruntime = '200ms'\n\
                [[step]]\nname = 'on-a'\ntargets = ['a.dat']\n\
                [[step]]\nname = 'on-b'\ntargets = ['b.dat']\nstart = 'with-previous'\n\
                [[step]]\nname = 'on-both'\n";
    run(&bench, plan, &["a.dat"]).ended(0);
    let record = bench.record();
    let files = |name: &str| -> Vec<String> {
        let named = |p: &std::path::Path| p.file_name().unwrap().to_string_lossy().into_owned();
        step(&record, name).targets.iter().map(|t| named(&t.path)).collect()
    };
    assert_eq!(files("on-a"), ["a.dat"]);
    assert_eq!(files("on-b"), ["b.dat"]);
    assert_eq!(files("on-both"), ["a.dat", "b.dat"]);
    assert_eq!(record.targets.len(), 2, "each is a target once, whoever names it");
}

#[test]
fn writers_touch_no_file_that_only_others_write() {
    let bench = Bench::new();
    let read = bench.file("read.dat", 4);
    bench.file("written.dat", 4);
    let before = std::fs::read(&read).unwrap();
    let plan = "[defaults]\nruntime = '200ms'\n\
                [[step]]\nname = 'r'\nrw = 'randread'\ntargets = ['read.dat']\n\
                [[step]]\nname = 'w'\nrw = 'randwrite'\ntargets = ['written.dat']\nstart = 'with-previous'\n";
    run(&bench, plan, &[]).ended(3).says(&["written.dat", "--overwrite"]);
    run(&bench, plan, &["--overwrite"]).ended(0);
    assert_eq!(std::fs::read(&read).unwrap(), before);
}

#[test]
fn one_file_is_driven_past_the_page_cache_and_through_it_at_once() {
    let bench = Bench::new();
    bench.folder("data");
    let plan = "[defaults]\nrw = 'randread'\nruntime = '300ms'\n\
                [[step]]\nname = 'direct'\n\
                [[step]]\nname = 'cached'\nstart = 'with-previous'\nbuffered = true\nbs = '1000'\nengine = 'psync'\n\
                [[step]]\nname = 'writer'\nstart = 'with-previous'\nrw = 'randwrite'\nbuffered = true\nbs = '1000'\n";
    run(&bench, plan, &["data", "--file-size", "8M"]).ended(0);
    let record = bench.record();
    // Blocks of 1000 bytes are impossible with direct I/O: each step had its own open file, or one of them would have failed.
    for name in ["direct", "cached", "writer"] {
        assert_eq!(step(&record, name).errors.count, 0, "{name}: {:?}", step(&record, name).errors);
        assert!(step(&record, name).iops() > 0.0, "{name}");
    }
    assert_eq!(Bench::names(&bench.folder("data")), Vec::<String>::new());
}

#[test]
fn a_step_that_fails_ends_those_beside_it() {
    let bench = Bench::new();
    bench.file("f.dat", 8);
    let plan = "[[step]]\nname = 'long'\nrw = 'randread'\nruntime = '10m'\n\
                [[step]]\nname = 'failing'\nstart = 'with-previous'\ndelay = '300ms'\nengine = 'null'\nruntime = '10s'\n\
                simulate = { latency = '1ms', error_every = 10 }\n\
                [[step]]\nname = 'never'\nruntime = '10m'\n";
    run(&bench, plan, &["f.dat"]).ended(7);
    let record = bench.record();
    assert_eq!(record.steps.len(), 2, "no further step was begun");
    assert!(matches!(&record.state, State::Failed(why) if why.contains("failing")), "{:?}", record.state);
    assert!(step(&record, "long").window_ns < Nanos::seconds(600), "it was ended");

    let counted = plan.replace("10m", "500ms");
    run(&bench, &counted, &["f.dat", "--continue-on-error"]).ended(0);
    let record = bench.record();
    assert_eq!(record.steps.len(), 3);
    assert!(step(&record, "failing").errors.count > 0);
    assert_eq!(step(&record, "long").window_ns, Nanos::millis(500));
}

#[test]
fn mistakes_in_the_order_of_steps_are_found_before_anything_runs() {
    let bench = Bench::new();
    bench.file("f.dat", 8);
    let plan = |second: &str| format!("[[step]]\nname = 'a'\n[[step]]\nname = 'b'\n{second}\n");
    run(&bench, &plan("start = 'after:c'"), &["f.dat"]).ended(2).says(&["'b'", "'c'"]);
    run(&bench, "[[step]]\nstart = 'with-previous'\n", &["f.dat"]).ended(2).says(&["first"]);
    run(&bench, &plan("start = 'sometime'"), &["f.dat"]).ended(2).says(&["line 5", "with-previous"]);
    assert!(!bench.path().join("r.json").exists());
}

#[test]
fn a_plan_shows_what_runs_together() {
    let bench = Bench::new();
    bench.file("f.dat", 8);
    let plan = "[[step]]\nname = 'a'\nruntime = '60s'\n[[step]]\nname = 'b'\nstart = 'with-previous'\nruntime = '60s'\n\
                [[step]]\nname = 'c'\nstart = 'after:a'\ndelay = '2s'\nruntime = '10s'\n";
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    let ran = bench.run(&["plan", "--plan", "p.toml", "f.dat"]).ended(0);
    fits(&ran.out);
    let table: Vec<&str> =
        ran.out.lines().filter(|l| l.contains("randread") || l.contains("begins")).collect();
    insta::assert_snapshot!(table.join("\n"), @r"
    Step   pattern  block  depth  jobs    engine  ramp  time       begins
    a     randread  4 KiB      1     1  io_uring    0s   60s
    b     randread  4 KiB      1     1  io_uring    0s   60s         with
    c     randread  4 KiB      1     1  io_uring    0s   10s  after a +2s
    ");
    assert!(ran.out.contains("1 min 12 s for the steps"), "{}", ran.out);
}
