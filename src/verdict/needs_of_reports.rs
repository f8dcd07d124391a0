//! The needs of applications, held against the report of another tool: counts and percentiles, and no samples.
//!
//! Only needs of flushes are judged: a report tells these apart whatever its job was called. Neighbouring flushes depend on each other, so
//! that so many of them count as one, and a run too short to quote decides nothing.

use super::claims_of_reports::{DEPENDENT, ENOUGH, QUOTABLE, finding};
use crate::diagnose::Summary;
use crate::fit::{FigureKind, FitNeed};
use crate::record::{Metric, ReportedStep};
use crate::sample::Direction;
use crate::stats::level::{Answer, ClaimAnswer, share_bounds};
use crate::unit::{Nanos, significant};

/// Whether a need can be judged by the flushes of a report.
pub(super) fn is_about(need: &FitNeed, told: &ReportedStep) -> bool {
    need.figure.direction == Some(Direction::Sync) && told.sync.is_some()
}

/// The figure of a need in a report, with its answer; nothing where the report does not tell it.
pub(super) fn answer(
    need: &FitNeed,
    told: &ReportedStep,
    summary: &Summary,
) -> Option<(Metric, ClaimAnswer, Vec<String>)> {
    let sync = told.sync.as_ref()?;
    let (window, limit) = (summary.window?, need.bound.value());
    let count = sync.count.get().or(sync.latency.samples.get())? as f64;
    let (metric, value, bounds) = match need.figure.kind {
        FigureKind::Iops => (Metric::Iops, count / window.as_seconds(), None),
        FigureKind::Latency(figure) => {
            let share = figure.share()?;
            let known = |name: &String| name.parse::<f64>().ok().map(|percent| percent / 100.0);
            let at =
                || sync.latency.percentiles.iter().filter_map(|(name, v)| Some((known(name)?, v.0 as f64)));
            let value = at().find(|(s, _)| (s - share).abs() < 1e-9)?.1;
            let effective = (count / DEPENDENT).max(1.0);
            let (low, high) = share_bounds(share * effective, effective);
            // The nearest percentiles that the report has outside the interval of ranks.
            let below = at().filter(|(s, _)| *s <= low).map(|(_, v)| v).reduce(f64::max).unwrap_or(0.0);
            let above = at().filter(|(s, _)| *s >= high).map(|(_, v)| v).reduce(f64::min);
            (Metric::Percentile, value, Some((below, above.unwrap_or(sync.latency.max.0 as f64))))
        }
        FigureKind::Throughput | FigureKind::Over(_) => return None,
    };
    let (low, high) = bounds.unwrap_or((value, value));
    let (kept, broken) = match metric.less_is_better() {
        true => (high <= limit, low > limit),
        false => (low >= limit, high < limit),
    };
    let mut found = finding(value, limit, bounds, None);
    let reason = if window < QUOTABLE {
        found.more_seconds = Some((ENOUGH.0 - window.0).div_ceil(1_000_000_000));
        let met = if metric.less_is_better() { value <= limit } else { value >= limit };
        let words = if met { "it was met" } else { "it was missed" };
        format!("{words} for these {} s, which is too short to decide", significant(window.as_seconds()))
    } else if kept {
        found.answer = Answer::Pass;
        String::new()
    } else if broken {
        found.answer = Answer::Fail;
        String::new()
    } else {
        found.more_seconds = Some(Nanos(ENOUGH.0.max(window.0)).0.div_ceil(1_000_000_000));
        "the figure lies too near to the limit for the percentiles that the report has".into()
    };
    Some((metric, found, Some(reason).into_iter().filter(|r| !r.is_empty()).collect()))
}
