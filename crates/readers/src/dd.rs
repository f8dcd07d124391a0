//! dd of coreutils, busybox and BSD: the records in and out, and a last line with bytes and time.
//!
//! A report has the conditions of the call that stands above it; without one they are assumed, or not known.

use super::{ForeignReport, ForeignReports, LineReader, pasted_command, printed, set};
use volproof_base::unit::{Bytes, Nanos};
use volproof_record::{
    Conditions, Known, ReportForm, ReportProgram, ReportedFailure, ReportedFigures, ReportedStep,
};

/// Reads reports of dd.
#[derive(Default)]
pub struct DdReader {
    call: Option<DdCall>,
    read: Option<DdRecords>,
    written: Option<DdRecords>,
    /// A last line without records above it.
    alone: Option<DdTotals>,
    error: Option<String>,
}

/// `N+M records`.
#[derive(Clone, Copy)]
struct DdRecords {
    whole: u64,
    part: u64,
}

/// `N bytes copied, S s`.
#[derive(Clone, Copy)]
struct DdTotals {
    bytes: u64,
    time: Nanos,
    /// Bytes a second as they are printed, with units of 1024.
    rate: Option<Bytes>,
}

/// Options of the command line that change what the figures mean.
#[derive(Clone, Default)]
struct DdCall {
    from: Option<String>,
    to: Option<String>,
    block: Option<Bytes>,
    /// Blocks that are read at most.
    count: Option<u64>,
    /// `iflag=direct`, `oflag=direct`.
    direct: (bool, bool),
    /// Each write is flushed (`oflag=dsync`).
    each_flushed: bool,
    /// One flush at the end (`conv=fdatasync`).
    end_flushed: bool,
    /// Zeros are skipped over and not written (`conv=sparse`).
    sparse: bool,
    /// A loop of the shell makes the same call again.
    looped: bool,
}

impl LineReader for DdReader {
    fn line(&mut self, line: &str, found: &mut ForeignReports) {
        let line = line.trim();
        if let Some(records) = records(line, "in") {
            if self.read.is_some() {
                // The one before had no totals.
                self.close(None, found);
            }
            self.read = Some(records);
        } else if let Some(records) = records(line, "out") {
            self.written = Some(records);
        } else if let Some(totals) = totals(line) {
            if self.written.is_some() {
                return self.close(Some(totals), found);
            }
            // Progress grows; what does not is of another run.
            if self.alone.is_some_and(|before| before.time >= totals.time || before.bytes >= totals.bytes) {
                self.close(None, found);
            }
            self.alone = Some(totals);
        } else if let Some(call) =
            pasted_command::arguments(line, "dd").and_then(|words| DdCall::read(&words))
        {
            self.close(None, found);
            let call = DdCall { looped: pasted_command::is_looped(line, "dd"), ..call };
            *self = DdReader { call: Some(call), ..DdReader::default() };
        } else if pasted_command::ends_call(line, "dd") {
            self.close(None, found);
            *self = DdReader::default();
        } else if let Some(why) = line.strip_prefix("dd: ") {
            self.error = Some(why.to_string());
        }
    }

    fn end(&mut self, found: &mut ForeignReports) {
        self.close(None, found);
    }
}

impl DdReader {
    /// The report of what was seen, and a fresh start.
    fn close(&mut self, totals: Option<DdTotals>, found: &mut ForeignReports) {
        if self.read.is_none() && self.alone.is_none() {
            return;
        }
        let mut seen = std::mem::take(self);
        self.call = seen.call.clone().filter(|call| call.looped);
        let other_call = seen.call.as_ref().is_some_and(|call| seen.is_of_another(call, totals));
        if other_call {
            seen.call = None;
        }
        let mut report = ForeignReport::new(ReportProgram::Dd, "dd", ReportForm::Text);
        if totals.is_none() && seen.written.is_none() {
            let why = match seen.read {
                Some(_) => "it breaks off before dd's last line",
                None => {
                    "the lines 'records in' and 'records out' are missing, so that this may be a line of status=progress: copy them too"
                }
            };
            report.partial = Some(why.into());
        } else if totals.is_none() {
            report.notes.push("it has no time, so there is no rate: this dd prints none".into());
        }
        if other_call {
            report.notes.push("the command above it reads fewer blocks: it is of another report".into());
        }
        report.notes.extend(seen.error.iter().map(|why| format!("dd says: {why}")));
        let records =
            if seen.reads() == Some(true) { seen.read.or(seen.written) } else { seen.written.or(seen.read) };
        let run = seen.run(records, totals.or(seen.alone));
        if let Some(why) = seen.call.as_ref().and_then(DdCall::apart) {
            report.partial = Some(why.into());
        } else if run.bytes().0 > 0 || run.ios() > 0.0 {
            report.add(run);
        } else {
            let why = seen.error.map_or("it moved nothing".into(), |why| format!("dd moved nothing: {why}"));
            report.partial.get_or_insert(why);
        }
        found.add(report);
    }

    /// Whether the records are of another call than this one: more than it asks for, and as many as the bytes come to.
    fn is_of_another(&self, call: &DdCall, totals: Option<DdTotals>) -> bool {
        let Some((read, count)) = self.read.zip(call.count) else { return false };
        let bytes = totals.zip(call.block).map(|(totals, block)| totals.bytes / block.0);
        read.whole > count && bytes.is_none_or(|blocks| blocks == read.whole)
    }

    fn reads(&self) -> Option<bool> {
        self.call.as_ref().and_then(DdCall::reads)
    }

    fn run(&self, records: Option<DdRecords>, totals: Option<DdTotals>) -> ReportedStep {
        let block = self.block(records, totals);
        let bytes = match (totals, block.said(), records) {
            (Some(t), ..) => t.bytes,
            (None, Some(block), Some(r)) if r.part == 0 => r.whole.saturating_mul(block.0),
            _ => 0,
        };
        let time = totals.map(|t| t.time).filter(|t| t.0 > 0);
        let ios = records.map(|r| r.whole.saturating_add(r.part));
        let seconds = time.map(Nanos::as_seconds);
        let figures = ReportedFigures {
            bytes: Bytes(bytes),
            ios: ios.into(),
            iops: ios.zip(seconds).map(|(n, seconds)| n as f64 / seconds).into(),
            bytes_per_second: seconds.filter(|_| bytes > 0).map(|seconds| bytes as f64 / seconds).into(),
            runtime: time.into(),
            // One may be the last block of a file.
            short_ios: records.map(|r| r.part).filter(|part| *part > 1).unwrap_or(0),
            ..ReportedFigures::default()
        };
        let mut step = ReportedStep {
            name: "dd".into(),
            rows: 1,
            conditions: self.conditions(block, ios),
            failure: self.error.as_ref().map(|_| ReportedFailure { ios: None, number: 0 }),
            ..ReportedStep::default()
        };
        match self.reads() {
            Some(reads) => set(&mut step, reads, figures),
            None => step.mixed = Some(figures),
        }
        let contradiction = totals.and_then(|t| printed::contradiction(Bytes(t.bytes), t.time, t.rate?));
        step.rate_impossible = contradiction.is_some();
        step.impossible.extend(contradiction);
        step
    }

    fn block(&self, records: Option<DdRecords>, totals: Option<DdTotals>) -> Known<Bytes> {
        if let Some(said) = self.call.as_ref().and_then(|call| call.block) {
            return said.into();
        }
        let even = records.zip(totals).filter(|(r, t)| r.part == 0 && r.whole > 0 && t.bytes % r.whole == 0);
        Known::assumed_from(even.map(|(r, t)| Bytes(t.bytes / r.whole)), "bytes over whole records")
    }

    fn conditions(&self, block: Known<Bytes>, ios: Option<u64>) -> Conditions {
        let (call, reads) = (self.call.as_ref(), self.reads());
        let flush = call.map(|c| match ios {
            _ if c.each_flushed => 1,
            Some(n) if c.end_flushed => u32::try_from(n.max(1)).unwrap_or(u32::MAX),
            _ => 0,
        });
        let target =
            call.zip(reads).and_then(|(c, reads)| if reads { c.from.as_ref() } else { c.to.as_ref() });
        Conditions {
            rw: reads.map(|reads| if reads { "read" } else { "write" }.to_string()).into(),
            block: block.map(|b| (b, b)),
            engine: "dd".to_string().into(),
            blocking: true.into(),
            jobs: 1.into(),
            direct: match (call, reads) {
                (Some(c), Some(true)) => c.direct.0.into(),
                (Some(c), Some(false)) => c.direct.1.into(),
                (Some(c), None) => (c.direct.0 && c.direct.1).into(),
                (None, _) => Known::assumed(
                    false,
                    "dd goes through the page cache unless oflag=direct or iflag=direct is given, and the command is not in the report",
                ),
            },
            targets: target.map(|t| vec![t.into()]).into(),
            time_based: false.into(),
            runtime: Nanos(0).into(),
            zeros: call.and_then(|c| c.from.as_ref()).map(|from| from == "/dev/zero").into(),
            fsync: flush.into(),
            ..Conditions::default()
        }
    }
}

impl DdCall {
    /// What the words of a call ask for; none where they are not dd's.
    fn read(words: &[&str]) -> Option<DdCall> {
        let mut call = DdCall::default();
        let mut counts_bytes = false;
        for (key, value) in words.iter().filter_map(|word| word.split_once('=')) {
            let flags: Vec<&str> = value.split(',').collect();
            match key {
                "if" => call.from = Some(value.into()),
                "of" => call.to = Some(value.into()),
                "bs" => call.block = block_size(value),
                // As numbers they have the units of sizes.
                "count" => call.count = block_size(value).map(|count| count.0),
                "iflag" => {
                    call.direct.0 |= flags.contains(&"direct");
                    counts_bytes |= flags.contains(&"count_bytes");
                }
                "oflag" => {
                    call.direct.1 |= flags.contains(&"direct");
                    call.each_flushed |= flags.contains(&"dsync") || flags.contains(&"sync");
                }
                "conv" => {
                    call.end_flushed |= flags.contains(&"fdatasync") || flags.contains(&"fsync");
                    call.sparse |= flags.contains(&"sparse");
                }
                _ => {}
            }
        }
        call.count = call.count.filter(|_| !counts_bytes);
        (call.from.is_some() || call.to.is_some()).then_some(call)
    }

    /// The bytes go nowhere (`of=/dev/null`).
    fn nowhere(&self) -> bool {
        self.to.as_ref().is_some_and(|to| matches!(to.as_str(), "/dev/null" | "/dev/zero"))
    }

    /// The kernel makes the bytes (`if=/dev/zero`).
    fn made(&self) -> bool {
        let sources = ["/dev/zero", "/dev/urandom", "/dev/random"];
        self.from.as_ref().is_some_and(|from| sources.contains(&from.as_str()))
    }

    /// Why the figures are not those of a volume.
    fn apart(&self) -> Option<&'static str> {
        if self.sparse {
            Some("conv=sparse skips zeros and writes none of them, so how much was written is not known")
        } else if self.made() && self.nowhere() {
            Some("no volume took part: the kernel made the bytes and dropped them")
        } else {
            None
        }
    }

    /// Reads the volume, or writes it. A copy does both.
    fn reads(&self) -> Option<bool> {
        match (self.from.is_some(), self.to.is_some()) {
            (true, true) if self.nowhere() => Some(true),
            (true, true) if self.made() => Some(false),
            // Without of= the output goes to a pipe, without if= the input comes from one.
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        }
    }
}

/// A size in dd's words: `4k`, `1M`, `1MB` (decimal), `512c`, `2w`, `1b`.
fn block_size(text: &str) -> Option<Bytes> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let n = printed::whole(text.get(..end).filter(|n| !n.is_empty())?)?;
    let scale: u64 = match &text[end..] {
        "" | "c" => 1,
        "w" => 2,
        "b" => 512,
        "kB" | "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        unit => printed::size(&format!("1{unit}"))?.0,
    };
    n.checked_mul(scale).map(Bytes).filter(|b| b.0 > 0)
}

/// `64+0 records in`.
fn records(line: &str, way: &str) -> Option<DdRecords> {
    let (whole, part) = line.strip_suffix(way)?.trim_end().strip_suffix(" records")?.split_once('+')?;
    Some(DdRecords { whole: printed::whole(whole)?, part: printed::whole(part)? })
}

/// `67108864 bytes (67 MB, 64 MiB) copied, 0.0472007 s, 1.4 GB/s`; BSD: `67108864 bytes transferred in 0.012 secs (5 bytes/sec)`.
fn totals(line: &str) -> Option<DdTotals> {
    let (bytes, rest) = line.split_once(" bytes ")?;
    let (time, rate) = match rest.split_once("copied, ") {
        Some((_, rest)) => rest.split_once(", ").unwrap_or((rest, "")),
        None => rest.strip_prefix("transferred in ").map(|t| t.split_once('(').unwrap_or((t, "")))?,
    };
    // Many languages write 100,5 for 100.5; dd divides no thousands here.
    let rate = rate.trim().trim_end_matches(')').replace(" bytes/sec", "B/s").replace(',', ".");
    let rate = rate.strip_suffix("/s").and_then(printed::size);
    Some(DdTotals { bytes: printed::whole(bytes)?, time: printed::time(&time.replace(',', "."))?, rate })
}
