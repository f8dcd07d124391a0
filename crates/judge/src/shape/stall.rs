//! `stall`: requests waited, and nothing completed for a second or longer.

use super::StepSamples;
use crate::thresholds::EXAMPLES;
use volproof_base::sample::GRID;
use volproof_base::unit::{Nanos, counted, significant};
use volproof_record::{Confidence, Finding};

pub(super) fn detect(samples: &StepSamples) -> Option<Finding> {
    let stalls = samples.load.stalls();
    let longest = stalls.iter().max_by_key(|stall| stall.length)?;
    let bins = samples.load.waiting_ns.len() as u64;
    let window = Nanos(samples.load.bin.0.saturating_mul(bins).max(GRID.0 * samples.bins.len() as u64));
    let lost: f64 = stalls.iter().map(|stall| stall.length_within(window).as_seconds()).sum();
    let share = lost / window.as_seconds().max(1e-9);
    let named = stalls
        .iter()
        .take(EXAMPLES)
        .map(|stall| format!("{} from {} s on", stall.length, significant(stall.start.as_seconds())));
    let more = stalls.len().saturating_sub(EXAMPLES);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let headline = format!(
        "Nothing completed for {} % of the time although requests waited: {}, the longest of {}.",
        significant(100.0 * share),
        counted(stalls.len() as u64, "stall"),
        longest.length
    );
    let advice = "look at the provider's status and the kernel log (dmesg), and run it again to see whether it returns";
    Some(
        Finding::new("stall", Confidence::Likely, headline, advice)
            .because(named.collect::<Vec<_>>().join(", ") + &more)
            .number("events", stalls.len() as f64)
            .number("lost_seconds", lost)
            .number("lost_share", share),
    )
}
