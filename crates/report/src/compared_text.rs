//! The comparison of a report with a promise or with needs, as text of at most 80 columns.

use super::layout::{wrap, wrap_command};
use volproof_base::unit::{percent, significant};
use volproof_judge::{figure, figures};
use volproof_record::{Compared, ComparedWord, IntervalBasis, Metric, ReportComparison};

/// Width of the column of words.
const COLUMN: usize = 14;
/// What every comparison ends with.
pub const NO_VERDICT: &str = "a report cannot be measured again, so that there is no verdict";

/// What a report was held against, in words.
pub fn against(c: &ReportComparison) -> String {
    let of_promise = c.rows.iter().any(|row| row.need.is_none());
    let tolerance = if of_promise { format!(", tolerance {}", percent(c.tolerance)) } else { String::new() };
    format!("against {}{tolerance}", c.against)
}

/// The row that stands first, in a sentence; empty where nothing could be compared.
pub fn sentence(c: &ReportComparison) -> String {
    let Some(row) = c.first() else { return String::new() };
    let several = if c.rows.len() > 1 { format!("{}: ", row.step) } else { String::new() };
    let words = format!("{several}{}: {} in this report", of_limit(row), row.word.name());
    let all = c.rows.iter().all(|other| other.word == ComparedWord::Kept);
    match c.rows.len() {
        n if n > 1 && all => format!("{words}, as all {n} figures."),
        _ => words + ".",
    }
}

/// The figure beside what is promised or needed.
pub fn of_limit(row: &Compared) -> String {
    let unit = if row.metric == Metric::Iops { " IOPS" } else { "" };
    let name = |value: f64| figure(row.metric, value);
    let reported = name(row.reported);
    let other = row.other_reading.map(|other| format!(" or {}", name(other))).unwrap_or_default();
    if row.need.is_some() {
        let side = if row.metric.less_is_better() { "at most" } else { "at least" };
        return format!("{} {reported}, {side} {} asked for", row.title(), name(row.promised));
    }
    match row.metric.less_is_better() {
        true => format!("{reported} mean latency, where {} are promised", name(row.promised)),
        false => {
            let share = significant(row.ratio * 100.0);
            format!("{reported}{unit}, {share} % of {}{other} ({})", name(row.promised), row.binding)
        }
    }
}

/// The interval of the figure and the limit, in words.
pub fn interval(row: &Compared) -> String {
    let (limit, ends) = figures(row.metric, row.limit, &[row.low, row.high]);
    match (row.interval, row.low < row.high) {
        (IntervalBasis::Printed, false) => format!("the report tells no spread; the limit is {limit}"),
        (basis, _) => format!("{} {} to {}; the limit is {limit}", basis.words(), ends[0], ends[1]),
    }
}

/// All rows.
pub fn comparison(c: &ReportComparison) -> String {
    let mut out = wrap("\nCompared  ", &against(c));
    out.extend(c.rows.iter().map(row_text));
    for text in &c.not_compared {
        out += &wrap(&format!("  {:COLUMN$}", "not compared"), text);
    }
    for note in c.notes.iter().map(String::as_str).chain([NO_VERDICT]) {
        out += &wrap(&format!("  {:COLUMN$}", "note"), note);
    }
    out
}

fn row_text(row: &Compared) -> String {
    let lead = " ".repeat(COLUMN + 2);
    let mut out =
        wrap(&format!("  {:COLUMN$}", row.word.name()), &format!("{}: {}", row.step, of_limit(row)));
    out += &wrap(&lead, &interval(row));
    for doubt in &row.doubts {
        out += &wrap(&format!("{lead}void: "), doubt);
    }
    if !row.not_shown.is_empty() {
        out += &wrap(&lead, "The report does not show:");
    }
    out.extend(row.not_shown.iter().map(|fact| wrap(&format!("{lead}- "), fact)));
    if let Some(need) = &row.need {
        let (source, as_of, sure) = (&need.source, &need.as_of, need.confidence.name());
        out += &wrap(&lead, &format!("source: {source}; {as_of}; confidence {sure}"));
    }
    out.extend(row.command.iter().map(|command| wrap_command(&format!("{lead}-> "), command)));
    out
}
