//! Claims on the figures of a report: no samples, only means, spreads and percentiles.
//!
//! The same promise, the same reach and the same four values as for samples. What is lost is the interval: where the report tells how its
//! rate spread over time, bounds are made from that; a run too short to quote decides nothing either way.

use super::claim::{Judge, PromisedRates, SLOW_ALONE, figure, latency_promised};
use super::reach::{Reach, held_by_slow, plenty};
use super::recommended_test::{self, Shows};
use super::window::{ClaimTerms, DELIVERED, Excess};
use crate::catalogue::promised_level::PromiseDirection;
use crate::catalogue::volume_promise::{AtBlock, Reading};
use crate::diagnose::Summary;
use crate::record::{Claim, Claimed, Diagnosis, Metric, Outcome, Record, ReportedStep, Untested};
use crate::stats::level::{self, Answer};
use crate::stats::little::{depth_needed, in_flight, rate_reachable};
use crate::unit::{Nanos, grouped, significant};

/// A rate from a shorter run is not quoted.
pub(super) const QUOTABLE: Nanos = Nanos::seconds(60);
/// Length of a run that decides.
pub(super) const ENOUGH: Nanos = Nanos::seconds(300);
/// With less than this share of the requests in flight that were asked for, the load was not there to fill the queue.
const BUSY: f64 = 0.5;
/// No network volume answers sooner, and memory copies so many bytes in a nanosecond.
const FASTEST: Nanos = Nanos::micros(20);
const COPIED: u64 = 4;
/// Why a figure of a report decides nothing.
const TOO_NEAR: &str = "the figure lies too near to the limit for what the report tells of its spread";
/// Student's one-sided 95 % for ten batches: nine degrees of freedom (docs/method.md, "Verdict").
pub(super) const STUDENT: f64 = 1.833;
/// A figure without a spread, or with the spread of latencies alone, decides only where it is further from the limit than this share of itself.
const NEAR: f64 = 0.01;
/// Share of the samples that may lie below 90 % of the promise, where the provider promises no share of the time.
const BELOW: f64 = 0.1;
/// So many neighbouring samples count as one: rates that follow each other depend on each other.
pub(super) const DEPENDENT: f64 = 10.0;

impl Judge<'_> {
    /// The rate by its mean and the spread that the report tells.
    pub(super) fn rate_of_spread(&self, told: &ReportedStep, rates: &PromisedRates) -> Option<Claim> {
        let s = self.summary();
        let metric = rates.metric();
        let pick = |iops: f64, bytes: f64| if metric == Metric::Iops { iops } else { bytes };
        let measured = pick(s.iops?, s.bytes_per_second?);
        let (least, most) =
            (pick(rates.least.iops, rates.least.bytes), pick(rates.most.iops, rates.most.bytes));
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
            let at = |at: &AtBlock| pick(at.iops, at.bytes);
            let terms = ClaimTerms::of(self.claimed, &rates.least, &rates.most, at);
            let excess =
                (!self.claimed.judge_burst).then(|| Excess::of(measured, window.as_seconds(), &terms));
            match excess.flatten() {
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
                    None => self.unless_it_stood_still(told, &s),
                },
            }
        } else if high < limit {
            let owner = rates.least.binding.owner();
            (Outcome::Fail, format!("less than the {owner} cap"))
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
        Some(self.valid(claim, short_of.then(|| self.reach_of_figures(&s, &rates.least)).flatten()))
    }

    /// The promise is that of several volumes, which were several targets of one job.
    fn tells_only_the_sum(&self) -> bool {
        let targets = self.conditions.targets.as_ref().map_or(0, |t| t.len());
        targets > 1 && self.claimed.promise.volumes.len() > 1
    }

    /// Where the report does not tell whether the page cache took the I/O: an I/O too short for any volume, or no latency at all, in words.
    fn as_in_memory(&self, s: &Summary) -> Option<String> {
        let copied = s.block.map_or(0, |block| block.0 / COPIED);
        let quick = |min: &Nanos| min.0 < FASTEST.0 + copied;
        if !self.conditions.direct.is_unknown() || s.mean_ns.is_some() && !s.min.as_ref().is_some_and(quick) {
            return None;
        }
        let option = self.record.report.as_ref()?.program.direct_option();
        let told = match s.min.filter(|_| s.mean_ns.is_some()) {
            Some(shortest) => {
                format!("the shortest I/O took {shortest}, as in memory, and the report does not show")
            }
            None => "the report tells no latency, which would show whether memory answered, nor".into(),
        };
        Some(format!(
            "{told} whether {option} was set: run it with {option}, and keep the command line with the report"
        ))
    }

    /// A PASS, unless the report shows that the volume may have done nothing for more of the time than the tolerance allows.
    fn unless_it_stood_still(&self, told: &ReportedStep, s: &Summary) -> (Outcome, String) {
        if let Some(reason) = self.as_in_memory(s) {
            return (Outcome::Inconclusive, reason);
        }
        let seconds = s.window.unwrap_or_default().as_seconds();
        let allowed = self.claimed.tolerance;
        // Where requests wait in a queue, all of them take long.
        let beyond = |max: &Nanos| max.as_seconds() - s.mean_ns.unwrap_or(0.0) / 1e9 > allowed * seconds;
        let hole = if let Some(longest) = s.max.filter(beyond) {
            let share = significant(100.0 * longest.as_seconds() / seconds);
            format!(
                "the longest I/O took {longest}, {share} % of the run, in which the volume may have delivered nothing"
            )
        } else if let Some(share) = told.unsampled_share().filter(|share| *share > allowed) {
            let share = significant(100.0 * share);
            format!(
                "for {share} % of the time the report has no sample of the rate, as where nothing completed"
            )
        } else {
            return (Outcome::Pass, String::new());
        };
        let advice = "find out why, or run it again to see whether it happens again";
        (Outcome::Inconclusive, format!("the mean is met, but {hole}: {advice}"))
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

    /// Why the depth could not have reached the rate, by Little's law at the volume's own latency. A report without latencies shows the mean
    /// time of a request alone, which a shallow queue may have set as well as the volume.
    fn reach_of_figures(&self, s: &Summary, promised: &AtBlock) -> Option<Reach> {
        let iops = promised.iops;
        let command = self.better(Shows::Rate).unwrap_or_default();
        if let Some(offered) = s.offered.filter(|offered| *offered < iops) {
            let reason = format!("only {} I/Os a second were asked for", figure(Metric::Iops, offered));
            return Some(Reach { reason, command });
        }
        if let Some(pauses) = s.pauses.as_ref().filter(|_| s.mean_ns.is_none()) {
            let reason = format!(
                "the load paused between its I/Os ({pauses}), and the report tells no latency of them"
            );
            return Some(Reach { reason, command });
        }
        let by_flushes = s.flushes.and_then(|f| Some((f.count? / s.ios?, f.mean_ns)));
        // Requests in flight, I/Os and flushes together, of a load that never waits.
        let flushing = by_flushes.map_or(0.0, |(each, mean)| each * mean);
        let busy = s.mean_ns.zip(s.iops).map(|(mean, x)| in_flight(x, mean + flushing));
        if let Some((busy, asked)) = busy.zip(s.asked).filter(|(busy, asked)| *busy < BUSY * asked) {
            let reason = format!(
                "only {} of {} requests were in flight on average: the load held itself back",
                significant(busy),
                significant(asked)
            );
            return Some(Reach { reason, command });
        }
        let throttled = self.diagnosis.find("throttle").is_some();
        let shallow = s.asked.filter(|asked| *asked < plenty(self.claimed, promised) as f64);
        let by_rate = || Some(Nanos((shallow? / s.iops? * 1e9) as u64)).filter(|_| s.mean_ns.is_none());
        let own = held_by_slow(s, self.diagnosis).or_else(|| s.own_latency(throttled)).or_else(by_rate)?;
        let own = Nanos(own.0.saturating_add(flushing as u64));
        let depth = s.in_flight.or(s.asked.filter(|_| flushing > 0.0))?.round().max(1.0) as u64;
        let needed = depth_needed(iops, own);
        (depth < needed).then(|| Reach {
            reason: format!(
                "{depth} in flight at {own} each{} reach {} IOPS by Little's law; {} IOPS need {needed}",
                if flushing > 0.0 { ", flushes included," } else { "" },
                grouped(rate_reachable(depth, own).unwrap_or(0.0).round() as u64),
                grouped(iops.round() as u64)
            ),
            command,
        })
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

/// Why the samples of a rate may lie too low for too much of the time, although their mean is high enough: the lowest is too low, and as many may be
/// as their standard deviation allows (Cantelli's inequality).
fn low_samples(told: &ReportedStep, s: &Summary, measured: f64, terms: &ClaimTerms) -> Option<String> {
    let [(_, figures)] = told.parts()[..] else { return None };
    let samples = figures.rate_spread.as_ref().filter(|spread| spread.mean > 0.0)?;
    let level = DELIVERED * terms.least;
    let lowest = samples.min / samples.mean * measured;
    let (deviation, room) = (s.samples?.0 * measured, measured - level);
    let share = deviation.powi(2) / (deviation.powi(2) + room.powi(2));
    let allowed = terms.time.map_or(BELOW, |time| 1.0 - time);
    (lowest < level && share > allowed).then(|| {
        format!(
            "the mean is met, but the lowest sample is {} % of the promise, and by their spread up to {} % of the samples may lie below 90 % of it: \
             measure it with volproof, which tells for how long",
            significant(100.0 * lowest / terms.least),
            significant(100.0 * share)
        )
    })
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
        return (passed && promises).then_some(Untested { metric, reason, command: None });
    }
    let promised = latency_promised(claimed)?;
    let (step, diagnosis) =
        record.steps.iter().zip(found).find(|(s, _)| record.conditions(s).pattern().is_some())?;
    let conditions = record.conditions(step);
    let judge = Judge { record, claimed, conditions: &conditions, step, diagnosis, beside: None };
    Some(Untested {
        metric,
        reason: format!("{promised} are promised for one request at a time, and no run shows that"),
        command: judge.better(Shows::Latency),
    })
}
