//! The worker loop: fill, submit and wait in one system call (or few: see [`Batch`](super::backend::Batch)), reap everything. One
//! thread, one backend, one clock, all chosen at compile time; nothing is decided inside that could be decided before.
//!
//! Stamps. Each call that submits is stamped once, just before its requests are prepared: that is when all of them were sent. A
//! completion is stamped when the loop sees it in the completion queue, before any of our own bookkeeping for the batch, so that latency
//! never includes that. What it does include is the preparation of the requests of its own call (some 20 ns each), never that of
//! another call. A completion stamped before its submission (clocks of CPUs that differ) is counted, and its latency taken as 0.
//!
//! Closed loop: a free slot is used at once and the loop waits for one completion, not for a batch. Open loop: arrivals come
//! from a [`Schedule`] that knows nothing of completions; while no slot is free they wait, in order, with the time they
//! were meant to start. The backlog needs no queue, since the schedule can be asked for the next intended time whenever a slot becomes free.
//!
//! The loop allocates nothing, takes no lock and makes no system call besides submitting and waiting, except once per interval of
//! the grid in [`Worker::event`] (`grid`).

mod end;
mod grid;
mod special;

use std::io;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use super::backend::{Backend, Batch, Request};
use super::buffers::Buffers;
use super::clock::{Clock, SPIN};
use super::generator::{Generator, Source, Turns};
use super::job::{Control, Job, Message, Window};
use super::outcome::{End, Failure, OpenEnd};
use super::schedule::Schedule;
use crate::hist::Histogram;
use crate::sample::{CpuTime, Direction, GRID};
use crate::unit::Nanos;
use special::Special;

/// How long requests in flight are waited for after the end, at least.
pub const DRAIN: Nanos = Nanos::seconds(10);

/// And at most: a device whose driver gives requests up does so by then (30 s for SCSI and NVMe, with retries).
const DRAIN_MOST: Nanos = Nanos::seconds(120);

/// How long requests in flight are waited for after the end, when `longest` is the longest latency of the load: a device that is slow, or a token
/// bucket with a long period, is not taken for one that hangs.
pub fn patience(longest: Nanos) -> Nanos {
    Nanos(longest.0.saturating_mul(3)).clamp(DRAIN, DRAIN_MOST)
}

/// How long the flush at the end of a load may take: all that the page cache took may have to be written.
pub const END_FLUSH: Nanos = Nanos::seconds(600);

/// A request in flight.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    sent: u64,
    /// Open loop: when it was meant to start.
    intended: u64,
    offset: u64,
    length: u32,
    /// Number within the step.
    target: u16,
    direction: Direction,
}

impl Slot {
    #[cold]
    pub(super) fn failure(&self, result: i64) -> Failure {
        let Slot { direction, offset, length, target, .. } = *self;
        Failure { direction, offset, length, result, target }
    }
}

/// Samples of the running second.
struct Tally {
    service: [Histogram; 4],
    response: [Histogram; 4],
    bytes: [u64; 4],
}

impl Tally {
    #[inline(always)]
    fn add(&mut self, direction: Direction, length: u32, latency_ns: u64) {
        let d = direction as usize;
        self.service[d].record(latency_ns);
        self.bytes[d] += u64::from(length);
    }
}

/// Ticks from one stamp to a later one. An earlier one is counted, and no time has passed then.
#[inline(always)]
fn between(sent: u64, now: u64, backwards: &mut u64) -> u64 {
    now.checked_sub(sent).unwrap_or_else(|| {
        std::hint::cold_path();
        *backwards += 1;
        0
    })
}

/// One load thread.
///
/// Backend and buffers are freed only once nothing is in flight, and leaked before: see its `Drop`.
pub struct Worker<B: Backend, C: Clock> {
    id: u32,
    clock: C,
    backend: ManuallyDrop<B>,
    buffers: ManuallyDrop<Buffers>,
    batch: Batch,
    generators: Vec<Generator>,
    /// Number of the first of its targets within the step.
    target: u16,
    /// How many it has.
    targets: u16,
    special: Special,
    schedule: Option<Schedule>,
    window: Window,
    /// Share of written data that no stamp changes, percent.
    fixed: u32,
    /// A flush is still to come after the load.
    end_fsync: bool,
    continue_on_error: bool,
    control: Arc<Control>,
    messages: Sender<Message>,

    slots: Vec<Slot>,
    /// The first `idle` are the slots without a request. `idle` is never above the number of slots that the kernel does not know of, whatever
    /// unwinds: it falls before requests are prepared, and rises after completions were taken.
    free: Box<[u32]>,
    idle: usize,
    tally: Tally,
    /// I/Os and their latencies of this second up to the last interval, per direction: the difference is the interval's.
    counted: [(u64, u64); 4],
    /// I/Os up to the last interval.
    ios: u64,
    /// What the amount allows to send; signed, so that the last block may go over it.
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
    /// Ticks that requests were in flight within the window and that no latency of the window has (I/Os that failed, or were in flight at its end),
    /// less what latencies have from before it.
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
    outcome: End,
}

impl<B: Backend, C: Clock> Worker<B, C> {
    /// Puts a worker together; no I/O yet.
    pub fn new(mut job: Job, backend: B, buffers: Buffers, clock: C) -> Worker<B, C> {
        let (direction, target) = (Direction::Read, job.target);
        let empty = Slot { sent: 0, intended: 0, offset: 0, length: 0, target, direction };
        let histograms = || std::array::from_fn(|_| Histogram::new());
        Worker {
            id: job.id,
            outcome: End {
                worker: job.id,
                open: job.schedule.is_some().then(OpenEnd::default),
                ..End::default()
            },
            backend: ManuallyDrop::new(backend),
            buffers: ManuallyDrop::new(buffers),
            batch: job.batch,
            special: Special::of(&mut job),
            target: job.target,
            targets: job.generators.len() as u16,
            generators: job.generators,
            clock,
            schedule: job.schedule,
            window: job.window,
            fixed: job.fixed,
            end_fsync: job.end_fsync,
            continue_on_error: job.continue_on_error,
            control: job.control,
            messages: job.messages,
            slots: vec![empty; job.depth as usize],
            free: (0..job.depth).collect(),
            idle: job.depth as usize,
            tally: Tally { service: histograms(), response: histograms(), bytes: [0; 4] },
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
        let generators = std::mem::take(&mut self.generators);
        let result = if generators.len() > 1 || self.special.asked() {
            self.load(Turns::new(generators))
        } else if let Some(reads) = generators[0].reads() {
            self.load(reads)
        } else {
            self.load(generators[0].clone())
        };
        if let Err(e) = result {
            self.outcome.failed = Some(format!("submitting I/O failed: {e}"));
            self.control.stop.store(true, Ordering::Relaxed);
            self.close(self.clock.now());
        }
        self.finish();
    }

    #[inline(never)]
    fn load<S: Source>(&mut self, source: S) -> io::Result<()> {
        match self.schedule.take() {
            Some(schedule) => self.open_loop(source, schedule),
            None if B::LOCKSTEP => {
                self.lockstep(source);
                self.end_lockstep()
            }
            None => self.closed_loop(source),
        }
    }

    fn closed_loop<S: Source>(&mut self, mut source: S) -> io::Result<()> {
        while !self.closed && self.more() {
            let now = self.clock.now();
            if now >= self.next_event {
                self.event(now);
                continue;
            }
            self.settle(now);
            if self.idle > 0 {
                let busy = self.slots.len() - self.idle;
                let n = self.batch.next(self.idle, busy);
                self.fill::<S, false>(&mut source, n, now, now);
                // More can be sent: in a call of its own, with a stamp of its own. The last call also waits.
                if self.idle > 0 && self.more() {
                    self.backend.submit()?;
                    continue;
                }
            }
            self.backend.submit_and_wait(1, None)?;
            self.collect::<S, false>();
        }
        self.drain::<S, false>()
    }

    /// The closed loop of a backend that does one I/O at a time. In a function of its own: before the cold end of a load its exit
    /// would count as unlikely, and cost the loop two jumps an I/O.
    #[inline(never)]
    fn lockstep<S: Source>(&mut self, mut source: S) {
        while self.more() {
            let (direction, offset, length) = source.next();
            let target = if S::SPECIAL { Some(source.target()) } else { None };
            if direction == Direction::Write {
                if S::SPECIAL {
                    self.special.write(&mut self.buffers, 0, length, self.fixed);
                } else {
                    self.buffers.stamp(0, length, self.fixed);
                }
            }
            let sent = self.clock.now();
            let result = self.backend.call(&Request { slot: 0, direction, offset, length, target });
            let now = self.clock.now();
            let ticks = between(sent, now, &mut self.outcome.backwards);
            if now >= self.next_event {
                // The request was in flight when the interval ended.
                (self.idle, self.settled, self.slots[0].sent) = (0, sent, sent);
                self.event(now);
                self.settle(now);
                self.idle = 1;
                if self.closed {
                    let target = self.target + target.unwrap_or(0);
                    let slot = Slot { sent, intended: sent, offset, length, target, direction };
                    return self.outcome.late(&slot, result, self.clock.ns(ticks));
                }
            } else {
                self.occupancy += ticks;
            }
            if result != i64::from(length) {
                let target = self.target + target.unwrap_or(0);
                self.outside += ticks as i64;
                self.failed(Failure { direction, offset, length, result, target }, now);
                if self.closed {
                    return;
                }
                continue;
            }
            self.bytes_left -= i64::from(length);
            self.tally.add(direction, length, self.clock.ns(ticks));
            if S::SPECIAL {
                let target = self.target + target.unwrap_or(0);
                let slot = Slot { sent, intended: sent, offset, length, target, direction };
                self.special.complete(&slot, ticks, now, self.origin, &self.clock);
            }
        }
    }

    /// An I/O failed: it is kept, and ends the load unless that was waived.
    #[cold]
    #[inline(never)]
    fn failed(&mut self, failure: Failure, now: u64) {
        let interrupted = failure.result == -i64::from(libc::EINTR);
        if !interrupted {
            self.outcome.fail(failure);
        }
        if (interrupted && self.control.stop.load(Ordering::Relaxed))
            || (!interrupted && !self.continue_on_error)
        {
            self.control.stop.store(true, Ordering::Relaxed);
            self.close(now);
        }
    }

    fn open_loop<S: Source>(&mut self, mut source: S, mut schedule: Schedule) -> io::Result<()> {
        let spin = self.clock.ticks(SPIN);
        let mut next = self.begin + self.clock.ticks(schedule.next());
        // When a slot became free after all had been taken: arrivals from before then waited for the device, not for us.
        let mut freed = self.begin;
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
                self.fill::<S, true>(&mut source, 1, now, next);
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
            self.collect::<S, true>();
            if full && self.idle > 0 {
                freed = self.clock.now();
            }
        }
        self.drain::<S, true>()?;
        self.censor(schedule, next);
        Ok(())
    }

    /// Counts the requests in flight up to now.
    #[inline(always)]
    fn settle(&mut self, now: u64) {
        let busy = (self.slots.len() - self.idle) as u64;
        self.occupancy += busy * now.saturating_sub(self.settled);
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

    /// The amount of I/O is not used up.
    #[inline(always)]
    fn more(&self) -> bool {
        self.bytes_left > 0
    }

    /// Prepares up to `n` requests, `n` at most the free slots; fewer when the amount is nearly used up.
    #[inline(always)]
    fn fill<S: Source, const OPEN: bool>(&mut self, source: &mut S, n: usize, now: u64, intended: u64) {
        #[rustfmt::skip]
        let Worker {
            backend, slots, free, idle, buffers, bytes_left, fixed, largest, outcome, special, target: first, ..
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
            if direction == Direction::Write {
                if S::SPECIAL {
                    special.write(buffers, slot, length, *fixed);
                } else {
                    buffers.stamp(slot, length, *fixed);
                }
            }
            bytes += i64::from(length);
            let entry = &mut slots[slot as usize];
            (entry.sent, entry.offset) = (now, offset);
            (entry.length, entry.direction) = (length, direction);
            if OPEN {
                entry.intended = intended;
            }
            let target = if S::SPECIAL { Some(source.target()) } else { None };
            if let Some(target) = target {
                entry.target = *first + target;
            }
            Request { slot, direction, offset, length, target }
        });
        *bytes_left -= bytes;
        outcome.depth.submit(n as u32, (slots.len() - *idle) as u32);
    }

    /// Takes what has completed.
    #[inline(always)]
    fn collect<S: Source, const OPEN: bool>(&mut self) {
        let n = self.backend.ready();
        let now = self.clock.now();
        self.outcome.depth.complete(n);
        if n == 0 {
            return self.nothing(now);
        }
        if now >= self.next_event {
            self.event(now);
            if self.closed {
                return self.reap_late::<OPEN>(n, now);
            }
        }
        self.settle(now);
        #[rustfmt::skip]
        let Worker {
            backend, slots, free, idle, tally, clock, origin, outcome, special, outside, ..
        } = self;
        let errors = outcome.errors;
        let places = free[*idle..*idle + n as usize].iter_mut();
        for (place, (id, result)) in places.zip(backend.completions()) {
            *place = id;
            let slot = &slots[id as usize];
            let ticks = between(slot.sent, now, &mut outcome.backwards);
            if result != i64::from(slot.length) {
                *outside += ticks as i64;
                outcome.fail(slot.failure(result));
                continue;
            }
            let direction = S::ONLY.unwrap_or(slot.direction);
            tally.add(direction, slot.length, clock.ns(ticks));
            if S::SPECIAL {
                special.complete(slot, ticks, now, *origin, clock);
            }
            if OPEN && slot.intended >= *origin {
                tally.response[direction as usize].record(clock.ns(now.saturating_sub(slot.intended)));
            }
        }
        *idle += n as usize;
        if outcome.errors != errors && !self.continue_on_error {
            self.control.stop.store(true, Ordering::Relaxed);
            self.close(now);
        }
    }

    /// A wait ended without a completion: a time-out, or a signal that says to look at the time and the flag.
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
