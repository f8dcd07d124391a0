//! Claims on the figures of a report: no samples, only means, spreads and percentiles.
//!
//! The same promise, the same reach and the same four values as for samples. What is lost is the interval: where the report tells how its
//! rate spread over time, bounds are made from that; a run too short to quote decides nothing either way.

use super::claim::{Judge, PromisedRates, SLOW_ALONE, latency_promised};
use super::claim_terms::ClaimTerms;
use super::excess::Excess;
use super::pass_of_reports::low_samples;
use super::recommended_test::{self, Shows};
use crate::catalogue::promised_level::PromiseDirection;
use crate::catalogue::volume_promise::{AtBlock, Reading};
use crate::diagnose::Summary;
use crate::record::{Claim, Claimed, Diagnosis, Metric, Outcome, Record, ReportedStep, Untested};
use crate::stats::level::{self, Answer};
use crate::unit::{Nanos, significant};

/// A rate from a shorter run is not quoted.
pub(super) const QUOTABLE: Nanos = Nanos::seconds(60);
/// Length of a run that decides.
pub(super) const ENOUGH: Nanos = Nanos::seconds(300);
/// Why a figure of a report decides nothing.
const TOO_NEAR: &str = "the figure lies too near to the limit for what the report tells of its spread";
/// Student's one-sided 95 % for ten batches: nine degrees of freedom (docs/method.md, "Verdict").
pub(super) const STUDENT: f64 = 1.833;
/// A figure without a spread, or with the spread of latencies alone, decides only where it is further from the limit than this share of itself.
const NEAR: f64 = 0.01;
/// So many neighbouring samples count as one: rates that follow each other depend on each other.
pub(super) const DEPENDENT: f64 = 10.0;

impl Judge<'_> {
    /// The rate by its mean and the spread that the report tells.
    pub(super) fn rate_of_spread(&self, told: &ReportedStep, rates: &PromisedRates) -> Option<Claim> {
        let s = self.summary();
        let metric = rates.metric();
        let pick = |iops: f64, bytes: f64| if metric == Metric::Iops { iops } else { bytes };
        let measured = pick(s.iops?, s.bytes_per_second?);
        let terms =
            ClaimTerms::of(self.claimed, &rates.least, &rates.most, |at: &AtBlock| pick(at.iops, at.bytes));
        let (least, most) = terms.judged();
        let limit = least * (1.0 - self.claimed.tolerance);
        let bounds = s.samples.map(|(spread, n)| {
            let half = STUDENT * spread * measured / (n as f64 / DEPENDENT).max(1.0).sqrt();
            ((measured - half).max(0.0), measured + half)
        });
        // A report that tells how a part of the rate spread says nothing of the whole; one of a tool that tells no spread has its mean alone.
        let partly = bounds.is_none() && told.tells_spread();
        let unbound =
            if partly { (0.0, f64::INFINITY) } else { (measured * (1.0 - NEAR), measured * (1.0 + NEAR)) };
        let (low, high) = bounds.unwrap_or(unbound);
        let window = s.window?;
        let mut more = None;
        let (outcome, reason) = if window < QUOTABLE {
            more = Some((ENOUGH.0 - window.0).div_ceil(1_000_000_000));
            let words = if measured >= limit { "it was kept" } else { "it was missed" };
            let seconds = significant(window.as_seconds());
            let reason = format!("{words} for these {seconds} s, which is too short to decide");
            (Outcome::Inconclusive, reason)
        } else if low >= most * (1.0 - self.claimed.tolerance) {
            match Excess::of(measured, window.as_seconds(), &terms) {
                Some(excess) => {
                    more = excess.more_seconds;
                    (Outcome::Inconclusive, excess.reason)
                }
                None if self.tells_only_the_sum() => {
                    let reason = "the report tells only the sum of several volumes, one of which may fall short: measure each by itself";
                    (Outcome::Inconclusive, reason.into())
                }
                None => match low_samples(told, &s, measured, &terms) {
                    Some(reason) => (Outcome::Inconclusive, reason),
                    None => {
                        let (outcome, reason) = self.unless_it_stood_still(told, &s);
                        let shown = terms.burst_shown(measured, window.as_seconds());
                        (outcome, shown.filter(|_| outcome == Outcome::Pass).unwrap_or(reason))
                    }
                },
            }
        } else if high < limit {
            let owner = rates.least.binding.owner();
            // The mean of a burst that ended lies anywhere between.
            match terms.few_credits(measured, limit) {
                Some(reason) => (Outcome::Inconclusive, reason),
                None => (Outcome::Fail, format!("less than the {owner} cap")),
            }
        } else {
            more = Some(ENOUGH.as_seconds().max(window.as_seconds()) as u64);
            let reason = match partly {
                true => {
                    "the report does not tell how the whole rate spread over time, without which it decides nothing"
                }
                false => TOO_NEAR,
            };
            (Outcome::Inconclusive, reason.into())
        };
        let found = finding(measured, limit, bounds, more);
        let mut claim = self.claim(metric, outcome, least, found, reason);
        claim.binding = rates.least.binding.words().into();
        claim.command = self.better(Shows::Rate).filter(|_| outcome == Outcome::Inconclusive);
        let short_of = measured < limit;
        Some(
            self.valid(
                claim,
                short_of.then(|| self.reach_of_figures(&s, &terms.wanted(&rates.least))).flatten(),
            ),
        )
    }

    /// The promise is that of several volumes, which were several targets of one job.
    fn tells_only_the_sum(&self) -> bool {
        let targets = self.conditions.targets.as_ref().map_or(0, |t| t.len());
        targets > 1 && self.claimed.promise.volumes.len() > 1
    }

    /// The mean latency as the report tells it.
    pub(super) fn latency_of_mean(&self, told: &ReportedStep, promised: Nanos) -> Option<Claim> {
        let s = self.summary();
        let (measured, promised) = (s.mean_ns?, promised.0 as f64);
        let limit = promised * (1.0 + self.claimed.tolerance);
        let spread = told
            .parts()
            .iter()
            .filter_map(|(_, f)| f.latency())
            .map(|(_, l)| l.deviation)
            .fold(0.0, f64::max);
        let half = match s.ios.filter(|_| spread > 0.0) {
            Some(ios) => (STUDENT * spread / (ios / DEPENDENT).max(1.0).sqrt()).max(NEAR * measured),
            None => NEAR * measured,
        };
        let (outcome, reason) = match (measured <= limit, s.window? < QUOTABLE) {
            (_, true) => (Outcome::Inconclusive, "the run is too short to decide".to_string()),
            _ if (measured - limit).abs() < half => (Outcome::Inconclusive, TOO_NEAR.into()),
            (true, false) => self.unless_it_stood_still(told, &s),
            (false, false) => match self.cap_wait() {
                Some(wait) => (Outcome::Inconclusive, wait.reason),
                None => (Outcome::Fail, SLOW_ALONE.into()),
            },
        };
        let mut claim =
            self.claim(Metric::Latency, outcome, promised, finding(measured, limit, None, None), reason);
        claim.binding = "volume latency".into();
        claim.command = self.better(Shows::Latency).filter(|_| outcome == Outcome::Inconclusive);
        Some(self.valid(claim, None))
    }

    /// The figures of the step.
    pub(super) fn summary(&self) -> Summary {
        Summary::of(self.record, self.step)
    }

    /// The command that shows it; the one for the rate where there is none.
    pub(super) fn better(&self, shows: Shows) -> Option<String> {
        let all =
            recommended_test::better(self.conditions, &self.summary(), self.diagnosis, &self.claimed.options);
        let found = all.iter().find(|b| b.shows == shows).or(all.first())?;
        found.command().cloned()
    }
}

pub(super) fn finding(
    value: f64,
    limit: f64,
    bounds: Option<(f64, f64)>,
    more: Option<u64>,
) -> level::ClaimAnswer {
    level::ClaimAnswer {
        answer: Answer::Inconclusive,
        value,
        limit,
        ratio: value / limit,
        bounds,
        more_seconds: more,
    }
}

/// Why nothing was judged of a metric that is promised, and the command that tests it. A rate that the report did not test is mentioned beside
/// a PASS alone, which it limits: its author tested something else.
pub fn untested(
    record: &Record,
    claimed: &Claimed,
    found: &[Diagnosis],
    metric: Metric,
    passed: bool,
) -> Option<Untested> {
    if metric != Metric::Latency {
        let read = PromiseDirection::Read;
        let promises = match metric {
            Metric::Iops => claimed.promise.iops_cap(read).is_some(),
            _ => claimed.promise.bytes_cap(read, Reading::Likely).is_some(),
        };
        let reason = format!("no run of the report shows the {} that is promised", metric.name());
        return (passed && promises).then_some(Untested { application: None, metric, reason, command: None });
    }
    let promised = latency_promised(claimed)?;
    let step = record.steps.iter().find(|s| record.conditions(s).pattern().is_some())?;
    let diagnosis = found.iter().find(|d| d.step == step.name)?;
    let conditions = record.conditions(step);
    let judge = Judge { record, claimed, conditions: &conditions, step, diagnosis, beside: None };
    Some(Untested {
        application: None,
        metric,
        reason: format!("{promised} are promised for one request at a time, and no run shows that"),
        command: judge.better(Shows::Latency),
    })
}
