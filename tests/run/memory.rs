//! Memory does not grow with the length of a run beyond one small histogram a second.

use std::process::Stdio;

use crate::Bench;

/// Reads and writes at depth 2 on a device in virtual time whose latencies fill some 200 buckets of each histogram.
const PLAN: &str = "name = 'long'\n[[step]]\nname = 'long'\nrw = 'randrw'\nengine = 'null'\niodepth = 2\nruntime = 'LENGTH'\n\
                    simulate = { latency = '100us', jitter = '10ms' }\n";

/// The most memory that a run of this length ever had, in bytes, and the seconds in its Record.
#[expect(clippy::zombie_processes, reason = "wait4 waits, and tells the peak too")]
fn peak(length: &str) -> (u64, usize) {
    let bench = Bench::new();
    std::fs::File::create(bench.path().join("f.dat")).unwrap().set_len(1 << 20).unwrap();
    std::fs::write(bench.path().join("plan.toml"), PLAN.replace("LENGTH", length)).unwrap();
    let mut command = bench.command(&["run", "f.dat", "--plan", "plan.toml", "--json", "r.json", "--quiet"]);
    let child = command.stdout(Stdio::null()).spawn().unwrap();
    let (mut status, mut used) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: the child is ours and waited for nowhere else; the kernel writes one status and one rusage.
    let waited = unsafe { libc::wait4(child.id() as i32, &raw mut status, 0, used.as_mut_ptr()) };
    assert_eq!((waited, status), (child.id() as i32, 0));
    // SAFETY: wait4 has filled it, and zeros would be valid too.
    let kib = unsafe { used.assume_init() }.ru_maxrss as u64;
    let seconds = bench.record().steps[0].targets[0].series.read.as_ref().unwrap().service.len();
    (kib << 10, seconds)
}

#[test]
fn an_hour_fits_into_64_mib() {
    let (minute, seconds) = peak("1m");
    assert_eq!(seconds, 60);
    let (hour, seconds) = peak("1h");
    assert_eq!(seconds, 3600);
    assert!(hour < 64 << 20, "{hour} bytes");
    // Two histograms of 200 buckets are 3.2 KB; counts every 100 ms are 0.6 KB; the rest is room for summing up.
    let growth = hour.saturating_sub(minute) / 3540;
    assert!(growth < 8 << 10, "{growth} bytes a second, from {minute} to {hour}");
}
