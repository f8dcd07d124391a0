//! Simulation: how often equals are told apart, and how often a real difference is found. Seeds are fixed.

use volproof::stats::compare::{Comparison, ComparisonOutcome};

use crate::stats::noise::Noise;

/// Pairs of runs with a common drift of 10 % and a noise of 2 % of their own; A is faster by the given share.
fn pairs(noise: &mut Noise, k: usize, by: f64) -> Vec<(f64, f64)> {
    (0..k)
        .map(|_| {
            let level = 1000.0 * (0.1 * noise.normal()).exp();
            (level * (1.0 + by) * (0.02 * noise.normal()).exp(), level * (0.02 * noise.normal()).exp())
        })
        .collect()
}

const RUNS: usize = 2000;

fn share_told_apart(k: usize, by: f64) -> f64 {
    let mut noise = Noise::new(31);
    let told = (0..RUNS).filter(|_| {
        let c = Comparison::from_pairs(&pairs(&mut noise, k, by), 0.0).unwrap();
        matches!(c.outcome, ComparisonOutcome::Faster | ComparisonOutcome::Slower)
    });
    told.count() as f64 / RUNS as f64
}

#[test]
fn equals_are_told_apart_at_most_once_in_twenty() {
    for k in [6, 8, 9] {
        let share = share_told_apart(k, 0.0);
        println!("{k} pairs of equals told apart: {share}");
        assert!(share <= 0.06, "{k} pairs: {share}");
    }
}

#[test]
fn a_difference_of_the_detectable_size_is_found_four_times_in_five() {
    // Spread of a pair 0.02 sqrt(2); with 10 pairs (2.262 + 0.883) x 0.0283 / sqrt(10) = 2.85 %.
    let share = share_told_apart(10, 0.0285);
    println!("found: {share}");
    assert!((0.72..0.90).contains(&share), "{share}");
}
