//! Reports of the installed fio, read and written again: the same JSON and JSON+, key for key and figure for figure. Terse lines are read.

use std::path::Path;
use std::process::Command;

use volproof::fio::percentile_list;
use volproof::fio_formats::output::Output;
use volproof::fio_formats::{json_read, json_write, terse};

/// Jobs, one for each feature of a report of fio. `{f}` is a file that may be written.
const JOBS: &[(&str, &str)] = &[
    (
        "group",
        "--name=g --rw=randread --bs=4k --size=512k --filename={f} --numjobs=3 --group_reporting --ioengine=libaio --iodepth=8",
    ),
    (
        "several",
        "--size=256k --filename={f} --name=one --rw=read --name=two --rw=write --bs=8k --stonewall --name=three --rw=randrw --iodepth=4 --ioengine=libaio --new_group",
    ),
    ("fsync", "--name=s --rw=write --bs=4k --size=64k --filename={f} --fsync=4"),
    ("fdatasync", "--name=s --rw=randrw --bs=4k --size=64k --filename={f} --fdatasync=4"),
    ("mixed", "--name=u --rw=randrw --bs=4k --size=256k --filename={f} --unified_rw_reporting=1"),
    ("both", "--name=u --rw=randrw --bs=4k --size=256k --filename={f} --unified_rw_reporting=both"),
    (
        "all latencies",
        "--name=l --rw=randrw --bs=4k --size=256k --filename={f} --ioengine=libaio --iodepth=4 --lat_percentiles=1 --slat_percentiles=1",
    ),
    (
        "total latencies",
        "--name=l --rw=randrw --bs=4k --size=256k --filename={f} --lat_percentiles=1 --clat_percentiles=0",
    ),
    (
        "no latencies",
        "--name=l --rw=randrw --bs=4k --size=256k --filename={f} --disable_lat=1 --disable_clat=1",
    ),
    (
        "a list of percentiles",
        "--name=l --rw=randread --bs=4k --size=256k --filename={f} --percentile_list=50:99:99.999",
    ),
    (
        "a time",
        "--name=t --rw=randread --bs=4k --size=4m --ioengine=null --time_based --runtime=2 --numjobs=2 --group_reporting",
    ),
    ("discards", "--name=tr --rw=trimwrite --bs=4k --size=256k --ioengine=null"),
    ("a description", "--description=my_\"words\"\\ --name=d --rw=read --bs=4k --size=256k --ioengine=null"),
    (
        "errors",
        "--name=e --rw=read --bs=4k --filename=/dev/full --size=64k --continue_on_error=all --ioengine=psync --verify=crc32c --verify_only=1",
    ),
    (
        "a target",
        "--name=d --rw=randread --bs=4k --size=1M --ioengine=null --iodepth=8 --latency_target=10ms --latency_window=100ms --latency_percentile=99 --runtime=1 --time_based",
    ),
    (
        "states",
        "--status-interval=1 --name=t --rw=randread --bs=4k --size=1M --ioengine=null --time_based --runtime=2 --rate_iops=1000",
    ),
];

/// fio's output in these forms; none where fio is not installed.
fn fio(forms: &str, job: &str, more: &[&str]) -> Option<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    let out = dir.path().join("out");
    let words = job.replace("{f}", file.to_str().unwrap());
    let run = Command::new("fio")
        .args([&format!("--output-format={forms}"), &format!("--output={}", out.display())])
        .args(words.split(' '))
        .args(more)
        .current_dir(dir.path())
        .output();
    match run {
        Err(_) => {
            eprintln!("skipped: fio is not installed");
            None
        }
        Ok(_) => Some(std::fs::read(&out).unwrap_or_default()),
    }
}

/// The documents as fio printed them.
fn documents(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("{\n  \"fio version\"") {
        let end = rest[start..].find("\n}\n").expect("the document ends") + start + 3;
        out.push(&rest[start..end]);
        rest = &rest[end..];
    }
    out
}

/// Line by line; figures may differ in the last of six decimals.
fn same_json(case: &str, ours: &str, theirs: &str) {
    let (mut a, mut b) = (ours.lines(), theirs.lines());
    let mut number = 0;
    loop {
        let (ours, theirs) = match (a.next(), b.next()) {
            (None, None) => return,
            (a, b) => (a.unwrap_or("<end>"), b.unwrap_or("<end>")),
        };
        number += 1;
        let split = |line: &str| {
            let (key, value) = line.rsplit_once(" : ")?;
            Some((
                key.to_string(),
                value.trim_end_matches(',').contains('.').then_some(())?,
                value.trim_end_matches(',').parse::<f64>().ok()?,
            ))
        };
        let close = match (split(ours), split(theirs)) {
            (Some((k, (), x)), Some((l, (), y))) => k == l && (x - y).abs() <= 1.1e-6,
            _ => false,
        };
        assert!(ours == theirs || close, "{case}, line {number}:\n  ours   {ours}\n  theirs {theirs}");
    }
}

#[test]
fn json_plus_of_every_feature_is_written_as_it_was_read() {
    for (case, job) in JOBS {
        let Some(bytes) = fio("normal,json+", job, &[]) else { return };
        let text = String::from_utf8_lossy(&bytes);
        let theirs = documents(&text);
        let ours = json_read::read(&bytes).unwrap_or_else(|e| panic!("{case}: {e}\n{text}"));
        assert!(!theirs.is_empty() && ours.len() == theirs.len(), "{case}: {} documents", theirs.len());
        assert_eq!(theirs.len() > 1, *case == "states");
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert!(ours.partial.is_none() && ours.notes.is_empty(), "{case}: {:?}", ours.notes);
            same_json(case, &json_write::write(ours, true), theirs);
            same_percentiles(case, ours);
        }
    }
}

/// fio's percentiles follow from its bins, each of them.
fn same_percentiles(case: &str, output: &Output) {
    for job in &output.jobs {
        let stats = job.directions.0.iter().flatten().chain(&job.mixed);
        let latencies = stats.flat_map(|s| [&s.slat, &s.clat, &s.lat]).flatten().chain(&job.sync);
        for latency in latencies.filter(|l| !l.bins.is_empty()) {
            let percents: Vec<f64> = latency.percentiles.iter().map(|p| p.0).collect();
            let found = percentile_list::of_bins(&latency.bins, &percents);
            let place = |at| latency.bins.iter().position(|bin| bin.0 == at);
            for ((percent, ours), (_, theirs)) in found.iter().zip(&latency.percentiles) {
                // Where a share is a whole number of samples, fio's 64 bits of mantissa may ask for one more.
                let next = place(*ours).map(|at| at + 1) == place(*theirs);
                assert!(ours == theirs || next, "{case}, {}, {percent} %: {ours}, not {theirs}", job.name);
            }
            assert_eq!(found.len(), percents.len(), "{case}, {}", job.name);
        }
    }
}

#[test]
fn json_has_no_bins() {
    let Some(bytes) = fio("json", JOBS[0].1, &[]) else { return };
    let text = String::from_utf8_lossy(&bytes);
    let output = json_read::read(&bytes).unwrap();
    same_json("json", &json_write::write(&output[0], false), documents(&text)[0]);
}

#[test]
fn terse_lines_are_those_of_the_same_run() {
    for version in [2, 3, 4, 5] {
        for (case, job) in JOBS.iter().filter(|(c, _)| *c != "states") {
            // The other versions differ in the layout of a line alone.
            if version != 3
                && !["several", "errors", "mixed", "both", "a description", "a time"].contains(case)
            {
                continue;
            }
            let flag = format!("--terse-version={version}");
            let Some(bytes) = fio("terse,json+", job, &[&flag]) else { return };
            let text = String::from_utf8_lossy(&bytes);
            let theirs: Vec<_> = text.split("\n{\n").next().unwrap().lines().collect();
            let output = json_read::read(&bytes).unwrap_or_else(|e| panic!("{case}: {e}"));
            reads_back(case, &theirs.join("\n"), version, &output[0]);
        }
    }
}

fn reads_back(case: &str, theirs: &str, version: u8, json: &Output) {
    let runs =
        terse::read(format!("some noise\n{theirs}\n").as_bytes()).unwrap_or_else(|e| panic!("{case}: {e}"));
    let [read] = runs.as_slice() else { panic!("{case}: {} runs", runs.len()) };
    assert!(read.partial.is_none(), "{case}");
    let rows = |o: &Output| -> Vec<_> {
        o.jobs.iter().map(|j| (j.name.clone(), j.group, j.error, j.description.clone(), j.errors)).collect()
    };
    assert_eq!(rows(read), rows(json), "{case}");
    for (a, b) in read.jobs.iter().zip(&json.jobs) {
        for (d, s) in b.directions.iter().filter(|(d, _)| !(version == 3 && d.name() == "trim")) {
            let (Some(s), Some(t)) = (s, &a.directions[d]) else {
                assert!(s.is_none() && a.directions[d].is_none(), "{case} {d:?}");
                continue;
            };
            assert_eq!((t.bytes.0 / 1024, t.runtime), (s.bytes.0 / 1024, s.runtime), "{case}");
            let list =
                |s: &volproof::fio_formats::output::Stats| s.clat.as_ref().map(|c| c.percentiles.len());
            if s.lat.as_ref().is_none_or(|l| l.percentiles.is_empty()) {
                assert_eq!(
                    list(t).filter(|n| *n > 0 && s.ios != Some(0)),
                    list(s).filter(|n| *n > 0),
                    "{case}"
                );
            }
        }
        assert_eq!(a.mixed.is_some(), b.mixed.is_some(), "{case}");
    }
}

#[test]
fn a_folder_is_no_report() {
    let e = json_read::read(b"Cargo.toml\nsrc {\n").unwrap_err();
    assert_eq!(e.to_string(), "no JSON report of fio is in it");
    assert!(!Path::new("fio-dump").exists());
}
