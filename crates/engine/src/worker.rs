//! The worker loop: fill, submit and wait in one system call (or few: see [`Batch`]), reap everything. One
//! thread, one backend, one clock, all chosen at compile time; the loop takes no decision that could be taken before it.
//!
//! Stamps. The loop reads the clock once for each call that submits, just before it prepares the requests: that is when all of them were
//! sent. It reads the clock again when it finds completions in the completion queue, before its own bookkeeping, so that no latency
//! contains the bookkeeping. A latency does contain the preparation of the requests of its own call (some 20 ns each), never that of
//! another call. A completion stamped before its submission (clocks of CPUs that differ) is counted, and its latency taken as 0.
//!
//! Closed loop: a free slot is used at once, and the loop waits for one completion. Only where kernel threads do the requests of io_uring
//! does it wait for several (`uring` gives the bounds). Open loop: arrivals come from a [`Schedule`] that knows nothing of completions.
//! While no slot is free, arrivals wait in order, and each keeps its intended start time. The backlog needs no queue: the loop asks the
//! schedule for the next intended time whenever a slot becomes free.
//!
//! The loop takes no lock. It allocates nothing, and makes no system call besides submitting and waiting, except
//! once per interval of the grid in [`Worker::event`] (`grid`) and where cached pages are dropped after a pass.

mod end;
mod grid;
mod in_turn;
mod loops;
mod one_by_one;
mod request_tap;
mod slot;

use std::io;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use super::backend::{Backend, Batch, IoRequest};
use super::buffers::Buffers;
use super::clock::Clock;
use super::generator::{Followed, Generator, Source};
use super::outcome::{OpenEnd, WorkerEnd};
use super::passes::Passes;
use super::schedule::Schedule;
use super::worker_job::{Control, LoadWindow, Message, WorkerJob};
pub use end::{DRAIN, END_FLUSH, patience};
pub use in_turn::run_in_turn;
pub use request_tap::RequestTap;
use slot::{EMPTY, Tally, no_slot, rare};
pub use slot::{Slot, between};
use volproof_base::sample::{CpuTime, Direction, GRID};
use volproof_base::unit::Nanos;

/// One load thread.
///
/// Its `Drop` frees backend and buffers when nothing is in flight, and leaks them otherwise.
pub struct Worker<B: Backend, C: Clock> {
    id: u32,
    clock: C,
    backend: ManuallyDrop<B>,
    buffers: ManuallyDrop<Buffers>,
    batch: Batch,
    generator: Generator,
    /// Begins each pass anew: drops cached pages, or gives the file its state again.
    passes: Option<Passes>,
    /// Hands over the stamps of single requests.
    tap: Option<RequestTap>,
    schedule: Option<Schedule>,
    window: LoadWindow,
    /// Share of written data that is zeros, which no stamp changes, percent.
    compressible: u32,
    /// The step ends with a flush, which is still to be done.
    end_fsync: bool,
    continue_on_error: bool,
    control: Arc<Control>,
    messages: Sender<Message>,

    slots: Vec<Slot>,
    /// The first `idle` are the slots without a request. `idle` never exceeds the number of slots that the kernel does not know of, even
    /// when a panic unwinds: `idle` falls before requests are prepared, and rises after completions were taken.
    free: Box<[u32]>,
    idle: usize,
    tally: Tally,
    /// I/Os and their latencies of this second up to the last interval, per direction: the difference is the interval's.
    counted: [(u64, u64); 4],
    /// I/Os up to the last interval.
    ios: u64,
    /// Bytes of the amount that may still be sent; signed, so that the last block may go over the amount.
    bytes_left: i64,
    /// Largest block, in bytes.
    largest: i64,

    /// Start of the window, and of the load, in ticks.
    origin: u64,
    begin: u64,
    /// End of the window in ticks; `u64::MAX` without a runtime.
    end: u64,
    /// Next end of an interval of the grid, and its index.
    next_event: u64,
    index: i64,
    /// Ticks in flight within the window that no latency of the window counts (I/Os that failed, or were in flight at the window's end),
    /// less the ticks before the window that its latencies do count.
    outside: i64,
    /// Longest latency of the load so far.
    longest: Nanos,
    /// Requests in flight times ticks in this interval, up to `settled`.
    occupancy: u64,
    settled: u64,
    /// The window is over: whatever completes now is late.
    closed: bool,
    closed_at: u64,
    cpu_at_origin: CpuTime,
    outcome: WorkerEnd,
}

impl<B: Backend, C: Clock> Worker<B, C> {
    /// Puts a worker together; no I/O yet.
    pub fn new(job: WorkerJob, backend: B, buffers: Buffers, clock: C) -> Worker<B, C> {
        Worker {
            id: job.id,
            outcome: WorkerEnd {
                worker: job.id,
                open: job.schedule.is_some().then(OpenEnd::default),
                ..WorkerEnd::default()
            },
            backend: ManuallyDrop::new(backend),
            buffers: ManuallyDrop::new(buffers),
            batch: job.batch,
            passes: job.followed.passes,
            tap: job.followed.tap,
            generator: job.generator,
            clock,
            schedule: job.schedule,
            window: job.window,
            compressible: job.compressible,
            end_fsync: job.end_fsync,
            continue_on_error: job.continue_on_error,
            control: job.control,
            messages: job.messages,
            slots: vec![EMPTY; job.depth as usize],
            free: (0..job.depth).collect(),
            idle: job.depth as usize,
            tally: Tally::default(),
            counted: [(0, 0); 4],
            ios: 0,
            bytes_left: job.window.amount.map_or(i64::MAX, |b| i64::try_from(b.0).unwrap_or(i64::MAX)),
            largest: (job.largest.0 as i64).max(1),
            origin: 0,
            begin: 0,
            end: u64::MAX,
            next_event: 0,
            index: 0,
            outside: 0,
            longest: Nanos(0),
            occupancy: 0,
            settled: 0,
            closed: false,
            closed_at: 0,
            cpu_at_origin: CpuTime::default(),
        }
    }

    /// Runs the load from `start` (ticks) to its end. Intervals and the end go to the watching thread.
    pub fn run(mut self, start: u64) {
        self.begin(start);
        let generator = self.generator.clone();
        let result = if self.passes.is_some() || self.tap.is_some() {
            self.load(Followed(generator))
        } else if let Some(reads) = generator.reads() {
            self.load(reads)
        } else {
            self.load(generator)
        };
        self.end(result);
    }

    /// Begins the load at `start` (ticks).
    fn begin(&mut self, start: u64) {
        self.begin = start;
        self.origin = start + self.clock.ticks(self.window.ramp);
        self.end = self.window.runtime.map_or(u64::MAX, |r| self.origin + self.clock.ticks(r));
        self.index = -(self.window.ramp.0.div_ceil(GRID.0) as i64);
        self.settled = start;
        self.next_event = self.grid(self.index + 1).min(self.end);
        if self.index == 0 {
            self.open_window();
        }
        self.clock.idle_until(start);
    }

    /// Ends the load with the result of its loop, and sends its report.
    fn end(mut self, result: io::Result<()>) {
        if let Err(e) = result {
            self.outcome.failed = Some(format!("submitting I/O failed: {e}"));
            self.control.stop.store(true, Ordering::Relaxed);
            self.close(self.clock.now());
        }
        self.finish();
    }

    #[inline(never)]
    fn load<S: Source>(&mut self, source: S) -> io::Result<()> {
        if let Some(direction) = S::ONLY {
            let length = source.length();
            self.slots.iter_mut().for_each(|slot| (slot.direction, slot.length) = (direction, length));
        }
        match self.schedule.take() {
            Some(schedule) => self.open_loop(source, schedule),
            None if B::ONE_BY_ONE => self.one_by_one(source),
            None => self.closed_loop(source),
        }
    }

    /// Adds to `occupancy` the requests in flight times the ticks since the last call. Where the clock has gone back, the product is
    /// negative.
    #[inline(always)]
    fn settle(&mut self, now: u64) {
        let busy = (self.slots.len() - self.idle) as u64;
        self.occupancy = self.occupancy.wrapping_add(busy.wrapping_mul(now.wrapping_sub(self.settled)));
        self.settled = now;
    }

    /// Sum of the ages that the requests in flight have at a time, in ticks.
    #[cold]
    fn age_in_flight(&self, at: u64) -> i64 {
        let mut sum: u64 = self.slots.iter().map(|s| at.saturating_sub(s.sent)).sum();
        for slot in &self.free[..self.idle] {
            sum -= at.saturating_sub(self.slots[*slot as usize].sent);
        }
        sum as i64
    }

    /// True until the amount of I/O is used up.
    #[inline(always)]
    fn more(&self) -> bool {
        self.bytes_left > 0
    }

    /// Prepares `n` requests, or fewer where little of the amount is left; `n` must not exceed the free slots.
    #[inline(always)]
    fn fill<S: Source, const OPEN: bool>(&mut self, source: &mut S, n: usize, now: u64, intended: u64) {
        #[rustfmt::skip]
        let Worker {
            backend, slots, free, idle, buffers, bytes_left, compressible, largest, outcome, ..
        } = self;
        let n = if *bytes_left < *largest * n as i64 {
            bytes_left.unsigned_abs().div_ceil(*largest as u64) as usize
        } else {
            n
        };
        let mut bytes = 0;
        *idle -= n;
        backend.fill(&free[*idle..*idle + n], |slot| {
            let (direction, offset, length) = source.next();
            // In virtual time no data moves.
            if direction == Direction::Write && !C::VIRTUAL {
                buffers.stamp(slot, length, *compressible);
            }
            let entry = slots.get_mut(slot as usize).unwrap_or_else(|| no_slot());
            (entry.offset, entry.sent) = (offset, now);
            if S::ONLY.is_none() {
                (entry.length, entry.direction) = (length, direction);
                bytes += i64::from(length);
            }
            if OPEN {
                entry.intended = intended;
            }
            IoRequest { slot, direction, offset, length }
        });
        *bytes_left -= if S::ONLY.is_none() { bytes } else { i64::from(source.length()) * n as i64 };
        outcome.depth.submit(n as u32, (slots.len() - *idle) as u32);
    }

    /// Takes the completions; false when the window has ended.
    #[inline(always)]
    fn collect<S: Source, const OPEN: bool>(&mut self) -> bool {
        let n = self.backend.ready();
        let now = self.clock.now();
        self.outcome.depth.complete(n);
        if n == 0 {
            self.nothing(now);
            return !self.closed;
        }
        if now >= self.next_event {
            self.event(now);
            if self.closed {
                self.reap_late::<OPEN>(n, now);
                return false;
            }
        }
        self.settle(now);
        #[rustfmt::skip]
        let Worker {
            backend, slots, free, idle, tally, clock, origin, outcome, passes, tap, outside, ..
        } = self;
        let mut failed = false;
        let mut completions = backend.completions();
        for place in &mut free[*idle..*idle + n as usize] {
            let Some((id, result)) = completions.next() else { break };
            *place = id;
            let slot = slots.get(id as usize).unwrap_or_else(|| no_slot());
            if result != i64::from(slot.length) {
                failed = true;
                *outside += outcome.fail_in_window(slot.failure(result), slot.sent, now);
                continue;
            }
            let direction = S::ONLY.unwrap_or(slot.direction);
            let service = &mut tally.service[direction as usize];
            tally.bytes[direction as usize] += u64::from(slot.length);
            // Where a completion is stamped before its submission, the difference wraps to a value beyond every bucket, and `record_common`
            // refuses it.
            if !service.record_common(clock.ns(now.wrapping_sub(slot.sent))) {
                rare(service, slot.sent, now, clock, &mut outcome.backwards);
            }
            if S::FOLLOWED
                && let Some(passes) = passes
            {
                passes.complete(slot.length);
            }
            if S::FOLLOWED
                && let Some(tap) = tap
            {
                tap.ended::<OPEN>(slot, now, *origin);
            }
            if OPEN && slot.intended >= *origin {
                tally.response[direction as usize].record(clock.ns(now.saturating_sub(slot.intended)));
            }
        }
        drop(completions);
        *idle += n as usize;
        if failed {
            self.failed(now);
            return !self.closed;
        }
        true
    }

    /// Ends the load after failed I/Os, unless the step only counts errors or a signal interrupted the call.
    #[cold]
    #[inline(never)]
    fn failed(&mut self, now: u64) {
        if self.outcome.errors.count > 0 && !self.continue_on_error {
            self.control.stop.store(true, Ordering::Relaxed);
        }
        if self.control.stop.load(Ordering::Relaxed) {
            self.close(now);
        }
    }

    /// Handles a wait that ended without a completion: by its time-out, or by the signal that makes this thread check the time and the stop
    /// flag.
    #[cold]
    fn nothing(&mut self, now: u64) {
        if now >= self.next_event {
            self.event(now);
        }
        if self.control.stop.load(Ordering::Relaxed) {
            self.close(now);
        }
    }
}
