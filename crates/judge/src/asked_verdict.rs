//! Whether a Record asks for a verdict, and on which promise.

use volproof_promise::fit::AskedFits;
use volproof_record::{JudgedPromise, Record};

/// The promise to judge. Reports of other tools are compared with it, and not judged.
pub(crate) fn promise_to_judge(record: &Record) -> Option<&JudgedPromise> {
    record.judged_promise.as_ref().filter(|_| record.tests_a_volume() && record.report.is_none())
}

/// A promise or the needs of applications are there to judge.
pub(crate) fn wants_verdict(record: &Record) -> bool {
    let has_needs = record.asked.as_ref().is_some_and(AskedFits::has_needs);
    record.tests_a_volume() && record.report.is_none() && (record.judged_promise.is_some() || has_needs)
}
