//! What fio's reports say only to those who look twice: forms of several runs in one paste, disks below others, counters that hold a ramp, latencies in
//! two parts, job files above their report, calls that flush nothing, pauses that keep a CPU busy.

use std::path::Path;

use super::disputed::{PL1, report_of, step, verdict, volproof};
use super::doubts::{ROW, of};

/// A report of a load with 32 in flight that passes.
fn passing(folder: &Path, rw: &str, form: &str) -> String {
    let device = "latency = '300us', iops-cap = 2810";
    report_of(folder, &step("one", &format!("rw = \"{rw}\"\niodepth = 32"), device), &PL1, form).1
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
    let (_, told) = volproof(Path::new("."), &["show", "tests/fixtures/fio/3.33-sync-file-range.json"]);
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
    assert!(!verdict(dir.path(), &good, &PL1).1.contains("void:"));
    let (code, told) = verdict(dir.path(), &swapped, &PL1);
    assert!(code == Some(5) && told.contains("void: the report holds figures that cannot be"), "{told}");
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
