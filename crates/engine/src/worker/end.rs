//! The end of a load: waits for the requests in flight, counts late completions apart, and frees no memory that the kernel may still write
//! to.

use std::io;
use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering;

use super::Worker;
use super::slot::{Slot, between};
use crate::backend::{Backend, IoRequest};
use crate::clock::Clock;
use crate::generator::Source;
use crate::schedule::Schedule;
use crate::worker_job::Message;
use volproof_base::sample::{Direction, GRID};
use volproof_base::unit::Nanos;

/// The shortest time to wait for requests in flight after the end of the load.
pub const DRAIN: Nanos = Nanos::seconds(10);

/// The longest time to wait for requests in flight after the end of the load. A driver that gives up requests does so by then (30 s for
/// SCSI and NVMe, with retries).
const DRAIN_MOST: Nanos = Nanos::seconds(120);

/// The time to wait for requests in flight after the end, from `longest`, the longest latency of the load. The time grows with that
/// latency, so that a slow device, or a token bucket with a long period, is not taken for a device that hangs.
pub fn patience(longest: Nanos) -> Nanos {
    Nanos(longest.0.saturating_mul(3)).clamp(DRAIN, DRAIN_MOST)
}

/// How long the flush at the end of a load may take: everything in the page cache may have to be written.
pub const END_FLUSH: Nanos = Nanos::seconds(600);

impl<B: Backend, C: Clock> Worker<B, C> {
    /// Waits for the requests in flight. When the amount of I/O ended the load, their completions still count.
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
        self.outcome.patience = patience(self.longest);
        let deadline = self.clock.now() + self.clock.ticks(self.outcome.patience);
        while self.idle < self.slots.len() && self.clock.now() < deadline {
            self.backend.submit_and_wait(1, Some(slice))?;
            let n = self.backend.ready();
            if n > 0 {
                self.reap_late::<OPEN>(n, self.clock.now());
            }
        }
        self.end_flush()
    }

    /// Flushes the target after the load, if the step asks for that. This flush does not count among the load's flushes. When the amount
    /// of I/O ended the load, the flush's time belongs to the window, because the written data is not durable before.
    #[cold]
    #[inline(never)]
    fn end_flush(&mut self) -> io::Result<()> {
        let pending = std::mem::take(&mut self.end_fsync);
        if !pending || self.idle < self.slots.len() || self.control.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.backend.datasync(false);
        let deadline = self.clock.now() + self.clock.ticks(END_FLUSH);
        let now = self.clock.now();
        self.settle(now);
        let Worker { backend, slots, free, idle, .. } = self;
        *idle -= 1;
        backend.fill(&free[*idle..=*idle], |slot| {
            let direction = Direction::Sync;
            // This flush is no arrival of the schedule, so its intended start is 0, before every arrival.
            slots[slot as usize] = Slot { sent: now, intended: 0, offset: 0, length: 0, direction };
            IoRequest { slot, direction, offset: 0, length: 0 }
        });
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
        Ok(())
    }

    /// Takes the flush at the end, when it has completed.
    #[cold]
    fn reap_end_flush(&mut self, now: u64) {
        let n = self.backend.ready();
        let Worker { backend, slots, free, idle, clock, outcome, outside, closed, .. } = self;
        let errors = outcome.errors.count;
        for (id, result) in backend.completions().take(n as usize) {
            free[*idle] = id;
            *idle += 1;
            let slot = &slots[id as usize];
            let ticks = between(slot.sent, now, &mut outcome.backwards);
            if !*closed {
                *outside += ticks as i64;
            }
            if result != i64::from(slot.length) {
                outcome.fail(slot.failure(result));
                continue;
            }
            outcome.end_flushes.0 += 1;
            outcome.end_flushes.1 = outcome.end_flushes.1.max(Nanos(clock.ns(ticks)));
        }
        if outcome.errors.count != errors && !self.continue_on_error && !self.closed {
            self.control.stop.store(true, Ordering::Relaxed);
            self.close(now);
        }
    }

    /// Takes completions that came after the window.
    #[cold]
    pub(super) fn reap_late<const OPEN: bool>(&mut self, n: u32, now: u64) {
        let Worker { backend, slots, free, idle, clock, origin, closed_at, outcome, .. } = self;
        for (id, result) in backend.completions().take(n as usize) {
            free[*idle] = id;
            *idle += 1;
            let slot = &slots[id as usize];
            let after = Nanos(clock.ns(now.saturating_sub(*closed_at)));
            outcome.late(slot, result, clock.ns(now.saturating_sub(slot.sent)), after);
            if OPEN
                && result == i64::from(slot.length)
                && (*origin..*closed_at).contains(&slot.intended)
                && let Some(open) = &mut outcome.open
            {
                open.late[slot.direction].record(clock.ns(now.saturating_sub(slot.intended)));
            }
        }
    }

    /// Records that arrivals of the window without a completion have waited at least until now.
    pub(super) fn censor(&mut self, mut schedule: Schedule, mut next: u64) {
        let now = self.clock.now();
        let Some(open) = &mut self.outcome.open else { return };
        let window = self.origin..self.closed_at;
        let mut in_flight = vec![true; self.slots.len()];
        for slot in &self.free[..self.idle] {
            in_flight[*slot as usize] = false;
        }
        for (slot, busy) in self.slots.iter().zip(in_flight) {
            if busy && window.contains(&slot.intended) {
                open.censored.record(self.clock.ns(now.saturating_sub(slot.intended)));
            }
        }
        while next < self.closed_at && self.bytes_left > 0 {
            if window.contains(&next) {
                open.arrivals += 1;
                open.censored.record(self.clock.ns(now.saturating_sub(next)));
            }
            next = self.begin + self.clock.ticks(schedule.next());
        }
    }

    /// Frees ring, buffers and targets, and only then sends the report: its receiver may unmount the target.
    pub(super) fn finish(mut self) {
        self.outcome.lost = (self.slots.len() - self.idle) as u32;
        self.outcome.features = self.backend.features();
        if let Some(tap) = &mut self.tap {
            tap.hand_over(&self.clock);
        }
        let (outcome, messages) = (std::mem::take(&mut self.outcome), self.messages.clone());
        drop(self);
        let _ = messages.send(Message::End(Box::new(outcome)));
    }
}

impl<B: Backend, C: Clock> Drop for Worker<B, C> {
    /// Frees backend and buffers when nothing is in flight. Otherwise both are leaked, however the load ends: the kernel may still write to
    /// the buffers, and they must never be used for anything else.
    fn drop(&mut self) {
        if self.idle == self.slots.len() {
            // SAFETY: both are used by nobody from here on, and dropped once. The backend goes first, as its ring knows the buffers.
            unsafe {
                ManuallyDrop::drop(&mut self.backend);
                ManuallyDrop::drop(&mut self.buffers);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::channel;

    use super::*;
    use crate::backend::Batch;
    use crate::buffers::Buffers;
    use crate::clock::Virtual;
    use crate::generator::{Generator, Region};
    use crate::worker_job::{Control, FollowedBy, LoadWindow, WorkerJob};
    use volproof_base::unit::Bytes;
    use volproof_plan::Step;

    /// Where a backend panics.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Place {
        Fill,
        Submit,
        Reap,
        Nowhere,
    }

    /// A device that completes requests as they are waited for, panics at the given place, and says when it is freed.
    struct Panics(Place, Vec<u32>, Arc<AtomicBool>);

    impl Panics {
        fn at(&self, place: Place) {
            assert!(self.0 != place, "a defect in the hot loop");
        }
    }

    impl Backend for Panics {
        fn fill(&mut self, slots: &[u32], mut next: impl FnMut(u32) -> IoRequest) {
            for slot in slots {
                next(*slot);
                self.1.push(*slot);
                self.at(Place::Fill);
            }
        }

        fn submit_and_wait(&mut self, _: u32, _: Option<Nanos>) -> io::Result<()> {
            self.at(Place::Submit);
            Ok(())
        }

        fn ready(&mut self) -> u32 {
            self.1.len() as u32
        }

        fn completions(&mut self) -> impl Iterator<Item = (u32, i64)> {
            self.at(Place::Reap);
            std::iter::from_fn(|| self.1.pop().map(|slot| (slot, 4096)))
        }
    }

    impl Drop for Panics {
        fn drop(&mut self) {
            self.2.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_panic_with_requests_in_flight_frees_neither_ring_nor_buffers() {
        for place in [Place::Fill, Place::Submit, Place::Reap, Place::Nowhere] {
            let freed = Arc::new(AtomicBool::new(false));
            let step = Step { runtime: Nanos(0), io_size: Some(Bytes::mib(1)), ..Step::default() };
            let (messages, inbox) = channel();
            let region = Region::of_job(&step, Bytes::mib(1), 0).unwrap();
            let job = WorkerJob {
                id: 0,
                depth: 4,
                batch: Batch::new(true, 4),
                largest: Bytes(4096),
                generator: Generator::new(&step, region, 1),
                followed: FollowedBy::default(),
                schedule: None,
                window: LoadWindow { ramp: Nanos(0), runtime: None, amount: step.io_size },
                compressible: 0,
                datasync: true,
                sync: None,
                end_fsync: false,
                continue_on_error: false,
                control: Arc::new(Control::default()),
                messages,
            };
            let buffers = Buffers::new(4, Bytes(4096)).unwrap();
            let backend = Panics(place, Vec::new(), freed.clone());
            let worker = Worker::new(job, backend, buffers, Virtual::default());
            let ended = catch_unwind(AssertUnwindSafe(|| worker.run(1)));
            let whole = place == Place::Nowhere;
            assert_eq!((ended.is_ok(), freed.load(Ordering::Relaxed)), (whole, whole), "{place:?}");
            assert_eq!(inbox.iter().any(|m| matches!(m, Message::End(_))), whole, "{place:?}");
        }
    }
}
