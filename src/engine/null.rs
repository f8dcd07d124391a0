//! No device. [`Null`] completes every request at once and shows what the engine itself costs; [`Device`] plays a device in
//! virtual time with planted latencies, stalls, caps and errors, so that everything behind the engine can be tested
//! against a known truth, in an instant and without noise.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::backend::{Backend, Request};
use super::clock::{Clock, Virtual};
use crate::plan::Simulated;
use crate::unit::Nanos;

/// Completes at once.
#[derive(Default)]
pub struct Null(Vec<(u32, u32)>);

impl Backend for Null {
    #[inline(always)]
    fn fill(&mut self, n: u32, mut next: impl FnMut() -> Request) {
        for _ in 0..n {
            let r = next();
            self.0.push((r.slot, r.length));
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
    fn reap(&mut self, n: u32, mut each: impl FnMut(u32, i64)) {
        for (slot, length) in self.0.drain(..n as usize) {
            each(slot, i64::from(length));
        }
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
    /// The refill period in which the bucket last let something through, and how many.
    period: u64,
    taken: u64,
}

impl Device {
    /// A device whose time is `clock`.
    pub fn new(clock: Virtual, plan: Simulated, seed: u64) -> Device {
        Device {
            clock,
            plan,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            in_flight: BinaryHeap::new(),
            submitted: 0,
            period: 0,
            taken: 0,
        }
    }

    /// When the token bucket lets a request through that comes now.
    fn admitted(&mut self, now: u64) -> u64 {
        let Some(cap) = self.plan.iops_cap else { return now };
        let length = self.plan.cap_period.unwrap_or(Nanos::millis(100)).0;
        // What falls due by the end of period p, so that fractions of a token are not lost.
        let due = |p: u64| {
            (cap * (p + 1) as f64 * length as f64 / 1e9) as u64
                - (cap * p as f64 * length as f64 / 1e9) as u64
        };
        let current = now / length;
        if current > self.period {
            (self.period, self.taken) = (current, 0);
        }
        while self.taken >= due(self.period) {
            (self.period, self.taken) = (self.period + 1, 0);
        }
        self.taken += 1;
        now.max(self.period * length)
    }
}

impl Backend for Device {
    fn fill(&mut self, n: u32, mut next: impl FnMut() -> Request) {
        for _ in 0..n {
            let r = next();
            let start = self.admitted(self.clock.now());
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

    fn reap(&mut self, n: u32, mut each: impl FnMut(u32, i64)) {
        for _ in 0..n {
            if let Some(Reverse((_, _, slot, result))) = self.in_flight.pop() {
                each(slot, result);
            }
        }
    }
}
