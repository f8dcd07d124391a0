//! A claim of a verdict, or a figure of a report beside a promise, in words. Made here alone, for every output.

use super::layout::{wrap, wrap_command};
use super::provider_words;
use volproof_base::unit::{percent, significant};
use volproof_judge::facts::DELIVERED;
use volproof_judge::{figure, figures};
use volproof_record::{
    Claim, Compared, Delivered, IntervalBasis, JudgedNeed, Metric, Outcome, ReportComparison, SavedAs,
};

/// Width of the column of outcomes.
const COLUMN: usize = 14;
/// The last note of every comparison.
pub const NO_VERDICT: &str = "a report cannot be measured again, so that there is no verdict";

/// A claim in words.
pub struct ClaimWords {
    /// PASS, FAIL, INCONCLUSIVE, INVALID; of a report kept, close, missed.
    pub word: &'static str,
    /// The figure: `IOPS`, `p99 of flushes for etcd (minimum)`.
    pub title: String,
    /// Name of the step.
    pub step: String,
    /// The measured figure.
    pub measured: String,
    /// The promise or need beside it: `90.0 % of 2,280 (volume IOPS)`.
    pub of: String,
    /// Bounds, time, reason and source, each in a line.
    pub facts: Vec<String>,
    /// The command that can decide it.
    pub command: Option<String>,
}

impl ClaimWords {
    /// Figure and promise in a line.
    pub fn line(&self) -> String {
        format!("{} in {}: {}, {}", self.title, self.step, self.measured, self.of)
    }

    /// The claim as a paragraph; `file` is that of its Record.
    pub fn paragraph(&self, file: &SavedAs) -> String {
        let mut out = labelled(self.word, &self.line());
        out.extend(self.facts.iter().map(|fact| labelled("", fact)));
        out + &command(self.command.as_deref(), file)
    }
}

/// A text behind a label in the column of outcomes.
pub fn labelled(label: &str, text: &str) -> String {
    wrap(&format!("  {label:COLUMN$}"), text)
}

/// The command that can decide; it stays one when it is copied.
pub fn command(line: Option<&str>, file: &SavedAs) -> String {
    let lead = format!("{}-> ", " ".repeat(COLUMN + 2));
    line.map_or_else(String::new, |line| wrap_command(&lead, &file.in_command(line)))
}

/// A claim of a verdict.
pub fn of_claim(c: &Claim) -> ClaimWords {
    let bounds: Vec<f64> = c.bounds.iter().flat_map(|(low, high)| [low.max(0.0), *high]).collect();
    let (limit, texts) = figures(c.metric, c.limit, &[&[c.measured], &bounds[..]].concat());
    let mut facts = Vec::new();
    if let [low, high] = &texts[1..] {
        facts.push(format!("{} {low} and {high}; the limit is {limit}", c.metric.bounds_name()));
    }
    facts.extend(c.delivered.as_ref().map(|share| delivered(share, c.outcome)));
    facts.extend(
        c.proven_limit
            .as_ref()
            .map(|limit| format!("AWS's counters: {}, proven", provider_words::limit(limit))),
    );
    facts.extend(Some(&c.reason).filter(|reason| !reason.is_empty()).cloned());
    facts.extend(c.need.as_ref().map(source));
    ClaimWords {
        word: c.outcome.name(),
        title: c.title(),
        step: c.row_step().into(),
        measured: texts[0].clone(),
        of: match &c.need {
            Some(_) => asks(c.metric, c.promised) + " asked for",
            None => of_promise(c.metric, c.ratio, c.promised, &c.binding),
        },
        facts,
        command: c.command.clone(),
    }
}

/// A figure of a report.
pub fn of_compared(row: &Compared) -> ClaimWords {
    let mut facts = vec![interval(row)];
    facts.extend(row.doubts.iter().map(|doubt| format!("void: {doubt}")));
    if !row.not_shown.is_empty() {
        facts.push("The report does not show:".into());
    }
    facts.extend(row.not_shown.iter().map(|fact| format!("- {fact}")));
    facts.extend(row.need.as_ref().map(source));
    let mut of = match &row.need {
        Some(_) => asks(row.metric, row.promised) + " asked for",
        None => of_promise(row.metric, row.ratio, row.promised, &row.binding),
    };
    if let Some(other) = row.other_reading {
        of += &format!(", or of {} by the other reading of its unit", figure(row.metric, other));
    }
    ClaimWords {
        word: row.word.name(),
        title: row.title(),
        step: row.step.clone(),
        measured: figure(row.metric, row.reported),
        of,
        facts,
        command: row.command.clone(),
    }
}

/// All figures of a report beside what is promised or needed.
pub fn comparison(c: &ReportComparison) -> String {
    let mut out = wrap("\nCompared  ", &compared_with(c));
    out.extend(c.rows.iter().map(|row| of_compared(row).paragraph(&SavedAs::default())));
    out.extend(c.not_compared.iter().map(|text| labelled("not compared", text)));
    out.extend(c.notes.iter().map(|note| labelled("note", note)));
    out + &labelled("note", NO_VERDICT)
}

/// What a report was held against, in words.
pub fn compared_with(c: &ReportComparison) -> String {
    let of_promise = c.rows.iter().any(|row| row.need.is_none());
    let tolerance = if of_promise { format!(", tolerance {}", percent(c.tolerance)) } else { String::new() };
    format!("against {}{tolerance}", c.against)
}

/// The limit of a need in words: `at most 10 ms`.
pub fn asks(metric: Metric, limit: f64) -> String {
    let side = if metric.less_is_better() { "at most" } else { "at least" };
    format!("{side} {}", figure(metric, limit))
}

fn of_promise(metric: Metric, ratio: f64, promised: f64, binding: &str) -> String {
    format!("{} % of {} ({binding})", significant(ratio * 100.0), figure(metric, promised))
}

fn source(need: &JudgedNeed) -> String {
    format!("source: {}; {}; confidence {}", need.source, need.as_of, need.confidence.name())
}

/// The interval of a reported figure and the limit, in words.
fn interval(row: &Compared) -> String {
    let (limit, ends) = figures(row.metric, row.limit, &[row.low, row.high]);
    match (row.interval, row.low < row.high) {
        (IntervalBasis::Printed, false) => format!("the report tells no spread; the limit is {limit}"),
        (basis, _) => format!("{} {} to {}; the limit is {limit}", basis.words(), ends[0], ends[1]),
    }
}

/// How much of the time delivered, and what is promised of that, in words.
fn delivered(d: &Delivered, outcome: Outcome) -> String {
    let is_open = d.answer == Some(Outcome::Inconclusive) && outcome != Outcome::Pass;
    let promised = match d.promised {
        Some(share) if is_open => {
            format!("; {} % are promised, which this run is too short to show", significant(share * 100.0))
        }
        Some(share) => format!("; {} % are promised", significant(share * 100.0)),
        None => "; no share of time is promised".into(),
    };
    let (low, high) = (rounded_down(d.low), rounded_up(d.high));
    format!(
        "{} % of the seconds delivered {} % of the limit or more (95 % bounds {low} and {high} %){promised}",
        rounded_down(d.share),
        (DELIVERED * 100.0).round()
    )
}

/// A share as percent that never rounds up to all of it.
fn rounded_down(share: f64) -> String {
    if share >= 1.0 { "100".into() } else { format!("{:.1}", (share * 1000.0).floor() / 10.0) }
}

/// A share as percent that is never rounded down.
fn rounded_up(share: f64) -> String {
    if share >= 1.0 { "100".into() } else { format!("{:.1}", (share * 1000.0).ceil() / 10.0) }
}
