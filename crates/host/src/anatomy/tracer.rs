//! The thread that records: short windows of all requests, with pauses that are thirty times as long, and beside each window one of the same length
//! without recording, which tells the cost.
//!
//! A window is not one of fixed moments: its pause is drawn, so that it meets no rhythm of the volume again and again. Requests that were sent in it
//! are followed to their end, for a second at most.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::request_join::{RequestJoin, RequestStamps};
use super::trace_instance::{TraceInstance, kernel_number, tracefs};
use super::trace_page::TraceEvent;
use super::{Anatomy, AnatomyCost, NotTraced};
use volproof_device::device::{DiskPlace, Root};

/// Length of a window: four times the longest latency of the window before it, within these.
const RECORDED: Duration = Duration::from_millis(30);
const MOST_RECORDED: Duration = Duration::from_millis(300);
/// How long requests of a window are followed.
const FOLLOWED: Duration = Duration::from_secs(1);
/// Longer latencies count as this one.
const LONGEST: u64 = 1_000_000_000;
/// A window is followed by a pause of so many times its length, in the mean.
const PAUSE: u32 = 31;
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The thread sleeps no longer than this without a look at what is new.
const LOOK: Duration = Duration::from_millis(5);
/// Name of the load's threads.
const LOAD_THREAD: &str = "volproof-load";

/// How a load thread hands over its stamps.
#[derive(Clone, Debug)]
pub struct TapSetting {
    /// Stamps are wanted now.
    pub is_wanted: Arc<AtomicBool>,
    /// Where they go.
    pub stamps: Sender<Vec<RequestStamps>>,
}

/// Traces a step until it is dropped or finished.
pub struct Tracer {
    tap: TapSetting,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Anatomy>>,
}

impl Tracer {
    /// Begins to trace the requests of a load, which goes to these places by the number of its target.
    ///
    /// # Errors
    /// Why nothing can be traced here.
    pub fn begin(root: &Root, places: Vec<DiskPlace>) -> Result<Tracer, NotTraced> {
        if !rustix::process::geteuid().is_root() {
            return Err(NotTraced::NeedsRoot);
        }
        let tracefs = tracefs(root).ok_or(NotTraced::NoTracefs)?;
        if has_own_clock(root) {
            return Err(NotTraced::OtherClock);
        }
        let work = TraceWork::new(root, &tracefs, places).map_err(failed)?;
        let (stamps, handed) = channel();
        let tap = TapSetting { is_wanted: Arc::default(), stamps };
        let is_over: Arc<AtomicBool> = Arc::default();
        let (wanted, over) = (tap.is_wanted.clone(), is_over.clone());
        let body = move || work.run(&wanted, &over, &handed);
        let thread = std::thread::Builder::new().name("volproof-trace".into()).spawn(body).map_err(failed)?;
        Ok(Tracer { tap, is_over, thread: Some(thread) })
    }

    /// For the threads of the load.
    pub fn tap(&self) -> &TapSetting {
        &self.tap
    }

    /// Ends it once the load has ended.
    pub fn finish(mut self) -> Anatomy {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<Anatomy> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take()?.join().ok()
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.end();
    }
}

/// This process has a time namespace of its own (time_namespaces(7)), in which the kernel's events have other times.
fn has_own_clock(root: &Root) -> bool {
    let offsets = root.text("/proc/self/timens_offsets").unwrap_or_default();
    let monotonic = offsets.lines().find_map(|line| line.strip_prefix("monotonic"));
    monotonic.is_some_and(|offset| offset.split_whitespace().any(|number| number != "0"))
}

fn failed(e: io::Error) -> NotTraced {
    NotTraced::Failed { why: format!("the kernel's tracing cannot be used: {e}") }
}

/// What the load has used and done.
#[derive(Clone, Copy, Default)]
struct LoadUse {
    cpu: u64,
    requests: u64,
}

impl LoadUse {
    fn since(self, before: LoadUse) -> LoadUse {
        LoadUse {
            cpu: self.cpu.saturating_sub(before.cpu),
            requests: self.requests.saturating_sub(before.requests),
        }
    }

    fn cpu_per_request(self) -> Option<f64> {
        (self.requests > 0).then(|| self.cpu as f64 / self.requests as f64)
    }
}

/// Mean and error of the differences within pairs (Welford).
#[derive(Default)]
struct Pairs {
    n: u64,
    mean: f64,
    squares: f64,
}

impl Pairs {
    fn add(&mut self, without: LoadUse, with: LoadUse) {
        let (Some(without), Some(with)) = (without.cpu_per_request(), with.cpu_per_request()) else { return };
        self.n += 1;
        let off = with - without - self.mean;
        self.mean += off / self.n as f64;
        self.squares += off * (with - without - self.mean);
    }

    fn error(&self) -> f64 {
        let n = self.n as f64;
        (self.squares / (n - 1.0) / n).sqrt()
    }
}

/// The work of the thread.
struct TraceWork {
    root: Root,
    instance: TraceInstance,
    places: Vec<DiskPlace>,
    disks: Vec<String>,
    join: RequestJoin,
    draws: Xoshiro256PlusPlus,
    begun: LoadUse,
    /// Requests while events were recorded.
    recorded: u64,
    pairs: Pairs,
    lost: bool,
    /// Longest time of the requests of the last window: one that waits above the disk has no event yet.
    longest: u64,
    /// Events that were read too early to be added.
    fresh: Vec<TraceEvent>,
}

impl TraceWork {
    fn new(root: &Root, tracefs: &Path, places: Vec<DiskPlace>) -> io::Result<TraceWork> {
        let mut nodes: Vec<_> =
            places.iter().map(|place| (place.disk.name.clone(), place.disk.number)).collect();
        nodes.sort();
        nodes.dedup();
        let (disks, numbers): (Vec<_>, Vec<_>) = nodes.into_iter().unzip();
        let mut work = TraceWork {
            root: root.clone(),
            instance: TraceInstance::make(tracefs, &numbers)?,
            places,
            disks,
            join: RequestJoin::default(),
            draws: Xoshiro256PlusPlus::seed_from_u64(monotonic()),
            begun: LoadUse::default(),
            recorded: 0,
            pairs: Pairs::default(),
            lost: false,
            longest: 0,
            fresh: Vec::new(),
        };
        work.begun = work.load_use();
        Ok(work)
    }

    fn run(
        mut self,
        wanted: &AtomicBool,
        over: &AtomicBool,
        stamps: &Receiver<Vec<RequestStamps>>,
    ) -> Anatomy {
        let mut refused = None;
        while !over.load(Ordering::Relaxed) {
            if let Err(e) = self.window(wanted, over, stamps) {
                refused = Some(failed(e));
                break;
            }
        }
        wanted.store(false, Ordering::Relaxed);
        let whole = self.load_use().since(self.begun);
        let ours = time(clock_gettime(ClockId::ThreadCPUTime));
        let requests = whole.requests.max(1) as f64;
        let cost = (self.pairs.n > 1).then(|| AnatomyCost {
            pairs: self.pairs.n,
            recorded_mean_ns: self.pairs.mean,
            recorded_error_ns: self.pairs.error(),
            reader_mean_ns: ours as f64 / requests,
            share: self.recorded as f64 / requests,
        });
        Anatomy { disks: self.disks, not_traced: refused, events_lost: self.lost, cost, ..self.join.finish() }
    }

    /// A moment without recording, one with it, and the pause.
    fn window(
        &mut self,
        wanted: &AtomicBool,
        over: &AtomicBool,
        stamps: &Receiver<Vec<RequestStamps>>,
    ) -> io::Result<()> {
        let length = Duration::from_nanos(4 * self.longest).clamp(RECORDED, MOST_RECORDED);
        let before = self.load_use();
        if !rest(length, over) {
            return Ok(());
        }
        let without = self.load_use().since(before);
        if without.requests == 0 && self.recorded == 0 {
            // The load has not begun.
            return Ok(());
        }
        let on = monotonic();
        let first = self.load_use();
        wanted.store(true, Ordering::Relaxed);
        self.instance.record(true)?;
        let begun = monotonic();
        let before = self.load_use();
        self.read_for(length, over, None)?;
        let ended = monotonic();
        self.pairs.add(without, self.load_use().since(before));
        self.read_for(FOLLOWED, over, Some(&(begun..ended)))?;
        wanted.store(false, Ordering::Relaxed);
        self.instance.record(false)?;
        self.read()?;
        self.recorded += self.load_use().since(first).requests;
        let on = Duration::from_nanos(monotonic() - on);
        let half = (on * PAUSE / 2).min(LONGEST_PAUSE / 2);
        let drawn = (half * 2).mul_f64((self.draws.next_u64() >> 11) as f64 / (1u64 << 53) as f64);
        // Every load thread hands over its stamps within a tenth of a second, or at its end.
        rest(half + drawn, over);
        self.join(stamps, begun..ended);
        Ok(())
    }

    /// Reads events for so long, or until all requests that came in a window are back.
    fn read_for(&mut self, most: Duration, over: &AtomicBool, all_of: Option<&Range<u64>>) -> io::Result<()> {
        let end = monotonic() + most.as_nanos() as u64;
        loop {
            self.read()?;
            let is_done = all_of.is_some_and(|window| {
                monotonic() >= window.end + self.longest && !self.join.waits_for(window)
            });
            if is_done || monotonic() >= end || over.load(Ordering::Relaxed) || !self.join.has_room() {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Takes the events until now: those of later moments are not here from every CPU yet.
    fn read(&mut self) -> io::Result<()> {
        let now = monotonic();
        self.lost |= !self.instance.take(&mut self.fresh)?;
        let (until_now, later) =
            std::mem::take(&mut self.fresh).into_iter().partition(|event| event.at < now);
        self.fresh = later;
        self.join.add(until_now);
        Ok(())
    }

    /// Joins the requests that were sent in the window.
    fn join(&mut self, stamps: &Receiver<Vec<RequestStamps>>, window: Range<u64>) {
        self.longest = 0;
        for request in stamps.try_iter().flatten() {
            self.longest = request.seen.saturating_sub(request.sent).clamp(self.longest, LONGEST);
            if !window.contains(&request.sent) {
                continue;
            }
            let Some(place) = self.places.get(request.target as usize) else { continue };
            // Bytes in several places are several requests.
            let Some(sector) = place.sector(request.offset, u64::from(request.length)) else { continue };
            self.join.join(&request, kernel_number(place.disk.number), sector);
        }
        self.join.forget();
    }

    /// CPU time of the load's threads, and requests that the disks have completed.
    fn load_use(&self) -> LoadUse {
        let mut sum = LoadUse::default();
        for task in self.root.names("/proc/self/task") {
            let name = self.root.text(format!("/proc/self/task/{task}/comm")).unwrap_or_default();
            if name.trim() == LOAD_THREAD {
                sum.cpu += task.parse().map_or(0, cpu_of_thread);
            }
        }
        for disk in &self.disks {
            let text = self.root.text(format!("/sys/block/{disk}/stat")).unwrap_or_default();
            let counts = text.split_ascii_whitespace().filter_map(|word| word.parse::<u64>().ok());
            sum.requests += counts.step_by(4).take(2).sum::<u64>();
        }
        sum
    }
}

/// Sleeps for so long; false where the load has ended meanwhile.
fn rest(long: Duration, over: &AtomicBool) -> bool {
    let end = monotonic() + long.as_nanos() as u64;
    while monotonic() < end && !over.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
    }
    !over.load(Ordering::Relaxed)
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
fn monotonic() -> u64 {
    time(clock_gettime(ClockId::Monotonic))
}

fn time(of: Timespec) -> u64 {
    of.tv_sec as u64 * 1_000_000_000 + of.tv_nsec as u64
}

/// CPU time of another thread of this process, exact also while it runs; 0 once it has ended.
fn cpu_of_thread(thread: i32) -> u64 {
    // The clock of a thread: include/linux/posix-timers.h, CPUCLOCK_PERTHREAD_MASK and CPUCLOCK_SCHED.
    let clock = (!thread << 3) | 6;
    let mut of = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills a timespec that outlives it.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut of) } != 0;
    if failed { 0 } else { of.tv_sec as u64 * 1_000_000_000 + of.tv_nsec as u64 }
}
