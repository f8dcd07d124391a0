//! CPU, memory, priority and rights of a job.

use super::super::option::{FioOption, Group, OptionWord, ValueKind};
use super::{LONG, SECONDS, U32, int};

const RIGHTS: &str = "volproof runs as it was started: use nice, ionice or systemd-run around it";
const NODES: &str =
    "volproof places workers near the device and leaves memory to the kernel; cpus_allowed names CPUs";
const PROFILE_ONLY: &str = "it matters with a profile only";

const MEM: &[OptionWord] = &[
    OptionWord::native("malloc", "ordinary memory"),
    OptionWord::noted("shm", "shared segments", "buffers are anonymous pages"),
    OptionWord::fio_only("shmhuge", "shared segments of huge pages", "buffers are anonymous pages"),
    OptionWord::noted("mmap", "mapped pages, or a mapped file", "buffers are anonymous pages"),
    OptionWord::noted("mmapshared", "mapped and shared pages", "buffers are anonymous pages"),
    OptionWord::fio_only("mmaphuge", "mapped huge pages", "buffers are anonymous pages"),
];

const CPUS_ALLOWED_POLICY: &[OptionWord] = &[
    OptionWord::native("shared", "all clones on all of them"),
    OptionWord::native("split", "one for each clone"),
];

const PROFILE: &[OptionWord] =
    &[OptionWord::native("tiobench", "tiotest"), OptionWord::native("act", "Aerospike's certification test")];

/// The rows, in the order of `--cmdhelp=all`.
pub const ROWS: &[FioOption] = &[
    FioOption::new(Group::Process, "mem", ValueKind::Choice(MEM), "Memory of the buffers")
        .alias("iomem")
        .default("malloc"),
    FioOption::new(Group::Process, "iomem_align", int(0, U32), "Offset of buffers from a page")
        .alias("mem_align")
        .default("0")
        .hidden()
        .noted("buffers begin at pages"),
    FioOption::new(Group::Process, "exec_prerun", ValueKind::Text, "Program to run before the job")
        .refused("volproof runs no programs; run it before"),
    FioOption::new(Group::Process, "exec_postrun", ValueKind::Text, "Program to run after the job")
        .refused("volproof runs no programs; run it afterwards"),
    FioOption::new(Group::Process, "ioscheduler", ValueKind::Text, "Scheduler to set on the device")
        .refused("volproof changes the machine only through tune, which puts it back"),
    FioOption::new(Group::Process, "lockmem", LONG, "Pin so much memory before the run")
        .default("0")
        .fio_only("memory is not taken away from the page cache"),
    FioOption::new(Group::Process, "nice", int(-20, 19), "CPU priority of the job")
        .default("0")
        .fio_only(RIGHTS),
    FioOption::new(Group::Process, "prio", int(0, 7), "I/O priority of the job").fio_only(RIGHTS),
    FioOption::new(Group::Process, "prioclass", int(0, 3), "Class of the I/O priority").fio_only(RIGHTS),
    FioOption::new(Group::Process, "cpumask", int(0, U32), "CPUs of the job, as bits"),
    FioOption::new(Group::Process, "cpus_allowed", ValueKind::Cpus, "CPUs of the job, as a list"),
    FioOption::new(
        Group::Process,
        "cpus_allowed_policy",
        ValueKind::Choice(CPUS_ALLOWED_POLICY),
        "All clones share the CPUs, or each has its own",
    )
    .under("cpus_allowed"),
    FioOption::new(Group::Process, "numa_cpu_nodes", ValueKind::Text, "NUMA nodes whose CPUs the job uses")
        .fio_only(NODES),
    FioOption::new(
        Group::Process,
        "numa_mem_policy",
        ValueKind::Text,
        "NUMA nodes whose memory the job uses",
    )
    .fio_only(NODES),
    FioOption::new(Group::Process, "profile", ValueKind::Choice(PROFILE), "Run a test that fio has built in")
        .refused("a profile names its files itself: call fio itself"),
    FioOption::new(Group::Process, "cgroup", ValueKind::Text, "Control group of the job")
        .refused("fio makes folders for it: use systemd-run around volproof"),
    FioOption::new(Group::Process, "cgroup_nodelete", ValueKind::Bool, "Keep the control group")
        .default("0")
        .under("cgroup")
        .fio_only(RIGHTS),
    FioOption::new(Group::Process, "cgroup_weight", int(100, 1000), "Weight of the control group")
        .under("cgroup")
        .fio_only(RIGHTS),
    FioOption::new(Group::Process, "uid", int(0, U32), "User of the job").fio_only(RIGHTS),
    FioOption::new(Group::Process, "gid", int(0, U32), "Group of the job").fio_only(RIGHTS),
    FioOption::new(Group::Process, "hugepage-size", int(0, i64::MAX), "Size of huge pages")
        .default("2097152")
        .noted("it matters with mem=shmhuge and mem=mmaphuge only"),
    FioOption::new(Group::Process, "device-names", ValueKind::Text, "Devices of profile=act")
        .hidden()
        .noted(PROFILE_ONLY),
    FioOption::new(Group::Process, "load", int(0, U32), "Load of profile=act")
        .default("1")
        .hidden()
        .noted(PROFILE_ONLY),
    FioOption::new(Group::Process, "test-duration", SECONDS, "Length of profile=act")
        .default("24h")
        .hidden()
        .noted(PROFILE_ONLY),
    FioOption::new(Group::Process, "threads-per-queue", int(0, U32), "Readers of profile=act")
        .default("8")
        .hidden()
        .noted(PROFILE_ONLY),
    FioOption::new(
        Group::Process,
        "read-req-num-512-blocks",
        int(0, U32),
        "Size of reads of profile=act, 512 bytes",
    )
    .default("3")
    .hidden()
    .noted(PROFILE_ONLY),
    FioOption::new(
        Group::Process,
        "large-block-op-kbytes",
        int(0, U32),
        "Size of writes of profile=act, KiB",
    )
    .default("131072")
    .hidden()
    .noted(PROFILE_ONLY),
    FioOption::new(Group::Process, "prep", ValueKind::Flag, "Prepare devices for profile=act")
        .hidden()
        .noted(PROFILE_ONLY),
    FioOption::new(Group::Process, "block", int(0, U32), "Block size of profile=tiobench")
        .default("4096")
        .hidden()
        .noted(PROFILE_ONLY),
    FioOption::new(Group::Process, "numruns", int(0, U32), "Runs of profile=tiobench")
        .hidden()
        .noted(PROFILE_ONLY),
    FioOption::new(Group::Process, "dir", ValueKind::Text, "Folder of profile=tiobench")
        .hidden()
        .noted(PROFILE_ONLY),
    FioOption::new(Group::Process, "threads", int(0, U32), "Threads of profile=tiobench; not thread")
        .hidden()
        .noted(PROFILE_ONLY),
];
