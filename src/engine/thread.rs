//! A load thread asks the kernel for its CPUs and for exact timers. Both end with the thread.

use std::io;

use rustix::thread::{CpuSet, sched_setaffinity};

/// Runs on these CPUs alone.
///
/// # Errors
/// None of them may be used.
pub fn pin(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu as usize));
    Ok(sched_setaffinity(None, &set)?)
}

/// Sleeps end when they should: the default slack of 50 us would show as lag. Refusal is harmless.
pub fn exact_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes one number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
