//! volproof's results as fio's report: StepRecords become rows by fio's own definitions.
//!
//! fio's definitions, from its `stat.c` and `backend.c` (3.33): a row's run time is its longest job's, in milliseconds rounded up;
//! `job_runtime` adds the jobs up and rounds down; rates are of whole milliseconds; CPU shares are of `job_runtime`; samples of rates are taken
//! every 500 ms for each job by itself, idle ones left out, and are added up over the jobs of a row, deviations included. Latencies are
//! from submission to completion; submission alone is not measured (one system call submits and waits), so `slat` has no samples.
//! Nothing is measured here.

use std::collections::HashMap;
use std::path::PathBuf;

use super::direction_sum::{DirectionSum, add, stats};
use super::percentile_list;
use super::write_jobs::{self, JobTarget};
use fio_formats::output::{
    DiskCounters, DiskCounts, Header, LatencyTarget, Output, OutputRow, PERCENTILES, RowCpu, depth_share,
    latency_share,
};
use volproof_base::hist::bucket_middle;
use volproof_base::sample::{Depth, Direction, PerDirection, Series};
use volproof_base::unit::{Nanos, moment, total};
use volproof_host::observe::KernelCounters;
use volproof_plan::Step;
use volproof_record::{Record, StepRecord};

/// The version that reports name: the fio whose form they have, and who wrote them.
pub const VERSION: &str = concat!("fio-3.33-volproof-", env!("CARGO_PKG_VERSION"));
/// The parts of a row that are not measured.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportRow {
    /// Name of the job; in a group, of its first one.
    pub name: String,
    /// Reporting group.
    pub group: u32,
    /// Options as given; in a group, those of its last job.
    pub options: Vec<(String, String)>,
    /// `description=`.
    pub description: Option<String>,
    /// `percentile_list=`, in percent.
    pub percentiles: Vec<f64>,
    /// `clat_percentiles=`.
    pub clat_percentiles: bool,
    /// `lat_percentiles=`.
    pub lat_percentiles: bool,
    /// `continue_on_error=`: errors are counted in the report.
    pub continue_on_error: bool,
    /// First error, its number and text.
    pub error: Option<(i32, String)>,
}

impl Default for ReportRow {
    fn default() -> ReportRow {
        ReportRow {
            name: String::new(),
            group: 0,
            options: Vec::new(),
            description: None,
            percentiles: PERCENTILES.to_vec(),
            clat_percentiles: true,
            lat_percentiles: false,
            continue_on_error: false,
            error: None,
        }
    }
}

/// The word for a simulated device: its figures are of no volume.
const SIMULATED: &str = "SIMULATED";

/// Whether a row says that its device was simulated.
pub fn is_simulated(row: &OutputRow) -> bool {
    row.description.as_ref().is_some_and(|words| words.starts_with(SIMULATED))
}

/// The description of a row. Every form of fio's reports has it, so that it says that a device was simulated.
fn described(row: &ReportRow, parts: &[(&Step, &StepRecord)]) -> Option<String> {
    let simulated = parts.iter().any(|(step, _)| step.simulate.is_some());
    let words = simulated.then_some(SIMULATED).into_iter().chain(row.description.as_deref());
    let words: Vec<&str> = words.collect();
    (!words.is_empty()).then(|| words.join(": "))
}

/// One row: a step, or all steps of a reporting group.
pub fn row(row: &ReportRow, parts: &[(&Step, &StepRecord)]) -> OutputRow {
    let mut sums = PerDirection::<DirectionSum>::default();
    let mut members = 0;
    let (mut runtime_ms, mut user_ms, mut system_ms) = (0u64, 0u64, 0u64);
    let mut cpu = RowCpu::default();
    let mut errors = 0;
    for (step, record) in parts {
        let workers = workers(step, record);
        members += workers;
        runtime_ms += match record.workers_window_ns.0 {
            0 => record.window_ns.0 / 1_000_000 * workers,
            all => all / 1_000_000,
        };
        user_ms += record.cpu.user_ns.0 / 1_000_000;
        system_ms += record.cpu.system_ns.0 / 1_000_000;
        cpu.switches += record.cpu.context_switches;
        cpu.major_faults += record.cpu.page_faults_major;
        cpu.minor_faults += record.cpu.page_faults_minor;
        errors += record.errors.count;
        let series: Vec<&Series> = record.targets.iter().map(|t| &t.series).collect();
        for d in Direction::ALL {
            add(&mut sums[d], d, step, record, &series, workers);
        }
    }
    if runtime_ms > 0 {
        cpu.user = user_ms as f64 / runtime_ms as f64;
        cpu.system = system_ms as f64 / runtime_ms as f64;
    }
    let data = [Direction::Read, Direction::Write, Direction::Trim];
    let mut job = OutputRow {
        name: row.name.clone(),
        group: row.group,
        members: members as u32,
        error: row.error.as_ref().map_or(0, |e| e.0),
        error_text: row.error.as_ref().map(|e| e.1.clone()),
        options: row.options.clone(),
        description: described(row, parts),
        runtime: Some(Nanos::millis(runtime_ms)),
        cpu: Some(cpu),
        errors: row.continue_on_error.then_some(errors),
        // A missed rate is an error of the job, but no failed I/O that is counted.
        first_error: row
            .continue_on_error
            .then_some(row.error.as_ref().filter(|_| errors > 0).map_or(0, |e| e.0)),
        target: parts.first().map(|(step, _)| LatencyTarget {
            depth: step.iodepth,
            target: Nanos(0),
            percentile: 1.0,
            window: Nanos(0),
        }),
        ..OutputRow::default()
    };
    shares(&mut job, data.map(|d| &sums[d]).into_iter());
    let flushes = &sums[Direction::Sync];
    depths(&mut job, total(data.iter().map(|d| sums[*d].ios)), flushes.ios, parts);
    for d in data {
        job.directions[d] = Some(Box::new(stats(row, &sums[d])));
    }
    let listed = row.clat_percentiles || row.lat_percentiles;
    let percents = if listed { row.percentiles.as_slice() } else { &[] };
    job.sync = Some(percentile_list::latency(&flushes.latencies, percents));
    job.sync_ios = Some(flushes.ios);
    job
}

/// Load threads of a step.
fn workers(step: &Step, record: &StepRecord) -> u64 {
    let targets = record.targets.len().max(1);
    u64::from(step.numjobs) * targets as u64
}

/// Shares of depths and batches; fio holds depths, flushes among them, against the I/Os without flushes. Those still on their way at the end
/// count in fio, and here only in the depths: the whole is what was begun.
fn depths(job: &mut OutputRow, ios: u64, flushes: u64, parts: &[(&Step, &StepRecord)]) {
    let mut sum = Depth::default();
    // A row that has not begun has shares of nothing.
    let mut known = parts.is_empty();
    for depth in parts.iter().filter_map(|(_, record)| record.depth.as_ref()) {
        known = true;
        sum.add(depth);
    }
    if known {
        let begun = total(sum.in_flight).saturating_sub(flushes);
        job.depth = Some(shares_of(sum.in_flight, ios.max(begun)));
        job.submit = Some(shares_of(sum.submitted, total(sum.submitted)));
        job.complete = Some(shares_of(sum.completed, total(sum.completed)));
    }
}

fn shares_of(counts: [u64; 7], whole: u64) -> [f64; 7] {
    counts.map(|n| depth_share(n as f64 / whole.max(1) as f64))
}

/// Shares of latencies by fio's bands, from the middles of buckets; fio leaves flushes out.
fn shares<'a>(job: &mut OutputRow, sums: impl Iterator<Item = &'a DirectionSum> + Clone) {
    let all = total(sums.clone().map(|s| s.ios)).max(1) as f64;
    let (mut ns, mut us, mut ms) = ([0.0; 10], [0.0; 10], [0.0; 12]);
    for (bucket, n) in sums.flat_map(|s| s.latencies.nonzero()) {
        let value = bucket_middle(bucket);
        let share = n as f64 / all;
        match value {
            0..1000 => ns[band(value)] += share,
            1000..1_000_000 => us[band(value / 1000)] += share,
            _ => {
                let value = value / 1_000_000;
                ms[if value < 1000 { band(value) } else { 10 + usize::from(value >= 2000) }] += share;
            }
        }
    }
    job.latency_ns = Some(ns.map(latency_share));
    job.latency_us = Some(us.map(latency_share));
    job.latency_ms = Some(ms.map(latency_share));
}

/// The band of a value below 1000 in any unit.
fn band(value: u64) -> usize {
    fio_formats::output::BELOW.iter().position(|end| value < u64::from(*end)).unwrap_or(9)
}

/// A report of rows, written at a time, so long after the run began: the shares of their groups are worked out, and the disks' counters of
/// all steps are added up.
pub fn report(
    global_options: Vec<(String, String)>,
    mut rows: Vec<OutputRow>,
    evidence: &[&KernelCounters],
    at: jiff::Timestamp,
    elapsed: Nanos,
) -> Output {
    group_shares(&mut rows);
    for row in &mut rows {
        row.eta = row.eta.or(Some(0));
        row.elapsed = row.elapsed.or(Some(elapsed.0.div_ceil(1_000_000_000)));
    }
    Output {
        version: VERSION.into(),
        timestamp_ms: u64::try_from(at.as_millisecond()).ok(),
        global_options,
        jobs: rows,
        disks: disks(evidence),
        ..Output::default()
    }
}

/// `bw_agg`: the mean of the samples as a share of what the whole group moved in its longest run time. The mean is cut to whole KiB/s.
fn group_shares(rows: &mut [OutputRow]) {
    for d in [Direction::Read, Direction::Write, Direction::Trim] {
        let mut groups: HashMap<u32, (u128, u64)> = HashMap::new();
        for row in rows.iter_mut() {
            let (bytes, longest) = groups.entry(row.group).or_default();
            if let Some(stats) = &row.directions[d] {
                *bytes += u128::from(stats.bytes.0);
                *longest = (*longest).max(stats.runtime.0 / 1_000_000);
            }
        }
        for row in rows.iter_mut() {
            let (bytes, longest) = groups[&row.group];
            let rate = (bytes * 1000).checked_div(u128::from(longest)).unwrap_or(0) as f64;
            let Some(stats) = &mut row.directions[d] else { continue };
            let Some(samples) = stats.bandwidth_samples.as_mut() else { continue };
            let (mean, rate) = ((samples.mean / 1024.0).trunc(), rate / 1024.0);
            samples.share = match samples.samples {
                Some(0) => Some(0.0),
                _ if rate < 1.0 => Some(1.0),
                _ => Some((mean / rate).min(1.0)),
            };
        }
    }
}

/// The disks' counters over all steps.
fn disks(evidence: &[&KernelCounters]) -> Vec<DiskCounters> {
    let mut out: Vec<DiskCounters> = Vec::new();
    let mut seconds = 0.0;
    for e in evidence {
        seconds += e.at_ns.last().copied().unwrap_or_default().as_seconds();
        for track in &e.disks {
            let place = out.iter().position(|d| d.name == track.name).unwrap_or_else(|| {
                out.push(DiskCounters { name: track.name.clone(), ..DiskCounters::default() });
                out.len() - 1
            });
            let [reads, writes, reads_merged, writes_merged] =
                [&track.reads, &track.writes, &track.reads_merged, &track.writes_merged]
                    .map(|column| total(column.iter().copied()));
            let [read_ms, all_ms, queue_ms, active_ms] =
                [&track.read_ns, &track.busy_ns, &track.queue_ns, &track.active_ns]
                    .map(|column| total(column.iter().copied()) / 1_000_000);
            let c: &mut DiskCounts = &mut out[place].counts;
            c.ios = (c.ios.0.saturating_add(reads), c.ios.1.saturating_add(writes));
            c.merges = (c.merges.0.saturating_add(reads_merged), c.merges.1.saturating_add(writes_merged));
            c.ticks.0 = c.ticks.0.saturating_add(read_ms);
            c.ticks.1 = c.ticks.1.saturating_add(all_ms.saturating_sub(read_ms));
            c.in_queue = c.in_queue.saturating_add(queue_ms);
            c.busy += active_ms as f64 / 1000.0;
        }
    }
    for disk in &mut out {
        disk.counts.busy = if seconds > 0.0 { (disk.counts.busy / seconds).min(1.0) } else { 0.0 };
    }
    out
}

/// A Record as fio would report it: a row and a group for each step, unless steps ran together.
pub fn of_record(record: &Record) -> Output {
    let steps: Vec<_> = record.steps.iter().filter_map(|s| Some((record.plan_step(&s.name)?, s))).collect();
    let mut group = 0;
    let mut rows = Vec::new();
    for (i, (step, done)) in steps.iter().enumerate() {
        group += u32::from(i > 0 && step.start.is_after_all());
        let targets = if step.targets.is_empty() { &record.plan.targets } else { &step.targets };
        let about = ReportRow {
            name: step.name.clone(),
            group,
            options: options(step, targets),
            continue_on_error: record.plan.continue_on_error,
            ..ReportRow::default()
        };
        rows.push(OutputRow { header: Some(header(step)), ..row(&about, &[(step, done)]) });
    }
    let stages = record.together.iter();
    let evidence: Vec<_> =
        steps.iter().map(|(_, s)| &s.evidence).chain(stages.map(|t| &t.evidence)).collect();
    // The steps of a stage ran together: the longest of them counts.
    let (mut alone, mut staged) = (0u64, vec![0; record.together.len()]);
    for (step, s) in &steps {
        let time = total([s.started_after_ns.0, s.set_up_ns.0, step.ramp.0, s.window_ns.0]);
        match record.together.iter().position(|stage| stage.steps.contains(&s.name)) {
            Some(stage) => staged[stage] = time.max(staged[stage]),
            None => alone = alone.saturating_add(time),
        }
    }
    let elapsed = Nanos(total(staged.into_iter().chain([alone])));
    let started = record.started.as_ref().and_then(|text| moment(text)).unwrap_or_default();
    let at = started.checked_add(std::time::Duration::from(elapsed)).unwrap_or(started);
    report(Vec::new(), rows, &evidence, at, elapsed)
}

fn header(step: &Step) -> Header {
    let sizes = step.bs.shares().iter().map(|s| s.0);
    let block = (sizes.clone().min().unwrap_or_default(), sizes.max().unwrap_or_default());
    Header {
        rw: step.rw.to_string(),
        block: [block; 3],
        engine: step.engine.to_string(),
        depth: step.iodepth,
        laid_out: None,
    }
}

/// A step as options that a reader of the report knows, without those that fio does not have.
fn options(step: &Step, targets: &[PathBuf]) -> Vec<(String, String)> {
    let paths = targets.iter().map(|target| target.display().to_string());
    let places: Vec<JobTarget> = paths.map(|path| JobTarget { path, size: None }).collect();
    // A row is that of all targets together, as of one job with all files.
    let step = Step { simulate: None, ..step.clone() };
    let without_rate = Step { rate_iops: None, rate_bw: None, ..step.clone() };
    let section = write_jobs::section_of_all(&step, &places, 0)
        .or_else(|_| write_jobs::section_of_all(&without_rate, &places, 0))
        .unwrap_or_default();
    let said = section.into_iter().filter(|(name, _)| *name != "randseed");
    let named = std::iter::once(("name", step.name.clone())).chain(said);
    named.map(|(name, value)| (name.to_string(), value)).collect()
}
