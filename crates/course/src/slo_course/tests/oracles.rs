//! Searches on devices whose truth is a formula, over many seeds: each second of a trial is drawn from the distribution of responses.
//!
//! `VOLPROOF_SEEDS=500 cargo test --lib oracles -- --nocapture` plays more seeds and prints the worst deviation of each device.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::*;
use volproof_base::hist::{bucket, bucket_high};
use volproof_record::SloAnswer;

/// Time of service, seconds.
const SERVICE: f64 = 0.001;
/// The limit of the p99, seconds, as far as histograms can tell it.
fn limit() -> f64 {
    bucket_high(bucket(30_000_000)) as f64 / 1e9
}

/// Latencies in seconds, ascending, with their counts.
fn stored(all: &[(f64, u64)]) -> StoredHistogram {
    let ns = |latency: f64| (latency * 1e9) as u64;
    let some = || all.iter().filter(|(_, n)| *n > 0).map(|(latency, n)| (ns(*latency), *n));
    let (least, most) = (some().next().map_or(0, |(v, _)| v), some().next_back().map_or(0, |(v, _)| v));
    let sum = total(some().map(|(v, n)| v * n));
    StoredHistogram::from_buckets(Nanos(least), Nanos(most), Nanos(sum), some().map(|(v, n)| (bucket(v), n)))
}

/// What a device does in a second.
enum SecondDrawn {
    /// The share of responses above the limit.
    Above(f64),
    /// It completes only so many.
    Overload(f64),
}

/// A device whose responses are drawn.
struct DeviceDrawn<F> {
    /// The most that it completes in a second.
    most: f64,
    /// A second at a load, so many seconds and I/Os after the first step began.
    second: F,
    now: f64,
    ios: f64,
    rng: Xoshiro256PlusPlus,
}

impl<F: FnMut(f64, f64, f64) -> SecondDrawn> DeviceDrawn<F> {
    fn new(most: f64, seed: u64, second: F) -> DeviceDrawn<F> {
        DeviceDrawn { most, second, now: 0.0, ios: 0.0, rng: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    fn uniform(&mut self) -> f64 {
        ((self.rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// A count of a Poisson distribution.
    fn count(&mut self, mean: f64) -> u64 {
        if mean > 50.0 {
            let normal = (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos();
            return (mean + mean.sqrt() * normal).round().max(0.0) as u64;
        }
        let (floor, mut product, mut n) = ((-mean).exp(), self.uniform(), 0);
        while product > floor {
            product *= self.uniform();
            n += 1;
        }
        n
    }

    fn play(&mut self, step: &Step) -> FinishedStep {
        let (ramp, runtime) = (step.ramp.as_seconds() as u64, step.runtime.as_seconds() as u64);
        let depth = step.depth_per_target() as f64;
        let rate = step.rate_iops.unwrap_or((depth / SERVICE).min(self.most));
        let mut seconds = Vec::new();
        let (mut completed, mut offered) = (0.0, 0.0);
        for second in 0..ramp + runtime {
            let (above, done) = match (self.second)(rate, self.now, self.ios) {
                SecondDrawn::Above(share) => (share, rate),
                SecondDrawn::Overload(most) => (1.0, most.min(rate)),
            };
            self.now += 1.0;
            self.ios += done;
            if second < ramp {
                continue;
            }
            completed += done;
            offered += rate;
            let drawn = match step.rate_iops {
                Some(_) => {
                    let (fast, slow) = (self.count(done * (1.0 - above)), self.count(done * above));
                    [(SERVICE, fast), (2.0 * limit(), slow)]
                }
                None => [(depth / rate, done as u64), (1.0, 0)],
            };
            seconds.push(stored(&drawn));
        }
        let iops = completed / runtime as f64;
        FinishedStep {
            step: step.clone(),
            iops,
            bytes_per_second: 4096.0 * iops,
            error: None,
            bins: Vec::new(),
            in_flight: iops * SERVICE,
            service: pooled(&seconds),
            latencies: vec![(Direction::Read, seconds)],
            sustained: completed >= 0.99 * offered,
            spoilt_by: Vec::new(),
            dead_time: None,
            claim: None,
            told: Vec::new(),
        }
    }
}

/// The answer of a search on a device.
fn found(mut device: DeviceDrawn<impl FnMut(f64, f64, f64) -> SecondDrawn>) -> SloAnswer {
    let p99 = SloSearch { limit: Nanos((limit() * 1e9).round() as u64), ..search(ResponseFigure::P99, 30.0) };
    play_with(&p99, |step| device.play(step)).0
}

/// The deviations of the loads that were found from the truth, over many seeds; prints the worst.
fn deviations(name: &str, truth: f64, answer: impl Fn(u64) -> SloAnswer) -> Vec<f64> {
    let seeds = std::env::var("VOLPROOF_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let off: Vec<f64> = (0..seeds)
        .map(answer)
        .map(|answer| answer.holds_per_second.unwrap_or_default() / truth - 1.0)
        .collect();
    let (low, high) = off.iter().fold((f64::MAX, f64::MIN), |(l, h), o| (l.min(*o), h.max(*o)));
    println!("{name}: truth {truth:.1}, {seeds} seeds, {:+.2} % to {:+.2} %", 100.0 * low, 100.0 * high);
    off
}

#[track_caller]
fn within_two_percent(name: &str, truth: f64, answer: impl Fn(u64) -> SloAnswer) {
    let off = deviations(name, truth, answer);
    assert!(off.iter().all(|o| o.abs() <= 0.02), "{name}: {off:?}");
}

/// A stationary queue by its share of responses above the limit.
fn queue(capacity: f64, seed: u64, above: impl Fn(f64) -> f64) -> SloAnswer {
    found(DeviceDrawn::new(capacity, seed, move |rate, _, _| match rate < capacity {
        true => SecondDrawn::Above(above(rate).clamp(0.0, 1.0)),
        false => SecondDrawn::Overload(capacity),
    }))
}

/// Responses of M/M/1 are exponential with the rate mu - lambda (Kleinrock).
fn one_server(mu: f64) -> impl Fn(f64) -> f64 + Copy {
    move |rate| (-(mu - rate) * limit()).exp()
}

#[test]
fn one_exponential_server() {
    let truth = 1000.0 - 100f64.ln() / limit();
    within_two_percent("M/M/1", truth, |seed| queue(1000.0, seed, one_server(1000.0)));
}

#[test]
fn many_exponential_servers() {
    // M/M/c: an exponential service, behind an exponential wait with the probability of Erlang's C formula.
    for (servers, mu) in [(4.0, 250.0), (16.0, 200.0)] {
        let above = move |rate: f64| {
            let a: f64 = rate / mu;
            let (mut term, mut sum) = (1.0, 0.0);
            for k in 0..servers as u32 {
                sum += term;
                term *= a / f64::from(k + 1);
            }
            let waiting = term * servers / (servers - a);
            let (c, theta, t) = (waiting / (sum + waiting), servers * mu - rate, limit());
            let both = (theta * (-mu * t).exp() - mu * (-theta * t).exp()) / (theta - mu + 1e-9);
            (1.0 - c) * (-mu * t).exp() + c * both
        };
        let capacity = servers * mu;
        let truth = solve(above, capacity, 0.01);
        within_two_percent(&format!("M/M/{servers}"), truth, |seed| queue(capacity, seed, above));
    }
}

#[test]
fn one_server_of_fixed_service() {
    // The distribution of waits of M/D/1 (Erlang 1909).
    let d = 0.004;
    let above = move |rate: f64| {
        let (rho, t) = (rate * d, limit() - d);
        let term = |k: u32| {
            let x = rate * (f64::from(k) * d - t);
            (1..=k).fold((-x).exp(), |product, i| product * x / f64::from(i))
        };
        1.0 - (1.0 - rho) * (0..=(t / d) as u32).map(term).sum::<f64>()
    };
    let truth = solve(above, 1.0 / d, 0.01);
    within_two_percent("M/D/1", truth, |seed| queue(1.0 / d, seed, above));
}

#[test]
fn a_band_of_loads_that_fails_below_one_that_holds() {
    let above = |rate: f64| if (400.0..600.0).contains(&rate) || rate > 900.0 { 0.05 } else { 0.0001 };
    within_two_percent("band", 400.0, |seed| queue(1000.0, seed, above));
}

#[test]
fn credits_that_run_out() {
    // 500 a second for good. The credits are worth 2 % of a long trial.
    let (base, most) = (500.0, 3000.0);
    let answer = |seed: u64| {
        let mut level = most;
        found(DeviceDrawn::new(1500.0, seed, move |rate, _, _| {
            level = (level + base - rate).min(most);
            match level >= 0.0 {
                true => SecondDrawn::Above(0.0001),
                false => {
                    level = 0.0;
                    SecondDrawn::Overload(base)
                }
            }
        }))
    };
    let off = deviations("credits", base, answer);
    assert!(off.iter().all(|o| (-0.02..=0.03).contains(o)), "{off:?}");
}

#[test]
fn a_volume_that_warms_up_while_the_search_begins_keeps_its_load() {
    let truth = 1000.0 - 100f64.ln() / limit();
    // From a warm-up before the first trial to one that refuses the first five.
    for warm in [60.0, 90.0, 120.0, 150.0, 200.0] {
        within_two_percent(&format!("warm-up of {warm} s"), truth, |seed| {
            let answer =
                found(DeviceDrawn::new(1000.0, seed, |rate, now, _| match (now < warm, rate < 1000.0) {
                    (true, _) => SecondDrawn::Above(0.05),
                    (false, true) => SecondDrawn::Above(one_server(1000.0)(rate)),
                    (false, false) => SecondDrawn::Overload(1000.0),
                }));
            let told = answer.notes.iter().any(|note| note.contains("became faster during the search"));
            assert!(answer.monotone && (told || warm < 90.0), "{answer:?}");
            answer
        });
    }
}

#[test]
fn a_volume_that_begins_to_clean_up_is_never_overrated() {
    // After 100,000 writes, clean-up takes half of the capacity.
    let truth = 500.0 - 100f64.ln() / limit();
    let cleaning = |seed: u64| {
        found(DeviceDrawn::new(1000.0, seed, |rate, _, ios| {
            let mu = if ios < 1e5 { 1000.0 } else { 500.0 };
            if rate < mu { SecondDrawn::Above(one_server(mu)(rate)) } else { SecondDrawn::Overload(mu) }
        }))
    };
    let off = deviations("clean-up", truth, cleaning);
    assert!(off.iter().all(|o| o.abs() <= 0.02), "{off:?}");
}
