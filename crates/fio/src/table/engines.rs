//! Engines and the options that only they have.

use super::super::option::{FioOption, Group, OptionWord, Support, ValueKind};
use super::{Engine, U32, each, int};

const ENGINE: &str = "the engine is not one of volproof";
const FLAGS: &str = "I/Os carry no such flags";
const BLOCKING: &str = "volproof blocks on one I/O at a time";
const OTHER: &str = "it is not among the engines of volproof";
const UNCHECKED: &str = "volproof cannot check what it would write to: call fio itself";

const fn unchecked(name: &'static str, help: &'static str) -> Engine {
    Engine { name, help, support: Support::Refused(UNCHECKED), listed: true }
}

/// Engines of fio 3.33 as Debian packages it.
pub const ENGINES: &[Engine] = &[
    Engine { name: "sync", help: "Read and write after a seek", support: Support::Native, listed: true },
    Engine {
        name: "psync",
        help: "One positioned read or write at a time",
        support: Support::Native,
        listed: true,
    },
    Engine {
        name: "vsync",
        help: "Vectors of adjacent I/Os",
        support: Support::FioOnly(BLOCKING),
        listed: true,
    },
    Engine { name: "pvsync", help: "Positioned vectors", support: Support::Native, listed: true },
    Engine { name: "pvsync2", help: "Positioned vectors with flags", support: Support::Native, listed: true },
    Engine { name: "libaio", help: "Linux native asynchronous I/O", support: Support::Native, listed: true },
    Engine { name: "io_uring", help: "io_uring", support: Support::Native, listed: true },
    Engine {
        name: "posixaio",
        help: "POSIX asynchronous I/O",
        support: Support::FioOnly(OTHER),
        listed: true,
    },
    unchecked("rbd", "Ceph block device"),
    Engine {
        name: "mmap",
        help: "Memory that maps the file",
        support: Support::FioOnly(OTHER),
        listed: true,
    },
    Engine {
        name: "splice",
        help: "Pages moved through a pipe",
        support: Support::FioOnly(OTHER),
        listed: true,
    },
    unchecked("netsplice", "Pages moved between a pipe and the network"),
    Engine { name: "sg", help: "SCSI commands", support: Support::FioOnly(OTHER), listed: true },
    Engine { name: "null", help: "No I/O at all", support: Support::Native, listed: true },
    unchecked("net", "Network"),
    Engine { name: "cpuio", help: "Burn CPU time", support: Support::FioOnly(OTHER), listed: true },
    unchecked("rdma", "RDMA"),
    unchecked("e4defrag", "Defragment ext4"),
    unchecked("falloc", "Allocate space"),
    unchecked("gfapi", "GlusterFS"),
    unchecked("gfapi_async", "GlusterFS, asynchronous"),
    unchecked("pmemblk", "Persistent memory as blocks"),
    unchecked("dev-dax", "DAX device"),
    unchecked("filecreate", "Create files"),
    unchecked("external", "An engine from a file"),
    unchecked("libpmem", "Persistent memory"),
    unchecked("nbd", "Network block device"),
    Engine { name: "ftruncate", help: "Truncate files", support: Support::Refused(UNCHECKED), listed: false },
    Engine { name: "filestat", help: "Look files up", support: Support::Refused(UNCHECKED), listed: false },
    Engine { name: "filedelete", help: "Remove files", support: Support::Refused(UNCHECKED), listed: false },
    Engine { name: "exec", help: "Run a program", support: Support::Refused(UNCHECKED), listed: false },
    Engine { name: "mtd", help: "Raw flash", support: Support::Refused(UNCHECKED), listed: false },
    Engine {
        name: "io_uring_cmd",
        help: "Device commands through io_uring",
        support: Support::Refused(UNCHECKED),
        listed: false,
    },
    Engine { name: "rados", help: "Ceph objects", support: Support::Refused(UNCHECKED), listed: false },
];

const CPUMODE: &[OptionWord] =
    &[OptionWord::native("noop", "empty instructions"), OptionWord::native("qsort", "sorting")];

const PROTOCOL: &[OptionWord] = &[
    OptionWord::native("tcp", "TCP"),
    OptionWord::native("tcpv6", "TCP over IPv6"),
    OptionWord::native("udp", "UDP"),
    OptionWord::native("udpv6", "UDP over IPv6"),
    OptionWord::native("unix", "a local socket"),
];

const STAT_TYPE: &[OptionWord] = &[
    OptionWord::native("stat", "stat"),
    OptionWord::native("lstat", "lstat"),
    OptionWord::native("statx", "statx"),
];

const SG_WRITE_MODE: &[OptionWord] = &[
    OptionWord::native("write", "WRITE"),
    OptionWord::native("write_and_verify", "WRITE AND VERIFY"),
    OptionWord::native("verify", "as write_and_verify, old name"),
    OptionWord::native("write_same", "WRITE SAME"),
    OptionWord::native("same", "as write_same, old name"),
    OptionWord::native("write_same_ndob", "WRITE SAME(16) without data"),
    OptionWord::native("verify_bytchk_00", "VERIFY, medium only"),
    OptionWord::native("verify_bytchk_01", "VERIFY, against the data"),
    OptionWord::native("verify_bytchk_11", "VERIFY, one block of data"),
    OptionWord::native("write_stream", "WRITE STREAM(16)"),
];

const CMD_TYPE: &[OptionWord] = &[OptionWord::native("nvme", "NVMe")];

const VERB: &[OptionWord] = &[
    OptionWord::native("write", "remote write"),
    OptionWord::native("read", "remote read"),
    OptionWord::native("send", "send"),
    OptionWord::native("recv", "receive"),
];

/// The rows, in the order of `--cmdhelp=all`.
pub const ROWS: &[FioOption] = &[
    FioOption::new(Group::Engines, "cpuload", int(0, U32), "Share of a CPU to burn, in percent")
        .of(&["cpuio"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "cpuchunks", int(0, U32), "Length of a piece of burning, microseconds")
        .default("50000")
        .of(&["cpuio"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "cpumode", ValueKind::Choice(CPUMODE), "What the CPU does")
        .default("noop")
        .of(&["cpuio"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "exit_on_io_done", ValueKind::Bool, "End when the jobs that do I/O end")
        .default("0")
        .of(&["cpuio"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "thp", int(0, U32), "Ask for huge pages").of(&["mmap"]).fio_only(ENGINE),
    FioOption::new(Group::Engines, "hipri", ValueKind::Flag, "Poll the device for completions")
        .of(&["io_uring", "io_uring_cmd"]),
    FioOption::new(Group::Engines, "hipri", ValueKind::Flag, "Poll the device for completions")
        .of(&["pvsync2", "sg"])
        .fio_only("completions are polled with io_uring only"),
    FioOption::new(Group::Engines, "hipri_percentage", int(0, 100), "Share of I/Os that are polled")
        .default("100")
        .of(&["pvsync2"])
        .fio_only("all I/Os are polled or none"),
    FioOption::new(Group::Engines, "uncached", int(0, U32), "Drop cached pages after each I/O")
        .of(&["pvsync2", "io_uring", "io_uring_cmd"])
        .fio_only(FLAGS),
    FioOption::new(Group::Engines, "nowait", ValueKind::Bool, "I/Os that would block fail instead")
        .of(&["pvsync2", "libaio", "io_uring", "io_uring_cmd"])
        .fio_only(FLAGS),
    FioOption::new(Group::Engines, "hostname", ValueKind::Text, "The other machine")
        .of(&["net", "netsplice", "rdma"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "port", int(1, 65_535), "Port of the connection")
        .of(&["net", "netsplice", "rdma"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "protocol", ValueKind::Choice(PROTOCOL), "Protocol of the connection")
        .alias("proto")
        .default("tcp")
        .of(&["net", "netsplice"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "nodelay", ValueKind::Bool, "Send small packets at once")
        .of(&["net", "netsplice"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "listen", ValueKind::Flag, "Wait for the other side to connect")
        .of(&["net", "netsplice"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "pingpong", ValueKind::Flag, "Answer each message")
        .of(&["net", "netsplice"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "interface", ValueKind::Text, "Network interface")
        .of(&["net", "netsplice"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "ttl", int(0, U32), "Hops that multicast packets live")
        .default("1")
        .of(&["net", "netsplice"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "window_size", int(0, U32), "Size of the socket's buffers")
        .of(&["net", "netsplice"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "mss", int(0, U32), "Greatest segment")
        .of(&["net", "netsplice"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "stat_type", ValueKind::Choice(STAT_TYPE), "Which system call")
        .default("stat")
        .of(&["filestat"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "program", ValueKind::Text, "Program to run")
        .of(&["exec"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "arguments", ValueKind::Text, "Its arguments")
        .of(&["exec"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "grace_time", int(0, U32), "Seconds until it is killed")
        .default("1")
        .of(&["exec"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "std_redirect", ValueKind::Bool, "Its output goes to files")
        .default("1")
        .of(&["exec"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "donorname", ValueKind::Text, "File that gives blocks")
        .of(&["e4defrag"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "inplace", int(0, 1), "Allocate while defragmenting")
        .of(&["e4defrag"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "volume", ValueKind::Text, "Volume of GlusterFS")
        .of(&["gfapi", "gfapi_async"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "brick", ValueKind::Text, "Brick to connect to")
        .of(&["gfapi", "gfapi_async"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "single-instance", ValueKind::Bool, "One client for all jobs")
        .of(&["gfapi", "gfapi_async"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "skip_bad", ValueKind::Bool, "Leave bad blocks out")
        .default("0")
        .of(&["mtd"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "readfua", ValueKind::Bool, "Reads reach the medium")
        .default("0")
        .of(&["sg"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "writefua", ValueKind::Bool, "Writes reach the medium")
        .default("0")
        .of(&["sg"])
        .fio_only(ENGINE),
    FioOption::new(
        Group::Engines,
        "sg_write_mode",
        ValueKind::Choice(SG_WRITE_MODE),
        "Which SCSI command writes",
    )
    .default("write")
    .of(&["sg"])
    .fio_only(ENGINE),
    FioOption::new(Group::Engines, "stream_id", int(0, U32), "Stream of writes")
        .default("0")
        .of(&["sg"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "cmdprio_percentage", each(0, 100), "Share of I/Os with high priority")
        .of(&["io_uring", "io_uring_cmd", "libaio"])
        .fio_only("requests have no priority of their own"),
    FioOption::new(Group::Engines, "cmdprio_class", each(1, 3), "Class of that priority")
        .of(&["io_uring", "io_uring_cmd", "libaio"])
        .noted("cmdprio_percentage and cmdprio_bssplit ask for it"),
    FioOption::new(Group::Engines, "cmdprio", each(0, 7), "Level of that priority")
        .of(&["io_uring", "io_uring_cmd", "libaio"])
        .noted("cmdprio_percentage and cmdprio_bssplit ask for it"),
    FioOption::new(Group::Engines, "cmdprio_bssplit", ValueKind::Text, "Priorities by I/O size")
        .of(&["io_uring", "io_uring_cmd", "libaio"])
        .fio_only("requests have no priority of their own"),
    FioOption::new(Group::Engines, "fixedbufs", ValueKind::Flag, "Register the buffers beforehand")
        .of(&["io_uring", "io_uring_cmd"])
        .noted("volproof registers its buffers whenever it can"),
    FioOption::new(Group::Engines, "registerfiles", ValueKind::Flag, "Register the files beforehand")
        .of(&["io_uring", "io_uring_cmd"])
        .noted("volproof registers its files whenever it can"),
    FioOption::new(Group::Engines, "sqthread_poll", ValueKind::Flag, "A kernel thread submits")
        .of(&["io_uring", "io_uring_cmd"]),
    FioOption::new(Group::Engines, "sqthread_poll_cpu", int(0, U32), "CPU of the thread that submits")
        .of(&["io_uring", "io_uring_cmd"])
        .fio_only("the kernel places that thread"),
    FioOption::new(Group::Engines, "nonvectored", int(-1, U32), "Single buffers instead of vectors")
        .default("-1")
        .of(&["io_uring", "io_uring_cmd"])
        .noted("volproof uses single buffers"),
    FioOption::new(
        Group::Engines,
        "force_async",
        int(0, U32),
        "Every so many I/Os go through kernel workers",
    )
    .of(&["io_uring", "io_uring_cmd"])
    .fio_only(FLAGS),
    FioOption::new(Group::Engines, "cmd_type", ValueKind::Choice(CMD_TYPE), "Which commands pass through")
        .default("nvme")
        .of(&["io_uring", "io_uring_cmd"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "uri", ValueKind::Text, "Address of the export")
        .of(&["nbd"])
        .fio_only(ENGINE),
    FioOption::new(
        Group::Engines,
        "userspace_reap",
        ValueKind::Flag,
        "Take completions without a system call",
    )
    .of(&["libaio"])
    .noted("volproof always reaps that way when the kernel allows"),
    FioOption::new(Group::Engines, "bindname", ValueKind::Text, "Local address")
        .default("")
        .of(&["rdma"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "verb", ValueKind::Choice(VERB), "Which operation")
        .alias("proto")
        .default("write")
        .of(&["rdma"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "clustername", ValueKind::Text, "Cluster of Ceph")
        .of(&["rados", "rbd"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "pool", ValueKind::Text, "Pool of Ceph")
        .of(&["rados", "rbd"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "clientname", ValueKind::Text, "User of Ceph")
        .of(&["rados", "rbd"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "conf", ValueKind::Text, "Configuration of Ceph")
        .default("/etc/ceph/ceph.conf")
        .of(&["rados"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "busy_poll", ValueKind::Bool, "Poll for completions")
        .default("0")
        .of(&["rados", "rbd"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "touch_objects", ValueKind::Bool, "Create objects at the start")
        .default("1")
        .of(&["rados"])
        .fio_only(ENGINE),
    FioOption::new(Group::Engines, "rbdname", ValueKind::Text, "Image of Ceph").of(&["rbd"]).fio_only(ENGINE),
];
