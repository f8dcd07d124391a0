//! Signals that would kill the program, held back while a file has the name that it is written under.
//!
//! The thread holds back only what nobody handles or holds back already: a run counts these signals itself. They come once the file is whole or
//! gone.

use std::mem::MaybeUninit;
use std::ptr;

use libc::{SIG_DFL, SIGHUP, SIGINT, SIGTERM, sigset_t};

/// What a terminal and `kill` send.
const DEADLY: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Holds them back until it is dropped.
pub struct HeldSignals {
    held: Vec<i32>,
    before: sigset_t,
}

impl HeldSignals {
    /// Holds back, in this thread, those of them that would kill the program.
    pub fn hold() -> HeldSignals {
        let (mut before, mut set) = (empty(), empty());
        // SAFETY: the sets are initialised and live through the calls, and the signals are valid. The first call changes nothing.
        let held = unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut before);
            let free = |signal: &i32| libc::sigismember(&before, *signal) == 0 && kills(*signal);
            let held: Vec<i32> = DEADLY.into_iter().filter(free).collect();
            for signal in &held {
                libc::sigaddset(&mut set, *signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, ptr::null_mut());
            held
        };
        HeldSignals { held, before }
    }

    /// Whether one of them has come.
    pub fn came(&self) -> bool {
        let mut pending = empty();
        // SAFETY: the set is initialised and lives through the calls, and the signals are valid.
        unsafe {
            libc::sigpending(&mut pending) == 0
                && self.held.iter().any(|signal| libc::sigismember(&pending, *signal) == 1)
        }
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        // SAFETY: the set is that of this thread before, and the call reads it only.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, ptr::null_mut());
        }
    }
}

fn empty() -> sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the whole set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

/// Whether nobody handles or ignores a signal.
fn kills(signal: i32) -> bool {
    // SAFETY: a sigaction without pointers or handlers is valid as zeros; with no new action the call only writes the present one to `now`.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, ptr::null(), &mut now) == 0 && now.sa_sigaction == SIG_DFL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In threads of their own, where no other test sends signals.
    #[test]
    fn a_deadly_signal_waits_until_it_is_let_go() {
        let seen = std::thread::spawn(|| {
            let outer = HeldSignals::hold();
            let inner = HeldSignals::hold();
            // SAFETY: the thread is this one, and it holds the signal back.
            unsafe { libc::pthread_kill(libc::pthread_self(), SIGHUP) };
            let seen = (outer.came(), inner.came());
            // SAFETY: the set is initialised, and no other thread waits for this signal.
            unsafe {
                let mut set = empty();
                libc::sigaddset(&mut set, SIGHUP);
                libc::sigwait(&set, &mut 0);
            }
            (seen, outer.came())
        });
        assert_eq!(seen.join().unwrap(), ((true, false), false), "who holds it back already goes on");
    }
}
