//! The needs of applications, held against the report of another tool: counts and percentiles, and no samples.
//!
//! Two kinds of needs are judged. Needs of flushes: a report counts flushes apart, whatever its job was called. Neighbouring flushes depend
//! on each other, so that several of them count as one. And needs of rates without flushes, where the report has the published pattern and
//! block size. A run too short to quote decides nothing.

use super::claims_of_reports::{DEPENDENT, STUDENT, too_short};
use super::pass_of_reports::slow_samples;
use crate::diagnose::Summary;
use crate::fit::{FigureKind, FitCatalogue, FitNeed};
use crate::plan::Step;
use crate::record::{Metric, ReportedFigures, ReportedStep};
use crate::sample::Direction;
use crate::stats::limit_answer::{ClaimAnswer, LimitAnswer, share_bounds};
use crate::stats::{LEAST_QUOTABLE, RECOMMENDED};
use crate::unit::{Nanos, significant};

/// An I/O that takes this share of the run, or a gap of this share between samples of the rate, is a time in which nothing was delivered.
const HOLE: f64 = 0.02;

/// Why a mean that is met decides nothing.
const HOLED: &str = "the mean is met, but the volume may have delivered nothing for a part of the time";

/// Whether a need can be judged by a report.
pub(super) fn is_about(need: &FitNeed, reported: &ReportedStep) -> bool {
    match need.figure.direction {
        Some(Direction::Sync) => reported.timed_flushes().is_some(),
        _ => published(need, reported).is_some(),
    }
}

/// The published load of a need for a rate, where the report is of that load.
fn published(need: &FitNeed, reported: &ReportedStep) -> Option<Step> {
    let is_rate = matches!(need.figure.kind, FigureKind::Iops | FigureKind::Throughput);
    let step = FitCatalogue::shipped().plain_load(&need.step).filter(|_| is_rate)?;
    let open = step.fsync == 0 && step.sync.is_none() && step.arrivals_per_second().is_none();
    let block = step.single_block()?;
    let said = &reported.conditions;
    let same = said.pattern() == Some(step.rw) && said.block.get() == Some((block, block));
    let mixed_alike = step.rw.directions().len() < 2 || said.reads_percent.get() == Some(step.rwmix);
    (open && same && mixed_alike).then_some(step)
}

/// The rate of a need in a report of its load, with its answer.
fn rate(need: &FitNeed, reported: &ReportedStep, s: &Summary) -> Option<(Metric, ClaimAnswer, Vec<String>)> {
    let step = published(need, reported)?;
    let (metric, limit) = match need.figure.kind {
        FigureKind::Iops => (Metric::Iops, need.bound.value()),
        _ => (Metric::Throughput, need.bound.value()),
    };
    let of =
        |f: &ReportedFigures| if metric == Metric::Iops { f.iops.get() } else { f.bytes_per_second.get() };
    let value = match need.figure.direction {
        Some(Direction::Read) => of(reported.read.as_ref()?)?,
        Some(Direction::Write) => of(reported.write.as_ref()?)?,
        Some(_) => return None,
        None if metric == Metric::Iops => s.iops?,
        None => s.bytes_per_second?,
    };
    let window = s.window?;
    let bounds = spread(value, s);
    let (low, high) = bounds.unwrap_or_else(|| without_spread(value, reported));
    let mut found = ClaimAnswer::open(value, limit, bounds, None);
    let depth = u64::from(step.iodepth) * u64::from(step.numjobs);
    let waits = s.max.map_or(0.0, |max| max.as_seconds() - s.mean_ns.unwrap_or(0.0) / 1e9);
    let still = waits > HOLE * window.as_seconds() || reported.unsampled_share().is_some_and(|u| u > HOLE);
    let shallow = s.asked.filter(|asked| *asked < depth as f64);
    let unsure = if low >= limit {
        match s.direct == Some(true) || !step.direct {
            false => Some("the report does not show that the I/O was direct, as published: the page cache may have answered".into()),
            true => still.then(|| HOLED.into()),
        }
    } else {
        match (shallow, s.offered.is_some() || !s.pace_known) {
            (Some(asked), _) => {
                Some(format!("{asked:.0} requests in flight are less than the published {depth}"))
            }
            (None, true) => {
                Some("the report does not show that the load ran without a limit of its own".into())
            }
            (None, false) => slow_samples(reported, s, value, limit, HOLE),
        }
    };
    let compared = Compared { met: value >= limit, kept: low >= limit, broken: high < limit, window };
    let reasons = compared.answer(&mut found, unsure, "what the report tells of its spread");
    Some((metric, found, reasons))
}

/// The bounds of a rate by the samples of the whole rate, where the report has them.
fn spread(value: f64, s: &Summary) -> Option<(f64, f64)> {
    let (spread, n) = s.samples?;
    let half = STUDENT * spread * value / (n as f64 / DEPENDENT).max(1.0).sqrt();
    Some(((value - half).max(0.0), value + half))
}

/// The bounds of a rate without samples: none where the report has those of a part, and the rate itself where its tool tells no spread.
fn without_spread(value: f64, reported: &ReportedStep) -> (f64, f64) {
    if reported.tells_spread() { (0.0, f64::INFINITY) } else { (value, value) }
}

/// A figure of a report beside its limit.
struct Compared {
    /// The figure itself is on the good side.
    met: bool,
    /// All its bounds are on the good side.
    kept: bool,
    /// All its bounds are on the bad side.
    broken: bool,
    /// How long was measured.
    window: Nanos,
}

impl Compared {
    /// Puts the answer, and the time that would decide, into a finding; the reasons of an open answer. `unsure`: why bounds on one side decide
    /// nothing all the same. `spread`: what makes the bounds wide.
    fn answer(&self, found: &mut ClaimAnswer, unsure: Option<String>, spread: &str) -> Vec<String> {
        let reason = if self.window < LEAST_QUOTABLE {
            found.more_seconds = Some((RECOMMENDED.0 - self.window.0).div_ceil(1_000_000_000));
            Some(too_short(self.window, self.met))
        } else if self.kept || self.broken {
            if unsure.is_none() {
                found.answer = if self.kept { LimitAnswer::Pass } else { LimitAnswer::Fail };
            }
            unsure
        } else {
            found.more_seconds = Some(RECOMMENDED.0.max(self.window.0).div_ceil(1_000_000_000));
            Some(format!("the figure lies too near to the limit for {spread}"))
        };
        reason.into_iter().collect()
    }
}

/// The figure of a need in a report, with its answer; nothing where the report does not tell it.
pub(super) fn answer(
    need: &FitNeed,
    reported: &ReportedStep,
    summary: &Summary,
) -> Option<(Metric, ClaimAnswer, Vec<String>)> {
    if need.figure.direction != Some(Direction::Sync) {
        return rate(need, reported, summary);
    }
    let sync = reported.timed_flushes()?;
    let (window, limit) = (summary.window?, need.bound.value());
    let count = sync.count.get().or(sync.latency.samples.get())? as f64;
    let (metric, value, bounds) = match need.figure.kind {
        FigureKind::Iops => {
            let value = count / window.as_seconds();
            (Metric::Iops, value, spread(value, summary))
        }
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
    let (low, high) = bounds.unwrap_or_else(|| without_spread(value, reported));
    let (kept, broken) = match metric.less_is_better() {
        true => (high <= limit, low > limit),
        false => (low >= limit, high < limit),
    };
    let mut found = ClaimAnswer::open(value, limit, bounds, None);
    let met = if metric.less_is_better() { value <= limit } else { value >= limit };
    // The longest flush is a time in which the job did nothing else: where it is longer than the share that a percentile leaves, or than a rate may
    // lack, the figure hides that.
    let longest = sync.latency.max.as_seconds() / window.as_seconds();
    let still = longest.max(reported.unsampled_share().unwrap_or(0.0));
    let (hidden, tells) = match need.figure.kind {
        FigureKind::Latency(figure) => (1.0 - figure.share()?, "the percentiles that the report has"),
        _ => (HOLE, "what the report tells of its spread"),
    };
    let unsure = (kept && still > hidden).then(|| match metric {
        Metric::Iops => HOLED.to_string(),
        _ => format!(
            "nothing was flushed for {} % of the time, which the percentile does not show",
            significant(still * 100.0)
        ),
    });
    let reasons = Compared { met, kept, broken, window }.answer(&mut found, unsure, tells);
    Some((metric, found, reasons))
}
