//! Loads through the page cache: neither what memory took nor what it held passes a promise, and the flushes between are judged all the same.

use std::path::Path;

use super::disputed::{report_of, step, verdict, volproof};

/// 3,030 IOPS, 2 ms for one random write of 4 KiB.
const SSD_OF_40: [&str; 5] = ["--promise", "alibaba:cloud_ssd", "--volume-size", "40GiB", "--offline"];
/// What the row of flushes of a report says.
const FLUSHES: &str =
    "  fsync/fdatasync/sync_file_range:\n    sync (msec): min=4, max=8, avg=4.99, stdev= 1.0\n";
/// A disk that wrote 29,500 times.
const FEW: &str = "\nDisk stats (read/write):\n  vdb: ios=0/28500, merge=0/1000, ticks=0/290000, in_queue=290000, util=96.00%\n";

/// Five minutes of fio's 3,033 writes a second without direct I/O: its command where options are given, and latencies in us.
fn writes(options: Option<&str>, rw: &str, least: &str, mean: &str, flushes: &str) -> String {
    let command = options.map_or(String::new(), |options| {
        format!(
            "$ fio --name=rate --filename=/dev/vdb --rw={rw} --bs=4k --ioengine=psync {options} --time_based --runtime=300\n"
        )
    });
    format!(
        "{command}rate: (g=0): rw={rw}, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1\n\
         fio-3.33\nStarting 1 process\n\n\
         rate: (groupid=0, jobs=1): err= 0: pid=1000: Mon Mar 11 10:00:00 2024\n\
         \x20 write: IOPS=3033, BW=11.8MiB/s (12.4MB/s)(3555MiB/300001msec); 0 zone resets\n\
         \x20   clat (usec): min={least}, max=1800, avg={mean}, stdev=2.00\n\
         \x20    lat (usec): min={least}, max=1801, avg={mean}, stdev=2.00\n\
         \x20  bw (  KiB/s): min=11800, max=12300, per=100.00%, avg=12132.00, stdev=5.00, samples=599\n\
         \x20  iops        : min= 2950, max= 3075, avg=3033.00, stdev=1.25, samples=599\n\
         {flushes}\
         \x20    issued rwts: total=0,909903,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
    )
}

/// Five minutes of 2,730 reads and 303 writes a second by 16 jobs without direct I/O.
fn mix(options: &str) -> String {
    let part = |name: &str, iops: u32, rate: &str, io: &str| {
        format!(
            "  {name}: IOPS={iops}, BW={rate}({io}/300001msec)\n\
             \x20   clat (usec): min=100, max=18000, avg=5200.00, stdev=900.00\n\
             \x20    lat (usec): min=100, max=18001, avg=5200.50, stdev=900.00\n\
             \x20  iops        : min= {}, max= {}, avg={iops}.00, stdev=0.25, samples=9584\n",
            iops - 9,
            iops + 9
        )
    };
    format!(
        "$ fio --name=rate --filename=/dev/vdb --rw=randrw --rwmixread=90 --bs=4k --ioengine=psync --numjobs=16 --group_reporting {options} --time_based --runtime=300\n\
         rate: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1\n...\n\
         fio-3.33\nStarting 16 processes\n\n\
         rate: (groupid=0, jobs=16): err= 0: pid=1000: Mon Mar 11 10:00:00 2024\n{}{}\
         \x20    issued rwts: total=819003,90900,0,0 short=0,0,0,0 dropped=0,0,0,0\n",
        part("read", 2730, "10.7MiB/s (11.2MB/s)", "3199MiB"),
        part("write", 303, "1212KiB/s (1241kB/s)", "355MiB")
    )
}

fn of(report: &str) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().unwrap();
    verdict(dir.path(), report, &SSD_OF_40)
}

#[test]
fn flushes_now_and_then_do_not_make_the_page_cache_a_volume() {
    for (rw, options) in
        [("write", "--fsync=1000"), ("randwrite", "--fsync=1000"), ("write", "--fsync=9999999")]
    {
        let (code, told) = of(&writes(Some(options), rw, "1", "3.10", FLUSHES));
        assert!(
            code == Some(6) && told.contains("INVALID") && !told.contains("PASS"),
            "{rw} {options}: {told}"
        );
        assert!(!told.contains("--fsync") && !told.contains("--buffered"), "{told}");
    }
    // Each write waits, and the reads come from memory.
    for options in ["--sync=1", "--fsync=1", "--fsync=1000", ""] {
        let (code, told) = of(&mix(options));
        assert!(code == Some(6) && told.contains("reads that memory holds"), "{options}: {told}");
        let ends = told.contains("writes end in memory");
        assert_eq!(ends, !options.ends_with("=1"), "{options}: {told}");
    }
}

#[test]
fn a_write_into_memory_has_no_latency_of_the_volume() {
    for flushes in [FLUSHES, ""] {
        let (code, told) = of(&writes(Some("--fsync=1"), "randwrite", "1", "3.10", flushes));
        assert!(code == Some(5) && told.contains("not in its latency"), "{told}");
        assert!(told.contains("-> volproof run /dev/vdb --rw randwrite --bs 4KiB --iodepth 1"), "{told}");
    }
}

#[test]
fn a_disk_that_wrote_too_little_passes_nothing_where_direct_is_unknown() {
    let whole = writes(None, "randwrite", "30", "329.10", "");
    let (code, told) = of(&whole);
    assert!(code == Some(0), "{told}");
    let (code, told) = of(&(whole + FEW));
    assert!(matches!(code, Some(5 | 6)) && !told.contains("PASS"), "{told}");
}

/// A run of a simulated volume through the page cache: exit code and text.
fn ran(folder: &Path, options: &str) -> (Option<i32>, String) {
    let fixed = [
        "run",
        "--simulate",
        "latency=300us,iops-cap=3030",
        "--buffered",
        "--bs",
        "4KiB",
        "--runtime",
        "300s",
        "--judge-simulated",
    ];
    let options: Vec<&str> = options.split(' ').collect();
    let (code, told) = volproof(folder, &[&fixed[..], &options, &SSD_OF_40].concat());
    (code, told.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn own_runs_through_the_page_cache_pass_nothing_either() {
    let dir = tempfile::tempdir().unwrap();
    let (code, told) = ran(dir.path(), "--rw randwrite --fsync 1 --iodepth 1");
    assert!(code == Some(5) && told.contains("not in its latency"), "{told}");
    for options in [
        "--rw randwrite --fsync 64 --iodepth 32",
        "--rw randrw --fsync 1 --iodepth 32",
        "--rw randread --iodepth 32",
    ] {
        let (code, told) = ran(dir.path(), options);
        assert!(code == Some(6) && !told.contains("PASS"), "{options}: {told}");
    }
    // What decides is measured without the page cache.
    for options in ["--rw randwrite --fsync 1 --iodepth 1", "--rw randread --iodepth 32"] {
        let (_, told) = ran(dir.path(), options);
        let commands: Vec<&str> = told.split("volproof run --rw").skip(1).collect();
        assert!(!commands.is_empty(), "{told}");
        assert!(
            commands.iter().all(|c| !c.split("--promise").next().unwrap().contains("--buffered")),
            "{told}"
        );
    }
}

#[test]
fn flushes_are_judged_wherever_the_writes_before_them_went() {
    let dir = tempfile::tempdir().unwrap();
    let etcd = ["--fit", "etcd"];
    for every in [1, 64] {
        let load = format!("rw = \"write\"\nbuffered = true\nfsync = {every}\niodepth = 1");
        let plan = step("one", &load, "latency = '300us'").replace("bs = \"4k\"", "bs = \"2300\"");
        let (_, report) = report_of(dir.path(), &plan, &SSD_OF_40, "json");
        let (code, told) = verdict(dir.path(), &report, &etcd);
        assert!(code == Some(0) || told.contains("INCONCLUSIVE"), "{every}: {told}");
        assert!(!told.contains("INVALID"), "{every}: {told}");
        if every == 1 {
            assert!(told.contains("PASS"), "{told}");
        }
    }
}
