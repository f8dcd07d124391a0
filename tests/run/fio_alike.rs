//! Jobs whose outcome the installed fio shows too: what both do with one command, side by side.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Bench, Ran, fits};

/// One command by fio and by us, each in a folder of its own with the same files. None where fio is not installed.
struct Both {
    fio: Ran,
    ours: Ran,
    /// Their folders: fio's, and ours.
    benches: [Bench; 2],
}

impl Both {
    fn run(files: &[&str], arguments: &[&str]) -> Option<Both> {
        let Some(fio) = volproof::fio::installed::find(&std::env::var_os("PATH").unwrap_or_default()) else {
            println!("skipped: fio is not installed");
            return None;
        };
        let benches = [Bench::new(), Bench::new()];
        for bench in &benches {
            files.iter().for_each(|name| drop(bench.file(name, 4)));
        }
        let mut command = Command::new(fio);
        command.args(arguments).current_dir(benches[0].path()).stdin(Stdio::null());
        let fio = Ran::of(command.output().unwrap());
        let ours = benches[1].run(&[&["fio"], arguments].concat());
        assert!(!ours.err.contains(" runs this: "), "it runs natively:\n{}", ours.err);
        assert_eq!(ours.code, fio.code, "\n-- ours:\n{}\n-- fio's:\n{}", ours.err, fio.err);
        Some(Both { fio, ours, benches })
    }

    /// Both reports.
    fn reports(&self) -> [Value; 2] {
        [&self.fio, &self.ours].map(|ran| {
            let start = ran.out.find("{\n").unwrap_or_else(|| panic!("no report: {}\n{}", ran.out, ran.err));
            serde_json::from_str(&ran.out[start..]).unwrap_or_else(|e| panic!("{e}: {}", ran.out))
        })
    }

    /// The rows have the same keys; percentiles and bins need samples, and are left out.
    #[track_caller]
    fn same_keys(&self) {
        let [theirs, ours] = self.reports().map(|report| keys(&report["jobs"]));
        let missing: Vec<_> = theirs.difference(&ours).collect();
        let more: Vec<_> = ours.difference(&theirs).collect();
        assert!(missing.is_empty() && more.is_empty(), "missing {missing:?}, more {more:?}");
    }
}

/// Paths of all keys.
fn keys(value: &Value) -> BTreeSet<String> {
    fn walk(value: &Value, at: &str, into: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                for (key, value) in
                    members.iter().filter(|(k, _)| !matches!(k.as_str(), "percentile" | "bins"))
                {
                    let path = format!("{at}/{key}");
                    walk(value, &path, into);
                    into.insert(path);
                }
            }
            Value::Array(all) => {
                all.iter().enumerate().for_each(|(i, v)| walk(v, &format!("{at}[{i}]"), into))
            }
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    walk(value, "", &mut found);
    found
}

#[test]
fn a_job_below_its_minimum_ends_as_fios_does() {
    let line =
        ["--output-format=json", "--filename=f", "--size=1m", "--time_based", "--runtime=20", "--rw=read"];
    let slow =
        ["--name=a", "--thinktime=100ms", "--ratemin=1m", "--rate_cycle=200", "--continue_on_error=all"];
    let beside = ["--name=b", "--runtime=1", "--rate_iops_min=1", "--continue_on_error=all"];
    let Some(both) = Both::run(&["f"], &[&line[..], &slow, &beside].concat()) else { return };
    assert_eq!(both.ours.code, Some(1), "one job has failed");
    for ran in [&both.fio, &both.ours] {
        assert!(ran.err.contains("a: rate_min=1048576B/s not met, got "), "{}", ran.err);
    }
    both.same_keys();
    for report in both.reports() {
        let rows = report["jobs"].as_array().unwrap();
        let of = |key: &str| rows.iter().map(|r| r[key].as_i64().unwrap()).collect::<Vec<_>>();
        assert_eq!((of("error"), of("total_err"), of("first_error")), (vec![5, 0], vec![0, 0], vec![0, 0]));
        let runtime = rows[0]["read"]["runtime"].as_u64().unwrap();
        assert!((2200..20_000).contains(&runtime), "after it settled, before its time: {runtime}");
    }
}

#[test]
fn a_step_below_its_minimum_fails_the_run() {
    let bench = Bench::new();
    let plan = "[[step]]\nname = 'slow'\nengine = 'null'\nruntime = '5s'\nrate-iops-min = 2000\n\
                simulate = { latency = '1ms' }\n[[step]]\nname = 'never'\nengine = 'null'\n";
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    let ran = bench.run(&["run", "--plan", "p.toml", "--json", "r.json"]).ended(1);
    assert!(ran.out.contains("rate_iops_min=2000 not met"), "{}\n{}", ran.out, ran.err);
    let record = bench.record();
    assert_eq!(record.steps.len(), 1, "a step that fails ends the run");
    let missed = record.steps[0].missed_rate.as_ref().unwrap();
    assert_eq!((missed.worker, missed.in_bytes, missed.wanted), (0, false, 2000.0));
    assert!((900.0..=1000.0).contains(&missed.reached), "{missed:?}");
    assert!(record.warnings.iter().any(|w| w.code == "missed-rate"));
}

/// System calls of these names that a run of ours makes in its load threads; none where strace may not trace.
fn traced(bench: &Bench, calls: &str, arguments: &[&str]) -> Option<Vec<String>> {
    if !crate::threads::can_trace() {
        return None;
    }
    let out = Command::new("strace")
        .args(["-f", "-qq", "-o", "trace", "-e", &format!("trace={calls}")])
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

#[test]
fn memory_and_cpus_are_those_of_the_nodes() {
    if !std::path::Path::new("/sys/devices/system/node/node0").exists() {
        return println!("skipped: this kernel has no NUMA");
    }
    let line = [
        "--output-format=json",
        "--name=a",
        "--filename=f",
        "--size=256k",
        "--ioengine=libaio",
        "--iodepth=4",
    ];
    let nodes = ["--numa_cpu_nodes=0", "--numa_mem_policy=bind:0", "--cpus_allowed=0", "--numjobs=2"];
    let Some(both) = Both::run(&["f"], &[&line[..], &nodes].concat()) else { return };
    both.same_keys();
    // Nodes that are not there are refused by both.
    Both::run(&["f"], &[&line[..], &["--numa_cpu_nodes=0,999"]].concat());
    Both::run(&["f"], &[&line[..], &["--numa_mem_policy=bind:999"]].concat());
    let bench = Bench::new();
    bench.file("f", 4);
    let arguments = [&["fio"], &line[..], &nodes].concat();
    let Some(calls) = traced(&bench, "set_mempolicy,sched_setaffinity", &arguments) else { return };
    let policies: Vec<_> = calls.iter().filter(|c| c.starts_with("set_mempolicy(")).collect();
    assert_eq!(policies.len(), 2, "one for each job: {calls:?}");
    let expected = "set_mempolicy(MPOL_BIND, [0x00000000000001, 0";
    assert!(policies.iter().all(|call| call.starts_with(expected)), "{policies:?}");
}

#[test]
fn a_plan_that_names_a_missing_node_is_refused_before_anything_runs() {
    let bench = Bench::new();
    bench.file("f.dat", 1);
    let plan = "[[step]]\nname = 'a'\nnuma-cpu-nodes = '0-999'\n";
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    let ran = bench.run(&["run", "f.dat", "--plan", "p.toml", "--json", "r.json"]).ended(2);
    ran.says(&["step 'a': "]);
    assert!(!bench.path().join("r.json").exists());
}

/// Reads and writes of 4 and 8 KiB with priorities by size: no read of 4 KiB has that of the job.
const PRIORITIES: [&str; 11] = [
    "--name=a",
    "--filename=f",
    "--size=4m",
    "--rw=randrw",
    "--bssplit=4k/50:8k/50",
    "--direct=1",
    "--iodepth=8",
    "--prioclass=2",
    "--prio=7",
    "--cmdprio_bssplit=4k/25/1/1:4k/75/3/2:8k/0,8k/30/1/0",
    "--log_prio=1",
];

/// Class, level and count of each priority of a direction.
fn priorities(row: &Value, direction: &str) -> Vec<(u64, u64, u64)> {
    let all = row[direction]["prios"].as_array().cloned().unwrap_or_default();
    let number = |v: &Value| v.as_u64().unwrap();
    let count =
        |p: &Value| number(if p["lat_ns"].is_object() { &p["lat_ns"]["N"] } else { &p["clat_ns"]["N"] });
    all.iter().map(|p| (number(&p["prioclass"]), number(&p["prio"]), count(p))).collect()
}

#[test]
fn requests_have_the_priorities_of_fios() {
    for more in [
        &["--ioengine=libaio"][..],
        &["--ioengine=io_uring", "--lat_percentiles=1"],
        &["--ioengine=io_uring", "--unified_rw_reporting=both", "--clat_percentiles=0"],
    ] {
        let line = [more, &PRIORITIES[..], &["--output-format=json", "--write_lat_log=l"]].concat();
        let Some(both) = Both::run(&["f"], &line) else { return };
        both.same_keys();
        for (report, bench) in both.reports().iter().zip(&both.benches) {
            let row = &report["jobs"][0];
            let (reads, writes) = (priorities(row, "read"), priorities(row, "write"));
            let named = |all: &[(u64, u64, u64)]| all.iter().map(|p| (p.0, p.1)).collect::<Vec<_>>();
            assert_eq!(named(&reads), [(2, 7), (1, 1), (3, 2)], "{more:?}");
            assert_eq!(named(&writes), [(2, 7), (1, 0)], "{more:?}");
            for (all, direction) in [(&reads, "read"), (&writes, "write")] {
                let sum: u64 = all.iter().map(|p| p.2).sum();
                assert_eq!(Some(sum), row[direction]["total_ios"].as_u64(), "{direction} {more:?}");
            }
            // Three quarters of the small reads, of which there are some 200.
            let share = reads[2].2 as f64 / (reads[1].2 + reads[2].2) as f64;
            assert!((0.55..0.92).contains(&share), "{reads:?} {more:?}");
            let log = std::fs::read_to_string(bench.path().join("l_lat.1.log")).unwrap();
            let logged = |p: &str| log.lines().filter(|l| l.ends_with(p)).count() as u64;
            assert_eq!((logged(" 0x2001"), logged(" 0x6002")), (reads[1].2, reads[2].2), "{more:?}");
            assert_eq!(logged(" 0x2000"), writes[1].2, "{more:?}");
        }
    }
}

#[test]
fn the_text_tells_priorities_in_fios_lines() {
    let line = [&["--ioengine=libaio"], &PRIORITIES[..], &["--write_lat_log=l", "--log_prio=0"]].concat();
    let Some(both) = Both::run(&["f"], &line) else { return };
    let lines = |ran: &Ran| -> Vec<String> {
        let told = ran.out.lines().filter(|l| l.contains(" prio "));
        told.map(|l| {
            l.split(" (").next().unwrap().to_string() + if l.contains("percentiles") { ":" } else { "" }
        })
        .collect()
    };
    assert_eq!(lines(&both.ours), lines(&both.fio));
    let each = ["clat prio 2/7", "clat prio 1/1", "clat prio 3/2", "clat prio 2/7", "clat prio 1/0"];
    assert_eq!(lines(&both.ours).len(), 2 * each.len(), "{}", both.ours.out);
    for bench in &both.benches {
        let log = std::fs::read_to_string(bench.path().join("l_lat.1.log")).unwrap();
        assert!(log.lines().any(|l| l.ends_with(", 1")) && log.lines().any(|l| l.ends_with(", 0")), "{log}");
    }
}

#[test]
fn one_priority_alone_is_not_told_apart() {
    let line = [
        "--output-format=json",
        "--name=a",
        "--filename=f",
        "--size=1m",
        "--ioengine=libaio",
        "--prioclass=1",
    ];
    for more in [
        &["--cmdprio_percentage=0"][..],
        &["--cmdprio_percentage=50"],
        &["--disable_clat=1", "--cmdprio_percentage=50", "--cmdprio=1"],
    ] {
        let Some(both) = Both::run(&["f"], &[&line[..], more].concat()) else { return };
        both.same_keys();
        assert_eq!(priorities(&both.reports()[1]["jobs"][0], "read"), [], "{more:?}");
    }
    // Both ways at once are refused by both.
    Both::run(&["f"], &[&line[..], &["--cmdprio_percentage=20", "--cmdprio_bssplit=4k/50"]].concat());
}

#[test]
fn the_kernel_is_told_the_priorities() {
    let bench = Bench::new();
    bench.file("f", 4);
    let line =
        [&["fio", "--ioengine=libaio"], &PRIORITIES[..], &["--numjobs=2", "--group_reporting"]].concat();
    let Some(calls) = traced(&bench, "ioprio_set,io_submit", &line) else { return };
    let set: Vec<_> = calls.iter().filter(|c| c.starts_with("ioprio_set(")).collect();
    assert_eq!(set.len(), 2, "one for each job: {set:?}");
    // strace cuts lines of threads that call at the same time; a refused call ends the run.
    let expected = "ioprio_set(IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 7)";
    assert!(set.iter().all(|call| call.starts_with(expected)), "{set:?}");
    let told = |prio: &str| calls.iter().filter(|c| c.contains(prio)).count();
    for prio in ["IOPRIO_CLASS_RT, 1)", "IOPRIO_CLASS_IDLE, 2)", "IOPRIO_CLASS_RT, 0)", "IOCB_FLAG_IOPRIO"] {
        assert!(told(prio) > 0, "{prio} in none of {} calls", calls.len());
    }
}

#[test]
fn a_plan_gives_requests_priorities() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    let plan = "[[step]]\nname = 'a'\niodepth = 4\nruntime = '1s'\nramp = '200ms'\nprio = 'be/6'\n\
                cmdprio = [{ percent = 20, prio = 'rt/0' }]\n";
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    let ran = bench.run(&["run", "f.dat", "--plan", "p.toml", "--json", "r.json"]).ended(0);
    for words in ["Service latency by priority of the requests", "a read be/6", "a read rt/0"] {
        assert!(ran.out.contains(words), "{}", ran.out);
    }
    fits(&ran.out);
    let record = bench.record();
    let step = &record.steps[0];
    let read = step.read.as_ref().unwrap();
    let counts: Vec<_> =
        step.priorities.iter().map(|p| (p.prio.to_string(), p.service_latency_ns.samples)).collect();
    assert_eq!(counts.iter().map(|c| c.0.as_str()).collect::<Vec<_>>(), ["be/6", "rt/0"]);
    assert_eq!(counts.iter().map(|c| c.1).sum::<u64>(), read.ios, "each I/O of the window once");
    let share = counts[1].1 as f64 / read.ios as f64;
    assert!((0.1..0.3).contains(&share), "{counts:?}");
    let slowest = step.priorities.iter().map(|p| p.service_latency_ns.max).max();
    assert_eq!(slowest, Some(read.service_latency_ns.max));
}
