//! Logs and what is reported.

use super::super::option::{FioOption, Group, OptionWord, ValueKind};
use super::{U32, int};

const NO_LOGS: &str = "volproof writes no logs: keep 100 ms samples with --record FILE, or call fio itself";
const OF_LOGS: &str = "volproof writes no logs";
const UNIFIED_RW_REPORTING: &[OptionWord] = &[
    OptionWord::native("none", "rows by direction"),
    OptionWord::native("mixed", "one row of all"),
    OptionWord::native("both", "rows by direction and one of all"),
    OptionWord::native("0", "as none"),
    OptionWord::native("1", "as mixed"),
    OptionWord::native("2", "as both"),
];

const KB_BASE: &[OptionWord] = &[
    OptionWord::native("1024", "k is 1024 and KiB is 1000"),
    OptionWord::native("1000", "k is 1000 and KiB is 1024"),
];

const UNIT_BASE: &[OptionWord] = &[
    OptionWord::native("0", "what suits the engine"),
    OptionWord::native("8", "bytes"),
    OptionWord::native("1", "bits"),
];

/// The rows, in the order of `--cmdhelp=all`.
pub const ROWS: &[FioOption] = &[
    FioOption::new(Group::Logs, "per_job_logs", ValueKind::Bool, "A log of its own for each clone")
        .default("1")
        .noted(OF_LOGS),
    FioOption::new(Group::Logs, "write_bw_log", ValueKind::LogName, "Log the bandwidth").refused(NO_LOGS),
    FioOption::new(Group::Logs, "bwavgtime", int(0, U32), "Length of a bandwidth sample, ms")
        .default("500")
        .under("write_bw_log")
        .noted("samples of bandwidth are 500 ms long"),
    FioOption::new(Group::Logs, "write_lat_log", ValueKind::LogName, "Log the latencies").refused(NO_LOGS),
    FioOption::new(Group::Logs, "write_iops_log", ValueKind::LogName, "Log the I/Os a second")
        .refused(NO_LOGS),
    FioOption::new(Group::Logs, "iopsavgtime", int(0, U32), "Length of an IOPS sample, ms")
        .default("500")
        .under("write_iops_log")
        .noted("samples of I/Os a second are 500 ms long"),
    FioOption::new(Group::Logs, "log_entries", int(1024, 1048576), "Entries to set aside at first")
        .default("1024")
        .noted(OF_LOGS),
    FioOption::new(Group::Logs, "log_avg_msec", int(0, U32), "Average logs over this time, ms")
        .default("0")
        .noted(OF_LOGS),
    FioOption::new(Group::Logs, "log_hist_msec", int(0, U32), "Time of each logged histogram, ms")
        .default("0")
        .noted(OF_LOGS),
    FioOption::new(
        Group::Logs,
        "log_hist_coarseness",
        int(0, U32),
        "How many bins of logged histograms become one",
    )
    .default("0")
    .noted(OF_LOGS),
    FioOption::new(Group::Logs, "write_hist_log", ValueKind::LogName, "Log histograms of latency")
        .refused(NO_LOGS),
    FioOption::new(
        Group::Logs,
        "log_max_value",
        ValueKind::Bool,
        "Log the greatest value of each interval instead of the mean",
    )
    .default("0")
    .noted(OF_LOGS),
    FioOption::new(Group::Logs, "log_offset", ValueKind::Bool, "Log the offset of each I/O")
        .default("0")
        .noted(OF_LOGS),
    FioOption::new(Group::Logs, "log_prio", ValueKind::Bool, "Log the priority of each I/O")
        .default("0")
        .noted(OF_LOGS),
    FioOption::new(
        Group::Logs,
        "log_compression",
        int(1024, 536870912),
        "Compress logs in memory, in pieces of this size",
    )
    .noted(OF_LOGS),
    FioOption::new(Group::Logs, "log_compression_cpus", ValueKind::Cpus, "CPUs that compress logs")
        .under("log_compression")
        .noted(OF_LOGS),
    FioOption::new(Group::Logs, "log_store_compressed", ValueKind::Bool, "Keep logs compressed")
        .noted(OF_LOGS),
    FioOption::new(Group::Logs, "log_unix_epoch", ValueKind::Bool, "Times of logs since 1970").noted(OF_LOGS),
    FioOption::new(Group::Logs, "log_alternate_epoch", ValueKind::Bool, "Times of logs by another clock")
        .noted(OF_LOGS),
    FioOption::new(Group::Logs, "log_alternate_epoch_clock_id", int(0, U32), "Which clock").noted(OF_LOGS),
    FioOption::new(
        Group::Report,
        "block_error_percentiles",
        ValueKind::Bool,
        "Histogram of blocks that failed to trim",
    )
    .default("0")
    .fio_only("errors of trims are only counted"),
    FioOption::new(
        Group::Report,
        "group_reporting",
        ValueKind::Flag,
        "One row for each group instead of each job",
    ),
    FioOption::new(Group::Report, "stats", ValueKind::Bool, "Measure the job at all")
        .default("1")
        .fio_only("every job is measured"),
    FioOption::new(Group::Report, "clat_percentiles", ValueKind::Bool, "Percentiles of completion latency")
        .default("1"),
    FioOption::new(Group::Report, "lat_percentiles", ValueKind::Bool, "Percentiles of total latency")
        .default("0"),
    FioOption::new(Group::Report, "slat_percentiles", ValueKind::Bool, "Percentiles of submission latency")
        .default("0")
        .fio_only("submission is not timed apart from completion"),
    FioOption::new(
        Group::Report,
        "percentile_list",
        ValueKind::Floats { range: Some((0.0, 100.0)), most: 20 },
        "Which percentiles",
    )
    .default("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99"),
    FioOption::new(Group::Report, "significant_figures", int(1, 10), "Digits of figures in normal output")
        .default("4"),
    FioOption::new(Group::Report, "disk_util", ValueKind::Bool, "Report the kernel's counters of the disks")
        .default("1"),
    FioOption::new(Group::Report, "gtod_reduce", ValueKind::Bool, "Take the time less often")
        .default("0")
        .noted("latencies are measured all the same"),
    FioOption::new(Group::Report, "disable_lat", ValueKind::Bool, "Leave total latency out")
        .default("0")
        .under("gtod_reduce"),
    FioOption::new(Group::Report, "disable_clat", ValueKind::Bool, "Leave completion latency out")
        .default("0")
        .under("gtod_reduce"),
    FioOption::new(Group::Report, "disable_slat", ValueKind::Bool, "Leave submission latency out")
        .default("0")
        .under("gtod_reduce")
        .noted("submission is not timed apart from completion"),
    FioOption::new(Group::Report, "disable_bw_measurement", ValueKind::Bool, "Leave bandwidth samples out")
        .alias("disable_bw")
        .default("0")
        .under("gtod_reduce")
        .noted("bandwidth is measured all the same"),
    FioOption::new(Group::Report, "gtod_cpu", int(0, U32), "CPU of a thread that reads the clock")
        .noted("reading the clock costs no system call"),
    FioOption::new(
        Group::Report,
        "unified_rw_reporting",
        ValueKind::Choice(UNIFIED_RW_REPORTING),
        "Reads and writes in one row",
    )
    .default("none"),
    FioOption::new(Group::Report, "kb_base", ValueKind::Choice(KB_BASE), "What k, m and g multiply by")
        .default("1024"),
    FioOption::new(Group::Report, "unit_base", ValueKind::Choice(UNIT_BASE), "Report bytes or bits"),
];
