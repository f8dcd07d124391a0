//! DiskSpd's XML (`-Rxml`): its elements in order of appearance, without a tree of them.

use super::diskspd::moment;
use super::diskspd_timespan::{DiskspdSpan, DiskspdTarget, DiskspdTotals, report};
use super::{ForeignReports, LineReader, printed};
use volproof_base::unit::Bytes;
use volproof_record::ReportForm;

/// DiskSpd nests ten deep.
const DEEPEST: usize = 32;

/// Reads DiskSpd's XML.
#[derive(Default)]
pub struct XmlReader {
    /// The open elements; empty outside of a report.
    path: Vec<String>,
    /// Text since the last tag.
    text: String,
    /// Attributes of the last tag that was opened.
    attributes: String,
    spans: Vec<DiskspdSpan>,
    /// The timespan whose results follow.
    results: usize,
    version: Option<String>,
    written: Option<String>,
    /// The percentile whose latencies follow.
    percentile: String,
}

impl LineReader for XmlReader {
    fn line(&mut self, line: &str, found: &mut ForeignReports) {
        if self.path.is_empty() && !line.contains("<Results>") {
            return;
        }
        let mut rest = line;
        while let Some(at) = rest.find('<') {
            self.add_text(&rest[..at]);
            let Some(end) = rest[at..].find('>') else { return };
            self.tag(&rest[at + 1..at + end], found);
            rest = &rest[at + end + 1..];
        }
        self.add_text(rest);
    }

    fn goes_on(&mut self, piece: &str, found: &mut ForeignReports) {
        self.line(piece, found);
    }

    fn end(&mut self, found: &mut ForeignReports) {
        let whole = self.path.is_empty();
        let seen = std::mem::take(self);
        let results = seen.spans.iter().any(|s| s.totals[0].is_some());
        if seen.spans.is_empty() && seen.version.is_none() {
            return;
        }
        let tool = seen.version.map_or("DiskSpd".to_string(), |v| format!("DiskSpd {v}"));
        let mut report = report(seen.spans, tool, seen.written, ReportForm::Xml);
        if !whole || !results {
            report.partial.get_or_insert_with(|| "it breaks off before </Results>".into());
        }
        found.add(report);
    }
}

impl XmlReader {
    fn add_text(&mut self, text: &str) {
        if !self.path.is_empty() && self.text.len() + text.len() < 4096 {
            self.text.push_str(text);
        }
    }

    fn tag(&mut self, tag: &str, found: &mut ForeignReports) {
        if let Some(name) = tag.strip_prefix('/') {
            // A closing tag that fits nothing is left out.
            if self.path.last().is_some_and(|open| open == name) {
                let text = std::mem::take(&mut self.text);
                self.close(text.trim());
                self.path.pop();
                if self.path.is_empty() {
                    self.end(found);
                }
            }
            return;
        }
        if tag.ends_with('/') || tag.starts_with(['?', '!']) {
            return;
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let begins = name == "Results";
        if self.path.is_empty() && !begins {
            return;
        }
        if begins && !self.path.is_empty() {
            // The report before it was cut off.
            self.end(found);
        }
        if self.path.len() < DEEPEST {
            self.path.push(name.to_string());
            self.attributes = attributes.to_string();
            self.text.clear();
            self.open();
        }
    }

    /// The open elements without the root, as `Profile/TimeSpans/TimeSpan`.
    fn place(&self) -> String {
        self.path[1..].join("/")
    }

    fn open(&mut self) {
        match self.place().as_str() {
            "Profile/TimeSpans/TimeSpan" if self.spans.len() < super::MOST_RUNS => {
                self.spans.push(DiskspdSpan::default());
            }
            "Profile/TimeSpans/TimeSpan/Targets/Target" => {
                if let Some(span) = self.spans.last_mut().filter(|s| s.targets.len() < 256) {
                    // Without an element of its own the software cache is used.
                    span.targets.push(DiskspdTarget {
                        direct: Some(false),
                        random: Some(0),
                        ..DiskspdTarget::default()
                    });
                }
            }
            "TimeSpan" if self.results >= self.spans.len() && self.spans.len() < super::MOST_RUNS => {
                self.spans.push(DiskspdSpan::default());
            }
            _ => {}
        }
    }

    /// The innermost element ends with this text.
    fn close(&mut self, text: &str) {
        let place = self.place();
        let number = || printed::number(text);
        let whole = || printed::whole(text);
        match place.as_str() {
            "System/Tool/Version" => self.version = Some(text.to_string()),
            "System/RunTime" => self.written = moment(text),
            _ => {}
        }
        if let Some(name) = place.strip_prefix("Profile/TimeSpans/TimeSpan/") {
            let Some(span) = self.spans.last_mut() else { return };
            match name {
                "Duration" => span.duration = whole(),
                "Warmup" => span.warm_up = whole(),
                "RandomWriteData" => span.random_writes = text == "true",
                "ThreadCount" => span.pool = whole().filter(|n| *n > 0).map(|n| n as u32),
                "RequestCount" => span.pool_outstanding = whole().filter(|n| *n > 0).map(|n| n as u32),
                _ => {
                    let name = name.strip_prefix("Targets/Target/");
                    if let (Some(name), Some(target)) = (name, span.targets.last_mut()) {
                        setting(target, name, text, &self.attributes);
                    }
                }
            }
            return;
        }
        if place == "TimeSpan" {
            self.results += 1;
            return;
        }
        let (Some(name), Some(span)) = (place.strip_prefix("TimeSpan/"), self.spans.get_mut(self.results))
        else {
            return;
        };
        match name {
            "TestTimeSeconds" => span.test_time = number(),
            "CpuUtilization/CPU/UsagePercent" => span.cpu(text),
            "ThreadCount" => span.threads = whole().map(|n| n as u32),
            "Error" => span.interrupted = true,
            "Latency/Bucket/Percentile" => {
                self.percentile = number().map_or(String::new(), |p| format!("{p}"));
            }
            "Thread/Target/FileSize" => {
                let size = whole().filter(|n| *n > 0).map(Bytes);
                span.size = [span.size, size].into_iter().flatten().min();
            }
            _ => {
                if let Some(name) = name.strip_prefix("Latency/") {
                    latency(span, name, &self.percentile, number());
                } else if let (Some(name), Some(n)) = (name.strip_prefix("Thread/Target/"), whole()) {
                    count(span, name, n);
                }
            }
        }
    }
}

/// A setting of a target.
fn setting(target: &mut DiskspdTarget, name: &str, text: &str, attributes: &str) {
    let number = || printed::whole(text).map(|n| n.min(u64::from(u32::MAX)) as u32);
    let yes = text == "true";
    match name {
        "Path" => target.path = unescaped(text),
        "BlockSize" => target.block = printed::whole(text).map(Bytes),
        "DisableOSCache" | "DisableAllCache" if yes => target.direct = Some(true),
        // A share of another machine may still cache.
        "DisableLocalCache" if yes => target.direct = None,
        "Random" => (target.random, target.apart) = (Some(100), printed::whole(text).map(Bytes)),
        "StrideSize" => target.apart = target.apart.or(printed::whole(text).map(Bytes)),
        "BaseFileOffset" => target.base = printed::whole(text).filter(|n| *n > 0).map(Bytes),
        "MaxFileSize" => target.end = printed::whole(text).filter(|n| *n > 0).map(Bytes),
        _ if name.starts_with("Distribution") => target.uneven = true,
        "RandomRatio" => target.random = number(),
        "RequestCount" => target.outstanding = number(),
        "WriteRatio" => target.write_percent = number(),
        "ThreadStride" => target.shares_out |= printed::whole(text).is_some_and(|n| n > 0),
        "InterlockedSequential" => target.shares_out |= yes,
        "ThreadsPerFile" => target.threads = number(),
        "ThinkTime" => target.think = printed::whole(text),
        "WriteBufferContent/Pattern" => {
            (target.zeros, target.own_data) = (Some(text == "zero"), !matches!(text, "zero" | "sequential"));
        }
        // 1 and 2 are very low and low, 3 is normal.
        "IOPriority" => target.priority = (number() < Some(3)).then(|| format!("{text} of 3")),
        "Throughput" => match printed::whole(text).filter(|n| *n > 0) {
            limit if attributes.contains("IOPS") => target.limit_iops = limit,
            limit => target.limit_bytes = limit,
        },
        _ => {}
    }
}

/// A figure of the latencies of a timespan.
fn latency(span: &mut DiskspdSpan, name: &str, percentile: &str, value: Option<f64>) {
    let Some(value) = value else { return };
    match name {
        "AverageTotalMilliseconds" => table(span, 0).mean = Some(value),
        "LatencyStdev" => table(span, 0).deviation = Some(value),
        "AverageReadMilliseconds" => table(span, 1).mean = Some(value),
        "ReadLatencyStdev" => table(span, 1).deviation = Some(value),
        "AverageWriteMilliseconds" => table(span, 2).mean = Some(value),
        "WriteLatencyStdev" => table(span, 2).deviation = Some(value),
        _ => {
            let kind = match name {
                "Bucket/ReadMilliseconds" => 0,
                "Bucket/WriteMilliseconds" => 1,
                "Bucket/TotalMilliseconds" => 2,
                _ => return,
            };
            let (name, known) = (percentile.to_string(), &mut span.percentiles[kind]);
            if !name.is_empty() && known.len() < 512 {
                known.insert(name, value);
            }
        }
    }
}

fn table(span: &mut DiskspdSpan, of: usize) -> &mut DiskspdTotals {
    span.totals[of].get_or_insert_with(DiskspdTotals::default)
}

/// A counter of a thread on a target, added to those of the timespan.
fn count(span: &mut DiskspdSpan, name: &str, n: u64) {
    let (of, bytes) = match name {
        "BytesCount" => (0, true),
        "IOCount" => (0, false),
        "ReadBytes" => (1, true),
        "ReadCount" => (1, false),
        "WriteBytes" => (2, true),
        "WriteCount" => (2, false),
        _ => return,
    };
    let total = table(span, of);
    let sum = if bytes { &mut total.bytes } else { &mut total.ios };
    *sum = sum.saturating_add(n);
}

/// The five entities that XML has of its own.
fn unescaped(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_string(), |text, (entity, plain)| text.replace(entity, plain))
}
