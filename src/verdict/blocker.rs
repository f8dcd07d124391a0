//! Doubts and findings because of which the figures of a step say nothing about the volume.

use crate::codes;
use crate::diagnose::most_parts;
use crate::record::{Claim, Diagnosis, Metric, Outcome, Record, StepRecord};
use crate::unit::Bytes;

/// Blockers that can only slow a run down.
pub(super) const ONLY_SLOWS: [&str; 10] = [
    codes::ABOVE_THE_DISK,
    codes::HEADROOM,
    codes::GENERATOR_LIMITED,
    codes::OWN_CGROUP_LIMIT,
    codes::CPU_STEAL,
    codes::CPU_QUOTA,
    codes::DEPTH_NOT_REACHED,
    codes::SHARED_DISK,
    codes::RAN_TOGETHER,
    codes::TOO_FEW_INSTANCES,
];

/// Code, message and advice of every blocker of a step: findings before doubts, and those that can only slow a run down last, since the
/// others explain more.
pub(super) fn of_figures<'a>(
    record: &'a Record,
    step: &'a StepRecord,
    diagnosis: &'a Diagnosis,
) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
    let doubts = record.doubts.iter().filter(|w| w.voids(&step.name));
    let doubts = doubts.map(|w| (w.code.as_str(), w.message.as_str(), w.advice.as_str()));
    let findings = diagnosis.findings.iter().filter(|f| f.blocks);
    let findings = findings.map(|f| (f.code.as_str(), f.headline.as_str(), f.advice.as_str()));
    let mut all: Vec<_> = findings.chain(doubts).collect();
    all.sort_by_key(|(code, ..)| ONLY_SLOWS.contains(code));
    all.into_iter()
}

/// Other traffic of the disk, where it may be the reason for a FAIL: code, message and advice. Other traffic is no reason where the rate
/// plus all of that traffic still falls short. Bytes of others count as I/Os of the smallest size.
pub(super) fn traffic_of_others<'a>(
    diagnosis: &'a Diagnosis,
    claim: &Claim,
    block: Option<Bytes>,
) -> Option<(&'a str, &'a str, &'a str)> {
    let found = diagnosis.find(codes::OTHER_TRAFFIC).filter(|_| claim.outcome == Outcome::Fail)?;
    let ios = block.map_or(1.0, most_parts);
    let share = found.numbers.get(codes::figure::OTHER_SHARE).copied();
    let with_all = |share: f64| match claim.metric {
        Metric::Iops => claim.measured * (1.0 + share * ios),
        Metric::Throughput => claim.measured * (1.0 + share),
        _ => f64::INFINITY,
    };
    let explains = share.is_none_or(|share| with_all(share) >= claim.limit);
    explains.then_some((found.code.as_str(), found.headline.as_str(), found.advice.as_str()))
}

/// A blocker as the reason of a claim.
pub(super) fn reason(message: &str, advice: &str) -> String {
    format!("{}; {advice}", message.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Confidence, Finding};
    use crate::stats::limit_answer::ClaimAnswer;

    /// Whether traffic of others, as a share of ours, may be why a figure misses its limit of 1,000.
    fn undone(metric: Metric, outcome: Outcome, measured: f64, share: Option<f64>, block: Bytes) -> bool {
        let found = Finding::new(codes::OTHER_TRAFFIC, Confidence::Likely, "others", "stop them");
        let found =
            share.into_iter().fold(found, |found, share| found.number(codes::figure::OTHER_SHARE, share));
        let diagnosis = Diagnosis { step: "a".into(), findings: vec![found] };
        let found = ClaimAnswer::open(measured, 1000.0, None, None);
        let claim = Claim::new("a", metric, outcome, 1000.0, found, String::new());
        traffic_of_others(&diagnosis, &claim, Some(block)).is_some()
    }

    #[test]
    fn a_failure_stands_where_the_traffic_of_others_cannot_explain_it() {
        let (page, large) = (Bytes::kib(4), Bytes::kib(64));
        let iops = |measured, share, block| undone(Metric::Iops, Outcome::Fail, measured, Some(share), block);
        assert!(iops(900.0, 0.12, page) && !iops(900.0, 0.1, page));
        assert!(iops(900.0, 0.1, large), "16 I/Os of others for each of ours");
        let bytes = |measured, share| undone(Metric::Throughput, Outcome::Fail, measured, Some(share), large);
        assert!(bytes(500.0, 1.1) && !bytes(500.0, 0.9));
        assert!(undone(Metric::Iops, Outcome::Fail, 100.0, None, page), "nobody knows how much it was");
        // A little traffic may come in one burst, and delay single I/Os for long.
        assert!(undone(Metric::Latency, Outcome::Fail, 2000.0, Some(0.03), page));
        assert!(!undone(Metric::Latency, Outcome::Pass, 500.0, Some(9.0), page));
        assert!(!undone(Metric::Iops, Outcome::Inconclusive, 999.0, Some(9.0), page));
    }
}
