//! fio's JSON of any version, 2.0 to 3.x, as [`Output`]s: one for each document in the text.
//!
//! Text between documents (fio's own messages, its text and terse forms, a shell's output) is skipped. A document that breaks off gives
//! what came before, marked in [`Output::partial`]; what is no JSON is an error with its line and column. Jobs are read one at a time, so
//! that memory follows the largest job and not the file. Units of each era become ours: before 2.99 latencies are microseconds, before 2.21
//! `io_bytes` counts KiB (axboe/fio#378), before 3.2 the rate is only known in whole KiB/s.

use std::borrow::Cow;
use std::cell::{LazyCell, RefCell};
use std::collections::HashMap;

use super::impossible::{self, Checked};
use super::json_syntax::{JsonReader, JsonStop, place};
use super::json_value::JsonValue;
use super::output::{
    BATCHES, BELOW, BELOW_MS, DEPTHS, DiskCounters, DiskCounts, Latency, LatencyTarget, MOST_ROWS, Output,
    OutputRow, RowCpu, Samples, Stats,
};
use volproof_base::hist::bucket_middle;
use volproof_base::report_form::PrintedRanges;
use volproof_base::sample::Direction;
use volproof_base::unit::{Bytes, Nanos};

/// Entries of lists (options, percentiles, bins) of all rows of a file; rows behind them are left out. Ten
/// thousand jobs have two hundred each. An entry takes up to 100 bytes, and its text may have five.
const MOST_KEPT: usize = 1 << 21;

/// Braces of other tools that are opened in search of a report.
const DEEPEST: usize = 64;

/// Why a report could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It has the form of one, up to here.
    #[error("line {line}, column {column}: {what}")]
    Form {
        /// From 1.
        line: usize,
        /// From 1, in bytes.
        column: usize,
        /// The mistake.
        what: String,
    },
    /// Nothing in it looks like one.
    #[error("no {kind} of fio is in it")]
    Nothing {
        /// The form that was looked for.
        kind: &'static str,
    },
}

/// All reports in a text, in order.
///
/// # Errors
/// With line and column where a report is not what fio writes, or when there is none.
pub fn read(text: &[u8]) -> Result<Vec<Output>, ReadError> {
    let mut outputs = Vec::new();
    let (mut from, mut rows, mut kept, mut inside) = (0, 0, 0, 0);
    let versions = LazyCell::new(|| versions(text));
    while let Some(start) = next_document(text, from) {
        let mut reader = JsonReader::new(text, start);
        let mut document = Document { rows, kept, ..Document::default() };
        let done = document.read(&mut reader);
        if !document.of_fio {
            // These braces are not fio's. Where they never close, the report may begin within them, and where another tool packed it into its own
            // (kubestr).
            let packed = done.is_ok()
                && inside < DEEPEST
                && versions.iter().any(|at| (start..reader.at()).contains(at));
            inside += usize::from(packed);
            from = if done.is_ok() && !packed { reader.at() } else { start + 1 };
            continue;
        }
        if let Err(stop) = done {
            let (line, column) = place(text, reader.at());
            if let JsonStop::Wrong(what) = stop {
                return Err(ReadError::Form { line, column, what });
            }
            let why = format!("it breaks off at line {line}, column {column}");
            document.output.notes.push(why.clone());
            document.output.partial = Some(why);
        }
        from = reader.at();
        (rows, kept) = (document.rows, document.kept);
        outputs.push(document.output);
        if outputs.len() == MOST_ROWS {
            break;
        }
    }
    if outputs.is_empty() { Err(ReadError::Nothing { kind: "JSON report" }) } else { Ok(outputs) }
}

/// Where the key stands with which each report of fio begins.
fn versions(text: &[u8]) -> Vec<usize> {
    const KEY: &[u8] = b"\"fio version\"";
    (0..text.len()).filter(|at| text[*at..].starts_with(KEY)).collect()
}

/// The next brace that a key or the end of an object follows.
fn next_document(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += text.get(at..)?.iter().position(|b| *b == b'{')?;
        let inside = text[at + 1..].iter().find(|b| !b.is_ascii_whitespace());
        if inside == Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}

#[derive(Default)]
struct Document {
    output: Output,
    /// A key was seen that only fio has.
    of_fio: bool,
    seconds: Option<u64>,
    /// Rows so far, those of earlier documents too.
    rows: usize,
    /// Entries of lists in those rows, and values that are kept as they are.
    kept: usize,
}

impl Document {
    fn read<'a>(&mut self, reader: &mut JsonReader<'a>) -> Result<(), JsonStop> {
        let done = reader.object(|reader, key| self.member(reader, key));
        let output = &mut self.output;
        output.timestamp_ms = output.timestamp_ms.or(self.seconds.map(|s| s.saturating_mul(1000)));
        members(output);
        done
    }

    /// A row of a job or client.
    fn row(&mut self, reader: &mut JsonReader<'_>) -> Result<(), JsonStop> {
        let mut value = JsonValue::Null;
        let done = reader.value_into(&mut value);
        if value.get("jobname").is_none() {
            return done;
        }
        self.of_fio = true;
        if self.rows == MOST_ROWS || self.kept >= MOST_KEPT {
            let why = format!("only the first {} rows were read", self.rows);
            self.output.partial.get_or_insert(why);
            return done;
        }
        self.rows += 1;
        let job = job(value, &mut self.output);
        self.kept += entries(&job);
        self.output.jobs.push(job);
        done
    }

    fn member<'a>(&mut self, reader: &mut JsonReader<'a>, key: Cow<'a, str>) -> Result<(), JsonStop> {
        match &*key {
            "fio version" | "global options" | "disk_util" => self.of_fio = true,
            "jobs" | "client_stats" => {
                self.of_fio |= &*key == "client_stats";
                return reader.array(|reader| self.row(reader));
            }
            _ => {}
        }
        let mut value = JsonValue::Null;
        let done = reader.value_into(&mut value);
        let output = &mut self.output;
        match &*key {
            "fio version" => output.version = value.as_str().unwrap_or_default().into(),
            "timestamp" => self.seconds = value.as_u64(),
            "timestamp_ms" => output.timestamp_ms = value.as_u64(),
            "global options" => output.global_options = options(&value),
            "disk_util" => {
                if let JsonValue::List(list) = &value {
                    output.disks = list.iter().filter_map(|d| disk(d, &mut output.notes)).collect();
                }
            }
            _ => {}
        }
        done
    }
}

/// Entries of the lists of a row.
fn entries(job: &OutputRow) -> usize {
    let parts = job.directions.0.iter().flatten().chain(&job.mixed);
    let latencies = parts.flat_map(|s| [&s.slat, &s.clat, &s.lat]).flatten();
    let tables: usize = latencies.map(|l| l.percentiles.len() + l.bins.len()).sum();
    tables + job.options.len() + job.impossible.len()
}

fn options(value: &JsonValue<'_>) -> Vec<(String, String)> {
    let mut options = Vec::new();
    for (name, value) in value.members() {
        let text = if let JsonValue::Text(text) | JsonValue::Number(text) = value { text } else { "" };
        options.push((name.to_string(), text.to_string()));
    }
    options
}

/// A row stands for all clones of its job where it is the only one of that name in its group: fio tells neither the number nor
/// `group_reporting`, which has no value (flags without one are not among the options).
fn members(output: &mut Output) {
    let mut rows: HashMap<(String, u32), usize> = HashMap::new();
    for job in &output.jobs {
        *rows.entry((job.name.clone(), job.group)).or_default() += 1;
    }
    let counts = output.jobs.iter().map(|job| job.option(output, &["numjobs"])?.parse().ok());
    let counts: Vec<u32> = counts.map(|n| n.unwrap_or(1)).collect();
    for (job, n) in output.jobs.iter_mut().zip(counts) {
        if rows.get(&(job.name.clone(), job.group)) == Some(&1) {
            job.members = n.max(1);
        }
    }
}

/// The default port of `fio --server` (`server.h`, `FIO_NET_PORT`).
const DEFAULT_PORT: u64 = 8765;
/// fio counts flushes into the shares of depths and batches, but not into the whole: `fsync=1` gives 200 %.
const WITH_FLUSHES: f64 = 5.0;

fn job(value: JsonValue<'_>, output: &mut Output) -> OutputRow {
    let era = Era::of_row(&output.version, &value);
    let found = RefCell::new(Vec::new());
    let row = Checked::new(&value, &found);
    let [name, host, description] = ["jobname", "hostname", "desc"]
        .map(|name| value.get(name).and_then(JsonValue::as_str).map(str::to_string));
    let sync = row.object("sync");
    let mut job = OutputRow {
        name: name.unwrap_or_default(),
        host: host.map(|name| match value.get("port").and_then(JsonValue::as_u64) {
            // Two servers may run on one machine.
            Some(port) if port != DEFAULT_PORT => format!("{name}:{port}"),
            _ => name,
        }),
        group: row.count("groupid").unwrap_or(0) as u32,
        members: 1,
        error: row.signed("error").unwrap_or(0),
        eta: value.get("eta").and_then(JsonValue::as_u64),
        elapsed: row.count("elapsed"),
        start_ms: row.count("job_start"),
        options: value.get("job options").map(options).unwrap_or_default(),
        description,
        mixed: row.object("mixed").map(|part| Box::new(stats(&part, era))),
        sync: sync
            .as_ref()
            .and_then(|s| s.object("lat_ns"))
            .and_then(|l| latency(&l, Era { nanos: true, ..era })),
        sync_ios: sync.as_ref().and_then(|s| s.count("total_ios")),
        runtime: row.count("job_runtime").map(|ms| Nanos(ms.saturating_mul(1_000_000))),
        depth: shares(&row, "iodepth_level", DEPTHS, WITH_FLUSHES),
        submit: shares(&row, "iodepth_submit", BATCHES, WITH_FLUSHES),
        complete: shares(&row, "iodepth_complete", BATCHES, WITH_FLUSHES),
        latency_ns: shares(&row, "latency_ns", BELOW.map(|n| n.to_string()), 1.0001),
        latency_us: shares(&row, "latency_us", BELOW.map(|n| n.to_string()), 1.0001),
        latency_ms: shares(&row, "latency_ms", BELOW_MS, 1.0001),
        errors: row.count("total_err"),
        first_error: row.signed("first_error"),
        steady: row.object("steadystate").and_then(|state| state.count("attained")).map(|n| n > 0),
        ..OutputRow::default()
    };
    for d in [Direction::Read, Direction::Write, Direction::Trim] {
        job.directions[d] = row.object(d.name()).map(|part| Box::new(stats(&part, era)));
    }
    let before = row.impossible_values();
    if value.get("usr_cpu").is_some() {
        // Threads that the kernel adds (io_uring's) count to a job too: more than one CPU can be.
        let cpu = RowCpu {
            user: row.percent("usr_cpu", 1024.0).unwrap_or(0.0),
            system: row.percent("sys_cpu", 1024.0).unwrap_or(0.0),
            switches: row.count("ctx").unwrap_or(0),
            major_faults: row.count("majf").unwrap_or(0),
            minor_faults: row.count("minf").unwrap_or(0),
        };
        job.cpu = Some(cpu).filter(|_| row.impossible_values() == before);
    }
    let before = row.impossible_values();
    if let Some(depth) = row.count("latency_depth") {
        let factor = if era.nanos { 1 } else { 1000 };
        let window = row.count("latency_window_us").or(row.count("latency_window")).unwrap_or(0);
        let target = row.count("latency_target").unwrap_or(0).saturating_mul(factor);
        let target = LatencyTarget {
            depth: depth as u32,
            target: Nanos(row.count("latency_target_ns").unwrap_or(target)),
            percentile: row.percent("latency_percentile", 1.0).unwrap_or(0.0),
            window: Nanos(window.saturating_mul(1000)),
        };
        job.target = Some(target).filter(|_| row.impossible_values() == before);
    }
    drop((row, sync));
    job.impossible = found.into_inner();
    impossible::judge(&mut job);
    job
}

/// The units of a version's figures.
#[derive(Clone, Copy)]
struct Era {
    /// Latencies are nanoseconds.
    nanos: bool,
    /// `io_bytes` counts KiB.
    kib: bool,
}

impl Era {
    fn of_row(version: &str, job: &JsonValue<'_>) -> Era {
        let parts: Vec<_> = ["read", "write", "trim", "mixed"].iter().filter_map(|d| job.get(d)).collect();
        let nanos =
            ["lat_ns", "clat_ns", "slat_ns"].iter().any(|name| parts.iter().any(|d| d.get(name).is_some()));
        let counts_kib = parts.iter().any(|d| d.get("io_kbytes").is_some());
        let numbers: Vec<u32> = version
            .trim_start_matches(|c: char| !c.is_ascii_digit())
            .split(|c: char| !c.is_ascii_digit())
            .map_while(|n| n.parse().ok())
            .collect();
        let early =
            numbers.is_empty() || (numbers[0] == 2 && numbers.get(1).is_none_or(|minor| *minor <= 20));
        Era { nanos, kib: !nanos && !counts_kib && early }
    }
}

fn shares<const N: usize, K: AsRef<str>>(
    row: &Checked<'_, '_>,
    name: &str,
    keys: [K; N],
    most: f64,
) -> Option<[f64; N]> {
    let map = row.object(name)?;
    let before = map.impossible_values();
    let found = keys.map(|k| map.percent(k.as_ref(), most).unwrap_or(0.0));
    Some(found).filter(|_| map.impossible_values() == before)
}

fn stats(part: &Checked<'_, '_>, era: Era) -> Stats {
    let kib = Bytes::KIB.0 as f64;
    let kbytes = if part.value().get("io_bytes").is_none() { part.count("io_kbytes") } else { None };
    let in_kib = era.kib || kbytes.is_some();
    let bytes = kbytes.or_else(|| part.count("io_bytes")).unwrap_or(0);
    let [slat, clat, lat] = ["slat", "clat", "lat"].map(|name| {
        let with_unit = format!("{name}_ns");
        let there = part.value().get(&with_unit).is_some();
        part.object(if there { &with_unit } else { name }).and_then(|l| latency(&l, era))
    });
    let exact_rate = part.real("bw_bytes");
    let rate = exact_rate.or_else(|| Some(part.real("bw")? * kib));
    let iops = part.real("iops").unwrap_or(0.0);
    // Rates in bytes are cut to whole bytes or KiB, and old versions cut IOPS too.
    let printed = PrintedRanges {
        bytes: in_kib.then_some((bytes as f64 * kib, (bytes as f64 + 1.0) * kib)),
        iops: (iops.fract() == 0.0).then_some((iops, iops + 1.0)),
        bytes_per_second: rate.map(|rate| (rate, rate + if exact_rate.is_some() { 1.0 } else { kib })),
    };
    Stats {
        printed,
        bytes: Bytes(if in_kib { bytes.saturating_mul(1024) } else { bytes }),
        bytes_per_second: rate.unwrap_or(0.0),
        iops,
        runtime: part.millis("runtime").unwrap_or_default(),
        ios: part.count("total_ios"),
        short: part.count("short_ios").unwrap_or(0),
        dropped: part.count("drop_ios").unwrap_or(0),
        slat,
        clat,
        lat,
        bandwidth_samples: samples(part, "bw", "bw_dev", kib),
        iops_samples: samples(part, "iops", "iops_stddev", 1.0),
    }
}

/// Samples of a rate in a unit; none where one of their figures is impossible.
fn samples(part: &Checked<'_, '_>, name: &str, deviation: &str, unit: f64) -> Option<Samples> {
    let before = part.impossible_values();
    let samples = Samples {
        min: part.least(&format!("{name}_min")).unwrap_or(0.0) * unit,
        max: part.real(&format!("{name}_max")).unwrap_or(0.0) * unit,
        share: if name == "bw" { part.percent("bw_agg", f64::MAX) } else { None },
        mean: part.real(&format!("{name}_mean"))? * unit,
        deviation: part.real(deviation).unwrap_or(0.0) * unit,
        samples: part.count(&format!("{name}_samples")),
    };
    Some(samples).filter(|_| part.impossible_values() == before)
}

/// A latency; none where one of its figures is impossible. A table with an impossible figure is left out.
fn latency(l: &Checked<'_, '_>, era: Era) -> Option<Latency> {
    let factor = if era.nanos { 1 } else { 1000 };
    let before = l.impossible_values();
    let max = Nanos(l.count("max").unwrap_or(0).saturating_mul(factor));
    let [mean, deviation] = ["mean", "stddev"].map(|name| l.real(name).unwrap_or(0.0) * factor as f64);
    let samples = l.count("N");
    // The minimum of nothing is a number that was never set.
    let nothing = samples.map_or(max.0 == 0, |n| n == 0);
    let told = !nothing || l.least("min").is_some();
    let min = Nanos(if told { l.count("min").unwrap_or(0).saturating_mul(factor) } else { 0 });
    let kept = l.impossible_values() == before;
    let mut percentiles: Vec<(f64, Nanos)> = Vec::new();
    for (k, n) in l.object("percentile").and_then(|t| t.counts()).unwrap_or_default() {
        // 2.x fills the list to twenty entries with 0.00.
        let percent = k.parse::<f64>().ok().filter(|p| *p > 0.0 && *p <= 100.0);
        percentiles.extend(percent.map(|p| (p, Nanos(n.saturating_mul(factor)))));
    }
    percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    let bins = l.object("bins").and_then(|b| b.counts()).unwrap_or_default();
    // The first json+ (2.14 to 2.98) named bins by their number and told the layout among them.
    let by_number = bins.iter().any(|(k, _)| *k == "FIO_IO_U_PLAT_BITS");
    let mut bins: Vec<(Nanos, u64)> = bins
        .into_iter()
        .filter_map(|(k, n)| {
            let key: u64 = k.parse().ok()?;
            let key =
                if by_number { bucket_middle(usize::try_from(key).ok().filter(|i| *i < 4096)?) } else { key };
            Some((Nanos(key.saturating_mul(factor)), n))
        })
        .collect();
    bins.sort();
    kept.then_some(Latency { min, max, mean, deviation, samples, percentiles, bins })
}

/// The counters whose names begin so.
fn counts(row: &Checked<'_, '_>, prefix: &str) -> Option<DiskCounts> {
    let [ios, sectors, merges, ticks] = ["ios", "sectors", "merges", "ticks"].map(|name| {
        let written = row.count(&format!("{prefix}write_{name}"));
        // fio has `aggr_write_merge`.
        let written = written.or(row.count(&format!("{prefix}write_{}", name.trim_end_matches('s'))));
        Some((row.count(&format!("{prefix}read_{name}"))?, written.unwrap_or(0)))
    });
    Some(DiskCounts {
        ios: ios?,
        sectors,
        merges: merges.unwrap_or_default(),
        ticks: ticks.unwrap_or_default(),
        in_queue: row.count(&format!("{prefix}in_queue")).unwrap_or(0),
        busy: row.percent(&format!("{prefix}util"), 1.05).unwrap_or(0.0),
    })
}

/// A disk's counters; told and left out where one of them cannot be.
fn disk(value: &JsonValue<'_>, notes: &mut Vec<String>) -> Option<DiskCounters> {
    let found = RefCell::new(Vec::new());
    let row = Checked::new(value, &found);
    let name: String = value.get("name")?.as_str()?.into();
    let disk = Some(DiskCounters { name, counts: counts(&row, "")?, below: counts(&row, "aggr_") });
    let found = found.into_inner();
    if let (Some(first), Some(disk)) = (found.first(), &disk) {
        notes.push(format!("disk {}: {first} cannot be, its counters are left out", disk.name));
    }
    disk.filter(|_| found.is_empty())
}
