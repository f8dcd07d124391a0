//! Files of a job and what makes their data durable.

use super::super::option::{Choice, FioOption, Group, Kind};
use super::{U32, int};

const FILE_SERVICE_TYPE: &[Choice] = &[
    Choice::fio_only("random", "any file", "files take turns"),
    Choice::fio_only("zipf", "popular files, by rank", "files take turns"),
    Choice::fio_only("pareto", "popular files, by the 80/20 rule", "files take turns"),
    Choice::fio_only("normal", "files around the middle", "files take turns"),
    Choice::fio_only("gauss", "as normal", "files take turns"),
    Choice::native("roundrobin", "one after the other"),
    Choice::fio_only("sequential", "each file to its end", "files take turns"),
];

const FALLOCATE: &[Choice] = &[
    Choice::native("none", "nothing"),
    Choice::native("native", "the system's own way"),
    Choice::native("posix", "posix_fallocate"),
    Choice::native("keep", "keep the size"),
    Choice::native("truncate", "set the size only"),
    Choice::native("0", "as none"),
    Choice::native("1", "as posix"),
];

const FADVISE_HINT: &[Choice] = &[
    Choice::native("0", "no advice"),
    Choice::native("1", "advice that fits rw"),
    Choice::native("random", "random"),
    Choice::native("sequential", "sequential"),
];

const SYNC_FILE_RANGE: &[Choice] = &[
    Choice::native("wait_before", "wait before"),
    Choice::native("write", "start writing"),
    Choice::native("wait_after", "wait afterwards"),
];

const SYNC: &[Choice] = &[
    Choice::native("none", "no"),
    Choice::native("0", "no"),
    Choice::fio_only("sync", "O_SYNC", "files are opened without O_SYNC; fsync=1 is near to it"),
    Choice::fio_only("1", "O_SYNC", "files are opened without O_SYNC; fsync=1 is near to it"),
    Choice::fio_only("dsync", "O_DSYNC", "files are opened without O_DSYNC; fdatasync=1 is near to it"),
];

const WRITE_HINT: &[Choice] = &[
    Choice::native("none", "none"),
    Choice::native("short", "short"),
    Choice::native("medium", "medium"),
    Choice::native("long", "long"),
    Choice::native("extreme", "very long"),
];

/// The rows, in the order of `--cmdhelp=all`.
pub const ROWS: &[FioOption] = &[
    FioOption::new(Group::Files, "nrfiles", int(0, U32), "Files of each job").alias("nr_files").default("1"),
    FioOption::new(Group::Files, "file_service_type", Kind::Choice(FILE_SERVICE_TYPE), "Which file is next")
        .default("roundrobin")
        .under("nrfiles"),
    FioOption::new(Group::Files, "openfiles", int(0, U32), "Files open at the same time")
        .noted("all files stay open"),
    FioOption::new(
        Group::Files,
        "fallocate",
        Kind::Choice(FALLOCATE),
        "How space is set aside when files are laid out",
    )
    .default("native")
    .noted("files are laid out with data, as reads need"),
    FioOption::new(
        Group::Files,
        "fadvise_hint",
        Kind::Choice(FADVISE_HINT),
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
        Kind::Words(SYNC_FILE_RANGE),
        "Flush the ranges that were written",
    )
    .fio_only("volproof flushes whole files"),
    FioOption::new(Group::Sync, "direct", Kind::Bool, "Bypass the page cache").default("0"),
    FioOption::new(Group::Sync, "atomic", Kind::Bool, "Atomic writes past the page cache")
        .default("0")
        .fio_only("writes are not asked to be atomic"),
    FioOption::new(Group::Sync, "buffered", Kind::Bool, "Go through the page cache").default("1"),
    FioOption::new(Group::Sync, "overwrite", Kind::Bool, "Lay files out before they are written")
        .default("0"),
    FioOption::new(Group::Sync, "invalidate", Kind::Bool, "Drop the target's cached pages before the job")
        .default("1"),
    FioOption::new(Group::Sync, "sync", Kind::Choice(SYNC), "Writes return when they are durable")
        .default("none"),
    FioOption::new(
        Group::Sync,
        "write_hint",
        Kind::Choice(WRITE_HINT),
        "Life time of the data to tell the device",
    )
    .fio_only("writes carry no hint of their life time"),
    FioOption::new(Group::Files, "create_serialize", Kind::Bool, "Lay files out one after the other")
        .default("1")
        .noted("files are laid out one after the other, before the run"),
    FioOption::new(Group::Files, "create_fsync", Kind::Bool, "Flush each file that is laid out")
        .default("1")
        .noted("files are flushed once they are laid out"),
    FioOption::new(Group::Files, "create_on_open", Kind::Bool, "Lay files out when a job opens them")
        .default("0")
        .noted("files are laid out before the run"),
    FioOption::new(Group::Files, "create_only", Kind::Bool, "Lay files out and end")
        .default("0")
        .fio_only("volproof does not stop after the layout"),
    FioOption::new(Group::Files, "allow_file_create", Kind::Bool, "Missing files may be created")
        .default("1")
        .fio_only("missing files are laid out before the run"),
    FioOption::new(Group::Files, "allow_mounted_write", Kind::Bool, "Write to devices that are mounted")
        .default("0")
        .refused("the guard decides on mounted devices, and asks for --destroy SERIAL"),
    FioOption::new(Group::Files, "pre_read", Kind::Bool, "Read all files before the run")
        .default("0")
        .fio_only("the cache is not warmed"),
    FioOption::new(Group::Sync, "end_fsync", Kind::Bool, "Flush when the job ends").default("0"),
    FioOption::new(Group::Sync, "fsync_on_close", Kind::Bool, "Flush when a file is closed").default("0"),
    FioOption::new(Group::Files, "unlink", Kind::Bool, "Remove the files when the job has ended")
        .default("0"),
    FioOption::new(Group::Files, "unlink_each_loop", Kind::Bool, "Remove the files after each loop")
        .default("0")
        .fio_only("files stay until the job has ended"),
];
