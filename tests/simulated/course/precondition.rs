//! Preconditioning as users ask for it, and the first touch.

use std::path::Path;

use volproof::plan::PreconditionMethod;
use volproof::record::Record;

use crate::course::typed::volproof;

const DEVICE: &str = "latency=300us,iops-cap=2000,bytes-cap=64MB";

fn record(folder: &Path) -> Record {
    Record::load(&folder.join("r.json")).unwrap()
}

#[test]
fn its_steps_come_first_and_decide_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = ["sweep", "--simulate", DEVICE, "--size", "16m", "--iodepth", "1..4", "--runtime", "10s"];
    let (code, out, err) =
        volproof(dir.path(), &[&sweep[..], &["--precondition", "snia", "--json", "r.json"]].concat());
    assert_eq!(code, Some(0), "{out}\n{err}");
    let sweep = record(dir.path());
    let names: Vec<&str> = sweep.steps.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names[..2], ["precondition-sequential1", "precondition-sequential2"]);
    assert_eq!((names[3], names[4], names.len()), ("precondition-random2", "d1", 7));
    assert_eq!(sweep.plan.precondition.as_ref().unwrap().method, PreconditionMethod::Snia);
    let of_precondition =
        |step: &Option<String>| step.as_ref().is_some_and(|s| s.starts_with("precondition"));
    assert!(!sweep.doubts.iter().any(|d| of_precondition(&d.step)), "{:?}", sweep.doubts);

    let run = [
        "run",
        "--simulate",
        DEVICE,
        "--size",
        "16m",
        "--rw",
        "randread",
        "--iodepth",
        "8",
        "--runtime",
        "20s",
    ];
    let promise = ["--promise", "gp2", "--volume-size", "100GiB", "--precondition", "regions"];
    let (_, out, err) = volproof(dir.path(), &[&run[..], &promise, &["--json", "r.json"]].concat());
    let run = record(dir.path());
    assert!(run.steps.len() > 20, "{out}\n{err}");
    let claims = &run.verdict.as_ref().unwrap().claims;
    assert!(claims.iter().all(|c| c.step == "randread"), "{claims:?}");
}

#[test]
fn bytes_and_time_are_said_and_consent_is_needed() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("data"), vec![1; 8 << 20]).unwrap();
    let plan = ["plan", "data", "--rw", "randread", "--runtime", "2s"];
    let (code, _, err) = volproof(dir.path(), &[&plan[..], &["--precondition", "auto"]].concat());
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("Give --overwrite"), "{err}");
    let (code, out, err) =
        volproof(dir.path(), &[&plan[..], &["--precondition", "snia", "--overwrite"]].concat());
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("preconditioning (snia, as asked for) first writes 32 MiB"), "{out}");
    let (code, _, err) = volproof(dir.path(), &[&plan[..], &["--precondition", "twice"]].concat());
    assert_eq!(code, Some(2));
    let words = err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("use auto, none, fill, snia or regions"), "{err}");
    assert_eq!(std::fs::read(dir.path().join("data")).unwrap(), vec![1; 8 << 20], "nothing is written");
}

#[test]
fn help_names_only_options_that_are_taken() {
    let dir = tempfile::tempdir().unwrap();
    let help = |command: &str| volproof(dir.path(), &[command, "--help"]).1;
    let (cold, suite) = (help("cold"), help("suite"));
    for option in ["--destroy", "--overwrite", "--precondition", "--promise", "--file-size", "--resume"] {
        assert!(!cold.contains(option), "{option}: {cold}");
        let (code, _, err) = volproof(dir.path(), &["cold", "--simulate", "latency=1ms", option, "1"]);
        assert!(code == Some(2) && err.contains(option), "{err}");
    }
    assert!(cold.contains("--simulate") && cold.contains("--json") && cold.contains("--tune"), "{cold}");
    assert!(!suite.contains("--precondition") && suite.contains("--destroy"), "{suite}");
    let (code, _, err) =
        volproof(dir.path(), &["suite", "snia-lat", "--simulate", "latency=1ms", "--precondition", "fill"]);
    assert!(code == Some(2) && err.contains("a suite prepares its targets itself"), "{err}");
}

#[test]
fn cold_reads_a_thousand_blocks_twice() {
    let dir = tempfile::tempdir().unwrap();
    let cold = ["cold", "--simulate", "latency=1ms", "--json", "r.json", "--html", "r.html"];
    let (code, out, err) = volproof(dir.path(), &cold);
    assert_eq!(code, Some(0), "{out}{err}");
    let (progress, answer) = out.split_once("PASS").unwrap_or_else(|| panic!("{out}"));
    assert!(progress.lines().count() <= 4, "no line for each of a hundred groups: {progress}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let says = "1,000 blocks take 1.00 ms at the first read and 1.00 ms when read again (median); at most 0.37 % of the blocks take more than 1.50 ms";
    assert!(words(answer).contains(says), "{out}");
    assert!(answer.lines().all(|line| line.chars().count() <= 80), "{out}");
    let record = record(dir.path());
    assert!(!record.plan.changes_data() && record.steps.len() == 101);
    let (code, _, err) = volproof(dir.path(), &["cold", "."]);
    assert_eq!(code, Some(2));
    assert!(err.contains("never cold"), "{err}");
}

/// A file that was written a moment ago is not loaded from anywhere. Doubts about single groups do not void the answer.
#[test]
fn cold_answers_for_a_file() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(dir.path().join("data"), vec![7; 16 << 20]).unwrap();
    for direct in ["--direct=true", "--direct=false"] {
        let (code, out, err) = volproof(dir.path(), &["cold", "data", direct, "--json", "r.json"]);
        assert!(matches!(code, Some(0 | 5)), "{direct}: {out}{err}");
        assert!(out.contains("blocks take"), "{direct}: {out}{err}");
        std::fs::remove_file(dir.path().join("r.json")).unwrap();
    }
}

#[test]
fn blocks_that_are_loaded_at_their_first_read_are_cold() {
    let dir = tempfile::tempdir().unwrap();
    let cold = ["cold", "--simulate", "latency=1ms,first-touch=5ms", "--json", "r.json"];
    let (code, out, err) = volproof(dir.path(), &cold);
    assert_eq!(code, Some(1), "{out}{err}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("The volume is still being loaded") && words.contains("FAIL"), "{out}");
    assert!(
        words.contains("99.6 % to 100 % of the blocks take more than 1.50 ms at the first read only"),
        "{out}"
    );
    // A fill loads what a sweep then reads.
    let sweep = ["sweep", "--simulate", "latency=1ms,first-touch=5ms", "--size", "64m", "--iodepth", "1..2"];
    let fill = ["--runtime", "10s", "--precondition", "fill", "--json", "r.json"];
    let (code, out, err) = volproof(dir.path(), &[&sweep[..], &fill].concat());
    assert_eq!(code, Some(0), "{out}\n{err}");
    let record = record(dir.path());
    let slowest = record.steps[1].directions().map(|(_, d)| d.service_latency_ns.max).max();
    assert_eq!(slowest.map(|t| t.0), Some(1_000_000), "{out}");
}

#[test]
fn a_full_standard_output_costs_no_measurement() {
    let dir = tempfile::tempdir().unwrap();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut cold = std::process::Command::new(env!("CARGO_BIN_EXE_volproof"));
    cold.args(["cold", "--simulate", "latency=1ms", "--json", "r.json"]).current_dir(dir.path()).stdout(full);
    let out = cold.output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(7) && err.contains("standard output"), "{err}");
    assert_eq!(record(dir.path()).steps.len(), 101);
}

#[test]
fn holes_are_written_before_they_are_read() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::File::create(dir.path().join("data")).unwrap().set_len(8 << 20).unwrap();
    let run = ["run", "data", "--rw", "randread", "--engine", "psync", "--runtime", "1s", "--overwrite"];
    let more = ["--precondition", "fill", "--json", "r.json"];
    let (code, out, err) = volproof(dir.path(), &[&run[..], &more].concat());
    assert!(matches!(code, Some(0 | 6)), "{out}\n{err}");
    let record = record(dir.path());
    assert!(!record.doubts.iter().any(|d| d.code == "unwritten-blocks"), "{:?}", record.doubts);
    assert_eq!(record.steps.len(), 2);
}

/// A pipeline that reads the files and not the exit code sees the answer too.
#[test]
fn files_for_pipelines_have_the_answer_of_a_course() {
    let dir = tempfile::tempdir().unwrap();
    let device = ["--simulate", "latency=200us,first-touch=10ms"];
    let files = ["--junit", "j.xml", "--openmetrics", "m.prom", "--json", "r.json"];
    let text = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let (code, out, err) = volproof(dir.path(), &[&["cold"][..], &device, &files].concat());
    assert_eq!(code, Some(1), "{out}\n{err}");
    assert!(text("j.xml").contains("failures=\"1\" errors=\"0\"") && text("j.xml").contains("<failure"));
    let failed = text("m.prom").lines().any(|l| l.contains("outcome=\"fail\"") && l.ends_with(" 1"));
    assert!(failed && text("m.prom").contains("volproof_verdict_exit_code"), "{}", text("m.prom"));
    let slo = ["slo", "--simulate", "latency=200us", "--p99", "100us", "--runtime", "10s"];
    let (code, out, err) = volproof(dir.path(), &[&slo[..], &files].concat());
    assert_eq!(code, Some(1), "{out}\n{err}");
    assert!(text("j.xml").contains("name=\"the answer\"") && text("j.xml").contains("failures=\"1\""));
}
