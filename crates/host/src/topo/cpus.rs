//! The CPUs of the machine: which exist, which share a core, a cache or a node, and which this process may run on.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::topo_value::{parsed, value};
use super::{CpuSet, TopoError};
use volproof_device::device::{Root, unescaped};

const CPU: &str = "/sys/devices/system/cpu";

/// A core with less than this part of the fastest core's capacity is an efficiency core. Kernel `cpu_capacity` differs by
/// a few per cent among equal cores with a favoured turbo bin, and by half between kinds of core.
const EFFICIENT: f64 = 0.8;

/// One online CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// The number of the CPU.
    pub id: u32,
    /// CPUs of the same physical core, this one included.
    pub core: CpuSet,
    /// CPUs with the same last-level cache, this one included.
    pub llc: CpuSet,
    /// The NUMA node of the CPU, where the machine tells.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<u32>,
    /// Whether the CPU is one of the slower cores of a hybrid processor.
    pub efficient: bool,
}

/// All CPUs, and the limits on this process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpus {
    /// CPUs that run.
    pub online: CpuSet,
    /// CPUs that exist and are switched off.
    pub offline: CpuSet,
    /// CPUs kept free of ordinary work (`isolcpus=`, isolated cpuset partitions).
    pub isolated: CpuSet,
    /// CPUs that the control group allows; absent without a cpuset controller.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpuset: Option<CpuSet>,
    /// CPUs that the affinity mask of this process allows (`taskset`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub affinity: Option<CpuSet>,
    /// The online CPUs, ascending.
    pub each: Vec<Cpu>,
}

impl Cpus {
    /// The CPU of that number, if it is online.
    pub fn get(&self, id: u32) -> Option<&Cpu> {
        self.each.binary_search_by_key(&id, |c| c.id).ok().map(|i| &self.each[i])
    }

    /// Online CPUs that the control group and the affinity mask leave to this process.
    pub fn allowed(&self) -> CpuSet {
        let limits = [&self.cpuset, &self.affinity];
        limits.into_iter().flatten().fold(self.online.clone(), |set, limit| set.and(limit))
    }

    /// Allowed CPUs that a worker may be placed on. Isolated CPUs are among them only when no other CPU is allowed: that is how
    /// a user asks for isolated CPUs (`taskset -c 4-7` on a machine with `isolcpus=4-7`).
    pub fn usable(&self) -> CpuSet {
        let allowed = self.allowed();
        match allowed.without(&self.isolated) {
            rest if rest.is_empty() => allowed,
            rest => rest,
        }
    }

    /// NUMA nodes with their online CPUs; one nameless group where the kernel has no nodes.
    pub fn nodes(&self) -> Vec<(Option<u32>, CpuSet)> {
        self.groups(|c| c.node)
    }

    /// Groups of online CPUs that share a last-level cache.
    pub fn llcs(&self) -> Vec<CpuSet> {
        self.groups(|c| c.llc.clone()).into_iter().map(|(_, set)| set).collect()
    }

    /// Physical cores with their online CPUs.
    pub fn cores(&self) -> Vec<CpuSet> {
        self.groups(|c| c.core.clone()).into_iter().map(|(_, set)| set).collect()
    }

    fn groups<K: PartialEq>(&self, key: impl Fn(&Cpu) -> K) -> Vec<(K, CpuSet)> {
        let mut groups: Vec<(K, CpuSet)> = Vec::new();
        for cpu in &self.each {
            let key = key(cpu);
            match groups.iter_mut().find(|(k, _)| *k == key) {
                Some((_, set)) => drop(set.insert(cpu.id)),
                None => groups.push((key, CpuSet::one(cpu.id))),
            }
        }
        groups
    }
}

pub(super) fn read(root: &Root) -> Result<Cpus, TopoError> {
    let set = |name: &str| value::<CpuSet>(root, format!("{CPU}/{name}"));
    let online = match set("online")? {
        Some(set) => set,
        None => {
            let path = root.path(format!("{CPU}/online"));
            return Err(TopoError::Unreadable { path, why: "missing: is /sys mounted?".into() });
        }
    };
    // `offline` also lists CPUs that the machine has no hardware for but could get; only `present` ones exist.
    let offline = set("present")?.unwrap_or_default().without(&online);
    let partitions = value::<CpuSet>(root, "/sys/fs/cgroup/cpuset.cpus.isolated")?.unwrap_or_default();
    let isolated = set("isolated")?.unwrap_or_default().or(&partitions);

    let mut nodes = Vec::new();
    for node in root.numbers("/sys/devices/system/node", "node") {
        let cpus = value::<CpuSet>(root, format!("/sys/devices/system/node/node{node}/cpulist"))?;
        nodes.push((node, cpus.unwrap_or_default()));
    }
    let atoms = value::<CpuSet>(root, "/sys/devices/cpu_atom/cpus")?.unwrap_or_default();
    let mut capacities = Vec::new();
    for id in online.iter() {
        capacities.push(value::<u32>(root, format!("{CPU}/cpu{id}/cpu_capacity"))?);
    }
    let fastest = f64::from(capacities.iter().flatten().copied().max().unwrap_or(0));

    let mut each = Vec::new();
    for (id, capacity) in online.iter().zip(capacities) {
        let dir = format!("{CPU}/cpu{id}");
        let core = match value::<CpuSet>(root, format!("{dir}/topology/core_cpus_list"))? {
            Some(core) => Some(core),
            // The file's name before Linux 5.3.
            None => value(root, format!("{dir}/topology/thread_siblings_list"))?,
        };
        each.push(Cpu {
            id,
            core: core.unwrap_or_else(|| CpuSet::one(id)),
            llc: last_level(root, &dir)?.unwrap_or_else(|| CpuSet::one(id)),
            node: nodes.iter().find(|(_, cpus)| cpus.contains(id)).map(|(n, _)| *n),
            efficient: atoms.contains(id) || capacity.is_some_and(|c| f64::from(c) < fastest * EFFICIENT),
        });
    }
    Ok(Cpus { online, offline, isolated, cpuset: cpuset(root)?, affinity: affinity(root)?, each })
}

/// The sharers of the highest cache level.
fn last_level(root: &Root, cpu: &str) -> Result<Option<CpuSet>, TopoError> {
    let mut best: Option<(u32, String)> = None;
    for index in root.numbers(format!("{cpu}/cache"), "index") {
        let dir = format!("{cpu}/cache/index{index}");
        let level = value::<u32>(root, format!("{dir}/level"))?.unwrap_or(0);
        if best.as_ref().is_none_or(|(highest, _)| level >= *highest) {
            best = Some((level, dir));
        }
    }
    best.map_or(Ok(None), |(_, dir)| value(root, format!("{dir}/shared_cpu_list")))
}

/// The mask of this process, which workers inherit.
fn affinity(root: &Root) -> Result<Option<CpuSet>, TopoError> {
    let path = "/proc/self/status";
    let Some(status) = root.text(path) else { return Ok(None) };
    let Some(list) = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")) else {
        return Ok(None);
    };
    parsed(root, path, list).map(Some)
}

/// The effective cpuset of our control group: version 2 first, then a version 1 hierarchy. A group without the controller
/// takes its parent's, so the nearest ancestor with the file counts.
fn cpuset(root: &Root) -> Result<Option<CpuSet>, TopoError> {
    let groups = root.text("/proc/self/cgroup").unwrap_or_default();
    let mounts = root.text("/proc/self/mountinfo").unwrap_or_default();
    let v2 = group_of(&groups, |id, _| id == "0").zip(mount(&mounts, |kind, _| kind == "cgroup2"));
    let v1 = group_of(&groups, |_, controllers| names_cpuset(controllers))
        .zip(mount(&mounts, |kind, options| kind == "cgroup" && names_cpuset(options)));
    let files = [("cpuset.cpus.effective", v2), ("cpuset.effective_cpus", v1.clone()), ("cpuset.cpus", v1)];
    for (file, place) in files {
        let Some((group, (subtree, point))) = place else { continue };
        // In a container the mount shows only a subtree. A group outside of it appears as the top of the mount.
        let below = Path::new(&group).strip_prefix(&subtree).unwrap_or(Path::new(""));
        let below = below.strip_prefix("/").unwrap_or(below);
        for dir in below.ancestors() {
            if let Some(set) = value::<CpuSet>(root, point.join(dir).join(file))?.filter(|s| !s.is_empty()) {
                return Ok(Some(set));
            }
        }
    }
    Ok(None)
}

/// Whether a list of controllers or options has the cpuset controller.
fn names_cpuset(list: &str) -> bool {
    list.split(',').any(|name| name == "cpuset")
}

/// Our own group in the first hierarchy that is wanted, by its number and its controllers (cgroups(7)).
fn group_of(groups: &str, wanted: fn(&str, &str) -> bool) -> Option<String> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        wanted(id, controllers).then(|| path.to_string())
    })
}

/// Root and mount point of the first mount that fits, by its type and super options (proc_pid_mountinfo(5)).
fn mount(mounts: &str, fits: impl Fn(&str, &str) -> bool) -> Option<(PathBuf, PathBuf)> {
    mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut right = right.split(' ');
        let (kind, options) = (right.next()?, right.nth(1).unwrap_or_default());
        let mut left = left.split(' ').skip(3);
        let (root, point) = (left.next()?, left.next()?);
        fits(kind, options).then(|| (unescaped(root).into(), unescaped(point).into()))
    })
}
