//! Simulation: how often the interval of a latency percentile holds the true one when slow I/Os come in bursts. Seeds are
//! fixed, so the shares never change.

use volproof::hist::{Histogram, StoredHistogram};
use volproof::stats::percentile::{Percentile, measure, printable, table};
use volproof::unit::Nanos;

use crate::stats::noise::Noise;

const RUNS: usize = 100;
const SECONDS: usize = 300;
/// I/Os in a second.
const IOS: u64 = 1000;
/// Share of slow I/Os in a quiet second, and in a bad one.
const QUIET: f64 = 0.006;
const BAD: f64 = 0.04;
/// Chance that a second is bad.
const BADNESS: f64 = 0.2;

/// Seconds whose slow I/Os (10 ms and an exponential with 10 ms more, the others 100 us) come in bad seconds that
/// last 4 s on average.
fn seconds(noise: &mut Noise) -> Vec<StoredHistogram> {
    let mut bad = noise.uniform() < BADNESS;
    (0..SECONDS)
        .map(|_| {
            let mut h = Histogram::new();
            // The count of slow ones is normal enough at these numbers.
            let share = if bad { BAD } else { QUIET };
            let mean = share * IOS as f64;
            let z = noise.normal();
            let slow = (mean + z * (mean * (1.0 - share)).sqrt()).round().max(0.0) as u64;
            for _ in 0..slow {
                h.record((10e6 - 10e6 * noise.uniform().ln()) as u64);
            }
            h.record_n(Nanos::micros(100), IOS - slow);
            let stay = if bad { 0.75 } else { 1.0 - 0.25 * BADNESS / (1.0 - BADNESS) };
            if noise.uniform() >= stay {
                bad = !bad;
            }
            h.to_sparse()
        })
        .collect()
}
/// The true percentile: the share of slow I/Os in the long run, and the exponential beyond 10 ms.
fn truth(share: f64) -> f64 {
    let slow = (1.0 - BADNESS) * QUIET + BADNESS * BAD;
    10e6 - 10e6 * ((1.0 - share) / slow).ln()
}

#[test]
fn p99_with_bad_seconds_is_covered() {
    let mut noise = Noise::new(23);
    let p99 = truth(0.99);
    let (mut held, mut plain_held) = (0, 0);
    for _ in 0..RUNS {
        let seconds = seconds(&mut noise);
        let found: Vec<Percentile> = table(&seconds, &[("99", 0.99)]);
        let p = found.first().expect("thousands of samples lie above p99");
        assert!(printable(p.effective_samples, p.share));
        let b = p.interval.unwrap();
        held += usize::from((b.low_ns.0 as f64..=b.high_ns.0 as f64).contains(&p99));
        // What independent samples would claim: q -+ 1.96 sqrt(q (1 - q) / n).
        let all = volproof::stats::percentile::pooled(&seconds);
        let error = 1.96 * (0.99f64 * 0.01 / all.count() as f64).sqrt();
        let (low, high) = (all.quantile(0.99 - error).unwrap(), all.quantile(0.99 + error).unwrap());
        plain_held += usize::from((low.0 as f64..=high.0 as f64).contains(&p99));
    }
    println!("held by {held}, by the plain interval {plain_held} of {RUNS}");
    assert!(held >= 90, "held by {held} of {RUNS}");
    assert!(plain_held <= 60, "the bursts must matter, or this test shows nothing: {plain_held}");
}

#[test]
fn bursts_lower_the_effective_number_as_much_as_they_should() {
    let mut noise = Noise::new(29);
    // Between seconds the slow share varies by 0.2 * 0.8 * 0.034^2, and bad seconds cling together (lag-1 correlation
    // 0.6875, so 5.4 times that in the long run); the share of slow ones above p99 is taken from it.
    let above = 0.01 / ((1.0 - BADNESS) * QUIET + BADNESS * BAD);
    let between = BADNESS * (1.0 - BADNESS) * ((BAD - QUIET) * above).powi(2) * (1.6875 / 0.3125);
    let expected = (IOS as usize * SECONDS) as f64 / (1.0 + between * IOS as f64 / (0.99 * 0.01));
    let mut inverse = 0.0;
    for _ in 0..50 {
        inverse += 1.0 / measure(&seconds(&mut noise), &[("p99", 0.99)])[0].effective_samples / 50.0;
    }
    let ratio = 1.0 / inverse / expected;
    println!("effective {:.0}, expected {expected:.0}", 1.0 / inverse);
    assert!((0.7..1.5).contains(&ratio), "{ratio}");
}
