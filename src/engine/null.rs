//! No device. [`Null`] completes every request at once and shows what the engine itself costs; [`Device`] plays a device in
//! virtual time with planted latencies, stalls, caps and errors, so that everything behind the engine can be tested
//! against a known truth, in an instant and without noise.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::backend::{Backend, Request};
use super::clock::{Clock, Virtual};
use crate::plan::Simulated;
use crate::unit::Nanos;

/// Completes at once.
#[derive(Default)]
pub struct Null(VecDeque<(u32, u32)>);

impl Backend for Null {
    #[inline(always)]
    fn fill(&mut self, slots: &[u32], mut next: impl FnMut(u32) -> Request) {
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
}

impl Device {
    /// A device whose time is `clock`.
    pub fn new(clock: Virtual, plan: Simulated, seed: u64) -> Device {
        let period = plan.cap_period.unwrap_or(Nanos::millis(100)).0.max(1);
        let bucket = |rate: f64, burst: f64, credits: u64| Bucket {
            rate,
            burst,
            credits,
            most: credits,
            length: period,
            period: 0,
            taken: 0,
        };
        Device {
            ios: plan.iops_cap.map(|cap| bucket(cap, plan.burst_iops.unwrap_or(cap), plan.burst_ios)),
            bytes: plan.bytes_cap.map(|cap| bucket(cap.0 as f64, cap.0 as f64, 0)),
            clock,
            plan,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            in_flight: BinaryHeap::new(),
            submitted: 0,
        }
    }
}

/// A token bucket that is refilled at the start of each period; what a period leaves over is kept as credits.
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
    /// The period in which it last let something through, and how many tokens that took.
    period: u64,
    taken: u64,
}

impl Bucket {
    /// Tokens that fall due in a period at a rate, so that fractions of a token are not lost.
    fn due(&self, rate: f64) -> u64 {
        let until = |p: u64| (rate * p as f64 * self.length as f64 / 1e9) as u64;
        until(self.period + 1) - until(self.period)
    }

    /// Goes to the next period. A request larger than a period's tokens takes those of the next ones too.
    fn turn(&mut self) {
        let base = self.due(self.rate);
        let used = self.taken.min(self.allowed(base));
        self.credits = (self.credits + base - used).min(self.most);
        self.taken -= used;
        self.period += 1;
    }

    fn allowed(&self, base: u64) -> u64 {
        (base + self.credits).min(self.due(self.burst)).max(base)
    }

    /// When a request of `tokens` that comes now is let through.
    fn admitted(&mut self, now: u64, tokens: u64) -> u64 {
        while self.period < now / self.length {
            self.turn();
        }
        while self.taken >= self.allowed(self.due(self.rate)) {
            self.turn();
        }
        self.taken += tokens;
        now.max(self.period * self.length)
    }
}

impl Backend for Device {
    fn fill(&mut self, slots: &[u32], mut next: impl FnMut(u32) -> Request) {
        for slot in slots {
            let r = next(*slot);
            let now = self.clock.now();
            let by_ios = self.ios.as_mut().map_or(now, |b| b.admitted(now, 1));
            let by_bytes = self.bytes.as_mut().map_or(now, |b| b.admitted(now, u64::from(r.length)));
            let start = by_ios.max(by_bytes);
            let jitter = ((u128::from(self.rng.next_u64()) * u128::from(self.plan.jitter.0)) >> 64) as u64;
            let mut end = start + self.plan.latency.0 + jitter;
            if let Some(at) = self.plan.stall_at
                && (at.0..at.0 + self.plan.stall_for.0).contains(&end)
            {
                end = at.0 + self.plan.stall_for.0;
            }
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
