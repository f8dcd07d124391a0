//! Parts of the machine that this process cannot see. A device may be in use there, so that the guard refuses to write.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{PROC_SUPER_MAGIC, statfs};

use super::mounts::own_mounts;
use super::stack::readable;
use super::{Root, Unseen};
use volproof_base::shell_word::shell;

/// `SYSFS_MAGIC`, from linux/magic.h.
const SYSFS: u64 = 0x6265_6572;
/// The first process namespace has this inode (kernel: include/linux/proc_ns.h, `PROC_PID_INIT_INO`).
const FIRST_PROCESSES: &str = "pid:[4026531836]";

/// Parts of /proc and /sys that are missing or covered, each with its way out. A captured tree hides nothing.
pub fn hidden_parts(root: &Root) -> Vec<Unseen> {
    let mut found = Vec::new();
    if !root.is_system() {
        return found;
    }
    for (filesystem, top, magic, paths) in [
        ("proc", "/proc", PROC_SUPER_MAGIC as u64, &["self/mountinfo", "swaps", "partitions", ""][..]),
        ("sysfs", "/sys", SYSFS, &["block", "class/block", "dev/block", ""][..]),
    ] {
        let mut paths = paths.iter().map(|p| Path::new(top).join(p));
        if let Some(path) = paths.find(|p| !statfs(p).is_ok_and(|fs| fs.f_type as u64 == magic)) {
            let path = path.display();
            found.push(Unseen::new(
                format!("{path} is not what the kernel shows there"),
                format!("make it seen with mount -t {filesystem} {filesystem} {top}"),
            ));
        }
    }
    for mount in own_mounts(root).iter().filter(|m| covers(&m.mount_point)) {
        let path = readable(&mount.mount_point);
        let what = format!("a mount of {} covers {path}", mount.filesystem);
        found.push(Unseen::new(what, format!("take it away with umount {}", shell(&path))));
    }
    let mut unshown = not_in_sysfs(root);
    for _ in 0..LOOKS {
        if unshown.is_empty() {
            break;
        }
        std::thread::sleep(BETWEEN_LOOKS);
        let still = not_in_sysfs(root);
        unshown.retain(|name| still.contains(name));
    }
    found.extend(unshown.iter().map(|name| {
        let what = format!("/proc/partitions lists {name} and /sys does not show it");
        Unseen::new(what, "make it seen with mount -t sysfs sysfs /sys")
    }));
    found
}

/// A device that comes or goes is in one list before it is in the other.
const LOOKS: u32 = 5;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Devices that the kernel lists and sysfs does not show.
fn not_in_sysfs(root: &Root) -> Vec<String> {
    let listed = root.text("/proc/partitions").unwrap_or_default();
    let mut unshown = Vec::new();
    for line in listed.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [major, minor, _, name] = words.as_slice() else { continue };
        // Above the list stands a heading.
        let shown = major.parse::<u32>().is_err()
            || root.has(format!("/sys/dev/block/{major}:{minor}"))
                && root.has(format!("/sys/class/block/{}/dev", name.replace('/', "!")));
        if !shown {
            unshown.push(name.to_string());
        }
    }
    unshown
}

/// Why other processes cannot be looked at, where they cannot: their open files and mounts stay unknown.
pub fn hidden_processes(root: &Root) -> Option<Unseen> {
    if !root.is_system() {
        return None;
    }
    if root.link("/proc/self/ns/pid").is_none_or(|ns| ns != Path::new(FIRST_PROCESSES)) {
        return Some(Unseen::new(
            "this is a container, and processes outside it are not shown",
            "share the host's processes with it (--pid=host, hostPID), or run outside",
        ));
    }
    // Nobody but root may look into the first process.
    let first = PathBuf::from("/proc/1/fd");
    std::fs::read_dir(&first).err().map(|e| {
        let what = format!("open files of other users' processes are not shown ({}: {e})", first.display());
        Unseen::new(what, "run as root")
    })
}

/// Whether a mount at this place covers something that the graph is read from.
fn covers(place: &Path) -> bool {
    let parts = ["block", "class", "dev", "devices", "fs/btrfs", "fs/bcache", "fs/erofs"];
    let of_proc = place.strip_prefix("/proc").ok().and_then(|rest| rest.iter().next());
    let of_sys = place.strip_prefix("/sys").ok().filter(|rest| *rest != Path::new(""));
    of_sys.is_some_and(|rest| {
        parts.iter().any(|part| rest.starts_with(part) || Path::new(part).starts_with(rest))
    }) || of_proc.is_some_and(|name| {
        ["self", "swaps", "partitions", "mounts", "locks"].iter().any(|n| name == *n)
            || name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_read_counts_as_covered() {
        for place in [
            "/sys/block",
            "/sys/fs",
            "/sys/fs/erofs",
            "/sys/devices/virtual/block/loop0/loop",
            "/proc/self/mountinfo",
            "/proc/1",
            "/proc/swaps",
        ] {
            assert!(covers(Path::new(place)), "{place}");
        }
        // What containers cover, and what every machine mounts there.
        for place in [
            "/proc",
            "/sys",
            "/proc/kcore",
            "/proc/sys/fs/binfmt_misc",
            "/sys/fs/cgroup",
            "/sys/firmware",
            "/sys/kernel/debug",
            "/",
        ] {
            assert!(!covers(Path::new(place)), "{place}");
        }
    }

    #[test]
    fn this_machine_hides_nothing() {
        let root = Root::system();
        assert_eq!(hidden_parts(&root), Vec::<Unseen>::new());
        assert!(hidden_parts(&Root::tree("/nowhere")).is_empty());
    }
}
