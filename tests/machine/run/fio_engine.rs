//! The installed fio as an engine, and beside ours.

use std::process::Stdio;
use std::time::{Duration, Instant};

use volproof::fio::fio_process::Fio;

use super::{Bench, Ran, fits};

/// There is an fio; else the test says why it was skipped.
pub fn installed() -> bool {
    let found = Fio::find();
    if let Err(e) = &found {
        println!("skipped: {e}");
    }
    found.is_ok()
}

#[test]
fn a_step_on_fio_counts_what_fio_did() {
    if !installed() {
        return;
    }
    let bench = Bench::new();
    bench.file("f.dat", 8);
    let line = "run f.dat --rw randrw --overwrite --buffered --engine fio:psync --io-size 2m --numjobs 2 --runtime 1m --seed 14499104930751285983 --details --json r.json";
    let ran = bench.run(&line.split(' ').collect::<Vec<_>>()).ended(0);
    fits(&ran.out);
    let record = bench.record();
    let step = &record.steps[0];
    let fio = step.fio.as_ref().expect("fio did it");
    assert!(fio.version.starts_with("fio-3."), "{}", fio.version);
    assert!(fio.job_file.contains("rw=randrw") && fio.job_file.contains("f.dat"), "{}", fio.job_file);
    assert!(!fio.job_file.contains("/proc/"), "the job file can be run again:\n{}", fio.job_file);
    let ios: u64 = step.directions().map(|(_, s)| s.ios).sum();
    assert_eq!(ios, 2 * (2 << 20) / 4096, "two jobs of 2 MiB in blocks of 4 KiB");
    for (d, summary) in step.directions() {
        assert_eq!(summary.service_latency_ns.samples, summary.ios, "{d:?}");
        assert!(summary.service_latency_ns.min <= summary.service_latency_ns.max);
    }
    assert!(ran.out.contains(&format!("{} with psync", fio.version)), "{}", ran.out);
}

#[test]
fn several_targets_have_a_row_each() {
    if !installed() {
        return;
    }
    let bench = Bench::new();
    bench.file("a.dat", 2);
    bench.file("b:c.dat", 1);
    let line = "run a.dat b:c.dat --rw read --bs 64k --buffered --engine fio:psync --io-size 512k --runtime 1m --json r.json";
    bench.run(&line.split(' ').collect::<Vec<_>>()).ended(0);
    let record = bench.record();
    let each: Vec<u64> = record.steps[0].targets.iter().map(|t| t.read.as_ref().unwrap().ios).collect();
    assert_eq!(each, [8, 8]);
}

#[test]
fn ctrl_c_stops_fio_and_keeps_what_it_measured() {
    if !installed() {
        return;
    }
    let bench = Bench::new();
    bench.file("f.dat", 4);
    let line = "run f.dat --rw randread --buffered --engine fio:psync --runtime 10m --json r.json";
    let child = bench.start(&line.split(' ').collect::<Vec<_>>());
    let began = Instant::now();
    let (fio, job) = loop {
        assert!(began.elapsed() < Duration::from_secs(60), "fio never worked");
        let found = children(&child.id().to_string()).into_iter().find(|pid| called_fio(pid));
        let jobs = found.as_deref().map(children).unwrap_or_default();
        if let (Some(fio), Some(job)) = (found, jobs.into_iter().find(|pid| ticks(pid) >= 150)) {
            break (fio, job);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap()).ended(130);
    assert!(ran.out.contains("randread"), "{}", ran.out);
    let record = bench.record();
    assert!(record.steps[0].read.as_ref().unwrap().ios > 0);
    assert!(record.steps[0].cpu.user_ns.0 + record.steps[0].cpu.system_ns.0 > 0);
    for pid in [fio, job] {
        assert!(!called_fio(&pid), "fio {pid} still runs");
    }
}

/// A run of ten minutes on a file `f.dat`, with this script in the place of the installed fio.
fn driven_by(bench: &Bench, script: &str) -> std::process::Child {
    bench.file("f.dat", 1);
    let fio = bench.folder("bin").join("fio");
    std::fs::write(&fio, script).unwrap();
    std::fs::set_permissions(&fio, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let line = "run f.dat --rw randread --buffered --engine fio --runtime 10m --json r.json";
    let mut command = bench.command(&line.split(' ').collect::<Vec<_>>());
    let path = format!("{}:{}", fio.parent().unwrap().display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// fio gives up a job that does not end. The job leads a session of its own, and goes on with its I/O unless it is ended as well.
#[test]
fn a_job_that_fio_left_behind_is_ended() {
    let bench = Bench::new();
    let script = r#"#!/bin/sh
        [ "$1" != --version ] || { echo fio-3.33; exit; }
        for word; do case $word in --output=*) exec 7>"${word#--output=}" ;; esac; done
        setsid sleep 100000 &
        echo $! >job
        sleep 1
        exit 1
    "#;
    let ran = Ran::of(driven_by(&bench, script).wait_with_output().unwrap()).ended(2);
    assert!(ran.err.contains("gave no report"), "{}", ran.err);
    let job = std::fs::read_to_string(bench.path().join("job")).unwrap();
    // One that has ended and that nobody waited for has no command line any more.
    let runs = std::fs::read(format!("/proc/{}/cmdline", job.trim())).is_ok_and(|words| !words.is_empty());
    assert!(!runs, "the job {job} still runs");
}

/// An fio that has not reported yet is ended by the signal, and that is no failure of it.
#[test]
fn ctrl_c_before_the_first_report_is_an_interruption() {
    let bench = Bench::new();
    let script = "#!/bin/sh\n[ \"$1\" != --version ] || { echo fio-3.33; exit; }\n: >begun\nexec sleep 600\n";
    let child = driven_by(&bench, script);
    while !bench.path().join("begun").exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap()).ended(130);
    assert!(!ran.err.contains("gave no report"), "{}", ran.err);
}

/// Processes that any thread of a process started, by number.
pub fn children(pid: &str) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.map(|t| std::fs::read_to_string(t.path().join("children")).unwrap_or_default());
    lists.flat_map(|l| l.split_whitespace().map(String::from).collect::<Vec<_>>()).collect()
}

pub fn called_fio(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|c| c == "fio\n")
}

/// CPU time of a process so far, in ticks of the clock (mostly 10 ms).
pub fn ticks(pid: &str) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    after_name.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<u64>().ok()).sum()
}

#[test]
fn what_fio_cannot_do_is_refused_before_anything_runs() {
    if !installed() {
        return;
    }
    let bench = Bench::new();
    bench.file("f.dat", 4);
    let line = "run f.dat --rw randread --engine fio:libaio --rate-iops 1 --numjobs 3 --json r.json";
    bench
        .run(&line.split(' ').collect::<Vec<_>>())
        .ended(2)
        .says(&["cannot be said in fio's language", "fewer jobs"]);
    assert!(!bench.path().join("r.json").exists());
}

#[test]
fn a_rate_is_held_by_each_engine_of_fio() {
    if !installed() {
        return;
    }
    for (engine, depth) in [("io_uring", "4"), ("libaio", "4"), ("psync", "1")] {
        let bench = Bench::new();
        bench.file("f.dat", 4);
        let engine = format!("fio:{engine}");
        let load =
            ["run", "f.dat", "--rw", "randread", "--buffered", "--engine", &engine, "--iodepth", depth];
        let rest = ["--rate-iops", "300", "--runtime", "1s", "--json", "r.json"];
        bench.run(&[&load[..], &rest].concat()).ended(0);
        let record = bench.record();
        let read = record.steps[0].read.as_ref().unwrap();
        assert_eq!(read.bytes.0, read.ios * 4096, "{engine}");
        // Far below what the page cache gives.
        assert!(read.iops < 3000.0, "{engine}: {}", read.iops);
    }
}

#[test]
fn a_cross_check_sets_both_tools_side_by_side() {
    if !installed() {
        return;
    }
    let bench = Bench::new();
    bench.file("f.dat", 4);
    let line =
        "run f.dat --rw randread --buffered --engine psync --cross-check 2 --runtime 300ms --json r.json";
    let ran = bench.run(&line.split(' ').collect::<Vec<_>>()).ended(0);
    fits(&ran.out);
    assert!(ran.out.contains("2 alternating pairs"), "{}", ran.out);
    let record = bench.record();
    assert_eq!(record.steps.iter().map(|s| s.fio.is_some()).collect::<Vec<_>>(), [false, true, true, false]);
    let check = &record.cross_checks[0];
    assert_eq!((check.step.as_str(), check.pairs), ("randread", 2));
    let names: Vec<&str> = check.metrics.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["IOPS", "p50 latency", "p99 latency", "CPU per I/O"]);
    for metric in &check.metrics {
        assert!(metric.volproof > 0.0 && metric.fio > 0.0 && metric.comparison.is_some(), "{metric:?}");
    }
    let shown = bench.run(&["show", "r.json"]).ended(0);
    assert!(ran.out.starts_with(&shown.out), "shown again as at the run");
    let judged =
        bench.run(&["verdict", "r.json", "--promise", "alibaba:san_efficiency", "--volume-size", "20GiB"]);
    judged.ended(2).says(&["a cross-check compares two tools"]);
}
