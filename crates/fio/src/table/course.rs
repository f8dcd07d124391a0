//! Course and pace of a run.

use super::super::option::{FioOption, Group, OptionWord, ValueKind};
use super::{MICROS, SECONDS, U32, UNCHECKED, each, int};

const ALONE: &str = "a job ends by itself; when another one has ended or failed is nothing to it";
const GOAL: &str = "the depth stays what it was asked to be";
const PAUSED: &str = "thinktime asks for it";
const PAUSES: &str = "volproof's own engine makes no pauses between I/Os";
const STEADY: &str = "a run lasts as long as it was asked to; steadiness is judged afterwards";

const CLOCKSOURCE: &[OptionWord] = &[
    OptionWord::native("gettimeofday", "wall clock"),
    OptionWord::native("clock_gettime", "monotonic clock"),
    OptionWord::native("cpu", "counter of the CPU"),
];

const THINKTIME_BLOCKS_TYPE: &[OptionWord] = &[
    OptionWord::native("complete", "when they are complete"),
    OptionWord::native("issue", "when they are issued"),
];

const RATE_PROCESS: &[OptionWord] = &[
    OptionWord::native("linear", "evenly"),
    OptionWord::native("poisson", "at random, as a Poisson process"),
];

const EXIT_WHAT: &[OptionWord] = &[
    OptionWord::native("group", "those of the group"),
    OptionWord::native("stonewall", "those that run now"),
    OptionWord::native("all", "all"),
];

const CONTINUE_ON_ERROR: &[OptionWord] = &[
    OptionWord::native("none", "any error ends the job"),
    OptionWord::native("read", "those of reads"),
    OptionWord::native("write", "those of writes"),
    OptionWord::native("io", "those of I/O"),
    OptionWord::native("verify", "those of checks"),
    OptionWord::native("all", "all"),
    OptionWord::native("0", "as none"),
    OptionWord::native("1", "as all"),
];

const STEADYSTATE: &[OptionWord] = &[
    OptionWord::native("iops", "deviation of IOPS from their mean"),
    OptionWord::native("iops_slope", "slope of IOPS"),
    OptionWord::native("bw", "deviation of bandwidth from its mean"),
    OptionWord::native("bw_slope", "slope of bandwidth"),
];

/// The rows, in the order of `--cmdhelp=all`.
pub const ROWS: &[FioOption] = &[
    FioOption::new(Group::Course, "loops", int(0, U32), "Times the job is done").default("1"),
    FioOption::new(Group::Course, "numjobs", int(0, U32), "Clones of the job").default("1"),
    FioOption::new(Group::Course, "startdelay", ValueKind::Delay, "Wait before the job starts").default("0"),
    FioOption::new(Group::Course, "runtime", SECONDS, "Time after which the job ends")
        .alias("timeout")
        .default("0"),
    FioOption::new(
        Group::Course,
        "time_based",
        ValueKind::Flag,
        "Run for the whole runtime, over the target again if need be",
    ),
    FioOption::new(
        Group::Course,
        "verify_only",
        ValueKind::Flag,
        "Check data of an earlier run without writing",
    )
    .fio_only(UNCHECKED),
    FioOption::new(Group::Course, "ramp_time", SECONDS, "Load before the measurement begins"),
    FioOption::new(Group::Course, "clocksource", ValueKind::Choice(CLOCKSOURCE), "Clock that times I/Os")
        .noted("volproof reads the CPU's counter against the monotonic clock"),
    FioOption::new(Group::Pace, "thinktime", ValueKind::IntTime, "Pause after I/Os")
        .default("0")
        .fio_only(PAUSES),
    FioOption::new(
        Group::Pace,
        "thinktime_spin",
        ValueKind::IntTime,
        "Part of the pause that keeps the CPU busy",
    )
    .default("0")
    .under("thinktime")
    .noted(PAUSED),
    FioOption::new(Group::Pace, "thinktime_blocks", int(0, U32), "I/Os between pauses")
        .default("1")
        .under("thinktime")
        .noted(PAUSED),
    FioOption::new(
        Group::Pace,
        "thinktime_blocks_type",
        ValueKind::Choice(THINKTIME_BLOCKS_TYPE),
        "Count I/Os when they are issued or when they are complete",
    )
    .default("complete")
    .under("thinktime")
    .noted(PAUSED),
    FioOption::new(Group::Pace, "thinktime_iotime", ValueKind::IntTime, "Time of I/O between pauses")
        .default("0")
        .under("thinktime")
        .noted(PAUSED),
    FioOption::new(Group::Pace, "rate", each(0, i64::MAX), "Bytes a second that the job may do"),
    FioOption::new(Group::Pace, "rate_min", each(0, i64::MAX), "Bytes a second below which the job ends")
        .alias("ratemin")
        .under("rate")
        .fio_only("a job that is slow goes on"),
    FioOption::new(
        Group::Pace,
        "rate_process",
        ValueKind::Choice(RATE_PROCESS),
        "Spacing of I/Os under a rate",
    )
    .default("linear")
    .under("rate"),
    FioOption::new(Group::Pace, "rate_cycle", int(0, U32), "Time over which the rate is judged")
        .alias("ratecycle")
        .default("1000")
        .under("rate")
        .noted("rate_min and rate_iops_min ask for it"),
    FioOption::new(Group::Pace, "rate_ignore_thinktime", ValueKind::Bool, "Catch up after pauses")
        .under("rate")
        .fio_only("a pause delays the I/Os behind it"),
    FioOption::new(Group::Pace, "rate_iops", each(0, U32), "I/Os a second that the job may do"),
    FioOption::new(Group::Pace, "rate_iops_min", each(0, U32), "I/Os a second below which the job ends")
        .under("rate_iops")
        .fio_only("a job that is slow goes on"),
    FioOption::new(Group::Pace, "max_latency", ValueKind::IntTime, "Latency of one I/O that ends the job")
        .fio_only("no I/O ends the run for its latency"),
    FioOption::new(Group::Pace, "latency_target", MICROS, "Find the depth that keeps this latency")
        .fio_only(GOAL),
    FioOption::new(Group::Pace, "latency_window", MICROS, "Time for which the latency has to hold")
        .fio_only(GOAL),
    FioOption::new(
        Group::Pace,
        "latency_percentile",
        ValueKind::Floats { range: Some((0.0, 100.0)), most: 1 },
        "Share of I/Os that have to keep the latency",
    )
    .default("100")
    .fio_only(GOAL),
    FioOption::new(Group::Pace, "latency_run", ValueKind::Bool, "Go on adjusting the depth")
        .default("0")
        .fio_only(GOAL),
    FioOption::new(Group::Course, "exitall", ValueKind::Flag, "Others end when one job ends").fio_only(ALONE),
    FioOption::new(Group::Course, "exit_what", ValueKind::Choice(EXIT_WHAT), "Which jobs exitall ends")
        .default("group")
        .noted("exitall and exitall_on_error ask for it"),
    FioOption::new(Group::Course, "exitall_on_error", ValueKind::Flag, "Others end when this job fails")
        .fio_only(ALONE),
    FioOption::new(Group::Course, "stonewall", ValueKind::Flag, "Wait for all jobs above")
        .alias("wait_for_previous"),
    FioOption::new(Group::Course, "new_group", ValueKind::Flag, "Begin another group in the report"),
    FioOption::new(Group::Course, "thread", ValueKind::Flag, "Threads instead of processes")
        .noted("volproof's jobs are threads"),
    FioOption::new(
        Group::Course,
        "continue_on_error",
        ValueKind::Choice(CONTINUE_ON_ERROR),
        "Which errors do not end the job",
    )
    .default("none"),
    FioOption::new(Group::Course, "error_dump", ValueKind::Bool, "Print each error")
        .default("0")
        .noted("errors are reported in the result"),
    FioOption::new(Group::Pace, "flow_id", int(0, U32), "Which flow the job belongs to")
        .default("0")
        .noted("flow asks for it"),
    FioOption::new(Group::Pace, "flow", int(0, 1000), "Share of I/Os between the jobs of a flow")
        .default("0")
        .under("flow_id")
        .fio_only("jobs do not wait for each other's I/Os"),
    FioOption::new(Group::Pace, "flow_sleep", int(0, U32), "Pause of a job that is ahead, microseconds")
        .default("0")
        .under("flow_id")
        .noted("flow asks for it"),
    FioOption::new(
        Group::Pace,
        "flow_watermark",
        ValueKind::Deprecated,
        "deprecated: fio goes on without it",
    )
    .hidden()
    .noted("fio ignores it too"),
    FioOption::new(
        Group::Course,
        "steadystate",
        ValueKind::Choice(STEADYSTATE),
        "End when results are steady: by what and within what",
    )
    .alias("ss")
    .default("iops_slope:0.01%")
    .fio_only(STEADY),
    FioOption::new(
        Group::Course,
        "steadystate_duration",
        SECONDS,
        "Time for which results have to be steady",
    )
    .alias("ss_dur")
    .default("0")
    .under("steadystate")
    .fio_only(STEADY),
    FioOption::new(Group::Course, "steadystate_ramp_time", SECONDS, "Time before steadiness is judged")
        .alias("ss_ramp")
        .default("0")
        .under("steadystate")
        .fio_only(STEADY),
];
