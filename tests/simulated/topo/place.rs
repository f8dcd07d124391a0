//! Topologies of captured and made trees, and the placements on them.

use crate::topo::trees::{read, unpack};
use proptest::prelude::*;
use std::sync::LazyLock;
use volproof::device::Root;
use volproof::topo::{
    Cpu, CpuSet, Cpus, Disk, PlaceError, Placement, QueueKind, TopoError, Topology, place, place_on,
};

fn cpus_of(placement: &Placement) -> Vec<u32> {
    placement.seats.iter().map(|s| s.cpus.iter().next().unwrap()).collect()
}

fn queues_of(placement: &Placement) -> Vec<u32> {
    placement.seats.iter().map(|s| s.queue.unwrap()).collect()
}

fn map(disk: &Disk) -> String {
    let queues = disk.queues.iter().map(|q| format!("{}{}:{}", &q.kind.name()[..1], q.index, q.cpus));
    queues.collect::<Vec<_>>().join(" ")
}

#[test]
fn one_queue_virtio() {
    let t = read("virtio-1q", &["vda"]);
    assert_eq!(map(&t.disks[0]), "d0:0,1");
    assert_eq!((t.disks[0].node, t.cpus.cpuset.clone()), (None, Some("0-1".parse().unwrap())));
    assert_eq!(cpus_of(&place(&t, 1, true).unwrap()), [0]);
    let two = place(&t, 2, true).unwrap();
    assert_eq!((cpus_of(&two), queues_of(&two)), (vec![0, 1], vec![0, 0]));
    assert!(two.seats[1].reason.contains("round 2 on queue 0"), "{}", two.seats[1].reason);
}

#[test]
fn more_pinned_jobs_than_cpus_is_refused_and_unpinned_warned() {
    let t = read("virtio-1q", &["vda"]);
    let refused = place(&t, 3, true).unwrap_err();
    assert!(matches!(refused, PlaceError::TooManyPinned { jobs: 3, .. }));
    insta::assert_snapshot!(refused, @"3 pinned jobs do not fit on 2 usable CPUs (0,1): ask for at most 2 jobs, or let them run unpinned");
    let floating = place(&t, 3, false).unwrap();
    assert_eq!(floating.seats.len(), 3);
    assert!(floating.seats.iter().all(|s| s.cpus == "0-1".parse().unwrap() && s.queue.is_none()));
    assert_eq!(floating.doubts[0].code, "jobs-share-cpus");
    assert!(place(&t, 2, false).unwrap().doubts.is_empty());
}

#[test]
fn sixteen_queues_on_two_sockets() {
    let t = read("72cpu-16q", &["nvme1n1"]);
    assert_eq!(t.disks[0].queues.len(), 16);
    let indices: Vec<u32> = t.disks[0].queues.iter().map(|q| q.index).collect();
    assert_eq!(indices, (0..16).collect::<Vec<_>>(), "numeric, not lexical");
    assert_eq!((t.cpus.cores().len(), t.cpus.nodes().len(), t.cpus.llcs().len()), (36, 2, 2));
    // Ten jobs: all eight queues of the disk's own node, then two of the other; one per core.
    let ten = place(&t, 10, true).unwrap();
    assert_eq!(queues_of(&ten), (0..10).collect::<Vec<_>>());
    assert!(cpus_of(&ten).iter().all(|c| *c < 36), "no sibling while cores are free");
    assert_eq!(ten.seats.iter().filter(|s| s.node == Some(0)).count(), 8);
    let all = place(&t, 72, true).unwrap();
    assert_eq!(cpus_of(&all).into_iter().collect::<CpuSet>(), t.cpus.online);
    assert!(matches!(place(&t, 73, true), Err(PlaceError::TooManyPinned { .. })));
}

#[test]
fn poll_queues_repeat_the_cpus() {
    let t = read("nvme-poll", &["nvme0n1"]);
    assert_eq!(map(&t.disks[0]), "d0:0,1 d1:2,3 p2:0,1 p3:2,3");
    let four = place(&t, 4, true).unwrap();
    assert_eq!(queues_of(&four), [0, 1, 0, 1]);
    let polled = place_on(&t, QueueKind::Poll, 2, true).unwrap();
    assert_eq!(queues_of(&polled), [2, 3]);
    // Reads have no queues of their own here.
    assert_eq!(queues_of(&place_on(&t, QueueKind::Read, 2, true).unwrap()), [0, 1]);
    let t = read("virtio-1q", &["vda"]);
    assert!(matches!(place_on(&t, QueueKind::Poll, 1, true), Err(PlaceError::NoPollQueues { .. })));
}

#[test]
fn own_node_first_cores_before_siblings() {
    let t = read("two-nodes", &["nvme3n1"]);
    assert_eq!(t.disks[0].node, Some(1));
    // Four cores of node 1, one CPU each.
    assert_eq!(cpus_of(&place(&t, 4, true).unwrap()), [8, 10, 12, 14]);
    // Then cores of the other node, then siblings: the disk's own first.
    let all = cpus_of(&place(&t, 16, true).unwrap());
    assert_eq!(&all[4..8], [0, 2, 4, 6]);
    assert_eq!(&all[8..12], [9, 11, 13, 15]);
}

#[test]
fn a_container_sees_its_cpuset() {
    let t = read("cpuset", &["vdb"]);
    assert_eq!(t.cpus.cpuset, Some("2-5".parse().unwrap()));
    assert_eq!(t.cpus.usable(), "2-5".parse().unwrap());
    let four = place(&t, 4, true).unwrap();
    assert_eq!((cpus_of(&four), queues_of(&four)), (vec![4, 5, 2, 3], vec![0, 1, 2, 3]));
    let refused = place(&t, 5, true).unwrap_err();
    insta::assert_snapshot!(refused, @"5 pinned jobs do not fit on 4 usable CPUs (2-5): ask for at most 4 jobs, or let them run unpinned");
    insta::assert_snapshot!(four.reasons.join("\n"), @"outside the cpuset of this process: CPU 0,1,6,7");
}

#[test]
fn a_multipath_head_leads_to_its_optimised_path() {
    let t = read("multipath", &["nvme0n1"]);
    assert_eq!(t.targets[0].carried_by, ["nvme0c0n1"]);
    assert_eq!(map(&t.disks[0]), "d0:0 d1:1 d2:2 d3:3");
    assert_eq!(queues_of(&place(&t, 4, true).unwrap()), [0, 1, 2, 3]);
}

#[test]
fn slow_offline_and_isolated_cpus_of_a_hybrid() {
    let t = read("hybrid", &["nvme0n1p2"]);
    assert_eq!((t.targets[0].disk.as_str(), t.disks[0].name.as_str()), ("nvme0n1", "nvme0n1"));
    assert_eq!(t.cpus.offline, "11,19".parse().unwrap());
    assert_eq!(t.cpus.isolated, "4-5".parse().unwrap());
    let slow: CpuSet = t.cpus.each.iter().filter(|c| c.efficient).map(|c| c.id).collect();
    assert_eq!(slow, "12-18".parse().unwrap());
    // Queue 2 is that of the isolated CPUs: nobody may submit there.
    let nine = place(&t, 9, true).unwrap();
    assert_eq!(cpus_of(&nine), [0, 2, 6, 8, 10, 12, 14, 16, 18]);
    assert!(!queues_of(&nine).contains(&2));
    assert!(
        nine.reasons.iter().any(|r| r == "nvme0n1: no usable CPU submits into queue 2"),
        "{:?}",
        nine.reasons
    );
    // Second round: slow cores before the second thread of a fast one.
    assert_eq!(&cpus_of(&place(&t, 12, true).unwrap())[9..], [13, 15, 17]);
    // `taskset -c 4-5` asks for the isolated CPUs.
    let mut asked = t.clone();
    asked.cpus.affinity = Some("4-5".parse().unwrap());
    assert_eq!(cpus_of(&place(&asked, 2, true).unwrap()), [4, 5]);
    asked.cpus.affinity = Some("11".parse().unwrap());
    assert!(matches!(place(&asked, 1, true), Err(PlaceError::NoCpu { .. })));
}

#[test]
fn nine_disks_under_one_volume_take_turns() {
    let t = read("nine-disks", &["dm-0"]);
    assert_eq!(t.targets[0].carried_by.len(), 9);
    let four = place(&t, 4, true).unwrap();
    let disks: Vec<_> = four.seats.iter().map(|s| s.disk.clone().unwrap()).collect();
    assert_eq!(disks, ["vdb", "vdc", "vdd", "vde"]);
    assert_eq!(cpus_of(&four).into_iter().collect::<CpuSet>(), "0-3".parse().unwrap());
    // The same disk twice, as itself and below the volume, counts once.
    assert_eq!(read("nine-disks", &["dm-0", "vdc"]).disks.len(), 9);
}

#[test]
fn a_device_without_queues_takes_any_cpu() {
    let t = read("nine-disks", &["zram0"]);
    assert!(t.disks[0].bio_based());
    let two = place(&t, 2, true).unwrap();
    assert_eq!((cpus_of(&two), two.seats[0].queue), (vec![0, 1], None));
    assert!(two.reasons.iter().any(|r| r.contains("no hardware queues")));
    let nothing = read("nine-disks", &[]);
    assert_eq!(cpus_of(&place(&nothing, 4, true).unwrap()), [0, 1, 2, 3]);
}

#[test]
fn an_unknown_device_is_named() {
    let dir = unpack("virtio-1q");
    for name in ["vdz", "../vda", "", "/dev/nothing"] {
        let e = Topology::read(&Root::tree(dir.path()), &[name]).unwrap_err();
        assert!(matches!(&e, TopoError::NoDevice { name: n, .. } if n == name), "{e}");
    }
}

#[test]
fn a_broken_file_is_named() {
    let dir = unpack("virtio-1q");
    std::fs::write(dir.path().join("sys/devices/system/cpu/online"), "all of them").unwrap();
    let e = Topology::read(&Root::tree(dir.path()), &["vda"]).unwrap_err().to_string();
    assert!(e.contains("cpu/online: 'all of them' is not a list of CPUs"), "{e}");
}

/// A machine in memory: `lists` are the CPUs of each default queue.
fn machine(cpus: u32, core_of: impl Fn(u32) -> u32, lists: Vec<CpuSet>) -> Topology {
    static BASE: LazyLock<Topology> = LazyLock::new(|| read("nvme-poll", &["nvme0n1"]));
    let mut t = BASE.clone();
    let online: CpuSet = (0..cpus).collect();
    let core = |c: u32| -> CpuSet { (0..cpus).filter(|o| core_of(*o) == core_of(c)).collect() };
    let each = (0..cpus)
        .map(|id| Cpu { id, core: core(id), llc: online.clone(), node: Some(0), efficient: false })
        .collect();
    t.cpus = Cpus {
        online,
        offline: CpuSet::default(),
        isolated: CpuSet::default(),
        cpuset: None,
        affinity: None,
        each,
    };
    let queue = t.disks[0].queues[0].clone();
    t.disks[0].queues = (0..)
        .zip(lists)
        .map(|(index, cpus)| {
            let mut queue = queue.clone();
            (queue.index, queue.cpus, queue.kind) = (index, cpus, QueueKind::Default);
            queue
        })
        .collect();
    t
}

proptest! {
    /// Every worker sits on its own CPU: online, allowed, not isolated unless nothing else is, and one that submits into
    /// the queue it is said to; no queue gets its second worker while another with a free CPU has none; nobody shares a
    /// core within a round while that queue could have offered a whole one.
    #[test]
    fn placement_holds_for_any_machine(
        cpus in 1u32..48, threads in 1u32..3, queues in 1u32..20, stripes: bool, jobs in 0u32..50,
        offline in proptest::collection::btree_set(0u32..48, 0..8),
        isolated in proptest::collection::btree_set(0u32..48, 0..8),
        cpuset in proptest::option::of(proptest::collection::btree_set(0u32..48, 1..30)),
        nodes in 1u32..3,
    ) {
        let of = |c: u32| if stripes { c % queues } else { c * queues / cpus };
        let lists = (0..queues).map(|q| (0..cpus).filter(|c| of(*c) == q).collect()).collect();
        let mut t = machine(cpus, |c| c / threads, lists);
        let offline: CpuSet = offline.into_iter().collect();
        t.cpus.online = t.cpus.online.without(&offline);
        t.cpus.each.retain(|c| !offline.contains(c.id));
        for cpu in &mut t.cpus.each {
            cpu.node = Some(cpu.id % nodes);
        }
        t.disks[0].node = Some(0);
        t.cpus.isolated = isolated.into_iter().collect();
        t.cpus.cpuset = cpuset.map(|s| s.into_iter().collect());
        let usable = t.cpus.usable();
        match place(&t, jobs, true) {
            Err(PlaceError::NoCpu { .. }) => prop_assert!(t.cpus.allowed().is_empty()),
            Err(e) => {
                let too_many = matches!(e, PlaceError::TooManyPinned { .. });
                prop_assert!(too_many && jobs as usize > usable.len(), "{}", e);
            }
            Ok(p) => {
                prop_assert_eq!(p.seats.len(), jobs as usize);
                let mut load = vec![0u32; queues as usize];
                let mut used = CpuSet::default();
                for seat in &p.seats {
                    prop_assert_eq!(seat.cpus.len(), 1);
                    let cpu = seat.cpus.iter().next().unwrap();
                    prop_assert!(usable.contains(cpu) && t.cpus.online.contains(cpu));
                    prop_assert!(used.insert(cpu), "CPU {} twice", cpu);
                    let queue = seat.queue.unwrap();
                    prop_assert!(t.disks[0].queues[queue as usize].cpus.contains(cpu));
                    load[queue as usize] += 1;
                }
                for queue in &t.disks[0].queues {
                    let free = queue.cpus.and(&usable).without(&used);
                    let most = load.iter().max().copied().unwrap_or(0);
                    prop_assert!(free.is_empty() || load[queue.index as usize] + 1 >= most, "{:?}", load);
                }
                let json = serde_json::to_string(&p).unwrap();
                prop_assert_eq!(serde_json::from_str::<Placement>(&json).unwrap(), p);
            }
        }
    }
}
