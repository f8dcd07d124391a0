//! The figures of a row of fio as the rules want them: one run, all its directions together.

use std::collections::BTreeMap;

use super::conditions::Conditions;
use crate::diagnose::{Band, DeviceCounts, Flushes, Promised, Summary};
use crate::fio::output::{BELOW, BELOW_MS, Disk, Job, Latency, Output, Stats};
use crate::record::Claimed;
use crate::sample::Direction;
use crate::unit::{Bytes, Nanos};

/// Polling engines keep a CPU busy whatever the volume does.
const POLLING: [&str; 5] = ["hipri", "sqthread_poll", "hipri_percentage", "spdk", "iopoll"];

/// Rows that ran the same job at the same time (`numjobs` without `group_reporting`) are one row.
///
/// Percentiles of several jobs do not add up and are left out, unless their bins are there, which do.
pub fn merged(rows: &[&Job]) -> Job {
    let Some((first, rest)) = rows.split_first() else { return Job::default() };
    let mut all = (*first).clone();
    if rest.is_empty() {
        return all;
    }
    all.members = rows.iter().map(|j| j.members.max(1)).sum();
    let weight = |j: &Job| moved_ios(j).max(1.0);
    let total: f64 = rows.iter().map(|j| weight(j)).sum();
    for d in [Direction::Read, Direction::Write, Direction::Trim] {
        let parts: Vec<&Stats> = rows.iter().filter_map(|j| j.directions[d].as_ref()).collect();
        all.directions[d] = (!parts.is_empty()).then(|| stats(&parts));
    }
    let parts: Vec<&Stats> = rows.iter().filter_map(|j| j.mixed.as_ref()).collect();
    all.mixed = (!parts.is_empty()).then(|| stats(&parts));
    fn mean<const N: usize>(
        rows: &[&Job],
        total: f64,
        weight: impl Fn(&Job) -> f64,
        of: impl Fn(&Job) -> Option<[f64; N]>,
    ) -> Option<[f64; N]> {
        let mut sum = [0.0; N];
        for job in rows {
            let part = of(job)?;
            sum.iter_mut().zip(part).for_each(|(s, p)| *s += p * weight(job) / total);
        }
        Some(sum)
    }
    all.latency_ns = mean(rows, total, weight, |j| j.latency_ns);
    all.latency_us = mean(rows, total, weight, |j| j.latency_us);
    all.latency_ms = mean(rows, total, weight, |j| j.latency_ms);
    all.depth = mean(rows, total, weight, |j| j.depth);
    if let Some(cpu) = &mut all.cpu {
        let of = |pick: &dyn Fn(&Job) -> f64| rows.iter().map(|j| pick(j)).fold(0.0, f64::max);
        cpu.user = of(&|j| j.cpu.map_or(0.0, |c| c.user));
        cpu.system = of(&|j| j.cpu.map_or(0.0, |c| c.system));
    }
    let syncs: Option<Vec<(f64, &Latency)>> =
        rows.iter().map(|j| Some((j.sync_ios? as f64, j.sync.as_ref()?))).collect();
    all.sync =
        syncs.map(|all| Latency { samples: Some(all.iter().map(|s| s.0 as u64).sum()), ..of_all(&all) });
    all.sync_ios = rows.iter().map(|j| j.sync_ios).sum();
    all.impossible = rows.iter().flat_map(|j| &j.impossible).cloned().collect();
    all.error = rows.iter().map(|j| j.error).find(|e| *e != 0).unwrap_or(0);
    all
}

fn stats(parts: &[&Stats]) -> Stats {
    let ios = parts.iter().map(|s| s.ios).sum::<Option<u64>>();
    let latency = |pick: &dyn Fn(&Stats) -> Option<&Latency>| {
        let all: Vec<(f64, &Latency)> =
            parts.iter().filter_map(|s| Some((s.ios.unwrap_or(1) as f64, pick(s)?))).collect();
        (all.len() == parts.len()).then(|| of_all(&all))
    };
    Stats {
        bytes: Bytes(parts.iter().map(|s| s.bytes.0).sum()),
        bytes_per_second: parts.iter().map(|s| s.bytes_per_second).sum(),
        iops: parts.iter().map(|s| s.iops).sum(),
        runtime: parts.iter().map(|s| s.runtime).max().unwrap_or_default(),
        ios,
        short: parts.iter().map(|s| s.short).sum(),
        dropped: parts.iter().map(|s| s.dropped).sum(),
        slat: None,
        clat: latency(&|s| s.clat.as_ref()),
        lat: latency(&|s| s.lat.as_ref()),
        ..Stats::default()
    }
}

fn of_all(parts: &[(f64, &Latency)]) -> Latency {
    let total: f64 = parts.iter().map(|p| p.0).sum();
    let mean = parts.iter().map(|(n, l)| n * l.mean).sum::<f64>() / total.max(1.0);
    let mut bins: BTreeMap<Nanos, u64> = BTreeMap::new();
    let complete = parts.iter().all(|(_, l)| !l.bins.is_empty());
    for (at, n) in parts.iter().flat_map(|(_, l)| &l.bins).filter(|_| complete) {
        *bins.entry(*at).or_default() += n;
    }
    let percentiles = parts.first().map(|(_, l)| l.percentiles.as_slice()).unwrap_or_default();
    let bins: Vec<(Nanos, u64)> = bins.into_iter().collect();
    Latency {
        min: parts.iter().map(|(_, l)| l.min).min().unwrap_or_default(),
        max: parts.iter().map(|(_, l)| l.max).max().unwrap_or_default(),
        mean,
        deviation: 0.0,
        samples: None,
        percentiles: percentiles
            .iter()
            .filter_map(|(p, _)| Some((*p, quantile(&bins, p / 100.0)?)))
            .collect(),
        bins,
    }
}

/// The bin that a share of all does not exceed.
fn quantile(bins: &[(Nanos, u64)], share: f64) -> Option<Nanos> {
    let wanted = share * bins.iter().map(|b| b.1 as f64).sum::<f64>();
    let mut sum = 0.0;
    bins.iter()
        .find(|(_, n)| {
            sum += *n as f64;
            sum >= wanted
        })
        .map(|b| b.0)
}

/// Directions that moved something, or the mix.
pub fn parts(job: &Job) -> Vec<(&'static str, &Stats)> {
    let apart: Vec<_> = job.moved().map(|(d, s)| (d.name(), s)).collect();
    match (&job.mixed, apart.is_empty()) {
        (Some(mixed), true) => vec![("reads and writes", mixed)],
        _ => apart,
    }
}

/// I/Os of all directions.
pub fn moved_ios(job: &Job) -> f64 {
    parts(job).iter().map(|(_, s)| ios(s)).sum()
}

fn ios(s: &Stats) -> f64 {
    s.ios.map_or(s.iops * s.runtime.as_seconds(), |n| n as f64)
}

/// Total latency, or that of completion where only that was taken.
pub fn latency(s: &Stats) -> Option<&Latency> {
    [&s.lat, &s.clat].into_iter().flatten().find(|l| l.samples != Some(0) && l.max.0 > 0)
}

/// The table of percentiles, of total latency or of completion.
pub fn percentiles(s: &Stats) -> &[(f64, Nanos)] {
    let tables = [&s.lat, &s.clat].into_iter().flatten().map(|l| l.percentiles.as_slice());
    tables.into_iter().find(|p| !p.is_empty()).unwrap_or_default()
}

/// The figures of a row. `alone`: it is the only row of its report, so that the disk's counters are its own.
pub fn summary(
    output: &Output,
    job: &Job,
    conditions: &Conditions,
    claimed: Option<&Claimed>,
    alone: bool,
) -> Summary {
    let parts = parts(job);
    let seconds = parts.iter().map(|(_, s)| s.runtime).max().unwrap_or_default();
    // Whole I/Os over whole milliseconds are finer than the rate as text has it.
    let rate = |s: &Stats| match (s.ios, s.runtime.as_seconds()) {
        (Some(n), t) if t > 0.0 && n > 0 => n as f64 / t,
        _ => s.iops,
    };
    // What moved has a rate: where one is not told, neither is the sum.
    let sum = |of: &dyn Fn(&Stats) -> f64| -> f64 {
        let all: Option<f64> = parts.iter().map(|(_, s)| Some(of(s)).filter(|x| *x > 0.0)).sum();
        all.unwrap_or(0.0)
    };
    let (iops, bytes) = (sum(&rate), sum(&|s| s.bytes_per_second));
    let total = moved_ios(job);
    let latencies: Vec<(f64, &Latency)> =
        parts.iter().filter_map(|(_, s)| Some((ios(s), latency(s)?))).collect();
    let mean = match latencies[..] {
        [(_, one)] if parts.len() == 1 => Some(one.mean),
        [] => None,
        _ => (latencies.len() == parts.len() && total > 0.0)
            .then(|| latencies.iter().map(|(n, l)| n * l.mean).sum::<f64>() / total),
    };
    let by_law = mean.map(|m| m / 1e9 * iops).filter(|x| *x > 0.0);
    let asked = conditions.in_flight().map(|n| n as f64);
    let in_flight = match (asked, by_law) {
        (Some(n), Some(x)) if (x / n - 1.0).abs() <= 0.05 => Some(n),
        // With less than one in flight something else takes the time, and the rate is not that of the I/O.
        (_, Some(x)) if x < 0.9 => None,
        (_, Some(x)) => Some(x),
        (asked, None) => asked,
    };
    let one = if let [(_, s)] = parts[..] { Some(s) } else { None };
    let block = conditions.single_block();
    let d = crate::diagnose::direction(&conditions.step()).filter(|_| conditions.pattern().is_some());
    Summary {
        name: job.name.clone(),
        reads: (!parts.is_empty()).then(|| parts.iter().any(|(name, _)| name.starts_with("read"))),
        random: conditions.rw.as_ref().map(|rw| rw.contains("rand")),
        direct: conditions.direct,
        blocking: conditions.engine.as_ref().map(|_| conditions.one_at_a_time()),
        iops: (iops > 0.0).then_some(iops),
        bytes_per_second: (bytes > 0.0).then_some(bytes),
        ios: (total > 0.0).then_some(total),
        block,
        in_flight,
        window: (seconds.0 > 0).then_some(seconds),
        mean_ns: mean,
        min: latencies.iter().map(|(_, l)| l.min).min(),
        max: latencies.iter().map(|(_, l)| l.max).max(),
        percentiles: one
            .map(|s| percentiles(s).iter().map(|(p, v)| (p / 100.0, *v)).collect())
            .unwrap_or_default(),
        bands: bands(job, one),
        cv_of_seconds: None,
        period: None,
        range: range(job, conditions),
        device: alone.then(|| device(output, conditions)).flatten(),
        busiest_thread: job.cpu.filter(|_| !polls(output, job)).map(|c| (c.user + c.system).min(1.0)),
        offered: conditions.rate_iops,
        pace: conditions.pace.clone(),
        pauses: conditions.pauses.clone(),
        pace_known: conditions.options_known,
        asked,
        jobs: Some(f64::from(conditions.jobs)),
        flushes: flushes(job),
        samples: one.and_then(|s| s.bandwidth_samples).filter(|s| s.mean > 0.0).map(|s| {
            // Where fio does not say how many: two a second.
            (s.deviation / s.mean, s.samples.unwrap_or((seconds.as_seconds() * 2.0) as u64))
        }),
        promised: claimed.zip(block).zip(d).and_then(|((c, block), d)| Promised::of(&c.promise, block, d)),
    }
}

/// Flushes; how many there were is not told where only those of `fdatasync=` are meant, which fio leaves out of its counts.
fn flushes(job: &Job) -> Option<Flushes> {
    let sync = job.sync.as_ref().filter(|l| l.samples != Some(0) && l.mean > 0.0)?;
    let count = sync.samples.or(job.sync_ios).filter(|n| *n > 0).map(|n| n as f64);
    Some(Flushes { count, mean_ns: sync.mean })
}

/// How much of the target was used: what was asked for, or what was moved when the run ended with it.
fn range(job: &Job, conditions: &Conditions) -> Option<Bytes> {
    let moved: u64 = parts(job).iter().map(|(_, s)| s.bytes.0).sum();
    conditions.size.or_else(|| {
        super::doubts::ended_by_size(job, conditions)
            .then(|| Bytes(moved / u64::from(conditions.jobs.max(1))))
    })
}

fn polls(output: &Output, job: &Job) -> bool {
    let on = |name: &&str| job.option(output, &[name]).is_some_and(|v| v != "0");
    POLLING.iter().any(on) || job.option(output, &["ioengine"]).is_some_and(|e| POLLING.contains(&e))
}

/// Latencies by bands: fio's bins where they are there, else its table.
fn bands(job: &Job, one: Option<&Stats>) -> Vec<Band> {
    let bins = one.into_iter().flat_map(|s| [&s.lat, &s.clat]).flatten().find(|l| !l.bins.is_empty());
    if let Some(l) = bins {
        let total = l.bins.iter().map(|b| b.1 as f64).sum::<f64>().max(1.0);
        return l
            .bins
            .iter()
            .map(|(middle, n)| {
                // A bucket of fio is 1/64 of its power of two wide (shared by `stat.h`, FIO_IO_U_PLAT_BITS).
                let half = (1u64 << middle.0.max(1).ilog2().saturating_sub(6)) / 2;
                Band {
                    above: Nanos(middle.0.saturating_sub(half + 1)),
                    up_to: Nanos(middle.0 + half),
                    share: *n as f64 / total,
                }
            })
            .collect();
    }
    let mut rows: Vec<(u64, f64)> = Vec::new();
    let below = |unit: u64, shares: &[f64]| -> Vec<(u64, f64)> {
        BELOW.iter().zip(shares).map(|(edge, share)| (u64::from(*edge) * unit, *share)).collect()
    };
    rows.extend(job.latency_ns.iter().flat_map(|s| below(1, s)));
    rows.extend(job.latency_us.iter().flat_map(|s| below(1000, s)));
    let longest = parts(job).iter().filter_map(|(_, s)| latency(s)).map(|l| l.max.0).max();
    for (key, share) in BELOW_MS.iter().zip(job.latency_ms.iter().flatten()) {
        let edge = key.parse::<u64>().map_or(longest.unwrap_or(0).max(2_000_000_001), |ms| ms * 1_000_000);
        rows.push((edge, *share));
    }
    let mut above = 0;
    let mut bands = Vec::new();
    for (edge, share) in rows {
        if share > 0.0 {
            bands.push(Band { above: Nanos(above), up_to: Nanos(edge), share });
        }
        above = edge;
    }
    bands
}

/// The disk's counters of the directions that the job moved.
fn device(output: &Output, conditions: &Conditions) -> Option<DeviceCounts> {
    let disks: Vec<&Disk> = output.disks.iter().filter(|d| !d.is_below).collect();
    // They count the ramp too, which the figures leave out.
    let [disk] = disks[..] else { return None };
    if conditions.ramp.is_some_and(|r| r.0 > 0) {
        return None;
    }
    let of =
        |(reads, writes): (u64, u64)| (if conditions.only_reads() { reads } else { reads + writes }) as f64;
    Some(DeviceCounts {
        ios: of(disk.counts.ios),
        merges: of(disk.counts.merges),
        bytes: disk.counts.sectors.map(|s| of(s) * 512.0),
    })
}
