//! Jobs whose outcome the installed fio shows too: what both do with one command, side by side.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Bench, Ran};

/// One command by fio and by us, each in a folder of its own with the same files. None where fio is not installed.
struct Both {
    fio: Ran,
    ours: Ran,
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
        Some(Both { fio, ours })
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
    for call in policies {
        assert!(
            call.starts_with("set_mempolicy(MPOL_BIND, [0x00000000000001, 0") && call.ends_with("= 0"),
            "{call}"
        );
    }
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
