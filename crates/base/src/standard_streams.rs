//! Standard input, output and error as the program was given them.
//!
//! A program may be started without them (`>&-`), or with one that is open the other way round (`1<file`). The standard library hides both: before
//! `main` it opens `/dev/null` in the place of a closed descriptor, so that no file gets its number, and writing to a descriptor that
//! cannot be written succeeds. A result that is only printed would be lost without a word.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{OFlags, fcntl_getfl};

/// Which of descriptors 0, 1 and 2 were closed when the program started.
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// The loader calls the functions in this section before the standard library opens anything.
#[used]
// SAFETY: the section holds pointers to functions, and this is one of the type that the loader calls (System V ABI, generic, chapter 5).
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    for (number, closed) in CLOSED.iter().enumerate() {
        // SAFETY: F_GETFD takes no argument, and any number may be asked about.
        let flags = unsafe { libc::fcntl(number as i32, libc::F_GETFD) };
        closed.store(flags == -1, Ordering::Relaxed);
    }
}

/// Standard input.
///
/// # Errors
/// The program was started without it.
pub fn input() -> io::Result<File> {
    open(0, io::stdin(), OFlags::WRONLY, "writing")
}

/// Standard output, without a buffer.
///
/// # Errors
/// The program was started without it, or with one that can only be read.
pub fn output() -> io::Result<File> {
    open(1, io::stdout(), OFlags::RDONLY, "reading")
}

/// Standard error, without a buffer.
///
/// # Errors
/// The program was started without it, or with one that can only be read.
pub fn error() -> io::Result<File> {
    open(2, io::stderr(), OFlags::RDONLY, "reading")
}

/// A second descriptor of a stream, unless the stream was closed or is open the wrong way only.
fn open(number: usize, stream: impl AsFd, wrong: OFlags, way: &str) -> io::Result<File> {
    if CLOSED[number].load(Ordering::Relaxed) {
        return Err(io::Error::other("it was closed when the program started"));
    }
    if fcntl_getfl(&stream)? & OFlags::RWMODE == wrong {
        return Err(io::Error::other(format!("it is open for {way} only")));
    }
    Ok(stream.as_fd().try_clone_to_owned()?.into())
}
