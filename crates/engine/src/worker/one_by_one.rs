//! The closed loop of a backend that carries out one request in one blocking call (psync). It has one request, and neither slots nor a
//! queue: a request is stamped right before its call and right after it.

use std::io;

use super::Worker;
use super::slot::{EMPTY, Slot, rare};
use crate::backend::{Backend, IoRequest};
use crate::clock::Clock;
use crate::generator::Source;
use volproof_base::sample::Direction;

impl<B: Backend, C: Clock> Worker<B, C> {
    pub(super) fn one_by_one<S: Source>(&mut self, mut source: S) -> io::Result<()> {
        let mut left = self.bytes_left;
        while left > 0 && self.one::<S>(&mut source, &mut left) {}
        self.bytes_left = left;
        self.drain::<S, false>()
    }

    /// One request, whose bytes are taken off those that are left; false at the end of the load.
    #[inline(always)]
    fn one<S: Source>(&mut self, source: &mut S, left: &mut i64) -> bool {
        let (direction, offset, length) = source.next();
        if direction == Direction::Write {
            self.buffers.stamp(0, length, self.compressible);
        }
        *left -= i64::from(length);
        let sent = self.clock.now();
        self.backend.fill(&[0], |slot| IoRequest { slot, direction, offset, length });
        let now = self.clock.now();
        if now >= self.next_event {
            self.slots[0] = Slot { sent, offset, length, direction, ..EMPTY };
            if !self.pass_interval(sent, now) {
                return false;
            }
        } else {
            self.occupancy = self.occupancy.wrapping_add(now.wrapping_sub(sent));
        }
        let Some((_, result)) = self.backend.completions().next() else { return false };
        if result != i64::from(length) {
            let failure = Slot { sent, offset, length, direction, ..EMPTY }.failure(result);
            self.outside += self.outcome.fail_in_window(failure, sent, now);
            self.failed(now);
            return !self.closed;
        }
        let service = &mut self.tally.service[direction as usize];
        self.tally.bytes[direction as usize] += u64::from(length);
        if !service.record_common(self.clock.ns(now.wrapping_sub(sent))) {
            rare(service, sent, now, &self.clock, &mut self.outcome.backwards);
        }
        if S::PASSES
            && let Some(passes) = &mut self.passes
        {
            passes.complete(length);
        }
        true
    }

    /// Closes the intervals that ended while the request in slot 0 was in flight; false where the window ended too.
    #[cold]
    fn pass_interval(&mut self, sent: u64, now: u64) -> bool {
        // The thread may have lost its CPU before the request was sent.
        if self.next_event <= sent {
            self.event(sent);
        }
        (self.settled, self.idle) = (sent, 0);
        self.event(now);
        if self.closed {
            self.reap_late::<false>(1, now);
            return false;
        }
        self.settle(now);
        self.idle = 1;
        true
    }
}
