//! Standard error, which must not hold up a run. A terminal may take nothing for as long as it likes (Ctrl-S, a text being selected, a line that
//! is down), and so may a pipe that nobody reads. Meanwhile a Record is to be saved and settings are to be put back, and signals are only counted.
//!
//! Texts are written where they are said, as long as the stream takes them. From the first that it does not take, a thread of its own writes
//! them in their order, and nobody waits for it for long.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long a text waits for the stream.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long the end of the program waits for the texts that are left.
const LAST_PATIENCE: Duration = Duration::from_secs(1);
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(10);
/// Bytes of one write: a pipe that takes anything takes a page.
const PIECE: usize = 1024;

/// The thread that writes, once there is one; nothing where none can be started.
static WRITER: OnceLock<Option<Sender<Vec<u8>>>> = OnceLock::new();
/// Texts that it has not written yet.
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Writes a text, or leaves it to the thread that waits for the stream. Where nobody takes it, it is lost.
pub fn write(text: &str) {
    let mut rest = text.as_bytes();
    while WRITER.get().is_none() && !rest.is_empty() {
        if !takes_more() {
            WRITER.get_or_init(start);
            break;
        }
        let (piece, more) = rest.split_at(rest.len().min(PIECE));
        if io::stderr().write_all(piece).is_err() {
            return;
        }
        rest = more;
    }
    if rest.is_empty() {
        return;
    }
    match WRITER.get() {
        Some(Some(writer)) => {
            // One that is behind already is not waited for again.
            let patience = if LEFT.fetch_add(1, Ordering::Relaxed) == 0 { PATIENCE } else { LOOK };
            let _ = writer.send(rest.to_vec());
            wait(patience);
        }
        _ => {
            let _ = io::stderr().write_all(rest);
        }
    }
}

/// Waits for the texts that are left, before the program ends.
pub fn finish() {
    wait(LAST_PATIENCE);
}

fn wait(patience: Duration) {
    let began = Instant::now();
    while LEFT.load(Ordering::Relaxed) > 0 && began.elapsed() < patience {
        std::thread::sleep(LOOK);
    }
}

/// Whether the stream takes bytes now or soon.
fn takes_more() -> bool {
    let stream = io::stderr();
    let soon = Timespec { tv_sec: 0, tv_nsec: PATIENCE.as_nanos() as i64 };
    poll(&mut [PollFd::new(&stream, PollFlags::OUT)], Some(&soon)) != Ok(0)
}

fn start() -> Option<Sender<Vec<u8>>> {
    let (writer, texts) = channel::<Vec<u8>>();
    let thread = Builder::new().name("volproof-says".into()).spawn(move || {
        for text in texts {
            let _ = io::stderr().write_all(&text);
            LEFT.fetch_sub(1, Ordering::Relaxed);
        }
    });
    thread.is_ok().then_some(writer)
}
