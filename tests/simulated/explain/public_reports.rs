//! Defects of reading that were found in public reports, each with a report that shows it.

use volproof::explain::{Explained, RunExplained, explained};

fn of(text: &str) -> Vec<Explained> {
    explained("x".as_ref(), text.as_bytes()).unwrap_or_else(|e| panic!("{e:#}"))
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(format!("tests/fixtures/fio/{name}")).unwrap()
}

fn only(text: &str) -> RunExplained {
    let mut all = of(text);
    assert_eq!((all.len(), all[0].runs.len()), (1, 1), "{all:#?}");
    all.remove(0).runs.remove(0)
}

fn codes(run: &RunExplained) -> Vec<&str> {
    let doubts = run.doubts.iter().map(|d| d.code.as_str());
    run.diagnosis.findings.iter().map(|f| f.code.as_str()).chain(doubts).collect()
}

/// A row of fio's JSON with its options, figures of reads, and the disk's counters.
fn json(options: &str, read: &str, write: &str, disk: &str) -> String {
    format!(
        r#"{{"fio version":"fio-3.36","jobs":[{{"jobname":"a","groupid":0,"error":0,"elapsed":101,"job options":{{{options}}},
        "read":{{{read}}},"write":{{{write}}}}}],"disk_util":[{{"name":"vdb",{disk},"util":99.0}}]}}"#
    )
}

/// Figures of one direction in 100 s: I/Os of 4 KiB and their mean latency in microseconds.
fn figures(ios: u64, mean_us: f64) -> String {
    format!(
        r#""io_bytes":{},"bw_bytes":{},"iops":{},"runtime":100000,"total_ios":{ios},
        "lat_ns":{{"min":1000,"max":90000000,"mean":{},"stddev":1.0,"N":{ios}}}"#,
        ios * 4096,
        ios * 4096 / 100,
        ios as f64 / 100.0,
        mean_us * 1e3
    )
}

fn disk(reads: u64, writes: u64, read_merges: u64, write_merges: u64) -> String {
    format!(
        r#""read_ios":{reads},"write_ios":{writes},"read_merges":{read_merges},"write_merges":{write_merges},"read_ticks":9,"write_ticks":9,"in_queue":9"#
    )
}

const LIBAIO: &str =
    r#""bs":"4k","direct":"1","ioengine":"libaio","filename":"/dev/vdb","time_based":"1","runtime":"100""#;

#[test]
fn x1_flushes_lead() {
    let text = only(&fixture("3.33-fdatasync.txt"));
    assert!(text.latency[0].starts_with("flush: mean 1.19 ms, half within 857 us"), "{:?}", text.latency);
    let json = only(&fixture("3.33-fdatasync.json"));
    assert!(json.latency[0].starts_with("flush: mean "), "{:?}", json.latency);
}

#[test]
fn x2_others_requests_are_no_merges() {
    let options = format!(r#""rw":"randwrite","iodepth":"1",{LIBAIO}"#);
    let of = |disk: &str| only(&json(&options, "", &figures(10_029, 9_000.0), disk));
    let busy = of(&disk(0, 26_122, 0, 11_860));
    let doubt = |run: &RunExplained, code: &str| run.doubts.iter().find(|d| d.code == code).cloned();
    assert!(doubt(&busy, "merges").is_none() && doubt(&busy, "other-traffic").is_some());
    let merged = of(&disk(0, 5_029, 0, 5_000));
    let merges = doubt(&merged, "merges").unwrap();
    assert!(merges.message.starts_with("49.9 % of the I/Os were merged"), "{merges:?}");
}

#[test]
fn x4_clients_are_told_by_host_and_their_sum_is_the_sum() {
    let run = only(&fixture("3.33-two-servers.json"));
    assert_eq!(run.conditions.jobs.get(), Some(2));
    insta::assert_snapshot!(run.hosts.join("\n"), @r#"
    127.0.0.1:8802: 38,233 IOPS, 157 MB/s (149 MiB/s), mean 104 us
    127.0.0.1:8801: 37,531 IOPS, 154 MB/s (147 MiB/s), mean 106 us
    "#);
    insta::assert_snapshot!(run.result.join("\n"), @"write: 75,764 IOPS, 310 MB/s (296 MiB/s): 151,603 I/Os in 2.00 s, 592 MiB moved");
    // Both programs call themselves by the name of their machine: the sum is there once.
    let run = only(&fixture("3.33-two-servers.txt"));
    insta::assert_snapshot!(run.result.join("\n"), @"write: 77,608 IOPS, 318 MB/s (303 MiB/s): 155,294 I/Os in 2.00 s, 607 MiB moved");
    assert_eq!(run.conditions.jobs.get(), Some(2));
    let hosts = fixture("3.33-two-servers.txt").replacen("\r<db1> \n", "\r<db2> \n", 1);
    insta::assert_snapshot!(only(&hosts).hosts.join("\n"), @r#"
    db2: 38,900 IOPS, 159 MB/s (152 MiB/s), mean 102 us
    db1: 38,700 IOPS, 158 MB/s (151 MiB/s), mean 103 us
    "#);
}

#[test]
fn x5_a_part_of_a_report_is_told_as_a_part() {
    // The write half is cut off.
    let head = "m: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=8\nfio-3.33\n\
        m: (groupid=0, jobs=1): err= 0: pid=7: Fri Nov 17 10:46:21 2017\n  \
        read: IOPS=10.0k, BW=39.1MiB/s (41.0MB/s)(3906MiB/100001msec)\n     lat (usec): min=100, max=4000, avg=400.00, stdev=10.00\n";
    let half = explained("x".as_ref(), head.as_bytes()).unwrap().remove(0);
    assert!(codes(&half.runs[0]).contains(&"part-missing"), "{:?}", codes(&half.runs[0]));
    assert!(half.partial.is_some());
    // The line that tells the number of jobs is missing: it is not known, and Little's law is held against nothing.
    let headless = head.replace("m: (groupid=0, jobs=1): err= 0: pid=7: Fri Nov 17 10:46:21 2017\n", "");
    let run = only(&headless);
    assert!(run.conditions.jobs.is_unknown(), "{:?}", run.conditions);
    assert!(run.tested.contains("number of jobs not known") && run.little_holds.is_none(), "{run:#?}");
    // Submission that takes nearly all of the time is told.
    let slat = r#""slat_ns":{"min":1000,"max":80000000,"mean":9600000.0,"stddev":1.0,"N":10000},"#;
    let options = format!(r#""rw":"randread","iodepth":"4",{LIBAIO}"#);
    let run =
        only(&json(&options, &format!("{slat}{}", figures(40_000, 10_000.0)), "", &disk(40_000, 0, 0, 0)));
    assert!(run.latency[0].contains("submission (slat) took 9.60 ms of it, 96.0 %"), "{:?}", run.latency);
}

#[test]
fn x6_a_mean_and_percentiles_of_different_latencies_keep_their_names() {
    let run = only(&fixture("3.33-cached.json"));
    assert!(
        run.latency[0].starts_with("read: lat mean ") && run.latency[0].contains(", clat half within"),
        "{:?}",
        run.latency
    );
}

#[test]
fn x7_jobs_with_files_of_their_own_share_no_range() {
    let of = |place: &str| {
        let options = format!(
            r#""rw":"read","bs":"64k","numjobs":"3","direct":"1","ioengine":"libaio","iodepth":"2",{place}"#
        );
        let run = only(&json(&options, &figures(100_000, 990.0), "", &disk(100_000, 0, 0, 0)));
        codes(&run).contains(&"same-range")
    };
    assert!(!of(r#""directory":"/mnt/volume""#));
    assert!(!of(r#""filename_format":"f.$jobnum""#));
    assert!(!of(r#""filename":"/dev/vdb","offset_increment":"10g""#));
    assert!(of(r#""filename":"/dev/vdb""#));
}

#[test]
fn x9_reads_of_a_mix_are_held_against_reads() {
    let options = format!(r#""rw":"randrw","iodepth":"8",{LIBAIO}"#);
    let run =
        only(&json(&options, &figures(96_377, 990.0), &figures(96_214, 990.0), &disk(29_901, 96_214, 0, 0)));
    let found = run.doubts.iter().find(|d| d.code == "reads-from-memory").unwrap();
    assert!(found.message.contains("29,901 of 96,377 reads"), "{found:?}");
}

#[test]
fn x10_bytes_and_time_beat_a_rate_that_is_cut() {
    let text = "a: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=1\nfio-3.28\n\
        a: (groupid=0, jobs=1): err= 0: pid=7: Fri Nov 17 10:46:21 2017\n  read: IOPS=13, BW=54.7KiB/s (56.0kB/s)(5472KiB/100001msec)\n     \
        lat (usec): min=100, max=4000, avg=1000.00, stdev=10.00\n";
    let x = only(text).figures.iops.unwrap();
    assert!((x - 13.68).abs() < 0.01, "{x}");
}

#[test]
fn x11_the_arithmetic_of_a_queue_is_right() {
    let told = |ios: u64, mean_us: f64| {
        let options = format!(r#""rw":"randread","iodepth":"24",{LIBAIO}"#);
        let run = only(&json(&options, &figures(ios, mean_us), "", &disk(ios, 0, 0, 0)));
        run.doubts.iter().find(|d| d.code == "queue-latency").map(|d| d.message.clone())
    };
    insta::assert_snapshot!(told(2_400_000, 1_000.0).unwrap(), @"1.00 ms is the response time among 24.0 in flight (24,000/s): one depth does not tell how much of it is waiting for the others");
    // 19.2 of 24 were in flight: the division is of those.
    insta::assert_snapshot!(told(2_400_000, 800.0).unwrap(), @"800 us is the response time among 19.2 in flight (24,000/s): one depth does not tell how much of it is waiting for the others");
    // 39.6 in flight of 24 cannot be.
    assert_eq!(told(2_933_006_600, 1.35), None);
}

#[test]
fn x12_reports_pasted_one_after_the_other_are_all_told() {
    let found = of(&fixture("3.33-two-pasted.txt"));
    let told: Vec<(Option<u64>, Option<&str>)> =
        found.iter().map(|e| (e.runs[0].figures.iops.map(|x| x as u64), e.partial.as_deref())).collect();
    assert_eq!(told.iter().map(|t| t.1).collect::<Vec<_>>(), [None, None], "{told:?}");
    assert!(told[0].0 != told[1].0, "{told:?}");
    // Rows alone, without the sums of their groups, of two days.
    let row = |day: &str, pid: u32| {
        format!(
            "a: (groupid=0, jobs=1): err= 0: pid={pid}: {day} 10:46:21 2017\n  read: IOPS=1000, BW=4000KiB/s (4096kB/s)(240MiB/61440msec)\n     \
             lat (usec): min=100, max=4000, avg=1000.00, stdev=10.00\n     issued rwts: total=61440,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
        )
    };
    let found = of(&(row("Fri Nov 17", 7) + &row("Sat Nov 18", 9)));
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|e| e.runs[0].figures.iops == Some(1000.0)), "{found:#?}");
    // Clones of one job, printed at one moment, are one run.
    let found = of(&(row("Fri Nov 17", 7) + &row("Fri Nov 17", 8)));
    assert_eq!((found.len(), found[0].runs[0].figures.iops), (1, Some(2000.0)));
}

#[test]
fn x12_a_line_that_was_cut_here_is_not_called_damaged() {
    // Whatever a mail, a page or a log puts before the lines is taken off, and no figure is lost by it.
    let text = fixture("3.33-fdatasync.txt");
    let x = only(&text).figures.iops;
    for prefix in ["> ", "    ", "2026-11-22T03:38:19Z ", "db1_1  | "] {
        let through: String = text.lines().map(|l| format!("{prefix}{l}\n")).collect();
        let run = only(&through);
        assert!(!codes(&run).contains(&"impossible-figures"), "{prefix}: {:?}", run.doubts);
        assert_eq!(run.figures.iops, x, "{prefix}");
    }
    // A long list is cut when it is told, and the advice accuses nobody.
    let long = text.replace("avg=1187.65", &format!("avg={}", "x".repeat(60)));
    let run = only(&long);
    let doubt = run.doubts.iter().find(|d| d.code == "impossible-figures").unwrap();
    assert!(!doubt.advice.contains("damaged") && !doubt.advice.contains("edited"), "{doubt:?}");
}

#[test]
fn requests_that_began_in_the_ramp_are_no_contradiction() {
    // 8 were asked for, and some that waited for 800 ms began before the 2 s that were measured.
    let text = |ramp: &str| {
        let options = format!(
            r#""rw":"randread","iodepth":"8",{ramp}"bs":"4k","direct":"1","ioengine":"libaio","filename":"/dev/vdb""#
        );
        format!(
            r#"{{"fio version":"fio-3.33","jobs":[{{"jobname":"a","groupid":0,"error":0,"job options":{{{options}}},
            "read":{{"io_bytes":8192000,"bw_bytes":4096000,"iops":1000.0,"runtime":2000,"total_ios":2000,
            "lat_ns":{{"min":1000,"max":800000000,"mean":11000000.0,"stddev":1.0,"N":2000}}}}}}]}}"#
        )
    };
    let run = only(&text(r#""ramp_time":"1","#));
    let law = run.little.clone().unwrap();
    assert!(law.contains("requests that began before the measured time"), "{law}");
    assert!(!codes(&run).contains(&"impossible-figures"), "{:?}", codes(&run));
    let without = only(&text(""));
    assert!(codes(&without).contains(&"impossible-figures"), "{:?}", codes(&without));
}

#[test]
fn files_of_each_job_are_added_up() {
    let row = |place: &str| {
        let options = format!(
            r#""rw":"randread","iodepth":"8","numjobs":"4","size":"16m",{place},"bs":"4k","direct":"1","ioengine":"libaio","time_based":"1","runtime":"100""#
        );
        let text = json(&options, &figures(40_000, 80_000.0), "", &disk(40_000, 0, 0, 0));
        let run = only(&text);
        run.doubts.iter().find(|d| d.code == "small-range").unwrap().message.clone()
    };
    assert_eq!(
        row(r#""directory":"/mnt/d""#),
        "the load moved 156 MiB within only 64 MiB: a cache on the way may hold part of it"
    );
    assert_eq!(
        row(r#""filename":"/mnt/d/f""#),
        "the load moved 156 MiB within only 16 MiB: a cache on the way may hold part of it"
    );
}

#[test]
fn a_latency_target_is_what_left_the_queue_short() {
    let text = "a: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=32\nfio-3.33\n\
        a: (groupid=0, jobs=1): err= 0: pid=7: Fri Nov 17 10:46:21 2017\n  read: IOPS=895, BW=3586KiB/s (3672kB/s)(350MiB/100001msec)\n     \
        lat (usec): min=41, max=56700, avg=1120.00, stdev=10.00\n     latency   : target=2000000, window=500000, percentile=95.00%, depth=4\n";
    let run = only(text);
    assert!(run.little.unwrap().ends_with("its pauses took the rest of the time"));
}
