//! Simulation: how often steadiness is denied to a series that is steady. Seeds are fixed, so the shares never change.

use volproof::stats::change::{of_seconds, points};
use volproof::stats::rate::per_second;

use crate::stats::noise::Noise;

const RUNS: usize = 100;

/// Runs of 300 s, steady in truth: how many have a change point.
fn false_alarms(rho: f64) -> usize {
    let mut noise = Noise::new(11);
    let mut changed = 0;
    for _ in 0..RUNS {
        let seconds = per_second(&noise.bins(rho, 300, |_| 1.0));
        changed += usize::from(!of_seconds(&seconds).is_empty());
    }
    println!("rho {rho}: change point {changed} of {RUNS}");
    changed
}

#[test]
fn steady_runs_raise_few_false_alarms() {
    for (rho, limit) in [(0.0, 5), (0.5, 8), (0.8, 10), (0.9, 10)] {
        let changed = false_alarms(rho);
        assert!(changed <= limit, "change points in {changed} of {RUNS} steady runs at rho {rho}");
    }
}

#[test]
fn a_history_without_changes_shows_none() {
    // Independent runs with a CV of 2 %, as a history has them; 400 histories of 60.
    let mut noise = Noise::new(5);
    let wrong = (0..400)
        .filter(|_| {
            let series: Vec<f64> = (0..60).map(|_| 1.0 + 0.02 * noise.normal()).collect();
            !points(&series, 3, 0.01).is_empty()
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
                of_seconds(&per_second(&bins)).iter().any(|c| c.index.abs_diff(170) <= 10)
            })
            .count();
        println!("rho {rho}: found {found} of {RUNS}");
        assert!(found >= least, "step found in {found} of {RUNS} at rho {rho}");
    }
}
