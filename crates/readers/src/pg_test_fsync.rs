//! `pg_test_fsync` of PostgreSQL: writes that are durable one after the other, by each method.
//!
//! It prints a rate and its reciprocal for each method, and no percentile. The time of an operation is that of its writes and their flush
//! together.

use super::{ForeignReport, ForeignReports, LineReader, printed};
use volproof_base::unit::{Bytes, Nanos};
use volproof_record::{
    Conditions, Known, ReportForm, ReportProgram, ReportedFigures, ReportedLatency, ReportedStep,
};

/// Reads reports of `pg_test_fsync`.
#[derive(Default)]
pub struct PgReader {
    report: Option<PgReport>,
}

#[derive(Default)]
struct PgReport {
    seconds: Option<f64>,
    direct: bool,
    section: Option<PgSection>,
    runs: Vec<ReportedStep>,
    whole: bool,
}

/// The block of the report in which a line stands.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum PgSection {
    /// Methods, with so many writes of 8 KiB before each flush.
    Methods(u64),
    /// `open_sync` with several sizes.
    Sizes,
    /// A flush through another descriptor.
    Descriptors,
    /// Writes without a flush.
    NotFlushed,
}

impl LineReader for PgReader {
    fn line(&mut self, line: &str, found: &mut ForeignReports) {
        let text = line.trim();
        if let Some(rest) = text.strip_suffix(" per test")
            && let Some((n, unit)) = rest.split_once(' ')
            && unit.starts_with("second")
        {
            self.end(found);
            self.report = Some(PgReport { seconds: printed::number(n), ..PgReport::default() });
        } else if let Some(section) = section(text) {
            // A section that was there, or that stands before one that was, is of another report whose head was left out.
            if self.report.as_ref().is_some_and(|r| r.section.is_some_and(|last| section <= last)) {
                self.end(found);
            }
            // The methods come first, so a report may be cut off at its head.
            self.report.get_or_insert_with(PgReport::default).section = Some(section);
        } else if let Some(report) = &mut self.report {
            report.line(text);
        }
    }

    fn end(&mut self, found: &mut ForeignReports) {
        let Some(seen) = self.report.take().filter(|r| !r.runs.is_empty()) else { return };
        let mut report = ForeignReport::new(ReportProgram::PgTestFsync, "pg_test_fsync", ReportForm::Text);
        if !seen.whole {
            report.partial = Some("it breaks off before the writes without a flush, which come last".into());
        }
        report.notes.push(
            "each method's time is that of its writes and their flush together, as a mean: there are no percentiles"
                .into(),
        );
        seen.runs.into_iter().for_each(|run| report.add(run));
        found.add(report);
    }
}

fn section(line: &str) -> Option<PgSection> {
    match line {
        "Compare file sync methods using one 8kB write:" => Some(PgSection::Methods(1)),
        "Compare file sync methods using two 8kB writes:" => Some(PgSection::Methods(2)),
        "Compare open_sync with different write sizes:" => Some(PgSection::Sizes),
        "Test if fsync on non-write file descriptor is honored:" => Some(PgSection::Descriptors),
        "Non-sync'ed 8kB writes:" | "Non-Sync'ed 8kB writes:" => Some(PgSection::NotFlushed),
        _ => None,
    }
}

impl PgReport {
    fn line(&mut self, line: &str) {
        if line.starts_with("O_DIRECT supported on this platform") {
            self.direct = true;
            return;
        }
        let (Some(section), Some((name, rate, time))) = (self.section, row(line)) else { return };
        if self.runs.len() < super::MOST_RUNS {
            self.runs.push(self.run(section, name, rate, time));
        }
        self.whole |= section == PgSection::NotFlushed;
    }

    fn run(&self, section: PgSection, name: &str, rate: f64, time: f64) -> ReportedStep {
        let (writes, block) = match section {
            PgSection::Methods(n) => (n, Bytes::kib(8)),
            PgSection::Sizes => sizes(name).unwrap_or((1, Bytes(0))),
            PgSection::Descriptors | PgSection::NotFlushed => (1, Bytes::kib(8)),
        };
        let iops = rate * writes as f64;
        let seconds = self.seconds.filter(|s| *s > 0.0);
        let latency = ReportedLatency { mean: time, ..ReportedLatency::default() };
        let count = seconds.map(|s| (iops * s).round() as u64);
        let write = ReportedFigures {
            bytes: Bytes((iops * seconds.unwrap_or(0.0) * block.0 as f64) as u64),
            ios: Known::assumed_from(count, "rate times the time of a test"),
            iops: iops.into(),
            bytes_per_second: Known::assumed(iops * block.0 as f64, "writes times block size"),
            runtime: seconds.map(|s| Nanos((s * 1e9) as u64)).into(),
            total: (writes == 1).then_some(latency),
            ..ReportedFigures::default()
        };
        ReportedStep {
            name: match section {
                PgSection::Methods(1) => format!("{name}, one 8 KiB write"),
                PgSection::Methods(_) => format!("{name}, two 8 KiB writes"),
                PgSection::NotFlushed => format!("{name}, without a flush"),
                _ => name.to_string(),
            },
            rows: 1,
            rate_of_latency: true,
            conditions: self.conditions(section, writes, block, name),
            write: Some(write),
            ..ReportedStep::default()
        }
    }

    fn conditions(&self, section: PgSection, writes: u64, block: Bytes, name: &str) -> Conditions {
        let by_write = name.starts_with("open_") || section == PgSection::Sizes;
        Conditions {
            rw: Known::assumed("write".into(), "pg_test_fsync writes the same place again and again"),
            block: Some(block).filter(|b| b.0 > 0).map(|b| (b, b)).into(),
            engine: match section {
                PgSection::NotFlushed => "pg_test_fsync, without a flush".to_string(),
                _ if by_write => "pg_test_fsync, each write durable by itself".to_string(),
                _ => format!(
                    "pg_test_fsync, a flush after {writes} write{}",
                    if writes == 1 { "" } else { "s" }
                ),
            }
            .into(),
            blocking: true.into(),
            jobs: 1.into(),
            direct: (by_write && self.direct).into(),
            time_based: true.into(),
            size: match block.0 {
                0 => Known::Unknown,
                // The same place again and again.
                _ => Bytes(writes.saturating_mul(block.0)).into(),
            },
            runtime: self.seconds.map(|s| Nanos((s * 1e9) as u64)).into(),
            fsync: match section {
                PgSection::NotFlushed => 0,
                _ if by_write => 1,
                _ => writes as u32,
            }
            .into(),
            ..Conditions::default()
        }
    }
}

/// Name, operations a second and nanoseconds of a row: `fdatasync  2831.910 ops/sec  353 usecs/op`. Rates before 9.3 have no time.
fn row(line: &str) -> Option<(&str, f64, f64)> {
    let (left, right) = line.split_once(" ops/sec")?;
    let (name, rate) = left.trim().rsplit_once(' ')?;
    let rate = printed::number(rate).filter(|x| *x > 0.0)?;
    let time = right.trim().strip_suffix("usecs/op").and_then(|t| printed::number(t.trim()));
    // The reciprocal of the rate has more digits than whole microseconds.
    let by_rate = 1e9 / rate;
    let time =
        time.map_or(by_rate, |us| if (by_rate / 1000.0 - us).abs() <= 1.0 { by_rate } else { us * 1000.0 });
    Some((name.trim(), rate, time))
}

/// Writes and their size: `4 *  4kB open_sync writes`.
fn sizes(name: &str) -> Option<(u64, Bytes)> {
    let (count, rest) = name.split_once('*')?;
    let count = printed::whole(count).filter(|n| (1..=64).contains(n))?;
    Some((count, printed::size(rest.split_ascii_whitespace().next()?)?))
}
