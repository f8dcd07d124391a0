//! Waking load threads that wait in the kernel: a signal whose handler does nothing makes the call return.
//!
//! The signal is SIGURG, which is ignored by default and which nothing else here uses. It is handled without SA_RESTART, so that the kernel
//! does not resume the wait.

use std::sync::Once;

extern "C" fn nothing(_: libc::c_int) {}

/// Interrupts the waits of these threads. A thread that has ended is skipped.
pub fn wake(threads: &[libc::pid_t]) {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: the handler does nothing, and the structure is plain data.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as *const () as usize;
            libc::sigaction(libc::SIGURG, &raw const action, std::ptr::null_mut());
        }
    });
    for thread in threads {
        // SAFETY: tgkill reaches only threads of this process.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), *thread, libc::SIGURG) };
    }
}
