//! Is A faster than B? The unit of replication is a run, never a sample within one.
//!
//! Runs come in pairs, A and B back to back in random order, because a shared machine drifts by more than the difference
//! that is looked for. The logarithm of the ratio of each pair is tested by flipping signs: if A and B are the same, every
//! difference was as likely to come out the other way round (Fisher's permutation test, exact, no distribution assumed).
//! With k pairs the smallest p is 2 / 2^k, so five pairs can never reach 0.05. The result also holds the interval of the
//! ratio and the smallest difference that k pairs can show: without that difference, "no difference" means nothing.
//!
//! Values are rates, or anything above 0 where more is better. The caller inverts latencies first.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::moments::{mean, student, variance};
use super::{CONFIDENCE, SEED};

/// Fewest pairs that can reach p < 0.05.
pub const FEWEST_PAIRS: usize = 6;
/// Differences below this share are noise of the method: code layout, placement, clock (criterion.rs's default).
pub const NOISE: f64 = 0.01;
/// Pairs up to which all sign flips are tried, and runs up to which all divisions into two groups are; beyond, as many random ones.
pub(super) const ENUMERATED: usize = 16;
/// More pairs than this are never advised.
const MOST_PAIRS: usize = 1000;
/// Probability with which the smallest detectable difference would be found.
pub(super) const POWER: f64 = 0.80;

/// The conclusion of a comparison of A with B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ComparisonOutcome {
    /// A is faster: p < 0.05, the interval excludes 1, and the difference is above noise.
    Faster,
    /// A is slower, in the same sense.
    Slower,
    /// The whole interval lies within the margin that was named as irrelevant.
    Equivalent,
    /// The runs support none of the other conclusions.
    Undecided,
}

/// Comparison of paired runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The conclusion.
    pub outcome: ComparisonOutcome,
    /// Number of pairs.
    pub pairs: u64,
    /// A over B, geometric mean over pairs.
    pub ratio: f64,
    /// Lower end of the 95 % interval of `ratio`.
    pub low_ratio: f64,
    /// Upper end of the 95 % interval of `ratio`.
    pub high_ratio: f64,
    /// A over B by the median of pairwise averages (Hodges and Lehmann 1963): not moved by one wild pair.
    pub robust_ratio: f64,
    /// Chance of such a difference between equals.
    pub p_value: f64,
    /// The smallest difference, in percent, that so many pairs would have shown four times in five.
    pub detectable_pct: f64,
    /// How many pairs in all should decide; only when undecided, and absent above a thousand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs_needed: Option<u64>,
}

impl Comparison {
    /// Compares pairs `(A, B)`. Differences within `margin` (a share, at least [`NOISE`]) do not matter to the caller; when
    /// one is both certain and within it, it is [`ComparisonOutcome::Equivalent`]. `None` for fewer than two pairs or values not above 0.
    pub fn from_pairs(pairs: &[(f64, f64)], margin: f64) -> Option<Comparison> {
        if pairs.len() < 2 || !pairs.iter().flat_map(|p| [p.0, p.1]).all(|v| v.is_finite() && v > 0.0) {
            return None;
        }
        let d: Vec<f64> = pairs.iter().map(|(a, b)| (a / b).ln()).collect();
        let k = d.len();
        let (effect, spread) = (mean(&d), variance(&d).sqrt());
        let half = student((1.0 + CONFIDENCE) / 2.0, (k - 1) as f64) * spread / (k as f64).sqrt();
        let (low, high) = (effect - half, effect + half);
        let p_value = sign_flip(&d);
        let floor = NOISE.ln_1p();
        let sure = p_value < 1.0 - CONFIDENCE && effect.abs() > floor;
        let margin = margin.max(NOISE).ln_1p();
        let outcome = if -margin < low && high < margin {
            ComparisonOutcome::Equivalent
        } else if sure && low > 0.0 {
            ComparisonOutcome::Faster
        } else if sure && high < 0.0 {
            ComparisonOutcome::Slower
        } else {
            ComparisonOutcome::Undecided
        };
        let wanted =
            (outcome == ComparisonOutcome::Undecided).then(|| needed(spread, effect.abs().max(floor), k));
        Some(Comparison {
            outcome,
            pairs: k as u64,
            ratio: effect.exp(),
            low_ratio: low.exp(),
            high_ratio: high.exp(),
            robust_ratio: hodges_lehmann(&d).exp(),
            p_value,
            detectable_pct: 100.0 * detectable(spread, k).exp_m1(),
            pairs_needed: wanted.flatten(),
        })
    }
}

/// Two-sided p of a mean of 0: the share of sign patterns whose mean is at least as far from 0 as the observed one.
pub(super) fn sign_flip(d: &[f64]) -> f64 {
    let observed = d.iter().sum::<f64>().abs();
    // Sums of the same values in other signs differ by rounding; those are ties.
    let reach = observed - 1e-12 * d.iter().map(|v| v.abs()).sum::<f64>();
    let as_far = |signs: u64| {
        let sum: f64 = d.iter().enumerate().map(|(i, v)| if signs >> i & 1 == 1 { -v } else { *v }).sum();
        sum.abs() >= reach
    };
    if d.len() <= ENUMERATED {
        let all = 1u64 << d.len();
        return (0..all).filter(|&signs| as_far(signs)).count() as f64 / all as f64;
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let tries = 1u64 << ENUMERATED;
    let mut far = 0;
    for _ in 0..tries {
        let (mut sum, mut signs) = (0.0, 0);
        for (i, v) in d.iter().enumerate() {
            if i % 64 == 0 {
                signs = random.next_u64();
            }
            sum += if signs >> (i % 64) & 1 == 1 { -v } else { *v };
        }
        far += u64::from(f64::abs(sum) >= reach);
    }
    // The observed pattern is one of the tries.
    (far + 1) as f64 / (tries + 1) as f64
}

/// Median of the averages of all pairs of values, each with itself too.
fn hodges_lehmann(d: &[f64]) -> f64 {
    let mut walsh: Vec<f64> =
        (0..d.len()).flat_map(|i| (i..d.len()).map(move |j| (d[i] + d[j]) / 2.0)).collect();
    walsh.sort_unstable_by(f64::total_cmp);
    let n = walsh.len();
    (walsh[(n - 1) / 2] + walsh[n / 2]) / 2.0
}

/// The effect that `k` pairs find with the power of 80 % at the level of 5 %.
fn detectable(spread: f64, k: usize) -> f64 {
    let freedom = (k - 1) as f64;
    (student((1.0 + CONFIDENCE) / 2.0, freedom) + student(POWER, freedom)) * spread / (k as f64).sqrt()
}

/// Pairs, more than `k`, that find the effect with that power.
fn needed(spread: f64, effect: f64, k: usize) -> Option<u64> {
    let from = FEWEST_PAIRS.max(k + 1);
    (from..=MOST_PAIRS).find(|&n| detectable(spread, n) <= effect).map(|n| n as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_faster(k: usize, by: f64) -> Vec<(f64, f64)> {
        (0..k).map(|i| (1000.0 * (1.0 + by) * (1.0 + 0.001 * (i % 3) as f64), 1000.0)).collect()
    }

    #[test]
    fn the_smallest_p_is_two_in_two_to_the_k() {
        for (k, p) in [(5, 0.0625), (6, 0.03125), (8, 0.0078125), (16, 2.0 / 65536.0)] {
            assert_eq!(Comparison::from_pairs(&all_faster(k, 0.1), 0.0).unwrap().p_value, p, "{k} pairs");
        }
        let many = Comparison::from_pairs(&all_faster(20, 0.1), 0.0).unwrap().p_value;
        assert!(many <= 2.0 / 65536.0 && many > 0.0);
    }

    #[test]
    fn five_pairs_never_decide_for_faster() {
        let c = Comparison::from_pairs(&all_faster(5, 0.1), 0.0).unwrap();
        assert_eq!((c.outcome, c.pairs_needed), (ComparisonOutcome::Undecided, Some(6)));
        assert_eq!(
            Comparison::from_pairs(&all_faster(6, 0.1), 0.0).unwrap().outcome,
            ComparisonOutcome::Faster
        );
        assert_eq!(
            Comparison::from_pairs(&all_faster(6, -0.1), 0.0).unwrap().outcome,
            ComparisonOutcome::Slower
        );
    }

    #[test]
    fn small_differences_are_noise_or_within_the_margin() {
        let c = Comparison::from_pairs(&all_faster(8, 0.004), 0.0).unwrap();
        assert_eq!(c.outcome, ComparisonOutcome::Equivalent, "certain, but below the noise of the method");
        assert!(c.p_value < 0.05);
        assert_eq!(
            Comparison::from_pairs(&all_faster(8, 0.02), 0.05).unwrap().outcome,
            ComparisonOutcome::Equivalent
        );
        assert_eq!(
            Comparison::from_pairs(&all_faster(8, 0.02), 0.0).unwrap().outcome,
            ComparisonOutcome::Faster
        );
    }

    #[test]
    fn figures_agree_with_a_worked_case() {
        // ln ratios 0.1, 0.2, 0.3: mean 0.2, deviation 0.1, t(2) = 4.3027 and 1.0607.
        let pairs = [0.1f64, 0.2, 0.3].map(|d| (d.exp(), 1.0));
        let c = Comparison::from_pairs(&pairs, 0.0).unwrap();
        let root = 3f64.sqrt();
        assert!((c.ratio.ln() - 0.2).abs() < 1e-12 && (c.robust_ratio.ln() - 0.2).abs() < 1e-12);
        assert!((c.high_ratio.ln() - 0.2 - 0.43027 / root).abs() < 1e-4);
        assert!(((c.detectable_pct / 100.0).ln_1p() - 0.53634 / root).abs() < 1e-4);
        assert_eq!(c.p_value, 0.25);
    }

    #[test]
    fn one_wild_pair_moves_the_mean_but_not_the_robust_ratio() {
        let mut pairs = all_faster(9, 0.0);
        pairs[4].0 = 3000.0;
        let c = Comparison::from_pairs(&pairs, 0.0).unwrap();
        assert_eq!(c.outcome, ComparisonOutcome::Undecided);
        assert!(c.ratio > 1.1 && c.robust_ratio < 1.01);
    }

    #[test]
    fn what_cannot_be_compared_is_not() {
        assert_eq!(Comparison::from_pairs(&[(1.0, 2.0)], 0.0), None);
        assert_eq!(Comparison::from_pairs(&[(1.0, 2.0), (0.0, 1.0)], 0.0), None);
        assert_eq!(Comparison::from_pairs(&[(1.0, 1.0); 6], 0.0).unwrap().p_value, 1.0);
    }
}
