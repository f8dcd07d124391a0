//! The verdict and what was found, as text of at most 80 columns.

use super::layout::{wrap, wrap_command};
use super::{compared_text, headline};
use crate::record::{Claim, Delivered, Diagnosis, Finding, Metric, Outcome, Record, Verdict};
use crate::unit::{grouped, mebibytes, significant};
use crate::verdict::{self, figure, figures};

/// Width of the column of outcomes.
const COLUMN: usize = 14;

/// Findings and verdict as the text that follows a Record's tables.
pub fn of_record(record: &Record) -> String {
    let (found, judged) = verdict::judged(record);
    let compared = record.compared.as_ref().map(compared_text::comparison).unwrap_or_default();
    findings(&found) + &compared + &judged.map(|v| verdict(&v)).unwrap_or_default()
}

/// What a burst at the start brought that the judged figure is without; none where there was no burst.
pub fn without_burst(c: &Claim) -> Option<String> {
    let burst = c.burst.as_ref()?;
    let what = if c.metric == Metric::Throughput {
        format!("{} MiB", mebibytes(burst.surplus))
    } else {
        format!("{} I/Os", grouped(burst.surplus.round() as u64))
    };
    Some(format!(
        "without the first {}, which brought {what} on top; the whole window did {}",
        burst.length(),
        figure(c.metric, c.whole_window)
    ))
}

/// The verdict with all its claims.
pub fn verdict(v: &Verdict) -> String {
    let word = v.outcome.map_or("nothing was judged", Outcome::name);
    let against = headline::against(&Verdict { untested: Vec::new(), ..v.clone() });
    wrap("\nVerdict  ", &format!("{word} {against}")) + &claims(v)
}

/// One paragraph per claim, and what was not tested.
pub fn claims(v: &Verdict) -> String {
    let mut out = String::new();
    for claim in &v.claims {
        out.push_str(&self::claim(claim));
    }
    if !v.beyond.is_empty() {
        out.push_str("  Higher grades, which decide nothing\n");
    }
    for claim in &v.beyond {
        out.push_str(&self::claim(claim));
    }
    for u in &v.untested {
        out.push_str(&wrap(&format!("  {:COLUMN$}", "not tested"), &format!("{}: {}", u.title(), u.reason)));
        out.push_str(&command(u.command.as_deref()));
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

fn claim(c: &Claim) -> String {
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
    if let Some(text) = without_burst(c) {
        out.push_str(&wrap(&lead, &text));
    }
    if let Some(cut) = &c.cut {
        out.push_str(&wrap(
            &lead,
            &format!(
                "the first {} s are a warm-up and were judged with the rest, which did {}",
                significant(cut.seconds),
                figure(c.metric, cut.per_second)
            ),
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
    out.push_str(&command(c.command.as_deref()));
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
    format!("{} % of the seconds delivered at least 90 % of the promise{bound}{of_it}", percent(d.share))
}

/// The command that can decide; broken at blanks, so that it stays one when it is copied with a backslash.
fn command(line: Option<&str>) -> String {
    line.map_or_else(String::new, |line| wrap_command(&format!("{}-> ", " ".repeat(COLUMN + 2)), line))
}

/// A share as percent that never rounds up to all of it.
fn percent(share: f64) -> String {
    if share >= 1.0 { "100".into() } else { format!("{:.1}", (share * 1000.0).floor() / 10.0) }
}

/// A share as percent that is never rounded down.
fn percent_up(share: f64) -> String {
    if share >= 1.0 { "100".into() } else { format!("{:.1}", (share * 1000.0).ceil() / 10.0) }
}

/// The limits of each step and what is wrong with the test, without what a doubt tells already.
pub fn findings(all: &[Diagnosis]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut out = String::from("\nWhat limited it\n");
    let mut of_tests = String::new();
    for d in all {
        let (limits, tests) = d.told();
        if limits.is_empty() {
            out += &wrap("  ", &format!("{}: {}", d.step, d.without_limit("above")));
        }
        out.extend(limits.into_iter().map(|f| finding(&d.step, f)));
        of_tests.extend(tests.into_iter().map(|f| finding(&d.step, f)));
    }
    if !of_tests.is_empty() {
        out += "\nWhat is wrong with the test\n";
        out += &of_tests;
    }
    out
}

fn finding(step: &str, f: &Finding) -> String {
    let mut out = wrap("  ", &format!("{step}: {} [{}, {}]", f.headline, f.code, f.confidence.name()));
    out.extend(f.evidence.iter().map(|line| wrap("      - ", line)));
    out + &wrap("      -> ", &f.advice)
}
