//! What a type is sold with beyond the promise: its burst. A rate above that asks which type it is.

use super::promised_rates::PromisedRates;
use super::terms::ClaimTerms;
use super::words;
use volproof_record::{JudgedPromise, Metric};

/// The question to a user whose volume exceeds every promise that was named. The rate is given in I/Os and in bytes a second. A course asks
/// the same question as the verdict.
pub fn question_of_excess(
    judged_promise: &JudgedPromise,
    rates: &PromisedRates,
    (iops, bytes): (f64, f64),
) -> Option<String> {
    let counts_ios = rates.metric() == Metric::Iops;
    let terms = ClaimTerms::from_promise(judged_promise, rates);
    let rate = if counts_ios { iops } else { bytes };
    terms.is_beyond_the_type(rate).then(|| words::beyond_the_type(&terms, rate))
}
