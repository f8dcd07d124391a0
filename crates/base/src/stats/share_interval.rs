//! The interval of a share of samples.

use statrs::distribution::{Beta, ContinuousCDF, Normal};

/// The two-sided 95 % interval of a share, from `k` of `n` independent samples, which need not be whole (Clopper and Pearson 1934).
pub fn share_bounds(k: f64, n: f64) -> (f64, f64) {
    let low = if k <= 0.0 { 0.0 } else { beta_quantile(k, (n - k).max(0.0) + 1.0, 0.025) };
    let high = if k >= n { 1.0 } else { beta_quantile(k + 1.0, n - k, 0.975) };
    (low, high)
}

/// From this parameter on, the normal approximation of the beta distribution is as exact as its continued fraction, which needs more and
/// more terms.
pub(super) const LARGE: f64 = 200.0;

/// Halvings that find a share of 10^-12 to ten digits.
pub(super) const HALVINGS: u32 = 80;

/// The quantile of the beta distribution, for parameters that may be as large as the I/Os of a day.
pub(super) fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    if a.min(b) >= LARGE {
        return beta_quantile_of_large(a, b, p);
    }
    // Closed where one of the parameters is 1: nothing or everything was seen.
    if a == 1.0 {
        return -f64::exp_m1((-p).ln_1p() / b);
    }
    if b == 1.0 {
        return p.powf(1.0 / a);
    }
    let Ok(beta) = Beta::new(a, b) else { return p.round() };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if beta.cdf(middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.5.22.
pub(super) fn beta_quantile_of_large(a: f64, b: f64, p: f64) -> f64 {
    let z = Normal::standard().inverse_cdf(1.0 - p);
    let (of_a, of_b) = (1.0 / (2.0 * a - 1.0), 1.0 / (2.0 * b - 1.0));
    let h = 2.0 / (of_a + of_b);
    let lambda = (z * z - 3.0) / 6.0;
    let w = z * (h + lambda).sqrt() / h - (of_b - of_a) * (lambda + 5.0 / 6.0 - 2.0 / (3.0 * h));
    a / (a + b * (2.0 * w).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both bounds of a share leave 2.5 % of the distribution outside, whatever the number of samples. The search once did not end for
    /// nothing in 38 million.
    #[test]
    fn shares_of_few_and_of_many_have_bounds() {
        let outside = |k: f64, n: f64| {
            let (low, high) = share_bounds(k, n);
            assert!(low <= k / n && k / n <= high, "{k} of {n}: {low} {high}");
            let above = Beta::new(k + 1.0, n - k).map_or(0.025, |beta| beta.sf(high));
            let below = Beta::new(k, n - k + 1.0).map_or(0.025, |beta| beta.cdf(low));
            for tail in [above, below] {
                assert!((tail - 0.025).abs() < 1e-4, "{k} of {n}: {tail}");
            }
        };
        for n in [10.0, 400.0, 10_000.0] {
            for k in [0.0, 0.3, 1.0, 3.0, n / 7.0, n / 2.0, n - 1.0, n] {
                outside(k, n);
            }
        }
        for n in [1e6, 3.8e7, 1e10] {
            for k in [0.0, 0.4, 1.0, 17.5, 150.0] {
                outside(k, n);
            }
            // 1.96 standard deviations of a share, and what lies between whole numbers.
            let (low, high) = share_bounds(n / 4.0, n);
            let half = 1.959964 * (0.25 * 0.75 / n).sqrt();
            assert!((high - low - 2.0 * half).abs() < 1.1 / n, "{n}: {low} {high} {half}");
        }
        let of_all = |n: f64| (0.025_f64.powf(1.0 / n), 1.0);
        assert_eq!(share_bounds(5e6, 5e6), of_all(5e6));
    }
}
