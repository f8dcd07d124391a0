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
fn every_report_is_shown_judged_reported_and_converted() {
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
        let (code, told, err) = run(&["show", file]);
        assert_eq!(code, Some(0), "{name}: {err}");
        assert!(told.contains("What is wrong with the test") || told.contains("  result "), "{told}");
        assert!(told.lines().all(|l| l.chars().count() <= 80 || l.contains(file)), "{told}");
        let (code, record, err) = run(&["convert", file, "--to", "record"]);
        assert_eq!(code, Some(0), "{name}: {err}");
        let stored = folder.path().join("stored.json");
        std::fs::write(&stored, record).unwrap();
        assert_eq!(run(&["explain", stored.to_str().unwrap()]).0, Some(0), "{name}");
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
    for name in ["diskspd-mix.txt", "diskspd-cached.txt", "iometer.csv"] {
        let file = std::fs::canonicalize(fixture(name)).unwrap();
        let (_, told, _) = volproof(folder.path(), &["show", file.to_str().unwrap()]);
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
fn what_is_no_report_says_which_reports_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x");
    std::fs::write(&file, "sysbench 1.0.20\nPrime numbers limit: 10000\n").unwrap();
    let (code, _, err) = volproof(folder.path(), &["show", file.to_str().unwrap()]);
    assert_eq!(code, Some(2));
    assert!(
        err.contains(
            "fio (text, JSON, terse lines), dd, sysbench fileio, ioping, pg_test_fsync, DiskSpd, Iometer, iostat -x or /proc/diskstats"
        ),
        "{err}"
    );
}
