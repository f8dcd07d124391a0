//! Knobs of a real device: a loop device of our own over a temporary file. Needs root; says so and passes without.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;
use volproof::device::Root;

use crate::tune::traced_loop::{as_new, with_journals};
use rustix::process::Signal;
use tempfile::TempDir;
use volproof::topo::{Topology, place};
use volproof::tune::ab::Side;
use volproof::tune::{Attempt, Places, RestoreOutcome, RoomNeeded, survey, tune};

/// A loop device that is detached however the test ends.
struct Loop {
    name: String,
    dir: TempDir,
}

impl Loop {
    fn attach() -> Loop {
        let dir = TempDir::new().unwrap();
        let image = dir.path().join("image");
        fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
        let out = Command::new("losetup").args(["-f", "--show"]).arg(&image).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let name = String::from_utf8(out.stdout).unwrap().trim().strip_prefix("/dev/").unwrap().to_string();
        as_new(&name);
        Loop { name, dir }
    }

    /// Detached, and attached over another file: another disk in the same queue.
    fn attach_again(&self) {
        let device = format!("/dev/{}", self.name);
        let image = self.dir.path().join("other");
        fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
        let run = |words: &[&OsStr]| Command::new("losetup").args(words).status().unwrap().success();
        assert!(run(&["-d".as_ref(), device.as_ref()]));
        // A device that somebody looks at goes when they have looked, and another test may have it for a moment.
        while !run(&[device.as_ref(), image.as_ref()]) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn knobs(&self) -> Vec<(String, String)> {
        ["scheduler", "rq_affinity", "nomerges", "nr_requests", "wbt_lat_usec", "add_random", "iostats"]
            .iter()
            .filter_map(|k| {
                let path = format!("/sys/block/{}/queue/{k}", self.name);
                Some((path.clone(), fs::read_to_string(path).ok()?))
            })
            .collect()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let status = Command::new("losetup").args(["-d", &format!("/dev/{}", self.name)]).status();
        assert!(
            status.is_ok_and(|s| s.success()) || std::thread::panicking(),
            "{} stays attached",
            self.name
        );
    }
}

#[test]
fn a_loop_device_is_tuned_and_left_as_it_was() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: root is needed to attach a loop device");
        return;
    }
    let device = Loop::attach();
    let dir = TempDir::new().unwrap();
    let places = Places { root: "/".into(), journals: dir.path().join("journals") };
    let topology = Topology::read(&Root::system(), &[&format!("/dev/{}", device.name)]).unwrap();
    assert_eq!(topology.targets[0].carried_by, std::slice::from_ref(&device.name));
    assert_eq!(place(&topology, 1, true).unwrap().seats[0].queue, Some(0));

    let before = device.knobs();
    let disks = [device.name.clone()];
    let tuned = tune(&places, &disks, RoomNeeded::default()).unwrap();
    let ours = |path: &str| path.contains(&format!("/{}/", device.name));
    let written: Vec<_> = tuned.applied().iter().filter(|a| ours(&a.path)).collect();
    assert!(written.iter().any(|a| a.knob == "rq_affinity" && a.attempt == Attempt::Written), "{written:?}");
    for row in survey(&places, &disks, RoomNeeded::default()).iter().filter(|r| ours(&r.path)) {
        assert!(!row.differs(), "{row:?}");
    }
    let done = tuned.restore();
    assert!(done.complete(), "{done:?}");
    assert!(
        done.knobs.iter().all(|k| matches!(k.outcome, RestoreOutcome::Restored | RestoreOutcome::Unchanged)),
        "{done:?}"
    );
    assert_eq!(device.knobs(), before);

    // With a scheduler first: switching it away resets nr_requests and wbt, and both come back.
    let path = |knob: &str| format!("/sys/block/{}/queue/{knob}", device.name);
    let other = fs::read_to_string(path("scheduler")).unwrap();
    if other.contains("mq-deadline") && fs::write(path("scheduler"), "mq-deadline").is_ok() {
        fs::write(path("nr_requests"), "77").unwrap();
        let before = device.knobs();
        let tuned = tune(&places, &disks, RoomNeeded::default()).unwrap();
        assert!(fs::read_to_string(path("scheduler")).unwrap().contains("[none]"));
        assert_ne!(fs::read_to_string(path("nr_requests")).unwrap().trim(), "77", "the kernel resets it");
        // Switched to and fro for a comparison, it resets them each time; they still come back.
        let mut tuned = tuned;
        for side in [Side::Before, Side::After, Side::Before] {
            tuned.set(&path("scheduler"), side).unwrap();
            let none = fs::read_to_string(path("scheduler")).unwrap().contains("[none]");
            assert_eq!(none, side == Side::After);
        }
        let done = tuned.restore();
        assert!(
            done.knobs
                .iter()
                .all(|k| matches!(k.outcome, RestoreOutcome::Restored | RestoreOutcome::Unchanged)),
            "{done:?}"
        );
        assert_eq!(device.knobs(), before);
        fs::write(path("scheduler"), "none").unwrap();
    }
}

/// The program itself, with its journals in a /run/volproof of its own.
#[test]
fn the_program_puts_back_after_signals_and_kill_9() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: root is needed to attach a loop device");
        return;
    }
    let device = Loop::attach();
    let before = device.knobs();
    let affinity = format!("/sys/block/{}/queue/rq_affinity", device.name);
    let journals = TempDir::new().unwrap();
    let program = |args: &[&str]| {
        let mut command = with_journals(journals.path());
        command.arg(env!("CARGO_BIN_EXE_volproof")).args(args);
        command
    };
    let run = |args: &[&str]| program(args).output().unwrap();
    let path = format!("/dev/{}", device.name);

    let out = run(&["topo", &path, "--jobs", "1"]);
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success() && text.contains("queue   0       CPU 0"), "{text}");

    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let mut child = program(&["tune", &path]).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while line != "Held. Ctrl-C puts everything back.\n" {
            line.clear();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "it ended by itself");
        }
        assert_eq!(fs::read_to_string(&affinity).unwrap(), "2\n");
        let busy = run(&["tune", &path]);
        let text = String::from_utf8(busy.stderr).unwrap();
        assert_eq!(busy.status.code(), Some(3), "{text}");
        assert!(text.contains(&format!("(process {})", child.id())), "{text}");

        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        let status = child.wait().unwrap();
        if signal == Signal::KILL {
            assert_eq!(fs::read_to_string(&affinity).unwrap(), "2\n", "nobody could put it back yet");
            // Any start of the program does.
            assert!(run(&["presets"]).status.success());
        } else {
            assert_eq!(status.code(), Some(0), "{signal:?}");
        }
        assert_eq!(device.knobs(), before, "{signal:?}");
    }

    assert!(run(&["tune", &path, "--keep"]).status.success());
    assert!(run(&["presets"]).status.success());
    assert_eq!(fs::read_to_string(&affinity).unwrap(), "2\n", "kept until it is asked for");
    assert!(run(&["restore"]).status.success());
    assert_eq!(device.knobs(), before);

    // The queue of a loop device outlives what it shows, and so do the values in it.
    assert!(run(&["tune", &path, "--keep"]).status.success());
    device.attach_again();
    let out = run(&["restore"]);
    assert!(out.status.success(), "{out:?}");
    assert_eq!(device.knobs(), before, "{}", String::from_utf8_lossy(&out.stdout));
    assert_eq!(run(&["topo", "nothing"]).status.code(), Some(2));
}
