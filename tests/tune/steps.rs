//! Every single system call by which a start changes something: the program dies at it, or it fails, and every knob comes
//! back. strace plays this on the program as it is; a loop device of our own is tuned. Needs both; says so and passes without.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::traced_loop::{Device, as_new, with_journals};

/// The calls that change something on disk or in the kernel.
const CHANGES: [&str; 4] = ["write", "fsync", "rename", "unlink"];

impl Device {
    fn queue(&self) -> PathBuf {
        Path::new("/sys/block").join(self.path.trim_start_matches("/dev/")).join("queue")
    }

    /// Every file of the queue.
    fn knobs(&self) -> BTreeMap<String, String> {
        fn read(folder: &Path, below: &str, files: &mut BTreeMap<String, String>) {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let name = format!("{below}{}", entry.file_name().to_str().unwrap());
                match entry.path().is_dir() {
                    true => read(&entry.path(), &format!("{name}/"), files),
                    false => {
                        let text = fs::read_to_string(entry.path()).unwrap_or_default();
                        files.insert(name, text.trim().to_string());
                    }
                }
            }
        }
        let mut files = BTreeMap::new();
        read(&self.queue(), "", &mut files);
        files
    }

    /// Values that the kernel does not begin with, as far as it has the scheduler: what is reset is seen.
    fn lay(&self) {
        for (file, value) in [
            ("scheduler", "mq-deadline"),
            ("nr_requests", "77"),
            ("wbt_lat_usec", "1234"),
            ("iosched/read_expire", "124"),
            ("iosched/async_depth", "9"),
            ("add_random", "1"),
            ("read_ahead_kb", "64"),
        ] {
            let _ = fs::write(self.queue().join(file), value);
        }
    }

    /// Takes back what [`Device::lay`] did, for whoever gets the device next.
    fn smooth(&self, begin: &BTreeMap<String, String>) {
        as_new(&self.path);
        for file in ["nr_requests", "wbt_lat_usec", "add_random", "read_ahead_kb"] {
            let _ = fs::write(self.queue().join(file), begin.get(file).map_or("", String::as_str));
        }
    }

    fn alone(&self) -> Command {
        let journals = self.dir.path().join("journals");
        fs::create_dir_all(&journals).unwrap();
        with_journals(&journals)
    }

    fn volproof(&self, arguments: &[&str]) -> Output {
        self.alone()
            .arg(env!("CARGO_BIN_EXE_volproof"))
            .args(arguments)
            .current_dir(self.dir.path())
            .output()
            .unwrap()
    }

    /// Runs the program under strace; returns what it did there too.
    fn traced(&self, options: &[&str], arguments: &[&str]) -> (Output, String) {
        let log = self.dir.path().join("strace");
        let out = self
            .alone()
            .args(["strace", "-f", "-q", "-y", "-o"])
            .arg(&log)
            .args(options)
            // A start that waits for ever is one of the things that must not come out.
            .args(["timeout", "-k", "1", "60", env!("CARGO_BIN_EXE_volproof")])
            .args(arguments)
            .current_dir(self.dir.path())
            .output()
            .unwrap();
        (out, fs::read_to_string(log).unwrap())
    }

    /// Once for every call of these kinds that the command makes: something befalls it there. Returns how many there are.
    fn at_each_call(
        &self,
        befalls: &str,
        arguments: &[&str],
        before: impl Fn(),
        after: impl Fn(&str, &Output),
    ) -> u32 {
        let usual = self.knobs();
        let mut calls = 0;
        for call in CHANGES {
            for n in 1.. {
                before();
                let inject = format!("inject={call}:{befalls}:when={n}");
                let (out, log) = self.traced(&["-e", &format!("trace={call}"), "-e", &inject], arguments);
                let happened = log.contains("INJECTED") || log.contains("killed by SIGKILL");
                let what = format!("{call} {n}: {}\n{log}", String::from_utf8_lossy(&out.stderr));
                assert_ne!(out.status.code(), Some(124), "it hangs: {what}");
                if !happened {
                    assert!(n < 200 && out.status.success(), "{what}");
                    self.restored(&what);
                    assert_eq!(self.knobs(), usual, "{what}");
                    break;
                }
                calls += 1;
                after(&what, &out);
                assert_eq!(self.knobs(), usual, "{what}");
            }
        }
        calls
    }

    fn restored(&self, what: &str) {
        let out = self.volproof(&["restore"]);
        assert_eq!(out.status.code(), Some(0), "{}\n{what}", String::from_utf8_lossy(&out.stdout));
    }
}

/// One test, because the steps of one would be another's strangers.
#[test]
fn whatever_befalls_a_start_at_any_call_every_knob_comes_back() {
    let Some(device) = Device::attach(16 << 20) else { return };
    let path = device.path.as_str();
    let begin = device.knobs();
    device.lay();
    let usual = device.knobs();
    let queue = format!("/sys/block/{}/queue", path.trim_start_matches("/dev/"));

    // The journal is on disk, file, name and folder, before any knob is written.
    let (out, log) = device.traced(&["-e", "trace=write,fsync,rename"], &["tune", "--keep", path]);
    assert!(out.status.success(), "{out:?}");
    assert_ne!(device.knobs(), usual, "nothing was tuned: this would show nothing");
    let (mut stage, mut writes) = (0, 0);
    for line in log.lines() {
        stage = match stage {
            0 if line.contains("fsync(") && line.contains("/run/volproof/run-") => 1,
            1 if line.contains("rename(\"/run/volproof/run-") => 2,
            2 if line.contains("fsync(") && line.contains("</run/volproof>)") => 3,
            stage => stage,
        };
        if line.contains("write(") && (line.contains("</sys/") || line.contains("</proc/sys/")) {
            assert_eq!(stage, 3, "a knob is written before the journal is on disk: {line}\n{log}");
            (stage, writes) = (0, writes + 1);
        }
    }
    assert!(writes >= 2, "{log}");
    device.restored("as ever");
    assert_eq!(device.knobs(), usual);

    let restores = |what: &str, _: &Output| device.restored(what);
    let setting = device.at_each_call("signal=KILL", &["tune", "--keep", path], || {}, restores);
    let keep = || assert!(device.volproof(&["tune", "--keep", path]).status.success());
    let putting_back = device.at_each_call("signal=KILL", &["restore"], keep, restores);
    // Any start puts back what a dead run left: here the owner of the kept values is made one.
    let dead = || {
        keep();
        for entry in fs::read_dir(device.dir.path().join("journals")).unwrap().flatten() {
            if entry.path().extension().is_some_and(|e| e == "json") {
                let text = fs::read_to_string(entry.path()).unwrap();
                fs::write(entry.path(), text.replace("\"kept\": true", "\"kept\": false")).unwrap();
            }
        }
    };
    let starting = device.at_each_call("signal=KILL", &["presets"], dead, restores);

    // A run of which a call fails puts back what it can by itself; what it cannot, it says with exit code 4.
    let run = [
        "run",
        path,
        "--rw",
        "randread",
        "--iodepth",
        "4",
        "--runtime",
        "50ms",
        "--tune",
        "on",
        "--json",
        "r.json",
    ];
    let honest = |what: &str, out: &Output| {
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(!said.contains("panicked"), "{what}");
        if out.status.code() == Some(4) {
            assert!(said.contains(&format!("> {queue}/")), "the command to do it by hand: {what}");
            device.restored(what);
        }
    };
    let running = device.at_each_call("signal=KILL", &run, || {}, restores);
    let failing = device.at_each_call("error=EIO", &run, || {}, honest);
    println!(
        "killed at each of {setting} calls that set, {putting_back} of restore, {starting} of another start, {running} of \
         a run; each of {failing} calls of a run failed"
    );
    let all = [setting, putting_back, starting, running, failing];
    assert!(all.iter().zip([30, 15, 15, 60, 60]).all(|(calls, least)| *calls >= least), "{all:?}");

    // What the kernel does not take back is told, with exit code 4 and the command, and is not forgotten.
    keep();
    let knob = format!("{queue}/rq_affinity");
    let refuse = ["-P", &knob, "-e", "trace=write", "-e", "inject=write:error=EIO"];
    let (out, _) = device.traced(&refuse, &["restore"]);
    let said = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(4), "{said}");
    assert!(said.contains(&format!("echo {} > {knob}", usual["rq_affinity"])), "{said}");
    device.restored("again");
    assert_eq!(device.knobs(), usual);
    device.smooth(&begin);
}
