//! The load threads of a step: set up, started together, and their reports gathered. `load_watch` hears them while they run.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use rustix::io::ReadWriteFlags;

use super::backend::{Backend, Batch};
use super::buffers::Buffers;
use super::clock::Clock;
use super::gate::Pass;
use super::generator::{Generator, Region};
use super::load_watch::attend;
use super::passes::Passes;
use super::schedule::Schedule;
use super::worker::{RequestTap, Worker, run_in_turn};
use super::worker_job::{Control, FollowedBy, LoadWindow, Message, WorkerJob};
use super::{EngineError, Load, StepOutcome, Target, Watch, thread};
use volproof_base::sample::Series;
use volproof_base::unit::{Bytes, Nanos};
use volproof_plan::{CpuList, Step, SyncWrites};

/// The message of a worker thread before its load begins.
enum SetUp {
    Ready { thread: libc::pid_t },
    Failed(String),
}

/// Time between two looks at whether the user ends the load.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// After a set-up that failed or was interrupted, the load threads have this long to give their rings and files back.
const GIVE_BACK: Duration = Duration::from_secs(10);

/// When dropped, ends the load threads that still wait for the start: however a set-up ends, no thread waits forever.
struct NoStart<'a>(&'a Control);

impl Drop for NoStart<'_> {
    fn drop(&mut self) {
        let _ = self.0.start.set(None);
    }
}

/// Asks the watching function while workers are set up.
struct SetUpPoll<'a> {
    asked: Instant,
    go_on: &'a mut dyn FnMut() -> bool,
}

impl SetUpPoll<'_> {
    /// Whether the load is to end; asks once a [`TICK`] at most.
    fn ends_load(&mut self) -> bool {
        if self.asked.elapsed() < TICK {
            return false;
        }
        self.asked = Instant::now();
        !(self.go_on)()
    }
}

/// Starts the workers, watches them to their end, and gathers their reports. For each worker, `factory` returns the function that makes the
/// worker's backend and clock on its own thread. `start_at` returns the time, in ticks, at which all workers begin.
pub(super) fn drive<B, C, F>(
    load: &Load<'_>,
    gate: Option<Pass<'_>>,
    watch: &mut dyn FnMut(Watch<'_>) -> bool,
    start_at: impl Fn(Option<Instant>) -> u64,
    factory: impl Fn(u32) -> F,
) -> Result<StepOutcome, EngineError>
where
    B: Backend,
    C: Clock,
    F: FnOnce(&Buffers) -> std::io::Result<(B, C)> + Send + 'static,
{
    let began = Instant::now();
    let control = Arc::new(Control::default());
    let no_start = NoStart(&control);
    let (messages, inbox) = channel();
    let jobs = jobs(load, &control, &messages)?;
    drop(messages);
    let threads = set_up(load, jobs, &control, factory, &mut || watch(Watch { elapsed: None, fresh: &[] }));
    let mut outcome =
        StepOutcome { series: vec![Series::default(); load.targets.len()], ..StepOutcome::default() };
    let threads = match threads {
        Ok(Some(threads)) => threads,
        ended => {
            control.stop.store(true, Ordering::Relaxed);
            drop(no_start);
            // Each thread has a sender. Nothing is busy once they are gone.
            while inbox.recv_timeout(GIVE_BACK).is_ok() {}
            outcome.interrupted = true;
            return ended.map(|_| outcome);
        }
    };
    let common = gate.map(Pass::wait);
    let _ = control.start.set(Some(start_at(common)));
    outcome.set_up = Nanos(began.elapsed().as_nanos() as u64);
    let began = common.unwrap_or_else(Instant::now);
    attend(load, began, &control, &inbox, &threads, &mut outcome, watch)?;
    Ok(outcome)
}

/// Sets up a thread for each job, or one for all of them in virtual time, where they wait for the start. `None` when `go_on` said no
/// before all of them were ready.
fn set_up<B, C, F>(
    load: &Load<'_>,
    jobs: Vec<WorkerJob>,
    control: &Arc<Control>,
    factory: impl Fn(u32) -> F,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<Vec<libc::pid_t>>, EngineError>
where
    B: Backend,
    C: Clock,
    F: FnOnce(&Buffers) -> std::io::Result<(B, C)> + Send + 'static,
{
    let step = load.step;
    let workers = jobs.len();
    let crews: Vec<Vec<WorkerJob>> =
        if C::VIRTUAL { vec![jobs] } else { jobs.into_iter().map(|job| vec![job]).collect() };
    let (ready, said) = channel();
    let mut poll = SetUpPoll { asked: Instant::now(), go_on };
    for crew in crews {
        if poll.ends_load() {
            return Ok(None);
        }
        let mut members = Vec::new();
        for job in crew {
            let cpus = match load.cpus {
                [] => Vec::new(),
                all if step.cpus_shared => all.to_vec(),
                all => vec![all[job.id as usize % all.len()]],
            };
            let fill = has_data(step).then(|| (load.seed ^ u64::from(job.id), step.compressible));
            let make = factory(job.id);
            members.push(move || set_up_worker(job, &cpus, fill, make));
        }
        let (ready, shared) = (ready.clone(), control.clone());
        let body = move || {
            if shared.stop.load(Ordering::Relaxed) {
                return;
            }
            let thread = rustix::thread::gettid().as_raw_nonzero().get();
            let mut workers = Vec::new();
            for set_up in members {
                match set_up() {
                    Ok(worker) => workers.push(worker),
                    Err(e) => return drop(ready.send(SetUp::Failed(e))),
                }
                let _ = ready.send(SetUp::Ready { thread });
            }
            drop(ready);
            let Some(start) = shared.start.wait() else { return };
            if C::VIRTUAL && workers.len() > 1 {
                run_in_turn(workers, *start);
            } else {
                workers.into_iter().for_each(|worker| worker.run(*start));
            }
        };
        let spawned = std::thread::Builder::new().name("volproof-load".into()).spawn(body);
        spawned.map_err(|e| EngineError::no_thread(&e))?;
    }
    drop(ready);
    let mut threads = Vec::new();
    loop {
        if poll.ends_load() {
            return Ok(None);
        }
        match said.recv_timeout(TICK) {
            Ok(SetUp::Ready { thread }) => threads.push(thread),
            Ok(SetUp::Failed(e)) => return Err(EngineError::SetUp(e)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) if threads.len() == workers => return Ok(Some(threads)),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(EngineError::SetUp("a worker ended before it began".into()));
            }
        }
    }
}

/// The work of each load thread.
fn jobs(
    load: &Load<'_>,
    control: &Arc<Control>,
    messages: &Sender<Message>,
) -> Result<Vec<WorkerJob>, EngineError> {
    let step = load.step;
    let workers = step.workers(load.targets.len());
    let mut jobs = Vec::new();
    for id in 0..workers {
        let number = id % step.numjobs;
        // Each worker has random numbers of its own; the multiplier is that of splitmix64.
        let seed = load.seed ^ u64::from(id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let target = load.target_of(id);
        let region = Region::of_job(step, target.size, number).ok_or_else(|| EngineError::TooSmall {
            path: target.name(),
            size: target.size,
            jobs: step.numjobs,
        })?;
        let schedule = step
            .arrivals_per_second()
            .map(|rate| Schedule::new(rate, step.arrival, number, step.numjobs, seed));
        jobs.push(WorkerJob {
            id,
            depth: step.iodepth,
            batch: batch(step, target),
            largest: step.largest_block(),
            generator: Generator::new(step, region, seed),
            followed: FollowedBy {
                passes: Passes::new(step, target, region),
                tap: load.tap.map(|tap| RequestTap::new(tap, step.target_of(id))),
            },
            schedule,
            window: LoadWindow {
                ramp: step.ramp,
                runtime: (step.runtime.0 > 0).then_some(step.runtime),
                amount: step.io_size,
            },
            compressible: step.compressible,
            datasync: step.datasync,
            sync: step.sync,
            end_fsync: step.end_fsync && step.rw.changes_data(),
            continue_on_error: load.continue_on_error,
            control: control.clone(),
            messages: messages.clone(),
        });
    }
    Ok(jobs)
}

/// How many requests a load thread sends at once. One whose CPU time is simulated sends them one by one, so that other threads send theirs
/// meanwhile.
fn batch(step: &Step, target: &Target) -> Batch {
    if step.simulate.as_ref().is_some_and(|device| device.cpu_per_io.0 > 0) {
        return Batch::of_one();
    }
    let direct = target.clearance.as_ref().is_some_and(|c| c.is_direct());
    Batch::new(direct, step.iodepth as usize)
}

/// Whether writes of a step carry data. A simulated device ignores data, so that none is made for it.
fn has_data(step: &Step) -> bool {
    step.rw.changes_data() && step.simulate.is_none()
}

/// Makes one worker on its own thread.
fn set_up_worker<B: Backend, C: Clock>(
    job: WorkerJob,
    cpus: &[u32],
    fill: Option<(u64, u32)>,
    make: impl FnOnce(&Buffers) -> std::io::Result<(B, C)>,
) -> Result<Worker<B, C>, String> {
    if !cpus.is_empty() {
        thread::pin(cpus).map_err(|e| {
            let cpus = CpuList(cpus.to_vec());
            format!("worker {} cannot be pinned to CPU {cpus}: {e}; see --cpus", job.id)
        })?;
    }
    thread::exact_timers();
    // A simulated device moves no data: its requests need no memory.
    let (depth, largest) = if C::VIRTUAL { (1, Bytes(1)) } else { (job.depth, job.largest) };
    let mut buffers = Buffers::new(depth, largest)
        .map_err(|e| format!("{} buffers of {} for worker {}: {e}", job.depth, job.largest, job.id))?;
    if let Some((seed, compressible)) = fill {
        buffers.randomise(&mut Xoshiro256PlusPlus::seed_from_u64(seed), compressible);
    }
    let (mut backend, clock) = make(&buffers).map_err(|e| explain_set_up(&e, job.depth))?;
    backend.datasync(job.datasync);
    if let Some(sync) = job.sync {
        backend.sync_writes(match sync {
            SyncWrites::Dsync => ReadWriteFlags::DSYNC,
            SyncWrites::Sync => ReadWriteFlags::SYNC,
        });
    }
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
        Some(libc::EMFILE | libc::ENFILE) => {
            format!("{e}: raise RLIMIT_NOFILE (ulimit -n) or fs.file-max, or lower --numjobs")
        }
        Some(libc::EOPNOTSUPP) => "the device has no poll queues: leave --iopoll out".into(),
        _ => e.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::clock::Monotonic;
    use super::super::null::Null;
    use super::*;
    use volproof_plan::EngineKind;

    /// A load of three jobs whose backends are made by `make`.
    fn set_up_with(
        make: impl Fn(u32) -> std::io::Result<()> + Clone + Send + 'static,
        watch: &mut dyn FnMut(Watch<'_>) -> bool,
    ) -> Result<StepOutcome, EngineError> {
        let step = Step { numjobs: 3, runtime: Nanos::millis(1), ..Step::default() };
        let targets = [Target::new(None, Bytes::gib(1))];
        let load = Load {
            step: &step,
            engine: EngineKind::Null,
            targets: &targets,
            seed: 1,
            continue_on_error: false,
            cpus: &[],
            gate: None,
            tap: None,
        };
        drive(
            &load,
            None,
            watch,
            |_| Monotonic.now(),
            |id| {
                let make = make.clone();
                move |_: &Buffers| make(id).map(|()| (Null::default(), Monotonic))
            },
        )
    }

    /// Waits until no load thread holds this any more: it may drop what it was made of just after it has said its last word.
    fn no_thread_has<T>(held: &Arc<T>) {
        let began = Instant::now();
        while Arc::strong_count(held) > 1 {
            assert!(began.elapsed() < Duration::from_secs(60), "a load thread is left");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_load_is_interrupted_while_its_workers_are_set_up() {
        let (release, held) = channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let worker = held.clone();
        let make = move |_| {
            worker.lock().unwrap().recv().unwrap();
            Ok(())
        };
        let mut looks = 0;
        let outcome = set_up_with(make, &mut |w| {
            assert_eq!(w.elapsed, None, "no load has begun");
            looks += 1;
            (0..3).for_each(|_| release.send(()).unwrap());
            false
        });
        let outcome = outcome.unwrap();
        assert!(outcome.interrupted && outcome.ends.is_empty() && looks == 1, "{outcome:?}");
        no_thread_has(&held);
    }

    #[test]
    fn one_worker_that_cannot_be_set_up_sends_the_others_home() {
        let held = Arc::new(());
        let worker = held.clone();
        let make = move |id| {
            let _held = &worker;
            if id == 1 { Err(std::io::Error::from_raw_os_error(libc::ENOMEM)) } else { Ok(()) }
        };
        let failed = set_up_with(make, &mut |_| true).unwrap_err().to_string();
        assert!(failed.contains("no memory"), "{failed}");
        no_thread_has(&held);
    }
}
