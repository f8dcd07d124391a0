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
        while left > 0 {
            let (direction, offset, length) = source.next();
            if direction == Direction::Write {
                self.buffers.stamp(0, length, self.compressible);
            }
            left -= i64::from(length);
            let sent = self.clock.now();
            let result = self.backend.carry_out(IoRequest { slot: 0, direction, offset, length });
            let now = self.clock.now();
            // Where the clock runs backwards the difference wraps to a value beyond every bucket, and `record_common` refuses it.
            let passed = now.wrapping_sub(sent);
            // The in-flight time of an interval that ends here is added when it is closed.
            if now >= self.next_event {
                if !self.close_intervals(Slot { sent, offset, length, direction, ..EMPTY }, now) {
                    break;
                }
            } else {
                self.occupancy = self.occupancy.wrapping_add(passed);
            }
            if result != i64::from(length) {
                if !self.count_failure(Slot { sent, offset, length, direction, ..EMPTY }, result, now) {
                    break;
                }
                continue;
            }
            let service = &mut self.tally.service[direction as usize];
            self.tally.bytes[direction as usize] += u64::from(length);
            if !service.record_common(self.clock.ns(passed)) {
                rare(service, sent, now, &self.clock, &mut self.outcome.backwards);
            }
            if S::FOLLOWED
                && let Some(passes) = &mut self.passes
            {
                passes.complete(length);
            }
            if S::FOLLOWED
                && let Some(tap) = &mut self.tap
            {
                tap.ended::<false>(&Slot { sent, offset, length, direction, ..EMPTY }, now, self.origin);
            }
        }
        self.bytes_left = left;
        self.drain::<S, false>()
    }

    /// A failed request; false where it ends the load.
    #[cold]
    #[inline(never)]
    fn count_failure(&mut self, request: Slot, result: i64, now: u64) -> bool {
        self.outside += self.outcome.fail_in_window(request.failure(result), request.sent, now);
        self.failed(now);
        !self.closed
    }

    /// Closes the intervals that ended while a request was in flight; false where the window ended too.
    #[cold]
    #[inline(never)]
    fn close_intervals(&mut self, request: Slot, now: u64) -> bool {
        let sent = request.sent;
        self.slots[0] = request;
        // The request has the one slot from `sent` to `now`. The thread may have lost its CPU before the request was sent.
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
