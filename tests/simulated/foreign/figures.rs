//! Figures equal to the printed ones, and the conditions of the load.

use volproof::record::Known;
use volproof::unit::{Bytes, Nanos};

use super::{bytes, doubts, near, record, report, run};

#[test]
fn dd_tells_bytes_time_and_records() {
    let step = run("dd-direct.txt");
    let f = step.write.as_ref().unwrap();
    assert_eq!(
        (f.bytes, f.ios.get(), f.runtime.get()),
        (Bytes(8_192_000), Some(2000), Some(Nanos(176_432_000)))
    );
    near(Known::Said(f.bytes_per_second.get().unwrap() / 1e6), 46.4, 1);
    let c = &step.conditions;
    assert_eq!((c.rw.said().map(String::as_str), c.single_block()), (Some("write"), Some(Bytes::kib(4))));
    assert_eq!((c.direct.said(), c.fsync.said(), c.zeros.said()), (Some(&true), Some(&0), Some(&true)));
    assert!(f.latency().is_none(), "dd takes no latency");
    assert!(!doubts("dd-direct.txt").iter().any(|d| d.starts_with("buffered")));
    assert_eq!(run("dd-dsync.txt").conditions.fsync.said(), Some(&1));

    let read = run("dd-read.txt");
    assert_eq!(read.conditions.rw.said().map(String::as_str), Some("read"));
    assert_eq!((read.write.is_none(), read.read.unwrap().ios.get()), (true, Some(32)));
    let progress = run("dd-progress.txt");
    assert_eq!(progress.write.unwrap().runtime.get(), Some(Nanos(2_054_440_000)));
    let small = run("dd-small.txt").write.unwrap();
    assert_eq!((small.bytes, small.runtime.get()), (Bytes(300), Some(Nanos(75_470))));
}

#[test]
fn a_write_of_dd_without_direct_and_without_a_flush_is_the_page_caches() {
    assert!(doubts("dd-buffered.txt").contains(&"buffered!".into()));
    // With a flush at the end its time is in the figure.
    assert!(doubts("dd-datasync.txt").contains(&"buffered!".into()));
    // Without the command the cache is assumed, with the reason, and the direction is not known.
    let bare = run("dd-bare.txt");
    assert!(
        matches!(&bare.conditions.direct, Known::Assumed { assumed: false, why } if why.contains("oflag=direct"))
    );
    assert!(bare.conditions.rw.is_unknown() && bare.mixed.is_some());
    assert_eq!(bare.conditions.single_block(), Some(Bytes::MIB));
    assert!(doubts("dd-bare.txt").contains(&"buffered!".into()));
}

#[test]
fn a_dd_that_writes_no_volume_is_no_write() {
    let lines = "96000+0 records in\n96000+0 records out\n100663296000 bytes (101 GB, 94 GiB) copied, 300.1 s, 335 MB/s\n";
    for (options, why) in [
        ("if=/dev/zero of=scratch bs=1M count=96000 oflag=direct conv=sparse", "conv=sparse"),
        ("if=/dev/zero of=/dev/null bs=1M count=96000", "no volume took part"),
    ] {
        let text = format!("$ dd {options}\n{lines}");
        let found = volproof::foreign::reports(text.as_bytes()).reports;
        assert!(found.len() == 1 && found[0].runs.is_empty(), "{options}");
        assert!(
            found[0].partial.as_ref().is_some_and(|p| p.contains(why)),
            "{options}: {:?}",
            found[0].partial
        );
    }
}

#[test]
fn figures_that_contradict_each_other_void_a_report() {
    let read = |name: &str| std::fs::read_to_string(format!("tests/fixtures/foreign/{name}")).unwrap();
    let void = |text: &str| {
        let mut record = volproof::foreign::reports(text.as_bytes()).reports.remove(0).to_record();
        let step = record.steps.remove(0);
        let found = volproof::judge::doubts::of_step(&record, &step)
            .into_iter()
            .find(|d| d.code == "impossible-figures");
        found.map(|d| (d.severity == volproof::doubt::Severity::Blocker, d.message))
    };
    for (name, figures) in [
        (
            "dd-direct.txt",
            &[("0.176432 s", "0.088216 s"), ("8192000 bytes", "16384000 bytes"), ("2000+0", "4000+0")][..],
        ),
        (
            "ioping-quiet.txt",
            &[
                ("14.1 k iops", "28.2 k iops"),
                ("1.96 s", "0.98 s"),
                ("107.8 MiB read", "215.6 MiB read"),
                ("55.1 MiB/s", "110 MiB/s"),
            ],
        ),
        (
            "sysbench-rndrd.txt",
            &[
                ("184422.26", "368844.52"),
                ("2881.60", "5763.20"),
                ("2.0040s", "1.0020s"),
                ("events:              369747", "events: 69747"),
            ],
        ),
        ("sysbench-0.5.txt", &[("300.0000s", "30.0000s"), ("9.1553Gb", "91.553Gb"), ("1000000", "100000")]),
        ("sysbench-0.4.txt", &[("50.0000s", "25.0000s"), ("6000 Read", "12000 Read")]),
    ] {
        let text = read(name);
        assert_eq!(void(&text), None, "{name} as it was written");
        for (from, to) in figures {
            assert!(text.contains(from), "{name}: {from}");
            let found = void(&text.replace(from, to));
            assert!(found.as_ref().is_some_and(|f| f.0), "{name}: {to}: {found:?}");
        }
    }
}

#[test]
fn dd_of_busybox_without_a_time_has_no_rate() {
    let step = run("dd-busybox.txt");
    let f = step.write.as_ref().unwrap();
    assert_eq!((f.ios.get(), f.bytes), (Some(64), Bytes::mib(64)));
    assert!(f.iops.is_unknown() && f.bytes_per_second.is_unknown() && f.runtime.is_unknown());
    let timed =
        b"64+0 records in\n64+0 records out\n67108864 bytes (64.0MB) copied, 0.500000 seconds, 128.0MB/s\n";
    let found = volproof::foreign::reports(timed).reports.remove(0).runs.remove(0);
    near(found.mixed.unwrap().iops, 128.0, 3);
    let bsd =
        b"64+0 records in\n64+0 records out\n67108864 bytes transferred in 0.5 secs (134217728 bytes/sec)\n";
    let found = volproof::foreign::reports(bsd).reports.remove(0).runs.remove(0);
    near(found.mixed.unwrap().bytes_per_second, 134_217_728.0, 3);
    // As dd prints it in German.
    let comma =
        b"64+0 records in\n64+0 records out\n67108864 bytes (67 MB, 64 MiB) copied, 0,5 s, 134 MB/s\n";
    let found = volproof::foreign::reports(comma).reports.remove(0).runs.remove(0);
    near(found.mixed.unwrap().iops, 128.0, 3);
}

#[test]
fn sysbench_tells_rates_and_one_latency() {
    let step = run("sysbench-direct.txt");
    let f = step.read.as_ref().unwrap();
    near(f.iops.clone(), 28252.64, 2);
    near(Known::Said(f.bytes_per_second.get().unwrap() / 1_048_576.0), 110.36, 2);
    assert_eq!((f.ios.get(), f.runtime.get()), (Some(56593), Some(Nanos(2_002_500_000))));
    let l = f.latency().unwrap().1;
    // The sum over the number is finer than the printed mean.
    assert!((l.mean / 1e6 - 7972.81 / 56593.0).abs() < 1e-6);
    assert_eq!((l.percentiles["95"], l.max), (Nanos(180_000), Nanos(106_600_000)));
    let c = &step.conditions;
    assert_eq!(
        (c.jobs.get(), c.single_block(), c.direct.said()),
        (Some(4), Some(Bytes::kib(4)), Some(&true))
    );
    assert!(!doubts("sysbench-direct.txt").iter().any(|d| d.starts_with("buffered") || d == "unwritten"));
}

#[test]
fn latencies_of_sysbench_that_hold_flushes_are_of_all_requests() {
    let step = run("sysbench-rndrw.txt");
    near(step.read.as_ref().unwrap().iops.clone(), 5024.91, 2);
    near(step.write.as_ref().unwrap().iops.clone(), 3349.94, 2);
    assert!(step.read.unwrap().latency().is_none() && step.write.unwrap().latency().is_none());
    assert_eq!(step.mixed.unwrap().ios.get(), Some(17576));
    assert_eq!((step.conditions.fsync.get(), step.conditions.reads_percent.get()), (Some(100), Some(60)));
    assert!(report("sysbench-rndrw.txt").notes[0].starts_with("337 flushes a second"));
    let all = run("sysbench-bare.txt").conditions;
    assert_eq!((all.fsync.get(), all.blocking.get(), all.direct.get()), (Some(1), None, Some(true)));
    assert!(doubts("sysbench-rndrd.txt").contains(&"buffered!".into()));
    for (name, pattern) in
        [("seqwr", "write"), ("seqrewr", "write"), ("seqrd", "read"), ("rndrd", "randread")]
    {
        let rw = run(&format!("sysbench-{name}.txt")).conditions.rw;
        assert_eq!(rw.said().map(String::as_str), Some(pattern));
    }
}

#[test]
fn a_rate_of_sysbench_is_what_held_the_load_back() {
    use volproof::explain::explained;
    let text = super::bytes("sysbench-rate.txt");
    let run = explained("x".as_ref(), &text).unwrap().remove(0).runs.remove(0);
    assert!(run.tested.contains("range 64 MiB together"), "its threads share the files: {}", run.tested);
}

#[test]
fn what_made_sysbench_fail_is_told() {
    let text = b"sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nNumber of threads: 2\nDoing random read test\nFATAL: Size of file 'test_file.0' is 14.562MiB, but at least 16MiB is expected.\n";
    let report = volproof::foreign::reports(text).reports.remove(0);
    let why = report.partial.unwrap();
    assert!(why.starts_with("sysbench failed (Size of file 'test_file.0'"), "{why}");
}

#[test]
fn sysbench_of_other_versions() {
    let middle = run("sysbench-0.5.txt");
    let (read, write) = (middle.read.as_ref().unwrap(), middle.write.as_ref().unwrap());
    assert_eq!((read.iops.get(), write.ios.get()), (Some(2000.0), Some(400_000)));
    near(Known::Said(read.bytes_per_second.get().unwrap() / 1_048_576.0), 31.25, 2);
    assert_eq!(middle.conditions.jobs.said(), Some(&16));
    let old = run("sysbench-0.4.txt");
    let read = old.read.as_ref().unwrap();
    assert_eq!((read.ios.said(), read.iops.get()), (Some(&6000), Some(120.0)));
    near(Known::Said(read.bytes_per_second.get().unwrap() / 1_048_576.0), 1.875, 3);
    // Flushes are no events there: the mean is that of reads and writes.
    assert_eq!(old.mixed.unwrap().latency().unwrap().1.percentiles["95"], Nanos(17_590_000));
    assert_eq!((old.conditions.direct.get(), old.conditions.time_based.get()), (Some(true), Some(false)));
    let new = run("sysbench-1.1.txt");
    near(new.write.unwrap().iops, 3200.0, 2);
    assert_eq!(new.mixed.unwrap().latency().unwrap().1.percentiles["99"], Nanos(9_220_000));
}

#[test]
fn ioping_tells_requests_one_at_a_time() {
    let step = run("ioping-quiet.txt");
    let f = step.read.as_ref().unwrap();
    assert_eq!((f.iops.get(), f.runtime.get()), (Some(14_100.0), Some(Nanos(1_960_000_000))));
    let l = f.latency().unwrap().1;
    assert_eq!((l.min, l.mean, l.max, l.deviation), (Nanos(33_000), 70_900.0, Nanos(18_000_000), 261_700.0));
    let c = &step.conditions;
    assert_eq!(
        (c.in_flight(), c.direct.said(), c.single_block()),
        (Some(1), Some(&true), Some(Bytes::kib(4)))
    );
    let cached = run("ioping-cached.txt");
    assert_eq!((cached.conditions.direct.said(), cached.read.unwrap().ios.said()), (Some(&false), Some(&4)));
    assert!(doubts("ioping-cached.txt").contains(&"buffered!".into()));
    let linear = run("ioping-linear.txt").conditions;
    assert_eq!(
        (linear.rw.as_ref().unwrap().as_str(), linear.single_block()),
        ("read", Some(Bytes::kib(256)))
    );
    let durable = run("ioping-sync.txt");
    assert_eq!(
        (durable.conditions.fsync.get(), durable.write.unwrap().latency().unwrap().1.max),
        (Some(1), Nanos(61_900_000))
    );
    assert_eq!(run("ioping-period.txt").read.unwrap().ios.said(), Some(&499));
}

#[test]
fn methods_of_pg_test_fsync_are_durable_writes_without_percentiles() {
    let report = report("pg_test_fsync.txt");
    assert_eq!((report.runs.len(), &report.partial), (16, &None));
    let step = |name: &str| report.runs.iter().find(|r| r.name == name).unwrap();
    let one = step("fdatasync, one 8 KiB write");
    let f = one.write.as_ref().unwrap();
    near(f.iops.clone(), 2831.910, 3);
    near(Known::Said(f.latency().unwrap().1.mean / 1000.0), 353.0, 0);
    assert!(f.latency().unwrap().1.percentiles.is_empty() && f.latency().unwrap().1.max == Nanos(0));
    assert_eq!((one.conditions.fsync.get(), one.conditions.direct.get()), (Some(1), Some(false)));
    assert_eq!(step("open_datasync, one 8 KiB write").conditions.direct.get(), Some(true));
    // Two writes, so twice the rate of operations, and their flush is not told apart.
    let two = step("fdatasync, two 8 KiB writes").write.as_ref().unwrap();
    near(two.iops.clone(), 2.0 * 1734.578, 3);
    assert!(two.latency().is_none());
    assert_eq!(step("4 *  4kB open_sync writes").conditions.single_block(), Some(Bytes::kib(4)));
    let void = |name: &str| {
        let record = record("pg_test_fsync.txt");
        record.doubts.iter().any(|w| {
            w.step.as_deref() == Some(name)
                && w.code == "buffered"
                && w.severity == volproof::doubt::Severity::Blocker
        })
    };
    assert!(void("write, without a flush") && !void("fdatasync, one 8 KiB write"));
}

#[test]
fn diskspd_tells_rates_latencies_and_its_load() {
    let name = "diskspd-mix.txt";
    let step = run(name);
    let (read, write) = (step.read.as_ref().unwrap(), step.write.as_ref().unwrap());
    assert_eq!((read.ios.said(), read.bytes), (Some(&1_050_000), Bytes(8_601_600_000)));
    assert_eq!((write.ios.said(), write.bytes), (Some(&450_000), Bytes(3_686_400_000)));
    near(read.iops.clone(), 3500.0, 2);
    let l = read.latency().unwrap().1;
    assert_eq!((l.mean, l.deviation, l.max), (6_000_000.0, 1_900_000.0, Nanos(52_110_000)));
    let p = |p: &str| l.percentiles[p];
    assert_eq!(
        (p("50"), p("99"), p("99.9"), p("99.99")),
        (Nanos(5_800_000), Nanos(12_300_000), Nanos(18_400_000), Nanos(31_250_000))
    );
    let c = &step.conditions;
    assert_eq!(
        (c.in_flight(), c.single_block(), c.direct.said()),
        (Some(32), Some(Bytes::kib(8)), Some(&true))
    );
    assert_eq!(
        (c.reads_percent.get(), c.ramp.get(), c.size.get()),
        (Some(70), Some(Nanos::seconds(10)), Some(Bytes::gib(64)))
    );
    assert!(c.on_windows());
    assert_eq!(report(name).written.as_deref(), Some("2024-03-11T09:30:05Z"));
}

#[test]
fn diskspd_through_the_cache_is_void() {
    let step = run("diskspd-cached.txt");
    assert_eq!(step.conditions.direct.said(), Some(&false));
    assert!(step.write.is_none() && step.read.unwrap().latency().is_none());
    assert!(doubts("diskspd-cached.txt").contains(&"buffered!".into()));
    assert!(!doubts("diskspd-mix.txt").iter().any(|d| d.starts_with("buffered")));
}

/// The one run of a text.
fn run_of(text: &str) -> volproof::record::ReportedStep {
    volproof::foreign::reports(text.as_bytes()).reports.remove(0).runs.remove(0)
}

#[test]
fn diskspd_tells_how_much_it_used() {
    let text = String::from_utf8(super::bytes("diskspd-mix.txt")).unwrap();
    let part = run_of(&text.replace("\t\tIO priority", "\t\tmax file size: 64MiB\n\t\tIO priority"));
    assert_eq!(part.conditions.size.get(), Some(Bytes::mib(64)));
    // How many I/Os of a pool (`-F`) were in flight depends on more options than the report names.
    let pool = run_of(&text.replacen("\tpath: ", "\tthread pool with 4 threads\n\tpath: ", 1)).conditions;
    assert_eq!((pool.jobs.get(), pool.iodepth.get()), (None, None));
}

#[test]
fn diskspd_tells_what_it_wrote_and_what_held_it_back() {
    let text = String::from_utf8(super::bytes("diskspd-mix.txt")).unwrap();
    let of = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        run_of(&text.replace(from, to))
    };
    assert_eq!(run_of(&text).busiest_cpu, Some(0.061));
    assert_eq!(of(&text, "1|   5.80%", "1|  99.70%").busiest_cpu, Some(0.997));
    // 30 % are writes, of the bytes 0 to 255 unless -Z gives others.
    let data = |line: &str| {
        of(&text, "\t\tIO priority", &format!("{line}\n\t\tIO priority")).conditions.pattern_percent
    };
    assert_eq!(data("").get(), Some(100));
    assert_eq!(data("\t\twrite buffer size: 1MiB\n\t\twrite buffer source: random fill").get(), None);
    let of_each =
        of(&text, "\trandom seed: 0", "\trandom seed: 0\n\tgenerating random data for each write IO");
    assert_eq!(of_each.conditions.pattern_percent.get(), None);
}

/// The volume is read in blocks of `ibs` and written in blocks of `obs`.
#[test]
fn each_side_of_dd_has_blocks_of_its_own() {
    let of = |options: &str, records: &str| {
        let text =
            format!("$ dd {options}\n{records}\n67108864 bytes (67 MB, 64 MiB) copied, 0.5 s, 134 MB/s\n");
        let record = volproof::result_file::one(text.as_bytes(), "dd.txt".as_ref()).unwrap();
        let step = record.steps[0].reported.as_ref().unwrap();
        let block = step.conditions.single_block();
        (block, step.parts()[0].1.ios.get(), super::codes_of(&record))
    };
    let large_in = "64+0 records in\n131072+0 records out";
    let large_out = "16384+0 records in\n64+0 records out";
    for (options, records, block, ios) in [
        ("if=/dev/vdb of=/dev/null ibs=1M iflag=direct", large_in, Bytes::MIB, 64),
        ("if=/dev/vdb of=/dev/null obs=1M ibs=4k iflag=direct", large_out, Bytes::kib(4), 16384),
        ("if=/dev/urandom of=x obs=1M ibs=4k oflag=direct", large_out, Bytes::MIB, 64),
        ("if=/dev/urandom of=x ibs=1M oflag=direct", large_in, Bytes(512), 131_072),
    ] {
        let (found, count, doubts) = of(options, records);
        assert_eq!((found, count), (Some(block), Some(ios)), "{options}");
        assert!(!doubts.iter().any(|code| code.contains("impossible")), "{options}: {doubts:?}");
    }
}

#[test]
fn iometer_tells_a_run_for_each_access_specification() {
    let report = report("iometer.csv");
    assert_eq!((report.tool.as_str(), report.runs.len(), &report.partial), ("Iometer 1.1.0", 2, &None));
    let read = report.runs[0].read.as_ref().unwrap();
    assert_eq!((read.ios.said(), read.bytes), (Some(&960_000), Bytes(960_000 * 4096)));
    assert_eq!((read.iops.get(), read.latency().unwrap().1.mean), (Some(3200.0), 10_000_000.0));
    assert_eq!(read.latency().unwrap().1.max, Nanos(88_500_000));
    let c = &report.runs[1].conditions;
    assert_eq!(
        (c.rw.as_ref().unwrap().as_str(), c.reads_percent.get(), c.single_block()),
        ("randrw", Some(67), Some(Bytes::kib(8)))
    );
    assert_eq!(
        (c.iodepth.get(), c.jobs.get(), c.runtime.get()),
        (Some(16), Some(2), Some(Nanos::seconds(300)))
    );
    assert_eq!(c.targets.get_first(), "E:");
    assert!(record("iometer.csv").doubts.iter().all(|w| w.code != "ran-together"));
}

trait First {
    fn get_first(&self) -> &str;
}

impl First for Known<Vec<std::path::PathBuf>> {
    fn get_first(&self) -> &str {
        self.as_ref().unwrap()[0].to_str().unwrap()
    }
}

#[test]
fn the_counters_of_disks_are_read_with_queue_and_utilisation() {
    for (name, disk, iops, mib, latency, told) in [
        (
            "iostat.txt",
            "nvme1n1",
            3000.0,
            12_000.0,
            10.6e6,
            "31.8 requests in flight in the mean, busy for 100 %",
        ),
        ("iostat-11.txt", "sda", 500.0, 4_000.0, 1e6, "1.50 requests in flight in the mean, busy for 97.5 %"),
        (
            "iostat.json",
            "vdb",
            2000.0,
            8_000.0,
            3.5e6,
            "7.00 requests in flight in the mean, busy for 75.0 %",
        ),
        (
            "diskstats.txt",
            "nvme1n1",
            3000.0,
            12_000.0,
            10.6e6,
            "31.8 requests in flight in the mean, busy for 100 %",
        ),
    ] {
        let step = run(name);
        let read = step.read.as_ref().unwrap();
        assert_eq!((step.name.as_str(), read.iops.get()), (disk, Some(iops)), "{name}");
        assert_eq!(read.bytes_per_second.get(), Some(mib * 1024.0), "{name}");
        assert!((read.total.as_ref().unwrap().mean - latency).abs() < 1.0, "{name}: {read:?}");
        let notes = report(name).notes;
        assert!(notes.iter().any(|note| note.contains(told)), "{name}: {notes:?}");
    }
    assert_eq!(run("iostat-11.txt").write.unwrap().iops.get(), Some(250.0));
    assert_eq!(run("diskstats.txt").read.unwrap().runtime.get(), Some(Nanos::seconds(10)));
}

#[test]
fn snapshots_without_a_time_or_a_second_one_say_what_is_missing() {
    let whole = String::from_utf8(bytes("diskstats.txt")).unwrap();
    let timeless = whole.replace("1772359200\n", "");
    let alone = &whole[..whole.rfind("1772359210").unwrap()];
    for (text, wanted) in [(timeless.as_str(), "date +%s"), (alone, "put two into one file")] {
        let found = volproof::foreign::reports(text.as_bytes()).reports.remove(0);
        assert!(found.partial.as_ref().unwrap().contains(wanted) && found.runs.is_empty(), "{found:?}");
    }
}
