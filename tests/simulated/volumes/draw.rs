//! Seeded volumes of every class.

use super::fluid::{BurstOfFluid, Device, Dip, Noise, Random, Rise, StallCycle};
use super::truth::{self, Fair};
use super::volume::{BURST, Kind, Test, Volume};

/// Depths of the planned step: those of the presets among them.
const DEPTHS: [u32; 8] = [1, 4, 16, 32, 64, 128, 256, 512];
/// Times between the refills of a bucket.
const PERIODS: [f64; 6] = [50e-6, 0.001, 0.01, 0.1, 0.5, 1.0];
/// Lengths of the planned step, and its ramps.
const LENGTHS: [u32; 6] = [60, 60, 60, 90, 120, 300];
const RAMPS: [u32; 4] = [0, 1, 5, 10];
/// Draws of a class until one is no tie.
const TRIES: u64 = 200;

/// A class: its name, and the volume that it makes of an ordinary one.
type Class = (&'static str, fn(&mut Random, Volume) -> Volume);

const CLASSES: [Class; 16] = [
    ("steady", |_, v| v),
    ("needs depth", needs_depth),
    ("no cap", no_cap),
    ("noise", noise),
    ("stalls", stalls),
    ("brown-outs", brown_outs),
    ("one dip", one_dip),
    ("slow start", slow_start),
    ("drift", drift),
    ("slow shares", slow_shares),
    ("bursts", bursts),
    ("bytes", bytes),
    ("writes and mixes", writes_and_mixes),
    ("open loop", open_loop),
    ("depth 1", |_, v| with_test(v, |t| Test { depth: 1, jobs: 1, ..t })),
    ("several targets", several_targets),
];

/// The class of a seed.
pub fn class(seed: u64) -> &'static str {
    CLASSES[seed as usize % CLASSES.len()].0
}

/// The volume of a seed, and the answers to it that are fair.
pub fn volume(seed: u64) -> (Volume, Fair) {
    let (class, make) = CLASSES[seed as usize % CLASSES.len()];
    for attempt in 0..TRIES {
        let mut random = Random::new(seed * TRIES + attempt);
        let ordinary = ordinary(&mut random, class, seed);
        let drawn = make(&mut random, ordinary);
        if let Some(fair) = truth::fair(&drawn) {
            return (drawn, fair);
        }
    }
    panic!("{TRIES} volumes of class {class} are all ties");
}

/// A volume with a cap, which most classes change in one thing.
fn ordinary(random: &mut Random, class: &'static str, seed: u64) -> Volume {
    let test = Test {
        pattern: "randread",
        jobs: if random.share() < 0.2 { 2 } else { 1 },
        depth: random.one_of(&DEPTHS),
        offered: None,
        seconds: random.one_of(&LENGTHS),
        ramp: random.one_of(&RAMPS),
        targets: 1,
        seed,
    };
    let latency = 0.0003 * 30f64.powf(random.share());
    let mut v = Volume {
        class,
        kind: random.one_of(&[Kind::Plain, Kind::Plain, Kind::Timed, Kind::Bursty]),
        device: Device::steady(latency, 0.0),
        jitter: latency * random.share(),
        slow: None,
        in_bytes: false,
        test,
    };
    let share = share_of_the_promise(random);
    v.device = Device { cap: share * v.promised(), period: random.one_of(&PERIODS), ..v.device };
    v
}

/// From 0.3 to 1.5, half of them near the promise.
fn share_of_the_promise(random: &mut Random) -> f64 {
    if random.share() < 0.5 { random.between(0.9, 1.09) } else { random.between(0.3, 1.5) }
}

fn with_test(v: Volume, change: impl Fn(Test) -> Test) -> Volume {
    Volume { test: change(v.test.clone()), ..v }
}

/// Slow I/Os that a deeper queue makes up for.
fn needs_depth(random: &mut Random, v: Volume) -> Volume {
    let latency = random.between(0.01, 0.5);
    let device = Device { latency, ..v.device };
    Volume { device, jitter: latency * random.between(0.0, 0.3), ..v }
}

/// Only the depth limits it: 250 ms and more for each I/O.
fn no_cap(random: &mut Random, v: Volume) -> Volume {
    let latency = random.between(0.25, 0.9);
    let device = Device { latency, cap: f64::INFINITY, ..v.device };
    plain(Volume { device, jitter: latency * random.between(0.0, 0.2), ..v })
}

fn noise(random: &mut Random, v: Volume) -> Volume {
    let noise = Noise { size: random.between(0.005, 0.1), memory: random.one_of(&[0.0, 0.5, 0.8]) };
    Volume { device: Device { noise: Some(noise), ..v.device }, ..v }
}

fn stalls(random: &mut Random, v: Volume) -> Volume {
    let every = random.between(0.5, 20.0);
    let length = random.between(0.1, 3.0).min(0.6 * every);
    let stall = StallCycle { at: random.between(0.0, every), length, every };
    Volume { device: Device { stall: Some(stall), ..v.device }, ..v }
}

fn brown_outs(random: &mut Random, v: Volume) -> Volume {
    let every = random.between(2.0, 20.0);
    let (at, length) = (random.between(0.0, every), random.between(0.05, 0.6) * every);
    let dip = Dip { at, length, every, to: random.between(0.1, 0.9) };
    Volume { device: Device { dip: Some(dip), ..v.device }, ..v }
}

fn one_dip(random: &mut Random, v: Volume) -> Volume {
    let length = random.one_of(&[20.0, 60.0, 1000.0]);
    let dip =
        Dip { at: random.between(0.0, 200.0), length, every: f64::INFINITY, to: random.between(0.1, 0.9) };
    plain(Volume { device: Device { dip: Some(dip), ..v.device }, ..v })
}

fn slow_start(random: &mut Random, v: Volume) -> Volume {
    let rise = Rise { from: random.between(0.1, 0.9), length: random.between(5.0, 200.0) };
    plain(Volume { device: Device { rise: Some(rise), ..v.device }, ..v })
}

fn drift(random: &mut Random, v: Volume) -> Volume {
    plain(Volume { device: Device { drift: random.between(-0.08, 0.08), ..v.device }, ..v })
}

fn plain(v: Volume) -> Volume {
    Volume { kind: Kind::Plain, ..v }
}

fn slow_shares(random: &mut Random, v: Volume) -> Volume {
    let slow = (random.between(0.005, 0.3), random.between(0.02, 0.5));
    Volume { slow: Some(slow), ..v }
}

/// Three times the promise until the credits are used up.
fn bursts(random: &mut Random, v: Volume) -> Volume {
    let rate = BURST * v.promised();
    let lasts = if random.share() < 0.3 { 3000.0 } else { random.between(5.0, 150.0) };
    let burst = BurstOfFluid { rate, ios: (rate - v.device.cap) * lasts };
    let device = Device { burst: Some(burst), latency: v.device.latency.min(0.002), ..v.device };
    let kind = random.one_of(&[Kind::Plain, Kind::Bursty, Kind::Bursty]);
    let test = Test {
        depth: random.one_of(&[32, 64, 128, 256]),
        seconds: random.one_of(&[180, 240, 300]),
        ..v.test.clone()
    };
    Volume { device, jitter: v.jitter.min(0.001), kind, test, ..v }
}

/// Blocks of 1 MiB, which the cap on bytes holds.
fn bytes(random: &mut Random, v: Volume) -> Volume {
    let share = v.device.cap / v.promised();
    let in_bytes = Volume { in_bytes: true, ..v };
    let device = Device { cap: share * in_bytes.promised(), ..in_bytes.device };
    let depth = random.one_of(&[1, 2, 4, 16, 32, 64]);
    let pattern = random.one_of(&["read", "randread"]);
    with_test(Volume { device, ..in_bytes }, |t| Test { depth, pattern, ..t })
}

fn writes_and_mixes(random: &mut Random, v: Volume) -> Volume {
    let pattern = random.one_of(&["randwrite", "randrw", "write", "rw"]);
    with_test(v, |t| Test { pattern, ..t })
}

fn open_loop(random: &mut Random, v: Volume) -> Volume {
    let offered = Some(random.between(0.4, 1.6));
    let depth = random.one_of(&[4, 16, 64, 256]);
    with_test(v, |t| Test { offered, depth, jobs: 1, ..t })
}

fn several_targets(random: &mut Random, v: Volume) -> Volume {
    let targets = random.one_of(&[2, 3]);
    let kind = random.one_of(&[Kind::Plain, Kind::Timed]);
    with_test(Volume { kind, ..v }, |t| Test { targets, jobs: 1, ..t })
}
