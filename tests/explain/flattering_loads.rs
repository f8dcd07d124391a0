//! Loads that make a volume look better or worse than it is, and what they may not decide.

use serde_json::{Value, json};

use super::disputed::{PL1, judged_with, report_of, step, verdict, volproof, with_options};

/// A volume that compresses has little to keep of a pattern.
#[test]
fn data_of_one_pattern_passes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let pattern = json!({"buffer_pattern": "0xdeadbeef"});
    let part = |percent: &str| json!({"buffer_compress_percentage": percent});
    for (rw, options, code) in [
        ("randwrite", &pattern, 5),
        ("randwrite", &part("50"), 5),
        ("randwrite", &part("0"), 0),
        ("randread", &pattern, 0),
    ] {
        let (ended, told) = judged_with(dir.path(), rw, options);
        assert_eq!(ended, Some(code), "{rw} {options}: {told}");
        assert_eq!(told.contains("one pattern over and over"), code == 5, "{rw} {options}: {told}");
    }
    for (data, code) in [("--compressible 30", 5), ("", 0)] {
        let line = format!(
            "run --simulate latency=300us,iops-cap=2810 --rw randwrite --iodepth 32 --runtime 70s {data} --judge-simulated"
        );
        let words: Vec<&str> = line.split_whitespace().chain(PL1).collect();
        let (ended, told) = volproof(dir.path(), &words);
        assert_eq!(ended, Some(code), "{data}: {told}");
    }
}

#[test]
fn jobs_that_read_the_same_blocks_in_turn_pass_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let load = "rw = \"read\"\niodepth = 8\nnumjobs = 8";
    let (_, report) =
        report_of(dir.path(), &step("one", load, "latency = '300us', iops-cap = 2810"), &PL1, "json");
    for (options, code) in [
        (json!({"filename": "/dev/vdb", "size": "20g", "offset_increment": "0"}), 5),
        (json!({"filename": "/dev/vdb", "size": "2g", "offset_increment": "2g"}), 0),
    ] {
        let (ended, told) = verdict(dir.path(), &with_options(&report, &options), &PL1);
        assert_eq!(ended, Some(code), "{options}: {told}");
        assert_eq!(told.contains("jobs went over the same range"), code == 5, "{options}: {told}");
    }
}

/// The report of a run that misses 2,744 IOPS by little, whose figures of reads are changed.
fn changed(rate: u32, change: impl Fn(&mut Value)) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let device = format!("latency = '300us', iops-cap = {rate}");
    let load = step("one", "rw = \"randread\"\niodepth = 256", &device);
    let (_, report) = report_of(dir.path(), &load, &PL1, "json");
    let mut report: Value = serde_json::from_str(&report).unwrap();
    change(&mut report["jobs"][0]["read"]);
    (dir, report.to_string())
}

/// With `write_bw_log` and `log_avg_msec` fio's samples are as long as the log's.
#[test]
fn samples_of_many_seconds_pass_nothing() {
    for (samples, code) in [(599, 0), (60, 5)] {
        let (dir, report) = changed(2810, |read| {
            read["bw_samples"] = json!(samples);
            read["iops_samples"] = json!(samples);
        });
        let (ended, told) = verdict(dir.path(), &report, &PL1);
        assert_eq!(ended, Some(code), "{samples}: {told}");
        assert_eq!(told.contains("each sample of the rate is that of some"), code == 5, "{samples}: {told}");
    }
}

/// In the time of its pauses the load asked for nothing.
#[test]
fn what_the_pauses_of_the_load_explain_fails_no_volume() {
    let pauses = json!({"thinktime": "10ms", "thinktime_blocks": "1000"});
    for (busy, options, code) in [(0.95, &pauses, 6), (0.95, &json!({}), 1), (0.995, &pauses, 1)] {
        let (dir, report) = changed(2700, |read| {
            for name in ["lat_ns", "clat_ns"] {
                read[name]["mean"] = json!(read[name]["mean"].as_f64().unwrap() * busy);
            }
        });
        let (ended, told) = verdict(dir.path(), &with_options(&report, options), &PL1);
        assert_eq!(ended, Some(code), "{busy} {options}: {told}");
        assert_eq!(told.contains("held itself back (thinktime"), code == 6, "{busy} {options}: {told}");
    }
}

/// The kernel serves I/Os of the idle class where no other waits.
#[test]
fn ios_of_a_low_priority_fail_no_volume() {
    let (dir, report) = changed(2700, |_| {});
    let with = |class: &str| verdict(dir.path(), &with_options(&report, &json!({"prioclass": class})), &PL1);
    assert_eq!(with("2").0, Some(1));
    let (code, told) = with("3");
    assert!(code == Some(6) && told.contains("a low priority (prioclass=3)"), "{told}");
}

/// The counters of fio tell the disks below its files: the rate is the sum of two volumes.
#[test]
fn two_disks_below_one_file_pass_for_no_single_volume() {
    let disk = |name: &str, ios: u64| {
        json!({"name": name, "read_ios": ios, "write_ios": 0, "read_merges": 0, "write_merges": 0, "read_ticks": 0,
               "write_ticks": 0, "in_queue": 0, "util": 99.0})
    };
    let dir = tempfile::tempdir().unwrap();
    let load = step("one", "rw = \"randread\"\niodepth = 256", "latency = '300us', iops-cap = 2810");
    let (_, report) = report_of(dir.path(), &load, &PL1, "json");
    for (disks, code) in [
        (vec![disk("vdb", 843_000)], 0),
        (vec![disk("vdb", 421_500), disk("vdc", 421_500)], 5),
        (vec![disk("vdb", 843_000), disk("vdc", 20)], 0),
    ] {
        let mut report: Value = serde_json::from_str(&report).unwrap();
        report["disk_util"] = json!(disks);
        let (ended, told) = verdict(dir.path(), &report.to_string(), &PL1);
        assert_eq!(ended, Some(code), "{disks:?}: {told}");
        assert_eq!(told.contains("the sum of what may be several volumes"), code == 5, "{disks:?}: {told}");
    }
}
