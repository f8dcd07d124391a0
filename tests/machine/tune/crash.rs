//! Killed at any moment, a run leaves enough behind to put every knob back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::tune::tree::{assert_all_back, at, journals, lay, value};
use tempfile::TempDir;
use volproof::device_tuning::{self, TuneArgs};
use volproof::exit::Exit;
use volproof::tune::{EntryState, Journal, Places, RestoreOutcome, RoomNeeded, Which, restore, tune};

/// Names the tree on which the child tunes and restores without end.
const TREE: &str = "VOLPROOF_TEST_CRASH_TREE";
const NEED: RoomNeeded = RoomNeeded { jobs: 64, depth: 4096 };
const KILLS: u32 = 60;

fn cycle(places: &Places) {
    let disks = ["vdb".to_string(), "vdc".to_string()];
    let tuned = tune(places, &disks, NEED).unwrap();
    assert_eq!(value(places, "/sys/block/vdb/queue/scheduler"), "none");
    assert!(tuned.applied().len() >= 10, "{:?}", tuned.applied());
    assert!(tuned.restore().complete());
}

/// Alone it is one whole run; started by the test below it is the process that gets killed.
#[test]
fn a_whole_run_leaves_nothing() {
    if let Some(dir) = std::env::var_os(TREE) {
        let dir = Path::new(&dir);
        let places = Places { root: dir.join("root"), journals: dir.join("run/volproof") };
        loop {
            cycle(&places);
        }
    }
    let dir = TempDir::new().unwrap();
    let places = lay(dir.path());
    cycle(&places);
    assert_all_back(&places);
    assert!(journals(&places).is_empty());
}

/// Holds the tree as `volproof tune` does until a signal raises the flag; alone it is told to stop at once.
#[test]
fn held_settings_end_with_the_word_to_stop() {
    let told = Arc::new(AtomicBool::new(true));
    let mut own = None;
    let dir = match std::env::var_os(TREE) {
        Some(dir) => {
            told.store(false, Ordering::Relaxed);
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                signal_hook::flag::register(signal, Arc::clone(&told)).unwrap();
            }
            PathBuf::from(dir)
        }
        None => own.insert(TempDir::new().unwrap()).path().to_path_buf(),
    };
    let places = match own {
        Some(_) => lay(&dir),
        None => Places { root: dir.join("root"), journals: dir.join("run/volproof") },
    };
    fs::write(at(&places, "/sys/devices/system/cpu/online"), "0-3\n").unwrap();
    let args = TuneArgs { devices: vec!["vdb".into()], iodepth: 128, jobs: 4, ..TuneArgs::default() };
    let mut said = String::new();
    let code =
        device_tuning::tune(&args, &places, &|| told.load(Ordering::Relaxed), &mut |t| said += t).unwrap();
    assert_eq!(code, Exit::Done);
    assert!(said.contains("Held.") && said.contains("Put back"), "{said}");
    assert_all_back(&places);
    assert!(journals(&places).is_empty());
}

#[test]
fn signals_put_everything_back() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let dir = TempDir::new().unwrap();
        let places = lay(dir.path());
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tune::crash::held_settings_end_with_the_word_to_stop"])
            .env(TREE, dir.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // The governor is the last knob but one; once it is set the child holds everything or is about to.
        let begun = Instant::now();
        while value(&places, "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor") != "performance" {
            assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
            assert!(begun.elapsed() < Duration::from_secs(60), "the child never began");
            std::thread::yield_now();
        }
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::from_named_raw(signal).unwrap()).unwrap();
        assert!(child.wait().unwrap().success(), "signal {signal}");
        assert_all_back(&places);
        assert!(journals(&places).is_empty());
    }
}

#[test]
fn killed_at_sixty_moments_every_knob_comes_back() {
    let dir = TempDir::new().unwrap();
    let places = lay(dir.path());
    let mut states: BTreeMap<String, u32> = BTreeMap::new();
    let mut restored = 0;
    // Every second one is process 1 of a namespace of its own, with this /proc, where 1 is another process that never ends.
    let own_namespace = ["--pid", "--fork", "--kill-child"];
    let unshares = Command::new("unshare").args(own_namespace).arg("true").status();
    let unshares = unshares.is_ok_and(|status| status.success());
    let exe = std::env::current_exe().unwrap();
    for kill in 0..KILLS {
        let mut command = Command::new(&exe);
        if unshares && kill % 2 == 1 {
            command = Command::new("unshare");
            command.args(own_namespace).arg(&exe);
        }
        let mut child = command
            .args(["--exact", "tune::crash::a_whole_run_leaves_nothing"])
            .env(TREE, dir.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // It is at work once a journal shows; then it may die anywhere in its loop.
        let begun = Instant::now();
        while journals(&places).is_empty() {
            assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
            assert!(begun.elapsed() < Duration::from_secs(60), "the child never began");
            std::thread::yield_now();
        }
        // Spread over several cycles by a fixed sequence; which step is hit differs from run to run.
        std::thread::sleep(Duration::from_micros(u64::from(kill) * 7_919 % 80_000));
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        let within = fs::read_to_string(children).unwrap_or_default();
        child.kill().unwrap();
        child.wait().unwrap();
        for pid in within.split_whitespace() {
            while volproof::tune::started(pid.parse().unwrap()).is_some() {
                std::thread::yield_now();
            }
        }

        for path in journals(&places) {
            let journal: Journal = serde_json::from_str(&fs::read_to_string(&path).unwrap())
                .unwrap_or_else(|e| panic!("a journal is whole at any moment: {e}"));
            let furthest = |s: EntryState| journal.entries.iter().any(|e| e.state == s);
            let at = [EntryState::Writing, EntryState::Written, EntryState::Disturbed, EntryState::Planned]
                .into_iter()
                .find(|s| furthest(*s));
            *states.entry(format!("{at:?}")).or_default() += 1;
        }
        for done in restore(&places, Which::Stale).unwrap() {
            assert!(done.complete(), "kill {kill}: {done:?}");
            let strange = done
                .knobs
                .iter()
                .find(|k| !matches!(k.outcome, RestoreOutcome::Restored | RestoreOutcome::Unchanged));
            assert!(strange.is_none(), "kill {kill}: {strange:?}");
            restored += done.knobs.iter().filter(|k| k.outcome == RestoreOutcome::Restored).count();
        }
        assert_all_back(&places);
        assert!(journals(&places).is_empty(), "kill {kill}");
        assert!(restore(&places, Which::Kept).unwrap().is_empty(), "twice is harmless");
    }
    println!("{restored} knobs put back after {KILLS} kills; journals found in {states:?}");
    assert!(restored > 0, "no kill hit a run that had written anything: {states:?}");
}
