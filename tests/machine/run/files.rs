//! Folders and files: what is made, filled, measured, printed, and taken away.

use std::io::{BufReader, Read};
use std::process::Stdio;

use crate::run::signals::{finish, wait_for};
use crate::run::{Bench, Ran, fits};

/// A step of a moment: enough I/O for every figure, over in half a second.
const SHORT: [&str; 4] = ["--runtime", "500ms", "--json", "r.json"];
/// The same on a folder.
const SHORT_IN_FOLDER: [&str; 6] = ["--runtime", "500ms", "--file-size", "16M", "--json", "r.json"];

fn with<'a>(arguments: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [arguments, more].concat()
}

#[test]
fn a_folder_is_tested_and_left_as_it_was() {
    let bench = Bench::new();
    let folder = bench.folder("data");
    let ran =
        bench.run(&with(&["run", "data", "--preset", "quick", "--ramp", "0"], &SHORT_IN_FOLDER)).ended(0);
    // A path is longer on one machine than on another, and is never broken.
    fits(&ran.out.replace(&*folder.to_string_lossy(), "data"));
    assert_eq!(Bench::names(&folder), Vec::<String>::new(), "the test file is gone");

    let record = bench.record();
    let names: Vec<_> = record.steps.iter().map(|s| s.name.as_str()).collect();
    let plan: Vec<_> = record.plan.steps.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, plan);
    assert_eq!(names.len(), 6, "four standard tests and two latencies");
    for step in &record.steps {
        assert!(step.iops() > 0.0, "{} did nothing", step.name);
        assert_eq!(step.errors.count, 0);
        assert!(ran.out.contains(&step.name));
    }
    let target = &record.targets[0];
    assert_eq!(target.size_bytes.0, 16 << 20);
    assert!(target.filled_in_ns.is_some_and(|t| t.0 > 0), "the file was filled before it was measured");
    let volproof::device::Facts::File(facts) = &target.facts else { panic!("a file: {:?}", target.facts) };
    if let Some(extents) = facts.extents {
        assert_eq!(extents.hole_bytes.0 + extents.unwritten_bytes.0, 0, "every block was written");
    }
    assert!(ran.err.contains("filled in"), "{}", ran.err);

    let shown = bench.run(&["show", "r.json"]).ended(0);
    assert_eq!(shown.out, ran.out, "show prints what run printed");
}

#[test]
fn a_kept_file_is_full_of_data_and_stays() {
    let bench = Bench::new();
    let folder = bench.folder("data");
    let ran = bench.run(&with(&["run", "data", "--rw", "randread", "--keep"], &SHORT_IN_FOLDER)).ended(0);
    let names = Bench::names(&folder);
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(ran.err.contains("The test file stays:") && ran.err.contains(&names[0]), "{}", ran.err);
    let data = std::fs::read(folder.join(&names[0])).unwrap();
    assert_eq!(data.len(), 16 << 20);
    let mut counts = [0u64; 256];
    data.iter().for_each(|b| counts[usize::from(*b)] += 1);
    let entropy: f64 = counts
        .iter()
        .map(|&n| n as f64 / data.len() as f64)
        .filter(|p| *p > 0.0)
        .map(|p| -p * p.log2())
        .sum();
    assert!(entropy > 7.99, "incompressible data has 8 bits a byte, this has {entropy:.3}");
}

#[test]
fn the_record_has_the_keys_that_are_promised() {
    let bench = Bench::new();
    bench.folder("data");
    let load = ["run", "data", "--rw", "randrw", "--iodepth", "4", "--rate-iops", "400"];
    let ran = bench.run(&with(&load, &SHORT_IN_FOLDER)).ended(0);
    let text = std::fs::read_to_string(bench.path().join("r.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["schema"], "volproof.record");
    assert_eq!(json["schema_version"], 2);
    for key in [
        "/steps/0/name",
        "/steps/0/engine",
        "/steps/0/in_flight_mean",
        "/steps/0/cpu/user_ns_per_io",
        "/steps/0/cpu/system_ns_per_io",
        "/plan/steps/0/iodepth",
        "/plan/seed",
        "/environment/kernel",
        "/environment/cpu_model",
        "/environment/clock_source",
        "/environment/memory_bytes",
        "/environment/virtual_machine",
        "/targets/0/facts",
        "/targets/0/size_bytes",
    ] {
        assert!(json.pointer(key).is_some(), "{key} is missing");
    }
    for direction in ["read", "write"] {
        for key in ["ios", "bytes", "iops", "bytes_per_second"] {
            assert!(json.pointer(&format!("/steps/0/{direction}/{key}")).is_some_and(|v| v.is_number()));
        }
        for kind in ["service_latency_ns", "response_latency_ns"] {
            let latency = json.pointer(&format!("/steps/0/{direction}/{kind}")).expect(kind);
            for key in ["min", "mean", "max"] {
                assert!(latency[key].is_number(), "{direction} {kind} {key}");
            }
            assert!(latency["percentiles"]["50"].is_number(), "{latency}");
        }
    }
    for warning in json["warnings"].as_array().unwrap() {
        for key in ["code", "message", "advice"] {
            assert!(warning[key].is_string(), "{warning}");
        }
    }
    assert!(ran.out.contains("latency counts from the intended start"), "{}", ran.out);
    fits(&ran.out);
}

#[test]
fn an_existing_file_is_read_as_it_is() {
    let bench = Bench::new();
    let file = bench.file("f.dat", 8);
    let before = std::fs::read(&file).unwrap();
    bench.run(&with(&["run", "f.dat", "--rw", "randread", "--iodepth", "8"], &SHORT)).ended(0);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert!(bench.record().targets[0].filled_in_ns.is_none());
}

#[test]
fn an_existing_file_is_written_only_with_consent() {
    let bench = Bench::new();
    let file = bench.file("f.dat", 8);
    let before = std::fs::read(&file).unwrap();
    let load = with(&["run", "f.dat", "--rw", "randwrite"], &SHORT);
    bench.run(&load).ended(3).says(&["f.dat", "--overwrite"]);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert!(!bench.path().join("r.json").exists(), "nothing was measured, nothing is saved");

    bench.run(&with(&load, &["--overwrite"])).ended(0);
    let after = std::fs::read(&file).unwrap();
    assert_eq!(after.len(), before.len(), "the file keeps its length and its place");
    assert_ne!(after, before);
}

#[test]
fn several_targets_are_driven_together_and_summed() {
    let bench = Bench::new();
    bench.folder("a");
    bench.folder("b");
    let ran =
        bench.run(&with(&["run", "a", "b", "--rw", "randread", "--iodepth", "4"], &SHORT_IN_FOLDER)).ended(0);
    fits(&ran.out);
    let record = bench.record();
    assert_eq!(record.targets.len(), 2);
    let step = &record.steps[0];
    assert_eq!(step.in_flight_asked.get(), Some(8.0));
    let sum: u64 = step.targets.iter().map(|t| t.read.as_ref().unwrap().ios).sum();
    assert_eq!(step.read.as_ref().unwrap().ios, sum);
    for target in &record.targets {
        assert!(ran.out.contains(target.path.file_name().unwrap().to_str().unwrap()), "{}", ran.out);
    }
    assert_eq!(Bench::names(&bench.folder("a")), Vec::<String>::new());
    assert_eq!(Bench::names(&bench.folder("b")), Vec::<String>::new());
}

#[test]
fn block_sizes_keep_their_shares() {
    let bench = Bench::new();
    bench.file("f.dat", 8);
    let load = ["run", "f.dat", "--rw", "randread", "--bs", "4k/70:64k/30", "--iodepth", "8"];
    bench.run(&with(&load, &SHORT)).ended(0);
    let record = bench.record();
    let read = record.steps[0].read.as_ref().unwrap();
    let mean = read.bytes.0 as f64 / read.ios as f64;
    let wanted = 0.7 * 4096.0 + 0.3 * 65536.0;
    // The share of one size is binomial: five standard errors.
    let error = 5.0 * (0.7f64 * 0.3 / read.ios as f64).sqrt() * (65536.0 - 4096.0);
    assert!((mean - wanted).abs() < error, "{mean} is not within {error} of {wanted}");
}

#[test]
fn results_go_where_they_are_asked() {
    let bench = Bench::new();
    bench.file("f.dat", 8);
    let load = ["run", "f.dat", "--rw", "randread", "--runtime", "200ms"];
    let ran = bench.run(&with(&load, &["--csv", "r.csv", "--json", "r.json"])).ended(0);
    let csv = std::fs::read_to_string(bench.path().join("r.csv")).unwrap();
    assert!(csv.starts_with("step,direction,target,"), "{csv}");
    assert!(csv.lines().nth(1).unwrap().starts_with("randread,read,all,"), "{csv}");
    assert_eq!(bench.run(&["show", "--csv", "r.json"]).ended(0).out, csv);
    assert!(ran.out.contains("p99.9"));

    let ran = bench.run(&with(&load, &["--quiet", "--json", "q.json"])).ended(0);
    assert_eq!((ran.out.lines().count(), ran.err.as_str()), (1, ""), "quiet: {}", ran.out);

    let ran = bench.run(&with(&load, &["--json", "-"])).ended(0);
    let json: serde_json::Value =
        serde_json::from_str(&ran.out).expect("the Record alone on standard output");
    assert_eq!(json["schema"], "volproof.record");

    let ran = bench.run(&with(&load, &["--csv", "-", "--json", "c.json"])).ended(0);
    assert!(ran.out.starts_with("step,direction") && ran.out.lines().count() == 2, "{}", ran.out);

    let ran = bench.run(&load).ended(0);
    let saved =
        Bench::names(bench.path()).into_iter().find(|n| n.starts_with("volproof-")).expect("a Record");
    assert!(ran.err.contains(&saved), "it says where the Record is: {}", ran.err);
    assert!(!ran.out.contains('\x1b') && !ran.err.contains('\x1b'), "no colours and no live line in a pipe");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let bench = Bench::new();
    bench.file("f.dat", 8);
    let mut child = bench
        .command(&["run", "f.dat", "--rw", "randread", "--runtime", "200ms", "--json", "r.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    let ran = Ran { code: child.wait().unwrap().code(), out: String::new(), err }.ended(0);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    assert_eq!(bench.record().state, volproof::record::State::Complete);
}

/// The log's disk is full, or the terminal is gone: what was measured matters more than who hears of it.
#[test]
fn progress_that_nobody_takes_ends_no_run() {
    let bench = Bench::new();
    bench.file("f.dat", 8);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let load = ["run", "f.dat", "--rw", "randread", "--runtime", "200ms", "--json", "r.json"];
    let output = bench.command(&load).stderr(full.try_clone().unwrap()).output().unwrap();
    Ran::of(output).ended(0);
    assert_eq!(bench.record().state, volproof::record::State::Complete);
    let refused = bench.command(&["run", "none.dat", "--rw", "randread"]).stderr(full).output().unwrap();
    Ran::of(refused).ended(2);
}

#[test]
fn a_plan_says_what_would_run_and_does_nothing() {
    let bench = Bench::new();
    let folder = bench.folder("data");
    let ran = bench.run(&["plan", "data", "--file-size", "64M"]).ended(0);
    fits(&ran.out);
    for word in ["randwrite-iops", "read-throughput", "64 MiB", "writes", "time"] {
        assert!(ran.out.contains(word), "'{word}' is not in:\n{}", ran.out);
    }
    assert_eq!(Bench::names(&folder), Vec::<String>::new());
    let ran = bench.run(&["plan", "data", "--preset", "read-only"]).ended(0);
    assert!(ran.out.contains("nothing after that"), "{}", ran.out);
}

/// The figures are of the files that were open; their names lead elsewhere.
#[test]
fn files_that_are_not_where_they_were_are_told() {
    let bench = Bench::new();
    let (ours, around) = (bench.folder("ours"), bench.folder("around"));
    let path = |name: &str| bench.path().join(name);
    for name in ["moved", "removed", "replaced", "around/f", "stays", "other"] {
        bench.file(name, 1);
    }
    let line = ["run", "moved", "removed", "replaced", "around/f", "stays", "ours", "--file-size", "1M"];
    // A ring whose files have no names any more would have the guard refuse in tests that run beside this one.
    let load = ["--rw", "randread", "--engine", "psync", "--runtime", "1s", "--json", "r.json", "--details"];
    let mut child = bench.start(&with(&line, &load));
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let seen = wait_for(&mut err, "[1/1]");
    let test_file = Bench::names(&ours).pop().unwrap();
    std::fs::rename(path("moved"), path("elsewhere")).unwrap();
    std::fs::remove_file(path("removed")).unwrap();
    std::fs::rename(path("other"), path("replaced")).unwrap();
    std::fs::rename(&around, path("renamed")).unwrap();
    std::fs::rename(ours.join(&test_file), path("taken")).unwrap();
    let ran = finish(child, err, seen).ended(0);

    let shown = |name: &str| path(name).display().to_string();
    let expected = [
        format!("{} was moved during the run and is now {}", shown("moved"), shown("elsewhere")),
        format!("{} was removed during the run", shown("removed")),
        format!("{} was removed during the run (another file has its name)", shown("replaced")),
        format!("{} was moved during the run and is now {}", shown("around/f"), shown("renamed/f")),
        format!("{}/{test_file} was moved during the run and is now {}", shown("ours"), shown("taken")),
    ];
    let doubts = bench.record().doubts;
    let told: Vec<_> = doubts.iter().filter(|d| d.code == "target-moved").map(|d| &d.message).collect();
    assert_eq!(told, [&expected.join("; ")]);
    let table = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(table.contains(told[0]), "{}", ran.out);
    assert!(ran.err.contains(&format!("the test file {}: remove it by hand", expected[4])), "{}", ran.err);
    assert!(path("taken").exists(), "what was moved away is nobody's to remove");
}
