//! The signals that end a run.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU};
use signal_hook::low_level;

/// The signals that would kill the program and lose its result: from a terminal, from `kill`, from a limit of CPU time, and those by which batch
/// systems tell a job that its time is nearly over. SIGHUP is none of them where the program was started with it ignored: `nohup` does no
/// more than this, and the run has to outlive its terminal.
pub fn all() -> impl Iterator<Item = i32> {
    of_fio().chain([SIGUSR1])
}

/// Those of fio's language, where SIGUSR1 asks for an interim report.
pub fn of_fio() -> impl Iterator<Item = i32> {
    let always = [SIGINT, SIGTERM, SIGQUIT, SIGXCPU, SIGALRM, SIGVTALRM, SIGUSR2];
    always.into_iter().chain((!ignored(SIGHUP)).then_some(SIGHUP))
}

fn ignored(signal: i32) -> bool {
    // SAFETY: a sigaction without pointers or handlers is valid as zeros; with no new action the call only writes the present one to `now`.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, ptr::null(), &mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Counts these signals: the first ends the load, the second also the waiting for it.
///
/// # Errors
/// Errors of the system.
pub fn counted(signals: impl Iterator<Item = i32>) -> anyhow::Result<Arc<AtomicUsize>> {
    let seen = Arc::new(AtomicUsize::new(0));
    for signal in signals {
        let count = seen.clone();
        let action = move || {
            count.fetch_add(1, Ordering::Relaxed);
        };
        // SAFETY: the action only adds to an atomic, which is safe in a signal handler.
        unsafe { low_level::register(signal, action) }.context("installing signal handlers")?;
    }
    Ok(seen)
}
