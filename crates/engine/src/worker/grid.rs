//! The grid of the samples: intervals are closed and sent as their time passes, and the window begins and ends.

use std::sync::atomic::Ordering;

use super::Worker;
use crate::backend::Backend;
use crate::clock::Clock;
use crate::outcome::cpu_time_of_thread;
use crate::worker_job::Message;
use volproof_base::hist::Histogram;
use volproof_base::sample::{
    Counts, CpuTime, Depth, Direction, GRID, Interval, PER_SECOND, PerDirection, Second,
};
use volproof_base::unit::{Bytes, Nanos};

impl<B: Backend, C: Clock> Worker<B, C> {
    /// The time at which an interval of the grid begins, in ticks.
    pub(super) fn grid(&self, index: i64) -> u64 {
        let distance = self.clock.ticks(Nanos(index.unsigned_abs() * GRID.0));
        if index < 0 { self.origin.saturating_sub(distance) } else { self.origin + distance }
    }

    /// Closes the intervals that have passed; begins and ends the window.
    #[cold]
    #[inline(never)]
    pub(super) fn event(&mut self, now: u64) {
        while !self.closed && self.next_event <= now {
            let boundary = self.next_event;
            if boundary >= self.end {
                self.close(boundary);
                break;
            }
            self.settle(boundary);
            self.emit(boundary, (self.index + 1).rem_euclid(PER_SECOND as i64) == 0);
            self.index += 1;
            if self.index == 0 {
                self.open_window();
            }
            self.next_event = self.grid(self.index + 1).min(self.end);
        }
        if let Some(tap) = &mut self.tap {
            tap.hand_over(&self.clock);
        }
        if self.control.stop.load(Ordering::Relaxed) {
            self.close(now);
        }
    }

    /// Begins the window when the ramp is over.
    pub(super) fn open_window(&mut self) {
        self.clear();
        self.outside = -self.age_in_flight(self.origin);
        (self.outcome.depth, self.ios) = (Depth::default(), 0);
        self.cpu_at_origin = Self::cpu();
    }

    /// The CPU time of the thread so far. In virtual time, workers share a thread, whose CPU time says nothing about any of them.
    fn cpu() -> CpuTime {
        if C::VIRTUAL { CpuTime::default() } else { cpu_time_of_thread() }
    }

    fn clear(&mut self) {
        for h in self.tally.service.iter_mut().chain(&mut self.tally.response) {
            if !h.is_empty() {
                h.clear();
            }
        }
        self.counted = [(0, 0); 4];
    }

    /// Ends the window at `at`; does nothing when it has ended already.
    #[cold]
    pub(super) fn close(&mut self, at: u64) {
        if self.closed {
            return;
        }
        self.settle(at);
        self.emit(at, true);
        self.closed = true;
        self.closed_at = at;
        self.outside += self.age_in_flight(at);
        let ns = self.clock.ns(self.outside.unsigned_abs()) as i64;
        self.outcome.outside_ns = ns * self.outside.signum();
        self.outcome.depth = self.depth();
        // At its planned end the window has exactly its planned length; conversion to ticks and back would round it.
        self.outcome.window = match self.window.runtime {
            Some(runtime) if at == self.end => runtime,
            _ => Nanos(self.clock.ns(at.saturating_sub(self.origin))),
        };
        if self.index >= 0 {
            self.outcome.cpu = Self::cpu().since(&self.cpu_at_origin);
        }
    }

    /// Queue and batches of the window so far. The loop of `one_by_one` leaves the counting to this function.
    fn depth(&self) -> Depth {
        if !B::ONE_BY_ONE || self.outcome.open.is_some() {
            return self.outcome.depth.clone();
        }
        let mut depth = Depth::default();
        depth.one_by_one(self.ios);
        depth
    }

    /// Sends the interval that ends at `until`, with the histograms of its second when that ends too.
    fn emit(&mut self, until: u64, ends_second: bool) {
        let mut counts = PerDirection::<Counts>::default();
        for d in Direction::ALL {
            let service = &self.tally.service[d as usize];
            if service.is_empty() {
                continue;
            }
            let (ios, sum) = (service.count(), service.sum().0);
            let before = std::mem::replace(&mut self.counted[d as usize], (ios, sum));
            let bytes = Bytes(std::mem::take(&mut self.tally.bytes[d as usize]));
            self.ios += ios - before.0;
            counts[d] = Counts { ios: ios - before.0, bytes, latency: Nanos(sum - before.1) };
        }
        let second = (ends_second && self.index >= 0).then(|| {
            Box::new(Second {
                service: PerDirection(self.tally.service.each_ref().map(Histogram::to_sparse)),
                response: PerDirection(self.tally.response.each_ref().map(Histogram::to_sparse)),
                cpu: Self::cpu().since(&self.cpu_at_origin),
                depth: self.depth(),
            })
        });
        if ends_second {
            let longest = self.tally.service.iter().filter_map(Histogram::max).max().unwrap_or_default();
            self.longest = self.longest.max(longest);
            self.control.longest.fetch_max(self.longest.0, Ordering::Relaxed);
        }
        if second.is_some() {
            self.clear();
        }
        let length = Nanos(self.clock.ns(until.saturating_sub(self.grid(self.index))));
        if self.control.kernel_threads.load(Ordering::Relaxed) {
            self.backend.kernel_threads(counts.0.iter().map(|c| c.ios).sum(), length);
        }
        let interval = Interval {
            worker: self.id,
            index: self.index,
            length,
            counts,
            // Below 0 only where the clock went back.
            in_flight: self.clock.ns((std::mem::take(&mut self.occupancy) as i64).max(0) as u64),
            second,
        };
        // Sending fails only when the watching thread has given up on this worker.
        let _ = self.messages.send(Message::Interval(interval));
    }
}
