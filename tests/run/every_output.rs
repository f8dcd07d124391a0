//! The same failures at every command that writes an output: no figure is lost, and nothing that must stay is overwritten.

use std::path::Path;

use volproof::record::Record;

use crate::{Bench, Ran};

/// Commands that measure, on simulated devices that take no time.
const MEASURING: [&str; 7] = [
    "run --simulate latency=1ms --rw randread --runtime 1s",
    "sweep --simulate latency=2ms,iops-cap=500 --iodepth 1..2 --runtime 10s",
    "slo --simulate latency=100ms,iops-cap=20,cap-period=1s --p50 500ms --runtime 10s --confirm 10s",
    "suite snia-lat --simulate latency=200ms,iops-cap=5 --runtime 10s --size 1m",
    "cold --simulate latency=1ms",
    "fit --for harvester --simulate latency=10ms --runtime 10s",
    "million target 1 1 4k randread --simulate latency=10ms --runtime 10s",
];

/// Runs a command line in a shell that has set a limit, with a second place of its own for results.
fn limited(bench: &Bench, before: &str, line: &str) -> Ran {
    let script = format!("{before} exec {} {line}", env!("CARGO_BIN_EXE_volproof"));
    Ran::of(bench.program("bash").args(["-c", &script]).output().unwrap())
}

/// The lines of a result that do not change from run to run.
fn figures(text: &str) -> Vec<&str> {
    let changes = |line: &&str| line.contains("202") || line.contains(".json") || line.trim().is_empty();
    text.lines().filter(|line| !changes(line)).collect()
}

/// All figures of a good run are on the screen of one whose outputs failed, and so is the name of the output with the reason.
#[track_caller]
fn nothing_is_lost(line: &str, good: &Ran, ran: &Ran, why: &str) {
    let due = if good.code == Some(0) { Some(1) } else { good.code };
    assert_eq!(ran.code, due, "{line}:\n{}\n{}", ran.out, ran.err);
    assert!(ran.err.contains(why), "{line}: '{why}' is not in:\n{}", ran.err);
    for figure in figures(&good.out) {
        assert!(ran.out.contains(figure), "{line}: '{figure}' is not in:\n{}\n{}", ran.out, ran.err);
    }
}

#[test]
fn no_command_that_measures_loses_a_figure() {
    for line in MEASURING {
        let bench = Bench::new();
        let good = limited(&bench, "", &format!("{line} --json good.json"));
        assert!(Record::load(&bench.path().join("good.json")).is_ok(), "{line}: {}", good.err);
        let before = Bench::names(bench.path());

        // EFBIG, in the second place too.
        let ran = limited(&bench, "ulimit -f 0;", &format!("{line} --json r.json --csv r.csv"));
        nothing_is_lost(line, &good, &ran, "r.json could not be saved: File too large");
        nothing_is_lost(line, &good, &ran, "r.csv could not be saved: File too large");
        assert_eq!(Bench::names(bench.path()), before, "{line}");

        // ENOSPC: the Record is in the second place.
        let ran = limited(&bench, "", &format!("{line} --json /dev/full"));
        nothing_is_lost(line, &good, &ran, "/dev/full could not be saved: No space left on device");
        let place = ran.err.split("it is in ").nth(1).unwrap().split(" instead").next().unwrap();
        let steps = |path: &Path| Record::load(path).unwrap().steps.len();
        assert_eq!(steps(Path::new(place)), steps(&bench.path().join("good.json")), "{line}");

        for (output, why) in [
            ("--json /proc/r.json", "/proc/r.json cannot be written"),
            ("--html none/r.html", "there is no folder none"),
            ("--json r --csv ./r", "is the same file as --json r"),
            ("--junit /tmp", "/tmp cannot be written: it is a folder"),
        ] {
            let ran = limited(&bench, "", &format!("{line} {output}")).ended(2).says(&[why]);
            assert_eq!(ran.out, "", "{line} {output}: nothing is measured");
        }
    }
}

#[test]
fn no_output_replaces_a_record_that_a_course_reads() {
    let bench = Bench::new();
    bench.run(
        &"run --simulate latency=1ms --rw randread --runtime 10ms --json good.json -q"
            .split(' ')
            .collect::<Vec<_>>(),
    );
    std::fs::hard_link(bench.path().join("good.json"), bench.path().join("hard.json")).unwrap();
    let before = std::fs::read(bench.path().join("good.json")).unwrap();
    limited(&bench, "", &format!("{} --json ref.json", MEASURING[3]));
    std::fs::hard_link(bench.path().join("ref.json"), bench.path().join("same.json")).unwrap();
    for output in ["--json ref.json", "--csv same.json"] {
        let ran = limited(
            &bench,
            "",
            &format!("suite essd-contract --simulate latency=1ms --size 64m --reference ref.json {output}"),
        )
        .ended(2);
        ran.says(&["is the same file as --reference ref.json"]);
    }
    for stored in [
        "show good.json --junit hard.json",
        "verdict good.json --markdown hard.json",
        "report good.json -o hard.json",
        "convert good.json --to csv -o hard.json",
        "merge good.json -o hard.json",
    ] {
        limited(&bench, "", stored).ended(2).says(&["is the same file as the input good.json"]);
    }
    assert_eq!(std::fs::read(bench.path().join("good.json")).unwrap(), before);
}

#[test]
fn what_is_made_of_stored_results_is_told_where_it_cannot_be_saved() {
    let bench = Bench::new();
    let run = "run --simulate latency=1ms --rw randread --runtime 10ms --json r.json -q";
    bench.run(&run.split(' ').collect::<Vec<_>>()).ended(0);
    let declared = concat!("lint ", env!("CARGO_MANIFEST_DIR"), "/tests/lint/fixtures/aws.yaml");
    for (line, option) in [
        ("show r.json", "--junit"),
        ("show r.json", "--markdown"),
        ("verdict r.json --promise aws:gp3 --volume-size 10GiB", "--openmetrics"),
        (declared, "--junit"),
        ("report r.json", "-o"),
        ("convert r.json --to csv", "-o"),
    ] {
        let good = limited(&bench, "", &format!("{line} {option} good.out"));
        let ran = limited(&bench, "ulimit -f 0;", &format!("{line} {option} new.out"));
        ran.says(&["new.out could not be saved: File too large"]);
        assert!(!bench.path().join("new.out").exists());
        let ran = limited(&bench, "", &format!("{line} {option} /dev/full"));
        let due = if good.code == Some(0) { Some(1) } else { good.code };
        assert_eq!(ran.code, due, "{line} {option}: {}", ran.err);
        let place = ran.err.split("it is in ").nth(1).unwrap().split(" instead").next().unwrap();
        let saved = std::fs::read(place).unwrap();
        assert_eq!(saved, std::fs::read(bench.path().join("good.out")).unwrap(), "{line} {option}");
        if option != "-o" {
            assert_eq!(figures(&ran.out), figures(&good.out), "{line} {option}");
        }
    }
}
