//! The settings that a load thread asks the kernel for: its CPUs and exact timers. Both end with the thread.

use std::io;

use rustix::process::getpid;
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// Pins the calling thread to these CPUs.
///
/// # Errors
/// When the thread may use none of them.
pub fn pin(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu as usize));
    Ok(sched_setaffinity(None, &set)?)
}

/// Lets these threads run on every CPU that the process may use: those of its main thread, which is never pinned.
///
/// # Errors
/// When the kernel refuses; a thread that has ended is no error.
pub fn unpin(threads: &[libc::pid_t]) -> io::Result<()> {
    let all = sched_getaffinity(Some(getpid()))?;
    for thread in threads.iter().filter_map(|t| Pid::from_raw(*t)) {
        match sched_setaffinity(Some(thread), &all) {
            Err(rustix::io::Errno::SRCH) | Ok(()) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

/// Lets the thread's sleeps end on time: the default timer slack of 50 us would show as lag. A refusal is ignored.
pub fn exact_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes one number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
