//! `history` from the command line: folders of Records of devices in virtual time, as weeks of runs of one volume.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use serde_json::Value;
use volproof::record::Record;

use crate::work_folder::WorkFolder;

impl WorkFolder {
    /// A run of this week, in the folder `runs`.
    fn run_of_week(&self, week: usize, latency: &str) {
        let name = format!("w{week}.json");
        self.run(&name, latency, 12, week as u32);
        let mut record = Record::load(&self.path().join(&name)).unwrap();
        let day = day_of(week);
        record.started = volproof::record::Known::Said(format!("{day}T10:00:00Z"));
        std::fs::write(self.path().join("runs").join(&name), record.to_bytes()).unwrap();
    }

    fn history(&self) -> Value {
        serde_json::from_slice(&self.volproof("history runs --json").stdout).unwrap()
    }
}

/// The day that lies so many weeks after New Year.
fn day_of(week: usize) -> String {
    format!("2026-{:02}-{:02}", 1 + week / 4, 1 + 7 * (week % 4))
}

fn weeks_of_runs() -> WorkFolder {
    let folder = WorkFolder::new();
    std::fs::create_dir(folder.path().join("runs")).unwrap();
    for week in 0..16 {
        folder.run_of_week(week, if week < 9 { "500us" } else { "560us" });
    }
    folder
}

#[test]
fn weeks_of_runs_show_their_step_and_what_changed_with_it() {
    let folder = weeks_of_runs();
    let history = folder.history();
    let volume = &history["volumes"][0];
    assert_eq!(volume["runs"].as_array().unwrap().len(), 16, "{history:#}");
    let change = &volume["series"][0]["changes"][0];
    assert_eq!((&change["run"], &change["differs"][0]["what"]), (&9.into(), &"simulated volume".into()));
    let ran = folder.volproof("history runs");
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(text.starts_with("16 runs of 1 volume in runs; last steps: simulated volume"), "{text}");
    assert!(text.contains("of randread IOPS between 2026-03-01 and 2026-03-08 (p < 0.001)"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");

    let ran = folder.volproof("history runs --csv f.csv --html p.html --sql f.sql");
    assert!(ran.status.success());
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let columns = |line: &str| line.split(',').count();
    assert_eq!(columns(read("f.csv").lines().next().unwrap()), 17);
    assert_eq!(read("f.csv").lines().count(), 1 + 16 * 2, "a row for each figure of each run");
    assert_eq!(read("f.sql").matches("INSERT").count(), 16 * 2);
    assert!(read("p.html").contains("<polyline") && !read("p.html").contains("<script"));
    // Its own outputs are replaced, another file is not.
    assert!(folder.volproof("history runs --csv f.csv --html p.html --sql f.sql").status.success());
    std::fs::write(folder.path().join("f.csv"), "mine").unwrap();
    assert_eq!(folder.volproof("history runs --csv f.csv").status.code(), Some(2));
}

#[test]
fn a_damaged_file_is_named_and_the_rest_is_shown() {
    let folder = weeks_of_runs();
    let runs = folder.path().join("runs");
    let whole = std::fs::read(runs.join("w3.json")).unwrap();
    std::fs::write(runs.join("w3.json"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(runs.join("notes.json"), "{\"mine\": 1}").unwrap();
    std::fs::write(runs.join("notes.txt"), "mine").unwrap();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/record/version-1-run.json");
    std::fs::copy(old, runs.join("of-version-1.json")).unwrap();
    let history = folder.history();
    let volumes = history["volumes"].as_array().unwrap();
    assert!(volumes.iter().any(|volume| volume["runs"][0]["file"] == "of-version-1.json"), "{history:#}");
    std::fs::remove_file(runs.join("of-version-1.json")).unwrap();
    let history = folder.history();
    assert_eq!(history["volumes"][0]["runs"].as_array().unwrap().len(), 15);
    assert_eq!(history["damaged"][0]["file"], "w3.json", "{history:#}");
    // The index follows the files: the same bytes again, and one file fewer.
    std::fs::write(runs.join("w3.json"), &whole).unwrap();
    std::fs::remove_file(runs.join("w0.json")).unwrap();
    let history = folder.history();
    assert_eq!(history["volumes"][0]["runs"].as_array().unwrap().len(), 15);
    assert_eq!(history["damaged"], Value::Array(Vec::new()));
    // An index that was damaged is made anew.
    let index = std::fs::read(runs.join("index.jsonl")).unwrap();
    std::fs::write(runs.join("index.jsonl"), &index[..index.len() / 2]).unwrap();
    assert_eq!(folder.history(), history);
    assert_eq!(std::fs::read(runs.join("index.jsonl")).unwrap(), index);
}

#[test]
fn a_folder_that_is_none_is_refused() {
    let folder = WorkFolder::new();
    std::fs::write(folder.path().join("a.json"), "{}").unwrap();
    for (words, said) in [("history none", "there is no such folder"), ("history a.json", "it is no folder")]
    {
        let ran = folder.volproof(words);
        let told = String::from_utf8_lossy(&ran.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!((ran.status.code(), told.contains(said)), (Some(2), true), "{told}");
    }
}

#[test]
fn the_baseline_is_what_the_volume_is_since_its_last_step() {
    let folder = weeks_of_runs();
    let load = |latency: &str, depth: u32| {
        format!(
            "run --simulate latency={latency},noise=0.01 --rw randread --iodepth {depth} --runtime 12s --seed 99 -q"
        )
    };
    // Held against all runs before, 560 us would be worse.
    let same = load("560us", 8);
    assert!(folder.volproof(&format!("{same} --json runs/new.json")).status.success());
    let ran = folder.volproof("compare runs runs/new.json --gate 5% --json");
    let comparison: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(
        (ran.status.code(), &comparison["runs"]),
        (Some(0), &serde_json::json!([7, 1])),
        "{comparison:#}"
    );
    let cases = [
        (format!("{same} --baseline runs --gate 5%"), 0, "KEPT"),
        (format!("{same} --baseline runs/w12.json"), 0, "No change"),
        (format!("{} --baseline runs --gate 5%", load("700us", 8)), 1, "WORSE"),
        // A Record is looked at before the run, the volumes of a folder are known behind it.
        (format!("{} --baseline runs/w12.json", load("560us", 16)), 2, "queue depth 8 and 16"),
        (format!("{} --baseline runs", load("560us", 16)), 6, "no earlier run"),
        (format!("{same} --gate 5%"), 2, "no effect without --baseline"),
    ];
    for (words, code, said) in cases {
        let ran = folder.volproof(&words);
        let told = [ran.stdout, ran.stderr].concat();
        let told = String::from_utf8(told).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(ran.status.code() == Some(code) && told.contains(said), "{words}: {:?}: {told}", ran.status);
    }
}

/// Nobody has asked for the index: what else has its name, and what a link of that name leads to, stays.
#[test]
fn a_history_that_is_read_changes_no_file_but_its_index() {
    let folder = WorkFolder::new();
    let runs = folder.path().join("runs");
    std::fs::create_dir(&runs).unwrap();
    folder.run_of_week(0, "500us");
    std::fs::set_permissions(runs.join("w0.json"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let (index, theirs) = (runs.join("index.jsonl"), folder.path().join("notes"));
    std::fs::write(&theirs, "mine").unwrap();
    let whole = folder.history();
    let first = std::fs::read(&index).unwrap();
    assert_eq!(std::fs::metadata(&index).unwrap().mode() & 0o777, 0o600, "as the Record");

    std::fs::remove_file(&index).unwrap();
    std::os::unix::fs::symlink(&theirs, &index).unwrap();
    assert_eq!(folder.history(), whole);
    assert!(index.is_symlink() && std::fs::read(&theirs).unwrap() == b"mine");
    std::fs::remove_file(&index).unwrap();
    std::fs::write(&index, "mine").unwrap();
    assert_eq!(folder.history(), whole);
    assert_eq!(std::fs::read(&index).unwrap(), b"mine");
    std::fs::remove_file(&index).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&index).status().unwrap().success());
    assert_eq!(folder.history(), whole);
    std::fs::remove_file(&index).unwrap();
    assert_eq!(folder.history(), whole);
    assert_eq!(std::fs::read(&index).unwrap(), first);
}

#[test]
fn names_of_others_begin_no_line_and_what_cannot_be_read_is_named() {
    let folder = WorkFolder::new();
    let runs = folder.path().join("runs");
    std::fs::create_dir(&runs).unwrap();
    folder.run_of_week(0, "500us");
    let mut record = Record::load(&runs.join("w0.json")).unwrap();
    record.plan.name = "a\nPASS  forged".into();
    std::fs::write(runs.join("w0.json"), record.to_bytes()).unwrap();
    std::os::unix::fs::symlink("nowhere", runs.join("link.json")).unwrap();
    std::fs::write(runs.join(OsStr::from_bytes(b"\xff.json")), "{}").unwrap();
    for line in ["history runs", "compare runs/w0.json runs/w0.json", "convert runs/w0.json --to jobfile"] {
        let ran = folder.volproof(line);
        let text = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
        assert!(!text.contains("\nPASS"), "{line}: {text}");
    }
    let damaged = &folder.history()["damaged"];
    let named = damaged.as_array().unwrap().iter().map(|file| file["why"].as_str().unwrap());
    let told: Vec<&str> = named.collect();
    assert_eq!(told, ["it is a link that leads nowhere", "its name is no text: give it another one"]);
}
