//! One row of a report: the lines between the one that names the job and the next.

use super::Here;
use super::field::{amount, bytes, count, field, nanos, number, position, share, unit, whole};
use super::printed_range::Fraction;
use crate::impossible::Impossible;
use crate::output::{
    BATCHES, BELOW, BELOW_MS, DEPTHS, Latency, LatencyTarget, OutputRow, RowCpu, Samples, Stats,
};
use volproof_base::sample::Direction;
use volproof_base::unit::Nanos;

/// The kind of a line within a row, by its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// `read: IOPS=...`; or all directions together.
    Direction(Option<Direction>),
    /// `clat (usec): min=...`, with the nanoseconds of its unit.
    Latency(LatencyKind, u64),
    /// `clat percentiles (usec):`.
    Percentiles(LatencyKind, u64),
    /// `|  1.00th=[  494], ...`.
    PercentileRow,
    /// `bw (  KiB/s): min=...`.
    Bandwidth,
    /// `iops        : min=...`.
    Iops,
    /// `lat (usec)   : 250=0.04%, ...`, with the nanoseconds of its unit.
    Shares(u64),
    /// `cpu          : usr=...`.
    Cpu,
    /// `IO depths    : 1=0.1%, ...`.
    Depths,
    /// `submit    : 0=0.0%, ...`.
    Submit,
    /// `complete  : 0=0.0%, ...`.
    Complete,
    /// `issued rwts: total=...`.
    Issued,
    /// `errors    : total=...`.
    Errors,
    /// `latency   : target=...`.
    Target,
    /// `steadystate  : attained=...`.
    SteadyState,
    /// `Description  : [...]`.
    Description,
}

/// The kind of a latency, by the word in front of its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyKind {
    /// Submission.
    Slat,
    /// Completion.
    Clat,
    /// Both.
    Lat,
    /// Flushes.
    Sync,
    /// Latencies of I/Os of one priority: told apart, and not kept.
    Priority,
}

impl LatencyKind {
    fn in_front_of(text: &str) -> Option<LatencyKind> {
        let words: Vec<&str> = text.split_whitespace().rev().take(3).collect();
        if words.contains(&"prio") {
            return Some(LatencyKind::Priority);
        }
        match *words.first()? {
            "slat" => Some(LatencyKind::Slat),
            "clat" => Some(LatencyKind::Clat),
            "lat" => Some(LatencyKind::Lat),
            "sync" => Some(LatencyKind::Sync),
            _ => None,
        }
    }
}

/// The text in the first parentheses behind `at`: `(usec)`.
fn in_parentheses(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('(')?;
    let (inside, after) = rest.split_once(')')?;
    Some((before, inside.trim(), after))
}

impl LineKind {
    /// `None` for a line that is not fio's, or one that tells nothing that is kept.
    pub fn of_line(text: &str) -> Option<LineKind> {
        if text.contains("th=[") {
            return Some(LineKind::PercentileRow);
        }
        if let Some(before) = text.split("percentiles (").next().filter(|b| b.len() < text.len()) {
            let (_, inside, _) = in_parentheses(&text[before.len()..])?;
            // Its name may carry parentheses of its own: `clat prio 0/0 (50.00% of IOs)`.
            let of = if before.contains(" prio ") {
                LatencyKind::Priority
            } else {
                LatencyKind::in_front_of(before)?
            };
            return Some(LineKind::Percentiles(of, unit(inside)?));
        }
        if text.trim_start().starts_with("Description") {
            return Some(LineKind::Description);
        }
        if !text.contains('=') {
            return None;
        }
        if has(text, "min") && has(text, "avg") {
            return match in_parentheses(text) {
                Some((before, inside, _)) if before.trim_end().ends_with("bw") => {
                    inside.ends_with("/s").then_some(LineKind::Bandwidth)
                }
                Some((before, inside, _)) => {
                    Some(LineKind::Latency(LatencyKind::in_front_of(before)?, unit(inside)?))
                }
                None => text.trim_start().starts_with("iops").then_some(LineKind::Iops),
            };
        }
        if (has(text, "IOPS") && has(text, "BW")) || (has(text, "iops") && has(text, "runt")) {
            let word = text.split(':').next()?.split_whitespace().next_back()?;
            return match word {
                "read" => Some(LineKind::Direction(Some(Direction::Read))),
                "write" => Some(LineKind::Direction(Some(Direction::Write))),
                "trim" => Some(LineKind::Direction(Some(Direction::Trim))),
                "mixed" => Some(LineKind::Direction(None)),
                _ => None,
            };
        }
        let (label, rest) = text.split_once(':')?;
        let label = label.trim();
        if label.ends_with(')') && rest.contains('%') {
            let (before, inside, _) = in_parentheses(label)?;
            return (before.trim_end().ends_with("lat")).then_some(LineKind::Shares(unit(inside)?));
        }
        if label.contains("issued") && rest.contains("total=") {
            return Some(LineKind::Issued);
        }
        match label.split_whitespace().next_back()? {
            "cpu" if has(text, "usr") => Some(LineKind::Cpu),
            "depths" if label.ends_with("IO depths") => Some(LineKind::Depths),
            "submit" => Some(LineKind::Submit),
            "complete" => Some(LineKind::Complete),
            "errors" if has(text, "total") => Some(LineKind::Errors),
            "latency" if has(text, "target") => Some(LineKind::Target),
            "steadystate" if has(text, "attained") => Some(LineKind::SteadyState),
            _ => None,
        }
    }
}

/// A line has a field of that name.
fn has(text: &str, key: &str) -> bool {
    position(text, key).is_some()
}

/// A row while it is read.
#[derive(Debug)]
pub struct TextRow {
    job: OutputRow,
    line: usize,
    /// The direction that latencies belong to; the mix when absent.
    direction: Option<Option<Direction>>,
    /// The table that percentile rows belong to.
    table: Option<(LatencyKind, u64)>,
    /// As 3.x prints it.
    modern: bool,
    ended: bool,
}

impl TextRow {
    /// A row that begins at a line.
    pub fn new(job: OutputRow, line: usize) -> TextRow {
        TextRow { job, line, direction: None, table: None, modern: true, ended: false }
    }

    /// The row, and why it is not whole.
    pub fn end(self) -> (OutputRow, Option<String>) {
        let TextRow { mut job, line, ended, modern, .. } = self;
        let why = (!ended).then(|| format!("the row of job {} breaks off after line {line}", job.name));
        if ended {
            // Lines of shares that would hold only zeros are not printed.
            if modern {
                job.latency_ns.get_or_insert_default();
            }
            job.latency_us.get_or_insert_default();
            job.latency_ms.get_or_insert_default();
        }
        (job, why)
    }

    /// Takes a line.
    pub fn line(&mut self, kind: LineKind, here: &mut Here<'_, '_>) {
        self.line = here.number;
        self.take(kind, here);
        let part = match (kind, self.direction) {
            (LineKind::Latency(LatencyKind::Sync, _), _) => "sync.lat.".to_string(),
            (
                LineKind::Direction(_) | LineKind::Latency(..) | LineKind::Bandwidth | LineKind::Iops,
                Some(d),
            ) => {
                format!("{}.", d.map_or("mixed", Direction::name))
            }
            _ => String::new(),
        };
        let found = here.impossible.drain(..);
        self.job.impossible.extend(found.map(|i| Impossible { key: format!("{part}{}", i.key), ..i }));
    }

    fn take(&mut self, kind: LineKind, here: &mut Here<'_, '_>) {
        match kind {
            LineKind::Direction(d) => self.direction(d, here),
            LineKind::Latency(of, ns) => self.latency(of, ns, here),
            LineKind::Percentiles(of, ns) => self.table = Some((of, ns)),
            LineKind::PercentileRow => self.percentiles(here),
            LineKind::Bandwidth => self.bandwidth(here),
            LineKind::Iops => {
                let samples = samples(here, 1.0);
                if let Some(stats) = self.stats() {
                    stats.iops_samples = samples;
                }
            }
            LineKind::Shares(1) => shares(&mut self.job.latency_ns, &BELOW.map(|n| n.to_string()), here),
            LineKind::Shares(1000) => shares(&mut self.job.latency_us, &BELOW.map(|n| n.to_string()), here),
            LineKind::Shares(_) => shares(&mut self.job.latency_ms, &BELOW_MS.map(String::from), here),
            LineKind::Cpu => {
                let cpu = RowCpu {
                    user: here.get("usr", share).unwrap_or(0.0),
                    system: here.get("sys", share).unwrap_or(0.0),
                    switches: here.get("ctx", whole).unwrap_or(0),
                    major_faults: here.get("majf", whole).unwrap_or(0),
                    minor_faults: here.get("minf", whole).unwrap_or(0),
                };
                self.job.cpu = Some(cpu).filter(|_| here.impossible.is_empty());
            }
            LineKind::Depths => shares(&mut self.job.depth, &DEPTHS.map(String::from), here),
            LineKind::Submit => shares(&mut self.job.submit, &BATCHES.map(String::from), here),
            LineKind::Complete => shares(&mut self.job.complete, &BATCHES.map(String::from), here),
            LineKind::Issued => self.issued(here),
            LineKind::Errors => {
                self.job.errors = here.get("total", whole);
                self.job.first_error = here.get("first_error", whole).map(|n| n.min(1 << 20) as i32);
            }
            LineKind::Target => self.target(here),
            LineKind::SteadyState => {
                self.job.steady = here.get("attained", |word| match word {
                    "yes" => Some(true),
                    "no" => Some(false),
                    _ => None,
                });
            }
            LineKind::Description => {
                let words = here.text.split_once('[').and_then(|(_, rest)| Some(rest.rsplit_once(']')?.0));
                self.job.description = words.map(str::to_string);
            }
        }
    }

    fn stats(&mut self) -> Option<&mut Stats> {
        match self.direction? {
            Some(d) => self.job.directions[d].as_deref_mut(),
            None => self.job.mixed.as_deref_mut(),
        }
    }

    fn direction(&mut self, d: Option<Direction>, here: &mut Here<'_, '_>) {
        let mut stats = Stats::default();
        let modern = position(here.text, "BW").is_some();
        let fraction = Fraction::of_version(here.version, modern);
        let (iops, speed) = if modern { ("IOPS", "BW") } else { ("iops", "bw") };
        stats.printed.iops = field(here.text, iops).and_then(|f| fraction.range(f.1, false, true));
        stats.printed.bytes_per_second =
            field(here.text, speed).and_then(|f| fraction.range(f.1, !modern, true));
        stats.iops = here.get(iops, count).unwrap_or(0.0);
        stats.bytes_per_second = here.get(speed, |v| amount(v, !modern)).unwrap_or(0.0);
        if modern {
            // `(2348MiB/30008msec)` is the last pair of parentheses that holds a slash between two figures.
            let mut totals = here.text.split('(').filter_map(|part| part.split(')').next()?.split_once('/'));
            let found = totals.rfind(|(_, time)| time.contains("msec"));
            match found.and_then(|(moved, time)| Some((bytes(moved, false)?, whole(time)?))) {
                Some((moved, ms)) => {
                    stats.printed.bytes = found.and_then(|(moved, _)| fraction.range(moved, false, false));
                    (stats.bytes, stats.runtime) = (moved, Nanos(ms.saturating_mul(1_000_000)));
                }
                None => {
                    here.note(here.text.len(), "the amount and the time in parentheses are missing");
                    here.impossible.push(Impossible::new("moved", "missing"));
                }
            }
        } else {
            self.modern = false;
            stats.printed.bytes = field(here.text, "io").and_then(|f| fraction.range(f.1, true, false));
            stats.bytes = here.get("io", |v| bytes(v, true)).unwrap_or_default();
            let ms = here.get("runt", whole).unwrap_or(0);
            stats.runtime = Nanos(ms.saturating_mul(1_000_000));
        }
        match d {
            Some(d) => self.job.directions[d] = Some(Box::new(stats)),
            None => self.job.mixed = Some(Box::new(stats)),
        }
        (self.direction, self.table) = (Some(d), None);
    }

    /// The latency of that kind, made when it is missing.
    fn place(&mut self, of: LatencyKind) -> Option<&mut Latency> {
        if of == LatencyKind::Sync {
            return Some(self.job.sync.get_or_insert_default());
        }
        let stats = self.stats()?;
        match of {
            LatencyKind::Slat => Some(stats.slat.get_or_insert_default()),
            LatencyKind::Clat => Some(stats.clat.get_or_insert_default()),
            LatencyKind::Lat => Some(stats.lat.get_or_insert_default()),
            LatencyKind::Sync | LatencyKind::Priority => None,
        }
    }

    fn latency(&mut self, of: LatencyKind, ns: u64, here: &mut Here<'_, '_>) {
        let Some(place) = self.place(of) else { return };
        place.min = here.get("min", count).map_or(Nanos(0), |v| nanos(v, ns));
        place.max = here.get("max", count).map_or(Nanos(0), |v| nanos(v, ns));
        place.mean = here.get("avg", |v| Some(number(v)?.0)).unwrap_or(0.0) * ns as f64;
        place.deviation = here.get("stdev", |v| Some(number(v)?.0)).unwrap_or(0.0) * ns as f64;
        if !here.impossible.is_empty() {
            *place = Latency::default();
        }
    }

    fn percentiles(&mut self, here: &mut Here<'_, '_>) {
        let Some((of, ns)) = self.table else { return };
        let mut found: Vec<(f64, Nanos)> = Vec::new();
        let mut parts = here.text.split("th=[");
        let mut before = parts.next().unwrap_or_default();
        let mut column = 0;
        for part in parts {
            column += before.len() + 4;
            let name = before.rsplit([' ', '|', ',']).next().and_then(|p| number(p)).map(|(p, _)| p);
            let value = part.split(']').next().and_then(count);
            match (name, value) {
                (Some(p), Some(v)) if p <= 100.0 => found.push((p, nanos(v, ns))),
                _ => here.note(column, "no percentile"),
            }
            before = part;
        }
        let Some(place) = self.place(of) else { return };
        for (p, v) in found {
            let rising = place.percentiles.last().is_none_or(|last| last.0 < p);
            // 2.x repeats a percentile of zero where its list ends.
            if rising && place.percentiles.len() < 100 {
                place.percentiles.push((p, v));
            } else if p > 0.0 {
                here.note(0, "percentiles do not rise");
                return;
            }
        }
    }

    fn bandwidth(&mut self, here: &mut Here<'_, '_>) {
        let unit =
            here.text.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(u, _)| u);
        // In 2.x `KB` is 1024 bytes and its `k` is large; `kB` is decimal in name only (fio counts units of 1024 bytes).
        let factor = amount(&format!("1{}", unit.replace(' ', "")), true).unwrap_or(1024.0);
        let samples = samples(here, factor);
        if let Some(stats) = self.stats() {
            stats.bandwidth_samples = samples;
        }
    }

    /// `total=r=262144/w=0/d=0, short=...` or `total=262144,0,0,0 short=...`.
    fn issued(&mut self, here: &mut Here<'_, '_>) {
        self.ended = true;
        let dropped = if has(here.text, "dropped") { "dropped" } else { "drop" };
        let [total, short, dropped] = ["total", "short", dropped].map(|key| issued_numbers(here.text, key));
        if total.is_empty() {
            let at = here.text.len();
            return here.note(at, "the numbers of I/Os are missing");
        }
        self.job.sync_ios = total.get(3).copied().or(self.job.sync_ios);
        let [total, short, dropped] =
            [total, short, dropped].map(|list| [0, 1, 2].map(|i| list.get(i).copied().unwrap_or(0)));
        for (i, d) in [Direction::Read, Direction::Write, Direction::Trim].into_iter().enumerate() {
            if let Some(stats) = &mut self.job.directions[d] {
                stats.ios = Some(total[i]);
                (stats.short, stats.dropped) = (short[i], dropped[i]);
            }
        }
        if let Some(mixed) = &mut self.job.mixed {
            let apart = self.job.directions.0.iter().any(Option::is_some);
            mixed.ios = Some(if apart { total.iter().sum() } else { total[0] });
            (mixed.short, mixed.dropped) = (short[0], dropped[0]);
        }
    }

    fn target(&mut self, here: &mut Here<'_, '_>) {
        // Raw numbers: the target in nanoseconds since 3.0 and in microseconds before; the window in microseconds.
        let raw_target = if self.modern { 1 } else { 1000 };
        self.job.target = Some(LatencyTarget {
            target: here.get("target", |v| time(v, raw_target)).unwrap_or_default(),
            window: here.get("window", |v| time(v, 1000)).unwrap_or_default(),
            percentile: here.get("percentile", share).unwrap_or(0.0),
            depth: here.get("depth", whole).map_or(0, |n| n.min(u64::from(u32::MAX)) as u32),
        });
    }
}

/// A time of a number with its unit; without one, in units of `raw` nanoseconds.
fn time(text: &str, raw: u64) -> Option<Nanos> {
    let (value, rest) = number(text)?;
    Some(nanos(value, if rest.is_empty() { raw } else { unit(rest)? }))
}

/// The numbers of I/Os behind a key: of reads, writes, discards and flushes.
fn issued_numbers(text: &str, key: &str) -> Vec<u64> {
    let Some(at) = position(text, key) else { return Vec::new() };
    let rest = &text[at..];
    let end = ["short", "drop"].iter().filter_map(|next| rest.find(next)).min().unwrap_or(rest.len());
    rest[..end].split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).take(4).collect()
}

fn samples(here: &mut Here<'_, '_>, factor: f64) -> Option<Samples> {
    let [min, max, mean, deviation] =
        ["min", "max", "avg", "stdev"].map(|key| here.get(key, count).unwrap_or(0.0) * factor);
    let (share, samples) = (here.get("per", share), here.get("samples", whole));
    Some(Samples { min, max, mean, deviation, share, samples })
}

/// `250=0.04%, 500=1.49%`: shares by their keys; those that are not told are nothing.
fn shares<const N: usize>(place: &mut Option<[f64; N]>, keys: &[String; N], here: &mut Here<'_, '_>) {
    let Some((label, list)) = here.text.split_once(':') else { return };
    let values = place.get_or_insert([0.0; N]);
    let mut column = label.len() + 1;
    for part in list.split(',') {
        let found = part.rsplit_once('=').and_then(|(key, v)| {
            let key = key.trim();
            Some((keys.iter().position(|k| k == key)?, share(v)?))
        });
        match found {
            Some((i, v)) => values[i] = v,
            None => here.note(column, "no share of I/Os"),
        }
        column += part.len() + 1;
    }
}
