//! Writing to a stream whose reader may have stopped reading: a pipe that is full, a terminal that was halted. A reader may be slow, so that it is waited
//! for without end, also where the stream itself would not wait (`O_NONBLOCK`), but not against the user: the signals that end a run are only counted by
//! then, and would end nothing.

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Bytes of one write: a pipe that takes anything takes a page, a terminal may take less.
const PIECE: usize = 1024;
/// Between two looks at the signals.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How long a reader is waited for after a signal that came before.
const PATIENCE: Duration = Duration::from_secs(2);

/// The signals that ended or will end the run, as far as they came.
static SIGNALS: OnceLock<Arc<AtomicUsize>> = OnceLock::new();
/// A text was given up.
static GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// From now on these signals end the wait for a reader.
pub fn end_with(signals: &Arc<AtomicUsize>) {
    let _ = SIGNALS.set(signals.clone());
}

/// Whether a signal ended the wait for a reader of a text, which therefore is not whole.
pub fn gave_up() -> bool {
    GIVEN_UP.load(Ordering::Relaxed)
}

/// Writes some of the bytes, when the stream takes them.
///
/// # Errors
/// The stream takes no more, or nobody reads it and a signal came.
pub fn write(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    let signals = || SIGNALS.get().map_or(0, |signals| signals.load(Ordering::Relaxed));
    let (before, began) = (signals(), Instant::now());
    loop {
        // A signal interrupts the wait itself.
        let ready = poll(&mut [PollFd::new(&file, PollFlags::OUT)], Some(&LOOK));
        if !matches!(ready, Ok(0) | Err(Errno::INTR)) {
            match file.write(&bytes[..bytes.len().min(PIECE)]) {
                // Another writer took the room.
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1))
                }
                written => return written,
            }
        }
        let now = signals();
        if now > before || (now > 0 && began.elapsed() > PATIENCE) {
            GIVEN_UP.store(true, Ordering::Relaxed);
            return Err(io::Error::other("nobody read it, and a signal ended the wait"));
        }
    }
}

/// A stream as a writer.
pub struct PatientWriter<'a>(pub &'a File);

impl Write for PatientWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write(self.0, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use rustix::fs::{OFlags, fcntl_setfl};

    use super::*;

    /// As `ssh` and some runners of jobs leave it: a pipe that refuses what it has no room for.
    #[test]
    fn a_pipe_that_does_not_wait_gets_the_whole_text() {
        let (mut reader, writer) = io::pipe().unwrap();
        fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        let writer = File::from(std::os::fd::OwnedFd::from(writer));
        let text: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
        let all = text.clone();
        let (full, is_full) = std::sync::mpsc::channel();
        let written = std::thread::spawn(move || {
            // More than any pipe holds, so that the rest waits for the reader.
            let (first, rest) = all.split_at(1);
            PatientWriter(&writer).write_all(first).unwrap();
            full.send(()).unwrap();
            PatientWriter(&writer).write_all(rest)
        });
        is_full.recv().unwrap();
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        written.join().unwrap().unwrap();
        assert_eq!(read, text);
    }
}
