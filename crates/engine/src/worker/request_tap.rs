//! Stamps of single requests for the one who traces them: kept while they are wanted, and handed over once in an interval of the grid.

use std::sync::atomic::Ordering;

use super::slot::Slot;
use crate::clock::Clock;
use volproof_host::anatomy::{RequestStamps, TapSetting};

/// Stamps that are kept until they are handed over; more are left out.
const MOST: usize = 1 << 16;

/// A request that has ended, in ticks.
#[derive(Clone, Copy)]
struct EndedRequest {
    offset: u64,
    length: u32,
    intended: u64,
    sent: u64,
    seen: u64,
}

/// The tap of one worker.
pub struct RequestTap {
    setting: TapSetting,
    target: u32,
    kept: Vec<EndedRequest>,
}

impl RequestTap {
    /// The tap of a worker that drives the target with this number.
    pub fn new(setting: &TapSetting, target: usize) -> RequestTap {
        RequestTap { setting: setting.clone(), target: target as u32, kept: Vec::with_capacity(MOST) }
    }

    /// Keeps the stamps of a request that was sent within the window, which begins at `origin`, where they are wanted.
    #[inline(always)]
    pub(super) fn ended<const OPEN: bool>(&mut self, slot: &Slot, now: u64, origin: u64) {
        let has_room = self.kept.len() < MOST;
        if self.setting.is_wanted.load(Ordering::Relaxed) && slot.sent >= origin && has_room {
            let intended = if OPEN { slot.intended } else { slot.sent };
            let Slot { offset, length, sent, .. } = *slot;
            self.kept.push(EndedRequest { offset, length, intended, sent, seen: now });
        }
    }

    /// Hands over what was kept. Its times are those of `CLOCK_MONOTONIC`, from a reading of both clocks now, so that they drift no further apart
    /// than a clock does in an interval.
    #[cold]
    pub(super) fn hand_over<C: Clock>(&mut self, clock: &C) {
        if self.kept.is_empty() {
            return;
        }
        let now = clock.anchor();
        let target = self.target;
        let time = |ticks: u64| now.ns_of(ticks, clock);
        let stamps = self.kept.drain(..).map(|request| RequestStamps {
            target,
            offset: request.offset,
            length: request.length,
            intended: time(request.intended),
            sent: time(request.sent),
            seen: time(request.seen),
        });
        // Nobody listens any more where tracing has failed.
        let _ = self.setting.stamps.send(stamps.collect());
    }
}
