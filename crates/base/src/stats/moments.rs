//! Mean, variance, correlation and Student's quantile, on which the other modules build. Values have no unit.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Arithmetic mean; 0 for an empty slice.
pub fn mean(x: &[f64]) -> f64 {
    if x.is_empty() { 0.0 } else { x.iter().sum::<f64>() / x.len() as f64 }
}

/// Unbiased variance; 0 for fewer than two values.
pub fn variance(x: &[f64]) -> f64 {
    if x.len() < 2 {
        return 0.0;
    }
    let m = mean(x);
    x.iter().map(|v| (v - m) * (v - m)).sum::<f64>() / (x.len() - 1) as f64
}

/// The median (the upper one of two); `None` for an empty slice.
pub fn median(x: &[f64]) -> Option<f64> {
    let mut sorted = x.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// Autocorrelation at lags `0..=longest` (the usual estimate, divided by the length at every lag, so that long lags shrink
/// towards 0). `None` when the values do not vary.
pub fn autocorrelation(x: &[f64], longest: usize) -> Option<Vec<f64>> {
    let m = mean(x);
    let d: Vec<f64> = x.iter().map(|v| v - m).collect();
    let square = lagged_product(&d, 0);
    // Equal values leave rounding errors of the mean behind; they are no variation.
    if x.len() < 2 || square <= f64::EPSILON * m * m * x.len() as f64 {
        return None;
    }
    Some((0..=longest.min(x.len() - 1)).map(|lag| lagged_product(&d, lag) / square).collect())
}

/// The sum of the products of values so many places apart.
fn lagged_product(d: &[f64], lag: usize) -> f64 {
    let (mut sum, mut i, end) = (0.0, lag, d.len());
    while i < end {
        sum += d[i] * d[i - lag];
        i += 1;
    }
    sum
}

/// What a straight line leaves of a series.
pub fn beside_line(x: &[f64]) -> Vec<f64> {
    let (level, middle) = (mean(x), (x.len() as f64 - 1.0) / 2.0);
    let from_middle = |i: usize| i as f64 - middle;
    let square: f64 = (0..x.len()).map(|i| from_middle(i).powi(2)).sum();
    let slope = x.iter().enumerate().map(|(i, v)| from_middle(i) * v).sum::<f64>() / square;
    x.iter().enumerate().map(|(i, v)| v - level - slope * from_middle(i)).collect()
}

/// Quantile of Student's distribution: `student(0.975, 9.0)` is 2.262.
pub fn student(probability: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(probability))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_agrees_with_the_tables() {
        for (p, freedom, value) in
            [(0.975, 9.0, 2.2622), (0.95, 9.0, 1.8331), (0.975, 1.0, 12.706), (0.8, 5.0, 0.9195)]
        {
            assert!(
                (student(p, freedom) - value).abs() < 1e-3,
                "t({p}, {freedom}) = {}",
                student(p, freedom)
            );
        }
    }

    #[test]
    fn equal_values_have_no_correlation() {
        assert_eq!(autocorrelation(&[0.1; 300], 10), None);
        assert_eq!(autocorrelation(&[], 10), None);
        assert_eq!(variance(&[3.0]), 0.0);
    }

    #[test]
    fn an_alternating_series_is_anticorrelated() {
        let x: Vec<f64> = (0..1000).map(|i| f64::from(i % 2)).collect();
        let r = autocorrelation(&x, 2).unwrap();
        assert!(r[1] < -0.99 && r[2] > 0.99, "{r:?}");
    }
}
