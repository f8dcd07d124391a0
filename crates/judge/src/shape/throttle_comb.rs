//! `throttle-comb`: completions come in bursts at equal distances, as a quota hands them out. With one request at a time a pause is no wait for
//! a quota alone: any regular pause of the volume looks the same, so that nothing is described there.

use super::StepSamples;
use volproof_base::sample::GRID;
use volproof_base::stats::rate::period;
use volproof_base::unit::{Nanos, significant};
use volproof_record::{Confidence, Finding};

/// Half of a period that has this share of the completions has a burst of them: an even load has half.
const BUNCHED: f64 = 0.75;

pub(super) fn detect(samples: &StepSamples) -> Option<Finding> {
    if samples.paced || samples.one_at_a_time || !samples.shows_pauses {
        return None;
    }
    let period = period(&samples.bins)?;
    // What each place within a period completed, the fullest first.
    let mut places = vec![0u64; period];
    samples.bins.iter().enumerate().for_each(|(i, n)| places[i % period] += n);
    places.sort_unstable_by(|a, b| b.cmp(a));
    let all: u64 = places.iter().sum();
    let fullest: u64 = places[..period.div_ceil(2)].iter().sum();
    let even = period.div_ceil(2) as f64 / period as f64;
    let share = fullest as f64 / all.max(1) as f64;
    (share >= even.max(BUNCHED)).then(|| {
        let length = Nanos(period as u64 * GRID.0);
        let quota = all as f64 * period as f64 / samples.bins.len() as f64;
        Finding::new(
            "throttle-comb",
            Confidence::Likely,
            format!("I/Os complete in bursts of {} every {length}, as a quota hands them out.", significant(quota)),
            "the rate is that of the quota, and latencies contain the wait for the next one: a lower rate (--rate-iops) shows the volume's own",
        )
        .because(format!("half of each {length} has {} % of the completions", significant(100.0 * share)))
        .number("period_seconds", length.as_seconds())
        .number("quota_ios", quota)
    })
}
