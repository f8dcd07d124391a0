//! Explanations as text of at most 80 columns.

use super::{Explained, RunExplained};
use volproof_base::doubt::Doubt;
use volproof_base::unit::{Nanos, mebibytes, significant};
use volproof_device::output::screen;
use volproof_record::{Finding, ReportForm};
use volproof_report::layout::{command_words, table, wrap};

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
    let form = e.form.map_or("Record", ReportForm::name);
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
    out
}

fn run(r: &RunExplained) -> String {
    let host = r.host.as_ref().map(|h| format!(" on host {h}")).unwrap_or_default();
    let mut out = format!("\n{}{host}\n", r.name);
    let mut told = |label: &str, text: &str| out += &wrap(&format!("  {label:LABEL$}"), text);
    told("tested", &r.tested);
    r.hosts.iter().for_each(|line| told("host", line));
    r.result.iter().for_each(|line| told("result", line));
    r.latency.iter().for_each(|line| told("latency", line));
    r.little.iter().for_each(|line| told("Little", line));
    if !r.diagnosis.findings.is_empty() {
        out += "\n  Seen in the samples\n";
        out.extend(r.diagnosis.findings.iter().map(finding));
    }
    if !r.doubts.is_empty() {
        out += "\n  What is wrong with the test\n";
        let mut doubts: Vec<&Doubt> = r.doubts.iter().collect();
        doubts.sort_by_key(|d| std::cmp::Reverse(d.severity));
        out.extend(doubts.into_iter().map(doubt));
    }
    if let Some(line) = &r.command {
        out += "\n  What to run instead\n";
        out += &command(line);
    }
    out
}

fn finding(f: &Finding) -> String {
    let mut out = wrap("    ", &format!("{} [{}, {}]", f.headline, f.code, f.confidence.name()));
    out.extend(f.evidence.iter().map(|e| wrap("      - ", e)));
    out + &wrap("      -> ", &f.advice)
}

fn doubt(d: &Doubt) -> String {
    let word = d.severity.word();
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

/// A command over several lines that is still one when it is copied.
fn command(line: &str) -> String {
    let (lead, more) = ("      ", "        ");
    let mut out = String::from(lead);
    let mut column = lead.len();
    for (i, word) in command_words(line).into_iter().enumerate() {
        let n = word.chars().count();
        if i > 0 && column + 1 + n + 2 > screen::width() {
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

fn side_by_side(files: bool, rows: &[(&Explained, &RunExplained)]) -> String {
    let number = |v: Option<f64>| v.map_or("-".into(), significant);
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
                f.bytes_per_second.map_or("-".into(), mebibytes),
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
