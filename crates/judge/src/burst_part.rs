//! The part of a step in which its volume burst, where the burst is judged instead of the baseline.
//!
//! A bucket of credits that is used up leaves the baseline: that refutes no burst, since nobody knows whether the bucket was full. What comes
//! before it is judged.

use super::facts::{DELIVERED, StepFacts, mean_rate};
use super::terms::ClaimTerms;
use volproof_base::sample::PER_SECOND;

const SECOND: usize = PER_SECOND as usize;
/// In less time than this a limiter lets pass up to twice its rate, or half of it.
const LEAST_TAIL: usize = 10 * SECOND;
const ROUGHLY: f64 = 2.0;

/// The counts of 100 ms that are judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstPart {
    /// So many of them, from the first on.
    pub judged: usize,
    /// The baseline came after the burst, or in its place.
    ends_at_baseline: bool,
    /// Counts of seconds that delivered the burst, from the first one to the last.
    burst: usize,
}

impl BurstPart {
    /// All counts, where no burst is judged. Of a burst those of a full bucket at most, without the baseline after them.
    pub fn of_counts(counts: &[u64], terms: &ClaimTerms) -> BurstPart {
        let Some(burst) = terms.judged_burst() else {
            return BurstPart { judged: counts.len(), ends_at_baseline: false, burst: counts.len() };
        };
        let longest = burst.seconds.map_or(counts.len(), |s| (s * SECOND as f64).ceil() as usize);
        let counts = &counts[..longest.min(counts.len())];
        let delivers = |second: &[u64]| mean_rate(second) >= DELIVERED * terms.limits().0;
        let last = counts.chunks_exact(SECOND).rposition(delivers);
        let burst = last.map_or(0, |last| (last + 1) * SECOND);
        // The second in which the burst ends holds some of both.
        let after = counts.get(burst + SECOND * usize::from(burst > 0)..).unwrap_or_default();
        let share = mean_rate(after) / terms.least;
        let is_roughly = after.len() < LEAST_TAIL && (1.0 / ROUGHLY..ROUGHLY).contains(&share);
        let ends_at_baseline =
            counts.len() > burst + SECOND && (is_roughly || terms.is_baseline(mean_rate(after)));
        let judged = if ends_at_baseline && burst > 0 { burst } else { counts.len() };
        BurstPart { judged, ends_at_baseline, burst }
    }

    /// Tells the facts of a step, which are those of this part, how it ended. Seconds of an empty bucket say nothing of a burst.
    pub fn mark(&self, facts: &mut StepFacts) {
        facts.mishaps.credits_ended = self.ends_at_baseline;
        if self.ends_at_baseline && self.burst == 0 {
            facts.delivered.clear();
        }
    }
}
