//! Who uses a block device: mounts, swap, devices built on it, loop devices, pools, processes that hold it open.
//!
//! A disk is one with its partitions, with everything built on them, and with other paths to the same volume: use of any of
//! these is use of the disk. Only what this user may see is seen; the exclusive open in the guard is the kernel's own word.

use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::block::{Identity, dev_path, dir, lies_on, name_of, node, partition_names, whole_disk};
use super::mounts::{Mount, all_mounts, swaps};
use super::{Block, DevNumber, Node, Root};

/// How a device belongs to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// The target itself.
    Itself,
    /// A partition of it.
    Partition,
    /// The disk that the target is a partition of; its other partitions are no concern.
    Parent,
    /// Built on it: a logical volume, RAID, crypt or multipath device.
    Holder,
    /// A loop device that shows it.
    Loop,
    /// Another path to the same volume.
    Twin,
}

/// A device that is used when the target is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Relative {
    /// Which device.
    pub node: Node,
    /// How it belongs to the target.
    pub relation: Relation,
    /// Through which device.
    pub through: String,
    /// What it calls itself: a device mapper name, a RAID level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// A device mapper's own identity, whose first word tells who made it: `LVM-`, `CRYPT-`, `mpath-`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
}

/// A mount of one of the devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MountedOn {
    /// Kernel name of the device.
    pub device: String,
    /// The mount.
    pub mount: Mount,
}

/// A process that holds one of the devices open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Opener {
    /// Its process id.
    pub pid: u32,
    /// Its name.
    pub command: String,
    /// Kernel name of the device.
    pub device: String,
    /// Whether it may write.
    pub writes: bool,
}

/// Who uses a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// The devices that count as the target, itself first.
    pub relatives: Vec<Relative>,
    /// Mounts of any of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<MountedOn>,
    /// Kernel names of those that are swapped to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub swaps: Vec<String>,
    /// Kernel names of those that are members of a mounted btrfs or a bcache set, which mountinfo does not show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<String>,
    /// Other processes that hold one open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub openers: Vec<Opener>,
    /// Whether the disk carries `/`.
    pub system_disk: bool,
    /// Other disks with the same serial that are other volumes: the serial does not say which is meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same_serial: Vec<String>,
    /// Other disks of the same model, which matters where a disk has no better name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same_model: Vec<String>,
}

impl Usage {
    /// Looks for everyone who uses this device.
    pub fn read(root: &Root, block: &Block) -> Usage {
        let namesakes = Namesakes::find(root, block);
        let relatives = relatives(root, block, &namesakes.twins);
        let named = |number: DevNumber| {
            relatives.iter().find(|r| r.node.number == number).map(|r| r.node.name.clone())
        };
        let mounts = all_mounts(root);
        let system_disk = carries_root(root, block, &mounts);
        Usage {
            mounts: mounts
                .into_iter()
                .filter_map(|mount| {
                    let device =
                        named(mount.number).or_else(|| named(number_at(root, Path::new(&mount.source))?))?;
                    Some(MountedOn { device, mount })
                })
                .collect(),
            swaps: swaps(root)
                .iter()
                .filter(|s| !s.file)
                .filter_map(|s| named(number_at(root, &s.path)?))
                .collect(),
            pools: pool_members(root)
                .into_iter()
                .filter(|n| relatives.iter().any(|r| r.node.name == *n))
                .collect(),
            openers: lasting_openers(root, &relatives),
            system_disk,
            same_serial: namesakes.serial,
            same_model: namesakes.model,
            relatives,
        }
    }

    /// Devices built on the target, or that show it.
    pub fn holders(&self) -> impl Iterator<Item = &Relative> {
        self.relatives.iter().filter(|r| matches!(r.relation, Relation::Holder | Relation::Loop))
    }
}

/// The number of the block device at a path, in this tree or on this machine.
pub(super) fn number_at(root: &Root, path: &Path) -> Option<DevNumber> {
    if !path.is_absolute() {
        return None;
    }
    if root.is_system() {
        let stat = std::fs::metadata(path).ok()?;
        return stat.file_type().is_block_device().then(|| DevNumber::from_raw(stat.rdev()));
    }
    let real = root.resolve(path).unwrap_or_else(|_| path.to_path_buf());
    let name = real.strip_prefix("/dev").ok()?.to_str()?.replace('/', "!");
    Some(node(root, &name)?.number)
}

/// Every loop device that shows this file or device.
pub(super) fn loops_on(root: &Root, path: &Path) -> Vec<String> {
    let shows = |name: &String| {
        let Some(backing) = root.text(dir(name).join("loop/backing_file")) else { return false };
        let backing = Path::new(&backing);
        backing == path || root.resolve(backing).is_ok_and(|b| b == path)
    };
    root.names("/sys/block").into_iter().filter(|n| n.starts_with("loop")).filter(shows).collect()
}

/// Other whole disks by what they share with this one.
#[derive(Default)]
struct Namesakes {
    /// The world-wide name or the file behind it: paths to one volume.
    twins: Vec<String>,
    /// The serial, and not the world-wide name.
    serial: Vec<String>,
    /// The model, and there is nothing better to go by.
    model: Vec<String>,
}

impl Namesakes {
    fn find(root: &Root, block: &Block) -> Namesakes {
        let mut found = Namesakes::default();
        for name in root.names("/sys/block").into_iter().filter(|n| *n != block.disk.name) {
            // The paths of an NVMe multipath are hidden: they have no number and no node to write to.
            if node(root, &name).is_none() {
                continue;
            }
            let other = Identity::read(root, &name);
            let same = |ours: &Option<String>, theirs: &Option<String>| ours.is_some() && ours == theirs;
            let same_file = block.backing_file.is_some() && block.backing_file == other.backing_file;
            if same_file || same(&block.wwid, &other.wwid) {
                found.twins.push(name);
            } else if same(&block.serial, &other.serial) {
                found.serial.push(name);
            } else if same(&block.model, &other.model) {
                found.model.push(name);
            }
        }
        found
    }
}

/// The target, its partitions or its disk, its twins, and everything built on these.
fn relatives(root: &Root, block: &Block, twins: &[String]) -> Vec<Relative> {
    let mut found: Vec<Relative> = Vec::new();
    let mut todo = vec![(block.name.clone(), Relation::Itself, block.name.clone())];
    if block.partition.is_some() {
        todo.push((block.disk.name.clone(), Relation::Parent, block.name.clone()));
    }
    todo.extend(twins.iter().map(|t| (t.clone(), Relation::Twin, block.name.clone())));
    todo.reverse();
    while let Some((name, relation, through)) = todo.pop() {
        let Some(node) = node(root, &name).filter(|n| found.iter().all(|r| r.node.number != n.number)) else {
            continue;
        };
        let label = ["dm/name", "md/level"].iter().find_map(|f| root.text(dir(&name).join(f)));
        let uuid = root.text(dir(&name).join("dm/uuid"));
        found.push(Relative { node, relation, through, label, uuid });
        if relation != Relation::Parent {
            let partitions = partition_names(root, &name).into_iter();
            let kind = if relation == Relation::Itself { Relation::Partition } else { relation };
            todo.extend(partitions.map(|p| (p, kind, name.clone())));
        }
        let holders = root.names(dir(&name).join("holders")).into_iter();
        todo.extend(holders.map(|h| (h, Relation::Holder, name.clone())));
        todo.extend(loops_on(root, &dev_path(&name)).into_iter().map(|l| (l, Relation::Loop, name.clone())));
    }
    found
}

/// Members of mounted btrfs filesystems and of running bcache sets.
fn pool_members(root: &Root) -> Vec<String> {
    let fs = Path::new("/sys/fs/btrfs");
    let btrfs = root.names(fs).into_iter().flat_map(|uuid| root.names(fs.join(uuid).join("devices")));
    let bcache = root.names("/sys/class/block").into_iter().filter(|n| root.has(dir(n).join("bcache/set")));
    btrfs.chain(bcache).collect()
}

/// Whether the target shares a disk with `/`, down through every layer on both sides.
fn carries_root(root: &Root, block: &Block, mounts: &[Mount]) -> bool {
    let mut system = BTreeSet::new();
    for mount in mounts.iter().filter(|m| m.mount_point == Path::new("/")) {
        let by_number = name_of(root, mount.number);
        if let Some(name) = by_number.or_else(|| name_of(root, number_at(root, Path::new(&mount.source))?)) {
            beneath(root, &name, true, &mut system);
        }
    }
    let mut ours = BTreeSet::new();
    beneath(root, &block.name, false, &mut ours);
    !system.is_disjoint(&ours)
}

/// The device and everything it lies on; `files` goes on through the file behind a loop device to the disk it is on.
fn beneath(root: &Root, name: &str, files: bool, found: &mut BTreeSet<String>) {
    let disk = whole_disk(root, name).map_or(name.to_string(), |d| d.name);
    let mut all = vec![name.to_string(), disk.clone()];
    all.extend(lies_on(root, &disk).into_iter().map(|n| n.name));
    for name in all {
        if !found.insert(name.clone()) || !files {
            continue;
        }
        let backing = root.text(dir(&name).join("loop/backing_file")).map(PathBuf::from);
        let device = backing.and_then(|b| super::file::place(root, &b).ok()).and_then(|p| p.device);
        if let Some(device) = device {
            beneath(root, &device.name, files, found);
        }
    }
}

/// How often openers are looked for again: udev, blkid and losetup open every device in passing, the last for half a second
/// when several of it race for the same device.
const LOOKS: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The openers that stay.
fn lasting_openers(root: &Root, relatives: &[Relative]) -> Vec<Opener> {
    let mut found = openers(root, relatives);
    for _ in 0..LOOKS {
        if found.is_empty() || !root.is_system() {
            break;
        }
        std::thread::sleep(BETWEEN_LOOKS);
        let still = openers(root, relatives);
        found.retain(|o| still.iter().any(|s| s.pid == o.pid && s.device == o.device));
    }
    found
}

/// Other processes with one of the devices open, as far as this user may look. Databases on raw devices open them without
/// claiming them, so that the exclusive open alone does not see them.
fn openers(root: &Root, relatives: &[Relative]) -> Vec<Opener> {
    let own = std::process::id().to_string();
    let mut found: Vec<Opener> = Vec::new();
    for pid in root.names("/proc").iter().filter(|n| n.bytes().all(|b| b.is_ascii_digit()) && **n != own) {
        let proc = Path::new("/proc").join(pid);
        for fd in root.names(proc.join("fd")) {
            let link = proc.join("fd").join(&fd);
            // Only links into /dev are followed: stat of a file on a dead network mount would hang.
            let Some(to) = root.link(&link).filter(|to| to.starts_with("/dev")) else { continue };
            let path = if root.is_system() { &link } else { &to };
            let Some(number) = number_at(root, path) else { continue };
            let Some(relative) = relatives.iter().find(|r| r.node.number == number) else { continue };
            let opener = Opener {
                pid: pid.parse().unwrap_or_default(),
                command: root.text(proc.join("comm")).unwrap_or_default(),
                device: relative.node.name.clone(),
                writes: opened_for_writing(&root.text(proc.join("fdinfo").join(&fd)).unwrap_or_default()),
            };
            match found.iter_mut().find(|o| o.pid == opener.pid && o.device == opener.device) {
                Some(known) => known.writes |= opener.writes,
                None => found.push(opener),
            }
        }
    }
    found
}

/// The `flags` of fdinfo are octal and hold the access mode in their two lowest bits (proc_pid_fdinfo(5)).
fn opened_for_writing(fdinfo: &str) -> bool {
    let flags = fdinfo.lines().find_map(|l| l.strip_prefix("flags:"));
    flags.and_then(|f| u32::from_str_radix(f.trim(), 8).ok()).is_none_or(|f| f & 0o3 != 0)
}

/// Whether a path lives on the same disk as the device: output written there disturbs the measurement.
pub fn shares_disk(root: &Root, block: &Block, path: &Path) -> bool {
    let existing = path.ancestors().find_map(|p| root.resolve(p).ok());
    let place = existing.and_then(|p| super::file::place(root, &p).ok());
    let Some(device) = place.and_then(|p| p.device) else { return false };
    let (mut theirs, mut ours) = (BTreeSet::new(), BTreeSet::new());
    beneath(root, &device.name, true, &mut theirs);
    beneath(root, &block.name, false, &mut ours);
    !theirs.is_disjoint(&ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_mode_is_in_the_lowest_bits() {
        assert!(!opened_for_writing("pos:\t0\nflags:\t0100000\nmnt_id:\t9\n"));
        assert!(opened_for_writing("pos:\t0\nflags:\t0140002\n"));
        assert!(opened_for_writing("pos:\t0\nflags:\t01\n"));
        assert!(opened_for_writing(""), "what cannot be read counts as writing");
    }
}
