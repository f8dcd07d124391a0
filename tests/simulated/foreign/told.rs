//! What the texts say of a report first, and how much it moved.

use super::commands::volproof;
use super::fixture;

/// The text that a command prints of a report.
fn told(report: &str, command: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("report"), report).unwrap();
    let (_, out, err) = volproof(folder.path(), &[command, &["report"]].concat());
    let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!text.is_empty(), "{err}");
    text
}

fn text(name: &str) -> String {
    std::fs::read_to_string(fixture(name)).unwrap()
}

/// The last block of a file is a part, and moves no more than it holds.
#[test]
fn dd_moved_the_bytes_that_it_tells_and_not_its_records() {
    let odd = "$ dd if=/mnt/v/f of=/dev/null bs=64M iflag=direct\n1+1 records in\n1+1 records out\n68157440 bytes (68 MB, 65 MiB) copied, 0.52 s, 131 MB/s\n";
    let found = told(odd, &["show"]);
    for words in ["moved 65 MiB within only 65 MiB", "when 65 MiB had been gone over"] {
        assert!(found.contains(words), "{words}: {found}");
    }
    assert!(!found.contains("128 MiB") && !found.contains("short-ios"), "{found}");
    let found = told(&text("dd-read.txt"), &["show"]);
    assert!(found.contains("moved 1.95 MiB within only 1.95 MiB") && !found.contains("2 MiB"), "{found}");
    // A pipe hands over what it has: the blocks are none of the size that is labelled, and no figure is impossible.
    let pipe = |records: &str, bytes: u64| {
        let speed = bytes as f64 / 1.5e6;
        let records = format!("{records} records in\n{records} records out\n");
        let call = "$ cat f | dd of=/mnt/v/f bs=1M oflag=direct\n";
        told(&format!("{call}{records}{bytes} bytes copied, 1.5 s, {speed:.1} MB/s\n"), &["show"])
    };
    let found = pipe("2+62", 6_160_384);
    assert!(found.contains("62 of 64 I/Os were cut short or dropped"), "{found}");
    assert!(found.contains("add iflag=fullblock where dd reads from a pipe"), "{found}");
    assert!(!found.contains("impossible-figures") && !found.contains("64 MiB"), "{found}");
    // Neither more than all blocks hold, nor less than the whole ones.
    for (records, bytes) in [("2+62", 80 << 20), ("32+32", 16 << 20)] {
        let found = pipe(records, bytes);
        assert!(found.contains("64 I/Os of 1 MiB are not"), "{found}");
    }
}

#[test]
fn a_headline_leads_with_what_is_valid() {
    let all = text("pg_test_fsync.txt");
    let best = "4,623 IOPS (open_sync, two 8 KiB writes) and 36.1 MiB/s (open_sync, two 8 KiB writes); the shortest mean of a write and its flush is 353 us (fdatasync, one 8 KiB write).";
    let of_cache = "[fdatasync, two 8 KiB writes and 1 more: I/O went through the page cache";
    let line = told(&all, &["show", "-q"]);
    assert!(
        line.starts_with(&format!("NOT VALID 13 of 16 runs are valid: up to {best} {of_cache}")),
        "{line}"
    );
    // The doubt that voids some runs is told, though the same is a note on others.
    let shown = told(&all, &["show"]);
    assert_eq!(shown.matches("[buffered, void]").count(), 3, "{shown}");
    let line = told(&all, &["verdict", "--fit", "etcd", "-q"]);
    assert!(
        line.starts_with(&format!("NOT COMPARED 13 of 16 runs are valid: up to {best} (against etcd")),
        "{line}"
    );
    // Without void ones it says nothing of that.
    let (flushed, _) = all.split_once("\nCompare file sync methods using two").unwrap();
    let line = told(flushed, &["show", "-q"]);
    assert!(line.contains("Up to 2,832 IOPS (fdatasync, one 8 KiB write) and 22.1 MiB/s"), "{line}");
    // All of them void: it says so, and leads with those that were flushed at all.
    let section = |head: &str, rows: &str| {
        let from = all.find(head).unwrap();
        let head = &all[from..][..all[from..].find('\n').unwrap() + 1];
        let row =
            |name: &&str| all[from..].lines().find(|l| l.trim().starts_with(*name)).unwrap().to_string();
        rows.split(',')
            .collect::<Vec<_>>()
            .iter()
            .map(row)
            .fold(head.to_string(), |all, row| all + &row + "\n")
    };
    let two = section("Compare file sync methods using two", "fdatasync,fsync");
    let none = section("Non-sync'ed", "write");
    let line = told(&format!("1 second per test\n{two}\n{none}"), &["show", "-q"]);
    let lead = "NOT VALID None of the 3 runs is valid: up to 4,383 IOPS (fsync, two 8 KiB writes)";
    assert!(line.starts_with(lead), "{line}");
    let line = told(&format!("1 second per test\n{none}"), &["verdict", "--fit", "etcd", "-q"]);
    assert!(line.contains("[write, without a flush: I/O went through the page cache"), "{line}");
}

#[test]
fn a_report_without_the_figure_of_a_need_says_so() {
    let found = told(&text("dd-dsync.txt"), &["verdict", "--fit", "etcd"]);
    assert!(found.contains("no run of the report shows what it asks for"), "{found}");
}
