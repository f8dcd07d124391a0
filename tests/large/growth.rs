//! What a run costs when there is more of something: CPU time for twice, four times and eight times as many steps, jobs, sections of a job file,
//! targets, machines of a fleet, and descriptors that others have open. Work in proportion takes eight times as much, work that grows with the square sixty-four times:
//! the load of the machine lies far below that.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Resource;

use super::fleet_of_a_thousand::{machine, rank};

/// The most CPU time for eight times as much.
const MOST: f64 = 20.0;
/// The most memory of the largest, in KiB.
const MOST_MEMORY: i64 = 512 << 10;

/// Something that grows: its name, the least number of it, and the words of the command for so many in this folder.
type Row = (&'static str, usize, fn(&Path, usize) -> Vec<String>);

const ROWS: [Row; 6] = [
    ("steps", 125, |folder, n| {
        let step = |i| format!("[[step]]\nname = 's{i}'\nrw = 'randread'\nruntime = '1s'\n");
        std::fs::write(folder.join("plan"), (0..n).map(step).collect::<String>()).unwrap();
        words("run --plan plan --simulate latency=10ms --json steps.json")
    }),
    ("jobs", 32, |_, n| {
        words(&format!(
            "run --simulate latency=1ms --rw randread --numjobs {n} --runtime 2s --json jobs.json"
        ))
    }),
    ("job sections", 1_000, |folder, n| {
        let sections: String = (0..n).map(|i| format!("[j{i}]\n")).collect();
        std::fs::write(folder.join("jobs"), format!("[global]\nrw=read\n{sections}")).unwrap();
        words("fio --parse-only jobs")
    }),
    ("targets", 20, |folder, n| {
        let target = |i| {
            let name = format!("target{i}");
            File::create(folder.join(&name)).unwrap().set_len(1 << 20).unwrap();
            name
        };
        let load = words("run --rw randread --buffered --runtime 300ms --json targets.json");
        load.into_iter().chain((0..n).map(target)).collect()
    }),
    ("machines", 32, |folder, n| {
        let one = machine(10);
        let write = |i| {
            let name = format!("rank{i}.json");
            std::fs::write(folder.join(&name), serde_json::to_vec(&rank(&one, i as u32, n as u32)).unwrap())
                .unwrap();
            name
        };
        words("merge --output merged.json").into_iter().chain((0..n).map(write)).collect()
    }),
    ("descriptors of others", 1_000, |folder, n| {
        let name = folder.join("target");
        File::create(&name).unwrap().set_len(1 << 20).unwrap();
        // This process is the other one.
        let held = (0..n).map(|_| File::open(&name).unwrap());
        std::mem::forget(held.collect::<Vec<_>>());
        words("check target")
    }),
];

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_string).collect()
}

/// CPU seconds of the children so far, and the most KiB that one of them had.
fn used() -> (f64, i64) {
    // SAFETY: the kernel fills all of it.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage), 0);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss)
}

/// CPU seconds of one command.
fn work(folder: &Path, arguments: &[String]) -> f64 {
    let before = used().0;
    let mut command = Command::new(env!("CARGO_BIN_EXE_volproof"));
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().unwrap();
    used().0 - before
}

#[test]
fn work_grows_with_the_number_of_things() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    rustix::process::setrlimit(Resource::Nofile, rustix::process::Rlimit { current: limit.maximum, ..limit })
        .unwrap();
    let mut wrong = Vec::new();
    println!("{:24}{:>8}{:>9}{:>7}{:>7}{:>7}", "CPU time of a run", "least", "seconds", "x2", "x4", "x8");
    for (name, least, grown) in ROWS {
        let folder = tempfile::tempdir().unwrap();
        let seconds = [1, 2, 4, 8].map(|times| work(folder.path(), &grown(folder.path(), least * times)));
        let [two, four, eight] = [1, 2, 3].map(|i| seconds[i] / seconds[0]);
        println!("{name:24}{least:>8}{:>9.2}{two:>7.1}{four:>7.1}{eight:>7.1}", seconds[0]);
        if eight > MOST {
            wrong.push(format!("{name}: {eight:.1} times the work for eight times as many"));
        }
    }
    let most = used().1;
    println!("the most memory: {} MiB", most >> 10);
    assert!(wrong.is_empty() && most < MOST_MEMORY, "{}; {most} KiB", wrong.join("\n"));
}
