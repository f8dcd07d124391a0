//! Reports of other programs whose first reading would be wrong: parts of reports, jobs that ended apart, flushes that a volume counts, mixes.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// 2,800 IOPS.
pub const PL1: [&str; 5] = ["--promise", "alibaba:cloud_essd.PL1", "--volume-size", "20GiB", "--offline"];

pub fn volproof(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let done =
        Command::new(env!("CARGO_BIN_EXE_volproof")).args(arguments).current_dir(folder).output().unwrap();
    (done.status.code(), String::from_utf8(done.stdout).unwrap())
}

/// A simulated load: its Record in `r.json`, and its report as fio would have written it of a device.
pub fn report_of(folder: &Path, steps: &str, promise: &[&str], form: &str) -> (Option<i32>, String) {
    std::fs::write(folder.join("p.toml"), steps).unwrap();
    let _ = std::fs::remove_file(folder.join("r.json"));
    let more = ["--json", "r.json", "-q"];
    let (code, _) = volproof(folder, &[&["run", "--plan", "p.toml"][..], promise, &more].concat());
    let (_, report) = volproof(folder, &["convert", "r.json", "--to", form]);
    (code, report.replace("\"null\"", "\"libaio\"").replace("ioengine=null", "ioengine=libaio"))
}

pub fn step(name: &str, load: &str, device: &str) -> String {
    format!(
        "[[step]]\nname = \"{name}\"\nengine = \"null\"\nbs = \"4k\"\nruntime = \"300s\"\n{load}\nsimulate = {{ {device} }}\n"
    )
}

pub fn verdict(folder: &Path, report: &str, promise: &[&str]) -> (Option<i32>, String) {
    std::fs::write(folder.join("report"), report).unwrap();
    let (code, text) = volproof(folder, &[&["verdict", "report"][..], promise].concat());
    (code, text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn discards_with_writes_are_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let plan = step("one", "rw = \"randwrite\"\niodepth = 64", "latency = '300us', iops-cap = 2800");
    let (_, report) = report_of(dir.path(), &plan, &PL1, "json");
    for word in ["trimwrite", "randtrimwrite"] {
        let (_, told) = verdict(dir.path(), &report.replace("\"randwrite\"", &format!("\"{word}\"")), &PL1);
        assert!(told.contains(&format!("nothing is promised for {word}")), "{told}");
    }
}

/// fio's JSON of jobs of one name that each wrote 40 MB in blocks of 4,000 bytes.
fn jobs(seconds: &[u64]) -> String {
    let job = |s: &u64| {
        let none = json!({"total_ios": 0, "io_bytes": 0, "bw_bytes": 0, "iops": 0.0, "runtime": 0});
        let latency =
            json!({"min": 100_000, "max": 9_000_000, "mean": 1e9 * *s as f64 / 20_000.0, "stddev": 1000.0});
        json!({"jobname": "x", "groupid": 0, "error": 0, "job_runtime": s * 1000, "read": none, "trim": none,
            "job options": {"name": "x", "rw": "randwrite", "bs": "4000", "ioengine": "psync", "direct": "1", "fsync": "1"},
            "write": {"total_ios": 10_000, "io_bytes": 40_000_000, "bw_bytes": 40_000_000 / s, "iops": 10_000.0 / *s as f64,
                "runtime": s * 1000, "lat_ns": latency, "clat_ns": latency},
            "sync": {"total_ios": 10_000, "lat_ns": latency}})
    };
    let all: Vec<Value> = seconds.iter().map(job).collect();
    json!({"fio version": "fio-3.33", "timestamp": 1_700_000_000, "jobs": all}).to_string()
}

#[test]
fn jobs_that_end_apart_are_added_up_over_the_longest() {
    let dir = tempfile::tempdir().unwrap();
    let told = |seconds: &[u64]| {
        std::fs::write(dir.path().join("x.json"), jobs(seconds)).unwrap();
        let (_, text) = volproof(dir.path(), &["show", "x.json"]);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = told(&[10, 20]);
    assert!(text.contains("write: 1,000 IOPS") && text.contains("20,000 I/Os in 20.0 s"), "{text}");
    assert!(text.contains("1.50 of them ran on average. [jobs-ended-apart, void]"), "{text}");
    assert!(!text.contains("impossible-figures"), "{text}");
    assert!(!told(&[20, 20]).contains("jobs-ended-apart"));
}

#[test]
fn a_report_tells_no_zone_and_dd_each_side() {
    let dir = tempfile::tempdir().unwrap();
    let (_, report) = report_of(
        dir.path(),
        &step("r", "rw = \"randread\"", "latency = '1ms', iops-cap = 3000"),
        &PL1,
        "normal",
    );
    std::fs::write(dir.path().join("r.txt"), report).unwrap();
    let (_, record) = volproof(dir.path(), &["convert", "r.txt", "--to", "record"]);
    let record: Value = serde_json::from_str(&record).unwrap();
    let began = record["started"]["assumed"].as_str().unwrap();
    assert!(began.len() == 19 && !began.ends_with('Z'), "{began}");
    assert!(record["started"]["why"].as_str().unwrap().contains("zone"), "{record}");

    let dd = "$ dd if=a.dat of=b.dat bs=1M oflag=direct\n64+0 records in\n64+0 records out\n\
              67108864 bytes (67 MB, 64 MiB) copied, 1.5 s, 45 MB/s\n";
    std::fs::write(dir.path().join("dd.txt"), dd).unwrap();
    let (_, text) = volproof(dir.path(), &["show", "dd.txt"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("I/O went through the page cache"), "one side of the copy did: {text}");
    assert!(!text.contains("writes end in memory"), "{text}");
}
