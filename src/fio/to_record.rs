//! A report of fio as a Record, so that what reads Records reads fio's results too.
//!
//! A report has no samples over time. None are made up: an imported Record has summaries alone, its series are empty, and a warning says what
//! cannot be known. Figures stay fio's own (percentiles are middles of buckets and not their upper ends). The plan is made from the options as
//! far as the report gives them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::json_read::{self, ReadError};
use super::output::{Job, Latency, Output, Stats};
use super::{number, option, paste, terse, text_read};
use crate::environment::Environment;
use crate::observe::Evidence;
use crate::plan::{BlockSizes, EngineKind, Pattern, Plan, Start, Step};
use crate::record::{
    CpuRecord, DirectionSummary, ErrorRecord, IMPORTED, LatencySummary, Record, RecordError, SCHEMA,
    SCHEMA_VERSION, State, StepRecord, StepTarget, Together,
};
use crate::sample::{Direction, Series};
use crate::stats::percentile::{STANDARD, printable};
use crate::unit::{Bytes, Nanos};
use crate::warn::{Severity, Warning};

/// Why a file gives no Record.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It is a Record that cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// It is something else.
    #[error("{} is not a volproof Record, and no report of fio either", path.display())]
    Neither {
        /// The file.
        path: PathBuf,
    },
    /// It is a report of fio, up to a place.
    #[error("{}: {source}", path.display())]
    Report {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: ReadError,
    },
    /// It is a report that no Record can be made from.
    #[error("{}: {why}", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
}

/// All reports in a text of any form: JSON where there is some, since it says most, else fio's text, else terse lines.
///
/// # Errors
/// With line and column, when it has one of these forms and breaks it, or none of them.
pub fn read_any(bytes: &[u8]) -> Result<Vec<Output>, ReadError> {
    of_plain(&paste::plain(bytes)).map_err(|e| paste::placed(bytes, e))
}

fn of_plain(bytes: &[u8]) -> Result<Vec<Output>, ReadError> {
    let nothing = |e: &ReadError| matches!(e, ReadError::Nothing { .. });
    match json_read::read(bytes) {
        Err(e) if nothing(&e) => {}
        found => return found,
    }
    match terse::read(bytes) {
        Err(e) if nothing(&e) => {}
        found => return found.map(|output| vec![output]),
    }
    match text_read::read(bytes) {
        Err(e) if nothing(&e) => Err(ReadError::Nothing { kind: "report" }),
        found => found,
    }
}

/// What a file holds.
pub enum Loaded {
    /// A Record.
    Record(Box<Record>),
    /// Reports of fio, and the text that they are in.
    Reports(Vec<u8>, Vec<Output>),
}

/// Reads a Record, or reports of fio.
///
/// # Errors
/// See [`LoadError`].
pub fn open(path: &Path) -> Result<Loaded, LoadError> {
    let read = |source| RecordError::Read { path: path.to_path_buf(), source };
    let bytes = crate::input::read(path).map_err(read)?;
    let ours = bytes.windows(SCHEMA.len()).any(|part| part == SCHEMA.as_bytes());
    if let Some(text) = std::str::from_utf8(&bytes).ok().filter(|_| ours) {
        match Record::parse(text, path.to_path_buf()) {
            Ok(record) => return Ok(Loaded::Record(Box::new(record))),
            Err(RecordError::Foreign { .. }) => {}
            Err(e) => return Err(e.into()),
        }
    }
    match read_any(&bytes) {
        Ok(outputs) => Ok(Loaded::Reports(bytes, outputs)),
        Err(ReadError::Nothing { .. }) => Err(LoadError::Neither { path: path.to_path_buf() }),
        Err(source) => Err(LoadError::Report { path: path.to_path_buf(), source }),
    }
}

/// Reads a Record, or a report of fio as one, without doubts about its test.
///
/// # Errors
/// See [`LoadError`].
pub fn load(path: &Path) -> Result<Record, LoadError> {
    match open(path)? {
        Loaded::Record(record) => Ok(*record),
        Loaded::Reports(_, outputs) => {
            to_record(&outputs).map_err(|why| LoadError::Empty { path: path.to_path_buf(), why })
        }
    }
}

/// A row becomes a step: the sum of all clients does not, nor reads and writes that are reported as one.
pub fn has_step(output: &Output, job: &Job) -> bool {
    let sum = job.name == "All clients" && output.jobs.iter().filter(|j| j.host.is_some()).count() > 1;
    let mixed_only = job.mixed.is_some() && job.directions.0.iter().all(Option::is_none);
    !sum && !mixed_only
}

/// The last of the reports as a Record; the earlier ones are interim.
///
/// # Errors
/// When it says nothing that a Record can hold.
pub fn to_record(outputs: &[Output]) -> Result<Record, &'static str> {
    let output = outputs.last().ok_or("it holds no report")?;
    let elapsed = output.jobs.iter().filter_map(|j| j.elapsed).max().unwrap_or(0);
    let ended = output.timestamp_ms.and_then(|ms| i64::try_from(ms).ok()).unwrap_or(0);
    let ended = jiff::Timestamp::from_millisecond(ended).unwrap_or_default();
    let started = ended.checked_sub(std::time::Duration::from_secs(elapsed)).unwrap_or(ended);
    let started = started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let hosts: Vec<&str> = output.jobs.iter().filter_map(|j| j.host.as_deref()).collect();
    let mut record = Record {
        schema: SCHEMA.into(),
        schema_version: SCHEMA_VERSION,
        volproof_version: env!("CARGO_PKG_VERSION").into(),
        started: started.clone(),
        state: match &output.partial {
            Some(why) => State::Failed(format!("the report is not whole: {why}")),
            None => State::Complete,
        },
        plan: Plan {
            name: "imported".into(),
            targets: Vec::new(),
            file_size: None,
            keep: true,
            overwrite: false,
            continue_on_error: false,
            seed: 0,
            steps: Vec::new(),
        },
        environment: Environment {
            hostname: hosts.first().copied().unwrap_or_default().into(),
            cpu_model: "unknown".into(),
            ..Environment::default()
        },
        targets: Vec::new(),
        tuning: None,
        steps: Vec::new(),
        together: Vec::new(),
        cross_checks: Vec::new(),
        warnings: Vec::new(),
        claimed: None,
    };
    if outputs.len() > 1 {
        record.warnings.push(Warning::new(
            Severity::Note,
            "interim-reports",
            format!("the file holds {} reports, of which the last one is taken", outputs.len()),
            "read the others with volproof explain",
        ));
    }
    let mut group = None;
    let mut names = Names::default();
    for job in &output.jobs {
        if record.steps.len() == MOST_STEPS {
            record.warnings.push(Warning::new(
                Severity::Warning,
                "rows-left-out",
                format!(
                    "the report has {} rows; those after the first {MOST_STEPS} are left out",
                    output.jobs.len()
                ),
                "run fio with group_reporting, which makes one row of the clones of a job",
            ));
            break;
        }
        if !has_step(output, job) {
            if job.mixed.is_none() {
                continue; // The sum of the other rows.
            }
            record.warnings.push(Warning::new(
                Severity::Warning,
                "mixed-row",
                format!(
                    "job {}: reads and writes are reported as one (unified_rw_reporting); it is left out",
                    job.name
                ),
                "run it again without unified_rw_reporting",
            ));
            continue;
        }
        let (mut step, assumed) = step(job, output);
        step.name = names.unused(&job.name, job.host.as_deref());
        if seems_time_based(job, output) {
            let mut w = Warning::new(
                Severity::Note,
                "time-based-inferred",
                "taken as time_based, which fio does not list: it ran for its time and not for its size"
                    .to_string(),
                "give the plan an io_size where it should end by size",
            );
            w.step = Some(step.name.clone());
            record.warnings.push(w);
        }
        // The jobs of a group ran together.
        if group == Some(job.group) {
            step.start = Start::WithPrevious;
        } else {
            record.together.push(Together { steps: Vec::new(), evidence: Evidence::default() });
        }
        group = Some(job.group);
        record.together.last_mut().expect("pushed with its group").steps.push(step.name.clone());
        for target in &step.targets {
            if !record.plan.targets.contains(target) {
                record.plan.targets.push(target.clone());
            }
        }
        record.plan.continue_on_error |= job.errors.is_some();
        record.steps.push(StepRecord { assumed, ..step_record(job, &step, &started) });
        record.plan.steps.push(step);
    }
    record.together.retain(|t| t.steps.len() > 1);
    record.warnings.insert(0, imported(output, &record));
    if record.steps.is_empty() {
        return Err("no row of the report can be told apart into reads and writes");
    }
    Ok(record)
}

fn imported(output: &Output, record: &Record) -> Warning {
    let version = if output.version.is_empty() { "fio" } else { &output.version };
    let mut unknown = vec!["samples over time", "the machine", "facts about the target"];
    let latencies = output.jobs.iter().flat_map(|j| j.directions.0.iter().flatten());
    if latencies.flat_map(|s| [&s.clat, &s.lat]).flatten().all(|l| l.samples.is_none()) {
        unknown.push("how many latencies there were");
    }
    if output.timestamp_ms.is_none() {
        unknown.push("when it was");
    }
    let assumed = assumed(record);
    let assumed =
        if assumed.is_empty() { assumed } else { format!("; assumed, since it does not tell: {assumed}") };
    Warning::new(
        Severity::Warning,
        IMPORTED,
        format!("the figures are those of a report of {version}; not in it: {}{assumed}", unknown.join(", ")),
        "no interval, steady state or diagnosis over time can be given; run the plan with volproof for those",
    )
}

/// Each assumed fact with its value, and with the steps it is assumed for where that is not all of them.
fn assumed(record: &Record) -> String {
    let mut facts: Vec<(String, Vec<&str>)> = Vec::new();
    for (step, plan) in record.steps.iter().zip(&record.plan.steps) {
        for fact in &step.assumed {
            let value = match fact.as_str() {
                ENGINE => plan.engine.to_string(),
                DIRECT => if plan.direct { "yes" } else { "no" }.into(),
                DEPTH => plan.iodepth.to_string(),
                PATTERN => plan.rw.to_string(),
                _ => plan.blocks(),
            };
            let words = format!("{fact} {value}");
            match facts.iter_mut().find(|(w, _)| *w == words) {
                Some((_, steps)) => steps.push(&step.name),
                None => facts.push((words, vec![&step.name])),
            }
        }
    }
    let of = |(words, steps): &(String, Vec<&str>)| match steps.as_slice() {
        all if all.len() == record.steps.len() => words.clone(),
        [a, b, c, rest @ ..] if !rest.is_empty() => {
            format!("{words} ({a}, {b}, {c} and {} more)", rest.len())
        }
        some => format!("{words} ({})", some.join(", ")),
    };
    facts.iter().map(of).collect::<Vec<_>>().join(", ")
}

/// Names of steps, each of which is there once.
#[derive(Default)]
struct Names {
    taken: HashSet<String>,
    /// How often a name was asked for.
    asked: HashMap<String, usize>,
}

impl Names {
    /// A name that no step has yet.
    fn unused(&mut self, name: &str, host: Option<&str>) -> String {
        let name = if name.is_empty() { "job" } else { name };
        let first = host.map_or(name.to_string(), |h| format!("{name} on {h}"));
        let n = self.asked.entry(first.clone()).or_default();
        loop {
            let found = if *n == 0 { first.clone() } else { format!("{first}-{n}") };
            *n += 1;
            if self.taken.insert(found.clone()) {
                return found;
            }
        }
    }
}

/// More steps make no Record that anybody could read.
const MOST_STEPS: usize = 4096;
/// Facts of a step that a report may not tell.
const ENGINE: &str = "engine";
const DIRECT: &str = "direct";
const DEPTH: &str = "depth";
const PATTERN: &str = "pattern";
const BLOCK: &str = "block size";

/// What the options say of the load, and which facts are assumed because nothing tells them.
///
/// Where a report lists options, those that it does not list had fio's defaults; only flags are not listed.
fn step(job: &Job, output: &Output) -> (Step, Vec<String>) {
    let option = |names: &[&str]| job.option(output, names).filter(|v| !v.is_empty());
    let flag = |names: &[&str]| job.option(output, names).map(|v| v != "0");
    let header = job.header.as_ref();
    let rw = option(&["rw", "readwrite"]).map(|rw| rw.split(':').next().unwrap_or(rw).to_string());
    let rw = rw.or(header.map(|h| h.rw.clone())).and_then(|rw| rw.parse().ok());
    let depth = option(&["iodepth"]).and_then(|n| n.parse().ok()).or(header.map(|h| h.depth));
    let direct = flag(&["direct"]).or(flag(&["buffered"]).map(|b| !b));
    let engine_name = option(&["ioengine"]).or(header.map(|h| h.engine.as_str()));
    let listed = !job.options.is_empty() || !output.global_options.is_empty();
    let blocking = ["psync", "sync", "vsync", "pvsync", "pvsync2"];
    let same = |name: &str| engine(name) != EngineKind::Psync || blocking.contains(&name);
    let mut assumed: Vec<&str> = [
        (ENGINE, engine_name.map_or(listed, same)),
        (DIRECT, direct.is_some()),
        (DEPTH, depth.is_some() || (listed && option(&["iodepth"]).is_none())),
        (PATTERN, rw.is_some()),
    ]
    .into_iter()
    .filter_map(|(fact, known)| (!known).then_some(fact))
    .collect();
    let mut step = Step {
        rw: rw.unwrap_or_else(|| pattern(job)),
        iodepth: depth.unwrap_or(1),
        numjobs: job.members.max(1),
        direct: direct.unwrap_or(false),
        engine: engine(engine_name.unwrap_or("psync")),
        runtime: job.moved().map(|(_, s)| s.runtime).max().unwrap_or_default(),
        fsync: option(&["fsync", "fdatasync"]).and_then(|n| n.parse().ok()).unwrap_or(0),
        rwmix: option(&["rwmixread"]).and_then(|n| n.parse().ok()).unwrap_or(50),
        ..Step::default()
    };
    step.runtime = step.runtime.max(Nanos::millis(1));
    let given = option(&["bs", "blocksize"]).and_then(|b| bytes(b.split(',').next().unwrap_or(b)));
    let one = header.map(|h| h.block[usize::from(step.rw.directions()[0] == Direction::Write)]);
    let one = one.filter(|(min, max)| min == max).map(|b| b.0);
    let mixed = ["bsrange", "blocksize_range", "bssplit"].iter().any(|o| option(&[o]).is_some());
    let silent = listed && !mixed && option(&["bs", "blocksize"]).is_none();
    match given.or(one).filter(|b| b.0 > 0 && !mixed) {
        Some(block) => step.bs = BlockSizes::one(block),
        None if silent => {}
        None => assumed.push(BLOCK),
    }
    if let Some(names) = option(&["filename"]) {
        step.targets = names.split(':').map(PathBuf::from).collect();
    }
    if flag(&["time_based"]) != Some(true) && !seems_time_based(job, output) {
        step.io_size = option(&["io_size", "size"]).and_then(bytes);
    }
    (step, assumed.into_iter().map(String::from).collect())
}

/// The job ran for its time though no option listed says so: fio does not list flags, and `time_based` is mostly given as one.
/// Told by more bytes than the job was to move, or by a run time that was used up.
pub fn seems_time_based(job: &Job, output: &Output) -> bool {
    let given = |names: &[&str]| job.option(output, names);
    if given(&["time_based", "loops"]).is_some() {
        return false;
    }
    let Some(number::Value::Time(asked)) = given(&["runtime", "timeout"])
        .and_then(|t| number::read(option::find_any("runtime")?, Some(t), 1024).ok())
        .map(|(value, _)| value)
    else {
        return false;
    };
    let moved: u64 = job.moved().map(|(_, s)| s.bytes.0).sum();
    let whole = given(&["io_size"]).or(given(&["size"])).and_then(bytes);
    let more = whole.is_some_and(|w| w.0 > 0 && moved > w.0.saturating_mul(u64::from(job.members.max(1))));
    let longest = job.moved().map(|(_, s)| s.runtime).max().unwrap_or_default();
    // fio's clock counts whole milliseconds.
    more || (asked.0 > 0 && longest.0 + Nanos::millis(10).0 >= asked.0)
}

/// An amount in fio's units; none where it depends on the target.
fn bytes(text: &str) -> Option<Bytes> {
    let (value, _) = number::read(option::find_any("size")?, Some(text), 1024).ok()?;
    if let number::Value::Size(number::Size::Bytes(n)) = value { Some(Bytes(n)) } else { None }
}

/// From what was done, where nothing says what was asked for.
fn pattern(job: &Job) -> Pattern {
    let moved: Vec<Direction> = job.moved().map(|(d, _)| d).collect();
    match moved.as_slice() {
        [Direction::Write] => Pattern::RandWrite,
        [Direction::Trim] => Pattern::RandTrim,
        [Direction::Read, Direction::Write, ..] => Pattern::RandRw,
        _ => Pattern::RandRead,
    }
}

/// Ours for the same system calls; every other engine of fio's counts as blocking calls here.
fn engine(name: &str) -> EngineKind {
    match name {
        "io_uring" | "io_uring_cmd" => EngineKind::IoUring,
        "libaio" => EngineKind::Libaio,
        "null" => EngineKind::Null,
        _ => EngineKind::Psync,
    }
}

fn step_record(job: &Job, step: &Step, started: &str) -> StepRecord {
    let of = |d: Direction| job.directions[d].as_ref().and_then(summary);
    let (read, write, trim) = (of(Direction::Read), of(Direction::Write), of(Direction::Trim));
    let flushes = job.sync.as_ref().and_then(|l| Some((l, l.samples.or(job.sync_ios).filter(|n| *n > 0)?)));
    let sync = flushes.map(|(l, n)| DirectionSummary {
        ios: n,
        bytes: Bytes(0),
        iops: n as f64 / step.runtime.as_seconds(),
        bytes_per_second: 0.0,
        rate: None,
        service_latency_ns: latency(l, n),
        response_latency_ns: None,
    });
    let data = [&read, &write, &trim];
    let ios: u64 = data.into_iter().flatten().map(|s| s.ios).sum();
    // Little's law: what fio's figures say of the requests in flight.
    let in_flight = data.into_iter().flatten().map(|s| s.iops * s.service_latency_ns.mean / 1e9).sum();
    let window = step.runtime;
    let time = job.runtime.unwrap_or(Nanos(window.0.saturating_mul(u64::from(job.members.max(1)))));
    let cpu = job.cpu.unwrap_or_default();
    let used = |share: f64| Nanos((share.max(0.0) * time.0 as f64) as u64);
    let (user, system) = (used(cpu.user), used(cpu.system));
    let per_io = |t: Nanos| if ios > 0 { t.0 as f64 / ios as f64 } else { 0.0 };
    let errors = job.errors.unwrap_or(u64::from(job.error != 0));
    let series = Series { window_ns: window, ..Series::default() };
    StepRecord {
        name: step.name.clone(),
        engine: step.engine,
        engine_features: Vec::new(),
        assumed: Vec::new(),
        fio: None,
        started: started.into(),
        set_up_ns: Nanos(0),
        started_after_ns: Nanos(0),
        window_ns: window,
        workers_window_ns: job.runtime.unwrap_or_default(),
        in_flight_mean: in_flight,
        in_flight_asked: f64::from(step.iodepth) * f64::from(step.numjobs),
        cpu: CpuRecord {
            user_ns_per_io: per_io(user),
            system_ns_per_io: per_io(system),
            user_ns: user,
            system_ns: system,
            context_switches: cpu.switches,
            page_faults_major: cpu.major_faults,
            page_faults_minor: cpu.minor_faults,
            busiest_worker: cpu.user + cpu.system,
            ..CpuRecord::default()
        },
        pinned_cpus: Vec::new(),
        placement: None,
        errors: ErrorRecord { count: errors, first: Vec::new() },
        drained_ios: 0,
        drained_max_ns: Nanos(0),
        end_flushes: 0,
        end_flush_max_ns: Nanos(0),
        lost_ios: 0,
        stuck_workers: 0,
        accounting: None,
        missed_rate: None,
        priorities: Vec::new(),
        open_loop: None,
        depth: None,
        trace_left_out_ios: 0,
        targets: vec![StepTarget {
            path: step.targets.first().cloned().unwrap_or_else(|| "unknown".into()),
            beside: step.targets.iter().skip(1).cloned().collect(),
            read: read.clone(),
            write: write.clone(),
            trim: trim.clone(),
            sync: sync.clone(),
            in_flight_mean: in_flight,
            series,
        }],
        read,
        write,
        trim,
        sync,
        evidence: Evidence::default(),
    }
}

fn summary(s: &Stats) -> Option<DirectionSummary> {
    // Text before 3.x and terse lines do not count I/Os.
    let ios = s.ios.unwrap_or((s.iops * s.runtime.as_seconds()).round() as u64);
    // A rate that is not told follows from its count and time, where those are.
    let rate = |told: f64, amount: u64| match s.runtime.as_seconds() {
        _ if told > 0.0 => Some(told),
        t if t > 0.0 && amount > 0 => Some(amount as f64 / t),
        _ => None,
    };
    if ios == 0 {
        return None;
    }
    let (iops, bytes_per_second) = (rate(s.iops, ios)?, rate(s.bytes_per_second, s.bytes.0)?);
    let known = |l: &&Latency| l.max.0 > 0 || l.samples.is_some_and(|n| n > 0);
    // The total is what we measure; where it has no percentiles, those of the completion stand for it.
    let clat = s.clat.as_ref().filter(known);
    let mut lat = s.lat.as_ref().filter(known).or(clat).cloned().unwrap_or_default();
    if lat.percentiles.is_empty() {
        lat.percentiles = clat.map(|l| l.percentiles.clone()).unwrap_or_default();
    }
    Some(DirectionSummary {
        ios,
        bytes: s.bytes,
        iops,
        bytes_per_second,
        rate: None,
        service_latency_ns: latency(&lat, ios),
        response_latency_ns: None,
    })
}

fn latency(l: &Latency, ios: u64) -> LatencySummary {
    let samples = l.samples.unwrap_or(ios);
    let carried = |share: f64| {
        let near = l.percentiles.iter().find(|(p, _)| (p / 100.0 - share).abs() < 1e-9)?;
        printable(samples as f64, share).then_some(near.1)
    };
    let percentiles: BTreeMap<String, Nanos> =
        STANDARD.iter().filter_map(|(name, share)| Some((name.to_string(), carried(*share)?))).collect();
    LatencySummary {
        samples,
        min: l.min,
        mean: l.mean,
        deviation: l.deviation,
        max: l.max,
        // Whether seconds agree on them is not known: there are none that could differ.
        unsettled: Vec::new(),
        percentiles,
        censored: 0,
    }
}
