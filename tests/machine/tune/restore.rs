//! Knobs are journalled, written, and always come back.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::tune::tree::{BEFORE, assert_all_back, at, journals, lay, set, value};
use tempfile::TempDir;
use volproof::tune::{
    Attempt, EntryState, Journal, Places, Restoration, RestoreOutcome, RoomNeeded, TuneError, Which, restore,
    survey, tune,
};

const NEED: RoomNeeded = RoomNeeded { jobs: 4, depth: 128 };

fn disks(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| n.to_string()).collect()
}

fn tree() -> (TempDir, Places) {
    let dir = TempDir::new().unwrap();
    let places = lay(dir.path());
    (dir, places)
}

/// A journal as a killed run leaves it: `change` edits it, and its owner is a process that is no more.
fn leave(places: &Places, change: impl FnOnce(&mut Journal)) {
    let tuned = tune(places, &disks(&["vdb"]), NEED).unwrap();
    let path = tuned.journal().to_path_buf();
    let text = fs::read_to_string(&path).unwrap();
    let knobs: Vec<(String, String)> =
        BEFORE.iter().map(|(p, _)| (p.to_string(), fs::read_to_string(at(places, p)).unwrap())).collect();
    drop(tuned);
    let mut journal: Journal = serde_json::from_str(&text).unwrap();
    journal.owner.start += 1;
    for (path, text) in knobs {
        fs::write(at(places, &path), text).unwrap();
    }
    change(&mut journal);
    fs::write(path, serde_json::to_vec(&journal).unwrap()).unwrap();
}

fn outcome<'a>(done: &'a Restoration, knob: &str) -> &'a RestoreOutcome {
    &done
        .knobs
        .iter()
        .find(|k| k.path.ends_with(knob))
        .unwrap_or_else(|| panic!("no {knob}: {done:?}"))
        .outcome
}

#[test]
fn only_what_differs_is_written_and_everything_comes_back() {
    let (_dir, places) = tree();
    let tuned = tune(&places, &disks(&["vdb", "vdc"]), NEED).unwrap();
    let all: Vec<String> = tuned
        .applied()
        .iter()
        .map(|a| format!("{} {} -> {} {:?}", a.path, a.before, a.wanted, a.attempt))
        .collect();
    insta::assert_snapshot!(all.join("\n"), @r"
    /sys/block/vdb/queue/scheduler mq-deadline -> none Written
    /sys/block/vdb/queue/rq_affinity 1 -> 2 Written
    /sys/block/vdc/queue/rq_affinity 0 -> 2 Written
    /sys/block/vdb/queue/nomerges 0 -> 2 Written
    /sys/block/vdc/queue/nomerges 1 -> 2 Written
    /sys/block/vdb/queue/nr_requests 64 -> 256 Written
    /sys/block/vdb/queue/wbt_lat_usec 75000 -> 0 Written
    /sys/block/vdb/queue/add_random 1 -> 0 Written
    /sys/devices/system/cpu/cpufreq/policy0/scaling_governor powersave -> performance Written
    ");
    for applied in tuned.applied() {
        assert_eq!(value(&places, &applied.path), applied.wanted, "{}", applied.path);
    }
    assert_eq!(value(&places, "/sys/block/vdb/queue/iostats"), "1", "evidence stays on");
    assert_eq!(journals(&places), [tuned.journal()]);
    let done = tuned.restore();
    assert!(done.complete() && done.knobs.iter().all(|k| k.outcome == RestoreOutcome::Restored), "{done:?}");
    assert_all_back(&places);
    assert_eq!(journals(&places), [] as [std::path::PathBuf; 0]);
    // A second time there is nothing to do.
    assert_eq!(restore(&places, Which::Kept).unwrap(), []);
}

#[test]
fn nothing_to_change_writes_no_journal() {
    let (_dir, places) = tree();
    let tuned = tune(&places, &[], RoomNeeded::default()).unwrap();
    assert_eq!(tuned.applied().len(), 1, "the governor");
    let second = tune(&places, &disks(&["vdz"]), RoomNeeded::default()).unwrap();
    assert_eq!(second.applied()[0].attempt, Attempt::Already, "shared with the first");
    drop(second);
    drop(tuned);
    set(&places, "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance");
    let idle = tune(&places, &[], RoomNeeded::default()).unwrap();
    assert!(idle.applied().is_empty() && journals(&places).is_empty());
}

#[test]
fn a_journal_that_cannot_be_written_changes_nothing_and_lets_go_of_the_lock() {
    let (_dir, places) = tree();
    let first = tune(&places, &disks(&["vdb"]), NEED).unwrap();
    let name = first.journal().file_name().unwrap().to_str().unwrap().to_string();
    drop(first);
    // Runs of this process are numbered, and other tests take numbers too: whichever comes next has a folder in the way.
    let (stem, number) = name.strip_suffix(".json").unwrap().rsplit_once('-').unwrap();
    let number: u32 = number.parse().unwrap();
    for n in number..number + 1000 {
        fs::create_dir(places.journals.join(format!("{stem}-{n}.new"))).unwrap();
    }
    let Err(error) = tune(&places, &disks(&["vdb"]), NEED) else { panic!("the journal cannot be saved") };
    assert!(matches!(error, TuneError::NoJournal { .. }), "{error}");
    assert_all_back(&places);
    restore(&places, Which::Kept).expect("the lock is free again");
}

#[test]
fn a_panic_restores() {
    let (_dir, places) = tree();
    let run = std::panic::AssertUnwindSafe(|| {
        let _tuned = tune(&places, &disks(&["vdb"]), NEED).unwrap();
        assert_eq!(value(&places, "/sys/block/vdb/queue/rq_affinity"), "2");
        panic!("an engine fails");
    });
    std::panic::catch_unwind(run).unwrap_err();
    assert_all_back(&places);
    assert!(journals(&places).is_empty());
}

#[test]
fn a_dead_run_is_restored_by_the_next() {
    let (_dir, places) = tree();
    leave(&places, |_| {});
    assert_eq!(value(&places, "/sys/block/vdb/queue/rq_affinity"), "2");
    let next = tune(&places, &disks(&["vdb"]), NEED).unwrap();
    assert_eq!(next.recovered().len(), 1);
    let again = next.applied().iter().find(|a| a.knob == "rq_affinity").unwrap();
    assert_eq!(again.before, "1", "the value from before the dead run, not its own");
    drop(next);
    assert_all_back(&places);
}

#[test]
fn a_value_of_somebody_else_stays() {
    let (_dir, places) = tree();
    let tuned = tune(&places, &disks(&["vdb"]), NEED).unwrap();
    set(&places, "/sys/block/vdb/queue/rq_affinity", "0");
    let done = tuned.restore();
    assert_eq!(*outcome(&done, "vdb/queue/rq_affinity"), RestoreOutcome::Changed { found: "0".into() });
    assert!(done.complete(), "it is theirs now, nothing is left to do");
    assert_eq!(value(&places, "/sys/block/vdb/queue/rq_affinity"), "0");
    set(&places, "/sys/block/vdb/queue/rq_affinity", "1");
    assert_all_back(&places);
}

#[test]
fn crash_states_are_told_apart() {
    let (_dir, places) = tree();
    leave(&places, |journal| {
        for entry in &mut journal.entries {
            match entry.path.rsplit('/').next().unwrap() {
                // Killed between the write and its note.
                "scheduler" => (entry.state, entry.after) = (EntryState::Writing, None),
                // Killed before the write: the old value is still there.
                "rq_affinity" => (entry.state, entry.after) = (EntryState::Writing, None),
                // Never begun, although somebody has the value that was wanted.
                "nomerges" => (entry.state, entry.after) = (EntryState::Planned, None),
                // Reset by the kernel when the scheduler was switched, and not noted.
                "nr_requests" => (entry.state, entry.after) = (EntryState::Disturbed, None),
                // Being written, but it has a third value: somebody else's.
                "wbt_lat_usec" => (entry.state, entry.after) = (EntryState::Writing, None),
                _ => {}
            }
        }
    });
    set(&places, "/sys/block/vdb/queue/rq_affinity", "1");
    set(&places, "/sys/block/vdb/queue/nr_requests", "1023");
    set(&places, "/sys/block/vdb/queue/wbt_lat_usec", "500");
    let done = restore(&places, Which::Stale).unwrap().remove(0);
    assert_eq!(*outcome(&done, "scheduler"), RestoreOutcome::Restored);
    assert_eq!(*outcome(&done, "rq_affinity"), RestoreOutcome::Unchanged);
    assert_eq!(*outcome(&done, "nomerges"), RestoreOutcome::Unchanged);
    assert_eq!(*outcome(&done, "nr_requests"), RestoreOutcome::Restored);
    assert_eq!(*outcome(&done, "wbt_lat_usec"), RestoreOutcome::Changed { found: "500".into() });
    assert_eq!(value(&places, "/sys/block/vdb/queue/nomerges"), "2");
    assert_eq!(value(&places, "/sys/block/vdb/queue/nr_requests"), "64");
}

#[test]
fn a_disturbed_knob_comes_back_although_it_was_not_wanted() {
    let (_dir, places) = tree();
    // Depth 1 needs no room, so nr_requests is in the journal only because the scheduler resets it.
    let tuned = tune(&places, &disks(&["vdb"]), RoomNeeded { jobs: 1, depth: 1 }).unwrap();
    assert!(tuned.applied().iter().all(|a| a.knob != "nr_requests"));
    let journal: Journal = serde_json::from_str(&fs::read_to_string(tuned.journal()).unwrap()).unwrap();
    let entry = journal.entries.iter().find(|e| e.path.ends_with("/nr_requests")).unwrap();
    assert_eq!(
        (entry.state, entry.wanted.as_deref(), entry.before.as_str()),
        (EntryState::Written, None, "64")
    );
    drop(tuned);
    assert_all_back(&places);
}

#[test]
fn two_runs_on_one_disk_are_refused_on_two_disks_not() {
    let (_dir, places) = tree();
    let first = tune(&places, &disks(&["vdb"]), NEED).unwrap();
    let refused = tune(&places, &disks(&["vdc", "vdb"]), NEED).unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, TuneError::Busy { pid: Some(p), .. } if p == std::process::id()), "{text}");
    assert!(text.starts_with("vdb is in use by another volproof (process "), "{text}");
    // The refused one has let go of vdc.
    let second = tune(&places, &disks(&["vdc"]), NEED).unwrap();
    // The governor is shared: the first to end leaves it, the last puts it back.
    let governor = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    let done = first.restore();
    assert_eq!(*outcome(&done, "scaling_governor"), RestoreOutcome::HandedOver { pid: std::process::id() });
    assert_eq!(value(&places, governor), "performance");
    assert_eq!(value(&places, "/sys/block/vdc/queue/rq_affinity"), "2", "not disturbed");
    assert_eq!(*outcome(&second.restore(), "scaling_governor"), RestoreOutcome::Restored);
    assert_all_back(&places);
}

#[test]
fn a_shared_limit_goes_back_whoever_ends_first() {
    for larger_ends_first in [false, true] {
        let (_dir, places) = tree();
        let small = tune(&places, &disks(&["vdb"]), RoomNeeded { jobs: 64, depth: 1024 }).unwrap();
        assert_eq!(value(&places, "/proc/sys/fs/aio-max-nr"), "131072");
        let large = tune(&places, &disks(&["vdc"]), RoomNeeded { jobs: 64, depth: 4096 }).unwrap();
        assert_eq!(value(&places, "/proc/sys/fs/aio-max-nr"), "524288");
        let (first, last) = if larger_ends_first { (large, small) } else { (small, large) };
        assert!(matches!(outcome(&first.restore(), "aio-max-nr"), RestoreOutcome::HandedOver { .. }));
        assert_eq!(value(&places, "/proc/sys/fs/aio-max-nr"), "524288", "somebody still needs it");
        assert_eq!(*outcome(&last.restore(), "aio-max-nr"), RestoreOutcome::Restored);
        assert_all_back(&places);
    }
}

#[test]
fn a_vanished_device_is_reported_and_the_rest_comes_back() {
    let (_dir, places) = tree();
    let tuned = tune(&places, &disks(&["vdb", "vdc"]), NEED).unwrap();
    fs::remove_dir_all(at(&places, "/sys/block/vdb")).unwrap();
    // Another disk has come under the name of vdc: its values are not ours, although they are equal.
    let queue = at(&places, "/sys/block/vdc/queue");
    fs::rename(&queue, queue.with_extension("gone")).unwrap();
    fs::create_dir(&queue).unwrap();
    set(&places, "/sys/block/vdc/queue/rq_affinity", "2");
    let done = tuned.restore();
    assert!(done.complete());
    assert_eq!(*outcome(&done, "vdb/queue/scheduler"), RestoreOutcome::Gone);
    assert_eq!(*outcome(&done, "vdc/queue/rq_affinity"), RestoreOutcome::Gone);
    assert_eq!(*outcome(&done, "scaling_governor"), RestoreOutcome::Restored);
    assert_eq!(value(&places, "/sys/block/vdc/queue/rq_affinity"), "2");
    assert!(journals(&places).is_empty());
}

#[test]
fn what_cannot_be_put_back_stays_in_the_journal() {
    let (_dir, places) = tree();
    let tuned = tune(&places, &disks(&["vdb"]), NEED).unwrap();
    // A folder in place of the file: reading fails for every user, also for root.
    let knob = at(&places, "/sys/block/vdb/queue/nomerges");
    fs::remove_file(&knob).unwrap();
    fs::create_dir(&knob).unwrap();
    let done = tuned.restore();
    assert!(!done.complete());
    assert_eq!(done.by_hand(), ["echo 0 > /sys/block/vdb/queue/nomerges"]);
    assert_eq!(journals(&places).len(), 1);
    // Mended, the next `restore` of another process finishes the work.
    let path = journals(&places).remove(0);
    let mut journal: Journal = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(journal.entries.len(), 1, "only what failed is left");
    journal.owner.start += 1;
    fs::write(&path, serde_json::to_vec(&journal).unwrap()).unwrap();
    fs::remove_dir(&knob).unwrap();
    fs::write(&knob, "2\n").unwrap();
    assert!(restore(&places, Which::Stale).unwrap()[0].complete());
    assert_all_back(&places);
    assert!(journals(&places).is_empty());
}

#[test]
fn a_damaged_journal_is_named_and_kept() {
    let (_dir, places) = tree();
    leave(&places, |_| {});
    let whole = journals(&places).remove(0);
    let damaged = places.journals.join("run-1-1-0.json");
    let text = fs::read_to_string(&whole).unwrap();
    fs::write(&damaged, &text[..text.len() / 2]).unwrap();
    fs::write(places.journals.join("run-1-1-0.new"), "half").unwrap();
    let done = restore(&places, Which::Stale).unwrap();
    assert_eq!(done.iter().map(Restoration::complete).collect::<Vec<_>>(), [false, true]);
    assert!(done[0].unreadable.as_ref().unwrap().starts_with("it is cut off or damaged"), "{done:?}");
    // What can still be read is told, with the command that puts it back.
    let told: Vec<_> = done[0].knobs.iter().map(|k| (k.path.as_str(), k.before.as_str())).collect();
    let whole: Vec<_> = done[1].knobs.iter().map(|k| (k.path.as_str(), k.before.as_str())).collect();
    assert!(!told.is_empty() && whole.starts_with(&told), "{told:?}\n{whole:?}");
    assert!(done[0].by_hand().contains(&format!("echo {} > {}", told[0].1, told[0].0)), "{done:?}");
    assert_all_back(&places);
    assert_eq!(journals(&places), [damaged], "what it changed is unknown, so it is not thrown away");
    assert!(!places.journals.join("run-1-1-0.new").exists());
}

#[test]
fn a_restarted_machine_has_nothing_to_restore() {
    let (_dir, places) = tree();
    leave(&places, |journal| journal.owner.boot = "the boot before".into());
    let done = restore(&places, Which::Stale).unwrap();
    assert!(done[0].knobs.iter().all(|k| k.outcome == RestoreOutcome::Rebooted));
    assert_eq!(value(&places, "/sys/block/vdb/queue/rq_affinity"), "2", "set by something in this boot");
    assert!(journals(&places).is_empty());
}

#[test]
fn a_running_owner_is_left_alone() {
    let (_dir, places) = tree();
    let tuned = tune(&places, &disks(&["vdb"]), NEED).unwrap();
    assert_eq!(restore(&places, Which::Kept).unwrap(), []);
    assert_eq!(value(&places, "/sys/block/vdb/queue/rq_affinity"), "2");
    drop(tuned);
    assert_all_back(&places);
}

#[test]
fn kept_values_wait_for_restore() {
    let (_dir, places) = tree();
    tune(&places, &disks(&["vdb"]), NEED).unwrap().keep().unwrap();
    let path = journals(&places).remove(0);
    let mut journal: Journal = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert!(journal.kept);
    journal.owner.start += 1; // its process has ended
    fs::write(&path, serde_json::to_vec(&journal).unwrap()).unwrap();
    assert_eq!(restore(&places, Which::Stale).unwrap(), [], "an ordinary start leaves them");
    // A run in between changes nothing and puts nothing back.
    drop(tune(&places, &disks(&["vdb"]), NEED).unwrap());
    assert_eq!(value(&places, "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"), "performance");
    assert!(restore(&places, Which::Kept).unwrap()[0].complete());
    assert_all_back(&places);
}

#[test]
fn a_refused_value_does_not_stop_the_run() {
    let (_dir, places) = tree();
    // A file that refuses writes from everybody, root included.
    let knob = at(&places, "/sys/block/vdb/queue/add_random");
    fs::remove_file(&knob).unwrap();
    std::os::unix::fs::symlink("/proc/sys/kernel/ostype", &knob).unwrap();
    let tuned = tune(&places, &disks(&["vdb"]), NEED).unwrap();
    let applied = tuned.applied().iter().find(|a| a.knob == "add_random").unwrap();
    assert!(matches!(applied.attempt, Attempt::Refused { .. }), "{applied:?}");
    let done = tuned.restore();
    assert_eq!(*outcome(&done, "add_random"), RestoreOutcome::Unchanged);
    assert!(done.complete());
}

#[test]
fn a_folder_that_others_can_write_is_refused() {
    let (_dir, places) = tree();
    fs::create_dir_all(&places.journals).unwrap();
    fs::set_permissions(&places.journals, fs::Permissions::from_mode(0o777)).unwrap();
    let e = tune(&places, &disks(&["vdb"]), NEED).unwrap_err();
    assert!(matches!(e, TuneError::Unsafe { mode: 0o777, .. }), "{e}");
    assert!(e.to_string().contains("must be ours and writable by nobody else"), "{e}");
    assert_all_back(&places);
}

#[test]
fn no_journal_no_change() {
    let (dir, mut places) = tree();
    fs::write(dir.path().join("file"), "").unwrap();
    places.journals = dir.path().join("file/volproof");
    let e = tune(&places, &disks(&["vdb"]), NEED).unwrap_err();
    assert!(matches!(e, TuneError::NoJournal { .. }), "{e}");
    assert_all_back(&places);
}

#[test]
fn a_lost_journal_folder_does_not_lose_the_values() {
    let (_dir, places) = tree();
    let tuned = tune(&places, &disks(&["vdb"]), NEED).unwrap();
    fs::remove_dir_all(&places.journals).unwrap();
    assert!(tuned.restore().complete());
    assert_all_back(&places);
}

#[test]
fn surveys_and_switches_for_a_comparison() {
    use volproof::stats::compare::ComparisonOutcome::{Equivalent, Faster};
    use volproof::tune::ab::{Side, each_knob};
    let (_dir, places) = tree();
    let rows = survey(&places, &disks(&["vdb"]), NEED);
    assert!(rows.iter().any(|r| r.knob == "io_poll_delay" && !r.differs()));
    let mut tuned = tune(&places, &disks(&["vdb"]), NEED).unwrap();
    let path = "/sys/block/vdb/queue/rq_affinity";
    // A device on which completing where it was submitted is worth a fifth, and nothing else anything.
    let rate = || -> std::io::Result<Option<f64>> {
        Ok(Some(if value(&places, path) == "2" { 120_000.0 } else { 100_000.0 }))
    };
    let effects = each_knob(&mut tuned, 8, 1, rate).unwrap();
    assert_eq!(effects.len(), tuned.applied().len());
    // Somebody ends it while the second knob is compared: what the first one does is known, and all are as wanted.
    let mut left = 16 + 5;
    let until = || -> std::io::Result<Option<f64>> {
        left -= 1;
        if left > 0 { rate() } else { Ok(None) }
    };
    let some = each_knob(&mut tuned, 8, 1, until).unwrap();
    assert_eq!(some.iter().map(|e| &e.path).collect::<Vec<_>>(), [&effects[0].path]);
    assert_eq!(value(&places, path), "2");
    for effect in effects {
        let expected = if effect.path == path { Faster } else { Equivalent };
        assert_eq!(effect.comparison.unwrap().outcome, expected, "{}", effect.knob);
    }
    assert!(tuned.set("/sys/block/vdb/queue/iostats", Side::Before).is_err());
    tuned.set(path, Side::Before).unwrap();
    assert!(tuned.restore().complete());
    assert_all_back(&places);
}
