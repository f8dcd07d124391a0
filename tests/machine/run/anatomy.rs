//! `--anatomy` on a loop device of our own, in a mount namespace that has tracefs: the parts of real requests, and nothing that stays behind.

use std::io::{BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use volproof::record::Record;

use crate::run::devices::Loop;
use crate::run::{Bench, Ran, is_root};

/// Runs the rest of the command line where tracefs is mounted.
const WITH_TRACEFS: &str = "mount -t tracefs nodev /sys/kernel/tracing && exec \"$@\"";

/// A command that has tracefs; none where this user or this kernel has none, which it prints.
fn traced(bench: &Bench, arguments: &[&str]) -> Option<Command> {
    let wrapped = |program: &str| {
        let mut command = bench.program("unshare");
        command.args(["--mount", "sh", "-c", WITH_TRACEFS, "sh", program]).stdin(Stdio::null());
        command
    };
    if !is_root() {
        println!("skipped: root is needed to trace");
        return None;
    }
    let events = wrapped("test").args(["-d", "/sys/kernel/tracing/events/block/block_rq_issue"]).output();
    if !events.is_ok_and(|out| out.status.success()) {
        println!("skipped: this kernel has no tracefs with events of the block layer");
        return None;
    }
    let mut command = wrapped(env!("CARGO_BIN_EXE_volproof"));
    command.args(arguments);
    Some(command)
}

/// The names of all instances.
fn instances(bench: &Bench) -> String {
    let list = ["--mount", "sh", "-c", WITH_TRACEFS, "sh", "ls", "/sys/kernel/tracing/instances"];
    Ran::of(bench.program("unshare").args(list).output().unwrap()).ended(0).out
}

/// A running process has an instance.
fn has_instance(process: u32) -> bool {
    // It is seen in the namespace of the process.
    let folder = PathBuf::from(format!("/proc/{process}/root/sys/kernel/tracing/instances"));
    let front = format!("volproof-{process}-");
    let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| entry.file_name().to_string_lossy().starts_with(&front))
}

/// Waits until a run has an instance.
fn wait_for_instance(child: &mut Child) {
    let began = Instant::now();
    while !has_instance(child.id()) {
        if let Some(ended) = child.try_wait().unwrap() {
            let mut err = String::new();
            child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
            panic!("it has ended with {ended}:\n{err}");
        }
        assert!(began.elapsed() < Duration::from_secs(60), "it makes no instance");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn load(device: &str, runtime: &'static str) -> [String; 12] {
    let words = ["run", device, "--rw", "randread", "--bs", "4k", "--iodepth", "4", "--runtime", runtime];
    let mut all = words.map(String::from).to_vec();
    all.extend(["--anatomy".into(), "--json=r.json".into()]);
    all.try_into().unwrap()
}

fn words(load: &[String]) -> Vec<&str> {
    load.iter().map(String::as_str).collect()
}

#[test]
fn parts_of_real_requests_add_up_and_nothing_stays() {
    let bench = Bench::new();
    let Some(disk) = Loop::over(&bench.file("disk", 64)) else { return };
    let load = load(disk.path(), "3s");
    let Some(mut command) = traced(&bench, &words(&load)) else { return };
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let process = child.id();
    let ran = Ran::of(child.wait_with_output().unwrap()).ended(0);
    assert!(ran.out.contains("Where the time goes"), "{}", ran.out);
    let record: Record = bench.record();
    let anatomy = record.steps[0].evidence.anatomy.as_ref().unwrap();
    assert_eq!(anatomy.not_traced, None);
    assert_eq!(anatomy.disks, [disk.path().trim_start_matches("/dev/")]);
    assert!(anatomy.joined > 0, "{anatomy:?}");
    let parts: u64 = anatomy.parts.iter().map(|part| part.time_ns.sum.0).sum();
    assert_eq!(parts, anatomy.whole_ns.sum.0);
    assert!(anatomy.parts.iter().all(|part| part.time_ns.count() == anatomy.joined));
    let shown = bench.run(&["show", "r.json"]).ended(0).out;
    assert_eq!(shown, ran.out);
    let left = instances(&bench);
    assert!(!left.contains(&format!("volproof-{process}-")), "{left}");
}

#[test]
fn a_signal_takes_the_instance_away_and_after_a_kill_the_next_start_does() {
    let bench = Bench::new();
    let Some(disk) = Loop::over(&bench.file("disk", 64)) else { return };
    let load = load(disk.path(), "10m");
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::KILL] {
        let Some(mut command) = traced(&bench, &words(&load)) else { return };
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for_instance(&mut child);
        let name = format!("volproof-{}-", child.id());
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        err.read_to_string(&mut said).unwrap();
        child.wait().unwrap();
        if signal == rustix::process::Signal::INT {
            assert!(!instances(&bench).contains(&name), "{said}");
            continue;
        }
        // Where tracefs is mounted for all, another start may have been first.
        let is_ours = instances(&bench).contains(&name);
        let next = traced(&bench, &["presets"]).unwrap().output().unwrap();
        let next = Ran::of(next).ended(0);
        assert!(!is_ours || next.err.contains(&name) && next.err.contains("removed"), "{}", next.err);
        assert!(!instances(&bench).contains(&name));
    }
}

#[test]
fn what_cannot_be_traced_is_said_once() {
    let bench = Bench::new();
    let plan = "[[step]]\nname = 'a'\nruntime = '2s'\n[[step]]\nname = 'b'\nruntime = '2s'\n\
                [defaults]\nsimulate = { latency = '1ms' }\n";
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    let ran = bench.run(&["run", "--plan", "p.toml", "--anatomy"]).ended(0);
    assert_eq!(ran.out.matches("not traced: the device is simulated").count(), 1, "{}", ran.out);
}
