//! What held the volume back, as a card on the page: one line for each cause, with a bar for each rate that was compared.

use crate::cause_words::{self, CauseLine};
use volproof_base::unit::{micro, significant};
use volproof_record::Record;

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
    /// It held the volume back, alone or in part.
    pub found: bool,
    /// Its mark: `YES`, `part`, `no`, `ask`.
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
    /// The step whose load the experiments vary, in words.
    pub step: String,
    /// Its rows: the causes that were found, and then those that are excluded.
    pub rows: Vec<CauseRowOfPage>,
    /// The causes that were not tried, each with the reason.
    pub untried: Vec<String>,
}

/// The card of a Record; none where its run looked for no cause.
pub fn of(record: &Record) -> Option<CauseSection> {
    let table = record.causes.as_ref()?;
    let all = cause_words::lines(table);
    let untried = cause_words::untried(&all).iter().map(|cause| micro(cause)).collect();
    let lines: Vec<CauseLine> = all.into_iter().filter(|line| line.mark != "-").collect();
    let (found, rest): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.mark != "no");
    let rows = found.into_iter().chain(rest).map(row).collect();
    Some(CauseSection { step: micro(&cause_words::of_step(record, table)), rows, untried })
}

/// The text with an arrow in place of its signs.
fn drawn(text: &str) -> String {
    micro(text).replace("->", "→")
}

fn row(line: CauseLine) -> CauseRowOfPage {
    let highest = line.rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let bar = |(label, rate): (String, f64)| RateBar {
        label: micro(&label),
        rate: significant(rate),
        length: format!("{:.1}", 100.0 * rate / highest.max(f64::MIN_POSITIVE)),
    };
    CauseRowOfPage {
        found: matches!(line.mark, "YES" | "part"),
        mark: line.mark,
        cause: line.cause,
        tried: drawn(&line.tried),
        result: drawn(&line.result),
        bars: line.rates.into_iter().map(bar).collect(),
    }
}
