//! A loop device of the test's own, and the program under strace on it: killed at a call, or with a call that fails.
//!
//! Journals lie on a tmpfs, as /run is one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::tune::traced_loop::{Device, as_new, with_journals};

/// The calls that change something on disk or in the kernel.
pub const CHANGES: [&str; 4] = ["write", "fsync", "rename", "unlink"];

/// The device, with values in its queue that the kernel does not begin with.
pub struct TracedIo {
    /// Keeps the device attached: `losetup -D` of somebody else would begin its queue anew, with read-ahead values of its own.
    _open: File,
    pub device: Device,
    /// The content of every file of the queue between the runs.
    pub usual: BTreeMap<String, String>,
    begin: BTreeMap<String, String>,
    journals: TempDir,
}

/// Every file below a folder, with its text.
fn files(folder: &Path, below: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        match entry.path().is_dir() {
            true => files(&entry.path(), &format!("{name}/"), found),
            false => {
                let text = fs::read_to_string(entry.path()).unwrap_or_default();
                found.insert(name, text.trim().to_string());
            }
        }
    }
}

impl TracedIo {
    /// Nothing, said aloud, where no loop device can be had or strace may not trace.
    pub fn attach() -> Option<TracedIo> {
        TracedIo::with_scheduler("mq-deadline")
    }

    /// The same under another scheduler, where the kernel has it.
    pub fn with_scheduler(scheduler: &str) -> Option<TracedIo> {
        let device = Device::attach(16 << 20)?;
        let memory = Path::new("/dev/shm");
        let journals = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
        let (begin, usual) = (BTreeMap::new(), BTreeMap::new());
        let open = File::open(&device.path).unwrap();
        let mut traced = TracedIo { _open: open, device, journals: journals.unwrap(), begin, usual };
        traced.begin = traced.knobs();
        traced.lay(scheduler);
        traced.usual = traced.knobs();
        Some(traced)
    }

    pub fn path(&self) -> &str {
        &self.device.path
    }

    pub fn name(&self) -> &str {
        self.device.path.trim_start_matches("/dev/")
    }

    pub fn queue(&self) -> PathBuf {
        Path::new("/sys/block").join(self.name()).join("queue")
    }

    pub fn journals(&self) -> &Path {
        self.journals.path()
    }

    /// Every file of the queue.
    pub fn knobs(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        files(&self.queue(), "", &mut found);
        found
    }

    /// Values that the kernel does not begin with, as far as it has the scheduler: what is reset is seen.
    fn lay(&self, scheduler: &str) {
        for (file, value) in [
            ("scheduler", scheduler),
            ("nr_requests", "77"),
            ("wbt_lat_usec", "1234"),
            ("iosched/read_expire", "124"),
            ("iosched/async_depth", "9"),
            ("iosched/read_lat_nsec", "1234567"),
            ("iosched/slice_idle", "3"),
            ("iosched/strict_guarantees", "1"),
            ("add_random", "1"),
            ("read_ahead_kb", "64"),
        ] {
            let _ = fs::write(self.queue().join(file), value);
        }
    }

    fn alone(&self) -> Command {
        let mut command = with_journals(self.journals());
        // Where a result goes whose own place fails.
        command.env("TMPDIR", self.device.dir.path());
        command
    }

    /// The program, which sees the journals of this device alone.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.alone();
        command.arg(env!("CARGO_BIN_EXE_volproof")).args(arguments).current_dir(self.device.dir.path());
        command
    }

    pub fn volproof(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The program under strace.
    fn traced_command(&self, options: &[&str], program: &[&str]) -> Command {
        let mut command = self.alone();
        command.args(["strace", "-f", "-q", "-y", "-o"]).arg(self.log()).args(options);
        // With a filter in the kernel the program stops only at the calls that are asked for; no signal can be sent there.
        if !options.iter().any(|option| option.contains("signal=")) {
            command.arg("--seccomp-bpf");
        }
        // A start that hangs must fail the test, not stop it. A machine with much else to do needs minutes for some programs under strace.
        command.args(["timeout", "-k", "1", "900"]).args(program);
        command.current_dir(self.device.dir.path());
        command
    }

    fn log(&self) -> PathBuf {
        self.device.dir.path().join("strace")
    }

    /// Runs the program under strace; returns what it did there too.
    pub fn traced(&self, options: &[&str], arguments: &[&str]) -> (Output, String) {
        let program = [&[env!("CARGO_BIN_EXE_volproof")], arguments].concat();
        let out = self.traced_command(options, &program).output().unwrap();
        (out, fs::read_to_string(self.log()).unwrap())
    }

    /// Something befalls this program at the n-th call of a kind. Says whether it came to that, with the whole story.
    pub fn strike(&self, befalls: &str, (call, n): (&str, usize), program: &[&str]) -> Struck {
        let inject = format!("inject={call}:{befalls}:when={n}");
        let options = ["-e", &format!("trace={call}"), "-e", &inject];
        let mut command = self.traced_command(&options, program);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let out = self.hold_and_end(child.unwrap());
        let log = fs::read_to_string(self.log()).unwrap();
        let story = format!("{program:?} {call} {n}: {}\n{log}", String::from_utf8_lossy(&out.stderr));
        assert_ne!(out.status.code(), Some(124), "it hangs: {story}");
        let happened = log.contains("INJECTED") || log.contains("killed by SIGKILL");
        // A load of a millisecond need not have measured anything, and nobody looks at what it measured of a disk without data.
        let said = String::from_utf8_lossy(&out.stdout);
        let idle =
            said.contains("Nothing was measured") || said.contains("NOT VALID") || said.contains("FAILED");
        assert!(happened || out.status.success() || idle, "{story}");
        Struck { happened, story, log, out }
    }

    /// Waits for a program; one that holds its values is told to stop.
    fn hold_and_end(&self, mut child: Child) -> Output {
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let (mut line, mut all) = (Vec::new(), Vec::new());
        while said.read_until(b'\n', &mut line).unwrap() > 0 {
            if line.starts_with(b"Held.") {
                self.tell_holder(Signal::INT);
            }
            all.append(&mut line);
        }
        let out = child.wait_with_output().unwrap();
        Output { stdout: all, ..out }
    }

    /// Sends a signal to whoever holds the device.
    pub fn tell_holder(&self, signal: Signal) {
        let lock = fs::read_to_string(self.journals().join(format!("disk-{}.lock", self.name()))).unwrap();
        let pid = Pid::from_raw(lock.trim().parse().unwrap()).unwrap();
        // It may be killed by now.
        let _ = kill_process(pid, signal);
    }

    /// How many calls of each kind the thread with most of them makes while the program runs to its end: strace counts by threads.
    fn most_calls(&self, calls: &[&str], program: &[&str]) -> Vec<usize> {
        let Struck { happened, story, log, .. } =
            self.strike("error=EIO", (&calls.join(","), 65_535), program);
        assert!(!happened, "{story}");
        let made = |call: &str| {
            let call = format!(" {call}(");
            let mut threads: BTreeMap<&str, usize> = BTreeMap::new();
            for line in log.lines().filter(|line| line.contains(&call)) {
                *threads.entry(line.split(' ').next().unwrap()).or_default() += 1;
            }
            threads.into_values().max().unwrap_or(0)
        };
        calls.iter().map(|call| made(call)).collect()
    }

    /// Once for every `stride`-th call of these kinds that the program makes: something befalls it there. Returns how often.
    pub fn at_each_call(
        &self,
        befalls: &str,
        (calls, stride): (&[&str], usize),
        program: &[&str],
        before: impl Fn(),
        after: impl Fn(&Struck),
    ) -> usize {
        let whole = format!("{program:?} to its end");
        before();
        let most = self.most_calls(calls, program);
        self.restored(&whole);
        self.assert_usual(&whole);
        let mut count = 0;
        for (first, (call, most)) in calls.iter().zip(most).enumerate() {
            assert!(most < 5000, "{most} calls of {call}: {whole}");
            for n in (1 + first % stride..=most).step_by(stride) {
                before();
                let struck = self.strike(befalls, (call, n), program);
                count += usize::from(struck.happened);
                match struck.happened {
                    true => after(&struck),
                    false => self.restored(&struck.story),
                }
                self.assert_usual(&struck.story);
            }
        }
        count
    }

    pub fn assert_usual(&self, story: &str) {
        assert_eq!(self.knobs(), self.usual, "{story}");
    }

    /// Asserts that `restore` puts everything back.
    pub fn restored(&self, story: &str) {
        let out = self.volproof(&["restore"]);
        assert_eq!(out.status.code(), Some(0), "{}\n{story}", String::from_utf8_lossy(&out.stdout));
    }
}

/// The end of a program that was to be struck at one of its calls.
pub struct Struck {
    pub happened: bool,
    pub story: String,
    log: String,
    pub out: Output,
}

impl Drop for TracedIo {
    /// A loop device keeps its knobs for whoever gets it next.
    fn drop(&mut self) {
        as_new(self.path());
        for file in ["nr_requests", "wbt_lat_usec", "add_random", "read_ahead_kb"] {
            let _ = fs::write(self.queue().join(file), self.begin.get(file).map_or("", String::as_str));
        }
    }
}
