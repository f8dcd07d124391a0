//! The volume behind a simulated device: planted latencies, stalls, caps, credits and errors, in virtual time.
//!
//! All jobs on a target share its volume. The volume lasts as long as the target is open, so that a step finds the credits and the touched
//! blocks as the steps before it left them. A step's own time begins at 0: stalls, dips, the rise and the random numbers begin anew with
//! each step.
//!
//! Writes through the page cache wait in memory until a flush carries them out. The volume has no cache of its own, so that such a flush takes as long
//! as these writes. A flush with nothing to write is a request like others.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::backend::IoRequest;
use crate::plan::{Simulated, Step, Uneven};
use crate::sample::Direction;
use crate::unit::Nanos;

/// How long the page cache takes for a write.
const COPY: Nanos = Nanos::micros(1);
/// Writes behind each other leave the page cache as one request of at most this many bytes.
const MERGED: u32 = 256 << 10;

/// The simulated volume of a target; none before the first step that simulates one.
#[derive(Clone, Default)]
pub struct SharedVolume(Arc<Mutex<Option<SimulatedVolume>>>);

impl SharedVolume {
    /// Prepares the volume for a step that simulates it as `plan`. A volume with other properties is a new one.
    pub(super) fn begin(&self, plan: &Simulated, step: &Step, seed: u64) {
        let mut slot = self.lock();
        let earlier = slot.take().filter(|volume| volume.plan == *plan);
        let volume = earlier.unwrap_or_else(|| SimulatedVolume::new(plan)).begun(step.delay, seed);
        // Without flushes the cache fills up, and then takes no more than the volume does.
        let cached = !step.direct && step.fsync > 0 && step.sync.is_none();
        *slot = Some(SimulatedVolume { cached, ..volume });
    }

    fn lock(&self) -> MutexGuard<'_, Option<SimulatedVolume>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time at which a request that is sent at `now` completes, and its result. Requests must come in the order of their times.
    pub(super) fn complete(&self, now: u64, request: &IoRequest) -> (u64, i64) {
        self.lock().as_mut().expect("a step begins with its volume").complete(now, request)
    }
}

/// A volume in virtual time.
struct SimulatedVolume {
    plan: Simulated,
    ios: Option<Bucket>,
    bytes: Option<Bucket>,
    /// Writes of the present step wait for a flush.
    cached: bool,
    /// The writes that wait, by offset and length.
    waiting: Vec<(u64, u32)>,
    /// Regions of 1 MiB that were touched.
    touched: BTreeSet<u64>,
    /// Length of a period of the buckets.
    period: u64,
    /// Time before the present step, a whole number of periods.
    before: u64,
    /// The last completion of the present step, in time of the step.
    last: u64,
    /// Requests of the present step.
    submitted: u64,
    rng: Xoshiro256PlusPlus,
    speed: Speed,
}

impl SimulatedVolume {
    fn new(plan: &Simulated) -> SimulatedVolume {
        let period = plan.cap_period.unwrap_or(Nanos::millis(100)).0.max(1);
        SimulatedVolume {
            ios: plan
                .iops_cap
                .map(|cap| Bucket::new(cap, plan.burst_iops.unwrap_or(cap), plan.burst_ios, period)),
            bytes: plan.bytes_cap.map(|cap| Bucket::new(cap.0 as f64, cap.0 as f64, 0, period)),
            cached: false,
            waiting: Vec::new(),
            touched: BTreeSet::new(),
            period,
            before: 0,
            last: 0,
            submitted: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(0),
            speed: Speed::new(plan.uneven.clone(), 0, 0),
            plan: plan.clone(),
        }
    }

    /// The volume at the start of a further step. It has earned credits since the last one.
    fn begun(self, delay: Nanos, seed: u64) -> SimulatedVolume {
        let before = if self.last == 0 { self.before } else { self.before + self.last + delay.0 };
        let before = before.next_multiple_of(self.period);
        SimulatedVolume {
            before,
            waiting: Vec::new(),
            last: 0,
            submitted: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            speed: Speed::new(self.plan.uneven.clone(), seed, before),
            ..self
        }
    }

    fn complete(&mut self, now: u64, request: &IoRequest) -> (u64, i64) {
        let (end, failed) = match request.direction {
            Direction::Write if self.cached => {
                self.keep(request);
                (now + COPY.0, false)
            }
            Direction::Sync if !self.waiting.is_empty() => std::mem::take(&mut self.waiting)
                .into_iter()
                .map(|(offset, length)| self.carry_out(now, offset, length))
                .fold((now, false), |all, one| (all.0.max(one.0), all.1 || one.1)),
            _ => self.carry_out(now, request.offset, request.length),
        };
        self.last = self.last.max(end);
        (end, if failed { -i64::from(libc::EIO) } else { i64::from(request.length) })
    }

    /// Keeps a write in the page cache.
    fn keep(&mut self, request: &IoRequest) {
        match self.waiting.last_mut() {
            Some((offset, length))
                if *offset + u64::from(*length) == request.offset && *length + request.length <= MERGED =>
            {
                *length += request.length;
            }
            _ => self.waiting.push((request.offset, request.length)),
        }
    }

    /// The time at which the volume has done a request that comes now, and whether the request failed.
    fn carry_out(&mut self, now: u64, offset: u64, length: u32) -> (u64, bool) {
        let (now, speed) = (self.before + now, &mut self.speed);
        let by_ios = self.ios.as_mut().map_or(now, |b| b.admitted(now, 1, speed));
        let by_bytes = self.bytes.as_mut().map_or(now, |b| b.admitted(now, u64::from(length), speed));
        let end = self.end(by_ios.max(by_bytes) - self.before, offset);
        self.submitted += 1;
        (end, self.plan.error_every > 0 && self.submitted.is_multiple_of(self.plan.error_every))
    }

    /// The completion time of a request whose service begins at `start`, both in time of the step.
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
        let end = start + (takes as f64 / self.speed.at(self.before + start)) as u64;
        let Some(at) = self.plan.stall_at.map(|t| t.0).filter(|at| end >= *at) else { return end };
        let since = self.plan.stall_every.map_or(end - at, |every| (end - at) % every.0.max(1));
        if since < self.plan.stall_for.0 { end - since + self.plan.stall_for.0 } else { end }
    }
}

/// The speed of a volume over time; 1 is full speed.
struct Speed {
    uneven: Uneven,
    /// The start of the step, in time of the volume.
    from: u64,
    rng: Xoshiro256PlusPlus,
    /// The second for which noise was drawn, and that noise in standard deviations.
    second: u64,
    noise: f64,
}

impl Speed {
    /// The lowest speed: noise and drift stop no device.
    const LOWEST: f64 = 0.01;

    fn new(uneven: Uneven, seed: u64, from: u64) -> Speed {
        let mut speed =
            Speed { uneven, from, rng: Xoshiro256PlusPlus::seed_from_u64(!seed), second: 0, noise: 0.0 };
        speed.noise = speed.normal();
        speed
    }

    fn normal(&mut self) -> f64 {
        let mut uniform = || ((self.rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        (-2.0 * uniform().ln()).sqrt() * (2.0 * std::f64::consts::PI * uniform()).cos()
    }

    /// The speed at a time of the volume.
    fn at(&mut self, time: u64) -> f64 {
        let time = time.saturating_sub(self.from);
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
