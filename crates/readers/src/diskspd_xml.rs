//! DiskSpd's XML (`-Rxml`).

use roxmltree::{Document, Node, ParsingOptions};

use super::diskspd::moment;
use super::diskspd_timespan::{DiskspdSpan, DiskspdTarget, DiskspdTotals, report};
use super::{ForeignReports, LineReader, printed};
use volproof_base::unit::Bytes;
use volproof_record::ReportForm;

/// A report has some thousands of nodes.
const MOST_NODES: u32 = 1_000_000;

/// Reads DiskSpd's XML.
pub struct XmlReader;

impl LineReader for XmlReader {
    fn line(&mut self, _line: &str, _found: &mut ForeignReports) {}

    fn block(&mut self, text: &str, found: &mut ForeignReports) -> Option<usize> {
        const TAG: &str = "<Results>";
        let begin = text.len() - text.trim_start().len();
        let inside = text[begin..].strip_prefix(TAG)?;
        // It ends where it is closed, or where another begins that nothing closed before.
        let end = inside.find("Results>").filter(|at| inside[..*at].ends_with("</"));
        let length = match end {
            Some(at) => begin + TAG.len() + at + "Results>".len(),
            None => begin + TAG.len() + inside.find(TAG).unwrap_or(inside.len()),
        };
        let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
        let document = Document::parse_with_options(&text[begin..length], options).ok();
        let mut report = match &document {
            Some(document) => of_results(document.root_element()),
            None => report(Vec::new(), "DiskSpd".into(), ReportForm::Xml),
        };
        if report.runs.is_empty() {
            report.partial = Some("it breaks off before </Results>".into());
        }
        found.add(report);
        Some(length)
    }

    fn end(&mut self, _found: &mut ForeignReports) {}
}

fn of_results(results: Node) -> super::ForeignReport {
    let settings: Vec<Node> = all(results, "Profile/TimeSpans/TimeSpan").collect();
    let spans = all(results, "TimeSpan").take(super::MOST_RUNS).enumerate();
    let spans = spans.map(|(i, span)| of_timespan(settings.get(i).copied(), span)).collect();
    let tool = text(results, "System/Tool/Version").map_or("DiskSpd".into(), |v| format!("DiskSpd {v}"));
    let mut report = report(spans, tool, ReportForm::Xml);
    report.written = text(results, "System/RunTime").and_then(moment);
    report
}

/// The elements at a path.
fn all<'a, 'i>(node: Node<'a, 'i>, path: &str) -> impl Iterator<Item = Node<'a, 'i>> {
    let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
    let parent = parents
        .split('/')
        .filter(|name| !name.is_empty())
        .try_fold(node, |node, name| node.children().find(|child| child.has_tag_name(name)));
    let name = name.to_string();
    parent.into_iter().flat_map(|node| node.children()).filter(move |child| child.has_tag_name(name.as_str()))
}

/// The text of the first element at a path.
fn text<'a>(node: Node<'a, '_>, path: &str) -> Option<&'a str> {
    all(node, path).next()?.text().map(str::trim)
}

fn whole(node: Node, path: &str) -> Option<u64> {
    text(node, path).and_then(printed::whole)
}

fn of_timespan(settings: Option<Node>, results: Node) -> DiskspdSpan {
    let mut span = DiskspdSpan {
        test_time: text(results, "TestTimeSeconds").and_then(printed::number),
        threads: whole(results, "ThreadCount"),
        ..DiskspdSpan::default()
    };
    if let Some(settings) = settings {
        span.duration = whole(settings, "Duration");
        span.warm_up = whole(settings, "Warmup");
        span.random_writes = is_true(settings, "RandomWriteData");
        span.has_pool = above_0(settings, "ThreadCount").is_some();
        span.targets = all(settings, "Targets/Target").map(target).collect();
    }
    for usage in all(results, "CpuUtilization/CPU").filter_map(|cpu| text(cpu, "UsagePercent")) {
        span.cpu(usage);
    }
    for target in all(results, "Thread").flat_map(|thread| all(thread, "Target")) {
        span.target_size(whole(target, "FileSize").map(Bytes));
        let names = [("BytesCount", "IOCount"), ("ReadBytes", "ReadCount"), ("WriteBytes", "WriteCount")];
        for (total, (bytes, ios)) in span.totals.iter_mut().zip(names) {
            let total = total.get_or_insert_with(DiskspdTotals::default);
            total.bytes = total.bytes.saturating_add(whole(target, bytes).unwrap_or(0));
            total.ios = total.ios.saturating_add(whole(target, ios).unwrap_or(0));
        }
    }
    let Some(latency) = all(results, "Latency").next() else { return span };
    let names = [
        ("AverageTotalMilliseconds", "LatencyStdev"),
        ("AverageReadMilliseconds", "ReadLatencyStdev"),
        ("AverageWriteMilliseconds", "WriteLatencyStdev"),
    ];
    for (total, (mean, deviation)) in span.totals.iter_mut().flatten().zip(names) {
        total.mean = text(latency, mean).and_then(printed::number);
        total.deviation = text(latency, deviation).and_then(printed::number);
    }
    for bucket in all(latency, "Bucket") {
        let Some(percent) = text(bucket, "Percentile").and_then(printed::number) else { continue };
        let columns = ["ReadMilliseconds", "WriteMilliseconds", "TotalMilliseconds"];
        for (known, column) in span.percentiles.iter_mut().zip(columns) {
            let ms = text(bucket, column).and_then(printed::number);
            known.extend(ms.map(|ms| (format!("{percent}"), ms)));
        }
    }
    span
}

/// Whether a switch is on.
fn is_true(node: Node, path: &str) -> bool {
    text(node, path) == Some("true")
}

/// A number that stands for a setting; 0 is none.
fn above_0(node: Node, path: &str) -> Option<u64> {
    whole(node, path).filter(|n| *n > 0)
}

fn target(node: Node) -> DiskspdTarget {
    let data = text(node, "WriteBufferContent/Pattern");
    let limit = above_0(node, "Throughput").map(|n| format!("-g{n}"));
    DiskspdTarget {
        path: text(node, "Path").unwrap_or_default().to_string(),
        block: whole(node, "BlockSize").map(Bytes),
        // Without an element of its own the software cache is used.
        direct: Some(is_true(node, "DisableOSCache") || is_true(node, "DisableAllCache")),
        random: if all(node, "Random").next().is_some() {
            Some(100)
        } else {
            whole(node, "RandomRatio").or(Some(0))
        },
        end: above_0(node, "MaxFileSize").map(Bytes),
        outstanding: whole(node, "RequestCount"),
        write_percent: whole(node, "WriteRatio"),
        shares_out: above_0(node, "ThreadStride").is_some() || is_true(node, "InterlockedSequential"),
        threads: whole(node, "ThreadsPerFile"),
        own_data: !matches!(data, Some("zero" | "sequential")),
        pause: limit.or(above_0(node, "ThinkTime").map(|ms| format!("-i{ms}"))),
    }
}
