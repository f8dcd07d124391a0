//! No device. [`Null`] completes every request at once and shows what the engine itself costs; [`Device`] plays a device in
//! virtual time with planted latencies, stalls, caps and errors, so that everything behind the engine can be tested
//! against a known truth, in an instant and without noise.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::io;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::backend::{Backend, IoRequest};
use super::clock::{Clock, Virtual};
use crate::plan::{Simulated, Uneven};
use crate::unit::Nanos;

/// Completes at once.
#[derive(Default)]
pub struct Null(VecDeque<(u32, u32)>);

impl Backend for Null {
    #[inline(always)]
    fn fill(&mut self, slots: &[u32], mut next: impl FnMut(u32) -> IoRequest) {
        for slot in slots {
            let r = next(*slot);
            self.0.push_back((r.slot, r.length));
        }
    }

    #[inline(always)]
    fn submit_and_wait(&mut self, _want: u32, _timeout: Option<Nanos>) -> io::Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn ready(&mut self) -> u32 {
        self.0.len() as u32
    }

    #[inline(always)]
    fn completions(&mut self) -> impl Iterator<Item = (u32, i64)> {
        std::iter::from_fn(|| self.0.pop_front().map(|(slot, length)| (slot, i64::from(length))))
    }
}

/// A device in virtual time.
pub struct Device {
    clock: Virtual,
    plan: Simulated,
    rng: Xoshiro256PlusPlus,
    /// Completion time, order of submission, slot, result.
    in_flight: BinaryHeap<Reverse<(u64, u64, u32, i64)>>,
    submitted: u64,
    ios: Option<Bucket>,
    bytes: Option<Bucket>,
    speed: Speed,
    /// Regions of 1 MiB that were touched.
    touched: BTreeSet<u64>,
}

impl Device {
    /// A device whose time is `clock`.
    pub fn new(clock: Virtual, plan: Simulated, seed: u64) -> Device {
        let period = plan.cap_period.unwrap_or(Nanos::millis(100)).0.max(1);
        Device {
            ios: plan
                .iops_cap
                .map(|cap| Bucket::new(cap, plan.burst_iops.unwrap_or(cap), plan.burst_ios, period)),
            bytes: plan.bytes_cap.map(|cap| Bucket::new(cap.0 as f64, cap.0 as f64, 0, period)),
            speed: Speed::new(plan.uneven.clone(), seed),
            clock,
            plan,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            in_flight: BinaryHeap::new(),
            submitted: 0,
            touched: BTreeSet::new(),
        }
    }

    /// The completion time of a request whose service begins at `start`.
    fn end(&mut self, start: u64, offset: u64) -> u64 {
        let draw = |rng: &mut Xoshiro256PlusPlus, n: u64| {
            ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u64
        };
        let jitter = draw(&mut self.rng, self.plan.jitter.0);
        let slow = self.plan.slow_share > 0.0
            && draw(&mut self.rng, 1 << 32) < (self.plan.slow_share * (1u64 << 32) as f64) as u64;
        let base = if slow { self.plan.slow_latency.0 } else { self.plan.latency.0 };
        let mut takes = base + jitter;
        if self.plan.first_touch.0 > 0 && self.touched.insert(offset >> 20) {
            takes += self.plan.first_touch.0;
        }
        let end = start + (takes as f64 / self.speed.at(start)) as u64;
        let Some(at) = self.plan.stall_at.map(|t| t.0).filter(|at| end >= *at) else { return end };
        let since = self.plan.stall_every.map_or(end - at, |every| (end - at) % every.0.max(1));
        if since < self.plan.stall_for.0 { end - since + self.plan.stall_for.0 } else { end }
    }
}

/// The speed of a device over time; 1 is full speed.
struct Speed {
    uneven: Uneven,
    rng: Xoshiro256PlusPlus,
    /// The second for which noise was drawn, and that noise in standard deviations.
    second: u64,
    noise: f64,
}

impl Speed {
    /// The lowest speed: noise and drift stop no device.
    const LOWEST: f64 = 0.01;

    fn new(uneven: Uneven, seed: u64) -> Speed {
        let mut speed =
            Speed { uneven, rng: Xoshiro256PlusPlus::seed_from_u64(!seed), second: 0, noise: 0.0 };
        speed.noise = speed.normal();
        speed
    }

    fn normal(&mut self) -> f64 {
        let mut uniform = || ((self.rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        (-2.0 * uniform().ln()).sqrt() * (2.0 * std::f64::consts::PI * uniform()).cos()
    }

    fn at(&mut self, time: u64) -> f64 {
        let u = &self.uneven;
        let mut speed = 1.0 + u.drift * time as f64 / 60e9;
        if time < u.rise_for.0 {
            speed *= u.rise_from + (1.0 - u.rise_from) * time as f64 / u.rise_for.0 as f64;
        }
        if u.dip_for.0 > 0 && time >= u.dip_at.0 {
            let since = time - u.dip_at.0;
            let since = u.dip_every.map_or(since, |every| since % every.0.max(1));
            speed *= if since < u.dip_for.0 { u.dip_to } else { 1.0 };
        }
        if u.noise > 0.0 {
            let (noise, memory) = (u.noise, u.noise_memory);
            while self.second < time / 1_000_000_000 {
                self.second += 1;
                self.noise = memory * self.noise + (1.0 - memory * memory).sqrt() * self.normal();
            }
            speed *= 1.0 + noise * self.noise;
        }
        speed.max(Speed::LOWEST)
    }
}

/// A token bucket that is refilled at the start of each period. Tokens that a period leaves over are kept as credits.
struct Bucket {
    /// Tokens a second.
    rate: f64,
    /// Tokens a second while there are credits.
    burst: f64,
    credits: u64,
    /// The most credits that it holds.
    most: u64,
    /// Length of a period.
    length: u64,
    /// The last period in which a request was let through, and how many of that period's tokens are used.
    period: u64,
    taken: u64,
    /// Tokens of this period at the rate and at the burst rate, and the fractions of tokens that later periods get.
    base: u64,
    high: u64,
    left: (f64, f64),
}

impl Bucket {
    fn new(rate: f64, burst: f64, credits: u64, length: u64) -> Bucket {
        Bucket {
            rate,
            burst,
            credits,
            most: credits,
            length,
            period: 0,
            taken: 0,
            base: 0,
            high: 0,
            left: (0.0, 0.0),
        }
    }

    /// Sets the tokens of the present period.
    fn fill(&mut self, speed: &mut Speed) {
        let seconds = self.length as f64 / 1e9 * speed.at(self.period * self.length);
        // A rounding error of the product must not keep a whole token back.
        let whole = |tokens: f64| (tokens + 1e-6).floor();
        let (base, high) = (self.rate * seconds + self.left.0, self.burst * seconds + self.left.1);
        (self.base, self.high) = (whole(base) as u64, whole(high) as u64);
        self.left = (base - whole(base), high - whole(high));
    }

    /// Goes to the next period. A request larger than a period's tokens takes those of the next ones too.
    fn turn(&mut self, speed: &mut Speed) {
        let used = self.taken.min(self.allowed());
        self.credits = (self.credits + self.base - used).min(self.most);
        self.taken -= used;
        self.period += 1;
        self.fill(speed);
    }

    fn allowed(&self) -> u64 {
        (self.base + self.credits).min(self.high).max(self.base)
    }

    /// The time at which the bucket lets through a request of `tokens` that arrives now.
    fn admitted(&mut self, now: u64, tokens: u64, speed: &mut Speed) -> u64 {
        if self.period == 0 && self.base == 0 && self.high == 0 {
            self.fill(speed);
        }
        while self.period < now / self.length {
            self.turn(speed);
        }
        while self.taken >= self.allowed() {
            self.turn(speed);
        }
        self.taken += tokens;
        now.max(self.period * self.length)
    }
}

impl Backend for Device {
    fn fill(&mut self, slots: &[u32], mut next: impl FnMut(u32) -> IoRequest) {
        for slot in slots {
            let r = next(*slot);
            let now = self.clock.now();
            let (ios, bytes, speed) = (&mut self.ios, &mut self.bytes, &mut self.speed);
            let by_ios = ios.as_mut().map_or(now, |b| b.admitted(now, 1, speed));
            let by_bytes = bytes.as_mut().map_or(now, |b| b.admitted(now, u64::from(r.length), speed));
            let end = self.end(by_ios.max(by_bytes), r.offset);
            self.submitted += 1;
            let fails = self.plan.error_every > 0 && self.submitted.is_multiple_of(self.plan.error_every);
            let result = if fails { -i64::from(libc::EIO) } else { i64::from(r.length) };
            self.in_flight.push(Reverse((end, self.submitted, r.slot, result)));
        }
    }

    fn submit_and_wait(&mut self, want: u32, timeout: Option<Nanos>) -> io::Result<()> {
        if want > 0
            && let Some(Reverse((end, ..))) = self.in_flight.peek()
        {
            // Waits without a limit are interrupted now and then, as the watching thread does with real ones.
            let limit = timeout.unwrap_or(Nanos::seconds(1));
            self.clock.advance_to((*end).min(self.clock.now() + limit.0));
        }
        Ok(())
    }

    fn ready(&mut self) -> u32 {
        let now = self.clock.now();
        self.in_flight.iter().filter(|r| r.0.0 <= now).count() as u32
    }

    fn completions(&mut self) -> impl Iterator<Item = (u32, i64)> {
        let now = self.clock.now();
        std::iter::from_fn(move || {
            self.in_flight.peek().filter(|r| r.0.0 <= now)?;
            self.in_flight.pop().map(|Reverse((_, _, slot, result))| (slot, result))
        })
    }
}
