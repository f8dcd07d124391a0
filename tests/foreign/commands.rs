//! The commands that take a report, through the real binary.

use std::path::Path;
use std::process::Command;

use super::{all, fixture};

/// Exit code, standard output and errors.
pub fn volproof(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_volproof"))
        .args(arguments)
        .current_dir(folder)
        .env("VOLPROOF_RECORDS", folder)
        .env("TZ", "UTC")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (out.status.code(), text(&out.stdout), text(&out.stderr))
}

#[test]
fn every_report_is_explained_judged_reported_and_converted() {
    let folder = tempfile::tempdir().unwrap();
    for name in all() {
        let file = std::fs::canonicalize(fixture(&name)).unwrap();
        let file = file.to_str().unwrap();
        let run = |arguments: &[&str]| {
            let (code, out, err) = volproof(folder.path(), arguments);
            assert!(matches!(code, Some(0 | 2 | 3 | 5 | 6)), "{name} {arguments:?}: {code:?} {err}");
            assert!(!err.contains("panicked"), "{name} {arguments:?}: {err}");
            (code, out, err)
        };
        let (code, told, err) = run(&["explain", file]);
        assert!(matches!(code, Some(0 | 6)), "{name}: {code:?} {err}");
        assert!(told.lines().all(|l| l.chars().count() <= 80 || l.contains(file)), "{told}");
        let (code, json, _) = run(&["explain", "--json", file]);
        assert!(matches!(code, Some(0 | 6)));
        assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
        let (code, record, err) = run(&["convert", file, "--to", "record"]);
        assert_eq!(code, Some(0), "{name}: {err}");
        let stored = folder.path().join("stored.json");
        std::fs::write(&stored, record).unwrap();
        let (code, again, _) = run(&["explain", stored.to_str().unwrap()]);
        assert!(matches!(code, Some(0 | 6)), "{name}: {code:?}");
        assert!(again.contains("What is wrong with the test") || again.contains("  result "), "{again}");
        assert_eq!(run(&["convert", file, "--to", "csv"]).0, Some(0), "{name}");
        let page = folder.path().join("page.html");
        assert_eq!(run(&["report", file, "-o", page.to_str().unwrap()]).0, Some(0), "{name}");
        run(&["verdict", file, "--promise", "aws:gp3", "--volume-size", "100G"]);
        let (code, _, err) = volproof(folder.path(), &["convert", file, "--to", "jobfile"]);
        assert!(code != Some(0) && err.contains("becomes a record or csv"), "{name}: {err}");
    }
}

#[test]
fn a_volume_on_windows_gets_no_command_of_linux() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["diskspd-mix.txt", "diskspd.xml", "diskspd-cached.txt", "iometer.csv"] {
        let file = std::fs::canonicalize(fixture(name)).unwrap();
        let (_, told, _) = volproof(folder.path(), &["explain", file.to_str().unwrap()]);
        for linux in [
            "io_uring",
            "libaio",
            "/sys/",
            "/dev/",
            "dmesg",
            "volproof run",
            "fio --name",
            "iodepth=",
            "numjobs=",
            "offset_increment",
        ] {
            assert!(!told.contains(linux), "{name} recommends {linux}: {told}");
        }
    }
}

#[test]
fn the_rule_of_etcd_by_a_mean() {
    let folder = tempfile::tempdir().unwrap();
    let file = std::fs::canonicalize(fixture("pg_test_fsync.txt")).unwrap();
    let (_, told, _) = volproof(folder.path(), &["explain", file.to_str().unwrap()]);
    let from = told.find("\nfdatasync, one 8 KiB write").unwrap();
    let run = told[from..].split("What is wrong with the test").next().unwrap();
    insta::assert_snapshot!(run, @r"
    fdatasync, one 8 KiB write
      tested     8 KiB sequential writes, 1 in flight (pg_test_fsync, a flush after
                 1 write, 1 job, through the page cache), range 8 KiB, 1.00 s
      result     write: 2,832 IOPS, 23.2 MB/s (22.1 MiB/s): 2,832 I/Os in 1.00 s,
                 22.1 MiB moved
      latency    write: mean 353 us
      etcd       asks for 99 % of flushes within 10.0 ms, 50 a second (500 under a
                 heavy load); here a write and its flush together: a mean of 353 us,
                 so that up to 3.53 % may have taken 10.0 ms or longer, 2,832 a
                 second: `volproof fit TARGET --for etcd` judges it
    ");
}

#[test]
fn what_is_no_report_says_which_reports_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x");
    std::fs::write(&file, "sysbench 1.0.20\nPrime numbers limit: 10000\n").unwrap();
    let (code, _, err) = volproof(folder.path(), &["explain", file.to_str().unwrap()]);
    assert_eq!(code, Some(2));
    assert!(
        err.contains(
            "fio (text, JSON, terse lines), dd, sysbench fileio, ioping, pg_test_fsync, DiskSpd or Iometer"
        ),
        "{err}"
    );
}
