//! dd's final lines: of GNU coreutils, busybox and BSD; with the command line, where it was pasted along.
//!
//! dd copies block after block and says nothing of latencies: bytes, time and records are all there is. Without `oflag=direct` and without
//! a flush a write ends in the page cache.

use super::pasted_command::PastedCall;
use super::{ForeignReport, ForeignReports, LineReader, pasted_command, printed, set};
use volproof_base::unit::{Bytes, Nanos};
use volproof_record::{
    Conditions, Known, ReportForm, ReportProgram, ReportedFailure, ReportedFigures, ReportedStep,
};

/// Reads dd's reports.
#[derive(Default)]
pub struct DdReader {
    call: Option<DdCall>,
    read: Option<DdRecords>,
    written: Option<DdRecords>,
    progress: Option<DdProgress>,
    error: Option<i32>,
}

/// dd's last line without the lines of records before it: a line of its progress, or the only line that was kept of a run.
#[derive(Clone, Copy)]
struct DdProgress {
    totals: DdTotals,
    /// It was written over another line, as dd writes its progress.
    over: bool,
}

impl DdProgress {
    /// Whether a later line is of the same run: progress grows, and is of whole seconds where its carriage returns are lost.
    fn goes_on(&self, later: &DdTotals) -> bool {
        let DdTotals { bytes, time, .. } = self.totals;
        let told_so = self.over || time.0.is_multiple_of(1_000_000_000);
        told_so && later.time >= time && (later.bytes > bytes || (self.over && later.bytes == bytes))
    }
}

/// What dd is called.
const NAMES: [&str; 2] = ["dd", "gdd"];

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
    /// `bs`.
    block: Option<Bytes>,
    /// `ibs` and `obs`.
    sides: (Option<Bytes>, Option<Bytes>),
    /// `iflag=direct`, `oflag=direct`.
    direct: (bool, bool),
    /// Each write is flushed (`oflag=dsync`).
    each_flushed: bool,
    /// One flush at the end (`conv=fdatasync`).
    end_flushed: bool,
    /// Zeros are skipped over and not written (`conv=sparse`).
    sparse: bool,
    /// A loop made this call several times.
    looped: bool,
}

impl LineReader for DdReader {
    fn line(&mut self, line: &str, found: &mut ForeignReports) {
        if let Some(records) = records(line, "in") {
            if self.read.is_some() {
                // The one before had no totals.
                self.close(None, found);
            }
            self.read = Some(records);
        } else if let Some(records) = records(line, "out") {
            self.written = Some(records);
        } else if let Some(totals) = totals(line) {
            match self.written {
                Some(_) => self.close(Some(totals), found),
                None => self.last_line(DdProgress { totals, over: false }, found),
            }
        } else if let Some((call, alone)) = call(line) {
            self.close(None, found);
            *self = DdReader { call: alone.then_some(call), ..DdReader::default() };
        } else if pasted_command::ends_call(line, &NAMES) {
            self.close(None, found);
            *self = DdReader::default();
        } else if let Some(why) = line.trim().strip_prefix("dd: ") {
            self.error = Some(errno(why));
        }
    }

    fn written_over(&mut self, line: &str, found: &mut ForeignReports) {
        match totals(line).filter(|_| self.written.is_none()) {
            Some(totals) => self.last_line(DdProgress { totals, over: true }, found),
            None => self.line(line, found),
        }
    }

    fn end(&mut self, found: &mut ForeignReports) {
        self.close(None, found);
    }
}

impl DdReader {
    /// A last line without records: of the run that another such line began, or of one of its own.
    fn last_line(&mut self, line: DdProgress, found: &mut ForeignReports) {
        if self.progress.is_some_and(|before| !before.goes_on(&line.totals)) {
            self.close(None, found);
        }
        self.progress = Some(line);
    }

    /// The report of what was seen, and a fresh start.
    fn close(&mut self, totals: Option<DdTotals>, found: &mut ForeignReports) {
        if self.read.is_none() && self.progress.is_none() {
            return;
        }
        let mut seen = std::mem::take(self);
        self.call = seen.call.clone().filter(|call| call.looped);
        if let Some(before) = seen.progress.take_if(|p| totals.is_some_and(|totals| !p.goes_on(&totals))) {
            // Of a run before this one.
            DdReader {
                call: std::mem::replace(&mut seen.call, self.call.clone()),
                progress: Some(before),
                ..DdReader::default()
            }
            .close(None, found);
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
        let totals = totals.or(seen.progress.map(|p| p.totals));
        let reads = seen.call.as_ref().and_then(DdCall::reads) == Some(true);
        let records = if reads { seen.read.or(seen.written) } else { seen.written.or(seen.read) };
        let run = run(seen.call.as_ref(), records, totals, seen.error);
        if let Some(why) = seen.call.as_ref().and_then(DdCall::apart) {
            report.partial = Some(why.into());
        } else if run.bytes().0 > 0 || run.ios() > 0.0 {
            report.add(run);
        } else {
            report.partial.get_or_insert_with(|| match seen.error {
                Some(number) if number > 0 => {
                    format!("dd moved nothing: {}", std::io::Error::from_raw_os_error(number))
                }
                _ => "it moved nothing".into(),
            });
        }
        found.add(report);
    }
}

fn run(
    call: Option<&DdCall>,
    records: Option<DdRecords>,
    totals: Option<DdTotals>,
    error: Option<i32>,
) -> ReportedStep {
    let block = block(call, records, totals);
    let bytes = match (totals, call.and_then(DdCall::block), records) {
        (Some(t), ..) => t.bytes,
        (None, Some(block), Some(r)) if r.part == 0 => r.whole.saturating_mul(block.0),
        _ => 0,
    };
    let time = totals.map(|t| t.time).filter(|t| t.0 > 0);
    let ios = records.map(|r| r.whole.saturating_add(r.part));
    let rate = |n: u64| time.map(|t| n as f64 / t.as_seconds());
    let figures = ReportedFigures {
        bytes: Bytes(bytes),
        ios: ios.into(),
        iops: ios.and_then(rate).into(),
        bytes_per_second: rate(bytes).filter(|_| bytes > 0).into(),
        runtime: time.into(),
        // One may be the last block of a file.
        short_ios: records.map(|r| r.part).filter(|part| *part > 1).unwrap_or(0),
        ..ReportedFigures::default()
    };
    let reads = call.and_then(DdCall::reads);
    let mut step = ReportedStep {
        name: "dd".into(),
        rows: 1,
        conditions: conditions(call, reads, block, ios),
        failure: error.map(|number| ReportedFailure { ios: None, number }),
        ..ReportedStep::default()
    };
    match reads {
        Some(reads) => set(&mut step, reads, figures),
        None => step.mixed = Some(figures),
    }
    if let Some((t, rate)) = totals.and_then(|t| Some((t, t.rate?)))
        && printed::contradicts(rate.0 as f64, t.bytes as f64, t.time)
    {
        step.impossible.push(format!("{} in {} at {rate}/s", Bytes(t.bytes), t.time));
        step.rate_impossible = true;
    }
    step
}

fn block(call: Option<&DdCall>, records: Option<DdRecords>, totals: Option<DdTotals>) -> Known<Bytes> {
    let said = call.and_then(DdCall::block);
    let whole = records.zip(totals).filter(|(r, _)| r.part == 0 && r.whole > 0);
    let counted = whole.filter(|(r, t)| t.bytes % r.whole == 0).map(|(r, t)| Bytes(t.bytes / r.whole));
    match (said, call, counted) {
        (Some(said), ..) => said.into(),
        (None, Some(_), _) => Known::assumed(Bytes(512), "dd's default, since the command has no bs"),
        (None, None, Some(counted)) => Known::assumed(counted, "bytes over whole records"),
        (None, None, None) => Known::Unknown,
    }
}

fn conditions(
    call: Option<&DdCall>,
    reads: Option<bool>,
    block: Known<Bytes>,
    ios: Option<u64>,
) -> Conditions {
    let pattern = reads.map(|reads| if reads { "read" } else { "write" }.to_string());
    let flush = call.map(|c| match ios {
        _ if c.each_flushed => 1,
        Some(n) if c.end_flushed => u32::try_from(n.max(1)).unwrap_or(u32::MAX),
        _ => 0,
    });
    let target = call.zip(reads).and_then(|(c, reads)| if reads { c.from.as_ref() } else { c.to.as_ref() });
    Conditions {
        rw: pattern.into(),
        block: match block {
            Known::Said(b) => (b, b).into(),
            Known::Assumed { assumed, why } => Known::assumed((assumed, assumed), why),
            Known::Unknown => Known::Unknown,
        },
        engine: "dd".to_string().into(),
        blocking: true.into(),
        jobs: 1.into(),
        direct: match (call, reads) {
            (Some(c), Some(true)) => c.direct.0.into(),
            (Some(c), Some(false)) => c.direct.1.into(),
            (Some(c), None) if c.direct.0 != c.direct.1 => {
                let missing = if c.direct.0 { "oflag=direct" } else { "iflag=direct" };
                Known::assumed(false, format!("one side of the copy did: {missing} was not given"))
            }
            (Some(c), None) => c.direct.0.into(),
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

impl DdCall {
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

    /// The block of the side that is the volume's: `bs` is that of both, whatever `ibs` and `obs` say.
    fn block(&self) -> Option<Bytes> {
        let of_side = if self.reads() == Some(true) { self.sides.0 } else { self.sides.1 };
        self.block.or(of_side)
    }

    /// Reads the volume, or writes it. A copy does both.
    fn reads(&self) -> Option<bool> {
        match (self.from.as_ref(), self.to.as_ref()) {
            (Some(_), Some(_)) if self.nowhere() => Some(true),
            (Some(_), Some(_)) if self.made() => Some(false),
            // Without of= the output goes to a pipe, without if= the input comes from one.
            (Some(_), None) => Some(true),
            (None, Some(_)) => Some(false),
            _ => None,
        }
    }
}

/// A call, and whether it is the only one of its line.
fn call(line: &str) -> Option<(DdCall, bool)> {
    let PastedCall { arguments: words, alone, looped } = pasted_command::call(line, &NAMES)?;
    if !words.iter().any(|w| w.starts_with("if=") || w.starts_with("of=")) {
        return None;
    }
    // A variable may change any of its words.
    let looped = looped && !pasted_command::may_vary(&words);
    let mut call = DdCall { looped, ..DdCall::default() };
    for (key, value) in words.iter().filter_map(|w| w.split_once('=')) {
        let has = |flag: &str| value.split(',').any(|v| v == flag);
        match key {
            "if" => call.from = Some(value.into()),
            "of" => call.to = Some(value.into()),
            "bs" => call.block = block_size(value).or(call.block),
            "ibs" => call.sides.0 = block_size(value).or(call.sides.0),
            "obs" => call.sides.1 = block_size(value).or(call.sides.1),
            "iflag" => call.direct.0 |= has("direct"),
            "oflag" => {
                call.direct.1 |= has("direct");
                call.each_flushed |= has("dsync") || has("sync");
            }
            "conv" => {
                call.end_flushed |= has("fdatasync") || has("fsync");
                call.sparse |= has("sparse");
            }
            _ => {}
        }
    }
    Some((call, alone))
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
    let rest = line.trim().strip_suffix(way)?;
    let (whole, part) = rest.trim_end().strip_suffix(" records")?.split_once('+')?;
    Some(DdRecords { whole: printed::whole(whole)?, part: printed::whole(part)? })
}

/// `67108864 bytes (67 MB, 64 MiB) copied, 0.0472007 s, 1.4 GB/s`; BSD: `67108864 bytes transferred in 0.012 secs (5 bytes/sec)`.
fn totals(line: &str) -> Option<DdTotals> {
    let line = line.trim();
    let (bytes, rest) =
        line.split_once(" bytes ").filter(|_| line.starts_with(|c: char| c.is_ascii_digit()))?;
    let (time, rate) = match rest.split_once("copied, ") {
        Some((_, rest)) => rest.split_once(", ").unwrap_or((rest, "")),
        None => rest.strip_prefix("transferred in ").map(|t| t.split_once('(').unwrap_or((t, "")))?,
    };
    // Many languages write 100,5 for 100.5; dd divides no thousands here.
    let rate = rate.trim().trim_end_matches(')').replace(" bytes/sec", "B/s").replace(',', ".");
    let rate = rate.strip_suffix("/s").and_then(printed::size);
    Some(DdTotals { bytes: printed::whole(bytes)?, time: printed::time(&time.replace(',', "."))?, rate })
}

/// The number of an error, where its words are known.
fn errno(why: &str) -> i32 {
    let known = [
        ("No space left on device", 28),
        ("Input/output error", 5),
        ("Invalid argument", 22),
        ("Permission denied", 13),
        ("Read-only file system", 30),
        ("Disk quota exceeded", 122),
        ("File too large", 27),
    ];
    known.iter().find(|(words, _)| why.contains(words)).map_or(0, |(_, n)| *n)
}
