//! The load engine: runs one step on all its targets together and hands back samples.
//!
//! One thread per job, each with its own ring or context, buffers and random numbers. This module starts them, watches, and
//! stops them (`drive`); what happens per I/O is in `worker`. It measures and judges nothing, and never opens a target itself: callers
//! pass [`Clearance`]s, and the engine refuses to write through one that does not allow it.

pub mod step_entry;

mod aio;
mod backend;
mod buffers;
mod clock;
mod drive;
mod gate;
mod generator;
mod load_watch;
mod nops;
mod null;
mod offsets;
mod outcome;
mod passes;
mod psync;
mod schedule;
mod simulated_counters;
mod simulated_device;
mod simulated_run;
mod simulated_speed;
mod simulated_volume;
mod target;
mod thread;
mod uring;
mod wake_threads;
mod worker;
mod worker_job;

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use rustix::fs::{Advice, fadvise};

pub use clock::{Timer, clock_source};
pub use gate::Gate;
pub use generator::Region;
pub use load_watch::STOOD_STILL;
pub use nops::Headrooms;
pub use outcome::{FailedIo, FailedIos, OpenEnd, WorkerEnd};
pub use passes::begin_file;
pub use simulated_run::{SharedVolume, SimulatedRun};
pub use simulated_volume::SimulatedVolume;
pub use target::Target;
pub use uring::features as io_uring_features;
pub use worker::DRAIN;

use buffers::Buffers;
use clock::{Anchor, Clock, Monotonic, TSC, Virtual};
use drive::drive;
use simulated_device::SimulatedDevice;
use volproof_base::sample::{Direction, Interval, Series};
use volproof_base::unit::{Bytes, Nanos};
use volproof_device::guard::Clearance;
use volproof_host::anatomy::TapSetting;
use volproof_host::observe::KernelCounters;
use volproof_plan::{EngineKind, Fadvise, Simulated, Step};
use volproof_record::FioRun;

/// Why a step could not run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The program that does the I/O in place of our workers (fio) failed.
    #[error("{0}")]
    Program(String),
    /// The engine does not exist here, and no other may take its place.
    #[error("engine {engine} cannot be used here: {why}")]
    Unavailable {
        /// The engine asked for.
        engine: EngineKind,
        /// The reason, in words.
        why: String,
    },
    /// A worker could not be set up.
    #[error("setting up a worker failed: {0}")]
    SetUp(String),
    /// The step writes, but the target was cleared for reading only.
    #[error("{0} was cleared for reading only: nothing is written to it")]
    ReadOnly(String),
    /// A load thread panicked; its message has been printed.
    #[error("a load thread panicked: this is a defect of volproof, please report it with the message above")]
    Panicked,
    /// The target is too small for one block of each job.
    #[error(
        "{path}: {size} do not hold {}: use fewer jobs, a smaller block, or a larger target",
        if *jobs == 1 { "one block".to_string() } else { format!("one block for each of {jobs} jobs") }
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

impl EngineError {
    /// The system has no further thread.
    pub fn no_thread(e: &std::io::Error) -> EngineError {
        EngineError::SetUp(format!(
            "a thread could not be started: {e}; raise the number of threads that the user (ulimit -u), the cgroup (pids.max) or \
             the kernel (kernel.threads-max, kernel.pid_max) allows, or lower --numjobs"
        ))
    }
}

/// The engine that will run, and why it is not the one asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineChoice {
    /// The engine that will run.
    pub engine: EngineKind,
    /// The reason for a fallback, in words.
    pub fallback: Option<String>,
}

/// Which engine can run here: the one asked for, or libaio where io_uring is missing or forbidden.
///
/// # Errors
/// When neither io_uring nor libaio works here: the message has the reason of each.
pub fn choose(asked: EngineKind) -> Result<EngineChoice, EngineError> {
    let refusal = match asked {
        EngineKind::IoUring => uring::features().err(),
        EngineKind::Libaio => aio::refusal(),
        EngineKind::Psync | EngineKind::Null => None,
    };
    let Some(why) = refusal else { return Ok(EngineChoice { engine: asked, fallback: None }) };
    if asked == EngineKind::IoUring && aio::refusal().is_none() {
        return Ok(EngineChoice { engine: EngineKind::Libaio, fallback: Some(why) });
    }
    Err(EngineError::Unavailable { engine: asked, why })
}

/// A step ready to run.
pub struct Load<'a> {
    /// The step to run.
    pub step: &'a Step,
    /// The engine that [`choose`] found.
    pub engine: EngineKind,
    /// The targets of the load; with the null engine only their count and sizes matter.
    pub targets: &'a [Target],
    /// The seed of the random numbers.
    pub seed: u64,
    /// Errors are counted and the load goes on.
    pub continue_on_error: bool,
    /// CPUs to pin to: worker `i` of the step gets `cpus[i % len]`, or all of them with `cpus_shared`. Empty: not pinned.
    pub cpus: &'a [u32],
    /// The gate where the load meets others that are to start at the same instant.
    pub gate: Option<&'a Gate>,
    /// Where stamps of single requests go, where they are traced.
    pub tap: Option<&'a TapSetting>,
}

impl<'a> Load<'a> {
    /// The target that one worker drives.
    fn target_of(&self, worker: u32) -> &'a Target {
        &self.targets[self.step.target_of(worker)]
    }

    /// The Clearance of that target, which [`run`] has checked.
    fn clearance_of(&self, worker: u32) -> Arc<Clearance> {
        self.target_of(worker).clearance.clone().expect("checked by run")
    }
}

/// The outcome of a step.
#[derive(Debug, Default)]
pub struct StepOutcome {
    /// Samples, one series for each target.
    pub series: Vec<Series>,
    /// Ends of the workers, in their order; see [`Step::target_of`].
    pub ends: Vec<WorkerEnd>,
    /// Workers that never came back: stuck in the kernel.
    pub stuck: u32,
    /// The limit of the wait after the end, for I/Os in flight or for stuck workers.
    pub patience: Nanos,
    /// The clock of all stamps, with the reason where it is not the TSC.
    pub clock: String,
    /// How far that clock ran from `CLOCK_MONOTONIC` over the step, in parts per million; absent where it is that clock, for steps
    /// shorter than a second and in virtual time.
    pub drift_ppm: Option<f64>,
    /// From the start of the workers' threads to their first I/O.
    pub set_up: Nanos,
    /// The user ended the step early.
    pub interrupted: bool,
    /// The counters of simulated volumes, as a kernel keeps them for disks, over ramp and window.
    pub volumes_counters: Option<KernelCounters>,
    /// The run of the installed fio, where fio did the I/O instead of our workers.
    pub fio: Option<FioRun>,
}

/// The progress of a load, which the watching thread receives about ten times a second.
pub struct Watch<'a> {
    /// Time since the load began, ramp included; `None` while its workers are set up.
    pub elapsed: Option<Nanos>,
    /// Intervals that came in since the last call, ramp included.
    pub fresh: &'a [Interval],
}

/// Runs a step. `watch` is called about every 100 ms from this thread; it ends the load by returning false.
///
/// Several threads may run loads at the same time, with one `timer`. Beside the timer they share only the handler of the signal that wakes
/// waiting load threads. See [`Gate`] for a common start.
///
/// # Errors
/// When the load cannot be set up, and then no I/O was sent to any target; or when a load thread panicked.
pub fn run(
    load: &Load<'_>,
    timer: &Timer,
    watch: &mut dyn FnMut(Watch<'_>) -> bool,
) -> Result<StepOutcome, EngineError> {
    // Dropping the pass withdraws this load from the gate, so that an error here does not keep the other loads waiting.
    let gate = load.gate.map(gate::Pass::new);
    let step = load.step;
    let real = load.engine != EngineKind::Null;
    if real && load.targets.iter().any(|t| t.clearance.is_none()) {
        return Err(EngineError::SetUp(format!("engine {} needs a target that was cleared", load.engine)));
    }
    if matches!(load.engine, EngineKind::IoUring | EngineKind::Libaio)
        && step.rw.directions().contains(&Direction::Trim)
    {
        return Err(EngineError::SetUp(format!("engine {} sends no discards: use psync", load.engine)));
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
        load.targets
            .iter()
            .try_for_each(|t| advise(t, Advice::DontNeed, "cached pages cannot be dropped"))?;
    }
    if !step.direct {
        // The advice of an earlier step stays with the open file until other advice replaces it.
        let advice = match step.fadvise {
            None => Advice::Normal,
            Some(Fadvise::Random) => Advice::Random,
            Some(Fadvise::Sequential) => Advice::Sequential,
        };
        load.targets
            .iter()
            .try_for_each(|t| advise(t, advice, "the kernel cannot be advised of the order of I/O"))?;
    }
    if let Some(plan) = &step.simulate {
        return simulate(load, plan, gate, watch);
    }
    match timer.tsc() {
        Ok(clock) => {
            let began = Anchor::take();
            let outcome = with_clock(load, gate, watch, clock)?;
            Ok(StepOutcome { clock: TSC.into(), drift_ppm: clock.drift_ppm(began), ..outcome })
        }
        Err(why) => {
            let outcome = with_clock(load, gate, watch, Monotonic)?;
            Ok(StepOutcome { clock: clock::gettime(&why), ..outcome })
        }
    }
}

/// Runs a step in virtual time.
fn simulate(
    load: &Load<'_>,
    plan: &Simulated,
    gate: Option<gate::Pass<'_>>,
    watch: &mut dyn FnMut(Watch<'_>) -> bool,
) -> Result<StepOutcome, EngineError> {
    let step = load.step;
    let before = simulated_run::begin(load.targets, plan, step, load.seed);
    let outcome = drive(
        load,
        gate,
        watch,
        |_| 1,
        |worker| {
            let volume = load.target_of(worker).volume.clone();
            let cpu_per_io = plan.cpu_per_io;
            move |_: &Buffers| {
                let clock = Virtual::default();
                Ok((SimulatedDevice::new(clock.clone(), volume, cpu_per_io), clock))
            }
        },
    )?;
    let window = outcome.ends.iter().map(|end| end.window).max().unwrap_or_default();
    let window_end = Nanos(step.ramp.0 + window.0);
    let counters = simulated_run::end(load.targets, before, window_end, outcome.patience);
    Ok(StepOutcome {
        clock: "virtual (simulated device)".into(),
        volumes_counters: Some(KernelCounters { window_starts_ns: step.ramp, ..counters }),
        ..outcome
    })
}

/// Advises the kernel on all of a target. Pages that nobody has written back yet are never dropped.
fn advise(target: &Target, advice: Advice, failed: &str) -> Result<(), EngineError> {
    let Some(clearance) = &target.clearance else { return Ok(()) };
    fadvise(clearance.as_fd(), 0, None, advice)
        .map_err(|e| EngineError::SetUp(format!("{}: {failed}: {e}", target.name())))
}

/// Chooses the backend at compile time.
fn with_clock<C: Clock + Copy + Send + 'static>(
    load: &Load<'_>,
    gate: Option<gate::Pass<'_>>,
    watch: &mut dyn FnMut(Watch<'_>) -> bool,
    clock: C,
) -> Result<StepOutcome, EngineError> {
    let start = |common: Option<Instant>| {
        let ahead = common.map(|t| Nanos(t.saturating_duration_since(Instant::now()).as_nanos() as u64));
        clock.now() + clock.ticks(ahead.unwrap_or(Nanos::millis(1)))
    };
    let depth = load.step.iodepth;
    match load.engine {
        EngineKind::IoUring => drive(load, gate, watch, start, |worker| {
            let target = load.clearance_of(worker);
            let options = uring::RingOptions { iopoll: load.step.iopoll, sqpoll: load.step.sqpoll };
            move |buffers: &Buffers| Ok((uring::Uring::new(target, buffers, depth, options)?, clock))
        }),
        EngineKind::Libaio => drive(load, gate, watch, start, |worker| {
            let target = load.clearance_of(worker);
            move |buffers: &Buffers| Ok((aio::Aio::new(target, buffers, depth)?, clock))
        }),
        EngineKind::Psync => drive(load, gate, watch, start, |worker| {
            let target = load.clearance_of(worker);
            move |buffers: &Buffers| Ok((psync::Psync::new(target, buffers), clock))
        }),
        EngineKind::Null => {
            drive(load, gate, watch, start, |_| move |_: &Buffers| Ok((null::Null::default(), clock)))
        }
    }
}

/// A failed I/O in words: its error and, where something can be done, what to do.
pub fn explain(failure: &FailedIo) -> String {
    if failure.result >= 0 {
        return format!(
            "short: {} of {} bytes (the target ends here, or shrank)",
            failure.result, failure.length
        );
    }
    let code = -failure.result as i32;
    let advice = match code {
        libc::EIO => "the device reports a fault",
        libc::ENOSPC => {
            "no space left: free some, or write less (--size; --file-size for a test file in a folder)"
        }
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

#[cfg(test)]
mod tests;
