//! What held the volume back, as a card on the page: one line for each cause, with a bar for each rate that was compared.

use super::verdict_section::looks;
use crate::record::{Outcome, Record};
use crate::report::cause_words::{self, CauseLine};
use crate::unit::{micro, significant};

/// A bar of a rate.
pub struct RateBar {
    /// What was changed.
    pub label: String,
    /// The rate.
    pub rate: String,
    /// Its length in percent of the highest one of the row.
    pub length: String,
}

/// A cause.
pub struct CauseRowOfPage {
    /// Its colour: `bad` where it was found, `good` where it is excluded, `doubt` for a question.
    pub class: &'static str,
    /// Its sign, as the path of an SVG of 24 by 24.
    pub icon: &'static str,
    /// The mark in words.
    pub mark: &'static str,
    /// The cause.
    pub cause: &'static str,
    /// What was tried.
    pub tried: String,
    /// What it showed.
    pub result: String,
    /// The rates.
    pub bars: Vec<RateBar>,
}

/// The card.
pub struct CauseSection {
    /// The step whose promise it is about.
    pub step: String,
    /// Its rows: the causes that were found, and then those that are excluded.
    pub rows: Vec<CauseRowOfPage>,
    /// The causes that were not tried, each with the reason.
    pub untried: Vec<String>,
}

/// The card of a Record; none where its run looked for no cause.
pub fn of(record: &Record) -> Option<CauseSection> {
    let table = record.causes.as_ref()?;
    let (untried, lines): (Vec<_>, Vec<_>) =
        cause_words::lines(table).into_iter().partition(|line| line.mark == "-");
    let (found, rest): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.mark != "no");
    let rows = found.into_iter().chain(rest).map(row).collect();
    let untried = untried.iter().map(|line| micro(&format!("{} ({})", line.cause, line.result))).collect();
    Some(CauseSection { step: table.step.clone(), rows, untried })
}

/// The text with an arrow in place of its signs.
fn drawn(text: &str) -> String {
    micro(text).replace("->", "→")
}

fn row(line: CauseLine) -> CauseRowOfPage {
    let ((class, icon), mark) = match line.mark {
        "YES" => (looks(Outcome::Fail), "found"),
        "part" => (looks(Outcome::Fail), "took part"),
        "no" => (looks(Outcome::Pass), "excluded"),
        _ => (looks(Outcome::Inconclusive), "to be asked"),
    };
    let highest = line.rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let bar = |(label, rate): (String, f64)| RateBar {
        label: micro(&label),
        rate: significant(rate),
        length: format!("{:.1}", 100.0 * rate / highest.max(f64::MIN_POSITIVE)),
    };
    CauseRowOfPage {
        class,
        icon,
        mark,
        cause: line.cause,
        tried: drawn(&line.tried),
        result: drawn(&line.result),
        bars: line.rates.into_iter().map(bar).collect(),
    }
}
