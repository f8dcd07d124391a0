//! Files that the kernel changes beside the one that is written: on devices of the test's own, for every knob and scheduler, they are no
//! more than the journal says. Needs root; says so and passes without.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use volproof::tune::{Places, RoomNeeded, Scope, survey};

use crate::tune::traced_loop::{Device, as_new};
use crate::tune::zram_disk::Zram;

/// Every file of a queue that can be read, with its text.
fn queue(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(queue(&path));
        } else if let Ok(text) = fs::read_to_string(&path) {
            files.insert(path, text);
        }
    }
    files
}

/// Values to write into a knob.
fn values(knob: &str, schedulers: &[String]) -> Vec<String> {
    let plain: &[&str] = match knob {
        "scheduler" => return schedulers.to_vec(),
        "rq_affinity" | "nomerges" => &["0", "1", "2"],
        "nr_requests" => &["32", "77", "64"],
        "wbt_lat_usec" => &["0", "1234", "75000"],
        "add_random" => &["1", "0", "1"],
        "io_poll_delay" => &["0", "-1"],
        other => panic!("{other} is a new knob: say here what is written into it"),
    };
    plain.iter().map(|v| v.to_string()).collect()
}

/// Writes every knob of a disk, and says which files each write changed: (scheduler, knob, files).
fn listed(disk: &str) -> Vec<(String, String, Vec<String>)> {
    let folder = Path::new("/sys/block").join(disk).join("queue");
    let places = Places { root: "/".into(), journals: "/nonexistent".into() };
    let write = |file: &str, value: &str| fs::write(folder.join(file), value);
    let offered = fs::read_to_string(folder.join("scheduler")).unwrap_or_default();
    let schedulers: Vec<String> = offered.split_whitespace().map(|s| s.replace(['[', ']'], "")).collect();
    let mut list = Vec::new();
    for scheduler in schedulers.iter().map(String::as_str).chain(schedulers.is_empty().then_some("")) {
        for knob in survey(&places, &[disk.to_string()], RoomNeeded::default()) {
            if knob.disk.is_none() {
                continue;
            }
            for value in values(&knob.knob, &schedulers) {
                // Not what the kernel begins with, so that a reset is seen.
                let _ = write("scheduler", scheduler);
                for (file, value) in [
                    ("nr_requests", "55"),
                    ("wbt_lat_usec", "4321"),
                    ("read_ahead_kb", "96"),
                    ("iosched/async_depth", "9"),
                ] {
                    let _ = write(file, value);
                }
                let row = survey(&places, &[disk.to_string()], RoomNeeded::default());
                let row = row.into_iter().find(|r| r.knob == knob.knob && r.disk.is_some()).unwrap();
                let before = queue(&folder);
                let _ = fs::write(&row.path, &value);
                let after = queue(&folder);
                let changed = before.iter().filter(|(path, text)| after.get(*path) != Some(*text));
                // What came with the new scheduler goes with it.
                let changed: Vec<String> = changed.map(|(path, _)| path.display().to_string()).collect();
                for path in changed.iter().filter(|path| **path != row.path) {
                    assert!(
                        row.disturbs.contains(path),
                        "{scheduler}: {value} into {} changed {path}",
                        row.path
                    );
                }
                list.push((scheduler.to_string(), knob.knob.clone(), changed));
            }
        }
    }
    list
}

#[test]
fn a_write_changes_nothing_that_the_journal_does_not_name() {
    let Some(device) = Device::attach(16 << 20) else { return };
    let queue = Path::new("/sys/block").join(device.path.trim_start_matches("/dev/")).join("queue");
    let begin = ["nr_requests", "wbt_lat_usec", "add_random", "read_ahead_kb"]
        .map(|file| (queue.join(file), fs::read_to_string(queue.join(file)).unwrap_or_default()));
    let list = listed(device.path.trim_start_matches("/dev/"));
    as_new(&device.path);
    for (file, value) in begin {
        let _ = fs::write(file, value);
    }
    let changes = |knob: &str, file: &str| {
        list.iter().any(|(_, k, changed)| k == knob && changed.iter().any(|path| path.ends_with(file)))
    };
    assert!(changes("scheduler", "/queue/nr_requests") && changes("rq_affinity", "/rq_affinity"), "{list:?}");
}

#[test]
fn a_device_without_a_scheduler_too() {
    let Some(zram) = Zram::add() else { return };
    let list = listed(&zram.name);
    assert!(list.iter().any(|(_, _, changed)| !changed.is_empty()), "{list:?}");
}

/// The knobs of a disk are those that the lists above are about; those of the machine have no queue.
#[test]
fn every_knob_of_a_disk_has_values() {
    let disk = volproof::tune::KNOBS.iter().filter(|k| k.scope() == Scope::Disk);
    assert!(disk.map(|k| values(k.name, &["none".into()]).len()).all(|n| n > 0));
}
