//! DiskSpd's text: each timespan is a run.
//!
//! Sizes are in units of 1024, latencies in milliseconds. `-Sh` and `-Su` bypass the software cache; without `-L` there are no latencies.

use std::collections::HashMap;

use super::diskspd_timespan::{DiskspdSpan, DiskspdTarget, DiskspdTotals, report};
use super::{ForeignReports, LineReader, printed};

/// The reader ignores targets of a timespan beyond this number.
const MOST_TARGETS: usize = 256;

/// Reads DiskSpd's text.
#[derive(Default)]
pub struct DiskspdReader {
    open: bool,
    written: Option<String>,
    spans: Vec<DiskspdSpan>,
    /// The timespan whose results follow.
    results: Option<usize>,
    table: DiskspdTable,
    /// Names of the columns of the table.
    columns: Vec<String>,
}

/// The table in which a line stands.
#[derive(Clone, Copy, Default, PartialEq)]
enum DiskspdTable {
    #[default]
    None,
    Cpus,
    /// All I/Os (0), reads (1), writes (2).
    Totals(usize),
    Percentiles,
}

impl LineReader for DiskspdReader {
    fn line(&mut self, line: &str, found: &mut ForeignReports) {
        let text = line.trim();
        let timespan = text.strip_prefix("Results for timespan ");
        let timespan = timespan.and_then(|n| printed::whole(n.trim_end_matches(':')));
        // Results that came already are of another report whose head was left out.
        let again = timespan.is_some_and(|n| self.results.is_some_and(|last| n <= last as u64 + 1));
        let anew =
            text.starts_with("Command Line: ") || (text == "Input parameters:" && self.results.is_some());
        if again || anew {
            self.end(found);
        }
        if text == "Input parameters:" || timespan.is_some() {
            self.open = true;
        }
        match timespan {
            Some(n) => self.begin_results(n),
            None if self.open => self.report_line(text),
            None => {}
        }
    }

    fn end(&mut self, found: &mut ForeignReports) {
        let seen = std::mem::take(self);
        if !seen.spans.is_empty() {
            let mut report = report(seen.spans);
            report.written = seen.written;
            found.add(report);
        }
    }
}

impl DiskspdReader {
    fn begin_results(&mut self, n: u64) {
        let at = usize::try_from(n.saturating_sub(1)).unwrap_or(usize::MAX);
        if at >= self.spans.len() && self.spans.len() < super::MOST_RUNS {
            // The parameters were cut off.
            self.spans.push(DiskspdSpan::default());
        }
        self.results = Some(at.min(self.spans.len().saturating_sub(1)));
        self.table = DiskspdTable::None;
    }

    fn report_line(&mut self, text: &str) {
        if let Some(n) = text.strip_prefix("timespan:") {
            if printed::whole(n).is_some() && self.spans.len() < super::MOST_RUNS {
                self.spans.push(DiskspdSpan::default());
            }
        } else if let Some(at) = text.strip_prefix("start time:") {
            self.written = moment(at);
        } else if let Some(span) = self.results.and_then(|at| self.spans.get_mut(at)) {
            let table = match text {
                "Total IO" => DiskspdTable::Totals(0),
                "Read IO" => DiskspdTable::Totals(1),
                "Write IO" => DiskspdTable::Totals(2),
                "Totals:" => DiskspdTable::None,
                _ if text.starts_with("%-ile") => DiskspdTable::Percentiles,
                _ if text.contains("CPU |") => DiskspdTable::Cpus,
                _ => self.table,
            };
            if table != self.table || text.starts_with("thread |") {
                self.columns = text.split('|').map(|c| c.trim().to_string()).collect();
                self.table = table;
                return;
            }
            match table {
                DiskspdTable::None => span.result(text),
                DiskspdTable::Cpus => {
                    let at = self.columns.iter().position(|column| column == "Usage");
                    span.cpu(at.and_then(|at| text.split('|').nth(at)).unwrap_or_default());
                }
                DiskspdTable::Totals(table) => span.row(table, text, &self.columns),
                DiskspdTable::Percentiles => span.percentile(text),
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
        } else if let Some(target) = self.targets.last_mut() {
            target.parameter(text);
        } else if let Some(rest) = text.strip_prefix("duration: ") {
            self.duration = printed::whole(rest.trim_end_matches('s'));
        } else if let Some(rest) = text.strip_prefix("warm up time: ") {
            self.warm_up = printed::whole(rest.trim_end_matches('s'));
        } else {
            self.random_writes |= text.starts_with("generating random data for each write");
            self.has_pool |= text.starts_with("thread pool with ");
        }
    }

    fn result(&mut self, text: &str) {
        if let Some(rest) = text.strip_prefix("actual test time:") {
            self.test_time = printed::number(rest.trim().trim_end_matches('s'));
        } else if let Some(rest) = text.strip_prefix("thread count:") {
            self.threads = printed::whole(rest);
        }
    }

    /// `     0 |  1700134912 |  25942 |  13.51 |  216.16 |  9.251 |  17.590 | path (10GiB)`, and `total:  1700134912 | ...`.
    fn row(&mut self, table: usize, text: &str, columns: &[String]) {
        let Some((first, rest)) = text.split_once([':', '|']) else { return };
        // The first cell is the thread, or the word `total` with the bytes behind it.
        let names = columns.iter().skip(1).map(String::as_str);
        let cells: HashMap<&str, &str> = names.zip(rest.split('|').map(str::trim)).collect();
        if first.trim() != "total" {
            let size = cells.get("file").and_then(|file| file.rsplit_once('('));
            self.target_size(size.and_then(|(_, size)| printed::size(size.trim_end_matches(')'))));
            return;
        }
        let [bytes, ios] =
            ["bytes", "I/Os"].map(|name| cells.get(name).and_then(|cell| printed::whole(cell)));
        let [iops, mean, deviation] = ["I/O per s", "AvgLat", "LatStdDev"]
            .map(|name| cells.get(name).and_then(|cell| printed::number(cell)));
        let (Some(bytes), Some(ios)) = (bytes, ios) else { return };
        self.totals[table] = Some(DiskspdTotals { bytes, ios, iops, mean, deviation });
    }

    /// `3-nines |  53.694 |  1.396 |  52.331`.
    fn percentile(&mut self, text: &str) {
        let mut cells = text.split('|').map(str::trim);
        let name = cells.next().unwrap_or_default();
        let nines = name.strip_suffix("-nines").and_then(printed::whole).filter(|n| (3..=12).contains(n));
        let name = match (name, nines) {
            ("min", _) => Some("0".to_string()),
            ("max", _) => Some("100".to_string()),
            (_, Some(n)) => Some(format!("99.{}", "9".repeat(n as usize - 2))),
            (name, None) => printed::percentile(name.trim_end_matches("th")),
        };
        for (column, cell) in self.percentiles.iter_mut().zip(cells) {
            column.extend(name.clone().zip(printed::number(cell)));
        }
    }
}

impl DiskspdTarget {
    fn parameter(&mut self, text: &str) {
        match text {
            "software cache disabled" => self.direct = Some(true),
            "using software cache" => self.direct = Some(false),
            "performing read test" => self.write_percent = Some(0),
            "performing write test" => self.write_percent = Some(100),
            _ if text.starts_with("memory mapped I/O enabled") => self.direct = Some(false),
            _ if text.starts_with("using random I/O") => self.random = Some(100),
            _ if text.starts_with("using sequential I/O") => self.random = Some(0),
            _ if text.starts_with("using interlocked sequential I/O") => {
                (self.random, self.shares_out) = (Some(0), true);
            }
            _ => {}
        }
        self.shares_out |= text.starts_with("thread stride size:");
        self.own_data |= text.starts_with("write buffer source: ");
        let reads = number_behind(text, "performing mix test (read/write ratio: ");
        self.write_percent = reads.map(|reads| 100u64.saturating_sub(reads)).or(self.write_percent);
        self.random = number_behind(text, "using mixed random/sequential I/O (").or(self.random);
        self.block = text.strip_prefix("block size: ").and_then(printed::size).or(self.block);
        self.end = text.strip_prefix("max file size: ").and_then(printed::size).or(self.end);
        self.outstanding =
            number_behind(text, "number of outstanding I/O operations per thread").or(self.outstanding);
        self.threads = number_behind(text, "threads per file").or(self.threads);
        let think = number_behind(text, "think time").filter(|ms| *ms > 0).map(|ms| format!("-i{ms}"));
        let limit = number_behind(text, "throughput rate-limited to ").map(|n| format!("-g{n}"));
        self.pause = limit.or(think).or(self.pause.take());
    }
}

/// The whole number of a line that begins with these words.
fn number_behind(text: &str, words: &str) -> Option<u64> {
    let rest = text.strip_prefix(words)?.trim_start_matches(':').trim();
    printed::whole(rest.split([' ', '/', 'm', '%']).next()?)
}

/// `2023/08/04 12:31:07 UTC` as RFC 3339.
fn moment(text: &str) -> Option<String> {
    let plain = text.trim().strip_suffix(" UTC")?.replace('/', "-").replace(' ', "T");
    plain.parse::<jiff::civil::DateTime>().ok().map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}
