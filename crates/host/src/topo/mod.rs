//! CPUs, NUMA nodes and hardware queues of a device, and on which CPUs the workers of a run belong.
//!
//! Read from /sys and /proc below a root path; a queue map is read, never assumed. Nothing here changes the machine:
//! `placement` is a pure function from a [`Topology`] to a [`Placement`], and the engine does the pinning.

mod cpu_set;
mod cpus;
mod placement;
mod queues;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use volproof_device::device::Root;

pub use cpu_set::{CpuSet, NotCpus};
pub use cpus::{Cpu, Cpus};
pub use placement::{PlaceError, Placement, Seat, place, place_on};
pub use queues::{Disk, Queue, QueueKind, QueueTarget};

/// Why the machine could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TopoError {
    /// No such block device.
    #[error("no block device '{name}': {path} does not exist; `ls /sys/class/block` lists the names")]
    NoDevice {
        /// The name as it was given.
        name: String,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A file that is not what its name promises.
    #[error("{path}: {why}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason why the file could not be understood.
        why: String,
    },
}

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

/// The value of a file; `None` where the file cannot be read, as under an older kernel or another driver.
///
/// # Errors
/// A file that is there and cannot be understood, by its name.
fn value<T: FromStr>(root: &Root, path: impl AsRef<Path>) -> Result<Option<T>, TopoError>
where
    T::Err: std::fmt::Display,
{
    let Some(text) = root.text(&path) else { return Ok(None) };
    parsed(root, path, &text).map(Some)
}

/// The value in a text from a file.
fn parsed<T: FromStr>(root: &Root, path: impl AsRef<Path>, text: &str) -> Result<T, TopoError>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|e: T::Err| TopoError::Unreadable { path: root.path(path), why: e.to_string() })
}
