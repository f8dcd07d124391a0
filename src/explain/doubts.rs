//! What is wrong with a test that fio ran, and the test that would be right, in fio's words and in ours.
//!
//! Only what the report shows is told. Codes are stable; each doubt has advice.

use serde::Serialize;

use super::conditions::Conditions;
use super::subject::{latency, moved_ios, parts};
use crate::diagnose::{Diagnosis, Summary};
use crate::fio::output::{Job, Output, Stats};
use crate::fio::possible::Impossible;
use crate::stats::little::depth_needed;
use crate::unit::{Bytes, Nanos, grouped, significant};
use crate::warn::{Severity, Warning};

/// More in flight than this is a queue, whose length sets the latency.
const DEEP: u64 = 8;
/// Shorter runs need a ramp more than long ones.
const LONG: Nanos = Nanos::seconds(300);

/// In flight where the test kept one or two: enough for the cap of most volumes at 1 ms.
const USUAL_DEPTH: u64 = 32;
/// More is no depth that an engine takes.
const DEEPEST: u32 = 4096;
/// Figures that cannot be, told by name; more are counted.
const IMPOSSIBLE_TOLD: usize = 6;

/// A better test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Better {
    /// What it shows.
    pub shows: String,
    /// fio's command.
    pub fio: String,
    /// Ours.
    pub volproof: String,
}

/// The run ended when its range had been gone over, and not by time.
pub fn ended_by_size(job: &Job, c: &Conditions) -> bool {
    if c.time_based == Some(true) {
        return false;
    }
    let parts = parts(job);
    let moved: u64 = parts.iter().map(|(_, s)| s.bytes.0).sum();
    let ms = parts.iter().map(|(_, s)| s.runtime.0 / 1_000_000).max().unwrap_or(0);
    match (c.options_known, c.size, c.runtime) {
        // More than the range, or the whole time: it went round.
        (true, Some(size), limit) => {
            let all = size.0.saturating_mul(u64::from(c.jobs));
            let in_time = limit.is_none_or(|l| ms + 50 < l.0 / 1_000_000);
            in_time && moved >= all / 1000 * 999 && moved <= all.saturating_add(all / 1000)
        }
        (true, None, Some(limit)) => ms + 50 < limit.0 / 1_000_000,
        (true, None, None) => true,
        // Text does not tell the options: whole MiB by exact count, in a time that is no whole number of seconds.
        (false, ..) => {
            let exact = c.single_block().map(|b| moved_ios(job) as u64 * b.0);
            exact.is_some_and(|n| n > 0 && n.is_multiple_of(Bytes::MIB.0)) && !(0..=20).contains(&(ms % 1000))
        }
    }
}

/// All doubts about a row.
pub fn of(output: &Output, job: &Job, c: &Conditions, s: &Summary) -> Vec<Warning> {
    let mut all = Vec::new();
    let mut add = |severity, code: &str, message: String, advice: &str| {
        all.push(Warning::new(severity, code, message, advice).in_step(&job.name));
    };
    let moved: u64 = parts(job).iter().map(|(_, s)| s.bytes.0).sum();
    if job.error != 0 || job.errors.is_some_and(|n| n > 0) {
        let number = if job.error != 0 { job.error } else { job.first_error.unwrap_or(0) };
        let count = job.errors.filter(|n| *n > 0).map(|n| format!("{} I/Os failed", grouped(n)));
        add(
            Severity::Blocker,
            "errors",
            format!("{}, with error {number}", count.unwrap_or_else(|| "the job failed".into())),
            "find the cause (dmesg) before any figure is used",
        );
    }
    if !job.impossible.is_empty() {
        let of_rate = job.impossible.iter().any(Impossible::of_rate);
        let shown: Vec<String> = job.impossible.iter().take(IMPOSSIBLE_TOLD).map(|i| i.to_string()).collect();
        let left = job.impossible.len().saturating_sub(IMPOSSIBLE_TOLD);
        let more = if left > 0 { format!(", and {left} more") } else { String::new() };
        add(
            if of_rate { Severity::Blocker } else { Severity::Warning },
            "impossible-figures",
            format!(
                "the report holds figures that cannot be: {}{more}; what rests on them is left out",
                shown.join("; ")
            ),
            "take the report from fio again, as it was written: this one was edited or damaged, or its fio is faulty",
        );
    }
    if c.is_null() {
        add(
            Severity::Blocker,
            "null-engine",
            "the null engine drives no device: only fio's own speed shows".into(),
            "use ioengine=io_uring or libaio for a volume",
        );
        return all;
    }
    if c.direct == Some(false) {
        let writes = !c.only_reads();
        let synced = c.fsync > 0 || s.flushes.is_some();
        add(
            if writes && synced { Severity::Warning } else { Severity::Blocker },
            "buffered",
            format!(
                "I/O went through the page cache (direct=1 was not given): {}",
                if writes {
                    "writes end in memory, and reach the disk when the kernel likes"
                } else {
                    "reads that memory holds never reach the disk"
                }
            ),
            "add direct=1; for the cache on purpose, say so and use fsync",
        );
    }
    // Requests that really waited side by side, and were handed over at once, went past the cache.
    let side_by_side = s.in_flight.is_some_and(|n| n >= 2.0)
        && parts(job).iter().any(|(_, p)| handed_over(p).is_some_and(|share| share < 0.1));
    if c.direct.is_none() && !side_by_side {
        add(
            Severity::Note,
            "cache-unknown",
            "the report does not show whether direct=1 was set: without it the page cache takes the I/O"
                .into(),
            "look at the command line or job file; fio's JSON holds it",
        );
    }
    if c.one_at_a_time() && c.iodepth.is_some_and(|d| d > 1) {
        add(
            Severity::Warning,
            "depth-ignored",
            format!(
                "iodepth={} was given, but the engine {} does one I/O at a time",
                c.iodepth.unwrap_or(1),
                c.engine.as_deref().unwrap_or_default()
            ),
            "use ioengine=io_uring or libaio, or more jobs",
        );
    }
    if ended_by_size(job, c) {
        let time = s.window.map(|w| format!(" after {} s", significant(w.as_seconds()))).unwrap_or_default();
        let limit = c.runtime.map(|r| format!(", not by runtime={}", r.exact())).unwrap_or_default();
        add(
            Severity::Warning,
            "ended-by-size",
            format!(
                "the run ended{time}, when {} had been gone over{limit}: it says nothing of the time after",
                Bytes(exact_bytes(job, c).unwrap_or(moved))
            ),
            "add time_based=1 and runtime=300, over the whole device or a far larger file",
        );
    }
    if let Some(n) = c.in_flight().filter(|n| *n > DEEP)
        && s.in_flight.is_some_and(|x| x > 0.5 * n as f64)
        && let (Some(mean), Some(x)) = (s.mean_ns, s.iops)
    {
        add(
            Severity::Warning,
            "queue-latency",
            format!(
                "{} is what an I/O waits behind {} others, not the latency of the volume: {} / {}/s",
                Nanos(mean as u64),
                grouped(n - 1),
                grouped(n),
                grouped(x.round() as u64)
            ),
            "latency is quoted from one request at a time (iodepth=1, numjobs=1)",
        );
    }
    if c.options_known && c.ramp.is_none_or(|r| r.0 == 0) && s.window.is_some_and(|w| w < LONG) {
        add(
            Severity::Note,
            "no-ramp",
            "the first seconds are among the figures: credits, cold caches and empty queues weigh most in a short run".into(),
            "add ramp_time=10",
        );
    }
    if c.jobs > 1
        && c.rw.as_ref().is_some_and(|rw| !rw.contains("rand"))
        && job.option(output, &["offset_increment"]).is_none()
    {
        add(
            Severity::Warning,
            "same-range",
            format!(
                "{} sequential jobs went over the same range: all but the first find their blocks in caches",
                c.jobs
            ),
            "add offset_increment=10% (or a file per job), or test random I/O",
        );
    }
    if s.reads == Some(true)
        && !c.target.as_ref().is_some_and(|t| t.starts_with('/') && !t.starts_with("/dev/"))
    {
        add(
            Severity::Note,
            "unwritten",
            "the report does not show whether the blocks that were read had ever been written: others are answered without the medium".into(),
            "write the whole range once before reading it",
        );
    }
    if c.compressible {
        add(
            Severity::Warning,
            "zero-buffers",
            "only zeros were written (zero_buffers): a volume that compresses or drops zeros looks faster"
                .into(),
            "leave zero_buffers out, or use refill_buffers=1",
        );
    }
    // A rate that was kept is a finding; one that was not says that something else limits.
    if let Some(rate) = c.rate_iops.filter(|rate| s.iops.is_some_and(|x| x < 0.97 * rate)) {
        add(
            Severity::Note,
            "rate-not-reached",
            format!(
                "{} I/Os a second were asked for ({}), and {} were done: the limit is another one",
                significant(rate),
                c.pace.as_deref().unwrap_or("rate_iops"),
                significant(s.iops.unwrap_or(0.0))
            ),
            "leave the rate out to see what the volume can do",
        );
    }
    let short: u64 = parts(job).iter().map(|(_, s)| s.short + s.dropped).sum();
    if short > 0 && moved_ios(job) > 0.0 && short as f64 > 0.001 * moved_ios(job) && c.fsync == 0 {
        add(
            Severity::Warning,
            "short-ios",
            format!("{} I/Os were cut short or dropped", grouped(short)),
            "look for the end of the file or device within the range",
        );
    }
    all
}

/// The share of a latency that the submitting call took.
fn handed_over(s: &Stats) -> Option<f64> {
    let (slat, lat) = (s.slat.as_ref()?, s.lat.as_ref()?);
    (lat.mean > 0.0 && slat.mean > 0.0).then(|| slat.mean / lat.mean)
}

fn exact_bytes(job: &Job, c: &Conditions) -> Option<u64> {
    Some(moved_ios(job) as u64 * c.single_block()?.0)
}

/// The tests that would be right: one for the rate, and one for the latency where this one shows only its queue.
pub fn better(job: &Job, c: &Conditions, s: &Summary, found: &Diagnosis, promise: &[String]) -> Vec<Better> {
    let Some(pattern) = c.pattern().filter(|_| !c.is_null()) else { return Vec::new() };
    let target = c.target.clone().unwrap_or_else(|| "TARGET".into());
    let target = target.split(':').next().unwrap_or("TARGET").to_string();
    let block = c.single_block().unwrap_or(Bytes::kib(4));
    let engine = match c.engine.as_deref() {
        Some(e) if !c.one_at_a_time() => e.to_string(),
        _ => "io_uring".into(),
    };
    let depth = rate_depth(c, s, found);
    let flush = c.fsync.max(1);
    let command = |what: &str, depth: u32, jobs: u32| {
        let durable = what == "durable";
        let mut fio: Vec<String> =
            ["fio".into(), format!("--name={what}"), format!("--filename={target}")].into();
        fio.extend([
            format!("--rw={}", c.rw.as_deref().unwrap_or("randread")),
            format!("--bs={}", block.exact().trim_end_matches("iB").to_lowercase()),
        ]);
        if let Some(p) = c.reads_percent.filter(|_| pattern.directions().len() > 1) {
            fio.push(format!("--rwmixread={p}"));
        }
        fio.extend([format!("--ioengine={engine}"), format!("--iodepth={depth}"), "--direct=1".into()]);
        if jobs > 1 {
            fio.extend([format!("--numjobs={jobs}"), "--group_reporting".into()]);
        }
        if durable {
            fio.push(format!("--fsync={flush}"));
        }
        fio.extend(["--time_based", "--runtime=300", "--ramp_time=10", "--randrepeat=0"].map(String::from));
        let mut ours: Vec<String> = ["volproof".into(), "run".into(), target.clone()].into();
        ours.extend([format!("--rw {pattern}"), format!("--bs {}", block.exact())]);
        if let Some(p) = c.reads_percent.filter(|_| pattern.directions().len() > 1) {
            ours.push(format!("--rwmix {p}"));
        }
        ours.push(format!("--iodepth {depth}"));
        if jobs > 1 {
            ours.push(format!("--numjobs {jobs}"));
        }
        if durable {
            ours.push(format!("--fsync {flush}"));
        }
        ours.push("--runtime 300s --ramp 10s".into());
        ours.extend(promise.iter().cloned());
        (fio.join(" "), ours.join(" "))
    };
    let deep =
        c.in_flight().is_some_and(|n| n > DEEP) && parts(job).iter().any(|(_, s)| latency(s).is_some());
    let mut all = Vec::new();
    let only_latency = c.in_flight() == Some(1) && s.offered.is_none();
    let (fio, volproof) = command("rate", depth, c.jobs);
    all.push(Better { shows: "the rate".into(), fio, volproof });
    if deep || only_latency {
        let (fio, volproof) = command("latency", 1, 1);
        all.push(Better { shows: "the latency of the volume".into(), fio, volproof });
    }
    if (s.flushes.is_some() || c.fsync > 0) && pattern.changes_data() {
        let (fio, volproof) = command("durable", 1, 1);
        all.push(Better { shows: "writes that are durable".into(), fio, volproof });
    }
    all
}

/// The depth of each job at which a rate can show: what was asked for, and where that was one or two in flight or cannot reach the
/// promise by Little's law, more.
fn rate_depth(c: &Conditions, s: &Summary, found: &Diagnosis) -> u32 {
    let asked = c.iodepth.unwrap_or(1).max(1);
    let jobs = u64::from(c.jobs.max(1));
    let usual = if c.in_flight().is_some_and(|n| n > 2) && !c.one_at_a_time() { 1 } else { USUAL_DEPTH };
    // As long as the volume takes by itself, where a throttle holds it.
    let own = s.own_latency(found.find("throttle").is_some());
    let needed = own.zip(s.promised).map_or(1, |(own, p)| depth_needed(p.iops, own));
    let needed = if c.in_flight().is_some_and(|n| n < needed) { needed.next_power_of_two() } else { 1 };
    let each = usual.max(needed).div_ceil(jobs);
    asked.max(u32::try_from(each).unwrap_or(u32::MAX).min(DEEPEST))
}
