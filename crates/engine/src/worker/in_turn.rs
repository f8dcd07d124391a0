//! Several workers on one thread, in virtual time. The worker whose clock is earliest has the next turn, so that a simulated volume
//! sees the requests of all its jobs in the order of their times, and the same load gives the same figures each time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use super::Worker;
use super::loops::OpenTimes;
use crate::backend::Backend;
use crate::clock::Clock;
use crate::generator::Followed;
use crate::schedule::Schedule;

/// A worker between two of its turns.
struct WorkerInTurn<B: Backend, C: Clock> {
    worker: Worker<B, C>,
    source: Followed,
    arrivals: Option<(Schedule, OpenTimes)>,
}

impl<B: Backend, C: Clock> WorkerInTurn<B, C> {
    fn new(mut worker: Worker<B, C>, start: u64) -> WorkerInTurn<B, C> {
        worker.begin(start);
        let source = Followed(worker.generator.clone());
        let arrivals = worker.schedule.take().map(|mut schedule| {
            let times = worker.open_times(&mut schedule);
            (schedule, times)
        });
        WorkerInTurn { worker, source, arrivals }
    }

    /// One turn of the worker's loop; false at its end.
    fn turn(&mut self) -> io::Result<bool> {
        match &mut self.arrivals {
            Some((schedule, times)) => self.worker.open_turn(&mut self.source, schedule, times),
            None => self.worker.closed_turn(&mut self.source),
        }
    }

    fn end(mut self, last: io::Result<bool>) {
        let result = last.and_then(|_| match self.arrivals {
            Some((schedule, times)) => self.worker.end_open::<Followed>(schedule, &times),
            None => self.worker.drain::<Followed, false>(),
        });
        self.worker.end(result);
    }
}

/// Runs workers from `start` (ticks) to the end of the last.
pub fn run_in_turn<B: Backend, C: Clock>(workers: Vec<Worker<B, C>>, start: u64) {
    let mut all: Vec<_> = workers.into_iter().map(|w| Some(WorkerInTurn::new(w, start))).collect();
    let mut due: BinaryHeap<_> = (0..all.len()).map(|i| Reverse((start, i))).collect();
    while let Some(Reverse((_, i))) = due.pop() {
        let Some(mut one) = all[i].take() else { continue };
        match one.turn() {
            Ok(true) => {
                due.push(Reverse((one.worker.clock.now(), i)));
                all[i] = Some(one);
            }
            last => one.end(last),
        }
    }
}
