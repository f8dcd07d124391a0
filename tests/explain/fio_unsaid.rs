//! What fio's reports say only to those who look twice: forms of several runs in one paste, disks below others, counters that hold a ramp, latencies in
//! two parts, job files above their report, calls that flush nothing, pauses that keep a CPU busy.

use std::path::Path;

use serde_json::{Value, json};

use super::disputed::{PL1, report_of, step, verdict, volproof, with_options};
use super::doubts::{ROW, of};

/// A report of a load with 32 in flight that passes.
fn passing(folder: &Path, rw: &str, form: &str) -> String {
    let device = "latency = '300us', iops-cap = 2810";
    report_of(folder, &step("one", &format!("rw = \"{rw}\"\niodepth = 32"), device), &PL1, form).1
}

/// A report of a load with 32 in flight on a slow volume.
fn failing(folder: &Path, rw: &str, form: &str) -> String {
    let device = "latency = '300us', iops-cap = 1500";
    report_of(folder, &step("one", &format!("rw = \"{rw}\"\niodepth = 32"), device), &PL1, form).1
}

#[test]
fn forms_of_two_runs_are_two_reports() {
    let dir = tempfile::tempdir().unwrap();
    let good = passing(dir.path(), "randread", "json");
    for form in ["normal", "terse"] {
        let same = passing(dir.path(), "randread", form);
        let (code, told) = verdict(dir.path(), &format!("{good}\n{same}"), &PL1);
        assert_eq!(code, Some(0), "{form}: {told}");
        for rw in ["randread", "randwrite"] {
            let other = failing(dir.path(), rw, form);
            for both in [format!("{good}\n{other}"), format!("{other}\n{good}")] {
                let (code, told) = verdict(dir.path(), &both, &PL1);
                assert!(code != Some(0) && !told.contains("PASS"), "{form} {rw}: {told}");
                let (_, told) = volproof(dir.path(), &["explain", "report"]);
                assert!(told.contains("1,500"), "{form} {rw}: {told}");
            }
        }
    }
}

/// fio's JSON with these disks.
fn on_disks(report: &str, disks: Value) -> String {
    let mut report: Value = serde_json::from_str(report).unwrap();
    report["disk_util"] = disks;
    report.to_string()
}

/// Counters of a disk: reads, writes, and the mean of both on the disks below.
fn disk(name: &str, (reads, writes): (u64, u64), below: Option<(u64, u64)>) -> Value {
    let mut told = json!({"name": name, "read_ios": reads, "write_ios": writes, "read_merges": 0, "write_merges": 0,
        "read_ticks": 9, "write_ticks": 9, "in_queue": 18, "util": 99.0});
    if let Some((reads, writes)) = below {
        let more = json!({"aggr_read_ios": reads, "aggr_write_ios": writes, "aggr_read_merges": 0, "aggr_write_merge": 0,
            "aggr_read_ticks": 9, "aggr_write_ticks": 9, "aggr_in_queue": 18, "aggr_util": 99.0});
        told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    }
    told
}

#[test]
fn ios_that_no_disk_of_a_stack_completed_pass_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for rw in ["randread", "randwrite"] {
        let report = passing(dir.path(), rw, "json");
        let pair = |n: u64| if rw == "randread" { (n, 0) } else { (0, n) };
        for (above, below, code) in [
            (850_000, 850_000, 0),
            (85_000, 85_000, 5),
            (0, 0, 5),
            // A thin volume answers for what it never wrote.
            (850_000, 85_000, 5),
        ] {
            let one = json!([disk("dm-0", pair(above), Some(pair(below))), disk("vdb", pair(below), None)]);
            let over = json!([
                disk("dm-1", pair(above), Some(pair(above))),
                disk("dm-0", pair(above), Some(pair(below))),
                disk("vdb", pair(below), None)
            ]);
            let md = json!([
                disk("md0", pair(above), Some(pair(below / 2))),
                disk("vdb", pair(below / 2), None),
                disk("vdc", pair(below / 2), None)
            ]);
            // Two volumes pass for none.
            for (disks, code) in [(one, code), (over, code), (md, 5)] {
                let report = on_disks(&report, disks);
                let (ended, told) = verdict(dir.path(), &report, &PL1);
                assert_eq!(ended, Some(code), "{rw} {above} {below}: {told}");
                // The text has the same disks.
                std::fs::write(dir.path().join("json"), &report).unwrap();
                let (_, text) = volproof(dir.path(), &["convert", "json", "--to", "normal"]);
                let command = format!(
                    "$ fio --name=one --rw={rw} --bs=4k --iodepth=32 --ioengine=libaio --direct=1 --filename=/dev/mapper/x\n"
                );
                let (ended, told) = verdict(dir.path(), &(command + &text), &PL1);
                assert_eq!(ended, Some(code), "{rw} {above} {below} in text: {told}");
            }
        }
    }
}

#[test]
fn writes_of_a_mix_that_the_disk_did_not_complete_pass_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let load = step("one", "rw = \"randrw\"\niodepth = 32", "latency = '300us', iops-cap = 2900");
    let (_, report) = report_of(dir.path(), &load, &PL1, "json");
    let seen =
        |pair: (u64, u64)| verdict(dir.path(), &on_disks(&report, json!([disk("vdb", pair, None)])), &PL1);
    let (code, told) = seen((435_000, 435_000));
    assert_eq!(code, Some(0), "{told}");
    let (code, told) = seen((435_000, 100));
    assert!(code == Some(5) && told.contains("writes: "), "{told}");
    assert_eq!(seen((100, 435_000)).0, Some(5));
}

#[test]
fn requests_of_a_ramp_do_not_stand_for_those_of_the_run() {
    let dir = tempfile::tempdir().unwrap();
    for rw in ["randread", "randwrite"] {
        let report = with_options(&passing(dir.path(), rw, "json"), &json!({"ramp_time": "300"}));
        for (count, code) in [(1_700_000, 0), (860_000, 5), (400_000, 5)] {
            let pair = if rw == "randread" { (count, 0) } else { (0, count) };
            let (ended, told) =
                verdict(dir.path(), &on_disks(&report, json!([disk("vdb", pair, None)])), &PL1);
            assert_eq!(ended, Some(code), "{rw} {count}: {told}");
        }
    }
    // A short ramp that did nothing leaves no more than the counters may miss.
    let report = with_options(&passing(dir.path(), "randread", "json"), &json!({"ramp_time": "10"}));
    let (code, told) =
        verdict(dir.path(), &on_disks(&report, json!([disk("vdb", (846_000, 0), None)])), &PL1);
    assert_eq!(code, Some(0), "{told}");
}

#[test]
fn a_latency_without_its_submission_passes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    // 6,800 IOPS, more than one at a time gives.
    let large = PL1.map(|word| if word == "20GiB" { "100GiB" } else { word });
    let lone = step("one", "rw = \"randwrite\"\niodepth = 1", "latency = '190us'");
    let (_, report) = report_of(dir.path(), &lone, &large, "json");
    let with = |slat: Option<u64>, engine: &str| {
        let mut report: Value = serde_json::from_str(&report).unwrap();
        let job = &mut report["jobs"][0];
        job["job options"]["ioengine"] = engine.into();
        let count = job["write"]["total_ios"].clone();
        for (kind, mean) in [("slat_ns", slat), ("clat_ns", Some(190_000)), ("lat_ns", None)] {
            let (mean, count) = (mean.unwrap_or(0), mean.map_or(json!(0), |_| count.clone()));
            job["write"][kind] =
                json!({"min": mean / 2, "max": mean * 2, "mean": mean, "stddev": 10.0, "N": count});
        }
        report.to_string()
    };
    let (code, told) = verdict(dir.path(), &with(Some(2_000), "libaio"), &large);
    assert!(code == Some(0) && told.contains("192 us"), "{told}");
    let slow = with(Some(32_000), "libaio");
    let (code, told) = verdict(dir.path(), &slow, &large);
    assert!(code == Some(1) && told.contains("222 us"), "{told}");
    std::fs::write(dir.path().join("json"), &slow).unwrap();
    let (_, told) = volproof(dir.path(), &["explain", "json"]);
    assert!(told.contains("slat+clat mean 222 us"), "{told}");
    let (code, told) = verdict(dir.path(), &with(None, "libaio"), &large);
    assert!(code == Some(5) && told.contains("clat alone"), "{told}");
    assert_eq!(verdict(dir.path(), &with(None, "psync"), &large).0, Some(0), "one call does it all");
}

#[test]
fn a_job_file_above_its_report_is_its_conditions() {
    let dir = tempfile::tempdir().unwrap();
    let report = passing(dir.path(), "randread", "normal");
    let with = |lines: &str, call: &str| {
        let file = format!(
            "$ cat a.fio\n[global]\nioengine=libaio\nruntime=300\ntime_based\n\n[one]\nrw=randread\nbs=4k\niodepth=32\nfilename=/dev/vdb\n{lines}\n"
        );
        verdict(dir.path(), &format!("{file}{call}{report}"), &PL1)
    };
    for call in ["$ fio a.fio\n", ""] {
        let (code, told) = with("direct=1", call);
        assert_eq!(code, Some(0), "{told}");
        let (code, told) = with("direct=1\nsize=64m\nrandom_distribution=zipf:1.2", call);
        assert_eq!(code, Some(5), "{told}");
        let (code, told) = with("direct=0", call);
        assert!(code != Some(0) && told.contains("page cache"), "{code:?} {told}");
    }
    let (code, told) = with("direct=1", "$ fio --size=64m a.fio\n");
    assert_eq!(code, Some(5), "{told}");
    // A job file of another load says nothing of this report.
    let (code, told) = with("direct=0\nbs=16k", "");
    assert_eq!(code, Some(0), "{told}");
}

#[test]
fn calls_that_begin_to_write_are_no_flushes() {
    let text = std::fs::read_to_string("tests/fixtures/fio/3.33-sync-file-range.json").unwrap();
    let found = of(&text).remove(0);
    let run = &found.runs[0];
    assert!(run.doubts.iter().all(|d| d.code != "short-ios"), "{:?}", run.doubts);
    assert!(
        found.notes.iter().any(|note| note.contains("21563 calls of sync_file_range")),
        "{:?}",
        found.notes
    );
    let (_, told) = volproof(Path::new("."), &["explain", "tests/fixtures/fio/3.33-sync-file-range.json"]);
    assert!(!told.contains("etcd") && !told.contains("flush mean"), "{told}");
    // I/Os beyond those calls were cut short.
    let more = text.replace("\"short_ios\" : 21563", "\"short_ios\" : 21573");
    assert!(more != text && of(&more)[0].runs[0].doubts.iter().any(|d| d.code == "short-ios"));
}

#[test]
fn a_pause_that_keeps_the_cpu_busy_is_no_limit_of_the_machine() {
    let busy = ROW.replace(r#""usr_cpu":3.0,"sys_cpu":9.0"#, r#""usr_cpu":90.0,"sys_cpu":9.0"#);
    let with = |options: &str| busy.replace(r#""rw":"randread""#, &format!(r#""rw":"randread"{options}"#));
    let limited = |text: &str| of(text)[0].runs[0].doubts.iter().any(|d| d.code == "generator-limited");
    assert!(limited(&busy) && limited(&with(r#","thinktime":"200""#)));
    assert!(!limited(&with(r#","thinktime":"200","thinktime_spin":"200""#)));
}

/// A text of fio without its options: I/Os of 4 KiB in 300 s, 256 asked for, with these lines of latencies, and the disk's times.
fn text_of(rate: u64, before: &str, latencies: &str, cpu: &str, ticks_ms: u64) -> String {
    let ios = rate * 300;
    format!(
        "one: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=256\nfio-3.33\nStarting 1 process\n\
         {before}\none: (groupid=0, jobs=1): err= 0: pid=7: Sun Nov  1 10:00:00 2026\n  read: IOPS={rate}, BW={bw}KiB/s ({bytes}MiB/300000msec)\n{latencies}   bw (  KiB/s): min={bw}, max={bw}, per=100.00%, avg={bw}.00, stdev= 1.00, samples=599\n\
         {cpu}  IO depths    : 1=0.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=100.0%\n     \
         issued rwts: total={ios},0,0,0 short=0,0,0,0 dropped=0,0,0,0\n     latency   : target=0, window=0, percentile=100.00%, depth=256\n\n\
         Disk stats (read/write):\n  vdb: ios={ios}/0, merge=0/0, ticks={ticks_ms}/0, in_queue={ticks_ms}, util=99.00%\n",
        bw = rate * 4,
        bytes = rate * 4 * 300 / 1024,
    )
}

const IDLE_CPU: &str = "  cpu          : usr=1.00%, sys=4.00%, ctx=100, majf=0, minf=14\n";

/// Latencies of a submission and of the whole, microseconds.
fn latencies(submission: f64, total: f64) -> String {
    let row = |name: &str, mean: f64| {
        format!(
            "    {name} (usec): min={}, max={}, avg={mean:.2}, stdev= 1.00\n",
            (mean * 0.5) as u64,
            (mean * 3.0) as u64
        )
    };
    row("slat", submission) + &row("clat", total - submission) + &row("lat", total)
}

#[test]
fn a_queue_that_nothing_shows_to_be_full_fails_no_volume() {
    let dir = tempfile::tempdir().unwrap();
    let of = |text: &str| verdict(dir.path(), text, &PL1);
    // 256 at a time take 128 ms at 2,000 a second: the disk has them all.
    let full = 128_000 * 600;
    let (code, told) = of(&text_of(2000, "", &latencies(2.0, 128_000.0), IDLE_CPU, full));
    assert!(code == Some(1) && told.contains("sync, prioclass, offset"), "{code:?} {told}");
    assert!(told.contains("Provided it holds if no option"), "{told}");
    // Without latencies the disk's own counters tell whether there was a queue.
    let (code, told) = of(&text_of(2000, "", "", IDLE_CPU, 9_000));
    assert!(code == Some(6) && told.contains("0.03 of 256 requests at a time"), "{code:?} {told}");
    let without_disk = text_of(2000, "", "", IDLE_CPU, 9_000);
    let without_disk = without_disk.split_once("Disk stats").unwrap().0;
    let (code, told) = of(without_disk);
    assert!(code == Some(6) && told.contains("neither latencies nor the options"), "{code:?} {told}");
    // Through the page cache the thread waits in the call that submits.
    let (code, told) = of(&text_of(2000, "", &latencies(480.0, 128_000.0), IDLE_CPU, 270_000));
    assert!(
        code == Some(6) && told.contains("waited in the call that submits (slat) for 91.0 %"),
        "{code:?} {told}"
    );
    let (_, told) = volproof(dir.path(), &["explain", "report"]);
    assert!(told.contains("[cache-unknown") && !told.contains("queue was full all the time"), "{told}");
    // A thread that is on its CPU all that time does not wait.
    let busy = IDLE_CPU.replace("usr=1.00%", "usr=60.00%").replace("sys=4.00%", "sys=30.00%");
    let (code, told) = of(&text_of(2000, "", &latencies(480.0, 128_000.0), &busy, full));
    assert_eq!(code, Some(1), "{told}");
    // What held the I/Os lay above the disk, whether direct was set or not.
    let (code, told) =
        of(&text_of(2000, "", &latencies(2.0, 128_000.0), IDLE_CPU, 150_000).replace("99.00%", "50.00%"));
    assert!(code == Some(6) && told.contains("waited above the disk"), "{code:?} {told}");
}

#[test]
fn the_files_that_fio_laid_out_are_the_range() {
    let dir = tempfile::tempdir().unwrap();
    let of = |laid: &str| {
        verdict(dir.path(), &text_of(2850, laid, &latencies(2.0, 89_800.0), IDLE_CPU, 76_000_000), &PL1)
    };
    let (code, told) = of("");
    assert!(code == Some(0) && told.contains("zero_buffers"), "{code:?} {told}");
    for (laid, range) in [
        ("one: Laying out IO file (1 file / 16MiB)\n", "16 MiB"),
        ("one: Laying out IO files (2 files / total 16MiB)\n", "16 MiB"),
        ("one: Laying out IO file (1 file / 16MiB)\none: Laying out IO file (1 file / 16MiB)\n", "32 MiB"),
    ] {
        let (code, told) = of(laid);
        assert!(
            code == Some(5) && told.contains(&format!("went over {range} (assumed)")),
            "{laid}: {code:?} {told}"
        );
    }
    assert_eq!(of("one: Laying out IO file (1 file / 10240MiB)\n").0, Some(0));
    assert_eq!(of("other: Laying out IO file (1 file / 16MiB)\n").0, Some(0));
}

#[test]
fn percentiles_that_fall_void_a_report() {
    let dir = tempfile::tempdir().unwrap();
    let good = passing(dir.path(), "randread", "normal");
    let (low, high) = ("50.00th=[", "99.00th=[");
    let value = |mark: &str| {
        let from = good.find(mark).unwrap() + mark.len();
        &good[from..from + good[from..].find(']').unwrap()]
    };
    let (a, b) = (value(low), value(high));
    assert_ne!(a.trim(), b.trim());
    let swapped = good.replacen(&format!("{low}{a}"), &format!("{low}\u{1}"), 1);
    let swapped = swapped.replacen(&format!("{high}{b}"), &format!("{high}{a}"), 1).replacen('\u{1}', b, 1);
    assert_eq!(verdict(dir.path(), &good, &PL1).0, Some(0));
    let (code, told) = verdict(dir.path(), &swapped, &PL1);
    assert!(code == Some(6) && told.contains("figures that cannot be"), "{code:?} {told}");
}

#[test]
fn a_cpu_that_polls_proves_nothing() {
    let busy = |engine: &str| {
        text_of(
            2000,
            "",
            &latencies(2.0, 128_000.0),
            &IDLE_CPU.replace("usr=1.00%", "usr=96.00%"),
            76_800_000,
        )
        .replace("libaio", engine)
    };
    let found = |engine: &str| {
        let doubts = of(&busy(engine)).remove(0).runs.remove(0).doubts;
        doubts.into_iter().find(|d| d.code == "generator-limited")
    };
    let told = found("libaio").unwrap();
    assert!(told.message.contains("unless the thread polled"), "{told:?}");
    assert_eq!(found("spdk"), None);
    assert_eq!(found("/usr/lib/spdk/fio_plugin/spdk_nvme"), None);
    let null = |engine: &str| of(&busy(engine))[0].runs[0].doubts.iter().any(|d| d.code == "null-engine");
    assert!(null("cpuio") || null("null"), "an engine without a device");
    assert!(!null("/usr/lib/spdk/fio_plugin/spdk_nvme") && !null("external:/opt/own.so"));
}
