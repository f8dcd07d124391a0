//! Reports of other programs whose first reading would be wrong: parts of reports, jobs that ended apart, flushes that a volume counts, mixes.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

pub const GP3: [&str; 5] = ["--promise", "aws:gp3", "--volume-size", "100GiB", "--offline"];
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
    let more = ["--judge-simulated", "--json", "r.json", "-q"];
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
    let (code, text) = volproof(folder, &[&["verdict", "report", "--judge-simulated"][..], promise].concat());
    (code, text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// fio's JSON with these options of its first job beside its own.
pub fn with_options(report: &str, options: &Value) -> String {
    let mut report: Value = serde_json::from_str(report).unwrap();
    let listed = report["jobs"][0]["job options"].as_object_mut().unwrap();
    listed.extend(options.as_object().unwrap().clone());
    report.to_string()
}

#[test]
fn a_part_of_a_report_does_not_pass() {
    let dir = tempfile::tempdir().unwrap();
    let load = "rw = \"randread\"\niodepth = 64";
    let plan = step("one", load, "latency = '300us', iops-cap = 2800")
        + &step("two", load, "latency = '300us', iops-cap = 2400");
    let (_, whole) = report_of(dir.path(), &plan, &PL1, "normal");
    assert_eq!(verdict(dir.path(), &whole, &PL1).0, Some(1), "{whole}");
    let (part, _) = whole.split_once("two: (groupid=").unwrap();
    let (code, told) = verdict(dir.path(), part, &PL1);
    assert!(code == Some(5) && told.contains("1 of the jobs that were started have no row"), "{told}");
    let (_, whole) = report_of(dir.path(), &plan, &PL1, "json");
    let at = whole.find("\"jobname\" : \"two\"").or(whole.find("\"jobname\": \"two\"")).unwrap();
    let (code, told) = verdict(dir.path(), &whole[..at], &PL1);
    assert!(code == Some(5) && told.contains("the report is not whole"), "{told}");
}

/// ioping waits a second between two requests unless it is told otherwise: its rate is what no load has sent.
#[test]
fn the_rate_of_a_load_that_pauses_is_no_pass() {
    let dir = tempfile::tempdir().unwrap();
    // Rows of `-p`: requests, their time, their rate, bytes a second, least, mean and longest latency, and all of it with the pauses.
    let row = "2817 1000000000 2817 11538432 300000 355000 400000 10000 2817";
    let (paused, rapid) = ("29170000000", "1002000000");
    for (options, whole, code) in
        [("-i 10ms", paused, 5), ("-k", paused, 5), ("-R", rapid, 0), ("-R", paused, 5)]
    {
        let rows = format!("{row} {whole}\n").repeat(140);
        let report = format!("$ ioping -D -q {options} -p 2817 /dev/vdb\n{rows}");
        let (ended, told) = verdict(dir.path(), &report, &PL1);
        assert_eq!(ended, Some(code), "{options}: {told}");
        assert_eq!(told.contains("the load paused between its requests"), code == 5, "{options}: {told}");
    }
}

/// Jobs that have one file between them go over its bytes, however many they are.
#[test]
fn jobs_that_share_a_small_file_pass_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let load = "rw = \"randread\"\niodepth = 32\nnumjobs = 4";
    let (_, report) =
        report_of(dir.path(), &step("one", load, "latency = '300us', iops-cap = 2810"), &PL1, "json");
    let with = |options: Value| {
        let mut report: Value = serde_json::from_str(&report).unwrap();
        let listed = report["jobs"][0]["job options"].as_object_mut().unwrap();
        listed.remove("filename");
        listed.extend(options.as_object().unwrap().clone());
        verdict(dir.path(), &report.to_string(), &PL1)
    };
    for options in [
        json!({"size": "64m", "filename": "/dev/vdb", "offset_increment": "0"}),
        json!({"size": "64m", "directory": "/mnt", "filename_format": "shared.$filenum"}),
    ] {
        let (code, told) = with(options.clone());
        assert!(code == Some(5) && told.contains("a cache may have answered"), "{options}: {told}");
    }
}

/// A report of a load that passes, judged with these options beside its own.
pub fn judged_with(folder: &Path, rw: &str, options: &Value) -> (Option<i32>, String) {
    let load = format!("rw = \"{rw}\"\niodepth = 32");
    let device = "latency = '300us', iops-cap = 2810";
    let (_, report) = report_of(folder, &step("one", &load, device), &PL1, "json");
    verdict(folder, &with_options(&report, options), &PL1)
}

/// A job stays within its files, whatever `size` asks for, and within what a share or an offset leaves of the volume.
#[test]
fn files_and_parts_that_are_smaller_than_the_size_are_the_range() {
    let dir = tempfile::tempdir().unwrap();
    for options in [
        json!({"size": "10g", "filename": "/mnt/f", "filesize": "10g"}),
        json!({"size": "10%"}),
        json!({"offset": "10g"}),
        json!({"offset": "1g", "size": "10g"}),
    ] {
        let (code, told) = judged_with(dir.path(), "randread", &options);
        assert_eq!(code, Some(0), "{options}: {told}");
    }
    for options in [
        json!({"size": "10g", "directory": "/mnt", "filesize": "8m"}),
        json!({"size": "10g", "directory": "/mnt", "filesize": "1m-8m"}),
        json!({"size": "100%", "directory": "/mnt", "filesize": "8m"}),
        json!({"directory": "/mnt", "filesize": "8m", "nrfiles": "4"}),
        json!({"size": "1%"}),
        json!({"offset": "99%"}),
        json!({"offset": "99%", "size": "10g"}),
        json!({"offset": "20400m"}),
        json!({"offset": "20400m", "size": "10g"}),
    ] {
        let (code, told) = judged_with(dir.path(), "randread", &options);
        assert!(code == Some(5) && told.contains("a cache may have answered"), "{options}: {told}");
    }
}

/// A volume that deduplicates has little to keep of blocks that repeat.
#[test]
fn blocks_that_repeat_pass_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for (rw, percent, code) in
        [("randwrite", 100, 5), ("randwrite", 30, 5), ("randwrite", 0, 0), ("randread", 100, 0)]
    {
        let options = json!({"dedupe_percentage": percent.to_string()});
        let (ended, told) = judged_with(dir.path(), rw, &options);
        assert_eq!(ended, Some(code), "{rw} {percent}: {told}");
        assert_eq!(told.contains("a volume that deduplicates"), code == 5, "{rw} {percent}: {told}");
    }
}

/// Direct writes that a filesystem takes into the page cache are not the volume's.
#[test]
fn writes_that_the_disk_did_not_complete_pass_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let load = step("one", "rw = \"randwrite\"\niodepth = 32", "latency = '300us', iops-cap = 2810");
    let (_, report) = report_of(dir.path(), &load, &PL1, "json");
    let seen = |ios: u64, merges: u64| {
        let mut report: Value = serde_json::from_str(&report).unwrap();
        report["disk_util"] = json!([{"name": "vdb", "read_ios": 0, "write_ios": ios, "read_merges": 0, "write_merges": merges,
            "read_ticks": 0, "write_ticks": 100, "in_queue": 100, "util": 99.0}]);
        verdict(dir.path(), &report.to_string(), &PL1)
    };
    for (ios, merges) in [(850_000, 0), (400_000, 450_000)] {
        let (code, told) = seen(ios, merges);
        assert_eq!(code, Some(0), "{ios} {merges}: {told}");
    }
    let (code, told) = seen(300_000, 0);
    assert!(code == Some(5) && told.contains("memory may hold them"), "{told}");
}

/// A limit of the container holds I/Os before they reach the disk, which has nothing to do meanwhile.
#[test]
fn ios_that_waited_above_the_disk_fail_no_volume() {
    let dir = tempfile::tempdir().unwrap();
    let judged = |cap: u64, ticks: u64, busy: f64, members: bool| {
        let device = format!("latency = '300us', iops-cap = {cap}");
        let load = step("one", "rw = \"randread\"\niodepth = 256", &device);
        let (_, report) = report_of(dir.path(), &load, &PL1, "json");
        let mut report: Value = serde_json::from_str(&report).unwrap();
        let ios = report["jobs"][0]["read"]["total_ios"].clone();
        report["disk_util"] = json!([{"name": "vdb", "read_ios": ios, "write_ios": 0, "read_merges": 0, "write_merges": 0,
            "read_ticks": ticks, "write_ticks": 0, "in_queue": ticks, "util": busy}]);
        if members {
            for key in [
                "read_ios",
                "write_ios",
                "read_merges",
                "write_merges",
                "read_ticks",
                "write_ticks",
                "in_queue",
                "util",
            ] {
                report["disk_util"][0][format!("aggr_{key}")] = report["disk_util"][0][key].clone();
            }
        }
        verdict(dir.path(), &report.to_string(), &PL1)
    };
    let above = "The I/Os waited above the disk";
    let (code, told) = judged(2000, 90_000, 25.0, false);
    assert!(code == Some(6) && told.contains(above), "{code:?} {told}");
    let (code, told) = judged(2000, 76_000_000, 100.0, false);
    assert!(told.starts_with("FAIL") && !told.contains(above), "the volume had them all: {code:?} {told}");
    let (_, told) = judged(2000, 90_000, 99.0, false);
    assert!(told.starts_with("FAIL"), "it may take few requests at once: {told}");
    let (_, told) = judged(2000, 90_000, 25.0, true);
    assert!(told.starts_with("FAIL"), "disks lie below it: {told}");
    let (code, told) = judged(2810, 90_000, 25.0, false);
    assert_eq!(code, Some(0), "a promise that is kept all the same: {told}");
}

/// Without the row of a client the others are not all.
#[test]
fn the_rate_of_some_clients_is_no_rate_of_all() {
    let dir = tempfile::tempdir().unwrap();
    let load = step("one", "rw = \"randread\"\niodepth = 256", "latency = '300us', iops-cap = 1405");
    let (_, report) = report_of(dir.path(), &load, &PL1, "json");
    let report: Value = serde_json::from_str(&report).unwrap();
    let host = |name: &str, host: &str, times: f64| {
        let mut row = report["jobs"][0].clone();
        (row["jobname"], row["hostname"]) = (json!(name), json!(host));
        for key in ["total_ios", "io_bytes", "io_kbytes", "iops", "bw", "bw_bytes"] {
            if let Some(value) = row["read"][key].as_f64() {
                row["read"][key] =
                    if value.fract() == 0.0 { json!((value * times) as u64) } else { json!(value * times) };
            }
        }
        row
    };
    let judged = |rows: Vec<Value>| {
        let mut all = report.clone();
        all.as_object_mut().unwrap().remove("jobs");
        all["client_stats"] = json!(rows);
        verdict(dir.path(), &all.to_string(), &PL1)
    };
    let (sum, one, two) = (host("All clients", "h2", 2.0), host("one", "h1", 1.0), host("one", "h2", 1.0));
    let (code, told) = judged(vec![one.clone(), sum.clone()]);
    assert!(code == Some(6) && told.contains("the rows of some are missing"), "{code:?} {told}");
    // All of them are judged as one, as soon as their volumes are named.
    let (code, told) = judged(vec![one, two, sum]);
    assert!(
        code == Some(6) && told.contains("name the volumes of the other hosts with --with"),
        "{code:?} {told}"
    );
    let named = [&PL1[..], &["--with", "alibaba:cloud_essd.PL1:20GiB"]].concat();
    let (code, told) =
        verdict(dir.path(), &std::fs::read_to_string(dir.path().join("report")).unwrap(), &named);
    assert!(code != Some(2) && told.contains("of 5,600") && !told.contains("with --with"), "{code:?} {told}");
}

/// fio holds back the named direction of a mix alone.
#[test]
fn a_rate_of_one_direction_holds_no_mix_back() {
    let dir = tempfile::tempdir().unwrap();
    let load = "rw = \"randrw\"\niodepth = 256";
    let (_, report) =
        report_of(dir.path(), &step("one", load, "latency = '300us', iops-cap = 2400"), &PL1, "json");
    let with = |option: &str, value: &str| {
        let judged = verdict(dir.path(), &with_options(&report, &json!({option: value})), &PL1);
        let (_, told) = volproof(dir.path(), &["explain", "report", "--judge-simulated"]);
        (judged, told)
    };
    for (option, value) in [("rate_iops", ",1200"), ("rate_iops", "1200,"), ("rate", ",4800k")] {
        let ((code, told), explained) = with(option, value);
        assert_eq!(code, Some(1), "{option}={value}: {told}");
        assert!(!explained.contains("load-limited"), "{option}={value}: {explained}");
    }
    let ((code, told), explained) = with("rate_iops", "1200,1200");
    assert!(code == Some(6) && told.contains("only 2,400 I/Os a second were asked for"), "{told}");
    assert!(explained.contains("load-limited"), "{explained}");
}

/// The C library serves the requests of posixaio for one file one by one.
#[test]
fn a_queue_of_posixaio_fails_no_volume() {
    let dir = tempfile::tempdir().unwrap();
    let load = "rw = \"randread\"\niodepth = 64";
    let (_, report) =
        report_of(dir.path(), &step("one", load, "latency = '300us', iops-cap = 2000"), &PL1, "json");
    assert_eq!(verdict(dir.path(), &report, &PL1).0, Some(1), "{report}");
    let (code, told) = verdict(dir.path(), &report.replace("libaio", "posixaio"), &PL1);
    assert!(code == Some(6) && told.contains("one request of a file at a time"), "{told}");
}

#[test]
fn a_mix_whose_samples_fall_low_does_not_pass() {
    let dir = tempfile::tempdir().unwrap();
    let device =
        "latency = '1ms', iops-cap = 3400, dip-at = '10s', dip-every = '10s', dip-for = '1s', dip-to = 0.5";
    for load in ["rw = \"randrw\"\nrwmix = 70\niodepth = 32", "rw = \"randread\"\niodepth = 32"] {
        let (_, report) = report_of(dir.path(), &step("dips", load, device), &GP3, "json");
        let (code, told) = verdict(dir.path(), &report, &GP3);
        assert!(code == Some(5) && told.contains("the lowest sample is"), "{load}: {told}");
    }
}

/// A stall without samples, and blocks in a row of which every 64th is slow: the Record fails neither volume, nor does its report.
#[test]
fn what_fails_no_record_fails_no_report_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let stall = "latency = '1ms', jitter = '500us', iops-cap = 2800, stall-at = '275s', stall-for = '40s'";
    let slow = "latency = '1ms', jitter = '500us', first-touch = '400ms'";
    for (load, device, words) in [
        ("rw = \"randread\"\niodepth = 32", stall, "the report has no sample of the rate"),
        ("rw = \"read\"\niodepth = 12", slow, "by Little's law"),
    ] {
        let plan = step("one", load, device);
        let plan = if device == slow { plan.replace("4k", "16k") } else { plan };
        let (code, report) = report_of(dir.path(), &plan, &PL1, "json");
        assert_ne!(code, Some(1), "{device}");
        let (code, told) = verdict(dir.path(), &report, &PL1);
        assert!(code != Some(1) && code != Some(0) && told.contains(words), "{device}: {told}");
    }
}

/// fio goes on until the requests in flight came back, and its report tells that by its time alone. One that never came back is a wait as long as any.
#[test]
fn a_silence_at_the_end_passes_in_no_report() {
    let dir = tempfile::tempdir().unwrap();
    for (stall, words) in [
        ("stall-at = '297s', stall-for = '5s'", "the volume had stopped when the run should have ended"),
        ("stall-at = '299s', stall-for = '3s'", "300 s were asked for, the run took 2.00 s longer"),
        ("stall-at = '298s', stall-for = '1000s'", "the longest I/O took 10"),
    ] {
        let plan = step(
            "one",
            "rw = \"randread\"\niodepth = 32",
            &format!("latency = '1ms', iops-cap = 2900, {stall}"),
        );
        let (code, report) = report_of(dir.path(), &plan, &PL1, "json");
        assert!(code != Some(0) && code != Some(1), "{stall}");
        let (code, told) = verdict(dir.path(), &report, &PL1);
        assert!(code == Some(5) && told.contains(words), "{stall}: {told}");
    }
}

#[test]
fn flushes_that_a_volume_may_count_are_no_failure() {
    let dir = tempfile::tempdir().unwrap();
    let load = "rw = \"randwrite\"\niodepth = 64\nfsync = 10";
    for device in ["iops-cap = 2800", "iops-cap = 2800, stall-at = '30s', stall-for = '15s'"] {
        let plan = step("flushed", load, &format!("latency = '500us', {device}"));
        let (code, report) = report_of(dir.path(), &plan, &PL1, "json");
        assert_eq!(code, Some(6), "{device}");
        if !device.contains("stall") {
            let (code, told) = verdict(dir.path(), &report, &PL1);
            assert!(code == Some(6) && told.contains("a volume may count each of them"), "{told}");
        }
    }
}

/// fio's text tells no time that was asked for, so that any stop may be one that was under way at its end.
#[test]
fn a_silence_that_a_text_may_hide_at_its_end_does_not_pass() {
    let dir = tempfile::tempdir().unwrap();
    for (stall, code) in [("", 0), (", stall-at = '299s', stall-for = '3s'", 5)] {
        let device = format!("latency = '1ms', iops-cap = 2900{stall}");
        let (_, report) =
            report_of(dir.path(), &step("one", "rw = \"randread\"\niodepth = 32", &device), &PL1, "normal");
        let (found, told) = verdict(dir.path(), &report, &PL1);
        assert_eq!(found, Some(code), "{stall}: {told}");
        assert_eq!(told.contains("for how long the run was to go on"), code == 5, "{stall}: {told}");
    }
}

/// A write that waits until it is durable may be two requests for the volume, and so may an I/O that begins within a block of the disk.
#[test]
fn ios_that_a_volume_may_count_twice_are_no_failure() {
    let dir = tempfile::tempdir().unwrap();
    let flushes = "a volume may count each of them";
    let blocks = "one more block of the volume";
    for (load, words) in [
        ("rw = \"randwrite\"\nsync = \"dsync\"", flushes),
        ("rw = \"randwrite\"\nsync = \"sync\"", flushes),
        ("rw = \"randrw\"\nsync = \"dsync\"", flushes),
        ("rw = \"randread\"\noffset = \"1k\"", blocks),
        ("rw = \"randread\"\nalign = \"512\"\nnorandommap = true", blocks),
    ] {
        for (cap, code) in [(2000, 6), (1200, 1)] {
            let device = format!("latency = '500us', iops-cap = {cap}");
            let plan = step("twice", &format!("{load}\niodepth = 64"), &device);
            let (found, report) = report_of(dir.path(), &plan, &PL1, "json");
            assert_eq!(found, Some(code), "{load}, {cap}");
            let (found, told) = verdict(dir.path(), &report, &PL1);
            assert_eq!((found, told.contains(words)), (Some(code), code == 6), "{load}, {cap}: {told}");
        }
    }
    let (_, report) = report_of(
        dir.path(),
        &step("w", "rw = \"randwrite\"\niodepth = 64", "latency = '500us', iops-cap = 2000"),
        &PL1,
        "json",
    );
    assert_eq!(verdict(dir.path(), &report, &PL1).0, Some(1), "{report}");
    for option in ["\"sync\" : \"1\"", "\"ba\" : \"512\"", "\"offset_increment\" : \"1k\""] {
        let engine = "\"ioengine\" : \"libaio\"";
        assert!(report.contains(engine), "{report}");
        let (found, told) =
            verdict(dir.path(), &report.replacen(engine, &format!("{engine}, {option}"), 1), &PL1);
        assert_eq!(found, Some(6), "{option}: {told}");
    }
}

/// volproof's own report of a simulated device says so; its engine `null` has driven that device.
#[test]
fn a_report_of_a_simulated_device_is_judged_where_that_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let plan = step("one", "rw = \"randread\"\niodepth = 64", "latency = '300us', iops-cap = 2800");
    let (code, _) = report_of(dir.path(), &plan, &PL1, "json");
    let (_, own) = volproof(dir.path(), &["convert", "r.json", "--to", "json"]);
    assert!(own.contains("\"null\"") && code == Some(0), "{own}");
    let (found, told) = verdict(dir.path(), &own, &PL1);
    assert!(found == Some(0) && !told.contains("null engine"), "{told}");
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

/// A latency is promised for the write alone.
#[test]
fn a_latency_with_the_time_of_a_flush_is_no_failure() {
    let dir = tempfile::tempdir().unwrap();
    for (load, outcome) in
        [("", "fail"), ("sync = \"dsync\"", "inconclusive"), ("offset = \"512\"", "inconclusive")]
    {
        let load = format!("rw = \"randwrite\"\niodepth = 1\nrate-iops = 800\n{load}");
        let (_, report) = report_of(dir.path(), &step("one", &load, "latency = '300us'"), &PL1, "json");
        std::fs::write(dir.path().join("report.json"), report).unwrap();
        for file in ["r.json", "report.json"] {
            let words = ["verdict", file, "--json", "--judge-simulated"];
            let (_, text) = volproof(dir.path(), &[&words[..], &PL1].concat());
            let found: Value = serde_json::from_str(&text).unwrap();
            let claims = found["verdict"]["claims"].as_array().unwrap();
            let latency =
                claims.iter().find(|c| c["metric"] == "latency").unwrap_or_else(|| panic!("{text}"));
            assert_eq!(latency["outcome"], outcome, "{file}, {load}: {latency:#}");
        }
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
        let (_, text) = volproof(dir.path(), &["explain", "x.json"]);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = told(&[10, 20]);
    assert!(text.contains("write: 1,000 IOPS") && text.contains("20,000 I/Os in 20.0 s"), "{text}");
    assert!(text.contains("1.50 of them ran on average. [jobs-ended-apart, void]"), "{text}");
    assert!(
        text.contains("Flushes take 50.0 % of the time") && text.contains("30.0 s in all 2 jobs"),
        "{text}"
    );
    assert!(!text.contains("impossible-figures"), "{text}");
    assert!(!told(&[20, 20]).contains("jobs-ended-apart"));
}

#[test]
fn a_report_tells_no_zone_and_dd_each_side() {
    let dir = tempfile::tempdir().unwrap();
    let (_, report) =
        report_of(dir.path(), &step("r", "rw = \"randread\"", "latency = '1ms'"), &PL1, "normal");
    std::fs::write(dir.path().join("r.txt"), report).unwrap();
    let (_, record) = volproof(dir.path(), &["convert", "r.txt", "--to", "record"]);
    let record: Value = serde_json::from_str(&record).unwrap();
    let began = record["started"]["assumed"].as_str().unwrap();
    assert!(began.len() == 19 && !began.ends_with('Z'), "{began}");
    assert!(record["started"]["why"].as_str().unwrap().contains("zone"), "{record}");

    let dd = "$ dd if=a.dat of=b.dat bs=1M oflag=direct\n64+0 records in\n64+0 records out\n\
              67108864 bytes (67 MB, 64 MiB) copied, 1.5 s, 45 MB/s\n";
    std::fs::write(dir.path().join("dd.txt"), dd).unwrap();
    let (_, text) = volproof(dir.path(), &["explain", "dd.txt"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("one side of the copy did: iflag=direct was not given"), "{text}");
    assert!(!text.contains("writes end in memory"), "{text}");
}

#[test]
fn what_is_judged_beside_it_is_not_advised() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = format!("{}/tests/fixtures/fio/3.33-groups.txt", env!("CARGO_MANIFEST_DIR"));
    let advice = |more: &[&str]| {
        let (_, text) = volproof(dir.path(), &[&["explain", &fixture][..], more].concat());
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("asks for 99 % of flushes within 10.0 ms"), "{words}");
        words.contains("verdict --fit etcd` on the result")
    };
    assert!(advice(&[]));
    assert!(!advice(&["--fit", "etcd"]), "the verdict is there");
}
