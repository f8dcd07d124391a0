//! A Record holds findings and verdict: those that the text tells.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use volproof::record::{Outcome, Record};
use volproof::report::verdict_text;
use volproof::{result_file, verdict};

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
    let (held, anew) = (verdict::judged(&stored), verdict::judged_anew(&stored));
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

/// A type of the lab that promises so many IOPS.
const LAB: &str = "[[volume]]\nprovider = 'alibaba'\ntype = 'lab'\nname = 'Lab'\nmedia = 'ssd'\nstatus = 'current'\ncapacity_gib = [20, 100]\n\
    iops = 0\nthroughput = 1000\nthroughput_unit = 'MB/s'\nunit_bytes = 1000000\nunit_certain = true\nsource = 'the lab'\nas_of = '2026-11'\n\
    confidence = 'high'\n";

#[test]
fn jobs_of_fio_are_not_judged_by_a_part_of_what_the_volume_did() {
    let folder = Folder::new("parts");
    let report = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fio").join(name);
    let judged = |name: &str, iops: u32| {
        std::fs::write(folder.0.join("lab.toml"), LAB.replace("iops = 0", &format!("iops = {iops}")))
            .unwrap();
        let promise =
            ["--promise", "alibaba:lab", "--volume-size", "50GiB", "--catalog", "lab.toml", "--json"];
        let report = report(name);
        let (_, text) = volproof(&folder.0, &[&["verdict", report.to_str().unwrap()][..], &promise].concat());
        let value: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        value["verdict"]["claims"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| (c["outcome"].clone(), c["blocker"].clone()))
            .collect::<Vec<_>>()
    };
    // Two jobs of 5,825 IOPS at the same time: neither shows that the volume has less than 10,500.
    let one = ("invalid".into(), "ran-together".into());
    assert_eq!(judged("3.33-together.txt", 10_500), [one.clone(), one]);
    // Reads for 62 s and writes for 124 s: 1,468 a second over the longer time, 1,965 while both ran.
    assert_eq!(judged("3.33-uneven.txt", 1_950), []);
    let (_, text) = volproof(&folder.0, &["explain", report("3.33-uneven.txt").to_str().unwrap()]);
    assert!(text.contains("together 1,468 IOPS, 6.01 MB/s (5.74 MiB/s) over the 124 s of the"), "{text}");
}

/// The figures of a direction in a report of fio over 300 s.
struct Reported {
    iops: u64,
    /// The longest latency, milliseconds.
    longest: u64,
    /// Mean and standard deviation of the samples of the rate, in I/Os a second, and how many there are.
    samples: (u64, u64, u64),
}

impl Reported {
    fn json(&self) -> String {
        let Reported { iops, longest, samples: (mean, deviation, samples) } = self;
        format!(
            r#"{{"io_bytes":{},"bw_bytes":{},"iops":{iops},"runtime":300000,"total_ios":{},"short_ios":0,"drop_ios":0,
            "lat_ns":{{"min":210000,"max":{longest}000000,"mean":{}.0,"stddev":1000.0,"N":{}}},
            "bw_min":0,"bw_max":{},"bw_agg":100.0,"bw_mean":{},"bw_dev":{},"bw_samples":{samples}}}"#,
            iops * 300 * 4096,
            iops * 4096,
            iops * 300,
            // 33.6 in flight.
            33_600_000_000 / iops,
            iops * 300,
            mean * 8,
            mean * 4,
            deviation * 4
        )
    }
}

#[test]
fn a_report_passes_where_its_spread_and_its_longest_latency_allow_it() {
    let folder = Folder::new("spread");
    std::fs::write(folder.0.join("lab.toml"), LAB.replace("iops = 0", "iops = 2280")).unwrap();
    let judged = |jobs: u32, directions: &[(&str, Reported)]| {
        let figures: Vec<String> =
            directions.iter().map(|(name, figures)| format!("\"{name}\":{}", figures.json())).collect();
        let rw = if figures.len() > 1 { "randrw" } else { "randread" };
        let depth = 32 / jobs;
        let report = format!(
            r#"{{"fio version":"fio-3.36","jobs":[{{"jobname":"a","groupid":0,"error":0,"elapsed":301,"job options":{{"rw":"{rw}","bs":"4k",
            "direct":"1","ioengine":"libaio","iodepth":"{depth}","numjobs":"{jobs}","group_reporting":"1","filename":"/dev/vdb","time_based":"1",
            "runtime":"300"}},{},"usr_cpu":3.0,"sys_cpu":9.0}}]}}"#,
            figures.join(",")
        );
        std::fs::write(folder.0.join("fio.json"), report).unwrap();
        let promise =
            ["--promise", "alibaba:lab", "--volume-size", "50GiB", "--catalog", "lab.toml", "--json"];
        let (_, text) = volproof(&folder.0, &[&["verdict", "fio.json"][..], &promise].concat());
        let value: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        let claim = &value["verdict"]["claims"][0];
        let of = |key: &str| claim[key].as_str().unwrap_or_default().to_string();
        (of("outcome"), of("reason"))
    };
    let even = |iops: u64| Reported { iops, longest: 20, samples: (iops, iops / 100, 600) };
    let mix = |change: &dyn Fn(Reported) -> Reported| {
        judged(1, &[("read", change(even(1600))), ("write", change(even(690)))])
    };
    assert_eq!(mix(&|f| f), ("pass".into(), String::new()));
    let near = "the figure lies too near to the limit for what the report tells of its spread";
    let spread = |f: Reported| Reported { samples: (f.iops, f.iops * 9 / 10, 600), ..f };
    assert_eq!(mix(&spread), ("inconclusive".into(), near.into()));
    // The samples of one direction alone.
    let (outcome, reason) =
        judged(1, &[("read", even(1600)), ("write", Reported { samples: (0, 0, 0), ..even(690) })]);
    assert_eq!(outcome, "inconclusive");
    insta::assert_snapshot!(reason, @"the report does not tell how the whole rate spread over time, without which it decides nothing");
    // Four jobs whose deviations are those of one job.
    let jobs =
        |deviation: u64| judged(4, &[("read", Reported { samples: (2290, deviation, 2400), ..even(2290) })]);
    assert_eq!(jobs(5).0, "pass");
    assert_eq!(jobs(300), ("inconclusive".into(), near.into()));
    // A fifth of the run in one I/O; without it, samples that are missing for as long.
    let held =
        |longest: u64| judged(1, &[("read", Reported { longest, samples: (2988, 60, 480), ..even(2400) })]);
    insta::assert_snapshot!(held(60_000).1, @"the mean is met, but the longest I/O took 60.0 s, 20.0 % of the run, in which the volume may have delivered nothing: find out why, or run it again to see whether it happens again");
    insta::assert_snapshot!(held(2_000).1, @"the mean is met, but for 19.7 % of the time the report has no sample of the rate, as where nothing completed: find out why, or run it again to see whether it happens again");
    assert_eq!(held(60_000).0, "inconclusive");
    assert_eq!(judged(1, &[("read", Reported { longest: 2_000, ..even(2400) })]).0, "pass");
}

/// Runs that went on at the same time, each with its disk: what one of them shows says nothing of the disk of another.
#[test]
fn a_disk_whose_run_cannot_be_judged_has_no_pass() {
    let folder = Folder::new("disks");
    std::fs::write(folder.0.join("lab.toml"), LAB.replace("iops = 0", "iops = 2280")).unwrap();
    let judged_at = |iops: u64, others: &[(&str, &str)]| {
        let job = |name: &str, options: &str| {
            let figures = Reported { iops, longest: 20, samples: (iops, 24, 600) }.json();
            format!(
                r#"{{"jobname":"{name}","groupid":0,"error":0,"elapsed":301,"job options":{{"rw":"randread","direct":"1",
                "ioengine":"libaio","iodepth":"32","numjobs":"1","time_based":"1","runtime":"300"{options}}},"read":{figures},"usr_cpu":3.0,"sys_cpu":9.0}}"#
            )
        };
        let first = job("a", r#","bs":"4k","filename":"/dev/vdb""#);
        let jobs: Vec<String> = others.iter().map(|(name, options)| job(name, options)).collect();
        let report = [vec![first], jobs].concat().join(",");
        std::fs::write(
            folder.0.join("fio.json"),
            format!(r#"{{"fio version":"fio-3.36","jobs":[{report}]}}"#),
        )
        .unwrap();
        let promise =
            ["--promise", "alibaba:lab", "--volume-size", "50GiB", "--catalog", "lab.toml", "--json"];
        let (_, text) = volproof(&folder.0, &[&["verdict", "fio.json"][..], &promise].concat());
        let value: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        let verdict = &value["verdict"];
        let untested =
            verdict["untested"].as_array().into_iter().flatten().map(|u| u["reason"].as_str().unwrap());
        let untested: Vec<&str> = untested.collect();
        let claims = verdict["claims"].as_array().into_iter().flatten();
        let reasons: Vec<&str> = claims.map(|claim| claim["reason"].as_str().unwrap_or_default()).collect();
        (verdict["outcome"].as_str().unwrap().to_string(), reasons.join("; "), untested.join("; "))
    };
    let judged = |others: &[(&str, &str)]| {
        let (outcome, _, untested) = judged_at(2400, others);
        (outcome, untested)
    };
    assert_eq!(judged(&[]).0, "pass");
    let other = |options: &str| judged(&[("b", options)]);
    // Too little beside another load is no FAIL: on the same disk it is a part, and an instance has a limit for all its disks.
    let beside = |disk: &str| {
        let b = format!(r#","bs":"4k","filename":"{disk}""#);
        let (outcome, reasons, _) = judged_at(1200, &[("b", &b)]);
        assert_eq!(outcome, "invalid");
        reasons
    };
    let apart = beside("/dev/vdc");
    assert!(apart.contains("b on another disk: a limit of the instance"), "{apart}");
    assert!(
        apart.contains("stonewall") && !apart.contains("make them one job"),
        "one rate for both: {apart}"
    );
    for disk in ["/dev/vdb1", "/dev/mapper/data"] {
        assert!(beside(disk).contains("a part of what the volume did"), "{disk}");
    }
    assert_eq!(other(r#","bs":"4k","filename":"/dev/vdc""#).0, "pass", "both are judged");
    for unjudged in [
        r#","bssplit":"4k/50:64k/50","filename":"/dev/vdc""#,
        r#","bsrange":"4k-64k","filename":"/dev/vdc1""#,
        r#","bssplit":"4k/50:64k/50","filename":"/dev/vdb:/dev/vdc""#,
        r#","bssplit":"4k/50:64k/50","filename":"/mnt/other/file""#,
        r#","bs":"4k","read_iolog":"trace.log","filename":"/dev/vdc""#,
        r#","bssplit":"4k/50:64k/50""#,
    ] {
        let (outcome, untested) = other(unjudged);
        assert_eq!(outcome, "inconclusive", "{unjudged}: {untested}");
        assert!(
            untested.contains("b may have driven another volume than the runs that were judged"),
            "{untested}"
        );
    }
    let same = r#","bssplit":"4k/50:64k/50","filename":"/dev/vdb""#;
    assert_eq!(other(same).0, "pass", "the volume did that besides");
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
