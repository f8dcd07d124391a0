//! The volume behind a simulated device: planted latencies, stalls, caps, credits, errors and traffic of others, in virtual time.
//!
//! All times here are those of the run (`simulated_run`). Requests of others come at their rate from the start of the run on; they use the tokens
//! and the servers of the volume, and are in its counters.
//!
//! Writes through the page cache wait in memory until a flush carries them out. The volume has no cache of its own, so that such a flush takes as long
//! as these writes. A flush with nothing to write is a request like others.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::backend::IoRequest;
use super::simulated_counters::{SimulatedLimit, VolumeCounters};
use super::simulated_speed::Speed;
use volproof_base::sample::Direction;
use volproof_base::token_bucket::{BucketPace, BucketTerms, TokenBucket};
use volproof_base::unit::{Bytes, Nanos};
use volproof_host::observe::{DiskTrack, ProviderTrack};
use volproof_plan::{OTHERS_BLOCK, Simulated, Step};

/// How long the page cache takes for a write.
const COPY: Nanos = Nanos::micros(1);
/// Writes behind each other leave the page cache as one request of at most this many bytes.
const MERGED: u32 = 256 << 10;

/// A volume in virtual time.
pub struct SimulatedVolume {
    plan: Simulated,
    ios: Option<TokenBucket>,
    bytes: Option<TokenBucket>,
    /// When each server is free.
    servers: BinaryHeap<Reverse<u64>>,
    /// I/Os of others so far.
    others: u64,
    /// Writes of the present step wait for a flush.
    cached: bool,
    /// The writes that wait, by offset and length.
    waiting: Vec<(u64, u32)>,
    /// Regions of 1 MiB that were touched.
    touched: BTreeSet<u64>,
    /// The last completion of a request of the present step.
    last: u64,
    /// Requests of this run, without those of others.
    submitted: u64,
    rng: Xoshiro256PlusPlus,
    speed: Speed,
    counters: VolumeCounters,
}

/// What reaches the volume as one request.
struct VolumeRequest {
    direction: Direction,
    length: u32,
    /// Where it goes; none for those of others, to which no block is new.
    offset: Option<u64>,
}

/// The limit on I/Os. Its credits are counted in I/Os.
fn terms(plan: &Simulated, cap: f64) -> BucketTerms {
    BucketTerms { rate: cap, burst: plan.burst_iops.unwrap_or(cap), full: plan.burst_ios as f64 }
}

impl SimulatedVolume {
    /// A volume as it is before its first request.
    pub fn new(plan: &Simulated, seed: u64) -> SimulatedVolume {
        let period = plan.period().0;
        SimulatedVolume {
            ios: plan.iops_cap.map(|cap| TokenBucket::new(terms(plan, cap), period)),
            bytes: plan.bytes_cap.map(|cap| TokenBucket::new(BucketTerms::even(cap.0 as f64), period)),
            servers: (0..plan.servers).map(|_| Reverse(0)).collect(),
            others: 0,
            cached: false,
            waiting: Vec::new(),
            touched: BTreeSet::new(),
            last: 0,
            submitted: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            speed: Speed::new(plan.uneven.clone(), seed),
            counters: VolumeCounters::default(),
            plan: plan.clone(),
        }
    }

    /// Whether it has these properties.
    pub fn is_of(&self, plan: &Simulated) -> bool {
        self.plan == *plan
    }

    /// Prepares the volume for a further step, which begins at `before`.
    pub fn begin(&mut self, step: &Step, before: u64) {
        self.waiting.clear();
        self.last = before;
        // Without flushes the cache fills up, and then takes no more than the volume does.
        self.cached = !step.direct && step.fsync > 0 && step.sync.is_none();
        self.counters.begin(before);
    }

    /// The last completion of a request of the present step.
    pub fn last_completion(&self) -> u64 {
        self.last
    }

    /// Ends a step at `until`; its counters under a name, and its page where it has one.
    pub fn end(&mut self, until: u64, name: &str) -> (DiskTrack, Option<ProviderTrack>) {
        self.serve_others(until);
        let page = self.plan.page.map(|_| self.counters.page(until, name));
        (self.counters.track(until, name), page)
    }

    /// Completes a request that was sent at `now` and let through by the limits of the machine at `admitted`: when, and with which result.
    pub fn complete(&mut self, now: u64, admitted: [u64; 2], request: &IoRequest) -> (u64, i64) {
        self.counters.exceed(SimulatedLimit::InstanceIos, now, admitted[0]);
        self.counters.exceed(SimulatedLimit::InstanceBytes, now, admitted[1]);
        let reached = admitted[0].max(admitted[1]);
        let (end, failed) = match request.direction {
            Direction::Write if self.cached => {
                self.keep(request);
                (now + COPY.0, false)
            }
            Direction::Sync if !self.waiting.is_empty() => std::mem::take(&mut self.waiting)
                .into_iter()
                .map(|(offset, length)| self.carry_out(reached, Direction::Write, offset, length))
                .fold((reached, false), |all, one| (all.0.max(one.0), all.1 || one.1)),
            direction => self.carry_out(reached, direction, request.offset, request.length),
        };
        self.last = self.last.max(end);
        (end, if failed { -i64::from(libc::EIO) } else { i64::from(request.length) })
    }

    /// Reads one block without an engine; the time at which the read completes.
    pub fn read(&mut self, now: Nanos, offset: Bytes, length: Bytes) -> Nanos {
        Nanos(self.carry_out(now.0, Direction::Read, offset.0, length.0 as u32).0)
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

    /// The time at which the volume has done a request that reaches it now, and whether the request failed.
    fn carry_out(&mut self, now: u64, direction: Direction, offset: u64, length: u32) -> (u64, bool) {
        self.serve_others(now);
        let end = self.serve(now, &VolumeRequest { direction, length, offset: Some(offset) });
        self.submitted += 1;
        (end, self.plan.error_every > 0 && self.submitted.is_multiple_of(self.plan.error_every))
    }

    /// Serves the requests of others that have come until now.
    fn serve_others(&mut self, now: u64) {
        while self.plan.others_iops > 0.0 {
            let at = (self.others as f64 * 1e9 / self.plan.others_iops) as u64;
            if at > now {
                return;
            }
            let direction = if self.others.is_multiple_of(2) { Direction::Read } else { Direction::Write };
            self.others += 1;
            self.serve(at, &VolumeRequest { direction, length: OTHERS_BLOCK.0 as u32, offset: None });
        }
    }

    /// The time at which the volume has served a request that reaches it now.
    fn serve(&mut self, now: u64, arrival: &VolumeRequest) -> u64 {
        let (length, speed) = (u64::from(arrival.length), &mut self.speed);
        let by_ios = self.ios.as_mut().map_or(now, |b| b.admitted(now, 1, speed));
        let by_bytes = self.bytes.as_mut().map_or(now, |b| b.admitted(now, length, speed));
        self.counters.exceed(SimulatedLimit::VolumeIos, now, by_ios);
        self.counters.exceed(SimulatedLimit::VolumeBytes, now, by_bytes);
        let admitted = by_ios.max(by_bytes);
        let end = match self.servers.pop() {
            None => self.done(admitted, arrival.offset),
            Some(Reverse(free)) => {
                let end = self.done(admitted.max(free), arrival.offset);
                self.servers.push(Reverse(end));
                end
            }
        };
        self.counters.count(arrival.direction, length, end, end - now);
        end
    }

    /// A random whole number below `n`.
    fn draw(&mut self, n: u64) -> u64 {
        ((u128::from(self.rng.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// The completion time of a request whose service begins at `start`.
    fn done(&mut self, start: u64, offset: Option<u64>) -> u64 {
        let jitter = self.draw(self.plan.jitter.0);
        let slow = self.plan.slow_share > 0.0
            && self.draw(1 << 32) < (self.plan.slow_share * (1u64 << 32) as f64) as u64;
        let base = if slow { self.plan.slow_latency.0 } else { self.plan.latency.0 };
        let mut takes = base + jitter;
        if let Some(offset) = offset.filter(|_| self.plan.first_touch.0 > 0)
            && self.touched.insert(offset >> 20)
        {
            takes += self.plan.first_touch.0;
        }
        let end = start + (takes as f64 / self.speed.at(start)) as u64;
        let Some(at) = self.plan.stall_at.map(|t| t.0).filter(|at| end >= *at) else { return end };
        let since = self.plan.stall_every.map_or(end - at, |every| (end - at) % every.0.max(1));
        if since < self.plan.stall_for.0 { end - since + self.plan.stall_for.0 } else { end }
    }
}
