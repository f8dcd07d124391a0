//! Rows of a report that are one run: clones of a job, and the hosts that ran it at the same time.

use std::collections::{BTreeMap, HashMap};

use super::output::{Latency, Output, OutputRow, Samples, Stats};
use volproof_base::report_form::PrintedRanges;
use volproof_base::sample::Direction;
use volproof_base::unit::{Bytes, Nanos, total};

/// So many runs of one name in one group are kept apart. The rows of more are added to the first of them.
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

/// Whether the rows are those of clients, which tell their hosts.
fn is_of_clients(output: &Output) -> bool {
    output.jobs.iter().any(|j| j.host.is_some() && j.name != "All clients")
}

/// Whether a row is the sum of the rows of several hosts.
pub fn is_sum_of_clients(output: &Output, job: &OutputRow) -> bool {
    is_sum(is_of_clients(output), job)
}

/// Share by which the rows of clients may differ from their sum.
const SUMS_DIFFER: f64 = 0.01;

/// In words, that the rows of clients lack what their sum has: the row of a client is missing.
pub fn lacks_clients(output: &Output) -> Option<String> {
    let of_clients = is_of_clients(output);
    let (sums, clients): (Vec<_>, Vec<_>) = output.jobs.iter().partition(|job| is_sum(of_clients, job));
    let [sum] = sums.as_slice() else { return None };
    let (all, told) = (moved_ios(sum), clients.iter().map(|job| moved_ios(job)).sum::<f64>());
    (!clients.is_empty() && told < all * (1.0 - SUMS_DIFFER)).then(|| {
        format!("the rows of the clients have {told:.0} of the {all:.0} I/Os of all clients: the rows of some are missing, and no rate here is that of all")
    })
}

/// The runs of a report, in its order. Rows that moved nothing are no run.
pub fn runs(output: &Output) -> Vec<ReportRun<'_>> {
    let mut runs: Vec<ReportRun<'_>> = Vec::new();
    let mut known: HashMap<(&str, u32), Vec<usize>> = HashMap::new();
    let of_clients = is_of_clients(output);
    for job in output.jobs.iter().filter(|j| !is_sum(of_clients, j)) {
        // A row whose figures cannot be says that much.
        if moved_ios(job) <= 0.0 && job.impossible.is_empty() {
            continue;
        }
        let same = known.entry((job.name.as_str(), job.group)).or_default();
        match same.iter().find(|i| is_clone(job, runs[**i].rows[0])) {
            Some(i) => runs[*i].rows.push(job),
            // Jobs of one name that differ are runs of their own, a few of them.
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

/// The jobs behind rows added up; none where a row does not tell its own.
pub fn members<'a>(mut rows: impl Iterator<Item = &'a OutputRow>) -> Option<u32> {
    rows.try_fold(0u32, |sum, row| (row.members > 0).then(|| sum.saturating_add(row.members)))
}

/// A row of the name and group of another one may be of a clone of its job: it has the same options, on the same host or another one.
fn is_clone(job: &OutputRow, other: &OutputRow) -> bool {
    other.header == job.header
        && other.options == job.options
        && alike(other, job)
        && (other.host == job.host || job.host.is_some())
}

/// Two rows moved data in the same direction, as clones of one job do.
fn alike(a: &OutputRow, b: &OutputRow) -> bool {
    let mixed = [a, b].iter().any(|j| j.mixed.is_some() || moved_ios(j) == 0.0);
    let mut directions = a.directions.0.iter().zip(&b.directions.0);
    mixed || directions.any(|both| matches!(both, (Some(a), Some(b)) if moves(a) && moves(b)))
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
    all.runtime = Some(Nanos(0));
    for job in rows {
        // A row alone is one job, whose time is that of its longest direction.
        let alone = parts(job).iter().map(|s| s.runtime).max().filter(|t| t.0 > 0);
        let time = job.runtime.or(alone);
        all.runtime = all.runtime.zip(time).map(|(sum, time)| Nanos(sum.0.saturating_add(time.0)));
    }
    // The number of jobs is known when that of every row is.
    all.members = members(rows.iter().copied()).unwrap_or(0);
    for d in [Direction::Read, Direction::Write, Direction::Trim] {
        let parts: Vec<&Stats> = rows.iter().filter_map(|j| j.directions[d].as_deref()).collect();
        all.directions[d] = (!parts.is_empty()).then(|| Box::new(stats(&parts)));
    }
    let parts: Vec<&Stats> = rows.iter().filter_map(|j| j.mixed.as_deref()).collect();
    all.mixed = (!parts.is_empty()).then(|| Box::new(stats(&parts)));
    all.latency_ns = mean(rows, |j| j.latency_ns);
    all.latency_us = mean(rows, |j| j.latency_us);
    all.latency_ms = mean(rows, |j| j.latency_ms);
    all.depth = mean(rows, |j| j.depth);
    if let Some(cpu) = &mut all.cpu {
        for other in rest.iter().filter_map(|j| j.cpu) {
            (cpu.user, cpu.system) = (cpu.user.max(other.user), cpu.system.max(other.system));
        }
    }
    let syncs: Option<Vec<(f64, &Latency)>> =
        rows.iter().map(|j| Some((j.sync_ios? as f64, j.sync.as_ref()?))).collect();
    all.sync =
        syncs.map(|all| Latency { samples: Some(total(all.iter().map(|s| s.0 as u64))), ..of_all(&all) });
    all.sync_ios = rows.iter().map(|j| j.sync_ios).sum();
    all.impossible = rows.iter().flat_map(|j| &j.impossible).cloned().collect();
    all.error = rows.iter().map(|j| j.error).find(|e| *e != 0).unwrap_or(0);
    all
}

/// The mean of shares over rows, each by its I/Os; none where a row does not tell them.
fn mean<const N: usize>(
    rows: &[&OutputRow],
    shares: impl Fn(&OutputRow) -> Option<[f64; N]>,
) -> Option<[f64; N]> {
    let weights: f64 = rows.iter().map(|job| moved_ios(job).max(1.0)).sum();
    let mut sum = [0.0; N];
    for job in rows {
        let weight = moved_ios(job).max(1.0);
        sum.iter_mut().zip(shares(job)?).for_each(|(s, p)| *s += p * weight / weights);
    }
    Some(sum)
}

/// The figures of a direction of several jobs; those that moved nothing in it have no latency and no rate there.
///
/// As fio does with `group_reporting`, the rate is that over the time of the job that took longest.
fn stats(all: &[&Stats]) -> Stats {
    let moving: Vec<&Stats> = all.iter().copied().filter(|s| moves(s)).collect();
    let parts = if moving.is_empty() { all } else { &moving };
    let ios = parts.iter().map(|s| s.ios).sum::<Option<u64>>();
    let longest = parts.iter().map(|s| s.runtime).max().unwrap_or_default();
    let (mut bytes_per_second, mut iops) = (0.0, 0.0);
    for s in parts {
        let share = if longest.0 > 0 { s.runtime.as_seconds() / longest.as_seconds() } else { 1.0 };
        bytes_per_second += s.bytes_per_second * share;
        iops += s.iops * share;
    }
    Stats {
        bytes: Bytes(total(parts.iter().map(|s| s.bytes.0))),
        bytes_per_second,
        iops,
        runtime: longest,
        ios,
        short: parts.iter().map(|s| s.short).sum(),
        dropped: parts.iter().map(|s| s.dropped).sum(),
        slat: latency(parts, |s| s.slat.as_ref()),
        clat: latency(parts, |s| s.clat.as_ref()),
        lat: latency(parts, |s| s.lat.as_ref()),
        printed: printed(parts, longest),
        bandwidth_samples: parts.iter().map(|s| s.bandwidth_samples).collect::<Option<Vec<_>>>().map(of_jobs),
        ..Stats::default()
    }
}

/// The intervals of sums: the sums of their ends.
fn printed(parts: &[&Stats], longest: Nanos) -> PrintedRanges {
    let none = Some((0.0, 0.0));
    let mut sum = PrintedRanges { bytes: none, iops: none, bytes_per_second: none };
    for s in parts {
        let weight = if longest.0 > 0 { s.runtime.0 as f64 / longest.0 as f64 } else { 1.0 };
        sum.bytes = added(sum.bytes, s.printed.bytes, 1.0);
        sum.iops = added(sum.iops, s.printed.iops, weight);
        sum.bytes_per_second = added(sum.bytes_per_second, s.printed.bytes_per_second, weight);
    }
    sum
}

/// An interval and another one times its weight; none where one of them is not told.
fn added(sum: Option<(f64, f64)>, range: Option<(f64, f64)>, weight: f64) -> Option<(f64, f64)> {
    let ((low, high), (other_low, other_high)) = sum.zip(range)?;
    Some((low + weight * other_low, high + weight * other_high))
}

/// Samples of the rates of several jobs, added up as fio does with `group_reporting`: the deviation is that of one job.
fn of_jobs(parts: Vec<Samples>) -> Samples {
    let squares: f64 = parts.iter().map(|s| s.deviation.powi(2)).sum();
    Samples {
        min: parts.iter().map(|s| s.min).sum(),
        max: parts.iter().map(|s| s.max).sum(),
        share: None,
        mean: parts.iter().map(|s| s.mean).sum(),
        deviation: (squares / parts.len() as f64).sqrt(),
        samples: parts.iter().map(|s| s.samples).sum(),
    }
}

/// The latency of one kind of several jobs; none where a job does not tell it.
fn latency<'a>(parts: &[&'a Stats], kind: fn(&'a Stats) -> Option<&'a Latency>) -> Option<Latency> {
    let all: Option<Vec<(f64, &Latency)>> = parts.iter().map(|s| Some((ios_of(s), kind(s)?))).collect();
    Some(of_all(&all?))
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
    parts(job).iter().map(|s| ios_of(s)).sum()
}

/// I/Os of a direction, from rate and time where they are not counted.
fn ios_of(s: &Stats) -> f64 {
    s.ios.map_or(s.iops * s.runtime.as_seconds(), |n| n as f64)
}

/// A direction moved something.
fn moves(s: &Stats) -> bool {
    ios_of(s) > 0.0 || s.bytes.0 > 0
}

#[cfg(test)]
mod tests {
    use super::super::terse;
    use super::*;

    /// Lines of one name: so many rows, each of a direction at a rate of 1,000 a second with this mean latency in microseconds.
    fn lines(rows: &[(Direction, u64, u64, &str)]) -> String {
        let mut all = String::new();
        for (d, mean, seconds, disk) in rows {
            let moved = [4000 * seconds, 4000, 1000, 1000 * seconds, *mean];
            let (reads, writes) = if *d == Direction::Read { (moved, [0; 5]) } else { ([0; 5], moved) };
            all += &format!("{}{disk}\n", terse::line_of("j", reads, writes));
        }
        all
    }

    #[test]
    fn terse_rows_weigh_by_their_ios_and_unlike_ones_are_apart() {
        use Direction::{Read, Write};
        let read = |text: String| terse::read(text.as_bytes()).unwrap();
        let clones = read(lines(&[(Read, 100, 30, ""), (Read, 400, 60, "")]));
        let found = runs(&clones[0]);
        assert_eq!((clones.len(), found.len(), found[0].rows.len()), (1, 1, 2));
        let job = found[0].job();
        let reads = job.directions[Read].as_deref().unwrap();
        assert_eq!((reads.iops, reads.lat.as_ref().unwrap().mean), (1500.0, 300_000.0));
        assert!(job.directions[Write].as_deref().is_none_or(|s| s.bytes.0 == 0));
        let apart = read(lines(&[(Read, 100, 60, ""), (Write, 400, 60, "")]));
        let means: Vec<f64> = runs(&apart[0])
            .iter()
            .flat_map(|run| {
                parts(&run.job()).iter().map(|s| s.lat.as_ref().unwrap().mean).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(means, [100_000.0, 400_000.0]);
        // Two calls with one name: the disk counted on between them.
        let disk = |n: u64| format!(";sda;{n};0;0;0;1;0;1;50.00%");
        let (a, b) = (disk(60_000), disk(120_000));
        let calls = read(lines(&[(Read, 100, 60, &a), (Read, 100, 60, &a), (Read, 100, 60, &b)]));
        assert_eq!(calls.iter().map(|o| runs(o)[0].rows.len()).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn more_jobs_than_can_be_are_as_many_as_can_be() {
        let row = |members| OutputRow { members, ..OutputRow::default() };
        assert_eq!(members([row(u32::MAX), row(2)].iter()), Some(u32::MAX));
        assert_eq!(members([row(4), row(0)].iter()), None);
        let output = Output { jobs: vec![row(u32::MAX), row(u32::MAX)], ..Output::default() };
        assert!(super::super::text_write::before(&output).contains("4294967295 processes"));
    }
}
