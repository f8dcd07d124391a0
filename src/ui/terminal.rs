//! The terminal while the live screen has it: an alternate screen, and keys without echo. It is given back as it was, however the program
//! goes on: by its end, a signal, a panic of any thread, an abort, a fault of memory, or while it is suspended.
//!
//! One owner in the process, which these statics are. Signals of the keyboard stay signals (Ctrl-C, Ctrl-Z), so that they do what they
//! do without the screen.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use ratatui::backend::CrosstermBackend;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{self, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios};

/// The most cells that are drawn, some ten times those of a large screen.
const MOST_CELLS: u32 = 250_000;

/// What the escape key sends.
pub(super) const ESCAPE: char = '\x1b';

/// Name of the one thread that draws.
pub(super) const DRAWS: &str = "volproof-screen";
/// The smallest screen that still has room for what the live screen is for.
pub(super) const SMALLEST: (u16, u16) = (60, 15);

/// Alternate screen, no cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l";
/// Plain colours, a cursor, the screen of before.
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// The modes of before, while the terminal is ours.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
/// Held while a frame is written.
static FRAME: Mutex<()> = Mutex::new(());
/// A thread has panicked: its message is on the screen, and nothing is drawn over it any more.
static PANICKED: AtomicBool = AtomicBool::new(false);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this process may draw and read keys: standard input and output are one terminal of some size, which is not in the hands of
/// another job, and nobody asked for plain text.
pub(super) fn usable() -> bool {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let ci = std::env::var("CI").is_ok_and(|value| !["", "0", "false"].contains(&value.as_str()));
    stdin.is_terminal()
        && stdout.is_terminal()
        && !ci
        && std::env::var_os("TERM").is_some_and(|value| !value.is_empty() && value != "dumb")
        && is_foreground()
        && termios::tcgetwinsize(&stdout)
            .is_ok_and(|size| size.ws_col >= SMALLEST.0 && size.ws_row >= SMALLEST.1)
}

/// Whether colours are wanted (<https://no-color.org>).
pub(super) fn has_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("CLICOLOR").is_none_or(|value| value != "0")
}

/// The terminal is ours to read and change: a background job that does so is stopped. Where nobody controls jobs, it always is.
pub(super) fn is_foreground() -> bool {
    termios::tcgetpgrp(io::stdin()).map_or(true, |group| group == rustix::process::getpgrp())
}

/// Whether the terminal has a size that can be drawn: the cells of a larger one would take gigabytes, and the run goes on without a screen.
///
/// # Errors
/// The terminal has gone away.
pub(super) fn has_drawable_size() -> io::Result<bool> {
    let size = termios::tcgetwinsize(io::stdout())?;
    Ok(u32::from(size.ws_col) * u32::from(size.ws_row) <= MOST_CELLS)
}

/// The keys that were pressed within this time: what stands for a character, and escape by itself. Arrows and keys of a page are the letters
/// that do the same; another key that sends a sequence is left out.
///
/// # Errors
/// The terminal was closed. A read from it then gives nothing, again and again.
pub(super) fn pressed_keys(longest: Duration) -> io::Result<Vec<char>> {
    let stdin = io::stdin();
    let mut keys = [PollFd::new(&stdin, PollFlags::IN)];
    let longest = Timespec { tv_sec: 0, tv_nsec: longest.subsec_nanos().into() };
    // A signal ends the wait.
    let _ = poll(&mut keys, Some(&longest));
    let ready = keys[0].revents();
    if ready.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        return Err(io::Error::other("the terminal was closed"));
    }
    if !ready.contains(PollFlags::IN) {
        return Ok(Vec::new());
    }
    let mut typed = [0; 64];
    let length = rustix::io::read(&stdin, &mut typed)?;
    Ok(keys_of(&typed[..length]))
}

/// The keys behind bytes of a terminal (ECMA-48: a control sequence ends with a byte of 0x40 to 0x7e).
fn keys_of(typed: &[u8]) -> Vec<char> {
    let typed = String::from_utf8_lossy(typed);
    let mut rest = typed.chars().peekable();
    let mut keys = Vec::new();
    while let Some(key) = rest.next() {
        let begins_sequence = key == ESCAPE && rest.next_if(|&next| next == '[' || next == 'O').is_some();
        if begins_sequence {
            let mut sequence = String::new();
            for sign in rest.by_ref() {
                sequence.push(sign);
                if ('@'..='~').contains(&sign) {
                    break;
                }
            }
            keys.extend(letter_of(&sequence));
        } else {
            keys.push(key);
        }
    }
    keys
}

/// The letter that scrolls as an arrow or a key of a page does.
fn letter_of(sequence: &str) -> Option<char> {
    match sequence {
        "A" => Some('k'),
        "B" => Some('j'),
        "5~" => Some('b'),
        "6~" => Some(' '),
        _ => None,
    }
}

/// Where frames go: not through the standard output of the language, whose lock a panicking thread may hold.
pub(super) fn backend() -> io::Result<CrosstermBackend<BufWriter<File>>> {
    let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    Ok(CrosstermBackend::new(BufWriter::with_capacity(1 << 16, file)))
}

/// Takes the terminal, until [`give_back`]; false where a panic has ended that for good.
///
/// # Errors
/// When the terminal refuses its raw mode or the other screen.
pub(super) fn take() -> io::Result<bool> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        // SAFETY: the action takes a lock only if it is free, and makes calls of the system on values that it owns: it allocates nothing. Where it
        // cannot be registered, an abort leaves the terminal as it is.
        let _ = unsafe { signal_hook::low_level::register(libc::SIGABRT, give_back_at_abort) };
        FAULTS.into_iter().for_each(give_back_at);
        let next = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICKED.store(true, Ordering::Relaxed);
            give_back();
            next(panic);
        }));
    });
    let mut before = locked(&BEFORE);
    if PANICKED.load(Ordering::Relaxed) {
        return Ok(false);
    }
    if before.is_some() {
        return Ok(true);
    }
    let old = termios::tcgetattr(io::stdin())?;
    let mut new = old.clone();
    new.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
    // Ctrl-S would stop the program at its next frame.
    new.input_modes.remove(termios::InputModes::IXON);
    new.special_codes[SpecialCodeIndex::VMIN] = 1;
    new.special_codes[SpecialCodeIndex::VTIME] = 0;
    termios::tcsetattr(io::stdin(), OptionalActions::Now, &new)?;
    *before = Some(old);
    write(ENTER).map(|()| true)
}

/// Gives the terminal back. Further calls change nothing.
pub(super) fn give_back() {
    let draws = thread::current().name() == Some(DRAWS);
    // The thread that draws may be within a frame; it is waited for, but not for long: a terminal that takes no more stops it.
    let _frame = (0..100).filter(|_| !draws).find_map(|_| match FRAME.try_lock() {
        Ok(frame) => Some(frame),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => {
            thread::sleep(Duration::from_millis(10));
            None
        }
    });
    let Some(old) = locked(&BEFORE).take() else { return };
    // Keys that nobody took were not meant for the shell.
    let _ = termios::tcflush(io::stdin(), QueueSelector::IFlush);
    let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &old);
    // A terminal that takes no more, as behind a line that is down, must not hold up what else is to be put back.
    let takes_more = {
        let stdout = io::stdout();
        let second = Timespec { tv_sec: 1, tv_nsec: 0 };
        poll(&mut [PollFd::new(&stdout, PollFlags::OUT)], Some(&second)) != Ok(0)
    };
    if takes_more {
        let _ = write(LEAVE);
    }
}

/// Gives the terminal back where the program aborts, as when no memory is left: nothing else of it runs any more.
fn give_back_at_abort() {
    put_back();
    let _ = signal_hook::low_level::emulate_default_handler(libc::SIGABRT);
}

/// Only with calls that a handler of signals may make.
fn put_back() {
    if let Ok(mut before) = BEFORE.try_lock()
        && let Some(old) = before.take()
    {
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &old);
        // SAFETY: the call reads static bytes of this length.
        unsafe { libc::write(libc::STDOUT_FILENO, LEAVE.as_ptr().cast(), LEAVE.len()) };
    }
}

/// What a mistake of the program or a bad memory module raises; the library of signals leaves them alone.
const FAULTS: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];

/// Gives the terminal back at this fault, which then ends the program as it would have.
fn give_back_at(fault: i32) {
    // SAFETY: zeros are a valid action without flags. The handler has the form that the kernel expects without SA_SIGINFO, and runs once on the stack
    // that the standard library keeps for an overflow. A refused action leaves the one of before.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = at_fault as extern "C" fn(i32) as usize;
        action.sa_flags = libc::SA_RESETHAND | libc::SA_ONSTACK;
        libc::sigaction(fault, &action, std::ptr::null_mut());
    }
}

extern "C" fn at_fault(fault: i32) {
    put_back();
    // SAFETY: the call may be made in a handler. The default action has been set, and takes place once the handler has returned.
    unsafe { libc::raise(fault) };
}

/// Whether the terminal is ours now.
pub(super) fn is_taken() -> bool {
    locked(&BEFORE).is_some()
}

/// Draws while the terminal is ours, and keeps [`give_back`] out meanwhile.
pub(super) fn draw(frame: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let _frame = locked(&FRAME);
    if is_taken() { frame() } else { Ok(()) }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    out.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::keys_of;

    #[test]
    fn keys_are_characters_and_escape_by_itself() {
        for (typed, keys) in [
            ("q", "q"),
            ("nnQ", "nnQ"),
            ("\x1b", "\x1b"),
            ("\x1bq", "\x1bq"),
            ("\x1b[Aq", "kq"),
            ("\x1b[6~\x1bOB", " j"),
            ("p\x1b[1;5D\x1bOPd", "pd"),
            ("\x1b[", ""),
            ("é?", "é?"),
        ] {
            assert_eq!(keys_of(typed.as_bytes()).iter().collect::<String>(), keys, "{typed:?}");
        }
        assert_eq!(keys_of(b"\xffq"), ['\u{fffd}', 'q']);
    }
}
