//! Simulation: how often intervals of a change hold it, how often equals are told apart, and how often the least change that shows is found.
//! Seeds are fixed.

use volproof::stats::change_of_runs::{ChangeOfRuns, RunFigure};

use crate::stats::noise::Noise;

const TRIES: usize = 4000;
/// Spread between runs.
const SPREAD: f64 = 0.02;

fn runs(noise: &mut Noise, n: usize, level: f64) -> Vec<RunFigure> {
    (0..n).map(|_| RunFigure { value: level * (SPREAD * noise.normal()).exp(), interval: None }).collect()
}

fn share(n: (usize, usize), by: f64, holds: impl Fn(&ChangeOfRuns) -> bool) -> f64 {
    let mut noise = Noise::new(77);
    let held = (0..TRIES).filter(|_| {
        let (before, after) = (runs(&mut noise, n.0, 1000.0), runs(&mut noise, n.1, 1000.0 * (1.0 + by)));
        holds(&ChangeOfRuns::between(&before, &after).unwrap())
    });
    held.count() as f64 / TRIES as f64
}

#[test]
fn intervals_hold_the_change() {
    for n in [(2, 2), (2, 1), (3, 5), (8, 8)] {
        let covered = share(n, -0.05, |c| c.low_ratio <= 0.95 && 0.95 <= c.high_ratio);
        assert!((0.935..=0.965).contains(&covered), "{n:?}: {covered}");
    }
}

#[test]
fn equals_are_told_apart_once_in_twenty() {
    for n in [(2, 3), (4, 4), (6, 9)] {
        let told = share(n, 0.0, |c| c.p_value < 0.05);
        assert!(told <= 0.06, "{n:?}: {told}");
    }
}

#[test]
fn the_least_change_that_shows_is_found_four_times_in_five() {
    // With eight runs of each: (2.145 + 0.868) x 0.02 x sqrt(2 / 8) = 3.01 %.
    let found = share((8, 8), 0.0306, |c| c.p_value < 0.05);
    assert!((0.76..=0.84).contains(&found), "{found}");
}

#[test]
fn a_change_of_exactly_the_limit_is_seldom_called_more() {
    let called = share((5, 5), -0.05, |c| c.p_of_less(0.95) < 0.025);
    assert!(called <= 0.032, "{called}");
}

#[test]
fn two_runs_that_hold_their_rates_hold_the_change() {
    let mut noise = Noise::new(5);
    let mut held = 0;
    for _ in 0..TRIES {
        let mut run = |level: f64| {
            let value = level * (0.01 * noise.normal()).exp();
            let half = (1.96f64 * 0.01).exp();
            [RunFigure { value, interval: Some((value / half, value * half)) }]
        };
        let change = ChangeOfRuns::between(&run(1000.0), &run(900.0)).unwrap();
        held += usize::from(change.low_ratio <= 0.9 && 0.9 <= change.high_ratio);
    }
    let covered = held as f64 / TRIES as f64;
    assert!((0.935..=0.965).contains(&covered), "{covered}");
}
