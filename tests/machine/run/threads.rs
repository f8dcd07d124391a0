//! Threads that cannot be started or that panic: the run ends, and says why. strace makes single system calls fail.

use std::io::{BufReader, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::run::signals::{finish, wait_for};
use crate::run::{Bench, Ran};

/// Whether strace may trace here; says so where it may not.
pub fn can_trace() -> bool {
    let able = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    let able = able.is_ok_and(|o| o.status.success());
    if !able {
        println!("skipped: a strace that may trace is needed");
    }
    able
}

#[test]
fn a_thread_that_cannot_be_started_ends_the_run_with_a_message() {
    if !can_trace() {
        return;
    }
    let together = "[defaults]\nengine = 'null'\nruntime = '1m'\nrw = 'randread'\n\
                    [[step]]\nname = 'a'\n[[step]]\nname = 'b'\nstart = 'with-previous'\n";
    let alone = "[[step]]\nname = 'a'\nengine = 'null'\nruntime = '1m'\nrw = 'randread'\n";
    // strace counts the calls of each thread apart: these are the threads of steps.
    for (plan, nth) in [(alone, 1), (together, 1), (together, 2)] {
        let bench = Bench::new();
        bench.file("f.dat", 1);
        std::fs::write(bench.path().join("p.toml"), plan).unwrap();
        let inject = format!("inject=clone,clone3:error=EAGAIN:when={nth}+");
        let ran = Command::new("strace")
            .args(["-f", "--seccomp-bpf", "-qq", "-o", "trace", "-e", "trace=clone,clone3", "-e", &inject])
            .arg(env!("CARGO_BIN_EXE_volproof"))
            .args(["run", "f.dat", "--plan", "p.toml", "--json", "r.json"])
            .current_dir(bench.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Ran::of(ran).ended(2).says(&["thread could not be started"]);
    }
}

/// Runs a load of minutes and makes calls of one of its threads fail from its start on; the run must end by itself. Nothing where
/// strace may not attach.
fn struck(load: &[&str], thread: impl Fn(u32) -> String, strike: &[&str]) -> Option<Ran> {
    if !can_trace() {
        return None;
    }
    let bench = Bench::new();
    bench.file("f.dat", 1);
    let mut child = bench.start(&[&["run", "f.dat", "--rw", "randread", "--runtime", "10m"], load].concat());
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let seen = wait_for(&mut err, "[1/1]");
    let process = child.id();
    let strike = strike.iter().map(|word| word.replace("PROCESS", &process.to_string()));
    let mut strace = Command::new("strace")
        .args(["-qq", "-o", "trace", "-p", &thread(process)])
        .args(strike)
        .current_dir(bench.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    let ran = finish(child, err, seen);
    assert!(began.elapsed() < Duration::from_secs(60), "it went on");
    let mut said = String::new();
    strace.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    strace.wait().unwrap();
    if said.contains("Operation not permitted") {
        println!("skipped: strace may not attach: {said}");
        return None;
    }
    Some(ran)
}

#[test]
fn a_panic_of_the_thread_that_watches_ends_the_load() {
    // A folder that cannot be closed is a panic of Rust's library: the counters of the threads are read from this one.
    let strike = ["-P", "/proc/PROCESS/task", "-e", "trace=close", "-e", "inject=close:error=EIO"];
    let Some(ran) = struck(&["--engine", "null"], |process| process.to_string(), &strike) else { return };
    ran.ended(101).says(&["panicked"]);
}

#[test]
fn a_load_thread_that_panics_is_told_as_a_defect_and_not_as_a_hanging_device() {
    let load_thread = |process: u32| loop {
        let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
        let found = tasks.flatten().find(|task| {
            std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name == "volproof-load\n")
        });
        match found {
            Some(task) => return task.file_name().into_string().unwrap(),
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    // A pause that fails is a panic of Rust's library; a load of few I/Os a second pauses between them.
    let strike =
        ["-e", "trace=nanosleep,clock_nanosleep", "-e", "inject=nanosleep,clock_nanosleep:error=EPERM"];
    let Some(ran) = struck(&["--engine", "psync", "--rate-iops", "20"], load_thread, &strike) else { return };
    let ran = ran.ended(7).says(&["panicked", "defect of volproof"]);
    assert!(!ran.err.contains("hang") && !ran.out.contains("hang"), "{}{}", ran.out, ran.err);
}
