//! Parts of reports, several in one paste, what a mail puts in front, and mutations.

use proptest::prelude::*;
use volproof::foreign;

use super::commands::volproof;
use super::{all, bytes, report};

/// So many lines of a fixture.
fn head(name: &str, lines: usize) -> Vec<u8> {
    let text = bytes(name);
    text.split_inclusive(|b| *b == b'\n').take(lines).flatten().copied().collect()
}

#[test]
fn a_report_that_breaks_off_is_a_part() {
    for (name, lines, runs) in [
        ("dd-direct.txt", 2, 1),
        ("dd-progress.txt", 2, 1),
        ("sysbench-rndrw.txt", 34, 1),
        ("sysbench-rndrw.txt", 28, 0),
        ("ioping-direct.txt", 5, 0),
        ("ioping-direct.txt", 9, 1),
        ("pg_test_fsync.txt", 9, 3),
        ("diskspd-mix.txt", 40, 0),
        ("diskspd-mix.txt", 54, 1),
        ("iometer.csv", 20, 0),
        ("iometer.csv", 25, 1),
    ] {
        let mut found = foreign::reports(&head(name, lines)).reports;
        assert_eq!(found.len(), 1, "{name} to line {lines}");
        let report = found.remove(0);
        assert!(report.partial.is_some(), "{name} to line {lines}");
        assert_eq!(report.runs.len(), runs, "{name} to line {lines}");
    }
}

#[test]
fn a_part_of_the_disks_tells_no_queue_of_all() {
    let conditions =
        |lines| foreign::reports(&head("iometer.csv", lines)).reports.remove(0).runs.remove(0).conditions;
    let (part, whole) = (conditions(25), conditions(27));
    assert_eq!((part.jobs.get(), part.iodepth.get()), (None, None), "{part:?}");
    assert_eq!((whole.jobs.get(), whole.iodepth.get()), (Some(2), Some(16)), "{whole:?}");
}

#[test]
fn a_part_has_no_figure_of_what_is_missing() {
    // Totals of a mix, whose reads and writes are cut off.
    let part = foreign::reports(&head("diskspd-mix.txt", 54)).reports.remove(0).runs.remove(0);
    assert!(part.read.is_none() && part.write.is_none());
    assert_eq!(part.mixed.unwrap().ios.said(), Some(&1_500_000));
    let part = foreign::reports(&head("sysbench-rndrw.txt", 34)).reports.remove(0).runs.remove(0);
    assert!(part.read.unwrap().latency().is_none() && part.mixed.is_none());
}

#[test]
fn several_reports_of_one_paste_are_all_told() {
    let names = [
        "dd-direct.txt",
        "dd-bare.txt",
        "ioping-direct.txt",
        "pg_test_fsync.txt",
        "sysbench-rndrd.txt",
        "diskspd-mix.txt",
        "iometer.csv",
    ];
    let text: Vec<u8> = names.iter().flat_map(|n| bytes(n)).collect();
    let found = foreign::reports(&text).reports;
    assert_eq!(found.len(), names.len());
    for name in names {
        let alone = report(name);
        assert!(found.iter().any(|f| f.runs == alone.runs), "{name} is another in company");
    }
    // Beside a report of fio.
    let fio = std::fs::read("tests/fixtures/fio/3.33-cached.json").unwrap();
    let both = [fio, bytes("dd-direct.txt")].concat();
    let told = volproof::explain::explained("x".as_ref(), &both).unwrap();
    assert_eq!(told.iter().map(|e| e.tool.as_str()).collect::<Vec<_>>(), ["fio-3.33", "dd"]);
}

#[test]
fn a_mail_and_a_log_around_a_report_are_taken_off() {
    for front in ["> ", "2026-11-21T09:14:15.123456789Z stdout F ", "Nov 21 09:14:15 node-1 sh[4711]: "] {
        for name in ["sysbench-rndrw.txt", "diskspd-mix.txt", "pg_test_fsync.txt", "ioping-direct.txt"] {
            let text = String::from_utf8(bytes(name)).unwrap();
            let quoted: String = text.lines().map(|l| format!("{front}{l}\r\n")).collect();
            let told = volproof::explain::explained("x".as_ref(), quoted.as_bytes()).unwrap();
            assert_eq!(
                told.iter().map(|e| e.runs.len()).sum::<usize>(),
                report(name).runs.len(),
                "{front}{name}"
            );
        }
    }
}

#[test]
fn more_runs_than_fit_are_counted() {
    let one = bytes("dd-direct.txt");
    let found = foreign::reports(&one.repeat(1100));
    assert_eq!((found.reports.len(), found.more), (1024, 76));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_mutated_report_breaks_nothing(
        which in 0usize..64,
        places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0usize..4), 1..12),
    ) {
        let names = all();
        let mut text = bytes(&names[which % names.len()]);
        for (at, byte, how) in places {
            if text.is_empty() {
                break;
            }
            let at = at.index(text.len());
            match how {
                0 => text[at] = byte,
                1 => text.truncate(at),
                // The largest count there is.
                2 => drop(text.splice(at..at, u64::MAX.to_string().into_bytes())),
                _ => text.insert(at, if byte & 1 == 0 { b'9' } else { byte }),
            }
        }
        if let Ok(record) = volproof::result_file::one(&text, "x".as_ref()) {
            prop_assert!(serde_json::to_string(&record).is_ok());
        }
    }
}

/// What takes one report says that there are more, and what makes a table of one refuses.
#[test]
fn one_report_of_several_is_no_answer_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let both = [super::bytes("ioping-direct.txt"), super::bytes("sysbench-direct.txt")].concat();
    std::fs::write(folder.path().join("both.txt"), &both).unwrap();
    let says = "the file holds 2 reports, and this is one of";
    for command in [
        &["show", "--details", "both.txt"][..],
        &["show", "-q", "both.txt"],
        &["report", "both.txt", "-o", "both.html"],
    ] {
        let (code, _, err) = volproof(folder.path(), command);
        let err = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == Some(0) && err.contains(says), "{command:?}: {code:?} {err}");
    }
    // The words have both.
    let (code, out, _) = volproof(folder.path(), &["show", "both.txt"]);
    assert!(code == Some(0) && out.contains("ioping") && out.contains("sysbench"), "{out}");
    for form in ["csv", "record"] {
        let (code, _, err) = volproof(folder.path(), &["convert", "both.txt", "--to", form]);
        assert!(code != Some(0) && err.contains("holds 2 reports"), "{form}: {err}");
    }
}

/// A log that took `--json -` has a Record as one of its lines; PowerShell writes UTF-16.
#[test]
fn a_record_is_read_out_of_a_log_and_not_dropped_behind_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let run = ["run", "--simulate", "latency=1ms", "--rw", "randread", "--runtime", "5s", "--json", "-"];
    let (_, record, _) = volproof(folder.path(), &run);
    let shown = |bytes: &[u8]| {
        std::fs::write(folder.path().join("log"), bytes).unwrap();
        volproof(folder.path(), &["show", "-q", "log"])
    };
    let (code, alone, err) = shown(record.as_bytes());
    assert_eq!(code, Some(0), "{err}");
    let utf16: Vec<u8> = record.encode_utf16().chain([]).flat_map(u16::to_le_bytes).collect();
    for log in [
        format!("[1/1] randread, 5 s\n{record}").into_bytes(),
        format!("2026-11-21T09:14:15.123Z {record}").into_bytes(),
        format!("\u{feff}{record}").into_bytes(),
        [&[0xff, 0xfe][..], &utf16].concat(),
    ] {
        let (code, out, err) = shown(&log);
        assert_eq!((code, &out), (Some(0), &alone), "{err}");
    }
    let mixed = [super::bytes("dd-direct.txt"), record.into_bytes()].concat();
    let (code, _, err) = shown(&mixed);
    assert!(code != Some(0) && err.contains("holds 1 Record of volproof and 1 report:"), "{code:?} {err}");
}
