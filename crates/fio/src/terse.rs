//! fio's terse form (`--minimal`): one line of fields between semicolons for each row. Versions 2 to 5 are read; none is written.
//!
//! It says less than the JSON: latencies in whole microseconds, no counts of I/Os, and latencies below 1 us in the first of the
//! microsecond bands. Field order: HOWTO, "Terse output", and the order fio 3.33 prints where the two differ.

use super::impossible;
use super::json_read::ReadError;
use super::output::{
    DiskCounters, DiskCounts, Latency, MOST_ROWS, Output, OutputRow, RowCpu, Samples, Stats,
};
use volproof_base::report_form::PrintedRanges;
use volproof_base::sample::Direction;
use volproof_base::unit::{Bytes, Nanos, is_report_figure};

/// Places for percentiles.
const SLOTS: usize = 20;

/// Reads the terse lines of a text, each run of fio an Output; other lines are skipped.
///
/// A run prints the same counters of its disks behind each of its rows: where these change, another run begins. Runs whose files are on no
/// disk that counts are not told apart.
///
/// # Errors
/// With line and column where a field is not what belongs there, or when there is no such line. A last line that breaks off is left out and
/// said so in [`Output::partial`].
pub fn read(text: &[u8]) -> Result<Vec<Output>, ReadError> {
    let mut outputs: Vec<Output> = Vec::new();
    let mut output = Output::default();
    let mut rows = 0;
    let mut described = false;
    for (number, line) in text.split_inclusive(|b| *b == b'\n').enumerate() {
        let whole = line.ends_with(b"\n");
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\n', '\r']);
        if described && let (Some(words), Some(job)) = (line.strip_prefix(';'), output.jobs.last_mut()) {
            job.description = Some(words.into());
        }
        described = false;
        let Some(version) = version_of(line) else { continue };
        if rows == MOST_ROWS {
            output.partial = Some(format!("only the first {MOST_ROWS} rows were read"));
            break;
        }
        let mut fields = Fields { line, at: 0, number: number + 1 };
        match row(&mut fields, version) {
            Ok(TerseRow { mut job, fio, disks }) => {
                if !output.jobs.is_empty() && (output.version != fio || output.disks != disks) {
                    outputs.push(std::mem::take(&mut output));
                }
                impossible::judge(&mut job);
                (output.version, output.disks) = (fio, disks);
                output.jobs.push(job);
                rows += 1;
            }
            Err(ReadError::Form { .. }) if !whole && fields.left().is_none() => {
                let why = format!("line {} breaks off", number + 1);
                output.notes.push(format!("{why}: its row is left out"));
                output.partial = Some(why);
            }
            Err(e) => return Err(e),
        }
        described = version == 2;
    }
    if output.jobs.is_empty() && output.partial.is_none() {
        return Err(ReadError::Nothing { kind: "terse report" });
    }
    outputs.push(output);
    Ok(outputs)
}

/// A line with what it says of its run.
struct TerseRow {
    job: OutputRow,
    /// The version of fio.
    fio: String,
    disks: Vec<DiskCounters>,
}

/// The version of a line that looks like a row.
fn version_of(line: &str) -> Option<u8> {
    let (version, rest) = line.split_once(';')?;
    let version = version.parse().ok().filter(|v| (2..=5).contains(v))?;
    let fio = version == 2 || rest.starts_with("fio-") || rest.starts_with("fio ");
    (fio && rest.contains(';')).then_some(version)
}

/// Walks through the fields of a line.
struct Fields<'a> {
    line: &'a str,
    at: usize,
    number: usize,
}

impl<'a> Fields<'a> {
    /// The next field without taking it.
    fn left(&self) -> Option<&'a str> {
        Some(self.line.get(self.at..)?.split(';').next().unwrap_or_default())
    }

    fn word(&mut self, what: &str) -> Result<&'a str, ReadError> {
        let word = self.left().ok_or_else(|| self.wrong(format!("the row ends, {what} should follow")))?;
        self.at += word.len() + 1;
        Ok(word)
    }

    fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, ReadError> {
        let at = self.at;
        let word = self.word(what)?;
        word.trim_end_matches('%').parse().map_err(|_| {
            self.at = at;
            let short: String = word.chars().take(40).collect();
            self.wrong(format!("'{short}' is not {what}"))
        })
    }

    fn real(&mut self, what: &str) -> Result<f64, ReadError> {
        let at = self.at;
        let x: f64 = self.number(what)?;
        if is_report_figure(x) {
            return Ok(x);
        }
        self.at = at;
        Err(self.wrong(format!("{x} is not {what}")))
    }

    /// The counts of reads and of writes.
    fn pair(&mut self) -> Result<(u64, u64), ReadError> {
        Ok((self.number("a count")?, self.number("a count")?))
    }

    fn share(&mut self, what: &str) -> Result<f64, ReadError> {
        Ok(self.real(what)? / 100.0)
    }

    fn wrong(&self, what: String) -> ReadError {
        ReadError::Form { line: self.number, column: self.at.min(self.line.len()) + 1, what }
    }
}

fn row(f: &mut Fields<'_>, version: u8) -> Result<TerseRow, ReadError> {
    f.word("the version")?;
    let fio = if version > 2 { f.word("fio's version")?.into() } else { String::new() };
    let mut job =
        OutputRow { name: f.word("the name of the job")?.into(), members: 0, ..OutputRow::default() };
    job.group = f.number("the group")?;
    job.error = f.number("the error")?;
    // One block for unified_rw_reporting, two without discards, three with; the CPU's percentage tells where they end.
    let mut parts = Vec::new();
    while parts.is_empty() || !f.left().is_none_or(|next| next.ends_with('%')) {
        parts.push(Box::new(read_stats(f, version)?));
        if parts.len() > 4 {
            return Err(f.wrong("more directions than fio has".into()));
        }
    }
    if parts.len() == 1 {
        job.mixed = parts.pop();
    } else {
        let mut parts = parts.into_iter();
        job.directions[Direction::Read] = parts.next();
        job.directions[Direction::Write] = parts.next();
        if version != 3 {
            job.directions[Direction::Trim] = parts.next();
        }
        job.mixed = parts.next();
    }
    job.cpu = Some(RowCpu {
        user: f.share("the user share of the CPU")?,
        system: f.share("the system share of the CPU")?,
        switches: f.number("context switches")?,
        major_faults: f.number("major page faults")?,
        minor_faults: f.number("minor page faults")?,
    });
    job.depth = Some(shares(f, "a share of depths")?);
    job.latency_us = Some(shares(f, "a share of latencies")?);
    job.latency_ms = Some(shares(f, "a share of latencies")?);
    let mut disks: Vec<DiskCounters> = Vec::new();
    while let Some(name) = f.left() {
        let rest: Vec<&str> = f.line[f.at..].split(';').collect();
        // A disk is a name, seven counts and a percentage; what follows the disks is errors and the description.
        let is_disk = rest.len() >= 9
            && rest[1..8].iter().all(|n| n.parse::<u64>().is_ok())
            && rest[8].ends_with('%')
            && !name.is_empty();
        if !is_disk {
            break;
        }
        f.word("a disk")?;
        let counts = read_counts(f)?;
        match (name, disks.last_mut()) {
            ("slaves", Some(above)) => above.below = Some(counts),
            ("slaves", None) => {}
            _ => disks.push(DiskCounters { name: name.into(), counts, ..DiskCounters::default() }),
        }
    }
    if f.left().is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())) {
        job.errors = Some(f.number("a count of errors")?);
        job.first_error = Some(f.number("an error")?);
    }
    if f.left().is_some_and(|words| !words.is_empty()) {
        job.description = Some(f.line[f.at..].into());
    }
    Ok(TerseRow { job, fio, disks })
}

fn shares<const N: usize>(f: &mut Fields<'_>, what: &str) -> Result<[f64; N], ReadError> {
    let mut out = [0.0; N];
    for x in &mut out {
        *x = f.share(what)?;
    }
    Ok(out)
}

fn read_stats(f: &mut Fields<'_>, version: u8) -> Result<Stats, ReadError> {
    let kib = Bytes::KIB.0 as f64;
    let mut s = Stats {
        bytes: Bytes(f.number::<u64>("KiB moved")?.saturating_mul(1024)),
        bytes_per_second: f.real("KiB a second")? * kib,
        iops: f.real("I/Os a second")?,
        runtime: Nanos(f.number::<u64>("a run time in ms")?.saturating_mul(1_000_000)),
        slat: Some(read_latency(f)?),
        clat: Some(read_latency(f)?),
        ..Stats::default()
    };
    // All three are cut to whole numbers.
    s.printed = PrintedRanges {
        bytes: Some((s.bytes.0 as f64, s.bytes.0 as f64 + kib)),
        iops: Some((s.iops, s.iops + 1.0)),
        bytes_per_second: Some((s.bytes_per_second, s.bytes_per_second + kib)),
    };
    let mut list = Vec::new();
    for _ in 0..SLOTS {
        let at = f.at;
        let word = f.word("a percentile")?;
        let pair = word.split_once("%=").and_then(|(p, us)| Some((p.parse().ok()?, us.parse::<u64>().ok()?)));
        match pair {
            Some((p, us)) if (0.0..=100.0).contains(&p) => list.push((p, Nanos(us.saturating_mul(1000)))),
            _ => {
                f.at = at;
                let short: String = word.chars().take(40).collect();
                return Err(f.wrong(format!("'{short}' is not a percentile")));
            }
        }
    }
    list.retain(|(p, _)| *p > 0.0);
    if let Some(clat) = &mut s.clat {
        clat.percentiles = list;
    }
    s.lat = Some(read_latency(f)?);
    let (min, max) = (f.real("a rate")? * kib, f.real("a rate")? * kib);
    let share = Some(f.share("a share of the rate")?);
    let (mean, deviation) = (f.real("a rate")? * kib, f.real("a deviation")? * kib);
    let samples = if version == 5 { Some(f.number("a count of samples")?) } else { None };
    s.bandwidth_samples = Some(Samples { min, max, share, mean, deviation, samples });
    if version == 5 {
        s.iops_samples = Some(Samples {
            min: f.real("a rate")?,
            max: f.real("a rate")?,
            mean: f.real("a rate")?,
            deviation: f.real("a deviation")?,
            samples: Some(f.number("a count of samples")?),
            ..Samples::default()
        });
    }
    Ok(s)
}

fn read_latency(f: &mut Fields<'_>) -> Result<Latency, ReadError> {
    Ok(Latency {
        min: Nanos(f.number::<u64>("a latency")?.saturating_mul(1000)),
        max: Nanos(f.number::<u64>("a latency")?.saturating_mul(1000)),
        mean: f.real("a latency")? * 1000.0,
        deviation: f.real("a deviation")? * 1000.0,
        ..Latency::default()
    })
}

fn read_counts(f: &mut Fields<'_>) -> Result<DiskCounts, ReadError> {
    Ok(DiskCounts {
        ios: f.pair()?,
        sectors: None,
        merges: f.pair()?,
        ticks: f.pair()?,
        in_queue: f.number("a time")?,
        busy: f.share("a share of time")?,
    })
}

/// A line of version 3, as fio prints it for a job without disks: what each direction did, as (KiB, KiB a second, I/Os a second, milliseconds,
/// mean latency in microseconds).
#[cfg(test)]
pub fn line_of(name: &str, reads: [u64; 5], writes: [u64; 5]) -> String {
    let part = |[kib, rate, iops, ms, mean]: [u64; 5]| {
        let latency = format!("0;0;0.0;0.0;1;90000;{mean}.0;0.0;");
        let percentiles = "0%=0;".repeat(SLOTS);
        format!("{kib};{rate};{iops};{ms};{latency}{percentiles}1;90000;{mean}.0;0.0;0;0;0.0%;0.0;0.0;")
    };
    let shares = "0.0%;".repeat(7 + 10 + 12);
    let line = format!("3;fio-3.33;{name};0;0;{}{}1.0%;1.0%;0;0;0;{shares}", part(reads), part(writes));
    line.trim_end_matches(';').into()
}
