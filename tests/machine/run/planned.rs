//! `plan` refuses what `run` refuses, with the same exit code, and so does the `--dry-run` of each command that measures: over drawn command
//! lines, whose targets, loads, promises and outputs fit together or do not.

use std::os::unix::fs::symlink;
use std::process::Command;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::run::Bench;

/// Files, folders and what is neither.
const TARGETS: [&str; 10] =
    ["f.dat", "f.dat", "data", "data", "empty", "missing", "no/such/file", "pipe", "/dev/null", "link"];
/// The loads that a line begins with.
const LOADS: [&str; 8] = [
    "--rw randread",
    "--rw read --bs 1M",
    "--rw randwrite",
    "--rw randwrite --overwrite",
    "--rw randrw --overwrite=shared",
    "--rw trim",
    "--plan p.toml",
    "--plan broken.toml",
];
/// What may follow, each at most once. More than half of it is good by itself.
const MORE: [&str; 40] = [
    "--simulate latency=200us",
    "--simulate latency=200us",
    "--simulate lotency=1",
    "--iodepth 4",
    "--iodepth 70000",
    "--numjobs 3",
    "--numjobs 5000",
    "--bs 16k",
    "--bs 3",
    "--bs 8M",
    "--size 512k",
    "--size 64M",
    "--offset 64M",
    "--engine psync",
    "--engine libaio --buffered",
    "--engine fio",
    "--rwmix 30",
    "--rwmix 101",
    "--fsync 4",
    "--sync dsync",
    "--rate-iops 1000",
    "--rate-iops 0",
    "--rate-iops 1000 --rate-bw 1M",
    "--cpus 0",
    "--cpus 4000",
    "--destroy nobody",
    "--seed 7",
    "--promise alibaba:cloud_essd.PL1 --volume-size 100GiB",
    "--promise no-such-type",
    "--tolerance 5",
    "--tune off",
    "--precondition fill",
    "--csv table.csv --html page.html",
    "--csv f.dat",
    "--html data",
    "--junit /no/such/folder/j.xml",
    "--markdown one --openmetrics one",
    "--csv p.toml",
    "--start-at 2020-01-01T00:00:00Z",
    "--fit etcd --runtime 1s",
];

struct Lines(Xoshiro256PlusPlus);

impl Lines {
    fn below(&mut self, limit: usize) -> usize {
        (self.0.next_u64() % limit as u64) as usize
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    /// The arguments of `run` and `plan`.
    fn line(&mut self) -> Vec<&'static str> {
        let mut words = vec![self.one_of(&TARGETS)];
        if self.below(8) == 0 {
            words.push(self.one_of(&TARGETS));
        }
        words.extend(self.one_of(&LOADS).split(' '));
        for _ in 0..self.below(4) {
            let more: Vec<&str> = self.one_of(&MORE).split(' ').collect();
            let given = |option: &&str| option.starts_with("--") && words.contains(option);
            if !more.iter().any(given) {
                words.extend(more);
            }
        }
        if !words.contains(&"--runtime") {
            words.extend(["--runtime", "10ms"]);
        }
        // Where no file is made in a folder, these are refused (`refusals`).
        if words.contains(&"data") {
            words.extend(["--file-size", "2M"]);
            if words.contains(&"--seed") {
                words.push("--keep");
            }
        }
        words
    }
}

/// A folder with targets of every kind.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    bench.folder("data");
    std::fs::write(bench.path().join("empty"), "").unwrap();
    symlink("f.dat", bench.path().join("link")).unwrap();
    let fifo = bench.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let plan = "[[step]]\nrw = 'randread'\ntargets = ['missing']\nruntime = '20ms'\nramp = '0s'\n";
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    std::fs::write(bench.path().join("broken.toml"), "[[step]]\niodepth = 0\n").unwrap();
    bench
}

/// Runs a line dry and in earnest. True where both refuse.
fn both_refuse(bench: &Bench, dry: &[&str], earnest: &[&str]) -> bool {
    let before = Bench::names(bench.path());
    let planned = bench.run(dry);
    assert_eq!(Bench::names(bench.path()), before, "{dry:?} left something");
    let ran = bench.run(earnest);
    let refuses = |code: Option<i32>| code.filter(|code| [2, 3].contains(code));
    let (plan, run) = (refuses(planned.code), refuses(ran.code));
    assert_eq!(plan, run, "{earnest:?}\n-- dry:\n{}\n-- run:\n{}", planned.err, ran.err);
    if run.is_none() {
        assert_eq!(planned.code, Some(0), "{earnest:?}: {}", planned.err);
    }
    run.is_some()
}

#[test]
fn plan_and_run_refuse_the_same() {
    let bench = bench();
    let mut lines = Lines(Xoshiro256PlusPlus::seed_from_u64(10));
    let (mut done, mut refused) = (0, 0);
    for _ in 0..120 {
        let line = lines.line();
        let dry = [&["plan"], &line[..]].concat();
        let earnest = [&["run"], &line[..], &["--json", "r.json", "-q"]].concat();
        match both_refuse(&bench, &dry, &earnest) {
            true => refused += 1,
            false => done += 1,
        }
    }
    println!("{done} lines ran and {refused} were refused");
    assert!(done > 15 && refused > 40, "{done} ran and {refused} were refused");
}

#[test]
fn a_dry_run_refuses_what_the_run_refuses() {
    let bench = bench();
    let simulated = "--simulate latency=1ms";
    let (mut done, mut refused) = (0, 0);
    for (command, own) in [
        ("sweep", "--iodepth 1,2 --runtime 1s"),
        ("slo", "--p99 5ms --runtime 1s"),
        ("cold", ""),
        ("fit", "--for etcd --runtime 1s"),
        ("million", "--runtime 1s"),
    ] {
        for rest in [
            "f.dat --json f.dat",
            "missing",
            "pipe --json r.json",
            "f.dat --rw randwrite --json r.json",
            "f.dat --csv /dev/null/x",
            "f.dat f.dat",
            "--html data",
            "--json r.json",
        ] {
            let mut line: Vec<&str> =
                [command, own, rest].iter().flat_map(|w| w.split_whitespace()).collect();
            line.extend(simulated.split(' '));
            line.push("-q");
            let dry = [&line[..], &["--dry-run"]].concat();
            match both_refuse(&bench, &dry, &line) {
                true => refused += 1,
                false => done += 1,
            }
        }
    }
    println!("{done} lines ran and {refused} were refused");
    assert!(done >= 3 && refused > 10, "{done} ran and {refused} were refused");
}

#[test]
fn no_writes_are_announced_that_a_run_does_not_do() {
    let bench = Bench::new();
    bench.folder("data");
    let plan = |line: &str| {
        bench.run(&["plan", "data"].into_iter().chain(line.split(' ')).collect::<Vec<_>>()).ended(0).out
    };
    let simulated = plan("--rw randwrite --runtime 30s --simulate latency=200us");
    assert!(simulated.contains("nothing is written there, since the device is simulated"), "{simulated}");
    assert!(
        simulated.contains("writes   nothing") && simulated.contains("30 s for the steps"),
        "{simulated}"
    );
    let small = plan("--rw randread --size 64m");
    assert!(small.contains("writes   64 MiB") && small.contains("its steps use no more"), "{small}");
}

/// A simulated volume takes no room, so that its result is the same on every machine.
#[test]
fn a_simulated_volume_may_be_larger_than_the_free_space() {
    let bench = Bench::new();
    bench.folder("data");
    let load = "--rw randread --runtime 60s --simulate latency=1ms --json r.json";
    bench.run(&format!("run data --file-size 900T {load}").split(' ').collect::<Vec<_>>()).ended(0);
    assert_eq!(bench.record().targets[0].size_bytes.0, 900 << 40);
    bench.run(&format!("run data {load} --force").split(' ').collect::<Vec<_>>()).ended(0);
    assert_eq!(bench.record().targets[0].size_bytes.0, 32 << 30);
}
