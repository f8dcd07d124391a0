//! Whether the load of a report could have reached the promise at all.

use super::claim::{Judge, figure};
use super::pass_of_reports;
use super::reach::{Reach, plenty};
use super::recommended_test::Shows;
use crate::catalogue::volume_promise::AtBlock;
use crate::record::StepFigures;
use crate::record::{Conditions, Metric, ReportProgram};
use crate::stats::little::{depth_needed, in_flight, rate_reachable};
use crate::unit::{Nanos, grouped, significant};

/// With less than this share of the requested depth in flight, the load did not fill the queue, and nobody knows what a full queue would
/// have given. The share is below 1 since latencies leave out the load's own work between two requests, and printing rounds them.
const BUSY: f64 = 0.9;

impl Judge<'_> {
    /// Why the depth could not have reached the rate, by Little's law at the volume's own latency. A report without latencies shows the mean
    /// time of a request alone, which a shallow queue may have set as well as the volume.
    pub(super) fn reach_of_figures(&self, s: &StepFigures, promised: &AtBlock) -> Option<Reach> {
        let iops = promised.iops;
        let command = self.better(Shows::Rate).unwrap_or_default();
        if let Some(reason) = held_back(self.conditions, s, iops) {
            return Some(Reach { reason, command });
        }
        let least = iops * (1.0 - self.judged_promise.tolerance);
        if let Some(reason) = s.iops.and_then(|x| self.each_counted(s, x, least, promised)) {
            return Some(Reach { reason, command });
        }
        let flushing = s.flushes.map_or(0.0, |flushes| self.flushes_of_each(s) * flushes.mean_ns);
        if let Some(reason) = half_empty(s, flushing, least) {
            return Some(Reach { reason, command });
        }
        if let Some(reason) = waits_to_submit(s) {
            return Some(Reach { reason, command });
        }
        if s.in_flight.is_none() && s.asked.is_none() && s.mean_ns.is_none() {
            let reason = "the report tells neither how many requests were in flight nor how long they took"
                .to_string();
            return Some(Reach { reason, command });
        }
        // What a ramp cuts off of the first and last requests is missing in their latencies, and not in the queue.
        let s = &StepFigures { in_flight: s.asked.filter(|_| flushing == 0.0).or(s.in_flight), ..s.clone() };
        let plenty = plenty(self.judged_promise, promised);
        let shallow = s.asked.filter(|asked| *asked < plenty as f64);
        let by_rate = || Some(Nanos((shallow? / s.iops? * 1e9) as u64)).filter(|_| s.mean_ns.is_none());
        let own = s.mean_ns.map(|mean| Nanos(mean as u64));
        let with_flushes = |own: Nanos| Nanos(own.0.saturating_add(flushing as u64));
        let own = with_flushes(own.or_else(by_rate)?);
        let depth = s.in_flight.or(s.asked.filter(|_| flushing > 0.0))?.round().max(1.0) as u64;
        if depth >= depth_needed(iops, own) {
            return None;
        }
        // Little's law holds for means alone.
        let mean = s.mean_ns.map_or(own, |mean| with_flushes(Nanos(mean as u64)));
        let reason = format!(
            "{depth} in flight at {mean} each in the mean{} reach {} IOPS by Little's law; {} IOPS need {} at that latency",
            if flushing > 0.0 { ", flushes included," } else { "" },
            grouped(rate_reachable(depth, mean).unwrap_or(0.0).round() as u64),
            grouped(iops.round() as u64),
            depth_needed(iops, mean).max(depth + 1)
        );
        Some(Reach { reason, command })
    }
}

/// Why the depth may not have been there, in words: the thread waited in the call that submits, as it does through the page cache.
fn waits_to_submit(s: &StepFigures) -> Option<String> {
    let share = s.waits_to_submit.filter(|_| s.direct.is_none() && s.asked > Some(1.0))?;
    Some(format!(
        "the load threads waited in the call that submits (slat) for {} % of the time, as they do through the page cache, where one I/O follows the \
         other: the report does not show whether direct was set",
        significant(100.0 * share.min(1.0))
    ))
}

/// How the load kept itself below a rate, whatever the volume can do, in words.
pub(super) fn held_back(conditions: &Conditions, s: &StepFigures, iops: f64) -> Option<String> {
    if let Some(offered) = s.offered.filter(|offered| *offered < iops) {
        return Some(format!("only {} I/Os a second were asked for", figure(Metric::Iops, offered)));
    }
    if let Some(pauses) = s.pauses.as_ref().filter(|_| s.mean_ns.is_none()) {
        return Some(format!(
            "the load paused between its I/Os ({pauses}), and the report tells no latency of them"
        ));
    }
    if let Some(reason) = low_priority(conditions) {
        return Some(reason);
    }
    let serial = conditions.engine.as_ref().is_some_and(|engine| engine == "posixaio");
    if serial && s.asked.is_some_and(|asked| asked > 1.0) {
        return Some(
            "posixaio works on one request of a file at a time, however many are in flight (glibc's aio_misc.c): libaio or io_uring may give more"
                .into(),
        );
    }
    s.drained_queue.as_ref().map(|queue| {
        format!(
            "the load let its queue drain to {} before it filled it again ({}): a full queue may give more",
            queue.left, queue.option
        )
    })
}

/// Why slow I/Os may be no fault of the volume, in words: the system serves others first.
pub(super) fn low_priority(conditions: &Conditions) -> Option<String> {
    let priority = conditions.low_priority.as_ref()?;
    Some(format!(
        "the I/Os had a low priority ({priority}), with which the system holds them back for others: run it with the usual one"
    ))
}

/// Why nobody knows whether the queue was full, in words: no latencies, and fewer requests at the disk than were asked for, or nothing that tells how
/// the load was held.
fn unknown_queue(s: &StepFigures) -> Option<String> {
    let asked = s.asked.filter(|asked| *asked > 1.0)?;
    let at_disk = s.disk_time.zip(s.counted.or(s.window)).filter(|(_, time)| time.0 > 0);
    match at_disk.map(|(disk, time)| disk.total.0 as f64 / time.0 as f64) {
        Some(n) if n < BUSY * asked => Some(format!(
            "the report has no latencies, and the disk had {} of {} requests at a time by its own counters: the load may have held itself back",
            significant(n),
            significant(asked)
        )),
        // Other tools have no options that hold a load back and that their reports do not show.
        None if !s.pace_known && s.program == ReportProgram::Fio => Some(
            "the report shows neither latencies nor the options of the load: whether it kept its queue full is not known".into(),
        ),
        _ => None,
    }
}

/// How far the load left its queue empty, in words: with I/Os and flushes together fewer requests were in flight than were asked for, and pauses that
/// the load made hide whether a full queue does `least` I/Os a second. `flushing`: the time of flushes behind each I/O, nanoseconds.
pub(super) fn half_empty(s: &StepFigures, flushing: f64, least: f64) -> Option<String> {
    let Some(mean) = s.mean_ns else { return unknown_queue(s) };
    let busy = in_flight(s.iops?, mean + flushing);
    // Requests that waited for the end of a stall may be missing among the latencies.
    let asked = s.asked? * (1.0 - pass_of_reports::longest_share(s));
    // A full queue gives no more than all its requests at the same latency.
    let full = s.iops? * (asked / busy).max(1.0);
    let pauses = s.pauses.as_ref();
    (busy < BUSY * asked || pauses.is_some() && full >= least).then(|| {
        format!(
            "only {} of {} requests were in flight on average: the load held itself back{}",
            significant(busy),
            significant(s.asked.unwrap_or_default()),
            pauses.map_or(String::new(), |pauses| format!(" ({pauses})"))
        )
    })
}
