//! The load engine: runs one step on all its targets together and hands back samples.
//!
//! One thread per job, each with its own ring or context, buffers and random numbers. This module starts them, watches, and
//! stops them; what happens per I/O is in [`worker`]. It measures and judges nothing, and never opens a target itself: it
//! is given [`Clearance`]s, and refuses to write through one that does not allow it.

mod aio;
mod backend;
mod buffers;
mod clock;
mod generator;
mod job;
mod null;
mod offsets;
mod outcome;
mod psync;
mod schedule;
mod signal;
mod uring;
mod worker;

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::guard::Clearance;
use crate::plan::{CpuList, EngineKind, Step};
use crate::sample::{Interval, Series};
use crate::unit::{Bytes, Nanos};
use backend::Backend;
use buffers::Buffers;
use clock::{Anchor, Clock, Monotonic, Tsc, Virtual};
use generator::Generator;
use job::{Control, Job, Message, Window};
use schedule::Schedule;
use worker::Worker;

pub use clock::clock_source;
pub use generator::Region;
pub use outcome::{CpuTime, End, Failure, OpenEnd};
pub use worker::DRAIN;

/// Where a load goes.
#[derive(Clone)]
pub struct Target {
    /// Checked and open; the null engine alone does without.
    pub clearance: Option<Arc<Clearance>>,
    /// Usable size.
    pub size: Bytes,
}

impl Target {
    /// Its path, for messages.
    fn name(&self) -> String {
        self.clearance.as_ref().map_or("null".into(), |c| c.path().display().to_string())
    }
}

/// The clock of the measurement: decided once, calibrated anew before every step.
pub struct Timer {
    tsc: Option<Anchor>,
    /// Which clock it is, and why if it is not the TSC.
    pub description: String,
}

impl Timer {
    /// Chooses by what the CPU and kernel say below `root`.
    pub fn choose(root: &Path) -> Timer {
        match Tsc::refusal(root) {
            None => Timer { tsc: Some(Anchor::take()), description: "tsc".into() },
            Some(why) => Timer { tsc: None, description: format!("clock_gettime ({why})") },
        }
    }

    /// The TSC calibrated from the start of the program until now, over at least 10 ms.
    fn tsc(&self) -> Option<Tsc> {
        let anchor = self.tsc?;
        if anchor.age() < Nanos::millis(10) {
            std::thread::sleep(Duration::from_millis(10));
        }
        Tsc::calibrated(anchor)
    }
}

/// Why a step could not run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The engine does not exist here, and no other may take its place.
    #[error("engine {engine} cannot be used here: {why}")]
    Unavailable {
        /// The engine asked for.
        engine: EngineKind,
        /// In words.
        why: String,
    },
    /// A worker could not be set up.
    #[error("setting up a worker failed: {0}")]
    SetUp(String),
    /// The step writes, but the target was cleared for reading only.
    #[error("{0} was cleared for reading only: nothing is written to it")]
    ReadOnly(String),
    /// The target is too small for one block of each job.
    #[error(
        "{path}: {size} do not hold one block for each of {jobs} jobs: use fewer jobs, a smaller block, or a larger target"
    )]
    TooSmall {
        /// The target.
        path: String,
        /// Its size.
        size: Bytes,
        /// Jobs on it.
        jobs: u32,
    },
}

/// The engine that will run, and why it is not the one asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What runs.
    pub engine: EngineKind,
    /// The reason for a fallback, in words.
    pub fallback: Option<String>,
}

/// Which engine can run here: the one asked for, or libaio where io_uring is missing or forbidden.
///
/// # Errors
/// When neither works.
pub fn choose(asked: EngineKind) -> Result<Choice, EngineError> {
    let refusal = match asked {
        EngineKind::IoUring => uring::refusal(),
        EngineKind::Libaio => aio::refusal(),
        EngineKind::Psync | EngineKind::Null => None,
    };
    let Some(why) = refusal else { return Ok(Choice { engine: asked, fallback: None }) };
    if asked == EngineKind::IoUring && aio::refusal().is_none() {
        return Ok(Choice { engine: EngineKind::Libaio, fallback: Some(why) });
    }
    Err(EngineError::Unavailable { engine: asked, why })
}

/// A step ready to run.
pub struct Load<'a> {
    /// What to do.
    pub step: &'a Step,
    /// The engine that [`choose`] found.
    pub engine: EngineKind,
    /// Where; with the null engine the count and sizes alone matter.
    pub targets: &'a [Target],
    /// Where random numbers start.
    pub seed: u64,
    /// Errors are counted and the load goes on.
    pub continue_on_error: bool,
    /// CPU of each worker, by number within the step, or all of them for each with `cpus_shared`; unpinned when empty.
    pub cpus: &'a [u32],
}

/// What a step gave.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Samples, one series per target.
    pub series: Vec<Series>,
    /// Ends of the workers; worker `i` belongs to target `i / numjobs`.
    pub ends: Vec<End>,
    /// Workers that never came back: stuck in the kernel.
    pub stuck: u32,
    /// From the start of the workers' threads to their first I/O.
    pub set_up: Nanos,
    /// The user ended it early.
    pub interrupted: bool,
}

/// What the watching thread is told, ten times a second or so.
pub struct Watch<'a> {
    /// Time since the load began, ramp included.
    pub elapsed: Nanos,
    /// Intervals that came in since the last call, ramp included.
    pub fresh: &'a [Interval],
}

/// Runs a step. `watch` is called about every 100 ms from this thread; it ends the load by returning false.
///
/// # Errors
/// Nothing was sent to any target when an error is returned.
pub fn run(
    load: &Load<'_>,
    timer: &Timer,
    watch: &mut dyn FnMut(Watch<'_>) -> bool,
) -> Result<Outcome, EngineError> {
    let step = load.step;
    let real = load.engine != EngineKind::Null;
    if real && load.targets.iter().any(|t| t.clearance.is_none()) {
        return Err(EngineError::SetUp(format!("engine {} needs a target that was cleared", load.engine)));
    }
    for target in load.targets {
        if real && step.rw.changes_data() {
            match &target.clearance {
                Some(clearance) if clearance.may_write() => {}
                _ => return Err(EngineError::ReadOnly(target.name())),
            }
        }
    }
    if step.invalidate {
        load.targets.iter().try_for_each(drop_cached)?;
    }
    if let Some(plan) = &step.simulate {
        let start = || 1;
        return drive(load, watch, start, |worker| {
            let (plan, seed) = (plan.clone(), load.seed ^ u64::from(worker));
            move |_: &Buffers| {
                let clock = Virtual::default();
                Ok((null::Device::new(clock.clone(), plan, seed), clock))
            }
        });
    }
    match timer.tsc() {
        Some(clock) => with_clock(load, watch, clock),
        None => with_clock(load, watch, Monotonic),
    }
}

/// Asks the kernel to forget what it has cached of a target. Pages that nobody has written back yet stay.
fn drop_cached(target: &Target) -> Result<(), EngineError> {
    let Some(clearance) = &target.clearance else { return Ok(()) };
    rustix::fs::fadvise(clearance.as_fd(), 0, None, rustix::fs::Advice::DontNeed)
        .map_err(|e| EngineError::SetUp(format!("{}: cached pages cannot be dropped: {e}", target.name())))
}

/// Chooses the backend at compile time.
fn with_clock<C: Clock + Copy + Send + 'static>(
    load: &Load<'_>,
    watch: &mut dyn FnMut(Watch<'_>) -> bool,
    clock: C,
) -> Result<Outcome, EngineError> {
    let start = || clock.now() + clock.ticks(Nanos::millis(1));
    let (depth, jobs) = (load.step.iodepth, load.step.numjobs);
    let target =
        |worker: u32| load.targets[(worker / jobs) as usize].clearance.clone().expect("checked by run");
    match load.engine {
        EngineKind::IoUring => drive(load, watch, start, |worker| {
            let target = target(worker);
            let options = uring::RingOptions { iopoll: load.step.iopoll, sqpoll: load.step.sqpoll };
            move |buffers: &Buffers| Ok((uring::Uring::new(target, buffers, depth, options)?, clock))
        }),
        EngineKind::Libaio => drive(load, watch, start, |worker| {
            let target = target(worker);
            move |buffers: &Buffers| Ok((aio::Aio::new(target, buffers, depth)?, clock))
        }),
        EngineKind::Psync => drive(load, watch, start, |worker| {
            let target = target(worker);
            move |buffers: &Buffers| Ok((psync::Psync::new(target, buffers), clock))
        }),
        EngineKind::Null => {
            drive(load, watch, start, |_| move |_: &Buffers| Ok((null::Null::default(), clock)))
        }
    }
}

/// What a worker thread says before its load begins.
enum SetUp {
    Ready { thread: libc::pid_t },
    Failed(String),
}

/// Starts the workers, watches them to their end, and gathers what they say. `factory` gives, for a worker, what makes its
/// backend and clock on its own thread.
fn drive<B, C, F>(
    load: &Load<'_>,
    watch: &mut dyn FnMut(Watch<'_>) -> bool,
    start_at: impl Fn() -> u64,
    factory: impl Fn(u32) -> F,
) -> Result<Outcome, EngineError>
where
    B: Backend,
    C: Clock,
    F: FnOnce(&Buffers) -> std::io::Result<(B, C)> + Send + 'static,
{
    let began = Instant::now();
    let step = load.step;
    let control = Arc::new(Control::default());
    let (messages, inbox) = channel();
    let (ready, set_up) = channel();
    let workers = load.targets.len() as u32 * step.numjobs;
    let mut jobs = Vec::new();
    for (t, target) in load.targets.iter().enumerate() {
        for j in 0..step.numjobs {
            let region = Region::of_job(step, target.size, j).ok_or_else(|| EngineError::TooSmall {
                path: target.name(),
                size: target.size,
                jobs: step.numjobs,
            })?;
            let id = t as u32 * step.numjobs + j;
            // Each worker has random numbers of its own; the multiplier is that of splitmix64.
            let seed = load.seed ^ u64::from(id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let schedule = step
                .arrivals_per_second()
                .map(|rate| Schedule::new(rate, step.arrival, j, step.numjobs, seed));
            jobs.push(Job {
                id,
                depth: step.iodepth,
                largest: step.largest_block(),
                generator: Generator::new(step, region, seed),
                schedule,
                window: Window {
                    ramp: step.ramp,
                    runtime: (step.runtime.0 > 0).then_some(step.runtime),
                    amount: step.io_size,
                },
                compressible: step.compressible,
                datasync: step.datasync,
                end_fsync: step.end_fsync && step.rw.changes_data(),
                continue_on_error: load.continue_on_error,
                control: control.clone(),
                messages: messages.clone(),
            });
        }
    }
    drop(messages);
    for job in jobs {
        let (ready, shared, make) = (ready.clone(), control.clone(), factory(job.id));
        let cpus = match load.cpus {
            [] => Vec::new(),
            all if step.cpus_shared => all.to_vec(),
            all => vec![all[job.id as usize % all.len()]],
        };
        let fill = step.rw.changes_data().then_some((load.seed ^ u64::from(job.id), step.compressible));
        let body = move || {
            let worker = match set_up_worker(job, &cpus, fill, make) {
                Ok(worker) => worker,
                Err(e) => return drop(ready.send(SetUp::Failed(e))),
            };
            let thread = rustix::thread::gettid().as_raw_nonzero().get();
            let _ = ready.send(SetUp::Ready { thread });
            drop(ready);
            loop {
                match shared.start.load(Ordering::Acquire) {
                    0 if shared.stop.load(Ordering::Relaxed) => return,
                    0 => std::thread::sleep(Duration::from_micros(50)),
                    start => return worker.run(start),
                }
            }
        };
        let spawned = std::thread::Builder::new().name("volproof-load".into()).spawn(body);
        if let Err(e) = spawned {
            control.stop.store(true, Ordering::Relaxed);
            return Err(EngineError::SetUp(format!("a thread could not be started: {e}")));
        }
    }
    drop(ready);
    let mut threads = Vec::new();
    for said in &set_up {
        match said {
            SetUp::Ready { thread } => threads.push(thread),
            SetUp::Failed(e) => {
                control.stop.store(true, Ordering::Relaxed);
                return Err(EngineError::SetUp(e));
            }
        }
    }
    if threads.len() as u32 != workers {
        control.stop.store(true, Ordering::Relaxed);
        return Err(EngineError::SetUp("a worker ended before it began".into()));
    }
    control.start.store(start_at().max(1), Ordering::Release);
    let mut outcome = Outcome {
        series: vec![Series::default(); load.targets.len()],
        set_up: Nanos(began.elapsed().as_nanos() as u64),
        ..Outcome::default()
    };
    attend(load, &control, &inbox, &threads, &mut outcome, watch);
    Ok(outcome)
}

/// Makes one worker on its own thread.
fn set_up_worker<B: Backend, C: Clock>(
    job: Job,
    cpus: &[u32],
    fill: Option<(u64, u32)>,
    make: impl FnOnce(&Buffers) -> std::io::Result<(B, C)>,
) -> Result<Worker<B, C>, String> {
    if !cpus.is_empty() {
        let mut set = CpuSet::new();
        cpus.iter().for_each(|cpu| set.set(*cpu as usize));
        sched_setaffinity(None, &set).map_err(|e| {
            let cpus = CpuList(cpus.to_vec());
            format!("worker {} cannot be pinned to CPU {cpus}: {e}; see --cpus", job.id)
        })?;
    }
    // Timers of a load thread should be exact: the default slack of 50 us would show as lag. Refusal is harmless.
    // SAFETY: PR_SET_TIMERSLACK takes one number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let mut buffers = Buffers::new(job.depth, job.largest)
        .map_err(|e| format!("{} buffers of {} for worker {}: {e}", job.depth, job.largest, job.id))?;
    if let Some((seed, compressible)) = fill {
        buffers.randomise(&mut Xoshiro256PlusPlus::seed_from_u64(seed), compressible);
    }
    let (mut backend, clock) = make(&buffers).map_err(|e| explain_set_up(&e, job.depth))?;
    backend.datasync(job.datasync);
    Ok(Worker::new(job, backend, buffers, clock))
}

/// A refusal of the kernel in words, with what to do.
fn explain_set_up(e: &std::io::Error, depth: u32) -> String {
    match e.raw_os_error() {
        Some(libc::EAGAIN) => format!(
            "the kernel has no room for {depth} AIO requests: raise fs.aio-max-nr (sysctl), or lower --iodepth"
        ),
        Some(libc::ENOMEM) => {
            format!("the kernel has no memory for depth {depth}: raise RLIMIT_MEMLOCK or lower --iodepth")
        }
        Some(libc::EOPNOTSUPP) => "the device has no poll queues: leave --iopoll out".into(),
        _ => e.to_string(),
    }
}

/// Watches running workers to their end.
fn attend(
    load: &Load<'_>,
    control: &Control,
    inbox: &Receiver<Message>,
    threads: &[libc::pid_t],
    outcome: &mut Outcome,
    watch: &mut dyn FnMut(Watch<'_>) -> bool,
) {
    let began = Instant::now();
    let step = load.step;
    let tick = Duration::from_millis(100);
    let flush = Duration::from(if step.end_fsync { worker::END_FLUSH } else { Nanos(0) });
    let patience = Duration::from(DRAIN) + Duration::from_secs(2);
    // When they should all be back: known from the start with a runtime, else once they were told to stop.
    let mut due = (step.runtime.0 > 0)
        .then(|| began + Duration::from(step.ramp) + Duration::from(step.runtime) + patience + flush);
    // From here on a thread that still waits is waiting for the device: it is woken to end its window.
    let over = due.map(|d| d - patience - flush + tick);
    let mut fresh = Vec::new();
    let mut last = began;
    while outcome.ends.len() < threads.len() {
        match inbox.recv_timeout(tick / 2) {
            Ok(Message::Interval(interval)) => {
                outcome.series[(interval.worker / step.numjobs) as usize].add(&interval);
                fresh.push(interval);
            }
            Ok(Message::End(end)) => outcome.ends.push(*end),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                // A worker ended without a word: it panicked, and its thread has said why.
                outcome.stuck = (threads.len() - outcome.ends.len()) as u32;
                break;
            }
        }
        let now = Instant::now();
        if now - last >= tick {
            last = now;
            let elapsed = Nanos((now - began).as_nanos() as u64);
            let go_on = watch(Watch { elapsed, fresh: &fresh });
            fresh.clear();
            if !go_on && !outcome.interrupted {
                outcome.interrupted = true;
                control.stop.store(true, Ordering::Relaxed);
                due = Some(now + patience);
            }
            if over.is_some_and(|t| now > t) {
                signal::wake(threads);
            }
            if control.stop.load(Ordering::Relaxed) {
                signal::wake(threads);
                due = due.map(|d| d.min(now + patience)).or(Some(now + patience));
            }
        }
        if due.is_some_and(|d| now > d) {
            outcome.stuck = (threads.len() - outcome.ends.len()) as u32;
            break;
        }
    }
    watch(Watch { elapsed: Nanos(began.elapsed().as_nanos() as u64), fresh: &fresh });
    outcome.ends.sort_by_key(|e| e.worker);
    for (t, series) in outcome.series.iter_mut().enumerate() {
        let of_target = |e: &&End| (e.worker / step.numjobs) as usize == t;
        let window = outcome.ends.iter().filter(of_target).map(|e| e.window).max();
        series.close(window.unwrap_or_default());
    }
}

/// A failed I/O in words: what was returned, and where it helps what to do.
pub fn explain(failure: &Failure) -> String {
    if failure.result >= 0 {
        return format!(
            "short: {} of {} bytes (the target ends here, or shrank)",
            failure.result, failure.length
        );
    }
    let code = -failure.result as i32;
    let advice = match code {
        libc::EIO => "the device reports a fault: see the kernel log (dmesg)",
        libc::ENOSPC => "no space left: free some, or use a smaller --file-size",
        libc::EINVAL => {
            "offset, length or buffer do not suit the device: direct I/O needs multiples of its logical block"
        }
        libc::ENODEV | libc::ENXIO => "the device is gone",
        libc::EDQUOT => "the quota is exhausted",
        libc::EOPNOTSUPP => "the device does not know this operation",
        _ => "",
    };
    let text = std::io::Error::from_raw_os_error(code).to_string();
    if advice.is_empty() { text } else { format!("{text}: {advice}") }
}
