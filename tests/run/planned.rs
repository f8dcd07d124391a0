//! `plan` refuses what `run` refuses, with the same exit code, and prints what `run` would do: over targets of every kind and loads that fit
//! together or do not.

use crate::Bench;

/// Files, folders and what is neither.
const TARGETS: [&str; 8] = ["f.dat", "data", "empty", "missing", "no/such/file", "pipe", "/dev/null", "link"];
/// Loads, of which some contradict themselves or what they are run on.
const LOADS: [&str; 16] = [
    "--rw randread",
    "--rw read --bs 1M",
    "--rw randwrite",
    "--rw randwrite --overwrite",
    "--rw randwrite --overwrite=shared --file-size 2M",
    "--rw trim",
    "--rw randread --bs 3",
    "--rw randread --bs 8M",
    "--rw randread --offset 64M",
    "--rw randread --iodepth 70000",
    "--rw randread --engine psync --iodepth 8",
    "--rw randread --engine libaio --buffered",
    "--rw randrw --rwmix 101",
    "--rw randread --numjobs 3 --size 1M --offset-increment 2M",
    "--rw randread --destroy nobody",
    "--plan p.toml",
];

#[test]
fn plan_and_run_refuse_the_same() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    bench.folder("data");
    std::fs::write(bench.path().join("empty"), "").unwrap();
    std::os::unix::fs::symlink("f.dat", bench.path().join("link")).unwrap();
    let fifo = bench.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let plan = "[[step]]\nrw = 'randread'\ntargets = ['missing']\nruntime = '20ms'\nramp = '0s'\n";
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    let (mut done, mut refused) = (0, 0);
    // Each target with half of the loads, each load with half of the targets.
    let cases = (0..TARGETS.len()).flat_map(|t| (0..LOADS.len()).map(move |l| (t, l)));
    for (t, l) in cases.filter(|(t, l)| (t + l) % 2 == 0) {
        let load: Vec<&str> = LOADS[l].split(' ').collect();
        let mut line = [&[TARGETS[t]][..], &load].concat();
        if !load.contains(&"--plan") {
            line.extend(["--runtime", "20ms", "--ramp", "0"]);
        }
        if !load.contains(&"--file-size") {
            line.extend(["--file-size", "1M"]);
        }
        let planned = bench.run(&[&["plan"], &line[..]].concat());
        let ran = bench.run(&[&["run"], &line[..], &["--json", "r.json", "-q"]].concat());
        let refuses = |code: Option<i32>| code.filter(|code| [2, 3].contains(code));
        assert_eq!(
            refuses(planned.code),
            refuses(ran.code),
            "{line:?}\n-- plan:\n{}\n-- run:\n{}",
            planned.err,
            ran.err
        );
        match refuses(ran.code) {
            Some(_) => refused += 1,
            None => {
                assert_eq!(planned.code, Some(0), "{line:?}: {}", planned.err);
                done += 1;
            }
        }
    }
    assert!(done > 5 && refused > 20, "{done} ran and {refused} were refused");
}
