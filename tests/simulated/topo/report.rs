//! The output of `topo`, on trees of machines.

use crate::topo::trees::read;
use volproof::report::topo::{json, text};
use volproof::topo::{Topology, place};

fn shown(topology: &Topology, jobs: u32, pinned: bool) -> String {
    let placement = place(topology, jobs, pinned);
    let why = placement.as_ref().map_err(ToString::to_string);
    let placement = why.as_ref().map(|p| *p).map_err(String::as_str);
    let text = text(topology, placement);
    for line in text.lines() {
        assert!(line.len() <= 80 && line.trim_end() == line, "{} columns: {line}", line.len());
    }
    let value = json(topology, placement);
    assert_eq!(serde_json::from_value::<Topology>(value["topology"].clone()).unwrap().cpus, topology.cpus);
    assert_eq!(value.get("placement").is_some(), placement.is_ok());
    text
}

#[test]
fn seventy_two_cpus() {
    insta::assert_snapshot!(shown(&read("72cpu-16q", &["nvme1n1"]), 10, true), @r"
    CPUs      72 online in 36 cores, 2 NUMA nodes, 2 last-level caches
      node 0    0-17, 36-53
      node 1    18-35, 54-71
      siblings  0+36, 1+37, 2+38, 3+39, 4+40, 5+41, 6+42, 7+43, 8+44, 9+45, 10+46,
                11+47, 12+48, 13+49, 14+50, 15+51, 16+52, 17+53, 18+54, 19+55,
                20+56, 21+57, 22+58, 23+59, 24+60, 25+61, 26+62, 27+63, 28+64,
                29+65, 30+66, 31+67, 32+68, 33+69, 34+70, 35+71
      usable    0-71

    nvme1n1: 16 hardware queues, on node 0
      queue   0       CPU 0=w0 1 2 36 37 38
      queue   1       CPU 3=w1 4 39 40
      queue   2       CPU 5=w2 6 41 42
      queue   3       CPU 7=w3 8 43 44
      queue   4       CPU 9=w4 10 11 45 46 47
      queue   5       CPU 12=w5 13 48 49
      queue   6       CPU 14=w6 15 50 51
      queue   7       CPU 16=w7 17 52 53
      queue   8       CPU 18=w8 19 20 54 55 56
      queue   9       CPU 21=w9 22 57 58
      queue  10       CPU 23 24 59 60
      queue  11       CPU 25 26 61 62
      queue  12       CPU 27 28 29 63 64 65
      queue  13       CPU 30 31 66 67
      queue  14       CPU 32 33 68 69
      queue  15       CPU 34 35 70 71

    3=w0: worker 0 is on CPU 3; (3): offline; [3]: isolated or not allowed

    Placement of 10 workers
      worker   0 on CPU 0     first on queue 0, own core, local node 0
      worker   1 on CPU 3     first on queue 1, own core, local node 0
      worker   2 on CPU 5     first on queue 2, own core, local node 0
      worker   3 on CPU 7     first on queue 3, own core, local node 0
      worker   4 on CPU 9     first on queue 4, own core, local node 0
      worker   5 on CPU 12    first on queue 5, own core, local node 0
      worker   6 on CPU 14    first on queue 6, own core, local node 0
      worker   7 on CPU 16    first on queue 7, own core, local node 0
      worker   8 on CPU 18    first on queue 8, own core, remote node 1 (disk on 0)
      worker   9 on CPU 21    first on queue 9, own core, remote node 1 (disk on 0)
      - nvme1n1: no worker for queues 10-15; 10 workers in all
    ");
}

#[test]
fn one_queue() {
    insta::assert_snapshot!(shown(&read("virtio-1q", &["vda"]), 2, true), @r"
    CPUs      2 online in 2 cores, 1 NUMA node, 1 last-level cache
      usable    0, 1

    vda: 1 hardware queue
      queue   0       CPU 0=w0 1=w1

    3=w0: worker 0 is on CPU 3; (3): offline; [3]: isolated or not allowed

    Placement of 2 workers
      worker   0 on CPU 0     first on queue 0, own core
      worker   1 on CPU 1     round 2 on queue 0, own core
    ");
}

#[test]
fn poll_queues() {
    insta::assert_snapshot!(shown(&read("nvme-poll", &["nvme0n1"]), 2, true), @r"
    CPUs      4 online in 4 cores, 1 NUMA node, 1 last-level cache
      usable    0-3

    nvme0n1: 4 hardware queues, 2 of them for polling
      queue   0       CPU 0=w0 1
      queue   1       CPU 2=w1 3
      queue   2 poll  CPU 0 1
      queue   3 poll  CPU 2 3

    3=w0: worker 0 is on CPU 3; (3): offline; [3]: isolated or not allowed

    Placement of 2 workers
      worker   0 on CPU 0     first on queue 0, own core
      worker   1 on CPU 2     first on queue 1, own core
    ");
}

#[test]
fn two_nodes() {
    insta::assert_snapshot!(shown(&read("two-nodes", &["nvme3n1"]), 4, true), @r"
    CPUs      16 online in 8 cores, 2 NUMA nodes, 2 last-level caches
      node 0    0-7
      node 1    8-15
      siblings  0+1, 2+3, 4+5, 6+7, 8+9, 10+11, 12+13, 14+15
      usable    0-15

    nvme3n1: 16 hardware queues, on node 1
      queue   0       CPU 0
      queue   1       CPU 1
      queue   2       CPU 2
      queue   3       CPU 3
      queue   4       CPU 4
      queue   5       CPU 5
      queue   6       CPU 6
      queue   7       CPU 7
      queue   8       CPU 8=w0
      queue   9       CPU 9
      queue  10       CPU 10=w1
      queue  11       CPU 11
      queue  12       CPU 12=w2
      queue  13       CPU 13
      queue  14       CPU 14=w3
      queue  15       CPU 15

    3=w0: worker 0 is on CPU 3; (3): offline; [3]: isolated or not allowed

    Placement of 4 workers
      worker   0 on CPU 8     first on queue 8, own core, local node 1
      worker   1 on CPU 10    first on queue 10, own core, local node 1
      worker   2 on CPU 12    first on queue 12, own core, local node 1
      worker   3 on CPU 14    first on queue 14, own core, local node 1
      - nvme3n1: no worker for queues 0-7,9,11,13,15; 4 workers in all
    ");
}

#[test]
fn container() {
    insta::assert_snapshot!(shown(&read("cpuset", &["vdb"]), 4, true), @r"
    CPUs      8 online in 8 cores, 1 NUMA node, 1 last-level cache
      cpuset    2-5
      affinity  2-5
      usable    2-5

    vdb: 4 hardware queues
      queue   0       CPU [0] 4=w0
      queue   1       CPU [1] 5=w1
      queue   2       CPU 2=w2 [6]
      queue   3       CPU 3=w3 [7]

    3=w0: worker 0 is on CPU 3; (3): offline; [3]: isolated or not allowed

    Placement of 4 workers
      worker   0 on CPU 4     first on queue 0, own core
      worker   1 on CPU 5     first on queue 1, own core
      worker   2 on CPU 2     first on queue 2, own core
      worker   3 on CPU 3     first on queue 3, own core
      - outside the cpuset of this process: CPU 0,1,6,7
    ");
}

#[test]
fn refused() {
    let text = shown(&read("cpuset", &["vdb"]), 5, true);
    insta::assert_snapshot!(text.split_once("\nPlacement\n").unwrap().1, @r"
    none: 5 pinned jobs do not fit on 4 usable CPUs (2-5): ask for at most 4 jobs,
          or let them run unpinned
    ");
}

#[test]
fn unpinned() {
    let text = shown(&read("virtio-1q", &["vda"]), 5, false);
    insta::assert_snapshot!(text.split_once("\nPlacement").unwrap().1, @r"
    of 5 workers
     unpinned: the scheduler moves them over CPU 0,1
     ! 5 unpinned jobs share 2 usable CPUs (0,1)
       -> use at most 2 jobs: workers that wait for a CPU add to latency
    ");
}

#[test]
fn multipath() {
    insta::assert_snapshot!(shown(&read("multipath", &["nvme0n1"]), 4, true), @r"
    CPUs      4 online in 4 cores, 1 NUMA node, 1 last-level cache
      usable    0-3

    nvme0c0n1: 4 hardware queues, on node 0; carries nvme0n1
      queue   0       CPU 0=w0
      queue   1       CPU 1=w1
      queue   2       CPU 2=w2
      queue   3       CPU 3=w3

    3=w0: worker 0 is on CPU 3; (3): offline; [3]: isolated or not allowed

    Placement of 4 workers
      worker   0 on CPU 0     first on queue 0, own core, local node 0
      worker   1 on CPU 1     first on queue 1, own core, local node 0
      worker   2 on CPU 2     first on queue 2, own core, local node 0
      worker   3 on CPU 3     first on queue 3, own core, local node 0
    ");
}

#[test]
fn hybrid() {
    insta::assert_snapshot!(shown(&read("hybrid", &["nvme0n1p2"]), 9, true), @r"
    CPUs      18 online in 13 cores, 1 NUMA node, 1 last-level cache
      siblings  0+1, 2+3, 4+5, 6+7, 8+9, 10, 12, 13, 14, 15, 16, 17, 18
      slow      12-18
      offline   11, 19
      isolated  4, 5
      affinity  0-3, 6-10, 12-18
      usable    0-3, 6-10, 12-18

    nvme0n1: 10 hardware queues; carries nvme0n1p2
      queue   0       CPU 0=w0 1
      queue   1       CPU 2=w1 3
      queue   2       CPU [4] [5]
      queue   3       CPU 6=w2 7
      queue   4       CPU 8=w3 9
      queue   5       CPU 10=w4 (11)
      queue   6       CPU 12=w5 13
      queue   7       CPU 14=w6 15
      queue   8       CPU 16=w7 17
      queue   9       CPU 18=w8 (19)

    3=w0: worker 0 is on CPU 3; (3): offline; [3]: isolated or not allowed

    Placement of 9 workers
      worker   0 on CPU 0     first on queue 0, own core
      worker   1 on CPU 2     first on queue 1, own core
      worker   2 on CPU 6     first on queue 3, own core
      worker   3 on CPU 8     first on queue 4, own core
      worker   4 on CPU 10    first on queue 5, own core
      worker   5 on CPU 12    first on queue 6, own core, slow core
      worker   6 on CPU 14    first on queue 7, own core, slow core
      worker   7 on CPU 16    first on queue 8, own core, slow core
      worker   8 on CPU 18    first on queue 9, own core, slow core
      - outside the affinity mask of this process: CPU 4,5
      - nvme0n1: no usable CPU submits into queue 2
    ");
}

#[test]
fn nine_disks() {
    let text = shown(&read("nine-disks", &["dm-0", "zram0"]), 4, true);
    insta::assert_snapshot!(text, @r"
    CPUs      4 online in 4 cores, 1 NUMA node, 2 last-level caches
      cache 0   0, 1
      cache 1   2, 3
      usable    0-3

    vdb: 2 hardware queues; carries dm-0
      queue   0       CPU 0=w0 1
      queue   1       CPU 2 3

    vdc: 2 hardware queues; carries dm-0
      queue   0       CPU 0 1=w1
      queue   1       CPU 2 3

    vdd: 2 hardware queues; carries dm-0
      queue   0       CPU 0 1
      queue   1       CPU 2=w2 3

    vde: 2 hardware queues; carries dm-0
      queue   0       CPU 0 1
      queue   1       CPU 2 3=w3

    vdf: 2 hardware queues; carries dm-0
      queue   0       CPU 0 1
      queue   1       CPU 2 3

    vdg: 2 hardware queues; carries dm-0
      queue   0       CPU 0 1
      queue   1       CPU 2 3

    vdh: 2 hardware queues; carries dm-0
      queue   0       CPU 0 1
      queue   1       CPU 2 3

    vdi: 2 hardware queues; carries dm-0
      queue   0       CPU 0 1
      queue   1       CPU 2 3

    vdj: 2 hardware queues; carries dm-0
      queue   0       CPU 0 1
      queue   1       CPU 2 3

    zram0: no hardware queues

    3=w0: worker 0 is on CPU 3; (3): offline; [3]: isolated or not allowed

    Placement of 4 workers
      worker   0 on CPU 0     vdb: first on queue 0, own core
      worker   1 on CPU 1     vdc: first on queue 0, own core
      worker   2 on CPU 2     vdd: first on queue 1, own core
      worker   3 on CPU 3     vde: first on queue 1, own core
      - vdb: no worker for queue 1; 4 workers in all
      - vdc: no worker for queue 1; 4 workers in all
      - vdd: no worker for queue 0; 4 workers in all
      - vde: no worker for queue 0; 4 workers in all
      - vdf: no worker for queues 0,1; 4 workers in all
      - vdg: no worker for queues 0,1; 4 workers in all
      - vdh: no worker for queues 0,1; 4 workers in all
      - vdi: no worker for queues 0,1; 4 workers in all
      - vdj: no worker for queues 0,1; 4 workers in all
      - zram0 has no hardware queues: the choice of CPU makes no difference
    ");
}
