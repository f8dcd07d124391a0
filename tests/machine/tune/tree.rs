//! A /sys and /proc of plain files in a temporary folder: two disks, one frequency policy, the limit of libaio.

use std::fs;
use std::path::{Path, PathBuf};

use volproof::tune::Places;

/// Every knob of the tree and its value before a run.
pub const BEFORE: &[(&str, &str)] = &[
    ("/sys/block/vdb/queue/scheduler", "mq-deadline"),
    ("/sys/block/vdb/queue/rq_affinity", "1"),
    ("/sys/block/vdb/queue/nomerges", "0"),
    ("/sys/block/vdb/queue/nr_requests", "64"),
    ("/sys/block/vdb/queue/wbt_lat_usec", "75000"),
    ("/sys/block/vdb/queue/add_random", "1"),
    ("/sys/block/vdb/queue/io_poll_delay", "-1"),
    ("/sys/block/vdb/queue/iostats", "1"),
    ("/sys/block/vdc/queue/rq_affinity", "0"),
    ("/sys/block/vdc/queue/nomerges", "1"),
    ("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave"),
    ("/proc/sys/fs/aio-max-nr", "65536"),
];

/// Lays the tree out below a folder.
pub fn lay(dir: &Path) -> Places {
    let places = Places { root: dir.join("root"), journals: dir.join("run/volproof") };
    let write = |path: &str, text: &str| {
        let path = at(&places, path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    };
    for (path, value) in BEFORE {
        write(path, value);
    }
    // The kernel shows choices on one line. A plain file keeps what a short write leaves behind it, so they stand below.
    write("/sys/block/vdb/queue/scheduler", &format!("mq-deadline{}none mq-deadline kyber", "\n".repeat(16)));
    write("/sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors", "performance powersave");
    write("/sys/block/vdb/mq/0/nr_tags", "256");
    write("/sys/block/vdb/mq/1/nr_tags", "256");
    write("/proc/sys/fs/aio-nr", "0");
    places
}

/// The file behind a path of the tree.
pub fn at(places: &Places, path: &str) -> PathBuf {
    places.root.join(path.trim_start_matches('/'))
}

/// A knob's value: its first line.
pub fn value(places: &Places, path: &str) -> String {
    let text = fs::read_to_string(at(places, path)).unwrap();
    text.lines().next().unwrap_or_default().to_string()
}

/// Sets a knob behind the program's back.
#[allow(dead_code)] // only some of the tests play the stranger
pub fn set(places: &Places, path: &str, text: &str) {
    fs::write(at(places, path), format!("{text}\n")).unwrap();
}

/// Asserts that every knob says what it said before.
pub fn assert_all_back(places: &Places) {
    for (path, before) in BEFORE {
        assert_eq!(value(places, path), *before, "{path}");
    }
}

/// Journals that are left.
pub fn journals(places: &Places) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(&places.journals) else { return Vec::new() };
    entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "json")).collect()
}
