//! `sysbench fileio` of versions 0.4, 0.5, 1.0 and 1.1.
//!
//! Its latencies are of all requests together, flushes among them since 1.0. They count for one direction only where that had all of the
//! requests. Blocks go through the page cache unless `--file-extra-flags=direct` is given.

use super::{ForeignReport, ForeignReports, LineReader, printed, set};
use volproof_base::unit::{Bytes, Nanos, grouped, significant};
use volproof_record::{
    Conditions, Known, Pace, ReportForm, ReportProgram, ReportedFigures, ReportedLatency, ReportedStep,
    ReportedSync,
};

/// Printed to 0.01 MiB/s, a smaller rate is cut by more than 0.1 %.
const CUT_MIB: f64 = 10.0;
/// `O_DIRECT` as 0.4 prints the flags of `open`, on x86.
const O_DIRECT: u64 = 0o40000;

/// Reads reports of `sysbench fileio`.
#[derive(Default)]
pub struct SysbenchReader {
    run: Option<SysbenchRun>,
}

/// The lines since the banner.
#[derive(Default)]
struct SysbenchRun {
    version: Option<String>,
    /// The part of the report that began last.
    part: Option<usize>,
    pattern: Option<&'static str>,
    threads: Option<u32>,
    /// Requests a second that `--rate` asks for.
    asked: Option<f64>,
    block: Option<Bytes>,
    total: Option<Bytes>,
    direct: Option<bool>,
    mode: Option<String>,
    flush_every: Option<u32>,
    flush_at_end: bool,
    /// Requests that the run was limited to; 0 for none.
    limit: Option<u64>,
    mix: Option<f64>,
    /// Reads, writes and flushes a second.
    rates: [Option<f64>; 3],
    /// Reads, writes and flushes.
    counts: [Option<u64>; 3],
    /// MiB read and written a second.
    mib: [Option<f64>; 2],
    /// MiB read and written a second together, as 0.4 and 0.5 print them.
    old_speed: Option<f64>,
    /// Length of the run.
    time: Option<Nanos>,
    events: Option<u64>,
    latency: ReportedLatency,
    /// Time of all requests together, nanoseconds.
    sum: Option<f64>,
    fair: bool,
    errors: Option<String>,
}

/// What the parts of a report begin with, in their order.
const PARTS: [&str; 7] = [
    "Running the test with following options",
    "Extra file open flags:",
    "Doing ",
    "File operations:",
    "Operations performed:",
    "Throughput:",
    "Threads fairness:",
];

/// The part of a report that begins with a line.
fn part(line: &str) -> Option<usize> {
    PARTS
        .iter()
        .position(|begin| line.starts_with(begin))
        .filter(|at| *at != DOING || pattern(line).is_some())
}

/// The place among the parts of the line that names the test.
const DOING: usize = 2;

/// fio's word for the test of a line `Doing random read test`.
fn pattern(line: &str) -> Option<&'static str> {
    match line.strip_prefix("Doing ")?.strip_suffix(" test")? {
        "sequential read" => Some("read"),
        "sequential write" | "sequential write (creation)" | "sequential rewrite" => Some("write"),
        "random read" => Some("randread"),
        "random write" => Some("randwrite"),
        "random r/w" | "combined random r/w" => Some("randrw"),
        _ => None,
    }
}

impl LineReader for SysbenchReader {
    fn line(&mut self, line: &str, found: &mut ForeignReports) {
        let line = line.trim();
        if let Some(version) = line.strip_prefix("sysbench ").and_then(|rest| rest.split([' ', ':']).next())
            && version.starts_with(|c: char| c.is_ascii_digit())
        {
            self.end(found);
            self.run = Some(SysbenchRun { version: Some(version.into()), ..SysbenchRun::default() });
            return;
        }
        if let Some(part) = part(line) {
            // A part that was there already, or one that stands before those that were, is of another report.
            if self.run.as_ref().is_some_and(|run| run.part.is_some_and(|last| part <= last)) {
                self.end(found);
            }
            self.run.get_or_insert_default().part = Some(part);
        }
        if let Some(run) = &mut self.run {
            run.line(line);
        }
    }

    fn end(&mut self, found: &mut ForeignReports) {
        // Other tests of sysbench (cpu, memory) have no pattern and no operations on files.
        if let Some(run) = self.run.take().filter(|run| run.pattern.is_some() || run.has_operations()) {
            found.add(run.report());
        }
    }
}

impl SysbenchRun {
    fn has_operations(&self) -> bool {
        self.rates.iter().any(Option::is_some) || self.counts.iter().any(Option::is_some)
    }

    fn line(&mut self, line: &str) {
        if let Some(pattern) = pattern(line) {
            self.pattern = Some(pattern);
        } else if let Some(size) = line.strip_prefix("Block size ") {
            self.block = printed::size(size);
        } else if let Some(size) = line.strip_suffix(" total file size") {
            self.total = printed::size(size);
        } else if let Some(rest) = line.strip_prefix("Using ") {
            self.mode = rest.strip_suffix(" I/O mode").map(str::to_string);
        } else if let Some(rest) = line.strip_prefix("Periodic FSYNC enabled, calling fsync() each ") {
            self.flush_every = rest.split(' ').next().and_then(printed::whole).map(|n| n as u32);
        } else if line.starts_with("Calling fsync() after each write") {
            self.flush_every = Some(1);
        } else if line.starts_with("Calling fsync() at the end of test, Enabled") {
            self.flush_at_end = true;
        } else if let Some(rest) = line.strip_prefix("FATAL: ") {
            self.errors.get_or_insert_with(|| rest.to_string());
        } else if let Some(counts) = line.strip_prefix("Operations performed:") {
            self.old_counts(counts);
        } else if line.starts_with("Read ") && line.contains("Written ") {
            self.old_bytes(line);
        } else if let Some((key, value)) = line.split_once(':') {
            self.pair(key.trim(), value.trim());
        }
    }

    fn pair(&mut self, key: &str, value: &str) {
        let milliseconds = || printed::milliseconds(value);
        match key {
            "Number of threads" => self.threads = printed::whole(value).map(|n| n as u32),
            "Extra file open flags" => {
                let has = value.split([' ', ',']).any(|flag| flag == "directio" || flag == "direct");
                let bits = printed::whole(value).filter(|bits| bits & O_DIRECT != 0);
                self.direct = Some(has || bits.is_some());
            }
            "Target transaction rate" => {
                self.asked = value.strip_suffix("/sec").and_then(printed::number).filter(|x| *x > 0.0);
            }
            "Number of IO requests" | "Number of random requests for random IO" => {
                self.limit = printed::whole(value);
            }
            "Read/Write ratio for combined random IO test" => self.mix = printed::number(value),
            "reads/s" => self.rates[0] = printed::number(value),
            "writes/s" => self.rates[1] = printed::number(value),
            "fsyncs/s" => self.rates[2] = printed::number(value),
            "read, MiB/s" => self.mib[0] = printed::number(value),
            "written, MiB/s" => self.mib[1] = printed::number(value),
            "read" | "write" | "fsync" if value.starts_with("IOPS=") => self.rate_of_1_1(key, value),
            "total time" | "time elapsed" => self.time = printed::time(value),
            "total number of events" => self.events = printed::whole(value),
            "total time taken by event execution" => {
                self.sum = printed::with_unit(value).map(|(s, _)| s * 1e9);
            }
            "sum" => self.sum = milliseconds(),
            "min" => self.latency.min = Nanos(milliseconds().unwrap_or(0.0) as u64),
            "avg" => self.latency.mean = milliseconds().unwrap_or(0.0),
            "max" => self.latency.max = Nanos(milliseconds().unwrap_or(0.0) as u64),
            "Threads fairness" => self.fair = true,
            // 1.1 prints no time of the whole: that of its threads stands for it.
            "execution time (avg/stddev)" if self.time.is_none() => {
                let mean = value.split('/').next().and_then(printed::number);
                self.time = mean.map(|s| Nanos((s * 1e9) as u64));
            }
            _ => {
                let name = key.strip_prefix("approx.").unwrap_or(key).trim();
                let share = name.strip_suffix("percentile").map(|p| p.trim().trim_end_matches("th"));
                // Two decimals: 0.00 ms is some time below 5 us.
                let printed = milliseconds().filter(|ns| *ns > 0.0);
                if let (Some(p), Some(ns)) = (share.and_then(printed::percentile), printed) {
                    self.latency.percentiles.insert(p, Nanos(ns as u64));
                }
            }
        }
    }

    /// `IOPS=18441.11 288.14 MiB/s (302.14 MB/s)`.
    fn rate_of_1_1(&mut self, key: &str, value: &str) {
        let mut words = value.trim_start_matches("IOPS=").split_ascii_whitespace();
        let at = ["read", "write", "fsync"].iter().position(|k| *k == key).unwrap_or(0);
        self.rates[at] = words.next().and_then(printed::number);
        if at < 2 {
            self.mib[at] = words.next().and_then(printed::number);
        }
    }

    /// `6000 Read, 4000 Write, 12800 Other = 22800 Total`.
    fn old_counts(&mut self, text: &str) {
        let counts = text.split(['=', ',']).filter_map(|part| {
            let (n, word) = part.trim().split_once(' ')?;
            let at = match word.to_ascii_lowercase().as_str() {
                "read" | "reads" => 0,
                "write" | "writes" => 1,
                "other" => 2,
                _ => return None,
            };
            Some((at, printed::whole(n)?))
        });
        for (at, n) in counts {
            self.counts[at] = Some(n);
        }
    }

    /// `Read 93.75Mb  Written 62.5Mb  Total transferred 156.25Mb  (3.0459Mb/sec)`, which the time of the run makes a rate.
    fn old_bytes(&mut self, line: &str) {
        let mut words = line.split_ascii_whitespace();
        while let (Some(word), Some(next)) = (words.next(), words.clone().next()) {
            let at = match word {
                "Read" => 0,
                "Written" => 1,
                _ => continue,
            };
            self.mib[at] = printed::size(next).map(|b| b.0 as f64 / Bytes::MIB.0 as f64);
        }
        let speed = line.rsplit_once('(').and_then(|(_, rest)| printed::size(rest.strip_suffix("/sec)")?));
        self.old_speed = speed.map(|b| b.0 as f64 / Bytes::MIB.0 as f64);
    }

    fn report(mut self) -> ForeignReport {
        let tool = self.version.as_ref().map_or("sysbench fileio".into(), |v| format!("sysbench {v} fileio"));
        let mut report = ForeignReport::new(ReportProgram::Sysbench, tool, ReportForm::Text);
        let complete = self.time.is_some() && (self.fair || self.latency.max.0 > 0);
        if let Some(why) = &self.errors {
            report.notes.push(format!("sysbench says: {why}"));
        }
        if !complete {
            report.partial = Some(match &self.errors {
                Some(why) => format!("sysbench failed ({why})"),
                None => "it breaks off before the end of sysbench's results".into(),
            });
        }
        // Sum over number is finer than a mean of two decimals.
        if let (Some(sum), Some(n)) = (self.sum, self.events.filter(|n| *n > 0)) {
            self.latency.mean = sum / n as f64;
        }
        self.latency.samples = self.events.into();
        let step = self.step(&mut report.notes);
        if step.ios() > 0.0 || step.parts().iter().any(|(_, f)| f.iops.is_known()) {
            report.add(step);
        }
        report
    }

    /// The run with what its report says; what fits no figure goes to the notes.
    fn step(&self, notes: &mut Vec<String>) -> ReportedStep {
        let mut step = ReportedStep {
            name: self.pattern.unwrap_or("fileio").into(),
            rows: 1,
            conditions: self.conditions(),
            ..ReportedStep::default()
        };
        step.impossible.extend(self.contradiction());
        step.rate_impossible = !step.impossible.is_empty();
        let figures = [self.figures(0), self.figures(1)];
        let flushes = self.rate(2).get().filter(|x| *x > 0.0);
        let events = self.events.map(|n| n as f64);
        let queued = self.mode.as_deref().is_some_and(|mode| mode.starts_with("asynchronous"));
        if queued {
            notes.push("in asynchronous mode sysbench tells how long a request took to be queued, which is no latency of it and is left out".into());
        }
        let has_latency = self.latency.mean > 0.0 && !queued;
        let one = figures.iter().flatten().count() == 1;
        step.sync = flushes.map(|x| ReportedSync { count: self.flushes(x), ..ReportedSync::default() });
        for (at, f) in figures.into_iter().enumerate().filter_map(|(at, f)| Some((at, f?))) {
            set(&mut step, at == 0, f);
        }
        let only_data = events.is_some_and(|n| step.are_without_flushes(n));
        let only = [&mut step.read, &mut step.write].into_iter().flatten().next();
        if let Some(f) = only.filter(|_| one && only_data && has_latency) {
            f.ios = self.events.map_or(f.ios.clone(), Known::Said);
            f.total = Some(self.latency.clone());
        }
        if !(one && only_data) && has_latency {
            let rate = events.zip(self.time).map(|(n, t)| n / t.as_seconds().max(1e-9));
            step.mixed = Some(ReportedFigures {
                ios: self.events.into(),
                iops: rate.into(),
                runtime: self.time.into(),
                total: Some(self.latency.clone()),
                ..ReportedFigures::default()
            });
        }
        if let Some(x) = flushes {
            let mixed = if only_data { "" } else { ", which is among the latencies of all requests" };
            notes.push(format!(
                "{} flushes a second; sysbench does not tell their own time{mixed}",
                significant(x)
            ));
        }
        step
    }

    /// The rates of a run against its events and its time, and those of 0.4 against what it moved.
    fn contradiction(&self) -> Option<String> {
        let time = self.time?;
        let moved: f64 = self.mib.iter().flatten().sum();
        if let Some(speed) = self.old_speed.filter(|speed| printed::contradicts(*speed, moved, time)) {
            return Some(format!("{moved} MiB in {time} at {speed} MiB/s"));
        }
        let all: f64 = [0, 1, 2].into_iter().filter_map(|at| self.rate(at).get()).sum();
        let data: f64 = [0, 1].into_iter().filter_map(|at| self.rate(at).get()).sum();
        // Flushes are events since 1.0.
        let events = self.events? as f64;
        let (least, most) = (data * time.as_seconds(), all * time.as_seconds());
        let fits = events >= 0.9 * least - 10.0 && events <= 1.1 * most + 1000.0;
        (!fits && data > 0.0).then(|| {
            format!("{} events in {time} at {}/s", grouped(self.events.unwrap_or(0)), significant(all))
        })
    }

    /// Reads (0), writes (1) or flushes (2) a second.
    fn rate(&self, at: usize) -> Known<f64> {
        match (self.rates[at], self.counts[at], self.time.filter(|t| t.0 > 0)) {
            (Some(rate), ..) => rate.into(),
            (None, Some(n), Some(time)) => Known::Said(n as f64 / time.as_seconds()),
            _ => Known::Unknown,
        }
    }

    /// The number of flushes at so many a second.
    fn flushes(&self, a_second: f64) -> Known<u64> {
        match (self.counts[2], self.time) {
            (Some(n), _) => n.into(),
            (None, Some(time)) => {
                Known::assumed((a_second * time.as_seconds()).round() as u64, "rate times time")
            }
            (None, None) => Known::Unknown,
        }
    }

    /// The figures of reads (0) or writes (1), where there were any.
    fn figures(&self, at: usize) -> Option<ReportedFigures> {
        let iops = self.rate(at);
        let rate = iops.get().filter(|x| *x > 0.0);
        let counted = self.counts[at].filter(|n| *n > 0);
        if rate.is_none() && counted.is_none() {
            return None;
        }
        let ios = match (counted, rate.zip(self.time)) {
            (Some(n), _) => n.into(),
            (None, Some((x, time))) => {
                Known::assumed((x * time.as_seconds()).round() as u64, "rate times time")
            }
            (None, None) => Known::Unknown,
        };
        let seconds = self.time.map(Nanos::as_seconds).filter(|s| *s > 0.0);
        // The old form tells what was moved, the new one a rate.
        let mib = match self.counts[at] {
            Some(_) => self.mib[at].zip(seconds).map(|(mib, s)| mib / s),
            None => self.mib[at],
        };
        let by_blocks = rate.zip(self.block).map(|(x, b)| x * b.0 as f64);
        Some(ReportedFigures {
            ios,
            bytes_per_second: match (mib, by_blocks) {
                (Some(mib), _) if mib >= CUT_MIB => Known::Said(mib * (Bytes::MIB.0 as f64)),
                (_, Some(bytes)) => Known::assumed(bytes, "requests times block size"),
                (mib, None) => mib.map(|mib| mib * (Bytes::MIB.0 as f64)).into(),
            },
            iops,
            runtime: self.time.into(),
            ..ReportedFigures::default()
        })
    }

    fn conditions(&self) -> Conditions {
        let sync = self.mode.as_deref().map(|mode| mode.starts_with("synchronous"));
        let every =
            if self.pattern.is_some_and(|p| p.ends_with("read")) { Some(0) } else { self.flush_every };
        // A fraction of reads for each write.
        let share = self.mix.filter(|x| *x > 0.0).map(|x| (100.0 * x / (1.0 + x)).round() as u32);
        let mixed = self.pattern == Some("randrw");
        Conditions {
            rw: self.pattern.map(str::to_string).into(),
            block: self.block.map(|b| (b, b)).into(),
            engine: self.mode.as_ref().map(|mode| format!("sysbench, {mode} I/O")).into(),
            blocking: sync.filter(|sync| *sync).into(),
            jobs: self.threads.into(),
            direct: match self.direct {
                Some(direct) => direct.into(),
                None => Known::assumed(
                    false,
                    "sysbench goes through the page cache unless --file-extra-flags=direct is given",
                ),
            },
            own_files: false.into(),
            // All files together are what the threads share.
            size: self.total.into(),
            time_based: self.limit.map(|n| n == 0).into(),
            pace: match self.asked {
                Some(rate) => Pace {
                    offered_per_second: Some(rate),
                    rate_option: Some(format!("--rate={rate}")),
                    ..Pace::default()
                }
                .into(),
                None => Known::Unknown,
            },
            reads_percent: share.filter(|_| mixed).into(),
            fsync: match every {
                Some(n) => n.into(),
                None if self.flush_at_end => 0.into(),
                None => Known::Unknown,
            },
            ..Conditions::default()
        }
    }
}
