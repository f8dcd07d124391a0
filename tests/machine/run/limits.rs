//! Loads that need more than the system allows are refused by the name of the limit, before anything is made.

use crate::run::{Bench, Ran};

#[test]
fn more_rings_than_open_files_are_refused_and_a_soft_limit_is_raised() {
    let bench = Bench::new();
    bench.folder("data");
    let limited = |limit: &str, line: &str| {
        let script = format!("ulimit {limit}; exec {} {line}", env!("CARGO_BIN_EXE_volproof"));
        Ran::of(bench.program("bash").args(["-c", &script]).output().unwrap())
    };
    let load = "data --rw randread --file-size 64M --numjobs 600 --runtime 10ms";
    for command in ["plan", "run"] {
        let ran = limited("-n 256", &format!("{command} {load}")).ended(2);
        ran.says(&["need 600 open files", "RLIMIT_NOFILE", "ulimit -n 1024", "fewer jobs"]);
    }
    limited("-S -n 256", &format!("plan {load}")).ended(0);
    limited("-n 256", &format!("plan {load} --engine psync")).ended(0);
    assert_eq!(Bench::names(&bench.path().join("data")), [""; 0]);
}

/// A message repeats no input of any length, and no word of any length is compared with all names.
#[test]
fn a_message_is_short_whatever_it_repeats() {
    let bench = Bench::new();
    let long = "z".repeat(100_000);
    std::fs::write(bench.path().join("section.fio"), "[".repeat(1_000_000)).unwrap();
    std::fs::write(bench.path().join("option.fio"), "[a]\n".to_string() + &long + "=1\n").unwrap();
    for (words, code) in [
        (vec!["run", ".", "--rw", &long], 2),
        (vec!["run", ".", &("--".to_string() + &long)], 2),
        (vec!["promise", &long], 2),
        (vec!["fio", "--parse-only", "section.fio"], 1),
        (vec!["fio", "--parse-only", "option.fio"], 1),
    ] {
        let ran = bench.run(&words);
        assert_eq!(ran.code, Some(code), "{:.50?}", words);
        assert!(ran.err.len() < 10_000, "{:.50?}: {} bytes", words, ran.err.len());
    }
}
