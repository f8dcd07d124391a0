//! `slow-seconds`: single seconds below half of the usual rate, in which something still completed.

use super::StepSamples;
use volproof_base::sample::PER_SECOND;
use volproof_base::stats::LEAST_SEEN;
use volproof_base::stats::moments::median;
use volproof_base::unit::{grouped, significant};
use volproof_record::{Confidence, Finding};

/// A second below this share of the median is slow.
const SLOW: f64 = 0.5;
/// More slow seconds than this share are no exception: the rate varies, or has another level.
const EXCEPTIONS: f64 = 0.25;

/// Requests waited for the whole of a second. One with an empty half belongs to a stall.
fn is_of_the_volume(samples: &StepSamples, second: usize) -> bool {
    let bins = second * PER_SECOND as usize..(second + 1) * PER_SECOND as usize;
    let waited = samples.load.waiting_ns.get(bins.clone()).is_some_and(|ns| ns.iter().all(|ns| *ns > 0));
    let completed = samples.bins.get(bins).unwrap_or_default();
    let empty = completed.iter().filter(|n| **n == 0).count();
    waited && 2 * empty < completed.len()
}

pub(super) fn detect(samples: &StepSamples) -> Option<Finding> {
    // Before a fall there is another level.
    let from = samples.burst.map_or(0, |burst| burst.seconds);
    let seconds = samples.seconds.get(from..)?;
    if samples.paced || !samples.shows_pauses || (seconds.len() as f64) < LEAST_SEEN.as_seconds() {
        return None;
    }
    let usual = median(&seconds.iter().map(|&n| n as f64).collect::<Vec<_>>())?;
    let mut slow: Vec<(usize, u64)> = seconds.iter().enumerate().map(|(i, n)| (from + i, *n)).collect();
    slow.retain(|(second, n)| (*n as f64) < SLOW * usual && is_of_the_volume(samples, *second));
    let worst = slow.iter().min_by_key(|(_, n)| *n)?;
    let share = slow.len() as f64 / seconds.len() as f64;
    (share <= EXCEPTIONS).then(|| {
        let headline =
            format!("{} % of the seconds did less than half of the usual rate.", significant(100.0 * share));
        Finding::new(
            "slow-seconds",
            Confidence::Likely,
            headline,
            "run it again to see whether they return, and compare with the provider's page",
        )
        .because(format!(
            "{} of {} seconds; the worst, second {}, did {} I/Os, where {} are usual",
            slow.len(),
            seconds.len(),
            worst.0 + 1,
            grouped(worst.1),
            grouped(usual as u64)
        ))
        .number("slow_seconds", slow.len() as f64)
        .number("slow_share", share)
    })
}
