//! Doubts about a test that another tool ran. Only what its report shows is told; codes are stable, and each doubt has advice.

use std::path::Path;

use super::{DoubtCase, ReportOfStep};
use crate::doubt::{Doubt, DoubtCode, Severity};
use crate::plan::EngineKind;
use crate::record::{
    Known, QUEUE_SETS_LATENCY, ReportProgram, ReportedFigures, TargetRecord, contradictions_of_reports,
};
use crate::stats::little;
use crate::unit::{Nanos, counted, grouped, significant};

/// Shorter runs need a ramp more than long ones.
const LONG_RUN: Nanos = Nanos::seconds(300);
/// The number of impossible figures that are named; further ones are only counted.
const IMPOSSIBLE_TOLD: usize = 6;
/// Folders and devices that are memory on every Linux of today, and folders below them where disks are mounted.
const MEMORY: [&str; 5] = ["/dev/shm/", "/run/", "/var/run/", "/dev/ram", "/dev/pmem"];
/// Names in reports that are no volume: memory, and files that the kernel makes up.
const NO_VOLUME: [&str; 7] =
    ["/dev/zram", "/dev/nullb", "/dev/zero", "/dev/null", "/dev/full", "/proc/", "/sys/"];
const ON_DISK: [&str; 2] = ["/run/media/", "/run/mount/"];

/// With less than this share of the requested depth in flight, the load came short of its own rate.
const EMPTY: f64 = 0.5;
/// Jobs that ran for less than this share of the window ended at different times; a tolerance of a promise is as much.
const ALL_THE_TIME: f64 = 0.98;

/// Jobs that ran for less than this share of the window were not the load that was asked for.
const MOST_OF_THE_TIME: f64 = 0.9;

/// A run that drove a device.
pub(super) fn on_a_device<'a>(case: &'a DoubtCase<'_>) -> Option<&'a ReportOfStep<'a>> {
    case.reported.as_ref().filter(|t| !t.conditions.is_null())
}

/// The job failed, or some of its I/Os did.
pub(super) fn failed(case: &DoubtCase<'_>) -> Option<Doubt> {
    let reported = case.reported.as_ref()?;
    let failure = reported.report.failure.as_ref()?;
    let count = failure.ios.map(|n| format!("{} failed", counted(n, "I/O")));
    let number = if failure.number == 0 { String::new() } else { format!(", with error {}", failure.number) };
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::Errors,
        format!("{}{number}", count.unwrap_or_else(|| "the job failed".into())),
        if reported.conditions.on_windows() {
            "find the cause (the System event log of Windows) before any figure is used"
        } else {
            "find the cause (dmesg) before any figure is used"
        },
    ))
}

/// The report holds impossible figures: the report was edited or damaged, or its tool has a fault.
pub(super) fn impossible(case: &DoubtCase<'_>) -> Option<Doubt> {
    let reported = case.reported.as_ref()?.report;
    let against = reported.contradictions();
    let all: Vec<&str> = reported.impossible.iter().chain(&against).map(String::as_str).collect();
    if all.is_empty() {
        return None;
    }
    let shown = &all[..all.len().min(IMPOSSIBLE_TOLD)];
    let left = all.len() - shown.len();
    let more = if left > 0 { format!(", and {left} more") } else { String::new() };
    let out = if reported.impossible.is_empty() { "" } else { "; what rests on them is left out" };
    Some(Doubt::new(
        if reported.are_impossible() || !against.is_empty() { Severity::Blocker } else { Severity::Warning },
        DoubtCode::ImpossibleFigures,
        format!("the report holds figures that cannot be: {}{more}{out}", shown.join("; ")),
        match case.reported.as_ref().map(|t| t.program) {
            Some(ReportProgram::Fio) if reported.impossible.is_empty() => {
                "report each job by itself, without group_reporting: a row that sums up unlike jobs shows the options of one of them; or take the report again, as the program wrote it"
            }
            _ => {
                "take the report again, as the program wrote it: this copy is not what it wrote, or the program has a fault"
            }
        },
    ))
}

/// The file or device is memory: by its filesystem where volproof measured, by its path where a report names no more.
pub(super) fn in_memory(case: &DoubtCase<'_>) -> Option<Doubt> {
    // A folder is named without the slash at its end.
    let begins = |path: &Path, with: &[&str]| {
        let path = format!("{}/", path.to_string_lossy());
        with.iter().any(|m| path.starts_with(m))
    };
    let by_path = |path: &Path| begins(path, &MEMORY) && !begins(path, &ON_DISK);
    let path = match &case.reported {
        Some(reported) if reported.conditions.is_null() => None,
        Some(reported) => {
            let mut named = reported.conditions.targets.as_ref()?.iter();
            named.find(|path| by_path(path) || begins(path, &NO_VOLUME))
        }
        None if case.step.engine.get() == Some(EngineKind::Null) => None,
        None => {
            let in_memory = |t: &&&TargetRecord| match t.facts.place() {
                Some(place) => place.is_memory(),
                None => by_path(&t.path),
            };
            case.targets.iter().find(in_memory).map(|t| &t.path)
        }
    }?;
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::InMemory,
        format!("{} is memory, not a disk", path.display()),
        "name a file on the volume, or its block device",
    ))
}

/// A direction that the load has is not in the report, which breaks off.
pub(super) fn part_missing(case: &DoubtCase<'_>) -> Option<Doubt> {
    let reported = case.reported.as_ref()?;
    let wanted = reported.conditions.pattern()?.directions();
    let there = reported.report.parts();
    // A total of both directions takes the place of each, unless the directions were to follow the total.
    let missing: Vec<&str> =
        wanted.iter().map(|d| d.name()).filter(|d| there.iter().all(|(name, _)| name != d)).collect();
    let total = reported.report.mixed.is_some();
    (!missing.is_empty() && (total || !there.is_empty()) && case.partial).then(|| {
        Doubt::new(
            Severity::Blocker,
            DoubtCode::PartMissing,
            format!(
                "the load was {}, and the report has no {}s: it breaks off before them",
                reported.conditions.rw.as_ref().map_or("a mix", String::as_str),
                missing.join("s and no ")
            ),
            "copy the report to its end: a part says nothing of the whole",
        )
    })
}

/// No device was driven.
pub(super) fn null_engine(case: &DoubtCase<'_>) -> Option<Doubt> {
    let conditions = case.reported.as_ref().filter(|t| t.conditions.is_null())?.conditions;
    let told = match conditions.engine.as_ref().filter(|engine| *engine != "null") {
        Some(engine) => format!("ioengine={engine} is none of the engines that read and write a volume"),
        None => "the null engine drives no device: only fio's own speed shows".into(),
    };
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::NullEngine,
        told,
        "use ioengine=io_uring or libaio for a volume",
    ))
}

/// The load went through the page cache.
pub(super) fn buffered(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = on_a_device(case).filter(|t| t.conditions.direct.get() == Some(false))?;
    let option = t.program.direct_option();
    let through = match &t.conditions.direct {
        Known::Assumed { why, .. } => format!("I/O most likely went through the page cache ({why})"),
        _ => format!("I/O went through the page cache ({option} was not given)"),
    };
    let severity = if t.conditions.memory_answers() { Severity::Blocker } else { Severity::Note };
    let advice = match one_flush_at_the_end(t) {
        true => format!("add {option} for the rate of the disk alone"),
        false => {
            format!("add {option}; for the cache on purpose, say so and use {}", t.program.flush_option())
        }
    };
    Some(Doubt::new(severity, DoubtCode::Buffered, through + &what_memory_did(t), advice))
}

/// A single flush after the last write, whose time is part of the run, as dd has it.
fn one_flush_at_the_end(t: &ReportOfStep<'_>) -> bool {
    let flush = t.conditions.fsync.get().filter(|n| *n > 1);
    t.program == ReportProgram::Dd
        && flush.is_some_and(|n| f64::from(n) >= t.report.ios())
        && t.summary.reads == Some(false)
}

/// What the page cache did with the I/Os of a load.
fn what_memory_did(t: &ReportOfStep<'_>) -> String {
    let c = t.conditions;
    let flush = c.fsync.get().filter(|n| *n > 0);
    if c.each_write_waits() {
        return ", and each write was flushed: the time is that of both".into();
    }
    if one_flush_at_the_end(t) {
        return ": writes ended in memory first, and the time contains one flush at the end, so that the rate is that of memory and disk together".into();
    }
    if c.rw.is_unknown() {
        return ": memory takes writes and holds reads, and the rate is not that of the disk alone".into();
    }
    let reads = t.summary.reads == Some(true);
    match flush {
        _ if c.only_reads() => ": reads that memory holds never reach the disk".into(),
        Some(1) if reads => ": each write was flushed, but reads that memory holds never reach the disk".into(),
        Some(n) if !reads => {
            format!(": memory takes the writes, and only the flush after each {n} waits for the disk")
        }
        _ if reads => {
            ": reads that memory holds never reach the disk, and writes end in memory, and reach it when the kernel likes".into()
        }
        _ => ": writes end in memory, and reach the disk when the kernel likes".into(),
    }
}

/// The report does not say whether the load went through the page cache, and its figures do not exclude it.
pub(super) fn cache_unknown(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = on_a_device(case).filter(|t| t.conditions.direct.is_unknown())?;
    // Requests that the kernel took at once, and that then waited side by side, bypassed the cache. One that waits for those before it to be
    // submitted has a small share of submission too.
    let handed_over = |(_, f): &(&str, &ReportedFigures)| share_of_submission(f).is_some_and(|s| s < 0.1);
    let side_by_side = t.summary.in_flight.is_some_and(|n| n >= 2.0)
        && t.summary.waits_to_submit.is_none()
        && t.report.parts().iter().any(handed_over);
    (!side_by_side).then(|| {
        Doubt::new(
            Severity::Note,
            DoubtCode::CacheUnknown,
            format!(
                "the report does not show whether {} was set: without it the page cache takes the I/O",
                t.program.direct_option()
            ),
            match t.program {
                ReportProgram::Fio => "look at the command line or job file; fio's JSON holds it",
                _ => "look at the command line, and give it with the report",
            },
        )
    })
}

/// The share of a latency that the submitting call took.
fn share_of_submission(f: &ReportedFigures) -> Option<f64> {
    let (submission, total) = (f.submission.as_ref()?, f.total.as_ref()?);
    (total.mean > 0.0 && submission.mean > 0.0).then(|| submission.mean / total.mean)
}

/// A blocking engine keeps one request in flight, whatever depth was asked for.
pub(super) fn depth_ignored(case: &DoubtCase<'_>) -> Option<Doubt> {
    let c = on_a_device(case)?.conditions;
    let depth = c.iodepth.get().filter(|d| *d > 1 && c.one_at_a_time())?;
    Some(Doubt::new(
        Severity::Warning,
        DoubtCode::DepthIgnored,
        format!(
            "iodepth={depth} was given, but the engine {} does one I/O at a time",
            c.engine.as_ref().map_or("", String::as_str)
        ),
        "use ioengine=io_uring or libaio, or more jobs",
    ))
}

/// Percentiles of I/Os that took longer than the tool's histogram reaches.
pub(super) fn saturated(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = on_a_device(case)?;
    let beyond = t.report.parts().into_iter().find_map(|(name, f)| {
        let (_, table) = f.percentiles()?;
        let top = table.percentiles.values().max().copied()?;
        let longest = f.latency()?.1.max;
        (top >= contradictions_of_reports::LAST_BUCKET && longest.0 > (top.0 / 100).saturating_mul(102))
            .then_some((name, top, longest))
    });
    let (name, top, longest) = beyond?;
    Some(Doubt::new(
        Severity::Warning,
        DoubtCode::PercentilesSaturated,
        format!(
            "percentiles of {name} end at {top}, where fio's histogram ends, and the longest took {longest}: those at {top} are known only to be that long or longer"
        ),
        "quote the mean and the longest; percentiles above that need a log of latencies (write_lat_log)",
    ))
}

/// The amount of data ended the run, and not its time.
pub(super) fn ended_by_size(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = on_a_device(case).filter(|t| crate::record::ended_by_size(t.report, t.conditions))?;
    let time = t.summary.window.map(|w| format!(" after {} s", significant(w.as_seconds())));
    let limit = t.conditions.runtime.get().filter(|r| r.0 > 0);
    let limit = limit.map(|r| format!(", not by runtime={}", r.exact())).unwrap_or_default();
    Some(Doubt::new(
        Severity::Warning,
        DoubtCode::EndedBySize,
        format!(
            "the run ended{}, when {} had been gone over{limit}: it says nothing of the time after",
            time.unwrap_or_default(),
            t.report.amount().unwrap_or_default()
        ),
        format!("{}, over the whole device or a far larger file", t.program.longer()),
    ))
}

/// Jobs of a run ended at different times, so that fewer of them drove the volume at the end.
pub(super) fn jobs_ended_apart(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = on_a_device(case)?;
    let s = &t.summary;
    let (jobs, window, time) = (s.jobs.filter(|n| *n > 1.0)?, s.window?, s.threads_time?);
    let running = time.as_seconds() / window.as_seconds();
    (running < ALL_THE_TIME * jobs).then(|| {
        Doubt::new(
            if running < MOST_OF_THE_TIME * jobs { Severity::Blocker } else { Severity::Warning },
            DoubtCode::JobsEndedApart,
            format!(
                "the {jobs:.0} jobs ended at different times: the rate is that over {window}, in which {} of them ran on average",
                significant(running)
            ),
            format!("{}, so that all jobs end together", t.program.longer()),
        )
    })
}

/// At a deep queue requests may wait for each other, and one depth does not tell how much of the latency is waiting.
pub(super) fn queue_latency(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = on_a_device(case)?;
    let s = &t.summary;
    let n = t.conditions.in_flight().filter(|n| *n > QUEUE_SETS_LATENCY)?;
    let (in_flight, mean, x) = (s.in_flight?, s.mean_ns?, s.iops?);
    // More requests in flight than possible are told by `impossible`.
    (in_flight > 0.5 * n as f64 && in_flight < 1.1 * n as f64).then(|| {
        Doubt::new(
            Severity::Warning,
            DoubtCode::QueueLatency,
            format!(
                "{} is the response time among {} in flight ({}/s): one depth does not tell how much of it is waiting for the others",
                Nanos(mean as u64),
                significant(in_flight),
                grouped(x.round() as u64)
            ),
            match t.program {
                ReportProgram::Fio => "quote the latency of the volume from one request at a time (iodepth=1, numjobs=1)",
                ReportProgram::Diskspd => "quote the latency of the volume from one request at a time (-o1 -t1)",
                _ => "quote the latency of the volume from one request at a time",
            },
        )
    })
}

/// The first seconds of the load are part of the figures.
pub(super) fn no_ramp(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = on_a_device(case).filter(|t| t.conditions.ramp.get() == Some(Nanos(0)))?;
    t.summary.window.filter(|w| *w < LONG_RUN)?;
    Some(Doubt::new(
        Severity::Note,
        DoubtCode::NoRamp,
        "the first seconds are among the figures: credits, cold caches and empty queues weigh most in a short run",
        match t.program {
            ReportProgram::Diskspd => "add -W10",
            ReportProgram::Iometer => "set a ramp up time of 10 s",
            _ => "add ramp_time=10",
        },
    ))
}

/// All jobs use the same part of the target.
pub(super) fn same_range(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = on_a_device(case)?;
    let jobs = t.conditions.jobs_over_one_range()?;
    Some(Doubt::new(
        Severity::Warning,
        DoubtCode::SameRange,
        format!(
            "{jobs} sequential jobs went over the same range: all but the first may find their blocks in caches"
        ),
        match t.program {
            ReportProgram::Fio => "add offset_increment=10% (or a file per job), or test random I/O",
            ReportProgram::Diskspd => {
                "give the threads parts of their own (-T), use one thread, or test random I/O (-r)"
            }
            _ => "use one job, or test random I/O",
        },
    ))
}

/// Reads of blocks that were never written are answered without the medium.
pub(super) fn unwritten(case: &DoubtCase<'_>) -> Option<Doubt> {
    // sysbench reads files that it wrote before.
    let t = on_a_device(case)
        .filter(|t| t.summary.reads == Some(true) && t.program != ReportProgram::Sysbench)?;
    // fio lays a file out before it reads it.
    let targets = t.conditions.targets.as_ref().map(Vec::as_slice).unwrap_or_default();
    let file = targets.first().is_some_and(|t| t.starts_with("/") && !t.starts_with("/dev/"));
    (!file).then(|| {
        Doubt::new(
            Severity::Note,
            DoubtCode::Unwritten,
            "the report does not show whether the blocks that were read had ever been written: others are answered without the medium",
            "write the whole range once before reading it",
        )
    })
}

/// Only zeros were written.
pub(super) fn zero_buffers(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = on_a_device(case).filter(|t| t.conditions.zeros.get() == Some(true))?;
    let writes = t.report.parts().iter().any(|(name, _)| !name.starts_with("read"));
    let (option, advice) = match t.program {
        ReportProgram::Dd => ("/dev/zero", "write from a file of random bytes that memory holds"),
        ReportProgram::Diskspd => ("-Z", "use -Zr, or -Z1M for a buffer of random bytes"),
        _ => ("zero_buffers", "leave zero_buffers out, or use refill_buffers=1"),
    };
    writes.then(|| {
        Doubt::new(
            Severity::Warning,
            DoubtCode::ZeroBuffers,
            format!(
                "only zeros were written ({option}): a volume that compresses or drops zeros looks faster"
            ),
            advice,
        )
    })
}

/// A rate that was not kept: something else than the rate limits. (A rate that was kept is a finding.)
pub(super) fn rate_not_reached(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = on_a_device(case)?;
    let (pace, x) = (t.conditions.pace.as_ref()?, t.summary.iops?);
    let rate = pace.offered_per_second.filter(|rate| x < 0.97 * rate)?;
    // With room in the queue the load came short of its own rate, which is a finding.
    if t.summary
        .mean_ns
        .zip(t.summary.asked)
        .is_some_and(|(mean, asked)| little::in_flight(x, mean) < EMPTY * asked)
    {
        return None;
    }
    Some(Doubt::new(
        Severity::Note,
        DoubtCode::RateNotReached,
        format!(
            "{} I/Os a second were asked for ({}), and {} were done: the limit is another one",
            significant(rate),
            pace.rate_option.as_deref().unwrap_or("rate_iops"),
            significant(x)
        ),
        "leave the rate out to see what the volume can do",
    ))
}
