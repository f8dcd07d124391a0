//! A volume as a fluid: what it delivers follows from its limits alone, in slots of 10 ms.
//!
//! Requests are no single events here, so that minutes of a load take microseconds. Two uses: the tests of the judge's rules play whole
//! courses of experiments on it, and `tests/volumes` (which includes this file) reads off what a simulated volume deserves. Nothing of the
//! program takes part. Times are seconds, rates I/Os a second.

use std::collections::VecDeque;

/// Length of a slot.
pub const SLOT: f64 = 0.01;
/// Slots in 100 ms, the grid of counts.
const SLOTS_A_BIN: usize = 10;

/// Dead again and again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StallCycle {
    pub at: f64,
    pub length: f64,
    pub every: f64,
}

/// Slower again and again, or once where `every` is infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dip {
    pub at: f64,
    pub length: f64,
    pub every: f64,
    /// Share of the full speed.
    pub to: f64,
}

/// Slower at the start of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rise {
    pub from: f64,
    pub length: f64,
}

/// More than the cap while credits last, which time without load earns back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstOfFluid {
    pub rate: f64,
    pub ios: f64,
}

/// Speeds that vary from second to second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Standard deviation as a share of the speed.
    pub size: f64,
    /// Correlation of neighbouring seconds.
    pub memory: f64,
}

/// The limits of a volume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device {
    /// Mean latency of an I/O from the start of its service.
    pub latency: f64,
    pub cap: f64,
    /// Time from one refill of the cap's bucket to the next.
    pub period: f64,
    pub stall: Option<StallCycle>,
    pub dip: Option<Dip>,
    pub rise: Option<Rise>,
    /// Change of the speed each minute, as a share of the full speed.
    pub drift: f64,
    pub burst: Option<BurstOfFluid>,
    pub noise: Option<Noise>,
}

impl Device {
    /// The same at all times.
    pub fn steady(latency: f64, cap: f64) -> Device {
        Device {
            latency,
            cap,
            period: 0.1,
            stall: None,
            dip: None,
            rise: None,
            drift: 0.0,
            burst: None,
            noise: None,
        }
    }

    fn is_stalled(&self, time: f64) -> bool {
        self.stall.is_some_and(|s| time >= s.at && (time - s.at) % s.every < s.length)
    }

    /// Its speed without noise; 1 is full speed.
    fn speed(&self, time: f64) -> f64 {
        let mut speed = 1.0 + self.drift * time / 60.0;
        if let Some(rise) = self.rise.filter(|rise| time < rise.length) {
            speed *= rise.from + (1.0 - rise.from) * time / rise.length;
        }
        if let Some(dip) = self.dip.filter(|dip| time >= dip.at) {
            speed *= if (time - dip.at) % dip.every < dip.length { dip.to } else { 1.0 };
        }
        speed.max(0.01)
    }
}

/// What is asked of a volume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FluidLoad {
    pub depth: u64,
    /// I/Os a second that are offered; absent in a closed loop.
    pub offered: Option<f64>,
}

/// What was seen, on the grid of 100 ms.
#[derive(Clone, Debug, Default)]
pub struct SeenOfFluid {
    pub counts: Vec<u64>,
    /// Whether requests waited and none completed.
    pub idle: Vec<bool>,
    /// Requests in flight, averaged over time.
    pub in_flight: f64,
}

/// A volume on the clock of its run.
#[derive(Clone, Debug)]
pub struct Fluid {
    device: Device,
    /// Slots since the start of the run.
    slot: usize,
    bucket: CreditsLeft,
    random: Random,
    /// The noise of the present second, in standard deviations.
    noise: f64,
}

/// Tokens of the present period of the cap.
#[derive(Clone, Copy, Debug, Default)]
struct CreditsLeft {
    base: f64,
    high: f64,
    used: f64,
    credits: f64,
}

impl CreditsLeft {
    fn refill(&mut self, device: &Device, speed: f64, length: f64) {
        let most = device.burst.map_or(0.0, |burst| burst.ios);
        self.credits = (self.credits + self.base - self.used).clamp(0.0, most);
        self.base = device.cap * speed * length;
        self.high = device.burst.map_or(device.cap, |burst| burst.rate) * speed * length;
        self.used = 0.0;
    }

    fn take(&mut self, wanted: f64) -> f64 {
        let allowed = (self.base + self.credits).min(self.high).max(self.base);
        let taken = wanted.min(allowed - self.used).max(0.0);
        self.used += taken;
        taken
    }
}

impl Fluid {
    pub fn new(device: Device, seed: u64) -> Fluid {
        let credits = device.burst.map_or(0.0, |burst| burst.ios);
        let bucket = CreditsLeft { credits, ..CreditsLeft::default() };
        let mut random = Random::new(seed);
        let noise = random.normal();
        Fluid { device, slot: 0, bucket, random, noise }
    }

    /// Lets a load run for some time.
    pub fn play(&mut self, load: FluidLoad, seconds: f64) -> SeenOfFluid {
        let slots = (seconds / SLOT).round() as usize;
        // Requests shorter than a slot come round several times in it.
        let rounds = (SLOT / self.device.latency).max(1.0);
        let mut free = load.depth as f64;
        let (mut due, mut backlog) = (VecDeque::<f64>::new(), 0.0);
        let mut seen = SeenOfFluid::default();
        let (mut bin, mut sum, mut waited) = (0.0, 0.0, false);
        for slot in 0..slots {
            let time = self.slot as f64 * SLOT;
            let speed = self.speed_now(time);
            self.refill_if_due(speed);
            let mut done = due.pop_front().unwrap_or(0.0);
            if self.device.is_stalled(time) {
                add(&mut due, 0, done);
                done = 0.0;
            }
            free += done;
            let rounds = if self.device.is_stalled(time) { 1.0 } else { rounds };
            let wanted = match load.offered {
                Some(rate) => {
                    backlog += rate * SLOT;
                    (free * rounds).min(backlog)
                }
                None => free * rounds,
            };
            let taken = self.bucket.take(wanted);
            backlog -= taken;
            // Those of all rounds but the last have come back.
            let sent = taken.min(free);
            done += taken - sent;
            free -= sent;
            let after = (self.device.latency / speed / SLOT).max(1.0);
            let (whole, part) = (after.floor() as usize, after.fract());
            add(&mut due, whole - 1, sent * (1.0 - part));
            add(&mut due, whole, sent * part);
            let in_flight = match load.offered {
                Some(_) => load.depth as f64 - free + backlog.min(free),
                None => load.depth as f64,
            };
            seen.in_flight += in_flight.min(load.depth as f64) / slots as f64;
            waited |= in_flight > 1e-9;
            bin += done;
            if (slot + 1) % SLOTS_A_BIN == 0 {
                let count = (sum + bin).round() - f64::round(sum);
                sum += bin;
                seen.idle.push(waited && bin < 1e-9);
                seen.counts.push(count as u64);
                (bin, waited) = (0.0, false);
            }
            self.slot += 1;
        }
        seen
    }

    fn speed_now(&mut self, time: f64) -> f64 {
        let Some(noise) = self.device.noise else { return self.device.speed(time) };
        if self.slot.is_multiple_of((1.0 / SLOT) as usize) {
            let fresh = self.random.normal();
            self.noise = noise.memory * self.noise + (1.0 - noise.memory.powi(2)).sqrt() * fresh;
        }
        (self.device.speed(time) * (1.0 + noise.size * self.noise)).max(0.01)
    }

    fn refill_if_due(&mut self, speed: f64) {
        let length = self.device.period.max(SLOT);
        if self.slot.is_multiple_of((length / SLOT).round() as usize) {
            self.bucket.refill(&self.device, speed, length);
        }
    }
}

fn add(due: &mut VecDeque<f64>, slot: usize, amount: f64) {
    if due.len() <= slot {
        due.resize(slot + 1, 0.0);
    }
    due[slot] += amount;
}

/// Random numbers (Marsaglia's xorshift), the same for each seed.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..4).for_each(|_| {
            random.next();
        });
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Evenly from 0 to 1.
    pub fn share(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.next() % all.len() as u64) as usize]
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.share().ln()).sqrt() * (2.0 * std::f64::consts::PI * self.share()).cos()
    }
}
