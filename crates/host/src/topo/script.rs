//! The CPUs that Alibaba Cloud's `test100w.sh` would have chosen on this machine, and why volproof's choice differs.
//!
//! The script reads `mq/*/cpu_list` column by column (the first nine), joins the columns with commas and keeps fields 2 to
//! jobs + 1. The glob sorts queue names as text, and every kind of queue is in it. fio then ignores order and repetition:
//! `cpus_allowed` fills a bit mask, and with `cpus_allowed_policy=split` job *i* gets the *i*-th set bit, modulo the number
//! of set bits. The emulation works on text, because the script does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CpuSet, Disk, Placement, QueueKind, Topology};

/// `for ((i=1;i<10;i++))` in the script.
const COLUMNS: usize = 9;

/// The script's choice for one disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LikeScript {
    /// The device whose name stands in the script.
    pub device: String,
    /// The CPU list that the script prints and hands to fio as `--cpus_allowed`.
    pub list: String,
    /// The CPU of each job once fio has split that list; empty if the script or fio would have given up.
    pub jobs: Vec<u32>,
    /// Faults of the script's choice and differences from volproof's placement, one sentence each.
    pub differences: Vec<String>,
}

/// Emulates the script for the disk it names, and compares with our placement.
pub fn like_script(topology: &Topology, device: &str, jobs: u32, ours: Option<&Placement>) -> LikeScript {
    let exact = topology.disks.iter().find(|d| d.name == device);
    let list = exact.map(|d| cut(d, jobs)).unwrap_or_default();
    let mask: CpuSet = list.split(',').map_while(|c| c.parse().ok()).collect();
    let mask: Vec<u32> = mask.iter().collect();
    let processors = topology.cpus.online.len();
    let mut differences = Vec::new();
    let mut chosen = Vec::new();
    if exact.is_none_or(Disk::bio_based) {
        let beneath: Vec<&str> = topology.disks.iter().map(|d| d.name.as_str()).collect();
        differences.push(match exact {
            None => format!("{device} has no mq folder; its queues are at {}", beneath.join(", ")),
            Some(_) => format!("{device} has no mq folder: it has no hardware queues"),
        });
    }
    if jobs as usize > processors {
        differences.push(format!("it exits: {jobs} jobs are more than {processors} processors"));
    } else if mask.is_empty() {
        differences.push("its list of CPUs is empty: fio would get no CPU to pin to".into());
    } else {
        chosen = (0..jobs as usize).map(|job| mask[job % mask.len()]).collect();
    }
    if let (Some(disk), false) = (exact, chosen.is_empty()) {
        differences.extend(faults(topology, disk, &chosen, &mask, ours));
    }
    LikeScript { device: device.to_string(), list, jobs: chosen, differences }
}

/// The text pipeline of the script.
fn cut(disk: &Disk, jobs: u32) -> String {
    let mut globbed: Vec<_> = disk.queues.iter().collect();
    globbed.sort_by_key(|q| q.index.to_string());
    let lines: Vec<Vec<u32>> = globbed.iter().map(|q| q.cpus.iter().collect()).collect();
    let mut cpulist = String::new();
    for column in 0..COLUMNS {
        let list: String = lines.iter().filter_map(|l| l.get(column)).map(|c| format!("{c},")).collect();
        if list.is_empty() {
            break;
        }
        cpulist += &list;
    }
    // `cut -f 2-N` prints a line without any delimiter whole; there is always one here, after the last CPU.
    let fields: Vec<&str> = cpulist.split(',').skip(1).take(jobs as usize).collect();
    fields.join(",")
}

fn faults(
    topology: &Topology,
    disk: &Disk,
    chosen: &[u32],
    mask: &[u32],
    ours: Option<&Placement>,
) -> Vec<String> {
    let mut faults = Vec::new();
    let default: Vec<_> = disk.of_kind(QueueKind::Default).collect();
    let mut per_cpu: BTreeMap<u32, u32> = BTreeMap::new();
    for cpu in chosen {
        *per_cpu.entry(*cpu).or_default() += 1;
    }
    let pick =
        |fits: &dyn Fn(u32) -> bool| -> CpuSet { per_cpu.keys().copied().filter(|c| fits(*c)).collect() };

    let mut globbed: Vec<_> = disk.queues.iter().collect();
    globbed.sort_by_key(|q| q.index.to_string());
    if let Some(first) = globbed.first().and_then(|q| q.cpus.iter().next()) {
        faults.push(format!("`cut -f 2-` drops the first CPU of the first queue, CPU {first}"));
    }
    if disk.queues.len() > 10 {
        let order: Vec<String> = globbed.iter().take(5).map(|q| q.index.to_string()).collect();
        faults.push(format!("the glob sorts queues as text: {}, ...", order.join(", ")));
    }
    let idle: CpuSet = default
        .iter()
        .filter(|q| !q.cpus.iter().any(|c| per_cpu.contains_key(&c)))
        .map(|q| q.index)
        .collect();
    let our_idle =
        ours.map(|p| default.iter().filter(|q| !p.seats.iter().any(|s| s.queue == Some(q.index))).count());
    if !idle.is_empty() && our_idle.is_none_or(|n| n < idle.len()) {
        let s = if idle.len() == 1 { "" } else { "s" };
        faults.push(format!("queue{s} {idle} of {} get no job", default.len()));
    }
    let double = pick(&|c| per_cpu[&c] > 1);
    if !double.is_empty() {
        faults.push(format!(
            "{} jobs on {} of its CPUs: CPU {double} carries several",
            chosen.len(),
            mask.len()
        ));
    }
    let siblings = pick(&|c| {
        topology.cpus.get(c).is_some_and(|own| own.core.iter().any(|o| o < c && per_cpu.contains_key(&o)))
    });
    let cores = topology.cpus.cores().len();
    if !siblings.is_empty() && chosen.len() <= cores {
        faults.push(format!("CPU {siblings} shares a core with another job; there are {cores} cores"));
    }
    let remote = pick(&|c| {
        let node = topology.cpus.get(c).and_then(|c| c.node);
        node.zip(disk.node).is_some_and(|(cpu, own)| cpu != own)
    });
    let our_remote = ours.map(|p| {
        p.seats.iter().filter(|s| s.node.zip(disk.node).is_some_and(|(cpu, own)| cpu != own)).count()
    });
    if !remote.is_empty() && our_remote.is_none_or(|n| n < remote.len()) {
        faults
            .push(format!("CPU {remote} is on another node than the disk (node {})", disk.node.unwrap_or(0)));
    }
    let usable = topology.cpus.usable();
    let unusable = pick(&|c| !usable.contains(c));
    if !unusable.is_empty() {
        faults.push(format!("CPU {unusable} is offline, isolated or outside our cpuset"));
    }
    if disk.queues.len() > default.len() {
        faults.push("read and poll queues repeat the CPUs, so columns hold a CPU twice".into());
    }
    if let Some(cpu) = topology.irqs.busiest(&usable).filter(|c| per_cpu.contains_key(c))
        && ours.is_some_and(|p| !p.seats.iter().any(|s| s.cpus.contains(cpu)))
    {
        faults.push(format!("CPU {cpu} takes most interrupts of other devices"));
    }
    faults
}
