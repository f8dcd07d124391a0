//! `topo` in text and JSON: the CPUs, the queue map with the workers on it, and what test100w.sh would have done.
//!
//! Nothing but ASCII. A CPU list is broken between CPUs; nothing is left out.

use super::layout::wrap;
use serde_json::{Value, json};

use volproof_base::unit::counted;
use volproof_host::topo::{CpuSet, Disk, Placement, QueueKind, Topology};

/// The whole answer of `topo`. `placement` is absent, with the reason, where none is possible.
pub fn text(topology: &Topology, placement: Result<&Placement, &str>) -> String {
    let mut out = cpus(topology);
    for disk in &topology.disks {
        out += "\n";
        out += &queues(topology, disk, placement.ok());
    }
    out += LEGEND;
    match placement {
        Ok(placement) => out += &seats(placement),
        Err(why) => out += &format!("\nPlacement\n{}", wrap("  none: ", why)),
    }
    out
}

/// The same for programs.
pub fn json(topology: &Topology, placement: Result<&Placement, &str>) -> Value {
    let mut value = json!({ "topology": topology });
    match placement {
        Ok(placement) => value["placement"] = json!(placement),
        Err(why) => value["refused"] = json!(why),
    }
    value
}

fn cpus(topology: &Topology) -> String {
    let cpus = &topology.cpus;
    let (cores, nodes, llcs) = (cpus.cores(), cpus.nodes(), cpus.llcs());
    let mut out = wrap(
        "CPUs      ",
        &format!(
            "{} online in {}, {}, {}",
            cpus.online.len(),
            counted(cores.len() as u64, "core"),
            counted(nodes.len() as u64, "NUMA node"),
            counted(llcs.len() as u64, "last-level cache")
        ),
    );
    let mut row = |name: &str, text: String| out += &wrap(&format!("  {name:<10}"), &text.replace(',', ", "));
    if nodes.len() > 1 {
        for (node, set) in &nodes {
            row(&node.map_or("no node".to_string(), |n| format!("node {n}")), set.to_string());
        }
    }
    if llcs.len() > nodes.len() {
        for (n, set) in llcs.iter().enumerate() {
            row(&format!("cache {n}"), set.to_string());
        }
    }
    if cores.len() < cpus.online.len() {
        let pairs: Vec<String> =
            cores.iter().map(|c| c.iter().map(|c| c.to_string()).collect::<Vec<_>>().join("+")).collect();
        row("siblings", pairs.join(","));
    }
    let slow: CpuSet = cpus.each.iter().filter(|c| c.efficient).map(|c| c.id).collect();
    let sets = [
        ("slow", Some(&slow)),
        ("offline", Some(&cpus.offline)),
        ("isolated", Some(&cpus.isolated)),
        ("cpuset", cpus.cpuset.as_ref().filter(|s| **s != cpus.online)),
        ("affinity", cpus.affinity.as_ref().filter(|s| **s != cpus.online)),
    ];
    for (name, set) in sets {
        if let Some(set) = set.filter(|s| !s.is_empty()) {
            row(name, set.to_string());
        }
    }
    let usable = cpus.usable();
    row("usable", if usable.is_empty() { "none".to_string() } else { usable.to_string() });
    out
}

/// The marks of the picture.
const LEGEND: &str = "\n3=w0: worker 0 is on CPU 3; (3): offline; [3]: isolated or not allowed\n";

/// The picture: one line per queue with its CPUs and workers where they sit.
fn queues(topology: &Topology, disk: &Disk, placement: Option<&Placement>) -> String {
    let mut title = format!("{}: ", disk.name);
    title += &match disk.queues.len() {
        0 => "no hardware queues".to_string(),
        n => counted(n as u64, "hardware queue"),
    };
    for kind in [QueueKind::Read, QueueKind::Poll] {
        let n = disk.of_kind(kind).count();
        if n > 0 {
            title +=
                &format!(", {n} of them for {}", if kind == QueueKind::Poll { "polling" } else { "reads" });
        }
    }
    if let Some(node) = disk.node {
        title += &format!(", on node {node}");
    }
    for target in
        topology.targets.iter().filter(|t| t.carried_by.contains(&disk.name) && t.asked != disk.name)
    {
        title += &format!("; carries {}", target.asked);
    }
    let mut out = wrap("", &title);
    let usable = topology.cpus.usable();
    for queue in &disk.queues {
        let kind = if queue.kind == QueueKind::Default { "" } else { queue.kind.name() };
        let mut cells = Vec::new();
        for cpu in queue.cpus.iter() {
            let worker = placement.filter(|p| p.pinned).and_then(|p| {
                p.seats.iter().find(|s| {
                    s.disk.as_ref() == Some(&disk.name)
                        && s.queue == Some(queue.index)
                        && s.cpus.contains(cpu)
                })
            });
            cells.push(match worker {
                Some(seat) => format!("{cpu}=w{}", seat.worker),
                None if !topology.cpus.online.contains(cpu) => format!("({cpu})"),
                None if !usable.contains(cpu) => format!("[{cpu}]"),
                None => cpu.to_string(),
            });
        }
        out += &wrap(&format!("  queue {:>3} {kind:<4}  CPU ", queue.index), &cells.join(" "));
    }
    out
}

fn seats(placement: &Placement) -> String {
    let mut out = format!("\nPlacement of {}\n", counted(placement.seats.len() as u64, "worker"));
    if placement.pinned {
        let several = placement.seats.iter().any(|s| s.disk != placement.seats[0].disk);
        for seat in &placement.seats {
            let disk = seat.disk.as_deref().filter(|_| several).map(|d| format!("{d}: ")).unwrap_or_default();
            let lead = format!("  worker {:>3} on CPU {:<5} ", seat.worker, seat.cpus.to_string());
            out += &wrap(&lead, &format!("{disk}{}", seat.reason));
        }
    } else if let Some(seat) = placement.seats.first() {
        out += &wrap("  ", &format!("unpinned: the scheduler moves them over CPU {}", seat.cpus));
    }
    for reason in &placement.reasons {
        out += &wrap("  - ", reason);
    }
    for warning in &placement.doubts {
        out += &wrap("  ! ", &warning.message);
        out += &wrap("    -> ", &warning.advice);
    }
    out
}
