//! Claims on the figures of a report: no samples, only means, spreads and percentiles.
//!
//! Promise, rule of reach and the four outcomes are those for samples. A report has no interval: bounds are made from the spread of its
//! rate over time, where the report tells that. A run too short to quote decides nothing.

use super::cap_wait::{self, LatencyLoad};
use super::claim::{Judge, PromisedRates, SLOW_ALONE, latency_promised};
use super::claim_terms::{ClaimTerms, ReadingsAnswer};
use super::excess::Excess;
use super::pass_of_reports::{
    KeptFigure, MEASURE_IT, slow_samples, slow_start_of_latency, without_submission, without_the_quick,
};
use super::reach_of_reports::low_priority;
use super::recommended_test::{Shows, TestedLoad};
use crate::catalogue::promised_level::PromiseDirection;
use crate::catalogue::volume_promise::{AtBlock, Reading};
use crate::record::StepFigures;
use crate::record::{Claim, JudgedPromise, Metric, Outcome, Record, ReportedStep, Untested};
use crate::stats::limit_answer::{ClaimAnswer, LimitAnswer};
use crate::stats::{LEAST_QUOTABLE, RECOMMENDED};
use crate::unit::{Nanos, significant};

/// Why a figure of a report decides nothing.
const TOO_NEAR: &str = "the figure lies too near to the limit for what the report tells of its spread";
/// Student's one-sided 95 % for ten batches: nine degrees of freedom (docs/method.md, "Verdict").
pub(super) const STUDENT: f64 = 1.833;
/// A figure without a spread, or with the spread of latencies alone, decides only where it is further from the limit than this share of itself.
const NEAR_THE_LIMIT: f64 = 0.01;
/// So many neighbouring samples count as one: rates that follow each other depend on each other.
pub(super) const DEPENDENT: f64 = 10.0;

impl Judge<'_> {
    /// The rate by its mean and the spread that the report tells.
    pub(super) fn rate_of_spread(&self, reported: &ReportedStep, rates: &PromisedRates) -> Option<Claim> {
        let s = self.summary();
        let metric = rates.metric();
        let pick = |iops: f64, bytes: f64| if metric == Metric::Iops { iops } else { bytes };
        let measured = pick(s.iops?, s.bytes_per_second?);
        let terms = ClaimTerms::of(self.judged_promise, &rates.least, &rates.most, |at: &AtBlock| {
            pick(at.iops, at.bytes)
        });
        let (least, most) = terms.readings();
        let bounds = s.samples.map(|(spread, n)| {
            let half = STUDENT * spread * measured / (n as f64 / DEPENDENT).max(1.0).sqrt();
            ((measured - half).max(0.0), measured + half)
        });
        // The spread of a part of the rate says nothing about the whole. The report of a tool that tells no spread is judged by its mean
        // alone.
        let partly = bounds.is_none() && reported.tells_spread();
        let unbound = if partly {
            (0.0, f64::INFINITY)
        } else {
            (measured * (1.0 - NEAR_THE_LIMIT), measured * (1.0 + NEAR_THE_LIMIT))
        };
        let (low, high) = bounds.unwrap_or(unbound);
        let limit_of = |promised: f64| promised * (1.0 - self.judged_promise.tolerance);
        let against = |promised: f64| match limit_of(promised) {
            limit if low >= limit => LimitAnswer::Pass,
            limit if high < limit => LimitAnswer::Fail,
            _ => LimitAnswer::Inconclusive,
        };
        let ReadingsAnswer { answer, by_most, reason: one_reading } =
            ReadingsAnswer::of(against(least), against(most));
        let promised = if by_most { most } else { least };
        let limit = limit_of(promised);
        let window = s.window?;
        let (mut more, mut exceeds) = (None, false);
        let (outcome, reason) = if window < LEAST_QUOTABLE {
            more = Some((RECOMMENDED.0 - window.0).div_ceil(1_000_000_000));
            (Outcome::Inconclusive, too_short(window, measured >= limit))
        } else if answer == LimitAnswer::Pass {
            match Excess::of(measured, window.as_seconds(), &terms) {
                Some(excess) => {
                    exceeds = excess.more_seconds.is_none();
                    more = excess.more_seconds;
                    (Outcome::Inconclusive, excess.reason)
                }
                None => match self.kept(reported, &s).rate_undone(measured, &terms) {
                    Some(reason) => (Outcome::Inconclusive, reason),
                    None => {
                        let shown = terms.burst_shown(measured, window.as_seconds());
                        (Outcome::Pass, shown.unwrap_or_default())
                    }
                },
            }
        } else if answer == LimitAnswer::Fail {
            let owner = rates.least.binding.owner();
            // The mean of a burst that ended lies anywhere between baseline and burst.
            let slow = || slow_samples(reported, &s, measured, limit, self.judged_promise.tolerance);
            let quick = || without_the_quick(reported);
            match terms.few_credits(measured, limit).or_else(quick).or_else(slow) {
                Some(reason) => (Outcome::Inconclusive, reason),
                None => (Outcome::Fail, format!("less than the {owner} cap")),
            }
        } else if let Some(reason) = one_reading {
            (Outcome::Inconclusive, reason.into())
        } else {
            more = Some(RECOMMENDED.as_seconds().max(window.as_seconds()) as u64);
            let reason = match partly {
                true => {
                    "the report does not tell how the whole rate spread over time, without which it decides nothing"
                }
                false => TOO_NEAR,
            };
            (Outcome::Inconclusive, reason.into())
        };
        let found = ClaimAnswer::open(measured, limit, bounds, more);
        let only_ours = self.needs_linux(&reason);
        let mut claim = self.claim(metric, outcome, promised, found, self.with_the_way_to_linux(reason));
        claim.binding = rates.least.binding.words().into();
        // No test decides what was bought, or which unit was meant.
        let tests_it = outcome == Outcome::Inconclusive && one_reading.is_none() && !exceeds && !only_ours;
        claim.command = self.better(Shows::Rate).filter(|_| tests_it);
        let short_of = measured < limit;
        Some(self.or_invalid(
            claim,
            short_of.then(|| self.reach_of_figures(&s, &terms.wanted(&rates.least))).flatten(),
        ))
    }

    /// A figure of the run that keeps its limit.
    fn kept<'a>(&'a self, reported: &'a ReportedStep, s: &'a StepFigures) -> KeptFigure<'a> {
        KeptFigure {
            record: self.record,
            conditions: self.conditions,
            reported,
            s,
            flushes: None,
            allowed: self.judged_promise.tolerance,
            volumes: self.judged_promise.promise.volumes.len(),
        }
    }

    /// The mean latency as the report tells it.
    pub(super) fn latency_of_mean(&self, reported: &ReportedStep, promised: Nanos) -> Option<Claim> {
        let s = self.summary();
        let (measured, promised) = (s.mean_ns?, promised.0 as f64);
        let limit = promised * (1.0 + self.judged_promise.tolerance);
        let spread = reported
            .parts()
            .iter()
            .filter_map(|(_, f)| f.latency())
            .map(|(_, l)| l.deviation)
            .fold(0.0, f64::max);
        let half = match s.ios.filter(|_| spread > 0.0) {
            Some(ios) => {
                (STUDENT * spread / (ios / DEPENDENT).max(1.0).sqrt()).max(NEAR_THE_LIMIT * measured)
            }
            None => NEAR_THE_LIMIT * measured,
        };
        let (outcome, reason) = match (measured <= limit, s.window? < LEAST_QUOTABLE) {
            (_, true) => (Outcome::Inconclusive, "the run is too short to decide".to_string()),
            _ if (measured - limit).abs() < half => (Outcome::Inconclusive, TOO_NEAR.into()),
            (true, false) => {
                match without_submission(reported, &s).or_else(|| self.kept(reported, &s).undone()) {
                    Some(reason) => (Outcome::Inconclusive, reason),
                    None => (Outcome::Pass, String::new()),
                }
            }
            (false, false) => {
                let slow =
                    || slow_start_of_latency(reported, &s, measured, limit, self.judged_promise.tolerance);
                let own = self.cap_wait().map(|wait| wait.reason).or_else(|| self.longer_ios(&s));
                let own = own.or_else(|| low_priority(self.conditions));
                match own.or_else(|| without_the_quick(reported)).or_else(slow) {
                    Some(reason) => (Outcome::Inconclusive, reason),
                    None => (Outcome::Fail, SLOW_ALONE.into()),
                }
            }
        };
        let due = s.offered.and_then(|rate| waited_for_the_volume(rate, s.mean_ns?, spread, limit));
        let (outcome, reason) = match due.filter(|_| outcome == Outcome::Pass) {
            Some(reason) => (Outcome::Inconclusive, reason),
            None => (outcome, reason),
        };
        let mut claim = self.claim(
            Metric::Latency,
            outcome,
            promised,
            ClaimAnswer::open(measured, limit, None, None),
            self.with_the_way_to_linux(reason.clone()),
        );
        claim.binding = "volume latency".into();
        let tests_it = outcome == Outcome::Inconclusive && !self.needs_linux(&reason);
        claim.command = self.better(Shows::Latency).filter(|_| tests_it);
        Some(self.or_invalid(claim, None))
    }

    /// Only volproof decides, and it does not run where the report was made: no command of the same tool does.
    fn needs_linux(&self, reason: &str) -> bool {
        self.conditions.on_windows() && reason.contains(MEASURE_IT)
    }

    /// A reason with what it takes to measure a volume that is attached to Windows.
    fn with_the_way_to_linux(&self, reason: String) -> String {
        match self.needs_linux(&reason) {
            true => reason.replace(
                MEASURE_IT,
                "attach the volume to a Linux machine and measure it there with volproof",
            ),
            false => reason,
        }
    }

    /// The figures of the step.
    pub(super) fn summary(&self) -> StepFigures {
        StepFigures::of(self.record, self.step)
    }

    /// The command of the test that shows a rate or a latency.
    pub(super) fn better(&self, shows: Shows) -> Option<String> {
        let pattern = self.conditions.pattern()?;
        let latency = latency_promised(self.judged_promise).map(|promised| {
            let load = cap_wait::latency_load(self.judged_promise, pattern, promised);
            // Several requests in flight wait for each other, whatever the limit.
            let wait = self.cap_wait().filter(|_| self.conditions.in_flight() == Some(1));
            LatencyLoad { rate: wait.map(|wait| wait.rate).or(load.rate), ..load }
        });
        let tested = TestedLoad {
            conditions: self.conditions,
            summary: &self.summary(),
            promise: &self.judged_promise.options,
        };
        tested.better(shows, latency.filter(|_| shows == Shows::Latency))?.command().cloned()
    }
}

/// Why a mean latency under a rate does not pass: a report has no times at which its I/Os were due, and by their spread they may have taken longer
/// than the limit from these on. Kingman's bound: evenly spaced arrivals wait at most rate * variance / (2 (1 - load)) for each other. Latencies in
/// nanoseconds, a spread of 0 where the report does not tell it.
fn waited_for_the_volume(rate: f64, mean: f64, spread: f64, limit: f64) -> Option<String> {
    let busy = rate * mean / 1e9;
    let most = match busy < 1.0 && spread > 0.0 {
        true => mean + rate / 1e9 * spread.powi(2) / (2.0 * (1.0 - busy)),
        false => f64::INFINITY,
    };
    let up_to = if most.is_finite() { format!("up to {}", Nanos(most as u64)) } else { "much longer".into() };
    (most > limit).then(|| {
        format!(
            "the mean is met, but counted from the time at which each was due, which no report tells, the I/Os may have taken {up_to} in the mean, by \
             the spread of their latencies: {MEASURE_IT}"
        )
    })
}

/// Why a figure of so short a run decides nothing, whichever side of the limit it lies on.
pub(super) fn too_short(window: Nanos, met: bool) -> String {
    let side = if met { "keeps" } else { "misses" };
    let seconds = significant(window.as_seconds());
    format!("the figure {side} the limit, but {seconds} s are too short to decide")
}

/// Why a promised metric was not judged, and the command that tests it. A rate that the report did not test is mentioned only beside a
/// PASS, whose scope it limits; else the author of the report tested something else.
pub fn untested(
    record: &Record,
    judged_promise: &JudgedPromise,
    metric: Metric,
    passed: bool,
) -> Option<Untested> {
    if metric != Metric::Latency {
        let read = PromiseDirection::Read;
        let promises = match metric {
            Metric::Iops => judged_promise.promise.iops_cap(read).is_some(),
            _ => judged_promise.promise.bytes_cap(read, Reading::Likely).is_some(),
        };
        let reason = format!("no run of the report shows the {} that is promised", metric.name());
        return (passed && promises).then_some(Untested { application: None, metric, reason, command: None });
    }
    let promised = latency_promised(judged_promise)?;
    let step = record.steps.iter().find(|s| record.conditions(s).pattern().is_some())?;
    let conditions = record.conditions(step);
    let judge = Judge { record, judged_promise, conditions: &conditions, step, beside: None };
    Some(Untested {
        application: None,
        metric,
        reason: format!("{promised} are promised for one request at a time, and no run shows that"),
        command: judge.better(Shows::Latency),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rated_load_passes_by_its_mean_only_where_its_spread_allows() {
        let of = |spread: f64| waited_for_the_volume(1000.0, 140_000.0, spread, 204_000.0);
        assert_eq!(of(50_000.0), None);
        // One I/O in 20,000 took 400 ms.
        let told = of(2_828_000.0).unwrap();
        assert!(told.contains("up to 4.79 ms"), "{told}");
        assert!(of(0.0).unwrap().contains("much longer"), "the report does not tell the spread");
    }
}
