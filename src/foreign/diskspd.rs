//! DiskSpd's text, and what its text and its XML have in common: each timespan is a run.
//!
//! Sizes are in units of 1024, latencies in milliseconds. `-Sh` and `-Su` bypass the software cache; without `-L` there are no latencies.

use std::collections::BTreeMap;

use super::{ForeignReport, ForeignReports, LineReader, printed, set};
use crate::record::{
    Conditions, Known, Pace, ReportForm, ReportProgram, ReportedFigures, ReportedLatency, ReportedStep,
    Spacing,
};
use crate::unit::{Bytes, Nanos, gcd, grouped};

/// The reader ignores targets of a timespan beyond this number.
const MOST_TARGETS: usize = 256;

/// A timespan: the load that was asked for, and its results.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DiskspdSpan {
    pub duration: Option<u64>,
    pub warm_up: Option<u64>,
    pub targets: Vec<DiskspdTarget>,
    /// Threads of the timespan (`-F`), each of which drives every target.
    pub pool: Option<u32>,
    /// I/Os that each of these threads keeps in flight over all targets (`-O`).
    pub pool_outstanding: Option<u32>,
    pub test_time: Option<f64>,
    pub threads: Option<u32>,
    /// All I/Os, reads, writes.
    pub totals: [Option<DiskspdTotals>; 3],
    /// Sums over the rows of threads: I/Os of all, reads, writes.
    pub rows: [u64; 3],
    /// Latencies of reads, writes, all, milliseconds by percent; 0 is the shortest, 100 the longest.
    pub percentiles: [BTreeMap<String, f64>; 3],
    /// Size of the smallest target, as its rows tell it.
    pub size: Option<Bytes>,
    pub interrupted: bool,
    /// Each I/O writes random data of its own (`-Zr`).
    pub random_writes: bool,
    /// Share of its time for which the busiest CPU had work, 0 to 1.
    pub busiest_cpu: Option<f64>,
}

/// A target with its load.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DiskspdTarget {
    pub path: String,
    /// The software cache is bypassed.
    pub direct: Option<bool>,
    pub write_percent: Option<u32>,
    pub block: Option<Bytes>,
    /// Percent of accesses that are random.
    pub random: Option<u32>,
    pub outstanding: Option<u32>,
    /// Distance of sequential I/Os from start to start, or the alignment of random ones.
    pub apart: Option<Bytes>,
    /// Where its I/Os begin (`-B`), and where they end (`-f`).
    pub base: Option<Bytes>,
    pub end: Option<Bytes>,
    /// Some parts of the target get more I/Os than others (`-rd`).
    pub uneven: bool,
    pub threads: Option<u32>,
    /// Its threads do not all go over the same bytes: each begins elsewhere (`-T`), or takes the blocks between those of others (`-si`).
    pub shares_out: bool,
    pub zeros: Option<bool>,
    /// Random data, or that of a file, is written; else the bytes 0 to 255 over and over.
    pub own_data: bool,
    /// `very low` or `low`; absent for the usual one.
    pub priority: Option<String>,
    /// Milliseconds between bursts.
    pub think: Option<u64>,
    /// A limit of each thread: I/Os a second, or bytes a millisecond.
    pub limit_iops: Option<u64>,
    pub limit_bytes: Option<u64>,
}

/// The row of totals of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DiskspdTotals {
    pub bytes: u64,
    pub ios: u64,
    pub iops: Option<f64>,
    /// Milliseconds.
    pub mean: Option<f64>,
    /// Milliseconds.
    pub deviation: Option<f64>,
}

/// Reads DiskSpd's text.
#[derive(Default)]
pub struct DiskspdReader {
    open: bool,
    seen: bool,
    written: Option<String>,
    spans: Vec<DiskspdSpan>,
    /// The timespan whose results follow.
    results: Option<usize>,
    /// The number that it has in the text, from 0.
    results_of: Option<usize>,
    /// The table that follows: all I/Os, reads, writes.
    table: Option<usize>,
    /// Where the table of CPUs has their usage.
    usage_at: Option<usize>,
    /// Names of its columns.
    columns: Vec<String>,
    in_percentiles: bool,
}

impl LineReader for DiskspdReader {
    fn line(&mut self, line: &str, found: &mut ForeignReports) {
        let text = line.trim();
        if self.begins_anew(text) {
            self.end(found);
        } else if self.comes_again(text) {
            self.end(found);
            self.report_line("Results for timespan 1:");
            self.open = true;
        }
        if text.starts_with("Command Line: ") {
            self.end(found);
            self.open = text.to_ascii_lowercase().contains("diskspd");
        } else if text == "Input parameters:" {
            if self.seen {
                self.end(found);
            }
            (self.open, self.seen) = (true, true);
        } else if self.open || starts_results(text) {
            self.open = true;
            self.report_line(text);
        }
    }

    fn end(&mut self, found: &mut ForeignReports) {
        let seen = std::mem::take(self);
        if seen.spans.is_empty() {
            return;
        }
        found.add(report(seen.spans, "DiskSpd".into(), seen.written, ReportForm::Text));
    }
}

const TEST_TIME: &str = "actual test time:";

fn starts_results(text: &str) -> bool {
    text.starts_with("Results for timespan ")
}

/// The timespan whose results a line begins, from 0.
fn timespan(text: &str) -> usize {
    let n = text.trim_start_matches("Results for timespan ").trim_end_matches(':');
    printed::whole(n).and_then(|n| usize::try_from(n).ok()?.checked_sub(1)).unwrap_or(0)
}

impl DiskspdReader {
    /// Results of a timespan that had its results, or of one before it, are of another report, of which the head was left out.
    fn begins_anew(&self, text: &str) -> bool {
        starts_results(text) && self.results_of.is_some_and(|last| timespan(text) <= last)
    }

    /// So are a time and a table that the timespan had.
    fn comes_again(&self, text: &str) -> bool {
        self.results.and_then(|at| self.spans.get(at)).is_some_and(|span| {
            (text.starts_with(TEST_TIME) && span.test_time.is_some())
                || (text == "Total IO" && span.totals[0].is_some())
        })
    }

    fn report_line(&mut self, text: &str) {
        if let Some(n) = text.strip_prefix("timespan:") {
            if printed::whole(n).is_some() && self.spans.len() < super::MOST_RUNS {
                self.spans.push(DiskspdSpan::default());
            }
        } else if starts_results(text) {
            let at = timespan(text);
            self.results_of = Some(at);
            if at >= self.spans.len() && self.spans.len() < super::MOST_RUNS {
                // The parameters were cut off.
                self.spans.push(DiskspdSpan::default());
            }
            self.results = Some(at.min(self.spans.len().saturating_sub(1)));
            (self.table, self.in_percentiles) = (None, false);
        } else if let Some(at) = text.strip_prefix("start time:") {
            self.written = moment(at);
        } else if let Some(span) = self.results.and_then(|at| self.spans.get_mut(at)) {
            match text {
                "Total IO" => self.table = Some(0),
                "Read IO" => self.table = Some(1),
                "Write IO" => self.table = Some(2),
                "Totals:" => (self.table, self.in_percentiles) = (None, false),
                _ if text.starts_with("%-ile") => {
                    (self.table, self.in_percentiles) = (None, true);
                    span.percentiles = Default::default();
                }
                _ if text.contains("CPU |") => {
                    self.usage_at = text.split('|').position(|column| column.trim() == "Usage");
                }
                _ if text.starts_with("thread |") => {
                    self.usage_at = None;
                    self.columns = text.split('|').map(|c| c.trim().to_string()).collect();
                }
                _ => match self.table {
                    Some(table) => span.row(table, text, &self.columns),
                    None if self.in_percentiles => span.percentile(text),
                    None if self.usage_at.is_some() && text.contains('|') => {
                        span.cpu(text.split('|').nth(self.usage_at.unwrap_or(0)).unwrap_or_default());
                    }
                    None => span.result(text),
                },
            }
        } else if let Some(span) = self.spans.last_mut() {
            span.parameter(text);
        }
    }
}

impl DiskspdSpan {
    fn parameter(&mut self, text: &str) {
        if let Some(path) = text.strip_prefix("path: ") {
            if self.targets.len() < MOST_TARGETS {
                let path = path.trim_matches('\'').to_string();
                self.targets.push(DiskspdTarget { path, ..DiskspdTarget::default() });
            }
        } else if let Some(rest) = text.strip_prefix("duration: ") {
            self.duration = printed::whole(rest.trim_end_matches('s'));
        } else if let Some(rest) = text.strip_prefix("warm up time: ") {
            self.warm_up = printed::whole(rest.trim_end_matches('s'));
        } else if text.starts_with("generating random data for each write") {
            self.random_writes = true;
        } else if let Some(rest) = text.strip_prefix("thread pool with ") {
            self.pool = rest.split(' ').next().and_then(printed::whole).map(|n| n as u32);
        } else if let Some(n) = outstanding(text).filter(|_| self.targets.is_empty()) {
            self.pool_outstanding = Some(n).filter(|n| *n > 0);
        } else if let Some(target) = self.targets.last_mut() {
            target.parameter(text);
        }
    }

    /// The usage of a CPU, in percent: the busiest counts.
    pub fn cpu(&mut self, usage: &str) {
        let share = printed::number(usage.trim().trim_end_matches('%')).map(|percent| percent / 100.0);
        self.busiest_cpu = share.into_iter().chain(self.busiest_cpu).reduce(f64::max);
    }

    fn result(&mut self, text: &str) {
        if let Some(rest) = text.strip_prefix(TEST_TIME) {
            self.test_time = printed::number(rest.trim().trim_end_matches('s'));
        } else if let Some(rest) = text.strip_prefix("thread count:") {
            self.threads = printed::whole(rest).map(|n| n as u32);
        } else if text.starts_with("The test was interrupted before") {
            self.interrupted = true;
        }
    }

    /// `     0 |  1700134912 |  25942 |  13.51 |  216.16 |  9.251 |  17.590 | path (10GiB)`, and `total:  1700134912 | ...`.
    fn row(&mut self, table: usize, text: &str, columns: &[String]) {
        let Some((first, rest)) = text.split_once([':', '|']) else { return };
        let cells: Vec<&str> = rest.split('|').map(str::trim).collect();
        // The first cell is the thread, or the word `total` with the bytes behind it.
        let cell = |name: &str| {
            columns.iter().position(|c| c == name).and_then(|i| cells.get(i.checked_sub(1)?)).copied()
        };
        let (Some(bytes), Some(ios)) =
            (cell("bytes").and_then(printed::whole), cell("I/Os").and_then(printed::whole))
        else {
            return;
        };
        if first.trim() != "total" {
            self.rows[table] = self.rows[table].saturating_add(ios);
            let size =
                cells.last().and_then(|c| c.rsplit_once('(')).map(|(_, size)| size.trim_end_matches(')'));
            let size = size.and_then(printed::size).filter(|b| b.0 > 0);
            self.size = [self.size, size].into_iter().flatten().min();
            return;
        }
        let number = |name: &str| cell(name).and_then(printed::number);
        self.totals[table] = Some(DiskspdTotals {
            bytes,
            ios,
            iops: number("I/O per s"),
            mean: number("AvgLat"),
            deviation: number("LatStdDev"),
        });
    }

    /// `3-nines |  53.694 |  1.396 |  52.331`.
    fn percentile(&mut self, text: &str) {
        let mut cells = text.split('|').map(str::trim);
        let name = match cells.next().unwrap_or_default() {
            "min" => "0".to_string(),
            "max" => "100".to_string(),
            name => {
                match name.strip_suffix("-nines").and_then(printed::whole).filter(|n| (3..=12).contains(n)) {
                    Some(n) => format!("99.{}", "9".repeat(n as usize - 2)),
                    None => match printed::percentile(name.trim_end_matches("th")) {
                        Some(p) => p,
                        None => return,
                    },
                }
            }
        };
        for (kind, cell) in self.percentiles.iter_mut().zip(cells) {
            kind.extend(printed::number(cell).map(|ms| (name.clone(), ms)));
        }
    }
}

impl DiskspdTarget {
    fn parameter(&mut self, text: &str) {
        let number_after =
            |start: &str| text.strip_prefix(start)?.split([' ', '/', 'm']).next().and_then(printed::whole);
        match text {
            "software cache disabled" => self.direct = Some(true),
            "using software cache" => self.direct = Some(false),
            "performing read test" => self.write_percent = Some(0),
            "performing write test" => self.write_percent = Some(100),
            "zeroing write buffers" => self.zeros = Some(true),
            _ if text.starts_with("write buffer source: ") => self.own_data = true,
            _ if text.starts_with("thread stride size:") => self.shares_out = true,
            _ if text.starts_with("memory mapped I/O enabled") => self.direct = Some(false),
            "IO Distribution:" => self.uneven = true,
            _ if text.starts_with("using random I/O") => {
                (self.random, self.apart) = (Some(100), in_brackets(text));
            }
            _ if text.starts_with("using sequential I/O")
                || text.starts_with("using interlocked sequential I/O") =>
            {
                (self.random, self.apart) = (Some(0), in_brackets(text));
                self.shares_out |= text.contains("interlocked");
            }
            _ => {
                if let Some(rest) = text.strip_prefix("performing mix test (read/write ratio: ") {
                    let share =
                        rest.trim_end_matches(')').split_once('/').and_then(|(_, w)| printed::whole(w));
                    self.write_percent = share.map(|w| w as u32);
                } else if let Some(size) = text.strip_prefix("block size: ") {
                    self.block = printed::size(size);
                } else if let Some(rest) = text.strip_prefix("using mixed random/sequential I/O (") {
                    self.random = rest.split('%').next().and_then(printed::whole).map(|n| n as u32);
                } else if let Some(at) = text.strip_prefix("base file offset: ") {
                    self.base = printed::size(at);
                } else if let Some(at) = text.strip_prefix("max file size: ") {
                    self.end = printed::size(at);
                } else if let Some(priority) = text.strip_prefix("IO priority: ") {
                    self.priority = Some(priority.to_string()).filter(|p| p.contains("low"));
                } else if let Some(n) = outstanding(text) {
                    self.outstanding = Some(n);
                } else if let Some(n) = number_after("threads per file: ") {
                    self.threads = Some(n as u32);
                } else if let Some(n) = number_after("think time: ") {
                    self.think = Some(n);
                } else if let Some(n) = number_after("throughput rate-limited to ") {
                    if text.ends_with("IOPS") {
                        self.limit_iops = Some(n)
                    } else {
                        self.limit_bytes = Some(n)
                    }
                }
            }
        }
    }
}

/// `number of outstanding I/O operations per thread: 8`.
fn outstanding(text: &str) -> Option<u32> {
    let (_, n) = text.split_once("number of outstanding I/O operations")?;
    n.rsplit(':').next().and_then(printed::whole).map(|n| n as u32)
}

/// `using random I/O (alignment: 8KiB)`.
fn in_brackets(text: &str) -> Option<Bytes> {
    printed::size(text.trim_end_matches(')').rsplit_once(": ")?.1)
}

/// The report of its timespans, in either form.
pub(super) fn report(
    spans: Vec<DiskspdSpan>,
    tool: String,
    written: Option<String>,
    form: ReportForm,
) -> ForeignReport {
    let mut report = ForeignReport::new(ReportProgram::Diskspd, tool, form);
    report.written = written;
    for (i, span) in spans.into_iter().enumerate() {
        let n = i + 1;
        if span.interrupted {
            report.notes.push(format!("timespan {n} was interrupted before it measured anything"));
            continue;
        }
        let asked = |reads: bool| span.write_share().is_none_or(|w| if reads { w < 100 } else { w > 0 });
        let missing = (asked(true) && span.totals[1].is_none()) || (asked(false) && span.totals[2].is_none());
        if span.totals[0].is_none_or(|t| t.ios == 0) {
            report.partial.get_or_insert_with(|| format!("it breaks off before the totals of timespan {n}"));
            continue;
        }
        if missing {
            report
                .partial
                .get_or_insert_with(|| format!("it breaks off before reads and writes of timespan {n}"));
        }
        let (sum, total) = (span.rows[0], span.totals[0].map_or(0, |t| t.ios));
        if sum > 0 && sum != total {
            report.notes.push(format!(
                "the threads of timespan {n} come to {} I/Os, its total is {}: rows are missing or were changed",
                grouped(sum),
                grouped(total)
            ));
        }
        report.add(span.step(n));
    }
    report
}

impl DiskspdSpan {
    fn write_share(&self) -> Option<u32> {
        self.shared(|t| t.write_percent)
    }

    /// A setting that all targets share.
    fn shared<T: PartialEq>(&self, of: impl Fn(&DiskspdTarget) -> Option<T>) -> Option<T> {
        let mut all = self.targets.iter().map(of);
        let first = all.next()??;
        all.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }

    fn step(&self, n: usize) -> ReportedStep {
        let mut step = ReportedStep {
            name: format!("timespan {n}"),
            rows: self.threads.unwrap_or(1),
            conditions: self.conditions(),
            busiest_cpu: self.busiest_cpu,
            ..ReportedStep::default()
        };
        let figures = |table: usize, kind: usize| {
            self.totals[table].filter(|t| t.ios > 0).map(|t| self.figures(&t, &self.percentiles[kind]))
        };
        let (all, read, write) = (figures(0, 2), figures(1, 0), figures(2, 1));
        match (read, write, self.write_share()) {
            // All of one direction, whose own table may be cut off.
            (None, None, Some(0)) => step.read = all,
            (None, None, Some(100)) => step.write = all,
            (None, None, _) => step.mixed = all,
            (read, write, _) => {
                for (reads, figures) in [(true, read), (false, write)] {
                    if let Some(figures) = figures {
                        set(&mut step, reads, figures);
                    }
                }
            }
        }
        step
    }

    fn figures(&self, t: &DiskspdTotals, percentiles: &BTreeMap<String, f64>) -> ReportedFigures {
        let ns = |ms: f64| (ms * 1e6).round();
        let seconds = self.test_time.filter(|s| *s > 0.0);
        let edge = |name: &str| Nanos(percentiles.get(name).map_or(0.0, |ms| ns(*ms)) as u64);
        ReportedFigures {
            bytes: Bytes(t.bytes),
            ios: t.ios.into(),
            iops: match t.iops {
                // I/Os over a time of two decimals are coarser than the printed rate, but for slow volumes.
                Some(x) if x >= 100.0 => x.into(),
                printed => seconds.map(|s| t.ios as f64 / s).or(printed).into(),
            },
            bytes_per_second: seconds.map(|s| t.bytes as f64 / s).into(),
            runtime: seconds.map(|s| Nanos((s * 1e9) as u64)).into(),
            total: t.mean.map(|mean| ReportedLatency {
                samples: t.ios.into(),
                min: edge("0"),
                mean: ns(mean),
                deviation: t.deviation.map_or(0.0, ns),
                max: edge("100"),
                percentiles: percentiles
                    .iter()
                    .filter(|(p, _)| !matches!(p.as_str(), "0" | "100"))
                    .map(|(p, ms)| (p.clone(), Nanos(ns(*ms) as u64)))
                    .collect(),
            }),
            ..ReportedFigures::default()
        }
    }

    fn conditions(&self) -> Conditions {
        let writes = self.write_share();
        let rw = writes.zip(self.shared(|t| t.random)).and_then(|load| match load {
            (0, 100) => Some("randread"),
            (0, 0) => Some("read"),
            (100, 100) => Some("randwrite"),
            (100, 0) => Some("write"),
            (_, 100) => Some("randrw"),
            (_, 0) => Some("rw"),
            _ => None,
        });
        let by_target: Option<u32> =
            self.targets.iter().map(|t| t.threads).try_fold(0u32, |sum, n| sum.checked_add(n?));
        // Each thread of a pool drives every target, with so many I/Os for each of them or for all.
        let pool = self.pool.map(|threads| match self.pool_outstanding {
            Some(_) => threads,
            None => threads.saturating_mul(self.targets.len().max(1) as u32),
        });
        let jobs = pool.or(by_target.filter(|n| *n > 0)).or(self.threads);
        let seconds = |s: u64| Nanos(s.saturating_mul(1_000_000_000));
        Conditions {
            rw: rw.map(str::to_string).into(),
            block: self.shared(|t| t.block).map(|b| (b, b)).into(),
            engine: "DiskSpd".to_string().into(),
            iodepth: self.pool.and(self.pool_outstanding).or_else(|| self.shared(|t| t.outstanding)).into(),
            jobs: jobs.into(),
            system: Known::assumed("Windows".into(), "DiskSpd runs there"),
            direct: self.shared(|t| t.direct).into(),
            targets: Some(self.targets.iter().map(|t| t.path.clone().into()).collect::<Vec<_>>())
                .filter(|t| !t.is_empty())
                .into(),
            own_files: self.shares_targets().then_some(false).into(),
            own_offsets: (!self.targets.is_empty()).then(|| self.targets.iter().all(|t| t.shares_out)).into(),
            size: self.range().into(),
            distribution: self.targets.iter().any(|t| t.uneven).then(|| "-rd".to_string()).into(),
            spacing: self.spacing().into(),
            time_based: true.into(),
            runtime: self.duration.map(seconds).into(),
            ramp: self.warm_up.map(seconds).into(),
            pace: match &self.targets[..] {
                [] => Known::Unknown,
                // The limit is that of a thread on a target.
                _ => {
                    self.pace(self.pool.map(|n| n.saturating_mul(self.targets.len() as u32)).or(jobs)).into()
                }
            },
            reads_percent: writes.filter(|w| (1..100).contains(w)).map(|w| 100 - w).into(),
            zeros: self.shared(|t| t.zeros).into(),
            pattern_percent: self.pattern_percent(),
            low_priority: self
                .targets
                .iter()
                .find_map(|t| t.priority.clone())
                .map(|p| format!("IO priority {p}"))
                .into(),
            ..Conditions::default()
        }
    }

    /// Several threads drive a target, or there is only one.
    fn shares_targets(&self) -> bool {
        let several = self.pool.is_some_and(|n| n > 1) || self.targets.iter().any(|t| t.threads > Some(1));
        self.targets.len() == 1 || several
    }

    /// The share of the data written that is one pattern, in percent.
    fn pattern_percent(&self) -> Known<u32> {
        let own = self.random_writes || self.targets.iter().all(|t| t.own_data);
        match own || self.write_share().is_none_or(|writes| writes == 0) {
            true => Known::Unknown,
            false => {
                Known::assumed(100, "DiskSpd writes the bytes 0 to 255 over and over, unless -Z gives others")
            }
        }
    }

    /// Bytes of the smallest part that is used of a target.
    fn range(&self) -> Option<Bytes> {
        let end = self.size.into_iter().chain(self.targets.iter().filter_map(|t| t.end)).min()?;
        let base = self.targets.iter().filter_map(|t| t.base).max().unwrap_or_default();
        Some(Bytes(end.0.saturating_sub(base.0)))
    }

    /// Where the I/Os lie, if all targets share that.
    fn spacing(&self) -> Option<Spacing> {
        let (block, random) = (self.shared(|t| t.block)?, self.shared(|t| t.random)?);
        let apart = self.targets.iter().map(|t| t.apart.unwrap_or(block)).max()?;
        let bases = self.targets.iter().filter_map(|t| t.base);
        let unit = bases.clone().map(|base| base.0).fold(apart.0, gcd);
        // The least that is left out.
        let first = self.targets.iter().map(|t| t.base.unwrap_or_default()).min();
        let option = if random > 0 { "-r" } else { "-s" };
        let of_apart = (apart != block).then(|| format!("{option}{}", apart.0));
        let options = of_apart.into_iter().chain(bases.map(|base| format!("-B{}", base.0))).collect();
        let spacing = Spacing {
            options,
            used_share: Some(Spacing::share(block.0 as f64, apart.0 as f64)),
            starts_at: first,
            unaligned_to: Some(Bytes(unit)),
            ..Spacing::default()
        };
        spacing.reduced(Some(block))
    }

    /// The settings that held the load back on purpose.
    fn pace(&self, jobs: Option<u32>) -> Pace {
        let block = self.shared(|t| t.block).map(|b| b.0 as f64).filter(|b| *b > 0.0);
        let jobs = jobs.map(f64::from);
        let by_bytes = self.shared(|t| t.limit_bytes);
        let (offered, option) = match (self.shared(|t| t.limit_iops), by_bytes, jobs) {
            (Some(n), _, Some(jobs)) => (Some(n as f64 * jobs), Some(format!("-g{n}i"))),
            (None, Some(n), Some(jobs)) => {
                (block.map(|b| n as f64 * 1000.0 * jobs / b), Some(format!("-g{n}")))
            }
            _ => (None, None),
        };
        let think = self.targets.iter().filter_map(|t| t.think).max().filter(|ms| *ms > 0);
        Pace {
            offered_per_second: offered,
            rate_option: option,
            pause_option: think.map(|ms| format!("-i{ms}")),
            ..Pace::default()
        }
    }
}

/// `2023/08/04 12:31:07 UTC` as RFC 3339.
pub(super) fn moment(text: &str) -> Option<String> {
    let plain = text.trim().strip_suffix(" UTC")?.replace('/', "-").replace(' ', "T");
    plain.parse::<jiff::civil::DateTime>().ok().map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}
