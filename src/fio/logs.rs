//! fio's log files (`write_bw_log=` and its kin), written from every I/O of a job.
//!
//! A line is `time ms, value, direction, block size, [offset,] priority`; directions are 0 reads, 1 writes, 2 discards, and flushes are in
//! no log. Values are nanoseconds, KiB/s or I/Os a second; of a single I/O, the rate is its bytes over its latency in thousands a second, as
//! fio has it. Averaged (`log_avg_msec=`), a line stands for the time up to it and names no block.

use std::io::{self, Write};

use crate::sample::Direction;
use crate::unit::{Bytes, Nanos};

/// One I/O, in the order of completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// When it completed, from the start of the job's window.
    pub at: Nanos,
    /// From submission to completion.
    pub latency: Nanos,
    /// Its direction.
    pub direction: Direction,
    /// How much.
    pub length: u32,
    /// Where.
    pub offset: u64,
}

/// The quantity of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
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

impl LogKind {
    /// All of them.
    pub const ALL: [LogKind; 5] =
        [LogKind::Bandwidth, LogKind::Iops, LogKind::Submission, LogKind::Completion, LogKind::Total];

    /// The word in the file's name.
    pub fn word(self) -> &'static str {
        match self {
            LogKind::Bandwidth => "bw",
            LogKind::Iops => "iops",
            LogKind::Submission => "slat",
            LogKind::Completion => "clat",
            LogKind::Total => "lat",
        }
    }
}

/// The name of a log: `NAME_bw.3.log`, or `NAME_bw.log` where all jobs share it (`per_job_logs=0`). `word` is [`LogKind::word`].
pub fn file_name(prefix: &str, word: &str, job: Option<u32>) -> String {
    match job {
        Some(number) => format!("{prefix}_{word}.{number}.log"),
        None => format!("{prefix}_{word}.log"),
    }
}

/// How logs are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStyle {
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

/// A log of a job before it is written.
#[derive(Clone, Copy, Debug)]
pub struct JobLog<'a> {
    /// The quantity.
    pub kind: LogKind,
    /// How it is written.
    pub style: LogStyle,
    /// The I/Os of the job in the order of completion.
    pub ios: &'a [LogEntry],
    /// The length of the job's window.
    pub window: Nanos,
}

impl JobLog<'_> {
    /// Writes the lines.
    ///
    /// # Errors
    /// The system's error when writing fails.
    pub fn write(self, out: &mut impl Write) -> io::Result<()> {
        let JobLog { kind, style, ios, .. } = self;
        if kind == LogKind::Submission {
            return Ok(());
        }
        if style.average.0 > 0 {
            return self.averaged(out);
        }
        for io in ios {
            let Some(code) = code(io.direction) else { continue };
            let value = match kind {
                LogKind::Bandwidth => {
                    (u64::from(io.length) * 1_000_000).checked_div(io.latency.0).unwrap_or(0)
                }
                LogKind::Iops => 1,
                _ => io.latency.0,
            };
            let offset = if style.offsets { format!(" {},", io.offset) } else { String::new() };
            writeln!(out, "{}, {value}, {code}, {},{offset} {PRIORITY}", io.at.0 / 1_000_000, io.length)?;
        }
        Ok(())
    }

    fn averaged(self, out: &mut impl Write) -> io::Result<()> {
        let JobLog { kind, style, ios, window } = self;
        let mut rest = ios;
        let mut from = 0;
        while from < window.0 {
            let to = (from + style.average.0).min(window.0);
            let mut parts = [LogInterval::default(); 3];
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
                    LogKind::Bandwidth => per_second(part.bytes) / u128::from(Bytes::KIB.0),
                    LogKind::Iops => per_second(part.ios),
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
}

/// I/O of one direction in an interval.
#[derive(Clone, Copy, Default)]
struct LogInterval {
    ios: u64,
    bytes: u64,
    latency: u128,
    longest: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ios() -> Vec<LogEntry> {
        let io = |ms: u64, us: u64, direction, length| LogEntry {
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

    fn log(kind: LogKind, style: LogStyle) -> String {
        let mut out = Vec::new();
        let ios = ios();
        JobLog { kind, style, ios: &ios, window: Nanos::millis(250) }.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_for_every_io() {
        let style = LogStyle { offsets: true, ..LogStyle::default() };
        insta::assert_snapshot!(log(LogKind::Bandwidth, style), @r"
        1, 40960, 0, 4096, 4096, 0
        60, 13653, 0, 4096, 245760, 0
        120, 40960, 1, 8192, 491520, 0
        250, 10240, 0, 4096, 1024000, 0
        ");
        insta::assert_snapshot!(log(LogKind::Total, LogStyle::default()), @r"
        1, 100000, 0, 4096, 0
        60, 300000, 0, 4096, 0
        120, 200000, 1, 8192, 0
        250, 400000, 0, 4096, 0
        ");
        assert_eq!(log(LogKind::Submission, LogStyle::default()), "");
        assert!(log(LogKind::Iops, LogStyle::default()).starts_with("1, 1, 0, 4096, 0\n"));
    }

    #[test]
    fn a_line_for_every_interval() {
        let style = LogStyle { average: Nanos::millis(100), ..LogStyle::default() };
        insta::assert_snapshot!(log(LogKind::Completion, style), @r"
        100, 200000, 0, 0, 0
        200, 200000, 1, 0, 0
        250, 400000, 0, 0, 0
        ");
        insta::assert_snapshot!(log(LogKind::Bandwidth, style), @r"
        100, 80, 0, 0, 0
        200, 80, 1, 0, 0
        250, 80, 0, 0, 0
        ");
        assert!(log(LogKind::Completion, LogStyle { largest: true, ..style }).starts_with("100, 300000, 0"));
    }

    #[test]
    fn names() {
        assert_eq!(file_name("a", LogKind::Bandwidth.word(), Some(3)), "a_bw.3.log");
        assert_eq!(file_name("a", LogKind::Total.word(), None), "a_lat.log");
    }
}
