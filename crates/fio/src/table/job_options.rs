//! The workload of a job: its target, which I/Os, how many at once, where.

use super::super::option::{FioOption, Group, OptionWord, ValueKind};
use super::{LONG, U32, each, int};

const LOCKFILE: &[OptionWord] = &[
    OptionWord::native("none", "no locks"),
    OptionWord::fio_only("exclusive", "one job at a time", "files are not locked"),
    OptionWord::fio_only("readwrite", "one writer or many readers", "files are not locked"),
];

const RW: &[OptionWord] = &[
    OptionWord::native("read", "sequential reads"),
    OptionWord::native("write", "sequential writes"),
    OptionWord::native("trim", "sequential trims"),
    OptionWord::native("randread", "random reads"),
    OptionWord::native("randwrite", "random writes"),
    OptionWord::native("randtrim", "random trims"),
    OptionWord::native("rw", "sequential, reads and writes mixed"),
    OptionWord::native("readwrite", "sequential, reads and writes mixed"),
    OptionWord::native("randrw", "random, reads and writes mixed"),
    OptionWord::fio_only("trimwrite", "each block trimmed, then written", "trims and writes are not paired"),
    OptionWord::fio_only(
        "randtrimwrite",
        "random blocks trimmed, then written",
        "trims and writes are not paired",
    ),
];

const RW_SEQUENCER: &[OptionWord] = &[
    OptionWord::native("sequential", "the next block"),
    OptionWord::fio_only("identical", "the same block again", "offsets do not repeat"),
];

const IO_SUBMIT_MODE: &[OptionWord] = &[
    OptionWord::native("inline", "the job submits"),
    OptionWord::fio_only("offload", "helper threads submit", "jobs submit themselves"),
];

const RANDOM_GENERATOR: &[OptionWord] = &[
    OptionWord::noted("tausworthe", "32-bit generator", "volproof has a generator of its own"),
    OptionWord::noted("lfsr", "shift register", "volproof has a generator of its own"),
    OptionWord::noted("tausworthe64", "64-bit generator", "volproof has a generator of its own"),
];

const RANDOM_DISTRIBUTION: &[OptionWord] = &[
    OptionWord::native("random", "every block alike"),
    OptionWord::native("zipf", "popular blocks, by rank"),
    OptionWord::native("pareto", "popular blocks, by the 80/20 rule"),
    OptionWord::native("normal", "blocks around the middle"),
    OptionWord::native("zoned", "shares of I/O for shares of the target"),
    OptionWord::fio_only(
        "zoned_abs",
        "shares of I/O for lengths of the target",
        "zones are shares of the target",
    ),
];

/// The rows, in the order of `--cmdhelp=all`.
pub const ROWS: &[FioOption] = &[
    FioOption::new(
        Group::Job,
        "description",
        ValueKind::Text,
        "Free text about the job, shown in the report",
    ),
    FioOption::new(Group::Job, "name", ValueKind::Text, "Name of the job; on the command line it starts one"),
    FioOption::new(Group::Job, "wait_for", ValueKind::Text, "Start only when the job of this name has ended"),
    FioOption::new(Group::Job, "filename", ValueKind::Text, "Files or devices to drive, separated by colons"),
    FioOption::new(
        Group::Job,
        "lockfile",
        ValueKind::Choice(LOCKFILE),
        "Lock a file while I/O is done to it",
    )
    .default("none")
    .under("filename"),
    FioOption::new(Group::Job, "directory", ValueKind::Text, "Folder in which the job's files are"),
    FioOption::new(
        Group::Job,
        "filename_format",
        ValueKind::Text,
        "How file names are made when filename is not given",
    )
    .default("$jobname.$jobnum.$filenum"),
    FioOption::new(
        Group::Job,
        "unique_filename",
        ValueKind::Bool,
        "Put the client's address into file names",
    )
    .default("1")
    .noted("it matters to network clients only"),
    FioOption::new(Group::Job, "opendir", ValueKind::Text, "Add every file below this folder")
        .refused("volproof drives the files that are named, not those it finds: name them with filename"),
    FioOption::new(Group::Workload, "rw", ValueKind::Choice(RW), "Direction and order of the I/Os")
        .alias("readwrite")
        .default("read"),
    FioOption::new(Group::Workload, "bs", each(1, i64::MAX), "Size of each I/O, for reads, writes and trims")
        .alias("blocksize")
        .default("4096")
        .under("rw"),
    FioOption::new(Group::Workload, "ba", each(1, i64::MAX), "Align random offsets to this")
        .alias("blockalign")
        .under("rw"),
    FioOption::new(Group::Workload, "bsrange", ValueKind::Ranges, "Sizes drawn from a range")
        .alias("blocksize_range")
        .under("rw")
        .fio_only("sizes are given as a split, not as a range"),
    FioOption::new(Group::Workload, "bssplit", ValueKind::Text, "Sizes with their shares in percent")
        .under("rw"),
    FioOption::new(
        Group::Workload,
        "bs_unaligned",
        ValueKind::Flag,
        "Any size of a range, down to single bytes",
    )
    .alias("blocksize_unaligned")
    .under("rw")
    .fio_only("sizes are whole sectors"),
    FioOption::new(
        Group::Workload,
        "bs_is_seq_rand",
        ValueKind::Bool,
        "Sizes are for sequential and random instead of reads and writes",
    )
    .default("0")
    .hidden()
    .fio_only("sizes belong to reads, writes and trims"),
    FioOption::new(Group::Workload, "randrepeat", ValueKind::Bool, "Same random offsets in every run")
        .default("1")
        .under("rw"),
    FioOption::new(Group::Workload, "randseed", LONG, "Seed of the random numbers")
        .default("0x89")
        .under("rw"),
    FioOption::new(
        Group::Workload,
        "norandommap",
        ValueKind::Flag,
        "Offsets drawn independently: some blocks twice, some never",
    )
    .under("rw"),
    FioOption::new(
        Group::Workload,
        "softrandommap",
        ValueKind::Bool,
        "Go on without the map of blocks when memory lacks",
    )
    .default("0")
    .hidden()
    .noted("the cover of all blocks needs no memory, so it never fails"),
    FioOption::new(
        Group::Workload,
        "ignore_error",
        ValueKind::Text,
        "Errors that do not end the job, for each direction",
    )
    .under("rw")
    .fio_only("errors are counted all alike"),
    FioOption::new(
        Group::Workload,
        "rw_sequencer",
        ValueKind::Choice(RW_SEQUENCER),
        "What an offset interval in rw means",
    )
    .default("sequential"),
    FioOption::new(Group::Queue, "ioengine", ValueKind::Engine, "How I/O reaches the kernel")
        .default("psync"),
    FioOption::new(Group::Queue, "iodepth", int(1, U32), "I/Os kept in flight by each job").default("1"),
    FioOption::new(Group::Queue, "iodepth_batch", int(0, U32), "I/Os submitted at once")
        .alias("iodepth_batch_submit")
        .default("1")
        .under("iodepth")
        .noted("volproof submits as soon as there is room in the queue"),
    FioOption::new(
        Group::Queue,
        "iodepth_batch_complete_min",
        int(0, U32),
        "Least completions taken at once",
    )
    .alias("iodepth_batch_complete")
    .default("1")
    .under("iodepth")
    .noted("volproof takes completions as they come"),
    FioOption::new(Group::Queue, "iodepth_batch_complete_max", int(0, U32), "Most completions taken at once")
        .under("iodepth")
        .noted("volproof takes completions as they come"),
    FioOption::new(
        Group::Queue,
        "iodepth_low",
        int(0, U32),
        "Refill the queue when so many are left in flight",
    )
    .under("iodepth")
    .fio_only("the queue is refilled at once, not when it has drained"),
    FioOption::new(
        Group::Queue,
        "serialize_overlap",
        ValueKind::Bool,
        "Hold back I/Os that overlap one in flight",
    )
    .default("0")
    .under("iodepth")
    .fio_only("I/Os in flight may overlap"),
    FioOption::new(
        Group::Queue,
        "io_submit_mode",
        ValueKind::Choice(IO_SUBMIT_MODE),
        "Submit from the job itself or from helper threads",
    )
    .default("inline"),
    FioOption::new(
        Group::Extent,
        "size",
        ValueKind::Size,
        "Part of each target that is used; as much I/O unless io_size says so",
    ),
    FioOption::new(Group::Extent, "io_size", ValueKind::Size, "How much I/O is done").alias("io_limit"),
    FioOption::new(Group::Extent, "fill_device", ValueKind::Bool, "Write until the device is full")
        .alias("fill_fs")
        .default("0")
        .fio_only("a run has an end that is known"),
    FioOption::new(Group::Extent, "filesize", ValueKind::Between, "Size of each file"),
    FioOption::new(Group::Extent, "file_append", ValueKind::Bool, "Write behind the end of the file")
        .default("0")
        .fio_only("files keep their size"),
    FioOption::new(Group::Extent, "offset", ValueKind::Size, "Where on the target the job begins")
        .alias("fileoffset")
        .default("0"),
    FioOption::new(Group::Extent, "offset_increment", ValueKind::Size, "How much further each clone begins")
        .default("0")
        .under("offset"),
    FioOption::new(Group::Extent, "offset_align", int(0, i64::MAX), "Align percentages of offset to this")
        .default("0"),
    FioOption::new(Group::Extent, "number_ios", LONG, "I/Os after which the job ends")
        .default("0")
        .fio_only("bytes or time end a job, not a number of I/Os"),
    FioOption::new(
        Group::Workload,
        "random_generator",
        ValueKind::Choice(RANDOM_GENERATOR),
        "Generator of random offsets",
    )
    .default("tausworthe"),
    FioOption::new(
        Group::Workload,
        "random_distribution",
        ValueKind::Choice(RANDOM_DISTRIBUTION),
        "Which blocks random I/O prefers",
    )
    .default("random"),
    FioOption::new(
        Group::Workload,
        "percentage_random",
        each(0, 100),
        "Share of random I/Os in a random workload",
    )
    .default("100,100,100")
    .fio_only("a job is random or sequential"),
    FioOption::new(Group::Workload, "percentage_sequential", ValueKind::Gone, "deprecated: fio fails")
        .hidden()
        .refused("fio refuses it too"),
    FioOption::new(
        Group::Workload,
        "allrandrepeat",
        ValueKind::Bool,
        "Same random numbers of all kinds in every run",
    )
    .default("0"),
    FioOption::new(Group::Workload, "rwmixread", int(0, 100), "Share of reads in a mix, in percent")
        .default("50"),
    FioOption::new(Group::Workload, "rwmixwrite", int(0, 100), "Share of writes in a mix, in percent")
        .default("50"),
    FioOption::new(Group::Workload, "rwmixcycle", ValueKind::Gone, "deprecated: fio fails")
        .hidden()
        .refused("fio refuses it too"),
];
