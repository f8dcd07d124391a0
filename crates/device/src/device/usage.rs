//! Who uses a block device: mounts, swap, devices built on it, loop devices, pools, processes that hold it open.
//!
//! A use of anything that shares bytes with the device is a use of the device; the graph of [`Stack`] tells what does. Beside it, the guard
//! asks the kernel itself, by an exclusive open.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::block::{node, partition_names};
use super::disk_identity::{DiskIdentity, word};
use super::mounted_image::UsedBy;
use super::mounts::Mount;
use super::processes::{Wanted, openers};
use super::stack::{Layer, Relation, Sharing, Stack, open_device};
use super::stack_node::StackNode;
use super::{Block, Node, Opener, Root, Unseen, hidden_parts};

/// A device that shares bytes with the target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Relative {
    /// Which device.
    pub node: Node,
    /// How it belongs to the target.
    pub relation: Relation,
    /// How it lies on the device that led to it, or that one on it; absent for the target itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
    /// Through which device or file.
    pub through: String,
    /// The device's own label: a device mapper name, a RAID level.
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

/// Who uses a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// The devices that share bytes with the target, itself first.
    pub relatives: Vec<Relative>,
    /// Mounts of any of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<MountedOn>,
    /// Names of those devices and files that are swapped to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub swaps: Vec<String>,
    /// Kernel names of those that are members of a mounted btrfs or a bcache set, which mountinfo does not show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<String>,
    /// Other processes that hold one open, or the file behind one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub openers: Vec<Opener>,
    /// Whether the target lies on a disk that carries `/`.
    pub system_disk: bool,
    /// Parts of the system that could not be examined. With any of them, nobody can say that the device is not in use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<Unseen>,
    /// Other disks with the same serial that are other volumes: the serial does not say which is meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same_serial: Vec<String>,
    /// Other disks of the same model or behind a file of the same name, which matters where a disk has no better name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same_model: Vec<String>,
}

impl Usage {
    /// Looks for everyone who uses this device.
    pub fn read(root: &Root, block: &Block) -> Usage {
        let stack = root.stack();
        let target = StackNode::Device(block.number);
        let sharing = stack.sharing(target);
        let named =
            |thing: StackNode| sharing.iter().find(|s| s.thing == thing).map(|s| stack.shown(s.thing).name);
        let namesakes = Namesakes::find(root, block);
        let mut unseen = hidden_parts::hidden_parts(root);
        unseen.extend(stack.unseen.iter().cloned());
        unseen.extend(stack.unasked_loops.iter().map(|name| {
            Unseen::by_root(format!("what {name} shows cannot be seen: this user may not open /dev/{name}"))
        }));
        for file in sharing.iter().map(|s| s.thing).filter(|thing| matches!(thing, StackNode::File(_))) {
            let name = stack.shown(file).name;
            unseen.extend(stack.hidden_images(root, file, Path::new(&name), UsedBy::Loop));
            unseen.extend(stack.hidden_users(file, Path::new(&name)));
        }
        let wanted: Vec<(StackNode, String)> =
            sharing.iter().map(|s| (s.thing, stack.shown(s.thing).name)).collect();
        let openers = openers(root, &Wanted { things: &wanted });
        unseen.extend(hidden_parts::hidden_processes(root).or_else(|| openers.unshown()));
        unseen.extend(openers.unseen);
        let mounts = stack.mounts.iter();
        Usage {
            relatives: sharing.iter().filter_map(|s| relative(stack, s)).collect(),
            mounts: mounts
                .filter_map(|(on, mount)| Some(MountedOn { device: named(*on)?, mount: mount.clone() }))
                .collect(),
            swaps: stack.swaps.iter().filter_map(|s| named(*s)).collect(),
            pools: stack.pools.iter().filter_map(|p| named(*p)).collect(),
            openers: openers.seen,
            system_disk: stack.system_disk(target).is_some(),
            unseen,
            same_serial: namesakes.serial,
            same_model: namesakes.model,
        }
    }

    /// Devices that somebody built on the target's bytes, and loop devices that show the target.
    pub fn holders(&self) -> impl Iterator<Item = &Relative> {
        self.relatives.iter().filter(|r| match r.layer {
            Some(Layer::Built) => matches!(r.relation, Relation::Above | Relation::Beside),
            Some(Layer::Loop) => r.relation == Relation::Above,
            _ => false,
        })
    }

    /// Devices whose use an exclusive open of the target does not show: those beside it, and those behind a loop device.
    fn unclaimed(&self) -> impl Iterator<Item = &Relative> {
        self.relatives.iter().filter(|r| match r.relation {
            Relation::Beside => true,
            Relation::Below => r.layer == Some(Layer::Loop),
            Relation::Itself | Relation::Above => false,
        })
    }
}

/// Devices that share bytes with the target and are claimed by somebody, whatever this process may see of him, and how that is known; the
/// second list has those that could not be asked.
pub fn claimed(root: &Root, usage: &Usage) -> (Vec<String>, Vec<Unseen>) {
    let (mut claimed, mut unseen) = (Vec::new(), Vec::new());
    for relative in usage.unclaimed().filter(|_| root.is_system()) {
        let name = &relative.node.name;
        // A disk with partitions answers for all of them: those that share bytes with the target are asked instead.
        if !partition_names(root, name).is_empty()
            || root.stack().built_on(StackNode::Device(relative.node.number)).next().is_some()
        {
            continue;
        }
        match open_device(name, StackNode::Device(relative.node.number), libc::O_EXCL) {
            Ok(_) => {}
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) => claimed.push(name.clone()),
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENXIO | libc::ENOMEDIUM)) => {}
            Err(e) => {
                let what =
                    format!("whether {name} is in use cannot be seen: /dev/{name} does not open ({e})");
                unseen.push(Unseen::by_root(what));
            }
        }
    }
    (claimed, unseen)
}

fn relative(stack: &Stack, found: &Sharing) -> Option<Relative> {
    let StackNode::Device(number) = found.thing else { return None };
    let shown = stack.shown(found.thing);
    Some(Relative {
        node: Node { name: shown.name, number },
        relation: found.relation,
        layer: found.layer,
        through: stack.shown(found.through).name,
        label: shown.label,
        uuid: shown.uuid,
    })
}

/// Other whole disks that go by the same name, and hold other bytes.
#[derive(Default)]
struct Namesakes {
    /// The same serial.
    serial: Vec<String>,
    /// The same model, or a file of the same name.
    model: Vec<String>,
}

impl Namesakes {
    fn find(root: &Root, block: &Block) -> Namesakes {
        let mut found = Namesakes::default();
        let own = DiskIdentity::read(root, &block.disk.name);
        for name in root.names("/sys/block").into_iter().filter(|n| *n != block.disk.name) {
            // The paths of an NVMe multipath are hidden: they have no number and no node to write to.
            if node(root, &name).is_none() {
                continue;
            }
            let other = DiskIdentity::read(root, &name);
            if own.wwid.is_some() && own.wwid == other.wwid {
                continue;
            }
            let file = own.backing_file.is_some() && own.backing_file == other.backing_file;
            if is_one_word(&own.serial, &other.serial) {
                found.serial.push(name);
            } else if is_one_word(&own.model, &other.model)
                || (file && own.backing_offset == other.backing_offset)
            {
                found.model.push(name);
            }
        }
        found
    }
}

/// Whether both are known and print as the same word.
fn is_one_word(ours: &Option<String>, theirs: &Option<String>) -> bool {
    ours.as_deref().is_some_and(|o| theirs.as_deref().is_some_and(|t| word(o) == word(t)))
}

/// Whether a path lives on the same disk as the device: output written there disturbs the measurement.
pub fn shares_disk(root: &Root, block: &Block, path: &Path) -> bool {
    let existing = path.ancestors().find_map(|p| root.resolve(p).ok());
    let place = existing.and_then(|p| super::file_facts::place(root, &p).ok());
    let own = StackNode::Device(block.number);
    place.is_some_and(|p| p.devices().any(|d| root.stack().disturbs(own, StackNode::Device(d.number))))
}
