//! Memory does not grow with the length of a run beyond one small histogram a second.

use std::process::Command;

use crate::run::{Bench, Ran};

/// Reads and writes at depth 2 on a device in virtual time whose latencies fill some 200 buckets of each histogram.
const PLAN: &str = "name = 'long'\n[[step]]\nname = 'long'\nrw = 'randrw'\nengine = 'null'\niodepth = 2\nruntime = 'LENGTH'\n\
                    simulate = { latency = '100us', jitter = '10ms' }\n";

/// Starts a program from a small process of its own and prints its peak in KiB: a child of this test would be charged
/// with the memory of the test, which it has until it becomes another program.
const PEAK: &str = "import resource, subprocess, sys\n\
                    code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)\n\
                    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n\
                    sys.exit(code)";

/// The most memory that a run of this length ever had, in bytes, and the seconds in its Record.
fn peak(length: &str) -> Option<(u64, usize)> {
    let bench = Bench::new();
    std::fs::File::create(bench.path().join("f.dat")).unwrap().set_len(1 << 20).unwrap();
    std::fs::write(bench.path().join("plan.toml"), PLAN.replace("LENGTH", length)).unwrap();
    let run = ["run", "f.dat", "--plan", "plan.toml", "--json", "r.json", "--quiet"];
    let mut command = Command::new("python3");
    command.args(["-c", PEAK, env!("CARGO_BIN_EXE_volproof")]).args(run).current_dir(bench.path());
    let output = match command.output() {
        Ok(output) => Ran::of(output).ended(0),
        Err(e) => {
            println!("skipped: python3: {e}");
            return None;
        }
    };
    let kib: u64 = output.out.trim().parse().unwrap();
    let seconds = bench.record().steps[0].targets[0].series.read.as_ref().unwrap().service.len();
    Some((kib << 10, seconds))
}

#[test]
fn an_hour_fits_into_64_mib() {
    let Some((minute, seconds)) = peak("1m") else { return };
    assert_eq!(seconds, 60);
    let Some((hour, seconds)) = peak("1h") else { return };
    assert_eq!(seconds, 3600);
    assert!(hour < 64 << 20, "{hour} bytes");
    // Two histograms of 200 buckets are 3.2 KB; counts every 100 ms are 0.6 KB; the rest is room for summing up.
    let growth = hour.saturating_sub(minute) / 3540;
    assert!(growth < 8 << 10, "{growth} bytes a second, from {minute} to {hour}");
}
