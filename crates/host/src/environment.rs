//! The machine a run took place on, as far as it bears on the numbers. Read under a [`Root`]; nothing identifies a person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::processor::{cpu_model, is_virtual, machine_name};
use volproof_base::unit::Bytes;
use volproof_device::device::Root;

/// Facts about the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Name of the host.
    pub hostname: String,
    /// The boot of the machine. Containers and namespaces of one machine have it in common, and no other machine has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Kernel release.
    pub kernel: String,
    /// Distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<String>,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs online.
    pub cpus_online: u32,
    /// Memory of the machine.
    pub memory_bytes: Bytes,
    /// Memory that can be had without swapping.
    pub memory_available_bytes: Bytes,
    /// The hypervisor's or maker's name from DMI or the device tree, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The CPU reports that it runs under a hypervisor; on ARM the firmware does.
    pub virtual_machine: bool,
    /// The kernel's clock source.
    pub clock_source: String,
    /// The clock of the measurement, with the reason where it is not the TSC.
    pub clock: String,
    /// CPU limit of our own cgroup, as in `cpu.max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup_cpu_max: Option<String>,
    /// Memory limit of our own cgroup, as in `memory.max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup_memory_max: Option<String>,
    /// We run as root.
    pub root: bool,
}

impl Environment {
    /// Nothing is known of the machine.
    pub fn is_unknown(&self) -> bool {
        *self == Environment::default()
    }

    /// Reads the facts; `clock` is the measurement's own.
    pub fn read(root: &Root, clock: &str, clock_source: String) -> Environment {
        let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
        let release = root.text("/etc/os-release").unwrap_or_default();
        let pretty = release.lines().find_map(|l| l.strip_prefix("PRETTY_NAME="));
        Environment {
            hostname: root.text("/proc/sys/kernel/hostname").unwrap_or_default(),
            boot_id: root.text("/proc/sys/kernel/random/boot_id").filter(|id| !id.is_empty()),
            kernel: root.text("/proc/sys/kernel/osrelease").unwrap_or_default(),
            distribution: pretty.map(|p| p.trim_matches('"').to_string()),
            cpu_model: cpu_model(&cpuinfo),
            cpus_online: cpuinfo.lines().filter(|l| l.starts_with("processor")).count() as u32,
            memory_bytes: memory(root),
            memory_available_bytes: memory_available(root),
            machine: machine_name(root),
            virtual_machine: is_virtual(root, &cpuinfo),
            clock_source,
            clock: clock.into(),
            cgroup_cpu_max: cgroup(root, "cpu.max"),
            cgroup_memory_max: cgroup(root, "memory.max"),
            root: rustix::process::geteuid().is_root(),
        }
    }
}

/// Memory of the machine; 0 when the kernel does not say.
pub fn memory(root: &Root) -> Bytes {
    meminfo(root, "MemTotal")
}

/// Memory that can be had without swapping; 0 when the kernel does not say.
pub fn memory_available(root: &Root) -> Bytes {
    meminfo(root, "MemAvailable")
}

/// One row of `/proc/meminfo`; 0 when it is missing.
fn meminfo(root: &Root, name: &str) -> Bytes {
    let text = root.text("/proc/meminfo").unwrap_or_default();
    let row = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'));
    let kib = row.and_then(|r| r.split_ascii_whitespace().next()?.parse().ok());
    Bytes::kib(kib.unwrap_or(0))
}

/// A limit of our own cgroup (v2) that is not `max`.
fn cgroup(root: &Root, file: &str) -> Option<String> {
    let limit = root.text(root.own_cgroup()?.join(file))?;
    (!limit.starts_with("max")).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_a_tree_says() {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [
            (
                "proc/cpuinfo",
                "processor\t: 0\nmodel name\t: X 9\nflags\t\t: fpu hypervisor\nprocessor\t: 1\n",
            ),
            ("proc/meminfo", "MemTotal:   2048 kB\nMemAvailable:  1024 kB\n"),
            ("proc/self/cgroup", "0::/a\n"),
            ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/a/memory.max", "max\n"),
            ("etc/os-release", "PRETTY_NAME=\"Debian 12\"\n"),
        ] {
            let at = dir.path().join(path);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::fs::write(at, text).unwrap();
        }
        let e = Environment::read(&Root::tree(dir.path()), "tsc", "tsc".into());
        assert_eq!((e.cpu_model.as_str(), e.cpus_online, e.virtual_machine), ("X 9", 2, true));
        assert_eq!((e.memory_bytes, e.memory_available_bytes), (Bytes::mib(2), Bytes::mib(1)));
        assert_eq!(e.cgroup_cpu_max.as_deref(), Some("50000 100000"));
        assert_eq!(e.cgroup_memory_max, None);
        assert_eq!(e.distribution.as_deref(), Some("Debian 12"));
    }
}
