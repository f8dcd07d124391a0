//! Which CPU each worker is pinned to, and why.
//!
//! One worker after the other takes the best free CPU, judged in this order:
//! 1. a hardware queue with the fewest workers: one per queue before going round, because a queue has its own lock, tags
//!    and interrupt;
//! 2. a physical core without a worker: two siblings share one core's execution units;
//! 3. a fast core of a hybrid processor;
//! 4. the device's own NUMA node: completions and doorbells of the other node cross the interconnect;
//! 5. the lowest queue, then the lowest CPU.
//!
//! Several disks take turns, so that each gets its share of workers. A pure function: it reads nothing and pins nobody.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CpuSet, QueueKind, Topology};
use volproof_base::doubt::{Doubt, DoubtCode, Severity};

/// Where the workers of a run go. Stored in the Record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// True where each worker is pinned to a CPU of its own, false where each may use all usable CPUs.
    pub pinned: bool,
    /// One seat per worker, in the order of the workers.
    pub seats: Vec<Seat>,
    /// Reasons that hold for all workers, one sentence each: CPUs that were avoided, queues that were left out.
    pub reasons: Vec<String>,
    /// Doubts that the placement itself raises. Records call them `warnings`.
    #[serde(rename = "warnings", default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
}

/// The place of one worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Seat {
    /// The worker, counted from 0.
    pub worker: u32,
    /// The CPUs that the worker may run on: one when pinned.
    pub cpus: CpuSet,
    /// The disk whose queue the worker was placed for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub disk: Option<String>,
    /// The hardware queue that the worker's CPU submits into.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue: Option<u32>,
    /// The NUMA node of the worker's CPU.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<u32>,
    /// The reason for this place.
    pub reason: String,
}

/// Why no placement is possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// Fewer usable CPUs than pinned jobs: two jobs on one CPU would measure each other. test100w.sh refuses this too.
    #[error(
        "{jobs} pinned jobs do not fit on {count} usable CPU{s} ({usable}): ask for at most {count} jobs, or let them run unpinned",
        count = usable.len(), s = if usable.len() == 1 { "" } else { "s" }
    )]
    TooManyPinned {
        /// Jobs that were asked for.
        jobs: u32,
        /// CPUs that could take one each.
        usable: CpuSet,
    },
    /// Cgroup and affinity mask leave nothing that is online.
    #[error(
        "no usable CPU: {online} are online, but the cpuset and the affinity mask of this process exclude all of them; check taskset and cpuset.cpus"
    )]
    NoCpu {
        /// CPUs that run.
        online: CpuSet,
    },
    /// Polled I/O was asked for on a disk without poll queues.
    #[error(
        "{disk} has no poll queues: load its driver with poll queues (nvme.poll_queues=N, virtio_blk.poll_queues=N), \
         or do not poll"
    )]
    NoPollQueues {
        /// The disk.
        disk: String,
    },
}

impl Placement {
    /// The CPUs of a worker; none for a worker that was not placed.
    pub fn cpus(&self, worker: u32) -> Option<&CpuSet> {
        self.seats.get(worker as usize).map(|s| &s.cpus)
    }
}

/// Places workers for ordinary I/O, which completes by interrupt.
///
/// # Errors
/// Those of [`place_on`].
pub fn place(topology: &Topology, jobs: u32, pinned: bool) -> Result<Placement, PlaceError> {
    place_on(topology, QueueKind::Default, jobs, pinned)
}

/// Places workers on queues of one kind. A disk without separate read queues takes reads in its default queues; one
/// without poll queues cannot poll, which is an error.
///
/// # Errors
/// No usable CPU, more pinned jobs than usable CPUs, or a disk without queues of that kind.
pub fn place_on(
    topology: &Topology,
    kind: QueueKind,
    jobs: u32,
    pinned: bool,
) -> Result<Placement, PlaceError> {
    let usable = topology.cpus.usable();
    if usable.is_empty() {
        return Err(PlaceError::NoCpu { online: topology.cpus.online.clone() });
    }
    let mut lanes = lanes(topology, kind, &usable)?;
    if !pinned {
        return Ok(unpinned(topology, usable, jobs));
    }
    let reachable = lanes.iter().flat_map(|l| &l.slots).fold(CpuSet::default(), |all, s| all.or(&s.cpus));
    if jobs as usize > reachable.len() {
        return Err(PlaceError::TooManyPinned { jobs, usable: reachable });
    }
    let mut seats: Vec<Seat> = Vec::new();
    let mut taken = TakenCpus::default();
    for worker in 0..jobs {
        let turn = worker as usize % lanes.len();
        let (before, after) = lanes.split_at_mut(turn);
        let seat = after.iter_mut().chain(before).find_map(|l| l.seat(topology, &mut taken, worker));
        seats.extend(seat);
    }
    let reasons = reasons(topology, &lanes, &seats);
    Ok(Placement { pinned, seats, reasons, doubts: Vec::new() })
}

/// The worker on each CPU that is taken so far.
#[derive(Default)]
struct TakenCpus {
    by_cpu: BTreeMap<u32, u32>,
}

impl TakenCpus {
    fn in_core(&self, core: &CpuSet) -> Vec<u32> {
        core.iter().filter_map(|c| self.by_cpu.get(&c).copied()).collect()
    }
}

/// The queues of one disk, or all CPUs where there is no queue.
struct Lane {
    disk: Option<String>,
    node: Option<u32>,
    slots: Vec<CpuSlot>,
}

#[derive(Clone)]
struct CpuSlot {
    queue: Option<u32>,
    cpus: CpuSet,
    workers: u32,
}

fn lanes(topology: &Topology, kind: QueueKind, usable: &CpuSet) -> Result<Vec<Lane>, PlaceError> {
    let everywhere = CpuSlot { queue: None, cpus: usable.clone(), workers: 0 };
    let mut lanes = Vec::new();
    for disk in &topology.disks {
        let kind = match kind {
            QueueKind::Read if disk.of_kind(kind).next().is_none() => QueueKind::Default,
            kind => kind,
        };
        let slots: Vec<CpuSlot> = if disk.bio_based() && kind != QueueKind::Poll {
            vec![everywhere.clone()]
        } else {
            let queues = disk.of_kind(kind);
            queues.map(|q| CpuSlot { queue: Some(q.index), cpus: q.cpus.and(usable), workers: 0 }).collect()
        };
        if slots.is_empty() {
            return Err(PlaceError::NoPollQueues { disk: disk.name.clone() });
        }
        lanes.push(Lane { disk: Some(disk.name.clone()), node: disk.node, slots });
    }
    if lanes.is_empty() {
        lanes.push(Lane { disk: None, node: None, slots: vec![everywhere] });
    }
    Ok(lanes)
}

impl Lane {
    /// Gives the worker the best free CPU of this disk, if it has one.
    fn seat(&mut self, topology: &Topology, taken: &mut TakenCpus, worker: u32) -> Option<Seat> {
        let free = self.slots.iter().enumerate().flat_map(|(s, slot)| {
            slot.cpus.iter().filter(|c| !taken.by_cpu.contains_key(c)).filter_map(move |c| {
                let cpu = topology.cpus.get(c)?;
                Some((s, slot, cpu))
            })
        });
        let (s, _, cpu) = free.min_by_key(|(s, slot, cpu)| {
            let shared = taken.in_core(&cpu.core).len();
            (slot.workers, shared, cpu.efficient, self.remote(cpu.node), *s, cpu.id)
        })?;

        let neighbours = taken.in_core(&cpu.core);
        let slot = &self.slots[s];
        let mut why = match (slot.queue, slot.workers) {
            (None, _) => "no hardware queues".to_string(),
            (Some(queue), 0) => format!("first on queue {queue}"),
            (Some(queue), n) => format!("round {} on queue {queue}", n + 1),
        };
        why += &match neighbours.as_slice() {
            [] => ", own core".to_string(),
            [one] => format!(", shares its core with worker {one}"),
            [.., last] => format!(", shares its core with {} workers up to {last}", neighbours.len()),
        };
        if cpu.efficient {
            why += ", slow core";
        }
        match (cpu.node, self.node) {
            (Some(cpu), Some(own)) if cpu == own => why += &format!(", local node {own}"),
            (Some(cpu), Some(own)) => why += &format!(", remote node {cpu} (disk on {own})"),
            _ => {}
        }
        let queue = slot.queue;
        self.slots[s].workers += 1;
        taken.by_cpu.insert(cpu.id, worker);
        let disk = self.disk.clone();
        Some(Seat { worker, cpus: CpuSet::one(cpu.id), disk, queue, node: cpu.node, reason: why })
    }

    fn remote(&self, node: Option<u32>) -> bool {
        matches!((node, self.node), (Some(cpu), Some(own)) if cpu != own)
    }
}

/// The reasons that hold for all seats, one sentence each.
fn reasons(topology: &Topology, lanes: &[Lane], seats: &[Seat]) -> Vec<String> {
    let mut reasons = limits(topology);
    for lane in lanes {
        let Some(disk) = &lane.disk else { continue };
        let (unreachable, reached): (Vec<_>, Vec<_>) = lane.slots.iter().partition(|s| s.cpus.is_empty());
        let unreachable: CpuSet = unreachable.into_iter().filter_map(|s| s.queue).collect();
        if !unreachable.is_empty() {
            reasons.push(format!("{disk}: no usable CPU submits into {}", queue_list(&unreachable)));
        }
        let idle: CpuSet = reached.into_iter().filter(|s| s.workers == 0).filter_map(|s| s.queue).collect();
        if !idle.is_empty() {
            let text = queue_list(&idle);
            reasons.push(format!("{disk}: no worker for {text}; {} workers in all", seats.len()));
        }
        if lane.slots.iter().all(|s| s.queue.is_none()) {
            reasons.push(format!("{disk} has no hardware queues: the choice of CPU makes no difference"));
        }
    }
    reasons
}

/// Which CPUs are out of reach for this process, and why.
fn limits(topology: &Topology) -> Vec<String> {
    let cpus = &topology.cpus;
    let mut reasons = Vec::new();
    let mut left = cpus.online.clone();
    for (limit, name) in [(&cpus.cpuset, "the cpuset"), (&cpus.affinity, "the affinity mask")] {
        let out = limit.as_ref().map(|l| left.without(l)).unwrap_or_default();
        if !out.is_empty() {
            left = left.without(&out);
            reasons.push(format!("outside {name} of this process: CPU {out}"));
        }
    }
    let avoided = left.without(&cpus.usable());
    if !avoided.is_empty() {
        reasons.push(format!("isolated, left free: CPU {avoided}"));
    }
    reasons
}

fn queue_list(queues: &CpuSet) -> String {
    format!("queue{} {queues}", if queues.len() == 1 { "" } else { "s" })
}

/// Workers that the scheduler moves as it likes.
fn unpinned(topology: &Topology, usable: CpuSet, jobs: u32) -> Placement {
    let disks = &topology.disks;
    let seats = (0..jobs)
        .map(|worker| Seat {
            worker,
            cpus: usable.clone(),
            disk: (!disks.is_empty()).then(|| disks[worker as usize % disks.len()].name.clone()),
            queue: None,
            node: None,
            reason: "unpinned: the scheduler decides".to_string(),
        })
        .collect();
    let mut doubts = Vec::new();
    if jobs as usize > usable.len() {
        let text = format!("{jobs} unpinned jobs share {} usable CPUs ({usable})", usable.len());
        let advice = format!("use at most {} jobs: workers that wait for a CPU add to latency", usable.len());
        doubts.push(Doubt::new(Severity::Warning, DoubtCode::JobsShareCpus, text, advice));
    }
    Placement { pinned: false, seats, reasons: limits(topology), doubts }
}
