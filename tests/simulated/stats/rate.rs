//! Simulation: how often the interval of a rate holds the true rate. Seeds are fixed, so the shares never change.

use volproof::judge::facts::interval_of;
use volproof::stats::rate::{Estimate, TooShort, period};

use crate::stats::noise::Noise;

const RUNS: u32 = 300;
const LEVEL: f64 = 10_000.0;

/// Seconds whose rates follow a first-order process with correlation `rho` and a CV of 5 %, as counts of 100 ms with an
/// independent noise of `within`.
fn bins(noise: &mut Noise, rho: f64, within: f64, seconds: usize) -> Vec<u64> {
    let mut x = noise.normal();
    let mut out = Vec::with_capacity(seconds * 10);
    for _ in 0..seconds {
        for _ in 0..10 {
            let rate = LEVEL * (1.0 + 0.05 * x + within * noise.normal());
            out.push((rate / 10.0).round().max(0.0) as u64);
        }
        x = rho * x + (1.0 - rho * rho).sqrt() * noise.normal();
    }
    out
}

/// Share of the intervals that hold the true rate, and share of the runs that have an interval.
fn coverage(rho: f64, within: f64, seconds: usize) -> (f64, f64) {
    let mut noise = Noise::new(42);
    let found: Vec<bool> = (0..RUNS)
        .filter_map(|_| Estimate::from_bins(&bins(&mut noise, rho, within, seconds)).unwrap().interval)
        .map(|b| (b.low_per_second..=b.high_per_second).contains(&LEVEL))
        .collect();
    let held = found.iter().filter(|held| **held).count() as f64 / found.len().max(1) as f64;
    let given = found.len() as f64 / f64::from(RUNS);
    println!("rho {rho}, noise {within} at {seconds} s: {held:.3} of {given:.3}");
    (held, given)
}

#[test]
fn intervals_of_five_minutes_cover_what_they_promise() {
    for (rho, within) in [(0.0, 0.03), (0.5, 0.03), (0.8, 0.03), (0.9, 0.0), (0.9, 0.1)] {
        let (held, given) = coverage(rho, within, 300);
        assert!((0.93..=0.975).contains(&held), "rho {rho}, noise {within}: {held}");
        assert!(given > 0.9, "rho {rho}, noise {within}: only {given} of the runs have an interval");
    }
}

#[test]
fn whatever_the_memory_few_runs_get_an_interval_that_does_not_hold() {
    for (seconds, rho) in
        [60, 120, 300, 600].into_iter().flat_map(|s| [0.9, 0.95, 0.97, 0.99].map(|rho| (s, rho)))
    {
        let (held, given) = coverage(rho, 0.0, seconds);
        assert!(given * (1.0 - held) <= 0.08, "rho {rho} at {seconds} s: {held} of {given}");
    }
}

#[test]
fn two_minutes_are_covered_up_to_four_fifths() {
    for rho in [0.0, 0.5, 0.8] {
        let (held, given) = coverage(rho, 0.03, 120);
        assert!((0.925..=0.975).contains(&held), "rho {rho}: {held} of {given}");
    }
}

#[test]
fn a_minute_with_slow_noise_asks_for_more() {
    // At 60 s and a correlation of 0.95 between seconds no method covers: most runs must say so.
    let mut noise = Noise::new(7);
    let said = (0..100).filter(|_| {
        let e = Estimate::from_bins(&bins(&mut noise, 0.95, 0.0, 60)).unwrap();
        e.interval.is_none() && e.too_short == [TooShort::LongMemory] && e.extend_to_seconds.unwrap() >= 120
    });
    assert!(said.count() >= 50);
}

#[test]
fn no_period_is_found_where_there_is_none() {
    let mut noise = Noise::new(3);
    let mut wrong = 0;
    for i in 0..200 {
        wrong += u32::from(period(&bins(&mut noise, [0.0, 0.5, 0.8, 0.9][i % 4], 0.03, 300)).is_some());
    }
    assert!(wrong <= 4, "{wrong} of 200");
}

#[test]
fn a_rate_exactly_at_its_limit_is_answered_wrongly_at_most_once_in_forty() {
    // The true rate is the limit itself: every PASS and every FAIL is luck, and most runs must say so.
    for rho in [0.0, 0.5, 0.8, 0.9] {
        let mut noise = Noise::new(19);
        let (mut pass, mut fail) = (0, 0);
        for _ in 0..RUNS {
            let found = interval_of(&bins(&mut noise, rho, 0.03, 300)).unwrap();
            pass += u32::from(found.low >= LEVEL);
            fail += u32::from(found.high < LEVEL);
        }
        println!("rho {rho}: pass {pass}, fail {fail} of {RUNS}");
        // 7.5 are expected of each; 14 is beyond what 300 runs show of a true fortieth once in fifty times.
        assert!(pass <= 14 && fail <= 14, "rho {rho}: pass {pass}, fail {fail} of {RUNS}");
        assert!(pass + fail >= 6, "an answer that never comes shows nothing");
    }
}
