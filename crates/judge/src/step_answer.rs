//! What one step says of a promise by itself: it keeps it, misses it, or leaves it open.

use super::answer::Open;
use super::facts::{RateInterval, StepFacts, seconds_to_tell};
use super::terms::ClaimTerms;
use volproof_base::stats::limit_answer::LONGEST_WAIT;

/// What one step says of the promise by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepAnswer {
    /// It keeps the promise.
    Keeps,
    /// It misses the promise.
    Misses,
    /// It leaves the promise open, and why.
    Open(Open),
}

/// What a step says of the promise by itself.
pub fn read(s: &StepFacts, terms: &ClaimTerms) -> StepAnswer {
    let (least, most) = terms.limits();
    if s.mishaps.was_ended_early {
        return StepAnswer::Open(Open::EndedEarly);
    }
    let (Some(rate), Some(last), true) = (s.rate, s.last, s.is_quotable()) else {
        let short = Open::Short { is_below: s.mean < least };
        return StepAnswer::Open(if s.mishaps.credits_ended { Open::FewCredits } else { short });
    };
    if terms.is_beyond_the_type(s.last_minute) {
        return StepAnswer::Open(Open::BeyondTheType);
    }
    if rate.high < least || last.high < least {
        let is_empty = s.mishaps.credits_ended && terms.is_baseline(rate.mean);
        return if is_empty { StepAnswer::Open(Open::FewCredits) } else { StepAnswer::Misses };
    }
    let baseline = terms.burst_is_over(s);
    let kept =
        if baseline { last.low >= most && rate.mean >= least } else { rate.low >= most && last.high >= most };
    if !kept {
        return StepAnswer::Open(unkept(s, &rate, &last, baseline, terms));
    }
    match terms.credits_open(s, baseline) {
        Some(open) => StepAnswer::Open(open),
        None => StepAnswer::Keeps,
    }
}

/// Why a step that does not miss the promise does not keep it.
fn unkept(
    s: &StepFacts,
    rate: &RateInterval,
    last: &RateInterval,
    baseline: bool,
    terms: &ClaimTerms,
) -> Open {
    let (least, most) = terms.limits();
    let judged = if baseline { last } else { rate };
    if least < most && judged.low >= least && judged.high < most {
        return Open::OneUnit;
    }
    let wanted = seconds_to_tell(judged, most, s.seconds) - s.seconds;
    let more_seconds = (wanted <= LONGEST_WAIT).then(|| wanted.max(1.0).ceil() as u64);
    Open::Spans { more_seconds }
}
