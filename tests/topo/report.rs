//! The output of `topo`, on trees of machines.

use crate::trees::read;
use volproof::report::topo::{json, text};
use volproof::topo::{LikeScript, Topology, like_script, place};

fn shown(topology: &Topology, jobs: u32, pinned: bool, script: bool) -> String {
    let placement = place(topology, jobs, pinned);
    let why = placement.as_ref().map_err(ToString::to_string);
    let placement = why.as_ref().map(|p| *p).map_err(String::as_str);
    let scripts: Vec<LikeScript> = match script {
        true => {
            topology.targets.iter().map(|t| like_script(topology, &t.disk, jobs, placement.ok())).collect()
        }
        false => Vec::new(),
    };
    let text = text(topology, placement, &scripts);
    for line in text.lines() {
        assert!(line.len() <= 80 && line.trim_end() == line, "{} columns: {line}", line.len());
    }
    let value = json(topology, placement, &scripts);
    assert_eq!(serde_json::from_value::<Topology>(value["topology"].clone()).unwrap().cpus, topology.cpus);
    assert_eq!(value.get("placement").is_some(), placement.is_ok());
    assert_eq!(value.get("like_script").is_some(), script);
    text
}

#[test]
fn seventy_two_cpus() {
    insta::assert_snapshot!(shown(&read("72cpu-16q", &["nvme1n1"]), 10, true, true), @r"
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
      interrupts since boot, and where they are delivered now
         40  nvme1q0           -> CPU 0      31 on CPU 0
         41  nvme1q1           -> CPU 0      1,000 on CPU 0
         42  nvme1q2           -> CPU 3      1,001 on CPU 3
         43  nvme1q3           -> CPU 5      1,002 on CPU 5
         44  nvme1q4           -> CPU 7      1,003 on CPU 7
         45  nvme1q5           -> CPU 9      1,004 on CPU 9
         46  nvme1q6           -> CPU 12     1,005 on CPU 12
         47  nvme1q7           -> CPU 14     1,006 on CPU 14
         48  nvme1q8           -> CPU 16     1,007 on CPU 16
         49  nvme1q9           -> CPU 18     1,008 on CPU 18
         50  nvme1q10          -> CPU 21     1,009 on CPU 21
         51  nvme1q11          -> CPU 23     1,010 on CPU 23
         52  nvme1q12          -> CPU 25     1,011 on CPU 25
         53  nvme1q13          -> CPU 27     1,012 on CPU 27
         54  nvme1q14          -> CPU 30     1,013 on CPU 30
         55  nvme1q15          -> CPU 32     1,014 on CPU 32
         56  nvme1q16          -> CPU 34     1,015 on CPU 34

    0=w0: worker 0 is on CPU 0

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
      - CPU 2 took most interrupts of other devices (880,123): left free

    What test100w.sh would choose for nvme1n1
      --cpus_allowed=3,23,25,27,30,32,34,5,7,9
      its jobs  CPU 3 5 7 9 23 25 27 30 32 34
      ours      CPU 0 3 5 7 9 12 14 16 18 21
      why ours differs
      - `cut -f 2-` drops the first CPU of the first queue, CPU 0
      - the glob sorts queues as text: 0, 1, 10, 11, 12, ...
      - CPU 23,25,27,30,32,34 is on another node than the disk (node 0)
    ");
}

#[test]
fn one_queue() {
    insta::assert_snapshot!(shown(&read("virtio-1q", &["vda"]), 2, true, true), @r"
    CPUs      2 online in 2 cores, 1 NUMA node, 1 last-level cache
      usable    0, 1

    vda: 1 hardware queue
      queue   0       CPU 0=w0 1=w1
      interrupts since boot, and where they are delivered now
         35  virtio1-config    -> CPU 1      1 on CPU 1
         36  virtio1-req.0     -> CPU 1      140,214 on CPU 1

    0=w0: worker 0 is on CPU 0

    Placement of 2 workers
      worker   0 on CPU 0     first on queue 0, own core
      worker   1 on CPU 1     round 2 on queue 0, own core, takes most other
                              interrupts
      - CPU 1 took most interrupts of other devices (8,313): still used

    What test100w.sh would choose for vda
      --cpus_allowed=1,
      its jobs  CPU 1 1
      ours      CPU 0 1
      why ours differs
      - `cut -f 2-` drops the first CPU of the first queue, CPU 0
      - 2 jobs on 1 of its CPUs: CPU 1 carries several
    ");
}

#[test]
fn poll_queues() {
    insta::assert_snapshot!(shown(&read("nvme-poll", &["nvme0n1"]), 2, true, true), @r"
    CPUs      4 online in 4 cores, 1 NUMA node, 1 last-level cache
      usable    0-3

    nvme0n1: 4 hardware queues, 2 of them for polling
      queue   0       CPU 0=w0 1
      queue   1       CPU 2=w1 3
      queue   2 poll  CPU 0 1
      queue   3 poll  CPU 2 3
      interrupts since boot, and where they are delivered now
         24  nvme0q0           -> CPU 0      20 on CPU 0
         25  nvme0q1           -> CPU 0      500 on CPU 0, 3 on CPU 1
         26  nvme0q2           -> CPU 2      700 on CPU 2

    0=w0: worker 0 is on CPU 0

    Placement of 2 workers
      worker   0 on CPU 0     first on queue 0, own core
      worker   1 on CPU 2     first on queue 1, own core
      - CPU 1 took most interrupts of other devices (9,000): left free

    What test100w.sh would choose for nvme0n1
      --cpus_allowed=2,0
      its jobs  CPU 0 2
      ours      CPU 0 2
      why ours differs
      - `cut -f 2-` drops the first CPU of the first queue, CPU 0
      - read and poll queues repeat the CPUs, so columns hold a CPU twice
    ");
}

#[test]
fn two_nodes() {
    insta::assert_snapshot!(shown(&read("two-nodes", &["nvme3n1"]), 4, true, true), @r"
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
      queue  10       CPU 10
      queue  11       CPU 11=w1
      queue  12       CPU 12=w2
      queue  13       CPU 13
      queue  14       CPU 14=w3
      queue  15       CPU 15
      interrupts since boot, and where they are delivered now
         70  nvme3q0           -> CPU 8      9 on CPU 8
         71  nvme3q1           -> CPU 0      100 on CPU 0
         72  nvme3q2           -> CPU 1      100 on CPU 1
         73  nvme3q3           -> CPU 2      100 on CPU 2
         74  nvme3q4           -> CPU 3      100 on CPU 3
         75  nvme3q5           -> CPU 4      100 on CPU 4
         76  nvme3q6           -> CPU 5      100 on CPU 5
         77  nvme3q7           -> CPU 6      100 on CPU 6
         78  nvme3q8           -> CPU 7      100 on CPU 7
         79  nvme3q9           -> CPU 8      100 on CPU 8
         80  nvme3q10          -> CPU 9      100 on CPU 9
         81  nvme3q11          -> CPU 10     100 on CPU 10
         82  nvme3q12          -> CPU 11     100 on CPU 11
         83  nvme3q13          -> CPU 12     100 on CPU 12
         84  nvme3q14          -> CPU 13     100 on CPU 13
         85  nvme3q15          -> CPU 14     100 on CPU 14
         86  nvme3q16          -> CPU 15     100 on CPU 15

    8=w0: worker 0 is on CPU 8

    Placement of 4 workers
      worker   0 on CPU 8     first on queue 8, own core, local node 1
      worker   1 on CPU 11    first on queue 11, own core, local node 1
      worker   2 on CPU 12    first on queue 12, own core, local node 1
      worker   3 on CPU 14    first on queue 14, own core, local node 1
      - nvme3n1: no worker for queues 0-7,9,10,13,15; 4 workers in all
      - CPU 10 took most interrupts of other devices (5,000,000): left free

    What test100w.sh would choose for nvme3n1
      --cpus_allowed=1,10,11,12
      its jobs  CPU 1 10 11 12
      ours      CPU 8 11 12 14
      why ours differs
      - `cut -f 2-` drops the first CPU of the first queue, CPU 0
      - the glob sorts queues as text: 0, 1, 10, 11, 12, ...
      - CPU 11 shares a core with another job; there are 8 cores
      - CPU 1 is on another node than the disk (node 1)
      - CPU 10 takes most interrupts of other devices
    ");
}

#[test]
fn container() {
    insta::assert_snapshot!(shown(&read("cpuset", &["vdb"]), 4, true, true), @r"
    CPUs      8 online in 8 cores, 1 NUMA node, 1 last-level cache
      cpuset    2-5
      affinity  2-5
      usable    2-5

    vdb: 4 hardware queues
      queue   0       CPU [0] 4=w0
      queue   1       CPU [1] 5=w1
      queue   2       CPU 2=w2 [6]
      queue   3       CPU 3=w3 [7]
      interrupts since boot, and where they are delivered now
         50  virtio3-req.0     -> CPU 0      1 on CPU 0
         51  virtio3-req.1     -> CPU 1      11 on CPU 1
         52  virtio3-req.2     -> CPU 2      21 on CPU 2
         53  virtio3-req.3     -> CPU 3      31 on CPU 3

    4=w0: worker 0 is on CPU 4; [3]: isolated or not allowed

    Placement of 4 workers
      worker   0 on CPU 4     first on queue 0, own core
      worker   1 on CPU 5     first on queue 1, own core
      worker   2 on CPU 2     first on queue 2, own core
      worker   3 on CPU 3     first on queue 3, own core
      - outside the cpuset of this process: CPU 0,1,6,7

    What test100w.sh would choose for vdb
      --cpus_allowed=1,2,3,4
      its jobs  CPU 1 2 3 4
      ours      CPU 4 5 2 3
      why ours differs
      - `cut -f 2-` drops the first CPU of the first queue, CPU 0
      - CPU 1 is offline, isolated or outside our cpuset
    ");
}

#[test]
fn refused() {
    let text = shown(&read("cpuset", &["vdb"]), 5, true, false);
    insta::assert_snapshot!(text.split_once("\nPlacement\n").unwrap().1, @r"
    none: 5 pinned jobs do not fit on 4 usable CPUs (2-5): ask for at most 4 jobs,
          or let them run unpinned
    ");
}

#[test]
fn unpinned() {
    let text = shown(&read("virtio-1q", &["vda"]), 5, false, false);
    insta::assert_snapshot!(text.split_once("\nPlacement").unwrap().1, @r"
    of 5 workers
     unpinned: the scheduler moves them over CPU 0,1
     ! 5 unpinned jobs share 2 usable CPUs (0,1)
       -> use at most 2 jobs: workers that wait for a CPU add to latency
    ");
}

#[test]
fn multipath() {
    insta::assert_snapshot!(shown(&read("multipath", &["nvme0n1"]), 4, true, true), @r"
    CPUs      4 online in 4 cores, 1 NUMA node, 1 last-level cache
      usable    0-3

    nvme0c0n1: 4 hardware queues, on node 0; carries nvme0n1
      queue   0       CPU 0=w0
      queue   1       CPU 1=w1
      queue   2       CPU 2=w2
      queue   3       CPU 3=w3
      interrupts since boot, and where they are delivered now
         30  nvme0q0           -> CPU 0      none yet
         31  nvme0q1           -> CPU 0      5 on CPU 0
         32  nvme0q2           -> CPU 1      10 on CPU 1
         33  nvme0q3           -> CPU 2      15 on CPU 2
         34  nvme0q4           -> CPU 3      20 on CPU 3

    0=w0: worker 0 is on CPU 0

    Placement of 4 workers
      worker   0 on CPU 0     first on queue 0, own core, local node 0
      worker   1 on CPU 1     first on queue 1, own core, local node 0
      worker   2 on CPU 2     first on queue 2, own core, local node 0
      worker   3 on CPU 3     first on queue 3, own core, local node 0, takes most
                              other interrupts
      - CPU 3 took most interrupts of other devices (20): still used

    What test100w.sh would choose for nvme0n1
      --cpus_allowed=(nothing)
      its jobs  CPU none
      ours      CPU 0 1 2 3
      why ours differs
      - nvme0n1 has no mq folder; its queues are at nvme0c0n1
      - its list of CPUs is empty: fio would get no CPU to pin to
    ");
}

#[test]
fn hybrid() {
    insta::assert_snapshot!(shown(&read("hybrid", &["nvme0n1p2"]), 9, true, false), @r"
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
      interrupts since boot, and where they are delivered now
        120  nvme0q0           -> CPU 0      50 on CPU 0
        121  nvme0q1           -> CPU 0      50 on CPU 0
        122  nvme0q2           -> CPU 2      50 on CPU 2
        123  nvme0q3           -> CPU 4      50 on CPU 4
        124  nvme0q4           -> CPU 6      50 on CPU 6
        125  nvme0q5           -> CPU 8      50 on CPU 8
        126  nvme0q6           -> CPU 10     50 on CPU 10
        127  nvme0q7           -> CPU 12     50 on CPU 12
        128  nvme0q8           -> CPU 14     50 on CPU 14
        129  nvme0q9           -> CPU 16     50 on CPU 16
        130  nvme0q10          -> CPU 18     50 on CPU 18

    0=w0: worker 0 is on CPU 0; (3): offline; [3]: isolated or not allowed

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
      - CPU 1 took most interrupts of other devices (77): left free
    ");
}

#[test]
fn nine_disks() {
    let text = shown(&read("nine-disks", &["dm-0", "zram0"]), 4, true, false);
    insta::assert_snapshot!(text, @r"
    CPUs      4 online in 4 cores, 1 NUMA node, 2 last-level caches
      cache 0   0, 1
      cache 1   2, 3
      usable    0-3

    vdb: 2 hardware queues; carries dm-0
      queue   0       CPU 0=w0 1
      queue   1       CPU 2 3
      interrupts since boot, and where they are delivered now
         60  virtio1-req.0     -> CPU 0      7 on CPU 0
         61  virtio1-req.1     -> CPU 2      7 on CPU 2

    vdc: 2 hardware queues; carries dm-0
      queue   0       CPU 0 1=w1
      queue   1       CPU 2 3
      interrupts since boot, and where they are delivered now
         62  virtio2-req.0     -> CPU 0      7 on CPU 0
         63  virtio2-req.1     -> CPU 2      7 on CPU 2

    vdd: 2 hardware queues; carries dm-0
      queue   0       CPU 0 1
      queue   1       CPU 2=w2 3
      interrupts since boot, and where they are delivered now
         64  virtio3-req.0     -> CPU 0      7 on CPU 0
         65  virtio3-req.1     -> CPU 2      7 on CPU 2

    vde: 2 hardware queues; carries dm-0
      queue   0       CPU 0 1
      queue   1       CPU 2 3=w3
      interrupts since boot, and where they are delivered now
         66  virtio4-req.0     -> CPU 0      7 on CPU 0
         67  virtio4-req.1     -> CPU 2      7 on CPU 2

    vdf: 2 hardware queues; carries dm-0
      queue   0       CPU 0 1
      queue   1       CPU 2 3
      interrupts since boot, and where they are delivered now
         68  virtio5-req.0     -> CPU 0      7 on CPU 0
         69  virtio5-req.1     -> CPU 2      7 on CPU 2

    vdg: 2 hardware queues; carries dm-0
      queue   0       CPU 0 1
      queue   1       CPU 2 3
      interrupts since boot, and where they are delivered now
         70  virtio6-req.0     -> CPU 0      7 on CPU 0
         71  virtio6-req.1     -> CPU 2      7 on CPU 2

    vdh: 2 hardware queues; carries dm-0
      queue   0       CPU 0 1
      queue   1       CPU 2 3
      interrupts since boot, and where they are delivered now
         72  virtio7-req.0     -> CPU 0      7 on CPU 0
         73  virtio7-req.1     -> CPU 2      7 on CPU 2

    vdi: 2 hardware queues; carries dm-0
      queue   0       CPU 0 1
      queue   1       CPU 2 3
      interrupts since boot, and where they are delivered now
         74  virtio8-req.0     -> CPU 0      7 on CPU 0
         75  virtio8-req.1     -> CPU 2      7 on CPU 2

    vdj: 2 hardware queues; carries dm-0
      queue   0       CPU 0 1
      queue   1       CPU 2 3
      interrupts since boot, and where they are delivered now
         76  virtio9-req.0     -> CPU 0      7 on CPU 0
         77  virtio9-req.1     -> CPU 2      7 on CPU 2

    zram0: no hardware queues

    0=w0: worker 0 is on CPU 0

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
