//! fio's log files (`write_bw_log=` and its kin), written from every I/O of a job and read back.
//!
//! A line is `time ms, value, direction, block size, [offset,] priority`; directions are 0 reads, 1 writes, 2 discards, and flushes are in
//! no log. Values are nanoseconds, KiB/s or I/Os a second; of a single I/O, the rate is its bytes over its latency in thousands a second, as
//! fio has it. Averaged (`log_avg_msec=`), a line stands for the time up to it and names no block. Histograms (`_clat_hist`) have a line for
//! each direction and interval: `time ms, direction, block size,` and what fell into each of fio's buckets since the line before.

use std::io::{self, Write};

use super::json_read::ReadError;
use crate::hist::{FIO_BUCKETS, bucket};
use crate::sample::Direction;
use crate::unit::{Bytes, Nanos};

/// One I/O, in the order of completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it completed, from the start of the job's window.
    pub at: Nanos,
    /// From submission to completion.
    pub latency: Nanos,
    /// What it did.
    pub direction: Direction,
    /// How much.
    pub length: u32,
    /// Where.
    pub offset: u64,
}

/// What a log holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `_bw`.
    Bandwidth,
    /// `_iops`.
    Iops,
    /// `_slat`: without lines, since submission alone is not measured.
    Submission,
    /// `_clat`.
    Completion,
    /// `_lat`.
    Total,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 5] = [Kind::Bandwidth, Kind::Iops, Kind::Submission, Kind::Completion, Kind::Total];

    /// The word in the file's name.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Bandwidth => "bw",
            Kind::Iops => "iops",
            Kind::Submission => "slat",
            Kind::Completion => "clat",
            Kind::Total => "lat",
        }
    }
}

/// The name of a log: `NAME_bw.3.log`, or `NAME_bw.log` where all jobs share it (`per_job_logs=0`). `word` is [`Kind::word`] or `clat_hist`.
pub fn file_name(prefix: &str, word: &str, job: Option<u32>) -> String {
    match job {
        Some(number) => format!("{prefix}_{word}.{number}.log"),
        None => format!("{prefix}_{word}.log"),
    }
}

/// How logs are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// `log_avg_msec=`: a line for each interval of this length; every I/O when 0.
    pub average: Nanos,
    /// `log_max_value=1`: the largest of the interval instead of the mean.
    pub largest: bool,
    /// `log_offset=1`.
    pub offsets: bool,
}

/// The last field of a line: whether the I/O is one of real time. No I/O of ours has a priority of its own.
const PRIORITY: u8 = 0;

/// The number of a direction; flushes have none.
fn code(d: Direction) -> Option<u8> {
    match d {
        Direction::Read => Some(0),
        Direction::Write => Some(1),
        Direction::Trim => Some(2),
        Direction::Sync => None,
    }
}

/// Writes a log of a job.
///
/// # Errors
/// What the system says to writing.
pub fn write(out: &mut impl Write, kind: Kind, style: Style, ios: &[Entry], window: Nanos) -> io::Result<()> {
    if kind == Kind::Submission {
        return Ok(());
    }
    if style.average.0 > 0 {
        return averaged(out, kind, style, ios, window);
    }
    for io in ios {
        let Some(code) = code(io.direction) else { continue };
        let value = match kind {
            Kind::Bandwidth => (u64::from(io.length) * 1_000_000).checked_div(io.latency.0).unwrap_or(0),
            Kind::Iops => 1,
            _ => io.latency.0,
        };
        let offset = if style.offsets { format!(" {},", io.offset) } else { String::new() };
        writeln!(out, "{}, {value}, {code}, {},{offset} {PRIORITY}", io.at.0 / 1_000_000, io.length)?;
    }
    Ok(())
}

/// What one direction did in an interval.
#[derive(Clone, Copy, Default)]
struct Part {
    ios: u64,
    bytes: u64,
    latency: u128,
    longest: u64,
}

fn averaged(out: &mut impl Write, kind: Kind, style: Style, ios: &[Entry], window: Nanos) -> io::Result<()> {
    let mut rest = ios;
    let mut from = 0;
    while from < window.0 {
        let to = (from + style.average.0).min(window.0);
        let mut parts = [Part::default(); 3];
        // What completes at the very end belongs to the last interval.
        let within = rest.iter().take_while(|io| io.at.0 < to || to == window.0).count();
        for io in &rest[..within] {
            let Some(code) = code(io.direction) else { continue };
            let part = &mut parts[usize::from(code)];
            part.ios += 1;
            part.bytes += u64::from(io.length);
            part.latency += u128::from(io.latency.0);
            part.longest = part.longest.max(io.latency.0);
        }
        rest = &rest[within..];
        let length = u128::from(to - from);
        for (code, part) in parts.iter().enumerate().filter(|(_, p)| p.ios > 0) {
            let per_second = |n: u64| u128::from(n) * 1_000_000_000 / length;
            let value = match kind {
                Kind::Bandwidth => per_second(part.bytes) / u128::from(Bytes::KIB.0),
                Kind::Iops => per_second(part.ios),
                _ if style.largest => part.longest.into(),
                _ => (part.latency + u128::from(part.ios / 2)) / u128::from(part.ios),
            };
            let offset = if style.offsets { " 0," } else { "" };
            writeln!(out, "{}, {value}, {code}, 0,{offset} {}", to / 1_000_000, PRIORITY)?;
        }
        from = to;
    }
    Ok(())
}

/// Writes a log of histograms of completion latency: a line for each direction and interval (`log_hist_msec=`), in which `2^coarseness`
/// (`log_hist_coarseness=`) of fio's buckets are one.
///
/// # Errors
/// What the system says to writing.
pub fn write_histograms(
    out: &mut impl Write,
    every: Nanos,
    coarseness: u32,
    ios: &[Entry],
    window: Nanos,
) -> io::Result<()> {
    let stride = 1usize << coarseness.min(6);
    let every = every.0.max(1_000_000);
    let mut rest = ios;
    let mut from = 0;
    while from < window.0 {
        let to = (from + every).min(window.0);
        let within = rest.iter().take_while(|io| io.at.0 < to || to == window.0).count();
        let (now, later) = rest.split_at(within);
        rest = later;
        for d in [Direction::Read, Direction::Write, Direction::Trim] {
            let mut counts = vec![0u64; FIO_BUCKETS / stride];
            let mut length = None;
            for io in now.iter().filter(|io| io.direction == d) {
                counts[bucket(io.latency.0).min(FIO_BUCKETS - 1) / stride] += 1;
                length = Some(io.length);
            }
            let (Some(length), Some(code)) = (length, code(d)) else { continue };
            write!(out, "{}, {code}, {length}", to / 1_000_000)?;
            for n in counts {
                write!(out, ", {n}")?;
            }
            writeln!(out)?;
        }
        from = to;
    }
    Ok(())
}

/// One line of a log that is no histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Milliseconds since the job began.
    pub at: Nanos,
    /// Nanoseconds (microseconds before fio 2.99), KiB/s or I/Os a second, as the file's name says.
    pub value: u64,
    /// What it is of.
    pub direction: Direction,
    /// Block size; 0 for an average.
    pub block: Bytes,
    /// Where, under `log_offset=`.
    pub offset: Option<u64>,
}

/// Reads a log; `offsets` where it was written with `log_offset=1`. Lines of 2.x, which end with the block size, are read too.
///
/// # Errors
/// With line and column where it is no log.
pub fn read(text: &[u8], offsets: bool) -> Result<Vec<Line>, ReadError> {
    let text = String::from_utf8_lossy(text);
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let mut column = 1;
        let mut fields = Vec::with_capacity(6);
        for field in line.split(',') {
            let n = field.trim().parse::<u64>().or_else(|e| {
                // The priority is written in hexadecimal by newer versions.
                let hex = field.trim().strip_prefix("0x").filter(|_| fields.len() >= 4);
                hex.and_then(|h| u64::from_str_radix(h, 16).ok()).ok_or(e)
            });
            let Ok(n) = n else {
                let short: String = field.trim().chars().take(40).collect();
                return Err(ReadError::Form {
                    line: number + 1,
                    column,
                    what: format!("'{short}' is not a count"),
                });
            };
            column += field.len() + 1;
            fields.push(n);
        }
        let wrong = |what: String| ReadError::Form { line: number + 1, column: 1, what };
        let (&[at, value, code, block], rest) = fields
            .split_first_chunk::<4>()
            .filter(|(_, rest)| rest.len() <= 3)
            .ok_or_else(|| wrong(format!("{} fields, a log has 4 to 7", fields.len())))?;
        let direction = match code {
            0 => Direction::Read,
            1 => Direction::Write,
            2 => Direction::Trim,
            _ => return Err(wrong(format!("direction {code} is none of 0, 1 and 2"))),
        };
        lines.push(Line {
            at: Nanos(at.saturating_mul(1_000_000)),
            value,
            direction,
            block: Bytes(block),
            offset: rest.first().copied().filter(|_| offsets),
        });
    }
    if lines.is_empty() { Err(ReadError::Nothing { kind: "log" }) } else { Ok(lines) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ios() -> Vec<Entry> {
        let io = |ms: u64, us: u64, direction, length| Entry {
            at: Nanos::millis(ms),
            latency: Nanos::micros(us),
            direction,
            length,
            offset: ms * 4096,
        };
        vec![
            io(1, 100, Direction::Read, 4096),
            io(60, 300, Direction::Read, 4096),
            io(70, 50, Direction::Sync, 0),
            io(120, 200, Direction::Write, 8192),
            io(250, 400, Direction::Read, 4096),
        ]
    }

    fn log(kind: Kind, style: Style) -> String {
        let mut out = Vec::new();
        write(&mut out, kind, style, &ios(), Nanos::millis(250)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_for_every_io() {
        let style = Style { offsets: true, ..Style::default() };
        insta::assert_snapshot!(log(Kind::Bandwidth, style), @r"
        1, 40960, 0, 4096, 4096, 0
        60, 13653, 0, 4096, 245760, 0
        120, 40960, 1, 8192, 491520, 0
        250, 10240, 0, 4096, 1024000, 0
        ");
        insta::assert_snapshot!(log(Kind::Total, Style::default()), @r"
        1, 100000, 0, 4096, 0
        60, 300000, 0, 4096, 0
        120, 200000, 1, 8192, 0
        250, 400000, 0, 4096, 0
        ");
        assert_eq!(log(Kind::Submission, Style::default()), "");
        assert!(log(Kind::Iops, Style::default()).starts_with("1, 1, 0, 4096, 0\n"));
    }

    #[test]
    fn a_line_for_every_interval() {
        let style = Style { average: Nanos::millis(100), ..Style::default() };
        insta::assert_snapshot!(log(Kind::Completion, style), @r"
        100, 200000, 0, 0, 0
        200, 200000, 1, 0, 0
        250, 400000, 0, 0, 0
        ");
        insta::assert_snapshot!(log(Kind::Bandwidth, style), @r"
        100, 80, 0, 0, 0
        200, 80, 1, 0, 0
        250, 80, 0, 0, 0
        ");
        assert!(log(Kind::Completion, Style { largest: true, ..style }).starts_with("100, 300000, 0"));
    }

    #[test]
    fn histograms_have_every_bucket() {
        for (coarseness, fields) in [(0, 1859), (3, 235)] {
            let mut out = Vec::new();
            write_histograms(&mut out, Nanos::millis(200), coarseness, &ios(), Nanos::millis(250)).unwrap();
            let text = String::from_utf8(out).unwrap();
            let lines: Vec<Vec<u64>> =
                text.lines().map(|l| l.split(", ").map(|n| n.parse().unwrap()).collect()).collect();
            assert!(lines.iter().all(|l| l.len() == fields), "{text}");
            let heads: Vec<_> =
                lines.iter().map(|l| (l[0], l[1], l[2], l[3..].iter().sum::<u64>())).collect();
            assert_eq!(heads, [(200, 0, 4096, 2), (200, 1, 8192, 1), (250, 0, 4096, 1)]);
            assert_eq!(lines[2][3 + bucket(400_000) / (1 << coarseness)], 1);
        }
    }

    #[test]
    fn what_was_written_reads_back() {
        let text = log(Kind::Completion, Style { offsets: true, ..Style::default() });
        let lines = read(text.as_bytes(), true).unwrap();
        assert_eq!(lines.len(), 4);
        assert_eq!((lines[2].direction, lines[2].value), (Direction::Write, 200_000));
        assert_eq!(lines[3].offset, Some(1_024_000));
        assert_eq!(read(b"5, 17, 0, 4096\n", false).unwrap()[0].block, Bytes(4096));
        assert_eq!(read(b"5, 17, 0, 4096, 0x4001\n", false).unwrap()[0].value, 17);
        for (text, what) in [
            ("1, 2, 0, 4096, 0\n1, x, 0, 4, 0\n", "line 2, column 3: 'x' is not a count"),
            ("1, 2, 7, 4096, 0\n", "line 1, column 1: direction 7 is none of 0, 1 and 2"),
            ("1, 2\n", "line 1, column 1: 2 fields, a log has 4 to 7"),
            ("", "no log of fio is in it"),
        ] {
            assert_eq!(read(text.as_bytes(), false).unwrap_err().to_string(), what);
        }
    }

    #[test]
    fn names() {
        assert_eq!(file_name("a", Kind::Bandwidth.word(), Some(3)), "a_bw.3.log");
        assert_eq!(file_name("a", "clat_hist", None), "a_clat_hist.log");
    }
}
