//! Reports that are interim, several, cut off or no results.

use super::told;
use volproof::doubt::Severity;
use volproof::explain::{explained, of_reports};

#[test]
fn only_the_last_of_interim_reports_is_told() {
    let text = told(&["3.33-interim.txt"]);
    assert_eq!(text.matches("\n  tested ").count(), 1, "{text}");
    assert!(!text.contains("PARTIAL"), "{text}");
}

#[test]
fn several_files_side_by_side() {
    let text = told(&["2.2.8-published.txt", "3.33-cached.json"]);
    let table = &text[text.find("Side by side").unwrap()..];
    insta::assert_snapshot!(table, @r#"
    Side by side
                                      IOPS MiB/s   mean    p50    p99 in flight    s
    2.2.8-published…nd_Read_Testing 20,126  78.6 6.36ms 1.37ms 81.4ms       128 13.0
    3.33-cached.json cached         13,831  54.0 1.15ms  807us 4.42ms      16.0 2.00
    "#);
}

#[test]
fn a_report_that_breaks_off_says_so_and_still_explains() {
    let whole = std::fs::read_to_string("tests/fixtures/fio/2.2.8-published.txt").unwrap();
    let cut = &whole[..whole.find("cpu :").unwrap()];
    let found = explained("cut.txt".as_ref(), cut.as_bytes()).unwrap();
    assert!(found[0].partial.as_ref().unwrap().contains("breaks off"));
}

/// The disk's counters hold the ramp, of which text says nothing.
#[test]
fn requests_of_a_ramp_are_nobody_elses() {
    let whole = std::fs::read_to_string("tests/fixtures/fio/2.2.8-published.txt").unwrap();
    let more = whole.replace("ios=258422/0", "ios=758422/0");
    assert_ne!(whole, more);
    let found = explained("ramp.txt".as_ref(), more.as_bytes()).unwrap();
    assert!(found[0].runs[0].doubts.iter().all(|d| d.code != "other-traffic"));
}

#[test]
fn what_is_no_result_is_refused() {
    let refused = |bytes: &[u8]| format!("{:#}", explained("x".as_ref(), bytes).unwrap_err());
    insta::assert_snapshot!(refused(b"hello\n"), @r#"it is not a volproof Record, and no report of fio (text, JSON, terse lines), dd, sysbench fileio, ioping, pg_test_fsync, DiskSpd, Iometer, iostat -x or /proc/diskstats either"#);
    insta::assert_snapshot!(refused(b"{\"fio version\" : \"fio-3.33\", \"jobs\" : [ { 3"), @r#"line 1, column 43: expected '"', found '3'"#);
    insta::assert_snapshot!(refused(b""), @r#"it is empty"#);
    // As `kubestr fio` prints it (published with kubestr 0.4).
    let kubestr = b"PVC created kubestr-fio-pvc-g9txn\nElapsed time- 1m24.510291222s\nFIO test results:\n\nFIO version - fio-3.20\n\
        Global options - ioengine=libaio verify=0 direct=1 gtod_reduce=1\n\nJobName: read_iops\n  blocksize=4K filesize=2G iodepth=64 rw=randread\n\
        read:\n  IOPS=692.495239 BW(KiB/s)=2786\n  iops: min=612 max=898 avg=703.300000\n  bw(KiB/s): min=2448 max=3592 avg=2813.3\n\n\
        Disk stats (read/write):\n  -  OK\n";
    insta::assert_snapshot!(refused(kubestr), @"it is the summary that `kubestr fio` prints, which has neither latencies nor times: run `kubestr fio -o json` with the same options, and give the JSON");
    insta::assert_snapshot!(refused(b"[global]\nrw=randread\n[a]\nfilename=/dev/vdb\n"), @"it is a job file of fio: it says what to do and holds no result; `volproof fio x` runs it, `volproof convert x --to plan` makes a plan of it");
    assert!(refused(b"[a section alone]\n").contains("is not a volproof Record"));
    assert!(refused(b"[a]\nno-option-of-fio=1\n").contains("is not a volproof Record"));
    let missing = of_reports(&["/nonexistent/x".into()]).unwrap_err();
    insta::assert_snapshot!(format!("{missing:#}"), @"cannot show /nonexistent/x: cannot read /nonexistent/x: there is no folder /nonexistent");
}

const SECTORS: &str = "bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=16";

fn row_of(name: &str) -> String {
    format!(
        "{name}: (groupid=0, jobs=1): err= 0: pid=7: Fri Nov 17 10:46:21 2017\n  read: IOPS=1000, BW=4000KiB/s (4096kB/s)(240MiB/61440msec)\n     \
         lat (usec): min=100, max=4000, avg=1000.00, stdev=10.00\n     issued rwts: total=61440,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
    )
}

#[test]
fn a_job_without_its_own_header_has_an_unknown_workload() {
    let text = format!(
        "a: (g=0): rw=randread, {SECTORS}\n...\nfio-3.28\n{}{}{}",
        row_of("a"),
        row_of("a"),
        row_of("b")
    );
    let found = explained("x".as_ref(), text.as_bytes()).unwrap();
    let known: Vec<(&str, Option<&str>, u32)> = found[0]
        .runs
        .iter()
        .map(|r| {
            (
                r.name.as_str(),
                r.conditions.rw.as_ref().map(String::as_str),
                r.conditions.jobs.get().unwrap_or(0),
            )
        })
        .collect();
    assert_eq!(known, [("a", Some("randread"), 2), ("b", None, 1)]);
    // Two jobs of one name take their own headers in order, and none where one of the two is missing.
    let two = format!("a: (g=0): rw=read, {SECTORS}\na: (g=0): rw=randread, {SECTORS}\nfio-3.28\n");
    let of = |text: String| -> Vec<Option<String>> {
        let found = explained("x".as_ref(), text.as_bytes()).unwrap();
        found[0].runs.iter().map(|r| r.conditions.rw.as_ref().cloned()).collect()
    };
    assert_eq!(
        of(format!("{two}{}{}", row_of("a"), row_of("a"))),
        [Some("read".into()), Some("randread".into())]
    );
    assert_eq!(of(format!("{two}{}", row_of("a"))), [None]);
}

/// A run of fio's JSON on a disk that counted `seen` of its 2,000 reads, with sectors where they are told.
fn on_a_disk(seen: u64, direct: u8, bs: &str, sectors: &str, ms: u64) -> volproof::explain::RunExplained {
    let text = format!(
        r#"{{"fio version":"fio-3.36","jobs":[{{"jobname":"a","groupid":0,"error":0,"job options":{{"rw":"randread",{bs},"direct":"{direct}","ioengine":"libaio"}},"read":{{"io_bytes":8192000,"bw_bytes":{},"iops":{},"runtime":{ms},"total_ios":2000,"lat_ns":{{"min":1,"max":2000000,"mean":1000000.0,"stddev":0}}}}}}],"disk_util":[{{"name":"vdb","read_ios":{seen},"write_ios":0,{sectors}"read_merges":0,"write_merges":0,"read_ticks":1,"write_ticks":0,"in_queue":1,"util":99.0}}]}}"#,
        8_192_000 * 1000 / ms,
        2000 * 1000 / ms
    );
    explained("x".as_ref(), text.as_bytes()).unwrap().remove(0).runs.remove(0)
}

#[test]
fn reads_that_the_disk_counted_after_fio_looked_are_not_from_memory() {
    let one = r#""bs":"4k""#;
    let found = |run: &volproof::explain::RunExplained| {
        run.doubts.iter().find(|d| d.code == "reads-from-memory").cloned()
    };
    // A quarter of a second of two is an eighth; of twenty it is nothing.
    assert_eq!(found(&on_a_disk(1800, 1, one, "", 2000)), None);
    let long = found(&on_a_disk(1800, 1, one, "", 20_000)).unwrap();
    assert_eq!(long.severity, Severity::Warning);
    assert!(!long.advice.starts_with("use direct I/O"), "{}", long.advice);
    let cached = found(&on_a_disk(1000, 0, one, "", 2000)).unwrap();
    assert_eq!(cached.severity, Severity::Blocker);
    // With blocks of several sizes bytes are compared.
    let mixed = r#""bsrange":"1k-8k""#;
    let sectors = |n: u64| format!(r#""read_sectors":{n},"write_sectors":0,"#);
    assert_eq!(found(&on_a_disk(1000, 1, mixed, &sectors(16_000), 20_000)), None);
    assert!(found(&on_a_disk(2000, 1, mixed, &sectors(8_000), 20_000)).is_some());
}

#[test]
fn nothing_of_several_reports_or_files_vanishes() {
    let json = std::fs::read_to_string("tests/fixtures/fio/3.33-cached.json").unwrap();
    let text = format!("a: (g=0): rw=randread, {SECTORS}\nfio-3.28\n{}", row_of("a"));
    let both = explained("x".as_ref(), format!("{json}\n{text}").as_bytes()).unwrap();
    let names: Vec<(&str, &str)> =
        both.iter().flat_map(|e| e.runs.iter().map(move |r| (e.tool.as_str(), r.name.as_str()))).collect();
    assert_eq!(names, [("fio-3.33", "cached"), ("fio-3.28", "a")]);
    // Status lines around JSON are no other report.
    let status = format!("Jobs: 1 (f=1): [r(1)][50.0%]\n{json}");
    let alone = explained("x".as_ref(), status.as_bytes()).unwrap();
    assert_eq!((alone.len(), &alone[0].partial), (1, &None));
}

#[test]
fn a_terse_row_that_is_cut_is_refused_and_no_count_is_made_up() {
    let cut = "3;fio-3.33;a;0;0;822204;273976;68494;3001;1;1479;2.640752";
    let refused = explained("x".as_ref(), cut.as_bytes()).unwrap_err();
    insta::assert_snapshot!(format!("{refused:#}"), @"line 1 breaks off: no row is whole, copy the report to its end");
    let text = format!("a: (g=0): rw=randread, {SECTORS}\nfio-3.28\n{}", row_of("a"));
    let of = |text: &str| {
        let found = explained("x".as_ref(), text.as_bytes()).unwrap();
        found[0].runs[0].result[0].clone()
    };
    assert!(of(&text).starts_with("read: 1,000 IOPS"), "{}", of(&text));
    let rounded = &text[..text.find("     issued").unwrap()];
    // No count is made up of a rounded rate.
    let told = of(rounded);
    assert!(told.starts_with("read: 1,000 IOPS") && !told.contains("I/Os in"), "{told}");
}
