//! State of the loads that are not plain: targets in turn, every I/O kept, data of its own for every write, cached pages dropped
//! between passes. Their loop is compiled apart ([`Source::SPECIAL`]), so that the others do not pay for it.

use super::Slot;
use crate::engine::buffers::Buffers;
use crate::engine::clock::Clock;
use crate::engine::data::Data;
use crate::engine::job::Job;
use crate::engine::outcome::{Trace, Traced};
use crate::engine::passes::Passes;
use crate::unit::Nanos;

/// The state of such a load.
pub(super) struct Special {
    /// What writes carry.
    data: Option<Data>,
    /// The I/Os it keeps, and how many it may.
    pub(super) trace: Option<(Trace, usize)>,
    passes: Option<Passes>,
}

impl Special {
    pub(super) fn of(job: &mut Job) -> Special {
        Special {
            trace: job.trace.map(|most| (Trace { worker: job.id, ..Trace::default() }, most)),
            data: job.data.take(),
            passes: job.passes.take(),
        }
    }

    /// Something of this was asked for.
    pub(super) fn asked(&self) -> bool {
        self.trace.is_some() || self.data.is_some() || self.passes.is_some()
    }

    /// Prepares what a write carries: see [`Buffers::stamp`] where it has no data of its own.
    #[inline(always)]
    pub(super) fn write(&mut self, buffers: &mut Buffers, slot: u32, length: u32, fixed: u32) {
        match &mut self.data {
            Some(data) => data.fill(buffers, slot, length),
            None => buffers.stamp(slot, length, fixed),
        }
    }

    /// One has completed without error after `ticks`.
    #[inline(always)]
    pub(super) fn complete(&mut self, slot: &Slot, ticks: u64, now: u64, origin: u64, clock: &impl Clock) {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::clock::Monotonic;
    use crate::sample::Direction;

    #[test]
    fn what_has_no_room_is_counted() {
        let trace = Some((Trace::default(), 2));
        let mut special = Special { data: None, trace, passes: None };
        let slot =
            Slot { sent: 90, intended: 0, offset: 8192, length: 512, target: 3, direction: Direction::Write };
        for now in [99, 100, 150, 160, 170] {
            special.complete(&slot, now - slot.sent, now, 100, &Monotonic);
        }
        let (trace, _) = special.trace.unwrap();
        assert_eq!((trace.ios.len(), trace.left_out), (2, 2), "the first one came before the window");
        assert_eq!((trace.ios[1].at, trace.ios[1].latency, trace.ios[1].target), (Nanos(50), Nanos(60), 3));
        assert_eq!(size_of::<Traced>(), 32);
    }
}
