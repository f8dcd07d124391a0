//! Explanations as text of at most 80 columns.

use super::conditions::Conditions;
use super::subject::{latency, parts, percentiles};
use super::{Better, Explained, Form, RunExplained};
use crate::diagnose::{Finding, NOTHING, Summary};
use crate::fio::output::Job;
use crate::report::crosscheck;
use crate::report::text::{WIDTH, table, wrap};
use crate::report::verdict as report;
use crate::unit::{Nanos, grouped, significant};
use crate::warn::{Severity, Warning};

/// Findings that are about the test and not about the volume.
pub const OF_THE_TEST: [&str; 11] = [
    "unwritten-blocks",
    "reads-from-memory",
    "cpu-quota",
    "generator-limited",
    "too-short",
    "other-traffic",
    "splits",
    "merges",
    "lazy-loading",
    "small-range",
    "io-wq",
];
/// Width of the column of labels.
const LABEL: usize = 11;

/// All explanations, and a table where there are several.
pub fn all(all: &[Explained]) -> String {
    let mut out: Vec<String> = all.iter().map(one).collect();
    let rows: Vec<(&Explained, &RunExplained)> =
        all.iter().flat_map(|e| e.runs.iter().map(move |r| (e, r))).collect();
    if rows.len() > 1 {
        out.push(side_by_side(all.len() > 1, &rows));
    }
    out.join("\n")
}

fn one(e: &Explained) -> String {
    let form = match e.form {
        Form::Text => "text",
        Form::Json => "JSON",
        Form::Terse => "terse",
        Form::Record => "Record",
    };
    let tool = if e.tool.is_empty() { "fio" } else { &e.tool };
    let written = e.written.as_ref().map(|w| format!(", {w}")).unwrap_or_default();
    let mut out = wrap("", &format!("{}  {tool}, {form}{written}", e.file.display()));
    if let Some(why) = &e.partial {
        out += &wrap("  PARTIAL  ", &format!("not the whole report: {why}"));
    }
    for note in &e.notes {
        out += &wrap("  note     ", note);
    }
    out.extend(e.runs.iter().map(run));
    if !e.doubts.is_empty() {
        out += "\nThe runs together\n";
        out.extend(e.doubts.iter().map(doubt));
    }
    out += &crosscheck::text(&e.cross_checks);
    if let Some(v) = &e.verdict {
        out += &report::verdict(v);
        for line in &e.promise {
            out += &wrap("  promised      ", line);
        }
    }
    out
}

fn run(r: &RunExplained) -> String {
    let host = r.host.as_ref().map(|h| format!(" on host {h}")).unwrap_or_default();
    let mut out = format!("\n{}{host}\n", r.name);
    let mut told = |label: &str, text: &str| out += &wrap(&format!("  {label:LABEL$}"), text);
    told("tested", &r.tested);
    r.result.iter().for_each(|line| told("result", line));
    r.latency.iter().for_each(|line| told("latency", line));
    r.little.iter().for_each(|line| told("Little", line));
    let of_the_test = |f: &&Finding| OF_THE_TEST.contains(&f.code.as_str());
    let limits: Vec<&Finding> =
        r.diagnosis.findings.iter().filter(|f| !of_the_test(f) && f.doubt.is_none()).collect();
    out += "\n  What limited it\n";
    if limits.is_empty() {
        let void = r.doubts.iter().any(|d| d.severity == Severity::Blocker)
            || r.diagnosis.findings.iter().any(|f| f.blocks);
        out += &wrap("    ", if void { "See what is wrong with the test." } else { NOTHING });
    }
    for f in limits {
        out += &finding(f);
    }
    if !r.caps.is_empty() {
        out += &wrap("    ", "That is the cap of:");
        out.extend(r.caps.iter().map(|c| wrap("      - ", c)));
        out += &wrap("      -> ", "name the volume with --promise TYPE --volume-size SIZE for the verdict");
    }
    let tests: Vec<&Finding> =
        r.diagnosis.findings.iter().filter(|f| of_the_test(f) && f.doubt.is_none()).collect();
    if !tests.is_empty() || !r.doubts.is_empty() {
        out += "\n  What is wrong with the test\n";
        let mut doubts: Vec<&Warning> = r.doubts.iter().collect();
        doubts.sort_by_key(|d| std::cmp::Reverse(d.severity));
        let heavy = doubts.iter().take_while(|d| d.severity == Severity::Blocker).count();
        out.extend(doubts[..heavy].iter().map(|d| doubt(d)));
        out.extend(tests.into_iter().map(finding));
        out.extend(doubts[heavy..].iter().map(|d| doubt(d)));
    }
    if !r.better.is_empty() {
        out += "\n  What to run instead\n";
        out.extend(r.better.iter().map(better));
    }
    out
}

fn finding(f: &Finding) -> String {
    let mut out = wrap("    ", &format!("{} [{}, {}]", f.headline, f.code, f.confidence.name()));
    out.extend(f.evidence.iter().map(|e| wrap("      - ", e)));
    out + &wrap("      -> ", &f.advice)
}

fn doubt(d: &Warning) -> String {
    let word = match d.severity {
        Severity::Blocker => "void",
        Severity::Warning => "doubt",
        Severity::Note => "note",
    };
    wrap("    ", &format!("{}. [{}, {word}]", sentence(&d.message), d.code)) + &wrap("      -> ", &d.advice)
}

/// The first letter large, no full stop.
fn sentence(text: &str) -> String {
    if text.split(' ').next().is_some_and(|word| word.contains('=')) {
        return text.into();
    }
    let mut letters = text.trim_end_matches('.').chars();
    letters.next().map(|c| c.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn better(b: &Better) -> String {
    wrap("    ", &format!("for {}:", b.shows)) + &command(&b.fio) + &command(&b.volproof)
}

/// A command over several lines that is still one when it is copied.
fn command(line: &str) -> String {
    let (lead, more) = ("      ", "        ");
    let mut out = String::from(lead);
    let mut column = lead.len();
    for (i, word) in line.split(' ').enumerate() {
        let n = word.chars().count();
        if i > 0 && column + 1 + n + 2 > WIDTH {
            out += " \\\n";
            out += more;
            column = more.len();
        } else if i > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += n;
    }
    out.push('\n');
    out
}

/// Bytes a second in both units.
pub fn rate(bytes: f64) -> String {
    format!("{} MB/s ({} MiB/s)", significant(bytes / 1e6), significant(bytes / 1_048_576.0))
}

/// What was tested, in a sentence.
pub fn tested(job: &Job, c: &Conditions, s: &Summary) -> String {
    let size = c.size.map(|b| format!(", range {b}{}", if c.jobs > 1 { " each" } else { "" }));
    let description = job.description.as_ref().map(|d| format!(" [{d}]"));
    let time = s.window.map(|w| format!(", {} s", significant(w.as_seconds())));
    format!(
        "{}, {}{}{}{}",
        c.words(),
        c.drive(),
        size.unwrap_or_default(),
        time.unwrap_or_default(),
        description.unwrap_or_default()
    )
}

/// The line that matters, for each direction.
pub fn result(job: &Job, s: &Summary) -> Vec<String> {
    let parts = parts(job);
    let mut lines: Vec<String> = parts.iter().map(|(name, stats)| direction(name, stats)).collect();
    if let (Some(x), Some(bytes), true) = (s.iops, s.bytes_per_second, parts.len() > 1) {
        lines.push(format!("together {} IOPS, {}", figure(x), rate(bytes)));
    }
    lines
}

/// One direction of a report, as far as it tells it.
fn direction(name: &str, stats: &crate::fio::output::Stats) -> String {
    let seconds = stats.runtime.as_seconds();
    let iops = match stats.ios {
        Some(n) if seconds > 0.0 && n > 0 => n as f64 / seconds,
        _ => stats.iops,
    };
    if seconds <= 0.0 || iops <= 0.0 || stats.bytes_per_second <= 0.0 {
        let known = [
            (iops > 0.0).then(|| format!("{} IOPS", figure(iops))),
            (stats.bytes_per_second > 0.0).then(|| rate(stats.bytes_per_second)),
            stats.ios.map(|n| format!("{} I/Os", grouped(n))),
            (stats.bytes.0 > 0).then(|| format!("{} moved", stats.bytes)),
            (seconds > 0.0).then(|| format!("in {} s", significant(seconds))),
        ];
        let known: Vec<String> = known.into_iter().flatten().collect();
        return format!("{name}: {}; the rest is not told", known.join(", "));
    }
    let ios = stats.ios.unwrap_or((stats.iops * seconds) as u64);
    let told = line(name, iops, stats.bytes_per_second, ios, stats.runtime);
    // Without the count of I/Os the rate is as it was printed, rounded, and the count is made of it.
    let told = match stats.ios {
        Some(_) => told,
        None => told.replacen(": ", ": about ", 1),
    };
    let moved = if stats.bytes.0 > 0 { format!(", {} moved", stats.bytes) } else { String::new() };
    told + &moved
}

/// One direction: rates in both units, and what they rest on.
pub fn line(name: &str, iops: f64, bytes: f64, ios: u64, time: Nanos) -> String {
    format!(
        "{name}: {} IOPS, {}: {} I/Os in {} s",
        figure(iops),
        rate(bytes),
        grouped(ios),
        significant(time.as_seconds())
    )
}

fn figure(x: f64) -> String {
    if x >= 99.95 { grouped(x.round() as u64) } else { significant(x) }
}

/// Latencies, for each direction.
pub fn latencies(job: &Job) -> Vec<String> {
    let of = |(name, s): &(&str, &crate::fio::output::Stats)| {
        let l = latency(s)?;
        let known = percentiles(s);
        let at = |p: f64| known.iter().find(|k| (k.0 - p).abs() < 1e-6).map(|k| (k.0.to_string(), k.1));
        let told: Vec<(String, Nanos)> = [50.0, 95.0, 99.0, 99.9].into_iter().filter_map(at).collect();
        Some(latency_line(name, l.mean, &told, l.max))
    };
    parts(job).iter().filter_map(of).collect()
}

/// Mean, percentiles and maximum in words.
pub fn latency_line(name: &str, mean: f64, percentiles: &[(String, Nanos)], max: Nanos) -> String {
    let mut words = vec![format!("{name}: mean {}", Nanos(mean.round() as u64))];
    words.extend(percentiles.iter().map(|(p, v)| match p.as_str() {
        "50" => format!("half within {v}"),
        p => format!("{p} % within {v}"),
    }));
    words.push(format!("longest {max}"));
    words.join(", ")
}

/// Little's law over a row, and whether it holds.
pub fn little(c: &Conditions, s: &Summary) -> (Option<String>, Option<bool>) {
    let (Some(x), Some(mean)) = (s.iops, s.mean_ns) else { return (None, None) };
    let by_law = x * mean / 1e9;
    let product = format!("{}/s x {} = {} in flight", figure(x), Nanos(mean as u64), significant(by_law));
    let Some(asked) = c.in_flight() else { return (Some(format!("{product} on average")), None) };
    let ratio = by_law / asked as f64;
    // The edges of the window hold a mean latency, in which requests lie only partly inside.
    let allowed = 0.05 + s.window.map_or(0.0, |w| mean / w.0.max(1) as f64);
    let (holds, words) = match ratio {
        r if (r - 1.0).abs() <= allowed => {
            (Some(true), "the law holds, the queue was full all the time".into())
        }
        r if r > 1.0 => (Some(false), "more than can be: the report's figures do not belong together".into()),
        _ if s.offered.is_some() => (Some(true), "the rate that was asked for left the queue short".into()),
        _ if c.is_null() => (Some(true), "no device was driven, the tool's own time is the rest".into()),
        r if r < 0.9 && (c.fsync > 0 || s.flushes.is_some()) => {
            (Some(true), "flushes took the rest of the time".into())
        }
        r if r < 0.9 && c.pauses.is_some() => (Some(true), "its pauses took the rest of the time".into()),
        _ if c.direct == Some(false) && !c.one_at_a_time() => {
            (Some(true), "the depth was not there: through the page cache, I/O is done one at a time".into())
        }
        r => (
            Some(true),
            format!(
                "the queue was {} % full: the load was not always there to fill it",
                significant(r * 100.0)
            ),
        ),
    };
    (Some(format!("{product}, and {} were asked for: {words}", grouped(asked))), holds)
}

fn side_by_side(files: bool, rows: &[(&Explained, &RunExplained)]) -> String {
    let number = |v: Option<f64>| v.map_or("-".into(), figure);
    let time = |ns: Option<f64>| ns.map_or("-".into(), |n| Nanos(n as u64).to_string().replace(' ', ""));
    let lines = rows
        .iter()
        .take(200)
        .map(|(e, r)| {
            let f = &r.figures;
            let file = e.file.file_name().unwrap_or(e.file.as_os_str()).to_string_lossy().into_owned();
            let host = r.host.as_ref().map(|h| format!("{h} ")).unwrap_or_default();
            vec![
                if files { format!("{file} {host}{}", r.name) } else { format!("{host}{}", r.name) },
                number(f.iops),
                f.bytes_per_second.map_or("-".into(), |b| significant(b / 1_048_576.0)),
                time(f.mean_ns),
                time(f.p50_ns.map(|n| n as f64)),
                time(f.p99_ns.map(|n| n as f64)),
                f.in_flight.map_or("-".into(), significant),
                f.seconds.map_or("-".into(), significant),
            ]
        })
        .collect();
    let header = ["", "IOPS", "MiB/s", "mean", "p50", "p99", "in flight", "s"];
    format!("Side by side\n{}", table(&header, lines))
}
