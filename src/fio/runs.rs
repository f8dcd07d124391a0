//! Rows of a report that are one run: clones of a job, and the hosts that ran it at the same time.

use std::collections::{BTreeMap, HashMap};

use super::output::{Latency, Output, OutputRow, Samples, Stats};
use crate::sample::Direction;
use crate::unit::{Bytes, Nanos, total};

/// Runs of one name in one group that are told apart; more are taken as one.
const MOST_ALIKE: usize = 64;

/// One run of a report.
pub struct ReportRun<'a> {
    /// Its rows: one, or those of its clones and hosts.
    pub rows: Vec<&'a OutputRow>,
    /// The row in which fio sums all hosts up, where this run is all that they ran.
    sum: Option<&'a OutputRow>,
}

impl ReportRun<'_> {
    /// The figures of all rows together.
    pub fn job(&self) -> OutputRow {
        let all = merged(&self.rows);
        let mut job = match self.sum {
            // fio's own sum has the percentiles, which rows do not add up to.
            Some(sum) => OutputRow {
                name: all.name,
                header: all.header,
                options: all.options,
                members: all.members,
                ..sum.clone()
            },
            None => all,
        };
        job.host = self
            .rows
            .first()
            .and_then(|j| j.host.clone())
            .filter(|h| self.rows.iter().all(|j| j.host.as_ref() == Some(h)));
        job
    }

    /// The hosts that ran it, each with its rows, where they are several.
    pub fn hosts(&self) -> Vec<(&str, Vec<&OutputRow>)> {
        let mut hosts: Vec<(&str, Vec<&OutputRow>)> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        for job in &self.rows {
            let Some(host) = job.host.as_deref() else { return Vec::new() };
            let at = *known.entry(host).or_insert(hosts.len());
            if at == hosts.len() {
                hosts.push((host, Vec::new()));
            }
            hosts[at].1.push(job);
        }
        if hosts.len() > 1 { hosts } else { Vec::new() }
    }
}

/// The row in which fio sums up what its clients did: in text it has no host, in JSON that of the last client.
fn is_sum(of_clients: bool, job: &OutputRow) -> bool {
    of_clients && job.name == "All clients"
}

/// The runs of a report, in its order. Rows that moved nothing are no run.
pub fn runs(output: &Output) -> Vec<ReportRun<'_>> {
    let mut runs: Vec<ReportRun<'_>> = Vec::new();
    let mut known: HashMap<(&str, u32), Vec<usize>> = HashMap::new();
    // A row whose figures cannot be says that much.
    let of_clients = output.jobs.iter().any(|j| j.host.is_some() && j.name != "All clients");
    let says = |j: &&OutputRow| moved_ios(j) > 0.0 || !j.impossible.is_empty();
    for job in output.jobs.iter().filter(says).filter(|j| !is_sum(of_clients, j)) {
        let clone = |other: &&OutputRow| {
            other.name == job.name
                && other.group == job.group
                && other.header == job.header
                && other.options == job.options
                && (other.host == job.host || job.host.is_some())
        };
        let same = known.entry((job.name.as_str(), job.group)).or_default();
        match same.iter().find(|i| clone(&runs[**i].rows[0])) {
            Some(i) => runs[*i].rows.push(job),
            // Jobs of one name that differ are told apart, a few of them.
            None if same.len() >= MOST_ALIKE => runs[same[0]].rows.push(job),
            None => {
                same.push(runs.len());
                runs.push(ReportRun { rows: vec![job], sum: None });
            }
        }
    }
    let mut sums = output.jobs.iter().filter(|j| is_sum(of_clients, j));
    if let ([one], Some(sum), None) = (runs.as_mut_slice(), sums.next(), sums.next()) {
        one.sum = Some(sum).filter(|s| moved_ios(s) > 0.0 && one.rows.len() > 1);
    }
    runs
}

/// Rows that ran the same job at the same time (`numjobs` without `group_reporting`) are one row.
///
/// Percentiles of several jobs do not add up and are left out, unless their bins are there, which do.
fn merged(rows: &[&OutputRow]) -> OutputRow {
    let Some((first, rest)) = rows.split_first() else { return OutputRow::default() };
    let mut all = (*first).clone();
    if rest.is_empty() {
        return all;
    }
    // The number of jobs is known when that of every row is.
    let told: Option<u32> = rows.iter().map(|j| Some(j.members).filter(|n| *n > 0)).sum();
    all.members = told.unwrap_or(0);
    let weight = |j: &OutputRow| moved_ios(j).max(1.0);
    let total: f64 = rows.iter().map(|j| weight(j)).sum();
    for d in [Direction::Read, Direction::Write, Direction::Trim] {
        let parts: Vec<&Stats> = rows.iter().filter_map(|j| j.directions[d].as_deref()).collect();
        all.directions[d] = (!parts.is_empty()).then(|| Box::new(stats(&parts)));
    }
    let parts: Vec<&Stats> = rows.iter().filter_map(|j| j.mixed.as_deref()).collect();
    all.mixed = (!parts.is_empty()).then(|| Box::new(stats(&parts)));
    fn mean<const N: usize>(
        rows: &[&OutputRow],
        total: f64,
        weight: impl Fn(&OutputRow) -> f64,
        of: impl Fn(&OutputRow) -> Option<[f64; N]>,
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
        let of = |pick: &dyn Fn(&OutputRow) -> f64| rows.iter().map(|j| pick(j)).fold(0.0, f64::max);
        cpu.user = of(&|j| j.cpu.map_or(0.0, |c| c.user));
        cpu.system = of(&|j| j.cpu.map_or(0.0, |c| c.system));
    }
    let syncs: Option<Vec<(f64, &Latency)>> =
        rows.iter().map(|j| Some((j.sync_ios? as f64, j.sync.as_ref()?))).collect();
    all.sync = syncs.map(|all| Latency {
        samples: Some(crate::unit::total(all.iter().map(|s| s.0 as u64))),
        ..of_all(&all)
    });
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
        bytes: Bytes(total(parts.iter().map(|s| s.bytes.0))),
        bytes_per_second: parts.iter().map(|s| s.bytes_per_second).sum(),
        iops: parts.iter().map(|s| s.iops).sum(),
        runtime: parts.iter().map(|s| s.runtime).max().unwrap_or_default(),
        ios,
        short: parts.iter().map(|s| s.short).sum(),
        dropped: parts.iter().map(|s| s.dropped).sum(),
        slat: latency(&|s| s.slat.as_ref()),
        clat: latency(&|s| s.clat.as_ref()),
        lat: latency(&|s| s.lat.as_ref()),
        bandwidth_samples: parts.iter().map(|s| s.bandwidth_samples).collect::<Option<Vec<_>>>().map(of_jobs),
        ..Stats::default()
    }
}

/// Samples of the rates of several jobs, added up as fio does with `group_reporting`: the deviation is that of one job.
fn of_jobs(parts: Vec<Samples>) -> Samples {
    let sum = |of: fn(&Samples) -> f64| parts.iter().map(of).sum::<f64>();
    Samples {
        min: sum(|s| s.min),
        max: sum(|s| s.max),
        share: None,
        terse_share: None,
        mean: sum(|s| s.mean),
        deviation: (sum(|s| s.deviation.powi(2)) / parts.len() as f64).sqrt(),
        samples: parts.iter().map(|s| s.samples).sum(),
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
pub fn parts(job: &OutputRow) -> Vec<&Stats> {
    let apart: Vec<&Stats> = job.moved().map(|(_, s)| s).collect();
    match (&job.mixed, apart.is_empty()) {
        (Some(mixed), true) => vec![mixed],
        _ => apart,
    }
}

/// I/Os of all directions.
pub fn moved_ios(job: &OutputRow) -> f64 {
    let ios = |s: &&Stats| s.ios.map_or(s.iops * s.runtime.as_seconds(), |n| n as f64);
    parts(job).iter().map(ios).sum()
}
