//! A Record holds findings and verdict: those that the text tells.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use volproof::record::{Outcome, Record};
use volproof::report::verdict_text;
use volproof::{judge, result_file};

/// A folder of a test, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("volproof-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn volproof(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let done =
        Command::new(env!("CARGO_BIN_EXE_volproof")).args(arguments).current_dir(folder).output().unwrap();
    (done.status.code(), String::from_utf8(done.stdout).unwrap())
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

const PLAN: &str = "[[step]]\nname = 'rand'\nrw = 'randread'\nbs = '4k'\niodepth = 32\nengine = 'null'\nruntime = '60s'\n\
    simulate = { latency = '500us', iops-cap = 5000 }\n";
const PROMISED: [&str; 4] = ["--promise", "alibaba:cloud_essd.PL1", "--volume-size", "100GiB"];

/// A run of a capped volume that was promised more.
fn run(folder: &Path, plan: &str, more: &[&str]) -> Value {
    std::fs::write(folder.join("p.toml"), plan).unwrap();
    // A run that failed does not take the place of a complete Record.
    let _ = std::fs::remove_file(folder.join("r.json"));
    let (_, text) = volproof(folder, &[&["run", "--plan", "p.toml", "--json", "r.json"][..], more].concat());
    assert!(text.contains("rand"), "{text}");
    json(&folder.join("r.json"))
}

#[test]
fn a_run_writes_what_its_text_says() {
    let folder = Folder::new("judgement");
    let record = run(&folder.0, PLAN, &PROMISED);
    assert_eq!(record["verdict"]["outcome"], "fail", "{}", record["verdict"]);
    assert_eq!(record["verdict"]["claims"][0]["metric"], "iops");
    let causes = record["causes"]["rows"].as_array().unwrap();
    assert!(causes.iter().any(|row| row["cause"] == "cap" && row["finding"] == "shown"), "{causes:?}");
    let (code, text) = volproof(&folder.0, &["show", "--details", "r.json"]);
    assert_eq!(code, Some(0));
    assert!(text.contains("FAIL against alibaba:cloud_essd.PL1"), "{text}");
    // Read again, the Record holds the same, and the rules say the same now.
    let stored = Record::load(&folder.0.join("r.json")).unwrap();
    let (held, anew) = (judge::judged(&stored), judge::judged_anew(&stored));
    assert_eq!(
        verdict_text::of_record(&stored),
        verdict_text::of_record(&Record { findings: None, ..stored.clone() })
    );
    assert_eq!(held.1.unwrap().outcome, anew.1.unwrap().outcome);
}

#[test]
fn another_promise_is_judged_anew() {
    let folder = Folder::new("anew");
    run(&folder.0, PLAN, &PROMISED);
    let outcome = |more: &[&str]| {
        let (_, text) = volproof(&folder.0, &[&["verdict", "r.json", "--json"][..], more].concat());
        let value: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        value["verdict"]["outcome"].as_str().map(str::to_string)
    };
    assert_eq!(outcome(&[]).as_deref(), Some("fail"));
    // 5,000 of 6,800 are 26 % too few.
    assert_eq!(outcome(&["--tolerance", "40"]).as_deref(), Some("pass"));
}

#[test]
fn a_verdict_that_a_file_says_of_itself_is_not_believed() {
    let folder = Folder::new("forged");
    let mut record = run(&folder.0, PLAN, &PROMISED);
    record["verdict"]["outcome"] = "pass".into();
    record["verdict"]["claims"][0]["outcome"] = "pass".into();
    record["verdict"]["claims"][0]["reason"] = "".into();
    record["findings"] = Value::Array(Vec::new());
    std::fs::write(folder.0.join("forged.json"), record.to_string()).unwrap();
    for same in [&[][..], &PROMISED] {
        let (code, text) = volproof(&folder.0, &[&["verdict", "forged.json"][..], same].concat());
        assert!(code == Some(1) && text.starts_with("FAIL"), "{code:?}: {text}");
    }
    for line in [&["show", "forged.json", "--details"][..], &["convert", "forged.json", "--to", "record"]] {
        let (_, text) = volproof(&folder.0, line);
        assert!(
            text.to_lowercase().contains("fail") && !text.contains("PASS") && !text.contains("\"pass\""),
            "{line:?}: {text}"
        );
    }
}

#[test]
fn runs_that_fail_and_runs_without_a_promise_hold_their_descriptions_too() {
    let folder = Folder::new("early");
    let record = run(&folder.0, PLAN, &[]);
    assert!(record["verdict"].is_null());
    assert!(record["findings"].is_array());
    let failing = PLAN.replace("iops-cap = 5000", "iops-cap = 5000, error-every = 1000");
    let record = run(&folder.0, &failing, &PROMISED);
    assert!(record["state"]["failed"].is_string(), "{}", record["state"]);
    // An error of the medium is the volume's.
    assert_eq!(record["verdict"]["outcome"], "fail", "{}", record["verdict"]);
    assert!(record["outcome"].is_null(), "the run failed: {}", record["outcome"]);
    assert!(record["findings"].is_array());
}

#[test]
fn a_report_becomes_a_record_with_findings() {
    let folder = Folder::new("report");
    let report = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fio/2.2.8-published.txt");
    let (code, text) = volproof(&folder.0, &["convert", report.to_str().unwrap(), "--to", "record"]);
    assert_eq!(code, Some(0));
    let record: Value = serde_json::from_str(&text).unwrap();
    assert!(record["findings"].is_array());
    // A Record of before has none, and gets them where it is read.
    let old = Path::new("tests/fixtures/record/version-1-run.json");
    assert!(Record::load(old).unwrap().findings.is_none());
    let now = result_file::load(old).unwrap();
    assert!(now.findings.is_some() && now.verdict.is_some());
    assert!(matches!(now.verdict.unwrap().outcome, Some(Outcome::Invalid | Outcome::Inconclusive)));
}

#[test]
fn what_a_cache_or_a_compressor_may_have_served_passes_nothing() {
    let folder = Folder::new("flattered");
    let judged = |options: &[&str]| {
        let load =
            ["run", "--iodepth", "32", "--runtime", "60s", "--simulate", "latency=500us,iops-cap=7000"];
        let (code, text) =
            volproof(&folder.0, &[&load[..], options, &PROMISED, &["--json", "f.json"]].concat());
        (code, text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let passed = judged(&["--rw", "randwrite"]);
    assert_eq!(passed.0, Some(0), "{}", passed.1);
    let (code, text) = judged(&["--rw", "randwrite", "--compressible", "100"]);
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("wrote zeros alone"), "{text}");
    let (code, text) = judged(&["--rw", "randread", "--size", "64MiB"]);
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("the load went over 64 MiB some 25.6 times"), "{text}");
}
