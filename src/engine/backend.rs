//! What the worker loop needs from a way of doing I/O; four implementations, chosen at compile time.

use std::io;

use crate::sample::Direction;
use crate::unit::Nanos;

/// One I/O to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Names the request and its buffer while it is in flight.
    pub slot: u32,
    /// What it does.
    pub direction: Direction,
    /// Where on the target, in bytes.
    pub offset: u64,
    /// How much, in bytes; 0 for a flush.
    pub length: u32,
}

/// A way to do I/O. Calls come in the order `fill`, `submit_and_wait`, `ready`, `reap`, over and over, from one thread.
pub trait Backend {
    /// One request at a time, by [`Backend::call`]: the loop needs no slots and no batches.
    const LOCKSTEP: bool = false;

    /// Takes a request from `next` for each of these free slots; the kernel does not see them yet.
    fn fill(&mut self, slots: &[u32], next: impl FnMut(u32) -> Request);

    /// Does one I/O from beginning to end and returns its result as `reap` would. Only with [`Backend::LOCKSTEP`].
    fn call(&mut self, _request: &Request) -> i64 {
        -i64::from(libc::ENOSYS)
    }

    /// Sends what was filled and waits until `want` requests have completed or `timeout` has passed. May return early, as after a signal.
    ///
    /// # Errors
    /// Only what makes going on senseless; failures of single requests come out of `reap`.
    fn submit_and_wait(&mut self, want: u32, timeout: Option<Nanos>) -> io::Result<()>;

    /// How many completions can be reaped now.
    fn ready(&mut self) -> u32;

    /// Hands over `n` completions, as `(slot, result)`: bytes moved, or a negative error number.
    fn reap(&mut self, n: u32, each: impl FnMut(u32, i64));

    /// What was agreed with the kernel, for the Record: `registered buffers`, `DEFER_TASKRUN` and the like.
    fn features(&self) -> Vec<String> {
        Vec::new()
    }
}
