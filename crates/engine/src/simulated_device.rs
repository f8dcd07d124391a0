//! A device in virtual time: [`SimulatedDevice`] completes requests when the [`SharedVolume`] of their target says, so that everything
//! behind the engine can be tested against a known truth, in an instant and without noise.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;

use super::backend::{Backend, IoRequest};
use super::clock::{Clock, Virtual};
use super::simulated_run::SharedVolume;
use volproof_base::unit::Nanos;

/// The simulated volume of a worker's target, as the worker sees it.
pub struct SimulatedDevice {
    clock: Virtual,
    volume: SharedVolume,
    /// CPU time of the load thread for each I/O.
    cpu_per_io: Nanos,
    /// Completion time, order of submission, slot, result.
    in_flight: BinaryHeap<Reverse<(u64, u64, u32, i64)>>,
    /// Slot and result of the requests whose time has come, in the order of their completion.
    done: VecDeque<(u32, i64)>,
    submitted: u64,
}

impl SimulatedDevice {
    /// A device whose time is `clock`, for a load thread that needs so much CPU time for each I/O.
    pub fn new(clock: Virtual, volume: SharedVolume, cpu_per_io: Nanos) -> SimulatedDevice {
        SimulatedDevice {
            clock,
            volume,
            cpu_per_io,
            in_flight: BinaryHeap::new(),
            done: VecDeque::new(),
            submitted: 0,
        }
    }
}

impl Backend for SimulatedDevice {
    fn fill(&mut self, slots: &[u32], mut next: impl FnMut(u32) -> IoRequest) {
        for slot in slots {
            let r = next(*slot);
            self.clock.advance_to(self.clock.now() + self.cpu_per_io.0);
            let (end, result) = self.volume.complete(self.clock.now(), &r);
            self.submitted += 1;
            self.in_flight.push(Reverse((end, self.submitted, r.slot, result)));
        }
    }

    fn submit_and_wait(&mut self, want: u32, timeout: Option<Nanos>) -> io::Result<()> {
        if want > 0
            && self.done.is_empty()
            && let Some(Reverse((end, ..))) = self.in_flight.peek()
        {
            // Waits without a limit are interrupted now and then, as the watching thread does with real ones.
            let limit = timeout.unwrap_or(Nanos::seconds(1));
            self.clock.advance_to((*end).min(self.clock.now() + limit.0));
        }
        Ok(())
    }

    fn ready(&mut self) -> u32 {
        let now = self.clock.now();
        while self.in_flight.peek().is_some_and(|r| r.0.0 <= now)
            && let Some(Reverse((_, _, slot, result))) = self.in_flight.pop()
        {
            self.done.push_back((slot, result));
        }
        self.done.len() as u32
    }

    fn completions(&mut self) -> impl Iterator<Item = (u32, i64)> {
        std::iter::from_fn(|| self.done.pop_front())
    }
}
