//! Interrupts: which belong to the disks, where they land, and how many each CPU has taken for everything else.
//!
//! Counts are since boot, from /proc/interrupts; difference two readings to see a run.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::queues::Disk;
use super::{CpuSet, TopoError, value};
use volproof_device::device::Root;

/// One interrupt of a disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Irq {
    /// The interrupt's number.
    pub number: u32,
    /// The driver's name for the interrupt: `virtio1-req.0`, `nvme0q1`.
    pub name: String,
    /// The disk that the interrupt serves.
    pub disk: String,
    /// The hardware queue whose completions it signals, where the name tells.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue: Option<u32>,
    /// CPUs that the kernel delivers the interrupt to now.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub affinity: Option<CpuSet>,
    /// How often each CPU took it since boot; CPUs that never did are absent.
    pub counts: BTreeMap<u32, u64>,
}

/// The interrupts that matter for placement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Irqs {
    /// Interrupts of the disks.
    pub disks: Vec<Irq>,
    /// Numbered interrupts of everything else since boot, per CPU. Timers and inter-processor interrupts are left out:
    /// they follow the load and say nothing about which CPU other devices use.
    pub others: BTreeMap<u32, u64>,
}

impl Irqs {
    /// The one CPU among `cpus` that took most interrupts of other devices; none when several share the first place.
    pub fn busiest(&self, cpus: &CpuSet) -> Option<u32> {
        let mut counts: Vec<(u64, u32)> =
            cpus.iter().map(|c| (self.others.get(&c).copied().unwrap_or(0), c)).collect();
        counts.sort_unstable();
        match counts.as_slice() {
            [.., (second, _), (first, cpu)] if first > second => Some(*cpu),
            _ => None,
        }
    }
}

/// One numbered row of /proc/interrupts.
struct InterruptRow<'a> {
    number: u32,
    counts: BTreeMap<u32, u64>,
    /// The names of the drivers that share it.
    names: &'a str,
}

pub(super) fn read(root: &Root, disks: &[Disk]) -> Result<Irqs, TopoError> {
    let text = root.text("/proc/interrupts").unwrap_or_default();
    let owned: Vec<(&Disk, InterruptOwner)> =
        disks.iter().map(|d| (d, InterruptOwner::of(root, d))).collect();
    let mut irqs = Irqs::default();
    for row in rows(&text) {
        let disk = owned.iter().find(|(_, owner)| owner.has(&row)).map(|(disk, _)| *disk);
        let Some(disk) = disk else {
            for (cpu, count) in row.counts {
                *irqs.others.entry(cpu).or_default() += count;
            }
            continue;
        };
        let dir = format!("/proc/irq/{}", row.number);
        let affinity = match value::<CpuSet>(root, format!("{dir}/effective_affinity_list"))? {
            Some(set) if !set.is_empty() => Some(set),
            // Empty or absent on interrupt controllers that do not report it.
            _ => value(root, format!("{dir}/smp_affinity_list"))?,
        };
        irqs.disks.push(Irq {
            number: row.number,
            name: row.names.to_string(),
            disk: disk.name.clone(),
            queue: queue_of(row.names).filter(|q| disk.queues.iter().any(|o| o.index == *q)),
            affinity,
            counts: row.counts.into_iter().filter(|(_, n)| *n > 0).collect(),
        });
    }
    Ok(irqs)
}

/// The numbered rows. The header names the online CPUs, so the third column need not be CPU 2.
fn rows(text: &str) -> Vec<InterruptRow<'_>> {
    let mut lines = text.lines();
    let cpus: Vec<u32> = lines
        .next()
        .unwrap_or("")
        .split_whitespace()
        .filter_map(|c| c.strip_prefix("CPU")?.parse().ok())
        .collect();
    lines
        .filter_map(|line| {
            let (number, mut rest) = line.trim_start().split_once(':')?;
            let number = number.parse().ok()?;
            let mut counts = BTreeMap::new();
            for cpu in &cpus {
                let (count, after) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
                counts.insert(*cpu, count.parse().ok()?);
                rest = after;
            }
            // Controller and hardware number stand before the names: `PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0`,
            // or `IO-APIC   4-edge      ttyS0`. Columns are separated by blanks; names that are shared, by ", ".
            let start = rest.rfind("  ").map_or(0, |i| i + 2);
            Some(InterruptRow { number, counts, names: rest[start..].trim() })
        })
        .collect()
}

/// Finds the interrupts of a disk: those of its PCI function, and those that carry the name of one of its device folders (virtio over MMIO
/// has no PCI function).
struct InterruptOwner {
    numbers: Vec<u32>,
    names: Vec<String>,
}

impl InterruptOwner {
    fn of(root: &Root, disk: &Disk) -> InterruptOwner {
        let mut owner = InterruptOwner { numbers: Vec::new(), names: Vec::new() };
        let parents = disk.folder.ancestors().skip(1);
        for dir in parents.take_while(|d| d.file_name().is_some_and(|n| n != "devices" && n != "virtual")) {
            owner.numbers = root.numbers(dir.join("msi_irqs"), "");
            // The first folder with an `irq` file is the PCI function; a bridge above it has interrupts of its own.
            if !owner.numbers.is_empty() || root.has(dir.join("irq")) {
                break;
            }
            owner.names.extend(
                dir.file_name().and_then(|n| n.to_str()).filter(|n| is_instance(n)).map(String::from),
            );
        }
        owner
    }

    fn has(&self, row: &InterruptRow) -> bool {
        let named = |name: &str| {
            self.names.iter().any(|own| {
                name.strip_prefix(own.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', 'q']))
            })
        };
        self.numbers.contains(&row.number) || row.names.split(", ").any(named)
    }
}

/// Whether a folder is named after one device (`virtio1`, `nvme0`), not after a kind (`block`, `nvme`).
fn is_instance(name: &str) -> bool {
    Path::new(name).components().count() == 1
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.ends_with(|c: char| c.is_ascii_digit())
}

/// The hardware queue behind an interrupt's name. virtio-blk numbers its virtqueues like the queues; queue 0 of an NVMe
/// controller is the admin queue, so `nvme0q1` completes hardware queue 0.
fn queue_of(names: &str) -> Option<u32> {
    if let Some((_, number)) = names.rsplit_once("-req.") {
        return number.parse().ok();
    }
    let (_, number) = names.strip_prefix("nvme")?.split_once('q')?;
    number.parse::<u32>().ok()?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
           CPU0       CPU2
 26:          0         14  IO-APIC   4-edge      ttyS0
 35:          0          1  PCI-MSIX-0000:00:02.0   0-edge      virtio1-config
 36:          3      69974  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
LOC:      33817      25908   Local timer interrupts
ERR:          0";

    #[test]
    fn columns_are_the_online_cpus() {
        let rows = rows(TEXT);
        assert_eq!(rows.iter().map(|r| r.number).collect::<Vec<_>>(), [26, 35, 36]);
        assert_eq!(rows[2].counts, BTreeMap::from([(0, 3), (2, 69974)]));
        assert_eq!(rows[0].names, "ttyS0");
        assert_eq!(rows[2].names, "virtio1-req.0");
    }

    #[test]
    fn queue_behind_a_name() {
        assert_eq!(queue_of("virtio1-req.3"), Some(3));
        assert_eq!(queue_of("virtio1-config"), None);
        assert_eq!(queue_of("nvme0q0"), None);
        assert_eq!(queue_of("nvme12q64"), Some(63));
    }

    #[test]
    fn busiest_is_one_cpu_or_none() {
        let irqs = Irqs { disks: vec![], others: BTreeMap::from([(0, 5), (1, 9), (2, 9)]) };
        assert_eq!(irqs.busiest(&"0-1".parse().unwrap()), Some(1));
        assert_eq!(irqs.busiest(&"0-2".parse().unwrap()), None);
        assert_eq!(irqs.busiest(&"3-4".parse().unwrap()), None);
        assert_eq!(irqs.busiest(&"0".parse().unwrap()), None);
    }
}
