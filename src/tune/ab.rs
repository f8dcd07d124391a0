//! What a setting really does: short runs with and without it, paired and alternating, instead of folklore.
//!
//! Method: paired comparison on one machine. The order within a pair is drawn, balanced over pairs (AB BA ...), so that
//! drift hits both sides alike. Each pair gives one log ratio; its mean has a Student interval, and an exact sign-flip test
//! needs no assumption about their distribution. Five pairs can never reach p < 0.05 (2/2^5 = 0.0625), so six is the least.
//! This module measures nothing itself: it schedules and estimates over two closures.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::stats::moments::{mean, student, variance};

/// Fewest pairs that can show an effect at p < 0.05.
pub const FEWEST_PAIRS: u32 = 6;
/// Most pairs whose sign flips are all counted (2^16).
const MOST_PAIRS: usize = 16;
/// Effects smaller than this are noise whatever the test says.
pub const NOISE_FLOOR: f64 = 0.01;

/// With the setting, or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The value that was found.
    Before,
    /// The value that is wanted.
    After,
}

/// The effect of one setting on a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// Pairs measured.
    pub pairs: u32,
    /// Rate after over rate before.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// Two-sided p of the sign-flip test.
    pub p: f64,
    /// The smallest effect that this many pairs would have shown four times out of five, as a part of the rate.
    pub detectable: f64,
    /// What may be said.
    pub finding: Finding,
}

/// What a comparison showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// The setting raises the rate.
    Faster,
    /// The setting lowers the rate.
    Slower,
    /// Its effect is below the noise floor.
    Equivalent,
    /// The runs vary too much to say.
    Undecided {
        /// Pairs that would show an effect of this size, or of the noise floor.
        pairs_needed: u32,
    },
}

/// Which side comes first in each pair: drawn for every other pair, and the opposite in the one after it.
pub fn order(pairs: u32, seed: u64) -> Vec<[Side; 2]> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let sides = [[Side::Before, Side::After], [Side::After, Side::Before]];
    let mut first = 0;
    (0..pairs)
        .map(|n| {
            first = if n % 2 == 0 { (random.next_u64() >> 63) as usize } else { 1 - first };
            sides[first]
        })
        .collect()
}

/// Measures pairs: `set` switches the setting, `measure` does one short run and returns its rate (IOPS).
pub fn run<E>(
    pairs: u32,
    seed: u64,
    mut set: impl FnMut(Side) -> Result<(), E>,
    mut measure: impl FnMut(Side) -> Result<f64, E>,
) -> Result<Option<Effect>, E> {
    let mut rates = Vec::new();
    for pair in order(pairs, seed) {
        let mut rate = [0.0; 2];
        for side in pair {
            set(side)?;
            rate[side as usize] = measure(side)?;
        }
        rates.push((rate[0], rate[1]));
    }
    set(Side::After)?;
    Ok(effect(&rates))
}

/// Estimates the effect from (before, after) rates; none for fewer than two pairs, or a rate that is not positive.
pub fn effect(rates: &[(f64, f64)]) -> Option<Effect> {
    if rates.len() < 2 || rates.iter().any(|(b, a)| !(*b > 0.0 && *a > 0.0 && (a / b).is_finite())) {
        return None;
    }
    let d: Vec<f64> = rates.iter().map(|(before, after)| (after / before).ln()).collect();
    let (k, centre, spread) = (d.len(), mean(&d), variance(&d).sqrt());
    let freedom = (k - 1) as f64;
    let error = spread / (k as f64).sqrt();
    let half = student(0.975, freedom) * error;
    let p = sign_flip(&d);
    let detectable = (student(0.975, freedom) + student(0.80, freedom)) * error;
    let floor = NOISE_FLOOR.ln_1p();
    let clear = p < 0.05 && half < centre.abs() && centre.abs() > floor;
    let finding = if clear && centre > 0.0 {
        Finding::Faster
    } else if clear {
        Finding::Slower
    } else if centre.abs() + half < floor && k >= FEWEST_PAIRS as usize {
        Finding::Equivalent
    } else {
        Finding::Undecided { pairs_needed: needed(spread, centre.abs().max(floor), k) }
    };
    Some(Effect {
        pairs: k as u32,
        ratio: centre.exp(),
        low: (centre - half).exp(),
        high: (centre + half).exp(),
        p,
        detectable: detectable.exp_m1(),
        finding,
    })
}

/// Share of all sign patterns whose mean is at least as far from zero. More than 2^16 patterns are not counted: then the
/// first sixteen differences stand for all; the interval still uses every one.
fn sign_flip(d: &[f64]) -> f64 {
    let d = &d[..d.len().min(MOST_PAIRS)];
    let seen = d.iter().sum::<f64>().abs();
    let patterns = 1u32 << d.len();
    let sum = |pattern: u32| -> f64 {
        d.iter().enumerate().map(|(i, x)| if pattern >> i & 1 == 1 { -x } else { *x }).sum()
    };
    // Sums of the same terms in another order of signs differ by rounding.
    let tolerance = 1e-12 * d.iter().map(|x| x.abs()).sum::<f64>();
    let as_far = (0..patterns).filter(|p| sum(*p).abs() >= seen - tolerance).count();
    as_far as f64 / f64::from(patterns)
}

/// Pairs with which an effect of `size` shows four times out of five, from (1.96 + 0.84)^2 of the normal approximation.
fn needed(spread: f64, size: f64, have: usize) -> u32 {
    let normal = (2.8 * spread / size).powi(2).ceil().min(1e6) as u32;
    normal.max(have as u32 + 1).max(FEWEST_PAIRS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose rate drifts, and on which the setting is worth `gain`.
    fn machine(gain: f64, noise: f64, pairs: u32, seed: u64) -> Effect {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut now, mut runs) = (Side::Before, 0);
        let state = std::cell::Cell::new(now);
        run::<()>(
            pairs,
            seed,
            |side| {
                now = side;
                state.set(now);
                Ok(())
            },
            |side| {
                assert_eq!(state.get(), side, "measured what was not set");
                runs += 1;
                let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
                let drift = 1.0 - 0.002 * f64::from(runs);
                Ok(100_000.0 * drift * (1.0 + noise * uniform) * if side == Side::After { gain } else { 1.0 })
            },
        )
        .unwrap()
        .unwrap()
    }

    #[test]
    fn an_effect_is_found_in_spite_of_drift() {
        let e = machine(1.10, 0.02, 8, 7);
        assert_eq!(e.finding, Finding::Faster);
        assert!(e.low <= 1.10 && 1.10 <= e.high && e.low > 1.05, "{e:?}");
        assert!((e.p - 2.0 / 256.0).abs() < 1e-12, "all eight pairs agree: 2/2^8, not {}", e.p);
        assert_eq!(machine(0.90, 0.02, 8, 7).finding, Finding::Slower);
    }

    #[test]
    fn no_effect_is_equivalent_or_undecided_never_faster() {
        assert_eq!(machine(1.0, 0.002, 10, 3).finding, Finding::Equivalent);
        match machine(1.0, 0.2, 6, 3).finding {
            Finding::Undecided { pairs_needed } => assert!(pairs_needed > 6),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn false_alarms_are_rare() {
        let alarms = (0..400)
            .filter(|s| matches!(machine(1.0, 0.1, 8, *s).finding, Finding::Faster | Finding::Slower));
        let alarms = alarms.count();
        assert!(alarms <= 32, "{alarms} of 400 at a nominal 5 %");
    }

    #[test]
    fn five_pairs_cannot_show_an_effect() {
        let five =
            effect(&[(100.0, 150.0), (100.0, 151.0), (101.0, 150.0), (99.0, 150.0), (100.0, 149.0)]).unwrap();
        assert_eq!(five.p, 0.0625);
        assert!(matches!(five.finding, Finding::Undecided { pairs_needed: 6 }), "{five:?}");
    }

    #[test]
    fn order_is_balanced_and_drawn() {
        let all = order(64, 1);
        for two in all.chunks(2) {
            assert_ne!(two[0][0], two[1][0], "one pair each way in every block");
        }
        assert_ne!(all, order(64, 2));
        assert_eq!(all, order(64, 1));
    }

    #[test]
    fn nothing_is_said_about_nothing() {
        assert_eq!(effect(&[(1.0, 2.0)]), None);
        assert_eq!(effect(&[(1.0, 2.0), (0.0, 2.0)]), None);
        assert_eq!(effect(&[(1.0, f64::NAN), (1.0, 2.0)]), None);
    }
}
