//! Steady state: SNIA's rule over five rounds.
//!
//! SNIA SSS PTS 2.0.2, 2.1.24: over a window of five rounds (a) the range stays within 20 % of the mean and (b) the
//! least-squares line rises or falls by at most 10 % of the mean across the window. Rounds there last a minute.
//!
//! Values may be rates or latencies; percentages are of the window's mean. fio's `steadystate` is another rule (its slope
//! limit is per check interval) and is not used here.

use volproof_base::stats::moments::mean;

/// Rounds in the window.
pub const ROUNDS: usize = 5;
/// Rounds after which preparation gives up.
pub const MAX_ROUNDS: usize = 25;
/// Largest range, in percent of the mean.
pub const RANGE_PCT: f64 = 20.0;
/// Largest excursion of the fitted line over the window, in percent of the mean.
pub const DRIFT_PCT: f64 = 10.0;
/// SNIA's two figures for five rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyWindow {
    /// Whether both rules hold.
    pub snia_pass: bool,
    /// Largest minus smallest round.
    pub range_pct: f64,
    /// Rise (or fall, negative) of the fitted line from the first round to the last.
    pub drift_pct: f64,
}

impl SteadyWindow {
    /// Judges five rounds; `None` when their mean is not above 0, because then nothing was measured.
    pub fn judged(rounds: &[f64; ROUNDS]) -> Option<SteadyWindow> {
        let m = mean(rounds);
        if m.is_nan() || m <= 0.0 {
            return None;
        }
        let high = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let low = rounds.iter().copied().fold(f64::INFINITY, f64::min);
        // Least squares over x = -2..=2: slope = sum(x y) / 10, and the window is 4 rounds long.
        let slope = rounds.iter().enumerate().map(|(i, y)| (i as f64 - 2.0) * y).sum::<f64>() / 10.0;
        let range_pct = 100.0 * (high - low) / m;
        let drift_pct = 100.0 * 4.0 * slope / m;
        // Both limits are inclusive; rounding of the division must not decide.
        let rounding = 1.0 + 1e-12;
        Some(SteadyWindow {
            snia_pass: range_pct <= RANGE_PCT * rounding && drift_pct.abs() <= DRIFT_PCT * rounding,
            range_pct,
            drift_pct,
        })
    }
}

/// The first round after which the five last ones are steady, counted from 1, with its window.
pub fn reached(rounds: &[f64]) -> Option<(usize, SteadyWindow)> {
    rounds.windows(ROUNDS).take(MAX_ROUNDS + 1 - ROUNDS).enumerate().find_map(|(i, w)| {
        let window = SteadyWindow::judged(w.try_into().ok()?)?;
        window.snia_pass.then_some((i + ROUNDS, window))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_rule_ends_at_20_percent() {
        // Flat line, range exactly 20 % of a mean of 100.
        let inside = SteadyWindow::judged(&[100.0, 110.0, 100.0, 90.0, 100.0]).unwrap();
        assert!(!inside.snia_pass || inside.drift_pct.abs() <= 10.0);
        let edge = SteadyWindow::judged(&[110.0, 90.0, 100.0, 90.0, 110.0]).unwrap();
        assert_eq!((edge.snia_pass, edge.range_pct, edge.drift_pct), (true, 20.0, 0.0));
        let outside = SteadyWindow::judged(&[110.1, 90.0, 100.0, 89.9, 110.0]).unwrap();
        assert!(!outside.snia_pass && outside.range_pct > 20.0 && outside.drift_pct.abs() < 1.0);
    }

    #[test]
    fn the_drift_rule_ends_at_10_percent() {
        let line = |rise: f64| std::array::from_fn(|i| 100.0 + rise * (i as f64 - 2.0) / 4.0);
        for sign in [1.0, -1.0] {
            let edge = SteadyWindow::judged(&line(sign * 10.0)).unwrap();
            assert!(edge.snia_pass, "{edge:?}");
            assert!((edge.drift_pct - sign * 10.0).abs() < 1e-9);
            let outside = SteadyWindow::judged(&line(sign * 10.01)).unwrap();
            assert!(!outside.snia_pass && outside.range_pct < 20.0, "{outside:?}");
        }
    }

    #[test]
    fn drift_is_measured_over_the_window_not_per_round() {
        // 4 % a round is 16 % over the window: within fio's 5 % per interval, outside SNIA's rule.
        let w = SteadyWindow::judged(&[92.0, 96.0, 100.0, 104.0, 108.0]).unwrap();
        assert!(!w.snia_pass && (w.drift_pct - 16.0).abs() < 1e-9 && w.range_pct == 16.0);
    }

    #[test]
    fn rounds_of_nothing_are_no_steady_state() {
        assert_eq!(SteadyWindow::judged(&[0.0; 5]), None);
        assert_eq!(reached(&[100.0; 4]), None);
    }

    #[test]
    fn preparation_ends_at_the_first_steady_window() {
        let fall = [400.0, 300.0, 220.0, 150.0, 110.0, 104.0, 100.0, 99.0, 101.0, 100.0];
        assert_eq!(reached(&fall).map(|r| r.0), Some(9));
        let never: Vec<f64> =
            (0..40).map(|i| if i < 25 { 1000.0 / f64::from(i + 1) } else { 40.0 }).collect();
        assert_eq!(reached(&never), None, "rounds after the 25th do not count");
    }

    #[test]
    fn any_five_rounds_keep_the_range_just_inside_and_break_it_just_outside() {
        for i in 0..1000u64 {
            let x: [f64; 5] = std::array::from_fn(|k| ((i * 5 + k as u64) * 2_654_435_761 % 1009) as f64);
            let high = x.iter().copied().fold(f64::MIN, f64::max);
            let range = high - x.iter().copied().fold(f64::MAX, f64::min);
            let scaled = |pct: f64| {
                SteadyWindow::judged(&x.map(|v| 1000.0 * (1.0 + (v - mean(&x)) * pct / 100.0 / range)))
                    .unwrap()
            };
            let (inside, outside) = (scaled(19.9), scaled(20.1));
            assert_eq!(inside.snia_pass, inside.drift_pct.abs() <= 10.0, "{inside:?}");
            assert!(!outside.snia_pass, "{outside:?}");
        }
    }
}
