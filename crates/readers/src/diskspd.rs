//! DiskSpd's text: each timespan is a run.
//!
//! Sizes are in units of 1024, latencies in milliseconds. `-Sh` and `-Su` bypass the software cache; without `-L` there are no latencies.

use super::diskspd_timespan::{DiskspdSpan, DiskspdTarget, DiskspdTotals, report};
use super::{ForeignReports, LineReader, printed};
use volproof_base::unit::Bytes;
use volproof_record::ReportForm;

/// The reader ignores targets of a timespan beyond this number.
const MOST_TARGETS: usize = 256;

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
    /// Results of a timespan that had its results, or of one before it, are of another report whose head was left out.
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
                _ => match (self.table, self.usage_at) {
                    (Some(table), _) => span.row(table, text, &self.columns),
                    _ if self.in_percentiles => span.percentile(text),
                    (None, Some(at)) if text.contains('|') => {
                        span.cpu(text.split('|').nth(at).unwrap_or_default());
                    }
                    _ => span.result(text),
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

/// `2023/08/04 12:31:07 UTC` as RFC 3339.
pub(super) fn moment(text: &str) -> Option<String> {
    let plain = text.trim().strip_suffix(" UTC")?.replace('/', "-").replace(' ', "T");
    plain.parse::<jiff::civil::DateTime>().ok().map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}
