//! Latencies in the cells of tables, with their marks.

use super::layout::wrap;
use volproof_base::unit::Nanos;
use volproof_record::{LatencySummary, UNKNOWN};

pub(super) const COLUMNS: [&str; 6] = ["50", "90", "95", "99", "99.9", "99.99"];

/// The heads of the cells of latencies.
pub const LATENCY_HEADS: [&str; 8] = ["mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"];

/// Mean, percentiles and maximum; `shown` writes a latency.
pub(super) fn latency_cells(l: &LatencySummary, shown: fn(Nanos) -> String) -> Vec<String> {
    let percentiles = COLUMNS.iter().map(|name| l.marked(name, shown).unwrap_or_else(|| UNKNOWN.into()));
    let mean = at_least(l, l.known_mean(), shown);
    std::iter::once(mean).chain(percentiles).chain([at_least(l, l.known_max(), shown)]).collect()
}

/// A percentile with its mark.
pub(super) fn percentile(l: &LatencySummary, name: &str) -> String {
    l.marked(name, compact).unwrap_or_else(|| UNKNOWN.into())
}

/// The meaning of the marks that a table has.
pub(super) fn footnotes(table: &str) -> String {
    marks(table).into_iter().map(|(mark, words)| wrap(&format!("  {mark} "), words)).collect()
}

/// The marks of latencies that a table has, with their meaning.
pub(super) fn marks(table: &str) -> Vec<(char, &'static str)> {
    let known = [
        ('~', "differs too much from second to second to be quoted, or a stall is in it"),
        ('>', "arrivals that never completed: known only to be longer"),
    ];
    known
        .into_iter()
        .filter(|(mark, _)| table.contains(&format!(" {mark}")) || table.contains(&format!(" \\{mark}")))
        .collect()
}

/// The mean or the longest of some latencies, where it is known; with arrivals that never completed it is a lower bound.
pub(super) fn at_least(l: &LatencySummary, n: Option<Nanos>, shown: fn(Nanos) -> String) -> String {
    let mark = if l.censored > 0 { ">" } else { "" };
    n.map_or(UNKNOWN.into(), |n| format!("{mark}{}", shown(n)))
}

/// A latency in six characters or fewer: `82.4ms`.
pub(super) fn compact(n: Nanos) -> String {
    n.to_string().replace(' ', "")
}
