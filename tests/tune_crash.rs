//! Killed at any moment, a run leaves enough behind to put every knob back.

mod tune_tree;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tune_tree::{assert_all_back, journals, lay, value};
use volproof::tune::{Journal, Need, Outcome, Places, State, Which, restore, tune};

/// Names the tree on which the child tunes and restores without end.
const TREE: &str = "VOLPROOF_TEST_CRASH_TREE";
const NEED: Need = Need { jobs: 64, depth: 4096 };
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

#[test]
fn killed_at_sixty_moments_every_knob_comes_back() {
    let dir = TempDir::new().unwrap();
    let places = lay(dir.path());
    let mut states: BTreeMap<String, u32> = BTreeMap::new();
    let mut restored = 0;
    for kill in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_whole_run_leaves_nothing"])
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
        child.kill().unwrap();
        child.wait().unwrap();

        for path in journals(&places) {
            let journal: Journal = serde_json::from_str(&std::fs::read_to_string(&path).unwrap())
                .unwrap_or_else(|e| panic!("a journal is whole at any moment: {e}"));
            let furthest = |s: State| journal.entries.iter().any(|e| e.state == s);
            let at = [State::Writing, State::Written, State::Disturbed, State::Planned]
                .into_iter()
                .find(|s| furthest(*s));
            *states.entry(format!("{at:?}")).or_default() += 1;
        }
        for done in restore(&places, Which::Stale).unwrap() {
            assert!(done.complete(), "kill {kill}: {done:?}");
            let strange =
                done.knobs.iter().find(|k| !matches!(k.outcome, Outcome::Restored | Outcome::Unchanged));
            assert!(strange.is_none(), "kill {kill}: {strange:?}");
            restored += done.knobs.iter().filter(|k| k.outcome == Outcome::Restored).count();
        }
        assert_all_back(&places);
        assert!(journals(&places).is_empty(), "kill {kill}");
        assert!(restore(&places, Which::Kept).unwrap().is_empty(), "twice is harmless");
    }
    println!("{restored} knobs put back after {KILLS} kills; journals found in {states:?}");
    assert!(restored > 0, "no kill hit a run that had written anything: {states:?}");
}
