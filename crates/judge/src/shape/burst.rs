//! `burst`: the rate fell from one level to a lower one, and stayed there.

use super::StepSamples;
use volproof_base::unit::{Nanos, significant};
use volproof_record::{Confidence, Finding};

pub(super) fn detect(samples: &StepSamples) -> Option<Finding> {
    let burst = samples.burst.filter(|_| !samples.paced)?;
    let (level, baseline) = (burst.level_per_second, burst.baseline_per_second);
    let headline = format!(
        "The rate fell from {}/s to {}/s after {}.",
        significant(level),
        significant(baseline),
        burst.length()
    );
    let advice =
        "quote the lower rate; whether it is what credits leave shows after a rest: run it again later";
    Some(
        Finding::new("burst", Confidence::Likely, headline, advice)
            .because(format!(
                "{} I/Os were done beyond the later level, which held for {}",
                significant((level - baseline) * burst.seconds as f64),
                Nanos::seconds((samples.seconds.len() - burst.seconds) as u64).length()
            ))
            .number("burst_seconds", burst.seconds as f64)
            .number("level_per_second", level)
            .number("baseline_per_second", baseline),
    )
}
