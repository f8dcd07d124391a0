//! Hardware queues of a block device and the CPUs that submit into each, from `mq/*/cpu_list`.
//!
//! The device that was asked for need not have the queues. A partition uses the queues of its disk, a native NVMe
//! multipath head (`nvme0n1`) those of its paths (`nvme0c0n1`), and a device-mapper or md device those of the devices that
//! it is built on. Devices that never pass through blk-mq (zram, brd, pmem) have no queues at all.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::topo_value::value;
use super::{CpuSet, TopoError};
use volproof_device::device::Root;

/// A device that was asked for, and the disks that carry its I/O.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueTarget {
    /// The name as it was given.
    pub asked: String,
    /// The whole disk: for a partition, the disk that the partition lies on.
    pub disk: String,
    /// Names in [`Topology::disks`](super::Topology::disks) that carry the device's I/O.
    pub carried_by: Vec<String>,
}

/// A disk as blk-mq sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Its name in `/sys/block`.
    pub name: String,
    /// NUMA node of its controller, where it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<u32>,
    /// Hardware queues in numeric order; none for a bio-based device.
    pub queues: Vec<Queue>,
}

impl Disk {
    /// Whether the kernel hands its I/O over without blk-mq queues.
    pub fn bio_based(&self) -> bool {
        self.queues.is_empty()
    }

    /// Its queues of one kind, in numeric order.
    pub fn of_kind(&self, kind: QueueKind) -> impl Iterator<Item = &Queue> {
        self.queues.iter().filter(move |q| q.kind == kind)
    }
}

/// One hardware queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Its number: the folder below `mq/`.
    pub index: u32,
    /// CPUs that submit into it, offline ones included.
    pub cpus: CpuSet,
    /// Which I/O it takes.
    pub kind: QueueKind,
}

/// The kernel's three maps from CPU to queue (`enum hctx_type` in blk-mq.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueueKind {
    /// Everything that has no queue of its own.
    Default,
    /// Reads, where the driver was asked for separate write queues (`nvme.write_queues`).
    Read,
    /// Polled I/O only (`--hipri`, IOPOLL); never raises an interrupt.
    Poll,
}

impl QueueKind {
    /// The word used in tables.
    pub fn name(self) -> &'static str {
        match self {
            QueueKind::Default => "default",
            QueueKind::Read => "read",
            QueueKind::Poll => "poll",
        }
    }
}

/// The search for the disks beneath a device ends at this depth: real stacks are three or four deep, and a damaged tree may have a loop.
const DEEPEST: usize = 16;

pub(super) fn read(root: &Root, names: &[&str]) -> Result<(Vec<QueueTarget>, Vec<Disk>), TopoError> {
    let (mut targets, mut disks) = (Vec::new(), Vec::<Disk>::new());
    for asked in names {
        let (disk, folder) = whole_disk(root, asked)?;
        let mut carriers = Vec::new();
        descend(root, &disk, folder, DEEPEST, &mut carriers)?;
        let mut carried_by = Vec::new();
        for carrier in carriers {
            if !carried_by.contains(&carrier.name) {
                carried_by.push(carrier.name.clone());
            }
            if disks.iter().all(|d| d.name != carrier.name) {
                disks.push(carrier);
            }
        }
        targets.push(QueueTarget { asked: asked.to_string(), disk, carried_by });
    }
    Ok((targets, disks))
}

/// The disk that a name or a path below /dev stands for, and its folder.
fn whole_disk(root: &Root, asked: &str) -> Result<(String, PathBuf), TopoError> {
    let mut name = asked.to_string();
    if asked.contains('/')
        && let Some(real) = root.resolve(asked).ok().as_deref().and_then(Path::file_name)
    {
        name = real.to_string_lossy().into_owned();
    }
    let missing = || TopoError::NoDevice {
        name: asked.to_string(),
        path: root.path("/sys/class/block").join(name.rsplit('/').next().unwrap_or_default()),
    };
    if name.contains('/') || name.is_empty() || name.starts_with('.') {
        return Err(missing());
    }
    let folder = root.resolve(format!("/sys/class/block/{name}")).ok();
    let folder = folder.or_else(|| root.resolve(format!("/sys/block/{name}")).ok()).ok_or_else(missing)?;
    if !root.has(folder.join("partition")) {
        return Ok((name, folder));
    }
    let disk = folder.parent().ok_or_else(missing)?.to_path_buf();
    let name = disk.file_name().ok_or_else(missing)?.to_string_lossy().into_owned();
    Ok((name, disk))
}

/// Collects the disks below `name` that have queues of their own, or the device itself where there are none.
fn descend(
    root: &Root,
    name: &str,
    folder: PathBuf,
    depth: usize,
    found: &mut Vec<Disk>,
) -> Result<(), TopoError> {
    let queues = queues(root, name, &folder)?;
    if !queues.is_empty() || depth == 0 {
        found.push(Disk { name: name.to_string(), node: node(root, &folder)?, queues });
        return Ok(());
    }
    let mut below = multipath_paths(root, name);
    if below.is_empty() {
        below = root.names(folder.join("slaves"));
    }
    if below.is_empty() {
        found.push(Disk { name: name.to_string(), node: node(root, &folder)?, queues });
        return Ok(());
    }
    for child in below {
        let (child, folder) = whole_disk(root, &child)?;
        descend(root, &child, folder, depth - 1, found)?;
    }
    Ok(())
}

/// The paths `nvmeXcYnZ` of a head `nvmeXnZ`: those in the optimised ANA state, or all if none says so.
fn multipath_paths(root: &Root, head: &str) -> Vec<String> {
    let Some((subsystem, namespace)) = head.strip_prefix("nvme").and_then(|r| r.split_once('n')) else {
        return Vec::new();
    };
    let (mut all, mut best) = (Vec::new(), Vec::new());
    for name in root.names("/sys/block") {
        let behind = name.strip_prefix("nvme").and_then(|r| r.strip_prefix(subsystem)?.strip_prefix('c'));
        let Some((path, of_namespace)) = behind.and_then(|behind| behind.split_once('n')) else { continue };
        if of_namespace != namespace || !path.bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        if root.text(format!("/sys/block/{name}/ana_state")).is_some_and(|state| state == "optimized") {
            best.push(name.clone());
        }
        all.push(name);
    }
    if best.is_empty() { all } else { best }
}

fn queues(root: &Root, name: &str, folder: &Path) -> Result<Vec<Queue>, TopoError> {
    let mut queues = Vec::new();
    for index in root.numbers(folder.join("mq"), "") {
        let cpus = value(root, folder.join(format!("mq/{index}/cpu_list")))?.unwrap_or_default();
        queues.push(Queue { index, cpus, kind: QueueKind::Default });
    }
    let io_poll = root.text(folder.join("queue/io_poll")).is_some_and(|t| t == "1");
    let module = match name {
        n if n.starts_with("nvme") => "nvme",
        n if n.starts_with("vd") => "virtio_blk",
        n if n.starts_with("nullb") => "null_blk",
        _ => "",
    };
    let parameter =
        |p: &str| -> Option<u32> { root.text(format!("/sys/module/{module}/parameters/{p}"))?.parse().ok() };
    let own = root.text(format!("/sys/kernel/config/nullb/{name}/poll_queues")).and_then(|t| t.parse().ok());
    let poll = own.or_else(|| parameter("poll_queues")).unwrap_or(0u32);
    let write = parameter("write_queues").unwrap_or(0);
    tell_apart(&mut queues, io_poll, poll > 0, write > 0);
    Ok(queues)
}

/// Drivers number the queues of the default map first, then those of the read map, then those of the poll map. Each map covers every CPU
/// once. So a CPU that appears again begins the next map. `io_poll` and the module parameters say which map the second one is. Older
/// kernels allow `io_poll` to be switched off while the poll queues stay.
fn tell_apart(queues: &mut [Queue], io_poll: bool, poll_asked: bool, write_asked: bool) {
    let (mut map, mut seen) = (0, CpuSet::default());
    let mut maps = Vec::with_capacity(queues.len());
    for queue in queues.iter() {
        if !seen.and(&queue.cpus).is_empty() {
            map += 1;
            seen = CpuSet::default();
        }
        seen = seen.or(&queue.cpus);
        maps.push(map);
    }
    let last_polls = map >= 2 || io_poll || (poll_asked && !write_asked);
    for (queue, of) in queues.iter_mut().zip(maps) {
        queue.kind = match of {
            0 => QueueKind::Default,
            m if m == map && last_polls => QueueKind::Poll,
            _ => QueueKind::Read,
        };
    }
}

/// The NUMA node of the nearest ancestor that has one; -1 means that the firmware does not say.
fn node(root: &Root, folder: &Path) -> Result<Option<u32>, TopoError> {
    for dir in folder.ancestors().take_while(|d| d.file_name().is_some_and(|n| n != "devices")) {
        if let Some(node) = value::<i32>(root, dir.join("numa_node"))? {
            return Ok(u32::try_from(node).ok());
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kinds(lists: &[&str], io_poll: bool, poll: bool, write: bool) -> String {
        let mut queues: Vec<Queue> = (0..)
            .zip(lists)
            .map(|(index, l)| Queue { index, cpus: l.parse().unwrap(), kind: QueueKind::Default })
            .collect();
        tell_apart(&mut queues, io_poll, poll, write);
        queues.iter().map(|q| &q.kind.name()[..1]).collect()
    }

    #[test]
    fn queue_kinds_of_real_devices() {
        // Measured on Linux 6.12 with four CPUs (virtio, nvme, null_blk, scsi_debug).
        assert_eq!(kinds(&["0", "1", "2", "3"], false, false, false), "dddd");
        assert_eq!(kinds(&["0,1", "2", "3", "0,1,2,3"], true, true, false), "dddp");
        assert_eq!(kinds(&["0,1", "2,3", "0,1", "2,3"], true, true, false), "ddpp");
        assert_eq!(kinds(&["0", "1", "2", "3", "0-3"], true, true, false), "ddddp");
        assert_eq!(kinds(&["0-3"], false, false, false), "d");
        // io_poll switched off on an older kernel: the queues are still there.
        assert_eq!(kinds(&["0,1", "2,3", "0-3"], false, true, false), "ddp");
        // nvme.write_queues=1, with and without poll queues.
        assert_eq!(kinds(&["0-3", "0,1", "2,3"], false, false, true), "drr");
        assert_eq!(kinds(&["0-3", "0,1", "2,3", "0-3"], true, true, true), "drrp");
        // One CPU: both maps have one queue.
        assert_eq!(kinds(&["0", "0"], true, true, false), "dp");
    }

    proptest! {
        /// Whatever the lists, the default queues never share a CPU: a worker's CPU leads to one queue.
        #[test]
        fn default_queues_share_no_cpu(
            lists in proptest::collection::vec(proptest::collection::btree_set(0u32..8, 0..5), 0..12),
            io_poll: bool, poll: bool, write: bool,
        ) {
            let mut queues: Vec<Queue> = (0..).zip(lists)
                .map(|(index, l)| Queue { index, cpus: l.into_iter().collect(), kind: QueueKind::Poll })
                .collect();
            tell_apart(&mut queues, io_poll, poll, write);
            let mut seen = CpuSet::default();
            for queue in queues.iter().filter(|q| q.kind == QueueKind::Default) {
                prop_assert!(seen.and(&queue.cpus).is_empty());
                seen = seen.or(&queue.cpus);
            }
        }
    }
}
