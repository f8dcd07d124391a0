//! Data of writes, its verification, traces, zoned devices.

use super::super::option::{Choice, FioOption, Group, Kind};
use super::{LONG, U32, int};

const UNCHECKED: &str = "volproof does not check data yet";
const TRIM: &str = "volproof does not trim what it verified";
const TRACE: &str = "volproof neither keeps nor replays traces of fio";
const ZONES: &str = "volproof drives devices without zones";
const REPEATED: &str = "dedupe_percentage asks for it";

const VERIFY: &[Choice] = &[
    Choice::native("0", "nothing is checked"),
    Choice::fio_only("md5", "MD5", UNCHECKED),
    Choice::fio_only("crc64", "CRC-64", UNCHECKED),
    Choice::fio_only("crc32", "CRC-32", UNCHECKED),
    Choice::fio_only("crc32c-intel", "CRC-32C", UNCHECKED),
    Choice::fio_only("crc32c", "CRC-32C", UNCHECKED),
    Choice::fio_only("crc16", "CRC-16", UNCHECKED),
    Choice::fio_only("crc7", "CRC-7", UNCHECKED),
    Choice::fio_only("sha1", "SHA-1", UNCHECKED),
    Choice::fio_only("sha256", "SHA-256", UNCHECKED),
    Choice::fio_only("sha512", "SHA-512", UNCHECKED),
    Choice::fio_only("sha3-224", "SHA3-224", UNCHECKED),
    Choice::fio_only("sha3-256", "SHA3-256", UNCHECKED),
    Choice::fio_only("sha3-384", "SHA3-384", UNCHECKED),
    Choice::fio_only("sha3-512", "SHA3-512", UNCHECKED),
    Choice::fio_only("xxhash", "xxHash", UNCHECKED),
    Choice::fio_only("meta", "header of each block", UNCHECKED),
    Choice::fio_only("pattern", "verify_pattern", UNCHECKED),
    Choice::fio_only("null", "nothing, at the cost of a check", UNCHECKED),
];

const ZONEMODE: &[Choice] = &[
    Choice::native("none", "no zones"),
    Choice::fio_only("strided", "equal pieces with gaps", ZONES),
    Choice::fio_only("zbd", "zones of the device", ZONES),
];

const DEDUPE_MODE: &[Choice] = &[
    Choice::native("repeat", "the data before"),
    Choice::native("working_set", "data of a part of the target"),
];

/// The rows, in the order of `--cmdhelp=all`.
pub const ROWS: &[FioOption] = &[
    FioOption::new(
        Group::Verify,
        "verify",
        Kind::Choice(VERIFY),
        "Check what was written by reading it back",
    )
    .default("0"),
    FioOption::new(Group::Verify, "do_verify", Kind::Bool, "Read back at the end")
        .default("1")
        .under("verify")
        .noted("it matters with verify only"),
    FioOption::new(Group::Verify, "verify_interval", int(80, U32), "Bytes between two headers")
        .under("verify")
        .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "verify_offset", int(40, U32), "Place of the header in its block")
        .under("verify")
        .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "verify_pattern", Kind::Text, "Pattern to write and check")
        .under("verify")
        .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "verify_fatal", Kind::Bool, "End at the first wrong block")
        .default("0")
        .under("verify")
        .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "verify_dump", Kind::Bool, "Keep wrong blocks in files")
        .default("0")
        .under("verify")
        .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "verify_async", int(0, U32), "Threads that check")
        .default("0")
        .under("verify")
        .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "verify_async_cpus", Kind::Cpus, "CPUs of the threads that check")
        .hidden()
        .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "verify_backlog", LONG, "Check after so many writes")
        .under("verify")
        .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "verify_backlog_batch", int(0, U32), "Blocks to check at once")
        .under("verify")
        .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "experimental_verify", Kind::Bool, "Another way of choosing what to check")
        .under("verify")
        .fio_only(UNCHECKED),
    FioOption::new(
        Group::Verify,
        "verify_state_load",
        Kind::Bool,
        "Begin from the state that an earlier run saved",
    )
    .under("verify")
    .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "verify_state_save", Kind::Bool, "Save how far the check came")
        .default("1")
        .under("verify")
        .noted("it matters with verify only"),
    FioOption::new(Group::Verify, "trim_percentage", int(0, 100), "Share of checked blocks that are trimmed")
        .default("0")
        .under("verify")
        .fio_only(TRIM),
    FioOption::new(Group::Verify, "trim_verify_zero", Kind::Bool, "Trimmed blocks have to read as zeros")
        .default("1")
        .under("trim_percentage")
        .noted("it matters with trim_percentage only"),
    FioOption::new(Group::Verify, "trim_backlog", LONG, "Trim after so many writes")
        .under("trim_percentage")
        .fio_only(TRIM),
    FioOption::new(Group::Verify, "trim_backlog_batch", int(0, U32), "Blocks to trim at once")
        .under("trim_percentage")
        .fio_only(TRIM),
    FioOption::new(Group::Replay, "write_iolog", Kind::Text, "Keep every I/O in a trace").fio_only(TRACE),
    FioOption::new(Group::Replay, "read_iolog", Kind::Text, "Do the I/Os of a trace").fio_only(TRACE),
    FioOption::new(Group::Replay, "read_iolog_chunked", Kind::Bool, "Read a trace piece by piece")
        .default("0")
        .under("read_iolog")
        .fio_only(TRACE),
    FioOption::new(Group::Replay, "replay_no_stall", Kind::Bool, "Ignore the pauses of a trace")
        .default("0")
        .under("read_iolog")
        .fio_only(TRACE),
    FioOption::new(Group::Replay, "replay_redirect", Kind::Text, "Send a trace to this device")
        .under("read_iolog")
        .fio_only(TRACE),
    FioOption::new(Group::Replay, "replay_scale", int(0, U32), "Divide offsets of a trace")
        .default("1")
        .under("read_iolog")
        .fio_only(TRACE),
    FioOption::new(Group::Replay, "replay_align", int(0, U32), "Align offsets of a trace")
        .under("read_iolog")
        .fio_only(TRACE),
    FioOption::new(
        Group::Replay,
        "replay_time_scale",
        int(1, U32),
        "Stretch the pauses of a trace, in percent",
    )
    .default("100")
    .under("read_iolog")
    .fio_only(TRACE),
    FioOption::new(Group::Replay, "replay_skip", Kind::Text, "Kinds of I/O to leave out")
        .under("read_iolog")
        .fio_only(TRACE),
    FioOption::new(Group::Replay, "merge_blktrace_file", Kind::Text, "File for traces merged into one")
        .fio_only(TRACE),
    FioOption::new(
        Group::Replay,
        "merge_blktrace_scalars",
        Kind::Floats { range: None, most: 100 },
        "Stretch each trace when merging",
    )
    .fio_only(TRACE),
    FioOption::new(
        Group::Replay,
        "merge_blktrace_iters",
        Kind::Floats { range: None, most: 100 },
        "Repeat each trace when merging",
    )
    .fio_only(TRACE),
    FioOption::new(Group::Zones, "zonemode", Kind::Choice(ZONEMODE), "How zones are used").default("none"),
    FioOption::new(Group::Zones, "zonesize", LONG, "Length of a zone").default("0").fio_only(ZONES),
    FioOption::new(Group::Zones, "zonecapacity", LONG, "Usable length of a zone")
        .default("0")
        .fio_only(ZONES),
    FioOption::new(Group::Zones, "zonerange", LONG, "Distance of zones in strided mode")
        .default("0")
        .fio_only(ZONES),
    FioOption::new(Group::Zones, "zoneskip", Kind::Size, "Bytes or zones passed over between zones")
        .default("0")
        .fio_only(ZONES),
    FioOption::new(Group::Zones, "read_beyond_wp", Kind::Bool, "Read where a zone has not been written")
        .default("0")
        .fio_only(ZONES),
    FioOption::new(Group::Zones, "max_open_zones", int(0, 4096), "Zones open at the same time")
        .default("0")
        .fio_only(ZONES),
    FioOption::new(
        Group::Zones,
        "job_max_open_zones",
        int(0, 4096),
        "Zones open at the same time for one job",
    )
    .default("0")
    .fio_only(ZONES),
    FioOption::new(Group::Zones, "ignore_zone_limits", Kind::Bool, "Disregard the device's limits on zones")
        .default("0")
        .fio_only(ZONES),
    FioOption::new(
        Group::Zones,
        "zone_reset_threshold",
        Kind::Floats { range: Some((0.0, 1.0)), most: 1 },
        "Reset zones above this share of written blocks",
    )
    .fio_only(ZONES),
    FioOption::new(
        Group::Zones,
        "zone_reset_frequency",
        Kind::Floats { range: Some((0.0, 1.0)), most: 1 },
        "How often zones are reset",
    )
    .fio_only(ZONES),
    FioOption::new(Group::Buffers, "zero_buffers", Kind::Flag, "Write zeros"),
    FioOption::new(Group::Buffers, "refill_buffers", Kind::Flag, "New random data for every write"),
    FioOption::new(Group::Buffers, "scramble_buffers", Kind::Bool, "Change the data of every write a little")
        .default("1"),
    FioOption::new(Group::Buffers, "buffer_pattern", Kind::Text, "Pattern to write"),
    FioOption::new(
        Group::Buffers,
        "buffer_compress_percentage",
        int(0, 100),
        "Share of the data that compresses away",
    ),
    FioOption::new(Group::Buffers, "buffer_compress_chunk", int(0, U32), "Size of the piece that compresses")
        .default("512")
        .under("buffer_compress_percentage"),
    FioOption::new(
        Group::Buffers,
        "dedupe_percentage",
        int(0, 100),
        "Share of writes with data written before",
    )
    .fio_only("no write repeats the data of another"),
    FioOption::new(Group::Buffers, "dedupe_mode", Kind::Choice(DEDUPE_MODE), "Which data is repeated")
        .default("repeat")
        .under("dedupe_percentage")
        .noted(REPEATED),
    FioOption::new(
        Group::Buffers,
        "dedupe_working_set_percentage",
        int(0, 100),
        "Share of the target whose data is repeated",
    )
    .default("5")
    .under("dedupe_percentage")
    .noted(REPEATED),
    FioOption::new(Group::Buffers, "dedupe_global", Kind::Bool, "Jobs repeat each other's data")
        .default("0")
        .noted(REPEATED),
    FioOption::new(Group::Verify, "verifysort", Kind::Deprecated, "deprecated: fio goes on without it")
        .hidden()
        .noted("fio ignores it too"),
    FioOption::new(Group::Verify, "verifysort_nr", Kind::Deprecated, "deprecated: fio goes on without it")
        .hidden()
        .noted("fio ignores it too"),
];
