//! `iostat -x` of sysstat: text of any version, whose columns are read by their names, and JSON (`-o JSON`). What a disk completed, of whatever load.
//!
//! The first table of each call counts since the machine started, so that it is left out where there are several. A run is a disk: the mean of its
//! tables. Their time is known where `iostat` printed it as ISO 8601 (`S_TIME_FORMAT=ISO iostat -xt 1`): each lasts for the interval that most have.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use super::disk_activity::DiskActivity;
use super::{ForeignReport, ForeignReports, LineReader, printed};
use volproof_base::unit::Nanos;
use volproof_record::{ReportForm, ReportProgram};

/// The figures of a disk in one table, by the name of their column.
type Row = BTreeMap<String, f64>;

/// Tables that are further apart than so many intervals, and by a second more, have a time without data between them.
const GAP: i128 = 2;
const SECOND: i128 = 1_000_000_000;

/// Reads reports of `iostat -x`.
#[derive(Default)]
pub struct IostatReader {
    columns: Vec<String>,
    seen: IostatTables,
}

/// The tables of a report.
#[derive(Default)]
struct IostatTables {
    /// Of each disk its rows, each with the number of its table.
    disks: BTreeMap<String, Vec<(usize, Row)>>,
    count: usize,
    /// The tables that begin a call.
    firsts: BTreeSet<usize>,
    times: Vec<Timestamp>,
}

impl LineReader for IostatReader {
    fn line(&mut self, line: &str, _: &mut ForeignReports) {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        if first.trim_end_matches(':') == "Device" && line.contains("%util") {
            self.columns = words.map(str::to_string).collect();
            self.seen.count += 1;
        } else if first == "Linux" && line.contains("CPU)") {
            self.seen.firsts.insert(self.seen.count);
            self.columns.clear();
        } else if let Ok(at) = line.trim().parse::<Timestamp>() {
            self.seen.times.push(at);
            self.columns.clear();
        } else if self.columns.is_empty() || first.is_empty() {
            self.columns.clear();
        } else {
            // Many languages write 1,50 for 1.50.
            let values: Option<Vec<f64>> =
                words.map(|word| printed::number(&word.replace(',', "."))).collect();
            let values = values.filter(|values| values.len() == self.columns.len());
            let Some(values) = values else { return self.columns.clear() };
            let row = self.columns.iter().cloned().zip(values).collect();
            self.seen.add(first, row);
        }
    }

    fn block(&mut self, text: &str, found: &mut ForeignReports) -> Option<usize> {
        let (seen, length) = IostatTables::of_json(text)?;
        seen.report(ReportForm::Json, found);
        Some(length)
    }

    fn end(&mut self, found: &mut ForeignReports) {
        std::mem::take(&mut self.seen).report(ReportForm::Text, found);
    }
}

/// What a disk completed, table by table, in the order of time.
#[derive(Debug)]
pub struct DiskSeries {
    /// Its name.
    pub disk: String,
    /// Its tables.
    pub tables: Vec<DiskTable>,
}

/// A table of a disk.
#[derive(Debug)]
pub struct DiskTable {
    /// What the disk did.
    pub activity: DiskActivity,
    /// The time without data between the table before and this one.
    pub unknown_before: Nanos,
}

/// The disks of an `iostat -x` log over time, without the first table of each call, which counts since the machine started; nothing for another text.
pub fn disk_series(text: &[u8]) -> Vec<DiskSeries> {
    let text = String::from_utf8_lossy(text);
    let seen = match IostatTables::of_json(&text) {
        Some((seen, _)) => seen,
        None => {
            let mut reader = IostatReader::default();
            text.lines().for_each(|line| reader.line(line, &mut ForeignReports::default()));
            reader.seen
        }
    };
    let interval = seen.interval();
    let mut series = Vec::new();
    for (disk, rows) in &seen.disks {
        let mut tables = Vec::new();
        let mut before = None;
        for (number, row) in rows.iter().filter(|(number, _)| !seen.is_first(*number)) {
            let unknown_before = match (before, interval) {
                (Some(before), Some(interval)) => seen.unknown_between(before, *number, interval),
                _ => Nanos(0),
            };
            tables.push(DiskTable { activity: counts_of(&[row], interval), unknown_before });
            before = Some(*number);
        }
        series.push(DiskSeries { disk: disk.clone(), tables });
    }
    series
}

impl IostatTables {
    /// The tables of a JSON document at the beginning of a text, and its length.
    fn of_json(text: &str) -> Option<(IostatTables, usize)> {
        if !text.trim_start().starts_with('{') || !text.contains("\"sysstat\"") {
            return None;
        }
        let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let document = documents.next()?.ok()?;
        let host = document.get("sysstat")?.get("hosts")?.get(0)?;
        let mut seen = IostatTables::default();
        for table in host.get("statistics")?.as_array()? {
            seen.times.extend(
                table.get("timestamp").and_then(Value::as_str).and_then(|at| at.parse::<Timestamp>().ok()),
            );
            seen.count += 1;
            for disk in table.get("disk").and_then(Value::as_array).into_iter().flatten() {
                let Some(name) = disk.get("disk_device").and_then(Value::as_str) else { continue };
                let fields = disk.as_object().into_iter().flatten();
                let row = fields
                    .filter_map(|(key, value)| Some((key.clone(), value.as_f64().filter(|x| *x >= 0.0)?)));
                seen.add(name, row.collect());
            }
        }
        Some((seen, documents.byte_offset()))
    }

    /// Whether a table counts since the machine started.
    fn is_first(&self, number: usize) -> bool {
        number == 0 || self.firsts.contains(&number)
    }

    /// The interval of the tables: the median, where each has its time.
    fn interval(&self) -> Option<Nanos> {
        if self.times.len() != self.count {
            return None;
        }
        let mut apart: Vec<i128> =
            self.times.windows(2).map(|pair| pair[1].as_nanosecond() - pair[0].as_nanosecond()).collect();
        apart.sort_unstable();
        let median = apart.get(apart.len() / 2).copied().unwrap_or(0);
        u64::try_from(median).ok().filter(|length| *length > 0).map(Nanos)
    }

    /// The time without data between two tables, which have this interval.
    fn unknown_between(&self, before: usize, number: usize, interval: Nanos) -> Nanos {
        let (interval, times) = (i128::from(interval.0), &self.times);
        let apart = times[number].as_nanosecond() - times[before].as_nanosecond();
        if apart <= GAP * interval + SECOND {
            return Nanos(0);
        }
        Nanos(u64::try_from(apart - interval).unwrap_or(0))
    }

    fn add(&mut self, disk: &str, row: Row) {
        if self.disks.len() < super::MOST_RUNS || self.disks.contains_key(disk) {
            let number = self.count.saturating_sub(1);
            self.disks.entry(disk.into()).or_default().push((number, row));
        }
    }

    fn report(self, form: ReportForm, found: &mut ForeignReports) {
        if self.disks.is_empty() {
            return;
        }
        let mut report = ForeignReport::new(ReportProgram::Iostat, "iostat", form);
        let left_out = usize::from(self.count > 1);
        report.notes.push(if left_out == 1 {
            "the first table counts since the machine started, and is left out".into()
        } else {
            "its one table counts since the machine started: run iostat -x 10 2, and give both".into()
        });
        let interval = self.interval().filter(|_| left_out == 1);
        report.written = self.times.last().map(Timestamp::to_string);
        for (disk, rows) in &self.disks {
            let is_left_out = |number: usize| left_out == 1 && rows.len() > 1 && self.is_first(number);
            let rows: Vec<&Row> =
                rows.iter().filter(|(number, _)| !is_left_out(*number)).map(|(_, row)| row).collect();
            counts_of(&rows, interval).report(disk, &mut report);
        }
        found.add(report);
    }
}

/// The means of the tables of a disk.
fn counts_of(rows: &[&Row], interval: Option<Nanos>) -> DiskActivity {
    let mean = |names: &[(&str, f64)]| {
        let of_row = |row: &Row| names.iter().find_map(|(name, scale)| Some(row.get(*name)? * scale));
        let sum: f64 = rows.iter().copied().filter_map(of_row).sum();
        sum / rows.len().max(1) as f64
    };
    let weighted = |rate: &str, names: [&str; 2]| {
        let of_row =
            |row: &Row| Some((*row.get(rate)?, names.iter().find_map(|name| row.get(*name).copied())?));
        let (ios, time) =
            rows.iter().copied().filter_map(of_row).fold((0.0, 0.0), |(n, t), (r, ms)| (n + r, t + r * ms));
        (ios > 0.0).then(|| time / ios * 1e6)
    };
    let bytes = |k: &'static str, m: &'static str, s: &'static str| {
        mean(&[(k, 1024.0), (m, 1_048_576.0), (s, 512.0)])
    };
    DiskActivity {
        iops: [mean(&[("r/s", 1.0)]), mean(&[("w/s", 1.0)])],
        bytes_per_second: [bytes("rkB/s", "rMB/s", "rsec/s"), bytes("wkB/s", "wMB/s", "wsec/s")],
        merges_per_second: [mean(&[("rrqm/s", 1.0)]), mean(&[("wrqm/s", 1.0)])],
        latency_ns: [weighted("r/s", ["r_await", "await"]), weighted("w/s", ["w_await", "await"])],
        queue: mean(&[("aqu-sz", 1.0), ("avgqu-sz", 1.0)]),
        busy: mean(&[("%util", 0.01), ("util", 0.01)]).min(1.0),
        length: Nanos(interval.unwrap_or(Nanos::seconds(1)).0.saturating_mul(rows.len() as u64)),
        length_is_assumed: interval.is_none(),
    }
}
