//! The log part of the PostgreSQL profile beside PostgreSQL's own pg_test_fsync: both make the same writes durable in the same way.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One way of writing: bytes of a write, how a write is made durable, at how many places, and how many writes a flush covers.
type Method = (u64, &'static str, usize, u64);

/// The ways of pg_test_fsync with one and with two writes of 8 KiB.
const METHODS: [Method; 8] = [
    (8192, "O_DSYNC", 1, 0),
    (8192, "fdatasync", 1, 1),
    (8192, "fsync", 1, 1),
    (8192, "O_SYNC", 1, 0),
    (8192, "O_DSYNC", 2, 0),
    (8192, "fdatasync", 2, 2),
    (8192, "fsync", 2, 2),
    (8192, "O_SYNC", 2, 0),
];

/// The way of writing in a stretch of calls of one file; nothing where it is no stretch of equal synced writes.
fn method(flags: &str, calls: &[&str]) -> Option<Method> {
    let writes: Vec<&&str> = calls.iter().filter(|c| c.starts_with("pwrite")).collect();
    let count = |name: &str| calls.iter().filter(|c| c.starts_with(name)).count() as u64;
    let size = writes.first()?.rsplit_once(" = ")?.1.trim().parse().ok()?;
    // The offset stands behind the buffers: the last number of pwrite64, the last but one word of pwritev2.
    let place = |call: &str| {
        let (arguments, _) = call.rsplit_once(')')?;
        arguments.rsplit(", ").find_map(|word| word.parse::<u64>().ok())
    };
    let places: BTreeSet<u64> = writes.iter().filter_map(|c| place(c)).collect();
    let whole: String = calls.concat() + flags;
    let (fdatasyncs, fsyncs) = (count("fdatasync"), count("fsync"));
    let (how, flushes) = match () {
        () if fdatasyncs > 0 => ("fdatasync", fdatasyncs),
        () if fsyncs > 0 => ("fsync", fsyncs),
        () if whole.contains("DSYNC") => ("O_DSYNC", 0),
        () if whole.contains("SYNC") => ("O_SYNC", 0),
        () => return None,
    };
    // Each stretch may end between a write and its flush.
    let covered = (writes.len() as u64 + flushes / 2).checked_div(flushes).unwrap_or(0);
    Some((size, how, places.len(), covered))
}

/// The trace files of a command, one for each thread.
fn traced(folder: &Path, program: &str, arguments: &[&str]) -> Option<Vec<PathBuf>> {
    let prefix = folder.join("calls");
    let ran = Command::new("strace")
        .args(["-ff", "-e", "trace=openat,pwrite64,pwritev2,fdatasync,fsync", "-o"])
        .arg(&prefix)
        .arg(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .ok()?;
    // A busy machine voids figures, which are not looked at here.
    assert!(matches!(ran.status.code(), Some(0 | 6)), "{}", String::from_utf8_lossy(&ran.stderr));
    let files = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|p| p.file_name().unwrap().to_string_lossy().starts_with("calls.")).collect();
    // Threads begin in the order of their numbers, which start anew once all were given away.
    let number = |p: &PathBuf| p.extension().unwrap().to_string_lossy().parse::<u32>().unwrap();
    files.sort_by_key(number);
    let far = |pair: &[PathBuf]| number(&pair[1]) - number(&pair[0]) > 10_000;
    if let Some(last) = files.windows(2).position(far) {
        files.rotate_left(last + 1);
    }
    Some(files)
}

#[test]
fn the_profile_writes_as_pg_test_fsync_does() {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let Some(theirs) = versions.map(|v| v.path().join("bin/pg_test_fsync")).find(|p| p.exists()) else {
        return println!("skipped: pg_test_fsync is missing");
    };
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["-s", "1", "-f", "theirs.dat"];
    let Some(files) = traced(dir.path(), theirs.to_str().unwrap(), &arguments) else {
        return println!("skipped: strace is missing");
    };
    // Its open_datasync and open_sync have a descriptor of their own; the others write through one that was opened plainly.
    let text = std::fs::read_to_string(&files[0]).unwrap();
    let mut seen: Vec<Method> = Vec::new();
    for stretch in text.split("openat(").skip(1) {
        let (opened, calls) = stretch.split_once('\n').unwrap_or((stretch, ""));
        if !opened.contains("theirs.dat") {
            continue;
        }
        let calls: Vec<&str> = calls.lines().collect();
        seen.extend(method(opened, &calls).filter(|m| m.0 == 8192));
    }
    for m in METHODS {
        assert!(seen.contains(&m), "pg_test_fsync has no {m:?}: {seen:?}");
    }
    let ours = tempfile::tempdir().unwrap();
    let fit =
        ["fit", ".", "--for", "postgresql", "--runtime", "1s", "--file-size", "64M", "--json", "r.json"];
    let files = traced(ours.path(), env!("CARGO_BIN_EXE_volproof"), &fit).unwrap();
    let threads = files.iter().map(|file| std::fs::read_to_string(file).unwrap());
    let methods: Vec<Method> = threads
        .filter_map(|text| {
            let calls: Vec<&str> = text.lines().filter(|l| !l.starts_with("openat")).collect();
            method("", &calls).filter(|m| m.0 == 8192)
        })
        .collect();
    assert_eq!(methods[..8], METHODS, "one load thread for each step");
    assert_eq!(methods[8..], [METHODS[1]; 16], "16 clients, each for itself");
}
