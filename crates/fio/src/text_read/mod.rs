//! fio's normal text, 2.0 to 3.x, as [`Output`]s: one for each report in the text.
//!
//! Lines are known by their own words, not by their place: status lines, a shell's prompt, what a web page or a terminal did to
//! blanks and signs, and lines nobody knows do not disturb. What is there is read. [`Output::partial`] marks a report whose
//! end is missing. [`Output::notes`] names a text in the place of a figure, with its line and column. Text rounds: figures are as
//! exact as they were printed, and nothing is derived from others. Units of each era become ours: in 2.x `KB` is 1024 bytes and
//! the latency target counts microseconds, since then `KiB` is 1024 and the target counts nanoseconds.

mod field;
mod job_headers;
mod line;
mod outside_rows;
mod printed_range;
mod row;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

pub use line::{TextLine, lines};

use super::ctime;
use super::impossible::{self, Impossible};
use super::json_read::ReadError;
use super::output::{AskedRate, Header, MOST_ROWS, Output, OutputRow};
use super::runs::members;
use field::{field, position, whole};
use job_headers::{ALL_CLIENTS, own_headers, sums_of_unlike_jobs};
use outside_rows::{asked_rate, disk, group, header, laid_out, version};
use row::TextRow;
use volproof_base::unit::Bytes;

/// Notes after these are counted only.
const MOST_NOTES: usize = 50;
/// More disks, and more sums of groups, of one report are left out.
const MOST_AFTER: usize = 1024;
/// More disks of all reports are left out.
const MOST_DISKS: usize = 1 << 18;
/// Headers are kept for the next report of the same run up to this number, and up to 64 for each row: every report looks at all of them.
const MOST_HEADERS_KEPT: usize = 1024;
/// A line that ends with a comma goes on in the next one, up to this length.
const LONGEST_JOINED: usize = 1000;

/// Rows of one report are printed within a moment.
const APART_MS: u64 = 60_000;
/// Why an interim report is not whole.
pub const INTERIM: &str = "an interim report: a later one of the same run follows";

/// All reports in a text, in order.
///
/// # Errors
/// When there is none: with the last line of fio's that there is, or at all.
pub fn read(text: &[u8]) -> Result<Vec<Output>, ReadError> {
    let mut reader = TextReader::default();
    let mut pending: Option<TextLine<'_>> = None;
    for mut line in lines(text) {
        if let Some(first) = pending.take() {
            // A mail or a page may have broken a line of fio's; its own lines never end so, but for the percentiles.
            line = TextLine { text: format!("{} {}", first.text, line.text.trim_start()).into(), ..first };
        }
        let broken = line.text.trim_end().ends_with(',') && !line.text.contains("th=[");
        if broken && line.text.len() < LONGEST_JOINED {
            pending = Some(line);
            continue;
        }
        reader.line(&line);
    }
    if let Some(line) = pending {
        reader.line(&line);
    }
    reader.end()
}

/// Where in a report the next line is expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TextPart {
    /// Header lines, up to the first row.
    #[default]
    Before,
    /// Rows.
    Rows,
    /// Sums of the groups, disks.
    After,
}

#[derive(Default)]
struct TextReader {
    done: Vec<Output>,
    output: Output,
    part: TextPart,
    headers: Vec<(String, u32, Header)>,
    row: Option<TextRow>,
    /// Sums of the groups, in case there is nothing else.
    groups: Vec<OutputRow>,
    rows: usize,
    /// Disks of all reports.
    disks: usize,
    /// The rows of the present report, by [`row_identity`].
    known: HashSet<u64>,
    /// A row of the present report names its host.
    of_clients: bool,
    unfinished: Option<String>,
    /// Jobs that the report says were started; 0 where it does not.
    started: u32,
    notes_left_out: usize,
    /// The host of the next row: in client mode `<host> ` is the line before it.
    announced: Option<String>,
    /// The last line that can only be fio's: number and what it is.
    seen: Option<(usize, &'static str)>,
}

/// A line with the means to tell what is wrong in it.
pub(super) struct Here<'a, 'n> {
    text: &'a str,
    number: usize,
    /// As the report names it; empty where it does not.
    version: &'a str,
    notes: &'n mut Vec<String>,
    left_out: &'n mut usize,
    /// Fields that hold no figure.
    impossible: Vec<Impossible>,
}

impl Here<'_, '_> {
    /// The content that a field should have had.
    fn note(&mut self, column: usize, what: &str) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(format!("line {}, column {}: {what}", self.number, column + 1));
        } else {
            *self.left_out += 1;
        }
    }

    /// A field read with `read`; noted when it is there and cannot be read.
    fn get<T>(&mut self, key: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (column, value) = field(self.text, key)?;
        let found = read(value);
        if found.is_none() {
            let wrong = Impossible::new(key, format!("'{value}'"));
            self.note(column, &format!("{wrong} is no figure"));
            self.impossible.push(wrong);
        }
        found
    }
}

/// The number of jobs in `3 processes` or `1 thread and 2 processes`.
fn jobs_started(text: &str) -> Option<u32> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.split(|word| *word == "and").try_fold(0u32, |sum, part| match part {
        [n, "process" | "processes" | "thread" | "threads"] => Some(sum.saturating_add(n.parse().ok()?)),
        _ => None,
    })
}

/// A number that tells a row from the other rows of its report.
fn row_identity(name: &str, host: Option<&str>, pid: Option<u32>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (name, host, pid).hash(&mut hasher);
    hasher.finish()
}

impl TextReader {
    fn line(&mut self, line: &TextLine<'_>) {
        let text: &str = &line.text;
        if let Some(at) = text.find("(groupid=") {
            self.seen = Some((line.number, "the first line of a job"));
            // A status line may stand before it.
            let from = text[..at].rfind("[eta ").and_then(|eta| Some(eta + text[eta..at].find(']')? + 1));
            return self.begin(&text[from.unwrap_or(0)..], line);
        }
        let word = text.trim_start();
        if word.is_empty() {
            self.announced = line.host.clone().or_else(|| self.announced.take());
            return;
        }
        if word.starts_with("Jobs: ") {
            self.seen.get_or_insert((line.number, "a status line"));
            // Near the end jobs are missing from it.
            let (known, found) = (self.output.asked_rate, asked_rate(word));
            self.output.asked_rate = match (known, found) {
                (Some(AskedRate::Iops(a)), Some(AskedRate::Iops(b))) => Some(AskedRate::Iops(a.max(b))),
                (Some(AskedRate::Bytes(a)), Some(AskedRate::Bytes(b))) => Some(AskedRate::Bytes(a.max(b))),
                (known, found) => known.or(found),
            };
            return;
        }
        if let Some(at) = text.find(": (g=") {
            return self.header(text, at, line);
        }
        if let Some((name, size)) = laid_out(text) {
            let of_job = self.headers.iter_mut().filter(|(job, ..)| job == name);
            // A line for each job, where each has files of its own.
            return of_job.for_each(|(.., header)| {
                let before = header.laid_out.unwrap_or_default();
                header.laid_out = Some(Bytes(before.0.saturating_add(size.0)));
            });
        }
        if word.starts_with("Run status group") {
            return self.after();
        }
        if let Some(jobs) = word.strip_prefix("Starting ").and_then(jobs_started) {
            self.started = jobs;
            return;
        }
        if word.starts_with("Disk stats") {
            return self.after();
        }
        if let Some(version) = version(word) {
            return self.version(version);
        }
        if position(text, "in_queue").is_some() && position(text, "ios").is_some() {
            self.after();
            if let Some(disk) =
                disk(text).filter(|_| self.output.disks.len() < MOST_AFTER && self.disks < MOST_DISKS)
            {
                self.disks += 1;
                self.output.disks.push(disk);
            }
            return;
        }
        let Some(kind) = row::LineKind::of_line(text) else {
            if self.part == TextPart::After
                && let Some(job) = group(text)
                && self.groups.len() < MOST_AFTER
                && self.rows + self.groups.len() < MOST_ROWS
            {
                self.groups.push(job);
            }
            return;
        };
        if self.row.is_none() {
            // Behind a report such a line is a quotation of it.
            if self.part != TextPart::Before || !matches!(kind, row::LineKind::Direction(..)) || self.full() {
                return;
            }
            // The line that names the job was not copied.
            let name = match self.headers.as_slice() {
                [(name, ..)] => name.clone(),
                _ => "unnamed".into(),
            };
            self.unfinished
                .get_or_insert(format!("the first line of a job is missing before line {}", line.number));
            self.open(TextRow::new(
                OutputRow { name, members: 0, host: line.host.clone(), ..OutputRow::default() },
                line.number,
            ));
        }
        let mut here = Here {
            text,
            number: line.number,
            version: &self.output.version,
            notes: &mut self.output.notes,
            left_out: &mut self.notes_left_out,
            impossible: Vec::new(),
        };
        if let Some(row) = &mut self.row {
            row.line(kind, &mut here);
        }
    }

    /// The first line of a row.
    fn begin(&mut self, text: &str, line: &TextLine<'_>) {
        self.close_row();
        if self.full() {
            return;
        }
        let at = text.find("(groupid=").unwrap_or(0);
        let name = text[..at].trim_end().trim_end_matches(':').trim();
        let host = line.host.clone().or_else(|| self.announced.take());
        self.new_report_if_over(&text[at..], name, host.as_deref());
        let mut here = Here {
            text: &text[at..],
            number: line.number,
            version: &self.output.version,
            notes: &mut self.output.notes,
            left_out: &mut self.notes_left_out,
            impossible: Vec::new(),
        };
        let mut job = OutputRow {
            name: name.into(),
            host,
            group: here.get("(groupid", small).or_else(|| here.get("groupid", small)).unwrap_or(0),
            members: here.get("jobs", small).unwrap_or(0),
            error: here.get("err", signed).unwrap_or(0),
            pid: field(here.text, "pid").and_then(|(_, v)| small(v)),
            ..OutputRow::default()
        };
        let rest = &text[at..];
        if job.error != 0
            && let Some((from, to)) = rest
                .find("err=")
                .and_then(|e| Some((e + rest[e..].find('(')? + 1, rest.find("): pid=")?)))
                .filter(|(from, to)| from < to)
        {
            job.error_text = Some(rest[from..to].to_string());
        }
        self.output.timestamp_ms = date(rest).or(self.output.timestamp_ms);
        self.open(TextRow::new(job, line.number));
    }

    fn open(&mut self, row: TextRow) {
        self.close_row();
        self.rows += 1;
        self.part = TextPart::Rows;
        self.row = Some(row);
    }

    /// There is room for no more rows.
    fn full(&mut self) -> bool {
        let full = self.rows >= MOST_ROWS;
        if full {
            self.unfinished.get_or_insert(format!("only the first {MOST_ROWS} rows were read"));
        }
        full
    }

    fn header(&mut self, text: &str, at: usize, line: &TextLine<'_>) {
        let Some(header) = header(text) else { return };
        self.seen = Some((line.number, "the header of a job"));
        if self.part != TextPart::Before {
            self.finish();
        }
        let group = field(text, "(g").map_or_else(|| text[at + 5..].to_string(), |(_, v)| v.to_string());
        let name = text[..at].trim();
        let name = name.rsplit(['$', '#']).next().filter(|_| name.contains("$ ")).unwrap_or(name).trim();
        if self.headers.len() < MOST_ROWS {
            self.headers.push((name.into(), whole(&group).unwrap_or(0) as u32, header));
        }
    }

    fn version(&mut self, version: &str) {
        if self.part != TextPart::Before && self.output.version != version {
            self.finish();
        }
        self.output.version = version.into();
        // In client mode every host says it; the headers are those of one run.
        if self.part == TextPart::After {
            self.finish();
            self.output.version = version.into();
        }
    }

    fn after(&mut self) {
        if self.part != TextPart::Before || self.row.is_some() {
            self.close_row();
        }
        self.part = TextPart::After;
    }

    /// A row after the sums of the groups: fio printed an interim report before (`--status-interval`), or another report follows. A row of
    /// another day or minute is of another report too. In client mode the rows of all hosts, and their sum, are of one report.
    fn new_report_if_over(&mut self, row: &str, name: &str, host: Option<&str>) {
        if self.output.jobs.is_empty() {
            return;
        }
        let pid = field(row, "pid").and_then(|(_, v)| whole(v)).map(|n| n as u32);
        let client = host.is_some() || name == ALL_CLIENTS;
        if self.of_clients && client && !self.known.contains(&row_identity(name, host, pid)) {
            self.part = TextPart::Rows;
            return;
        }
        let apart = self.output.timestamp_ms.zip(date(row)).is_some_and(|(a, b)| a.abs_diff(b) > APART_MS);
        if self.part != TextPart::After && !apart {
            return;
        }
        let (mut headers, version) = (self.headers.clone(), self.output.version.clone());
        if headers.len() > MOST_HEADERS_KEPT + 64 * self.output.jobs.len() {
            headers.clear();
        }
        if !apart {
            self.unfinished.get_or_insert(INTERIM.into());
        }
        self.finish();
        (self.headers, self.output.version) = (headers, version);
    }

    fn close_row(&mut self) {
        let Some(row) = self.row.take() else { return };
        let (mut job, missing) = row.end();
        impossible::judge(&mut job);
        if let Some(why) = missing {
            self.unfinished.get_or_insert(why);
        }
        self.of_clients |= job.host.is_some();
        self.known.insert(row_identity(&job.name, job.host.as_deref(), job.pid));
        self.output.jobs.push(job);
    }

    /// Ends a report.
    fn finish(&mut self) {
        self.close_row();
        let mut output = std::mem::take(&mut self.output);
        self.known.clear();
        let of_clients = std::mem::take(&mut self.of_clients);
        let headers = std::mem::take(&mut self.headers);
        let groups = std::mem::take(&mut self.groups);
        let mut partial = self.unfinished.take();
        if self.notes_left_out > 0 {
            output.notes.push(format!("and {} more", std::mem::take(&mut self.notes_left_out)));
        }
        self.part = TextPart::Before;
        if output.jobs.is_empty() {
            if groups.is_empty() {
                return;
            }
            partial = Some("only the sums of the groups are there".into());
            self.rows += groups.len();
            output.jobs = groups;
        }
        own_headers(&headers, &mut output.jobs);
        let summed = sums_of_unlike_jobs(&headers, &mut output.jobs);
        output.notes.extend(summed);
        let names: HashSet<&str> = output.jobs.iter().map(|j| j.name.as_str()).collect();
        let groups: HashSet<u32> = output.jobs.iter().map(|j| j.group).collect();
        let without: Vec<&str> = headers
            .iter()
            .filter(|(name, group, _)| !names.contains(name.as_str()) && !groups.contains(group))
            .map(|(name, ..)| name.as_str())
            .collect();
        if let Some(first) = without.first() {
            let others =
                if without.len() > 1 { format!(" and {} more", without.len() - 1) } else { String::new() };
            output.notes.push(format!("no results of job {first}{others}"));
        }
        let rows = members(output.jobs.iter()).unwrap_or(u32::MAX);
        let missing = std::mem::take(&mut self.started).saturating_sub(rows);
        if missing > 0 && !of_clients {
            partial.get_or_insert_with(|| format!("{missing} of the jobs that were started have no row"));
        }
        output.partial = partial;
        self.done.push(output);
    }

    fn end(mut self) -> Result<Vec<Output>, ReadError> {
        self.finish();
        match (self.done.is_empty(), self.seen) {
            (false, _) => Ok(self.done),
            (true, Some((line, what))) => Err(ReadError::Form {
                line,
                column: 1,
                what: format!("{what} is there, but no results follow: copy the report to its end"),
            }),
            (true, None) => Err(ReadError::Nothing { kind: "text report" }),
        }
    }
}

/// A whole number that a field of 32 bits holds.
fn small(text: &str) -> Option<u32> {
    whole(text).map(|n| n.min(u64::from(u32::MAX)) as u32)
}

/// An error number.
fn signed(text: &str) -> Option<i32> {
    let n = whole(text.strip_prefix('-').unwrap_or(text))?.min(1 << 20) as i32;
    Some(if text.starts_with('-') { -n } else { n })
}

/// When fio printed a row.
fn date(row: &str) -> Option<u64> {
    let (_, date) = row[position(row, "pid")?..].split_once(": ")?;
    ctime::read(date.trim())
}
