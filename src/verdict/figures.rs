//! A verdict on figures alone, such as those of another tool's report: no samples, only means, spreads and percentiles.
//!
//! The same promise, the same reach and the same four values as for a Record. What is lost is the interval: where the report
//! tells how its rate spread over time, bounds are made from that; a run too short to quote decides nothing either way.

use super::claim::{ONLY_SLOWS, Rates, figure, fits_latency, latency_promised};
use super::{Claim, Metric, Outcome, Untested, Verdict, against};
use crate::diagnose::{self, Diagnosis, Summary};
use crate::plan::Step;
use crate::record::Claimed;
use crate::stats::little::{depth_needed, rate_reachable};
use crate::unit::{Nanos, grouped, significant};

/// A rate from a shorter run is not quoted.
const QUOTABLE: Nanos = Nanos::seconds(60);
/// Length of a run that decides.
const ENOUGH: Nanos = Nanos::seconds(300);
/// Student's one-sided 95 % for ten batches (method page, §4.3).
const STUDENT: f64 = 1.833;
/// So many neighbouring samples count as one: rates that follow each other depend on each other.
const DEPENDENT: f64 = 10.0;

/// One run of another tool.
#[derive(Debug)]
pub struct Figures<'a> {
    /// The figures.
    pub summary: &'a Summary,
    /// What limited it.
    pub diagnosis: &'a Diagnosis,
    /// The workload in our words.
    pub step: &'a Step,
    /// How samples of the rate spread: standard deviation over mean, and how many there are.
    pub spread: Option<(f64, u64)>,
    /// What makes the run no measurement of the volume: code, what was seen, advice.
    pub blockers: Vec<(String, String, String)>,
    /// The command that tests the rate.
    pub command: String,
    /// The command that tests the latency.
    pub latency_command: String,
}

impl Verdict {
    /// Judges figures against a promise.
    pub fn of_figures(claimed: &Claimed, runs: &[Figures<'_>]) -> Verdict {
        let mut claims: Vec<Claim> = Vec::new();
        for run in runs {
            claims.extend(run.rate(claimed));
            claims.extend(run.latency(claimed));
        }
        // A run with one request in flight shows latency; where another one tests the rate, it is no test of it.
        let deep = |c: &Claim| runs.iter().any(|r| r.summary.name == c.step && r.step.depth_per_target() > 1);
        let tested: Vec<Metric> = claims.iter().filter(|c| deep(c)).map(|c| c.metric).collect();
        claims.retain(|c| c.metric == Metric::Latency || deep(c) || !tested.contains(&c.metric));
        let latency = claims.iter().any(|c| c.metric == Metric::Latency);
        let untested = latency_promised(claimed).filter(|_| !latency).and_then(|promised| {
            Some(Untested {
                metric: Metric::Latency,
                reason: format!("{promised} are promised for one request at a time, and no run did that"),
                command: Some(runs.first()?.latency_command.clone()),
            })
        });
        Verdict {
            outcome: claims.iter().map(|c| c.outcome).max_by_key(|o| o.weight()),
            against: against(claimed),
            tolerance: claimed.tolerance,
            claims,
            untested: untested.into_iter().collect(),
            notes: claimed.notes.clone(),
        }
    }
}

impl Figures<'_> {
    fn rate(&self, claimed: &Claimed) -> Option<Claim> {
        let d = diagnose::direction(self.step)?;
        let block = self.summary.block?;
        let rates = Rates::of(claimed, block, d)?;
        let metric = rates.metric();
        let pick = |iops: f64, bytes: f64| if metric == Metric::Iops { iops } else { bytes };
        let measured = pick(self.summary.iops?, self.summary.bytes_per_second?);
        let (least, most) =
            (pick(rates.least.iops, rates.least.bytes), pick(rates.most.iops, rates.most.bytes));
        let limit = least * (1.0 - claimed.tolerance);
        let bounds = self.spread.filter(|(_, n)| *n > 1).map(|(spread, n)| {
            let half = STUDENT * spread * measured / (n as f64 / DEPENDENT).max(1.0).sqrt();
            ((measured - half).max(0.0), measured + half)
        });
        let (low, high) = bounds.unwrap_or((measured, measured));
        let window = self.summary.window?;
        let for_sure = low >= most * (1.0 - claimed.tolerance);
        let mut more = None;
        let (outcome, reason) = if window < QUOTABLE {
            more = Some((ENOUGH.0 - window.0).div_ceil(1_000_000_000));
            let words = if measured >= limit { "it was kept" } else { "it was missed" };
            (
                Outcome::Inconclusive,
                format!(
                    "{words} for these {} s, which is too short to decide",
                    significant(window.as_seconds())
                ),
            )
        } else if for_sure {
            (Outcome::Pass, String::new())
        } else if high < limit {
            (
                Outcome::Fail,
                format!("less than the {} cap; what was found is told above", rates.least.binding.owner()),
            )
        } else {
            more = Some(ENOUGH.as_seconds().max(window.as_seconds()) as u64);
            (
                Outcome::Inconclusive,
                "the figure lies too near to the limit for what the report tells of its spread".into(),
            )
        };
        let claim = Claim {
            step: self.summary.name.clone(),
            metric,
            outcome,
            promised: least,
            limit,
            binding: rates.least.binding.words().into(),
            measured,
            whole_window: measured,
            ratio: measured / least,
            bounds,
            burst: None,
            more_seconds: more,
            blocker: None,
            reason,
            command: (outcome == Outcome::Inconclusive).then(|| self.command.clone()),
        };
        let short_of = measured < limit;
        Some(self.valid(claim, short_of.then(|| self.reach(rates.least.iops)).flatten()))
    }

    /// Mean latency, where the run is one that the promise is about.
    fn latency(&self, claimed: &Claimed) -> Option<Claim> {
        let promised = latency_promised(claimed)?.0 as f64;
        if !fits_latency(claimed, self.step) {
            return None;
        }
        let measured = self.summary.mean_ns?;
        let limit = promised * (1.0 + claimed.tolerance);
        let short = self.summary.window? < QUOTABLE;
        let (outcome, reason) = match (measured <= limit, short) {
            (_, true) => (Outcome::Inconclusive, "the run is too short to decide".to_string()),
            (true, false) => (Outcome::Pass, String::new()),
            (false, false) => {
                (Outcome::Fail, "each I/O alone takes longer than promised: no depth is involved".into())
            }
        };
        let claim = Claim {
            step: self.summary.name.clone(),
            metric: Metric::Latency,
            outcome,
            promised,
            limit,
            binding: "volume latency".into(),
            measured,
            whole_window: measured,
            ratio: measured / promised,
            bounds: None,
            burst: None,
            more_seconds: None,
            blocker: None,
            reason,
            command: (outcome == Outcome::Inconclusive).then(|| self.latency_command.clone()),
        };
        Some(self.valid(claim, None))
    }

    /// Why the depth could not have reached the rate, by Little's law at the volume's own latency.
    fn reach(&self, iops: f64) -> Option<String> {
        let s = self.summary;
        if let Some(offered) = s.offered.filter(|offered| *offered < iops) {
            return Some(format!("only {} I/Os a second were asked for", figure(Metric::Iops, offered)));
        }
        let own = s.own_latency(self.diagnosis.find("throttle").is_some())?;
        let depth = s.in_flight?.round().max(1.0) as u64;
        let needed = depth_needed(iops, own);
        (depth < needed).then(|| {
            format!(
                "{depth} in flight at {own} each reach {} IOPS by Little's law; {} IOPS need {needed}",
                grouped(rate_reachable(depth, own).unwrap_or(0.0).round() as u64),
                grouped(iops.round() as u64)
            )
        })
    }

    fn valid(&self, claim: Claim, reach: Option<String>) -> Claim {
        let passed = claim.outcome == Outcome::Pass;
        let spared = |code: &str| passed && ONLY_SLOWS.contains(&code);
        let found = self
            .diagnosis
            .findings
            .iter()
            .filter(|f| f.blocks)
            .map(|f| (f.code.as_str(), f.headline.as_str(), f.advice.as_str()));
        let told = self.blockers.iter().map(|(c, m, a)| (c.as_str(), m.as_str(), a.as_str()));
        let invalid = |code: &str, reason: String| Claim {
            outcome: Outcome::Invalid,
            more_seconds: None,
            blocker: Some(code.into()),
            reason,
            command: Some(self.command.clone()),
            ..claim.clone()
        };
        if let Some((code, message, advice)) = found.chain(told).find(|(code, ..)| !spared(code)) {
            return invalid(code, format!("{}; {advice}", message.trim_end_matches('.')));
        }
        match reach {
            Some(reason) => invalid("could-not-reach", reason),
            None => claim,
        }
    }
}
