//! What undoes the PASS of a report: memory that may have answered, times in which the volume may have done nothing, and samples below the promise.

use super::claim::Judge;
use super::claim_terms::ClaimTerms;
use super::window::DELIVERED;
use crate::diagnose::Summary;
use crate::record::{Outcome, ReportedStep};
use crate::unit::{Nanos, significant};

/// No network volume answers sooner, and memory copies so many bytes in a nanosecond.
const FASTEST: Nanos = Nanos::micros(20);
const COPIED: u64 = 4;
/// Share of the samples that may lie below 90 % of the promise, where the provider promises no share of the time.
const BELOW: f64 = 0.1;

impl Judge<'_> {
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
    pub(super) fn unless_it_stood_still(&self, told: &ReportedStep, s: &Summary) -> (Outcome, String) {
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
}

/// Why the samples of a rate may lie too low for too much of the time, although their mean is high enough: the lowest is too low, and as many may be
/// as their standard deviation allows (Cantelli's inequality).
pub(super) fn low_samples(
    told: &ReportedStep,
    s: &Summary,
    measured: f64,
    terms: &ClaimTerms,
) -> Option<String> {
    let [(_, figures)] = told.parts()[..] else { return None };
    let samples = figures.rate_spread.as_ref().filter(|spread| spread.mean > 0.0)?;
    let (promised, _) = terms.judged();
    let level = DELIVERED * promised;
    let lowest = samples.min / samples.mean * measured;
    let (deviation, room) = (s.samples?.0 * measured, measured - level);
    let share = deviation.powi(2) / (deviation.powi(2) + room.powi(2));
    let allowed = terms.time.map_or(BELOW, |time| 1.0 - time);
    (lowest < level && share > allowed).then(|| {
        format!(
            "the mean is met, but the lowest sample is {} % of the promise, and by their spread up to {} % of the samples may lie below 90 % of it: \
             measure it with volproof, which tells for how long",
            significant(100.0 * lowest / promised),
            significant(100.0 * share)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{RateSpread, ReportedFigures};
    use crate::unit::Bytes;

    #[test]
    fn low_samples_undo_a_pass_where_many_may_be_as_low() {
        // 1,100 a second on average: 900 is 90 % of the promise, 200 below the mean.
        let of = |min: f64, deviation: f64, terms: &ClaimTerms| {
            let spread = RateSpread { min, max: 1500.0, mean: 1100.0, deviation, samples: 120.into() };
            let read =
                ReportedFigures { bytes: Bytes(1), rate_spread: Some(spread), ..ReportedFigures::default() };
            let told = ReportedStep { read: Some(read), ..ReportedStep::default() };
            let s = Summary { samples: Some((deviation / 1100.0, 120)), ..Summary::default() };
            low_samples(&told, &s, 1100.0, terms)
        };
        assert_eq!(of(950.0, 200.0, &ClaimTerms::THOUSAND), None, "none is low");
        assert_eq!(of(500.0, 60.0, &ClaimTerms::THOUSAND), None, "few can be");
        assert!(of(500.0, 100.0, &ClaimTerms::THOUSAND).unwrap().contains("up to 20.0 % of the samples"));
        let strict = ClaimTerms { time: Some(0.99), ..ClaimTerms::THOUSAND };
        assert!(of(500.0, 60.0, &strict).is_some(), "the provider promises 99 % of the time");
    }
}
