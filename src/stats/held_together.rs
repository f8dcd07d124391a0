//! Whether the I/Os that take long are held together, or come one by one: how much counts vary over time.
//!
//! In a closed loop of N requests, a share p of which takes a hold H and the others next to nothing, each place of the queue completes 1 / p
//! I/Os in a period T = N / (p X). A throttle lets the same number through in each period, so that counts of whole periods are alike. Where
//! each I/O is slow by chance, the number between two slow ones is geometric: counts over a time in which h I/Os were slow differ by
//! (H / T) sqrt((1 - p) / h) of their mean, whatever that time is. Neighbouring counts are compared with each other (the variance of Allan and von
//! Neumann), so that a speed which changes slowly, as beside loud neighbours, adds little: 60 such volumes with noise of up to 15 % from second to
//! second had 0.7 to 1.6 times that, and buckets under the same noise had 0 to 1.1 times, most of them below a half.
//!
//! Shares from 0 to 1, times in seconds, counts on the 100 ms grid.

use super::moments::{mean, variance};
use crate::sample::PER_SECOND;

/// Slow I/Os of a closed loop.
#[derive(Clone, Copy, Debug)]
pub struct SlowIos {
    /// Requests in flight.
    pub in_flight: f64,
    /// Share of the I/Os that are slow.
    pub share: f64,
    /// How long they take, in seconds.
    pub hold: f64,
}

/// The number of lengths of time over which counts are compared: whole periods, and a second.
const LENGTHS: usize = 20;
/// The fewest counts of a length that show how much they vary.
const COUNTS: usize = 30;
/// This share of the differences is left out at each end: a stall or two tell nothing of the rest. What is left of a normal distribution has
/// [`TRIMMED`] of its standard deviation.
const ENDS: f64 = 0.05;
const TRIMMED: f64 = 0.789;

impl SlowIos {
    /// From one time at which a place of the queue is slow to the next, in seconds, at so many I/Os a second.
    fn period(&self, rate: f64) -> f64 {
        self.in_flight / (self.share * rate)
    }

    /// How much counts over so many seconds vary where chance makes the I/Os slow, as a share of their mean.
    fn spread_by_chance(&self, rate: f64, seconds: f64) -> f64 {
        let slow_ones = rate * self.share * seconds;
        (self.hold / self.period(rate)).min(1.0) * ((1.0 - self.share) / slow_ones).sqrt()
    }

    fn is_known(&self, rate: f64) -> bool {
        let period = self.period(rate);
        period.is_finite() && period > 0.0 && self.hold > 0.0 && self.share < 1.0
    }
}

/// The same for the samples of a report, of which only the spread is known: `spread` is their standard deviation over their mean, and each of the
/// `samples` counts so many `seconds` at `rate` I/Os a second. `None` where samples are shorter than a period, which cuts them at different places.
pub fn spread_over_chance(spread: f64, samples: u64, seconds: f64, rate: f64, slow: &SlowIos) -> Option<f64> {
    let told = slow.is_known(rate) && samples >= COUNTS as u64 && seconds >= slow.period(rate);
    told.then(|| spread / slow.spread_by_chance(rate, seconds))
}

/// The spread of the counts as a multiple of the spread for I/Os that are slow by chance, one by one. Of all lengths of time the least
/// multiple is taken, since noise and periods that are cut at their edges add to the spread. About 1 where chance made them slow. `None`
/// where the counts are too few to tell.
pub fn over_chance(bins: &[u64], slow: &SlowIos) -> Option<f64> {
    let per_second = PER_SECOND as f64;
    let rate = bins.iter().map(|&n| n as f64).sum::<f64>() / (bins.len() as f64 / per_second);
    let period = slow.period(rate);
    if !slow.is_known(rate) {
        return None;
    }
    let periods = (1..=LENGTHS).map(|k| ((k as f64 * period * per_second).round() as usize).max(1));
    let mut lengths: Vec<usize> = periods.chain([PER_SECOND as usize]).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let of_length = |length: usize| {
        let counts: Vec<f64> = bins.chunks_exact(length).map(|c| c.iter().map(|&n| n as f64).sum()).collect();
        let seconds = length as f64 / per_second;
        if counts.len() < COUNTS || seconds < period * (1.0 - 1.0 / per_second) {
            return None;
        }
        Some(spread_of_neighbours(&counts) / mean(&counts) / slow.spread_by_chance(rate, seconds))
    };
    lengths.into_iter().filter_map(of_length).reduce(f64::min)
}

/// The standard deviation of independent counts, by how much each differs from the next one: the differences have twice the variance.
fn spread_of_neighbours(counts: &[f64]) -> f64 {
    let mut differences: Vec<f64> = counts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let ends = (differences.len() as f64 * ENDS) as usize;
    let middle = &differences[ends..differences.len() - ends];
    (variance(middle) / 2.0).sqrt() / TRIMMED
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    const IN_FLIGHT: usize = 16;
    const SHARE: f64 = 0.1;
    const QUICK: f64 = 0.0002;

    /// Two minutes of a queue whose I/Os are slow by chance.
    fn by_chance(hold: f64, seed: u64) -> Vec<u64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut bins = vec![0u64; 120 * PER_SECOND as usize];
        for _ in 0..IN_FLIGHT {
            let mut now = 0.0;
            loop {
                let slow = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64 <= SHARE;
                now += if slow { hold } else { QUICK };
                let Some(bin) = bins.get_mut((now * PER_SECOND as f64) as usize) else { break };
                *bin += 1;
            }
        }
        bins
    }

    fn slow(hold: f64) -> SlowIos {
        SlowIos { in_flight: IN_FLIGHT as f64, share: SHARE, hold }
    }

    #[test]
    fn chance_gives_its_own_spread_and_a_quota_next_to_none() {
        for (hold, seed) in [(0.005, 1), (0.1, 2), (0.2, 3), (1.0, 4)] {
            let found = over_chance(&by_chance(hold, seed), &slow(hold)).unwrap();
            assert!((0.6..1.3).contains(&found), "hold of {hold}: {found}");
        }
        // A quota of 160 every 100 ms, every 137 ms, and one that wanders by 3 % from second to second.
        let even = vec![160; 1200];
        let apart: Vec<u64> = (0..1200)
            .map(|i| 160 * ((f64::from(i + 1) / 1.37).floor() - (f64::from(i) / 1.37).floor()) as u64)
            .collect();
        let wandering: Vec<u64> = (0..1200u64).map(|i| 160 + (i / 10 % 4) * 5 - 7).collect();
        let once_dead: Vec<u64> = (0..1200).map(|i| if (600..620).contains(&i) { 0 } else { 160 }).collect();
        for (bins, hold) in [(even, 0.098), (apart, 0.135), (wandering, 0.098), (once_dead, 0.098)] {
            let found = over_chance(&bins, &slow(hold)).unwrap();
            assert!(found < 0.5, "{found}");
        }
        // A loud neighbour: the speed differs by 15 % from second to second.
        let loud = |i: u64| 1.0 + 0.15 * ((i / 10 * 7919 % 13) as f64 - 6.0) / 3.7;
        let quota: Vec<u64> = (0..1200).map(|i| (160.0 * loud(i)) as u64).collect();
        let found = over_chance(&quota, &slow(0.098)).unwrap();
        assert!(found < 0.5, "a quota beside a loud neighbour: {found}");
        let chance = by_chance(0.2, 3).into_iter().zip(0..).map(|(n, i)| (n as f64 * loud(i)) as u64);
        let found = over_chance(&chance.collect::<Vec<_>>(), &slow(0.2)).unwrap();
        assert!((0.6..1.6).contains(&found), "chance beside a loud neighbour: {found}");
        assert_eq!(over_chance(&[160; 20], &slow(0.098)), None, "too short to tell");
        assert_eq!(over_chance(&[], &slow(0.098)), None);
        assert_eq!(over_chance(&[0; 1200], &slow(0.098)), None);
    }
}
