//! Data of writes, its verification, traces, zoned devices.

use super::super::option::{FioOption, Group, OptionWord, ValueKind};
use super::{LONG, U32, UNCHECKED, int};

const TRIM: &str = "volproof does not trim what it verified";
const TRACE: &str = "volproof neither reads nor writes traces, and hands none over: call fio itself";
const STATE: &str =
    "fio opens a file of its own for it, which volproof cannot check: leave it out, or call fio itself";
const ZONES: &str = "volproof drives devices without zones";
const REPEATED: &str = "dedupe_percentage asks for it";

const VERIFY: &[OptionWord] = &[
    OptionWord::native("0", "nothing is checked"),
    OptionWord::fio_only("md5", "MD5", UNCHECKED),
    OptionWord::fio_only("crc64", "CRC-64", UNCHECKED),
    OptionWord::fio_only("crc32", "CRC-32", UNCHECKED),
    OptionWord::fio_only("crc32c-intel", "CRC-32C", UNCHECKED),
    OptionWord::fio_only("crc32c", "CRC-32C", UNCHECKED),
    OptionWord::fio_only("crc16", "CRC-16", UNCHECKED),
    OptionWord::fio_only("crc7", "CRC-7", UNCHECKED),
    OptionWord::fio_only("sha1", "SHA-1", UNCHECKED),
    OptionWord::fio_only("sha256", "SHA-256", UNCHECKED),
    OptionWord::fio_only("sha512", "SHA-512", UNCHECKED),
    OptionWord::fio_only("sha3-224", "SHA3-224", UNCHECKED),
    OptionWord::fio_only("sha3-256", "SHA3-256", UNCHECKED),
    OptionWord::fio_only("sha3-384", "SHA3-384", UNCHECKED),
    OptionWord::fio_only("sha3-512", "SHA3-512", UNCHECKED),
    OptionWord::fio_only("xxhash", "xxHash", UNCHECKED),
    OptionWord::fio_only("meta", "header of each block", UNCHECKED),
    OptionWord::fio_only("pattern", "verify_pattern", UNCHECKED),
    OptionWord::fio_only("null", "nothing, at the cost of a check", UNCHECKED),
];

const ZONEMODE: &[OptionWord] = &[
    OptionWord::native("none", "no zones"),
    OptionWord::fio_only("strided", "equal pieces with gaps", ZONES),
    OptionWord::fio_only("zbd", "zones of the device", ZONES),
];

const DEDUPE_MODE: &[OptionWord] = &[
    OptionWord::native("repeat", "the data before"),
    OptionWord::native("working_set", "data of a part of the target"),
];

/// The rows, in the order of `--cmdhelp=all`.
pub const ROWS: &[FioOption] = &[
    FioOption::new(
        Group::Verify,
        "verify",
        ValueKind::Choice(VERIFY),
        "Check what was written by reading it back",
    )
    .default("0"),
    FioOption::new(Group::Verify, "do_verify", ValueKind::Bool, "Read back at the end")
        .default("1")
        .under("verify")
        .noted("it matters with verify only"),
    FioOption::new(Group::Verify, "verify_interval", int(80, U32), "Bytes between two headers")
        .under("verify")
        .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "verify_offset", int(40, U32), "Place of the header in its block")
        .under("verify")
        .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "verify_pattern", ValueKind::Text, "Pattern to write and check")
        .under("verify")
        .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "verify_fatal", ValueKind::Bool, "End at the first wrong block")
        .default("0")
        .under("verify")
        .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "verify_dump", ValueKind::Bool, "Keep wrong blocks in files")
        .default("0")
        .under("verify")
        .refused(STATE),
    FioOption::new(Group::Verify, "verify_async", int(0, U32), "Threads that check")
        .default("0")
        .under("verify")
        .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "verify_async_cpus", ValueKind::Cpus, "CPUs of the threads that check")
        .hidden()
        .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "verify_backlog", LONG, "Check after so many writes")
        .under("verify")
        .fio_only(UNCHECKED),
    FioOption::new(Group::Verify, "verify_backlog_batch", int(0, U32), "Blocks to check at once")
        .under("verify")
        .fio_only(UNCHECKED),
    FioOption::new(
        Group::Verify,
        "experimental_verify",
        ValueKind::Bool,
        "Another way of choosing what to check",
    )
    .under("verify")
    .fio_only(UNCHECKED),
    FioOption::new(
        Group::Verify,
        "verify_state_load",
        ValueKind::Bool,
        "Begin from the state that an earlier run saved",
    )
    .under("verify")
    .refused(STATE),
    FioOption::new(Group::Verify, "verify_state_save", ValueKind::Bool, "Save how far the check came")
        .default("1")
        .under("verify")
        .noted("it matters with verify only"),
    FioOption::new(Group::Verify, "trim_percentage", int(0, 100), "Share of checked blocks that are trimmed")
        .default("0")
        .under("verify")
        .fio_only(TRIM),
    FioOption::new(
        Group::Verify,
        "trim_verify_zero",
        ValueKind::Bool,
        "Trimmed blocks have to read as zeros",
    )
    .default("1")
    .under("trim_percentage")
    .noted("it matters with trim_percentage only"),
    FioOption::new(Group::Verify, "trim_backlog", LONG, "Trim after so many writes")
        .under("trim_percentage")
        .fio_only(TRIM),
    FioOption::new(Group::Verify, "trim_backlog_batch", int(0, U32), "Blocks to trim at once")
        .under("trim_percentage")
        .fio_only(TRIM),
    FioOption::new(Group::Replay, "write_iolog", ValueKind::Text, "Keep every I/O in a trace").refused(TRACE),
    FioOption::new(Group::Replay, "read_iolog", ValueKind::Text, "Do the I/Os of a trace").refused(TRACE),
    FioOption::new(Group::Replay, "read_iolog_chunked", ValueKind::Bool, "Read a trace piece by piece")
        .default("0")
        .under("read_iolog")
        .refused(TRACE),
    FioOption::new(Group::Replay, "replay_no_stall", ValueKind::Bool, "Ignore the pauses of a trace")
        .default("0")
        .under("read_iolog")
        .refused(TRACE),
    FioOption::new(Group::Replay, "replay_redirect", ValueKind::Text, "Send a trace to this device")
        .under("read_iolog")
        .refused(TRACE),
    FioOption::new(Group::Replay, "replay_scale", int(0, U32), "Divide offsets of a trace")
        .default("1")
        .under("read_iolog")
        .refused(TRACE),
    FioOption::new(Group::Replay, "replay_align", int(0, U32), "Align offsets of a trace")
        .under("read_iolog")
        .refused(TRACE),
    FioOption::new(
        Group::Replay,
        "replay_time_scale",
        int(1, U32),
        "Stretch the pauses of a trace, in percent",
    )
    .default("100")
    .under("read_iolog")
    .refused(TRACE),
    FioOption::new(Group::Replay, "replay_skip", ValueKind::Text, "Kinds of I/O to leave out")
        .under("read_iolog")
        .refused(TRACE),
    FioOption::new(Group::Replay, "merge_blktrace_file", ValueKind::Text, "File for traces merged into one")
        .refused(TRACE),
    FioOption::new(
        Group::Replay,
        "merge_blktrace_scalars",
        ValueKind::Floats { range: None, most: 100 },
        "Stretch each trace when merging",
    )
    .refused(TRACE),
    FioOption::new(
        Group::Replay,
        "merge_blktrace_iters",
        ValueKind::Floats { range: None, most: 100 },
        "Repeat each trace when merging",
    )
    .refused(TRACE),
    FioOption::new(Group::Zones, "zonemode", ValueKind::Choice(ZONEMODE), "How zones are used")
        .default("none"),
    FioOption::new(Group::Zones, "zonesize", LONG, "Length of a zone").default("0").fio_only(ZONES),
    FioOption::new(Group::Zones, "zonecapacity", LONG, "Usable length of a zone")
        .default("0")
        .fio_only(ZONES),
    FioOption::new(Group::Zones, "zonerange", LONG, "Distance of zones in strided mode")
        .default("0")
        .fio_only(ZONES),
    FioOption::new(Group::Zones, "zoneskip", ValueKind::Size, "Bytes or zones passed over between zones")
        .default("0")
        .fio_only(ZONES),
    FioOption::new(Group::Zones, "read_beyond_wp", ValueKind::Bool, "Read where a zone has not been written")
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
    FioOption::new(
        Group::Zones,
        "ignore_zone_limits",
        ValueKind::Bool,
        "Disregard the device's limits on zones",
    )
    .default("0")
    .fio_only(ZONES),
    FioOption::new(
        Group::Zones,
        "zone_reset_threshold",
        ValueKind::Floats { range: Some((0.0, 1.0)), most: 1 },
        "Reset zones above this share of written blocks",
    )
    .fio_only(ZONES),
    FioOption::new(
        Group::Zones,
        "zone_reset_frequency",
        ValueKind::Floats { range: Some((0.0, 1.0)), most: 1 },
        "How often zones are reset",
    )
    .fio_only(ZONES),
    FioOption::new(Group::Buffers, "zero_buffers", ValueKind::Flag, "Write zeros"),
    FioOption::new(Group::Buffers, "refill_buffers", ValueKind::Flag, "New random data for every write"),
    FioOption::new(
        Group::Buffers,
        "scramble_buffers",
        ValueKind::Bool,
        "Change the data of every write a little",
    )
    .default("1"),
    FioOption::new(Group::Buffers, "buffer_pattern", ValueKind::Text, "Pattern to write"),
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
    FioOption::new(Group::Buffers, "dedupe_mode", ValueKind::Choice(DEDUPE_MODE), "Which data is repeated")
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
    FioOption::new(Group::Buffers, "dedupe_global", ValueKind::Bool, "Jobs repeat each other's data")
        .default("0")
        .noted(REPEATED),
    FioOption::new(Group::Verify, "verifysort", ValueKind::Deprecated, "deprecated: fio goes on without it")
        .hidden()
        .noted("fio ignores it too"),
    FioOption::new(
        Group::Verify,
        "verifysort_nr",
        ValueKind::Deprecated,
        "deprecated: fio goes on without it",
    )
    .hidden()
    .noted("fio ignores it too"),
];
