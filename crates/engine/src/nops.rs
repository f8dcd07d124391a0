//! Headroom: how many I/Os a second this machine can send and reap for a load, found with requests that do nothing.
//!
//! The load's own loop runs on a ring of `IORING_OP_NOP`: the kernel completes each request at once, without block layer, driver and
//! device. A loop without system calls (the null engine) would leave out what every real I/O pays. The figure is still an upper bound:
//! block layer and driver cost CPU time as well.
//!
//! I/Os are counted against the CPU time of the load threads and not against the clock on the wall, so that other processes
//! do not change the figure.

use std::io;

use io_uring::{EnterFlags, IoUring, opcode};

use super::backend::{Backend, IoRequest};
use super::buffers::Buffers;
use super::clock::{Clock, Monotonic};
use super::drive::drive;
use super::uring::{RingOptions, open};
use super::{Load, Target};
use volproof_base::unit::{Bytes, Nanos};
use volproof_plan::{EngineKind, Simulated, Step};
use volproof_record::Headroom;

/// The share of a step's runtime that its headroom takes, as a divisor, and the bounds of that time.
const RUNTIME_PART: u64 = 100;
const SHORTEST_PROBE: Nanos = Nanos::millis(20);
const LONGEST_PROBE: Nanos = Nanos::millis(500);
/// Headroom is not measured for a step that is to run for less than this, nor for one that ends by an amount of I/O: measuring could take
/// longer than the step.
const WORTH: Nanos = Nanos::seconds(1);
/// The size of a target that does not exist.
const SIZE: Bytes = Bytes::gib(1024);

/// Headrooms that were measured, so that each load is measured once.
#[derive(Clone, Debug, Default)]
pub struct Headrooms(Vec<(Step, usize, Option<Headroom>)>);

impl Headrooms {
    /// The headroom for a step on so many targets; that of a simulated CPU where the step has one. None for a step that the null engine or the
    /// installed fio does, for one of less than a second, where io_uring cannot be used, and once `go_on` says no.
    pub fn measure(&mut self, step: &Step, targets: usize, go_on: &dyn Fn() -> bool) -> Option<Headroom> {
        if let Some(device) = &step.simulate {
            return on_simulated_cpus(device, step.workers(targets.max(1)));
        }
        if step.fio || step.engine == EngineKind::Null || step.runtime < WORTH {
            return None;
        }
        let load = load_alone(step);
        if let Some((.., known)) = self.0.iter().find(|(other, n, _)| *n == targets && *other == load) {
            return known.clone();
        }
        let runtime = Nanos(step.runtime.0 / RUNTIME_PART).clamp(SHORTEST_PROBE, LONGEST_PROBE);
        let found = measured(&Step { runtime, ..load.clone() }, targets, go_on);
        self.0.push((load, targets, found.clone()));
        found
    }
}

/// The headroom of so many load threads, each on a CPU of its own, where the CPU time of an I/O is simulated: the rate of a device that takes
/// no time.
fn on_simulated_cpus(device: &Simulated, threads: u32) -> Option<Headroom> {
    let each = 1.0 / device.cpu_per_io.as_seconds();
    (device.cpu_per_io.0 > 0).then(|| Headroom {
        ios_per_second: each * f64::from(threads),
        threads,
        cpus: threads,
    })
}

/// The load of a step without everything that waits (a rate, flushes, an end by amount), and without its runtime, which makes no difference
/// to the load.
fn load_alone(step: &Step) -> Step {
    Step {
        rw: step.rw,
        rwmix: step.rwmix,
        bs: step.bs.clone(),
        iodepth: step.iodepth,
        numjobs: step.numjobs,
        distribution: step.distribution.clone(),
        norandommap: step.norandommap,
        compressible: step.compressible,
        cpus: step.cpus.clone(),
        cpus_shared: step.cpus_shared,
        ..Step::default()
    }
}

fn measured(probe: &Step, targets: usize, go_on: &dyn Fn() -> bool) -> Option<Headroom> {
    let cpus = match &probe.cpus {
        Some(list) => list.0.clone(),
        None => Vec::new(),
    };
    let count = if cpus.is_empty() {
        std::thread::available_parallelism().map_or(1, usize::from)
    } else {
        cpus.len()
    };
    let targets = vec![Target::new(None, SIZE); targets.max(1)];
    let load = Load {
        step: probe,
        engine: EngineKind::IoUring,
        targets: &targets,
        seed: 0,
        continue_on_error: false,
        cpus: &cpus,
        gate: None,
        tap: None,
    };
    let depth = probe.iodepth;
    // A load that cannot start here says so at its own start, with more words.
    let outcome = drive(
        &load,
        None,
        &mut |_| go_on(),
        |_| Monotonic.now() + Nanos::millis(1).0,
        |_| move |_: &Buffers| Ok((Nops::new(depth)?, Monotonic)),
    )
    .ok()?;
    let streams = outcome.series.iter().flat_map(|s| s.streams());
    let ios: u64 = streams.map(|stream| stream.track.total().ios).sum();
    let busy: u64 = outcome.ends.iter().map(|e| e.cpu.user.0 + e.cpu.system.0).sum();
    let threads = outcome.ends.len();
    (ios > 0 && busy > 0).then(|| Headroom {
        ios_per_second: ios as f64 / (busy as f64 / 1e9) * threads.min(count) as f64,
        threads: threads as u32,
        cpus: count as u32,
    })
}

/// A ring whose requests do nothing.
struct Nops {
    ring: IoUring,
    queued: u32,
    /// Length of the I/O of each slot, which is returned as its result.
    lengths: Vec<u32>,
}

impl Nops {
    fn new(depth: u32) -> io::Result<Nops> {
        let (ring, _) = open(depth, RingOptions::default())?;
        // The load's own ring is registered too; without that a call takes longer.
        let _ = ring.submitter().register_ring_fd();
        Ok(Nops { ring, queued: 0, lengths: vec![0; depth as usize] })
    }
}

impl Backend for Nops {
    #[inline(always)]
    fn fill(&mut self, slots: &[u32], mut next: impl FnMut(u32) -> IoRequest) {
        let mut queue = self.ring.submission();
        for slot in slots {
            let request = next(*slot);
            self.lengths[request.slot as usize] = request.length;
            let nop = opcode::Nop::new().build().user_data(u64::from(request.slot));
            // SAFETY: the request names no memory.
            let pushed = unsafe { queue.push(&nop) };
            debug_assert!(pushed.is_ok(), "the ring has an entry for every slot");
        }
        self.queued += slots.len() as u32;
    }

    #[inline(always)]
    fn submit_and_wait(&mut self, want: u32, _timeout: Option<Nanos>) -> io::Result<()> {
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: no argument is passed, and the flags are those of a plain submit with a wait.
        match unsafe { self.ring.submitter().enter::<libc::sigset_t>(self.queued, want, flags, None) } {
            Ok(taken) => self.queued -= (taken as u32).min(self.queued),
            Err(e) if e.raw_os_error() == Some(libc::EINTR) => {
                self.queued = self.ring.submission().len() as u32;
            }
            Err(e) => return Err(e),
        }
        Ok(())
    }

    #[inline(always)]
    fn ready(&mut self) -> u32 {
        self.ring.completion().len() as u32
    }

    #[inline(always)]
    fn completions(&mut self) -> impl Iterator<Item = (u32, i64)> {
        let Nops { ring, lengths, .. } = self;
        ring.completion().map(|done| {
            let slot = done.user_data() as u32;
            (slot, i64::from(lengths[slot as usize]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_load_is_measured_once_and_only_where_it_is_real() {
        let step = Step { iodepth: 8, numjobs: 2, ..Step::default() };
        let mut all = Headrooms::default();
        let Some(first) = all.measure(&step, 1, &|| true) else {
            return println!("skipped: io_uring cannot be used here");
        };
        assert!(first.ios_per_second > 0.0 && first.threads == 2 && first.cpus > 0, "{first:?}");
        // A measurement of its own would hardly give the same figure to the last digit.
        let longer = Step { runtime: Nanos::seconds(300), rate_iops: Some(5.0), ..step.clone() };
        assert_eq!(all.measure(&longer, 1, &|| true), Some(first));
        assert_eq!(all.0.len(), 1);
        all.measure(&Step { iodepth: 16, ..step.clone() }, 1, &|| true);
        assert_eq!(all.0.len(), 2);
        let null = Step { engine: EngineKind::Null, ..step.clone() };
        let played = Step { simulate: Some(Box::default()), ..null.clone() };
        let slow = Simulated { cpu_per_io: Nanos::micros(100), ..Simulated::default() };
        let slow = Step { simulate: Some(Box::new(slow)), numjobs: 3, ..null.clone() };
        let drives = all.measure(&slow, 2, &|| true).map(|h| (h.ios_per_second.round(), h.threads));
        assert_eq!(drives, Some((60_000.0, 6)), "six threads, 10,000 I/Os a second each");
        let by_fio = Step { fio: true, ..step };
        assert!([null, played, by_fio].iter().all(|s| all.measure(s, 1, &|| true).is_none()));
        assert_eq!(all.0.len(), 2);
    }
}
