//! What a provider counted, from files that a user saved: two outputs of `nvme amzn stats` or `ebsnvme`, and the metrics and events that the
//! providers' own commands print as JSON.
//!
//! `known_metric` is the table of what is read, `metric_series` reads JSON, `metric_csv` tables of the consoles, `page_text` the counters of AWS's page, `alignment` holds both beside the
//! steps of a Record by their time. Exact counters that cover one step are judged as the page is that a run reads itself; everything else is shown and
//! changes no outcome. Any key that the table does not name is skipped, so that no account, address or subscription can reach an output.
//! Nothing is asked of a provider, and no credentials are read. Times are nanoseconds since 1970.

mod alignment;
mod evidence_error;
mod known_metric;
mod metric_csv;
mod metric_series;
mod page_text;
mod rfc3339;

pub use alignment::{AlignedEvidence, EvidenceReading, EvidenceRow, PageUse, StepEvidence, hold_beside};
pub use evidence_error::EvidenceError;
pub use known_metric::{Meaning, commands};
pub use metric_series::MetricSeries;
pub use page_text::PageAt;

use rfc3339::moment;

/// A file as it was read.
#[derive(Clone, Debug)]
pub struct EvidenceText {
    /// Its name, for messages.
    pub origin: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// When the file was last written, where the system knows.
    pub written_ns: Option<i64>,
}

/// What files tell.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Metrics and events.
    pub series: Vec<MetricSeries>,
    /// Outputs of `nvme amzn stats`, the earliest first.
    pub pages: Vec<PageAt>,
}

/// Reads files, in any order.
///
/// # Errors
/// A file is no output of a known command, is cut off, or holds nothing.
pub fn read(files: &[EvidenceText]) -> Result<Evidence, EvidenceError> {
    let mut evidence = Evidence::default();
    for file in files {
        let text = String::from_utf8_lossy(&file.bytes);
        let (time_ns, text) = time_line(text.trim_start_matches('\u{feff}'));
        if let Some(page) = page_text::of_text(text) {
            let page = page.map_err(|lacks| EvidenceError::CutPage { origin: file.origin.clone(), lacks })?;
            let at_ns = time_ns.or(file.written_ns);
            let at_ns = at_ns.ok_or_else(|| EvidenceError::NoTime { origin: file.origin.clone() })?;
            evidence.pages.push(PageAt { at_ns, page, is_told: time_ns.is_some() });
        } else {
            evidence.series.extend(series_of(text, &file.origin)?);
        }
    }
    evidence.series.sort_by(|a, b| {
        (a.meaning, &a.points).partial_cmp(&(b.meaning, &b.points)).unwrap_or(std::cmp::Ordering::Equal)
    });
    evidence.pages.sort_by_key(|page| page.at_ns);
    if let [one] = &evidence.pages[..] {
        return Err(EvidenceError::OnePage { ios: one.page.reads.ios.saturating_add(one.page.writes.ios) });
    }
    Ok(evidence)
}

/// The metrics of a table of commas, or of JSON.
fn series_of(text: &str, origin: &str) -> Result<Vec<MetricSeries>, EvidenceError> {
    let is_json = text.trim_start().starts_with(['{', '[']);
    match metric_csv::read(text).filter(|_| !is_json) {
        Some(series) if series.is_empty() => {
            Err(EvidenceError::Empty { origin: origin.into(), command: "the provider's console (CSV)" })
        }
        Some(series) => Ok(series),
        None => metric_series::read(text, origin),
    }
}

/// The moment in the first line, as `date -u +%FT%TZ` prints it, and the text below it.
fn time_line(text: &str) -> (Option<i64>, &str) {
    let (first, rest) = text.trim_start().split_once('\n').unwrap_or((text, ""));
    match moment(first.trim()) {
        Some(at) => (Some(at), rest),
        None => (None, text),
    }
}
