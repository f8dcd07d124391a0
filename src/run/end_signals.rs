//! The signals that end a run.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use libc::SIGPWR;
use rustix::fs::{Mode, OFlags};
use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU,
};
use signal_hook::low_level;

use volproof_device::output::patient_write;

/// The signals that would kill the program and lose its result: from a terminal, from `kill`, from a limit of CPU time, from a failing
/// power supply, and those by which batch systems tell a job that its time is nearly over. SIGHUP is left out where the program was started
/// with SIGHUP ignored: that is all that `nohup` does, and such a run has to outlive its terminal.
pub fn all() -> impl Iterator<Item = i32> {
    of_fio().chain([SIGUSR1])
}

/// The signals that end a run of `volproof fio`, where SIGUSR1 asks for an interim report.
pub fn of_fio() -> impl Iterator<Item = i32> {
    let always = [SIGINT, SIGTERM, SIGQUIT, SIGXCPU, SIGALRM, SIGVTALRM, SIGPROF, SIGUSR2, SIGIO, SIGPWR];
    always.into_iter().chain((!ignored(SIGHUP)).then_some(SIGHUP))
}

fn ignored(signal: i32) -> bool {
    // SAFETY: a sigaction without pointers or handlers is valid as zeros; with no new action the call only writes the present one to `now`.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, ptr::null(), &mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Counts these signals: the first ends the load, the second also ends the wait for requests in flight. SIGHUP of a terminal that was closed does
/// not count for a run that `outlives` it: its answer goes to a file that somebody asked for.
///
/// # Errors
/// When the kernel refuses a handler for one of the signals.
pub fn counted(signals: impl Iterator<Item = i32>, outlives: bool) -> anyhow::Result<Arc<AtomicUsize>> {
    let seen = Arc::new(AtomicUsize::new(0));
    patient_write::end_with(&seen);
    for signal in signals {
        let count = seen.clone();
        let may_go_on = signal == SIGHUP && outlives && has_terminal();
        let action = move || {
            if !may_go_on || has_terminal() {
                count.fetch_add(1, Ordering::Relaxed);
            }
        };
        // SAFETY: the action opens and closes a file and adds to an atomic, which are safe in a signal handler.
        unsafe { low_level::register(signal, action) }.context("installing signal handlers")?;
    }
    Ok(seen)
}

/// Whether this process has a terminal that controls it: the kernel takes it away before it sends SIGHUP for one that was closed.
fn has_terminal() -> bool {
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(c"/dev/tty", flags, Mode::empty()).is_ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The signals whose default is the end of the program (signal(7)), without those that a mistake of the program itself raises, those that
    /// nobody can catch, and those whose cause is an error of a write (`EPIPE`, `EFBIG`).
    #[test]
    fn every_signal_that_ends_a_program_keeps_its_result() {
        let stay = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];
        let stop = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
        let own = [
            libc::SIGILL,
            libc::SIGTRAP,
            libc::SIGABRT,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGSEGV,
            libc::SIGSTKFLT,
            libc::SIGSYS,
        ];
        let other = [libc::SIGKILL, libc::SIGPIPE, libc::SIGXFSZ];
        let without: Vec<i32> = [&stay[..], &stop, &own, &other].concat();
        // Of all signals, only SIGHUP is left ignored where it was: a shell starts a program in the background with SIGINT ignored, and a run ends
        // by it all the same.
        let due = (1..32).filter(|s| !without.contains(s) && (*s != SIGHUP || !ignored(SIGHUP)));
        assert_eq!(all().collect::<BTreeSet<_>>(), due.collect());
    }
}
