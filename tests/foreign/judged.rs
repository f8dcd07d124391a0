//! What the verdict makes of a load that found more than the volume gives.

use super::commands::volproof;

/// Exit code and text of the verdict on a text, against 3,000 IOPS and 125 MiB/s, nine tenths of which for 99 % of the time.
fn verdict(text: &str) -> (Option<i32>, String) {
    verdict_against(text, "aws:gp3", "100GiB")
}

fn verdict_against(text: &str, volume: &str, size: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("report.txt"), text).unwrap();
    let promise = ["--promise", volume, "--volume-size", size, "--offline"];
    let (code, out, _) = volproof(folder.path(), &[&["verdict", "report.txt"][..], &promise].concat());
    (code, out.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn a_mean_alone_passes_nothing() {
    let dd = |from: &str| {
        format!(
            "$ dd if={from} of=/mnt/x bs=1M count=16384 oflag=direct\n16384+0 records in\n16384+0 records out\n\
             17179869184 bytes (17 GB, 16 GiB) copied, 131.1 s, 131 MB/s\n"
        )
    };
    // 120 MiB/s are promised, and nothing of the time: a burst with too low a rate after it has such a mean as well.
    for from in ["/dev/urandom", "/dev/zero"] {
        let (code, out) = verdict_against(&dd(from), "alibaba:cloud_essd.PL0", "80GiB");
        assert_eq!(code, Some(5), "{out}");
        assert!(out.contains("does not tell how the rate spread over time"), "{out}");
    }
    let (code, out) = verdict(&dd("/dev/urandom"));
    assert_eq!(code, Some(5), "{out}");
    assert!(out.contains("99.0 % of the time are promised"), "{out}");
}

/// fio's report of random reads of a simulated volume, as if it were a real one.
fn of_fio(device: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let run = ["run", "--simulate", device, "--rw", "randread", "--iodepth", "32", "--runtime", "70s", "-q"];
    let (code, _, err) = volproof(folder.path(), &[&run[..], &["--json", "r.json"]].concat());
    assert_eq!(code, Some(0), "{err}");
    let (code, json, err) = volproof(folder.path(), &["convert", "r.json", "--to", "json+"]);
    assert_eq!(code, Some(0), "{err}");
    json.replace("\"null\"", "\"libaio\"").replace("-volproof-", " ").replace("SIMULATED", "")
}

#[test]
fn a_report_passes_nothing_that_its_samples_its_targets_or_its_range_leave_open() {
    let steady = of_fio("latency=500us,iops-cap=2800");
    // Half of the time above the promise of 2,800 IOPS, and below it from then on.
    let burst = of_fio("latency=500us,iops-cap=2600,burst-iops=3100,burst-ios=20000");
    let engine = "\"ioengine\" : \"libaio\",";
    let verdict = |report: &str, option: &str| {
        assert!(report.contains(engine), "{report}");
        let text = report.replacen(engine, &format!("{engine} {option}"), 1);
        verdict_against(&text, "alibaba:cloud_essd.PL1", "20GiB")
    };
    for (report, option, code, says) in [
        (&steady, "", 0, "PASS"),
        (&burst, "", 5, "may lie below the limit"),
        (&steady, "\"random_distribution\" : \"zipf:1.1\",", 5, "preferred some blocks (zipf:1.1)"),
        (&steady, "\"filename\" : \"/dev/vdb:/dev/vdc\",", 5, "only the sum of what may be several volumes"),
        (&steady, "\"directory\" : \"/mnt/a:/mnt/b\",", 5, "what may be several volumes"),
        (&steady, "\"filename\" : \"/mnt/a/f:/mnt/a/g\",", 0, "PASS"),
        (&steady, "\"directory\" : \"/dev/shm\",", 6, "/dev/shm is memory"),
        (&steady, "\"filename\" : \"/dev/pmem0\",", 6, "/dev/pmem0 is memory"),
        (&steady, "\"filename\" : \"/mnt/a/f\", \"filesize\" : \"32m\",", 5, "went over 32 MiB"),
        // Partitions of one disk are one volume.
        (&steady, "\"filename\" : \"/dev/nvme0n1p1:/dev/nvme0n1p2\",", 0, "PASS"),
        (&steady, "\"filename\" : \"/dev/vdb\", \"size\" : \"100g\",", 6, "100 GiB, and 20 GiB are named"),
    ] {
        let (found, out) = verdict(report, option);
        assert!(found == Some(code) && out.contains(says), "{says}: {found:?} {out}");
    }
}

/// Options of which few blocks of the range are used, or each block several times in a row, as of plans (`blocks_far_apart_are_a_small_range`).
#[test]
fn a_report_of_a_load_that_used_few_blocks_passes_nothing() {
    let steady = of_fio("latency=500us,iops-cap=2800");
    let engine = "\"ioengine\" : \"libaio\",";
    let rw = "\"rw\" : \"randread\"";
    let few = Some("a cache may have answered");
    for (pattern, options, says) in [
        ("randread", "\"ba\" : \"1g\",", few),
        ("randread", "\"blockalign\" : \"1g\",", few),
        ("randread", "\"ba\" : \"4k\",", None),
        (
            "randread:8",
            "\"rw_sequencer\" : \"identical\",",
            Some("each block 8 times in a row (rw=randread:8"),
        ),
        ("randread:8", "", None),
        ("read:1g", "", few),
        ("read:-1g", "", few),
        ("read", "", None),
        ("randread", "\"zonemode\" : \"strided\", \"zonesize\" : \"1m\", \"zoneskip\" : \"1g\",", few),
        ("read", "\"zonesize\" : \"64k\", \"zonerange\" : \"1g\",", few),
        (
            "randread",
            "\"zonesize\" : \"10g\", \"zonerange\" : \"64m\",",
            Some("each block 160 times in a row"),
        ),
        ("randread", "\"zonemode\" : \"none\", \"zonesize\" : \"1m\", \"zoneskip\" : \"1g\",", None),
    ] {
        assert!(steady.contains(engine) && steady.contains(rw), "{steady}");
        let text = steady.replacen(engine, &format!("{engine} {options}"), 1);
        let text = text.replace(rw, &format!("\"rw\" : \"{pattern}\""));
        let (found, out) = verdict_against(&text, "alibaba:cloud_essd.PL1", "20GiB");
        assert_eq!(found, Some(if says.is_some() { 5 } else { 0 }), "{pattern} {options}: {out}");
        assert!(says.is_none_or(|says| out.contains(says)), "{pattern} {options}: {out}");
    }
}

/// 170 MB/s are 162 MiB/s: `run` holds such a rate against the reading that asks most, and so does the verdict on a report.
#[test]
fn a_rate_between_both_readings_of_the_unit_has_one_percentage() {
    let copied = "$ dd if=/dev/vdb of=/dev/null bs=1M count=9728 iflag=direct\n9728+0 records in\n9728+0 records out\n\
                  10200547328 bytes (10 GB, 9.5 GiB) copied, 60.001 s, 170 MB/s\n";
    let (code, out) = verdict_against(copied, "alibaba:cloud_essd.PL1", "100GiB");
    assert_eq!(code, Some(5), "{out}");
    assert!(out.contains("162 MiB/s, 95.4 % of 170 MiB/s"), "{out}");
    assert!(out.contains("one reading of the provider's unit (MB or MiB) is met"), "{out}");
}

/// Blocks of 1 MiB test the bytes a second that are promised.
#[test]
fn what_large_blocks_leave_open_is_the_throughput() {
    let copied = "16384+0 records in\n16384+0 records out\n17179869184 bytes (17 GB, 16 GiB) copied, 131.1 s, 131 MB/s\n";
    let (code, out) = verdict_against(copied, "alibaba:cloud_essd.PL0", "80GiB");
    assert_eq!(code, Some(5), "{out}");
    assert!(out.contains("throughput was not tested"), "{out}");
    assert!(out.contains("not tested throughput: dd: it is not known whether it read or wrote"), "{out}");
}

/// A report that cannot show what would decide asks for no further report of that kind, and volproof does not run on Windows.
#[test]
fn what_no_report_of_windows_can_show_is_measured_from_linux() {
    let report = std::fs::read_to_string("tests/fixtures/foreign/diskspd-mix.txt").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("report"), report).unwrap();
    let promise = ["--promise", "azure:PremiumV2_LRS", "--volume-size", "100GiB", "--offline"];
    let bought = ["--iops", "5000", "--throughput", "125"];
    let (code, out, _) = volproof(folder.path(), &[&["verdict", "report"][..], &promise, &bought].concat());
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, Some(5), "{out}");
    assert!(out.contains("attach the volume to a Linux machine"), "{out}");
    assert!(!out.contains("-> diskspd -b8K"), "{out}");
}

/// DiskSpd asks nobody, and a verdict without `explain` beside it names its command too.
#[test]
fn a_verdict_says_what_its_command_of_diskspd_writes_over() {
    let report = std::fs::read_to_string("tests/fixtures/foreign/diskspd-mix.txt").unwrap();
    let cached = report.replace("software cache disabled", "using software cache").replace(
        "hardware write cache disabled, writethrough on",
        "using hardware write cache, writethrough off",
    );
    for target in [r"E:\volume\test.dat", "#1"] {
        let (_, out) = verdict(&cached.replace(r"E:\volume\test.dat", target));
        assert!(out.contains("-> diskspd -b8K -r -w30 "), "{out}");
        let words =
            format!("the commands write over {target}, and DiskSpd does not ask: what is there is lost");
        assert!(out.contains(&words), "{out}");
    }
    let (_, out) = verdict(&std::fs::read_to_string("tests/fixtures/foreign/diskspd-cached.txt").unwrap());
    assert!(out.contains("-> diskspd -b4K -s -w0 ") && !out.contains("write over"), "{out}");
}

/// ioping's report of five minutes of such requests of 4 KiB, against a latency of 200 us.
fn of_ioping(command: &str, mean_us: f64, done: &str, generated: &str) -> (Option<i32>, String) {
    let n = 300e6 / mean_us;
    let text = format!(
        "$ {command}\n\n--- /dev/vdb (block device 100 GiB) ioping statistics ---\n{:.2} M requests completed in 5.00 min, \
         {:.2} GiB {done}, {:.2} k iops, {:.1} MiB/s\n{generated}\n\
         min/avg/max/mdev = 110.0 us / {mean_us:.1} us / 1.2 ms / 20.1 us\n",
        n / 1e6,
        n * 4096.0 / 1024f64.powi(3),
        1e3 / mean_us,
        1e6 / mean_us * 4.0 / 1024.0,
    );
    let text = text.replace("/dev/vdb", if command.ends_with(" .") { "." } else { "/dev/vdb" });
    verdict_against(&text, "alibaba:cloud_essd.PL1", "100GiB")
}

#[test]
fn a_report_of_ioping_is_judged_by_all_that_its_options_do() {
    let whole = |n: &str| format!("generated {n} M requests in 5.01 min, 6.03 GiB, 5.25 k iops, 20.5 MiB/s");
    let (quick, slow) = (whole("1.58"), whole("1.25"));
    let plain = "ioping -D -WWW -q -i 0 -w 300 /dev/vdb";
    let paused = "the load paused between its requests";
    for (command, mean, generated, code, says) in [
        (plain, 190.0, &quick, 0, "PASS"),
        // A longer time may be that of the flush.
        (plain, 240.0, &slow, 5, "each write waited for its flush"),
        ("ioping -WWW -q -i 0 -w 300 /dev/vdb", 190.0, &quick, 0, "PASS"),
        ("ioping -D -C -WWW -q -i 0 -w 300 /dev/vdb", 190.0, &quick, 0, "PASS"),
        ("ioping -D -C -WWW -q -i 0 -w 300 /dev/vdb", 240.0, &slow, 1, "FAIL"),
        ("ioping -C -WWW -q -i 0 -w 300 /dev/vdb", 190.0, &quick, 6, "writes end in memory"),
        ("ioping -direct -write -quiet -interval 0 -work-time 300 /dev/vdb", 190.0, &quick, 0, "PASS"),
        ("ioping --direct --write --quiet --interval=0 --work-time=300 /dev/vdb", 190.0, &quick, 0, "PASS"),
        ("ioping -D -WWW -T 300us -q -i 0 -w 300 /dev/vdb", 190.0, &quick, 5, "longer than 300us (-T 300us)"),
        (plain, 190.0, &format!("230 k too slow, {quick}"), 5, "leave out requests, 230 k too slow"),
        (plain, 190.0, &whole("1.80"), 5, "of 1,800,000 requests"),
        ("ioping -D -C -WWW -q -i 0 -w 300 /dev/vdb", 240.0, &format!("9 k too fast, {slow}"), 5, "too fast"),
        ("ioping -D -WWW -q -r 9000 -w 300 /dev/vdb", 190.0, &quick, 5, paused),
        ("ioping -D -WWW -q -l 30m -i 0 -w 300 /dev/vdb", 190.0, &quick, 5, paused),
        (plain, 190.0, &quick.replace("5.01", "9.01"), 5, "pauses of 44.5 % of the time"),
        ("ioping -D -WWW -S 1m -q -i 0 -w 300 /dev/vdb", 190.0, &quick, 5, "the load went over 1 MiB"),
        (
            "ioping -D -WWW -work-size 1m -q -i 0 -w 300 /dev/vdb",
            190.0,
            &quick,
            5,
            "the load went over 1 MiB",
        ),
        (
            "ioping -D -WWW -o 102300m -q -i 0 -w 300 /dev/vdb",
            190.0,
            &quick,
            5,
            "since -o 102300MiB leaves out the rest",
        ),
        ("ioping -D -WWW -q -i 0 -w 300 .", 190.0, &quick, 5, "the load went over 1 MiB"),
        ("ioping -D -WWW -q -i 0 -w 300 -S 1m . # -D", 190.0, &quick, 5, "the load went over 1 MiB"),
        ("ioping -D -WWW \\\n  -q -i 0 -w 300 /dev/vdb", 190.0, &quick, 0, "PASS"),
        // What a comment says was not done.
        ("ioping -WWW -C -q -i 0 -w 300 /dev/vdb # -D", 190.0, &quick, 6, "writes end in memory"),
    ] {
        let (found, out) = of_ioping(command, mean, "written", generated);
        assert!(found == Some(code) && out.contains(says), "{command} {generated} {says}: {found:?} {out}");
    }
}

#[test]
fn plain_rows_of_ioping_are_held_against_all_its_requests() {
    let verdict = |all: u64, all_time: u64| {
        let row = |i: u64| {
            format!("7000 {} 7042 28845000 100000 142000 400000 20000 {all} {all_time}\n", 994_000_000 + i)
        };
        let rows: String = (0..300).map(row).collect();
        let text = format!("$ ioping -D -q -i 0 -P 1 -w 300 /dev/vdb\n{rows}");
        verdict_against(&text, "alibaba:cloud_essd.PL1", "100GiB")
    };
    for (all, all_time, says) in [
        (10_000, 995_000_000, "its figures leave out 900,000 of 3,000,000 requests"),
        (7000, 2_982_000_000, "pauses of 66.7 % of the time"),
    ] {
        let (code, out) = verdict(all, all_time);
        assert!(code == Some(5) && out.contains(says), "{says}: {code:?} {out}");
    }
    let (_, out) = verdict(7000, 995_000_000);
    assert!(!out.contains("leave out") && !out.contains("pauses of"), "{out}");
}

/// sysbench's report of random writes of 4 KiB with direct I/O, with so many writes and flushes a second.
fn of_sysbench(threads: u32, writes: f64, flushes: f64) -> String {
    let events = (300.0 * (writes + flushes)) as u64;
    let mean = 300e3 * f64::from(threads) / events as f64;
    format!(
        "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nNumber of threads: {threads}\n\nExtra file open flags: directio\n\
         128 files, 512MiB each\n64GiB total file size\nBlock size 4KiB\nNumber of IO requests: 0\n\
         Periodic FSYNC enabled, calling fsync() each 100 requests.\nUsing synchronous I/O mode\nDoing random write test\n\n\
         File operations:\n    reads/s: 0.00\n    writes/s: {writes:.2}\n    fsyncs/s: {flushes:.2}\n\n\
         Throughput:\n    read, MiB/s: 0.00\n    written, MiB/s: {:.2}\n\n\
         General statistics:\n    total time: 300.0025s\n    total number of events: {events}\n\n\
         Latency (ms):\n         min: 0.12\n         avg: {mean:.2}\n         max: 90.00\n         95th percentile: {mean:.2}\n\
         \x20        sum: {:.2}\n\nThreads fairness:\n    events (avg/stddev): {events}.0000/0.00\n",
        writes * 4.0 / 1024.0,
        mean * events as f64,
    )
}

#[test]
fn flushes_of_sysbench_are_counted_as_it_prints_them() {
    let verdict = |threads, writes, flushes| {
        verdict_against(&of_sysbench(threads, writes, flushes), "alibaba:cloud_essd.PL1", "100GiB")
    };
    // A flush of each file after 100 writes: more flushes than writes.
    let (code, out) = verdict(256, 2982.0, 3817.0);
    assert!(code != Some(1) && out.contains("2,982 I/Os and 3,817 flushes a second"), "{code:?} {out}");
    let (code, out) = verdict(256, 2982.0, 30.0);
    assert_eq!(code, Some(1), "{out}");
    // One flush after 100 writes is among the latencies.
    let (code, out) = verdict(1, 3400.0, 34.0);
    assert!(code != Some(1) && !out.contains("FAIL latency"), "{code:?} {out}");
    let (code, out) = verdict(1, 3400.0, 0.0);
    assert_eq!(code, Some(1), "{out}");
}

#[test]
fn iometer_is_judged_by_the_part_of_the_disk_that_it_used() {
    let csv = std::fs::read_to_string("tests/fixtures/foreign/iometer.csv").unwrap();
    let head = &csv[..csv.find("ALL,All").unwrap()];
    let names: Vec<&str> = head.lines().last().unwrap()[1..].split(',').collect();
    // 300 s of one request at a time, or of 256.
    let verdict = |rate: f64, depth: u64, align: u64, sectors: u64| {
        let n = (300.0 * rate) as u64;
        let row = |kind: &str, name: &str| -> String {
            let cell = |column: &&str| match *column {
                "Target Type" => kind.to_string(),
                "Target Name" => name.to_string(),
                "Access Specification Name" => "4K random read".into(),
                "# Disks" => "1".into(),
                "IOps" | "Write IOps" => rate.to_string(),
                "Average Response Time" | "Average Write Response Time" => {
                    (depth as f64 / rate * 1e3).to_string()
                }
                "Maximum Response Time" | "Maximum Write Response Time" => "90".into(),
                "Bytes Written" => (n * 4096).to_string(),
                "Write I/Os" => n.to_string(),
                "Read I/Os" | "Bytes Read" | "Errors" | "Starting Sector" => "0".into(),
                "Maximum Size" if kind == "DISK" => sectors.to_string(),
                "Queue Depth" if kind == "DISK" => depth.to_string(),
                _ => String::new(),
            };
            names.iter().map(cell).collect::<Vec<_>>().join(",")
        };
        let head = head.replace("4096,100,100,100,0,1,4096,0", &format!("4096,100,0,100,0,1,{align},0"));
        let rows = [row("ALL", "All"), row("DISK", "E: \"volume\"")].join("\n");
        verdict_against(&format!("{head}{rows}\n'Time Stamp\n"), "alibaba:cloud_essd.PL1", "100GiB")
    };
    let (_, whole) = verdict(5200.0, 1, 4096, 0);
    assert!(!whole.contains("the load went over"), "{whole}");
    let (code, part) = verdict(5200.0, 1, 4096, 16_384);
    assert!(code == Some(5) && part.contains("the load went over 8 MiB"), "{code:?} {part}");
    assert_eq!(verdict(6000.0, 256, 4096, 0).0, Some(1));
    for align in [0, 512, 1024] {
        let (code, out) = verdict(6000.0, 256, align, 0);
        assert!(code != Some(1) && out.contains("may touch one more block"), "{align}: {code:?} {out}");
    }
    assert!(verdict(6000.0, 256, 0, 0).1.contains("align on sector boundaries"));
    let (code, out) = verdict(3300.0, 1, 0, 0);
    assert!(code == Some(5) && out.contains("may touch one more block"), "{code:?} {out}");
}

#[test]
fn methods_of_pg_test_fsync_write_few_blocks_and_pass_nothing() {
    let text = std::fs::read_to_string("tests/fixtures/foreign/pg_test_fsync.txt").unwrap();
    let text = text.replace("1 second per test", "120 seconds per test");
    for (volume, size) in [("tencent:cloud_bssd", "200GiB"), ("tencent:cloud_ssd", "200GiB")] {
        let (code, out) = verdict_against(&text, volume, size);
        assert!(!out.contains("PASS latency"), "{code:?} {out}");
        assert!(out.contains("the load went over 8 KiB"), "{code:?} {out}");
    }
}

/// DiskSpd's report of 38,000 reads a second, 512 in flight.
const DISKSPD: &str = r"
Command Line: diskspd.exe -b4K -d120 -W10 -o64 -t8 -r -Sh -L -c100G E:\t.dat

Input parameters:

	timespan:   1
	-------------
	duration: 120s
	warm up time: 10s
	measuring latency
	path: 'E:\t.dat'
		software cache disabled
		hardware write cache disabled, writethrough on
		performing read test
		block size: 4KiB
		using random I/O (alignment: 4KiB)
		number of outstanding I/O operations per thread: 64
		threads per file: 8
		IO priority: normal

Results for timespan 1:
*******************************************************************************

actual test time:	120.00s
thread count:		8
proc count:		2

CPU |  Usage |  User  | Kernel |  Idle
----------------------------------------
   0|  35.00%|  12.02%|  22.98%|  65.00%
   1|  35.00%|  12.02%|  22.98%|  65.00%
----------------------------------------
avg.|  35.00%|  12.02%|  22.98%|  65.00%

Total IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
-----------------------------------------------------------------------------------------------------
total:     18677760000 |      4560000 |     148.44 |   38000.00 |   13.339 |     2.668

Read IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
-----------------------------------------------------------------------------------------------------
total:     18677760000 |      4560000 |     148.44 |   38000.00 |   13.339 |     2.668

  %-ile |  Read (ms) | Write (ms) | Total (ms)
----------------------------------------------
    min |      0.100 |        N/A |      0.100
   50th |     12.939 |        N/A |     12.939
   99th |     21.342 |        N/A |     21.342
    max |     53.356 |        N/A |     53.356
";

#[test]
fn a_cpu_that_was_busy_or_a_low_priority_fails_no_volume() {
    let verdict = |from: &str, to: &str| {
        assert!(DISKSPD.contains(from), "{from}");
        verdict_against(&DISKSPD.replace(from, to), "alibaba:cloud_essd.PL1", "964GiB")
    };
    let (code, out) = verdict("1|  35.00%", "1|  35.00%");
    assert_eq!(code, Some(1), "{out}");
    let (code, out) = verdict("1|  35.00%", "1|  99.70%");
    assert!(code == Some(6) && out.contains("A CPU was busy all the time"), "{code:?} {out}");
    let (code, out) = verdict("IO priority: normal", "IO priority: low");
    assert!(code == Some(6) && out.contains("a low priority (IO priority low)"), "{code:?} {out}");
}
