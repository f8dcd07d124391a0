//! The two loops: closed (a free slot is used at once) and open (a schedule says when each I/O is due).

use std::io;

use super::Worker;
use crate::backend::Backend;
use crate::clock::{Clock, SPIN};
use crate::generator::Source;
use crate::schedule::Schedule;
use volproof_base::unit::Nanos;

/// When the arrivals of an open loop are due.
pub(super) struct OpenTimes {
    /// How long before an arrival the loop no longer sleeps, in ticks.
    spin: u64,
    /// When the next arrival is due.
    next: u64,
    /// When a slot became free after all had been in use. Arrivals before that time waited for the device, and not for this thread.
    freed: u64,
}

impl<B: Backend, C: Clock> Worker<B, C> {
    pub(super) fn closed_loop<S: Source>(&mut self, mut source: S) -> io::Result<()> {
        while self.closed_turn(&mut source)? {}
        self.drain::<S, false>()
    }

    /// One turn of the closed loop; false at its end.
    #[inline(always)]
    pub(super) fn closed_turn<S: Source>(&mut self, source: &mut S) -> io::Result<bool> {
        if !self.more() {
            return Ok(false);
        }
        let now = self.clock.now();
        if now >= self.next_event {
            self.event(now);
            return Ok(!self.closed);
        }
        self.settle(now);
        if self.idle > 0 {
            let busy = self.slots.len() - self.idle;
            let n = self.batch.next(self.idle, busy);
            self.fill::<S, false>(source, n, now, now);
            // If more requests fit, they go out in a further call with a stamp of its own. Only the last call waits.
            if self.idle > 0 && self.more() {
                self.backend.submit()?;
                return Ok(true);
            }
        }
        self.backend.submit_and_wait(1, None)?;
        Ok(self.collect::<S, false>())
    }

    pub(super) fn open_loop<S: Source>(&mut self, mut source: S, mut schedule: Schedule) -> io::Result<()> {
        let mut times = self.open_times(&mut schedule);
        while self.open_turn(&mut source, &mut schedule, &mut times)? {}
        self.end_open::<S>(schedule, &times)
    }

    pub(super) fn open_times(&self, schedule: &mut Schedule) -> OpenTimes {
        let next = self.begin + self.clock.ticks(schedule.next());
        OpenTimes { spin: self.clock.ticks(SPIN), next, freed: self.begin }
    }

    /// One turn of the open loop; false at its end.
    #[inline(always)]
    pub(super) fn open_turn<S: Source>(
        &mut self,
        source: &mut S,
        schedule: &mut Schedule,
        times: &mut OpenTimes,
    ) -> io::Result<bool> {
        if self.closed || !self.more() {
            return Ok(false);
        }
        let now = self.clock.now();
        if now >= self.next_event {
            self.event(now);
            return Ok(true);
        }
        self.settle(now);
        while times.next <= now && self.idle > 0 && self.more() {
            if let Some(open) = &mut self.outcome.open
                && times.next >= self.origin
            {
                open.arrivals += 1;
                open.lag.record(self.clock.ns(now - times.next.max(times.freed).min(now)));
            }
            self.fill::<S, true>(source, 1, now, times.next);
            times.next = self.begin + self.clock.ticks(schedule.next());
        }
        let full = self.idle == 0;
        let wake = times.next.min(self.next_event);
        let gap = wake.saturating_sub(now);
        if self.idle == self.slots.len() {
            self.clock.idle_until(wake);
            return Ok(true);
        }
        if full {
            self.backend.submit_and_wait(1, None)?;
        } else if gap > 2 * times.spin {
            self.backend.submit_and_wait(1, Some(Nanos(self.clock.ns(gap - times.spin))))?;
        } else {
            self.backend.submit_and_wait(0, None)?;
            self.clock.pause();
        }
        self.collect::<S, true>();
        if full && self.idle > 0 {
            times.freed = self.clock.now();
        }
        Ok(true)
    }

    pub(super) fn end_open<S: Source>(&mut self, schedule: Schedule, times: &OpenTimes) -> io::Result<()> {
        self.drain::<S, true>()?;
        self.censor(schedule, times.next);
        Ok(())
    }
}
