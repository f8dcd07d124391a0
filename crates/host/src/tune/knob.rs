//! The knobs, each a row of data: where it is, what we want and why, and who says so.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Places, knob_file};

/// One kernel setting.
#[derive(Debug)]
pub struct Knob {
    /// Its name in tables.
    pub name: &'static str,
    /// Its file; `{disk}` stands for the name in /sys/block, `*` for every name.
    pub path: &'static str,
    /// The value for a run.
    pub want: Want,
    /// Why.
    pub reason: &'static str,
    /// The document that says so.
    pub source: &'static str,
    /// Files that the kernel may change when this one is written, from its folder; `*` stands for every name. They come
    /// back too.
    pub disturbs: &'static [&'static str],
}

/// How a wanted value is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// This value.
    Exactly(&'static str),
    /// This value, if the knob offers it: in its own text (`[none] mq-deadline`) or in a file beside it.
    IfOffered {
        /// The value.
        value: &'static str,
        /// A file beside the knob that lists the choices; none if the knob lists them itself.
        choices: Option<&'static str>,
    },
    /// Room for the requests that a run keeps in flight on one queue, up to the device's own tags.
    Tags,
    /// Room for the events of all the run's asynchronous contexts.
    AioEvents,
}

/// What a knob belongs to: a disk or the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// One disk: nobody else may run on it meanwhile.
    Disk,
    /// The machine: runs on several disks share it, and the last one puts it back.
    Machine,
}

/// The requests for which a run needs room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoomNeeded {
    /// Workers.
    pub jobs: u64,
    /// Requests each keeps in flight.
    pub depth: u64,
}

/// Written in this order, put back in this order: the scheduler first, because switching it resets others.
pub const KNOBS: &[Knob] = &[
    Knob {
        name: "scheduler",
        path: "/sys/block/{disk}/queue/scheduler",
        want: Want::IfOffered { value: "none", choices: None },
        reason: "requests go straight to the hardware queues",
        source: "kernel Documentation/block/switching-sched",
        disturbs: &["nr_requests", "wbt_lat_usec", "async_depth", "iosched/*"],
    },
    Knob {
        name: "rq_affinity",
        path: "/sys/block/{disk}/queue/rq_affinity",
        want: Want::Exactly("2"),
        reason: "completions run on the CPU that submitted",
        source: "test100w.sh; kernel ABI sysfs-block",
        disturbs: &[],
    },
    Knob {
        name: "nomerges",
        path: "/sys/block/{disk}/queue/nomerges",
        want: Want::Exactly("2"),
        reason: "each I/O that is counted is one request at the device",
        source: "kernel ABI sysfs-block",
        disturbs: &[],
    },
    Knob {
        name: "nr_requests",
        path: "/sys/block/{disk}/queue/nr_requests",
        want: Want::Tags,
        reason: "the run's depth fits into a hardware queue",
        source: "kernel ABI sysfs-block",
        disturbs: &["async_depth", "iosched/*"],
    },
    Knob {
        name: "wbt_lat_usec",
        path: "/sys/block/{disk}/queue/wbt_lat_usec",
        want: Want::Exactly("0"),
        reason: "writeback throttling would slow buffered writes",
        source: "kernel ABI sysfs-block; block/blk-wbt.c",
        disturbs: &[],
    },
    Knob {
        name: "add_random",
        path: "/sys/block/{disk}/queue/add_random",
        want: Want::Exactly("0"),
        reason: "no entropy is gathered at each completion",
        source: "kernel ABI sysfs-block",
        // The queue's limits are computed anew, and the read-ahead with them (block/blk-settings.c, Linux 6.10).
        disturbs: &["read_ahead_kb"],
    },
    Knob {
        name: "io_poll_delay",
        path: "/sys/block/{disk}/queue/io_poll_delay",
        want: Want::Exactly("-1"),
        reason: "polled I/O spins instead of sleeping first",
        source: "kernel ABI sysfs-block",
        disturbs: &[],
    },
    Knob {
        name: "governor",
        path: "/sys/devices/system/cpu/cpufreq/*/scaling_governor",
        want: Want::IfOffered { value: "performance", choices: Some("scaling_available_governors") },
        reason: "latency without waiting for a CPU to speed up",
        source: "kernel Documentation/admin-guide/pm/cpufreq",
        disturbs: &[
            "energy_performance_preference",
            "scaling_setspeed",
            "conservative/*",
            "ondemand/*",
            "schedutil/*",
            "../conservative/*",
            "../ondemand/*",
            "../schedutil/*",
        ],
    },
    Knob {
        name: "aio-max-nr",
        path: "/proc/sys/fs/aio-max-nr",
        want: Want::AioEvents,
        reason: "libaio contexts of all workers can be set up",
        source: "kernel Documentation/admin-guide/sysctl/fs; fs/aio.c",
        disturbs: &[],
    },
];

impl Knob {
    /// What the knob belongs to.
    pub fn scope(&self) -> Scope {
        if self.path.contains("{disk}") { Scope::Disk } else { Scope::Machine }
    }
}

/// Settings of a scheduler. Writing one may change others: bfq's `slice_idle` and `slice_idle_us` are the same value.
const OF_A_SCHEDULER: &str = "/sys/block/*/queue/iosched/*";

/// Patterns of the files that may change when this file is written.
fn disturbed_by(path: &str) -> Vec<String> {
    let row = KNOBS.iter().find(|k| fits(&k.path.replace("{disk}", "*"), path));
    let relative = match row {
        Some(knob) => knob.disturbs,
        None if fits(OF_A_SCHEDULER, path) => &["*"],
        None => &[],
    };
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
    let mut patterns = Vec::new();
    for file in relative {
        patterns.push(match file.strip_prefix("../") {
            Some(file) => format!("{above}/{file}"),
            None => format!("{folder}/{file}"),
        });
    }
    patterns
}

/// Whether the kernel may change the other file when this one is written.
pub(super) fn disturbs(written: &str, other: &str) -> bool {
    written != other && disturbed_by(written).iter().any(|pattern| fits(pattern, other))
}

/// The existing files that the kernel may change when this one is written.
fn disturbed(places: &Places, path: &str) -> Vec<String> {
    let patterns = disturbed_by(path);
    let paths = patterns.iter().flat_map(|pattern| spread(&places.root, pattern));
    paths.filter(|p| p != path && knob_file::writable(&places.knob(p))).collect()
}

/// Whether tuning can change this path. Restoring, which runs as root, writes nowhere else.
pub(super) fn is_ours(path: &str) -> bool {
    KNOBS.iter().any(|k| {
        let knob = k.path.replace("{disk}", "*");
        fits(&knob, path) || disturbed_by(&knob).iter().any(|pattern| fits(pattern, path))
    })
}

/// What a file belongs to.
pub(super) fn scope(path: &str) -> Scope {
    if path.starts_with("/sys/block/") { Scope::Disk } else { Scope::Machine }
}

/// Whether a path has the form of a pattern, in which `*` is any name.
fn fits(pattern: &str, path: &str) -> bool {
    let (pattern, path): (Vec<_>, Vec<_>) = (pattern.split('/').collect(), path.split('/').collect());
    pattern.len() == path.len() && pattern.iter().zip(&path).all(|(part, name)| part_fits(part, name))
}

fn part_fits(part: &str, name: &str) -> bool {
    if part == "*" { !["", ".", ".."].contains(&name) } else { part == name }
}

/// A knob of this machine: what it says, and what a run wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The knob's name.
    pub knob: String,
    /// Its file, from `/`.
    pub path: String,
    /// The disk it belongs to; absent for one of the machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub disk: Option<String>,
    /// Its value.
    pub now: String,
    /// The value for a run.
    pub wanted: String,
    /// Why that value.
    pub reason: String,
    /// Who says so.
    pub source: String,
    /// Other files that writing it may change; they go back with it.
    pub disturbs: Vec<String>,
}

impl Setting {
    /// Whether there is something to write.
    pub fn differs(&self) -> bool {
        self.now != self.wanted
    }
}

/// Reads the knobs that the machine has, for disks as `/sys/block` names them. What is absent (an older kernel, a bio-based
/// device, no frequency scaling) is no row.
pub fn survey(places: &Places, disks: &[String], need: RoomNeeded) -> Vec<Setting> {
    let mut settings = Vec::new();
    for knob in KNOBS {
        let paths: Vec<(Option<String>, String)> = match knob.scope() {
            Scope::Disk => disks.iter().map(|d| (Some(d.clone()), knob.path.replace("{disk}", d))).collect(),
            Scope::Machine => spread(&places.root, knob.path).into_iter().map(|p| (None, p)).collect(),
        };
        for (disk, path) in paths {
            let Some(now) = value(places, &path) else { continue };
            let Some(wanted) = wanted(places, knob, &path, disk.as_deref(), &now, need) else { continue };
            let disturbs = disturbed(places, &path);
            settings.push(Setting {
                knob: knob.name.to_string(),
                path,
                disk,
                now,
                wanted,
                reason: knob.reason.to_string(),
                source: knob.source.to_string(),
                disturbs,
            });
        }
    }
    settings
}

/// A knob's value as it would be written: of a list of choices, the bracketed one.
pub(super) fn value(places: &Places, path: &str) -> Option<String> {
    read(&places.knob(path)).ok()
}

/// Tells the queue of a disk from that of another disk of the same name: the kernel gives each folder in sysfs a number of its own.
pub(super) fn queue(places: &Places, disk: &str) -> Option<u64> {
    knob_file::inode(&places.knob(&format!("/sys/block/{disk}/queue")))
}

/// As [`value`], for callers who must tell a vanished device from a failure.
pub(super) fn read(path: &Path) -> std::io::Result<String> {
    let text = knob_file::read(path)?;
    // A knob has one line of text.
    let text = text.lines().next().unwrap_or_default().trim();
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    Ok(bracketed.map_or(text, |(choice, _)| choice).to_string())
}

fn number(places: &Places, path: &str) -> Option<u64> {
    value(places, path)?.parse().ok()
}

fn wanted(
    places: &Places,
    knob: &Knob,
    path: &str,
    disk: Option<&str>,
    now: &str,
    need: RoomNeeded,
) -> Option<String> {
    match knob.want {
        Want::Exactly(value) => Some(value.to_string()),
        Want::IfOffered { value, choices } => {
            let list = choices.map_or(path.to_string(), |c| {
                path.rsplit_once('/').map_or(String::new(), |(dir, _)| format!("{dir}/{c}"))
            });
            let list = knob_file::read(&places.knob(&list)).ok()?;
            let mut offered = list.split_whitespace().map(|c| c.trim_matches(['[', ']']));
            offered.any(|c| c == value).then(|| value.to_string())
        }
        Want::Tags => {
            let folder = format!("/sys/block/{}/mq", disk?);
            let queues = knob_file::names(&places.knob(&folder)).len().max(1) as u64;
            let tags = number(places, &format!("{folder}/0/nr_tags")).unwrap_or(u64::MAX);
            let room = need.jobs.div_ceil(queues).saturating_mul(need.depth).min(tags);
            Some(now.parse::<u64>().ok()?.max(room).to_string())
        }
        // Kernels before 4.19 count an event twice (fs/aio.c), so twice the depth is always enough.
        Want::AioEvents => {
            let used = number(places, "/proc/sys/fs/aio-nr").unwrap_or(0);
            let room = used.saturating_add(need.jobs.saturating_mul(need.depth).saturating_mul(2));
            Some(now.parse::<u64>().ok()?.max(room).to_string())
        }
    }
}

/// The paths behind a pattern, in which `*` is every name that there is.
fn spread(root: &Path, pattern: &str) -> Vec<String> {
    let mut paths = vec![String::new()];
    for part in pattern.split('/').skip(1) {
        let mut below = Vec::new();
        for path in paths {
            let names = match part {
                "*" => knob_file::names(&root.join(path.trim_start_matches('/'))),
                name => vec![name.to_string()],
            };
            below.extend(names.into_iter().map(|name| format!("{path}/{name}")));
        }
        paths = below;
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_knobs_and_what_they_disturb_are_written() {
        for path in [
            "/sys/block/nvme0c0n1/queue/rq_affinity",
            "/sys/block/sda/queue/read_ahead_kb",
            "/sys/block/sda/queue/iosched/read_expire",
            "/sys/devices/system/cpu/cpufreq/policy3/scaling_governor",
            "/sys/devices/system/cpu/cpufreq/policy3/ondemand/up_threshold",
            "/sys/devices/system/cpu/cpufreq/ondemand/up_threshold",
            "/proc/sys/fs/aio-max-nr",
        ] {
            assert!(is_ours(path), "{path}");
        }
        for path in [
            "/etc/shadow",
            "/sys/block/../queue/scheduler",
            "/sys/block/vda/vda1/queue/scheduler",
            "/sys/block/vda/queue/iosched/..",
            "/sys/block/vda/queue/iostats",
            "",
            "/",
        ] {
            assert!(!is_ours(path), "{path}");
        }
    }

    #[test]
    fn what_a_write_disturbs_lies_beside_it() {
        let queue = |file: &str| format!("/sys/block/sda/queue/{file}");
        assert!(disturbs(&queue("scheduler"), &queue("iosched/read_expire")));
        assert!(!disturbs(&queue("scheduler"), "/sys/block/sdb/queue/nr_requests"), "another disk");
        assert!(disturbs(&queue("iosched/slice_idle"), &queue("iosched/slice_idle_us")));
        assert!(!disturbs(&queue("iosched/slice_idle"), &queue("iosched/slice_idle")), "itself");
        assert!(!disturbs(&queue("nomerges"), &queue("nr_requests")));
        let cpufreq = "/sys/devices/system/cpu/cpufreq";
        assert!(disturbs(
            &format!("{cpufreq}/policy1/scaling_governor"),
            &format!("{cpufreq}/ondemand/rate")
        ));
    }

    #[test]
    fn evidence_is_never_switched_off() {
        assert!(KNOBS.iter().all(|k| !k.path.contains("iostats")));
    }
}
