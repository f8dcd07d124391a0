//! The settings that a load thread asks the kernel for: its CPUs and exact timers. Both end with the thread.

use std::io;

use rustix::thread::{CpuSet, sched_setaffinity};

/// Pins the calling thread to these CPUs.
///
/// # Errors
/// When the thread may use none of them.
pub fn pin(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu as usize));
    Ok(sched_setaffinity(None, &set)?)
}

/// Lets the thread's sleeps end on time: the default timer slack of 50 us would show as lag. A refusal is ignored.
pub fn exact_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes one number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
