//! The effect of a setting, measured: short runs with and without it, paired and alternating, instead of folklore.
//!
//! The order within a pair is drawn, and turned round in the pair after it (AB BA ...), so that drift hits both sides
//! alike; what the pairs show is said by [`volproof_base::stats::compare`]. Nothing is measured here: two closures switch the
//! setting and do one short run.

use std::ops::ControlFlow;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_base::stats::compare::{Comparison, NOISE};
use volproof_base::unit::Nanos;

/// Length of each run that measures the effect of a knob.
pub const COMPARED_RUN: Nanos = Nanos::seconds(2);

/// With the setting, or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The value that was found.
    Before,
    /// The value that is wanted.
    After,
}

/// The effect of a knob on the rate of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// The knob's name.
    pub knob: String,
    /// The knob's file.
    pub path: String,
    /// The value that was found.
    pub before: String,
    /// The value that is wanted.
    pub after: String,
    /// The rate with the wanted value over the rate without, other knobs as wanted; absent if a run did no I/O.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub comparison: Option<Comparison>,
}

/// Which side comes first in each pair: drawn for every other pair, and the opposite in the one after it.
pub fn order(pairs: usize, seed: u64) -> Vec<[Side; 2]> {
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

/// Measures pairs: `set` switches the setting, `measure` does one short run and returns its rate (IOPS), or none where the user ended it. Fewer than
/// [`volproof_base::stats::compare::FEWEST_PAIRS`] pairs cannot decide. Ends with the setting as wanted, also after an error. A break where the user ended it.
///
/// # Errors
/// The first error of `set` or `measure`.
pub fn compare<E>(
    pairs: usize,
    seed: u64,
    mut set: impl FnMut(Side) -> Result<(), E>,
    mut measure: impl FnMut(Side) -> Result<Option<f64>, E>,
) -> Result<ControlFlow<(), Option<Comparison>>, E> {
    let mut rates = Vec::new();
    let mut all = || -> Result<ControlFlow<()>, E> {
        for pair in order(pairs, seed) {
            let mut rate = [0.0; 2];
            for side in pair {
                set(side)?;
                let Some(measured) = measure(side)? else { return Ok(ControlFlow::Break(())) };
                rate[side as usize] = measured;
            }
            rates.push((rate[Side::After as usize], rate[Side::Before as usize]));
        }
        Ok(ControlFlow::Continue(()))
    };
    let measured = all();
    let reset = set(Side::After);
    let ended = measured.and_then(|ended| reset.map(|()| ended))?;
    Ok(ended.map_continue(|()| Comparison::from_pairs(&rates, NOISE)))
}

/// Compares each knob that was written, one after the other, with the rest as wanted. Where `measure` gives none, the user ended it: the knobs that
/// were compared until then are returned.
///
/// # Errors
/// A knob that cannot be switched, and the first error of `measure`.
pub fn each_knob<E: From<std::io::Error>>(
    tuned: &mut super::Tuned,
    pairs: usize,
    seed: u64,
    mut measure: impl FnMut() -> Result<Option<f64>, E>,
) -> Result<Vec<Effect>, E> {
    let written: Vec<super::Applied> =
        tuned.applied().iter().filter(|a| a.attempt == super::Attempt::Written).cloned().collect();
    let mut effects = Vec::new();
    for (n, knob) in (0u64..).zip(written) {
        let set = |side| tuned.set(&knob.path, side).map_err(E::from);
        let ControlFlow::Continue(comparison) = compare(pairs, seed.wrapping_add(n), set, |_| measure())?
        else {
            break;
        };
        effects.push(Effect {
            knob: knob.knob.clone(),
            path: knob.path.clone(),
            before: knob.before.clone(),
            after: knob.wanted.clone(),
            comparison,
        });
    }
    Ok(effects)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use volproof_base::stats::compare::ComparisonOutcome;

    /// A machine whose rate drifts, and on which the setting is worth `gain`.
    fn machine(gain: f64, noise: f64, pairs: usize, seed: u64) -> Comparison {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (state, mut runs) = (Cell::new(Side::Before), 0);
        let set = |side| {
            state.set(side);
            Ok::<_, ()>(())
        };
        let measure = |side| {
            assert_eq!(state.get(), side, "measured what was not set");
            runs += 1;
            let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
            let drift = 1.0 - 0.002 * f64::from(runs);
            Ok(Some(
                100_000.0 * drift * (1.0 + noise * uniform) * if side == Side::After { gain } else { 1.0 },
            ))
        };
        let comparison = compare(pairs, seed, set, measure).unwrap().continue_value().unwrap().unwrap();
        assert_eq!(state.get(), Side::After, "it ends as wanted");
        comparison
    }

    #[test]
    fn an_effect_is_found_in_spite_of_drift() {
        let c = machine(1.10, 0.02, 8, 7);
        assert_eq!(c.outcome, ComparisonOutcome::Faster);
        assert!(c.low_ratio <= 1.10 && 1.10 <= c.high_ratio && c.low_ratio > 1.05, "{c:?}");
        assert_eq!(machine(0.90, 0.02, 8, 7).outcome, ComparisonOutcome::Slower);
        assert_eq!(machine(1.0, 0.002, 10, 3).outcome, ComparisonOutcome::Equivalent);
    }

    #[test]
    fn false_alarms_are_rare() {
        let alarms = (0..400).filter(|s| {
            matches!(machine(1.0, 0.1, 8, *s).outcome, ComparisonOutcome::Faster | ComparisonOutcome::Slower)
        });
        let alarms = alarms.count();
        assert!(alarms <= 32, "{alarms} of 400 at a nominal 5 %");
    }

    #[test]
    fn an_error_ends_it_with_the_setting_as_wanted() {
        let state = Cell::new(Side::Before);
        let mut runs = 0;
        let set = |side| {
            state.set(side);
            Ok(())
        };
        let failed = compare(6, 1, set, |_| {
            runs += 1;
            if runs == 4 { Err("the device is gone") } else { Ok(Some(1.0)) }
        });
        assert_eq!((failed, state.get()), (Err("the device is gone"), Side::After));
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
}
