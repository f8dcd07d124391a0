//! The figures may not be those of the volume, or not of this run alone: reads that never reached it, others on the disk, requests
//! that were split or merged, a run or a range too small.

use super::{Confidence, DiagnosisCase, DirectionCounts, Finding, Summary};
use crate::codes;
use crate::doubt::Severity;
use crate::record::{ReportProgram, ReportedDevice, StepRecord};
use crate::stats::lapses::Lapse;
use crate::stats::{LEAST_QUOTABLE, RECOMMENDED};
use crate::unit::{Bytes, Nanos, grouped, significant, total};

/// Ranges below this may lie in a cache of an elastic volume.
pub const SMALL_RANGE: Bytes = Bytes::gib(32);

/// More requests than this for each I/O come from others, unless I/Os were split.
const MORE_REQUESTS: f64 = 1.5;
/// The same share of a rate, where the time of the disk's counters is known.
const MORE_OF_A_RATE: f64 = 0.05;
/// Requests of the other direction for each of the load, beyond which they are no filesystem's own.
const MOST_OF_OTHERS: f64 = 0.02;
/// Up to this many requests and merges for each I/O come from the I/Os: filesystems add a few.
const OWN_REQUESTS: f64 = 1.05;
/// Requests of at most this size are never split.
const UNSPLIT: Bytes = Bytes::kib(4);

/// fio reads the disk's counters for the last time at most so many seconds before the end: it reads them four times a second, and late where
/// its thread waits for a CPU (0.5 s were seen).
const COUNTERS_EARLY: f64 = 0.6;

/// The finding that a doubt of the Record makes.
fn from_doubt(
    case: &DiagnosisCase<'_>,
    code: &str,
    confidence: Confidence,
    headline: &str,
) -> Option<Finding> {
    let run = case.run?;
    let here = |step: &Option<String>| step.as_ref().is_none_or(|s| *s == run.step.name);
    let doubt = run.doubts.iter().find(|w| w.code == code && here(&w.step))?;
    let mut finding =
        Finding::new(code, confidence, headline, doubt.advice.clone()).because(doubt.message.clone());
    finding.blocks = doubt.severity == Severity::Blocker;
    finding.doubt = Some(code.into());
    Some(finding)
}

/// Blocks that were never written are answered without the medium.
///
/// `proven`: the filesystem's map of the file, synced before, has no blocks there.
pub fn unwritten(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let reads = case.summary.reads?;
    from_doubt(
        case,
        codes::UNWRITTEN_BLOCKS,
        Confidence::Proven,
        "Part of what was read was never written, and does not come from the medium.",
    )
    .filter(|_| reads)
}

/// Reads that the disk never saw.
///
/// `proven` for reads through the page cache that the disk did not count. `likely` for direct reads: they may have gone to a disk of the
/// stack whose counters were not read. At most `likely` for a report, whose counters are of another moment.
pub fn from_memory(case: &DiagnosisCase<'_>) -> Option<Finding> {
    const WORDS: &str = "Part of the reads came from memory, not from the disk.";
    if case.run.is_some() {
        let cached = case.summary.direct == Some(false);
        let confidence = if cached { Confidence::Proven } else { Confidence::Likely };
        return from_doubt(case, codes::READS_FROM_MEMORY, confidence, WORDS);
    }
    let s = &case.summary;
    missing_reads(s).map(|(missing, evidence)| {
        // Another tool read the counters, at a moment of its own: they prove nothing by themselves.
        let (confidence, advice) = match s.direct {
            Some(true) => (
                Confidence::Possible,
                "measure 300 s or more on a range that was written before: direct=1 was set, so that only blocks without data or counters of another moment explain it",
            ),
            Some(false) => {
                (Confidence::Likely, "use direct I/O (direct=1) on a range that was written before")
            }
            None => (
                Confidence::Possible,
                "make sure that direct=1 was set and that the range was written before",
            ),
        };
        let words = match confidence {
            Confidence::Possible => "Part of the reads may have come from memory, not from the disk.",
            _ => WORDS,
        };
        let finding = Finding::new(codes::READS_FROM_MEMORY, confidence, words, advice)
            .because(evidence)
            .number("missing_share", missing);
        if s.direct == Some(true) { finding } else { finding.blocking() }
    })
}

/// The share of a report's reads that the disk's counters lack, and the counts in words. None where the reads of the last moments explain it.
pub fn missing_reads(s: &Summary) -> Option<(f64, String)> {
    missing_from_disk(s, s.read_counts, "reads", 0.0).filter(|_| s.reads == Some(true))
}

/// The counts, if the ramp did as many reads a second as the run: the disk counted those too, and they may stand for reads of the run that it never saw.
/// A slower ramp leaves more for the run, and no report tells how fast it was.
pub fn reads_in_doubt(s: &Summary) -> Option<String> {
    let missing = missing_from_disk(s, s.read_counts, "reads", of_the_ramp(s));
    missing.filter(|_| s.reads == Some(true)).map(|(_, told)| told)
}

/// The counts of a report's flushes and of the disk's writes, in words, where some flushes have no write before them: each stands behind a write of its
/// job, and those of several jobs may go to the disk together.
pub fn missing_flushes(s: &Summary, flushes: f64, disk: &ReportedDevice) -> Option<String> {
    let together = s.jobs.unwrap_or(1.0).max(1.0);
    let writes = (disk.writes.ios + disk.writes.merges) as f64;
    let missing = 1.0 - writes * together / flushes.max(f64::MIN_POSITIVE);
    (missing > uncounted(s)).then(|| {
        format!(
            "the disk completed {} writes for {} flushes",
            grouped(writes as u64),
            grouped(flushes as u64)
        )
    })
}

/// The share of the requests that the disk's counters of a report may lack: tools read them a moment before the end.
fn uncounted(s: &Summary) -> f64 {
    match s.window.map(Nanos::as_seconds) {
        Some(t) if t > 0.0 => (COUNTERS_EARLY / t).max(0.05),
        _ => 0.05,
    }
}

/// The counts of writes that the disk's counters lack, or may lack with those of a ramp, in words: the page cache holds those of a filesystem that takes
/// no direct ones.
pub fn missing_writes(s: &Summary) -> Option<String> {
    let writes = s.write_counts.is_some() || s.reads == Some(false);
    let missing = |ramp| missing_from_disk(s, s.write_counts, "writes", ramp);
    let (_, told) = missing(0.0).or_else(|| missing(of_the_ramp(s)))?;
    (writes && s.direct != Some(false)).then_some(told)
}

/// The I/Os of the ramp for each of the run, if it was as fast.
fn of_the_ramp(s: &Summary) -> f64 {
    let (Some(counted), Some(window)) = (s.counted, s.window.filter(|w| w.0 > 0)) else { return 0.0 };
    counted.0 as f64 / window.0 as f64 - 1.0
}

/// `counts`: those of the direction, where it is counted apart. `ramp`: what of a ramp is among the disk's counters, for each I/O of the run.
fn missing_from_disk(
    s: &Summary,
    counts: Option<DirectionCounts>,
    direction: &str,
    ramp: f64,
) -> Option<(f64, String)> {
    let all = counts.or_else(|| {
        let moved = s.bytes_per_second.zip(s.window).map(|(rate, t)| rate * t.as_seconds());
        Some(DirectionCounts { ios: s.ios?, bytes: moved, device: s.device? })
    });
    let DirectionCounts { ios, bytes: moved, device } = all?;
    // Of I/Os of several sizes only the large ones may be split, so that bytes are compared and not counts.
    let bytes = device.bytes.zip(moved).filter(|_| s.block.is_none());
    let (seen, evidence) = match bytes {
        Some((seen, moved)) if moved > 0.0 => {
            (seen / moved, format!("the disk moved {} of {}", Bytes(seen as u64), Bytes(moved as u64)))
        }
        _ => (
            (device.ios + device.merges) / ios,
            format!(
                "the disk completed {} of {} {direction}",
                significant(device.ios + device.merges),
                significant(ios)
            ),
        ),
    };
    let missing = (1.0 + ramp - seen).min(1.0);
    (missing > uncounted(s)).then(|| {
        let share = significant(missing * 100.0);
        let told = match ramp > 0.0 {
            true => format!(
                "{evidence}, those of its ramp among them: as fast as the run, the ramp leaves {share} % that are not among its counters"
            ),
            false => format!("{evidence}: {share} % are not among its counters"),
        };
        (missing, told)
    })
}

/// Our own CPU quota.
///
/// `proven`: the kernel counted the periods in which it denied CPU time. The finding does not say how much rate that cost.
pub fn cpu_quota(case: &DiagnosisCase<'_>) -> Option<Finding> {
    from_doubt(
        case,
        codes::CPU_QUOTA,
        Confidence::Proven,
        "Our own cgroup was denied CPU time, and the load waited for it.",
    )
}

/// io_uring handed requests to threads.
///
/// `proven`: their CPU time was counted. The finding does not say how much rate that cost.
pub fn io_wq(case: &DiagnosisCase<'_>) -> Option<Finding> {
    from_doubt(
        case,
        codes::IO_WQ,
        Confidence::Proven,
        "Requests went through kernel threads (io-wq), which cost CPU time and latency.",
    )
}

/// The number of requests for each I/O is as expected within this share, which the edges of the window explain.
const SAME_NUMBER: f64 = 0.02;
/// A multiple within this distance of a whole number counts as whole.
const WHOLE: f64 = 0.05;

/// Somebody else uses the disk.
///
/// `proven` where a reading step saw writes beyond those that reading causes (`other_traffic` of `doubts`): volproof wrote nothing.
/// Otherwise `likely`: the filesystem itself may have caused the bytes that are not ours.
pub fn other_traffic(case: &DiagnosisCase<'_>) -> Option<Finding> {
    const WORDS: &str = "Something else used the disk at the same time.";
    if case.run.is_none() {
        return of_counts(case);
    }
    let written = from_doubt(case, codes::OTHER_TRAFFIC, Confidence::Proven, WORDS);
    let Some(beyond) = beyond_ours(case) else {
        let share = |step: &StepRecord| {
            let all = total(step.evidence.disks.iter().flat_map(|d| d.written_bytes.iter().copied()));
            Some(all as f64 / step.read.as_ref()?.bytes.0 as f64)
        };
        let share = case.run.and_then(|run| share(run.step));
        return written.map(|found| {
            share.into_iter().fold(found, |found, s| found.number(codes::figure::OTHER_SHARE, s))
        });
    };
    let found = written.unwrap_or_else(|| {
        Finding::new(
            codes::OTHER_TRAFFIC,
            Confidence::Likely,
            WORDS,
            "stop it (a filesystem's journal, a snapshot, another process): without it the rate is this or more, and latencies are these or less",
        )
    });
    let evidence = format!(
        "the disk's counters show {} moved, {} of it ours: {} % more",
        Bytes(beyond.device as u64),
        Bytes(beyond.ours as u64),
        significant(beyond.share() * 100.0)
    );
    Some(found.because(evidence).number(codes::figure::OTHER_SHARE, beyond.share()))
}

/// Bytes that the disk moved, more than the load accounts for.
struct BeyondOurs {
    device: f64,
    ours: f64,
}

impl BeyondOurs {
    fn share(&self) -> f64 {
        self.device / self.ours - 1.0
    }
}

fn beyond_ours(case: &DiagnosisCase<'_>) -> Option<BeyondOurs> {
    let run = case.run.filter(|r| r.real() && r.plan.direct)?;
    let s = &case.summary;
    let seconds = run.step.window_ns.as_seconds();
    let moved = BeyondOurs { device: s.device?.bytes?, ours: s.bytes_per_second? * seconds };
    // The samples of the counters and our window may differ by a tenth of a second at both ends.
    let allowed = 0.02 + 0.2 / seconds;
    (moved.share() > allowed && moved.device - moved.ours > 4.0 * Bytes::MIB.0 as f64).then_some(moved)
}

/// The largest number of requests of which an I/O of a size may consist: one for each page.
pub fn most_parts(block: Bytes) -> f64 {
    (block.0 as f64 / UNSPLIT.0 as f64).max(1.0)
}

/// From a report: what the load did not ask for, or more requests than the I/Os can have been split into.
fn of_counts(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let s = &case.summary;
    if let Some(found) = other_direction(s) {
        return Some(found);
    }
    let (device, ios) = (s.device?, s.ios?);
    let each = (device.ios + device.merges) / ios;
    let others = beside_the_rate(s);
    let more = each > MORE_REQUESTS && each > most_parts(s.block?) || others.is_some();
    (more && s.flushes.is_none()).then(|| {
        let found = Finding::new(
            codes::OTHER_TRAFFIC,
            Confidence::Likely,
            "The disk did more than these I/Os: something else used it at the same time.",
            "stop it (another job or process, a filesystem's journal): without it the rate is this or more, and latencies are these or less",
        );
        let share = others.filter(|_| each <= MORE_REQUESTS);
        let found = share.into_iter().fold(found, |found, share| found.number(codes::figure::OTHER_SHARE, share));
        found.because(format!(
            "the disk completed {} requests while {} I/Os were done, which are too small to be split into so many",
            significant(device.ios),
            significant(ios)
        ))
        .number("requests_per_io", each)
    })
}

/// Requests of others as a share of the load's, where the disk's counters cover a known time and none of the load's I/Os can be split.
fn beside_the_rate(s: &Summary) -> Option<f64> {
    let (device, counted, window) = (s.device?, s.counted?, s.window?);
    let whole = most_parts(s.block?) <= 1.0 && s.direct == Some(true);
    let share = device.ios / counted.as_seconds() / (s.ios? / window.as_seconds()) - 1.0;
    (whole && share.is_finite() && share > MORE_OF_A_RATE).then_some(share)
}

/// From a report: the disk did what this load did not, reads beside writes or writes beside reads. The journal of a filesystem does little.
fn other_direction(s: &Summary) -> Option<Finding> {
    let (others, ios) = (s.other_direction?, s.ios.filter(|ios| *ios > 0.0)?);
    let ours = s.bytes_per_second.zip(s.window).map(|(rate, window)| rate * window.as_seconds());
    let by_bytes = others.bytes.zip(ours).map_or(0.0, |(others, ours)| others / ours);
    let share = (others.ios / ios).max(by_bytes);
    let (did, load) = if s.reads == Some(true) { ("write", "read") } else { ("read", "write") };
    (share > MOST_OF_OTHERS && others.ios > 0.0).then(|| {
        Finding::new(
            codes::OTHER_TRAFFIC,
            Confidence::Likely,
            format!("The load only {load}s, and the disk {did}s too: something else used it at the same time."),
            "stop it (another job or process, a filesystem's journal): without it the rate is this or more, and latencies are these or less",
        )
        .because(format!(
            "the disk completed {} {did}s beside the {} {load}s of the load",
            significant(others.ios),
            significant(ios)
        ))
        .number(codes::figure::OTHER_SHARE, share)
    })
}

/// Each I/O becomes several requests.
///
/// `proven` where the disk moved our bytes alone and completed as many requests as the kernel's limit of one (max_sectors_kb) makes of our
/// I/Os: requests of other processes would come on top. With more requests than that, `likely`: memory in many pieces is split further, and
/// small requests of others hardly show in the bytes. Without a limit that explains it, `likely` where the number is a whole multiple.
pub fn splits(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let s = &case.summary;
    let (device, ios, block) = (s.device?, s.ios?, s.block?);
    let each = (device.ios + device.merges) / ios;
    if each <= MORE_REQUESTS || each > most_parts(block) || beyond_ours(case).is_some() {
        return None;
    }
    let limit =
        case.run.and_then(|r| r.step.evidence.queues.iter().filter_map(|q| q.max_request_bytes).max());
    let limit = limit.filter(|l| l.0 > 0 && *l < block);
    let parts = limit.map(|l| block.0.div_ceil(l.0) as f64);
    let near = |n: f64| (each / n - 1.0).abs() < SAME_NUMBER;
    let (confidence, becomes) = match parts {
        Some(n) if near(n) => (Confidence::Proven, significant(each)),
        Some(n) if each > n => (Confidence::Likely, format!("{} or more", significant(n))),
        _ if near(each.round()) && (each - each.round()).abs() < WHOLE => {
            (Confidence::Likely, significant(each))
        }
        _ => return None,
    };
    let finding = Finding::new(
        codes::SPLITS,
        confidence,
        format!("Each I/O of {block} becomes {becomes} requests at the disk."),
        "compare IOPS at the disk with the promise, or use blocks no larger than max_sectors_kb",
    )
    .because(format!("the disk completed {} requests for {} I/Os", significant(device.ios), significant(ios)))
    .number("requests_per_io", each);
    Some(match limit {
        Some(l) => finding.because(format!("the kernel splits what is larger than {l} (max_sectors_kb)")),
        None => finding,
    })
}

/// Several I/Os become one request.
///
/// `proven` where more were merged than the few per cent of requests that may be others': requests and merges together are our I/Os.
pub fn merges(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let s = &case.summary;
    let (device, ios) = (s.device?, s.ios?);
    let share = device.merges / ios;
    // Others caused some of the requests where requests and merges exceed our I/Os; and as many requests as I/Os show no merge.
    let own = device.ios < ios && device.ios + device.merges <= OWN_REQUESTS * ios;
    let more_than_others = share > 2.0 * (OWN_REQUESTS - 1.0) && case.run.is_some();
    (share > 0.01 && own).then(|| {
        Finding::new(
            codes::MERGES,
            if more_than_others { Confidence::Proven } else { Confidence::Likely },
            format!(
                "{} % of the I/Os were merged: the disk did fewer, larger requests.",
                significant(share * 100.0)
            ),
            match s.random {
                Some(true) => "compare the disk's own IOPS with the promise; nomerges=2 shows single requests",
                _ => "compare the disk's own IOPS with the promise; random offsets or nomerges=2 show single requests",
            },
        )
        .because(format!(
            "{} merges for {} I/Os, {} requests at the disk",
            significant(device.merges),
            significant(ios),
            significant(device.ios)
        ))
        .number("merged_share", share)
    })
}

/// Blocks that are fetched from a snapshot when they are first read.
///
/// `possible` at most: any slow start that ends little by little looks alike. A stall, a burst, a change of level and a throttle
/// are excluded: the rate must rise from fifth to fifth, and nothing may have stood still.
pub fn lazy_loading(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let run = case.run.filter(|r| r.step.write.is_none())?;
    let s = &case.summary;
    let at = |share: f64| s.percentiles.iter().find(|p| p.0 == share).map(|p| p.1);
    let (middle, tail) = (at(0.5)?, at(0.99)?);
    let seconds = crate::stats::rate::per_second(&super::summary::bins(run.step, false));
    if seconds.len() < 10
        || tail < Nanos::millis(50)
        || tail.0 < 20 * middle.0
        || super::throttle::TokenBucket::of(s).is_some()
        || run.lapses.iter().any(|e| e.lapse != Lapse::SlowStart)
    {
        return None;
    }
    let fifth = seconds.len() / 5;
    let rates: Vec<f64> =
        seconds.chunks_exact(fifth).take(5).map(|c| c.iter().sum::<u64>() as f64 / fifth as f64).collect();
    let (first, last) = (rates[0], rates[4]);
    // A step from one level to another leaves at most one fifth in between.
    let between = rates[1..4]
        .iter()
        .filter(|r| **r > first + 0.1 * (last - first) && **r < last - 0.1 * (last - first));
    (last > 1.2 * first && between.count() >= 2 && rates.is_sorted()).then(|| {
        Finding::new(
            codes::LAZY_LOADING,
            Confidence::Possible,
            "Reads became faster little by little, as with a volume that loads from a snapshot.",
            "read the whole volume once (128 KiB blocks at depth 32), then test again",
        )
        .because(format!(
            "the last fifth of the run did {}/s, the first {}/s",
            significant(last),
            significant(first)
        ))
        .because(format!("1 % of the reads took {tail} or more, the median {middle}"))
    })
}

/// A range that a cache can hold. `possible`: no evidence shows that a cache answered.
pub fn small_range(case: &DiagnosisCase<'_>) -> Option<Finding> {
    const WORDS: &str = "The load went over a small range: a cache on the way may hold part of it.";
    if case.run.is_some() {
        return from_doubt(case, codes::SMALL_RANGE, Confidence::Possible, WORDS);
    }
    let s = &case.summary;
    let (range, bytes) = (s.used_range(None)?, s.bytes?);
    (range < SMALL_RANGE && bytes.0 > range.0 / 2).then(|| {
        Finding::new(
            codes::SMALL_RANGE,
            Confidence::Possible,
            WORDS,
            "use a larger file, or the whole device",
        )
        .because(format!("{bytes} were moved within {range}"))
    })
}

/// Too short to quote.
///
/// `proven`: the length is a fact of the run.
pub fn too_short(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let window = case.summary.window.filter(|w| *w < LEAST_QUOTABLE)?;
    if let Some(finding) = done_within_the_ramp(case) {
        return Some(finding);
    }
    let seconds = significant(window.as_seconds());
    // ioping tells the time of its requests, and pauses between them.
    let (words, seen) = match case.summary.program {
        ReportProgram::Ioping => (
            format!("{seconds} s of requests are too short to quote a figure from."),
            format!(
                "the requests took {seconds} s in all, without the pauses between them: what happened in the pauses is not seen"
            ),
        ),
        _ => (
            format!("{seconds} s are too short to quote a figure from."),
            format!("{seconds} s were measured; bursts and cycles longer than that are not seen"),
        ),
    };
    let advice = format!("measure {} s or more", RECOMMENDED.as_seconds());
    let mut finding = Finding::new(codes::TOO_SHORT, Confidence::Proven, words, advice).because(seen);
    if case.run.is_some_and(|r| r.doubts.iter().any(|w| w.code == codes::SHORT_RUN)) {
        finding.doubt = Some(codes::SHORT_RUN.into());
    }
    Some(finding)
}

/// A step that ends with its amount of I/O, all of it before the measurement begins.
fn done_within_the_ramp(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let plan = &case.run?.plan;
    let amount = plan.io_size.filter(|_| case.summary.ios.is_none_or(|n| n == 0.0) && plan.ramp.0 > 0)?;
    let words = format!(
        "All that was asked for ({amount}) was done within the ramp of {}: nothing was measured.",
        plan.ramp
    );
    let advice = "ask for more (--io-size), or for a shorter --ramp";
    Some(
        Finding::new(codes::TOO_SHORT, Confidence::Proven, words, advice)
            .because("no I/O completed after the ramp"),
    )
}
