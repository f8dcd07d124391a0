//! Changes of a volume or of its test that must not change the answer, or may change it in one direction alone.
//!
//! Volumes within 3 % of their limit are left out, where noise, edges of seconds or half a stall more decide.

use super::fluid::{BurstOfFluid, Device, Dip, Fluid, FluidLoad, Noise, Random, StallCycle};
use super::{LoadSequence, PROMISED, SATURATING, closed, plain};
use crate::answer::MOST_DEAD;
use crate::facts::TriedLoad;
use crate::sold_burst::SoldBurst;
use crate::terms::ClaimTerms;
use volproof_record::Outcome;

/// Volumes of each property, each in four to six versions; `VOLUMES=300` in the environment asks for more.
const CASES: u64 = 100;
const DEPTHS: [u64; 6] = [1, 4, 16, 32, 128, 256];
const LENGTHS: [f64; 4] = [60.0, 60.0, 120.0, 300.0];
const PERIODS: [f64; 5] = [0.001, 0.01, 0.1, 0.5, 1.0];
/// The limit of the promise.
const LIMIT: f64 = 0.98 * PROMISED;

/// The mean rate over ten minutes of a saturating load.
fn sustained(device: Device) -> f64 {
    let seen = Fluid::new(device, 0).play(FluidLoad { depth: SATURATING, offered: None }, 600.0);
    seen.counts.iter().sum::<u64>() as f64 / 600.0
}

fn is_clear(device: Device, margin: f64) -> bool {
    (sustained(device) / LIMIT - 1.0).abs() > margin
}

/// A volume that is the same at all times, at 0.3 to 1.08 of the promise.
fn steady(random: &mut Random) -> Device {
    let cap = PROMISED * random.between(0.3, 1.08);
    Device { period: random.one_of(&PERIODS), ..Device::steady(0.0005 * 100f64.powf(random.share()), cap) }
}

/// A volume that is dead or slow again and again, and clearly above or below its limit.
fn disturbed(random: &mut Random) -> Device {
    loop {
        let every = random.between(0.5, 20.0);
        let at = random.between(0.0, every);
        let quiet = steady(random);
        let device = if random.share() < 0.5 {
            let length = random.between(0.1, 3.0).min(0.5 * every);
            Device { stall: Some(StallCycle { at, length, every }), ..quiet }
        } else {
            let length = random.between(0.1, 0.8) * every;
            Device { dip: Some(Dip { at, length, every, to: random.between(0.2, 0.9) }), ..quiet }
        };
        // Half a disturbance more or less in the shortest window, and the dead time that a PASS may have.
        let margin = 0.03 + every / 60.0 * 0.5;
        let near_dead = device.stall.is_some_and(|s| {
            (0.9..1.1).contains(&s.length) || (s.length >= 1.0 && s.length / s.every < 2.0 * MOST_DEAD)
        });
        if is_clear(device, margin) && !near_dead {
            return device;
        }
    }
}

fn plan(random: &mut Random) -> LoadSequence {
    let first = closed(random.one_of(&DEPTHS));
    let ramp = random.one_of(&[0.0, 5.0]);
    LoadSequence { ramp, ..LoadSequence::of(&[first], random.one_of(&LENGTHS)) }
}

fn outcome(plan: &LoadSequence, device: Device, seed: u64) -> Outcome {
    plan.run(device, seed).0.outcome
}

/// Holds a property for many volumes, and tells all that break it.
fn hold(property: impl Fn(&mut Random) -> Result<(), String>) {
    let cases = std::env::var("VOLUMES").map_or(CASES, |n| n.parse().expect("a number"));
    let broken: Vec<String> = (0..cases).filter_map(|seed| property(&mut Random::new(seed)).err()).collect();
    assert!(broken.is_empty(), "{} of {cases}:\n{}", broken.len(), broken.join("\n"));
}

fn same(found: &[Outcome], what: impl std::fmt::Debug) -> Result<(), String> {
    if found.iter().all(|outcome| *outcome == found[0]) {
        Ok(())
    } else {
        Err(format!("{found:?}: {what:?}"))
    }
}

#[test]
fn the_phase_of_a_disturbance_changes_nothing() {
    hold(|random| {
        let (device, plan) = (disturbed(random), plan(random));
        let moved = |by: f64| {
            let stall = device.stall.map(|s| StallCycle { at: s.at + by, ..s });
            let dip = device.dip.map(|d| Dip { at: d.at + by, ..d });
            Device { stall, dip, ..device }
        };
        let found = [0.0, 0.1, 0.3, 0.55, 0.7, 1.35].map(|by| outcome(&plan, moved(by), 0));
        same(&found, (device, &plan.loads, plan.seconds))
    });
}

#[test]
fn the_seed_of_noise_changes_nothing() {
    hold(|random| {
        let noise = Noise { size: random.between(0.0, 0.06), memory: random.between(0.0, 0.5) };
        // Six standard errors of the mean of the shortest window that is judged.
        let spread = noise.size * ((1.0 + noise.memory) / (1.0 - noise.memory) / 20.0).sqrt();
        let device = loop {
            let device = steady(random);
            if is_clear(device, 0.03 + 6.0 * spread) {
                break device;
            }
        };
        let plan = plan(random);
        let noisy = Device { noise: Some(noise), ..device };
        let found = [1, 2, 3, 4].map(|seed| outcome(&plan, noisy, seed));
        same(&found, (noisy, &plan.loads, plan.seconds))
    });
}

#[test]
fn the_order_of_the_steps_changes_nothing() {
    hold(|random| {
        let device = if random.share() < 0.5 { disturbed(random) } else { steady(random) };
        if !is_clear(device, 0.03) {
            return Ok(());
        }
        let loads = [4, 32, 256].map(closed);
        let order = |order: [usize; 3]| LoadSequence::of(&order.map(|i| loads[i]), 60.0);
        let all = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 2]];
        same(&all.map(|o| outcome(&order(o), device, 0)), device)
    });
}

#[test]
fn rates_in_proportion_change_nothing() {
    hold(|random| {
        let (device, plan) = (disturbed(random), plan(random));
        let found = [1.0, 2.0, 4.0, 8.0].map(|factor| {
            let depth = |depth: u64| (depth as f64 * factor) as u64;
            let loads: Vec<TriedLoad> = plan.loads.iter().map(|load| closed(depth(load.depth))).collect();
            let terms = plain(PROMISED * factor);
            let scaled = LoadSequence {
                terms,
                loads,
                saturating: depth(SATURATING),
                ..LoadSequence::of(&[], plan.seconds)
            };
            outcome(&scaled, Device { cap: device.cap * factor, ..device }, 0)
        });
        same(&found, (device, &plan.loads, plan.seconds))
    });
}

#[test]
fn more_cap_never_turns_a_pass_into_a_fail() {
    hold(|random| {
        let (device, plan) = (disturbed(random), plan(random));
        let found =
            [1.0, 1.1, 1.5, 3.0].map(|by| outcome(&plan, Device { cap: by * device.cap, ..device }, 0));
        never_falls(&found, (device, &plan.loads, plan.seconds))
    });
}

#[test]
fn less_dead_time_never_turns_a_pass_into_a_fail() {
    hold(|random| {
        let (device, plan) = (disturbed(random), plan(random));
        let shorter = |by: f64| Device {
            stall: device.stall.map(|s| StallCycle { length: by * s.length, ..s }),
            dip: device.dip.map(|d| Dip { length: by * d.length, ..d }),
            ..device
        };
        let found = [1.0, 0.8, 0.5, 0.1].map(|by| outcome(&plan, shorter(by), 0));
        never_falls(&found, (device, &plan.loads, plan.seconds))
    });
}

/// No FAIL comes after a PASS.
fn never_falls(found: &[Outcome], what: impl std::fmt::Debug) -> Result<(), String> {
    let passed = found.iter().position(|outcome| *outcome == Outcome::Pass).unwrap_or(found.len());
    if found[passed..].contains(&Outcome::Fail) { Err(format!("{found:?}: {what:?}")) } else { Ok(()) }
}

#[test]
fn the_depth_of_the_first_step_changes_nothing() {
    hold(|random| {
        let (device, plan) = (disturbed(random), plan(random));
        let found = DEPTHS.map(|depth| {
            let first = LoadSequence { ramp: plan.ramp, ..LoadSequence::of(&[closed(depth)], plan.seconds) };
            outcome(&first, device, 0)
        });
        same(&found, (device, plan.seconds))
    });
}

#[test]
fn a_burst_passes_for_the_whole_of_its_length_and_fails_for_none() {
    let (rate, length) = (3.0 * PROMISED, 200.0);
    let burst = Some(SoldBurst { per_second: rate, seconds: Some(length) });
    hold(|random| {
        let time = random.one_of(&[None, Some(0.99)]);
        let terms = ClaimTerms { burst, judge_burst: true, time, ..plain(PROMISED) };
        let (seconds, depth) =
            (random.one_of(&[60.0, 120.0, 180.0, 220.0, 300.0]), random.one_of(&[16, 1200]));
        let plan = LoadSequence { terms, saturating: 1200, ..LoadSequence::of(&[closed(depth)], seconds) };
        let (part, full) = (random.between(0.0, 0.95), random.between(1.0, 1.5));
        let bucket = random.one_of(&[0.0, part, full]);
        let ios = bucket * length * (rate - PROMISED);
        let device = Device {
            // A whole second between two quotas is dead time.
            period: random.one_of(&PERIODS[..4]),
            burst: Some(BurstOfFluid { rate, ios }),
            ..Device::steady(0.001, PROMISED)
        };
        let is_shown = bucket >= 1.0 && seconds >= length;
        let fair = if is_shown { Outcome::Pass } else { Outcome::Inconclusive };
        same(&[outcome(&plan, device, 0), fair], (bucket, seconds, depth, time, device.period))
    });
}
