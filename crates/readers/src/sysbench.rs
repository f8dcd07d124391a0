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
/// `O_DIRECT` as 0.4 prints the flags of `open`, on x86 and on ARM.
const O_DIRECT: u64 = 0o40000 | 0o200000;

/// Reads reports of `sysbench fileio`.
#[derive(Default)]
pub struct SysbenchReader {
    run: Option<SysbenchRun>,
}

/// The lines since the banner.
#[derive(Default)]
struct SysbenchRun {
    version: Option<String>,
    asked: SysbenchLoad,
    reads: SysbenchCounts,
    writes: SysbenchCounts,
    flushes: SysbenchCounts,
    /// Bytes a second of reads and writes together, as 0.4 and 0.5 print them.
    speed: Option<Bytes>,
    /// Length of the run.
    time: Option<Nanos>,
    events: Option<u64>,
    latency: ReportedLatency,
    /// Time of all requests together, nanoseconds.
    sum: Option<f64>,
    /// Its last lines came.
    ended: bool,
    error: Option<String>,
}

/// The load that a report names.
#[derive(Default)]
struct SysbenchLoad {
    pattern: Option<&'static str>,
    threads: Option<u32>,
    /// Requests a second that `--rate` asks for.
    rate: Option<f64>,
    block: Option<Bytes>,
    total: Option<Bytes>,
    direct: Option<bool>,
    mode: Option<String>,
    flush_every: Option<u32>,
    flush_at_end: bool,
    /// Requests that the run was limited to; 0 for none.
    limit: Option<u64>,
    /// Reads for each write.
    mix: Option<f64>,
}

/// What a report says of its reads, writes or flushes.
#[derive(Clone, Copy, Default)]
struct SysbenchCounts {
    /// A second.
    rate: Option<f64>,
    /// Of the whole run, as 0.4 and 0.5 print it.
    count: Option<u64>,
    /// MiB a second, or of the whole run where the requests are counted.
    mib: Option<f64>,
}

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
        let version = line.strip_prefix("sysbench ").and_then(|rest| rest.split([' ', ':']).next());
        let version = version.filter(|version| version.starts_with(|c: char| c.is_ascii_digit()));
        // What follows the last lines is of another report, whose banner may be missing.
        let anew = self.run.as_ref().is_none_or(|run| run.ended) && begins(line);
        if version.is_some() || anew {
            self.end(found);
            self.run = Some(SysbenchRun { version: version.map(str::to_string), ..SysbenchRun::default() });
        }
        if let Some(run) = &mut self.run {
            run.line(line);
        }
    }

    fn end(&mut self, found: &mut ForeignReports) {
        // Other tests of sysbench (cpu, memory) have no pattern and no operations on files.
        if let Some(run) = self.run.take().filter(|run| run.asked.pattern.is_some() || run.has_operations()) {
            found.add(run.report());
        }
    }
}

/// Whether a part of a report begins with a line.
fn begins(line: &str) -> bool {
    let parts =
        ["Running the test with", "Extra file open flags:", "File operations:", "Operations performed:"];
    parts.iter().any(|part| line.starts_with(part)) || pattern(line).is_some()
}

impl SysbenchRun {
    fn has_operations(&self) -> bool {
        [self.reads, self.writes, self.flushes].iter().any(|c| c.rate.is_some() || c.count.is_some())
    }

    fn line(&mut self, line: &str) {
        let load = &mut self.asked;
        if let Some(pattern) = pattern(line) {
            load.pattern = Some(pattern);
        } else if let Some(size) = line.strip_prefix("Block size ") {
            load.block = printed::size(size);
        } else if let Some(size) = line.strip_suffix(" total file size") {
            load.total = printed::size(size);
        } else if let Some(rest) = line.strip_prefix("Using ") {
            load.mode = rest.strip_suffix(" I/O mode").map(str::to_string);
        } else if let Some(rest) = line.strip_prefix("Periodic FSYNC enabled, calling fsync() each ") {
            load.flush_every = rest.split(' ').next().and_then(printed::whole).map(|n| n as u32);
        } else if line.starts_with("Calling fsync() after each write") {
            load.flush_every = Some(1);
        } else if line.starts_with("Calling fsync() at the end of test, Enabled") {
            load.flush_at_end = true;
        } else if let Some(rest) = line.strip_prefix("FATAL: ") {
            self.error.get_or_insert_with(|| rest.to_string());
        } else if let Some(counts) = line.strip_prefix("Operations performed:") {
            self.old_counts(counts);
        } else if line.starts_with("Read ") && line.contains("Written ") {
            self.old_bytes(line);
        } else if let Some((key, value)) = line.split_once(':') {
            self.pair(key.trim(), value.trim());
        }
    }

    fn pair(&mut self, key: &str, value: &str) {
        let (load, number) = (&mut self.asked, printed::number(value));
        match key {
            "Number of threads" => load.threads = printed::whole(value).map(|n| n as u32),
            "Extra file open flags" => {
                let named = value.split([' ', ',']).any(|flag| flag == "directio" || flag == "direct");
                load.direct = Some(named || printed::whole(value).is_some_and(|bits| bits & O_DIRECT != 0));
            }
            "Target transaction rate" => {
                load.rate = value.strip_suffix("/sec").and_then(printed::number).filter(|x| *x > 0.0);
            }
            "Number of IO requests" | "Number of random requests for random IO" => {
                load.limit = printed::whole(value);
            }
            "Read/Write ratio for combined random IO test" => load.mix = number,
            "reads/s" => self.reads.rate = number,
            "writes/s" => self.writes.rate = number,
            "fsyncs/s" => self.flushes.rate = number,
            "read, MiB/s" => self.reads.mib = number,
            "written, MiB/s" => self.writes.mib = number,
            "read" => self.reads.read_rate(value),
            "write" => self.writes.read_rate(value),
            "fsync" => self.flushes.read_rate(value),
            "total time" | "time elapsed" => self.time = printed::time(value),
            "total number of events" => self.events = printed::whole(value),
            "total time taken by event execution" => {
                self.sum = printed::with_unit(value).map(|(seconds, _)| seconds * 1e9);
            }
            "Threads fairness" => self.ended = true,
            // 1.1 prints no time of the whole: that of its threads stands for it.
            "execution time (avg/stddev)" if self.time.is_none() => {
                let mean = value.split('/').next().and_then(printed::number);
                self.time = mean.map(|s| Nanos((s * 1e9) as u64));
            }
            _ => self.latency(key, printed::milliseconds(value)),
        }
    }

    fn latency(&mut self, key: &str, value: Option<f64>) {
        let ns = value.unwrap_or(0.0);
        match key {
            "sum" => self.sum = value,
            "min" => self.latency.min = Nanos(ns as u64),
            "avg" => self.latency.mean = ns,
            "max" => self.latency.max = Nanos(ns as u64),
            _ => {
                let name = key.trim_start_matches("approx.").trim().strip_suffix("percentile");
                let name = name.and_then(|name| printed::percentile(name.trim().trim_end_matches("th")));
                // Two decimals: 0.00 ms is some time below 5 us.
                if let Some(name) = name.filter(|_| ns > 0.0) {
                    self.latency.percentiles.insert(name, Nanos(ns as u64));
                }
            }
        }
    }

    /// `6000 Read, 4000 Write, 12800 Other = 22800 Total`.
    fn old_counts(&mut self, text: &str) {
        for (n, word) in text.split(['=', ',']).filter_map(|part| part.trim().split_once(' ')) {
            match word.to_ascii_lowercase().trim_end_matches('s') {
                "read" => self.reads.count = printed::whole(n),
                "write" => self.writes.count = printed::whole(n),
                "other" => self.flushes.count = printed::whole(n),
                _ => {}
            }
        }
    }

    /// `Read 93.75Mb  Written 62.5Mb  Total transferred 156.25Mb  (3.0459Mb/sec)`.
    fn old_bytes(&mut self, line: &str) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        for pair in words.windows(2) {
            let mib = printed::size(pair[1]).map(|b| b.0 as f64 / Bytes::MIB.0 as f64);
            match pair[0] {
                "Read" => self.reads.mib = mib,
                "Written" => self.writes.mib = mib,
                _ => {}
            }
        }
        let speed = line.rsplit_once('(').and_then(|(_, rest)| rest.strip_suffix("/sec)"));
        self.speed = speed.and_then(printed::size);
    }

    fn report(mut self) -> ForeignReport {
        let tool = self.version.as_ref().map_or("sysbench fileio".into(), |v| format!("sysbench {v} fileio"));
        let mut report = ForeignReport::new(ReportProgram::Sysbench, tool, ReportForm::Text);
        let complete = self.time.is_some() && (self.ended || self.latency.max.0 > 0);
        report.partial = match (&self.error, complete) {
            (_, true) => None,
            (Some(why), false) => Some(format!("sysbench failed ({why})")),
            (None, false) => Some("it breaks off before the end of sysbench's results".into()),
        };
        report.notes.extend(self.error.iter().map(|why| format!("sysbench says: {why}")));
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
            name: self.asked.pattern.unwrap_or("fileio").into(),
            rows: 1,
            conditions: self.asked.conditions(),
            ..ReportedStep::default()
        };
        step.impossible.extend(self.contradiction());
        step.rate_impossible = !step.impossible.is_empty();
        for (reads, counts) in [(true, self.reads), (false, self.writes)] {
            if let Some(figures) = self.figures(counts) {
                set(&mut step, reads, figures);
            }
        }
        let flushes = self.a_second(self.flushes).get().filter(|x| *x > 0.0);
        step.sync =
            flushes.map(|_| ReportedSync { count: self.count(self.flushes), ..ReportedSync::default() });
        let only_data = self.events.is_some_and(|n| step.are_without_flushes(n as f64));
        if let Some(x) = flushes {
            let mixed = if only_data { "" } else { ", which is among the latencies of all requests" };
            notes.push(format!(
                "{} flushes a second; sysbench does not tell their own time{mixed}",
                significant(x)
            ));
        }
        let queued = self.asked.mode.as_deref().is_some_and(|mode| mode.starts_with("asynchronous"));
        if queued {
            notes.push("in asynchronous mode sysbench tells how long a request took to be queued, which is no latency of it and is left out".into());
        }
        if self.latency.mean <= 0.0 || queued {
            return step;
        }
        match (&mut step.read, &mut step.write) {
            (Some(only), None) | (None, Some(only)) if only_data => {
                only.ios = self.events.map_or(only.ios.clone(), Known::Said);
                only.total = Some(self.latency.clone());
            }
            _ => {
                let rate = self.events.zip(self.time).map(|(n, t)| n as f64 / t.as_seconds().max(1e-9));
                step.mixed = Some(ReportedFigures {
                    ios: self.events.into(),
                    iops: rate.into(),
                    runtime: self.time.into(),
                    total: Some(self.latency.clone()),
                    ..ReportedFigures::default()
                });
            }
        }
        step
    }

    /// The rates of a run against what it moved, or against its events, and its time.
    fn contradiction(&self) -> Option<String> {
        let (time, events) = (self.time?, self.events?);
        let mib = self.reads.mib.unwrap_or(0.0) + self.writes.mib.unwrap_or(0.0);
        let moved = Bytes((mib * Bytes::MIB.0 as f64) as u64);
        let of_moved = self.speed.and_then(|speed| printed::contradiction(moved, time, speed));
        if of_moved.is_some() {
            return of_moved;
        }
        let [reads, writes, flushes] =
            [self.reads, self.writes, self.flushes].map(|counts| self.a_second(counts).get().unwrap_or(0.0));
        let data = reads + writes;
        // Flushes are events since 1.0.
        let all = data + flushes;
        let least = 0.9 * data * time.as_seconds() - 10.0;
        let most = 1.1 * all * time.as_seconds() + 1000.0;
        let fits = data <= 0.0 || (least..=most).contains(&(events as f64));
        (!fits).then(|| format!("{} events in {time} at {}/s", grouped(events), significant(all)))
    }

    fn a_second(&self, counts: SysbenchCounts) -> Known<f64> {
        match (counts.rate, counts.count, self.time.filter(|t| t.0 > 0)) {
            (Some(rate), ..) => rate.into(),
            (None, Some(n), Some(time)) => (n as f64 / time.as_seconds()).into(),
            _ => Known::Unknown,
        }
    }

    fn count(&self, counts: SysbenchCounts) -> Known<u64> {
        match (counts.count, counts.rate, self.time) {
            (Some(n), ..) => n.into(),
            (None, Some(x), Some(time)) => {
                Known::assumed((x * time.as_seconds()).round() as u64, "rate times time")
            }
            _ => Known::Unknown,
        }
    }

    /// The figures of reads or writes, where there were any.
    fn figures(&self, counts: SysbenchCounts) -> Option<ReportedFigures> {
        let iops = self.a_second(counts);
        let rate = iops.get().filter(|x| *x > 0.0);
        if rate.is_none() && counts.count.unwrap_or(0) == 0 {
            return None;
        }
        // The old form tells what was moved, the new one a rate.
        let seconds = if counts.count.is_some() { self.time?.as_seconds() } else { 1.0 };
        let by_rate = counts.mib.map(|mib| mib / seconds).filter(|mib| *mib >= CUT_MIB);
        let by_blocks = rate.zip(self.asked.block).map(|(x, b)| x * b.0 as f64);
        Some(ReportedFigures {
            ios: self.count(counts),
            bytes_per_second: match (by_rate, by_blocks) {
                (Some(mib), _) => (mib * (Bytes::MIB.0 as f64)).into(),
                (None, Some(bytes)) => Known::assumed(bytes, "requests times block size"),
                (None, None) => Known::Unknown,
            },
            iops,
            runtime: self.time.into(),
            ..ReportedFigures::default()
        })
    }
}

impl SysbenchCounts {
    /// `IOPS=18441.11 288.14 MiB/s (302.14 MB/s)`, as 1.1 prints it.
    fn read_rate(&mut self, value: &str) {
        let mut words = value.trim_start_matches("IOPS=").split_ascii_whitespace();
        self.rate = words.next().and_then(printed::number);
        self.mib = words.next().and_then(printed::number);
    }
}

impl SysbenchLoad {
    fn conditions(&self) -> Conditions {
        let is_sync = self.mode.as_deref().is_some_and(|mode| mode.starts_with("synchronous"));
        let only_reads = self.pattern.is_some_and(|p| p.ends_with("read"));
        let no_flush = only_reads || (self.flush_every.is_none() && self.flush_at_end);
        // A fraction of reads for each write.
        let share = self.mix.filter(|x| *x > 0.0).map(|x| (100.0 * x / (1.0 + x)).round() as u32);
        let pace = self.rate.map(|rate| Pace {
            offered_per_second: Some(rate),
            rate_option: Some(format!("--rate={rate}")),
            ..Pace::default()
        });
        Conditions {
            rw: self.pattern.map(str::to_string).into(),
            block: self.block.map(|b| (b, b)).into(),
            engine: self.mode.as_ref().map(|mode| format!("sysbench, {mode} I/O")).into(),
            blocking: is_sync.then_some(true).into(),
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
            pace: pace.into(),
            reads_percent: share.filter(|_| self.pattern == Some("randrw")).into(),
            fsync: if no_flush { 0.into() } else { self.flush_every.into() },
            ..Conditions::default()
        }
    }
}
