//! CPUs, NUMA nodes and hardware queues of a device, and on which CPUs the workers of a run belong.
//!
//! Read from /sys and /proc below a root path; a queue map is read, never assumed. Nothing here changes the machine:
//! `placement` is a pure function from a [`Topology`] to a [`Placement`], and the engine does the pinning.

mod cpu_set;
mod cpus;
mod placement;
mod queues;
#[cfg(test)]
mod tests;
mod topo_value;

use serde::{Deserialize, Serialize};

pub use cpu_set::{CpuSet, NotCpus};
pub use cpus::{Cpu, Cpus};
pub use placement::{PlaceError, Placement, Seat, place, place_on};
pub use queues::{Disk, Queue, QueueKind, QueueTarget};
pub use topo_value::TopoError;

use volproof_device::device::Root;

/// The CPUs and disks that decide where workers belong, for one or several devices at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// The machine's CPUs and which of them this process may use.
    pub cpus: Cpus,
    /// The devices that were asked for, in the order of the request.
    pub targets: Vec<QueueTarget>,
    /// The disks that carry these devices, each once.
    pub disks: Vec<Disk>,
}

impl Topology {
    /// Reads the topology for sysfs names such as `nvme0n1`, `vdb1` or `dm-0`.
    ///
    /// # Errors
    /// A name that is no block device, or a file of sysfs or procfs that cannot be understood.
    pub fn read(root: &Root, names: &[&str]) -> Result<Topology, TopoError> {
        let cpus = cpus::read(root)?;
        let (targets, disks) = queues::read(root, names)?;
        Ok(Topology { cpus, targets, disks })
    }
}
