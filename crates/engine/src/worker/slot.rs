//! A request in flight, and the samples of the running second.

use crate::clock::Clock;
use crate::outcome::FailedIo;
use volproof_base::hist::Histogram;
use volproof_base::sample::Direction;

/// A request in flight.
#[derive(Clone, Copy)]
pub struct Slot {
    /// Stamp of the call that submitted it, in ticks.
    pub(super) sent: u64,
    /// Open loop: when the request was meant to start.
    pub(super) intended: u64,
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) direction: Direction,
}

pub(super) const EMPTY: Slot =
    Slot { sent: 0, intended: 0, offset: 0, length: 0, direction: Direction::Read };

impl Slot {
    #[inline(always)]
    pub fn failure(&self, result: i64) -> FailedIo {
        let Slot { direction, offset, length, .. } = *self;
        FailedIo { direction, offset, length, result }
    }
}

/// Samples of the running second.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) service: [Histogram; 4],
    pub(super) response: [Histogram; 4],
    pub(super) bytes: [u64; 4],
}

/// Ticks between two stamps. Where `now` is before `sent`, that is counted in `backwards` and the result is 0.
#[cold]
pub fn between(sent: u64, now: u64, backwards: &mut u64) -> u64 {
    now.checked_sub(sent).unwrap_or_else(|| {
        *backwards += 1;
        0
    })
}

/// Counts a latency that [`Histogram::record_common`] refuses: below 64 ns, beyond the last bucket, or negative.
#[cold]
#[inline(never)]
pub(super) fn rare<C: Clock>(service: &mut Histogram, sent: u64, now: u64, clock: &C, backwards: &mut u64) {
    service.record(clock.ns(between(sent, now, backwards)));
}

/// A slot that no request has: a defect of a backend.
#[cold]
#[inline(never)]
pub(super) fn no_slot() -> ! {
    unreachable!("slots are numbered below the depth")
}
