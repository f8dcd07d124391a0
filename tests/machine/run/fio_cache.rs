//! Advice that a job gives the kernel about cached pages.

use std::process::{Command, Stdio};

use crate::run::{Bench, Ran};

/// System calls of these names that a run of ours makes in its load threads; none where strace may not trace.
fn traced(bench: &Bench, calls: &str, arguments: &[&str]) -> Option<Vec<String>> {
    if !crate::run::threads::can_trace() {
        return None;
    }
    let out = Command::new("strace")
        .args(["-f", "--seccomp-bpf", "-qq", "-o", "trace", "-e", &format!("trace={calls}")])
        .arg(env!("CARGO_BIN_EXE_volproof"))
        .args(arguments)
        .current_dir(bench.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Ran::of(out).ended(0);
    let text = std::fs::read_to_string(bench.path().join("trace")).unwrap();
    // Behind the number of the thread.
    Some(text.lines().map(|l| l.split_once(' ').map_or(l, |(_, call)| call.trim()).to_string()).collect())
}

#[test]
fn each_pass_over_a_file_begins_without_its_cached_pages_and_with_fitting_advice() {
    let advised = |advice: &'static str, options: &[&str]| {
        let bench = Bench::new();
        bench.file("f", 1);
        let line = ["fio", "--name=a", "--filename=f", "--size=1m", "--bs=64k", "--loops=3"];
        let calls = traced(&bench, "fadvise64", &[&line, options].concat())?;
        Some(calls.iter().filter(|call| call.contains(advice)).count())
    };
    // Before the first pass and after each of the three; direct I/O keeps nothing that could be dropped again.
    for (expected, options) in [
        (4, &["--ioengine=psync"][..]),
        (4, &["--ioengine=io_uring", "--iodepth=4", "--rw=randread"]),
        (4, &["--ioengine=libaio", "--iodepth=4", "--rate_iops=4000"]),
        (1, &["--ioengine=psync", "--direct=1"]),
        (0, &["--ioengine=psync", "--invalidate=0"]),
    ] {
        let Some(calls) = advised("DONTNEED", options) else { return };
        assert_eq!(calls, expected, "{options:?}");
    }
    for (advice, options) in [
        ("FADV_SEQUENTIAL", &["--ioengine=psync"][..]),
        ("FADV_RANDOM", &["--ioengine=psync", "--rw=randread"]),
        ("FADV_RANDOM", &["--ioengine=io_uring", "--fadvise_hint=random"]),
        ("FADV_NORMAL", &["--ioengine=psync", "--fadvise_hint=0"]),
    ] {
        assert_eq!(advised(advice, options), Some(1), "{options:?}");
    }
}
