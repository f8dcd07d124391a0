//! What belongs to one report and what to another: commands above them, and heads and ends that were left out.

use volproof::foreign::{self, ForeignReport};
use volproof::record::{Conditions, Known};
use volproof::unit::Bytes;

use super::{bytes, record};

fn reports(text: &str) -> Vec<ForeignReport> {
    foreign::reports(text.as_bytes()).reports
}

fn text(name: &str) -> String {
    String::from_utf8(bytes(name)).unwrap()
}

/// The conditions of the one run of a text.
fn conditions(text: &str) -> Conditions {
    let mut found = reports(text);
    assert_eq!((found.len(), found[0].runs.len()), (1, 1), "{text}");
    found.remove(0).runs.remove(0).conditions
}

const DD: &str =
    "51200+0 records in\n51200+0 records out\n53687091200 bytes (54 GB, 50 GiB) copied, 390.0 s, 138 MB/s\n";

#[test]
fn a_report_has_the_conditions_of_no_call_that_failed_or_was_another() {
    let failed = "$ dd if=/dev/vdb of=/dev/null bs=1M count=51200 iflag=direct\n";
    for (between, direct) in [
        ("", Some(true)),
        ("-bash: dd: command not found\n", None),
        ("dd: failed to open '/dev/vdb': Permission denied\n", None),
        ("$ ssh root@h ./read-all\n", None),
        ("root@h:~# ./read-all\n", None),
        (
            "-bash: dd: command not found\n$ docker run --rm --privileged -v /dev:/dev -i -t alpine dd if=/dev/vdb of=/dev/null bs=1M\n",
            Some(false),
        ),
        ("$ ssh root@h 'dd if=/dev/vdb of=/dev/null bs=1M'\n", Some(false)),
        ("$ ssh root@h \"sudo dd if=/dev/vdb of=/dev/null bs=1M; echo iflag=direct\"\n", Some(false)),
    ] {
        let direct_of = conditions(&format!("{failed}{between}{DD}")).direct;
        assert_eq!(direct_of.said().copied(), direct, "{between}: {direct_of:?}");
    }
    let shorter = failed.replace("51200", "100");
    assert!(conditions(&format!("{shorter}{DD}")).direct.said().is_none(), "it reads fewer blocks");
    let ioping = text("ioping-direct.txt");
    let report = ioping.split_once('\n').unwrap().1;
    for (between, direct) in [
        ("", Some(true)),
        ("ioping: failed to open \"/dev/vdb\": Permission denied\n", None),
        (
            "ioping: failed to open \"/dev/vdb\": Permission denied\n$ ssh root@h 'ioping -c 5 /dev/vdb'\n",
            Some(false),
        ),
        ("$ ./script\n", None),
    ] {
        let direct_of = conditions(&format!("$ ioping -D -c 5 /dev/vdb\n{between}{report}")).direct;
        assert_eq!(direct_of.said().copied(), direct, "{between}: {direct_of:?}");
    }
}

#[test]
fn last_lines_of_dd_are_runs_and_its_progress_is_none() {
    let line = |bytes: u64, time: &str| format!("{bytes} bytes (1 GB, 1 GiB) copied, {time} s, 100 MB/s");
    let seconds = |text: &str| -> Vec<u64> {
        let time = |r: &ForeignReport| r.runs[0].mixed.as_ref().unwrap().runtime.get().unwrap();
        reports(text).iter().map(|r| time(r).0 / 100_000_000).collect()
    };
    let gib = 1 << 30;
    // Of several last lines those that do not grow are runs of their own.
    assert_eq!(seconds(&format!("{}\n{}\n", line(gib, "20.5"), line(gib, "31.5"))), [205, 315]);
    let progress = |end: &str| {
        [line(gib, "1"), line(2 * gib, "2"), line(3 * gib, "3")].map(|l| format!("{l}{end}")).concat()
    };
    let last = line(4 * gib, "4.5") + "\n";
    let records = "4096+0 records in\n4096+0 records out\n";
    assert_eq!(seconds(&format!("\r{}\n{records}{last}", progress("\r"))), [45]);
    assert_eq!(seconds(&format!("{}{records}{last}", progress("\n"))), [45]);
    assert_eq!(seconds(&format!("\r{}", progress("\r"))), [30]);
}

/// The runs of a report that follows another without its head are both told, as they are alone.
#[test]
fn a_second_report_without_its_head_begins_anew() {
    let mix = text("diskspd-mix.txt");
    let headless = &mix[mix.find("Results for timespan 1:").unwrap()..];
    let slow = headless.replace("1500000 |", "150000 |");
    let sysbench = text("sysbench-direct.txt");
    let fsync = text("pg_test_fsync.txt");
    let sections = &fsync[fsync.find("Compare file sync").unwrap()..];
    assert_eq!(reports(&format!("{fsync}{sections}")), [reports(&fsync), reports(sections)].concat());
    let after = |begin: &str| sysbench[sysbench.find(begin).unwrap()..].to_string();
    for (first, second) in [
        (headless, slow.clone()),
        (&mix, slow),
        (&sysbench, after("Running the test")),
        (&sysbench, after("Extra file open flags")),
        (&sysbench, after("Doing random")),
        (&sysbench, after("File operations:")),
    ] {
        let alone = [reports(first), reports(&second)].concat();
        assert_eq!(alone.iter().map(|r| r.runs.len()).collect::<Vec<_>>(), [1, 1], "{second}");
        assert_eq!(reports(&format!("{first}\n{second}")), alone, "{second}");
    }
}

#[test]
fn requests_of_two_runs_of_ioping_are_not_mixed() {
    let all = text("ioping-direct.txt")
        .replace("scratch (ext4 /dev/vda 252.0 GiB)", "/dev/vdb (block device 1.0 GiB)");
    let all = all.split_once('\n').unwrap().1;
    let (requests, _) = all.split_once("\n\n").unwrap();
    let requests = format!("{requests}\n");
    let other = |text: &str| text.replace("vdb", "vdc");
    for texts in [[&requests, &other(all)], [&requests, &other(&requests)]] {
        let alone: Vec<ForeignReport> = texts.iter().flat_map(|t| reports(t)).collect();
        assert_eq!(alone.len(), 2);
        assert_eq!(reports(&texts.map(String::as_str).concat()), alone, "{texts:?}");
    }
}

#[test]
fn a_report_has_its_day_whatever_stands_in_front_of_its_lines() {
    let day = |text: &str| {
        volproof::result_file::one(text.as_bytes(), "x".as_ref()).unwrap().report.unwrap().written
    };
    let fixture = text("iometer.csv");
    let own = record("iometer.csv").report.unwrap().written;
    // Nobody says in which time zone.
    assert_eq!(own.as_ref().map(String::as_str), Some("2010-07-05T13:45:10"));
    for front in ["", "> ", "    ", "2026-11-21T09:14:15.123456789Z stdout F "] {
        let with: String = fixture.lines().map(|line| format!("{front}{line}\n")).collect();
        assert_eq!(day(&with), own, "{front:?}");
    }
}

#[test]
fn blanks_in_front_change_nothing() {
    for name in [
        "diskspd-mix.txt",
        "sysbench-rndrw.txt",
        "sysbench-1.1.txt",
        "iometer.csv",
        "dd-direct.txt",
        "ioping-direct.txt",
    ] {
        let told = |text: &str| {
            let record = volproof::result_file::one(text.as_bytes(), name.as_ref()).unwrap();
            record.steps.into_iter().map(|step| step.reported).collect::<Vec<_>>()
        };
        let whole = text(name);
        let stripped: String = whole.lines().map(|line| format!("{}\n", line.trim_start())).collect();
        let indented: String = whole.lines().map(|line| format!("    {line}\n")).collect();
        assert_eq!(told(&stripped), told(&whole), "{name}");
        assert_eq!(told(&indented), told(&whole), "{name}");
    }
}

/// The threads of a target share its bytes, unless each begins elsewhere or they take turns.
#[test]
fn threads_of_diskspd_share_their_target() {
    let mix = text("diskspd-mix.txt");
    let told = |of: &str| conditions(&mix.replacen("using random I/O (alignment: 8KiB)", of, 1));
    for (access, shared) in [
        ("using random I/O (alignment: 8KiB)", None),
        ("using sequential I/O (stride: 8KiB)", Some(4)),
        ("using interlocked sequential I/O (stride: 8KiB)", None),
        ("thread stride size: 1GiB\n\t\tusing sequential I/O (stride: 8KiB)", None),
    ] {
        let found = told(access);
        assert_eq!((found.own_files.get(), found.jobs_over_one_range()), (Some(false), shared), "{access}");
    }
}

#[test]
fn the_range_of_ioping_is_known_on_a_device_alone() {
    let range = |target: &str, options: &str| {
        let report = format!(
            "--- {target} (ext4 /dev/vdb 500.0 GiB) ioping statistics ---\n4 requests completed in 27.5 ms, 16 KiB read, 145 iops, 581.8 KiB/s\ngenerated 5 requests in 436.9 ms, 20 KiB, 11 iops, 45.8 KiB/s\nmin/avg/max/mdev = 94.9 us / 6.88 ms / 26.1 ms / 11.1 ms\n"
        );
        conditions(&format!("$ ioping -D {options} -q -i 0 -w 300 {target}\n{report}")).size
    };
    for target in ["/mnt/data", "/var/lib/pgsql/9.6", "/mnt/data/file.dat", "/mnt/data/", "."] {
        let assumed =
            |range: Known<Bytes>| matches!(range, Known::Assumed { .. }).then(|| range.get()).flatten();
        assert_eq!(assumed(range(target, "")), Some(Bytes::MIB), "{target}");
        assert_eq!(assumed(range(target, "-R")), Some(Bytes::mib(64)), "{target}");
        assert_eq!(range(target, "-S 2g").said(), Some(&Bytes::gib(2)), "{target}");
    }
    assert!(range("/dev/vdb", "").is_unknown());
}

#[test]
fn a_dd_that_moved_nothing_says_why() {
    let full = volproof::explain::explained("x".as_ref(), &bytes("dd-full.txt"));
    let why = format!("{:#}", full.unwrap_err());
    assert!(
        why.contains("dd moved nothing: error writing '/dev/full': No space left on device")
            && !why.contains("copy the report"),
        "{why}"
    );
}
