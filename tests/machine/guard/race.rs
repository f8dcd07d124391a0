//! Somebody formats the disk while a run begins: either the run sees it and writes nothing, or the disk was the run's already
//! and could not be formatted. strace stops the program after each of its opens and closes of a loop device of our own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::guard::traced_loop::Device;

const SIZE: u64 = 64 << 20;

impl Device {
    fn image(&self) -> PathBuf {
        self.dir.path().join("image")
    }

    /// Zeros over the whole device, through the file below.
    fn wipe(&self) {
        let file = fs::OpenOptions::new().write(true).open(self.image()).unwrap();
        file.set_len(0).unwrap();
        file.set_len(SIZE).unwrap();
        assert!(Command::new("blockdev").args(["--flushbufs", &self.path]).status().unwrap().success());
    }

    fn contents(&self) -> Vec<u8> {
        fs::read(self.image()).unwrap()
    }

    /// Gives the disk to somebody else, if it is to be had.
    fn format(&self) -> bool {
        let mut mke2fs = Command::new("mke2fs");
        mke2fs.args(["-q", "-F", "-t", "ext4", &self.path]).stdin(Stdio::null()).stderr(Stdio::null());
        mke2fs.status().unwrap().success()
    }
}

/// The process that this one has started: its number, state and parent are before and after its name in `stat`.
fn child_of(parent: u32) -> Option<i32> {
    fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (head, tail) = stat.rsplit_once(')')?;
        let of = tail.split_ascii_whitespace().nth(1)?.parse() == Ok(parent);
        of.then(|| head.split_once(' ')?.0.parse().ok())?
    })
}

/// Waits for the traced program to stop, and names it; none when it has ended instead.
fn stopped(strace: &mut Child, log: &Path) -> Option<rustix::process::Pid> {
    let begun = Instant::now();
    loop {
        if fs::read_to_string(log).is_ok_and(|l| l.contains("stopped by SIGSTOP")) {
            return child_of(strace.id()).and_then(rustix::process::Pid::from_raw);
        }
        if strace.try_wait().unwrap().is_some() {
            return None;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it neither stops nor ends");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The run came to its end; in 50 ms it need not have measured anything, which ends with 7, nor anything valid, which ends with 6.
fn ran(code: Option<i32>) -> bool {
    matches!(code, Some(0 | 6 | 7))
}

#[test]
fn a_disk_formatted_while_a_run_begins_is_refused_or_cannot_be_formatted() {
    let Some(device) = Device::attach(SIZE) else { return };
    let check = Command::new(env!("CARGO_BIN_EXE_volproof"))
        .args(["check", &device.path, "--json"])
        .output()
        .unwrap();
    let check: serde_json::Value = serde_json::from_slice(&check.stdout).unwrap();
    let consent = check["consent"].as_str().unwrap();
    let log = device.dir.path().join("strace");
    let (mut refused, mut kept_out, mut before_the_look) = (0, 0, 0);
    for call in ["openat", "close"] {
        for n in 1..500 {
            let _turn = crate::guard::rig::turn(false);
            device.wipe();
            let _ = fs::remove_file(&log);
            let mut strace = Command::new("strace")
                .args(["-qq", "-P", &device.path, "-e", "trace=openat,close", "-o"])
                .arg(&log)
                .args(["-e", &format!("inject={call}:signal=STOP:when={n}"), env!("CARGO_BIN_EXE_volproof")])
                .args(["run", &device.path, "--rw", "randwrite", "--runtime", "50ms", "--tune", "off"])
                .args(["--destroy", consent, "--json", "r.json", "--quiet"])
                .current_dir(device.dir.path())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let Some(program) = stopped(&mut strace, &log) else {
                let code = strace.wait().unwrap().code();
                // Somebody else had the device open for a moment.
                if code == Some(3) {
                    continue;
                }
                assert!(ran(code), "{call} {n}: {code:?}");
                break;
            };
            let claimed = fs::read_to_string(&log).unwrap().contains("O_EXCL");
            let formatted = device.format();
            let before = device.contents();
            rustix::process::kill_process(program, rustix::process::Signal::CONT).unwrap();
            let code = strace.wait().unwrap().code();
            let written = device.contents() != before;
            match (formatted, code) {
                (true, Some(3)) => {
                    refused += 1;
                    assert!(!written, "{call} {n}: the run wrote to a disk that was formatted meanwhile");
                }
                (false, code) if ran(code) => kept_out += 1,
                // Consent covers what the run finds when it first looks; and a run that has ended has let go.
                (true, code) if ran(code) && claimed => before_the_look += u32::from(written),
                (true, code) if ran(code) => {}
                other => panic!("{call} {n}: formatted and exit code {other:?}"),
            }
        }
    }
    println!("refused {refused} times, kept others out {kept_out} times");
    assert!(refused >= 1 && kept_out >= 2 && before_the_look <= 1, "{refused} {kept_out} {before_the_look}");
}
