//! A report of fio as a Record: each run of it a step, with its figures as they are printed and its conditions as far as they are known.
//!
//! A report has no samples over time, no plan of volproof and no facts about the machine. None are made up: the Record has none. The summaries
//! of a step are fio's own figures (percentiles are middles of buckets and not their upper ends); see [`ReportedStep`] for what they come from.

use std::collections::BTreeMap;

use super::of_record::is_simulated;
use super::{disk_stack, job_conditions};
use fio_formats::impossible::Impossible;
use fio_formats::output::{BELOW, BELOW_MS, Latency, Output, OutputRow, Samples, Stats};
use fio_formats::runs::{self, ReportRun, parts};
use fio_formats::shown_options::shows_one_of_several;
use volproof_base::sample::Direction;
use volproof_base::unit::{Bytes, Nanos, total, utc, without_zone};
use volproof_host::observe::KernelCounters;
use volproof_plan::EngineKind;
use volproof_record::{
    Band, Conditions, CpuRecord, Known, PrintedRanges, RateSpread, Record, Report, ReportForm, ReportProgram,
    ReportedFailure, ReportedFigures, ReportedHost, ReportedLatency, ReportedStep, ReportedSync, StepNames,
    StepRecord, Together,
};

/// More steps make no Record that anybody could read.
const MOST_STEPS: usize = 4096;
/// Shares of depths that are printed to a tenth of a percent add up to no more than this above the whole.
const ROUNDED_SHARES: f64 = 0.01;
/// Below this a rate that is printed as a whole number is cut by more than a percent.
const CUT_RATE: f64 = 100.0;

/// A report as a Record, without doubts about its test. It has no step where no job moved any data.
pub fn to_record(output: &Output, form: ReportForm) -> Record {
    let found = runs::runs(output);
    let mut record = empty(output, form);
    if let Some(report) = record.report.as_mut().filter(|_| found.len() > MOST_STEPS) {
        report.runs = Some(found.len());
    }
    let lacking = runs::lacks_clients(output);
    let mut group = None;
    let mut names = StepNames::default();
    for run in found.iter().take(MOST_STEPS) {
        let job = run.job();
        let mut step = step(output, run, &job, found.len() == 1);
        step.name = names.unused(&job.name, job.host.as_deref());
        if let Some((reported, why)) = step.reported.as_mut().zip(lacking.as_ref()) {
            reported.rate_impossible = true;
            reported.impossible.push(why.clone());
        }
        let notes = left_out(output, &job, step.reported.as_ref().map(|reported| &reported.conditions));
        if let Some(report) = &mut record.report {
            report.notes.extend(notes.into_iter().map(|note| format!("{}: {note}", step.name)));
        }
        // The jobs of a group ran together.
        if group != Some(job.group) {
            record.together.push(Together { steps: Vec::new(), evidence: KernelCounters::default() });
        }
        group = Some(job.group);
        record.together.last_mut().expect("pushed with its group").steps.push(step.name.clone());
        record.steps.push(step);
    }
    record.together.retain(|t| t.steps.len() > 1);
    record
}

/// What of a run its step does not show, each in a sentence.
fn left_out(output: &Output, job: &OutputRow, conditions: Option<&Conditions>) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(n) = conditions.and_then(|conditions| verifying_reads(conditions, job)) {
        notes.push(format!("{n} reads that verified what was written are left out"));
    }
    if let Some(calls) = sync(job).filter(|_| job_conditions::begins_writeback(output, job)) {
        let count = calls.count.get().map_or("the".into(), |n| n.to_string());
        notes.push(format!(
            "{count} calls of sync_file_range begin to write and flush nothing: their latencies are left out"
        ));
    }
    if shows_one_of_several(output, job) {
        let shown = job.options_of().map_or(String::new(), |name| format!(", {name}"));
        notes.push(format!(
            "the row sums up several jobs (group_reporting) and shows the options of one of them{shown}: what the others were asked for is not known"
        ));
    }
    notes
}

/// A Record of the report without its steps.
fn empty(output: &Output, form: ReportForm) -> Record {
    let written = output.timestamp_ms.and_then(|ms| i64::try_from(ms).ok());
    let written =
        written.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok()).filter(|t| t.as_second() > 0);
    // Text has the clock of its machine, and tells no zone.
    let local = form == ReportForm::Text;
    let words = if local { without_zone } else { utc };
    let elapsed = output.jobs.iter().filter_map(|j| j.elapsed).max().map(Nanos::seconds);
    let longest = || output.jobs.iter().flat_map(runs::parts).map(|stats| stats.runtime).max();
    let took = elapsed.or_else(longest).unwrap_or_default();
    let began = written.and_then(|at| at.checked_sub(std::time::Duration::from(took)).ok());
    let zone = if local { ", by its machine's clock in a zone that it does not tell" } else { "" };
    let why = format!("the time of the report less the time that it says the run took{zone}");
    let started = began.map_or(Known::Unknown, |at| Known::assumed(words(at), why));
    let report = Report {
        tool: if output.version.is_empty() { "fio".into() } else { output.version.clone() },
        program: ReportProgram::Fio,
        form,
        written: written.map(words).into(),
        partial: output.partial.clone(),
        beside: 0,
        runs: None,
        notes: output.notes.clone(),
    };
    Record::of_report(report, started)
}

/// How many reads a job made that only writes: fio reads its blocks back to verify them, after the writes or between them, and its rate
/// counts for the writes alone.
fn verifying_reads(conditions: &Conditions, job: &OutputRow) -> Option<u64> {
    let word = conditions.rw.as_ref()?.split(':').next()?.to_string();
    let reads = job.directions[Direction::Read].as_ref()?.ios.filter(|n| *n > 0)?;
    let writes = job.directions[Direction::Write].as_ref()?.ios.unwrap_or(0);
    (["write", "randwrite"].contains(&word.as_str()) && writes > 0).then_some(reads)
}

/// The step of a run in a report. `alone`: it is the only one, so that the disk's counters are its own.
fn reported(output: &Output, run: &ReportRun<'_>, job: &OutputRow, alone: bool) -> ReportedStep {
    let conditions = job_conditions::conditions(output, job);
    let block = conditions.single_block();
    let verifies = verifying_reads(&conditions, job).is_some();
    let writeback = job_conditions::begins_writeback(output, job);
    let [read, mut write, trim] = [Direction::Read, Direction::Write, Direction::Trim]
        .map(|d| job.directions[d].as_ref().map(|s| figures(s, block, job.members)));
    if let Some(told) = write.as_mut().filter(|_| writeback) {
        let calls = job.sync.as_ref().and_then(|l| l.samples);
        told.short_ios = told.short_ios.saturating_sub(calls.unwrap_or(u64::MAX));
    }
    let hosts = run.hosts().into_iter().map(|(name, rows)| host(name, &rows)).collect();
    // Terse lines of two calls with one name look like clones of one job, but for the options.
    let jobs = conditions.jobs.get().filter(|_| job.members == 0).map(|n| n as usize);
    let unlike = jobs.filter(|n| run.rows.len() > *n).map(|n| {
        format!(
            "{} rows of one job, and numjobs is {n}: they are several runs, and no rate is theirs together",
            run.rows.len()
        )
    });
    ReportedStep {
        name: job.name.clone(),
        simulated: is_simulated(job),
        description: job.description.clone(),
        rows: run.rows.len() as u32,
        group: job.group,
        host: job.host.clone(),
        hosts,
        began_ms: job.start_ms,
        elapsed_s: job.elapsed,
        failure: (job.error != 0 || job.errors.is_some_and(|n| n > 0)).then(|| ReportedFailure {
            ios: job.errors.filter(|n| *n > 0),
            number: if job.error != 0 { job.error } else { job.first_error.unwrap_or(0) },
        }),
        rate_of_latency: false,
        left_out: None,
        busiest_cpu: None,
        rate_impossible: unlike.is_some() || job.impossible.iter().any(Impossible::of_rate),
        impossible: job.impossible.iter().map(Impossible::to_string).chain(unlike).collect(),
        read: read.filter(|_| !verifies),
        write,
        trim,
        mixed: job.mixed.as_ref().map(|s| figures(s, block, job.members)),
        sync: sync(job).filter(|_| !writeback),
        bands: bands(job),
        device: alone.then(|| disk_stack::device(&output.disks)).flatten(),
        cpu_share: job.cpu.map(|c| (c.user + c.system).min(1.0)),
        conditions,
    }
}

fn host(name: &str, rows: &[&OutputRow]) -> ReportedHost {
    let all: Vec<&Stats> = rows.iter().flat_map(|j| parts(j)).collect();
    let (iops, speed): (f64, f64) =
        (all.iter().map(|s| s.iops).sum(), all.iter().map(|s| s.bytes_per_second).sum());
    let latencies: Vec<(f64, f64)> =
        all.iter().filter_map(|s| Some((s.ios? as f64, s.lat.as_ref().or(s.clat.as_ref())?.mean))).collect();
    let n: f64 = latencies.iter().map(|l| l.0).sum();
    let whole = n > 0.0 && latencies.len() == all.len();
    ReportedHost {
        host: name.into(),
        iops: positive(iops).into(),
        bytes_per_second: positive(speed).into(),
        mean_ns: whole.then(|| latencies.iter().map(|(n, mean)| n * mean).sum::<f64>() / n).into(),
    }
}

/// A figure above 0; a report has 0 where it tells none.
fn positive(figure: f64) -> Option<f64> {
    Some(figure).filter(|figure| *figure > 0.0)
}

fn figures(s: &Stats, block: Option<Bytes>, jobs: u32) -> ReportedFigures {
    let seconds = s.runtime.as_seconds();
    // fio cuts a rate to a whole number in text; bytes and time say more of a low one.
    let by_bytes = block
        .filter(|b| b.0 > 0 && s.bytes.0 > 0 && seconds > 0.0 && s.ios.is_none() && s.iops < CUT_RATE)
        .map(|b| s.bytes.0 as f64 / b.0 as f64 / seconds);
    let iops = match (s.ios.filter(|n| *n > 0 && seconds > 0.0), by_bytes) {
        // Whole I/Os over whole milliseconds are finer than the rate as text has it.
        (Some(n), _) => Known::Said(n as f64 / seconds),
        (None, Some(rate)) => {
            Known::assumed(rate, "bytes over block size and time, since the rate is cut to a whole number")
        }
        (None, None) => positive(s.iops).into(),
    };
    let [submission, completion, said] = [&s.slat, &s.clat, &s.lat]
        .map(|l| l.as_ref().filter(|l| l.max.0 > 0 || l.samples.is_some_and(|n| n > 0)).map(latency));
    let sum =
        if said.is_some() { None } else { submission.as_ref().zip(completion.as_ref()).and_then(added) };
    ReportedFigures {
        bytes: s.bytes,
        ios: s.ios.into(),
        iops,
        bytes_per_second: match positive(s.bytes_per_second) {
            None if seconds > 0.0 && s.bytes.0 > 0 => {
                Known::assumed(s.bytes.0 as f64 / seconds, "bytes over time")
            }
            said => said.into(),
        },
        runtime: Some(s.runtime).filter(|t| t.0 > 0).into(),
        printed: printed(s, by_bytes.is_some()),
        short_ios: s.short.saturating_add(s.dropped),
        submission,
        completion,
        total_assumed: sum.as_ref().map(|_| "slat and clat added up, since the report has no lat".into()),
        total: said.or(sum),
        rate_spread: s.bandwidth_samples.filter(|b| b.mean > 0.0).map(|b| spread(&b, s.runtime, jobs)),
    }
}

/// The intervals of the figures. I/Os a second are exact where they are made of exact counts.
fn printed(s: &Stats, by_bytes: bool) -> Option<PrintedRanges> {
    let exact = by_bytes || s.ios.is_some_and(|n| n > 0);
    let ranges = PrintedRanges { iops: s.printed.iops.filter(|_| !exact), ..s.printed };
    Some(ranges).filter(|ranges| *ranges != PrintedRanges::default())
}

fn spread(s: &Samples, runtime: Nanos, jobs: u32) -> RateSpread {
    RateSpread {
        min: s.min,
        max: s.max,
        mean: s.mean,
        deviation: s.deviation,
        samples: match s.samples {
            Some(n) => n.into(),
            None => {
                let samples = (runtime.as_seconds() * 2.0) as u64;
                Known::assumed(
                    samples.saturating_mul(jobs.max(1).into()),
                    "two samples a second, fio's default",
                )
            }
        },
    }
}

/// The total latency, where a report has only its two parts (`disable_lat`, a line that was not copied): the means add up, and the total lies between
/// the shortest and between the longest of both.
fn added((submission, completion): (&ReportedLatency, &ReportedLatency)) -> Option<ReportedLatency> {
    let counts = submission.samples.get().zip(completion.samples.get());
    counts.is_none_or(|(a, b)| a == b).then(|| ReportedLatency {
        samples: completion.samples.clone(),
        min: Nanos(submission.min.0.saturating_add(completion.min.0)),
        mean: submission.mean + completion.mean,
        deviation: submission.deviation + completion.deviation,
        max: Nanos(submission.max.0.saturating_add(completion.max.0)),
        percentiles: Default::default(),
    })
}

fn latency(l: &Latency) -> ReportedLatency {
    // fio tells the middle of a bucket, 1/64 of its power of two wide, which may lie beyond the longest latency in it.
    let rounded = Nanos(l.max.0.saturating_add(l.max.0 / 64));
    let mut percentiles = BTreeMap::new();
    for (percent, value) in &l.percentiles {
        let is_rounded = l.max < *value && *value <= rounded;
        percentiles.insert(percent.to_string(), if is_rounded { l.max } else { *value });
    }
    ReportedLatency {
        samples: l.samples.into(),
        min: l.min,
        mean: l.mean,
        deviation: l.deviation,
        max: l.max,
        percentiles,
    }
}

/// Flushes. Of those of `fdatasync=`, text tells no more than that they are among the depths.
fn sync(job: &OutputRow) -> Option<ReportedSync> {
    let l = job.sync.as_ref().filter(|l| l.samples != Some(0) && l.mean > 0.0)?;
    let count = match (l.samples.or(job.sync_ios).filter(|n| *n > 0), beyond_the_ios(job)) {
        (None, Some(n)) => Known::assumed(n, "what fio's table of depths counts beyond the I/Os"),
        (counted, _) => counted.into(),
    };
    Some(ReportedSync { count, latency: latency(l) })
}

/// How many requests the table of depths counts beyond the I/Os. Each depth in it is a share of the I/Os.
fn beyond_the_ios(job: &OutputRow) -> Option<u64> {
    let more = job.depth?.iter().sum::<f64>() - 1.0;
    let ios: u64 = total(parts(job).iter().filter_map(|s| s.ios));
    Some((more * ios as f64).round() as u64).filter(|_| more > ROUNDED_SHARES)
}

/// Latencies by bands: fio's bins where they are there, else its table.
fn bands(job: &OutputRow) -> Vec<Band> {
    let parts = parts(job);
    let one = if let [one] = parts[..] { Some(one) } else { None };
    let bins = one.into_iter().flat_map(|s| [&s.lat, &s.clat]).flatten().find(|l| !l.bins.is_empty());
    if let Some(l) = bins {
        let total = l.bins.iter().map(|b| b.1 as f64).sum::<f64>().max(1.0);
        let mut bands = Vec::new();
        for (middle, n) in &l.bins {
            // A bucket of fio is 1/64 of its power of two wide (shared by `stat.h`, FIO_IO_U_PLAT_BITS).
            let half = (1u64 << middle.0.max(1).ilog2().saturating_sub(6)) / 2;
            let above = Nanos(middle.0.saturating_sub(half + 1));
            bands.push(Band { above, up_to: Nanos(middle.0 + half), share: *n as f64 / total });
        }
        return bands;
    }
    let mut rows: Vec<(u64, f64)> = Vec::new();
    for (unit, shares) in [(1, job.latency_ns), (1000, job.latency_us)] {
        let edges = BELOW.iter().map(|edge| u64::from(*edge) * unit);
        rows.extend(edges.zip(shares.into_iter().flatten()));
    }
    let longest = parts.iter().flat_map(|s| [&s.lat, &s.clat]).flatten().map(|l| l.max.0).max();
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

/// volproof's engine for the same system calls.
fn engine(conditions: &Conditions) -> Option<EngineKind> {
    match conditions.engine.as_ref()?.as_str() {
        "io_uring" | "io_uring_cmd" => Some(EngineKind::IoUring),
        "libaio" => Some(EngineKind::Libaio),
        "psync" | "sync" | "vsync" | "pvsync" | "pvsync2" => Some(EngineKind::Psync),
        "null" => Some(EngineKind::Null),
        _ => None,
    }
}

/// A run as a step, under the name that it has in the report.
fn step(output: &Output, run: &ReportRun<'_>, job: &OutputRow, alone: bool) -> StepRecord {
    let reported = reported(output, run, job, alone);
    let engine = engine(&reported.conditions);
    let mut step = StepRecord::of_report(reported, engine);
    let members = u64::from(job.least_members());
    let time = job.runtime.unwrap_or(Nanos(step.window_ns.0.saturating_mul(members)));
    let cpu = job.cpu.unwrap_or_default();
    let ios = total([&step.read, &step.write, &step.trim].into_iter().flatten().map(|s| s.ios));
    let [user, system] = [cpu.user, cpu.system].map(|share| Nanos((share.max(0.0) * time.0 as f64) as u64));
    let [user_per_io, system_per_io] =
        [user, system].map(|time| if ios > 0 { time.0 as f64 / ios as f64 } else { 0.0 });
    step.workers_window_ns = job.runtime.unwrap_or_default();
    step.cpu = CpuRecord {
        user_ns_per_io: user_per_io,
        system_ns_per_io: system_per_io,
        user_ns: user,
        system_ns: system,
        context_switches: cpu.switches,
        page_faults_major: cpu.major_faults,
        page_faults_minor: cpu.minor_faults,
        busiest_worker: cpu.user + cpu.system,
        ..CpuRecord::default()
    };
    step
}

/// Runs in a report.
pub fn count(output: &Output) -> usize {
    runs::runs(output).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fio_formats::json_read;

    #[test]
    fn a_row_of_unlike_jobs_has_the_options_of_none() {
        let with = |options: &str| {
            format!(
                r#"{{"fio version":"fio-3.33","global options":{{"ioengine":"libaio","direct":"1"}},"jobs":[{{"jobname":"r","groupid":0,
                "job options":{{{options},"bs":"4k","iodepth":"2"}},"job_runtime":120000,
                "read":{{"io_bytes":409600000,"bw_bytes":6826666,"iops":1666.6,"runtime":60000,"total_ios":100000}},
                "write":{{"io_bytes":204800000,"bw_bytes":3413333,"iops":833.3,"runtime":60000,"total_ios":50000}}}}]}}"#
            )
        };
        let row = |name: &str| with(&format!(r#""name":"{name}","rw":"randwrite","verify":"crc32c""#));
        let record = |text: String| {
            let output = json_read::read(text.as_bytes()).unwrap().remove(0);
            to_record(&output, ReportForm::Json)
        };
        let unlike = record(row("w"));
        let told = unlike.steps[0].reported.as_ref().unwrap();
        assert!(
            told.read.is_some() && told.conditions.rw.is_unknown() && told.conditions.iodepth.is_unknown()
        );
        assert_eq!((told.conditions.jobs.get(), told.conditions.direct.get()), (Some(2), Some(true)));
        assert!(unlike.report.unwrap().notes[0].contains("shows the options of one of them, w"));
        let alike = record(row("r"));
        assert_eq!(alike.steps[0].reported.as_ref().unwrap().conditions.iodepth.get(), Some(2));
        // Sections of a job file have no name among their options: what was moved, and for how long, tells.
        let of_file = |options: &str| record(with(options)).steps.remove(0).reported.unwrap();
        for rw in ["randread", "randwrite"] {
            let told = of_file(&format!(r#""rw":"{rw}""#));
            assert!(told.conditions.iodepth.is_unknown() && told.read.is_some(), "{rw}: {told:?}");
            assert_eq!(told.contradictions(), Vec::<String>::new(), "{rw}");
        }
        assert_eq!(of_file(r#""rw":"randrw""#).conditions.iodepth.get(), Some(2));
        let reads = |options: &str| with(options).replace("204800000", "0").replace("50000}", "0}");
        let deep = |options: &str| {
            record(reads(options)).steps[0].reported.as_ref().unwrap().conditions.iodepth.get()
        };
        assert_eq!(deep(r#""rw":"randread""#), None, "the run times are those of two jobs");
        assert_eq!(deep(r#""rw":"randread","numjobs":"2""#), Some(2));
        // Another tool may pack a report into its own.
        let packed = format!(r#"[{{"size":"1Gi","class":{{"name":"x"}},"raw":{{"result":{}}}}}]"#, row("r"));
        assert_eq!(json_read::read(packed.as_bytes()).unwrap().len(), 1);
    }
}
