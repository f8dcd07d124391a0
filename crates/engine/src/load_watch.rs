//! The watching thread of a load: hears the running workers to their end, and gives up those that hang.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::drive::TICK;
use super::worker::{END_FLUSH, patience};
use super::worker_job::{Control, Message};
use super::{EngineError, Load, StepOutcome, Watch, thread, wake_threads};
use volproof_base::unit::Nanos;
use volproof_device::device::Root;
use volproof_host::observe::io_wq;
use volproof_plan::{EngineKind, Step};

/// The CPU time of the kernel threads (io-wq) that execute requests of the load threads, at the last look.
struct KernelThreads {
    at: Instant,
    time: Nanos,
}

impl KernelThreads {
    /// The time between two looks: the kernel counts in steps of 10 ms.
    const PAUSE: Duration = Duration::from_millis(200);

    /// Above this share of one CPU, kernel threads execute the load's requests. Below it, they execute only the few that would have
    /// blocked.
    const SHARE: f64 = 0.1;

    /// Tells the load threads once the share since the last look is above [`KernelThreads::SHARE`]. Returns whether this look told them.
    fn look(&mut self, now: Instant, threads: &[libc::pid_t], control: &Control) -> bool {
        let passed = now - self.at;
        if passed < KernelThreads::PAUSE || control.kernel_threads.load(Ordering::Relaxed) {
            return false;
        }
        let mut time = 0;
        for (_, owner, of_thread) in io_wq(&Root::system()) {
            if threads.contains(&(owner as libc::pid_t)) {
                time += of_thread.0;
            }
        }
        let busy = Duration::from_nanos(time.saturating_sub(self.time.0));
        (self.at, self.time) = (now, Nanos(time));
        let found = busy.as_secs_f64() > KernelThreads::SHARE * passed.as_secs_f64();
        control.kernel_threads.store(found, Ordering::Relaxed);
        found
    }
}

/// Whether the device of a step may hang. A simulated device cannot: its threads only compute, however long that takes on a busy machine.
fn may_hang(step: &Step) -> bool {
    step.simulate.is_none()
}

/// The moment at which a load that began at `began` is over; none in virtual time, and where an amount of I/O ends the load.
fn end_on_the_wall(step: &Step, began: Instant) -> Option<Instant> {
    let timed = step.runtime.0 > 0 && step.simulate.is_none();
    timed.then(|| began + Duration::from(step.ramp) + Duration::from(step.runtime))
}

/// A thread that watches looks at least ten times a second. A pause longer than this means that the program was stopped; a busy machine makes
/// shorter ones.
pub const STOOD_STILL: Duration = Duration::from_secs(2);

/// The wait for load threads whose load is over. Time in which this program was stopped (Ctrl-Z, a frozen container) does not count: no
/// thread could end then.
struct EndWait {
    looked: Instant,
    resumed: Instant,
}

impl EndWait {
    fn new(began: Instant) -> EndWait {
        EndWait { looked: began, resumed: began }
    }

    fn look(&mut self, now: Instant) {
        if now.saturating_duration_since(self.looked) > STOOD_STILL {
            self.resumed = now;
        }
        self.looked = now;
    }

    /// Whether the load, which was over at `over`, has been waited for as long as `due`.
    fn is_over(&self, over: Option<Instant>, due: Duration) -> bool {
        over.is_some_and(|over| self.looked > over.max(self.resumed) + due)
    }
}

/// Watches running workers, whose load begins at `began`, to their end.
pub(super) fn attend(
    load: &Load<'_>,
    began: Instant,
    control: &Control,
    inbox: &Receiver<Message>,
    threads: &[libc::pid_t],
    outcome: &mut StepOutcome,
    watch: &mut dyn FnMut(Watch<'_>) -> bool,
) -> Result<(), EngineError> {
    let step = load.step;
    // The end of the load: known from the start where there is a runtime, and otherwise the moment when the threads were told to stop. A
    // thread that is still blocked then waits for the device. A signal wakes it, so that it ends its window.
    let mut over = end_on_the_wall(step, began);
    let mut kernel_threads = KernelThreads { at: began, time: Nanos(0) };
    let mut unpinned = false;
    let mut fresh = Vec::new();
    let mut last = began;
    let mut end_wait = EndWait::new(Instant::now());
    while outcome.ends.len() < threads.len() {
        match inbox.recv_timeout(TICK / 2) {
            Ok(Message::Interval(interval)) => {
                outcome.series[step.target_of(interval.worker)].add(&interval);
                fresh.push(interval);
            }
            Ok(Message::End(end)) => outcome.ends.push(*end),
            Err(RecvTimeoutError::Timeout) => {}
            // A worker ended without a report: it panicked.
            Err(RecvTimeoutError::Disconnected) => return Err(EngineError::Panicked),
        }
        let now = Instant::now();
        end_wait.look(now);
        if now - last >= TICK {
            last = now;
            let elapsed = Nanos(now.saturating_duration_since(began).as_nanos() as u64);
            let go_on = watch(Watch { elapsed: Some(elapsed), fresh: &fresh });
            fresh.clear();
            if !go_on && !outcome.interrupted {
                outcome.interrupted = true;
                control.stop.store(true, Ordering::Relaxed);
            }
            // Kernel threads inherit the CPUs of the load thread that needs them and keep them for good (Linux 6.2 intersects every mask
            // with the one that was asked for). A load thread that we pinned makes room; CPUs that the user named stay.
            let pinned = !load.cpus.is_empty() && step.cpus.is_none();
            if load.engine == EngineKind::IoUring && kernel_threads.look(now, threads, control) && pinned {
                unpinned = thread::unpin(threads).is_ok();
            }
            let stopped = control.stop.load(Ordering::Relaxed);
            if stopped {
                over = Some(over.map_or(now, |t| t.min(now)));
            }
            if stopped || over.is_some_and(|t| now > t + TICK) {
                wake_threads::wake(threads);
            }
            let flush = if step.end_fsync && !stopped { END_FLUSH } else { Nanos(0) };
            let patience = patience(Nanos(control.longest.load(Ordering::Relaxed)));
            // The load threads wait this long themselves, and then report what is missing.
            let due = Duration::from(patience) + Duration::from(flush) + Duration::from_secs(2);
            if may_hang(step) && end_wait.is_over(over, due) {
                outcome.stuck = (threads.len() - outcome.ends.len()) as u32;
                outcome.patience = Nanos(due.as_nanos() as u64);
                break;
            }
        }
    }
    watch(Watch { elapsed: Some(Nanos(began.elapsed().as_nanos() as u64)), fresh: &fresh });
    outcome.patience = outcome.ends.iter().map(|e| e.patience).fold(outcome.patience, Nanos::max);
    outcome.ends.sort_by_key(|e| e.worker);
    if unpinned {
        let told =
            "load threads unpinned, as kernel threads do the requests and keep the CPU of the load thread";
        outcome.ends.iter_mut().for_each(|e| e.features.push(told.into()));
    }
    for (t, series) in outcome.series.iter_mut().enumerate() {
        let ends = outcome.ends.iter().filter(|e| step.target_of(e.worker) == t);
        let window = ends.map(|e| e.window).max();
        series.close(window.unwrap_or_default());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_the_program_stood_still_is_no_wait_for_the_load() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let over_after = |looks: &[u64]| {
            let mut wait = EndWait::new(began);
            looks.iter().for_each(|ms| wait.look(at(*ms)));
            wait.is_over(Some(at(4_000)), Duration::from_secs(12))
        };
        let each_second: Vec<u64> = (1..=17).map(|s| s * 1_000).collect();
        assert!(over_after(&each_second) && !over_after(&each_second[..16]));
        // Ctrl-Z from the second second to a time long after the end of the load.
        assert!(!over_after(&[1_000, 2_000, 60_000, 60_050]));
        let resumed: Vec<u64> = [1_000, 2_000].into_iter().chain((60..=73).map(|s| s * 1_000)).collect();
        assert!(over_after(&resumed));
    }

    #[test]
    fn a_simulated_device_never_hangs_however_busy_the_machine_is() {
        let real = Step { runtime: Nanos::seconds(1), ..Step::default() };
        let played = Step { simulate: Some(Box::default()), ..real.clone() };
        let began = Instant::now();
        assert!(may_hang(&real) && !may_hang(&played));
        assert_eq!(end_on_the_wall(&real, began), Some(began + Duration::from_secs(1)));
        assert_eq!(end_on_the_wall(&played, began), None);
        assert_eq!(end_on_the_wall(&Step { runtime: Nanos(0), ..real }, began), None);
    }
}
