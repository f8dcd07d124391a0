//! The job of a worker, the state that it shares with other workers, and its messages to the watching thread. Data only.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};

use super::backend::Batch;
use super::generator::Generator;
use super::outcome::WorkerEnd;
use super::passes::Passes;
use super::schedule::Schedule;
use super::worker::RequestTap;
use volproof_base::sample::Interval;
use volproof_base::unit::{Bytes, Nanos};
use volproof_plan::SyncWrites;

/// The state that the workers of a step share.
#[derive(Debug, Default)]
pub struct Control {
    /// Ends the load soon: within one interval, or at once for a thread that is waiting and gets a signal.
    pub stop: AtomicBool,
    /// Start of the load (ramp) in ticks of the workers' clock, set when all are ready; `None` when the load does not begin. The workers
    /// sleep until then: thousands of polling workers would take the CPU from those that are still being set up.
    pub start: OnceLock<Option<u64>>,
    /// Kernel threads (io-wq) do the workers' requests.
    pub kernel_threads: AtomicBool,
    /// The longest latency that any worker has seen, in nanoseconds.
    pub longest: AtomicU64,
}

/// When a worker's load ends, and what counts.
#[derive(Clone, Copy, Debug)]
pub struct LoadWindow {
    /// Load before the window.
    pub ramp: Nanos,
    /// Length of the window; `None` when only the amount of I/O ends it.
    pub runtime: Option<Nanos>,
    /// The worker sends no more than this many bytes.
    pub amount: Option<Bytes>,
}

/// What a completion has to do beside being counted.
#[derive(Default)]
pub struct FollowedBy {
    /// Begins each pass anew: drops cached pages, or gives the file its state again.
    pub passes: Option<Passes>,
    /// Hands over the stamps of single requests, where they are traced.
    pub tap: Option<RequestTap>,
}

/// A message of a worker to the watching thread.
pub enum Message {
    /// An interval of the grid has passed.
    Interval(Interval),
    /// The worker is done.
    End(Box<WorkerEnd>),
}

/// The parts of a worker other than its backend and its clock.
pub struct WorkerJob {
    /// Number within the step.
    pub id: u32,
    /// Requests in flight.
    pub depth: u32,
    /// How many requests go to the kernel in one call.
    pub batch: Batch,
    /// Largest block of the load.
    pub largest: Bytes,
    /// Draws the I/Os.
    pub generator: Generator,
    /// What a completion has to do beside being counted.
    pub followed: FollowedBy,
    /// Arrivals, in an open loop.
    pub schedule: Option<Schedule>,
    /// When the load ends, and which part of it counts.
    pub window: LoadWindow,
    /// Share of each 4 KiB of written data that is zeros, percent.
    pub compressible: u32,
    /// Flushes are `fdatasync`.
    pub datasync: bool,
    /// Each write waits until it is durable.
    pub sync: Option<SyncWrites>,
    /// One more flush, an `fsync`, when the load has ended.
    pub end_fsync: bool,
    /// Errors do not end the load.
    pub continue_on_error: bool,
    /// The state shared with the other workers.
    pub control: Arc<Control>,
    /// The channel to the watching thread.
    pub messages: Sender<Message>,
}
