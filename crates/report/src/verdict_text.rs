//! The verdict and what was found, as text of at most 80 columns.

use super::layout::{wrap, wrap_command};
use super::{cause_words, compared_text, headline};
use volproof_base::unit::significant;
use volproof_judge::{self as judge, figure, figures};
use volproof_record::{Claim, Delivered, Diagnosis, Finding, Outcome, Record, SavedAs, Verdict};

/// Width of the column of outcomes.
const COLUMN: usize = 14;

/// Findings and verdict as the text that follows a Record's tables.
pub fn of_record(record: &Record) -> String {
    let (found, judged) = judge::judged(record);
    let compared = record.compared.as_ref().map(compared_text::comparison).unwrap_or_default();
    let verdict = judged.map(|v| verdict(&v, &record.saved_as)).unwrap_or_default();
    findings(&found) + &compared + &verdict + &cause_words::of_record(record)
}

/// The verdict with all its claims; `file` is that of its Record.
pub fn verdict(v: &Verdict, file: &SavedAs) -> String {
    let word = v.outcome.map_or("nothing was judged", Outcome::name);
    let against = headline::against(&Verdict { untested: Vec::new(), ..v.clone() });
    wrap("\nVerdict  ", &format!("{word} {against}")) + &claims(v, file)
}

/// One paragraph per claim, and what was not tested.
pub fn claims(v: &Verdict, file: &SavedAs) -> String {
    let mut out = String::new();
    for claim in &v.claims {
        out.push_str(&self::claim(claim, file));
    }
    if !v.beyond.is_empty() {
        out.push_str("  Higher grades than the one asked for\n");
    }
    for claim in &v.beyond {
        out.push_str(&self::claim(claim, file));
    }
    for u in &v.untested {
        out.push_str(&wrap(&format!("  {:COLUMN$}", "not tested"), &format!("{}: {}", u.title(), u.reason)));
        out.push_str(&command(u.command.as_deref(), file));
    }
    for note in &v.notes {
        out.push_str(&wrap(&format!("  {:COLUMN$}", "note"), note));
    }
    out
}

/// The limit of a need in words: `at most 10 ms`.
pub fn asks(c: &Claim) -> String {
    let side = if c.metric.less_is_better() { "at most" } else { "at least" };
    format!("{side} {}", figure(c.metric, c.promised))
}

/// The bounds of a measured figure; each of them holds at 95 %.
pub fn bounds(c: &Claim) -> Option<String> {
    let (low, high) = c.bounds?;
    let name = c.metric.bounds_name();
    Some(format!("{name} {} and {}", figure(c.metric, low.max(0.0)), figure(c.metric, high)))
}

fn claim(c: &Claim, file: &SavedAs) -> String {
    let bounds: Vec<f64> = c.bounds.iter().flat_map(|(low, high)| [*low, *high]).collect();
    let (limit, texts) = figures(c.metric, c.limit, &[&[c.measured], &bounds[..]].concat());
    let lead = " ".repeat(COLUMN + 2);
    let what = match &c.need {
        Some(need) => {
            format!("{}: {} in {}: {}, {}", need.whose(), need.figure, c.step, texts[0], asks(c))
        }
        None => format!(
            "{} in {}: {}, {} % of {} ({})",
            c.metric.name(),
            c.step,
            texts[0],
            significant(c.ratio * 100.0),
            figure(c.metric, c.promised),
            c.binding
        ),
    };
    let mut out = wrap(&format!("  {:COLUMN$}", c.outcome.name()), &what);
    if let [low, high] = &texts[1..] {
        out.push_str(&wrap(
            &lead,
            &format!("{} {low} and {high}; the limit is {limit}", c.metric.bounds_name()),
        ));
    }
    if let Some(d) = &c.delivered {
        out.push_str(&wrap(&lead, &delivered(d)));
    }
    if !c.reason.is_empty() {
        out.push_str(&wrap(&lead, &c.reason));
    }
    if let Some(need) = &c.need {
        let (source, as_of, sure) = (&need.source, &need.as_of, need.confidence.name());
        out.push_str(&wrap(&lead, &format!("source: {source}; {as_of}; confidence {sure}")));
    }
    out.push_str(&command(c.command.as_deref(), file));
    out
}

/// How much of the time delivered, and what is promised of that, in words.
pub fn delivered(d: &Delivered) -> String {
    let of_it = match d.promised {
        Some(p) if d.answer == Some(Outcome::Inconclusive) => {
            format!(
                "; the provider promises {} %, which this run is too short to show",
                significant(p * 100.0)
            )
        }
        Some(p) => format!("; the provider promises {} %", significant(p * 100.0)),
        None => "; the provider promises no share of time".into(),
    };
    // What a refuted promise rests on is the most that the share can be. Neighbouring seconds count as one, so that a small share by itself says
    // next to nothing of all seconds.
    let bound = match d.answer == Some(Outcome::Fail) {
        true => Some(format!("at most {}", percent_up(d.high))),
        false => (d.share >= 0.5).then(|| format!("at least {}", percent(d.low))),
    };
    let bound =
        bound.map_or(String::new(), |bound| format!(" (with 95 % confidence, {bound} % of all seconds do)"));
    format!(
        "{} % of the seconds delivered at least 90 % of the promise less its tolerance{bound}{of_it}",
        percent(d.share)
    )
}

/// The command that can decide; broken at blanks, so that it stays one when it is copied with a backslash.
fn command(line: Option<&str>, file: &SavedAs) -> String {
    let lead = format!("{}-> ", " ".repeat(COLUMN + 2));
    line.map_or_else(String::new, |line| wrap_command(&lead, &file.in_command(line)))
}

/// A share as percent that never rounds up to all of it.
fn percent(share: f64) -> String {
    if share >= 1.0 { "100".into() } else { format!("{:.1}", (share * 1000.0).floor() / 10.0) }
}

/// A share as percent that is never rounded down.
fn percent_up(share: f64) -> String {
    if share >= 1.0 { "100".into() } else { format!("{:.1}", (share * 1000.0).ceil() / 10.0) }
}

/// What is seen in the samples of each step.
pub fn findings(all: &[Diagnosis]) -> String {
    let found: String = all.iter().flat_map(|d| &d.findings).map(|f| finding(&f.step, f)).collect();
    if found.is_empty() { found } else { format!("\nSeen in the samples\n{found}") }
}

fn finding(step: &str, f: &Finding) -> String {
    let mut out = wrap("  ", &format!("{step}: {} [{}, {}]", f.headline, f.code, f.confidence.name()));
    out.extend(f.evidence.iter().map(|line| wrap("      - ", line)));
    out + &wrap("      -> ", &f.advice)
}
