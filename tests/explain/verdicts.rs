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
const PROMISED: [&str; 5] =
    ["--promise", "alibaba:cloud_essd.PL1", "--volume-size", "100GiB", "--judge-simulated"];

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
    let findings = record["findings"].as_array().unwrap();
    let codes: Vec<&str> = findings.iter().map(|f| f["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"throttle"), "{codes:?}");
    assert!(findings.iter().all(|f| f["step"] == "rand"));
    let (code, text) = volproof(&folder.0, &["show", "--details", "r.json"]);
    assert_eq!(code, Some(0));
    assert!(text.contains("FAIL against alibaba:cloud_essd.PL1"), "{text}");
    for finding in findings.iter().filter(|f| f["doubt"].is_null()) {
        let told =
            format!("[{}, {}]", finding["code"].as_str().unwrap(), finding["confidence"].as_str().unwrap());
        let words = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&text).contains(&told), "{told} in {text}");
        assert!(words(&text).contains(&words(finding["headline"].as_str().unwrap())), "{finding}");
    }
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
fn the_run_that_decides_judges_the_same_simulation() {
    let folder = Folder::new("decides");
    run(&folder.0, &PLAN.replace("iodepth = 32", "iodepth = 2"), &PROMISED);
    // It was judged once, and is judged again under another promise without the word.
    let other = ["--promise", "alibaba:cloud_essd.PL1", "--volume-size", "800GiB", "--json"];
    let (_, text) = volproof(&folder.0, &[&["verdict", "r.json"][..], &other].concat());
    let verdict: Value = serde_json::from_str(&text).unwrap();
    let claim = &verdict["verdict"]["claims"][0];
    assert_eq!(
        (&claim["outcome"], &claim["blocker"]),
        (&"invalid".into(), &"could-not-reach".into()),
        "{claim}"
    );
    let command = claim["command"].as_str().unwrap();
    assert!(command.contains("--simulate") && command.contains("800GiB --judge-simulated"), "{command}");
}

/// The promise that a command names is judged as it was here.
#[test]
fn the_run_that_decides_has_every_option_of_the_verdict() {
    let folder = Folder::new("options");
    let shallow = PLAN.replace("iodepth = 32", "iodepth = 2");
    let command = |more: &[&str]| {
        let (_, text) = volproof(&folder.0, &[&["verdict", "r.json", "--json"][..], more].concat());
        let verdict: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        verdict["verdict"]["claims"][0]["command"].as_str().unwrap().to_string()
    };
    run(&folder.0, &shallow, &[&PROMISED[..], &["--tolerance", "5"]].concat());
    assert!(command(&[]).contains("--tolerance 5"), "{}", command(&[]));
    assert_eq!(command(&["--tolerance", "7"]), command(&[]).replace("--tolerance 5", "--tolerance 7"));
    // Two volumes of one machine.
    for name in ["a", "b"] {
        std::fs::write(folder.0.join(name), [0; 1 << 20]).unwrap();
    }
    let two = ["a", "b", "--with", "alibaba:cloud_essd.PL0:40GiB"];
    run(&folder.0, &shallow, &[&PROMISED[..], &two].concat());
    assert!(command(&[]).contains("--with alibaba:cloud_essd.PL0:40GiB"), "{}", command(&[]));
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
    for line in [
        &["show", "forged.json", "--details"][..],
        &["explain", "forged.json"],
        &["convert", "forged.json", "--to", "record"],
    ] {
        let (_, text) = volproof(&folder.0, line);
        assert!(
            text.contains("throttle") && !text.contains("PASS") && !text.contains("\"pass\""),
            "{line:?}: {text}"
        );
    }
}

#[test]
fn runs_that_end_early_and_runs_without_a_promise_hold_findings_too() {
    let folder = Folder::new("early");
    let record = run(&folder.0, PLAN, &[]);
    assert!(record["verdict"].is_null());
    assert!(!record["findings"].as_array().unwrap().is_empty());
    let failing = PLAN.replace("iops-cap = 5000", "iops-cap = 5000, error-every = 1000");
    let record = run(&folder.0, &failing, &PROMISED);
    assert!(record["state"]["failed"].is_string(), "{}", record["state"]);
    assert_eq!(record["verdict"]["outcome"], "invalid", "{}", record["verdict"]);
    assert!(record["findings"].is_array());
}

#[test]
fn a_report_becomes_a_record_with_findings() {
    let folder = Folder::new("report");
    let report = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fio/2.2.8-published.txt");
    let (code, text) = volproof(&folder.0, &["convert", report.to_str().unwrap(), "--to", "record"]);
    assert_eq!(code, Some(0));
    let record: Value = serde_json::from_str(&text).unwrap();
    let codes: Vec<&str> =
        record["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"throttle"), "{codes:?}");
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
