//! A machine of ARM's kind: 128 cores without siblings in two nodes, no cache in /sys, and an NVMe disk with 64 queues on the second node.

use volproof_device::device::Root;

use super::{CpuSet, Topology, place};

const DISK: &str = "sys/devices/pci0001:00/0001:00:01.0/nvme/nvme0/nvme0n1";

fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    };
    for cpu in 0..128 {
        write(&format!("sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list"), &cpu.to_string());
        write(&format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity"), "1024");
    }
    for queue in 0..64 {
        write(&format!("{DISK}/mq/{queue}/cpu_list"), &format!("{}, {}", 2 * queue, 2 * queue + 1));
    }
    write("sys/devices/system/cpu/online", "0-127");
    write("sys/devices/system/node/node0/cpulist", "0-63");
    write("sys/devices/system/node/node1/cpulist", "64-127");
    write("sys/devices/pci0001:00/0001:00:01.0/numa_node", "1");
    write(
        "proc/self/status",
        "Cpus_allowed:\tffffffff,ffffffff,ffffffff,ffffffff\nCpus_allowed_list:\t0-127",
    );
    std::fs::create_dir_all(dir.path().join("sys/class/block")).unwrap();
    std::os::unix::fs::symlink(format!("../../../{DISK}"), dir.path().join("sys/class/block/nvme0n1"))
        .unwrap();
    dir
}

#[test]
fn workers_spread_over_128_cores_and_64_queues() {
    let dir = tree();
    let topology = Topology::read(&Root::tree(dir.path()), &["nvme0n1"]).unwrap();
    assert_eq!((topology.cpus.cores().len(), topology.cpus.nodes().len()), (128, 2));
    assert_eq!(topology.cpus.usable(), "0-127".parse::<CpuSet>().unwrap());
    assert_eq!((topology.disks[0].queues.len(), topology.disks[0].node), (64, Some(1)));
    assert!(topology.cpus.each.iter().all(|cpu| !cpu.efficient));
    // First the queues of the disk's own node, each by one worker.
    let own = place(&topology, 32, true).unwrap();
    assert_eq!(
        own.seats.iter().flat_map(|seat| seat.cpus.iter()).collect::<Vec<_>>(),
        (64..128).step_by(2).collect::<Vec<_>>()
    );
    let all = place(&topology, 128, true).unwrap();
    assert_eq!(all.seats.iter().flat_map(|seat| seat.cpus.iter()).collect::<CpuSet>(), topology.cpus.online);
}
