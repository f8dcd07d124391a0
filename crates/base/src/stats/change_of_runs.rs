//! By how much did a figure change between two groups of runs? The unit is a run, never a sample within one.
//!
//! Figures are compared by the logarithm of their ratio, so that a fall by half and a rise to the double are the same change. Several runs of a
//! group show the spread between runs: Student's interval with the spread of both groups together. With one run each there is no such spread. The
//! interval then comes from those of the two runs, and says how these two runs differ, not what another pair would show.
//!
//! Four runs and more of each group are also tried in every other division into two groups (Fisher's permutation test, which assumes no
//! distribution): three of each cannot reach p < 0.05 that way.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::compare::{ENUMERATED, POWER, sign_flip};
use super::moments::{mean, student, variance};
use super::{CONFIDENCE, SEED};

/// Runs of each group from which on all divisions into two groups are tried.
const ENOUGH_TO_PERMUTE: usize = 4;

/// What a change rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeBasis {
    /// One run each: the interval is that of these two runs.
    OneRunEach,
    /// The spread between runs.
    Runs,
    /// Pairs of runs back to back.
    Pairs,
}

/// A figure of one run and its 95 % interval, where it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunFigure {
    /// The figure, above 0.
    pub value: f64,
    /// The ends of its interval.
    pub interval: Option<(f64, f64)>,
}

/// The change of a figure from one group of runs to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChangeOfRuns {
    /// The figure afterwards over the figure before, geometric means.
    pub ratio: f64,
    /// Lower end of the 95 % interval of `ratio`.
    pub low_ratio: f64,
    /// Upper end.
    pub high_ratio: f64,
    /// Chance of such a difference between equals.
    pub p_value: f64,
    /// The smallest change, in percent, that these runs would have shown four times in five.
    pub detectable_pct: f64,
    /// What the interval rests on.
    pub basis: ChangeBasis,
    /// Standard error of the logarithm of `ratio`.
    pub standard_error: f64,
    /// By how much that logarithm may be off besides, where figures are kept in buckets: more runs do not make it less.
    pub rounding: f64,
    /// Degrees of freedom of Student's distribution that goes with it; absent where the normal distribution does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degrees_of_freedom: Option<u32>,
}

impl ChangeOfRuns {
    /// The change from one group to another. `None` where a group is empty, a figure is not above 0, or single runs have no interval.
    pub fn between(before: &[RunFigure], after: &[RunFigure]) -> Option<ChangeOfRuns> {
        let usable = |f: &RunFigure| f.value.is_finite() && f.value > 0.0;
        if before.is_empty() || after.is_empty() || !before.iter().chain(after).all(usable) {
            return None;
        }
        if let ([one], [other]) = (before, after) {
            return between_two_runs(one, other);
        }
        let (a, b) = (logarithms(before), logarithms(after));
        let freedom = a.len() + b.len() - 2;
        let squares = variance(&a) * (a.len() - 1) as f64 + variance(&b) * (b.len() - 1) as f64;
        let per_run = 1.0 / a.len() as f64 + 1.0 / b.len() as f64;
        let error = (squares / freedom as f64 * per_run).sqrt();
        let mut change =
            ChangeOfRuns::new(mean(&b) - mean(&a), error, Some(freedom as u32), ChangeBasis::Runs);
        if a.len().min(b.len()) >= ENOUGH_TO_PERMUTE {
            change.p_value = permuted(&a, &b);
        }
        Some(change)
    }

    /// The change that pairs `(before, after)` of runs back to back show. `None` for fewer than two pairs, or a figure not above 0.
    pub fn of_pairs(pairs: &[(f64, f64)]) -> Option<ChangeOfRuns> {
        let usable = |value: f64| value.is_finite() && value > 0.0;
        if pairs.len() < 2 || !pairs.iter().all(|(before, after)| usable(*before) && usable(*after)) {
            return None;
        }
        let logs: Vec<f64> = pairs.iter().map(|(before, after)| (after / before).ln()).collect();
        let error = (variance(&logs) / logs.len() as f64).sqrt();
        let freedom = Some(logs.len() as u32 - 1);
        let change = ChangeOfRuns::new(mean(&logs), error, freedom, ChangeBasis::Pairs);
        Some(ChangeOfRuns { p_value: sign_flip(&logs), ..change })
    }

    fn new(effect: f64, error: f64, freedom: Option<u32>, basis: ChangeBasis) -> ChangeOfRuns {
        let half = quantile(freedom, (1.0 + CONFIDENCE) / 2.0) * error;
        let seen = half + quantile(freedom, POWER) * error;
        ChangeOfRuns {
            ratio: effect.exp(),
            low_ratio: (effect - half).exp(),
            high_ratio: (effect + half).exp(),
            p_value: 2.0 * beyond(effect.abs(), error, freedom),
            detectable_pct: 100.0 * seen.exp_m1(),
            basis,
            standard_error: error,
            rounding: 0.0,
            degrees_of_freedom: freedom,
        }
    }

    /// The change of figures that are kept in buckets, each off by at most this share.
    pub fn of_buckets(self, half_bucket: f64) -> ChangeOfRuns {
        let rounding = 2.0 * half_bucket.ln_1p();
        let distance = (self.ratio.ln().abs() - rounding).max(0.0);
        let chance = 2.0 * beyond(distance, self.standard_error, self.degrees_of_freedom);
        let detectable = (self.detectable_pct / 100.0).ln_1p() + rounding;
        ChangeOfRuns {
            low_ratio: self.low_ratio * (-rounding).exp(),
            high_ratio: self.high_ratio * rounding.exp(),
            p_value: self.p_value.max(chance),
            detectable_pct: 100.0 * detectable.exp_m1(),
            rounding,
            ..self
        }
    }

    /// Chance of a ratio as low as this, if the true one were no lower than `limit`.
    pub fn p_of_less(&self, limit: f64) -> f64 {
        let distance = limit.ln() - self.ratio.ln() - self.rounding;
        if distance < 0.0 {
            return 1.0 - beyond(-distance, self.standard_error, self.degrees_of_freedom);
        }
        beyond(distance, self.standard_error, self.degrees_of_freedom)
    }

    /// The same change seen from the other side: before over after.
    pub fn inverted(&self) -> ChangeOfRuns {
        ChangeOfRuns {
            ratio: 1.0 / self.ratio,
            low_ratio: 1.0 / self.high_ratio,
            high_ratio: 1.0 / self.low_ratio,
            ..*self
        }
    }
}

fn logarithms(figures: &[RunFigure]) -> Vec<f64> {
    figures.iter().map(|f| f.value.ln()).collect()
}

/// The two intervals are of 95 % each; the squares of their half-widths add up.
fn between_two_runs(before: &RunFigure, after: &RunFigure) -> Option<ChangeOfRuns> {
    let half = half_width(before)?.hypot(half_width(after)?);
    let error = half / quantile(None, (1.0 + CONFIDENCE) / 2.0);
    Some(ChangeOfRuns::new((after.value / before.value).ln(), error, None, ChangeBasis::OneRunEach))
}

/// Half the width of the interval of the logarithm: the longer side, for an interval need not lie evenly about its figure.
fn half_width(figure: &RunFigure) -> Option<f64> {
    let (low, high) = figure.interval.filter(|(low, _)| *low > 0.0)?;
    Some((high / figure.value).ln().max((figure.value / low).ln()).max(0.0))
}

fn quantile(freedom: Option<u32>, probability: f64) -> f64 {
    match freedom {
        Some(freedom) => student(probability, f64::from(freedom)),
        None => Normal::standard().inverse_cdf(probability),
    }
}

/// Chance of a value beyond a distance from the mean, on one side.
fn beyond(distance: f64, error: f64, freedom: Option<u32>) -> f64 {
    if error == 0.0 {
        return if distance > 0.0 { 0.0 } else { 0.5 };
    }
    let t = distance / error;
    let student = freedom.and_then(|n| StudentsT::new(0.0, 1.0, f64::from(n)).ok());
    1.0 - student.map_or_else(|| Normal::standard().cdf(t), |s| s.cdf(t))
}

/// The share of divisions into groups of these sizes whose means are as far apart.
fn permuted(a: &[f64], b: &[f64]) -> f64 {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let sum: f64 = all.iter().sum();
    // The sum of the first group alone tells how far the means are apart.
    let expected = sum * a.len() as f64 / all.len() as f64;
    let observed = (a.iter().sum::<f64>() - expected).abs();
    // Sums of the same values in another order differ by rounding; those are ties.
    let reach = observed - 1e-12 * all.iter().map(|v| v.abs()).sum::<f64>();
    let (mut tried, mut as_far) = (0u64, 0u64);
    let mut count = |first: f64| {
        tried += 1;
        as_far += u64::from((first - expected).abs() >= reach);
    };
    if all.len() <= ENUMERATED {
        for chosen in (0..1u32 << all.len()).filter(|chosen| chosen.count_ones() as usize == a.len()) {
            count(all.iter().enumerate().filter(|(i, _)| chosen >> i & 1 == 1).map(|(_, v)| v).sum());
        }
        return as_far as f64 / tried as f64;
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut shuffled = all.clone();
    for _ in 0..1u32 << ENUMERATED {
        for i in 0..a.len() {
            let left = (shuffled.len() - i) as u128;
            shuffled.swap(i, i + ((u128::from(random.next_u64()) * left) >> 64) as usize);
        }
        count(shuffled[..a.len()].iter().sum());
    }
    // The observed division is one of the tries.
    (as_far + 1) as f64 / (tried + 1) as f64
}

/// Holm's correction (1979): p values of several questions, raised so that all answers together are wrong no more often than one would be.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&i, &j| p_values[i].total_cmp(&p_values[j]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut least = 0.0f64;
    for (rank, &i) in order.iter().enumerate() {
        least = least.max((p_values[i] * (p_values.len() - rank) as f64).min(1.0));
        adjusted[i] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(values: &[f64]) -> Vec<RunFigure> {
        values.iter().map(|&value| RunFigure { value, interval: None }).collect()
    }

    #[test]
    fn figures_agree_with_a_worked_case() {
        // Logarithms 0, 0.1 and 0.3, 0.4: means 0.3 apart, pooled variance 0.005, t(2) = 4.3027.
        let change =
            ChangeOfRuns::between(&runs(&[1.0, 0.1f64.exp()]), &runs(&[0.3f64.exp(), 0.4f64.exp()])).unwrap();
        let error = 0.005f64.sqrt();
        assert!((change.ratio.ln() - 0.3).abs() < 1e-12);
        assert!((change.standard_error - error).abs() < 1e-12);
        assert!((change.high_ratio.ln() - 0.3 - 4.3027 * error).abs() < 1e-4);
        assert!(((change.detectable_pct / 100.0).ln_1p() - (4.3027 + 1.0607) * error).abs() < 1e-3);
        assert_eq!(change.degrees_of_freedom, Some(2));
    }

    #[test]
    fn four_of_each_reach_a_p_that_three_cannot() {
        let far =
            |n: usize, by: f64| runs(&(0..n).map(|i| by * (1.0 + 0.001 * i as f64)).collect::<Vec<_>>());
        // Two of the 70 divisions of eight runs are as far apart.
        let change = ChangeOfRuns::between(&far(4, 1.0), &far(4, 2.0)).unwrap();
        assert!((change.p_value - 2.0 / 70.0).abs() < 1e-12, "{change:?}");
        let many = ChangeOfRuns::between(&far(12, 1.0), &far(12, 2.0)).unwrap();
        assert!(many.p_value > 0.0 && many.p_value < 1e-3);
    }

    #[test]
    fn one_run_each_has_the_intervals_of_its_runs() {
        let run = |value, low, high| [RunFigure { value, interval: Some((low, high)) }];
        let change = ChangeOfRuns::between(&run(100.0, 99.0, 101.0), &run(90.0, 89.1, 90.9)).unwrap();
        assert_eq!(change.basis, ChangeBasis::OneRunEach);
        assert!(change.low_ratio > 0.88 && change.high_ratio < 0.92, "{change:?}");
        assert_eq!(ChangeOfRuns::between(&runs(&[1.0]), &runs(&[1.0])), None);
        assert_eq!(ChangeOfRuns::between(&run(0.0, 0.0, 1.0), &run(1.0, 1.0, 1.0)), None);
    }

    #[test]
    fn the_other_side_is_the_inverse() {
        let change = ChangeOfRuns::of_pairs(&[(100.0, 90.0), (101.0, 92.0), (99.0, 91.0)]).unwrap();
        let turned = ChangeOfRuns::of_pairs(&[(90.0, 100.0), (92.0, 101.0), (91.0, 99.0)]).unwrap();
        assert!((change.inverted().low_ratio - turned.low_ratio).abs() < 1e-12);
        assert!(change.high_ratio < 1.0 && change.p_of_less(0.95) < 0.1 && change.p_of_less(0.5) > 0.99);
    }

    #[test]
    fn buckets_hide_what_is_smaller_however_many_runs_there_are() {
        let half_bucket: f64 = 1.0 / 128.0;
        // A figure is that of its bucket: two that differ by nothing may lie in neighbouring ones.
        let bucket = |place: f64| (place * 2.0 * half_bucket.ln_1p()).exp();
        for n in 2..8 {
            let group = |place: f64| runs(&vec![bucket(place); n]);
            let next = ChangeOfRuns::between(&group(0.0), &group(1.0)).unwrap().of_buckets(half_bucket);
            assert!(next.p_value > 0.05 && next.low_ratio < 1.0 + 1e-9, "{n}: {next:?}");
            assert!(next.detectable_pct > 1.5 && next.inverted().p_of_less(0.99) > 0.025, "{n}: {next:?}");
            let far = ChangeOfRuns::between(&group(0.0), &group(5.0)).unwrap().of_buckets(half_bucket);
            assert!(far.low_ratio > 1.06 && far.inverted().p_of_less(0.99) < 0.025, "{n}: {far:?}");
        }
    }

    #[test]
    fn several_questions_raise_each_p() {
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
