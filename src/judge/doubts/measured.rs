//! Doubts that volproof's own measurement raises: was the depth reached, does Little's law hold, did requests go where they should, did the
//! schedule hold, is the sample large enough.
//!
//! Each rule says nothing where its evidence is missing. docs/method.md gives the reasons of the limits.

use super::DoubtCase;
use super::generator_limited::SATURATED;
use crate::codes;
use crate::device::Facts;
use crate::doubt::{Doubt, Severity};
use crate::plan::{EngineKind, FileState};
use crate::record::{Conditions, ReportProgram, Spacing, StepFigures, StepRecord};
use crate::sample::Direction;
use crate::stats::little::{Little, MeasuredWindow};
use crate::stats::{LEAST_QUOTABLE, RECOMMENDED};
use crate::unit::{Bytes, Nanos, counted, grouped, significant, total};

/// A depth below this share of what was asked for was not reached (docs/method.md, "Depth").
const DEPTH_REACHED: f64 = 0.95;

/// A share of CPU time that the host took, from which on it matters.
pub(in crate::judge) const STOLEN: f64 = 0.01;

fn were(n: u64) -> &'static str {
    if n == 1 { "was" } else { "were" }
}

/// The step drove no device.
pub(super) fn is_null(step: &StepRecord) -> bool {
    is(step, EngineKind::Null)
}

fn is(step: &StepRecord, engine: EngineKind) -> bool {
    step.engine.get() == Some(engine)
}

/// Several steps loaded one disk at the same time.
pub(super) fn shared(case: &DoubtCase<'_>) -> Option<Doubt> {
    let first = case.sharing.first.first()?;
    let more = match case.sharing.count - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(Doubt::new(
        Severity::Warning,
        codes::SHARED_DISK,
        format!(
            "it ran together with {first}{more} on the same disk: no rate or latency is the disk's by itself"
        ),
        "to judge the disk, run the steps one after another, or as one step with more jobs or a mixed pattern",
    ))
}

/// I/Os failed.
pub(super) fn errors(case: &DoubtCase<'_>) -> Option<Doubt> {
    let step = case.step;
    let first = step.errors.first.first()?;
    Some(Doubt::new(
        Severity::Warning,
        codes::IO_ERRORS,
        format!(
            "{} I/O{} failed, the first one a {} of {} at offset {} of {}: {}",
            grouped(step.errors.count),
            if step.errors.count == 1 { "" } else { "s" },
            first.direction.name(),
            first.length_bytes,
            grouped(first.offset_bytes.0),
            first.path.display(),
            first.error
        ),
        "look at the kernel log (dmesg); rates of a failing device mean nothing",
    ))
}

/// I/Os whose bytes are fewer than this share of their blocks moved less than they were asked to.
const WHOLE: f64 = 0.99;

/// The I/Os of a measured step moved less than their blocks. The installed fio counts what it does beyond the end of a file that shrank, without an error.
pub(super) fn short_blocks(case: &DoubtCase<'_>) -> Option<Doubt> {
    let plan = case.plan.filter(|_| case.reported.is_none())?;
    let (d, s, block) = [Direction::Read, Direction::Write].into_iter().find_map(|d| {
        let (s, block) = (case.step.direction(d)?, plan.sizes(d).single()?);
        ((s.bytes.0 as f64) < WHOLE * s.ios as f64 * block.0 as f64).then_some((d, s, block))
    })?;
    Some(Doubt::new(
        Severity::Blocker,
        "short-ios",
        format!(
            "{} {}s of {block} moved {} in all: less than their blocks",
            grouped(s.ios),
            d.name(),
            s.bytes
        ),
        "look for the end of the file or device within the range (did it shrink?), and for errors in the kernel log (dmesg)",
    ))
}

/// The number of misfits that are named; further ones are only counted.
const MISFITS_TOLD: usize = 3;

/// The figures of the step do not fit its samples, from which they are made.
pub(super) fn figures_disagree(case: &DoubtCase<'_>) -> Option<Doubt> {
    let all = case.step.misfits();
    let (told, more) = all.split_at(all.len().min(MISFITS_TOLD));
    let more = if more.is_empty() { String::new() } else { format!(", and {} more", more.len()) };
    (!told.is_empty()).then(|| {
        Doubt::new(
            Severity::Blocker,
            "figures-disagree",
            format!("figures of the Record contradict each other: {}{more}", told.join("; ")),
            "take the Record as the program wrote it: this copy was changed or damaged",
        )
    })
}

/// Requests or load threads did not come back after the step.
pub(super) fn unfinished(case: &DoubtCase<'_>) -> Option<Doubt> {
    let step = case.step;
    let waited = step.accounting.as_ref().map_or("afterwards".into(), |a| format!("{} later", a.patience_ns));
    let mut found = Vec::new();
    if step.lost_ios > 0 {
        found.push(format!(
            "{} in flight at the end of the step had not completed {waited}",
            counted(step.lost_ios, "I/O")
        ));
    }
    if step.stuck_workers > 0 {
        let (threads, were) =
            (counted(step.stuck_workers.into(), "load thread"), were(step.stuck_workers.into()));
        found.push(format!("{threads} {were} still in a system call {waited}"));
    }
    (!found.is_empty()).then(|| {
        Doubt::new(
            Severity::Warning,
            codes::DEVICE_HANGS,
            found.join(", and "),
            "the device or its driver hangs, or a limit below it holds requests back for so long: look at the kernel log (dmesg), and do not \
             trust this target",
        )
    })
}

/// The largest drift of the stamps' clock from the kernel's, in parts per million. NTP may turn the kernel's clock by 500 for a while, and
/// seldom turns it by 100.
const DRIFT_PPM: f64 = 100.0;

/// The clock of the stamps ran away from the kernel's, or backwards.
pub(super) fn clock(case: &DoubtCase<'_>) -> Option<Doubt> {
    let step = case.step;
    let account = step.accounting.as_ref()?;
    let drift = account.drift_ppm.filter(|ppm| ppm.abs() > DRIFT_PPM);
    let mut found = Vec::new();
    if let Some(ppm) = drift {
        let way = if ppm > 0.0 { "fast" } else { "slow" };
        found.push(format!("it ran {:.0} ppm {way} against CLOCK_MONOTONIC", ppm.abs()));
    }
    if account.negative_latencies > 0 {
        found.push(format!("it stamped {} completions before their submission", account.negative_latencies));
    }
    (!found.is_empty()).then(|| {
        Doubt::new(
            Severity::Warning,
            "clock-wrong",
            format!("the clock of the measurement ({}) is not right: {}", account.clock, found.join(", and ")),
            "rates and latencies are wrong by as much: boot with another clock source (clocksource=hpet or acpi_pm), which volproof then uses too",
        )
    })
}

/// Fewer requests were in flight than the step asked for.
pub(super) fn depth(case: &DoubtCase<'_>) -> Option<Doubt> {
    let (plan, step) = (case.plan?, case.step);
    let asked = step.in_flight_asked.get()?;
    // The last requests of a step that ends by its amount are not replaced: the queue drains during their share of all I/Os.
    let ios = total(step.directions().filter(|(d, _)| *d != Direction::Sync).map(|(_, s)| s.ios));
    let drained = if plan.ends_by_amount() { asked / (ios as f64).max(1.0) } else { 0.0 };
    let reached = step.in_flight_mean / asked.max(1.0) + drained;
    // A schedule leaves the queue empty on purpose; so does a log, whose one write at a time waits for its flush.
    let meant = plan.arrivals_per_second().is_some() || (plan.fsync > 0 && plan.iodepth == 1);
    if meant || step.window_ns.0 == 0 || reached >= DEPTH_REACHED {
        return None;
    }
    // A test with more jobs is no test of a single request.
    let why = match (plan.direct, asked > 1.0) {
        (true, true) if case.evidence.steal_share() > STOLEN => {
            "the host took CPU time from the load threads: repeat at another time or on dedicated CPUs"
        }
        // A thread with time to spare waited for the CPU, or in the call that submits: more threads wait alike.
        (true, true) if step.cpu.busiest_worker < BUSY.start => {
            "the load threads were late with their requests, and not for want of CPU time: look at what else ran, and at calls that block (a \
             filesystem, a full device queue)"
        }
        (true, true) => "the load threads were too slow to refill it: use more --numjobs, or faster CPUs",
        (true, false) => {
            "the load thread was late with its next request: look at CPU use, stop other programs, and run it again"
        }
        (false, true) => {
            "buffered I/O completes in the submitting call: use direct I/O (without --buffered), or more --numjobs"
        }
        (false, false) => {
            "buffered I/O completes in the submitting call: use direct I/O (without --buffered)"
        }
    };
    Some(Doubt::new(
        Severity::Blocker,
        codes::DEPTH_NOT_REACHED,
        format!("{:.1} requests were in flight on average, not {}", step.in_flight_mean, asked),
        why,
    ))
}

/// Share of its time on a CPU from which a load thread raises a doubt. From `SATURATED` on, there is the finding `generator-limited`
/// instead.
const BUSY: std::ops::Range<f64> = 0.8..SATURATED;

/// The step came near what the machine can drive.
///
/// Above 80 % of the headroom the machine may have set the rate, so that a low rate is no failure of the volume. A busy load thread only adds
/// waiting to the latencies: the depth that it kept in flight was the volume's to serve.
pub(super) fn headroom(case: &DoubtCase<'_>) -> Option<Doubt> {
    let (plan, step) = (case.plan?, case.step);
    if let Some((h, share)) = step.headroom.as_ref().and_then(|h| Some((h, h.nearly_used(step.iops())?))) {
        return Some(Doubt::new(
            Severity::Blocker,
            codes::HEADROOM,
            format!("{} % of the headroom was used: {}", significant(share * 100.0), h.words()),
            "a machine with more or faster CPUs, or larger blocks, tells the volume from the machine",
        ));
    }
    let busy = step.cpu.busiest_worker;
    let polls = plan.iopoll || plan.sqpoll;
    (BUSY.contains(&busy) && plan.direct && !polls && !is(step, EngineKind::Null)).then(|| {
        Doubt::new(
            Severity::Warning,
            codes::HEADROOM,
            format!(
                "the busiest load thread was on a CPU for {} % of the time: latencies hold that time, and the waiting for it",
                significant(busy * 100.0)
            ),
            match case.evidence.steal_share() > STOLEN {
                true => "the host took CPU time away too: repeat at another time or on dedicated CPUs",
                false => "spread the load over more threads (--numjobs with a lower --iodepth)",
            },
        )
    })
}

/// Rate, latency and requests in flight do not agree: one of them was miscounted.
pub(super) fn little(case: &DoubtCase<'_>) -> Option<Doubt> {
    let (plan, step) = (case.plan?, case.step);
    // The requests in flight of a load thread that never came back are unknown.
    let outside = step.accounting.as_ref().filter(|_| step.stuck_workers == 0).map(|a| a.outside_latency_ns);
    let mut measured =
        MeasuredWindow { ios: 0, latency: Nanos(0), in_flight: 0, outside, window: step.window_ns };
    for series in step.targets.iter().map(|t| &t.series) {
        measured.in_flight = measured.in_flight.saturating_add(total(series.in_flight_ns.iter().copied()));
        for d in Direction::ALL {
            if let Some(stream) = series.stream(d) {
                let total = stream.track.total();
                measured.ios += total.ios;
                measured.latency.0 += total.latency.0;
            }
        }
    }
    let little = Little::of(measured)?;
    // Where I/Os at the edges were not counted: a window that ends with the amount of I/O, or with an error, ends at a moment of its own on
    // each worker.
    let uneven = plan.ends_by_amount() || step.errors.count > 0 || step.lost_ios > 0;
    (!little.holds && (outside.is_some() || !uneven)).then(|| {
        Doubt::new(
            Severity::Blocker,
            "littles-law",
            format!(
                "rate times latency is {:.2} requests, but {:.2} were in flight: {:.1} % apart",
                little.in_flight_by_law, little.in_flight_mean, little.deviation_pct
            ),
            "the latencies or the rate were miscounted: repeat the run, and report this if it stays",
        )
    })
}

/// Kernel threads of io_uring did the requests, and took CPU time of their own.
pub(super) fn io_wq(case: &DoubtCase<'_>) -> Option<Doubt> {
    let own: f64 = case.stage().map(|(_, s)| s.cpu.user_ns.0 as f64 + s.cpu.system_ns.0 as f64).sum();
    // In a stage of several steps, the share of each step is not known.
    let helpers = if case.others.is_empty() { case.step.cpu.io_wq_ns } else { case.evidence.io_wq_ns };
    let share = helpers.0 as f64 / (own + helpers.0 as f64).max(1.0);
    (is(case.step, EngineKind::IoUring) && share > 0.05).then(|| {
        Doubt::new(
            Severity::Warning,
            codes::IO_WQ,
            format!("io_uring handed requests to kernel threads (io-wq): {helpers} of CPU time went there"),
            "this measures io-wq as much as the device, which has no non-blocking path: compare with --engine libaio",
        )
    })
}

/// Reads were answered by memory above the disk's own counters.
pub(super) fn page_cache(case: &DoubtCase<'_>) -> Option<Doubt> {
    let (plan, step) = (case.plan?, case.step);
    let read = step.read.as_ref()?;
    if is(step, EngineKind::Null) || case.evidence.disks.is_empty() {
        return None;
    }
    // Where other steps go through the page cache, their reads are the missing ones.
    if plan.direct && case.others.iter().any(|(p, s)| !p.direct && s.read.is_some()) {
        return None;
    }
    let device: u64 = total(case.evidence.disks.iter().flat_map(|d| d.read_bytes.iter().copied()));
    let asked: u64 = total(case.stage().filter_map(|(_, s)| Some(s.read.as_ref()?.bytes.0)));
    // The ramp also reached the device, so that a device count below ours is no rounding.
    let missing = 1.0 - device as f64 / asked.max(1) as f64;
    (missing > 0.01 && read.bytes.0 > Bytes::MIB.0).then(|| {
        let (severity, why) = if plan.direct {
            (Severity::Warning, "direct I/O was asked for: a layer below answers from memory (unwritten blocks, a cache, or a stacked device)")
        } else {
            (Severity::Blocker, "the page cache answered: use direct I/O (the default) to measure the device")
        };
        Doubt::new(
            severity,
            codes::READS_FROM_MEMORY,
            format!("{:.0} % of the bytes read never reached the disk's own counters", missing * 100.0),
            why,
        )
    })
}

/// Writes went through the page cache: they end in memory, and the kernel writes them to the disk later.
pub(super) fn buffered_writes(case: &DoubtCase<'_>) -> Option<Doubt> {
    let (plan, step) = (case.plan?, case.step);
    let conditions = Conditions::of_step(plan, 1);
    let write = step.write.as_ref().filter(|_| conditions.memory_answers())?;
    let waits = conditions.fsync.get() == Some(1);
    let written: u64 = total(case.evidence.disks.iter().flat_map(|d| d.written_bytes.iter().copied()));
    let missing = 1.0 - written as f64 / write.bytes.0.max(1) as f64;
    // The counters of a stage are those of all its steps.
    let seen = !case.evidence.disks.is_empty() && case.others.is_empty() && write.bytes.0 > Bytes::MIB.0;
    let told = match missing {
        _ if waits => {
            "each write waited for its flush, but the reads went through the page cache, and those that memory holds never reach the disk".into()
        }
        m if seen && m > 0.01 => format!(
            "{:.0} % of the bytes written had not reached the disk when the step ended: they were in the page cache",
            m * 100.0
        ),
        _ => {
            "writes went through the page cache, and a write ends in memory: the rate is not that of the disk"
                .into()
        }
    };
    Some(Doubt::new(
        // The application whose load it is has its needs of the flushes.
        if plan.fsync > 0 && case.published { Severity::Warning } else { Severity::Blocker },
        codes::BUFFERED_WRITES,
        told,
        "use direct I/O (the default, without --buffered) to measure the volume",
    ))
}

/// A schedule was not kept, by the device (overload) or by the load threads.
pub(super) fn open_loop(case: &DoubtCase<'_>) -> Option<Doubt> {
    let step = case.step;
    let open = step.open_loop.as_ref()?;
    let p50 = step
        .directions()
        .filter_map(|(_, s)| s.response_latency_ns.as_ref()?.percentiles.get("50").copied())
        .min()
        .unwrap_or_default();
    if !open.sustained {
        return Some(Doubt::new(
            Severity::Warning,
            codes::OVERLOAD,
            format!(
                "{} I/Os a second were offered and {} completed, and {} waited at the end: the offered rate was not sustained",
                significant(open.offered_per_second),
                significant(open.achieved_per_second),
                grouped((open.backlog_per_second * step.window_ns.as_seconds()).round() as u64)
            ),
            "the rate is what the requests in flight came to, and the response times only say how long the run was: lower the rate to quote \
             them, or raise --iodepth to see whether the volume takes more",
        ));
    }
    // docs/method.md, "Closed and open loop": our own delay is at most 20 us or 5 % of the median response.
    let allowed = Nanos::micros(20).0.max(p50.0 / 20);
    (open.lag_p99_ns.0 > allowed).then(|| {
        Doubt::new(
            Severity::Warning,
            "generator-lag",
            format!("1 % of the I/Os started {} or more after their time although a slot was free", open.lag_p99_ns),
            "the machine, not the device, delayed them (CPU contention, timers): use more CPUs or a lower rate",
        )
    })
}

/// Ranges below this may lie in a cache of an elastic volume.
pub const SMALL_RANGE: Bytes = Bytes::gib(32);

/// The run is too short for a figure that is quoted.
pub(super) fn length(case: &DoubtCase<'_>) -> Option<Doubt> {
    if case.reported.is_some() {
        return length_of_report(&case.figures);
    }
    let (plan, step) = (case.plan?, case.step);
    let seconds = step.window_ns.as_seconds();
    let cut = step.window_ns.0 < plan.runtime.0 && !plan.ends_by_amount();
    (step.window_ns < LEAST_QUOTABLE && !is(step, EngineKind::Null)).then(|| {
        Doubt::new(
            Severity::Note,
            codes::SHORT_RUN,
            format!(
                "{} s were measured{}: bursts and cycles longer than that are not seen",
                significant(seconds),
                if cut { " of what was planned" } else { "" }
            ),
            "to quote a figure, measure 300 s or more: --runtime 5m",
        )
    })
}

/// A report of too short a run. ioping tells the time of its requests, and pauses between them.
fn length_of_report(s: &StepFigures) -> Option<Doubt> {
    let seconds = significant(s.window.filter(|w| *w < LEAST_QUOTABLE)?.as_seconds());
    let message = match s.program {
        ReportProgram::Ioping => format!(
            "the requests took {seconds} s in all, without the pauses between them: what happened in the pauses is not seen"
        ),
        _ => format!("{seconds} s were measured: bursts and cycles longer than that are not seen"),
    };
    let advice = format!("to quote a figure, measure {} s or more", RECOMMENDED.as_seconds());
    Some(Doubt::new(Severity::Note, codes::SHORT_RUN, message, advice))
}

/// The files lie on another machine.
pub(super) fn network_filesystem(case: &DoubtCase<'_>) -> Option<Doubt> {
    if is(case.step, EngineKind::Null) {
        return None;
    }
    let place = case.targets.iter().filter_map(|t| t.facts.place()).find(|place| place.is_remote())?;
    Some(Doubt::new(
        Severity::Warning,
        "network-filesystem",
        format!(
            "{} is on {}: the figures are those of the network and of the server too",
            place.path.display(),
            place.filesystem.as_deref().unwrap_or("a network filesystem")
        ),
        "run it at another time of day too, since others use network and server",
    ))
}

/// The load went over so little of the target that a cache may hold it.
pub(super) fn range(case: &DoubtCase<'_>) -> Option<Doubt> {
    if case.reported.is_some() {
        return range_of_report(&case.figures);
    }
    let (plan, step, targets) = (case.plan?, case.step, &case.targets);
    let least = targets.iter().min_by_key(|t| t.size_bytes)?;
    let target = least.size_bytes;
    // A file of the step's own is as large as the step says, whatever the target has.
    let own = plan.size.filter(|_| plan.file_state != FileState::Filled);
    let smallest = own.unwrap_or_else(|| plan.size.unwrap_or(target).min(target));
    let share = Spacing::of_step(plan).and_then(|spacing| spacing.used_share).unwrap_or(1.0);
    let used = Bytes((smallest.0 as f64 * share) as u64);
    if is(step, EngineKind::Null) {
        return None;
    }
    let touched: u64 = total(step.directions().map(|(_, s)| s.bytes.0)) / targets.len().max(1) as u64;
    // Each target has the load threads of all jobs.
    let requests = u64::from(plan.iodepth).saturating_mul(u64::from(plan.numjobs));
    let in_flight = Bytes(plan.largest_block().0.saturating_mul(requests));
    let (severity, why) = if used < in_flight {
        let why = format!("and {in_flight} are in flight at once, so that requests meet on the same blocks");
        (Severity::Warning, why)
    } else {
        (Severity::Note, "a cache on the way may hold part of it".into())
    };
    let advice = match &least.facts {
        _ if own.is_some() || smallest < target => "use a larger --size, or the whole device".into(),
        _ if least.is_test_file() => "use a larger --file-size, or the whole device".into(),
        Facts::Block(_) => "use more of the device, or a larger one".into(),
        _ => {
            let size = SMALL_RANGE.exact();
            format!("name a larger file, or a folder with --file-size {size}, or the whole device")
        }
    };
    (used < SMALL_RANGE && touched > used.0 / 2).then(|| {
        Doubt::new(severity, codes::SMALL_RANGE, format!("the load went over only {used}: {why}"), advice)
    })
}

/// The load of a report went over a range that a cache may hold.
fn range_of_report(s: &StepFigures) -> Option<Doubt> {
    let (range, bytes) = (s.used_range(None)?, s.bytes?);
    (range < SMALL_RANGE && bytes.0 > range.0 / 2).then(|| {
        Doubt::new(
            Severity::Note,
            codes::SMALL_RANGE,
            format!("the load moved {bytes} within only {range}: a cache on the way may hold part of it"),
            "use a larger file, or the whole device",
        )
    })
}

/// The hypervisor took CPU time away.
pub(super) fn steal(case: &DoubtCase<'_>) -> Option<Doubt> {
    let (plan, evidence) = (case.plan?, case.evidence);
    let share = evidence.steal_share();
    // A simulated device has a time of its own.
    (share > STOLEN && plan.simulate.is_none()).then(|| {
        let severity = if share > 0.05 { Severity::Blocker } else { Severity::Warning };
        Doubt::new(
            severity,
            codes::CPU_STEAL,
            format!("the host took {:.1} % of the CPU time away", share * 100.0),
            "latencies include the host's scheduling: repeat at another time or on dedicated CPUs",
        )
    })
}

/// A cgroup limit took CPU time away.
pub(super) fn quota(case: &DoubtCase<'_>) -> Option<Doubt> {
    let (plan, evidence) = (case.plan?, case.evidence);
    let periods = evidence.cgroup_throttled_periods.filter(|n| *n > 0 && plan.simulate.is_none())?;
    Some(Doubt::new(
        Severity::Blocker,
        codes::CPU_QUOTA,
        format!("our own cgroup was denied CPU time in {} (cpu.max)", counted(periods, "period")),
        "raise the CPU limit of the container: the load waited for it",
    ))
}

/// The log of single I/Os is not complete.
pub(super) fn trace(case: &DoubtCase<'_>) -> Option<Doubt> {
    let step = case.step;
    (step.trace_left_out_ios > 0).then(|| {
        Doubt::new(
            Severity::Warning,
            "log-incomplete",
            format!("the log of single I/Os lacks {} at its end", counted(step.trace_left_out_ios, "I/O")),
            "it may take 512 MiB of memory a step: log a shorter run, or averages over time",
        )
    })
}

/// The slowest I/O ended after the window and is in no percentile.
pub(super) fn drained(case: &DoubtCase<'_>) -> Option<Doubt> {
    let step = case.step;
    let longest = Direction::ALL
        .iter()
        .filter_map(|d| step.direction(*d))
        .map(|s| s.service_latency_ns.max)
        .max()
        .unwrap_or_default();
    (step.drained_max_ns > longest && step.drained_ios > 0).then(|| {
        Doubt::new(
            Severity::Note,
            "slow-at-the-end",
            format!(
                "the slowest I/O ({}) was still in flight when the window ended and is in no percentile",
                step.drained_max_ns
            ),
            "a longer run would include it",
        )
    })
}
