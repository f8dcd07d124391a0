//! The interface between the worker loop and a way of doing I/O. Its implementations are chosen at compile time.

use std::io;

use rustix::io::ReadWriteFlags;

use volproof_base::sample::Direction;
use volproof_base::unit::Nanos;

/// One I/O to be sent.
#[derive(Clone, Copy, Debug)]
pub struct IoRequest {
    /// Names the request and its buffer while it is in flight.
    pub slot: u32,
    /// The kind of I/O.
    pub direction: Direction,
    /// The offset on the target, in bytes.
    pub offset: u64,
    /// The length in bytes; 0 for a flush.
    pub length: u32,
}

/// How many requests go to the kernel in one call.
///
/// The first call to an idle device carries few requests, and each further call as many as the device has by then. With 32 at once on a
/// virtual disk (depth 32, direct) IOPS were 14 % lower and p50 20 % higher than with these steps, and 16 % and 25 % worse than fio's,
/// which sends them one by one. The likely reason: the block layer holds the requests of a call back until the last is prepared, and
/// a device whose completions come all in one batch idles meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    first: usize,
    most: usize,
}

impl Batch {
    /// Enough for a call to be cheap beside the requests in it; 2, 4 and 8 were equal in IOPS.
    const FIRST: usize = 8;

    /// blk-mq allocates at most this many requests together (`BLK_MAX_REQUEST_COUNT`, block/blk-mq.h). Each further one takes its tag by
    /// itself, which costs more than another call.
    const MOST: usize = 32;

    /// The batches of direct or buffered I/O. Buffered I/O goes out a whole depth at a time, since no device waits for it.
    pub fn new(direct: bool, depth: usize) -> Batch {
        if direct {
            Batch { first: Batch::FIRST, most: Batch::MOST }
        } else {
            Batch { first: depth, most: depth }
        }
    }

    /// One request in each call.
    pub const fn of_one() -> Batch {
        Batch { first: 1, most: 1 }
    }

    /// How many of `queued` requests to send now, while `in_flight` others are at the device.
    #[inline(always)]
    pub fn next(self, queued: usize, in_flight: usize) -> usize {
        queued.min(in_flight.clamp(self.first, self.most))
    }
}

/// A discard for a backend that cannot send one: a defect, since `engine::run` refuses such a step. Sent as anything else, it would be counted
/// as a discard.
#[cold]
#[inline(never)]
pub fn no_discard() -> ! {
    unreachable!("discards are for psync")
}

/// A way to do I/O. One thread calls `fill`, `submit_and_wait`, `ready` and `completions` in this order, over and over. Before
/// `submit_and_wait`, further `fill`s may follow a `submit`.
pub trait Backend {
    /// Requests are carried out one after the other in [`Backend::carry_out`], so that a closed loop has nothing to submit and nothing to wait
    /// for (`one_by_one`).
    const ONE_BY_ONE: bool = false;

    /// Takes a request from `next` for each of these free slots. The device need not see them before `submit`.
    fn fill(&mut self, slots: &[u32], next: impl FnMut(u32) -> IoRequest);

    /// Sends the filled requests without waiting. A backend that sends only in `submit_and_wait` need not implement this.
    ///
    /// # Errors
    /// The same as those of `submit_and_wait`.
    fn submit(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Sends the filled requests and waits until `want` requests have completed or `timeout` has passed. May return early, as after a
    /// signal.
    ///
    /// # Errors
    /// Only failures after which the load cannot go on; failures of single requests come out of `completions`.
    fn submit_and_wait(&mut self, want: u32, timeout: Option<Nanos>) -> io::Result<()>;

    /// How many completions can be reaped now.
    fn ready(&mut self) -> u32;

    /// The completions that are there, as `(slot, result)`: bytes moved, or a negative error number. Completions that the caller does not
    /// take stay queued. This is an iterator rather than a callback, so that the compiler always inlines the loop's work for each
    /// completion.
    fn completions(&mut self) -> impl Iterator<Item = (u32, i64)>;

    /// Carries out one request, and returns its completion: bytes moved, or a negative error number. For backends that are `ONE_BY_ONE`.
    fn carry_out(&mut self, _request: IoRequest) -> i64 {
        unreachable!("for backends that carry out one request at a time")
    }

    /// Tells the backend that kernel threads (io-wq) execute its requests, on CPUs that the load thread may need too, and how many completed
    /// in the last interval, which had this length.
    fn kernel_threads(&mut self, _completed: u64, _length: Nanos) {}

    /// Makes later flushes an `fdatasync` (true) or an `fsync`. A backend to which both are the same ignores it.
    fn datasync(&mut self, _yes: bool) {}

    /// Makes each later write wait until it is durable.
    fn sync_writes(&mut self, _durability: ReadWriteFlags) {}

    /// The features agreed on with the kernel, for the Record: `registered buffers`, `DEFER_TASKRUN` and the like.
    fn features(&self) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::Batch;

    /// Sizes of the calls that send `queued` requests while `in_flight` are with the device.
    fn calls(batch: Batch, mut queued: usize, mut in_flight: usize) -> Vec<usize> {
        let mut sizes = Vec::new();
        while queued > 0 {
            let n = batch.next(queued, in_flight);
            sizes.push(n);
            (queued, in_flight) = (queued - n, in_flight + n);
        }
        sizes
    }

    #[test]
    fn an_idle_device_is_given_work_before_all_is_prepared() {
        assert_eq!(calls(Batch::new(true, 32), 32, 0), [8, 8, 16]);
        assert_eq!(calls(Batch::new(true, 128), 128, 0), [8, 8, 16, 32, 32, 32]);
        assert_eq!(calls(Batch::new(true, 1), 1, 0), [1]);
    }

    #[test]
    fn a_busy_device_is_given_what_the_block_layer_takes_at_once() {
        assert_eq!(calls(Batch::new(true, 128), 20, 108), [20]);
        assert_eq!(calls(Batch::new(true, 128), 70, 58), [32, 32, 6]);
    }

    #[test]
    fn the_page_cache_is_given_everything() {
        assert_eq!(calls(Batch::new(false, 128), 128, 0), [128]);
    }
}
