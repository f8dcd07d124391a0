//! Killed at every change of every phase: each file of the kernel has its byte back, and what somebody else changed stays.

use std::collections::BTreeMap;
use std::path::Path;

use tempfile::TempDir;

use super::fake_kernel::{Moment, aside, jump, now, play, set};
use crate::tune::ab::Side;
use crate::tune::journal::{EntryState, Journal};
use crate::tune::{Places, RestoreOutcome, RoomNeeded, Which, knob, restore, tune};

const NEED: RoomNeeded = RoomNeeded { jobs: 4, depth: 200 };

/// Three disks and a frequency policy, none of them with the values that the kernel begins with.
fn machine() -> Moment {
    let mut kernel = BTreeMap::new();
    let mut lay = |path: String, value: &str| drop(kernel.insert(path, value.to_string()));
    for (disk, scheduler, values) in [
        (
            "vdb",
            "none [mq-deadline] kyber bfq",
            &[("async_depth", "10"), ("fifo_batch", "7"), ("read_expire", "123"), ("write_expire", "4567")][..],
        ),
        (
            "vdc",
            "none mq-deadline kyber [bfq]",
            &[("slice_idle", "2"), ("slice_idle_us", "2500"), ("strict_guarantees", "1")],
        ),
        ("vdd", "[none] mq-deadline kyber bfq", &[]),
    ] {
        let block = format!("/sys/block/{disk}");
        lay(format!("{block}/mq/0/nr_tags"), "1024");
        let own =
            [("scheduler", scheduler), ("nr_requests", "64"), ("wbt_lat_usec", "1000"), ("nomerges", "1")];
        let common = [("rq_affinity", "1"), ("add_random", "1"), ("read_ahead_kb", "128"), ("iostats", "1")];
        for (file, value) in own.into_iter().chain(common) {
            lay(format!("{block}/queue/{file}"), value);
        }
        for (file, value) in values {
            lay(format!("{block}/queue/iosched/{file}"), value);
        }
    }
    let policy = "/sys/devices/system/cpu/cpufreq/policy0";
    lay(format!("{policy}/scaling_governor"), "ondemand");
    lay(format!("{policy}/scaling_available_governors"), "ondemand performance");
    lay(format!("{policy}/energy_performance_preference"), "balance_power");
    lay(format!("{policy}/ondemand/up_threshold"), "80");
    lay("/proc/sys/fs/aio-max-nr".into(), "1000");
    lay("/proc/sys/fs/aio-nr".into(), "500");
    Moment { kernel, journals: BTreeMap::new() }
}

fn disks(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| n.to_string()).collect()
}

/// The moment after the process died that had changed these disks.
fn dead(moment: &Moment, disks: &[&str]) -> Moment {
    let mut moment = moment.clone();
    for (path, text) in &mut moment.journals {
        if path.extension().is_some_and(|e| e == "json") {
            let mut journal = Journal::parse(text.as_bytes()).expect("a journal is whole at any moment");
            if journal.disks.iter().any(|d| disks.contains(&d.as_str())) {
                journal.owner.start += 1;
                *text = serde_json::to_string(&journal).unwrap();
            }
        }
    }
    moment
}

/// Asserts that nothing is left of any run.
fn assert_as_before(before: &Moment, end: &Moment, what: &str) {
    let all = before.kernel.keys().chain(end.kernel.keys());
    let differ: Vec<String> = all
        .filter(|path| before.kernel.get(*path) != end.kernel.get(*path))
        .map(|p| format!("{p}: {:?}, now {:?}", before.kernel.get(p), end.kernel.get(p)))
        .collect();
    assert!(differ.is_empty() && end.journals.is_empty(), "{what}: {differ:?} {:?}", end.journals);
}

/// The end of what `restore` does from a moment on.
fn restored(moment: &Moment, folder: &Path, which: Which) -> Moment {
    let put_back = |places: &Places| {
        for done in restore(places, which).unwrap() {
            let strange = done.knobs.iter().find(|k| {
                // Kept values of the whole machine go back with the journal that keeps them.
                !matches!(
                    k.outcome,
                    RestoreOutcome::Restored | RestoreOutcome::Unchanged | RestoreOutcome::HandedOver { .. }
                )
            });
            assert!(done.complete() && strange.is_none(), "{strange:?}");
        }
    };
    play(moment, folder, put_back).pop().unwrap()
}

/// A run that is killed at every change, and the next start, which is killed at every `stride`-th change too.
fn killed_twice(begin: &Moment, names: &[&str], stride: usize, act: impl Fn(&Places)) -> (usize, usize) {
    let dir = TempDir::new().unwrap();
    let first = play(begin, dir.path(), act);
    let (mut once, mut twice) = (0, 0);
    for (n, moment) in first.iter().enumerate() {
        let moment = dead(moment, names);
        once += 1;
        assert_as_before(begin, &restored(&moment, dir.path(), Which::Stale), &format!("killed at {n}"));
        let again = play(&moment, dir.path(), |places| drop(restore(places, Which::Stale).unwrap()));
        for (m, moment) in again.iter().enumerate().skip(n % stride).step_by(stride) {
            twice += 1;
            let what = format!("killed at {n}, and at {m} while values went back");
            assert_as_before(begin, &restored(moment, dir.path(), Which::Stale), &what);
        }
    }
    (once, twice)
}

#[test]
fn every_run_killed_at_every_change_leaves_the_machine_as_it_was() {
    let begin = machine();
    for (name, disk) in [("mq-deadline", "vdb"), ("bfq", "vdc"), ("none", "vdd")] {
        let whole = |places: &Places| {
            let tuned = tune(places, &disks(&[disk]), NEED).unwrap();
            assert_ne!(now().kernel, begin.kernel);
            assert!(tuned.restore().complete());
        };
        let (once, twice) = killed_twice(&begin, &[disk], 19, whole);
        println!("{name}: {once} kills, {twice} second kills");
        assert!(once > 50 && twice > 50, "{once} {twice}");
    }
}

#[test]
fn killed_while_sides_are_compared() {
    let begin = machine();
    let compare = |places: &Places| {
        let mut tuned = tune(places, &disks(&["vdb"]), NEED).unwrap();
        let paths: Vec<String> = tuned.applied().iter().map(|a| a.path.clone()).collect();
        for path in paths {
            for side in [Side::Before, Side::After, Side::Before] {
                tuned.set(&path, side).unwrap();
            }
            if path.ends_with("/scheduler") {
                let queue = |file: &str| now().kernel[&format!("/sys/block/vdb/queue/{file}")].clone();
                assert_eq!(
                    (queue("iosched/read_expire"), queue("scheduler").contains("[none]")),
                    ("123".into(), false)
                );
            }
        }
        assert!(tuned.restore().complete());
    };
    let (once, twice) = killed_twice(&begin, &["vdb"], 97, compare);
    println!("A/B: {once} kills, {twice} second kills");
    assert!(once > 300, "{once}");
}

/// One run dies at every change while another goes on, which ends before or after the next start.
#[test]
fn killed_beside_a_run_that_goes_on() {
    let begin = machine();
    let dir = TempDir::new().unwrap();
    let mut kills = 0;
    for survivor_is_first in [true, false] {
        for ends_first in [true, false] {
            for n in 0.. {
                let mut last = 0;
                play(&begin, dir.path(), |places| {
                    let other = || tune(places, &disks(&["vdc"]), NEED).unwrap();
                    let early = survivor_is_first.then(other);
                    let moments = aside(&now(), || {
                        let victim = tune(places, &disks(&["vdb"]), NEED).unwrap();
                        assert!(victim.restore().complete());
                    });
                    last = moments.len();
                    jump(&dead(&moments[n.min(last - 1)], &["vdb"]));
                    let survivor = early.unwrap_or_else(other);
                    if ends_first {
                        assert!(survivor.restore().complete());
                        restore(places, Which::Stale).unwrap();
                    } else {
                        restore(places, Which::Stale).unwrap();
                        assert!(survivor.restore().complete());
                    }
                    assert_as_before(&begin, &now(), &format!("{survivor_is_first} {ends_first} {n}"));
                });
                kills += 1;
                if n + 1 >= last {
                    break;
                }
            }
        }
    }
    println!("two at once: {kills} kills");
    assert!(kills > 300, "{kills}");
}

/// Kept values, over them a run that dies at every change: the start after it leaves the kept values, `restore` the original.
#[test]
fn killed_on_top_of_kept_values() {
    let begin = machine();
    let dir = TempDir::new().unwrap();
    let less = RoomNeeded { jobs: 1, depth: 100 };
    for disk in ["vdb", "vdc"] {
        let kept =
            play(&begin, dir.path(), |places| tune(places, &disks(&[disk]), less).unwrap().keep().unwrap());
        let mut kills = 0;
        for (n, moment) in kept.iter().enumerate() {
            let moment = dead(moment, &[disk]);
            assert_as_before(
                &begin,
                &restored(&moment, dir.path(), Which::Kept),
                &format!("kept, killed at {n}"),
            );
            kills += 1;
        }
        let kept = dead(kept.last().unwrap(), &[disk]);
        // The scheduler is switched back by hand: the next run has something to switch again.
        let mut by_hand = kept.clone();
        set(&mut by_hand.kernel, &format!("/sys/block/{disk}/queue/scheduler"), "kyber").unwrap();
        for begun in [&kept, &by_hand] {
            let run = |places: &Places| drop(tune(places, &disks(&[disk]), NEED).unwrap());
            for (n, moment) in play(begun, dir.path(), run).iter().enumerate() {
                let moment = dead(moment, &[disk]);
                let stale = restored(&moment, dir.path(), Which::Stale);
                assert_eq!(stale.kernel, begun.kernel, "{n}: what was kept stays");
                if begun == &kept {
                    let all = restored(&moment, dir.path(), Which::Kept);
                    assert_as_before(&begin, &all, &format!("killed at {n} over kept values"));
                    assert_as_before(
                        &begin,
                        &restored(&stale, dir.path(), Which::Kept),
                        &format!("{n}, in two steps"),
                    );
                }
                kills += 1;
            }
        }
        println!("kept {disk}: {kills} kills");
        assert!(kills > 100, "{kills}");
    }
}

/// After a kill somebody else sets one file. It stays, unless the run died in the very write that may have changed the file.
#[test]
fn what_somebody_else_changes_after_a_kill_stays() {
    let begin = machine();
    let dir = TempDir::new().unwrap();
    let whole = |places: &Places| drop(tune(places, &disks(&["vdb"]), NEED).unwrap().restore());
    let (mut told, mut unknown) = (0, 0);
    for (n, moment) in play(&begin, dir.path(), whole).iter().enumerate() {
        let moment = dead(moment, &["vdb"]);
        let journals =
            moment.journals.iter().filter(|(path, _)| path.extension().is_some_and(|e| e == "json"));
        let journal = journals.map(|(_, text)| Journal::parse(text.as_bytes()).unwrap()).next();
        for (file, value) in [
            ("scheduler", "kyber"),
            ("nr_requests", "33"),
            ("wbt_lat_usec", "44"),
            ("rq_affinity", "0"),
            ("read_ahead_kb", "55"),
            ("iosched/read_expire", "999"),
        ] {
            let path = format!("/sys/block/vdb/queue/{file}");
            let mut theirs = moment.clone();
            if set(&mut theirs.kernel, &path, value).is_err() {
                continue;
            }
            let entry = journal.iter().flat_map(|j| &j.entries).find(|e| e.path == path);
            let end = play(&theirs, dir.path(), |places| drop(restore(places, Which::Stale).unwrap()))
                .pop()
                .unwrap();
            if entry.is_some_and(|e| e.state == EntryState::Disturbed) {
                unknown += 1;
            } else {
                told += 1;
                assert_eq!(end.kernel[&path], theirs.kernel[&path], "{path} at {n}");
            }
            for (other, value) in &begin.kernel {
                if *other != path && !knob::disturbs(&path, other) {
                    assert_eq!(
                        end.kernel.get(other),
                        Some(value),
                        "{other} at {n}, {file} is somebody else's"
                    );
                }
            }
        }
    }
    println!("somebody else's value after {told} kills stayed, after {unknown} it could not be told");
    assert!(told > 10 * unknown, "{told} {unknown}");
}
