//! `percentiles-saturated`: percentiles of a report stand at the end of its tool's histogram.
//!
//! **Why it matters:** those percentiles are known only to be that long or longer.
//!
//! **What to do:** quote the mean and the longest latency.
//!
//! **Source:** the percentiles of the report, and its longest latency.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_record::contradictions_of_reports;

/// Percentiles of I/Os that took longer than the tool's histogram reaches.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = case.on_a_device()?;
    let beyond = t.report.parts().into_iter().find_map(|(name, f)| {
        let (_, table) = f.percentiles()?;
        let top = table.percentiles.values().max().copied()?;
        let longest = f.latency()?.1.max;
        (top >= contradictions_of_reports::LAST_BUCKET && longest.0 > (top.0 / 100).saturating_mul(102))
            .then_some((name, top, longest))
    });
    let (name, top, longest) = beyond?;
    Some(Doubt::new(
        Severity::Warning,
        DoubtCode::PercentilesSaturated,
        format!(
            "percentiles of {name} end at {top}, where fio's histogram ends, and the longest took {longest}: those at {top} are known only to be that long or longer"
        ),
        "quote the mean and the longest; percentiles above that need a log of latencies (write_lat_log)",
    ))
}
