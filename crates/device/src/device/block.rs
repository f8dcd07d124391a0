//! The numbers, geometry and identity of a block device, from sysfs.
//!
//! Sizes in sysfs are sectors of 512 bytes whatever the device's own block (kernel: Documentation/ABI/stable/sysfs-block);
//! they leave here as [`Bytes`]. Who uses the device is [`Usage`](super::Usage)'s part; nothing is opened here.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::cgroup_limit::{CgroupLimit, cgroup_limits};
use super::disk_identity::{DiskIdentity, by_id};
use super::ioctl::SECTOR;
use super::stack_node::StackNode;
use super::{DevNumber, Root};
use volproof_base::unit::Bytes;

/// The kind of a device, by its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Driver {
    /// A virtio disk of a virtual machine.
    VirtioBlk,
    /// NVMe, a multipath head included.
    Nvme,
    /// SCSI, SATA, SAS, USB, virtio-scsi.
    Scsi,
    /// Xen's disk.
    Xen,
    /// SD card or eMMC.
    Mmc,
    /// A file seen as a device.
    Loop,
    /// Compressed memory.
    Zram,
    /// Plain memory.
    Ram,
    /// Device mapper: LVM, dm-crypt, multipath.
    Dm,
    /// Linux software RAID.
    Md,
    /// A cache over other devices.
    Bcache,
    /// The kernel's test device.
    NullBlk,
    /// A device over the network: nbd, rbd, drbd.
    Network,
    /// Anything else.
    Other,
}

impl Driver {
    /// By the kernel's naming of disks, which each driver owns (kernel: Documentation/admin-guide/devices.txt).
    fn from_name(name: &str) -> Driver {
        const PREFIXES: &[(&str, Driver)] = &[
            ("nvme", Driver::Nvme),
            ("nullb", Driver::NullBlk),
            ("nbd", Driver::Network),
            ("rbd", Driver::Network),
            ("drbd", Driver::Network),
            ("vd", Driver::VirtioBlk),
            ("xvd", Driver::Xen),
            ("sd", Driver::Scsi),
            ("sr", Driver::Scsi),
            ("mmcblk", Driver::Mmc),
            ("loop", Driver::Loop),
            ("zram", Driver::Zram),
            ("ram", Driver::Ram),
            ("dm-", Driver::Dm),
            ("md", Driver::Md),
            ("bcache", Driver::Bcache),
        ];
        PREFIXES.iter().find(|(p, _)| name.starts_with(p)).map_or(Driver::Other, |(_, d)| *d)
    }
}

/// A whole disk, or any node of the stack of block devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// The kernel's name, for `/sys/block/NAME`.
    pub name: String,
    /// Its number.
    pub number: DevNumber,
}

/// One partition of a whole disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    /// The kernel's name, such as `vdb1`.
    pub name: String,
    /// Its device number.
    pub number: DevNumber,
    /// Its number on the disk.
    pub index: u32,
    /// Where the partition starts on the disk.
    pub start_bytes: Bytes,
    /// Its length.
    pub size_bytes: Bytes,
    /// Whether it starts on a multiple of 4 KiB and of the physical block; one that does not makes the device read before
    /// it writes.
    pub aligned: bool,
}

/// Facts about a block device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// The kernel's name, such as `vdb1`.
    pub name: String,
    /// The device number.
    pub number: DevNumber,
    /// The whole disk that the device belongs to; the device itself when it is no partition. `/sys/block/NAME/stat` counts the disk's I/O.
    pub disk: Node,
    /// The partition's number on the disk, when it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<u32>,
    /// Where the device starts on the disk.
    pub start_bytes: Bytes,
    /// The device's size; zero without a medium.
    pub size_bytes: Bytes,
    /// The smallest block the device takes.
    pub logical_block_bytes: Bytes,
    /// The smallest block that the device writes without reading first.
    pub physical_block_bytes: Bytes,
    /// Whether the kernel refuses writes.
    pub read_only: bool,
    /// Whether the medium can be taken out.
    pub removable: bool,
    /// Whether the device reports a rotating medium. Cloud volumes often report one and have none.
    pub rotational: bool,
    /// The kind of device.
    pub driver: Driver,
    /// The maker's name for the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The serial number; a cloud provider puts the volume's id here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// The world-wide name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wwid: Option<String>,
    /// The names under `/dev/disk/by-id` that lead to it, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_id: Vec<String>,
    /// Counts every disk that appeared since boot: a new number means another disk (Linux 5.15).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diskseq: Option<u64>,
    /// The file or device behind a loop device, by the name it was attached with; it may lead elsewhere by now.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    #[schemars(with = "Option<PathBuf>")]
    pub backing_file: Option<PathBuf>,
    /// Where in that file the loop device begins.
    #[serde(default, skip_serializing_if = "Bytes::is_zero")]
    pub backing_offset_bytes: Bytes,
    /// Its partitions, by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<Partition>,
    /// The devices it lies on, all the way down: the disks of a volume group, the legs of a RAID, the paths of a multipath.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lies_on: Vec<Node>,
    /// Limits that this process's cgroup sets for the disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cgroup_limits: Vec<CgroupLimit>,
}

impl Block {
    /// A whole disk of 1 GiB for tests, without any name of its own.
    #[cfg(test)]
    pub fn of_test(name: &str, number: &str, driver: Driver) -> Block {
        let number = number.parse().unwrap();
        Block {
            name: name.into(),
            number,
            disk: Node { name: name.into(), number },
            partition: None,
            start_bytes: Bytes(0),
            size_bytes: Bytes::gib(1),
            logical_block_bytes: Bytes(512),
            physical_block_bytes: Bytes(4096),
            read_only: false,
            removable: false,
            rotational: false,
            driver,
            model: None,
            serial: None,
            wwid: None,
            by_id: Vec::new(),
            diskseq: None,
            backing_file: None,
            backing_offset_bytes: Bytes(0),
            partitions: Vec::new(),
            lies_on: Vec::new(),
            cgroup_limits: Vec::new(),
        }
    }

    /// Reads what sysfs says of the device with this kernel name; `None` when sysfs does not know it.
    pub fn read(root: &Root, name: &str) -> Option<Block> {
        let node = node(root, name)?;
        let dir = dir(name);
        let disk = whole_disk(root, name)?;
        let disk_dir = self::dir(&disk.name);
        let queue = |file: &str| root.number(disk_dir.join("queue").join(file)).map(Bytes);
        let sectors = |file: &str| Bytes(root.number(dir.join(file)).unwrap_or(0).saturating_mul(SECTOR));
        let identity = DiskIdentity::read(root, &disk.name);
        let logical = queue("logical_block_size").unwrap_or(Bytes(SECTOR));
        let physical = queue("physical_block_size").unwrap_or(logical);
        Some(Block {
            partition: root.number(dir.join("partition")).and_then(|n| u32::try_from(n).ok()),
            start_bytes: sectors("start"),
            size_bytes: sectors("size"),
            logical_block_bytes: logical,
            physical_block_bytes: physical,
            read_only: root.flag(dir.join("ro")),
            removable: root.flag(disk_dir.join("removable")),
            rotational: root.flag(disk_dir.join("queue/rotational")),
            driver: Driver::from_name(&disk.name),
            model: identity.model,
            serial: identity.serial,
            wwid: identity.wwid,
            by_id: by_id(root, name),
            diskseq: root.number(disk_dir.join("diskseq")),
            backing_file: identity.backing_file,
            backing_offset_bytes: identity.backing_offset,
            partitions: partitions(root, name, physical),
            lies_on: lies_on(root, &disk.name),
            cgroup_limits: cgroup_limits(root, disk.number),
            name: node.name,
            number: node.number,
            disk,
        })
    }

    /// The device with this number.
    pub fn with_number(root: &Root, number: DevNumber) -> Option<Block> {
        Block::read(root, &name_of(root, number)?)
    }

    /// Whether it starts on a multiple of 4 KiB and of the physical block.
    pub fn aligned(&self) -> bool {
        aligned(self.start_bytes, self.physical_block_bytes)
    }

    /// The device's node.
    pub fn dev_path(&self) -> PathBuf {
        dev_path(&self.name)
    }
}

/// A path whose name is no UTF-8 is written as far as it is text.
fn as_text<S: Serializer>(path: &Option<PathBuf>, s: S) -> Result<S::Ok, S::Error> {
    path.as_deref().map(Path::to_string_lossy).serialize(s)
}

impl Block {
    /// Whether it is a loop device that reads and writes its file through the page cache (`losetup --direct-io=off`, the default): memory
    /// then answers what was read or written a moment ago.
    pub fn is_cached_loop(&self, root: &Root) -> bool {
        self.driver == Driver::Loop && root.number(dir(&self.disk.name).join("loop/dio")) == Some(0)
    }
}

/// The device's folder in sysfs.
pub(super) fn dir(name: &str) -> PathBuf {
    Path::new("/sys/class/block").join(name)
}

/// The node of a kernel name, in which the kernel writes `!` for `/` (`cciss!c0d0`).
pub(super) fn dev_path(name: &str) -> PathBuf {
    Path::new("/dev").join(name.replace('!', "/"))
}

/// The kernel name with its number.
pub(super) fn node(root: &Root, name: &str) -> Option<Node> {
    let number = root.text(dir(name).join("dev"))?.parse().ok()?;
    Some(Node { name: name.to_string(), number })
}

/// The kernel name of a number.
pub(super) fn name_of(root: &Root, number: DevNumber) -> Option<String> {
    let real = root.resolve(format!("/sys/dev/block/{number}")).ok()?;
    Some(real.file_name()?.to_str()?.to_string())
}

/// The disk that a partition belongs to is the folder above it.
pub(super) fn whole_disk(root: &Root, name: &str) -> Option<Node> {
    if !root.has(dir(name).join("partition")) {
        return node(root, name);
    }
    let real = root.resolve(dir(name)).ok()?;
    node(root, real.parent()?.file_name()?.to_str()?)
}

/// Names of the partitions of a whole disk.
pub(super) fn partition_names(root: &Root, disk: &str) -> Vec<String> {
    let names = root.names(dir(disk)).into_iter();
    names.filter(|n| n.starts_with(disk) && root.has(dir(disk).join(n).join("partition"))).collect()
}

fn aligned(start: Bytes, physical: Bytes) -> bool {
    start.0.is_multiple_of(4096) && start.0.is_multiple_of(physical.0.max(1))
}

fn partitions(root: &Root, disk: &str, physical: Bytes) -> Vec<Partition> {
    let names = partition_names(root, disk).into_iter();
    let mut all: Vec<Partition> =
        names.filter_map(|name| partition(root, dir(disk).join(&name), name, physical)).collect();
    all.sort_by_key(|p| p.index);
    all
}

/// The partition of this folder; none while it comes or goes.
fn partition(root: &Root, dir: PathBuf, name: String, physical: Bytes) -> Option<Partition> {
    let start = Bytes(root.number(dir.join("start"))?.saturating_mul(SECTOR));
    Some(Partition {
        number: root.text(dir.join("dev"))?.parse().ok()?,
        index: u32::try_from(root.number(dir.join("partition"))?).ok()?,
        start_bytes: start,
        size_bytes: Bytes(root.number(dir.join("size"))?.saturating_mul(SECTOR)),
        aligned: aligned(start, physical),
        name,
    })
}

/// Everything below: `slaves/` and, for a partition among them, its disk.
pub(super) fn lies_on(root: &Root, disk: &str) -> Vec<Node> {
    let (mut found, mut todo) = (Vec::<Node>::new(), vec![disk.to_string()]);
    while let Some(name) = todo.pop() {
        let mut below = root.names(dir(&name).join("slaves"));
        below.extend(whole_disk(root, &name).filter(|d| d.name != name).map(|d| d.name));
        for node in below.iter().filter_map(|n| node(root, n)) {
            if node.name != disk && !found.contains(&node) {
                todo.push(node.name.clone());
                found.push(node);
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The number of the block device at a path, in this tree or on this machine.
pub(super) fn number_at(root: &Root, path: &Path) -> Option<DevNumber> {
    if !path.is_absolute() {
        return None;
    }
    if root.is_system() {
        return match StackNode::from_metadata(&std::fs::metadata(path).ok()?)? {
            StackNode::Device(number) => Some(number),
            StackNode::File(_) => None,
        };
    }
    let real = root.resolve(path).unwrap_or_else(|_| path.to_path_buf());
    let name = real.strip_prefix("/dev").ok()?.to_str()?.replace('/', "!");
    Some(node(root, &name)?.number)
}

/// The block device at a path, such as the source of a mount.
pub(super) fn block_at(root: &Root, path: &Path) -> Option<Block> {
    Block::with_number(root, number_at(root, path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_are_told_by_name() {
        for (name, driver) in [
            ("vdb", Driver::VirtioBlk),
            ("nvme0n1", Driver::Nvme),
            ("xvdf", Driver::Xen),
            ("dm-3", Driver::Dm),
            ("md127", Driver::Md),
            ("nullb0", Driver::NullBlk),
            ("cciss!c0d0", Driver::Other),
        ] {
            assert_eq!(Driver::from_name(name), driver, "{name}");
        }
        assert_eq!(dev_path("cciss!c0d0"), Path::new("/dev/cciss/c0d0"));
    }

    #[test]
    fn alignment_counts_the_physical_block() {
        assert!(aligned(Bytes::mib(1), Bytes(512)));
        assert!(!aligned(Bytes(63 * 512), Bytes(512)), "the start of partitions under DOS");
        assert!(!aligned(Bytes::kib(4), Bytes::kib(16)));
        assert!(aligned(Bytes(0), Bytes(0)));
    }
}
