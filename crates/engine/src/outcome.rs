//! The report of a worker when its load has ended. Data only; the samples themselves travelled as intervals.

use super::worker::{Slot, between};
use volproof_base::hist::Histogram;
use volproof_base::sample::{CpuTime, Depth, Direction, PerDirection};
use volproof_base::unit::Nanos;

/// How many failed I/Os a worker keeps with offset and error. Later ones are only counted.
const ERRORS_KEPT: usize = 10;

/// An I/O that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedIo {
    /// The kind of I/O.
    pub direction: Direction,
    /// The offset on the target, in bytes.
    pub offset: u64,
    /// The length that was asked for, in bytes.
    pub length: u32,
    /// Bytes moved (a short I/O), or a negative error number.
    pub result: i64,
}

/// The failed I/Os of a worker.
#[derive(Clone, Debug, Default)]
pub struct FailedIos {
    /// How many there were.
    pub count: u64,
    /// The first of them.
    pub first: Vec<FailedIo>,
}

/// The report of a worker at its end, beyond its intervals.
#[derive(Clone, Debug, Default)]
pub struct WorkerEnd {
    /// The worker.
    pub worker: u32,
    /// Length of its window, up to the last moment that counts.
    pub window: Nanos,
    /// Failed I/Os.
    pub errors: FailedIos,
    /// CPU time used within the window.
    pub cpu: CpuTime,
    /// Queue and batches of the window.
    pub depth: Depth,
    /// Time in flight within the window that no latency of the window counts (I/Os that failed, or were in flight at the window's end),
    /// less the time before the window that its latencies do count. With this correction Little's law is exact.
    pub outside_ns: i64,
    /// Completions stamped before their submission: the clock ran backwards.
    pub backwards: u64,
    /// The limit of the wait for I/Os in flight at the end.
    pub patience: Nanos,
    /// I/Os that completed after the window, and the longest latency among them.
    pub drained: (u64, Nanos),
    /// How long after the window each I/O ended that was then in flight.
    pub returned: Vec<Nanos>,
    /// Flushes at the end of the load, and the longest of them. They count in no figure of the load. Only their time counts, as part of the
    /// window, where an amount of I/O ended the load.
    pub end_flushes: (u64, Nanos),
    /// I/Os that were still not complete when the wait ended.
    pub lost: u32,
    /// The end of the open loop; absent in a closed loop.
    pub open: Option<OpenEnd>,
    /// The features that the backend agreed on with the kernel.
    pub features: Vec<String>,
    /// Why the worker could not go on.
    pub failed: Option<String>,
}

/// The end of an open loop.
#[derive(Clone, Debug, Default)]
pub struct OpenEnd {
    /// Arrivals of the window.
    pub arrivals: u64,
    /// Response times of arrivals of the window that completed after its end, per direction.
    pub late: PerDirection<Histogram>,
    /// Arrivals of the window without a completion: their response is known to be longer than this.
    pub censored: Histogram,
    /// Start later than intended although a slot was free: the generator's own delay.
    pub lag: Histogram,
}

impl WorkerEnd {
    /// Counts a failed I/O and keeps the first ones. A call that a signal interrupted has not failed.
    #[cold]
    pub fn fail(&mut self, failure: FailedIo) {
        if failure.result == -i64::from(libc::EINTR) {
            return;
        }
        self.errors.count += 1;
        if self.errors.first.len() < ERRORS_KEPT {
            self.errors.first.push(failure);
        }
    }

    /// Counts an I/O that failed within the window. Returns the ticks that it was in flight, which no latency has.
    #[cold]
    #[inline(never)]
    pub(super) fn fail_in_window(&mut self, failure: FailedIo, sent: u64, now: u64) -> i64 {
        self.fail(failure);
        between(sent, now, &mut self.backwards) as i64
    }

    /// Counts an I/O that ended so long after the window.
    #[cold]
    pub(super) fn late(&mut self, slot: &Slot, result: i64, latency_ns: u64, after: Nanos) {
        let failure = slot.failure(result);
        self.returned.push(after);
        if result != i64::from(failure.length) {
            return self.fail(failure);
        }
        self.drained.0 += 1;
        self.drained.1 = self.drained.1.max(Nanos(latency_ns));
    }
}

/// The CPU time of the calling thread since it began.
pub fn cpu_time_of_thread() -> CpuTime {
    // SAFETY: rusage is plain data, and getrusage fills it.
    let r = unsafe {
        let mut r = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut r);
        r
    };
    let [user, system] =
        [r.ru_utime, r.ru_stime].map(|t| Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1000));
    CpuTime {
        user,
        system,
        switches: (r.ru_nvcsw + r.ru_nivcsw) as u64,
        major_faults: r.ru_majflt as u64,
        minor_faults: r.ru_minflt as u64,
    }
}
