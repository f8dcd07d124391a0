//! The two loops: closed (a free slot is used at once) and open (a schedule says when each I/O is due).

use std::io;

use super::Worker;
use super::slot::EMPTY;
use crate::engine::backend::Backend;
use crate::engine::clock::{Clock, SPIN};
use crate::engine::generator::Source;
use crate::engine::schedule::Schedule;
use crate::unit::Nanos;

impl<B: Backend, C: Clock> Worker<B, C> {
    pub(super) fn closed_loop<S: Source>(&mut self, mut source: S) -> io::Result<()> {
        while self.more() {
            let now = if B::SINGLE { 0 } else { self.clock.now() };
            if !B::SINGLE {
                if now >= self.next_event {
                    self.event(now);
                    if self.closed {
                        break;
                    }
                    continue;
                }
                self.settle(now);
            }
            let mut lone = EMPTY;
            if B::SINGLE || self.idle > 0 {
                let busy = self.slots.len() - self.idle;
                let n = if B::SINGLE { 1 } else { self.batch.next(self.idle, busy) };
                lone = self.fill::<S, false>(&mut source, n, now, now);
                // If more requests fit, they go out in a further call with a stamp of its own. Only the last call waits.
                if !B::SINGLE && self.idle > 0 && self.more() {
                    self.backend.submit()?;
                    continue;
                }
            }
            self.backend.submit_and_wait(1, None)?;
            if !self.collect::<S, false>(&lone) {
                break;
            }
        }
        self.drain::<S, false>()
    }

    pub(super) fn open_loop<S: Source>(&mut self, mut source: S, mut schedule: Schedule) -> io::Result<()> {
        let spin = self.clock.ticks(SPIN);
        let mut next = self.begin + self.clock.ticks(schedule.next());
        // `freed` is when a slot became free after all had been in use. Arrivals before that time waited for the device, and not for this
        // thread.
        let (mut freed, mut lone) = (self.begin, EMPTY);
        while !self.closed && self.more() {
            let now = self.clock.now();
            if now >= self.next_event {
                self.event(now);
                continue;
            }
            self.settle(now);
            while next <= now && self.idle > 0 && self.more() {
                if let Some(open) = &mut self.outcome.open
                    && next >= self.origin
                {
                    open.arrivals += 1;
                    open.lag.record(self.clock.ns(now - next.max(freed).min(now)));
                }
                lone = self.fill::<S, true>(&mut source, 1, now, next);
                next = self.begin + self.clock.ticks(schedule.next());
            }
            let full = self.idle == 0;
            let wake = next.min(self.next_event);
            let gap = wake.saturating_sub(now);
            if self.idle == self.slots.len() {
                self.clock.idle_until(wake);
                continue;
            }
            if full {
                self.backend.submit_and_wait(1, None)?;
            } else if gap > 2 * spin {
                self.backend.submit_and_wait(1, Some(Nanos(self.clock.ns(gap - spin))))?;
            } else {
                self.backend.submit_and_wait(0, None)?;
                self.clock.pause();
            }
            self.collect::<S, true>(&lone);
            if full && self.idle > 0 {
                freed = self.clock.now();
            }
        }
        self.drain::<S, true>()?;
        self.censor(schedule, next);
        Ok(())
    }
}
