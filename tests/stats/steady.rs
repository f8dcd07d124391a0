//! Simulation: how often steadiness is denied to a series that is steady. Seeds are fixed, so the shares never change.

use volproof::stats::change::{Rule, points};
use volproof::stats::steady::{Steadiness, SteadyWindow};

use crate::noise::Noise;

const RUNS: usize = 100;

/// Runs of 300 s, steady in truth: how many have a change point, and how many fail SNIA's rule.
fn false_alarms(rho: f64) -> (usize, usize) {
    let mut noise = Noise::new(11);
    let (mut changed, mut unsteady) = (0, 0);
    for _ in 0..RUNS {
        let s = Steadiness::of(&noise.bins(rho, 300, |_| 1.0));
        changed += usize::from(!s.changes.is_empty());
        unsteady += usize::from(!s.window.unwrap().snia_pass);
    }
    println!("rho {rho}: change point {changed}, snia {unsteady} of {RUNS}");
    (changed, unsteady)
}

#[test]
fn steady_runs_raise_few_false_alarms() {
    for (rho, limit) in [(0.0, 5), (0.5, 8), (0.8, 10), (0.9, 10)] {
        let (changed, unsteady) = false_alarms(rho);
        assert!(changed <= limit, "change points in {changed} of {RUNS} steady runs at rho {rho}");
        assert!(unsteady <= 3, "{unsteady} of {RUNS} steady runs fail SNIA's rule at rho {rho}");
    }
}

#[test]
fn a_history_without_changes_shows_none() {
    // Independent runs with a CV of 2 %, as a history has them; 400 histories of 60.
    let mut noise = Noise::new(5);
    let wrong = (0..400)
        .filter(|_| {
            let series: Vec<f64> = (0..60).map(|_| 1.0 + 0.02 * noise.normal()).collect();
            !points(&series, &Rule { shortest: 3, p_value: 0.001, magnitude: 0.01 }).is_empty()
        })
        .count();
    println!("{wrong} of 400 histories");
    assert!(wrong <= 20, "{wrong} of 400");
}

#[test]
fn a_step_of_ten_percent_is_found_where_it_is() {
    for (rho, least) in [(0.0, 98), (0.5, 90), (0.8, 40)] {
        let mut noise = Noise::new(13);
        let found = (0..RUNS)
            .filter(|_| {
                let bins = noise.bins(rho, 300, |s| if s < 170 { 1.0 } else { 0.9 });
                Steadiness::of(&bins).changes.iter().any(|c| (c.at_seconds - 170.0).abs() <= 10.0)
            })
            .count();
        println!("rho {rho}: found {found} of {RUNS}");
        assert!(found >= least, "step found in {found} of {RUNS} at rho {rho}");
    }
}

#[test]
fn noisy_rounds_just_inside_the_rule_pass_and_just_outside_fail() {
    // Any five rounds with their range scaled to 19.9 % pass rule a, and to 20.1 % fail it.
    let mut noise = Noise::new(17);
    for _ in 0..1000 {
        let x: [f64; 5] = std::array::from_fn(|_| noise.normal());
        let mean = x.iter().sum::<f64>() / 5.0;
        let range = x.iter().copied().fold(f64::MIN, f64::max) - x.iter().copied().fold(f64::MAX, f64::min);
        let scaled = |pct: f64| {
            SteadyWindow::of(&x.map(|v| 1000.0 * (1.0 + (v - mean) * pct / 100.0 / range))).unwrap()
        };
        let (inside, outside) = (scaled(19.9), scaled(20.1));
        assert_eq!(inside.snia_pass, inside.drift_pct.abs() <= 10.0, "{inside:?}");
        assert!(!outside.snia_pass, "{outside:?}");
    }
}
