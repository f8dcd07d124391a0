//! The end of a load: what is in flight is waited for, what came too late is told apart, and nothing the kernel may still
//! write to is given back.

use std::io;
use std::sync::atomic::Ordering;

use super::{DRAIN, END_FLUSH, Slot, Worker};
use crate::engine::backend::{Backend, Request};
use crate::engine::clock::Clock;
use crate::engine::generator::Source;
use crate::engine::job::Message;
use crate::engine::priority::Priorities;
use crate::engine::schedule::Schedule;
use crate::sample::{Direction, GRID};
use crate::unit::Nanos;

impl<B: Backend, C: Clock> Worker<B, C> {
    /// Waits for what is in flight. When the amount of I/O ended the load these completions still count.
    pub(super) fn drain<S: Source, const OPEN: bool>(&mut self) -> io::Result<()> {
        while !self.closed && self.idle < self.slots.len() {
            self.backend.submit_and_wait(1, None)?;
            self.collect::<S, OPEN>();
        }
        if !self.closed {
            self.end_flush()?;
        }
        self.close(self.clock.now());
        let slice = Nanos::millis(100);
        let deadline = self.clock.now() + self.clock.ticks(DRAIN);
        while self.idle < self.slots.len() && self.clock.now() < deadline {
            self.backend.submit_and_wait(1, Some(slice))?;
            let n = self.backend.ready();
            if n > 0 {
                self.reap_late::<OPEN>(n, self.clock.now());
            }
        }
        self.end_flush()
    }

    /// The end of a loop that leaves nothing in flight.
    #[inline(never)]
    pub(super) fn end_lockstep(&mut self) -> io::Result<()> {
        self.end_flush()?;
        self.settled = self.clock.now();
        self.close(self.settled);
        Ok(())
    }

    /// The flush after the load of each target, if one was asked for. It is none of the load's flushes; when the amount of I/O ended the load,
    /// its time is of the window, as what was written is not there before.
    #[cold]
    #[inline(never)]
    pub(super) fn end_flush(&mut self) -> io::Result<()> {
        let pending = std::mem::take(&mut self.end_fsync);
        if !pending || self.idle < self.slots.len() || self.control.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.backend.datasync(false);
        let deadline = self.clock.now() + self.clock.ticks(END_FLUSH);
        for number in 0..self.targets {
            let now = self.clock.now();
            self.settle(now);
            let Worker { backend, slots, free, idle, target: first, targets, .. } = self;
            backend.fill(&free[*idle - 1..*idle], |slot| {
                let (direction, target) = (Direction::Sync, *first + number);
                // It is no arrival of a schedule: its intended start lies before all of them.
                slots[slot as usize] =
                    Slot { sent: now, intended: 0, offset: 0, length: 0, target, direction, priority: 0 };
                let target = (*targets > 1).then_some(number);
                Request { slot, direction, offset: 0, length: 0, target, priority: None }
            });
            *idle -= 1;
            while self.idle < self.slots.len() {
                self.backend.submit_and_wait(1, Some(GRID))?;
                let now = self.clock.now();
                self.nothing(now);
                self.settle(now);
                self.reap_end_flush(now);
                if now >= deadline {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Takes the flush at the end, when it has completed.
    #[cold]
    fn reap_end_flush(&mut self, now: u64) {
        let n = self.backend.ready();
        let Worker { backend, slots, free, idle, clock, outcome, .. } = self;
        let errors = outcome.errors;
        backend.reap(n, |id, result| {
            free[*idle] = id;
            *idle += 1;
            let slot = &slots[id as usize];
            if result != i64::from(slot.length) {
                return outcome.fail(slot.failure(result));
            }
            outcome.end_flushes.0 += 1;
            outcome.end_flushes.1 = outcome.end_flushes.1.max(Nanos(clock.ns(now - slot.sent)));
        });
        if outcome.errors != errors && !self.continue_on_error && !self.closed {
            self.control.stop.store(true, Ordering::Relaxed);
            self.close(now);
        }
    }

    /// Takes completions that came after the window.
    #[cold]
    pub(super) fn reap_late<const OPEN: bool>(&mut self, n: u32, now: u64) {
        let Worker { backend, slots, free, idle, clock, origin, closed_at, outcome, .. } = self;
        backend.reap(n, |id, result| {
            free[*idle] = id;
            *idle += 1;
            let slot = &slots[id as usize];
            outcome.late(slot, result, clock.ns(now - slot.sent));
            if OPEN
                && result == i64::from(slot.length)
                && (*origin..*closed_at).contains(&slot.intended)
                && let Some(open) = &mut outcome.open
            {
                open.late[slot.direction].record(clock.ns(now - slot.intended));
            }
        });
    }

    /// Arrivals of the window without a completion waited at least until now.
    pub(super) fn censor(&mut self, mut schedule: Schedule, mut next: u64) {
        let now = self.clock.now();
        let Some(open) = &mut self.outcome.open else { return };
        let in_window = |t: u64| (self.origin..self.closed_at).contains(&t);
        let mut in_flight = vec![true; self.slots.len()];
        for slot in &self.free[..self.idle] {
            in_flight[*slot as usize] = false;
        }
        for (slot, _) in self.slots.iter().zip(&in_flight).filter(|(s, busy)| **busy && in_window(s.intended))
        {
            open.censored.record(self.clock.ns(now.saturating_sub(slot.intended)));
        }
        while next < self.closed_at && self.bytes_left > 0 && self.special.ios_left > 0 {
            if in_window(next) {
                open.arrivals += 1;
                open.censored.record(self.clock.ns(now.saturating_sub(next)));
            }
            next = self.begin + self.clock.ticks(schedule.next());
        }
    }

    /// Says what there is to say.
    pub(super) fn finish(mut self) {
        self.outcome.trace = self.special.trace.take().map(|(trace, _)| trace);
        self.outcome.priorities = self.special.priorities.take().map(Priorities::finish).unwrap_or_default();
        self.outcome.lost = (self.slots.len() - self.idle) as u32;
        let _ = self.messages.send(Message::End(Box::new(std::mem::take(&mut self.outcome))));
        if self.slots.len() > self.idle {
            // The kernel may still write to these buffers: they must never be used for anything else.
            std::mem::forget(self.backend);
            std::mem::forget(self.buffers);
        }
    }
}
