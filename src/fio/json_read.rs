//! fio's JSON of any version, 2.0 to 3.x, as [`Output`]s: one for each document in the text.
//!
//! What lies between documents (fio's own messages, its text and terse forms, a shell's output) is skipped. A document that breaks off gives
//! what came before, marked in [`Output::partial`]; what is no JSON is an error with its line and column. Jobs are read one at a time, so
//! that memory follows the largest job and not the file. Units of each era become ours: before 2.99 latencies are microseconds, before 2.21
//! `io_bytes` counts KiB (axboe/fio#378), before 3.2 the rate is only known in whole KiB/s.

use std::borrow::Cow;
use std::collections::HashMap;

use super::output::{
    BATCHES, BELOW, BELOW_MS, Cpu, DEPTHS, Disk, DiskCounts, Job, Latency, LatencyTarget, More, Output,
    Samples, Stats,
};
use super::value::{Reader, Stop, Value, place};
use crate::hist::bucket_middle;
use crate::sample::Direction;
use crate::unit::{Bytes, Nanos};

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
        /// What is wrong there.
        what: String,
    },
    /// Nothing in it looks like one.
    #[error("no {kind} of fio is in it")]
    Nothing {
        /// What was looked for.
        kind: &'static str,
    },
}

/// All reports in a text, in order.
///
/// # Errors
/// With line and column where a report is not what fio writes, or when there is none.
pub fn read(text: &[u8]) -> Result<Vec<Output>, ReadError> {
    let mut outputs = Vec::new();
    let mut from = 0;
    while let Some(start) = next_document(text, from) {
        let mut reader = Reader::new(text, start);
        let mut document = Document::default();
        let done = document.read(&mut reader);
        if !document.of_fio {
            // Somebody else's braces. When they do not even close, the report may begin within them.
            from = if done.is_ok() { reader.at() } else { start + 1 };
            continue;
        }
        let (line, column) = place(text, reader.at());
        match done {
            Ok(()) => {}
            Err(Stop::End) => {
                let why = format!("it breaks off at line {line}, column {column}");
                document.output.notes.push(why.clone());
                document.output.partial = Some(why);
            }
            Err(Stop::Wrong(what)) => return Err(ReadError::Form { line, column, what }),
        }
        from = reader.at();
        outputs.push(document.output);
    }
    if outputs.is_empty() { Err(ReadError::Nothing { kind: "JSON report" }) } else { Ok(outputs) }
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
}

impl Document {
    fn read<'a>(&mut self, reader: &mut Reader<'a>) -> Result<(), Stop> {
        let done = reader.object(|reader, key| self.member(reader, key));
        let output = &mut self.output;
        output.timestamp_ms = output.timestamp_ms.or(self.seconds.map(|s| s.saturating_mul(1000)));
        members(output);
        done
    }

    fn member<'a>(&mut self, reader: &mut Reader<'a>, key: Cow<'a, str>) -> Result<(), Stop> {
        match &*key {
            "fio version" | "global options" | "disk_util" => self.of_fio = true,
            "jobs" | "client_stats" => {
                self.of_fio |= &*key == "client_stats";
                return reader.array(|reader| {
                    let mut value = Value::Null;
                    let done = reader.value_into(&mut value);
                    if value.get("jobname").is_some() {
                        self.of_fio = true;
                        let job = job(value, &mut self.output);
                        self.output.jobs.push(job);
                    }
                    done
                });
            }
            _ => {}
        }
        let mut value = Value::Null;
        let done = reader.value_into(&mut value);
        let output = &mut self.output;
        match &*key {
            "fio version" => output.version = value.as_str().unwrap_or_default().into(),
            "timestamp" => self.seconds = value.as_u64(),
            "timestamp_ms" => output.timestamp_ms = value.as_u64(),
            "time" => {}
            "global options" => output.global_options = options(&value),
            "disk_util" => {
                if let Value::List(list) = &value {
                    output.disks = list.iter().filter_map(disk).collect();
                }
            }
            _ if done.is_ok() => output.more.push((key.into_owned(), value.into_owned())),
            _ => {}
        }
        done
    }
}

fn options(value: &Value<'_>) -> Vec<(String, String)> {
    let text = |v: &Value<'_>| match v {
        Value::Text(t) => t.to_string(),
        Value::Number(n) => n.to_string(),
        _ => String::new(),
    };
    value.members().iter().map(|(k, v)| (k.to_string(), text(v))).collect()
}

/// A row stands for all clones of its job where it is the only one of that name in its group: fio tells neither the number nor
/// `group_reporting`, which has no value (flags without one are not among the options).
fn members(output: &mut Output) {
    let mut rows: HashMap<(String, u32), usize> = HashMap::new();
    for job in &output.jobs {
        *rows.entry((job.name.clone(), job.group)).or_default() += 1;
    }
    let number = |job: &Job| job.option(output, &["numjobs"]).and_then(|n| n.parse().ok()).unwrap_or(1);
    let counts: Vec<u32> = output.jobs.iter().map(number).collect();
    for (job, n) in output.jobs.iter_mut().zip(counts) {
        if rows.get(&(job.name.clone(), job.group)) == Some(&1) {
            job.members = n.max(1);
        }
    }
}

/// Keys of a row that are read; others are kept as they are.
const KNOWN: &[&str] = &[
    "jobname",
    "groupid",
    "error",
    "eta",
    "elapsed",
    "job_start",
    "job options",
    "read",
    "write",
    "trim",
    "mixed",
    "sync",
    "job_runtime",
    "usr_cpu",
    "sys_cpu",
    "ctx",
    "majf",
    "minf",
    "iodepth_level",
    "iodepth_submit",
    "iodepth_complete",
    "latency_ns",
    "latency_us",
    "latency_ms",
    "total_err",
    "first_error",
    "latency_depth",
    "latency_target",
    "latency_target_ns",
    "latency_percentile",
    "latency_window",
    "latency_window_us",
    "desc",
    "hostname",
];

fn job(value: Value<'_>, output: &mut Output) -> Job {
    let era = Era::of(&output.version, &value);
    let number = |name: &str| value.get(name).and_then(Value::as_u64);
    let real = |name: &str| value.get(name).and_then(Value::as_f64);
    let signed = |name: &str| real(name).map(|x| x as i32);
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_string);
    let part = |name: &str| value.get(name).filter(|v| matches!(v, Value::Map(_))).map(|v| stats(v, era));
    let mut job = Job {
        name: text("jobname").unwrap_or_default(),
        host: text("hostname"),
        group: number("groupid").unwrap_or(0) as u32,
        members: 1,
        error: signed("error").unwrap_or(0),
        eta: number("eta"),
        elapsed: number("elapsed"),
        start_ms: number("job_start"),
        options: value.get("job options").map(options).unwrap_or_default(),
        description: text("desc"),
        mixed: part("mixed"),
        sync: value.get("sync").and_then(|s| s.get("lat_ns")).map(|l| latency(l, Era { nanos: true, ..era })),
        sync_ios: value.get("sync").and_then(|s| s.get("total_ios")).and_then(Value::as_u64),
        runtime: number("job_runtime").map(|ms| Nanos(ms.saturating_mul(1_000_000))),
        depth: shares(&value, "iodepth_level", DEPTHS),
        submit: shares(&value, "iodepth_submit", BATCHES),
        complete: shares(&value, "iodepth_complete", BATCHES),
        latency_ns: shares(&value, "latency_ns", BELOW.map(|n| n.to_string())),
        latency_us: shares(&value, "latency_us", BELOW.map(|n| n.to_string())),
        latency_ms: shares(&value, "latency_ms", BELOW_MS),
        errors: number("total_err"),
        first_error: signed("first_error"),
        ..Job::default()
    };
    for d in [Direction::Read, Direction::Write, Direction::Trim] {
        job.directions[d] = part(d.name());
    }
    if value.get("usr_cpu").is_some() {
        job.cpu = Some(Cpu {
            user: real("usr_cpu").unwrap_or(0.0) / 100.0,
            system: real("sys_cpu").unwrap_or(0.0) / 100.0,
            switches: number("ctx").unwrap_or(0),
            major_faults: number("majf").unwrap_or(0),
            minor_faults: number("minf").unwrap_or(0),
        });
    }
    if let Some(depth) = number("latency_depth") {
        let factor = if era.nanos { 1 } else { 1000 };
        let window = number("latency_window_us").or(number("latency_window")).unwrap_or(0);
        let target = number("latency_target").unwrap_or(0).saturating_mul(factor);
        job.target = Some(LatencyTarget {
            depth: depth as u32,
            target: Nanos(number("latency_target_ns").unwrap_or(target)),
            percentile: real("latency_percentile").unwrap_or(0.0) / 100.0,
            window: Nanos(window.saturating_mul(1000)),
        });
    }
    for name in ["read", "write", "trim", "mixed", "sync"] {
        if value.get(name).is_some_and(|v| !matches!(v, Value::Map(_))) && output.notes.len() < 20 {
            output.notes.push(format!("job {}: \"{name}\" is no object", job.name));
        }
    }
    if let Value::Map(members) = value {
        let unknown = members.into_iter().filter(|(k, _)| !KNOWN.contains(&&**k));
        job.more = unknown.map(|(k, v)| (k.into_owned(), v.into_owned())).collect();
    }
    job
}

/// What the figures of a version mean.
#[derive(Clone, Copy)]
struct Era {
    /// Latencies are nanoseconds.
    nanos: bool,
    /// `io_bytes` counts KiB.
    kib: bool,
}

impl Era {
    fn of(version: &str, job: &Value<'_>) -> Era {
        let any = |name: &str| {
            ["read", "write", "trim", "mixed"]
                .iter()
                .any(|d| job.get(d).is_some_and(|d| d.get(name).is_some()))
        };
        let nanos = any("lat_ns") || any("clat_ns") || any("slat_ns");
        let numbers: Vec<u32> = version
            .trim_start_matches(|c: char| !c.is_ascii_digit())
            .split(|c: char| !c.is_ascii_digit())
            .map_while(|n| n.parse().ok())
            .collect();
        let early =
            numbers.is_empty() || (numbers[0] == 2 && numbers.get(1).is_none_or(|minor| *minor <= 20));
        Era { nanos, kib: !nanos && !any("io_kbytes") && early }
    }
}

fn shares<const N: usize, K: AsRef<str>>(job: &Value<'_>, name: &str, keys: [K; N]) -> Option<[f64; N]> {
    let map = job.get(name)?;
    Some(keys.map(|k| map.get(k.as_ref()).and_then(Value::as_f64).unwrap_or(0.0) / 100.0))
}

fn stats(value: &Value<'_>, era: Era) -> Stats {
    let number = |name: &str| value.get(name).and_then(Value::as_u64);
    let real = |name: &str| value.get(name).and_then(Value::as_f64);
    let ns = |name: &str| value.get(&format!("{name}_ns")).or(value.get(name)).map(|l| latency(l, era));
    let kib = Bytes::KIB.0 as f64;
    let bytes = number("io_bytes").unwrap_or(0);
    let bandwidth = real("bw_mean").map(|mean| Samples {
        min: real("bw_min").unwrap_or(0.0).max(0.0) * kib,
        max: real("bw_max").unwrap_or(0.0) * kib,
        share: real("bw_agg").map(|x| x / 100.0),
        mean: mean * kib,
        deviation: real("bw_dev").unwrap_or(0.0) * kib,
        samples: number("bw_samples"),
    });
    let iops = real("iops_mean").map(|mean| Samples {
        min: real("iops_min").unwrap_or(0.0).max(0.0),
        max: real("iops_max").unwrap_or(0.0),
        share: None,
        mean,
        deviation: real("iops_stddev").unwrap_or(0.0),
        samples: number("iops_samples"),
    });
    let more: More =
        ["prios"].iter().filter_map(|k| Some((k.to_string(), value.get(k)?.clone().into_owned()))).collect();
    Stats {
        bytes: Bytes(if era.kib { bytes.saturating_mul(1024) } else { bytes }),
        bytes_per_second: real("bw_bytes").or(real("bw").map(|x| x * kib)).unwrap_or(0.0),
        iops: real("iops").unwrap_or(0.0),
        runtime: Nanos(number("runtime").unwrap_or(0).saturating_mul(1_000_000)),
        ios: number("total_ios"),
        short: number("short_ios").unwrap_or(0),
        dropped: number("drop_ios").unwrap_or(0),
        slat: ns("slat"),
        clat: ns("clat"),
        lat: ns("lat"),
        bandwidth_samples: bandwidth,
        iops_samples: iops,
        cache_hit: real("cachehit").map(|x| x / 100.0),
        more,
    }
}

fn latency(value: &Value<'_>, era: Era) -> Latency {
    let factor = if era.nanos { 1 } else { 1000 };
    let time = |v: &Value<'_>| v.as_u64().map(|n| Nanos(n.saturating_mul(factor)));
    let real = |name: &str| value.get(name).and_then(Value::as_f64).unwrap_or(0.0) * factor as f64;
    // 2.x fills the list to twenty entries with 0.00.
    let mut percentiles: Vec<(f64, Nanos)> = value
        .get("percentile")
        .map(Value::members)
        .unwrap_or_default()
        .iter()
        .filter_map(|(k, v)| Some((k.parse::<f64>().ok().filter(|p| *p > 0.0 && *p <= 100.0)?, time(v)?)))
        .collect();
    percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    let bins = value.get("bins").map(Value::members).unwrap_or_default();
    // The first json+ (2.14 to 2.98) named bins by their number and told the layout among them.
    let by_number = bins.iter().any(|(k, _)| k == "FIO_IO_U_PLAT_BITS");
    let mut bins: Vec<(Nanos, u64)> = bins
        .iter()
        .filter_map(|(k, v)| {
            let key: u64 = k.parse().ok()?;
            let key =
                if by_number { bucket_middle(usize::try_from(key).ok().filter(|i| *i < 4096)?) } else { key };
            Some((Nanos(key.saturating_mul(factor)), v.as_u64()?))
        })
        .collect();
    bins.sort();
    Latency {
        min: value.get("min").and_then(time).unwrap_or_default(),
        max: value.get("max").and_then(time).unwrap_or_default(),
        mean: real("mean"),
        deviation: real("stddev"),
        samples: value.get("N").and_then(Value::as_u64),
        percentiles,
        bins,
    }
}

fn disk(value: &Value<'_>) -> Option<Disk> {
    let counts = |prefix: &str| {
        let number = |name: &str| value.get(&format!("{prefix}{name}")).and_then(Value::as_u64);
        let pair = |name: &str| {
            let second =
                number(&format!("write_{name}")).or(number(&format!("write_{}", name.trim_end_matches('s'))));
            Some((number(&format!("read_{name}"))?, second.unwrap_or(0)))
        };
        Some(DiskCounts {
            ios: pair("ios")?,
            sectors: pair("sectors"),
            merges: pair("merges").unwrap_or_default(),
            ticks: pair("ticks").unwrap_or_default(),
            in_queue: number("in_queue").unwrap_or(0),
            busy: value.get(&format!("{prefix}util")).and_then(Value::as_f64).unwrap_or(0.0) / 100.0,
        })
    };
    Some(Disk {
        name: value.get("name")?.as_str()?.into(),
        counts: counts("")?,
        below: counts("aggr_"),
        is_below: false,
    })
}
