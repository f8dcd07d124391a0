//! Files of a job and what makes their data durable.

use super::super::option::{FioOption, Group, OptionWord, ValueKind};
use super::{U32, int};

const FILE_SERVICE_TYPE: &[OptionWord] = &[
    OptionWord::fio_only("random", "any file", "files take turns"),
    OptionWord::fio_only("zipf", "popular files, by rank", "files take turns"),
    OptionWord::fio_only("pareto", "popular files, by the 80/20 rule", "files take turns"),
    OptionWord::fio_only("normal", "files around the middle", "files take turns"),
    OptionWord::fio_only("gauss", "as normal", "files take turns"),
    OptionWord::native("roundrobin", "one after the other"),
    OptionWord::fio_only("sequential", "each file to its end", "files take turns"),
];

const FALLOCATE: &[OptionWord] = &[
    OptionWord::native("none", "nothing"),
    OptionWord::native("native", "the system's own way"),
    OptionWord::native("posix", "posix_fallocate"),
    OptionWord::native("keep", "keep the size"),
    OptionWord::native("truncate", "set the size only"),
    OptionWord::native("0", "as none"),
    OptionWord::native("1", "as posix"),
];

const FADVISE_HINT: &[OptionWord] = &[
    OptionWord::native("0", "no advice"),
    OptionWord::native("1", "advice that fits rw"),
    OptionWord::native("random", "random"),
    OptionWord::native("sequential", "sequential"),
];

const SYNC_FILE_RANGE: &[OptionWord] = &[
    OptionWord::native("wait_before", "wait before"),
    OptionWord::native("write", "start writing"),
    OptionWord::native("wait_after", "wait afterwards"),
];

const SYNC: &[OptionWord] = &[
    OptionWord::native("none", "no"),
    OptionWord::native("0", "no"),
    OptionWord::native("sync", "as with O_SYNC"),
    OptionWord::native("1", "as with O_SYNC"),
    OptionWord::native("dsync", "as with O_DSYNC"),
];

const WRITE_HINT: &[OptionWord] = &[
    OptionWord::native("none", "none"),
    OptionWord::native("short", "short"),
    OptionWord::native("medium", "medium"),
    OptionWord::native("long", "long"),
    OptionWord::native("extreme", "very long"),
];

/// The rows, in the order of `--cmdhelp=all`.
pub const ROWS: &[FioOption] = &[
    FioOption::new(Group::Files, "nrfiles", int(0, U32), "Files of each job").alias("nr_files").default("1"),
    FioOption::new(
        Group::Files,
        "file_service_type",
        ValueKind::Choice(FILE_SERVICE_TYPE),
        "Which file is next",
    )
    .default("roundrobin")
    .under("nrfiles"),
    FioOption::new(Group::Files, "openfiles", int(0, U32), "Files open at the same time")
        .noted("all files stay open"),
    FioOption::new(
        Group::Files,
        "fallocate",
        ValueKind::Choice(FALLOCATE),
        "How space is set aside when files are laid out",
    )
    .default("native")
    .noted("files are laid out with data, as reads need"),
    FioOption::new(
        Group::Files,
        "fadvise_hint",
        ValueKind::Choice(FADVISE_HINT),
        "Tell the kernel what access to expect",
    )
    .default("1"),
    FioOption::new(Group::Sync, "fsync", int(0, U32), "Flush after so many writes").default("0"),
    FioOption::new(Group::Sync, "fdatasync", int(0, U32), "Flush data only, after so many writes")
        .default("0"),
    FioOption::new(Group::Sync, "write_barrier", int(0, U32), "Every so many writes is a barrier")
        .default("0")
        .fio_only("no engine has barriers"),
    FioOption::new(
        Group::Sync,
        "sync_file_range",
        ValueKind::Words(SYNC_FILE_RANGE),
        "Flush the ranges that were written",
    )
    .fio_only("volproof flushes whole files"),
    FioOption::new(Group::Sync, "direct", ValueKind::Bool, "Bypass the page cache").default("0"),
    FioOption::new(Group::Sync, "atomic", ValueKind::Bool, "Atomic writes past the page cache")
        .default("0")
        .fio_only("writes are not asked to be atomic"),
    FioOption::new(Group::Sync, "buffered", ValueKind::Bool, "Go through the page cache").default("1"),
    FioOption::new(Group::Sync, "overwrite", ValueKind::Bool, "Lay files out before they are written")
        .default("0"),
    FioOption::new(
        Group::Sync,
        "invalidate",
        ValueKind::Bool,
        "Drop the target's cached pages before the job",
    )
    .default("1"),
    FioOption::new(Group::Sync, "sync", ValueKind::Choice(SYNC), "Writes return when they are durable")
        .default("none"),
    FioOption::new(
        Group::Sync,
        "write_hint",
        ValueKind::Choice(WRITE_HINT),
        "Life time of the data to tell the device",
    )
    .fio_only("writes carry no hint of their life time"),
    FioOption::new(Group::Files, "create_serialize", ValueKind::Bool, "Lay files out one after the other")
        .default("1")
        .noted("files are laid out one after the other, before the run"),
    FioOption::new(Group::Files, "create_fsync", ValueKind::Bool, "Flush each file that is laid out")
        .default("1")
        .noted("files are flushed once they are laid out"),
    FioOption::new(Group::Files, "create_on_open", ValueKind::Bool, "Lay files out when a job opens them")
        .default("0")
        .noted("files are laid out before the run"),
    FioOption::new(Group::Files, "create_only", ValueKind::Bool, "Lay files out and end")
        .default("0")
        .fio_only("volproof does not stop after the layout"),
    FioOption::new(Group::Files, "allow_file_create", ValueKind::Bool, "Missing files may be created")
        .default("1")
        .fio_only("missing files are laid out before the run"),
    FioOption::new(Group::Files, "allow_mounted_write", ValueKind::Bool, "Write to devices that are mounted")
        .default("0")
        .refused("the guard decides on mounted devices, and asks for --destroy SERIAL"),
    FioOption::new(Group::Files, "pre_read", ValueKind::Bool, "Read all files before the run")
        .default("0")
        .fio_only("the cache is not warmed"),
    FioOption::new(Group::Sync, "end_fsync", ValueKind::Bool, "Flush when the job ends").default("0"),
    FioOption::new(Group::Sync, "fsync_on_close", ValueKind::Bool, "Flush when a file is closed")
        .default("0"),
    FioOption::new(Group::Files, "unlink", ValueKind::Bool, "Remove the files when the job has ended")
        .default("0"),
    FioOption::new(Group::Files, "unlink_each_loop", ValueKind::Bool, "Remove the files after each loop")
        .default("0")
        .fio_only("files stay until the job has ended"),
];
