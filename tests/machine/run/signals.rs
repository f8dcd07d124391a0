//! Ctrl-C and its kin: the load stops, what was made goes, what was measured stays.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use volproof::record::State;

use crate::run::fio_engine::{called_fio, children, installed, ticks};
use crate::run::{Bench, Ran};

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Reads the program's messages until one holds `word`; what is left is read by [`finish`].
pub fn wait_for(err: &mut impl BufRead, word: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(word) {
        assert_ne!(err.read_line(&mut seen).unwrap(), 0, "'{word}' never came:\n{seen}");
    }
    seen
}

pub fn finish(mut child: Child, mut err: impl BufRead, mut seen: String) -> Ran {
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    err.read_to_string(&mut seen).unwrap();
    Ran { code: child.wait().unwrap().code(), out, err: seen }
}

/// Bytes that a process has read until now, from its own cache or from a disk.
fn has_read(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    let of =
        |name: &str| text.lines().find_map(|l| l.strip_prefix(name)).unwrap().trim().parse::<u64>().unwrap();
    of("rchar:") + of("read_bytes:")
}

/// Waits until the load has read so much more, however long this machine takes for it, and then for a few of the samples
/// that are taken every 100 ms.
pub fn wait_for_load(process: u32, bytes: u64) {
    let (before, began) = (has_read(process), Instant::now());
    while has_read(process) < before + bytes {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not read");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
}

/// Interrupts the second step of a long plan on a folder, with these signals.
fn interrupted(signals: &[Signal]) -> (Bench, Ran) {
    let bench = Bench::new();
    let folder = bench.folder("data");
    let plan = "[[step]]\nname = 'first'\nruntime = '300ms'\n[[step]]\nname = 'second'\nruntime = '10m'\n";
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    let mut child =
        bench.start(&["run", "data", "--plan", "p.toml", "--file-size", "8M", "--json", "r.json"]);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let seen = wait_for(&mut err, "[2/2]");
    assert_eq!(Bench::names(&folder).len(), 1, "the test file is there while it is measured");
    // So that the second step has something to show. Nothing below depends on how much.
    wait_for_load(child.id(), 1 << 20);
    let began = Instant::now();
    for signal in signals {
        send(&child, *signal);
    }
    let ran = finish(child, err, seen);
    assert!(began.elapsed() < Duration::from_secs(60), "it went on");
    assert_eq!(Bench::names(&folder), Vec::<String>::new(), "the test file is gone");
    (bench, ran)
}

fn saved_what_was_measured(bench: &Bench, ran: Ran) {
    let ran = ran.ended(130);
    let record = bench.record();
    assert_eq!(record.state, State::Interrupted);
    assert_eq!(record.steps.len(), 2);
    assert!(
        record.steps.iter().all(|s| s.iops() > 0.0),
        "the step that was cut short counts as far as it got"
    );
    assert!(record.steps[1].window_ns < record.plan.steps[1].runtime);
    assert!(ran.out.contains("INTERRUPTED") && ran.out.contains("second"), "{}", ran.out);
    assert_eq!(bench.run(&["show", "r.json"]).ended(0).out, ran.out);
}

#[test]
fn ctrl_c_stops_cleans_up_and_reports() {
    let (bench, ran) = interrupted(&[Signal::INT]);
    saved_what_was_measured(&bench, ran);
}

#[test]
fn a_service_manager_may_end_it() {
    let (bench, ran) = interrupted(&[Signal::TERM]);
    saved_what_was_measured(&bench, ran);
}

#[test]
fn a_terminal_that_closes_ends_it() {
    // From a terminal that is closed, from Ctrl-\, and from a batch system.
    for signal in [Signal::QUIT, Signal::USR1] {
        let (bench, ran) = interrupted(&[signal]);
        saved_what_was_measured(&bench, ran);
    }
    let (bench, ran) = interrupted(&[Signal::HUP]);
    saved_what_was_measured(&bench, ran);
}

/// `nohup` starts a program with SIGHUP ignored, and does nothing else.
#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let bench = Bench::new();
    bench.folder("data");
    let plan = "[[step]]\nname = 'first'\nruntime = '300ms'\n[[step]]\nname = 'second'\nruntime = '1s'\n";
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    let mut command = std::process::Command::new("nohup");
    command.arg(env!("CARGO_BIN_EXE_volproof")).args(["run", "data", "--plan", "p.toml"]);
    command.args(["--file-size", "8M", "--json", "r.json"]).current_dir(bench.path()).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let seen = wait_for(&mut err, "[1/2]");
    send(&child, Signal::HUP);
    finish(child, err, seen).ended(0);
    assert_eq!(bench.record().state, State::Complete);
    assert_eq!(bench.record().steps.len(), 2);
}

#[test]
fn an_impatient_second_ctrl_c_still_cleans_up() {
    let (_bench, ran) = interrupted(&[Signal::INT, Signal::INT]);
    ran.ended(130);
}

#[test]
fn ctrl_c_while_the_file_is_filled_takes_it_away() {
    let bench = Bench::new();
    let folder = bench.folder("data");
    let size = if free(bench.path()) > 8 << 30 { "4G" } else { "256M" };
    let mut child = bench.start(&["run", "data", "--rw", "read", "--file-size", size, "--json", "r.json"]);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let seen = wait_for(&mut err, "Test file");
    send(&child, Signal::INT);
    let ran = finish(child, err, seen).ended(130);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    ran.says(&["interrupted before anything was measured"]);
    assert_eq!(Bench::names(&folder), Vec::<String>::new());
}

/// fio's jobs leave the terminal and the process group of fio: what ends fio's first process alone leaves them at work.
#[test]
fn a_handed_over_fio_ends_with_us_by_whatever_signal() {
    if !installed() {
        return;
    }
    let bench = Bench::new();
    bench.file("f.dat", 4);
    let line = "fio --name=j --filename=f.dat --rw=randread --ioengine=mmap --time_based --runtime=600";
    let line: Vec<&str> = line.split(' ').collect();
    for (signal, code) in [
        (Signal::HUP, Some(129)),
        (Signal::INT, Some(128)),
        (Signal::TERM, Some(128)),
        (Signal::QUIT, Some(128)),
        (Signal::KILL, None),
    ] {
        let child = bench.start(&line);
        let began = Instant::now();
        let (fio, job) = loop {
            assert!(began.elapsed() < Duration::from_secs(60), "fio never worked");
            let found = children(&child.id().to_string()).into_iter().find(|pid| called_fio(pid));
            let jobs = found.as_deref().map(children).unwrap_or_default();
            if let (Some(fio), Some(job)) = (found, jobs.into_iter().find(|pid| ticks(pid) >= 5)) {
                break (fio, job);
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        if signal == Signal::QUIT {
            // A terminal sends it to fio's first process as well.
            kill_process(Pid::from_raw(fio.parse().unwrap()).unwrap(), signal).unwrap();
        }
        send(&child, signal);
        // The pipes end when neither fio nor a job holds them any more.
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert_eq!(ran.code, code, "{signal:?}: {}{}", ran.out, ran.err);
        // Whoever is nobody's child any more may stay as a zombie for a while.
        let runs = |pid: &str| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            called_fio(pid) && !stat.contains(" Z ")
        };
        while runs(&fio) || runs(&job) {
            assert!(
                began.elapsed() < Duration::from_secs(120),
                "{signal:?}: fio {fio} or its job {job} still runs"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(ran.out.contains("issued rwts"), "{signal:?}: its report came: {}", ran.out);
    }
}

fn free(path: &Path) -> u64 {
    let s = rustix::fs::statvfs(path).unwrap();
    s.f_bavail * s.f_frsize
}

/// What has ended outlives the process, however that ends.
#[test]
fn a_killed_fio_leaves_the_record_of_its_finished_jobs() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    let jobs = "fio --filename=f.dat --rw=randread --time_based --name=a --runtime=300ms --name=b --stonewall --runtime=600";
    let words: Vec<&str> = jobs.split(' ').chain(["--record=r.json", "--output=r.txt"]).collect();
    let mut child = bench.start(&words);
    let began = Instant::now();
    while !bench.path().join("r.json").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        assert!(began.elapsed() < Duration::from_secs(60), "nothing was saved");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(bench.record().steps.len(), 1);
}

/// A pipe that takes no more.
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    let (reader, mut writer) = std::io::pipe().unwrap();
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    while std::io::Write::write(&mut writer, &[b'x'; 4096]).is_ok() {}
    fcntl_setfl(&writer, flags).unwrap();
    (reader, writer)
}

#[test]
fn a_reader_that_stopped_reading_does_not_keep_the_program_from_a_signal() {
    for outputs in [&["--json", "r.json"][..], &["--json", "r.json", "--csv", "-"]] {
        let bench = Bench::new();
        bench.file("f.dat", 1);
        let (reader, writer) = full_pipe();
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_volproof"))
            .args(["run", "f.dat", "--rw", "randread", "--runtime", "100ms"])
            .args(outputs)
            .current_dir(bench.path())
            // What could not be printed is saved there.
            .env("TMPDIR", bench.path())
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let complete = || {
            std::fs::read_to_string(bench.path().join("r.json"))
                .is_ok_and(|text| text.contains("\"state\":\"complete\""))
        };
        let began = Instant::now();
        while !complete() {
            assert!(began.elapsed() < Duration::from_secs(60), "{outputs:?}: no Record");
            std::thread::sleep(Duration::from_millis(20));
        }
        send(&child, Signal::INT);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{outputs:?}: {said}");
        assert!(said.contains("a signal ended the wait"), "{outputs:?}: {said}");
        drop(reader);
    }
}
