//! What some loads need beyond the common ones: a number of I/Os that ends them, pauses, several targets in turn,
//! every I/O kept, data of its own for every write, cached pages dropped between passes. Their loop
//! is compiled apart ([`Source::SPECIAL`]), so that the others do not pay for it.

use std::io;

use super::{Slot, Worker};
use crate::engine::backend::Backend;
use crate::engine::buffers::Buffers;
use crate::engine::clock::Clock;
use crate::engine::data::Data;
use crate::engine::generator::Source;
use crate::engine::job::Job;
use crate::engine::outcome::{Trace, Traced};
use crate::engine::passes::Passes;
use crate::plan::Think;
use crate::sample::Direction;
use crate::unit::Nanos;

/// Pauses, in ticks.
struct Pauses {
    time: u64,
    spin: u64,
    /// Completions from one to the next.
    blocks: u64,
    /// Completions when the last one fell due.
    last: u64,
}

/// The state of such a load.
pub(super) struct Special {
    /// What may still be sent, flushes apart.
    pub(super) ios_left: u64,
    /// Completions, flushes apart.
    completed: u64,
    pauses: Option<Pauses>,
    /// What writes carry.
    data: Option<Data>,
    /// The I/Os it keeps, and how many it may.
    pub(super) trace: Option<(Trace, usize)>,
    passes: Option<Passes>,
}

impl Special {
    pub(super) fn of(job: &mut Job, clock: &impl Clock) -> Special {
        let pauses = |think: Think| Pauses {
            time: clock.ticks(think.time),
            spin: clock.ticks(think.spin),
            blocks: u64::from(think.blocks),
            last: 0,
        };
        Special {
            ios_left: job.ios.unwrap_or(u64::MAX),
            completed: 0,
            pauses: job.think.map(pauses),
            trace: job.trace.map(|most| (Trace { worker: job.id, ..Trace::default() }, most)),
            data: job.data.clone(),
            passes: job.passes.take(),
        }
    }

    /// Something of this was asked for.
    pub(super) fn asked(&self) -> bool {
        self.ios_left < u64::MAX
            || self.pauses.is_some()
            || self.trace.is_some()
            || self.data.is_some()
            || self.passes.is_some()
    }

    /// Prepares what a write carries: see [`Buffers::stamp`] where it has no data of its own.
    #[inline(always)]
    pub(super) fn write(&mut self, buffers: &mut Buffers, slot: u32, length: u32, fixed: u32) {
        match &mut self.data {
            Some(data) => data.fill(buffers, slot, length),
            None => buffers.stamp(slot, length, fixed),
        }
    }

    /// Of `n` that there is room for, those that may be sent now.
    #[inline(always)]
    pub(super) fn allowed(&self, n: usize) -> usize {
        n.min(usize::try_from(self.ios_left).unwrap_or(n))
    }

    /// So many were sent.
    #[inline(always)]
    pub(super) fn send(&mut self, ios: u64) {
        self.ios_left -= ios;
    }

    /// One has completed without error after `ticks`.
    #[inline(always)]
    pub(super) fn complete(&mut self, slot: &Slot, ticks: u64, now: u64, origin: u64, clock: &impl Clock) {
        self.completed += u64::from(slot.direction != Direction::Sync);
        if let Some(passes) = &mut self.passes {
            passes.complete(slot.length);
        }
        if now < origin {
            return;
        }
        let Some((trace, most)) = &mut self.trace else { return };
        if trace.ios.len() == *most {
            trace.left_out += 1;
            return;
        }
        // The one allocation of the loop; when the list is large, growing it moves pages and not bytes.
        trace.ios.push(Traced {
            at: Nanos(clock.ns(now - origin)),
            latency: Nanos(clock.ns(ticks)),
            offset: slot.offset,
            length: slot.length,
            target: slot.target,
            direction: slot.direction,
        });
    }

    /// Completions taken at once. With pauses it is one at a time, as fio does by default: which of them makes a pause fall due,
    /// and how many are sent until then, would else depend on how many a device returns together.
    #[inline(always)]
    pub(super) fn at_once(&self) -> u32 {
        if self.pauses.is_some() { 1 } else { u32::MAX }
    }

    /// It is time for a pause: how many had completed when that was found.
    #[inline(always)]
    pub(super) fn pause_due(&self) -> Option<u64> {
        let pauses = self.pauses.as_ref()?;
        (self.completed >= pauses.last + pauses.blocks).then_some(self.completed)
    }
}

impl<B: Backend, C: Clock> Worker<B, C> {
    /// Waits for what is in flight.
    #[cold]
    pub(super) fn quiesce<S: Source>(&mut self) -> io::Result<()> {
        while !self.closed && self.idle < self.slots.len() {
            self.backend.submit_and_wait(1, None)?;
            self.collect::<S, false>();
        }
        Ok(())
    }

    /// Lets the time of a pause pass, the first part of it busily. As in fio the next one counts from what had completed when this
    /// one fell due, before the rest of the queue was waited for.
    #[cold]
    pub(super) fn pause(&mut self, completed: u64) {
        let Some(pauses) = &mut self.special.pauses else { return };
        pauses.last = completed;
        let (spin, time) = (pauses.spin, pauses.time);
        self.rest(spin, time);
    }

    /// Lets ticks pass while nothing is in flight, the first `spin` of them busily. It looks at the time and the flag at least once.
    fn rest(&mut self, spin: u64, time: u64) {
        let begin = self.clock.now();
        let (spin, end) = (begin + spin, begin + time);
        self.settle(begin);
        while !self.closed {
            let now = self.clock.now();
            if now >= self.next_event {
                self.event(now);
            } else if now >= end {
                return;
            } else if now < spin {
                self.clock.pause();
            } else {
                self.clock.idle_until(end.min(self.next_event));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::clock::Monotonic;

    #[test]
    fn what_has_no_room_is_counted() {
        let trace = Some((Trace::default(), 2));
        let mut special =
            Special { ios_left: u64::MAX, completed: 0, pauses: None, data: None, trace, passes: None };
        let slot =
            Slot { sent: 90, intended: 0, offset: 8192, length: 512, target: 3, direction: Direction::Write };
        for now in [99, 100, 150, 160, 170] {
            special.complete(&slot, now - slot.sent, now, 100, &Monotonic);
        }
        assert_eq!(special.completed, 5);
        let (trace, _) = special.trace.unwrap();
        assert_eq!((trace.ios.len(), trace.left_out), (2, 2), "the first one came before the window");
        assert_eq!((trace.ios[1].at, trace.ios[1].latency, trace.ios[1].target), (Nanos(50), Nanos(60), 3));
        assert_eq!(size_of::<Traced>(), 32);
    }
}
